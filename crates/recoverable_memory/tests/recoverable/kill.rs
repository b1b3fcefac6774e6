//! A real process, killed at random moments: everything that it has acknowledged is back, and nothing by halves.
//!
//! The test starts this very program again as a child that books until it is killed, and tells of each durable booking through a pipe.

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use recoverable_memory::load::{AccessPattern, DebitCreditLoad, LoadSettings, LoadWork};
use recoverable_memory::{CommitMode, Memory, RecoverableMemoryOptions};

use crate::common::Numbers;

const FOLDER: &str = "RECOVERABLE_MEMORY_TEST_FOLDER";
const ROUNDS: u64 = 20;
const ACCOUNTS: u64 = 500;

/// A small log, so that many a kill hits a truncation.
fn options() -> RecoverableMemoryOptions {
    RecoverableMemoryOptions { log_bytes: 32 << 10, ..RecoverableMemoryOptions::default() }
}

fn settings(seed: u64) -> LoadSettings {
    let commit = CommitMode::NoFlush;
    LoadSettings {
        work: LoadWork::TpcA { accounts: ACCOUNTS },
        pattern: AccessPattern::Random,
        commit,
        restore: true,
        seed,
    }
}

/// The child. Without the folder in its environment it has nothing to do.
#[test]
fn child_books_until_it_is_killed() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let memory = Memory::open(Path::new(&folder), options()).unwrap();
    let mut load = DebitCreditLoad::new(&memory, settings(1)).unwrap();
    let mut pipe = std::io::stderr().lock();
    loop {
        // Some that are flushed together, told when they are durable.
        for _ in 0..1 + load.transactions() % 5 {
            load.transaction(&memory).unwrap();
        }
        memory.flush(recoverable_memory::Durability::Disk).unwrap();
        pipe.write_all(format!("{}\n", load.transactions()).as_bytes()).unwrap();
    }
}

/// If this fails, the death of a process loses what it has promised, or leaves half a booking.
#[test]
fn a_killed_process_loses_nothing_it_has_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let memory = Memory::create(folder.path(), options()).unwrap();
    drop(DebitCreditLoad::new(&memory, settings(1)).unwrap());
    memory.close().unwrap();
    let mut numbers = Numbers(u64::from(std::process::id()));
    let mut booked = 0;
    for round in 0..ROUNDS {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "kill::child_books_until_it_is_killed", "--nocapture"]);
        let mut child =
            command.env(FOLDER, folder.path()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        for _ in 0..1 + numbers.below(200) {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "round {round}: the child died by itself");
        }
        // And some moment more, so that the kill hits anywhere between two flushes.
        for _ in 0..numbers.below(100_000) {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        let whole = &rest[..rest.rfind('\n').map_or(0, |end| end + 1)];
        let told: u64 = whole.lines().last().unwrap_or(line.trim_end()).parse().unwrap();

        let memory = Memory::open(folder.path(), options()).unwrap();
        let load = DebitCreditLoad::new(&memory, settings(1)).unwrap();
        assert!(load.transactions() >= told, "round {round}: {told} were told, {} are there", load.transactions());
        assert!(load.transactions() > booked, "round {round}: nothing was booked");
        load.audit().unwrap_or_else(|error| panic!("round {round}: {error}"));
        booked = load.transactions();
    }
}
