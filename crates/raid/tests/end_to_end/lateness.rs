//! What takes long, and what keeps the processors busy, costs nobody else a thing: no site loses its place, no other client waits for the end.

use crate::harness::{World, eventually};
use laboratory::debit_credit::explain;
use std::fmt::Write;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The epoch that all sites are in.
fn epoch(world: &mut World) -> u64 {
    let statuses = world.wait("all sites in one epoch", |statuses| {
        let mut epochs = statuses.values().map(|status| status.epoch);
        let first = epochs.next();
        statuses.len() == 3 && epochs.all(|epoch| Some(epoch) == first)
    });
    statuses[&1].epoch
}

/// Statements that take long to read, to compile or to execute, each of another kind.
fn worst() -> Vec<String> {
    let numbers = |count: u32| (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    let mut rows = String::from("INSERT INTO long VALUES ");
    for number in 0..30_000 {
        write!(rows, "{}({number},{number},'t')", if number > 0 { "," } else { "" }).expect("a text takes all");
    }
    rows.push_str(" ON CONFLICT DO NOTHING");
    vec![
        format!("SELECT id FROM long WHERE id IN ({})", numbers(50_000)),
        rows,
        format!("SELECT 1{}", "::int".repeat(100_000)),
        format!("SELECT {}1{}", "(".repeat(500_000), ")".repeat(500_000)),
        format!("INSERT INTO long VALUES (1, 1, '{}') ON CONFLICT DO NOTHING", "z".repeat(3 << 20)),
    ]
}

/// If this failed, one client's large statements would end the sessions of all others at its site, or keep their point reads waiting until it is done.
#[test]
fn the_longest_statements_cost_no_site_its_place() {
    let mut world = World::start();
    let mut client = world.connect(1);
    client.batch_execute("CREATE TABLE long (id int PRIMARY KEY, v int, t text)").unwrap();
    client.batch_execute("INSERT INTO long SELECT g, g, 't' FROM generate_series(100000, 100100) g").unwrap();
    let before = epoch(&mut world);
    let (done, reads) = (AtomicBool::new(false), AtomicU64::new(0));
    let longest = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reader = world.connect(1);
            let mut longest = Duration::ZERO;
            while !done.load(Ordering::SeqCst) {
                let begun = Instant::now();
                let read = reader.query_one("SELECT v FROM long WHERE id = 100007", &[]);
                read.unwrap_or_else(|error| panic!("a point read beside them: {}", explain(&error)));
                longest = longest.max(begun.elapsed());
                reads.fetch_add(1, Ordering::SeqCst);
            }
            longest
        });
        let writers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut writer = world.connect(1);
                    for statement in worst() {
                        match writer.batch_execute(&statement) {
                            Ok(()) => {}
                            Err(error) => {
                                let code = error.code().map(|code| code.code().to_owned());
                                // What is too deep is refused, and of those that insert the same rows one wins.
                                let may = ["54001", "40001", "40P01", "53400"];
                                assert!(code.as_deref().is_some_and(|code| may.contains(&code)), "{}", explain(&error));
                            }
                        }
                    }
                })
            })
            .collect();
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join().is_ok()).collect();
        done.store(true, Ordering::SeqCst);
        assert!(written.iter().all(|is_written| *is_written), "a writer failed, as told above");
        reader.join().expect("the reader")
    });
    eprintln!("{} point reads beside them, the longest {} ms", reads.load(Ordering::SeqCst), longest.as_millis());
    assert_eq!(epoch(&mut world), before, "a site has lost its place\n{}", world.logs());
}

/// Programs that do nothing but take processor time, until they are dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn start(count: usize) -> Busy {
        let one = || Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn();
        Busy((0..count).map(|_| one().expect("a shell")).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// If this failed, a busy host would be taken for a dead one: its clients would lose their sessions, for nothing.
#[test]
fn a_busy_host_is_no_dead_one() {
    let mut world = World::start();
    let statuses = world.wait("all sites", |statuses| statuses.len() == 3);
    if statuses.values().any(|status| status.lease_right != "real-time") {
        eprintln!("no real-time priority here: left out");
        return;
    }
    world.connect(1).batch_execute("CREATE TABLE busy (site int, n int, PRIMARY KEY (site, n))").unwrap();
    let before = epoch(&mut world);
    let busy = Busy::start(30);
    let until = Instant::now() + Duration::from_secs(15);
    std::thread::scope(|scope| {
        for site in 1..=3_u16 {
            let world = &world;
            scope.spawn(move || {
                let mut client = world.connect(site);
                let insert = client.prepare("INSERT INTO busy VALUES ($1, $2)").unwrap();
                let mut number = 0;
                while Instant::now() < until {
                    number += 1;
                    let inserted = client.execute(&insert, &[&i32::from(site), &number]);
                    inserted.unwrap_or_else(|error| panic!("site {site}, row {number}: {}", explain(&error)));
                }
                eprintln!("site {site}: {number} rows");
            });
        }
    });
    assert_eq!(epoch(&mut world), before, "a site was taken for dead\n{}", world.logs());
    drop(busy);
    eventually("the sites agree", || {
        let counts: Vec<i64> = (1..=3)
            .map(|site| world.connect(site).query_one("SELECT count(*) FROM busy", &[]).unwrap().get(0))
            .collect();
        counts.windows(2).all(|pair| pair[0] == pair[1])
    });
}
