//! Advisory locks of all sites: one holder at a time, wherever it is; what a site that dies had is free; who waits in a circle is told.

use crate::harness::{World, eventually};
use laboratory::debit_credit::explain;
use postgres::{Client, Error};
use std::thread::Scope;

const SITES: [u16; 3] = [1, 2, 3];
/// Clients at each site.
const CLIENTS: usize = 3;
/// How often each of them counts.
const TURNS: usize = 15;

fn code(error: &Error) -> &str {
    error.code().map_or("", |code| code.code())
}

fn lock(client: &mut Client, key: i64) -> Result<(), Error> {
    client.execute("SELECT pg_advisory_lock($1)", &[&key]).map(drop)
}

fn is_taken(client: &mut Client, key: i64) -> bool {
    let row = client.query_one("SELECT pg_try_advisory_lock($1)", &[&key]).expect("an answer");
    row.get(0)
}

fn gives_back(client: &mut Client, key: i64) -> bool {
    client.query_one("SELECT pg_advisory_unlock($1)", &[&key]).expect("an answer").get(0)
}

/// How many wait for advisory locks.
fn waiters(client: &mut Client) -> i64 {
    let sql = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    client.query_one(sql, &[]).expect("pg_locks is read").get(0)
}

/// If this fails, a lock that a session of one site has does not keep one of another out, or is not free there once it was given back.
#[test]
fn a_lock_excludes_at_every_site() {
    let world = World::start();
    let [mut first, mut second, mut third] = SITES.map(|site| world.connect(site));
    lock(&mut first, 7).expect("it is free");
    assert!(!is_taken(&mut second, 7) && !is_taken(&mut third, 7) && is_taken(&mut first, 7));
    assert!(gives_back(&mut first, 7) && !is_taken(&mut second, 7), "it was taken twice");
    assert!(gives_back(&mut first, 7) && is_taken(&mut second, 7), "free at once, at another site");
    second.batch_execute("DISCARD ALL").expect("it is given back");
    third.batch_execute("BEGIN; SELECT pg_advisory_xact_lock_shared(7)").expect("it is free");
    first.batch_execute("BEGIN; SELECT pg_advisory_xact_lock_shared(7)").expect("they share it");
    assert!(!is_taken(&mut second, 7));
    first.batch_execute("COMMIT").expect("the end");
    second.batch_execute("SET lock_timeout = '200ms'").expect("a setting");
    assert_eq!(code(&lock(&mut second, 7).expect_err("one still has it")), "55P03");
    third.batch_execute("ROLLBACK").expect("the end");
    lock(&mut second, 7).expect("nobody has it any more");
    drop(second);
    lock(&mut first, 7).expect("its session has ended");
    let shown = first.query("SELECT * FROM pg_locks", &[]).expect("rows");
    assert_eq!(shown.iter().map(|row| row.get("locktype")).collect::<Vec<&str>>(), ["advisory"]);
}

fn count_alone(mut client: Client, site: u16) {
    for turn in 0..TURNS {
        // What is read and written between is no transaction: only the lock keeps others out.
        let in_transaction = turn % 3 == 0;
        match in_transaction {
            true => client.batch_execute("BEGIN; SELECT pg_advisory_xact_lock(3, 1)"),
            false => client.batch_execute("SELECT pg_advisory_lock(3, 1)"),
        }
        .unwrap_or_else(|error| panic!("site {site}: {}", explain(&error)));
        let value: i64 = client.query_one("SELECT n FROM counter", &[]).expect("a row").get(0);
        client.execute("UPDATE counter SET n = $1", &[&(value + 1)]).expect("an update");
        match in_transaction {
            true => client.batch_execute("COMMIT"),
            false => client.batch_execute("SELECT pg_advisory_unlock(3, 1)"),
        }
        .unwrap_or_else(|error| panic!("site {site}: {}", explain(&error)));
    }
}

/// If this fails, two clients were in what the lock guards at the same time, or one did not see what the one before it did.
#[test]
fn a_counter_behind_a_lock_is_right() {
    let world = World::start();
    let mut client = world.connect(1);
    client.batch_execute("CREATE TABLE counter (n bigint NOT NULL); INSERT INTO counter VALUES (0)").expect("a table");
    std::thread::scope(|scope| {
        for site in SITES {
            for _ in 0..CLIENTS {
                let own = world.connect(site);
                scope.spawn(move || count_alone(own, site));
            }
        }
    });
    let counted: i64 = client.query_one("SELECT n FROM counter", &[]).expect("a row").get(0);
    assert_eq!(counted, (SITES.len() * CLIENTS * TURNS) as i64);
    let left = client.query("SELECT * FROM pg_locks WHERE locktype = 'advisory'", &[]).expect("pg_locks is read");
    assert!(left.is_empty(), "{} are left", left.len());
}

/// Begins to wait for a lock.
fn waits<'scope>(
    scope: &'scope Scope<'scope, '_>,
    mut client: Client,
    key: i64,
) -> std::thread::ScopedJoinHandle<'scope, (Client, Result<(), Error>)> {
    scope.spawn(move || {
        let came = lock(&mut client, key);
        (client, came)
    })
}

/// If this fails, what a site had that was killed is taken for ever, or is given away while the site may still serve its session.
#[test]
fn what_a_site_had_that_died_is_free() {
    let mut world = World::start();
    let [mut first, second, mut third] = SITES.map(|site| world.connect(site));
    lock(&mut first, 1).expect("it is free");
    lock(&mut first, 2).expect("it is free");
    std::thread::scope(|scope| {
        let waiting = waits(scope, second, 1);
        eventually("a session that waits", || waiters(&mut third) == 1);
        world.kill(1);
        let (mut second, came) = waiting.join().expect("the thread");
        came.unwrap_or_else(|error| panic!("{}\n{}", explain(&error), world.logs()));
        lock(&mut third, 2).expect("nobody waited for it");
        assert!(!is_taken(&mut third, 1) && gives_back(&mut second, 1));
    });
}

/// If this fails, sessions of two sites wait for each other for ever, or both are sent away.
#[test]
fn a_circle_of_two_sites_is_found() {
    let world = World::start();
    let [mut first, mut second, mut third] = SITES.map(|site| world.connect(site));
    lock(&mut first, 1).expect("it is free");
    lock(&mut second, 2).expect("it is free");
    std::thread::scope(|scope| {
        let one = waits(scope, first, 2);
        eventually("a session that waits", || waiters(&mut third) == 1);
        let other = waits(scope, second, 1);
        eventually("one of the two to end", || one.is_finished() || other.is_finished());
        let (loser, winner) = if one.is_finished() { (one, other) } else { (other, one) };
        let (mut loser, came) = loser.join().expect("the thread");
        assert_eq!(code(&came.expect_err("it waited in a circle")), "40P01");
        assert!(!winner.is_finished(), "the other goes on waiting");
        loser.batch_execute("SELECT pg_advisory_unlock_all()").expect("it goes on");
        let (_winner, came) = winner.join().expect("the thread");
        came.unwrap_or_else(|error| panic!("{}", explain(&error)));
    });
}

/// If this fails, a client that goes or is cancelled while it waits keeps its place, or the lock that it is given meanwhile.
#[test]
fn who_goes_while_it_waits_has_nothing() {
    let world = World::start();
    let [mut first, second, mut third] = SITES.map(|site| world.connect(site));
    lock(&mut first, 5).expect("it is free");
    let cancel = second.cancel_token();
    std::thread::scope(|scope| {
        let waiting = waits(scope, second, 5);
        eventually("a session that waits", || waiters(&mut third) == 1);
        cancel.cancel_query(postgres::NoTls).expect("it is asked");
        let (mut second, came) = waiting.join().expect("the thread");
        assert_eq!(code(&came.expect_err("it was cancelled")), "57014");
        eventually("nobody waiting", || waiters(&mut third) == 0);
        second.batch_execute("SET statement_timeout = '200ms'").expect("a setting");
        assert_eq!(code(&lock(&mut second, 5).expect_err("it takes too long")), "57014");
        assert!(gives_back(&mut first, 5));
        third.batch_execute("SET statement_timeout = '20s'").expect("a setting");
        lock(&mut third, 5).expect("nobody else has it");
    });
}
