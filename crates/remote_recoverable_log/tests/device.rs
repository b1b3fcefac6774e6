//! The device keeps the contract of recoverable memory's logs, and a killed process loses nothing that it has acknowledged.

use network_memory::host::local_servers::LocalServers;
use network_memory::host::remote_log::{LogTerms, RemoteLog};
use network_memory::names::LogId;
use network_memory::writer::{Boot, Intent};
use recoverable_memory::disk::DiskFolder;
use recoverable_memory::load::{AccessPattern, DebitCreditLoad, LoadSettings, LoadWork};
use recoverable_memory::{
    CommitMode, DeviceReceipt, Durability, LogDevice, LogOffset, Memory, RecoverableMemoryOptions, conformance,
};
use remote_recoverable_log::RemoteLogDevice;
use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const WORDS: &str = "REMOTE_LOG_DEVICE_TEST";
const PATIENCE: Duration = Duration::from_secs(60);
/// A small log, so that many a kill hits a truncation.
const LOG_BYTES: u64 = 32 << 10;
const ROUNDS: u64 = 12;

fn servers() -> LocalServers {
    LocalServers::start(2, 64 << 20).expect("they start")
}

fn terms(log: LogId, servers: &[SocketAddr], folder: &Path, intent: Intent) -> LogTerms {
    let terms = LogTerms::new(log, 2, servers.to_vec(), Some(folder.join("log")));
    LogTerms { intent, time: PATIENCE, ..terms }
}

/// If this failed, recoverable memory would lose or invent bytes on this device.
#[test]
fn it_keeps_the_contract() {
    let served = servers();
    let folders = std::cell::RefCell::new(Vec::new());
    conformance::check(&|capacity| {
        let folder = tempfile::tempdir().expect("a folder");
        let log = RemoteLog::draw_log().expect("a name");
        let terms = terms(log, served.addresses(), folder.path(), Intent::Create);
        folders.borrow_mut().push(folder);
        Box::new(RemoteLogDevice::open(terms, capacity).expect("a log"))
    });
}

/// If this failed, positions would be used again after a process has died, or bytes would be read that were given up.
#[test]
fn what_it_holds_is_found_again() {
    let served = servers();
    let folder = tempfile::tempdir().expect("a folder");
    let log = RemoteLog::draw_log().expect("a name");
    let open =
        |intent| RemoteLogDevice::open(terms(log, served.addresses(), folder.path(), intent), 4096).expect("a log");
    let device = open(Intent::Create);
    device.append(b"first").expect("room");
    let middle = device.append(b"second").expect("room");
    let end = device.append(b"third").expect("room");
    device.flush(end, Durability::Memory { copies: 2 }).expect("a receipt");
    device.truncate(LogOffset(3)).expect("a truncation");
    drop(device);
    let device = open(Intent::Open);
    let extent = device.extent().expect("an extent");
    assert_eq!((extent.start, extent.flushed, extent.end), (LogOffset(3), end, end));
    let mut bytes = [0; 13];
    device.read(LogOffset(3), &mut bytes).expect("they are there");
    assert_eq!(&bytes, b"stsecondthird");
    device.truncate(end).expect("a truncation");
    drop(device);
    let device = open(Intent::Open);
    assert_eq!(device.extent().expect("an extent").start, end, "everything was given up, {middle} too");
    device.reset(LogOffset(100)).expect("a reset");
    drop(device);
    assert_eq!(open(Intent::Open).extent().expect("an extent").end, LogOffset(100));
}

/// If this failed, a commit would be said to be on a disk that there is none of.
#[test]
fn without_a_disk_no_receipt_speaks_of_one() {
    let served = servers();
    let log = RemoteLog::draw_log().expect("a name");
    let terms = LogTerms::new(log, 2, served.addresses().to_vec(), None);
    let terms = LogTerms { intent: Intent::Create, time: PATIENCE, ..terms };
    let device = RemoteLogDevice::open(terms, 4096).expect("a log");
    let memory = Durability::Memory { copies: 2 };
    assert_eq!(device.flush(LogOffset(0), memory).expect("nothing is missing"), DeviceReceipt::Memory { copies: 2 });
    for _ in 0..200 {
        let end = device.append(b"bytes").expect("room");
        // The receipt may come before it is asked for.
        std::thread::yield_now();
        assert_eq!(device.flush(end, memory).expect("a receipt"), DeviceReceipt::Memory { copies: 2 });
    }
    device.flush(device.extent().expect("an extent").end, Durability::Disk).expect_err("there is no disk");
}

fn open_memory(device: RemoteLogDevice, folder: &Path) -> Memory {
    let options = RecoverableMemoryOptions {
        durability: Durability::Memory { copies: 2 },
        log_bytes: LOG_BYTES,
        ..RecoverableMemoryOptions::default()
    };
    let folder = DiskFolder::new(&folder.join("segments")).expect("a folder");
    Memory::with_device(Box::new(device), Box::new(folder), options).expect("a memory")
}

fn settings() -> LoadSettings {
    let commit = CommitMode::NoFlush;
    LoadSettings {
        work: LoadWork::TpcA { accounts: 100 },
        pattern: AccessPattern::Random,
        commit,
        restore: true,
        seed: 1,
    }
}

/// The child. Without words in its environment it has nothing to do.
#[test]
fn child_books_until_it_is_killed() {
    let Ok(words) = env::var(WORDS) else { return };
    let words: Vec<&str> = words.split(' ').collect();
    let log = LogId(words[0].parse().expect("a number"));
    let servers: Vec<SocketAddr> = words[3..].iter().map(|word| word.parse().expect("an address")).collect();
    let folder = Path::new(words[1]);
    let boot = Some(Boot(words[2].parse().expect("a number")));
    let terms = LogTerms { boot, ..terms(log, &servers, folder, Intent::Open) };
    let memory = open_memory(RemoteLogDevice::open(terms, LOG_BYTES).expect("a log"), folder);
    let mut load = DebitCreditLoad::new(&memory, settings()).expect("a load");
    let mut pipe = std::io::stderr().lock();
    loop {
        for _ in 0..1 + load.transactions() % 5 {
            load.transaction(&memory).expect("a booking");
        }
        let receipt = memory.flush(Durability::Memory { copies: 2 }).expect("a receipt");
        assert!(matches!(receipt, DeviceReceipt::Memory { copies: 2.. } | DeviceReceipt::Disk));
        pipe.write_all(format!("{}\n", load.transactions()).as_bytes()).expect("the parent listens");
    }
}

/// If this failed, the death of a process would lose what servers hold, or leave half a booking.
#[test]
fn a_killed_process_loses_nothing_it_has_acknowledged() {
    let served = servers();
    let folder = tempfile::tempdir().expect("a folder");
    let log = RemoteLog::draw_log().expect("a name");
    let create = LogTerms { boot: Some(Boot(0)), ..terms(log, served.addresses(), folder.path(), Intent::Create) };
    std::fs::create_dir(folder.path().join("segments")).expect("a disk");
    let memory = open_memory(RemoteLogDevice::open(create, LOG_BYTES).expect("a log"), folder.path());
    drop(DebitCreditLoad::new(&memory, settings()).expect("a load"));
    memory.close().expect("it closes");
    let mut booked = 0;
    for round in 0..ROUNDS {
        let addresses: String = served.addresses().iter().map(|address| format!(" {address}")).collect();
        let mut command = Command::new(env::current_exe().expect("this program"));
        command.args(["--exact", "child_books_until_it_is_killed", "--nocapture"]);
        // In every other round the kernel is another one: the local log is not believed, and servers are asked.
        let words = format!("{} {} {}{addresses}", log.0, folder.path().display(), round / 2);
        let mut child =
            command.env(WORDS, words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a child");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        for _ in 0..1 + (round * 37) % 150 {
            line.clear();
            assert!(lines.read_line(&mut line).expect("a pipe") > 0, "round {round}: the child died by itself");
        }
        child.kill().expect("it is there");
        child.wait().expect("it ends");
        let mut rest = String::new();
        lines.read_to_string(&mut rest).expect("a pipe");
        let whole = &rest[..rest.rfind('\n').map_or(0, |end| end + 1)];
        let told: u64 = whole.lines().last().unwrap_or(line.trim_end()).parse().expect("a number");
        let open = terms(log, served.addresses(), folder.path(), Intent::Open);
        let memory = open_memory(RemoteLogDevice::open(open, LOG_BYTES).expect("a log"), folder.path());
        let load = DebitCreditLoad::new(&memory, settings()).expect("a load");
        assert!(load.transactions() >= told, "round {round}: {told} were told, {} are there", load.transactions());
        assert!(load.transactions() > booked, "round {round}: nothing was booked");
        load.audit().unwrap_or_else(|error| panic!("round {round}: {error}"));
        booked = load.transactions();
    }
}
