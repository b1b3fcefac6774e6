//! Drivers as applications use them, each by a script of its own in `tests/drivers`. (Rust's is in all other tests.)

use crate::harness::{World, succeeds};
use std::path::Path;
use std::process::Command;

/// Python with a module. `None`, said aloud, where one of them is not installed.
pub fn python_with(module: &str) -> Option<Command> {
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
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/drivers/{module}_driver.py"));
    let [site, elsewhere] = [2, 3].map(|site| {
        let address = world.sql(site);
        connection(&address.ip().to_string(), address.port())
    });
    succeeds(python.arg("-B").arg(script).args([site, elsewhere]));
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
