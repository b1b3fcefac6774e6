//! The promise of mapped memory: a process killed at any moment loses no record whose append had returned.
//!
//! The test starts this very program again as a child that appends until it is killed, and tells of each append through a
//! pipe.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::common::{open, read_all, record};
use commit_log::{CutReason, Log};

const FOLDER: &str = "COMMIT_LOG_TEST_FOLDER";
const ROUNDS: u64 = 12;
const TOLD_EVERY: u64 = 16;

/// The child: appends numbered records for ever. Without the folder in its environment it has nothing to do.
#[test]
fn child_appends_until_it_is_killed() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let (mut log, opened) = open(Path::new(&folder));
    let mut pipe = io::stderr().lock();
    for number in opened.records.. {
        log.append(&record(number)).expect("there is room");
        if number % 64 == 0 {
            log.request_sync();
        }
        // Seldom, so that the kill mostly hits an append.
        if number % TOLD_EVERY == 0 {
            pipe.write_all(format!("{number}\n").as_bytes()).expect("the parent listens");
        }
    }
}

fn start_child(folder: &Path) -> Child {
    let program = env::current_exe().unwrap();
    let arguments = ["--exact", "kill::child_appends_until_it_is_killed", "--nocapture"];
    let mut command = Command::new(program);
    command.args(arguments).env(FOLDER, folder).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// If this fails, a site that is killed loses transactions that it has answered for.
#[test]
fn a_killed_process_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut on_disk = 0;
    for round in 0..ROUNDS {
        let mut child = start_child(folder.path());
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        // Every round dies after another number of appends, several segments on.
        for _ in 0..10 + round * 13 {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the child died by itself");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let mut rest = Vec::new();
        lines.read_to_end(&mut rest).unwrap();
        let rest = String::from_utf8_lossy(&rest).into_owned();
        let whole = &rest[..rest.rfind('\n').map_or(0, |end| end + 1)];
        let told: u64 = whole.lines().last().unwrap_or(line.trim_end()).parse().unwrap();

        let (log, opened) = open(folder.path());
        assert!(opened.records > told, "record {told} was appended, {} are there", opened.records);
        assert!(opened.records > on_disk, "the child went on behind {on_disk}");
        assert!(opened.cut.is_none_or(|cut| cut.reason == CutReason::TornTail));
        let expected: Vec<Vec<u8>> = (0..opened.records).map(record).collect();
        assert!(read_all(&log) == expected, "records are changed");
        on_disk = opened.records;
    }
}
