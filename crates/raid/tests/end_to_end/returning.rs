//! A site that was away while few rows changed: it reads correctly at once, and copies what changed and little else.

use crate::harness::World;
use laboratory::cluster::process::Name;
use laboratory::debit_credit::{connect, explain};
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
    world.start_again(Name::Site(2));
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
