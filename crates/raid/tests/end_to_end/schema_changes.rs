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
        clients[dropper].batch_execute(&format!("INSERT INTO {table} VALUES (1)")).expect("it is there, too");
        clients[reader].batch_execute(&format!("ALTER TABLE {table} ADD COLUMN v int")).expect("a column");
        clients[maker].batch_execute(&format!("UPDATE {table} SET v = 1")).expect("the column is there");
        clients[dropper].batch_execute(&format!("DROP TABLE {table}")).expect("it goes");
        let gone = clients[maker].batch_execute(&format!("SELECT FROM {table}")).expect_err("it is gone");
        assert_eq!(gone.code(), Some(&SqlState::UNDEFINED_TABLE), "{gone}");
    }
}
