//! Snapshots of a running cluster, and clusters made from them.

use crate::disks::Disk;
use crate::harness::{World, eventually, raid, said};
use local_cluster::process::ProcessName;
use site::layout::Layout;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread::JoinHandle;

/// Somebody who writes rows 1, 2, 3, ... at one site, each together with a change of two balances that cancel each other, until told to stop.
pub struct Writer {
    site: u16,
    /// The last row that is acknowledged, and the last that was begun.
    acknowledged: Arc<AtomicI64>,
    begun: Arc<AtomicI64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    fn start(world: &World, site: u16) -> Writer {
        Writer::start_at(world.sql(site), site)
    }

    /// At this address of a site.
    pub fn start_at(sql: SocketAddr, site: u16) -> Writer {
        let (acknowledged, begun): (Arc<AtomicI64>, Arc<AtomicI64>) = Default::default();
        let stop: Arc<AtomicBool> = Arc::default();
        let shared = (acknowledged.clone(), begun.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            let (acknowledged, begun, stop) = shared;
            let mut client = None;
            while !stop.load(Ordering::SeqCst) {
                let number = acknowledged.load(Ordering::SeqCst) + 1;
                begun.store(number, Ordering::SeqCst);
                let text = format!(
                    "BEGIN; INSERT INTO rows VALUES ({site}, {number}); UPDATE balances SET v = v + 1 WHERE k = 1; \
                     UPDATE balances SET v = v - 1 WHERE k = 2; INSERT INTO keyless VALUES ({number}); COMMIT"
                );
                if client.is_none() {
                    client = laboratory::debit_credit::connect(sql).ok();
                }
                let Some(connected) = &mut client else { continue };
                match connected.batch_execute(&text) {
                    Ok(()) => acknowledged.store(number, Ordering::SeqCst),
                    // Nobody knew, and it had committed.
                    Err(error) if error.code().is_some_and(|code| code.code() == "23505") => {
                        acknowledged.store(number, Ordering::SeqCst);
                        client = None;
                    }
                    Err(_) => client = None,
                }
            }
        });
        Writer { site, acknowledged, begun, stop, thread: Some(thread) }
    }

    /// At which site.
    pub fn site(&self) -> u16 {
        self.site
    }

    /// The last row that is acknowledged.
    pub fn acknowledged(&self) -> i64 {
        self.acknowledged.load(Ordering::SeqCst)
    }

    /// The last one that was begun.
    pub fn begun(&self) -> i64 {
        self.begun.load(Ordering::SeqCst)
    }

    pub fn wait_for(&self, more: i64) {
        let before = self.acknowledged.load(Ordering::SeqCst);
        eventually("rows", || self.acknowledged.load(Ordering::SeqCst) >= before + more);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

pub fn make_tables(client: &mut postgres::Client) {
    client
        .batch_execute(
            "CREATE TABLE rows (site int, n int, PRIMARY KEY (site, n)); CREATE TABLE balances (k int PRIMARY KEY, v int); \
             CREATE TABLE keyless (n int); INSERT INTO balances VALUES (1, 0), (2, 0); CREATE ROLE guest LOGIN",
        )
        .expect("new tables");
}

fn command(arguments: &[&str]) -> Output {
    Command::new(raid()).args(arguments).output().expect("the program runs")
}

pub fn succeeds(arguments: &[&str]) -> String {
    let output = command(arguments);
    assert!(output.status.success(), "raid {arguments:?}: {}", said(&output));
    said(&output)
}

pub fn fails(arguments: &[&str], part: &str) {
    let output = command(arguments);
    let text = said(&output);
    assert!(!output.status.success() && text.contains(part), "raid {arguments:?} must fail with {part:?}: {text}");
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("plain text")
}

/// A snapshot, and between which rows of each writer it must end.
struct Expected {
    name: String,
    between: Vec<(u16, i64, i64)>,
}

fn take(world: &World, writers: &[Writer], site: u16, name: &str, folder: &Path) -> Expected {
    let before: Vec<i64> = writers.iter().map(|writer| writer.acknowledged.load(Ordering::SeqCst)).collect();
    let data = world.running.cluster().folder().to_owned();
    succeeds(&["snapshot", "take", name, "--site", &site.to_string(), "--data", text(&data), "--to", text(folder)]);
    let between = writers
        .iter()
        .zip(before)
        .map(|(writer, before)| (writer.site, before, writer.begun.load(Ordering::SeqCst)))
        .collect();
    Expected { name: name.to_owned(), between }
}

/// The snapshot becomes a cluster of so many sites, which has what it must have and goes on.
fn restore_and_check(folder: &Path, expected: &Expected, sites: u16) {
    let new = tempfile::tempdir().expect("a temporary folder");
    let data = new.path().join("restored");
    let from = folder.join(&expected.name);
    let sites_text = sites.to_string();
    succeeds(&["restore", "--from", text(&from), "--data", text(&data), "--sites", &sites_text, "--port", "0"]);
    let mut world = World::start_made(new, &data);
    world.wait_until_repaired();
    for site in [1, sites] {
        let mut client = world.connect(site);
        let mut total = 0;
        for &(writer, at_least, at_most) in &expected.between {
            let query = "SELECT count(*), COALESCE(max(n), 0)::bigint FROM rows WHERE site = $1";
            let row = client.query_one(query, &[&i32::from(writer)]).expect("a count");
            let (count, last): (i64, i64) = (row.get(0), row.get(1));
            assert_eq!(count, last, "what came before a row of writer {writer} is there, too");
            assert!((at_least..=at_most).contains(&last), "writer {writer}: {at_least} <= {last} <= {at_most}");
            total += last;
        }
        let balance = |client: &mut postgres::Client, k: i32| -> i32 {
            client.query_one("SELECT v FROM balances WHERE k = $1", &[&k]).expect("a balance").get(0)
        };
        assert_eq!(i64::from(balance(&mut client, 1)), total, "each row has its change of the balance");
        assert_eq!(i64::from(balance(&mut client, 2)), -total);
        let keyless: i64 = client.query_one("SELECT count(*) FROM keyless", &[]).expect("a count").get(0);
        assert_eq!(keyless, total);
    }
    goes_on(&mut world, sites);
    assert_eq!(world.stop(), Vec::<String>::new());
}

/// New rows lie above the restored ones, at every site, and no hidden key is given out twice.
fn goes_on(world: &mut World, sites: u16) {
    let mut first = world.connect(1);
    let count = |client: &mut postgres::Client| -> i64 {
        client.query_one("SELECT count(*) FROM keyless", &[]).expect("a count").get(0)
    };
    let before = count(&mut first);
    first
        .batch_execute("INSERT INTO keyless SELECT g FROM generate_series(1, 100) g; UPDATE balances SET v = 7 WHERE k = 1; CREATE INDEX ON rows (n)")
        .expect("writes after a restore");
    let mut last = world.connect(sites);
    assert_eq!(count(&mut last), before + 100);
    let v: i32 = last.query_one("SELECT v FROM balances WHERE k = 1", &[]).expect("a balance").get(0);
    assert_eq!(v, 7);
    let roles: i64 =
        last.query_one("SELECT count(*) FROM pg_roles WHERE rolname = 'guest'", &[]).expect("a count").get(0);
    assert_eq!(roles, 1, "roles come back");
}

/// If this fails, a backup lacks something acknowledged, has half of a transaction, or does not start.
#[test]
fn snapshots_under_load_are_moments_of_the_instance() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let world = World::start_in(Layout::Merged);
    make_tables(&mut world.connect(1));
    let writers: Vec<Writer> = (1..=3).map(|site| Writer::start(&world, site)).collect();
    writers.iter().for_each(|writer| writer.wait_for(100));
    let mut taken = Vec::new();
    for (number, site) in [1, 2, 3, 2].into_iter().enumerate() {
        taken.push(take(&world, &writers, site, &format!("s{number}"), folder.path()));
        writers.iter().for_each(|writer| writer.wait_for(20));
    }
    // Two at once, while the schema changes.
    std::thread::scope(|scope| {
        let both = [1, 3].map(|site| {
            let (world, writers, folder) = (&world, &writers, folder.path());
            scope.spawn(move || take(world, writers, site, &format!("both{site}"), folder))
        });
        let mut client = world.connect(2);
        client
            .batch_execute(
                "CREATE TABLE passing (k int PRIMARY KEY); INSERT INTO passing VALUES (1); DROP TABLE passing",
            )
            .expect("a table");
        taken.extend(both.map(|one| one.join().expect("it is taken")));
    });
    drop(writers);
    assert_eq!(world.stop(), Vec::<String>::new());
    let listed = succeeds(&["snapshot", "list", "--to", text(folder.path())]);
    assert_eq!(listed.lines().count(), taken.len(), "{listed}");
    for (expected, sites) in taken.iter().zip([1, 5, 3, 1, 2, 3]) {
        restore_and_check(folder.path(), expected, sites);
    }
}

/// A site that dies while it writes a snapshot must leave none that passes for whole, and take the next one of that name.
#[test]
fn a_kill_leaves_no_snapshot() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut world = World::start_in(Layout::Merged);
    make_tables(&mut world.connect(1));
    world.write_rows("wide", 8_000, 1_000);
    let data = world.running.cluster().folder().to_owned();
    for part in ["base", "tail"] {
        let slow = ["snapshot", "take", "cut-off", "--site", "2", "--rate", "2"];
        let mut child = Command::new(raid())
            .args(slow)
            .args(["--data", text(&data), "--to", text(folder.path())])
            .spawn()
            .expect("the program runs");
        eventually("the snapshot to be begun", || {
            let entries = std::fs::read_dir(folder.path()).expect("the folder").flatten().map(|entry| entry.path());
            let mut partial = entries.filter(|path| path.extension().is_some_and(|extension| extension == "partial"));
            partial.any(|path| path.join(part).exists()) || child.try_wait().ok().flatten().is_some()
        });
        world.kill(2);
        let done = child.wait().expect("it ends").success();
        let is_there = folder.path().join("cut-off").exists();
        // The site may die between its last rename and its answer: then the snapshot is there, and whole.
        assert!(!done || is_there, "it is there if that was said");
        if is_there {
            succeeds(&["snapshot", "verify", "cut-off", "--deep", "--to", text(folder.path())]);
        }
        assert!(!done || part == "tail", "a base of some megabytes cannot be written in no time");
        world.start_again(ProcessName::Site(2));
        world.wait_until_repaired();
    }
    let _ = std::fs::remove_dir_all(folder.path().join("cut-off"));
    let expected = take(&world, &[], 2, "cut-off", folder.path());
    assert_eq!(world.stop(), Vec::<String>::new());
    // A restore that is killed is no cluster, and is begun anew.
    let new = tempfile::tempdir().expect("a temporary folder");
    let restored = new.path().join("restored");
    let from = folder.path().join("cut-off");
    let restore = ["restore", "--from", text(&from), "--data", text(&restored), "--sites", "2", "--port", "0"];
    let mut child = Command::new(raid()).args(restore).spawn().expect("the program runs");
    eventually("the restore to be begun", || restored.join("restoring").exists());
    child.kill().expect("it runs, or has ended");
    let done = child.wait().expect("it ends").success();
    if !done {
        fails(&["start", "--data", text(&restored)], "not restored to the end");
        succeeds(&restore);
    }
    fails(&restore, "is not empty");
    restore_and_check(folder.path(), &expected, 1);
}

/// Damage must be named, and must not be restored; two sites' copies of the same state must be alike.
#[test]
fn damage_is_named_and_copies_are_alike() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let world = World::start_in(Layout::Merged);
    make_tables(&mut world.connect(1));
    world.write_rows("wide", 500, 1_000);
    let to = text(folder.path());
    take(&world, &[], 1, "one", folder.path());
    take(&world, &[], 3, "three", folder.path());
    let data = world.running.cluster().folder().to_owned();
    fails(&["snapshot", "take", "one", "--data", text(&data), "--to", to], "already exists");
    fails(&["snapshot", "take", "a/b", "--data", text(&data), "--to", to], "is no name");
    fails(&["snapshot", "show", "none", "--to", to], "does not exist");
    let hash = |name: &str| {
        let said = succeeds(&["snapshot", "verify", name, "--deep", "--to", to]);
        said.rsplit_once("it restores: ").expect("it says so").1.to_owned()
    };
    assert_eq!(hash("one"), hash("three"));
    let (base, tail) = (folder.path().join("one/base"), folder.path().join("three/tail"));
    let mut bytes = std::fs::read(&base).expect("the base");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&base, bytes).expect("it can be written");
    std::fs::remove_file(tail).expect("it is there");
    fails(&["snapshot", "verify", "one", "--to", to], "base is damaged at byte");
    fails(&["snapshot", "verify", "three", "--to", to], "lacks tail");
    let restored = folder.path().join("restored");
    fails(&["restore", "--from", &format!("{to}/one"), "--data", text(&restored), "--port", "0"], "is damaged");
    succeeds(&["snapshot", "drop", "one", "--to", to]);
    fails(&["snapshot", "drop", "one", "--to", to], "does not exist");
    assert_eq!(world.stop(), Vec::<String>::new());
}

/// A backup that finds no room must end, and the site must not.
#[test]
fn a_full_disk_ends_the_snapshot_and_no_site() {
    let Some(disk) = Disk::in_memory(4) else { return };
    let world = World::start_in(Layout::Merged);
    make_tables(&mut world.connect(1));
    world.write_rows("wide", 8_000, 1_000);
    let data = world.running.cluster().folder().to_owned();
    let place = text(disk.place());
    fails(&["snapshot", "take", "large", "--data", text(&data), "--to", place], "a snapshot leaves");
    assert_eq!(std::fs::read_dir(disk.place()).expect("the disk").count(), 0, "nothing is left of it");
    let writer = Writer::start(&world, 1);
    writer.wait_for(20);
    drop(writer);
    assert_eq!(world.stop(), Vec::<String>::new());
}
