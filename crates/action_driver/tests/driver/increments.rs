//! Updates that only add: what the driver says for them, and when it does without.

use crate::programs::*;
use crate::scripts::{filled, script};
use crate::world::{ACCOUNTS, World, account_key};
use messages::replication::Increments;
use messages::session::{AccessMode, Failure, SessionReply, SessionRequest};
use messages::{Conflict, ConflictKind, Item};
use values::Value;

fn whole() -> World {
    let mut world = filled();
    world.increments = Increments::ToAll;
    world
}

fn balance(world: &mut World, id: i32) -> Value {
    world.run(&select_point(), &[id.into()]).0[0][2].clone()
}

fn add(world: &mut World, id: i32, number: i64) -> u64 {
    world.run(&add_unread(), &[id.into(), Value::BigInt(number)]).1
}

fn commit(world: &mut World) {
    let reply = world.ask(SessionRequest::Commit);
    assert!(matches!(reply, Some(SessionReply::Committed { .. })), "{reply:?}");
}

/// A row that is only added to must not be recorded as read, or two increments would be a conflict.
#[test]
fn an_addition_reads_nothing() {
    let mut world = whole();
    assert_eq!(add(&mut world, 1, 5), 1);
    script(
        &mut world,
        "serve?
         begin
         may T3 add to accounts[8101]?
         read accounts[8101]
         serve?
         commit T3 read () ranges () write (accounts[8101][(2, 5)])
         reply executed 1, 0 rows",
    );
    assert_eq!(balance(&mut world, 1), Value::BigInt(15));
}

/// That a row is absent is a fact that another transaction may change: it is read.
#[test]
fn nothing_is_added_to_what_is_absent() {
    let mut world = whole();
    assert_eq!(add(&mut world, 9, 5), 0);
    script(
        &mut world,
        "serve?
         begin
         may T3 add to accounts[8109]?
         read accounts[8109]
         commit T3 read (accounts[8109]@0) ranges () write ()
         reply executed 0, 0 rows",
    );
}

/// Who reads what it has added to must see the sum, and commit what it has seen.
#[test]
fn reading_back_makes_it_a_write() {
    let mut world = whole();
    world.begin(AccessMode::ReadWrite);
    add(&mut world, 1, 5);
    add(&mut world, 1, 6);
    assert_eq!(balance(&mut world, 1), Value::BigInt(21));
    add(&mut world, 2, 1);
    assert_eq!(world.run(&select_ids(false), &[]).0.len(), 2);
    add(&mut world, 1, 1);
    commit(&mut world);
    let history = &world.histories.last().unwrap().1;
    assert_eq!((history.reads.len(), history.writes.len(), history.increments.len()), (2, 2, 0));
    assert_eq!([1, 2].map(|id| balance(&mut world, id)), [Value::BigInt(22), Value::BigInt(21)]);
}

/// Rows that are usually read back must not be added to: two readers of a sum would wait for each other.
#[test]
fn what_is_read_back_is_not_added_to_the_next_time() {
    let mut world = whole();
    let mut increments = Vec::new();
    for reads in [true, false, true, false] {
        world.begin(AccessMode::ReadWrite);
        add(&mut world, 1, 1);
        if reads {
            balance(&mut world, 1);
        }
        commit(&mut world);
        increments.push(world.histories.last().unwrap().1.increments.len());
    }
    assert_eq!(increments, [0, 0, 0, 0]);
    for _ in 0..64 {
        add(&mut world, 1, 1);
    }
    assert_eq!(world.histories.last().unwrap().1.increments.len(), 1, "nobody has read it for long");
}

/// A member whose copy is not complete has nothing to add to: a transaction that has begun before commits what it reads then.
#[test]
fn a_member_that_comes_back_is_sent_rows() {
    let mut world = whole();
    world.begin(AccessMode::ReadWrite);
    add(&mut world, 1, 5);
    world.increments = Increments::ToNothing;
    world.said();
    commit(&mut world);
    script(
        &mut world,
        "serve?
         give up T3 accounts[8101]
         may T3 write accounts[8101]?
         read accounts[8101]
         commit T3 read (accounts[8101]@130) ranges () write (+accounts[8101])
         reply Committed { receipt: Memory { copies: 2 } }",
    );
    assert_eq!(balance(&mut world, 1), Value::BigInt(15));
    add(&mut world, 1, 5);
    assert_eq!(world.histories.last().unwrap().1.increments.len(), 0);
}

/// While a member is being repaired, what it lacks is sent as a row, and everything else added to as ever: or a hot row would be waited for until the
/// last of its rows is copied.
#[test]
fn what_a_member_lacks_is_sent_as_a_row() {
    let mut world = whole();
    world.increments = Increments::ToWhatIsThere;
    world.lacking = vec![Item { table: ACCOUNTS, key: account_key(1) }];
    world.begin(AccessMode::ReadWrite);
    add(&mut world, 2, 5);
    world.said();
    commit(&mut world);
    script(
        &mut world,
        "serve?
         add to accounts[8102]?
         commit T3 read () ranges () write (accounts[8102][(2, 5)])
         reply Committed { receipt: Memory { copies: 2 } }",
    );
    world.begin(AccessMode::ReadWrite);
    add(&mut world, 2, 1);
    add(&mut world, 1, 5);
    world.said();
    commit(&mut world);
    script(
        &mut world,
        "serve?
         add to accounts[8101] accounts[8102]?
         give up T4 accounts[8102] accounts[8101]
         may T4 add to accounts[8102]?
         read accounts[8102]
         may T4 write accounts[8101]?
         read accounts[8101]
         commit T4 read (accounts[8101]@130) ranges () write (+accounts[8101] accounts[8102][(2, 1)])
         reply Committed { receipt: Memory { copies: 2 } }",
    );
    assert_eq!([1, 2].map(|id| balance(&mut world, id)), [Value::BigInt(15), Value::BigInt(26)]);
}

/// Two that have added to the same rows and then want to read them would wait for each other if each kept what it may add to.
#[test]
fn who_reads_what_it_adds_to_gives_that_up_first() {
    let mut world = whole();
    world.begin(AccessMode::ReadWrite);
    for id in [1, 2] {
        add(&mut world, id, 1);
    }
    world.said();
    assert_eq!(world.run(&select_ids(false), &[]).0.len(), 2);
    let said = world.said();
    let gives_up: Vec<_> = said.lines().filter(|line| line.starts_with("give up")).collect();
    assert_eq!(gives_up, ["give up T3 accounts[8101] accounts[8102]"], "{said}");
}

/// Statements that have been answered cannot run again; but what they leave can be committed again, if none of them has seen what it was lost on.
#[test]
fn a_commit_that_was_lost_on_nothing_read_is_tried_again() {
    let mut world = whole();
    world.begin(AccessMode::ReadWrite);
    assert_eq!(balance(&mut world, 2), Value::BigInt(20));
    add(&mut world, 1, 5);
    world.commits.push_back(Some(ConflictKind::EpochChanged));
    world.increments = Increments::ToWhatIsThere;
    world.lacking = vec![Item { table: ACCOUNTS, key: account_key(1) }];
    world.said();
    commit(&mut world);
    script(
        &mut world,
        "serve?
         add to accounts[8101]?
         give up T3 accounts[8101]
         may T3 write accounts[8101]?
         read accounts[8101]
         commit T3 read (accounts[8101]@130 accounts[8102]@160) ranges () write (+accounts[8101])
         serve?
         begin
         may T4 read accounts[8102]?
         read accounts[8102]
         may T4 add to accounts[8101]?
         read accounts[8101]
         serve?
         add to accounts[8101]?
         give up T4 accounts[8101]
         may T4 write accounts[8101]?
         read accounts[8101]
         commit T4 read (accounts[8101]@130 accounts[8102]@160) ranges () write (+accounts[8101])
         reply Committed { receipt: Memory { copies: 2 } }",
    );
    assert_eq!(balance(&mut world, 1), Value::BigInt(15), "once");
    assert_eq!(world.ages[world.ages.len() - 2], world.ages[world.ages.len() - 1], "it keeps its age");
}

/// Who waits for a row that such a commit has written must not be doomed by it, but waited for: its locks are taken again, in the order in which the
/// program came to them.
#[test]
fn a_commit_that_is_tried_again_takes_its_locks_again() {
    let mut world = whole();
    world.begin(AccessMode::ReadWrite);
    world.run(&add_balance(), &[2.into(), Value::BigInt(1)]);
    add(&mut world, 1, 5);
    world.commits.push_back(Some(ConflictKind::EpochChanged));
    world.said();
    commit(&mut world);
    script(
        &mut world,
        "serve?
         commit T3 read (accounts[8102]@160) ranges () write (+accounts[8102] accounts[8101][(2, 5)])
         serve?
         begin
         may T4 write accounts[8102]?
         may T4 add to accounts[8101]?
         read accounts[8101]
         serve?
         commit T4 read (accounts[8102]@160) ranges () write (+accounts[8102] accounts[8101][(2, 5)])
         reply Committed { receipt: Memory { copies: 2 } }",
    );
}

/// But what a statement has seen must not have changed, whoever tries again.
#[test]
fn a_commit_that_was_lost_on_what_was_read_is_over() {
    let seen = Conflict::on(Item { table: ACCOUNTS, key: account_key(2) }, ConflictKind::YoungerDies, None);
    let unseen = Conflict::on(Item { table: ACCOUNTS, key: account_key(1) }, ConflictKind::YoungerDies, None);
    for (conflict, commits) in [(seen, false), (unseen, true), (Conflict::of(ConflictKind::YoungerDies), false)] {
        let mut world = whole();
        world.begin(AccessMode::ReadWrite);
        balance(&mut world, 2);
        add(&mut world, 1, 5);
        world.lost_commits.push_back(conflict.clone());
        let reply = world.ask(SessionRequest::Commit);
        assert_eq!(matches!(reply, Some(SessionReply::Committed { .. })), commits, "{conflict:?}: {reply:?}");
    }
}

/// A refused increment is done as a write.
#[test]
fn a_refused_addition_is_written() {
    let mut world = whole();
    world.commits.push_back(Some(ConflictKind::IncrementRefused));
    assert_eq!(add(&mut world, 1, 5), 1);
    assert_eq!(world.histories.last().unwrap().1.writes.len(), 1);
    assert_eq!(balance(&mut world, 1), Value::BigInt(15));
    let mut world = whole();
    world.begin(AccessMode::ReadWrite);
    add(&mut world, 1, 5);
    world.commits.push_back(Some(ConflictKind::IncrementRefused));
    commit(&mut world);
    assert_eq!(world.histories.last().unwrap().1.writes.len(), 1);
    assert_eq!(balance(&mut world, 1), Value::BigInt(15));
}

/// A commit that fails while it reads what it adds to must leave no transaction behind, which later statements would become part of.
#[test]
fn a_commit_that_fails_is_over() {
    let mut world = whole();
    world.begin(AccessMode::ReadWrite);
    add(&mut world, 1, 5);
    world.increments = Increments::ToNothing;
    world.accesses.push_back(Some(ConflictKind::Deadlock));
    let reply = world.ask(SessionRequest::Commit);
    assert!(matches!(reply, Some(SessionReply::Failed(Failure::Conflict { .. }))), "{reply:?}");
    add(&mut world, 2, 1);
    assert_eq!(world.histories.last().unwrap().1.writes.len(), 1, "it has committed by itself");
    assert_eq!([1, 2].map(|id| balance(&mut world, id)), [Value::BigInt(10), Value::BigInt(21)]);
}

/// A number that the cast would not let through must not be added to.
#[test]
fn a_narrowing_cast_is_evaluated() {
    let mut world = whole();
    add(&mut world, 1, 5_000_000_000);
    let (sqlstate, _) = world.fail(&add_narrowed(), &[1.into(), Value::Integer(1)]);
    assert_eq!(sqlstate, "22003");
}

/// An overflow is the ordinary update's to tell, with its error; a savepoint takes an increment back.
#[test]
fn overflows_and_rollbacks_are_those_of_any_update() {
    let mut world = whole();
    let (sqlstate, _) = world.fail(&add_unread(), &[1.into(), Value::BigInt(i64::MAX)]);
    assert_eq!(sqlstate, "22003");
    // Also when it is what was added before that does not leave room, and something later would make it fit again.
    let large = i64::MAX / 5 * 2;
    world.begin(AccessMode::ReadWrite);
    assert_eq!([large, large].map(|number| add(&mut world, 1, number)), [1, 1]);
    let (sqlstate, _) = world.fail(&add_unread(), &[1.into(), Value::BigInt(large)]);
    assert_eq!(sqlstate, "22003");
    world.ask(SessionRequest::Rollback);
    world.begin(AccessMode::ReadWrite);
    add(&mut world, 1, 1);
    world.ask(SessionRequest::Savepoint { name: "s".into() });
    add(&mut world, 1, 100);
    world.ask(SessionRequest::RollbackTo { name: "s".into() });
    commit(&mut world);
    assert_eq!(balance(&mut world, 1), Value::BigInt(11));
}
