//! psql and pgbench, unchanged, against any site.

use crate::harness::{World, postgres_program, succeeds};

/// psql must find one database behind three doors, and its own describing commands must work.
#[test]
fn psql_finds_one_database_at_every_site() {
    psql_finds_one_database(&World::start());
}

/// See the test of this name.
pub fn psql_finds_one_database(world: &World) {
    let Some(psql) = postgres_program("psql") else { return };
    let run = |site: u16, format: &str, statement: &str| {
        let mut command = world.client(&psql, site);
        command.args(["-X", "-q", format, "-v", "ON_ERROR_STOP=1", "-c", statement, "raid"]);
        succeeds(&mut command).trim().to_owned()
    };
    let ask = |site, statement| run(site, "-At", statement);
    ask(1, "CREATE TABLE city (id int PRIMARY KEY, name text NOT NULL, people bigint DEFAULT 0)");
    ask(2, "INSERT INTO city VALUES (1, 'Bern', 134000), (2, 'Basel', 173000)");
    ask(3, "UPDATE city SET people = people + 1 WHERE id = 1");
    for site in 1..=3 {
        assert_eq!(ask(site, "SELECT name, people FROM city ORDER BY id"), "Bern|134001\nBasel|173000", "site {site}");
    }
    assert_eq!(ask(2, "SELECT count(*), sum(people) FROM city WHERE name LIKE 'B%'"), "2|307001");
    let tables = run(3, "-A", r"\dt");
    assert!(tables.contains("city") && tables.contains("table"), "{tables}");
    // Without -t: the indexes stand below the columns.
    let columns = run(1, "-A", r"\d city");
    for part in ["id", "integer", "not null", "people", "bigint", "city_pkey"] {
        assert!(columns.contains(part), "{part:?} is missing:\n{columns}");
    }
}

/// Stock pgbench must load its tables both ways and run its built-in scripts in every protocol mode, without a failed transaction.
#[test]
fn pgbench_runs_unchanged() {
    let Some(pgbench) = postgres_program("pgbench") else { return };
    let world = World::start();
    for steps in ["dtgvp", "dtGvp"] {
        succeeds(world.client(&pgbench, 1).args(["-i", "-q", "-s", "1", "-I", steps, "raid"]));
    }
    for mode in ["simple", "extended", "prepared"] {
        for script in ["tpcb-like", "simple-update", "select-only"] {
            let mut command = world.client(&pgbench, 1);
            command.args(["-n", "-c", "4", "-t", "25", "-M", mode, "-b", script, "raid"]);
            let report = succeeds(&mut command);
            assert!(
                report.contains("number of transactions actually processed: 100/100"),
                "{mode} {script}:\n{report}"
            );
            assert!(report.contains("number of failed transactions: 0"), "{mode} {script}:\n{report}");
        }
    }
    // Other sites have what was booked at the first.
    for site in 1..=3 {
        let mut client = world.connect(site);
        let mut sum = |statement: &str| -> i64 { client.query_one(statement, &[]).expect("a sum").get(0) };
        let history = sum("SELECT sum(delta) FROM pgbench_history");
        assert_eq!(sum("SELECT sum(abalance) FROM pgbench_accounts"), history, "site {site}");
        assert_eq!(sum("SELECT count(*) FROM pgbench_history"), 600, "site {site}");
    }
}

/// An idle, quiet cluster must prove the commit path: one round of messages, no disk sync before the answer.
#[test]
fn a_commit_is_one_round_and_waits_for_no_disk() {
    let world = World::start();
    let mut client = world.connect(1);
    client.batch_execute("CREATE TABLE t (k int PRIMARY KEY, v int)").expect("a table");
    let before = world.running.status(1).expect("a status").commits;
    for key in 0..50 {
        client.execute("INSERT INTO t VALUES ($1, 0)", &[&key]).expect("a row");
    }
    let after = world.running.status(1).expect("a status").commits;
    let committed = after.committed - before.committed;
    assert!(committed >= 50, "{after:?}");
    assert_eq!(after.rounds - before.rounds, committed, "one round of messages for a commit");
    assert_eq!(after.syncs_before_answer, before.syncs_before_answer, "no disk sync before an answer");
}
