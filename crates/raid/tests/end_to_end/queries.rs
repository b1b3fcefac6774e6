//! Queries that come again: short and long, by several clients at a time, and those that wait.

use crate::harness::World;
use postgres::error::SqlState;
use std::sync::Barrier;

const ROWS: i32 = 3_000;

fn filled(world: &World) {
    let mut client = world.connect(1);
    let tables = "CREATE TABLE t (k int PRIMARY KEY, v int); CREATE TABLE u (k int PRIMARY KEY, t int); CREATE INDEX u_t ON u (t)";
    client.batch_execute(tables).expect("tables");
    let rows = format!(
        "INSERT INTO t SELECT g, 2 * g FROM generate_series(1, {ROWS}) g;
         INSERT INTO u SELECT g, (g + 1) / 2 FROM generate_series(1, {ROWS}) g"
    );
    client.batch_execute(&rows).expect("rows");
}

/// 2 + 4 + ... of the keys from `low` to `high`.
fn sum(low: i32, high: i32) -> i64 {
    (low..=high).map(|key| i64::from(2 * key)).sum()
}

/// A query begins with who asks, or among others, reads a few rows or many, ends in one batch or in several, and runs as often as it is wanted: it must
/// answer each time what was asked this time.
#[test]
fn a_query_answers_each_client_what_it_asked() {
    let world = World::start();
    filled(&world);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let mut client = world.connect(1 + number % 3);
            scope.spawn(move || {
                let total = client.prepare("SELECT sum(v), count(*) FROM t WHERE k BETWEEN $1 AND $2").expect("a plan");
                let joined = client.prepare("SELECT t.v, u.k FROM t JOIN u ON u.t = t.k WHERE t.k = $1 ORDER BY u.k");
                let joined = joined.expect("a plan");
                let both = "SELECT count(*) FROM t WHERE k <= $1 UNION ALL SELECT max(v)::bigint FROM t WHERE k <= $1 ORDER BY 1";
                let both = client.prepare(both).expect("a plan");
                let rows = client.prepare("SELECT DISTINCT v FROM t WHERE k > $1 ORDER BY v DESC").expect("a plan");
                let first = client.prepare("SELECT k + 0 FROM t ORDER BY k LIMIT $1 OFFSET $2").expect("a plan");
                for round in 0..25 {
                    let low = 1 + (number as i32 * 31 + round * 7) % 100;
                    for length in [0, 5, 150, 250, 1_500, 2_800] {
                        let high = low + length;
                        let row = client.query_one(&total, &[&low, &high]).expect("a sum");
                        assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (sum(low, high), i64::from(length + 1)));
                    }
                    let pairs = client.query(&joined, &[&low]).expect("rows");
                    let pairs: Vec<(i32, i32)> = pairs.iter().map(|row| (row.get(0), row.get(1))).collect();
                    assert_eq!(pairs, [(2 * low, 2 * low - 1), (2 * low, 2 * low)]);
                    let two = client.query(&both, &[&low]).expect("rows");
                    let two: Vec<i64> = two.iter().map(|row| row.get(0)).collect();
                    assert_eq!(two, [i64::from(low), i64::from(2 * low)]);
                    let many = client.query(&rows, &[&low]).expect("rows");
                    assert_eq!((many.len() as i32, many[0].get::<_, i32>(0)), (ROWS - low, 2 * ROWS));
                    let page = client.query(&first, &[&3_i64, &i64::from(low)]).expect("rows");
                    let page: Vec<i32> = page.iter().map(|row| row.get(0)).collect();
                    assert_eq!(page, [low + 1, low + 2, low + 3]);
                }
                // A few rows at a time, and then no more.
                let mut block = client.transaction().expect("a transaction");
                let portal = block.bind(&rows, &[&0]).expect("a portal");
                for round in 0..3 {
                    let some = block.query_portal(&portal, 400).expect("rows");
                    assert_eq!((some.len(), some[0].get::<_, i32>(0)), (400, 2 * (ROWS - 400 * round)));
                }
                assert_eq!(block.query_one(&total, &[&1, &2]).expect("a sum").get::<_, i64>(0), sum(1, 2));
                block.commit().expect("it read only");
            });
        }
    });
}

/// A query that has to wait for a lock must not hold up the thread that serves clients.
#[test]
fn a_query_that_waits_holds_nobody_up() {
    let world = World::start();
    filled(&world);
    let total = "SELECT sum(v) FROM t WHERE k <= $1";
    let waits = Barrier::new(2);
    std::thread::scope(|scope| {
        let (mut writer, mut reader, mut other) = (world.connect(1), world.connect(1), world.connect(1));
        other.query_one(total, &[&3]).expect("planned");
        let mut change = writer.transaction().expect("a transaction");
        change.execute("UPDATE t SET v = v * 10 WHERE k = 2", &[]).expect("a row");
        let waits = &waits;
        scope.spawn(move || {
            let mut block = reader.transaction().expect("a transaction");
            block.execute("UPDATE u SET t = 0 WHERE k = 1", &[]).expect("a row");
            waits.wait();
            // It may lose the conflict instead.
            match block.query_one(total, &[&3]) {
                Ok(row) => assert_eq!(row.get::<_, i64>(0), 2 + 40 + 6),
                Err(error) => assert_eq!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE), "{error}"),
            }
        });
        waits.wait();
        for _ in 0..50 {
            assert_eq!(other.query_one(total, &[&3]).expect("a sum").get::<_, i64>(0), sum(1, 3));
        }
        change.commit().expect("nobody else wrote");
    });
}

/// A table that has changed since is read as it is now.
#[test]
fn plans_go_with_what_they_read() {
    let world = World::start();
    filled(&world);
    let (mut one, mut other) = (world.connect(1), world.connect(2));
    for round in 0..20 {
        let rows = one.query("SELECT * FROM t JOIN u USING (k) WHERE t.v = 14", &[]).expect("a row");
        assert_eq!(rows[0].len(), 3 + round);
        other.batch_execute(&format!("ALTER TABLE u ADD COLUMN more_{round} int DEFAULT {round}")).expect("a column");
    }
}
