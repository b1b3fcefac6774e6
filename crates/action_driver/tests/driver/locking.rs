//! Rows that are locked one by one: FOR UPDATE with SKIP LOCKED and NOWAIT, sorted or not, and what is done with what they find.
//!
//! Invariant: what is returned was locked as it is returned, and what was only looked at is no part of the transaction.

use crate::programs::{insert, set_owner};
use crate::world::{ACCOUNTS, World, account_key, accounts, column_of, parameter, program};
use messages::concurrency::ConcurrencyReply;
use messages::program::{
    AccessPath, Action, BinaryOperator, Expression, PrefixBounds, Program, RowLockStrength, RowLockWait, RowSortKey,
    RowSource, SelectLock,
};
use messages::session::{AccessMode, SessionReply, SessionRequest};
use messages::{Item, Message, ServerKind};
use std::sync::Arc;
use values::{Type, Value};

fn filled() -> World {
    let mut world = World::new();
    for (id, owner, balance) in [(1, "a", 30), (2, "b", 20), (3, "c", 10)] {
        world.run(&insert(), &[id.into(), owner.into(), Value::BigInt(balance)]);
    }
    world.said();
    world
}

fn item(id: i32) -> Item {
    Item { table: ACCOUNTS, key: account_key(id) }
}

/// SELECT id FROM accounts WHERE balance > 5 [ORDER BY balance] [LIMIT n] FOR UPDATE SKIP LOCKED or NOWAIT
fn take(wait: RowLockWait, sorts: bool, limit: Option<i64>) -> Action {
    let source = RowSource { table: accounts(), path: AccessPath::KeyRange(PrefixBounds::default()), reverse: false };
    let five = Expression::Constant(Value::BigInt(5));
    let by_balance = RowSortKey { expression: column_of(2), descending: false, nulls_first: false };
    Action::Select {
        source: Some(source),
        filter: Some(Expression::Binary(BinaryOperator::Greater, Box::new(column_of(2)), Box::new(five))),
        output: vec![column_of(0)],
        offset: None,
        limit: limit.map(|limit| Expression::Constant(Value::BigInt(limit))),
        lock: Some(SelectLock { strength: RowLockStrength::Update, wait }),
        order: if sorts { vec![by_balance] } else { Vec::new() },
    }
}

/// UPDATE accounts SET balance = 7 WHERE id = (SELECT ...) RETURNING id; or id = ANY of what it finds
fn update_of(selection: Action, all: bool) -> Arc<Program> {
    let value = Expression::Gathered(0, if all { Type::Integer.array() } else { Type::Integer });
    let path = match all {
        false => AccessPath::Point(vec![value.clone()]),
        true => AccessPath::KeyRange(PrefixBounds::default()),
    };
    let is_found = Expression::Any(BinaryOperator::Equal, Box::new(column_of(0)), Box::new(value));
    program(vec![
        Action::Gather { selection: Box::new(selection), place: 0, array: all.then_some(Type::Integer) },
        Action::Update {
            source: RowSource { table: accounts(), path, reverse: false },
            filter: all.then_some(is_found),
            assignments: vec![(2, Expression::Constant(Value::BigInt(7)))],
            returning: vec![column_of(0)],
            guard: None,
        },
    ])
}

fn ids(rows: &[Vec<Value>]) -> Vec<i64> {
    rows.iter().map(|row| row[0].as_integer().expect("a number")).collect()
}

/// Otherwise a worker would wait for another's job, or return it; or a commit of a job that it has left out would be its own loss.
#[test]
fn locked_rows_are_left_out_and_not_read() {
    let mut world = filled();
    world.busy.insert(item(2));
    let (rows, _) = world.run(&program(vec![take(RowLockWait::Skip, false, None)]), &[]);
    assert_eq!(ids(&rows), [1, 3]);
    let (_, history) = world.histories.last().expect("it has committed");
    let read: Vec<_> = history.reads.iter().map(|read| read.key.clone()).collect();
    assert_eq!(read, [account_key(1), account_key(3)]);
    assert!(history.ranges.is_empty(), "the range was only looked at");
    let (rows, _) = world.run(&program(vec![take(RowLockWait::Skip, false, Some(2))]), &[]);
    assert_eq!(ids(&rows), [1, 3], "what is left out does not count");
}

/// Otherwise a queue with priorities could not be read, or a worker would lock more than it takes.
#[test]
fn rows_are_locked_in_order_until_there_are_enough() {
    let mut world = filled();
    world.busy.insert(item(3));
    let (rows, _) = world.run(&program(vec![take(RowLockWait::Skip, true, Some(1))]), &[]);
    assert_eq!(ids(&rows), [2], "the smallest balance that nobody has");
    let (_, history) = world.histories.last().expect("it has committed");
    assert_eq!(history.reads.len(), 1);
    let (rows, _) = world.run(&program(vec![take(RowLockWait::Wait, true, None)]), &[]);
    assert_eq!(ids(&rows), [3, 2, 1]);
}

/// Otherwise a job would be returned that another has finished between the look and the lock.
#[test]
fn a_locked_row_has_to_pass_again() {
    let mut world = filled();
    world.begin(AccessMode::ReadWrite);
    world.hold_accesses = true;
    let select = program(vec![take(RowLockWait::Skip, false, Some(1))]);
    assert_eq!(world.execute(&select, &[]), None);
    let own = world.begun();
    world.hold_accesses = false;
    let granted = |world: &mut World| {
        let reply = ConcurrencyReply::LockReply { transaction: own, conflict: None };
        world.tell(ServerKind::ConcurrencyController, Message::ConcurrencyReply(reply))
    };
    // The first row was found, and is deleted before it is locked.
    let row = None;
    let writes = vec![messages::Write { table: ACCOUNTS, key: account_key(1), row }];
    world.install(
        messages::TransactionId { sequence: 999, ..own },
        Arc::new(messages::History { writes, ..Default::default() }),
    );
    let Some(SessionReply::Executed { rows, .. }) = granted(&mut world) else { panic!("it goes on") };
    assert_eq!(ids(&rows), [2]);
}

/// Otherwise a client that must not wait would, or would be told of rows that others change.
#[test]
fn nowait_fails_on_a_locked_row() {
    let mut world = filled();
    let by_key = Action::Select {
        source: Some(RowSource { table: accounts(), path: AccessPath::Point(vec![parameter(0)]), reverse: false }),
        filter: None,
        output: vec![column_of(0)],
        offset: None,
        limit: None,
        lock: Some(SelectLock { strength: RowLockStrength::Update, wait: RowLockWait::Error }),
        order: Vec::new(),
    };
    let by_key = program(vec![by_key]);
    world.busy.insert(item(2));
    let (sqlstate, message) = world.fail(&by_key, &[2.into()]);
    assert_eq!(sqlstate, "55P03");
    assert_eq!(message, "could not obtain lock on row in relation \"accounts\"");
    let (rows, _) = world.run(&by_key, &[1.into()]);
    assert_eq!(ids(&rows), [1]);
}

/// Otherwise two workers would be given one job by the statement that most queues use.
#[test]
fn what_is_gathered_is_updated() {
    let mut world = filled();
    world.busy.insert(item(1));
    let (rows, affected) = world.run(&update_of(take(RowLockWait::Skip, false, Some(1)), false), &[]);
    assert_eq!((ids(&rows), affected), (vec![2], 1));
    let (rows, affected) = world.run(&update_of(take(RowLockWait::Skip, true, None), true), &[]);
    assert_eq!((ids(&rows), affected), (vec![2, 3], 2));
    let (rows, affected) = world.run(&update_of(take(RowLockWait::Skip, false, Some(0)), false), &[]);
    assert_eq!((ids(&rows), affected), (vec![], 0), "nothing is found");
    let (sqlstate, _) = world.fail(&update_of(take(RowLockWait::Skip, false, None), false), &[]);
    assert_eq!(sqlstate, "21000");
}

/// Otherwise a site whose place in the epoch has gone would tell a worker that nothing is to be done, from a copy that is old.
#[test]
fn what_was_looked_at_is_told_under_a_lease() {
    let mut world = filled();
    world.busy.extend((1..=3).map(item));
    world.after.push_back(false);
    let (rows, _) = world.run(&program(vec![take(RowLockWait::Skip, false, None)]), &[]);
    assert_eq!(ids(&rows), [] as [i64; 0]);
    assert_eq!(world.said().matches("still").count(), 2, "it is asked, and tried again");
    // In a block it is an error, as nothing of a block can be tried again.
    world.begin(AccessMode::ReadWrite);
    world.run(&set_owner(), &[1.into(), "x".into()]);
    world.after.push_back(false);
    let lost = world.execute(&program(vec![take(RowLockWait::Skip, false, None)]), &[]);
    assert!(matches!(lost, Some(SessionReply::Failed(_))), "{lost:?}");
    world.ask(SessionRequest::Rollback);
}
