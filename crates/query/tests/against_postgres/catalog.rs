//! Scans ask for no more than the filters need, and the catalog rows behind a plan are told.

use crate::memory::{Memory, World};
use messages::{Key, KeyRange};
use query::ScanRequest;
use values::{Type, Value};

fn scans(world: &World, sql: &str, parameters: &[Value]) -> Vec<ScanRequest> {
    world.memory.requests.lock().expect("no test panics while it holds this").clear();
    let planned = world.plan(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    world.run(&planned, parameters).unwrap_or_else(|error| panic!("{sql}: {error}"));
    world.memory.requests.lock().expect("no test panics while it holds this").clone()
}

fn key(values: &[Value]) -> Key {
    let mut bytes = Vec::new();
    values::key::encode_key(values, &mut bytes);
    Key::new(&bytes)
}

fn end(values: &[Value]) -> Option<Key> {
    values::key::prefix_end(key(values).as_bytes()).map(|bytes| Key::new(&bytes))
}

/// A filter on the key that read the whole table would make every join by key as slow as the table is long.
#[test]
fn key_filters_become_ranges() {
    let world = World::new();
    let ranges =
        |sql: &str| -> Vec<KeyRange> { scans(&world, sql, &[]).into_iter().map(|request| request.range).collect() };
    let storage = world.memory.catalog.tables["item"].table.storage;
    let range = |low: Key, high: Option<Key>| KeyRange { table: storage, low, high };
    let id = |number: i32| [Value::Integer(number)];

    assert_eq!(ranges("SELECT name FROM item WHERE id = 3"), [range(key(&id(3)), end(&id(3)))]);
    assert_eq!(
        ranges("SELECT name FROM item WHERE id IN (5, 2)"),
        [range(key(&id(2)), end(&id(2))), range(key(&id(5)), end(&id(5)))]
    );
    assert_eq!(ranges("SELECT name FROM item WHERE id BETWEEN 2 AND 4"), [range(key(&id(2)), end(&id(4)))]);
    assert_eq!(
        ranges("SELECT name FROM item WHERE id > 2 AND id < 7"),
        [range(end(&id(2)).unwrap(), Some(key(&id(7))))]
    );
    assert_eq!(ranges("SELECT name FROM item WHERE id = '3'"), [range(key(&id(3)), end(&id(3)))]);
    assert_eq!(ranges("SELECT name FROM item WHERE name = 'bolt'"), [KeyRange::whole(storage)]);
    assert_eq!(ranges("SELECT name FROM item WHERE id = 3 AND id = 4"), [range(key(&id(3)), end(&id(3)))][..0]);
}

/// Further key columns narrow the range further.
#[test]
fn key_prefixes_become_ranges() {
    let world = World::new();
    let found = scans(&world, "SELECT amount FROM sale WHERE item_id = 1 AND day >= '2024-02-01'", &[]);
    let first_of_february = Value::Date(8_797);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].range.low, key(&[Value::Integer(1), first_of_february]));
    assert_eq!(found[0].range.high, end(&[Value::Integer(1)]));
}

/// A LIMIT over a whole table must not read it to its end.
#[test]
fn limits_reach_the_scan() {
    let world = World::new();
    assert_eq!(scans(&world, "SELECT name FROM item LIMIT 2", &[])[0].limit, Some(2));
    assert_eq!(scans(&world, "SELECT name FROM item WHERE weight > 1 LIMIT 2", &[])[0].limit, None);
    // Rows come in the order of the key already.
    let planned = world.plan("SELECT name FROM item ORDER BY id LIMIT 2", &[]).expect("a plan");
    let shown = world.explain(&planned).expect("a plan");
    assert!(!shown.contains("Sort"), "a sort of rows that come sorted:\n{shown}");
}

/// A parameter in place of the literal reads the same range.
#[test]
fn parameters_become_ranges() {
    let world = World::new();
    let found = scans(&world, "SELECT name FROM item WHERE id = $1", &[Value::Integer(3)]);
    assert_eq!(found[0].range.low, key(&[Value::Integer(3)]));
    assert_eq!(found[0].range.high, end(&[Value::Integer(3)]));
}

/// A dropped column keeps its place in the row, and a row may be older than the last columns.
#[test]
fn dropped_and_added_columns() {
    let mut memory = Memory::new();
    let catalog = std::sync::Arc::make_mut(&mut memory.catalog);
    let versioned = catalog.tables.get_mut("item").expect("the table");
    let table = std::sync::Arc::make_mut(&mut versioned.table);
    table.columns[1].dropped = true;
    let mut added = table.columns[6].clone();
    added.name = "added".to_owned();
    table.columns.push(added);
    let mut world = World::new();
    world.memory = std::sync::Arc::new(memory);
    assert_eq!(
        world.answer("SELECT * FROM item WHERE id = 4"),
        [
            "id|price|weight|made|kind|parent|added",
            "integer|numeric(10,2)|double precision|timestamp with time zone|character(4)|integer|integer",
            "4|89.99|22.25|2024-02-29 12:00:00+00|wood|3|NULL"
        ]
    );
    assert_eq!(world.answer("SELECT name FROM item")[0], "ERROR 42703 column \"name\" does not exist");
}

/// A plan that is kept must tell what it relies on, or it would outlive its tables.
#[test]
fn plans_tell_what_they_rely_on() {
    let mut memory = Memory::new();
    let catalog = std::sync::Arc::make_mut(&mut memory.catalog);
    let version = messages::Timestamp { clock: 5, ..messages::Timestamp::ZERO };
    catalog.tables.get_mut("item").expect("the table").version = version;
    let mut world = World::new();
    world.memory = std::sync::Arc::new(memory);
    let planned = world.plan("SELECT count(*) FROM item a, item b, sale", &[]).expect("a plan");
    assert_eq!(planned.relies_on, [(messages::schema::CatalogEntry::key("item"), version)]);
    assert!(!planned.reads_system_catalog);
    assert!(world.plan("SELECT count(*) FROM pg_class", &[]).expect("a plan").reads_system_catalog);
    assert_eq!(planned.parameters, [] as [Type; 0]);
}
