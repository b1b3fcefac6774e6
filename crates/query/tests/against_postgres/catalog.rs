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

/// What was asked of each table, in turn: its name, the index, and the ranges.
fn asked(world: &World, sql: &str) -> Vec<(String, Option<usize>, Vec<KeyRange>)> {
    let told = |request: ScanRequest| (request.table.name.clone(), request.index, request.ranges);
    scans(world, sql, &[]).into_iter().map(told).collect()
}

/// A filter on the key that read the whole table would make every join by key as slow as the table is long.
#[test]
fn key_filters_become_ranges() {
    let world = World::new();
    let ranges =
        |sql: &str| -> Vec<KeyRange> { asked(&world, sql).into_iter().flat_map(|(_, _, ranges)| ranges).collect() };
    let storage = world.memory.catalog.tables["item"].table.storage;
    let range = |low: Key, high: Option<Key>| KeyRange { table: storage, low, high };
    let id = |number: i32| [Value::Integer(number)];
    let point = |number: i32| KeyRange::point(storage, key(&id(number)));

    assert_eq!(ranges("SELECT name FROM item WHERE id = 3"), [point(3)]);
    assert_eq!(ranges("SELECT name FROM item WHERE id IN (5, 2)"), [point(2), point(5)]);
    assert_eq!(ranges("SELECT name FROM item WHERE id BETWEEN 2 AND 4"), [range(key(&id(2)), end(&id(4)))]);
    assert_eq!(
        ranges("SELECT name FROM item WHERE id > 2 AND id < 7"),
        [range(end(&id(2)).unwrap(), Some(key(&id(7))))]
    );
    assert_eq!(ranges("SELECT name FROM item WHERE id = '3'"), [point(3)]);
    assert_eq!(ranges("SELECT name FROM item WHERE weight = 4"), [KeyRange::whole(storage)]);
    assert_eq!(ranges("SELECT name FROM item WHERE id = 3 AND id = 4"), [point(3)][..0]);
    let many: Vec<String> = (0..2_000).map(|number| (2 * number).to_string()).collect();
    let many = ranges(&format!("SELECT name FROM item WHERE id IN ({})", many.join(", ")));
    assert_eq!(many, [range(key(&id(0)), point(3_998).high)], "too many to be named: what lies between them");
}

/// Further key columns narrow the range further.
#[test]
fn key_prefixes_become_ranges() {
    let world = World::new();
    let found = scans(&world, "SELECT amount FROM sale WHERE item_id = 1 AND day >= '2024-02-01'", &[]);
    let first_of_february = Value::Date(8_797);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].ranges[0].low, key(&[Value::Integer(1), first_of_february]));
    assert_eq!(found[0].ranges[0].high, end(&[Value::Integer(1)]));
}

/// An aggregate over a few rows of a large table would read all of them.
#[test]
fn filters_on_indexed_columns_lead_through_the_index() {
    let world = World::new();
    let item = &world.memory.catalog.tables["item"].table;
    let bolt = [Value::text("bolt")];
    let named = KeyRange { table: item.indexes[0].storage, low: key(&bolt), high: end(&bolt) };
    let asked = |sql: &str| asked(&world, sql).remove(0);
    assert_eq!(asked("SELECT count(*) FROM item WHERE name = 'bolt'"), ("item".into(), Some(0), vec![named]));
    // Either names a single row: the table's own key needs no look-up.
    assert_eq!(asked("SELECT max(name) FROM item WHERE price = 89.99 AND id = 4").1, None);
    assert_eq!(asked("SELECT max(name) FROM item WHERE price = 89.99").1, Some(1));
    assert_eq!(asked("SELECT count(*) FROM item WHERE name >= 'c' AND id = 3").1, None, "a value beats a bound");
    assert_eq!(asked("SELECT count(*) FROM item WHERE name >= 'c'").1, Some(0));
    assert_eq!(asked("SELECT count(*) FROM item WHERE name LIKE 'c%'").1, None, "nothing is said of its order");
}

/// A join of a few rows with a large table would read all of that.
#[test]
fn joins_look_for_the_keys_of_the_other_side() {
    let world = World::new();
    let tables = &world.memory.catalog.tables;
    let (item, sale) = (&tables["item"].table, &tables["sale"].table);
    let of_item = |number: i32| {
        let prefix = [Value::Integer(number)];
        KeyRange { table: sale.storage, low: key(&prefix), high: end(&prefix) }
    };
    let found =
        asked(&world, "SELECT s.amount FROM sale s JOIN item i ON i.id = s.item_id WHERE i.name IN ('bolt', 'door')");
    assert_eq!(found[0].1, Some(0), "items by their names: {found:?}");
    assert_eq!(found[1], ("sale".into(), None, vec![of_item(2), of_item(4)]));
    // Whichever stands first, the side with the filter is read first; and the other by an index, if that has the column.
    let found = asked(&world, "SELECT o.label FROM item i JOIN nothing o ON i.name = o.label WHERE o.id = 1");
    assert_eq!((found[0].0.as_str(), found.len()), ("nothing", 1), "no row: nothing is looked for");
    let found = asked(&world, "SELECT b.name FROM item a JOIN item b ON b.name = a.name WHERE a.id = 2");
    let bolt = [Value::text("bolt")];
    let named = KeyRange { table: item.indexes[0].storage, low: key(&bolt), high: end(&bolt) };
    assert_eq!(found[1], ("item".into(), Some(0), vec![named]));
    // A row that has no partner is wanted all the same.
    let found = asked(&world, "SELECT i.id FROM sale s RIGHT JOIN item i ON i.id = s.item_id WHERE s.item_id IS NULL");
    assert!(found.iter().any(|(name, _, ranges)| name == "item" && ranges[..] == [KeyRange::whole(item.storage)]));
}

/// The first rows by an indexed column would cost a sort of the whole table.
#[test]
fn the_first_rows_in_the_order_of_an_index_are_read_by_it() {
    let world = World::new();
    let asked = |sql: &str| {
        let request = scans(&world, sql, &[]).remove(0);
        (request.index, request.reverse, request.limit)
    };
    assert_eq!(asked("SELECT id FROM item ORDER BY name LIMIT 2"), (Some(0), false, Some(2)));
    assert_eq!(asked("SELECT id FROM item ORDER BY name DESC LIMIT 2"), (Some(0), true, Some(2)));
    assert_eq!(asked("SELECT id + 1 FROM item ORDER BY name DESC, id DESC LIMIT 2 OFFSET 1"), (Some(0), true, Some(3)));
    assert_eq!(asked("SELECT id FROM item ORDER BY id DESC LIMIT 2"), (None, true, Some(2)));
    assert_eq!(asked("SELECT id FROM item ORDER BY id DESC"), (None, true, None), "the table's own key costs nothing");
    assert_eq!(asked("SELECT day FROM sale WHERE item_id = 1 ORDER BY day DESC LIMIT 1"), (None, true, Some(1)));
    assert_eq!(asked("SELECT id FROM item ORDER BY name"), (None, false, None), "all rows are better sorted");
    assert_eq!(asked("SELECT id FROM item ORDER BY price DESC NULLS LAST LIMIT 2"), (None, false, None));
    assert_eq!(asked("SELECT id FROM item ORDER BY name, price LIMIT 2"), (None, false, None));
    assert_eq!(asked("SELECT id FROM item WHERE weight > 1 ORDER BY name LIMIT 2"), (None, false, None));
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
    assert_eq!(found[0].ranges, [KeyRange::point(found[0].table.storage, key(&[Value::Integer(3)]))]);
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
    // As a transaction sees a table that it has changed itself.
    catalog.tables.get_mut("sale").expect("the table").version = messages::Timestamp::ZERO;
    let mut world = World::new();
    world.memory = std::sync::Arc::new(memory);
    let planned = world.plan("SELECT count(*) FROM item a, item b, sale", &[]).expect("a plan");
    assert_eq!(*planned.relies_on, [(messages::schema::CatalogEntry::key("item"), version)]);
    assert!(!planned.reads_system_catalog);
    assert!(world.plan("SELECT count(*) FROM pg_class", &[]).expect("a plan").reads_system_catalog);
    assert_eq!(planned.parameters(), [] as [Type; 0]);
}
