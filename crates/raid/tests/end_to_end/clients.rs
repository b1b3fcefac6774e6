//! Hostile, broken and vanishing clients: their session ends with the right code, and nobody else notices.

use crate::harness::{PATIENCE, World, eventually};
use crate::wire::{Wire, startup};
use laboratory::debit_credit::explain;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A witness waits no longer for one statement, on a busy machine.
const LATENCY_MAX: Duration = Duration::from_secs(10);
/// Fewer statements prove nothing.
const WITNESSED_MIN: u64 = 10;
/// What a site may grow by because of one client, in KiB: its output buffers and a batch or two.
const GROWTH_KIB_MAX: u64 = 300 << 10;

/// A client that works all along at the same site and must not notice anything.
struct Witness {
    stop: Arc<AtomicBool>,
    client: JoinHandle<(u64, Duration)>,
}

impl Witness {
    fn start(world: &World, site: u16) -> Witness {
        let mut client = world.connect(site);
        let made =
            client.batch_execute("CREATE TABLE witness (k int PRIMARY KEY, v int); INSERT INTO witness VALUES (1, 0)");
        made.unwrap_or_else(|error| panic!("{}", explain(&error)));
        let stop = Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        let client = std::thread::spawn(move || {
            let (mut count, mut longest) = (0, Duration::ZERO);
            while !told.load(Ordering::SeqCst) || count < WITNESSED_MIN {
                let begun = Instant::now();
                let row = client.query_one("UPDATE witness SET v = v + 1 WHERE k = 1 RETURNING v", &[]);
                let value: i32 = row.unwrap_or_else(|error| panic!("the witness: {}", explain(&error))).get(0);
                count += 1;
                assert_eq!(u64::try_from(value), Ok(count), "the witness counts alone");
                longest = longest.max(begun.elapsed());
                std::thread::sleep(Duration::from_millis(2));
            }
            (count, longest)
        });
        Witness { stop, client }
    }

    fn check(self) {
        self.stop.store(true, Ordering::SeqCst);
        let (count, longest) = self.client.join().expect("the witness was disturbed");
        eprintln!("the witness: {count} statements, the longest took {} ms", longest.as_millis());
        assert!(longest < LATENCY_MAX, "the witness waited {longest:?}");
    }
}

/// What a broken client sends first must end its connection with an SQLSTATE that its driver can show.
#[test]
fn broken_startups_are_refused_with_a_reason() {
    let world = World::start();
    let witness = Witness::start(&world, 1);
    let other_protocol = [&12_u32.to_be_bytes()[..], &(2_u32 << 16).to_be_bytes(), b"\0\0\0\0"].concat();
    for (what, bytes, code) in [
        ("a web browser", &b"GET / HTTP/1.1\r\n\r\n"[..], "08P01"),
        ("a length of 1 GiB", &(1_u32 << 30).to_be_bytes(), "08P01"),
        ("a negative length", &(-5_i32).to_be_bytes(), "08P01"),
        ("a length of 0", &[0; 4], "08P01"),
        ("no terminator", &[&9_u32.to_be_bytes()[..], &(3_u32 << 16).to_be_bytes(), b"x"].concat(), "08P01"),
        ("another protocol", &other_protocol, "0A000"),
        ("no user", &startup(&[("database", "raid")]), "28000"),
    ] {
        let mut wire = Wire::connect(world.sql(1));
        wire.send_bytes(bytes);
        assert_eq!(wire.error(), code, "{what}");
        wire.ends(what);
    }
    // Silent ones stay, hung-up ones go, and neither takes anything from others.
    let mut silent: Vec<Wire> = (0..20).map(|_| Wire::connect(world.sql(1))).collect();
    for wire in &mut silent {
        wire.send_bytes(&startup(&[("user", "raid")])[..6]);
    }
    silent.drain(..10);
    witness.check();
}

/// Whatever a session sends, it gets an answer with the right code, and goes on or ends as PostgreSQL's would.
#[test]
fn broken_messages_are_answered_and_end_no_other_session() {
    let world = World::start();
    let witness = Witness::start(&world, 1);
    let bind_of_many = [&b"\0\0"[..], &0_u16.to_be_bytes(), &u16::MAX.to_be_bytes()].concat();
    let negative_field = [&b"\0\0"[..], &0_u16.to_be_bytes(), &1_u16.to_be_bytes(), &(-2_i32).to_be_bytes()].concat();
    // After these the session goes on.
    for (what, kind, body, code) in [
        ("no UTF-8", b'Q', &b"select '\xff\xfe'\0"[..], "22021"),
        ("no terminator", b'Q', b"select 1", "08P01"),
        ("more parameters than there are", b'B', &bind_of_many, "08P01"),
        ("a parameter of negative length", b'B', &negative_field, "08P01"),
        ("a describe of nothing", b'D', b"", "08P01"),
        ("a statement that nobody prepared", b'D', b"Snobody\0", "26000"),
        ("a function call", b'F', b"\0\0\0\x01", "0A000"),
        ("deep nesting", b'Q', format!("select {}\0", "(".repeat(100_000)).as_bytes(), "54001"),
    ] {
        let mut wire = Wire::session(world.sql(1));
        wire.send(kind, body);
        if kind != b'Q' {
            wire.send(b'S', b"");
        }
        assert_eq!(wire.error(), code, "{what}");
        while wire.message(what).0 != b'Z' {}
        assert_eq!(wire.scalar("select 2"), "2", "after {what}");
    }
    // After these there is no telling where the next message begins.
    for (what, bytes, code) in [
        ("noise", &[0x80, 1, 2, 3, 4, 5][..], "08P01"),
        ("a length of 1 GiB", &[&b"Q"[..], &(1_u32 << 30).to_be_bytes()].concat(), "54000"),
        ("a negative length", &[&b"Q"[..], &(-1_i32).to_be_bytes()].concat(), "54000"),
        ("a length that leaves itself out", &[&b"Q"[..], &3_u32.to_be_bytes()].concat(), "08P01"),
    ] {
        let mut wire = Wire::session(world.sql(1));
        wire.send_bytes(bytes);
        assert_eq!(wire.error(), code, "{what}");
        wire.ends(what);
    }
    // Half a message, then silence; half a message, then gone.
    let mut silent = Wire::session(world.sql(1));
    silent.send_bytes(b"Q\0\0\x10\0select");
    for _ in 0..20 {
        Wire::session(world.sql(1)).send_bytes(b"Q\0\0\x10\0select");
    }
    eventually("the site to forget those that are gone", || {
        world.running.status(1).is_ok_and(|status| status.clients == 2)
    });
    witness.check();
}

/// Idle connections take places up to the bound; whoever comes after it is told so, and there is room again when they go.
#[test]
fn one_client_too_many_is_told_so() {
    let world = World::start();
    let witness = Witness::start(&world, 1);
    let sql = world.sql(1);
    let idle: Vec<Wire> = (1..site::limits::CLIENTS_MAX).map(|_| Wire::session(sql)).collect();
    // Where another process has the clients, the site hears of them a moment later.
    eventually("all of them to be counted", || {
        world.running.status(1).is_ok_and(|status| status.clients == site::limits::CLIENTS_MAX)
    });
    for _ in 0..3 {
        let mut wire = Wire::connect(sql);
        wire.send_bytes(&startup(&[("user", "raid")]));
        assert_eq!(wire.error(), "53300");
        wire.ends("one too many");
    }
    // Far too many that say nothing: dropped or left standing, and no harm to anybody.
    let silent: Vec<Wire> = (0..3 * site::limits::REFUSALS_MAX).map(|_| Wire::connect(sql)).collect();
    drop(silent);
    drop(idle);
    eventually("the places to be free again", || world.running.status(1).is_ok_and(|status| status.clients == 1));
    assert_eq!(Wire::session(sql).scalar("select 1"), "1");
    witness.check();
}

/// A client that asks for gigabytes and does not read them must cost a bounded amount of memory, and hold up nobody.
#[test]
fn a_slow_reader_costs_little_and_holds_up_nobody() {
    let mut world = World::start();
    let witness = Witness::start(&world, 1);
    let mut client = world.connect(1);
    client
        .batch_execute("CREATE TABLE wide (k int PRIMARY KEY, v text); INSERT INTO wide SELECT g, repeat('x', 1000) FROM generate_series(1, 1000) g")
        .unwrap_or_else(|error| panic!("{}", explain(&error)));
    let id = world.running.process(local_cluster::process::ProcessName::Site(1)).expect("it runs").id();
    let before = resident_kib(id);
    for text in ["SELECT a.v, b.v FROM wide a, wide b", "COPY (SELECT a.v, b.v FROM wide a, wide b) TO STDOUT"] {
        let mut slow = Wire::session(world.sql(1));
        slow.send(b'Q', format!("{text}\0").as_bytes());
        slow.message(text);
        // It reads no more; the site fills its buffers and waits. Others are served many times meanwhile.
        let mut largest = 0;
        for turn in 0..200 {
            let row = client.query_one("SELECT count(*) FROM wide WHERE k < $1", &[&turn]);
            row.unwrap_or_else(|error| panic!("{}", explain(&error)));
            largest = largest.max(resident_kib(id));
        }
        let growth = largest.saturating_sub(before);
        eprintln!("{text}: the site grew by {} MiB", growth >> 10);
        assert!(growth < GROWTH_KIB_MAX, "a client that reads nothing makes the site grow by {growth} KiB");
    }
    eventually("the site to forget the slow readers", || {
        world.running.status(1).is_ok_and(|status| status.clients == 2)
    });
    witness.check();
}

/// Memory of a process, in KiB.
fn resident_kib(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux tells");
    line.trim().trim_end_matches(" kB").trim().parse().expect("a number")
}

/// Only who knows the secret may cancel a statement.
#[test]
fn a_cancel_with_a_wrong_key_cancels_nothing() {
    let world = World::start();
    let mut holder = world.connect(1);
    holder.batch_execute("CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)").expect("a table");
    holder.batch_execute("BEGIN; UPDATE t SET v = 1 WHERE k = 1").expect("a lock");
    let mut waiting = Wire::session(world.sql(1));
    let (process, secret) = waiting.key;
    waiting.send(b'Q', b"UPDATE t SET v = 2 WHERE k = 1\0");
    for (process, secret) in [(process, secret ^ 1), (process.wrapping_add(1), secret), (0, 0), (-1, -1)] {
        let mut wire = Wire::connect(world.sql(1));
        wire.cancel(process, secret);
        wire.ends("a cancel request is not answered");
    }
    assert!(waiting.is_quiet(Duration::from_millis(300)), "somebody else's key cancelled a statement");
    // At another site nobody knows the key either.
    Wire::connect(world.sql(2)).cancel(process, secret);
    assert!(waiting.is_quiet(Duration::from_millis(300)), "a key is good at its own site only");
    Wire::connect(world.sql(1)).cancel(process, secret);
    assert_eq!(waiting.error(), "57014", "the right key cancels");
    holder.batch_execute("ROLLBACK").expect("the holder goes on");
}

/// Locks of a client that vanishes must be released, and what it had not committed be gone.
#[test]
fn a_client_that_vanishes_leaves_nothing_behind() {
    let world = World::start();
    let witness = Witness::start(&world, 1);
    let mut other = world.connect(2);
    other.batch_execute("CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)").expect("a table");
    for how in ["hung up", "reset"] {
        let mut vanishing = Wire::session(world.sql(1));
        vanishing.done("BEGIN");
        vanishing.done("UPDATE t SET v = 77 WHERE k = 1");
        match how {
            "reset" => vanishing.reset(),
            _ => drop(vanishing),
        }
        let begun = Instant::now();
        other.batch_execute("UPDATE t SET v = v + 1 WHERE k = 1").unwrap_or_else(|error| panic!("{}", explain(&error)));
        assert!(begun.elapsed() < PATIENCE / 4, "{how}: its lock was held for {:?}", begun.elapsed());
    }
    assert_eq!(Wire::session(world.sql(3)).scalar("SELECT v FROM t"), "2", "only what was committed counts");
    // While it waits for somebody else's lock.
    other.batch_execute("BEGIN; UPDATE t SET v = 10 WHERE k = 1").expect("a lock");
    let mut vanishing = Wire::session(world.sql(2));
    vanishing.send(b'Q', b"UPDATE t SET v = 99 WHERE k = 1\0");
    assert!(vanishing.is_quiet(Duration::from_millis(100)), "it must wait");
    drop(vanishing);
    eventually("the site to forget it", || world.running.status(2).is_ok_and(|status| status.clients == 1));
    other.batch_execute("COMMIT").expect("the holder goes on");
    assert_eq!(Wire::session(world.sql(2)).scalar("SELECT v FROM t"), "10", "a dead client's statement was executed");
    // In the middle of a COPY, once politely closed and once in the middle of a row.
    other.batch_execute("CREATE TABLE copied (k int PRIMARY KEY, v text)").expect("a table");
    for rows in ["1\tone\n2\ttwo\n", "1\tone\n2\ttw"] {
        let mut vanishing = Wire::session(world.sql(1));
        vanishing.send(b'Q', b"COPY copied FROM STDIN\0");
        assert_eq!(vanishing.message("COPY").0, b'G');
        vanishing.send(b'd', rows.as_bytes());
        vanishing.shutdown(Shutdown::Both);
        drop(vanishing);
    }
    eventually("the site to forget them", || world.running.status(1).is_ok_and(|status| status.clients == 1));
    let mut again = Wire::session(world.sql(1));
    again.send(b'Q', b"COPY copied FROM STDIN\0");
    assert_eq!(again.message("COPY").0, b'G');
    again.send(b'd', b"1\tone\n");
    again.send(b'c', b"");
    assert_eq!(again.message("COPY").0, b'C');
    assert_eq!(Wire::session(world.sql(3)).scalar("SELECT count(*) FROM copied"), "1");
    witness.check();
}
