//! Drivers as applications use them, each by a script of its own in `tests/drivers`. (Rust's is in all other tests.)

use crate::harness::{World, succeeds};
use postgres::error::SqlState;
use std::path::Path;
use std::process::Command;

/// Python with a module. `None`, said aloud, where one of them is not installed.
fn python_with(module: &str) -> Option<Command> {
    let python = || Command::new("/usr/bin/python3");
    let found = python().args(["-c", &format!("import {module}")]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        eprintln!("python3-{module} is not installed: this test does nothing without it");
        return None;
    }
    Some(python())
}

fn run(module: &str, connection: impl Fn(&str, u16) -> String) {
    let Some(mut python) = python_with(module) else { return };
    let world = World::start();
    let site = world.sql(2);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/drivers/{module}_driver.py"));
    succeeds(python.arg("-B").arg(script).arg(connection(&site.ip().to_string(), site.port())));
}

/// psycopg 3: text and binary results, prepared statements, COPY, pipelines, savepoints, cancelling, errors with their fields.
#[test]
fn psycopg_finds_what_it_needs() {
    run("psycopg", |host, port| format!("host={host} port={port} user=raid dbname=raid"));
}

/// asyncpg: everything in binary, portals with row limits, COPY, pools that reset their connections, a statement whose table changed.
#[test]
fn asyncpg_finds_what_it_needs() {
    run("asyncpg", |host, port| format!("postgresql://raid@{host}:{port}/raid"));
}

/// A schema change that one site has answered is there at every other, however soon it is asked for: otherwise a client that goes from
/// site to site is told that there is no such table.
#[test]
fn what_one_site_makes_the_others_have_at_once() {
    let world = World::start();
    let mut clients: Vec<postgres::Client> = (1..=3).map(|site| world.connect(site)).collect();
    for round in 0..60 {
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
