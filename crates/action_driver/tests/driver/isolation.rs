//! Transactions below the strict level: what is read at which snapshot, and what is checked.

use crate::programs::{add_balance, delete_from, scan, select_point, shift_ids};
use crate::statements::{filled, filled_in};
use crate::world::{ACCOUNTS, World, accounts, program};
use messages::planted::{Bug, Planted};
use messages::program::{Action, Expression};
use messages::session::{AccessMode, Failure, Isolation, SessionReply, SessionRequest};
use messages::{ConflictKind, KeyRange};
use values::Value;

/// Another session than the one that is looked at.
const OTHER: u64 = 9;

fn begin(world: &mut World, isolation: Isolation) {
    let reply = world.ask(SessionRequest::Begin { mode: AccessMode::ReadWrite, isolation, time_micros: 0 });
    assert_eq!(reply, Some(SessionReply::Begun));
}

/// The balance of an account, as a statement finds it.
fn balance(world: &mut World, id: i32) -> Option<Value> {
    world.run(&select_point(), &[id.into()]).0.pop().map(|row| row[2].clone())
}

/// Somebody else adds to the balance of an account, and commits.
fn add_elsewhere(world: &mut World, id: i32, addend: i64) {
    world.execute_as(OTHER, &add_balance(), &[id.into(), addend.into()]);
}

/// A client that asked for READ COMMITTED would see what was true long ago, or lose its transaction because of what it has merely looked at.
#[test]
fn at_read_committed_each_statement_reads_what_is_committed() {
    let mut world = filled(2);
    begin(&mut world, Isolation::ReadCommitted);
    let before = balance(&mut world, 1);
    add_elsewhere(&mut world, 1, 5);
    let after = balance(&mut world, 1);
    assert_ne!(before, after);
    world.run(&add_balance(), &[2.into(), 7.into()]);
    world.said();
    assert!(matches!(world.ask(SessionRequest::Commit), Some(SessionReply::Committed { .. })));
    let (_, history) = world.histories.last().expect("it has committed");
    assert_eq!((history.reads.len(), history.ranges.len(), history.writes.len()), (1, 0, 1), "{history:?}");
}

/// Whoever reads would be in the way of those who write, and they in its way.
#[test]
fn a_statement_that_changes_nothing_locks_nothing() {
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead] {
        let mut world = filled(1);
        begin(&mut world, isolation);
        world.said();
        balance(&mut world, 1);
        let said = world.said();
        assert!(said.contains("decided") && !said.contains("may T"), "{said}");
    }
}

/// A transaction would not see what it has done itself.
#[test]
fn own_changes_are_seen_at_every_level() {
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead] {
        let mut world = filled(2);
        begin(&mut world, isolation);
        let before = balance(&mut world, 1);
        world.run(&add_balance(), &[1.into(), 7.into()]);
        assert_ne!(balance(&mut world, 1), before);
        world.run(&delete_from(), &[2.into()]);
        assert_eq!(balance(&mut world, 2), None);
    }
}

/// An update would be lost, or a transaction see two moments.
#[test]
fn at_repeatable_read_the_first_committer_wins() {
    let found = |planted| {
        let mut world = filled_in(World::planted(planted), 2);
        begin(&mut world, Isolation::RepeatableRead);
        let before = balance(&mut world, 2);
        add_elsewhere(&mut world, 1, 5);
        add_elsewhere(&mut world, 2, 5);
        let is_repeated = balance(&mut world, 2) == before;
        let conflict = match world.execute(&add_balance(), &[1.into(), 7.into()]) {
            Some(SessionReply::Failed(Failure::Conflict { conflict })) => Some(conflict.kind),
            _ => None,
        };
        (is_repeated, conflict)
    };
    assert_eq!(found(Planted::none()), (true, Some(ConflictKind::ChangedSinceSnapshot)));
    assert_eq!(found(Planted::only(Bug::FirstCommitterPassed)), (true, None));
    assert!(!found(Planted::only(Bug::SnapshotTakenAnew)).0);
}

/// Who changes nothing because a row has gone would not notice that its snapshot still has it.
#[test]
fn at_repeatable_read_what_has_gone_since_is_lost() {
    let mut world = filled(2);
    begin(&mut world, Isolation::RepeatableRead);
    balance(&mut world, 2);
    assert_eq!(world.run(&add_balance(), &[5.into(), 7.into()]).1, 0, "it was not there either");
    world.execute_as(OTHER, &delete_from(), &[1.into()]);
    match world.execute(&add_balance(), &[1.into(), 7.into()]) {
        Some(SessionReply::Failed(Failure::Conflict { conflict })) => {
            assert_eq!(conflict.kind, ConflictKind::ChangedSinceSnapshot);
        }
        other => panic!("not lost: {other:?}"),
    }
}

/// A range that rows have left since the snapshot would count as what the snapshot has.
#[test]
fn at_repeatable_read_ranges_count_as_read_at_the_snapshot() {
    let mut world = filled(2);
    begin(&mut world, Isolation::RepeatableRead);
    balance(&mut world, 2);
    let snapshot = world.last_snapshot();
    world.execute_as(OTHER, &delete_from(), &[1.into()]);
    world.run(&shift_ids(), &[]);
    world.ask(SessionRequest::Commit);
    let (_, history) = world.histories.last().expect("what it has read is checked");
    assert!(history.ranges.iter().any(|read| read.range.table == ACCOUNTS && read.as_of <= snapshot), "{history:?}");
}

/// A client that says SELECT 1 to fix what it reads would see what was committed later.
#[test]
fn the_first_statement_fixes_the_snapshot_whatever_it_does() {
    let one = program(vec![Action::row_of(vec![Expression::Constant(1.into())])]);
    let mut world = filled(1);
    begin(&mut world, Isolation::RepeatableRead);
    let before = world.rows(&accounts());
    world.run(&one, &[]);
    add_elsewhere(&mut world, 1, 5);
    assert_eq!(balance(&mut world, 1).as_ref(), before[0].get(2));
}

/// Rows would be told that a site without its leases cannot know to be the newest; or a client that has not been told anything would lose its transaction.
#[test]
fn a_statement_that_cannot_be_confirmed_is_read_again() {
    let mut world = filled(1);
    begin(&mut world, Isolation::ReadCommitted);
    balance(&mut world, 1);
    world.said();
    world.after = [false, true].into();
    assert!(balance(&mut world, 1).is_some());
    assert_eq!(world.said().matches("begin snapshot").count(), 2);
    world.snapshots_gone = 1;
    assert!(balance(&mut world, 1).is_some());
    (world.snapshots_gone, world.gives_up) = (1, true);
    let given_up = world.execute(&select_point(), &[1.into()]);
    assert!(
        matches!(given_up, Some(SessionReply::Failed(Failure::Conflict { .. }))),
        "it would be again: {given_up:?}"
    );
    let mut world = filled_in(World::planted(Planted::only(Bug::ReadSnapshotUnconfirmed)), 1);
    begin(&mut world, Isolation::ReadCommitted);
    world.said();
    balance(&mut world, 1);
    assert!(!world.said().contains("still"));
}

/// A query of several batches would show two moments, whatever its client does between them.
#[test]
fn a_query_is_read_at_one_snapshot_whatever_runs_meanwhile() {
    let batch = |world: &mut World, query| {
        let mut request = scan(vec![KeyRange::whole(ACCOUNTS)], None, false);
        if let SessionRequest::Scan { query: number, .. } = &mut request {
            *number = query;
        }
        match world.ask(request) {
            Some(SessionReply::Scanned { rows, .. }) => rows,
            other => panic!("not scanned: {other:?}"),
        }
    };
    let mut world = filled(2);
    begin(&mut world, Isolation::ReadCommitted);
    let first = batch(&mut world, Some(1));
    let before = balance(&mut world, 1);
    add_elsewhere(&mut world, 1, 5);
    assert_ne!(balance(&mut world, 1), before);
    assert_eq!(batch(&mut world, Some(1)), first);
    let next = batch(&mut world, Some(2));
    assert_ne!(next, first);
    assert_eq!(batch(&mut world, None), next);
    world.ask(SessionRequest::Commit);
    let (_, history) = world.histories.last().expect("what a statement that writes has read is checked");
    assert_eq!(history.ranges.len(), 1, "{history:?}");
}

/// Versions that nobody reads any more would be kept for a client that thinks.
#[test]
fn a_statement_keeps_its_snapshot_no_longer_than_it_lasts() {
    let in_use = |planted| {
        let mut world = filled_in(World::planted(planted), 1);
        begin(&mut world, Isolation::ReadCommitted);
        balance(&mut world, 1);
        let before = balance(&mut world, 1);
        add_elsewhere(&mut world, 1, 5);
        let is_old = balance(&mut world, 1) == before;
        world.pass(1_000_000_000);
        let (in_use, _) = world.snapshots_reported.clone().expect("they are reported");
        (is_old, in_use.len())
    };
    assert_eq!(in_use(Planted::none()), (false, 0));
    let mut world = filled(1);
    begin(&mut world, Isolation::RepeatableRead);
    balance(&mut world, 1);
    world.run(&add_balance(), &[1.into(), 7.into()]);
    add_elsewhere(&mut world, 1, 5);
    world.pass(1_000_000_000);
    assert_eq!(world.snapshots_reported.clone().expect("they are reported").0.len(), 1);
    world.ask(SessionRequest::Commit);
    world.pass(1_000_000_000);
    assert_eq!(world.snapshots_reported.expect("they are reported").0.len(), 0, "it has committed");
    assert!(in_use(Planted::only(Bug::StatementSnapshotKept)).0);
}
