//! Advisory locks over the real servers of three sites: exclusion, handing on, deadlocks, sites that die or are cut off.

mod world;

use messages::concurrency::Method;
use std::collections::BTreeMap;
use world::{Answer, Client, World};

fn value(answer: &Answer) -> &str {
    assert_eq!(answer.error, None);
    answer.values.first().expect("a row")
}

/// If this fails, a lock that a session has does not keep out one of another site, or stays when it was given back or its session has gone.
#[test]
fn a_lock_excludes_at_every_site() {
    let mut world = World::start(Method::Locking);
    let [first, second, third] = [0, 1, 2].map(|site| world.connect(site));
    let try_it = "SELECT pg_try_advisory_lock(7)";
    assert_eq!(value(&world.ask(first, try_it)), "t");
    assert_eq!(value(&world.ask(second, try_it)), "f");
    assert_eq!(value(&world.ask(third, try_it)), "f");
    assert_eq!(value(&world.ask(first, "SELECT pg_advisory_unlock(7)")), "t");
    assert_eq!(value(&world.ask(second, try_it)), "t", "free at once, at another site");
    world.send(third, "SELECT pg_advisory_lock_shared(7)");
    (0..100).for_each(|_| world.pass_time());
    assert_eq!(world.answer(third), None, "it waits");
    world.leave(second);
    assert_eq!(world.wait(third).error, None, "the holder has gone");
    assert_eq!(value(&world.ask(first, "SELECT pg_try_advisory_lock_shared(7)")), "t", "they share it");
    assert_eq!(world.ask(first, "SET lock_timeout = 300").error, None);
    assert_eq!(world.ask(first, "SELECT pg_advisory_lock(7)").error.as_deref(), Some("55P03"));
}

/// If this fails, two clients were in what a lock guards at the same time, one did not see what the one before it did, or one waits for ever.
#[test]
fn a_counter_behind_a_lock_is_right() {
    const TURNS: usize = 12;
    for method in [Method::Locking, Method::Optimistic, Method::Timestamp] {
        let mut world = World::start(method);
        let clients: Vec<Client> = (0..9).map(|number| world.connect(number % 3)).collect();
        assert_eq!(world.ask(clients[0], "CREATE TABLE counter (n bigint NOT NULL)").error, None);
        assert_eq!(world.ask(clients[0], "INSERT INTO counter VALUES (0)").error, None);
        // How many statements each has had answered.
        let mut done: BTreeMap<Client, usize> = clients.iter().map(|client| (*client, 0)).collect();
        for client in &clients {
            world.send(*client, "BEGIN; SELECT pg_advisory_xact_lock(3, 1)");
        }
        world.until("all have counted", |world| {
            for (client, done) in &mut done {
                let Some(answer) = world.answer(*client) else { continue };
                assert_eq!(answer.error, None, "{method:?}: {client:?}");
                *done += 1;
                let (turn, step) = (*done / 4, *done % 4);
                let in_transaction = turn % 3 == 0;
                match step {
                    0 if turn == TURNS => {}
                    0 if in_transaction => world.send(*client, "BEGIN; SELECT pg_advisory_xact_lock(3, 1)"),
                    0 => world.send(*client, "SELECT pg_advisory_lock(3, 1)"),
                    1 => world.send(*client, "SELECT n FROM counter"),
                    2 => {
                        let seen: i64 = value(&answer).parse().expect("a number");
                        world.send(*client, &format!("UPDATE counter SET n = {}", seen + 1));
                    }
                    _ if in_transaction => world.send(*client, "COMMIT"),
                    _ => world.send(*client, "SELECT pg_advisory_unlock(3, 1)"),
                }
            }
            done.values().all(|done| *done == 4 * TURNS)
        });
        let counted = world.ask(clients[1], "SELECT n FROM counter");
        assert_eq!(value(&counted), (clients.len() * TURNS).to_string(), "{method:?}");
        assert_eq!(value(&world.ask(clients[2], "SELECT pg_try_advisory_lock(3, 1)")), "t", "nobody has it");
    }
}

/// If this fails, sessions of two sites wait for each other for ever, or both are sent away.
#[test]
fn a_circle_of_two_sites_is_found() {
    let mut world = World::start(Method::Locking);
    let [first, second] = [0, 2].map(|site| world.connect(site));
    assert_eq!(world.ask(first, "SELECT pg_advisory_lock(1)").error, None);
    assert_eq!(world.ask(second, "SELECT pg_advisory_lock(2)").error, None);
    world.send(first, "SELECT pg_advisory_lock(2)");
    world.send(second, "SELECT pg_advisory_lock(1)");
    assert_eq!(world.wait(second).error.as_deref(), Some("40P01"), "it is the greatest");
    (0..600).for_each(|_| world.pass_time());
    assert_eq!(world.answer(first), None, "the other waits on");
    assert_eq!(world.ask(second, "SELECT pg_advisory_unlock_all()").error, None);
    assert_eq!(world.wait(first).error, None);
}

/// If this fails, what a site had that died is taken for ever.
#[test]
fn what_a_site_had_that_died_is_free() {
    let mut world = World::start(Method::Locking);
    let [first, second, third] = [0, 1, 2].map(|site| world.connect(site));
    assert_eq!(world.ask(first, "SELECT pg_advisory_lock(1), pg_advisory_lock(2)").error, None);
    world.send(second, "SELECT pg_advisory_lock(1)");
    (0..100).for_each(|_| world.pass_time());
    assert_eq!(world.answer(second), None, "it waits");
    world.kill(0);
    assert_eq!(world.wait(second).error, None, "the next epoch is without the holder");
    assert_eq!(value(&world.ask(third, "SELECT pg_try_advisory_lock(2)")), "t", "nobody waited for it");
    assert_eq!(value(&world.ask(third, "SELECT pg_try_advisory_lock(1)")), "f");
}

/// If this fails, another session gets a lock while the site of the one that believes to have it still answers that one.
#[test]
fn a_site_that_is_cut_off_serves_no_more_when_others_get_its_locks() {
    let mut world = World::start(Method::Locking);
    let [first, second] = [0, 1].map(|site| world.connect(site));
    assert_eq!(world.ask(second, "CREATE TABLE guarded (n bigint NOT NULL)").error, None);
    assert_eq!(world.ask(second, "INSERT INTO guarded VALUES (0)").error, None);
    assert_eq!(world.ask(first, "BEGIN; SELECT pg_advisory_xact_lock(1); UPDATE guarded SET n = 1").error, None);
    world.send(second, "SELECT pg_advisory_lock(1)");
    (0..20).for_each(|_| world.pass_time());
    world.cut(0);
    // What it has begun it cannot commit without the others.
    world.send(first, "COMMIT");
    world.until("another has the lock", |world| world.answer(second).is_some());
    assert!(!world.serves(0), "whoever has lost the lock reads nothing any more");
    assert_eq!(world.answer(first), None, "nor has it committed");
    assert_eq!(value(&world.ask(second, "SELECT n FROM guarded")), "0");
}
