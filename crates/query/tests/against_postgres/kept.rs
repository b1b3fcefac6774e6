//! Statements that run again: with other values, after other definitions, several at a time.

use crate::cases;
use crate::memory::{Memory, World};
use futures::StreamExt;
use messages::schema::CatalogEntry;
use messages::{Key, KeyRange, Timestamp};
use query::sqlparser::ast::{BinaryOperator, Expr, Value as Literal, VisitMut, VisitorMut};
use query::sqlparser::dialect::PostgreSqlDialect;
use query::sqlparser::parser::Parser;
use query::{Execution, QueryError, ScanRequest, Tables};
use std::ops::ControlFlow;
use std::sync::Arc;
use values::{Type, Value};

/// What the execution with these values asked for.
fn asked(world: &World, sql: &str, parameters: &[Value]) -> Vec<ScanRequest> {
    let requests = || world.memory.requests.lock().expect("no test panics while it holds this");
    requests().clear();
    let planned = world.plan(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    world.run(&planned, parameters).unwrap_or_else(|error| panic!("{sql}: {error}"));
    requests().clone()
}

fn key(values: &[Value]) -> Key {
    let mut bytes = vec![];
    values::key::encode_key(values, &mut bytes);
    Key::new(&bytes)
}

/// Puts parameters in the place of integers that something is compared with; the same one for the same number.
#[derive(Default)]
struct Parameterize {
    values: Vec<i32>,
}

impl VisitorMut for Parameterize {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
        let Expr::BinaryOp { op: Eq | Gt | GtEq | Lt | LtEq | NotEq, left, right } = expression else {
            return ControlFlow::Continue(());
        };
        let (Expr::Value(literal), false) = (&mut **right, matches!(**left, Expr::Value(_))) else {
            return ControlFlow::Continue(());
        };
        let Literal::Number(text, _) = &literal.value else { return ControlFlow::Continue(()) };
        let Ok(number) = text.parse::<i32>() else { return ControlFlow::Continue(()) };
        let place = self.values.iter().position(|known| *known == number).unwrap_or_else(|| {
            self.values.push(number);
            self.values.len() - 1
        });
        literal.value = Literal::Placeholder(format!("${}", place + 1));
        ControlFlow::Continue(())
    }
}

/// And numbers in the place of parameters.
struct PutIn<'a>(&'a [i32]);

impl VisitorMut for PutIn<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::Value(literal) = expression
            && let Literal::Placeholder(name) = &literal.value
        {
            let place: usize = name[1..].parse().expect("a number");
            literal.value = Literal::Number(self.0[place - 1].to_string(), false);
        }
        ControlFlow::Continue(())
    }
}

/// A plan that was made for other values would answer what was asked then.
#[test]
fn plans_serve_other_values() {
    let world = World::new();
    let mut checked = 0;
    for case in cases::all_cases() {
        let Ok(mut statements) = Parser::parse_sql(&PostgreSqlDialect {}, &case.sql) else { continue };
        let mut literals = Parameterize::default();
        let _ = VisitMut::visit(&mut statements, &mut literals);
        if literals.values.is_empty() || case.expected[0].starts_with("ERROR") {
            continue;
        }
        let sql = statements[0].to_string();
        let types = vec![Some(Type::Integer); literals.values.len()];
        for change in [1, 0, -1, 0] {
            let values: Vec<i32> = literals.values.iter().map(|value| value + change).collect();
            let mut plain = statements.clone();
            let _ = VisitMut::visit(&mut plain, &mut PutIn(&values));
            let expected = world.answer(&plain[0].to_string());
            let parameters: Vec<Value> = values.iter().map(|value| Value::Integer(*value)).collect();
            assert_eq!(world.answer_with(&sql, &types, &parameters), expected, "{sql} with {values:?}");
        }
        checked += 1;
    }
    assert!(checked > 30, "only {checked} queries compare something with an integer");
}

/// A scan must be narrowed by the values of each execution, not by those of the first or of none.
#[test]
fn each_execution_is_narrowed_by_its_own_values() {
    let world = World::new();
    let catalog = world.memory.catalog.clone();
    let item = catalog.tables["item"].table.clone();
    let by_key = "SELECT name FROM item WHERE id = $1 + 1";
    let by_either = "SELECT name FROM item WHERE $1 IS NULL OR id = $1::int";
    let by_index = "SELECT id FROM item WHERE name = $1";
    for id in [3, 5] {
        let point = |id| [KeyRange::point(item.storage, key(&[Value::Integer(id)]))];
        assert_eq!(asked(&world, by_key, &[Value::Integer(id)])[0].ranges, point(id + 1));
        assert_eq!(asked(&world, by_either, &[Value::Integer(id)])[0].ranges, point(id));
    }
    assert_eq!(asked(&world, by_either, &[Value::Null])[0].ranges, [KeyRange::whole(item.storage)]);
    assert!(asked(&world, by_key, &[Value::Null]).iter().all(|request| request.ranges.is_empty()));
    for price in ["15", "0.25"] {
        let price = [values::text::parse(price, Type::Numeric(None)).expect("a price")];
        let found = asked(&world, "SELECT id FROM item WHERE price = $1 OR price = $1 + 1", &price);
        assert_eq!((found[0].index, found[0].ranges.len(), found[0].ranges[0].low.clone()), (Some(1), 2, key(&price)));
    }
    let bigints = Value::array(Type::BigInt, [4, 2, 1 << 40].map(Value::BigInt).to_vec());
    let found = asked(&world, "SELECT name FROM item WHERE id = ANY($1::bigint[])", &[bigints]);
    assert_eq!(found[0].ranges, [2, 4].map(|id| KeyRange::point(item.storage, key(&[Value::Integer(id)]))));
    for name in ["bolt", "anvil"] {
        let found = asked(&world, by_index, &[Value::text(name)]);
        assert_eq!((found[0].index, found[0].ranges[0].low.clone()), (Some(0), key(&[Value::text(name)])));
    }
}

/// Statements that differ in constants must not get each other's rows.
#[test]
fn statements_that_differ_in_constants_have_their_own_rows() {
    let world = World::new();
    let answers = |sql: &str| world.answer(sql)[2..].to_vec();
    let all = answers("SELECT count(*) FROM sale").remove(0);
    for (first, second, rows) in [
        ("SELECT name FROM item WHERE id = 1", "SELECT name FROM item WHERE id = 2", ["anvil", "bolt"]),
        ("SELECT count(*) FROM item WHERE id > -1", "SELECT count(*) FROM item WHERE id > 6", ["8", "2"]),
        ("SELECT max(id) FROM item WHERE name = 'bolt'", "SELECT max(id) FROM item WHERE name = 'anvil'", ["2", "1"]),
        ("SELECT 3 FROM item WHERE id BETWEEN 1 AND 1", "SELECT 3 FROM item WHERE id BETWEEN 7 AND 7", ["3", "3"]),
        (
            "SELECT id > 3 AS large FROM item GROUP BY id > 3 HAVING count(*) > 3",
            "SELECT id > 1 AS large FROM item GROUP BY id > 1 HAVING count(*) > 1",
            ["t", "t"],
        ),
        (
            "SELECT count(*) FROM sale WHERE day >= '2024-01-01'::date",
            "SELECT count(*) FROM sale WHERE day >= '2999-01-01'::date",
            [all.as_str(), "0"],
        ),
    ] {
        for _ in 0..2 {
            assert_eq!([answers(first), answers(second)].concat(), rows, "{first}");
        }
    }
    let point = |id| [KeyRange::point(world.memory.catalog.tables["item"].table.storage, key(&[Value::Integer(id)]))];
    for id in [4, 6] {
        assert_eq!(asked(&world, &format!("SELECT name FROM item WHERE id = {id}"), &[])[0].ranges, point(id));
    }
    // With parameters of the client's beside them.
    let sql = "SELECT name FROM item WHERE id = $1 AND id < 5";
    let planned = world.plan(sql, &[]).expect("a plan");
    assert_eq!(planned.parameters(), [Type::Integer]);
    assert_eq!(world.run(&planned, &[Value::Integer(2)]).expect("rows").len(), 1);
    assert_eq!(world.run(&planned, &[Value::Integer(6)]).expect("rows").len(), 0);
    // What the constants' types are counts.
    for (wrong, sqlstate) in [("id = 'x'", "22P02"), ("id = 'x'::date", "42883"), ("made = 'never'", "22007")] {
        let answer = world.answer(&format!("SELECT name FROM item WHERE {wrong}"));
        assert_eq!(answer[0].get(..11), Some(format!("ERROR {sqlstate}").as_str()), "{wrong}: {answer:?}");
    }
}

/// The forms of statements whose plans remember something of a run: `?` is what changes, `#` what is found with it, by PostgreSQL 15.
const FORMS: [(&str, &[(&str, &str)]); 8] = [
    (
        "SELECT i.name, s.amount FROM item i JOIN sale s ON i.id = s.item_id WHERE s.amount = ? ORDER BY i.name",
        &[("3", "anvil|3"), ("5", "anvil|5"), ("1000", "bolt|1000"), ("4", ""), ("1", "door|1")],
    ),
    (
        "SELECT i.name FROM item i WHERE EXISTS (SELECT 1 FROM sale s WHERE s.item_id = i.id AND s.amount < ?) ORDER BY i.name DESC",
        &[("4", "door anvil"), ("2000", "door bolt anvil"), ("2", "door")],
    ),
    (
        "SELECT name FROM item WHERE id IN (SELECT item_id FROM sale WHERE amount > ?) ORDER BY name",
        &[("900", "bolt crate"), ("4", "anvil bolt crate"), ("5000", "crate")],
    ),
    (
        "SELECT name FROM item WHERE id NOT IN (SELECT item_id FROM sale WHERE amount > ?) AND price > 0 ORDER BY name",
        &[("0", "feather glass"), ("2000", "anvil door feather glass"), ("4", "door feather glass")],
    ),
    (
        "SELECT s.day FROM item i JOIN sale s ON s.item_id = i.id WHERE i.id > ? ORDER BY s.day DESC LIMIT 2",
        &[("3", "2024-03-01 2024-02-29"), ("1", "2024-03-01 2024-02-29"), ("4", ""), ("0", "2024-03-01 2024-02-29")],
    ),
    (
        "SELECT i.name, count(s.day) FROM item i LEFT JOIN sale s ON s.item_id = i.id AND s.amount > ? GROUP BY i.name ORDER BY 2 DESC, 1 LIMIT 3",
        &[("3", "bolt|2 anvil|1 crate|1"), ("2000", "bolt|1 crate|1 50%_off|0"), ("0", "anvil|2 bolt|2 crate|1")],
    ),
    (
        "SELECT name, (SELECT max(amount) FROM sale s WHERE s.item_id = i.id AND s.amount < ?) FROM item i WHERE id < 3 ORDER BY 2",
        &[("5", "anvil|3 bolt|NULL"), ("1001", "anvil|5 bolt|1000"), ("6", "anvil|5 bolt|NULL")],
    ),
    (
        "SELECT a.id FROM (SELECT id, name FROM item ORDER BY name LIMIT ?) a JOIN item b ON b.id = a.id ORDER BY a.name",
        &[("1", "8"), ("3", "8 5 1"), ("2", "8 5")],
    ),
];

/// A statement that runs again with another parameter, or comes again with another constant, would have the rows of a run before, or none.
#[test]
fn what_runs_again_has_its_own_rows() {
    let world = World::new();
    for (form, runs) in FORMS {
        let with_parameter = form.replace('?', "$1");
        let planned = world.plan(&with_parameter, &[]).unwrap_or_else(|error| panic!("{with_parameter}: {error}"));
        let parameter = planned.parameters()[0];
        for (value, rows) in [runs, runs].concat() {
            let expected: Vec<&str> = rows.split(' ').filter(|row| !row.is_empty()).collect();
            let with_constant = form.replace('?', value);
            assert_eq!(world.answer(&with_constant)[2..], expected, "{with_constant}");
            let given = values::text::parse(value, parameter).expect("a number");
            assert_eq!(world.answer_with(&with_parameter, &[], &[given])[2..], expected, "{with_parameter} of {value}");
        }
    }
}

/// A join must tell what it looks for each time, or the other table would be read from end to end.
#[test]
fn joins_look_for_their_rows_each_time() {
    let world = World::new();
    let sql = "SELECT b.name FROM item a JOIN item b ON b.name = a.name WHERE a.id = $1";
    for (id, name) in [(2, "bolt"), (1, "anvil"), (2, "bolt")] {
        let found = asked(&world, sql, &[Value::Integer(id)]);
        assert_eq!((found[1].index, found[1].ranges[0].low.clone()), (Some(0), key(&[Value::text(name)])), "of {id}");
    }
}

/// LIMIT and OFFSET are known to a plan.
#[test]
fn limits_are_those_of_the_execution() {
    let world = World::new();
    let sql = "SELECT id FROM item ORDER BY id LIMIT $1 OFFSET $2";
    let planned = world.plan(sql, &[]).expect("a plan");
    for _ in 0..2 {
        for (limit, offset, ids) in [(2, 0, vec![1, 2]), (1, 3, vec![4]), (0, 0, vec![])] {
            let rows = world.run(&planned, &[Value::BigInt(limit), Value::BigInt(offset)]).expect("rows");
            let found: Vec<i64> = rows.iter().filter_map(|row| row[0].as_integer()).collect();
            assert_eq!(found, ids);
        }
    }
    assert_eq!(asked(&world, sql, &[Value::BigInt(3), Value::BigInt(1)])[0].limit, Some(4));
}

/// What a sort may leave out because a value is a single one must hold for all values.
#[test]
fn orders_hold_for_all_values() {
    let world = World::new();
    let sql = "SELECT item_id, day FROM sale WHERE item_id BETWEEN $1 AND $2 ORDER BY day, item_id";
    let planned = world.plan(sql, &[]).expect("a plan");
    let run = |low, high| world.run(&planned, &[Value::Integer(low), Value::Integer(high)]).expect("rows");
    run(1, 1);
    let days: Vec<String> = run(1, 9).iter().map(|row| format!("{:?} {:?}", row[1], row[0])).collect();
    assert!(days.len() > 2 && days.is_sorted(), "{days:?}");
    let sql = "SELECT id FROM item WHERE name IN ($1, $2) ORDER BY id DESC";
    let planned = world.plan(sql, &[]).expect("a plan");
    let run = |one: &str, other: &str| {
        let rows = world.run(&planned, &[Value::text(one), Value::text(other)]).expect("rows");
        rows.iter().filter_map(|row| row[0].as_integer()).collect::<Vec<_>>()
    };
    assert_eq!((run("anvil", "anvil"), run("anvil", "bolt")), (vec![1], vec![2, 1]));
}

/// A plan lives as long as the definitions of its tables, and what shows the catalog is planned each time.
#[test]
fn plans_go_with_their_tables() {
    let mut world = World::new();
    let sql = "SELECT * FROM item WHERE id = 4";
    let before = world.plan(sql, &[]).expect("a plan");
    assert!(before.shares_plan(&world.plan(sql, &[]).expect("a plan")));
    for shows in
        ["SELECT 'item'::regclass::oid", "SELECT count(*) FROM pg_class", "SELECT to_regclass('item')::text, random()"]
    {
        let planned = world.plan(shows, &[]).unwrap_or_else(|error| panic!("{shows}: {error}"));
        assert!(!planned.shares_plan(&world.plan(shows, &[]).expect("a plan")), "{shows}");
    }
    let mut memory = Memory::new();
    let catalog = Arc::make_mut(&mut memory.catalog);
    let changed = catalog.tables.get_mut("item").expect("the table");
    changed.version = Timestamp { clock: 9, ..Timestamp::ZERO };
    Arc::make_mut(&mut changed.table).columns[1].dropped = true;
    world.memory = Arc::new(memory);
    let after = world.plan(sql, &[]).expect("a plan");
    assert_eq!(after.columns.len() + 1, before.columns.len());
    assert_eq!(*after.relies_on, [(CatalogEntry::key("item"), Timestamp { clock: 9, ..Timestamp::ZERO })]);
    // A transaction that has changed a table itself keeps nothing of it.
    let mut memory = Memory::new();
    Arc::make_mut(&mut memory.catalog).tables.get_mut("item").expect("the table").version = Timestamp::ZERO;
    world.memory = Arc::new(memory);
    let own = world.plan(sql, &[]).expect("a plan");
    assert!(!own.shares_plan(&world.plan(sql, &[]).expect("a plan")));
}

/// Two executions of one statement at the same time must not share what an operator remembers, nor values.
#[test]
fn executions_do_not_meet() {
    let world = World::new();
    let sql = "SELECT a.id, b.id FROM item a JOIN item b ON b.id = a.id WHERE a.id >= $1 ORDER BY 1";
    let planned = world.plan(sql, &[]).expect("a plan");
    let begin = |id| {
        let execution = Execution { parameters: vec![Value::Integer(id)], ..Execution::default() };
        let tables = world.memory.clone() as Arc<dyn Tables>;
        let (processor, planned) = (&world.processor, &planned);
        async move { processor.execute(planned, &execution, tables).await.expect("rows") }
    };
    let first =
        |rows: Option<Result<Vec<Vec<Value>>, QueryError>>| rows.expect("a batch").expect("rows")[0][0].as_integer();
    world.runtime.block_on(async {
        for _ in 0..3 {
            let (mut one, mut other) = (begin(2).await, begin(6).await);
            assert_eq!((first(other.next().await), first(one.next().await)), (Some(6), Some(2)));
        }
    });
}
