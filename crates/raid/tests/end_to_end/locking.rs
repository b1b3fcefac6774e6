//! Rows that nobody else has: workers of a job queue, at one site and at all of them, under every method of concurrency control.

use crate::harness::{World, eventually};
use laboratory::debit_credit::explain;
use postgres::{Client, Error};
use std::collections::BTreeSet;

const SITES: [u16; 3] = [1, 2, 3];
const METHODS: [&str; 5] = ["locking", "optimistic", "serial", "simple-locking", "timestamp"];
/// Jobs, and workers at each site.
const JOBS: i32 = 60;
const WORKERS: usize = 2;

const READY: &str = "SELECT id FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
const TAKE: &str = "UPDATE jobs SET state = 'taken', worker = $1 WHERE id = (SELECT id FROM jobs WHERE state = 'ready' \
                    ORDER BY priority, id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id";

fn filled(world: &World) -> Client {
    let mut client = world.connect(1);
    let sql = "CREATE TABLE jobs (id int PRIMARY KEY, state text NOT NULL, priority int NOT NULL, worker int)";
    client.batch_execute(sql).expect("a table");
    let jobs: Vec<String> = (1..=JOBS).map(|id| format!("({id}, 'ready', {})", id % 3)).collect();
    client.batch_execute(&format!("INSERT INTO jobs VALUES {}", jobs.join(", "))).expect("jobs");
    client
}

fn ready(client: &mut Client) -> Option<i32> {
    let rows = client.query(READY, &[]).unwrap_or_else(|error| panic!("{}", explain(&error)));
    rows.first().map(|row| row.get(0))
}

fn code(error: &Error) -> &str {
    error.code().map_or("", |code| code.code())
}

/// If this fails, two workers of a site have one job, or one waits for the other's.
#[test]
fn workers_of_a_site_never_have_one_job() {
    let world = World::start();
    let mut admin = filled(&world);
    for method in METHODS {
        admin.batch_execute(&format!("ALTER SYSTEM SET raid.concurrency_method = '{method}'")).expect("a method");
        eventually("the method to be in force", || {
            admin.query_one("SELECT method FROM raid.concurrency", &[]).is_ok_and(|row| row.get::<_, &str>(0) == method)
        });
        let [mut first, mut second, mut third] = [1, 1, 1].map(|site| world.connect(site));
        for client in [&mut first, &mut second, &mut third] {
            client.batch_execute("BEGIN").expect("a block");
        }
        let (one, other) = (ready(&mut first).expect("a job"), ready(&mut second).expect("a job"));
        assert_ne!(one, other, "{method}");
        let nowait = format!("SELECT id FROM jobs WHERE id = {one} FOR UPDATE NOWAIT");
        let refused = third.batch_execute(&nowait).expect_err("the first one has it");
        assert_eq!(code(&refused), "55P03", "{method}: {}", explain(&refused));
        let message = refused.as_db_error().map(|error| error.message().to_owned());
        assert_eq!(message.as_deref(), Some("could not obtain lock on row in relation \"jobs\""));
        third.batch_execute("ROLLBACK; BEGIN").expect("a block");
        let is_left = |id| id != one && id != other;
        assert!(is_left(ready(&mut third).expect("a job")), "{method}");
        for (client, id) in [(&mut first, one), (&mut second, other)] {
            client
                .execute("DELETE FROM jobs WHERE id = $1", &[&id])
                .unwrap_or_else(|error| panic!("{method}: {}", explain(&error)));
            client.batch_execute("COMMIT").unwrap_or_else(|error| panic!("{method}: {}", explain(&error)));
        }
        third.batch_execute("ROLLBACK").expect("the end");
        assert!(is_left(ready(&mut second).expect("a job")), "{method}: what was done is gone");
    }
}

/// If this fails, a job is done twice or never, or a worker hears of what its site can try again.
#[test]
fn a_queue_of_all_sites_is_done_once() {
    let world = World::start();
    let mut admin = filled(&world);
    let done: Vec<i32> = std::thread::scope(|scope| {
        let workers: Vec<_> = SITES
            .iter()
            .flat_map(|site| (0..WORKERS).map(move |_| *site))
            .map(|site| {
                let mut client = world.connect(site);
                scope.spawn(move || {
                    let mut own = Vec::new();
                    // What another has just then is left out: nothing is ready for certain only when nothing is.
                    loop {
                        let taken = client
                            .query(TAKE, &[&i32::from(site)])
                            .unwrap_or_else(|error| panic!("{}", explain(&error)));
                        own.extend(taken.iter().map(|row| row.get::<_, i32>(0)));
                        let left = "SELECT count(*) FROM jobs WHERE state = 'ready'";
                        if taken.is_empty() && client.query_one(left, &[]).expect("a count").get::<_, i64>(0) == 0 {
                            return own;
                        }
                    }
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker")).collect()
    });
    assert_eq!(done.len(), JOBS as usize, "each job is taken once");
    assert_eq!(done.iter().copied().collect::<BTreeSet<i32>>(), (1..=JOBS).collect());
    let left: i64 = admin.query_one("SELECT count(*) FROM jobs WHERE worker IS NULL", &[]).expect("a count").get(0);
    assert_eq!(left, 0);
}

/// If this fails, two migrations of different sites run at the same time, or one does not see what the one before it did; or a lock does not notice what was
/// changed under it.
#[test]
fn a_locked_table_excludes_at_every_site() {
    let world = World::start();
    let mut admin = filled(&world);
    let [mut first, mut second] = [1, 2].map(|site| world.connect(site));
    first.batch_execute("BEGIN; LOCK TABLE jobs IN SHARE ROW EXCLUSIVE MODE").expect("it is free");
    let refused = |client: &mut Client, sql: &str| {
        client.batch_execute("BEGIN").expect("a block");
        let error = client.batch_execute(sql).expect_err("the first one has it");
        client.batch_execute("ROLLBACK").expect("the end");
        code(&error).to_owned()
    };
    assert_eq!(refused(&mut second, "LOCK TABLE jobs IN ROW EXCLUSIVE MODE NOWAIT"), "55P03");
    assert_eq!(refused(&mut second, "SET LOCAL lock_timeout = '200ms'; LOCK TABLE jobs IN SHARE MODE"), "55P03");
    second.batch_execute("BEGIN; LOCK TABLE jobs IN ROW SHARE MODE NOWAIT; COMMIT").expect("both can have it so");
    let shown = "SELECT locktype, mode, granted FROM pg_locks";
    let row = second.query_one(shown, &[]).expect("one lock");
    assert_eq!(
        (row.get::<_, &str>(0), row.get::<_, &str>(1), row.get::<_, bool>(2)),
        ("relation", "ShareRowExclusiveLock", true)
    );
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            second.batch_execute("BEGIN; LOCK TABLE jobs").unwrap_or_else(|error| panic!("{}", explain(&error)));
            let seen: i64 = second.query_one("SELECT count(*) FROM jobs", &[]).expect("a count").get(0);
            second
                .batch_execute("DELETE FROM jobs WHERE id = 1; COMMIT")
                .unwrap_or_else(|error| panic!("{}", explain(&error)));
            seen
        });
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        eventually("a session that waits", || admin.query_one(waits, &[]).is_ok_and(|row| row.get::<_, i64>(0) == 1));
        first
            .batch_execute("DELETE FROM jobs WHERE id > 10; COMMIT")
            .unwrap_or_else(|error| panic!("{}", explain(&error)));
        assert_eq!(waiting.join().expect("the thread"), 10, "who comes second sees what the first has done");
    });
    first.batch_execute("BEGIN; LOCK TABLE jobs IN SHARE MODE").expect("it is free");
    world.connect(3).batch_execute("UPDATE jobs SET worker = 3 WHERE id = 2").expect("nobody waits at another site");
    first.batch_execute("UPDATE jobs SET worker = 1 WHERE id = 3").map_or_else(
        |error| assert_eq!(code(&error), "40001"),
        |()| {
            let lost = first.batch_execute("COMMIT").expect_err("the table has changed under the lock");
            assert_eq!(code(&lost), "40001", "{}", explain(&lost));
        },
    );
}
