//! Statements that ask for much: of memory, of the stack.

use crate::world::World;
use crate::{Answer, answer};

#[path = "../../../sql_syntax/src/nestings.rs"]
mod nestings;

/// Bytes of the stack on which statements are planned and run (`QUERY_STACK_BYTES` of the site).
const STACK_BYTES: usize = 128 << 20;

const TABLE: &str = "table n\ncolumn id integer not null\ncolumn v integer\ncolumn t text\nkey id\nrow 1\t1\ta";

fn lines(sql: &str) -> Vec<String> {
    match answer(&World::new(), sql, 1_000, 8_192) {
        Answer::Lines(lines) => lines,
        Answer::NotBuilt(reason) => panic!("{sql}: {reason}"),
    }
}

/// What runs anew for every row around would be charged for all that it ever held, and the statement refused.
#[test]
fn what_runs_anew_gives_back_its_memory() {
    for again in [
        "SELECT count(*) FROM generate_series(1, 20000) x
             WHERE (SELECT max(y) FROM (SELECT y, repeat('x', 9000) z FROM (VALUES (x)) s(y)) s GROUP BY z) = x",
        "SELECT count(*) FROM generate_series(1, 20000) x,
             LATERAL (SELECT y, repeat('x', 9000) z FROM (VALUES (x), (0)) s(y) ORDER BY z, y DESC LIMIT 1) l",
        "SELECT count(*) FROM generate_series(1, 20000) x,
             LATERAL (SELECT DISTINCT repeat('x', 9000) z FROM (VALUES (x), (0)) s(y)) l",
        "SELECT count(*) FROM generate_series(1, 20000) x,
             LATERAL (SELECT y FROM (VALUES (x)) s(y) JOIN (SELECT x u, repeat('x', 9000) z) r ON u = y) l",
        "SELECT count(*) FROM generate_series(1, 20000) x,
             LATERAL (SELECT lag(repeat('x', 9000)) OVER () FROM (VALUES (x)) s(y)) l",
    ] {
        assert_eq!(lines(again)[2..], ["20000"], "{again}");
    }
}

/// Rows with many large values, or many such rows, would take the memory of the process.
#[test]
fn large_values_are_counted() {
    let refused = |sql: &str| assert_eq!(lines(sql)[0], "ERROR 53200", "{sql}");
    refused("SELECT repeat('x', 40000000), repeat('y', 40000000)");
    refused("VALUES (repeat('x', 40000000), repeat('y', 40000000))");
    assert_eq!(lines("SELECT length(repeat('x', 10000000)) FROM generate_series(1, 20)").len(), 22);
    let too_long = |sql: &str| assert_eq!(lines(sql)[0], "ERROR 54000", "{sql}");
    too_long("SELECT regexp_replace(repeat('a', 100000), 'a', repeat('b', 100000), 'g')");
    refused("SELECT array_to_string(array_fill(repeat('x', 100000), ARRAY[100000]), ',')");
}

/// Conditions on several columns would be combined to more ranges of keys than there is memory for.
#[test]
fn values_of_several_columns_are_not_all_combined() {
    let numbers: Vec<String> = (0..1_000).map(|number| number.to_string()).collect();
    let days: Vec<String> = (0..1_000).map(|day| format!("date '2024-01-01' + {day}")).collect();
    let (numbers, days) = (numbers.join(", "), days.join(", "));
    let sql = format!("SELECT count(*) FROM sale WHERE item_id IN ({numbers}) AND day IN ({days})");
    assert_eq!(lines(&sql)[2..], lines("SELECT count(*) FROM sale WHERE day >= '2024-01-01'")[2..]);
}

/// A statement would end the process where it nests deeper than the stack.
#[test]
fn what_nests_is_answered_or_refused() {
    let run = || {
        let world = World::of(TABLE);
        for (_, text) in nestings::NESTED.iter().chain(nestings::CHAINS) {
            for times in [4, 40] {
                let _ = answer(&world, &text(times), 1_000, 8_192);
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
    thread.expect("a thread").join().expect("no statement panics");
}

/// A planning would go on for a minute, or after its client has gone.
#[test]
fn planning_many_joins_takes_few_steps_and_ends_when_nobody_waits() {
    let (mut chain, mut star) = ("SELECT count(*) FROM n t0".to_owned(), "SELECT count(*) FROM n t0".to_owned());
    for number in 1..390 {
        chain += &format!(" JOIN n t{number} ON t{number}.id = t{}.id", number - 1);
        star += &format!(" JOIN n t{number} ON t{number}.id = t0.v AND t{number}.t = t0.t");
    }
    let run = move || {
        for sql in [chain, star] {
            let world = World::of(TABLE);
            assert!(matches!(answer(&world, &sql, 1_000, 8_192), Answer::Lines(_)), "it is planned and runs");
            let asked = world.asked.get();
            assert!((1..40).contains(&asked), "{asked} times 256 steps");
            let world = World::of(TABLE);
            world.wanted.set(asked - 1);
            let Answer::Lines(lines) = answer(&world, &sql, 1_000, 8_192) else { panic!("it is not refused") };
            assert_eq!(lines[0], "ERROR 57014");
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
    thread.expect("a thread").join().expect("it is planned in time");
}
