//! Who may open a database, and what they are told.

use crate::{child, missing, servers};
use raid_sqlite::stock::{MemoryServerProcess, PythonWriter, ask, beside, extension, has_shell, python, shell, uri};
use std::process::Command;

/// What was said to have gone wrong. The program goes on without a database that was not opened, and ends in order.
fn refused(uri: &str, statements: &str) -> String {
    String::from_utf8_lossy(&shell(uri, statements).stderr).into_owned()
}

/// If this failed, two processes would write one database, each with a log of its own.
#[test]
fn one_process_at_a_time_has_a_database() {
    let (Some(python), true) = (python(), has_shell()) else {
        return missing("sqlite3, or Python with extensions of SQLite");
    };
    let (servers, place) = (servers(), tempfile::tempdir().expect("a folder"));
    let uri = uri(&place.path().join("db"), &servers, "");
    let writer = PythonWriter::start(python, &uri, "wal", false);
    let errors = refused(&uri, "SELECT 1 FROM entry;");
    assert!(errors.contains("is open in another process") && errors.contains("locked"), "{errors}");
    writer.end();
    assert_eq!(ask(&uri, "SELECT count(*) FROM entry;"), "0");
}

/// If this failed, a mistake in a URI would pass unnoticed, or leave something behind.
#[test]
fn wrong_parameters_are_refused_with_a_reason() {
    if !has_shell() {
        return missing("sqlite3");
    }
    let place = tempfile::tempdir().expect("a folder");
    let name = |more: &str| format!("file:{}?vfs=raid{more}", place.path().join("db").display());
    for (more, reason) in [
        ("", "servers=HOST:PORT"),
        ("&servers=nonsense", "HOST:PORT"),
        ("&servers=127.0.0.1:1&k=0", "k=0"),
        ("&servers=127.0.0.1:1&k=2", "1 <= copies"),
        ("&servers=127.0.0.1:1,127.0.0.1:1&k=2", "twice"),
        ("&servers=127.0.0.1:1&wait=soon", "wait=soon"),
    ] {
        let errors = refused(&name(more), "CREATE TABLE t(a);");
        assert!(errors.contains(reason), "{more}: {errors}");
        assert!(!place.path().join("db").exists(), "{more}");
    }
    // With right ones it is opened all the same, and remembers them.
    let servers = servers();
    let right = uri(&place.path().join("db"), &servers, "");
    assert_eq!(ask(&right, "CREATE TABLE t(a); INSERT INTO t VALUES(7);"), "");
    assert_eq!(ask(&name(""), "SELECT a FROM t;"), "7");
    let errors = refused(&name("&k=1"), "SELECT 1 FROM t;");
    assert!(errors.contains("k=1 was asked for"), "{errors}");
    assert_eq!(ask(&name("&mode=ro"), "SELECT a FROM t;"), "7");
    assert!(refused(&name("&mode=ro"), "INSERT INTO t VALUES(8);").contains("readonly"));
}

/// If this failed, a database without servers could not be used, or would not say that commits wait for the disk.
#[test]
fn without_servers_the_disk_is_enough_and_says_so() {
    if !has_shell() {
        return missing("sqlite3");
    }
    let (mut servers, place) = (servers(), tempfile::tempdir().expect("a folder"));
    let database = place.path().join("db");
    let uri = uri(&database, &servers, "");
    ask(&uri, "PRAGMA journal_mode = WAL; CREATE TABLE t(a);");
    servers.iter_mut().for_each(MemoryServerProcess::kill);
    let said = ask(&uri, "INSERT INTO t VALUES(1); PRAGMA raid_status; SELECT a FROM t;");
    assert!(said.contains("durable by: disk; 0 of 2 servers") && said.ends_with("\n1"), "{said}");
    let addresses: Vec<_> = servers.iter().map(|server| server.address).collect();
    let back: Vec<MemoryServerProcess> =
        addresses.into_iter().map(|address| MemoryServerProcess::start(child, address)).collect();
    // They are empty, and are given what they lack.
    let Some(python) = python() else { return };
    let mut writer = PythonWriter::start(python, &uri, "wal", true);
    writer.order(1);
    assert_eq!(writer.line().as_deref(), Some("1"));
    writer.end();
    drop(back);
}

/// If this failed, a process that has lost a server under load would stop, or commit without saying by what.
#[test]
fn a_server_that_dies_and_comes_back_is_told_of() {
    let Some(python) = python() else {
        return missing("Python with extensions of SQLite");
    };
    let (mut servers, place) = (servers(), tempfile::tempdir().expect("a folder"));
    let script = "
import sqlite3, sys
loader = sqlite3.connect(':memory:'); loader.enable_load_extension(True); loader.load_extension(sys.argv[1])
connection = sqlite3.connect(sys.argv[2], uri=True, isolation_level=None)
connection.execute('PRAGMA journal_mode = WAL'); connection.execute('CREATE TABLE t(a)')
for word in ('memory', 'disk', 'memory'):
    while f'durable by: {word}' not in connection.execute('PRAGMA raid_status').fetchone()[0]:
        connection.execute('INSERT INTO t VALUES(1)')
    print(word, flush=True); sys.stdin.readline()
connection.close()
";
    let mut process = Command::new(python)
        .args(["-c", script])
        .arg(extension())
        .arg(uri(&place.path().join("db"), &servers, ""))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it is installed");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(process.stdout.take().expect("a pipe")));
    let mut next = |expected: &str| assert_eq!(lines.next().expect("a line").expect("a pipe"), expected);
    let mut input = process.stdin.take().expect("a pipe");
    let mut go_on = || std::io::Write::write_all(&mut input, b"\n").expect("it reads");
    next("memory");
    servers[1].kill();
    go_on();
    next("disk");
    servers[1] = MemoryServerProcess::start(child, servers[1].address);
    go_on();
    next("memory");
    go_on();
    assert!(process.wait().expect("it ends").success());
    assert!(beside(&place.path().join("db"), "-raid").exists());
}
