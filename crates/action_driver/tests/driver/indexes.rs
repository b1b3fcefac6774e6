//! Indexes of some rows, and over what is computed of rows.
//!
//! Invariant: an index has the entries that its table's rows mean, no other ones, whatever statements have done.

use crate::world::{World, column_of, parameter, program};
use messages::TableId;
use messages::planted::Planted;
use messages::program::{
    AccessPath, Action, BinaryOperator, ConflictClause, ConflictKey, Expression, InsertInput, PrefixBounds, Program,
    RowSource,
};
use messages::schema::{Column, IndexKey, IndexKeyPart, IndexSchema, RowExpression, TableSchema};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use values::{Type, Value};

const JOBS: TableId = TableId(40);
/// Unique: of lower(name) where open.
const OPEN_NAMES: TableId = TableId(41);
/// Of size * 2, then id, of all rows.
const SIZES: TableId = TableId(42);

fn lower() -> Expression {
    Expression::Call(Arc::from("lower"), vec![column_of(1)])
}

fn doubled() -> Expression {
    let two = Expression::Constant(Value::Integer(2));
    Expression::Binary(BinaryOperator::Multiply, Box::new(column_of(3)), Box::new(two))
}

/// jobs (id integer primary key, name text, open boolean, size integer).
fn jobs() -> Arc<TableSchema> {
    let columns = [("id", Type::Integer), ("name", Type::Text), ("open", Type::Boolean), ("size", Type::Integer)];
    let columns = columns.map(|(name, own)| Column::new(name, own, name == "id")).to_vec();
    let computed = |expression, own| IndexKeyPart::Expression(Arc::new(RowExpression::new(expression, own)));
    let open = IndexSchema {
        keys: vec![IndexKey::of(computed(lower(), Type::Text))],
        predicate: Some(Arc::new(RowExpression::new(column_of(2), Type::Boolean))),
        ..IndexSchema::new("jobs_lower_idx", 202, OPEN_NAMES, &[], true)
    };
    let sizes = IndexSchema {
        keys: vec![IndexKey::of(computed(doubled(), Type::Integer)), IndexKey::column(0)],
        ..IndexSchema::new("jobs_expr_id_idx", 203, SIZES, &[], false)
    };
    Arc::new(TableSchema {
        oid: 200,
        primary_key: vec![0],
        primary_key_name: Some("jobs_pkey".into()),
        indexes: vec![open, sizes],
        ..TableSchema::new("jobs", JOBS, columns)
    })
}

/// INSERT INTO jobs VALUES ($1, $2, $3, $4) [ON CONFLICT (lower(name)) WHERE open DO UPDATE SET size = excluded.size]
fn insert(upserts: bool) -> Arc<Program> {
    let update = Some((vec![(3, column_of(7))], None));
    program(vec![Action::Insert {
        table: jobs(),
        values: (0..4).map(column_of).collect(),
        input: InsertInput::Rows(vec![(0..4).map(parameter).collect()]),
        on_conflict: upserts.then(|| ConflictClause { targets: vec![ConflictKey::Index(0)], update, guard: None }),
        returning: Vec::new(),
        private: false,
        guard: None,
    }])
}

fn source(path: AccessPath) -> RowSource {
    RowSource { table: jobs(), path, reverse: false }
}

/// UPDATE jobs SET column = $2 WHERE id = $1
fn set(column: usize) -> Arc<Program> {
    program(vec![Action::Update {
        source: source(AccessPath::Point(vec![parameter(0)])),
        filter: None,
        assignments: vec![(column, parameter(1))],
        returning: Vec::new(),
        guard: None,
    }])
}

/// DELETE FROM jobs WHERE id = $1
fn delete() -> Arc<Program> {
    let path = AccessPath::Point(vec![parameter(0)]);
    program(vec![Action::Delete { source: source(path), filter: None, returning: Vec::new(), guard: None }])
}

/// SELECT id FROM jobs, by a key of an index that equals $1
fn by_index(index: usize) -> Arc<Program> {
    let bounds = PrefixBounds { prefix: vec![parameter(0)], ..PrefixBounds::default() };
    program(vec![Action::Select {
        source: Some(source(AccessPath::IndexRange(index, bounds))),
        filter: None,
        output: vec![column_of(0)],
        offset: None,
        limit: None,
        lock: None,
        order: Vec::new(),
    }])
}

fn job(id: i32, name: &str, open: bool, size: i32) -> [Value; 4] {
    [id.into(), name.into(), Value::Boolean(open), size.into()]
}

fn found(world: &mut World, index: usize, key: Value) -> Vec<i64> {
    world.run(&by_index(index), &[key]).0.iter().filter_map(|row| row[0].as_integer()).collect()
}

/// Two open jobs of one name would be there, or a closed one would be in the way of an open one.
#[test]
fn a_partial_key_is_unique_among_its_rows() {
    let mut world = World::new();
    for (id, open) in [(1, false), (2, false), (3, true)] {
        world.run(&insert(false), &job(id, "Paint", open, 1));
    }
    let (sqlstate, message) = world.fail(&insert(false), &job(4, "PAINT", true, 1));
    assert_eq!((sqlstate.as_str(), message.contains("\"jobs_lower_idx\"")), ("23505", true), "{message}");
    assert_eq!(world.fail(&set(2), &[1.into(), Value::Boolean(true)]).0, "23505", "one that is opened");
    world.run(&set(2), &[3.into(), Value::Boolean(false)]);
    assert_eq!(world.count(OPEN_NAMES), 0, "an entry of a row that has left");
    world.run(&set(2), &[1.into(), Value::Boolean(true)]);
    assert_eq!(found(&mut world, 0, "paint".into()), [1]);
    // A closed job meets no conflict, an open one is updated.
    assert_eq!(world.run(&insert(true), &job(5, "paint", false, 7)).1, 1);
    assert_eq!(world.run(&insert(true), &job(6, "pAint", true, 9)).1, 1);
    assert_eq!(world.count(JOBS), 4);
    assert_eq!(found(&mut world, 1, 18.into()), [1]);
    world.run(&delete(), &[1.into()]);
    assert_eq!((world.count(OPEN_NAMES), world.count(SIZES)), (0, 3));
}

/// A row would be stored whose index entry cannot be computed.
#[test]
fn a_row_that_an_index_cannot_take_is_refused() {
    let mut world = World::new();
    assert_eq!(world.fail(&insert(false), &job(1, "x", true, i32::MAX)).0, "22003");
    assert_eq!((world.count(JOBS), world.count(OPEN_NAMES)), (0, 0));
}

/// Adding to a column without reading its row would leave the entries that are computed of it.
#[test]
fn nothing_is_added_unread_to_what_an_entry_is_computed_of() {
    let mut world = World::planted(Planted::default());
    world.run(&insert(false), &job(1, "x", true, 5));
    let sum = Expression::Binary(BinaryOperator::Add, Box::new(column_of(3)), Box::new(parameter(1)));
    let add = program(vec![Action::Update {
        source: source(AccessPath::Point(vec![parameter(0)])),
        filter: None,
        assignments: vec![(3, sum)],
        returning: Vec::new(),
        guard: None,
    }]);
    for _ in 0..3 {
        world.run(&add, &[1.into(), 1.into()]);
    }
    assert_eq!((found(&mut world, 1, 16.into()), found(&mut world, 1, 10.into())), (vec![1], Vec::new()));
}

#[derive(Clone, Debug)]
enum Step {
    Insert(i32, u8, bool, i32),
    Upsert(i32, u8, bool, i32),
    Name(i32, u8),
    Open(i32, bool),
    Size(i32, i32),
    Id(i32, i32),
    Delete(i32),
}

fn step() -> impl Strategy<Value = Step> {
    let row = || (0..5, 0..4_u8, any::<bool>(), 0..5);
    prop_oneof![
        row().prop_map(|(id, name, open, size)| Step::Insert(id, name, open, size)),
        row().prop_map(|(id, name, open, size)| Step::Upsert(id, name, open, size)),
        (0..5, 0..4_u8).prop_map(|(id, name)| Step::Name(id, name)),
        (0..5, any::<bool>()).prop_map(|(id, open)| Step::Open(id, open)),
        (0..5, 0..5).prop_map(|(id, size)| Step::Size(id, size)),
        (0..5, 0..5).prop_map(|(id, to)| Step::Id(id, to)),
        (0..5).prop_map(Step::Delete),
    ]
}

/// Names of two keys, each written two ways.
fn name(number: u8) -> Value {
    ["a", "A", "b", "B"][usize::from(number)].into()
}

proptest! {
    /// Scans by an index would miss rows or find others, and keys would be taken by rows that have gone.
    #[test]
    fn entries_are_those_of_the_rows(steps in proptest::collection::vec(step(), 1..40)) {
        let mut world = World::new();
        for step in steps {
            let (program, parameters) = match step {
                Step::Insert(id, text, open, size) | Step::Upsert(id, text, open, size) => {
                    let row = vec![id.into(), name(text), Value::Boolean(open), size.into()];
                    (insert(matches!(step, Step::Upsert(..))), row)
                }
                Step::Name(id, text) => (set(1), vec![id.into(), name(text)]),
                Step::Open(id, open) => (set(2), vec![id.into(), Value::Boolean(open)]),
                Step::Size(id, size) => (set(3), vec![id.into(), size.into()]),
                Step::Id(id, to) => (set(0), vec![id.into(), to.into()]),
                Step::Delete(id) => (delete(), vec![id.into()]),
            };
            // Duplicates are refused.
            let _ = world.execute(&program, &parameters);
            let rows = world.rows(&jobs());
            let mut open: BTreeMap<String, Vec<i64>> = BTreeMap::new();
            for row in &rows {
                if row[2].as_boolean() == Some(true) {
                    let key = row[1].as_text().unwrap_or_default().to_lowercase();
                    open.entry(key).or_default().extend(row[0].as_integer());
                }
            }
            prop_assert_eq!((world.count(OPEN_NAMES), world.count(SIZES)), (open.len(), rows.len()));
            for (key, ids) in open {
                prop_assert_eq!(found(&mut world, 0, key.as_str().into()), ids);
            }
            for size in 0..5 {
                let of_size = rows.iter().filter(|row| row[3].as_integer() == Some(size));
                let ids: Vec<i64> = of_size.filter_map(|row| row[0].as_integer()).collect();
                prop_assert_eq!(found(&mut world, 1, Value::Integer(2 * size as i32)), ids);
            }
        }
    }
}
