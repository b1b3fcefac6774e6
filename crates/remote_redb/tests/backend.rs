//! redb over remote memory: it works as ever, a killed process loses nothing that was acknowledged, and neither does a loss of power.

use network_memory::host::local_servers::LocalServers;
use network_memory::writer::Boot;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use remote_files::FilesOptions;
use remote_files::power_loss::{Snapshot, lose_unsynced};
use remote_redb::RemoteBackend;
use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const WORDS: &str = "REDB_BACKEND_TEST";
const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("entry");
const ROUNDS: u64 = 16;

fn servers() -> LocalServers {
    LocalServers::start(2, 1 << 30).expect("they start")
}

fn open(path: &Path, servers: &[SocketAddr], boot: u128) -> (RemoteBackend, Database) {
    let options = FilesOptions { servers: servers.to_vec(), boot: Some(Boot(boot)), ..FilesOptions::default() };
    let backend = RemoteBackend::open(path, &options, Box::new(|_| {})).expect("it opens");
    let database = Database::builder().create_with_backend(backend.clone()).expect("a database");
    (backend, database)
}

/// What stands under a number.
fn value(number: u64) -> Vec<u8> {
    vec![number as u8; number as usize * 37 % 3_000]
}

/// Commits a number, and takes an older one away now and then.
fn commit(database: &Database, number: u64) {
    let transaction = database.begin_write().expect("a transaction");
    {
        let mut table = transaction.open_table(TABLE).expect("a table");
        table.insert(number, value(number).as_slice()).expect("room");
        if number.is_multiple_of(3) {
            table.remove(number / 2).expect("a table");
        }
    }
    transaction.commit().expect("a receipt");
}

/// The last number; every value is what was committed.
fn check(database: &Database) -> u64 {
    let transaction = database.begin_read().expect("a transaction");
    let table = transaction.open_table(TABLE).expect("a table");
    let last = table.last().expect("a table").map_or(0, |(number, _)| number.value());
    for number in 1..=last {
        let found = table.get(number).expect("a table").map(|found| found.value().to_vec());
        let removed_by = [2 * number, 2 * number + 1].into_iter().any(|by| by % 3 == 0 && by <= last);
        assert_eq!(found, (!removed_by).then(|| value(number)), "{number} of {last}");
    }
    last
}

/// If this failed, redb would not find again what it has committed, or a file could not be used without the backend.
#[test]
fn it_works_as_ever() {
    let (served, place) = (servers(), tempfile::tempdir().expect("a folder"));
    let path = place.path().join("database");
    let (backend, database) = open(&path, served.addresses(), 1);
    assert!(backend.opened().is_new);
    (1..200).for_each(|number| commit(&database, number));
    let mut database = database;
    database.compact().expect("it is made smaller");
    assert_eq!(check(&database), 199);
    let status = backend.status().expect("it is open");
    assert!(status.syncs_memory + status.syncs_disk >= 199 && status.failure.is_none(), "{status}");
    drop(database);
    assert!(backend.status().is_none(), "it is closed");
    let (backend, database) = open(&path, &[], 1);
    assert_eq!((backend.opened().replayed.changes, check(&database)), (0, 199));
    drop(database);
    assert_eq!(check(&Database::open(&path).expect("an ordinary file")), 199);
}

/// If this failed, redb without the backend could write the file at the same time, and a replay would undo what it has committed.
#[test]
fn redb_without_the_backend_is_refused_beside_it_and_noticed() {
    let (served, place) = (servers(), tempfile::tempdir().expect("a folder"));
    let path = place.path().join("database");
    let (backend, database) = open(&path, served.addresses(), 1);
    commit(&database, 1);
    let refused = Database::open(&path);
    assert!(matches!(refused, Err(redb::DatabaseError::DatabaseAlreadyOpen)), "{refused:?}");
    drop((database, backend));
    let plain = Database::open(&path).expect("it is closed");
    let refused = RemoteBackend::open(&path, &FilesOptions::default(), Box::new(|_| {})).expect_err("redb has it");
    assert!(refused.to_string().contains("another process"), "{refused}");
    commit(&plain, 2);
    drop(plain);
    assert_eq!(check(&open(&path, &[], 1).1), 2);
}

/// If this failed, a value that is longer than a record may be would end the backend; or a file could not be made smaller by redb alone.
#[test]
fn long_values_go_through_and_others_may_compact() {
    const LONG: usize = 20 << 20;
    let (served, place) = (servers(), tempfile::tempdir().expect("a folder"));
    let path = place.path().join("database");
    let (_, database) = open(&path, served.addresses(), 1);
    let transaction = database.begin_write().expect("a transaction");
    transaction.open_table(TABLE).expect("a table").insert(7, vec![7; LONG].as_slice()).expect("room");
    transaction.commit().expect("a receipt");
    drop(database);
    let mut plain = Database::open(&path).expect("it is closed");
    let transaction = plain.begin_write().expect("a transaction");
    transaction.open_table(TABLE).expect("a table").remove(7).expect("it was there");
    transaction.commit().expect("a disk");
    let before = path.metadata().expect("a file").len();
    assert!(plain.compact().expect("it is made smaller") && path.metadata().expect("a file").len() < before);
    drop(plain);
    drop(open(&path, &[], 1));
}

/// The child. Without words in its environment it has nothing to do.
#[test]
fn child_commits_until_it_is_killed() {
    let Ok(words) = env::var(WORDS) else { return };
    let words: Vec<&str> = words.split(' ').collect();
    let servers: Vec<SocketAddr> = words[2..].iter().map(|word| word.parse().expect("an address")).collect();
    let (backend, database) = open(Path::new(words[0]), &servers, words[1].parse().expect("a number"));
    let transaction = database.begin_write().expect("a transaction");
    drop(transaction.open_table(TABLE).expect("a table"));
    transaction.commit().expect("a receipt");
    let mut number = check(&database);
    while !backend.status().expect("it is open").to_string().contains("by: memory") {
        std::thread::yield_now();
    }
    let mut pipe = std::io::stderr().lock();
    writeln!(pipe, "{number}").expect("the parent listens");
    loop {
        number += 1;
        commit(&database, number);
        writeln!(pipe, "{number}").expect("the parent listens");
    }
}

fn start(path: &Path, boot: u64, servers: &[SocketAddr]) -> (Child, BufReader<std::process::ChildStderr>) {
    let addresses: String = servers.iter().map(|address| format!(" {address}")).collect();
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--exact", "child_commits_until_it_is_killed", "--nocapture"]);
    command.env(WORDS, format!("{} {boot}{addresses}", path.display())).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("a child");
    let lines = BufReader::new(child.stderr.take().expect("a pipe"));
    (child, lines)
}

/// If this failed, the death of a process, or of its host, would lose what servers hold.
#[test]
fn what_was_acknowledged_is_back_after_every_kill() {
    let (served, place) = (servers(), tempfile::tempdir().expect("a folder"));
    let path = place.path().join("database");
    let mut boot = 1;
    for round in 0..ROUNDS {
        let (mut child, mut lines) = start(&path, boot, served.addresses());
        let mut line = String::new();
        assert!(lines.read_line(&mut line).expect("a pipe") > 0, "round {round}: the child died by itself");
        let before = Snapshot::of(std::slice::from_ref(&path)).expect("a file");
        for _ in 0..(round * 37) % 100 {
            line.clear();
            assert!(lines.read_line(&mut line).expect("a pipe") > 0, "round {round}: the child died by itself");
        }
        child.kill().expect("it is there");
        child.wait().expect("it ends");
        let mut rest = String::new();
        lines.read_to_string(&mut rest).expect("a pipe");
        let whole = &rest[..rest.rfind('\n').map_or(0, |end| end + 1)];
        let told: u64 = whole.lines().last().unwrap_or(line.trim_end()).parse().expect("a number");
        if round % 2 == 1 {
            let mut sector = round;
            before
                .tear(|| {
                    sector += 1;
                    sector % 3 == 0
                })
                .expect("a disk");
            lose_unsynced(&place.path().join("database-raid")).expect("a log");
            boot += 1;
        }
        let (_, database) = open(&path, served.addresses(), boot.into());
        assert!(check(&database) >= told, "round {round}: {told} were told");
    }
}
