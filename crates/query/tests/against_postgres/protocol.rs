//! What the extended protocol needs: parameters and their types, plans that are kept, bounded memory.

use crate::memory::{NOW, World, cell};
use query::{Engine, Processor, SessionFacts};
use std::sync::Arc;
use values::{Type, Value};

fn types(sql: &str) -> Vec<Type> {
    World::new().plan(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}")).parameters().to_vec()
}

/// Drivers send a parameter in the type that they are told here.
#[test]
fn parameter_types_are_inferred() {
    assert_eq!(types("SELECT name FROM item WHERE id = $1"), [Type::Integer]);
    assert_eq!(
        types("SELECT name FROM item WHERE price > $1 AND made < $2"),
        [Type::Numeric(None), Type::TimestampTz(None)]
    );
    assert_eq!(types("SELECT $1"), [Type::Text]);
    assert_eq!(types("SELECT $1::int + 1, $2::date"), [Type::Integer, Type::Date]);
    assert_eq!(types("SELECT id FROM item LIMIT $1 OFFSET $2"), [Type::BigInt, Type::BigInt]);
    assert_eq!(types("SELECT id FROM item WHERE id IN ($1, $2)"), [Type::Integer, Type::Integer]);
    assert_eq!(types("SELECT id FROM item WHERE id BETWEEN $1 AND $2"), [Type::Integer, Type::Integer]);
    assert_eq!(types("SELECT id + $1 FROM item"), [Type::Integer]);
    assert_eq!(types("SELECT id FROM item WHERE name LIKE $1"), [Type::Text]);
    assert_eq!(types("SELECT day FROM sale WHERE item_id = $2 AND day = $1"), [Type::Date, Type::Integer]);
    assert_eq!(types("SELECT made + $1 FROM item"), [Type::Interval(None)]);
    assert_eq!(types("SELECT id FROM item WHERE id = ANY($1)"), [Type::Integer.array()]);
    assert_eq!(types("SELECT id FROM item WHERE price <> ALL($1)"), [Type::Numeric(None).array()]);
    assert_eq!(types("SELECT id FROM item WHERE $1 = ANY('{1,2}'::bigint[])"), [Type::BigInt]);
    assert_eq!(types("SELECT $1 = ANY($2)"), [Type::Text, Type::Text.array()]);
    let given = World::new().plan("SELECT $1", &[Some(Type::BigInt)]).expect("a plan");
    assert_eq!((given.parameters()[0], given.columns[0].column_type), (Type::BigInt, Type::BigInt));
}

/// A plan runs again with other values.
#[test]
fn plans_run_many_times() {
    let world = World::new();
    let sql = "SELECT name, (SELECT count(*) FROM sale WHERE item_id = $1 AND amount > $2) FROM item WHERE id = $1";
    let planned = world.plan(sql, &[]).expect("a plan");
    for (id, least, name, count) in [(1, 0, "anvil", 2), (2, 2_000, "bolt", 1), (3, i64::MAX, "crate", 0)] {
        let rows = world.run(&planned, &[Value::Integer(id), Value::BigInt(least)]).expect("rows");
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0][0].as_text(), Some(name));
        assert_eq!(rows[0][1].as_integer(), Some(count));
    }
    assert_eq!(world.run(&planned, &[]).map_err(|error| error.sqlstate), Err("08P01".to_owned()));
}

/// A series up to a parameter.
#[test]
fn series_take_parameters() {
    let world = World::new();
    let planned = world.plan("SELECT sum(g) FROM generate_series(1, $1::int) g", &[]).expect("a plan");
    let rows = world.run(&planned, &[Value::Integer(10)]).expect("rows");
    assert_eq!(rows[0][0].as_integer(), Some(55));
}

/// Time stands still within a transaction, and random numbers can be replayed.
#[test]
fn executions_supply_time_and_chance() {
    let world = World::new();
    let planned =
        world.plan("SELECT now(), current_date, now() = current_timestamp, random(), random() FROM item", &[]);
    let planned = planned.expect("a plan");
    let rows = world.run(&planned, &[]).expect("rows");
    assert_eq!(cell(&rows[0][0], Type::TimestampTz(None)), "2024-02-29 12:34:56+00");
    assert_eq!(cell(&rows[0][1], Type::Date), "2024-02-29");
    assert!(matches!(rows[0][0], Value::TimestampTz(NOW)));
    assert!(matches!(rows[0][2], Value::Boolean(true)));
    let all: std::collections::BTreeSet<String> =
        rows.iter().flat_map(|row| [cell(&row[3], Type::Double), cell(&row[4], Type::Double)]).collect();
    assert!(all.len() > rows.len(), "random() repeats itself: {all:?}");
    let again = World::new();
    let replayed = again.run(&again.plan("SELECT random() FROM item", &[]).expect("a plan"), &[]).expect("rows");
    let first = World::new();
    let original = first.run(&first.plan("SELECT random() FROM item", &[]).expect("a plan"), &[]).expect("rows");
    assert_eq!(format!("{replayed:?}"), format!("{original:?}"));
}

/// One query must not take all memory of the process.
#[test]
fn memory_is_bounded() {
    let world = World::with_processor(Processor::with_memory(64 << 10).expect("a processor"));
    let sql = "SELECT g, count(*) FROM generate_series(1, 100000) g GROUP BY g ORDER BY g DESC";
    assert_eq!(world.answer(sql)[0].get(..11), Some("ERROR 53200"));
}

/// Nor may one expression. The executor makes long series row by row, so they are bounded here only.
#[test]
fn lists_and_texts_are_bounded() {
    let world = World::with_engine(Engine::DataFusion);
    for sql in [
        "SELECT repeat('x', 2000000)",
        "SELECT repeat(name, 100000) FROM item, generate_series(1, 1000)",
        "SELECT generate_series(1, 1000000000000)",
        "SELECT generate_series(timestamp '2000-01-01', timestamp '2024-01-01', interval '1 microsecond')",
        "SELECT lpad('x', 1000000000)",
    ] {
        let answer = world.answer(sql);
        assert_eq!(answer[0].get(..11), Some("ERROR 54000"), "{sql}: {:?}", answer[0]);
    }
}

/// What is not offered is refused by name, not done differently.
#[test]
fn unsupported_features_are_refused() {
    let world = World::new();
    for sql in [
        "SELECT * FROM item FOR UPDATE",
        "SELECT * FROM item TABLESAMPLE SYSTEM (10)",
        "SELECT name COLLATE \"de_DE\" FROM item",
        "SELECT row_number() OVER () INTO copy FROM item",
    ] {
        let answer = world.answer(sql);
        assert_eq!(answer[0].get(..11), Some("ERROR 0A000"), "{sql}: {answer:?}");
    }
}

/// EXPLAIN shows the tables and how they are read.
#[test]
fn plans_are_shown() {
    for (engine, wanted) in [
        (Engine::Both, ["Hash Join (Inner)", "Scan on item"]),
        (Engine::DataFusion, ["HashJoin", "Scan: item, columns=[id]"]),
    ] {
        let world = World::with_engine(engine);
        let planned = world.plan("SELECT count(*) FROM item JOIN sale ON id = item_id", &[]).expect("a plan");
        let shown = world.explain(&planned).expect("a plan");
        assert!(wanted.iter().all(|wanted| shown.contains(wanted)), "{shown}");
    }
}

/// Lists of lists have no type of their own in a result: a client would be told another than PostgreSQL's. As texts they are shown.
#[test]
fn lists_of_lists_are_shown_as_texts_only() {
    let world = World::new();
    let lists = ["ARRAY[ARRAY[1, 2], ARRAY[3, NULL]]", "ARRAY[ARRAY['a b'], ARRAY['c']]"];
    let [numbers, words] = lists;
    assert_eq!(world.answer(&format!("SELECT {numbers} AS numbers"))[0].get(..11), Some("ERROR 0A000"));
    let shown = world.answer(&format!("SELECT {numbers}::text AS numbers, {words}::text AS words"));
    assert_eq!(shown, ["numbers|words", "text|text", "{{1,2},{3,NULL}}|{{\"a b\"},{c}}"]);
}

/// A driver that fetches many rows at once sends an array: a scan of the whole table for each would be slow beyond use.
#[test]
fn rows_of_an_array_are_found_by_key_and_index() {
    let world = World::new();
    let joined = "SELECT s.day FROM sale s JOIN item i ON i.id = s.item_id AND i.price > 0 WHERE s.item_id = ANY($1)";
    let integers =
        Value::array(Type::Integer, [3, 1, 3, 99].map(Value::Integer).into_iter().chain([Value::Null]).collect());
    let texts = Value::array(Type::Text, vec![Value::text("bolt"), Value::text("absent")]);
    let empty = Value::array(Type::Integer, vec![]);
    let cases = [
        ("SELECT id FROM item WHERE id = ANY($1)", &integers, 3, 2),
        ("SELECT id FROM item WHERE id = ANY($1::bigint[])", &integers, 3, 2),
        ("SELECT id FROM item WHERE id = ANY($1)", &empty, 0, 0),
        ("SELECT id FROM item WHERE id = ANY($1)", &Value::Null, 0, 0),
        ("SELECT id FROM item WHERE name = ANY($1)", &texts, 2, 1),
        ("SELECT day FROM sale WHERE day > '2000-01-01' AND item_id = ANY($1)", &integers, 3, 3),
        (joined, &integers, 3, 3),
    ];
    for (sql, array, ranges, found) in cases {
        let planned = world.plan(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
        world.memory.requests.lock().expect("no panic").clear();
        let rows = world.run(&planned, std::slice::from_ref(array)).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(rows.len(), found, "{sql}");
        let requests = world.memory.requests.lock().expect("no panic");
        let is_asked = requests.iter().any(|request| request.ranges.len() == ranges);
        assert!(is_asked || (ranges == 0 && requests.is_empty()), "{sql} is not read by {ranges} ranges: {requests:?}");
    }
}

/// The elements of two arrays as rows are how many rows are inserted at once.
#[test]
fn parameters_are_unnested_side_by_side() {
    let world = World::new();
    let sql = "SELECT * FROM unnest($1::int[], $2::text[]) AS t(id, word)";
    let planned = world.plan(sql, &[]).expect("a plan");
    assert_eq!(planned.parameters(), [Type::Integer.array(), Type::Text.array()]);
    let ids = Value::array(Type::Integer, vec![Value::Integer(7), Value::Null]);
    let words = Value::array(Type::Text, vec![Value::text("a")]);
    let rows = world.run(&planned, &[ids, words]).expect("rows");
    assert_eq!(rows, [[Value::Integer(7), Value::text("a")], [Value::Null, Value::Null]]);
}

/// A session would be told another's name, or settings that are not its own.
#[test]
fn sessions_are_told_of_themselves() {
    let world = World::new();
    let sql = "SELECT current_user, session_user, current_database(), current_schema(), current_setting('Application_Name'), \
               (SELECT setting FROM pg_settings WHERE name = 'application_name'), version(), id FROM item WHERE id = 8";
    let ask = |session: SessionFacts| {
        let planned =
            world.processor.plan(&world.memory.catalog, &Arc::new(session), &Arc::from(sql), &[]).expect("a plan");
        let row = world.run(&planned, &[]).expect("rows").remove(0);
        row.iter().map(|value| values::text::to_string(value).expect("a text")).collect::<Vec<_>>().join("|")
    };
    for name in ["alice", "bob", "alice"] {
        let settings = [("application_name".to_owned(), format!("of {name}"))].into();
        let version = format!("for {name}");
        let session = SessionFacts {
            user: name.to_owned(),
            role: messages::role::BOOTSTRAP_OID,
            session_user: name.to_owned(),
            database: format!("{name}'s"),
            version,
            zone: values::Zone::UTC,
            constants_zone: values::Zone::UTC,
            time_micros: 0,
            settings,
            ..SessionFacts::default()
        };
        let expected = format!("{name}|{name}|{name}'s|public|of {name}|of {name}|for {name}|8");
        assert_eq!(ask(session), expected);
    }
}
