//! A site that was stopped in the middle of commits and given up comes back, and tells its clients what became of them: their sessions go on.

use crate::harness::World;
use laboratory::debit_credit::explain;
use local_cluster::process::ProcessName;
use postgres::Client;
use rustix::process::Signal;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// Clients at the site that is stopped.
const CLIENTS: i32 = 8;
/// How often it is stopped.
const STOPS: usize = 3;

/// What a client was told, all in all.
#[derive(Debug, Default)]
struct Told {
    done: i64,
    failed: i64,
    unknown: i64,
}

/// Adds one to a client's row: by itself, in a block, or together with a read of what it has become.
fn add(client: &mut Client, key: i32, count: i64) -> Result<(), postgres::Error> {
    match count % 3 {
        0 => client.execute("UPDATE outcomes SET n = n + 1 WHERE k = $1", &[&key]).map(drop),
        1 => client.query_one("UPDATE outcomes SET n = n + 1 WHERE k = $1 RETURNING n", &[&key]).map(drop),
        _ => {
            let mut block = client.transaction()?;
            block.execute("UPDATE outcomes SET n = n + 1 WHERE k = $1", &[&key])?;
            block.commit()
        }
    }
}

fn work(mut client: Client, key: i32, stop: &AtomicBool, commits: &AtomicI64) -> Told {
    let mut told = Told::default();
    client.batch_execute("SET application_name = 'outcomes'").expect("a setting");
    let mut count = 0;
    while !stop.load(Ordering::SeqCst) {
        count += 1;
        match add(&mut client, key, count) {
            Ok(()) => {
                told.done += 1;
                commits.fetch_add(1, Ordering::SeqCst);
            }
            Err(error) => match error.code().map(|code| code.code()) {
                Some("08007") => told.unknown += 1,
                Some("40001" | "57P03") => told.failed += 1,
                _ => panic!("client {key} is told otherwise, or its session has ended: {}", explain(&error)),
            },
        }
    }
    let name = client.query_one("SHOW application_name", &[]).expect("the session goes on");
    assert_eq!(name.get::<_, &str>(0), "outcomes", "and its settings with it");
    told
}

/// If this fails, a host that is slow for a moment costs its clients their sessions, or they are told of commits what is not so.
#[test]
fn clients_of_a_stopped_site_hear_what_became_of_their_commits() {
    let mut world = World::start();
    let mut client = world.connect(1);
    client.batch_execute("CREATE TABLE outcomes (k int PRIMARY KEY, n bigint NOT NULL)").expect("a table");
    for key in 0..CLIENTS {
        client.execute("INSERT INTO outcomes VALUES ($1, 0)", &[&key]).expect("a row");
    }
    let (stop, commits) = (AtomicBool::new(false), AtomicI64::new(0));
    let told: Vec<Told> = std::thread::scope(|scope| {
        let (stop, commits) = (&stop, &commits);
        let clients: Vec<_> = (0..CLIENTS)
            .map(|key| {
                let client = world.connect(2);
                scope.spawn(move || work(client, key, stop, commits))
            })
            .collect();
        for _ in 0..STOPS {
            let before = commits.load(Ordering::SeqCst);
            crate::harness::eventually("commits at site 2", || commits.load(Ordering::SeqCst) > before + 200);
            world.running.signal(ProcessName::Site(2), Signal::STOP);
            world.wait_until_without(&[2]);
            world.running.signal(ProcessName::Site(2), Signal::CONT);
            world.wait_until_repaired();
        }
        stop.store(true, Ordering::SeqCst);
        clients.into_iter().map(|client| client.join().expect("as it has said")).collect()
    });
    eprintln!("{told:?}");
    for (key, told) in (0..CLIENTS).zip(&told) {
        let counted: i64 = client.query_one("SELECT n FROM outcomes WHERE k = $1", &[&key]).expect("its row").get(0);
        let may_be = told.done..=told.done + told.unknown;
        assert!(may_be.contains(&counted), "client {key} has {counted}, and was told {told:?}");
    }
}
