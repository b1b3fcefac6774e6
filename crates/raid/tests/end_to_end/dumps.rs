//! pg_dump and pg_restore of PostgreSQL 15, unchanged, from PostgreSQL into Raid and back.

use crate::harness::{World, postgres_program, succeeds};
use crate::throwaway_postgres::Postgres;
use std::path::Path;
use std::process::Command;

const SHOP: &str = include_str!("../dumps/shop.sql");

fn at(postgres: &Postgres, program: &Path, database: &str) -> Command {
    let mut command = Command::new(program);
    command.args(["-h", "127.0.0.1", "-p", &postgres.address.port().to_string(), "-U", "raid", "-d", database]);
    command
}

/// Lines that stand in one dump more often than in another. What is not the same each time is left out; COPY may give rows in any order.
fn only_in<'d>(one: &'d str, other: &str) -> Vec<&'d str> {
    let is_same_each_time =
        |line: &&str| !["\\restrict", "\\unrestrict", "-- Dumped"].iter().any(|word| line.starts_with(word));
    let mut rest: Vec<&str> = other.lines().collect();
    let is_more = |line: &&str| match rest.iter().position(|known| known == line) {
        Some(place) => {
            rest.swap_remove(place);
            false
        }
        None => true,
    };
    one.lines().filter(is_same_each_time).filter(is_more).collect()
}

/// If this fails, a schema or rows that applications bring along do not arrive, or what is in Raid cannot leave it.
#[test]
fn a_dump_goes_from_postgresql_into_raid_and_back() {
    let (Some(psql), Some(pg_dump)) = (postgres_program("psql"), postgres_program("pg_dump")) else { return };
    let Some(pg_restore) = postgres_program("pg_restore") else { return };
    let Some(postgres) = Postgres::start() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    let strictly = ["-X", "-q", "-v", "ON_ERROR_STOP=1"];

    std::fs::write(path("shop.sql"), SHOP).expect("a script");
    succeeds(at(&postgres, &psql, "raid").args(strictly).arg("-f").arg(path("shop.sql")));
    succeeds(at(&postgres, &psql, "raid").args(strictly).args(["-c", "CREATE DATABASE back"]));
    let first = succeeds(&mut at(&postgres, &pg_dump, "raid"));
    std::fs::write(path("first.sql"), &first).expect("a dump");

    let world = World::start();
    let here = |program: &Path, site: u16| {
        let mut command = world.client(program, site);
        command.args(["-d", "raid"]);
        command
    };
    succeeds(here(&psql, 1).args(strictly).args(["-c", "CREATE ROLE dump_reader"]));
    succeeds(here(&psql, 1).args(strictly).arg("-f").arg(path("first.sql")));
    let asked = "SELECT shop.orders_of(1), shop.greet(), (SELECT orders FROM shop.a_total WHERE customer_id = 2)";
    let answer = succeeds(here(&psql, 2).args(strictly).args(["-At", "-c", asked]));
    assert_eq!(answer.trim(), "1|hello you|1", "functions and views of a dump are of use");

    succeeds(here(&pg_dump, 2).arg("-Fc").arg("-f").arg(path("back.dump")));
    succeeds(at(&postgres, &pg_restore, "back").arg("--exit-on-error").arg(path("back.dump")));
    let second = succeeds(&mut at(&postgres, &pg_dump, "back"));
    let changed = (only_in(&first, &second), only_in(&second, &first));
    assert_eq!(changed, (vec![], vec![]), "PostgreSQL has again what it had");
}
