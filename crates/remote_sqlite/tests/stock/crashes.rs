//! Crashes: what was acknowledged comes back from the log, or nothing is opened.

use crate::{child, missing, servers};
use raid_sqlite::stock::{MemoryServerProcess, PythonWriter, ask, beside, lose_unsynced, python, shell, snapshot, uri};

const FOUND: &str =
    "SELECT max(number), count(*) FROM entry; SELECT sum(balance) FROM account; PRAGMA integrity_check;";

fn commit(writer: &mut PythonWriter, count: u64) -> u64 {
    writer.order(count);
    (0..count).map(|_| writer.line().and_then(|line| line.parse().ok()).expect("a commit")).last().expect("a commit")
}

/// If this failed, a commit that was acknowledged by memory would be lost with the power of its host.
#[test]
fn what_was_never_synced_comes_back_from_remote_memory_alone() {
    let Some(python) = python() else {
        return missing("Python with extensions of SQLite");
    };
    let servers = servers();
    for journal in ["wal", "delete", "truncate", "persist"] {
        let place = tempfile::tempdir().expect("a folder");
        let database = place.path().join("db");
        let first = uri(&database, &servers, "&boot=1");
        let mut writer = PythonWriter::start(python, &first, journal, true);
        let files = snapshot(&database);
        let last = commit(&mut writer, 60);
        let last = writer.kill(last);
        // Of what was written since the first commits nothing has reached the disk, or every other block.
        let mut block = 0;
        if journal == "wal" || journal == "truncate" {
            files.put_back().expect("a disk");
        } else {
            let every_other = || {
                block += 1;
                block % 2 == 0
            };
            files.tear(every_other).expect("a disk");
        }
        lose_unsynced(&database);
        let said = ask(&uri(&database, &servers, "&boot=2"), FOUND);
        assert_eq!(said, format!("{last}|{last}\n0\nok"), "{journal}");
    }
}

/// If this failed, a database would be opened with less than was acknowledged, because nobody could be asked.
#[test]
fn with_servers_out_of_reach_nothing_is_opened() {
    let Some(python) = python() else {
        return missing("Python with extensions of SQLite");
    };
    let (mut servers, place) = (servers(), tempfile::tempdir().expect("a folder"));
    let database = place.path().join("db");
    let first = uri(&database, &servers, "&boot=1");
    let mut writer = PythonWriter::start(python, &first, "wal", true);
    let files = snapshot(&database);
    // On a busy machine the disk may have taken over meanwhile: then it alone would be enough.
    commit(&mut writer, 20);
    while !writer.status().contains("durable by: memory") {
        commit(&mut writer, 1);
    }
    writer.kill(0);
    files.put_back().expect("a disk");
    lose_unsynced(&database);
    servers.iter_mut().for_each(MemoryServerProcess::kill);
    let second = uri(&database, &servers, "&boot=2&wait=1");
    let before = snapshot(&database);
    let output = shell(&second, "SELECT count(*) FROM entry;");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.stdout.is_empty() && errors.contains("cannot be opened yet"), "{errors}");
    assert!(before.is_as_now().expect("a disk"), "nothing was changed");
    // They have lost their memory: only whoever accepts the loss goes on.
    let addresses: Vec<_> = servers.iter().map(|server| server.address).collect();
    let _back: Vec<MemoryServerProcess> =
        addresses.into_iter().map(|address| MemoryServerProcess::start(child, address)).collect();
    assert_eq!(shell(&second, "SELECT count(*) FROM entry;").stdout, b"");
    let output = shell(&format!("{second}&loss=accept"), "PRAGMA integrity_check;");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(said == "ok\n" && errors.contains("may be missing"), "{said}{errors}");
}

/// If this failed, a database would be made of the little that was changed last, after its file was lost as a whole; or a backup could not be
/// put in its place.
#[test]
fn a_database_that_is_gone_is_told_of() {
    let Some(python) = python() else {
        return missing("Python with extensions of SQLite");
    };
    let (servers, place) = (servers(), tempfile::tempdir().expect("a folder"));
    let database = place.path().join("db");
    let uri = uri(&database, &servers, "");
    let mut writer = PythonWriter::start(python, &uri, "delete", false);
    commit(&mut writer, 10);
    writer.end();
    let backup = snapshot(&database);
    let mut writer = PythonWriter::start(python, &uri, "delete", false);
    commit(&mut writer, 5);
    writer.kill(0);
    std::fs::remove_file(&database).expect("it was there");
    let output = shell(&uri, "SELECT 1;");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("recover=discard"), "{errors}");
    backup.put_back().expect("a disk");
    let journal = beside(&database, "-journal");
    std::fs::write(&journal, b"of the database that is gone").expect("a disk");
    let errors = shell(&format!("{uri}&recover=discard"), "SELECT 1;").stderr;
    let errors = String::from_utf8_lossy(&errors);
    assert!(errors.contains("-journal beside it") && errors.contains("move the second away"), "{errors}");
    std::fs::remove_file(journal).expect("it was there");
    let output = shell(&format!("{uri}&recover=discard"), "SELECT 1;");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("has given up"), "{errors}");
    assert_eq!(ask(&format!("{uri}&recover=discard"), FOUND), "10|10\n0\nok");
    assert_eq!(ask(&uri, FOUND), "10|10\n0\nok");
}
