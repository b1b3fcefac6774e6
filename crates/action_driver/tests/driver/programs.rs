//! Programs as the compiler makes them of simple statements.
//!
//! Invariant: each is the statement in its comment and nothing more.

use crate::world::{accounts, column_of, notes, parameter, program};
use messages::program::{
    AccessPath, Action, BinaryOperator, ConflictClause, Expression, InsertInput, PrefixBounds, Program, RowSource,
};
use messages::schema::CatalogEntry;
use messages::session::{IndexPath, SessionRequest};
use messages::{KeyRange, TableId, Timestamp};
use std::sync::Arc;
use values::Type;

fn from_accounts(path: AccessPath) -> RowSource {
    RowSource { table: accounts(), path, reverse: false }
}

fn select(source: RowSource, output: Vec<Expression>) -> Action {
    Action::Select {
        source: Some(source),
        filter: None,
        output,
        offset: None,
        limit: None,
        lock: None,
        order: Vec::new(),
    }
}

fn all_columns() -> Vec<Expression> {
    (0..3).map(column_of).collect()
}

/// SELECT * FROM accounts WHERE id = $1
pub fn select_point() -> Arc<Program> {
    program(vec![select(from_accounts(AccessPath::Point(vec![parameter(0)])), all_columns())])
}

/// SELECT * FROM accounts WHERE owner = $1
pub fn select_by_owner() -> Arc<Program> {
    let bounds = PrefixBounds { prefix: vec![parameter(0)], ..PrefixBounds::default() };
    program(vec![select(from_accounts(AccessPath::IndexRange(0, bounds)), all_columns())])
}

/// SELECT id FROM accounts ORDER BY id [DESC]
pub fn select_ids(reverse: bool) -> Arc<Program> {
    let mut source = from_accounts(AccessPath::KeyRange(PrefixBounds::default()));
    source.reverse = reverse;
    program(vec![select(source, vec![column_of(0)])])
}

/// UPDATE accounts SET balance = balance + $2 WHERE id = $1
pub fn add_unread() -> Arc<Program> {
    let sum = Expression::Binary(BinaryOperator::Add, Box::new(column_of(2)), Box::new(parameter(1)));
    program(vec![Action::Update {
        source: from_accounts(AccessPath::Point(vec![parameter(0)])),
        filter: None,
        assignments: vec![(2, sum)],
        returning: Vec::new(),
        guard: None,
    }])
}

/// UPDATE accounts SET balance = balance::int + $2 WHERE id = $1
pub fn add_narrowed() -> Arc<Program> {
    let narrowed = Expression::Cast(Box::new(column_of(2)), Type::Integer, true);
    let sum = Expression::Binary(BinaryOperator::Add, Box::new(narrowed), Box::new(parameter(1)));
    program(vec![Action::Update {
        source: from_accounts(AccessPath::Point(vec![parameter(0)])),
        filter: None,
        assignments: vec![(2, Expression::Cast(Box::new(sum), Type::BigInt, false))],
        returning: Vec::new(),
        guard: None,
    }])
}

/// UPDATE accounts SET balance = balance + $2 WHERE id = $1 RETURNING balance
pub fn add_balance() -> Arc<Program> {
    let sum = Expression::Binary(BinaryOperator::Add, Box::new(column_of(2)), Box::new(parameter(1)));
    program(vec![Action::Update {
        source: from_accounts(AccessPath::Point(vec![parameter(0)])),
        filter: None,
        assignments: vec![(2, sum)],
        returning: vec![column_of(2)],
        guard: None,
    }])
}

/// A procedure that adds $2 to the balance of $1, which it returns, and to that of $3, which it need not read.
pub fn add_to_one_and_unread_to_another() -> Arc<Program> {
    let update = |account: u16, returning| {
        let sum = Expression::Binary(BinaryOperator::Add, Box::new(column_of(2)), Box::new(parameter(1)));
        let source = from_accounts(AccessPath::Point(vec![parameter(account)]));
        Action::Update { source, filter: None, assignments: vec![(2, sum)], returning, guard: None }
    };
    program(vec![update(0, vec![column_of(2)]), update(2, Vec::new())])
}

/// Adds $2 to the balance of this account, and returns it.
pub fn add_to_constant(account: i32) -> Action {
    let sum = Expression::Binary(BinaryOperator::Add, Box::new(column_of(2)), Box::new(parameter(1)));
    let source = from_accounts(AccessPath::Point(vec![Expression::Constant(account.into())]));
    Action::Update { source, filter: None, assignments: vec![(2, sum)], returning: vec![column_of(2)], guard: None }
}

/// A procedure that adds $2 to the balances of $1 and $3, one after the other: the first balance is returned.
pub fn add_to_both() -> Arc<Program> {
    let update = |account: u16, returning| {
        let sum = Expression::Binary(BinaryOperator::Add, Box::new(column_of(2)), Box::new(parameter(1)));
        let source = from_accounts(AccessPath::Point(vec![parameter(account)]));
        Action::Update { source, filter: None, assignments: vec![(2, sum)], returning, guard: None }
    };
    program(vec![update(0, vec![column_of(2)]), update(2, vec![column_of(2)])])
}

/// UPDATE accounts SET owner = $2 WHERE id = $1
pub fn set_owner() -> Arc<Program> {
    program(vec![Action::Update {
        source: from_accounts(AccessPath::Point(vec![parameter(0)])),
        filter: None,
        assignments: vec![(1, parameter(1))],
        returning: Vec::new(),
        guard: None,
    }])
}

/// UPDATE accounts SET id = id + 1
pub fn shift_ids() -> Arc<Program> {
    let one = Box::new(Expression::Constant(1.into()));
    let next = Expression::Binary(BinaryOperator::Add, Box::new(column_of(0)), one);
    program(vec![Action::Update {
        source: from_accounts(AccessPath::KeyRange(PrefixBounds::default())),
        filter: None,
        assignments: vec![(0, next)],
        returning: Vec::new(),
        guard: None,
    }])
}

/// DELETE FROM accounts WHERE id >= $1
pub fn delete_from() -> Arc<Program> {
    let bounds = PrefixBounds { low: Some((parameter(0), true)), ..PrefixBounds::default() };
    program(vec![Action::Delete {
        source: from_accounts(AccessPath::KeyRange(bounds)),
        filter: None,
        returning: Vec::new(),
        guard: None,
    }])
}

fn insertion(on_conflict: Option<ConflictClause>) -> Arc<Program> {
    program(vec![Action::Insert {
        table: accounts(),
        values: all_columns(),
        input: InsertInput::Rows(vec![(0..3).map(parameter).collect()]),
        on_conflict,
        returning: Vec::new(),
        private: false,
        guard: None,
    }])
}

/// INSERT INTO accounts VALUES ($1, $2, $3)
pub fn insert() -> Arc<Program> {
    insertion(None)
}

/// INSERT INTO accounts VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
pub fn insert_or_nothing() -> Arc<Program> {
    insertion(Some(ConflictClause { targets: Vec::new(), update: None, guard: None }))
}

/// INSERT INTO accounts VALUES ($1, $2, $3) ON CONFLICT (any) DO UPDATE SET balance = accounts.balance + excluded.balance
pub fn upsert() -> Arc<Program> {
    let sum = Expression::Binary(BinaryOperator::Add, Box::new(column_of(2)), Box::new(column_of(5)));
    insertion(Some(ConflictClause { targets: Vec::new(), update: Some((vec![(2, sum)], None)), guard: None }))
}

/// INSERT INTO notes: the supplied rows.
pub fn copy_notes(storage: TableId, private: bool) -> Arc<Program> {
    program(vec![Action::Insert {
        table: notes(storage),
        values: vec![column_of(0)],
        input: InsertInput::Supplied,
        on_conflict: None,
        returning: Vec::new(),
        private,
        guard: None,
    }])
}

/// COPY into a table that the same program makes.
pub fn load_notes(storage: TableId) -> Arc<Program> {
    let make = Action::Catalog { writes: Vec::new(), drops: Vec::new(), makes: vec![storage] };
    let copy = copy_notes(storage, true);
    program(std::iter::once(make).chain(copy.actions.iter().cloned()).collect())
}

/// Makes a storage with a number that it takes, where the row of numbers still has this version.
pub fn make_numbered(storage: TableId, made_from: Option<Timestamp>) -> Arc<Program> {
    let next = CatalogEntry::Next(storage.0 + 1).encode();
    let writes = vec![(CatalogEntry::next_key(), made_from, Some(next))];
    program(vec![Action::Catalog { writes, drops: Vec::new(), makes: vec![storage] }])
}

/// A table's storage comes into being.
pub fn make(storage: TableId) -> Arc<Program> {
    program(vec![Action::Catalog { writes: Vec::new(), drops: Vec::new(), makes: vec![storage] }])
}

/// A batch of the query processor's.
pub fn scan(ranges: Vec<KeyRange>, through: Option<IndexPath>, reverse: bool) -> SessionRequest {
    SessionRequest::Scan { ranges, through, reverse, limit: 10, relies_on: Arc::default(), query: None }
}
