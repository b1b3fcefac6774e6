//! Functions in PL/pgSQL that change rows, called at several sites, stopped, and cut off.

use crate::harness::{World, eventually};
use laboratory::debit_credit::explain;
use postgres::{Client, Error};

const MADE: &str = "
    CREATE TABLE counts (k int PRIMARY KEY, n int NOT NULL);
    INSERT INTO counts VALUES (1, 0), (2, 0);
    CREATE FUNCTION count_up(which int) RETURNS int LANGUAGE plpgsql AS $$
        DECLARE now_ int;
        BEGIN UPDATE counts SET n = n + 1 WHERE k = which RETURNING n INTO now_; RETURN now_; END $$;
    CREATE FUNCTION endless() RETURNS int LANGUAGE plpgsql AS $$
        BEGIN LOOP PERFORM count_up(1); END LOOP; END $$;
";

fn made() -> World {
    let world = World::start();
    world.connect(1).batch_execute(MADE).expect("tables and functions");
    for site in 1..=3 {
        let mut client = world.connect(site);
        eventually("the functions to be known", || client.simple_query("SELECT 'count_up'::regproc").is_ok());
    }
    world
}

fn code(error: &Error) -> Option<&str> {
    error.code().map(|code| code.code())
}

fn total(client: &mut Client) -> i64 {
    client.query_one("SELECT sum(n) FROM counts", &[]).expect("a sum").get(0)
}

/// A function has changed a row, which its site lets nobody else have.
fn wait_until_under_way(world: &World, site: u16) {
    let mut other = world.connect(site);
    eventually("a function to be under way", || {
        let locked = other.query("SELECT n FROM counts WHERE k = 1 FOR UPDATE NOWAIT", &[]);
        locked.is_err_and(|error| code(&error) == Some("55P03"))
    });
}

/// If this fails, a function has run twice for one call, or what it did is lost.
#[test]
fn each_call_counts_once_at_all_sites() {
    const CALLS: usize = 40;
    let world = made();
    let counted: i64 = std::thread::scope(|scope| {
        let each = [1, 2, 3].map(|site| {
            let mut client = world.connect(site);
            scope.spawn(move || {
                let mut counted = 0;
                for _ in 0..CALLS {
                    // Both calls of a statement are in, or none is.
                    match client.query_one("SELECT count_up(1) + count_up(k) AS sum FROM counts WHERE k = 2", &[]) {
                        Ok(_) => counted += 2,
                        Err(error) => assert_eq!(code(&error), Some("40001"), "{}", explain(&error)),
                    }
                }
                counted
            })
        });
        each.into_iter().map(|one| one.join().expect("it counts")).sum()
    });
    assert!(counted > 0, "nothing was counted");
    let mut client = world.connect(2);
    assert_eq!(total(&mut client), counted);
    // In a block the client decides.
    client.batch_execute("BEGIN; SELECT count_up(k) FROM counts; ROLLBACK").expect("a block");
    assert_eq!(total(&mut client), counted);
    assert_eq!(world.stop(), Vec::<String>::new());
}

/// If this fails, a session is of no use once a function of its query was stopped, or has failed.
#[test]
fn a_session_goes_on_after_a_function_that_was_stopped() {
    let world = made();
    let mut client = world.connect(1);
    client.batch_execute("SET statement_timeout = '300ms'").expect("a setting");
    for _ in 0..3 {
        let stopped = client.query("SELECT k, endless() FROM counts", &[]).expect_err("it never ends");
        assert_eq!(code(&stopped), Some("57014"), "{}", explain(&stopped));
        assert_eq!(total(&mut client), 0, "what it did is gone");
    }
    client.batch_execute("RESET statement_timeout").expect("a setting");
    // Another session cancels it.
    let token = client.cancel_token();
    let waiting = std::thread::spawn(move || {
        let stopped = client.query("SELECT endless()", &[]).expect_err("it never ends");
        (client, stopped)
    });
    wait_until_under_way(&world, 1);
    token.cancel_query(postgres::NoTls).expect("it is asked");
    let (mut client, stopped) = waiting.join().expect("it waits");
    assert_eq!(code(&stopped), Some("57014"), "{}", explain(&stopped));
    assert_eq!(total(&mut client), 0);
    assert_eq!(world.stop(), Vec::<String>::new());
}

/// If this fails, half of what a function did outlives its site, or its client is told something wrong.
#[test]
fn a_function_ends_with_its_site() {
    let mut world = made();
    let mut client = world.connect(2);
    let waiting = std::thread::spawn(move || client.query("SELECT endless()", &[]).map(drop));
    let mut seen = world.connect(1);
    wait_until_under_way(&world, 2);
    world.kill(2);
    waiting.join().expect("it waits").expect_err("its site is gone");
    assert_eq!(total(&mut seen), 0);
    seen.query_one("SELECT count_up(2)", &[]).expect("nobody is in the way");
    assert_eq!(total(&mut seen), 1);
}
