//! The writer's process and its host: killed, without power, and both sides at once.

use crate::processes::{
    PATIENCE, append_until, check_records, create, is_disk, is_memory, open, record, serve, write_and_kill,
};
use network_memory::host::remote_log::{LogTerms, RemoteLog, RemoteLogError};
use network_memory::names::RecordNumber;
use network_memory::writer::{Boot, Intent};
use std::fs;
use std::path::Path;

const BEFORE: Option<Boot> = Some(Boot(1));
const AFTER: Option<Boot> = Some(Boot(2));

/// What is on a disk now, as a loss of power would leave it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("a file");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
    }
}

/// If this fails, a program that is killed loses what it was told to be durable.
#[test]
fn a_writer_that_is_killed_loses_nothing() {
    let (_servers, addresses) = serve(2);
    let folder = tempfile::tempdir().expect("a folder");
    let id = RemoteLog::draw_log().expect("a name");
    let terms = LogTerms::new(id, 2, addresses.clone(), Some(folder.path().to_path_buf()));
    drop(create(terms.clone()));
    for round in 0..5 {
        let told = write_and_kill(id, folder.path(), &addresses, 20 + 37 * round);
        let log = open(terms.clone());
        assert!(log.extent().1 > told, "record {told} had a receipt, and the log ends at {}", log.extent().1);
        check_records(&log);
    }
}

/// If this fails, a host that loses power loses what only the servers had, or cannot start without them when it has everything.
#[test]
fn a_host_that_loses_power_gets_the_rest_from_the_servers() {
    let (mut servers, addresses) = serve(2);
    let folder = tempfile::tempdir().expect("a folder");
    let (disk, left) = (folder.path().join("disk"), folder.path().join("left"));
    let terms = LogTerms::new(RemoteLog::draw_log().expect("a name"), 2, addresses, Some(disk.clone()));
    let mut log = create(LogTerms { boot: BEFORE, ..terms.clone() });
    append_until(&mut log, is_memory);
    while log.status().synced < log.extent().1 {
        log.append(&record(log.extent().1), PATIENCE).expect("a receipt");
    }
    copy(&disk, &left);
    let on_disk = log.extent().1;
    for _ in 0..20 {
        append_until(&mut log, is_memory);
    }
    let end = log.extent().1;
    drop(log);
    let terms = LogTerms { folder: Some(left), boot: AFTER, ..terms };
    // One of two is enough to know what is missing.
    servers[0].kill();
    let log = open(terms.clone());
    assert!(on_disk < end && log.extent().1 >= end, "the log ends at {}, not at {end}", log.extent().1);
    check_records(&log);
    drop(log);
    // Now the disk holds everything, and says so.
    servers[1].kill();
    let mut log = open(LogTerms { boot: Some(Boot(3)), ..terms });
    append_until(&mut log, is_disk);
    check_records(&log);
}

/// If this fails, an accident to both sides goes unnoticed, or costs more than was displayed.
#[test]
fn both_sides_at_once_lose_at_most_the_window() {
    let (mut servers, addresses) = serve(2);
    let folder = tempfile::tempdir().expect("a folder");
    let (disk, left) = (folder.path().join("disk"), folder.path().join("left"));
    let terms = LogTerms::new(RemoteLog::draw_log().expect("a name"), 2, addresses, Some(disk.clone()));
    let mut log = create(LogTerms { boot: BEFORE, ..terms.clone() });
    append_until(&mut log, is_memory);
    let displayed = log.status();
    copy(&disk, &left);
    append_until(&mut log, is_memory);
    servers.iter_mut().for_each(|server| server.kill());
    drop(log);
    servers.iter_mut().for_each(|server| server.restart());
    let terms = LogTerms { folder: Some(left), boot: AFTER, time: std::time::Duration::from_secs(1), ..terms };
    match RemoteLog::open(terms.clone()) {
        Err(RemoteLogError::Indeterminate(missing)) => {
            assert_eq!((missing.have, missing.servers.len()), (0, 2), "{missing}");
        }
        other => panic!("{:?}", other.map(|log| log.status())),
    }
    let mut log = open(LogTerms { intent: Intent::AcceptLoss, ..terms });
    assert!(log.extent().1 >= displayed.synced, "{} of {displayed:?}", log.extent().1);
    check_records(&log);
    append_until(&mut log, is_memory);
}

/// If this fails, a log whose disk alone may hold some of it is taken over without that disk.
#[test]
fn a_log_that_restarts_on_its_disk_is_refused_elsewhere() {
    let (_servers, addresses) = serve(2);
    let folder = tempfile::tempdir().expect("a folder");
    let (here, elsewhere) = (folder.path().join("here"), folder.path().join("elsewhere"));
    let terms = LogTerms::new(RemoteLog::draw_log().expect("a name"), 2, addresses, Some(here));
    let mut log = create(terms.clone());
    append_until(&mut log, is_memory);
    let refused = RemoteLog::open(LogTerms { folder: Some(elsewhere), ..terms });
    assert!(matches!(refused, Err(RemoteLogError::Stopped(network_memory::writer::WriterStop::NeedsDisk(_)))));
    let (_, receipt) = log.append(&record(log.extent().1), PATIENCE).expect("it was not stopped");
    assert!(is_memory(receipt) || is_disk(receipt));
    assert!(log.read(RecordNumber(0)).is_some());
}
