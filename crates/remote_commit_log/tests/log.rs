//! The log over real memory servers of this process: the contract of [`Log`], and what crashes leave.

use commit_log::{Log, LogError, LogReceipt, MemoryLog, Position};
use network_memory::host::local_servers::LocalServers;
use network_memory::host::log_folder::{FolderError, FolderOpening};
use network_memory::writer::Boot;
use remote_commit_log::log::LogOpenError;
use remote_commit_log::{RemoteCommitLog, limits};
use remote_files::power_loss::lose_unsynced;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// No test waits longer for one thing.
const PATIENCE: Duration = Duration::from_secs(30);
const CAPACITY: u64 = 64 << 20;

fn servers() -> LocalServers {
    LocalServers::start(2, CAPACITY).expect("loopback has ports")
}

struct World {
    servers: LocalServers,
    place: tempfile::TempDir,
    boot: u128,
}

impl World {
    fn new() -> World {
        World { servers: servers(), place: tempfile::tempdir().expect("a folder"), boot: 1 }
    }

    fn folder(&self) -> PathBuf {
        self.place.path().join("log")
    }

    fn opening(&self) -> FolderOpening {
        let opening = FolderOpening::new(self.servers.addresses().to_vec(), Duration::from_secs(5));
        FolderOpening { boot: Some(Boot(self.boot)), ..opening }
    }

    fn open(&self) -> RemoteCommitLog {
        RemoteCommitLog::open(&self.folder(), &self.opening(), Position::START).expect("it opens")
    }

    /// As a loss of power would leave it.
    fn lose_power(&mut self) {
        lose_unsynced(&self.folder()).expect("there is a local log");
        self.boot += 1;
    }
}

fn record(number: u64) -> Vec<u8> {
    number.to_be_bytes().repeat(1 + number as usize % 20)
}

fn read_all(log: &dyn Log) -> Vec<Vec<u8>> {
    log.read_from(log.first()).map(|record| record.expect("it can be read").1).collect()
}

fn wait(log: &mut RemoteCommitLog, what: &str, mut is_so: impl FnMut(&mut RemoteCommitLog) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so(log) {
        assert!(Instant::now() < deadline, "still waiting for {what}: {:?}", log.status());
        let due = log.turn().expect("it has not failed");
        let due = Timespec { tv_sec: due.as_secs() as i64, tv_nsec: due.subsec_nanos().into() };
        // As an event loop waits for it.
        poll(&mut [PollFd::new(log.watcher(), PollFlags::IN)], Some(&due)).expect("it can be waited for");
    }
}

fn wait_for_memory(log: &mut RemoteCommitLog) {
    wait(log, "memory to be enough", |log| log.status().receipt == LogReceipt::Memory { copies: 2 });
}

/// If this failed, a run in the simulator would have other positions than a real one, or a record come from the wrong place.
#[test]
fn it_is_a_log_like_the_others() {
    let world = World::new();
    let (mut log, mut twin) = (world.open(), MemoryLog::new());
    assert_eq!((log.first(), log.synced(), log.appended()), (Position::START, Position::START, Position::START));
    assert_eq!(read_all(&log), Vec::<Vec<u8>>::new());
    let mut positions = Vec::new();
    for number in 0..300 {
        positions.push(log.append(&record(number)).expect("there is room"));
        assert_eq!(positions.last(), Some(&twin.append(&record(number)).expect("there is room")));
        assert!(log.synced() <= log.appended());
    }
    assert_eq!(log.appended(), twin.appended());
    for (index, position) in positions.iter().enumerate() {
        let found: Vec<Vec<u8>> = log.read_from(*position).map(|entry| entry.expect("it is there").1).collect();
        assert_eq!(found, (index as u64..300).map(record).collect::<Vec<_>>());
    }
    let wrong = |position| log.read_from(position).next().expect("an error").expect_err("no record begins there");
    assert!(matches!(wrong(Position(positions[3].0 + 8)), LogError::NotARecord { .. }));
    assert!(matches!(wrong(Position(log.appended().0 + 8)), LogError::BeyondEnd { .. }));
    assert!(log.read_from(log.appended()).next().is_none());
    assert!(matches!(log.append(&[]), Err(LogError::RecordSize { bytes: 0 })));
    log.sync_now().expect("servers or the disk take it");
    assert_eq!(log.synced(), log.appended());
    log.truncate_before(positions[200]).expect("it is durable");
    assert_eq!(log.first(), positions[200]);
    let truncated = log.read_from(positions[199]).next().expect("an error");
    assert!(matches!(truncated, Err(LogError::Truncated { .. })), "{truncated:?}");
}

/// If this failed, a commit would wait for the disk although servers hold it, or be told before they do.
#[test]
fn a_sync_that_is_asked_for_is_one_by_memory() {
    let world = World::new();
    let mut log = world.open();
    wait_for_memory(&mut log);
    for number in 0..100 {
        let position = log.append(&record(number)).expect("there is room");
        assert!(log.synced() <= position);
        log.request_sync();
        wait(&mut log, "the record", |log| log.poll_synced().expect("it goes on") > position);
    }
}

/// If this failed, a killed site would lose what it has acknowledged.
#[test]
fn a_killed_process_loses_nothing() {
    let world = World::new();
    for life in 0..4 {
        let mut log = world.open();
        assert_eq!(read_all(&log), (0..life * 50).map(record).collect::<Vec<_>>());
        for number in life * 50..(life + 1) * 50 {
            log.append(&record(number)).expect("there is room");
        }
    }
}

/// If this failed, what only servers hold would be lost with the power, or what they do not hold would be passed off as everything.
#[test]
fn a_loss_of_power_loses_nothing_that_memory_held() {
    let mut world = World::new();
    let mut written = 0;
    for _ in 0..3 {
        let mut log = world.open();
        assert_eq!(log.read_from(log.first()).count() as u64, written);
        wait_for_memory(&mut log);
        for number in written..written + 200 {
            log.append(&record(number)).expect("there is room");
            log.sync_now().expect("servers take it");
        }
        written += 200;
        drop(log);
        world.lose_power();
    }
    // Without its servers nobody knows what they held.
    world.servers = servers();
    let Err(error) = RemoteCommitLog::open(&world.folder(), &world.opening(), Position::START) else {
        panic!("nothing says what the servers that are gone have held")
    };
    assert!(matches!(&error, LogOpenError::Folder(FolderError::Log { .. })), "{error}");
    // An operator may do without.
    let opening = FolderOpening { accept_loss: true, ..world.opening() };
    let log = RemoteCommitLog::open(&world.folder(), &opening, Position::START).expect("it was accepted");
    let found = read_all(&log);
    assert_eq!(found, (0..found.len() as u64).map(record).collect::<Vec<_>>(), "a part from the beginning");
}

/// If this failed, a site would stop with its memory servers.
#[test]
fn without_servers_it_waits_for_the_disk() {
    let mut world = World::new();
    let mut log = world.open();
    wait_for_memory(&mut log);
    world.servers = servers();
    wait(&mut log, "the disk to be in force", |log| log.status().receipt == LogReceipt::Disk);
    let position = log.append(&record(7)).expect("there is room");
    log.request_sync();
    wait(&mut log, "the disk", |log| log.poll_synced().expect("it goes on") > position);
    assert!(log.status().syncs > 0);
}

/// If this failed, a site that was ended in order could not be started before its memory servers are back.
#[test]
fn a_log_that_was_closed_needs_no_servers() {
    let mut world = World::new();
    let mut log = world.open();
    wait_for_memory(&mut log);
    for number in 0..100 {
        log.append(&record(number)).expect("there is room");
    }
    log.sync_now().expect("servers take it");
    log.close(PATIENCE).expect("the disk follows");
    world.lose_power();
    world.servers = servers();
    assert_eq!(read_all(&world.open()), (0..100).map(record).collect::<Vec<_>>());
}

/// If this failed, a log would go on at positions that it has used, or forget where it is when everything is given up.
#[test]
fn positions_go_on_over_truncations_and_restarts() {
    let world = World::new();
    let (mut end, mut number) = (Position::START, 0);
    for _ in 0..5 {
        let mut log = world.open();
        assert_eq!(log.appended(), end);
        assert_eq!(read_all(&log).len(), usize::from(number > 0), "the last record stays");
        for _ in 0..20 {
            log.append(&record(number)).expect("there is room");
            number += 1;
        }
        log.sync_now().expect("durable");
        end = log.appended();
        log.truncate_before(end).expect("it is durable");
    }
    let begins_at = Position(1 << 40);
    let place = world.place.path().join("other");
    let mut log = RemoteCommitLog::open(&place, &world.opening(), begins_at).expect("a new one");
    assert_eq!(log.append(b"goes on").expect("there is room"), begins_at);
}

/// If this failed, a long transaction could not be logged, or come back in part.
#[test]
fn long_records_are_whole_or_not_there() {
    let world = World::new();
    let lengths = [5, limits::PIECE_BYTES, limits::PIECE_BYTES + 1, 2 * limits::PIECE_BYTES + 9, 8];
    let written: Vec<Vec<u8>> = lengths.iter().enumerate().map(|(index, &n)| vec![index as u8 + 1; n]).collect();
    let mut log = world.open();
    let positions: Vec<Position> = written.iter().map(|record| log.append(record).expect("there is room")).collect();
    assert!(read_all(&log) == written);
    log.sync_now().expect("durable");
    drop(log);
    let mut log = world.open();
    assert!(read_all(&log) == written);
    log.truncate_before(positions[3]).expect("durable");
    drop(log);
    let log = world.open();
    assert_eq!(log.first(), positions[3]);
    assert!(read_all(&log) == written[3..]);
}

/// If this failed, one site's log would be taken up by two processes.
#[test]
fn one_process_has_it() {
    let world = World::new();
    let _log = world.open();
    let error = RemoteCommitLog::open(Path::new(&world.folder()), &world.opening(), Position::START);
    assert!(matches!(error.err(), Some(LogOpenError::Folder(FolderError::InUse { .. }))));
}
