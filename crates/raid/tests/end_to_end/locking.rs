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
        [&mut first, &mut second, &mut third].map(|client| client.batch_execute("BEGIN").expect("a block"));
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
