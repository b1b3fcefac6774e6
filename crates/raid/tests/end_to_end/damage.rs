//! Damaged files: a torn end of the log is cut and made up for; damage that would be a loss stops the start with words, until the site is told
//! to take a new copy from the others.

use crate::harness::{WIDE_BYTES, WIDE_ROWS, World, eventually};
use crate::register::Register;
use laboratory::debit_credit::explain;
use local_cluster::process::ProcessName;
use std::path::{Path, PathBuf};

const TWO: ProcessName = ProcessName::Site(2);
/// Bytes of a log segment before its first record: part of the log's format.
const SEGMENT_HEADER: usize = 4_096;

/// The files of a folder and those below it that hold something.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        match entry.path().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found.sort();
    found
}

/// The last segment of a process's log with records, and the end of its bytes in use.
fn last_segment(world: &World, name: ProcessName) -> (PathBuf, Vec<u8>, usize) {
    let log = world.log_folder(name);
    let used = |path: PathBuf| {
        let bytes = std::fs::read(&path).expect("a segment");
        let end = bytes.iter().rposition(|byte| *byte != 0)? + 1;
        (end > SEGMENT_HEADER).then_some((path, bytes, end))
    };
    files(&log).into_iter().filter_map(used).next_back().expect("the log has records")
}

/// Where old copies were put.
fn set_aside(world: &World) -> Vec<PathBuf> {
    let folder = world.running.cluster().folder_of(TWO);
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("set-aside")))
        .collect()
}

/// Site 2 does not start, says why and what to do, and does it.
fn is_repaired_when_told(world: &mut World, named: &Path) {
    let before = set_aside(world).len();
    world.start_again(TWO);
    let said = world.wait_until_failed(TWO);
    for part in [&*named.to_string_lossy(), "--repair"] {
        assert!(said.contains(part), "{part:?} is missing:\n{said}");
    }
    world.running.repair_process(TWO).expect("the process starts");
    world.wait_until_repaired();
    assert_eq!(set_aside(world).len(), before + 1, "the old copy must be kept");
}

/// Bytes behind the last record, as a crash in the middle of an append leaves them, must cost nothing and need no hand.
#[test]
fn a_torn_end_of_the_log_is_cut_and_made_up_for() {
    let mut world = World::start();
    let register = Register::start(&world);
    for garbage in [vec![0xab; 40], [&100_u32.to_le_bytes()[..], &[7; 60]].concat()] {
        // A record of a new epoch may end with zeros: where it ends cannot be seen then.
        register.wait_for_both(&world, 2, 5);
        world.kill(2);
        let (path, mut bytes, end) = last_segment(&world, TWO);
        let end = end.next_multiple_of(8);
        bytes[end..end + garbage.len()].copy_from_slice(&garbage);
        std::fs::write(&path, bytes).expect("the segment can be written");
        world.start_again(TWO);
        world.wait_until_repaired();
        let said = world.logs();
        assert!(said.contains("cut at its last whole record"), "a cut must be told:\n{said}");
    }
    for site in 1..=3 {
        register.wait_for_both(&world, site, 20);
    }
    register.check(&world);
}

/// Damage to what was on disk must stop the start: the others believe that this copy has it. On request the copy is made anew.
#[test]
fn damage_inside_the_log_stops_the_start_until_a_new_copy_is_asked_for() {
    let mut world = World::start();
    let register = Register::start(&world);
    for cut_short in [false, true] {
        // Half of its log is then known to be on disk, however short it is: what is not may be cut like a torn end.
        let synced = world.running.status(2).expect("it answers").log.syncs;
        world.wait("its log to be on disk", |statuses| statuses[&2].log.syncs >= synced + 4);
        world.kill(2);
        let (path, mut bytes, end) = last_segment(&world, TWO);
        let middle = SEGMENT_HEADER + (end - SEGMENT_HEADER) / 2;
        match cut_short {
            true => bytes.truncate(middle),
            false => bytes[middle..middle + 16].iter_mut().for_each(|byte| *byte ^= 0x55),
        }
        std::fs::write(&path, bytes).expect("the segment can be written");
        is_repaired_when_told(&mut world, &path);
    }
    for site in 1..=3 {
        register.wait_for_both(&world, site, 20);
    }
    register.check(&world);
}

/// A damaged oracle must not answer from what is left: it could give out an epoch twice. Running sites do not need it.
#[test]
fn a_damaged_oracle_stops_and_sites_go_on() {
    let mut world = World::start();
    let register = Register::start(&world);
    world.running.kill(ProcessName::Oracle);
    let (path, sound, end) = last_segment(&world, ProcessName::Oracle);
    let mut damaged = sound.clone();
    let middle = SEGMENT_HEADER + (end - SEGMENT_HEADER) / 2;
    damaged[middle..middle + 16].iter_mut().for_each(|byte| *byte ^= 0x55);
    std::fs::write(&path, damaged).expect("the segment can be written");
    world.start_again(ProcessName::Oracle);
    let said = world.wait_until_failed(ProcessName::Oracle);
    assert!(said.contains(&*path.to_string_lossy()) && said.contains("at byte"), "it must say where:\n{said}");
    for site in 1..=3 {
        register.wait_for_both(&world, site, 20);
    }
    std::fs::write(&path, sound).expect("the segment can be written");
    world.start_again(ProcessName::Oracle);
    // With its own log back it changes nothing before it has heard every member of its epoch, this one too.
    world.kill(2);
    world.start_again(TWO);
    world.wait_until_repaired();
    register.check(&world);
}

/// A site that has lost everything is an empty copy, whatever the others last knew of it: it gets all rows.
#[test]
fn a_lost_disk_is_an_empty_copy() {
    let mut world = World::start();
    let register = Register::start(&world);
    world.kill(2);
    for name in ["log", "memory-log", "store", "store.persisted"] {
        let path = world.running.cluster().folder_of(TWO).join(name);
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
    world.start_again(TWO);
    world.wait_until_repaired();
    register.wait_for_both(&world, 2, 20);
    register.check(&world);
}

/// Rows that only the store has must not be missed in silence when it is damaged or gone.
#[test]
fn a_damaged_or_lost_store_stops_the_site_until_a_new_copy_is_asked_for() {
    let mut world = World::start();
    world.write_wide_rows();
    let folder = world.running.cluster().folder_of(TWO);
    let store = folder.join("store");
    let log = world.log_folder(TWO);
    // Until the log's first segment is given up, a start finds all rows in the log, and does without the store.
    let checkpointed = || {
        let segments = files(&log);
        !segments.is_empty() && segments.iter().all(|segment| !segment.ends_with("00000000000000000000.log"))
    };
    eventually("a checkpoint at site 2", checkpointed);
    world.kill(2);
    for path in files(&store) {
        let mut bytes = std::fs::read(&path).expect("a file of the store");
        let length = bytes.len();
        bytes.iter_mut().skip(length / 3).step_by(512).for_each(|byte| *byte ^= 0x55);
        std::fs::write(&path, bytes).expect("the store can be written");
    }
    is_repaired_when_told(&mut world, &store);
    eventually("a checkpoint of the new copy", checkpointed);
    world.kill(2);
    std::fs::remove_dir_all(&store).expect("the store can be removed");
    is_repaired_when_told(&mut world, &store);
    for site in 1..=3 {
        let row = world.connect(site).query_one("SELECT count(*), sum(length(v)) FROM wide", &[]);
        let row = row.unwrap_or_else(|error| panic!("site {site}: {}", explain(&error)));
        assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (WIDE_ROWS, WIDE_ROWS * WIDE_BYTES), "site {site}");
    }
}

/// Everything below a folder, to another one.
fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a new folder");
    for entry in std::fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        let target = to.join(entry.file_name());
        match entry.file_type().expect("its type is known") {
            kind if kind.is_dir() => copy_folder(&entry.path(), &target),
            kind if kind.is_file() => _ = std::fs::copy(entry.path(), target).expect("there is room"),
            _ => {}
        }
    }
}

/// Data that were put back from an older copy of the same epoch lack what the others take to be there: none of it may be served.
#[test]
fn data_put_back_from_an_older_copy_are_brought_up_to_date() {
    let mut world = World::start();
    let count = |world: &World, site: u16| {
        let row = world.connect(site).query_one("SELECT count(*), sum(v) FROM back", &[]);
        let row = row.unwrap_or_else(|error| panic!("site {site}: {}", explain(&error)));
        (row.get::<_, i64>(0), row.get::<_, i64>(1))
    };
    let mut client = world.connect(1);
    client.batch_execute("CREATE TABLE back (k int PRIMARY KEY, v int)").expect("a new table");
    client.batch_execute("INSERT INTO back SELECT g, 0 FROM generate_series(1, 500) g").expect("rows");
    let folder = world.running.cluster().folder_of(TWO);
    let copies = tempfile::tempdir().expect("a temporary folder");
    let copy = copies.path().join("copy");
    let everywhere_on_disk = |world: &mut World| {
        world.wait("everything to be on disk", |statuses| {
            statuses.values().all(|status| status.state == "up" && status.unsynced_commits == 0)
        });
    };
    everywhere_on_disk(&mut world);
    // Copied while it runs, as a backup of the machine would.
    copy_folder(&folder, &copy);
    client.batch_execute("UPDATE back SET v = 1").expect("an update");
    client.batch_execute("INSERT INTO back SELECT g, 1 FROM generate_series(501, 1490) g").expect("rows");
    everywhere_on_disk(&mut world);
    world.kill(2);
    std::fs::remove_dir_all(&folder).expect("the folder can be removed");
    copy_folder(&copy, &folder);
    world.start_again(TWO);
    world.wait_until_repaired();
    assert_eq!(count(&world, 2), (1490, 1490), "rows of an older time are served");
    let said = world.logs();
    assert!(said.contains("put back from an older copy"), "the operator must be told:\n{said}");
    assert_eq!(count(&world, 3), (1490, 1490));
}
