//! Statements that ask for much: of memory, of the stack.

use crate::world::World;
use crate::{Answer, answer, pauses};
use values::{Type, Value};

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
        for (_, text) in nestings::NESTED.iter().chain(nestings::CHAINS).chain(nestings::CHANGES) {
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

/// Each row of a window would be yielded with a copy of all the others, more than a thousand of them at once.
#[test]
fn rows_of_windows_are_no_larger_together_than_other_rows() {
    for over in ["()", "(ORDER BY x)", "(ROWS BETWEEN 9000 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW)"] {
        let sql = format!("SELECT string_agg('0123456789', ',') OVER {over} FROM generate_series(1, 10000) x");
        let (_, most) = pauses(&sql, Vec::new(), 100_000);
        assert!(most < 2 << 20, "{most} bytes at once: {sql}");
    }
    let long = "SELECT max(length(s)) FROM
                    (SELECT string_agg('0123456789', ',') OVER () s FROM generate_series(1, 50000)) q";
    assert_eq!(lines(long)[2..], ["549999"]);
    let held = "SELECT length(array_agg(repeat('x', 1000)) OVER (ORDER BY x)::text) FROM generate_series(1, 60000) x";
    assert_eq!(lines(held)[0], "ERROR 53200");
}

/// A window would be worked on for minutes before anybody asks whether the statement is still wanted; or for long at all,
/// though the place of the row is known.
#[test]
fn what_windows_look_at_is_counted() {
    let (yields, _) = pauses("SELECT sum(x) OVER () FROM generate_series(1, 10000) x", Vec::new(), 5_000);
    assert!(yields >= 6, "{yields}");
    let nth = "SELECT count(n) FROM (SELECT nth_value(x, 50000) OVER (ROWS BETWEEN UNBOUNDED PRECEDING
                   AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) n FROM generate_series(1, 100000) x) q";
    assert_eq!(lines(nth)[2..], ["100000"]);
}

/// A long list would be gone through for each row, and nobody could end the statement.
#[test]
fn long_lists_are_found_by_keys_or_counted() {
    let list: Vec<String> = (2_000..22_000).map(|number| number.to_string()).collect();
    let listed = format!("SELECT count(*) FROM generate_series(1, 2000) x WHERE x IN ({})", list.join(", "));
    assert_eq!(lines(&listed)[2..], ["1"]);
    assert!(pauses(&listed, Vec::new(), 1_000).0 < 20);
    let given = Value::array(Type::Integer, (2_000..22_000).map(Value::Integer).collect());
    let (yields, _) =
        pauses("SELECT count(*) FROM generate_series(1, 2000) x WHERE x = ANY ($1::int[])", vec![given], 1_000);
    assert!(yields > 300, "{yields}");
    let both = format!("SELECT count(*) FROM item WHERE id IN ({0}) AND id IN ({0}, 3)", list.join(", "));
    assert_eq!(lines(&both)[2..], ["0"]);
}

/// A list with NULL would be taken for one that names all there is.
#[test]
fn long_lists_know_three_truths() {
    let numbers = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10";
    let texts = "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'";
    for (asked, answer) in [
        (format!("x IN ({numbers}) FROM (VALUES (3), (11), (NULL)) v(x)"), ["t", "f", "NULL"]),
        (format!("x NOT IN ({numbers}) FROM (VALUES (3), (11), (NULL)) v(x)"), ["f", "t", "NULL"]),
        (format!("x IN ({numbers}, NULL) FROM (VALUES (3), (11), (NULL)) v(x)"), ["t", "NULL", "NULL"]),
        (format!("x NOT IN ({numbers}, NULL) FROM (VALUES (3), (11), (NULL)) v(x)"), ["f", "NULL", "NULL"]),
        (format!("x IN ({numbers}) FROM (VALUES (3::bigint), (11), (NULL)) v(x)"), ["t", "f", "NULL"]),
        (format!("x IN ({numbers}) FROM (VALUES (3.0), (3.5), (NULL)) v(x)"), ["t", "f", "NULL"]),
        (format!("x IN ({texts}) FROM (VALUES ('c'), ('c '), (NULL)) v(x)"), ["t", "f", "NULL"]),
        (format!("x IN ({texts}) FROM (VALUES ('c'::char(3)), ('z '), (NULL)) v(x)"), ["t", "f", "NULL"]),
        (format!("x < ANY (ARRAY[{numbers}]) FROM (VALUES (3), (11), (NULL)) v(x)"), ["t", "f", "NULL"]),
        (format!("x <> ANY (ARRAY[{numbers}]) FROM (VALUES (3), (11), (NULL)) v(x)"), ["t", "t", "NULL"]),
        (format!("x = ALL (ARRAY[{numbers}]) FROM (VALUES (3), (11), (NULL)) v(x)"), ["f", "f", "NULL"]),
    ] {
        assert_eq!(lines(&format!("SELECT {asked}"))[2..], answer, "{asked}");
    }
}

/// Patterns of which each row has its own would be translated for as long as they like.
#[test]
fn patterns_of_rows_are_counted() {
    let sql = "SELECT count(*) FROM generate_series(1, 2000) x WHERE 'abc' ~ ('[a-z]{100}' || x)";
    let (yields, _) = pauses(sql, Vec::new(), 1_000);
    assert!(yields > 50, "{yields}");
}

/// A statement would be refused though another way takes it.
#[test]
fn patterns_that_are_not_built_are_told_when_the_statement_is_planned() {
    for sql in [
        "SELECT regexp_replace(name, '^(foo|bar)-', '') FROM item",
        "SELECT regexp_replace(name, 'x*', '', 'g') FROM item",
        "SELECT regexp_replace('foo-x', '^(foo|bar)-', '')",
        "SELECT 'Abc' ~ '(?i)abc'",
        "SELECT id FROM item WHERE name ~ '(?i)abc'",
        "SELECT id FROM item WHERE name !~* '(a)\\1'",
        "SELECT regexp_split_to_table(name, 'a|b') FROM item",
        "SELECT part FROM item, regexp_split_to_table(name, 'a|b') part",
    ] {
        assert!(matches!(answer(&World::new(), sql, 1_000, 8_192), Answer::NotBuilt(_)), "{sql}");
    }
    assert_eq!(lines("SELECT count(*) FROM item WHERE name ~ '(a|b)'").len(), 3);
    assert_eq!(lines("SELECT name ~ '(' FROM item")[0], "ERROR 2201B");
    let complex = "SELECT name ~ '((a{100}){100}){100}' FROM item";
    assert_eq!(lines(complex), ["ERROR 2201B", "invalid regular expression: regular expression is too complex"]);
}

/// A group, and what an aggregate keeps, would need several times the memory that is counted.
#[test]
fn memory_of_groups_is_counted() {
    let refused = |sql: &str| assert_eq!(lines(sql)[0], "ERROR 53200", "{sql}");
    refused("SELECT count(*) FROM (SELECT x, sum(x), avg(x), max(x) FROM generate_series(1, 120000) x GROUP BY x) q");
    refused("SELECT length(string_agg(DISTINCT repeat('x', 900) || x, '')) FROM generate_series(1, 36000) x");
    refused("SELECT length(string_agg(repeat('x', 900) || x, '' ORDER BY x)) FROM generate_series(1, 36000) x");
    refused("SELECT count(*) FROM generate_series(1, 3) y WHERE y IN (SELECT x FROM generate_series(1, 900000) x)");
}

/// A list of tables would be planned for minutes.
#[test]
fn joins_of_very_many_relations_are_not_planned() {
    let tables: Vec<String> = (0..9_000).map(|number| format!("n t{number}")).collect();
    let sql = format!("SELECT count(*) FROM {}", tables.join(", "));
    let run = move || {
        let answered = answer(&World::of(TABLE), &sql, 1_000, 8_192);
        assert!(matches!(answered, Answer::NotBuilt(reason) if reason.contains("so many relations")));
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
    thread.expect("a thread").join().expect("it is told in time");
}
