//! What statements come to, seen from the client and from the store.
//!
//! Invariant: each test names what a client would lose if it failed.

use crate::programs::*;
use crate::world::{ACCOUNTS, BY_OWNER, NOTES, World, accounts, column_of, notes, parameter, program};
use messages::commit::CommitReply;
use messages::concurrency::ConcurrencyReply;
use messages::database::DatabaseId;
use messages::limits::{PRIVATE_CHUNK_ROWS, SECOND, TRANSACTION_WRITES_MAX};
use messages::planted::{Bug, Planted};
use messages::program::{
    AccessPath, Action, BinaryOperator, Expression, InsertInput, OneOf, PrefixBounds, RowSource, StatementEdge, Values,
};
use messages::schema::CatalogEntry;
use messages::session::{AccessMode, Failure, IndexPath, SessionReply, SessionRequest, StatementFailure};
use messages::{
    Conflict, ConflictKind, History, Key, KeyRange, Message, ServerKind, TableId, Timestamp, TransactionId,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use values::Value;

fn account(id: i32, owner: &str, balance: i64) -> Vec<Value> {
    vec![id.into(), owner.into(), Value::BigInt(balance)]
}

fn ids(world: &mut World, reverse: bool) -> Vec<i64> {
    let (rows, _) = world.run(&select_ids(reverse), &[]);
    rows.iter().map(|row| row[0].as_integer().unwrap()).collect()
}

pub(crate) fn filled(accounts: i32) -> World {
    filled_in(World::new(), accounts)
}

/// So many accounts in this world.
pub(crate) fn filled_in(mut world: World, accounts: i32) -> World {
    for id in 1..=accounts {
        world.run(&insert(), &account(id, &format!("owner {id:03}"), 10));
    }
    world
}

/// Two rows under one key would break every unique constraint; PostgreSQL's words tell applications which.
#[test]
fn duplicates_are_refused_in_postgresql_s_words() {
    let mut world = filled(2);
    for (row, constraint, detail) in [
        (account(1, "new", 0), "accounts_pkey", "Key (id)=(1) already exists."),
        (account(3, "owner 001", 0), "accounts_owner_key", "Key (owner)=(owner 001) already exists."),
    ] {
        let Some(SessionReply::Failed(failure)) = world.execute(&insert(), &row) else {
            panic!("a duplicate was inserted")
        };
        let expected = StatementFailure {
            sqlstate: "23505".into(),
            message: format!("duplicate key value violates unique constraint \"{constraint}\""),
            detail: Some(detail.into()),
            hint: None,
            constraint: Some(constraint.into()),
        };
        assert_eq!(failure, Failure::Statement(Box::new(expected)));
    }
    let null = [Value::Integer(4), "dan".into(), Value::Null];
    let (sqlstate, message) = world.fail(&insert(), &null);
    assert_eq!(sqlstate, "23502");
    assert_eq!(message, "null value in column \"balance\" of relation \"accounts\" violates not-null constraint");
    assert_eq!(world.rows(&accounts()).len(), 2);
    // NULLs are distinct: a unique index takes any number of them.
    for id in 5..7 {
        world.run(&insert(), &[id.into(), Value::Null, Value::BigInt(0)]);
    }
    assert_eq!(world.count(BY_OWNER), 4);
}

/// ON CONFLICT must leave, or change, the row in the way, whichever unique key it is found by.
#[test]
fn on_conflict_does_nothing_or_updates() {
    let mut world = filled(2);
    assert_eq!(world.run(&insert_or_nothing(), &account(1, "x", 5)).1, 0);
    assert_eq!(world.run(&upsert(), &account(1, "x", 5)).1, 1);
    assert_eq!(world.run(&upsert(), &account(9, "owner 002", 7)).1, 1);
    let mut twice = upsert().as_ref().clone();
    if let Action::Insert { input, .. } = &mut twice.actions[0] {
        let row: Vec<Expression> = (0..3).map(parameter).collect();
        *input = InsertInput::Rows(vec![row.clone(), row]);
    }
    let (sqlstate, _) = world.fail(&Arc::new(twice), &account(5, "x", 5));
    assert_eq!(sqlstate, "21000", "one statement would update a row twice");
    let expected = vec![account(1, "owner 001", 15), account(2, "owner 002", 17)];
    assert_eq!(world.rows(&accounts()), expected);
}

/// Keys may pass from row to row within one statement, and no row may be updated twice by it.
#[test]
fn an_update_may_shift_keys() {
    let mut world = filled(3);
    assert_eq!(world.run(&shift_ids(), &[]).1, 3);
    assert_eq!(ids(&mut world, false), vec![2, 3, 4]);
    assert_eq!(world.count(BY_OWNER), 3);
    assert_eq!(world.run(&select_by_owner(), &["owner 003".into()]).0[0][0], 4.into());
}

/// A range longer than a batch must come whole, in order, both ways, with the transaction's own writes, and be read as one range.
#[test]
fn long_ranges_come_in_batches() {
    let mut world = filled(300);
    world.begin(AccessMode::ReadWrite);
    world.run(&delete_from(), &[250.into()]);
    world.run(&insert(), &account(500, "last", 1));
    let mut expected: Vec<i64> = (1..250).chain([500]).collect();
    assert_eq!(ids(&mut world, false), expected);
    expected.reverse();
    assert_eq!(ids(&mut world, true), expected);
    world.ask(SessionRequest::Commit);
    let (_, history) = world.histories.last().unwrap();
    let whole = KeyRange::whole(ACCOUNTS);
    assert!(history.ranges.iter().any(|read| read.range == whole), "{:?}", history.ranges);
    assert!(history.ranges.len() <= 3, "{:?}", history.ranges);
    assert_eq!(world.count(ACCOUNTS), 250);
    assert_eq!(world.count(BY_OWNER), 250);
}

/// The query processor's batches must join without gap or repetition, whichever way the rows are found.
#[test]
fn scans_of_the_query_processor_go_on_where_they_stopped() {
    let mut world = filled(25);
    world.begin(AccessMode::ReadOnly);
    let by_owner = IndexPath { table: accounts(), index: 0 };
    let named = |id: i64| {
        let mut key = Vec::new();
        values::key::append(&Value::BigInt(id), &mut key);
        KeyRange::point(ACCOUNTS, Key::new(&key))
    };
    let some: Vec<KeyRange> = [3, 7, 99, 12].map(named).to_vec();
    let whole = vec![KeyRange::whole(ACCOUNTS)];
    let entries = vec![KeyRange::whole(BY_OWNER)];
    for (ranges, through, reverse, count) in [
        (whole.clone(), None, false, 25),
        (whole.clone(), None, true, 25),
        (entries.clone(), Some(by_owner.clone()), false, 25),
        (entries, Some(by_owner), true, 25),
        (some.into_iter().chain(whole).collect(), None, false, 28),
    ] {
        let (mut left, mut keys) = (ranges, Vec::new());
        while !left.is_empty() {
            let Some(SessionReply::Scanned { rows, left: rest }) = world.ask(scan(left, through.clone(), reverse))
            else {
                panic!("not scanned")
            };
            assert!(rows.len() <= 10);
            keys.extend(rows.into_iter().map(|(key, _)| key));
            left = rest;
        }
        assert_eq!(keys.len(), count);
        if through.is_none() && count == 25 {
            assert!(keys.is_sorted_by(|one, other| (one < other) != reverse), "in the order of keys");
        }
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 25, "each row once");
    }
}

/// A statement of a transaction that is lost to a scan under way must not run as a transaction of its own.
#[test]
fn what_waits_for_a_scan_shares_its_fate() {
    let mut world = filled(1);
    world.begin(AccessMode::ReadWrite);
    world.hold_accesses = true;
    assert_eq!(world.ask(scan(vec![KeyRange::whole(ACCOUNTS)], None, false)), None);
    assert_eq!(world.execute(&add_balance(), &[1.into(), Value::BigInt(1)]), None);
    world.hold_accesses = false;
    let lost = ConcurrencyReply::LockReply {
        transaction: world.begun(),
        conflict: Some(Conflict::of(ConflictKind::Deadlock)),
    };
    for reply in [world.tell(ServerKind::ConcurrencyController, Message::ConcurrencyReply(lost)), world.next_reply()] {
        assert!(matches!(reply, Some(SessionReply::Failed(Failure::Conflict { .. }))), "{reply:?}");
    }
    assert_eq!(world.rows(&accounts())[0][2], Value::BigInt(10));
    world.run(&add_balance(), &[1.into(), Value::BigInt(1)]);
}

/// A failed statement must leave nothing behind in its transaction, and what came before it must stay.
#[test]
fn a_failed_statement_is_undone_alone() {
    let mut world = filled(1);
    world.begin(AccessMode::ReadWrite);
    world.run(&insert(), &account(2, "two", 2));
    let mut both = program(vec![]).as_ref().clone();
    both.actions.extend(insert().actions.iter().cloned());
    both.actions.extend(shift_ids().actions.iter().cloned());
    let division = Expression::Binary(
        BinaryOperator::Divide,
        Box::new(column_of(2)),
        Box::new(Expression::Constant(Value::BigInt(0))),
    );
    both.actions.push(Action::Update {
        source: RowSource { table: accounts(), path: AccessPath::KeyRange(PrefixBounds::default()), reverse: false },
        filter: None,
        assignments: vec![(2, division)],
        returning: Vec::new(),
        guard: None,
    });
    both.read_only = false;
    let (sqlstate, _) = world.fail(&Arc::new(both), &account(7, "seven", 7));
    assert_eq!(sqlstate, "22012");
    world.ask(SessionRequest::Commit);
    assert_eq!(world.rows(&accounts()), vec![account(1, "owner 001", 10), account(2, "two", 2)]);
}

/// The bound must stop a transaction before it is too large for a message, and say so.
#[test]
fn a_transaction_may_not_write_without_bound() {
    let mut world = World::new();
    let rows = vec![vec![Value::text("x")]; TRANSACTION_WRITES_MAX + 1];
    let reply = world.execute_with(&copy_notes(NOTES, false), &[], rows);
    let Some(SessionReply::Failed(Failure::Statement(wrong))) = reply else { panic!("not failed: {reply:?}") };
    assert_eq!(wrong.sqlstate, "54000");
    assert!(wrong.detail.unwrap().contains("several transactions"));
    assert!(world.histories.is_empty());
}

/// However short they are, notifications are bounded as well: their prepare has to fit into a message, or it is sent for ever.
#[test]
fn a_transaction_may_not_notify_without_bound() {
    let mut world = World::new();
    world.begin(AccessMode::ReadWrite);
    let all: Vec<Action> = (0..=TRANSACTION_WRITES_MAX).map(|number| notify(Value::text(number.to_string()))).collect();
    let (sqlstate, message) = world.fail(&program(all), &[]);
    assert_eq!((sqlstate.as_str(), message.as_str()), ("54000", "transaction notifies of too much"));
    world.run(&program(vec![notify(Value::text("one"))]), &[]);
    world.ask(SessionRequest::Commit);
    assert_eq!(world.histories[0].1.notifications.len(), 1);
}

/// What a savepoint's rollback takes back nobody is told, and it can be said again.
#[test]
fn a_savepoint_marks_the_notifications() {
    let mut world = World::new();
    world.begin(AccessMode::ReadWrite);
    world.run(&program(vec![notify(Value::text("one"))]), &[]);
    world.ask(SessionRequest::Savepoint { name: "a".into() });
    world.run(&program(vec![notify(Value::text("two"))]), &[]);
    world.ask(SessionRequest::RollbackTo { name: "a".into() });
    world.ask(SessionRequest::Commit);
    let [(_, history)] = world.histories.as_slice() else { panic!("not one commit") };
    let said: Vec<&str> = history.notifications.iter().map(|said| &*said.payload).collect();
    assert_eq!(said, ["one"]);
}

fn notify(payload: Value) -> Action {
    let [channel, payload] = [Value::text("channel"), payload].map(Expression::Constant);
    Action::Notify { channel, payload, process: 1, database: DatabaseId::FIRST }
}

/// Loading a table that the transaction made must not be one huge history, whatever the batches; and a rollback must leave
/// nothing in reach.
#[test]
fn private_rows_are_committed_ahead() {
    let storage = TableId(40);
    let batch = vec![vec![Value::text("note")]; PRIVATE_CHUNK_ROWS / 2];
    for commit in [true, false] {
        let mut world = World::new();
        world.begin(AccessMode::ReadWrite);
        world.run(&make(storage), &[]);
        // A chunk that aborts is committed again.
        world.commits.push_back(Some(ConflictKind::EpochChanged));
        for _ in 0..5 {
            let reply = world.execute_with(&copy_notes(storage, true), &[], batch.clone());
            assert!(matches!(reply, Some(SessionReply::Executed { .. })), "{reply:?}");
        }
        assert_eq!(world.count(storage), 2 * PRIVATE_CHUNK_ROWS, "committed ahead");
        assert_eq!(world.drops, vec![]);
        if commit {
            world.ask(SessionRequest::Commit);
            world.pass(SECOND);
            assert_eq!(world.rows(&notes(storage)).len(), 5 * batch.len());
            assert_eq!(world.drops, vec![]);
        } else {
            // The first try to drop aborts.
            world.commits.push_back(Some(ConflictKind::EpochChanged));
            world.ask(SessionRequest::Rollback);
            world.pass(SECOND);
            world.pass(SECOND);
            assert_eq!(world.drops, vec![storage]);
        }
        assert!(world.histories.iter().all(|(_, history)| history.reads.is_empty()));
    }
}

/// Two transactions with the same number would fill the same storage, and who loses would drop what the other has committed: a number must be taken by
/// a commit of its own, before anything is written into its storage, and once for all tries.
#[test]
fn numbers_are_taken_before_anything_else() {
    let mut world = World::new();
    world.begin(AccessMode::ReadWrite);
    // It is tried again after a conflict that says nothing of the number.
    world.commits.push_back(Some(ConflictKind::EpochChanged));
    world.execute(&make_numbered(TableId(40), Some(Timestamp::ZERO)), &[]);
    world.pass(SECOND);
    let is_claim = |history: &History| {
        let key = CatalogEntry::next_key();
        history.writes.iter().all(|write| write.key == key) && history.reads.iter().all(|read| read.key == key)
    };
    let (claimed, history) = world.histories.last().cloned().expect("it was committed");
    assert!(is_claim(&history) && history.writes.len() == 1 && history.reads[0].seen == Timestamp::ZERO);
    // The next one of the transaction is made from that.
    world.run(&make_numbered(TableId(41), None), &[]);
    let (second, history) = world.histories.last().cloned().expect("it was committed");
    assert!(is_claim(&history) && second != claimed && history.reads[0].seen > Timestamp::ZERO);
    let before = world.histories.len();
    world.ask(SessionRequest::Commit);
    assert!(world.histories[before..].iter().all(|(_, history)| !is_claim(history) || history.writes.is_empty()));
}

/// A number that somebody else has taken must not be used, and nothing in its storage is touched.
#[test]
fn a_number_that_is_taken_is_not_used() {
    let mut world = World::new();
    world.commits.push_back(Some(ConflictKind::StaleRead));
    let reply = world.execute(&make_numbered(TableId(40), Some(Timestamp::ZERO)), &[]);
    let Some(SessionReply::Failed(Failure::SchemaChanged { key })) = reply else { panic!("not failed: {reply:?}") };
    assert_eq!(key, CatalogEntry::next_key());
    world.pass(SECOND);
    assert_eq!((world.histories.len(), world.drops.clone()), (0, vec![]));
}

/// A user interface may know of the catalog less than its site's copy: numbers that the copy says are taken must not be asked for, because a site
/// whose own copy is stale votes for whatever has been read.
#[test]
fn numbers_that_the_copy_knows_to_be_taken_are_not_asked_for() {
    let mut world = World::new();
    world.execute(&make_numbered(TableId(40), Some(Timestamp::ZERO)), &[]);
    let (before, commits) = (world.histories.len(), world.ages.len());
    let reply = world.execute(&make_numbered(TableId(40), Some(Timestamp::ZERO)), &[]);
    let Some(SessionReply::Failed(Failure::SchemaChanged { key })) = reply else { panic!("not failed: {reply:?}") };
    assert_eq!(key, CatalogEntry::next_key());
    assert_eq!((world.histories.len(), world.ages.len()), (before, commits), "nothing was sent");
}

/// A load that is cancelled while a chunk commits must be dropped after the chunk is decided, not before: it would outlive its drop.
#[test]
fn a_cancelled_load_is_dropped_after_its_chunk() {
    let storage = TableId(40);
    let mut world = World::new();
    world.begin(AccessMode::ReadWrite);
    world.run(&make(storage), &[]);
    world.hold_commits = true;
    let rows = vec![vec![Value::text("note")]; PRIVATE_CHUNK_ROWS];
    assert_eq!(world.execute_with(&copy_notes(storage, true), &[], rows), None);
    let chunk = world.begun();
    world.ask(SessionRequest::Cancel);
    world.hold_commits = false;
    world.pass(SECOND);
    assert_eq!(world.drops, vec![]);
    let decided = world.install(chunk, Arc::new(History::default()));
    world.tell(ServerKind::AtomicityController, Message::CommitReply(decided));
    world.pass(SECOND);
    assert_eq!(world.drops, vec![storage]);
}

/// A load that is lost while one of its chunks commits must not begin again with its storages: they are dropped after that chunk, with
/// whatever was committed into them by then.
#[test]
fn a_load_that_is_lost_with_a_chunk_does_not_begin_again() {
    for (planted, told) in [(Planted::none(), true), (Planted::only(Bug::UsedStoragesFilled), false)] {
        let storage = TableId(40);
        let mut world = World::planted(planted);
        world.hold_commits = true;
        let rows = vec![vec![Value::text("note")]; PRIVATE_CHUNK_ROWS];
        assert_eq!(world.execute_with(&load_notes(storage), &[], rows), None);
        let chunk = world.begun();
        world.hold_commits = false;
        let transaction = TransactionId { sequence: chunk.sequence - 1, ..chunk };
        let doomed = ConcurrencyReply::Doomed { transaction, conflict: Conflict::of(ConflictKind::PreparedElsewhere) };
        let reply = world.tell(ServerKind::ConcurrencyController, Message::ConcurrencyReply(doomed));
        let key = CatalogEntry::next_key();
        assert_eq!(reply == Some(SessionReply::Failed(Failure::SchemaChanged { key })), told, "{reply:?}");
        let decided = world.install(chunk, Arc::new(History::default()));
        world.tell(ServerKind::AtomicityController, Message::CommitReply(decided));
        world.pass(SECOND);
        assert_eq!(world.drops, vec![storage]);
    }
}

/// A snapshot that copies from another site have overtaken must be given up before anything of it was told, and never after.
#[test]
fn a_snapshot_that_is_gone_is_replaced_unless_rows_were_told() {
    let mut world = filled(1);
    world.snapshots_gone = 1;
    assert_eq!(world.run(&select_point(), &[1.into()]).0.len(), 1);
    world.begin(AccessMode::ReadOnly);
    world.snapshots_gone = 1;
    assert_eq!(world.run(&select_point(), &[1.into()]).0.len(), 1);
    world.snapshots_gone = 1;
    let reply = world.execute(&select_point(), &[1.into()]);
    let Some(SessionReply::Failed(Failure::Conflict { conflict })) = reply else { panic!("not failed: {reply:?}") };
    assert_eq!(conflict.kind, ConflictKind::TooOld);
    assert_eq!(world.ask(SessionRequest::Rollback), Some(SessionReply::RolledBack));
    world.begin(AccessMode::ReadOnly);
    world.run(&select_point(), &[1.into()]);
    (world.snapshots_gone, world.gives_up) = (1, true);
    let reply = world.execute(&select_point(), &[1.into()]);
    let Some(SessionReply::Failed(Failure::Conflict { conflict })) = reply else { panic!("not failed: {reply:?}") };
    assert_eq!(conflict.kind, ConflictKind::SnapshotGivenUp, "the client is told why");
}

/// Versions that a reader may still need must not be forgotten; those that nobody needs must be.
#[test]
fn snapshots_in_use_are_reported() {
    let mut world = filled(1);
    world.begin(AccessMode::ReadOnly);
    world.run(&select_point(), &[1.into()]);
    let reader = world.last_snapshot();
    world.pass(SECOND);
    let covers = |world: &World| {
        let (in_use, from) = world.snapshots_reported.as_ref().expect("they are reported");
        in_use.contains(&reader) || *from <= reader
    };
    assert!(covers(&world));
    let clock = Timestamp { clock: reader.clock + 1, ..reader };
    world.tell(ServerKind::AtomicityController, Message::CommitReply(CommitReply::Clock { clock }));
    world.pass(SECOND);
    assert!(covers(&world) && world.snapshots_reported.as_ref().is_some_and(|(_, from)| *from > reader));
    world.ask(SessionRequest::Commit);
    world.pass(SECOND);
    assert!(!covers(&world), "its reader has ended");
}

/// Rows loaded after a savepoint must go with it: they may not be committed ahead.
#[test]
fn a_savepoint_keeps_private_rows_back() {
    let storage = TableId(40);
    let mut world = World::new();
    world.begin(AccessMode::ReadWrite);
    world.run(&make(storage), &[]);
    world.ask(SessionRequest::Savepoint { name: "before".into() });
    let rows = vec![vec![Value::text("note")]; 2 * PRIVATE_CHUNK_ROWS];
    world.execute_with(&copy_notes(storage, true), &[], rows);
    assert_eq!(world.count(storage), 0);
    world.ask(SessionRequest::RollbackTo { name: "before".into() });
    world.ask(SessionRequest::Commit);
    assert_eq!(world.count(storage), 0);
}

/// A copy into another layout must bring every row once, and refuse what the new key cannot hold.
#[test]
fn a_rebuild_copies_every_row() {
    let mut world = World::new();
    let bodies = ["b", "a", "c"].map(|body| vec![Value::text(body)]);
    world.execute_with(&copy_notes(NOTES, false), &[], bodies.to_vec());
    let mut keyed = notes(TableId(41)).as_ref().clone();
    keyed.primary_key = vec![0];
    keyed.primary_key_name = Some("notes_pkey".into());
    let rebuild = program(vec![
        make(TableId(41)).actions[0].clone(),
        Action::Rebuild { from: notes(NOTES), to: Arc::new(keyed.clone()), index: None, fill: Vec::new() },
    ]);
    world.run(&rebuild, &[]);
    let sorted = ["a", "b", "c"].map(|body| vec![Value::text(body)]);
    assert_eq!(world.rows(&keyed), sorted);
    world.execute_with(&copy_notes(NOTES, false), &[], vec![vec![Value::text("a")]]);
    let (sqlstate, message) = world.fail(&rebuild, &[]);
    assert_eq!((sqlstate.as_str(), message.as_str()), ("23505", "could not create unique index \"notes_pkey\""));
}

/// A transaction that the client retries after a loss must be as old as before, or it might lose for ever.
#[test]
fn a_client_s_retry_keeps_its_age() {
    for (planted, keeps) in [(Planted::none(), true), (Planted::only(Bug::AgeRenewed), false)] {
        let mut world = World::planted(planted);
        for outcome in [Some(ConflictKind::YoungerDies), None, None] {
            world.commits.push_back(outcome);
            world.begin(AccessMode::ReadWrite);
            world.run(&insert(), &account(world.ages.len() as i32, &format!("{}", world.ages.len()), 1));
            world.ask(SessionRequest::Commit);
        }
        assert_eq!(world.ages[0] == world.ages[1], keeps);
        assert_ne!(world.ages[1], world.ages[2], "a success ends it");
    }
}

/// A planted bug that changed nothing would prove nothing about the checkers.
#[test]
fn planted_bugs_leave_their_clause_out() {
    let count = |planted: Planted, what: &str| {
        let mut world = World::planted(planted);
        for id in 1..3 {
            world.run(&insert(), &account(id, &id.to_string(), 1));
        }
        world.said();
        let values = Values::List(vec![parameter(0), parameter(1)]);
        let path = AccessPath::OneOf(OneOf { index: None, equal: Vec::new(), place: 0, values });
        let both = RowSource { table: accounts(), path, reverse: false };
        let select = Action::Select {
            source: Some(both),
            filter: None,
            output: vec![column_of(0)],
            offset: None,
            limit: None,
            lock: None,
            order: Vec::new(),
        };
        assert_eq!(world.run(&program(vec![select]), &[2.into(), 1.into()]).0.len(), 2);
        world.said().matches(what).count()
    };
    assert_eq!(count(Planted::none(), "begin snapshot"), 1);
    assert_eq!(count(Planted::only(Bug::SnapshotMovesUp), "begin snapshot"), 2);
    assert_eq!(count(Planted::none(), "still"), 1);
}

/// A procedure's statements must all have the same arguments, computed once, and see what those before them did; a moved or retried call must not
/// bind them twice.
#[test]
fn a_procedure_binds_its_arguments_once() {
    let mut world = filled(2);
    let twice = |operand| {
        let (left, right) = (Box::new(parameter(operand)), Box::new(parameter(operand)));
        Expression::Binary(BinaryOperator::Add, left, right)
    };
    let mut actions = vec![Action::Bind { arguments: vec![parameter(1), twice(0)] }];
    for _ in 0..2 {
        actions.extend(add_balance().actions.iter().cloned());
    }
    let called = program(actions);
    let (rows, affected) = world.run(&called, &[Value::BigInt(3), Value::Integer(2)]);
    assert_eq!((rows, affected), (vec![vec![Value::BigInt(22)]], 1), "10, and twice 6");
    assert!(called.to_string().starts_with("call with $2, $1 + $1\nread from accounts"), "{called}");
    let late = program(vec![add_balance().actions[0].clone(), called.actions[0].clone()]);
    assert_eq!(world.fail(&late, &[Value::Integer(1), Value::BigInt(0)]).0, "XX000");
}

/// EXPLAIN shows this text.
#[test]
fn programs_read_as_steps() {
    assert_eq!(
        add_balance().to_string(),
        "read from accounts the row with key id = $1, for update\n\
         compute balance := balance + $2\n\
         write the row of accounts and index accounts_owner_key\n\
         return balance"
    );
    assert_eq!(
        delete_from().to_string(),
        "read from accounts the rows with key id >= $1, for update\n\
         delete the row of accounts and index accounts_owner_key"
    );
    assert_eq!(
        select_by_owner().to_string(),
        "read from accounts by index accounts_owner_key the rows with owner = $1\n\
         return id, owner, balance"
    );
    assert_eq!(
        upsert().to_string(),
        "take ($1, $2, $3)\n\
         compute id := input 1, owner := input 2, balance := input 3\n\
         write a row of accounts and index accounts_owner_key\n\
         if any unique key exists, write balance := balance + excluded.balance"
    );
}

/// A step of a random transaction.
#[derive(Clone, Debug)]
enum Doing {
    Insert(i32, i64),
    Upsert(i32, i64),
    Add(i32, i64),
    DeleteFrom(i32),
    Shift,
    Savepoint(u8),
    RollbackTo(u8),
    Release(u8),
    Commit,
    Rollback,
}

fn doing() -> impl Strategy<Value = Doing> {
    prop_oneof![
        4 => (0..12i32, 0..9i64).prop_map(|(id, balance)| Doing::Insert(id, balance)),
        3 => (0..12i32, 0..9i64).prop_map(|(id, balance)| Doing::Upsert(id, balance)),
        3 => (0..12i32, 0..9i64).prop_map(|(id, balance)| Doing::Add(id, balance)),
        2 => (0..12i32).prop_map(Doing::DeleteFrom),
        1 => Just(Doing::Shift),
        2 => (0..3u8).prop_map(Doing::Savepoint),
        2 => (0..3u8).prop_map(Doing::RollbackTo),
        1 => (0..3u8).prop_map(Doing::Release),
        1 => Just(Doing::Commit),
        1 => Just(Doing::Rollback),
    ]
}

/// What a table and its savepoints should be.
#[derive(Clone, Debug, Default)]
struct Model {
    committed: BTreeMap<i64, i64>,
    rows: BTreeMap<i64, i64>,
    savepoints: Vec<(u8, BTreeMap<i64, i64>)>,
}

impl Model {
    /// Applies a step; whether it succeeds.
    fn apply(&mut self, doing: &Doing) -> bool {
        let at =
            |savepoints: &[(u8, BTreeMap<i64, i64>)], name: u8| savepoints.iter().rposition(|(set, _)| *set == name);
        match *doing {
            Doing::Insert(id, balance) => {
                if self.rows.contains_key(&id.into()) {
                    return false;
                }
                self.rows.insert(id.into(), balance);
            }
            Doing::Upsert(id, balance) => *self.rows.entry(id.into()).or_insert(0) += balance,
            Doing::Add(id, balance) => {
                if let Some(row) = self.rows.get_mut(&id.into()) {
                    *row += balance;
                }
            }
            Doing::DeleteFrom(id) => self.rows.retain(|key, _| *key < id.into()),
            Doing::Shift => {
                let rows = std::mem::take(&mut self.rows);
                self.rows = rows.into_iter().map(|(key, balance)| (key + 1, balance)).collect();
            }
            Doing::Savepoint(name) => self.savepoints.push((name, self.rows.clone())),
            Doing::RollbackTo(name) => match at(&self.savepoints, name) {
                Some(position) => {
                    self.savepoints.truncate(position + 1);
                    self.rows = self.savepoints[position].1.clone();
                }
                None => return false,
            },
            Doing::Release(name) => match at(&self.savepoints, name) {
                Some(position) => self.savepoints.truncate(position),
                None => return false,
            },
            Doing::Commit => {
                self.committed = self.rows.clone();
                self.savepoints.clear();
            }
            Doing::Rollback => {
                self.rows = self.committed.clone();
                self.savepoints.clear();
            }
        }
        true
    }
}

fn perform(world: &mut World, doing: &Doing) -> Option<SessionReply> {
    let name = |name: u8| name.to_string();
    // The owner stays empty: rows are told apart by their key only.
    let row = |id: i32, balance: i64| [Value::Integer(id), Value::Null, Value::BigInt(balance)];
    match *doing {
        Doing::Insert(id, balance) => world.execute(&insert(), &row(id, balance)),
        Doing::Upsert(id, balance) => world.execute(&upsert(), &row(id, balance)),
        Doing::Add(id, balance) => world.execute(&add_balance(), &[id.into(), Value::BigInt(balance)]),
        Doing::DeleteFrom(id) => world.execute(&delete_from(), &[id.into()]),
        Doing::Shift => world.execute(&shift_ids(), &[]),
        Doing::Savepoint(set) => world.ask(SessionRequest::Savepoint { name: name(set) }),
        Doing::RollbackTo(set) => world.ask(SessionRequest::RollbackTo { name: name(set) }),
        Doing::Release(set) => world.ask(SessionRequest::Release { name: name(set) }),
        Doing::Commit => world.ask(SessionRequest::Commit),
        Doing::Rollback => world.ask(SessionRequest::Rollback),
    }
}

proptest! {
    /// Whatever a transaction does, it must see its own writes, nothing that it undid, and leave index and table agreeing.
    #[test]
    fn transactions_do_what_a_model_does(steps in prop::collection::vec(doing(), 1..40)) {
        let mut world = World::new();
        let mut model = Model::default();
        world.begin(AccessMode::ReadWrite);
        for step in &steps {
            let succeeds = model.apply(step);
            let reply = perform(&mut world, step);
            let failed = matches!(reply, Some(SessionReply::Failed(_)));
            prop_assert_eq!(failed, !succeeds, "{:?}: {:?}", step, reply);
            if matches!(step, Doing::Commit | Doing::Rollback) {
                world.begin(AccessMode::ReadWrite);
            }
            let expected: Vec<i64> = model.rows.keys().copied().collect();
            prop_assert_eq!(ids(&mut world, false), expected, "after {:?}", step);
        }
        world.ask(SessionRequest::Commit);
        let expected: Vec<(i64, i64)> = model.rows.into_iter().collect();
        let found: Vec<(i64, i64)> = world
            .rows(&accounts())
            .iter()
            .map(|row| (row[0].as_integer().unwrap(), row[2].as_integer().unwrap()))
            .collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(world.count(BY_OWNER), world.count(ACCOUNTS));
    }
}

/// A statement of several programs whose queries saw what its programs have written, or whose programs changed a row twice, would compute what PostgreSQL does not.
#[test]
fn a_statement_of_several_programs_sees_what_it_began_with() {
    let edge = |edge| program(vec![Action::Statement(edge)]);
    let mut world = filled(4);
    world.begin(AccessMode::ReadWrite);
    world.run(&delete_from(), &[4.into()]);
    world.run(&edge(StatementEdge::Begin), &[]);
    let scan = |world: &mut World, reverse| {
        let request = SessionRequest::Scan {
            ranges: vec![KeyRange::whole(ACCOUNTS)],
            through: None,
            reverse,
            limit: 100,
            relies_on: Arc::default(),
            query: None,
        };
        match world.ask(request) {
            Some(SessionReply::Scanned { rows, .. }) => rows,
            other => panic!("not scanned: {other:?}"),
        }
    };
    let before = scan(&mut world, false);
    assert_eq!(before.len(), 3, "what the transaction has done before is seen");
    assert_eq!(world.run(&delete_from(), &[3.into()]).1, 1);
    assert_eq!(world.run(&insert(), &account(9, "new", 1)).1, 1);
    assert_eq!(world.run(&shift_ids(), &[]).1, 2, "a row that is new, or has gone, is not updated");
    assert_eq!(scan(&mut world, false), before);
    let reversed: Vec<_> = before.iter().rev().cloned().collect();
    assert_eq!(scan(&mut world, true), reversed);
    assert_eq!(world.run(&delete_from(), &[0.into()]).1, 0, "all rows were changed already");
    let (sqlstate, _) = world.fail(&upsert(), &account(9, "new", 5));
    assert_eq!(sqlstate, "21000");
    world.ask(SessionRequest::Rollback);

    world.begin(AccessMode::ReadWrite);
    world.run(&edge(StatementEdge::Begin), &[]);
    world.run(&delete_from(), &[4.into()]);
    world.run(&edge(StatementEdge::End), &[]);
    assert_eq!(scan(&mut world, false).len(), 3, "the next statement sees what this one has done");
    assert_eq!(world.run(&upsert(), &account(3, "x", 5)).1, 1);
    world.ask(SessionRequest::Commit);
    assert_eq!(world.count(ACCOUNTS), 3);
}
