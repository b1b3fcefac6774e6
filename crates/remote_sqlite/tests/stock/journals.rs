//! Every kind of journal, several connections, VACUUM: SQLite works as ever.

use crate::{missing, servers};
use raid_sqlite::stock::{ask, beside, extension, has_shell, python, shell, uri};
use std::process::Command;

const ROWS: &str = "CREATE TABLE IF NOT EXISTS t(a INTEGER PRIMARY KEY, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
INSERT OR REPLACE INTO t SELECT i, printf('%0*d', i % 200 + 1, i) FROM n;";

/// If this failed, a database that was written in one journal mode could not be used in another, or would be damaged by being made smaller.
#[test]
fn journal_modes_follow_each_other() {
    if !has_shell() {
        return missing("sqlite3");
    }
    let (servers, place) = (servers(), tempfile::tempdir().expect("a folder"));
    let database = place.path().join("db");
    let uri = uri(&database, &servers, "");
    for mode in ["wal", "delete", "truncate", "persist", "memory", "off", "wal"] {
        let said = ask(
            &uri,
            &format!(
                "PRAGMA journal_mode = {mode};
                 {ROWS}
                 BEGIN; DELETE FROM t WHERE a % 3 = 0; COMMIT; VACUUM;
                 BEGIN; INSERT INTO t VALUES(100000, zeroblob(100000)); COMMIT;
                 DELETE FROM t WHERE a = 100000;
                 SELECT count(*), sum(length(b)) FROM t; PRAGMA integrity_check;"
            ),
        );
        assert_eq!(said.lines().next(), Some(mode), "{said}");
        assert!(said.ends_with("2000|201049\nok"), "{mode}: {said}");
    }
    // Closed in order, it is an ordinary database.
    let plain = Command::new("sqlite3").arg(&database).arg("PRAGMA integrity_check; SELECT count(*) FROM t").output();
    assert_eq!(String::from_utf8_lossy(&plain.expect("it is installed").stdout), "ok\n2000\n");
    assert!(!beside(&database, "-wal").exists() && !beside(&database, "-journal").exists());
}

/// If this failed, connections of one process would not see each other, or memory-mapped reads, temporary tables, attached databases or
/// savepoints would not work.
#[test]
fn connections_of_a_process_share_a_database() {
    let Some(python) = python() else {
        return missing("Python with extensions of SQLite");
    };
    let (servers, place) = (servers(), tempfile::tempdir().expect("a folder"));
    let script = "
import sqlite3, sys, threading
loader = sqlite3.connect(':memory:'); loader.enable_load_extension(True); loader.load_extension(sys.argv[1])
connect = lambda name: sqlite3.connect(name, uri=True, isolation_level=None, timeout=60, check_same_thread=False)
first = connect(sys.argv[2])
assert first.execute('PRAGMA journal_mode = WAL').fetchone() == ('wal',)
first.execute('PRAGMA mmap_size = 10000000')
first.execute('CREATE TABLE t(a, b)')
others = [connect(sys.argv[2]) for _ in range(4)]
def work(index, connection):
    for number in range(50):
        connection.execute('INSERT INTO t VALUES(?, ?)', (index, number))
threads = [threading.Thread(target=work, args=pair) for pair in enumerate(others)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
assert first.execute('SELECT count(*), sum(b) FROM t').fetchone() == (200, 4900)
reader = others[0]
reader.execute('BEGIN'); assert reader.execute('SELECT count(*) FROM t').fetchone() == (200,)
first.execute('INSERT INTO t VALUES(9, 9)')
assert reader.execute('SELECT count(*) FROM t').fetchone() == (200,), 'a snapshot stays'
reader.execute('COMMIT'); assert reader.execute('SELECT count(*) FROM t').fetchone() == (201,)
first.execute('PRAGMA wal_checkpoint(TRUNCATE)')
first.execute('CREATE TEMP TABLE s AS SELECT * FROM t'); first.execute('CREATE INDEX i ON t(b)')
first.execute('ATTACH ? AS other', (sys.argv[3],))
first.execute('CREATE TABLE other.u(a)')
first.execute('BEGIN'); first.execute('INSERT INTO other.u SELECT a FROM t'); first.execute('SAVEPOINT x')
first.execute('DELETE FROM t'); first.execute('ROLLBACK TO x'); first.execute('COMMIT')
assert first.execute('SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM other.u)').fetchone() == (201, 201)
assert 'memory' in first.execute('PRAGMA raid_status').fetchone()[0] or 'disk' in first.execute('PRAGMA raid_status').fetchone()[0]
assert first.execute('PRAGMA integrity_check').fetchone() == ('ok',)
[connection.close() for connection in others + [first]]
print('done')
";
    let output = Command::new(python)
        .args(["-c", script])
        .arg(extension())
        .args([uri(&place.path().join("db"), &servers, ""), uri(&place.path().join("other"), &servers, "")])
        .output();
    let output = output.expect("it is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output.stdout == b"done\n", "{errors}");
}

/// If this failed, a commit of more than waits in memory, or than the log may hold before the files are on disk, would not end.
#[test]
fn large_transactions_go_through_a_small_log() {
    if !has_shell() {
        return missing("sqlite3");
    }
    let (servers, place) = (servers(), tempfile::tempdir().expect("a folder"));
    let uri = uri(&place.path().join("db"), &servers, "&settle=1");
    for mode in ["wal", "delete"] {
        let said = ask(
            &uri,
            &format!(
                "PRAGMA journal_mode = {mode}; CREATE TABLE IF NOT EXISTS b(x);
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO b SELECT randomblob(100000) FROM n;
                 UPDATE b SET x = randomblob(100000); DELETE FROM b WHERE rowid % 2; VACUUM; PRAGMA integrity_check;"
            ),
        );
        assert!(said.ends_with("ok"), "{said}");
    }
    let output = shell(&uri, "SELECT count(*) FROM b;");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "75\n", "{}", String::from_utf8_lossy(&output.stderr));
}
