//! Schema changes as clients of several sites see them.

use crate::harness::World;
use postgres::error::SqlState;

/// A schema change that one site has answered is there at every other, however soon it is asked for: otherwise a client that goes from
/// site to site is told that there is no such table.
#[test]
fn what_one_site_makes_the_others_have_at_once() {
    what_one_site_makes(&World::start(), 60);
}

/// See the test of this name.
pub fn what_one_site_makes(world: &World, rounds: usize) {
    let mut clients: Vec<postgres::Client> = (1..=3).map(|site| world.connect(site)).collect();
    for round in 0..rounds {
        let (maker, reader, dropper) = (round % 3, (round + 1) % 3, (round + 2) % 3);
        let table = format!("t{round}");
        let made = clients[maker].batch_execute(&format!("CREATE TABLE {table} (k int PRIMARY KEY)"));
        made.expect("a table");
        let joined = format!("SELECT count(*) FROM {table} a JOIN {table} b USING (k)");
        assert_eq!(clients[reader].query_one(&joined, &[]).expect("it is there").get::<_, i64>(0), 0, "round {round}");
        for statement in ["BEGIN", &format!("INSERT INTO {table} VALUES (1)"), "COMMIT"] {
            clients[dropper].batch_execute(statement).expect("it is there, too");
        }
        clients[reader].batch_execute(&format!("ALTER TABLE {table} ADD COLUMN v int")).expect("a column");
        clients[maker].batch_execute(&format!("UPDATE {table} SET v = 1")).expect("the column is there");
        clients[dropper].batch_execute(&format!("DROP TABLE {table}")).expect("it goes");
        let gone = clients[maker].batch_execute(&format!("SELECT FROM {table}")).expect_err("it is gone");
        assert_eq!(gone.code(), Some(&SqlState::UNDEFINED_TABLE), "{gone}");
    }
}

/// What somebody else has not committed is not there, and who is told so must neither wait for that nor keep others from making it.
#[test]
fn what_is_not_there_is_said_at_once() {
    let world = World::start();
    let [mut maker, mut reader] = [world.connect(1), world.connect(1)];
    maker
        .batch_execute("CREATE TABLE there (k int PRIMARY KEY); BEGIN; CREATE TABLE soon (k int); DROP TABLE there")
        .expect("tables");
    for statement in ["SELECT FROM soon", "SELECT FROM later", "SELECT v FROM there"] {
        reader.batch_execute("BEGIN; SET statement_timeout = 5000").expect("a block");
        let refused = reader.batch_execute(statement).err().and_then(|error| error.code().cloned());
        let known = [SqlState::UNDEFINED_TABLE, SqlState::UNDEFINED_COLUMN].map(Some);
        assert!(known.contains(&refused), "{statement}: {refused:?}");
        maker.batch_execute("CREATE TABLE IF NOT EXISTS later (k int)").expect("nobody holds that up");
        reader.batch_execute("ROLLBACK").expect("the block ends");
    }
    maker.batch_execute("COMMIT").expect("it holds nobody up");
    reader.batch_execute("BEGIN; SELECT FROM soon; SELECT FROM later; COMMIT").expect("they are there");
}

/// Rows of a table whose index is committed in several parts.
const ROWS: i64 = 4_000;
const BYTES: i64 = 10;

/// How many rows each site finds by an index on `v`, whose value they share.
fn rows_by_index(world: &World, table: &str) -> Vec<usize> {
    let read = format!("SELECT k FROM {table} WHERE v = repeat('x', {BYTES})");
    let rows = |site| world.connect(site).query(&read, &[]).expect("rows").len();
    (1..=3).map(rows).collect()
}

/// Rows of an index are committed before the index is: if two sites took the same number for its storage, one index would have lost rows, and at some
/// sites only.
#[test]
fn indexes_made_at_two_sites_at_once_are_whole() {
    let world = World::start();
    for table in ["a", "b"] {
        world.write_rows(table, ROWS, BYTES);
    }
    for round in 0..5 {
        std::thread::scope(|scope| {
            for (site, table) in [(1, "a"), (2, "b")] {
                let (mut client, index) = (world.connect(site), format!("CREATE INDEX {table}_v ON {table} (v)"));
                scope.spawn(move || client.batch_execute(&index).expect("an index"));
            }
        });
        for table in ["a", "b"] {
            assert_eq!(rows_by_index(&world, table), [ROWS as usize; 3], "{table}, round {round}");
            world.connect(3).batch_execute(&format!("DROP INDEX {table}_v")).expect("it goes");
        }
    }
}

/// What an index that was given up has left behind goes later: if the next one took its number, it would find rows there, or lose its own.
#[test]
fn an_index_given_up_leaves_nothing_to_the_next() {
    let world = World::start();
    world.write_rows("a", ROWS, BYTES);
    let mut client = world.connect(1);
    for milliseconds in [1, 5, 10, 20, 40, 80] {
        let given_up =
            client.batch_execute(&format!("SET statement_timeout = {milliseconds}; CREATE INDEX a_v ON a (v)"));
        let given_up = given_up.err().and_then(|error| error.code().cloned());
        assert!(matches!(given_up, None | Some(SqlState::QUERY_CANCELED)), "{given_up:?}");
        client.batch_execute("SET statement_timeout = 0").expect("a setting");
        client.batch_execute("DROP INDEX IF EXISTS a_v").expect("it goes");
        client.batch_execute("CREATE UNIQUE INDEX a_k ON a (k, v); CREATE INDEX a_v ON a (v)").expect("two indexes");
        assert_eq!(rows_by_index(&world, "a"), [ROWS as usize; 3], "after {milliseconds} ms");
        client.batch_execute("DROP INDEX a_k; DROP INDEX a_v").expect("they go");
    }
}
