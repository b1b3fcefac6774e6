//! Statements that are nested, long or costly beyond reason: each is answered or refused, and costs nobody else anything.

use crate::harness::World;
use postgres::error::SqlState;
use sql_syntax::nestings::{CHAINS, CHANGES, NESTED, Nesting};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A witness waits no longer for one statement, on a busy machine.
const LATENCY_MAX: Duration = Duration::from_secs(10);
/// Clients that send such statements at the same time.
const CLIENTS: usize = 6;

fn filled(world: &World) {
    let table = "CREATE TABLE n (id int PRIMARY KEY, v int, t text); INSERT INTO n VALUES (1, 1, 'a'), (2, 2, 'b'), (3, NULL, 'c')";
    world.connect(1).batch_execute(table).expect("a table");
}

/// What such a statement may end with, beside rows: it is too deep, too large or too slow, wrong SQL, or uses what is not offered.
fn is_answer(code: &SqlState) -> bool {
    let class = &code.code()[..2];
    ["54", "53", "0A", "42", "22", "21"].contains(&class) || *code == SqlState::QUERY_CANCELED
}

fn send(world: &World, next: &AtomicUsize, all: &[(&Nesting, usize)]) {
    let mut client = world.connect(1);
    client.batch_execute("SET statement_timeout = '3s'").expect("a setting");
    while let Some(((name, text), times)) = all.get(next.fetch_add(1, Ordering::SeqCst)) {
        if let Err(error) = client.simple_query(&text(*times)) {
            let code = error.code().unwrap_or_else(|| panic!("{name} x{times} ended the connection: {error}"));
            assert!(is_answer(code), "{name} x{times}: {error:?}");
        }
        assert!(!client.is_closed(), "{name} x{times}");
    }
}

/// If this failed, a login without any rights would suffice to end a site, or to hold up all others' queries.
#[test]
fn no_statement_ends_a_site_or_holds_up_others() {
    let world = World::start();
    filled(&world);
    let chosen = NESTED.iter().flat_map(|nesting| [30, 700, 20_000].map(|times| (nesting, times)));
    let all: Vec<(&Nesting, usize)> =
        chosen.chain(CHAINS.iter().flat_map(|nesting| [15, 200, 1_000].map(|times| (nesting, times)))).collect();
    let changes = CHANGES.iter().flat_map(|nesting| [15, 1_000, 20_000].map(|times| (nesting, times)));
    let all: Vec<(&Nesting, usize)> = all.into_iter().chain(changes).collect();
    let (next, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let longest = std::thread::scope(|scope| {
        let witness = scope.spawn(|| {
            let mut client = world.connect(1);
            let mut longest = Duration::ZERO;
            while !over.load(Ordering::SeqCst) {
                let begun = Instant::now();
                let row = client.query_one("SELECT count(*) FROM n a JOIN n b USING (id)", &[]).expect("the witness");
                assert_eq!(row.get::<_, i64>(0), 3);
                longest = longest.max(begun.elapsed());
            }
            longest
        });
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(|| send(&world, &next, &all))).collect();
        let ended: Vec<_> = clients.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        over.store(true, Ordering::SeqCst);
        let longest = witness.join().expect("the witness was disturbed");
        assert!(ended.iter().all(Result::is_ok), "a client was disturbed");
        longest
    });
    eprintln!("a small join beside them took {} ms at most", longest.as_millis());
    assert!(longest < LATENCY_MAX, "a small join took {longest:?}");
}

/// If this failed, a client that gives up would wait for what it no longer wants, until it was planned.
#[test]
fn a_statement_that_is_planned_for_long_can_be_cancelled() {
    let world = World::start();
    filled(&world);
    let (_, joins) = CHAINS.iter().find(|(name, _)| *name == "left joins").expect("it is there");
    let text = joins(450);
    let mut client = world.connect(1);
    client.batch_execute("SET statement_timeout = '300ms'").expect("a setting");
    let error = client.simple_query(&text).expect_err("it takes longer");
    assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "{error:?}");
    client.batch_execute("SET statement_timeout = 0").expect("the session goes on");
    let token = client.cancel_token();
    let under_way =
        std::thread::spawn(move || client.simple_query(&text).map(|_| ()).map_err(|error| error.code().cloned()));
    // Before it has begun there is nothing to cancel.
    while !under_way.is_finished() {
        token.cancel_query(postgres::NoTls).expect("a request to cancel");
        std::thread::yield_now();
    }
    let ended = under_way.join().expect("the client does not panic");
    assert_eq!(ended, Err(Some(SqlState::QUERY_CANCELED)));
}

/// If this failed, statements as applications write them would be refused.
#[test]
fn what_applications_write_is_answered() {
    let world = World::start();
    filled(&world);
    let mut client = world.connect(1);
    let find = |wanted: &str| NESTED.iter().chain(CHAINS).find(|(name, _)| *name == wanted).expect("it is there").1;
    for (name, times) in [
        ("parentheses", 500),
        ("sums in parentheses", 100),
        ("functions", 100),
        ("functions of joined columns", 20),
        ("CAST", 100),
        ("AND within OR", 100),
        ("CASE", 50),
        ("NOT in parentheses", 100),
        ("EXISTS", 8),
        ("AND", 1_000),
        ("OR", 1_000),
        ("UNION ALL", 200),
        ("UNION", 100),
        ("joins", 12),
        ("WITH", 60),
        ("EXISTS beside each other", 9),
        ("IN over a list", 20_000),
    ] {
        let answered = client.simple_query(&find(name)(times));
        answered.unwrap_or_else(|error| panic!("{name} x{times}: {error:?}"));
    }
}
