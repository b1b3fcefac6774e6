//! A site that was away while few rows changed: it reads correctly at once, copies what changed and little else, and costs clients of the others
//! nothing but time.

use crate::harness::{World, eventually, postgres_program, succeeds};
use laboratory::debit_credit::{connect, explain};
use local_cluster::process::ProcessName;
use std::time::{Duration, Instant};

/// Rows of the table, so wide that what a copy carries beside them hardly counts.
const ROWS: i64 = 5_000;
/// Of them, one in so many changes while the site is away.
const CHANGED_ONE_IN: i64 = 100;
/// Bytes of each row.
const ROW_BYTES: i64 = 1_000;
/// The goal is a tenth of a second; this much a busy machine may add.
const FIRST_READ_MAX: Duration = Duration::from_secs(20);

/// If this fails, a short absence costs a whole copy, or its rows are served as they were.
#[test]
fn a_site_that_missed_one_row_in_a_hundred_copies_little_more() {
    let mut world = World::start();
    world.write_rows("t", ROWS, ROW_BYTES);
    // What is not known to be on disk at a site counts as lost when the site is.
    world.wait("everything to be on disk", |statuses| statuses.values().all(|status| status.unsynced_commits == 0));
    world.kill(2);
    world.wait_until_without(&[2]);
    let change = format!("UPDATE t SET v = repeat('b', {ROW_BYTES}) WHERE k % {CHANGED_ONE_IN} = 0");
    world.connect(1).batch_execute(&change).unwrap_or_else(|error| panic!("{}", explain(&error)));
    let changed_bytes = (ROWS / CHANGED_ONE_IN * ROW_BYTES) as u64;

    let started_at = Instant::now();
    world.start_again(ProcessName::Site(2));
    let first_read = loop {
        let text = "SELECT v = repeat('b', 1000) FROM t WHERE k = 100";
        let read = connect(world.sql(2)).and_then(|mut client| client.query_one(text, &[]));
        if let Ok(row) = read {
            assert!(row.get::<_, bool>(0), "a row that changed meanwhile was served as it had been");
            break started_at.elapsed();
        }
        assert!(started_at.elapsed() < FIRST_READ_MAX, "no read after {FIRST_READ_MAX:?}\n{}", world.logs());
        std::thread::sleep(Duration::from_millis(1));
    };
    world.wait_until_repaired();
    let copied_bytes = world.running.status(2).expect("it answers").copied_bytes;
    eprintln!(
        "first correct read after {} ms, repaired after {} ms; {copied_bytes} bytes copied for {changed_bytes} changed",
        first_read.as_millis(),
        started_at.elapsed().as_millis(),
    );
    assert!(2 * copied_bytes <= 3 * changed_bytes, "{copied_bytes} bytes copied for {changed_bytes} changed");
    assert!(2 * copied_bytes >= changed_bytes, "it cannot have what it did not copy: {copied_bytes} bytes");
    let count = "SELECT count(*) FILTER (WHERE v = repeat('b', 1000)), count(*) FROM t";
    let row = world.connect(2).query_one(count, &[]).unwrap_or_else(|error| panic!("{}", explain(&error)));
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (ROWS / CHANGED_ONE_IN, ROWS));
}

/// How long clients go on, in seconds: a site is gone and back several times meanwhile.
const LOAD_SECONDS: &str = "12";

/// Clients whose transactions all add to one row, which every return finds changed: if this fails, a site that comes back makes them wait for each
/// other in a circle, or a change of the set of sites loses what is about to commit.
#[test]
fn no_client_loses_a_transaction_to_a_return() {
    let Some(pgbench) = postgres_program("pgbench") else { return };
    let mut world = World::start();
    succeeds(world.client(&pgbench, 1).args(["-i", "-q", "-s", "1", "raid"]));
    let mut load = world.client(&pgbench, 1);
    load.args(["-n", "-M", "prepared", "-c", "16", "-T", LOAD_SECONDS, "--verbose-errors", "raid"]);
    let mut returns = 0;
    let report = std::thread::scope(|scope| {
        let load = scope.spawn(move || succeeds(&mut load));
        while !load.is_finished() {
            world.kill(3);
            world.wait_until_without(&[3]);
            let committed = |world: &World| world.running.status(1).expect("it answers").commits.committed;
            let before = committed(&world);
            eventually("rows to change", || load.is_finished() || committed(&world) > before + 200);
            world.start_again(ProcessName::Site(3));
            world.wait_until_repaired();
            returns += u32::from(!load.is_finished());
        }
        load.join().expect("it reports")
    });
    assert!(returns > 0, "no site came back while clients went on: the test proves nothing");
    assert!(report.contains("number of failed transactions: 0"), "{returns} returns:\n{report}");
    let sums = "SELECT (SELECT sum(bbalance) FROM pgbench_branches), (SELECT sum(delta) FROM pgbench_history)";
    for site in 1..=3 {
        let row = world.connect(site).query_one(sums, &[]).unwrap_or_else(|error| panic!("{}", explain(&error)));
        assert_eq!(row.get::<_, i64>(0), row.get::<_, i64>(1), "site {site}");
    }
}
