//! What a process does to a database that is not in order: forks, dies without a sync, has nobody who listens, lets others write.

use crate::{missing, servers};
use raid_sqlite::stock::{ask, extension, has_shell, python, uri};
use std::path::Path;
use std::process::{Command, Output};

const LOAD: &str = "
import os, signal, sqlite3, sys
loader = sqlite3.connect(':memory:'); loader.enable_load_extension(True); loader.load_extension(sys.argv[1])
connect = lambda: sqlite3.connect(sys.argv[2], uri=True, isolation_level=None)
first = connect()
";

fn run(python: &str, uri: &str, script: &str) -> Output {
    let script = format!("{LOAD}{script}");
    Command::new(python).args(["-c", &script]).arg(extension()).arg(uri).output().expect("it is installed")
}

/// If this failed, a child that was forked would write into the log of its parent, or empty it, and acknowledged commits would be nowhere.
#[test]
fn a_forked_child_is_refused_and_leaves_the_log_alone() {
    let Some(python) = python() else { return missing("Python with extensions of SQLite") };
    let (servers, place) = (servers(), tempfile::tempdir().expect("a folder"));
    let uri = uri(&place.path().join("db"), &servers, "");
    let script = "
first.execute('PRAGMA journal_mode = WAL'); first.execute('CREATE TABLE t(a)'); first.execute('INSERT INTO t VALUES(1)')
child = os.fork()
if child == 0:
    refused = 0
    try: connect().execute('INSERT INTO t VALUES(2)')
    except sqlite3.OperationalError: refused += 1
    try: first.execute('INSERT INTO t VALUES(3)')
    except sqlite3.OperationalError: refused += 1
    try: first.close()
    except sqlite3.OperationalError: pass
    os._exit(refused)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
first.execute('INSERT INTO t VALUES(4)')
os.kill(os.getpid(), signal.SIGKILL)
";
    let output = run(python, &uri, script);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("before this process was forked") && !errors.contains("Assertion"), "{errors}");
    let found = run(python, &uri, "print(first.execute('SELECT group_concat(a) FROM t').fetchone()[0])");
    assert_eq!(String::from_utf8_lossy(&found.stdout), "1,4\n", "{}", String::from_utf8_lossy(&found.stderr));
}

/// If this failed, a killed process would damage a database, or lose commits, that it keeps without the extension.
#[test]
fn a_kill_loses_no_commit_that_waits_for_nobody() {
    let Some(python) = python() else { return missing("Python with extensions of SQLite") };
    let servers = servers();
    for (journal, synchronous) in [("delete", "OFF"), ("persist", "OFF"), ("wal", "OFF"), ("wal", "NORMAL")] {
        let place = tempfile::tempdir().expect("a folder");
        let uri = uri(&place.path().join("db"), &servers, "");
        // A small cache makes the second transaction write the database before it has ended.
        let script = format!(
            "
first.execute('PRAGMA journal_mode = {journal}'); first.execute('PRAGMA synchronous = {synchronous}')
first.execute('PRAGMA cache_size = 5'); first.execute('CREATE TABLE t(a INTEGER PRIMARY KEY, b)')
first.executemany('INSERT INTO t VALUES(?, zeroblob(3000))', [(i,) for i in range(1, 101)])
first.execute('UPDATE t SET b = randomblob(3000) WHERE a <= 50'); first.execute('PRAGMA wal_checkpoint')
first.execute('INSERT INTO t VALUES(101, 1)')
first.execute('BEGIN'); first.execute('UPDATE t SET b = randomblob(3000)'); first.execute('DELETE FROM t WHERE a % 2')
os.kill(os.getpid(), signal.SIGKILL)
"
        );
        run(python, &uri, &script);
        let found = run(
            python,
            &uri,
            "print(first.execute('SELECT count(*) FROM t').fetchone()[0], first.execute('PRAGMA integrity_check').fetchone()[0])",
        );
        let errors = String::from_utf8_lossy(&found.stderr);
        assert_eq!(String::from_utf8_lossy(&found.stdout), "101 ok\n", "{journal} {synchronous}: {errors}");
    }
}

/// If this failed, a program whose standard error is closed would end where the extension has something to say.
#[test]
fn nobody_need_listen() {
    let Some(python) = python() else { return missing("Python with extensions of SQLite") };
    let (servers, place) = (servers(), tempfile::tempdir().expect("a folder"));
    let uri = uri(&place.path().join("db"), &servers, "");
    run(python, &uri, "first.execute('CREATE TABLE t(a)'); os.kill(os.getpid(), signal.SIGKILL)");
    let script = format!(
        "
import os, sys
reading, writing = os.pipe(); os.dup2(writing, 2); os.close(reading)
{LOAD}
first.execute('INSERT INTO t VALUES(1)'); first.close(); print('done')
"
    );
    let output = Command::new(python).args(["-c", &script]).arg(extension()).arg(&uri).output();
    assert_eq!(String::from_utf8_lossy(&output.expect("it is installed").stdout), "done\n");
}

/// If this failed, a database that was closed in order could not be opened again after a plain program has made it smaller.
#[test]
fn a_plain_program_may_write_between_two_openings() {
    if !has_shell() {
        return missing("sqlite3");
    }
    let (servers, place) = (servers(), tempfile::tempdir().expect("a folder"));
    let database = place.path().join("db");
    let uri = uri(&database, &servers, "");
    ask(
        &uri,
        "PRAGMA journal_mode = TRUNCATE; CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(100000)); INSERT INTO t VALUES(1);",
    );
    plain(&database, "DELETE FROM t WHERE a <> 1; VACUUM;");
    assert_eq!(ask(&uri, "SELECT a FROM t; PRAGMA integrity_check;"), "1\nok");
}

fn plain(database: &Path, statements: &str) {
    let status = Command::new("sqlite3").arg(database).arg(statements).status();
    assert!(status.expect("it is installed").success());
}
