//! Temporary tables between sessions and sites, and what becomes of them.

use crate::answers::Wire;
use crate::harness::{World, eventually};
use postgres::error::SqlState;

/// Temporary relations and schemas that the catalog of a site shows.
fn temporary(world: &World, site: u16) -> Option<i64> {
    let count = "SELECT (SELECT count(*) FROM pg_class WHERE relpersistence = 't') \
                 + (SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pg\\_temp\\_%')";
    let mut client = laboratory::debit_credit::connect(world.sql(site)).ok()?;
    client.query_one(count, &[]).ok().map(|row| row.get(0))
}

fn wait_until_gone(world: &World, sites: &[u16]) {
    for site in sites {
        eventually("temporary tables to go", || temporary(world, *site) == Some(0));
    }
}

/// A session would read or lose the rows of another one's table of the same name; and what it leaves would stay for good.
#[test]
fn each_session_has_its_own() {
    let world = World::start();
    let mut permanent = world.connect(3);
    permanent.batch_execute("CREATE TABLE t (k int); INSERT INTO t VALUES (0)").expect("a table");
    let mut clients = [world.connect(1), world.connect(1), world.connect(2)];
    for (number, client) in (1_i32..).zip(&mut clients) {
        client
            .batch_execute("CREATE TEMP TABLE t (k int PRIMARY KEY, v text); CREATE INDEX ON t (v)")
            .expect("its own");
        client.execute("INSERT INTO t VALUES ($1, 'x')", &[&number]).expect("a row");
    }
    for (number, client) in (1_i32..).zip(&mut clients) {
        let rows = client.query("SELECT k FROM t WHERE v = 'x'", &[]).expect("rows");
        assert_eq!(rows.iter().map(|row| row.get(0)).collect::<Vec<i32>>(), [number]);
        assert_eq!(client.query_one("SELECT k FROM public.t", &[]).expect("a row").get::<_, i32>(0), 0);
    }
    assert_eq!(permanent.query_one("SELECT k FROM t", &[]).expect("a row").get::<_, i32>(0), 0);
    let schema: String = clients[0]
        .query_one("SELECT nspname::text FROM pg_namespace WHERE oid = pg_my_temp_schema()", &[])
        .expect("its schema")
        .get(0);
    for (statement, code) in [
        ("SELECT * FROM {}.t", SqlState::FEATURE_NOT_SUPPORTED),
        ("INSERT INTO {}.t VALUES (9)", SqlState::FEATURE_NOT_SUPPORTED),
        ("TRUNCATE {}.t", SqlState::FEATURE_NOT_SUPPORTED),
        ("CREATE TABLE {}.u (k int)", SqlState::INVALID_TABLE_DEFINITION),
    ] {
        let refused = permanent.batch_execute(&statement.replace("{}", &schema)).expect_err(statement);
        assert_eq!(refused.code(), Some(&code), "{statement}: {refused}");
    }
    permanent.batch_execute("CREATE ROLE other; SET ROLE other").expect("a role");
    let refused = permanent.batch_execute(&format!("SELECT * FROM {schema}.t")).expect_err("it may not");
    assert_eq!(refused.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{refused}");
    assert!(temporary(&world, 3) > Some(0), "the catalogs show them");
    let [first, second, third] = clients;
    drop(first);
    drop(second);
    eventually("one session's to be left", || temporary(&world, 2) == Some(4));
    drop(third);
    wait_until_gone(&world, &[1, 2, 3]);
}

/// What a client leaves that is killed would stay; and a transaction that it leaves open would bring a schema back.
#[test]
fn they_go_with_a_client_that_is_killed() {
    let world = World::start();
    for rest in ["", "BEGIN; CREATE TEMP TABLE more (k int)", "BEGIN; DROP TABLE t"] {
        // It says no farewell.
        let mut client = Wire::connect(world.sql(1), "raid", "raid");
        let made = client.simple("CREATE TEMP TABLE t (k serial PRIMARY KEY, v text UNIQUE)", None);
        assert_eq!(made.error(), None, "{made:?}");
        assert_eq!(client.simple("INSERT INTO t (v) VALUES ('x')", None).error(), None);
        if !rest.is_empty() {
            assert_eq!(client.simple(rest, None).error(), None);
        }
        drop(client);
        wait_until_gone(&world, &[1, 2]);
    }
}

/// What a site leaves that dies would stay at the others.
#[test]
fn they_go_with_a_site_that_dies() {
    let mut world = World::start();
    let mut client = world.connect(2);
    client.batch_execute("CREATE TEMP TABLE t (k int PRIMARY KEY); INSERT INTO t VALUES (1)").expect("its own");
    let mut other = world.connect(1);
    other.batch_execute("CREATE TEMP TABLE t (k int); INSERT INTO t VALUES (7)").expect("another's");
    world.kill(2);
    eventually("the dead site's to go", || temporary(&world, 3) == Some(2));
    assert_eq!(other.query_one("SELECT k FROM t", &[]).expect("it lives").get::<_, i32>(0), 7);
    drop(other);
    wait_until_gone(&world, &[1, 3]);
}
