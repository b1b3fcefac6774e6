//! What executions ask for: no more of a relation than the statement needs.

use crate::world::World;
use crate::{lines, run_on};
use executor::{ExecutionLimits, KeyBounds, PlanExecution, ScanOrder, plan_or_reason};
use values::Value;

/// The scans of a statement with these values, and its rows.
fn asked(sql: &str, parameters: &[Value]) -> (Vec<ScanOrder>, Vec<Vec<Value>>) {
    asked_of(&World::new(), sql, parameters)
}

fn asked_of(world: &World, sql: &str, parameters: &[Value]) -> (Vec<ScanOrder>, Vec<Vec<Value>>) {
    let script = grammar::parse(sql).unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    let analyzed = analyzer::analyze(world, &script.statements[0], &[]);
    let analyzed = analyzed.unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    let planned = plan_or_reason(world, &analyzed, world, &values::Zone::UTC)
        .unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    let plan = planned.unwrap_or_else(|reason| panic!("{sql}: {reason}"));
    let execution = PlanExecution::new(plan, parameters.to_vec(), ExecutionLimits { memory_bytes: 1 << 20 }, 7);
    let mut orders = Vec::new();
    let rows = run_on(world, execution, 2, 100, &mut orders);
    (orders, rows.unwrap_or_else(|error| panic!("{sql}: {}", error.message)))
}

fn first(sql: &str, parameters: &[Value]) -> ScanOrder {
    asked(sql, parameters).0.remove(0)
}

/// By which path, backwards or not, and how many rows.
fn way(sql: &str) -> (usize, bool, Option<usize>) {
    let order = first(sql, &[]);
    (order.path, order.reverse, order.limit)
}

fn point(number: i32) -> KeyBounds {
    let key = vec![Value::Integer(number)];
    KeyBounds { lower: key.clone(), lower_inclusive: true, upper: key, upper_inclusive: true }
}

fn is_whole(order: &ScanOrder) -> bool {
    matches!(order.ranges.as_slice(), [all] if all.lower.is_empty() && all.upper.is_empty())
}

/// The first rows by a path would cost a sort of all rows; or rows would come in another order than asked for.
#[test]
fn a_path_that_gives_the_order_is_read_in_it() {
    assert_eq!(way("SELECT id FROM item ORDER BY name LIMIT 2"), (1, false, Some(2)));
    assert_eq!(way("SELECT id FROM item ORDER BY name DESC LIMIT 2"), (1, true, Some(2)));
    assert_eq!(way("SELECT id + 1 FROM item ORDER BY name DESC, id DESC LIMIT 2 OFFSET 1"), (1, true, Some(3)));
    assert_eq!(way("SELECT id FROM item ORDER BY id DESC"), (0, true, None));
    assert_eq!(way("SELECT name FROM item ORDER BY id, name LIMIT 2"), (0, false, Some(2)), "a key has one row");
    assert_eq!(way("SELECT day FROM sale WHERE item_id = 1 ORDER BY day DESC LIMIT 1"), (0, true, Some(1)));
    assert_eq!(way("SELECT id FROM item WHERE name = 'bolt' ORDER BY name, id LIMIT 1"), (1, false, Some(1)));
    for sorted in [
        "SELECT id FROM item ORDER BY name",
        "SELECT id FROM item ORDER BY price DESC NULLS LAST LIMIT 2",
        "SELECT id FROM item ORDER BY name, price LIMIT 2",
        "SELECT id FROM item ORDER BY name, id DESC LIMIT 2",
        "SELECT id FROM item WHERE weight > 1 ORDER BY name LIMIT 2",
        "SELECT item_id FROM sale ORDER BY day LIMIT 2",
        "SELECT item_id FROM sale WHERE item_id IN (1, 2) ORDER BY day LIMIT 2",
        // As other types they have other orders.
        "SELECT id FROM item ORDER BY id::oid",
        "SELECT id FROM item ORDER BY name::bpchar LIMIT 2",
    ] {
        assert_eq!(way(sorted), (0, false, None), "{sorted}");
    }
}

/// A number below zero would come before all others, though as an `oid` it is greater.
#[test]
fn what_is_sorted_as_another_type_has_the_order_of_that() {
    let world = World::of("table n\ncolumn id integer not null\nkey id\nrow -1\nrow 1");
    assert_eq!(lines(&world, "SELECT id FROM n ORDER BY id::oid"), ["1", "-1"]);
    assert_eq!(lines(&world, "SELECT id FROM n ORDER BY id::bigint"), ["-1", "1"]);
}

/// A limit that does not reach the scan reads a relation to its end; one that reaches it too early loses rows.
#[test]
fn limits_reach_scans_whose_rows_all_count() {
    let limit = |sql: &str| first(sql, &[]).limit;
    assert_eq!(limit("SELECT name FROM item LIMIT 2"), Some(2));
    assert_eq!(limit("SELECT name FROM (SELECT * FROM item) i LIMIT 2 OFFSET 3"), Some(5));
    assert_eq!(limit("SELECT amount FROM sale WHERE item_id = 2 LIMIT 1"), Some(1));
    assert_eq!(limit("SELECT name FROM item WHERE id > 3 AND id <= 6 LIMIT 1"), Some(1));
    assert_eq!(limit("SELECT name FROM item WHERE price > 1 LIMIT 2"), Some(2), "NULLs come last");
    assert_eq!(limit("SELECT name FROM item WHERE price > 1 ORDER BY price LIMIT 2"), Some(2));
    for more in [
        "SELECT name FROM item WHERE weight > 1 LIMIT 2",
        "SELECT name FROM item WHERE id > 1 AND weight > 1 LIMIT 2",
        "SELECT name FROM item WHERE id = 3 AND id > 1 AND id > 2 LIMIT 2",
        // NULLs come first.
        "SELECT name FROM item WHERE price > 1 ORDER BY price DESC LIMIT 2",
        "SELECT name FROM item WHERE id IN (1, 2, 3) LIMIT 2",
        "SELECT DISTINCT kind FROM item LIMIT 2",
        "SELECT count(*) FROM item LIMIT 1",
        "SELECT id FROM item ORDER BY id FETCH FIRST 1 ROW WITH TIES",
        "SELECT generate_series(1, 0) FROM item LIMIT 1",
    ] {
        assert_eq!(limit(more), None, "{more}");
    }
    let (orders, rows) =
        asked("SELECT id FROM item ORDER BY id LIMIT $1 OFFSET $2", &[Value::BigInt(3), Value::BigInt(1)]);
    assert_eq!((orders[0].limit, rows.len()), (Some(4), 3));
    assert_eq!(asked("SELECT id FROM item LIMIT $1", &[Value::Null]).0[0].limit, None);
    assert!(asked("SELECT id FROM item LIMIT $1", &[Value::BigInt(0)]).0.is_empty());
}

/// A join would read all of a relation of which the other side names a few rows.
#[test]
fn a_join_begins_where_conditions_leave_few_rows() {
    let (orders, _) =
        asked("SELECT s.amount FROM sale s JOIN item i ON i.id = s.item_id WHERE i.name IN ('bolt', 'door')", &[]);
    assert_eq!((orders[0].path, orders[0].ranges.len()), (1, 2));
    assert_eq!(orders[1].ranges, [point(2), point(4)]);
    let (orders, _) = asked("SELECT o.label FROM item i JOIN nothing o ON i.name = o.label WHERE o.id = 1", &[]);
    assert_eq!(orders.len(), 1, "no row: nothing is looked for");
    let (orders, _) = asked("SELECT b.name FROM item a JOIN item b ON b.name = a.name WHERE a.id = 2", &[]);
    assert_eq!((orders[1].path, &orders[1].ranges[0].lower), (1, &vec![Value::text("bolt")]));
}

/// Of two rows with one key but other ends, only the last one's partners would be found.
#[test]
fn ends_that_differ_from_row_to_row_lose_no_partner() {
    let sql =
        "SELECT a.day, b.day FROM sale a JOIN sale b ON b.item_id = a.item_id AND b.day >= a.day WHERE a.item_id = 1";
    let (orders, rows) = asked(sql, &[]);
    assert_eq!((orders.len(), rows.len()), (2, 3));
    assert!(!orders.iter().any(is_whole));
}

/// An execution would read as much as if nothing were known of its values.
#[test]
fn an_execution_is_narrowed_by_its_own_values() {
    let either = "SELECT name FROM item WHERE $1 IS NULL OR id = $1::int";
    assert_eq!(first(either, &[Value::Integer(3)]).ranges, [point(3)]);
    let (orders, rows) = asked(either, &[Value::Null]);
    assert!(is_whole(&orders[0]) && rows.len() == 8, "{orders:?}");
    let by_name = "SELECT id FROM item WHERE name = $1 OR $1 IS NULL";
    assert_eq!(first(by_name, &[Value::text("bolt")]).path, 1);
    let all = first(by_name, &[Value::Null]);
    assert!(is_whole(&all) && all.path == 0, "all rows are read by their own key: {all:?}");
    assert_eq!(first("SELECT name FROM item WHERE id = 2 OR 5 = id", &[]).ranges, [point(2), point(5)]);
    assert!(is_whole(&first("SELECT name FROM item WHERE id = 2 OR weight = 4", &[])));
    assert_eq!(asked("SELECT name FROM item WHERE id = 3 AND id = 4", &[]).0, []);
    assert_eq!(first("SELECT name FROM item WHERE id = 3 AND id IN (4, 3)", &[]).ranges, [point(3)]);
    let (orders, rows) =
        asked("SELECT day FROM sale WHERE ($1 IS NULL OR item_id = $1::int) AND day = '2024-01-20'", &[Value::Null]);
    assert!(is_whole(&orders[0]) && rows.len() == 2, "{orders:?}");
}

/// A table would be read anew for each of many rows around.
#[test]
fn what_many_rows_ask_for_is_read_once() {
    for (sql, rows) in [
        (
            "SELECT id FROM item i WHERE EXISTS (SELECT 1 FROM item o WHERE o.parent = i.id AND o.price > 1)",
            &["3", "6"][..],
        ),
        (
            "SELECT id FROM item i WHERE NOT EXISTS (SELECT 1 FROM item o WHERE o.parent = i.id)",
            &["2", "4", "5", "7", "8"],
        ),
        (
            "SELECT id, (SELECT sum(price) FROM item o WHERE o.parent = i.parent AND o.id <> i.id) FROM item i",
            &["1|NULL", "2|NULL", "3|NULL", "4|NULL", "5|89.99", "6|NULL", "7|-3.75", "8|15.00"],
        ),
        (
            "SELECT i.id, l.id FROM item i, LATERAL (SELECT id FROM item o WHERE o.parent = i.id ORDER BY id LIMIT 1) l",
            &["1|2", "3|4", "6|7"],
        ),
    ] {
        let (orders, _) = asked(sql, &[]);
        assert_eq!(orders.len(), 2, "{sql}: {orders:?}");
        assert_eq!(lines(&World::new(), sql), rows, "{sql}");
    }
    // One row around asks once, and is answered by a key if there is one.
    let one = "SELECT id FROM item i WHERE id = 3 AND EXISTS (SELECT 1 FROM sale s WHERE s.item_id = i.id)";
    assert_eq!(first(one, &[]).ranges, [point(3)]);
    assert_eq!(asked(one, &[]).0[1].ranges, [point(3)]);
}

/// What the first row around leaves of a table would be all that the others see.
#[test]
fn what_is_read_once_depends_on_no_row_around() {
    let world = World::of(
        "table o\ncolumn id integer not null\ncolumn x integer\nkey id\nrow 1\t10\nrow 2\t20\n\
         table t\ncolumn id integer not null\ncolumn k integer\ncolumn v integer\nkey id\n\
         row 1\t1\t10\nrow 2\t2\t20",
    );
    let sql = "SELECT id, (WITH c AS (SELECT o.x AS x)
                           SELECT count(*) FROM t WHERE t.k = o.id AND t.v IN (SELECT x FROM c)) FROM o";
    assert_eq!(lines(&world, sql), ["1|1", "2|1"]);
}

/// A few look-ups by a key would read a whole table, which may be larger than a statement's memory.
#[test]
fn few_look_ups_by_a_key_read_no_whole_table() {
    let few = "SELECT o.id, (SELECT c.name FROM item c WHERE c.id = o.parent) FROM item o ORDER BY o.id DESC LIMIT 4";
    let (orders, _) = asked(few, &[]);
    assert_eq!(orders[1..].iter().map(|order| &order.ranges[..]).collect::<Vec<_>>(), [[point(6)], [point(3)]]);
    assert_eq!(lines(&World::new(), few), ["8|feather", "7|feather", "6|NULL", "5|crate"]);
    // Many read it once, after some.
    let many = "SELECT sum((SELECT c.id FROM item c WHERE c.id = x % 10)) FROM generate_series(1, 1000) x";
    let (orders, rows) = asked(many, &[]);
    assert_eq!(orders.iter().filter(|order| is_whole(order)).count(), 1);
    assert!((100..400).contains(&orders.len()), "{}", orders.len());
    assert_eq!(rows, [[Value::BigInt(3_600)]]);
}

/// Look-ups would fail because a table does not fit into memory, though each could be answered.
#[test]
fn what_is_too_large_to_be_held_is_looked_up() {
    let rows: String = (0..20).map(|id| format!("\nrow {id}\t{}", "x".repeat(100_000))).collect();
    let table = format!("table large\ncolumn id integer not null\ncolumn t text\nkey id{rows}");
    let sql = "SELECT count((SELECT c.t FROM large c WHERE c.id = x % 25)) FROM generate_series(1, 1000) x";
    let (orders, rows) = asked_of(&World::of(&table), sql, &[]);
    assert_eq!(orders.iter().filter(|order| is_whole(order)).count(), 1);
    assert_eq!((orders.len(), rows), (1_001, vec![vec![Value::BigInt(800)]]));
}
