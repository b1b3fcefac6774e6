//! What takes long, and what keeps the processors busy, costs nobody else a thing: no site loses its place, no other client waits for the end.

use crate::harness::{World, eventually};
use laboratory::debit_credit::explain;
use std::fmt::Write as _;
use std::os::unix::fs::FileExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use thread_priority::unix::{
    RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
};
use thread_priority::{ThreadPriority, ThreadPriorityValue};

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

/// A sync that takes longer is the disk's fault, whatever else is slow.
const DISK_STALL: Duration = Duration::from_secs(1);

/// Inserts a row at a time at a site. An error: what has failed.
fn insert_until(world: &World, site: u16, until: Instant) -> Result<(), String> {
    let mut client = world.connect(site);
    let insert = client.prepare("INSERT INTO busy VALUES ($1, $2)").map_err(|error| explain(&error))?;
    let mut number = 0;
    while Instant::now() < until {
        number += 1;
        let inserted = client.execute(&insert, &[&i32::from(site), &number]);
        inserted.map_err(|error| format!("site {site}, row {number}: {}", explain(&error)))?;
    }
    eprintln!("site {site}: {number} rows");
    Ok(())
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

/// What the disk itself does meanwhile: the longest sync of a small file by a thread that no busy neighbour holds up. A disk that stands still is another fault
/// than the one that is looked for.
struct DiskWatch {
    done: Arc<AtomicBool>,
    thread: JoinHandle<Duration>,
}

impl DiskWatch {
    fn start() -> DiskWatch {
        let done = Arc::new(AtomicBool::new(false));
        let is_done = Arc::clone(&done);
        let thread = std::thread::spawn(move || {
            let lowest = ThreadPriorityValue::try_from(1).expect("1 is a priority");
            let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::RoundRobin);
            set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(lowest), policy)
                .expect("the sites have this right as well");
            // As a log has it: all of its blocks are there before, so that the file system has nothing to note.
            let file = tempfile::tempfile().expect("a file");
            file.write_all_at(&[1; 4096], 0).and_then(|()| file.sync_all()).expect("it is written");
            let mut longest = Duration::ZERO;
            while !is_done.load(Ordering::SeqCst) {
                file.write_all_at(&[7; 512], 0).expect("it is written");
                let begun = Instant::now();
                file.sync_data().expect("it is synced");
                longest = longest.max(begun.elapsed());
                std::thread::park_timeout(Duration::from_millis(20));
            }
            longest
        });
        DiskWatch { done, thread }
    }

    /// The longest time that a sync took.
    fn longest(self) -> Duration {
        self.done.store(true, Ordering::SeqCst);
        self.thread.join().expect("the disk can be written")
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
    let disk = DiskWatch::start();
    let busy = Busy::start(30);
    let until = Instant::now() + Duration::from_secs(15);
    let failed: Vec<String> = std::thread::scope(|scope| {
        let world = &world;
        let writers: Vec<_> = (1..=3_u16).map(|site| scope.spawn(move || insert_until(world, site, until))).collect();
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            std::thread::park_timeout(left);
        }
        // A site whose disk has stood still comes back beside them only slowly.
        drop(busy);
        writers.into_iter().filter_map(|writer| writer.join().expect("a writer tells what has failed").err()).collect()
    });
    let longest = disk.longest();
    if longest > DISK_STALL {
        eprintln!("the disk stood still for {} ms: left out", longest.as_millis());
        return;
    }
    assert!(
        failed.is_empty(),
        "{}; the longest sync took {} ms\n{}",
        failed.join("; "),
        longest.as_millis(),
        world.logs()
    );
    assert_eq!(epoch(&mut world), before, "a site was taken for dead\n{}", world.logs());
    eventually("the sites agree", || {
        let counts: Vec<i64> = (1..=3)
            .map(|site| world.connect(site).query_one("SELECT count(*) FROM busy", &[]).unwrap().get(0))
            .collect();
        counts.windows(2).all(|pair| pair[0] == pair[1])
    });
}
