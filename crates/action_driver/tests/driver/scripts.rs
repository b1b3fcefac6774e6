//! Golden scripts: what the action driver says to the other servers for each kind of statement, word for word.
//!
//! Invariant: a script changes only when the protocol is meant to change.

use crate::programs::*;
use crate::world::{self, ACCOUNTS, World, account_key, accounts, program};
use messages::concurrency::ConcurrencyReply;
use messages::limits::SERVICE_PATIENCE;
use messages::program::Program;
use messages::session::{AccessMode, CommitReceipt, Failure, SessionReply, SessionRequest};
use messages::{
    ChangedRows, Conflict, ConflictKind, Incarnation, Item, Key, KeyRange, Message, ServerKind, SiteId, TableId,
    Timestamp, TransactionId,
};
use std::sync::Arc;
use values::Value;

/// Two accounts.
pub(crate) fn filled() -> World {
    let mut world = World::new();
    world.run(&insert(), &[1.into(), "ann".into(), Value::BigInt(10)]);
    world.run(&insert(), &[2.into(), "bob".into(), Value::BigInt(20)]);
    world.said();
    world
}

pub(crate) fn transaction(sequence: u64) -> TransactionId {
    TransactionId { home: SiteId(1), incarnation: Incarnation(1), sequence }
}

#[track_caller]
pub(crate) fn script(world: &mut World, expected: &str) {
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(world.said().lines().collect::<Vec<_>>(), expected);
}

/// A snapshot reader must be told nothing before the leases were checked again, and must lock nothing.
#[test]
fn a_point_select_reads_a_snapshot() {
    let mut world = filled();
    let (rows, affected) = world.run(&select_point(), &[1.into()]);
    assert_eq!(rows, vec![vec![1.into(), "ann".into(), Value::BigInt(10)]]);
    assert_eq!(affected, 1);
    script(
        &mut world,
        "serve?
         begin snapshot
         decided accounts[8101] at 170?
         read accounts[8101] at 170
         still epoch 1?
         reply executed 1, 1 rows",
    );
}

/// An update must lock before it reads, and commit what it read with what it wrote.
#[test]
fn a_point_update_locks_reads_and_commits() {
    let mut world = filled();
    let (rows, _) = world.run(&add_balance(), &[1.into(), Value::BigInt(5)]);
    assert_eq!(rows, vec![vec![Value::BigInt(15)]]);
    script(
        &mut world,
        "serve?
         begin
         may T3 write accounts[8101]?
         read accounts[8101]
         commit T3 read (accounts[8101]@130) ranges () write (+accounts[8101])
         reply executed 1, 1 rows",
    );
}

/// An insertion must see that none of its unique keys exists, and write row and index entry together.
#[test]
fn an_insert_claims_its_keys() {
    let mut world = filled();
    world.run(&insert(), &[3.into(), "cyd".into(), Value::BigInt(30)]);
    script(
        &mut world,
        "serve?
         begin
         may T3 at once write accounts[8103], write by_owner[0163796400]?
         compare, read accounts[8103], read by_owner[0163796400]
         commit T3 read (accounts[8103]@0 by_owner[0163796400]@0) ranges () write (+accounts[8103] +by_owner[0163796400])
         reply executed 1, 0 rows",
    );
}

/// A changed index column must move the entry, or the index would lead to a row that is not there.
#[test]
fn an_update_moves_index_entries() {
    let mut world = filled();
    world.run(&set_owner(), &[1.into(), "amy".into()]);
    script(
        &mut world,
        "serve?
         begin
         may T3 write accounts[8101]?
         read accounts[8101]
         may T3 write by_owner[01616e6e00]?
         may T3 write by_owner[01616d7900]?
         read by_owner[01616d7900]
         commit T3 read (accounts[8101]@130 by_owner[01616d7900]@0) ranges () write (+accounts[8101] +by_owner[01616d7900] -by_owner[01616e6e00])
         reply executed 1, 0 rows",
    );
    assert_eq!(world.run(&select_by_owner(), &["amy".into()]).0.len(), 1);
    assert_eq!(world.run(&select_by_owner(), &["ann".into()]).0.len(), 0);
}

/// An index leads to rows: both must be permitted and, outside of a snapshot, both recorded.
#[test]
fn an_index_scan_in_a_transaction_locks_range_and_rows() {
    let mut world = filled();
    world.begin(AccessMode::ReadWrite);
    world.run(&select_by_owner(), &["bob".into()]);
    world.ask(SessionRequest::Commit);
    script(
        &mut world,
        "serve?
         begin
         may T3 read by_owner[01626f6200..01626f6201]?
         scan by_owner[01626f6200..01626f6201] limit 128
         may T3 read accounts[8102]?
         read accounts[8102]
         reply executed 1, 1 rows
         commit T3 read (accounts[8102]@160) ranges (by_owner[01626f6200..01626f6201]) write ()
         reply Committed { receipt: Memory { copies: 2 } }",
    );
}

/// A range is locked whole before it is scanned, against rows that are not there yet; its rows then need no locks of their own.
#[test]
fn a_range_delete_locks_the_range() {
    let mut world = filled();
    world.run(&delete_from(), &[2.into()]);
    script(
        &mut world,
        "serve?
         begin
         may T3 write accounts[8102..f0]?
         scan accounts[8102..f0] limit 128
         may T3 write by_owner[01626f6200]?
         commit T3 read () ranges (accounts[8102..f0]) write (-accounts[8102] -by_owner[01626f6200])
         reply executed 1, 0 rows",
    );
}

/// A program that does nothing says whether the site serves: whoever listens from then on must miss nothing.
#[test]
fn a_program_that_does_nothing_needs_a_site_that_serves() {
    for mode in [AccessMode::ReadOnly, AccessMode::ReadWrite] {
        let mut world = filled();
        world.begin(mode);
        world.hold_checks = true;
        assert_eq!(world.execute(&program(Vec::new()), &[]), None);
        script(&mut world, "serve?");
    }
    let mut world = filled();
    world.begin(AccessMode::ReadOnly);
    world.run(&program(Vec::new()), &[]);
    world.ask(SessionRequest::Commit);
    script(
        &mut world,
        "serve?
         begin snapshot
         reply executed 0, 0 rows
         reply Committed { receipt: Nothing }",
    );
    world.begin(AccessMode::ReadWrite);
    world.run(&program(Vec::new()), &[]);
    world.ask(SessionRequest::Commit);
    script(
        &mut world,
        "serve?
         begin
         reply executed 0, 0 rows
         finish T3
         reply Committed { receipt: Nothing }",
    );
}

/// ROLLBACK TO must drop the writes since, and only those; what was locked stays locked and is not asked for again.
#[test]
fn a_savepoint_marks_the_private_writes() {
    let mut world = filled();
    world.begin(AccessMode::ReadWrite);
    world.run(&add_balance(), &[1.into(), Value::BigInt(5)]);
    world.ask(SessionRequest::Savepoint { name: "a".into() });
    world.run(&add_balance(), &[1.into(), Value::BigInt(100)]);
    world.run(&add_balance(), &[2.into(), Value::BigInt(100)]);
    world.ask(SessionRequest::RollbackTo { name: "a".into() });
    world.run(&add_balance(), &[2.into(), Value::BigInt(7)]);
    world.ask(SessionRequest::Release { name: "a".into() });
    world.ask(SessionRequest::RollbackTo { name: "a".into() });
    world.ask(SessionRequest::Commit);
    script(
        &mut world,
        "serve?
         begin
         may T3 write accounts[8101]?
         read accounts[8101]
         reply executed 1, 1 rows
         reply Marked
         reply executed 1, 1 rows
         may T3 write accounts[8102]?
         read accounts[8102]
         reply executed 1, 1 rows
         reply Marked
         read accounts[8102]
         reply executed 1, 1 rows
         reply Marked
         reply failed 3B001
         commit T3 read (accounts[8101]@130 accounts[8102]@160) ranges () write (+accounts[8101] +accounts[8102])
         reply Committed { receipt: Memory { copies: 2 } }",
    );
    let balances: Vec<Value> = world.rows(&accounts()).iter().map(|row| row[2].clone()).collect();
    assert_eq!(balances, [Value::BigInt(15), Value::BigInt(27)]);
}

/// A rollback must not wait for a lock that an abandoned scan of the query processor waits for.
#[test]
fn a_rollback_ends_a_scan_that_waits() {
    let mut world = filled();
    world.begin(AccessMode::ReadWrite);
    world.hold_accesses = true;
    assert_eq!(world.ask(scan(vec![KeyRange::whole(ACCOUNTS)], None, false)), None);
    world.ask(SessionRequest::Rollback);
    script(
        &mut world,
        "serve?
         begin
         may T3 read accounts[..]?
         finish T3
         reply Failed(Cancelled)
         reply RolledBack",
    );
}

/// After an abort everything is read anew under a new identifier and the first age: a renewed age would starve.
#[test]
fn an_aborted_program_is_tried_again_with_its_age() {
    let mut world = filled();
    world.commits.push_back(Some(ConflictKind::StaleRead));
    world.ages.clear();
    world.run(&add_balance(), &[1.into(), Value::BigInt(5)]);
    script(
        &mut world,
        "serve?
         begin
         may T3 write accounts[8101]?
         read accounts[8101]
         commit T3 read (accounts[8101]@130) ranges () write (+accounts[8101])
         serve?
         begin
         may T4 write accounts[8101]?
         read accounts[8101]
         commit T4 read (accounts[8101]@130) ranges () write (+accounts[8101])
         reply executed 1, 1 rows",
    );
    assert_eq!(world.ages[0], world.ages[1]);
    assert_eq!(world.ages[1].first, transaction(3));
}

/// Retries must end: the client is told of the conflict when its statement has taken too long.
#[test]
fn retries_wait_longer_and_end() {
    let mut world = filled();
    world.accesses.extend([Some(ConflictKind::Deadlock); 1_000]);
    assert_eq!(world.execute(&add_balance(), &[1.into(), Value::BigInt(5)]), None);
    let mut tries = world.said().matches("begin").count();
    assert_eq!(tries, 2, "the first retry is at once, the second is not");
    let until = world.now.boot + SERVICE_PATIENCE + 1_000_000_000;
    let reply = loop {
        assert!(world.now.boot < until, "still retrying");
        if let Some(reply) = world.pass(10_000_000) {
            break reply;
        }
    };
    assert!(matches!(reply, SessionReply::Failed(Failure::Conflict { .. })), "{reply:?}");
    tries += world.said().matches("begin").count();
    assert!((50..400).contains(&tries), "{tries} tries");
}

/// A transaction doomed between two statements holds nothing any more, and its client learns of it with the next one.
#[test]
fn a_doom_between_statements_is_told_with_the_next() {
    let mut world = filled();
    world.begin(AccessMode::ReadWrite);
    world.run(&add_balance(), &[1.into(), Value::BigInt(5)]);
    let doomed = ConcurrencyReply::Doomed {
        transaction: transaction(3),
        conflict: Conflict::of(ConflictKind::PreparedElsewhere),
    };
    world.tell(ServerKind::ConcurrencyController, Message::ConcurrencyReply(doomed));
    world.ask(SessionRequest::Commit);
    let again = world.ask(SessionRequest::Rollback);
    assert_eq!(again, Some(SessionReply::RolledBack));
    script(
        &mut world,
        "serve?
         begin
         may T3 write accounts[8101]?
         read accounts[8101]
         reply executed 1, 1 rows
         finish T3
         reply conflict PreparedElsewhere
         reply RolledBack",
    );
    assert_eq!(world.rows(&accounts())[0][2], Value::BigInt(10));
}

/// A program of its own that is doomed while it waits for a lock is tried again; the late grant of the first try is ignored.
#[test]
fn a_doom_while_waiting_tries_again() {
    let mut world = filled();
    world.hold_accesses = true;
    assert_eq!(world.execute(&add_balance(), &[1.into(), Value::BigInt(5)]), None);
    world.hold_accesses = false;
    let doomed = ConcurrencyReply::Doomed {
        transaction: transaction(3),
        conflict: Conflict::of(ConflictKind::PreparedElsewhere),
    };
    let reply = world.tell(ServerKind::ConcurrencyController, Message::ConcurrencyReply(doomed));
    assert!(matches!(reply, Some(SessionReply::Executed { .. })), "{reply:?}");
    let late = ConcurrencyReply::LockReply { transaction: transaction(3), conflict: None };
    world.said();
    world.tell(ServerKind::ConcurrencyController, Message::ConcurrencyReply(late));
    assert_eq!(world.said(), "");
}

/// A stale item must be refreshed before it is read, never served.
#[test]
fn a_stale_item_is_refreshed_first() {
    let mut world = filled();
    world.stale.insert(Item { table: ACCOUNTS, key: account_key(1) });
    world.run(&add_balance(), &[1.into(), Value::BigInt(5)]);
    script(
        &mut world,
        "serve?
         begin
         may T3 write accounts[8101]?
         read accounts[8101]
         refresh accounts[8101..810100]
         read accounts[8101]
         commit T3 read (accounts[8101]@130) ranges () write (+accounts[8101])
         reply executed 1, 1 rows",
    );
}

/// Rows read under a lease that has run out must not reach a client: a program of its own starts over.
#[test]
fn a_failed_check_after_a_read_starts_over() {
    let mut world = filled();
    world.after.push_back(false);
    world.run(&select_point(), &[1.into()]);
    script(
        &mut world,
        "serve?
         begin snapshot
         decided accounts[8101] at 170?
         read accounts[8101] at 170
         still epoch 1?
         serve?
         begin snapshot
         decided accounts[8101] at 180?
         read accounts[8101] at 180
         still epoch 1?
         reply executed 1, 1 rows",
    );
    world.begin(AccessMode::ReadOnly);
    world.run(&select_point(), &[1.into()]);
    world.after.push_back(false);
    let reply = world.execute(&select_point(), &[2.into()]);
    assert!(
        matches!(reply, Some(SessionReply::Failed(Failure::Conflict { .. }))),
        "the client has seen rows of this snapshot: {reply:?}"
    );
}

/// A program compiled against another schema must not run, and a reader's catalog row is waited for like any other.
#[test]
fn a_changed_schema_is_noticed_before_anything_else() {
    let mut world = filled();
    let relying = |seen: Timestamp, program: Arc<Program>| {
        let mut program = Program::clone(&program);
        program.relies_on = Arc::new([(Key::new(b"naccounts"), seen)]);
        Arc::new(program)
    };
    world.run(&relying(Timestamp::ZERO, add_balance()), &[1.into(), Value::BigInt(5)]);
    script(
        &mut world,
        "serve?
         begin
         may T3 at once write accounts[8101]?
         compare catalog[6e6163636f756e7473]@0, read accounts[8101]
         commit T3 read (catalog[6e6163636f756e7473]@0 accounts[8101]@130) ranges () write (+accounts[8101])
         reply executed 1, 1 rows",
    );
    let other = Timestamp { clock: 5, ..Timestamp::ZERO };
    let reply = world.execute(&relying(other, select_point()), &[1.into()]);
    assert!(matches!(reply, Some(SessionReply::Failed(Failure::SchemaChanged { .. }))), "{reply:?}");
    script(
        &mut world,
        "serve?
         begin snapshot
         decided catalog[6e6163636f756e7473] at 200?
         read catalog[6e6163636f756e7473] at 200
         still epoch 1?
         reply schema changed",
    );
}

/// A procedure would ask twice for each of its rows; and what it reads the second time must be what it has written the first.
#[test]
fn what_a_program_names_is_asked_for_at_once() {
    let mut world = filled();
    let (rows, _) = world.run(&add_to_both(), &[1.into(), Value::BigInt(5), 2.into()]);
    assert_eq!(rows, [[Value::BigInt(25)]]);
    script(
        &mut world,
        "serve?
         begin
         may T3 at once write accounts[8101], write accounts[8102]?
         compare, read accounts[8101], read accounts[8102]
         commit T3 read (accounts[8101]@130 accounts[8102]@160) ranges () write (+accounts[8101] +accounts[8102])
         reply executed 1, 1 rows",
    );
    let (rows, _) = world.run(&add_to_both(), &[1.into(), Value::BigInt(5), 1.into()]);
    assert_eq!(rows, [[Value::BigInt(25)]], "15 and twice 5");
    script(
        &mut world,
        "serve?
         begin
         may T4 at once write accounts[8101], write accounts[8101]?
         compare, read accounts[8101], read accounts[8101]
         commit T4 read (accounts[8101]@190) ranges () write (+accounts[8101])
         reply executed 1, 1 rows",
    );
}

/// What another transaction holds, or what is stale here, must neither be passed over nor hold up what comes before it.
#[test]
fn what_cannot_be_had_at_once_is_asked_for_in_its_turn() {
    let mut world = filled();
    world.stale.insert(Item { table: ACCOUNTS, key: account_key(2) });
    world.run(&add_to_both(), &[1.into(), Value::BigInt(5), 2.into()]);
    script(
        &mut world,
        "serve?
         begin
         may T3 at once write accounts[8101], write accounts[8102]?
         compare, read accounts[8101], read accounts[8102]
         read accounts[8102]
         refresh accounts[8102..810200]
         read accounts[8102]
         commit T3 read (accounts[8101]@130 accounts[8102]@160) ranges () write (+accounts[8101] +accounts[8102])
         reply executed 1, 1 rows",
    );
    world.accesses = [None, Some(ConflictKind::Deadlock), None, Some(ConflictKind::Deadlock)].into();
    world.execute(&add_to_both(), &[1.into(), Value::BigInt(5), 2.into()]);
    assert!(world.said().contains(
        "may T4 at once write accounts[8101], write accounts[8102]?
compare, read accounts[8101]
may T4 write accounts[8102]?
finish T4"
    ));
}

/// Of rows that a program relies on and that are not all as it was compiled with, it must be known which is another, and a stale one must be fetched.
#[test]
fn changed_rows_are_read_one_by_one() {
    let mut world = filled();
    let seen = |rows: &[(&[u8], u64)]| {
        let mut program = Program::clone(&add_balance());
        let version = |clock| if clock == 0 { Timestamp::ZERO } else { Timestamp { clock, ..Timestamp::ZERO } };
        program.relies_on = rows.iter().map(|(name, clock)| (Key::new(name), version(*clock))).collect();
        Arc::new(program)
    };
    let reply = world.execute(&seen(&[(b"na", 0), (b"nb", 5)]), &[1.into(), Value::BigInt(5)]);
    let Some(SessionReply::Failed(Failure::SchemaChanged { key })) = reply else { panic!("{reply:?}") };
    assert_eq!(key, Key::new(b"nb"));
    script(
        &mut world,
        "serve?
         begin
         may T3 at once write accounts[8101]?
         compare catalog[6e61]@0 catalog[6e62]@5, read accounts[8101]
         read catalog[6e61]
         read catalog[6e62]
         still epoch 1?
         finish T3
         reply schema changed",
    );
    world.stale.insert(Item { table: TableId::CATALOG, key: Key::new(b"nb") });
    world.run(&seen(&[(b"na", 0), (b"nb", 0)]), &[1.into(), Value::BigInt(5)]);
    script(
        &mut world,
        "serve?
         begin
         may T4 at once write accounts[8101]?
         compare catalog[6e61]@0 catalog[6e62]@0, read accounts[8101]
         read catalog[6e61]
         read catalog[6e62]
         refresh catalog[6e62..6e6200]
         read catalog[6e62]
         read accounts[8101]
         commit T4 read (catalog[6e61]@0 catalog[6e62]@0 accounts[8101]@130) ranges () write (+accounts[8101])
         reply executed 1, 1 rows",
    );
}

/// What a client is told of the schema without a commit must hold though its transaction writes: a change that is undecided here may have
/// been answered elsewhere.
#[test]
fn what_is_confirmed_is_waited_for() {
    let mut world = filled();
    let confirm = |seen: Timestamp| {
        let mut program = Program::clone(&world::program(Vec::new()));
        program.relies_on = Arc::new([(Key::new(b"naccounts"), seen)]);
        program.read_only = true;
        Arc::new(program)
    };
    world.begin(AccessMode::ReadWrite);
    world.run(&confirm(Timestamp::ZERO), &[]);
    script(
        &mut world,
        "serve?
         begin
         decided catalog[6e6163636f756e7473] at 18446744073709551615?
         read catalog[6e6163636f756e7473]
         still epoch 1?
         reply executed 0, 0 rows",
    );
    world.after.push_back(false);
    world.run(&confirm(Timestamp::ZERO), &[]);
    let again = world.said();
    assert!(again.contains("still epoch 1?\nserve?\ndecided catalog"), "{again}");
    let other = Timestamp { clock: 5, ..Timestamp::ZERO };
    let reply = world.execute(&confirm(other), &[]);
    assert!(matches!(reply, Some(SessionReply::Failed(Failure::SchemaChanged { .. }))), "{reply:?}");
}

/// Cancelling must free the locks at once; after the commit was sent only the truth may be told: nobody knows.
#[test]
fn cancelling_before_and_after_the_commit_is_sent() {
    let mut world = filled();
    world.hold_accesses = true;
    world.execute(&add_balance(), &[1.into(), Value::BigInt(5)]);
    assert_eq!(world.ask(SessionRequest::Cancel), Some(SessionReply::Failed(Failure::Cancelled)));
    assert!(world.said().ends_with("finish T3\nreply Failed(Cancelled)"));
    world.hold_accesses = false;
    world.hold_commits = true;
    world.execute(&add_balance(), &[1.into(), Value::BigInt(5)]);
    let changed = Some(ChangedRows { first: Item { table: ACCOUNTS, key: account_key(1) }, others: 0 });
    let failure = Failure::Unknown { transaction: transaction(4), changed };
    assert_eq!(world.ask(SessionRequest::Cancel), Some(SessionReply::Failed(failure)));
    world.hold_commits = false;
    world.run(&add_balance(), &[2.into(), Value::BigInt(5)]);
}

/// What touches no data must not depend on the site, and commits nothing.
#[test]
fn nothing_is_asked_for_nothing() {
    let mut world = World::new();
    let one = world::program(vec![messages::program::Action::Select {
        source: None,
        filter: None,
        output: vec![messages::program::Expression::Constant(1.into())],
        offset: None,
        limit: None,
        lock: None,
        order: Vec::new(),
    }]);
    assert_eq!(world.run(&one, &[]).0, vec![vec![1.into()]]);
    world.begin(AccessMode::ReadWrite);
    let reply = world.ask(SessionRequest::Commit);
    let receipt = CommitReceipt::Nothing;
    assert_eq!(reply, Some(SessionReply::Committed { receipt }));
    script(
        &mut world,
        "reply executed 1, 1 rows
         reply Committed { receipt: Nothing }",
    );
}
