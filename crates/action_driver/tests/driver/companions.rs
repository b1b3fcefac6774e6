//! Programs that commit together: what waits for a row that another program has just written goes on in its transaction.

use crate::programs::*;
use crate::scripts::{filled, script, transaction};
use crate::world::{ACCOUNTS, World, account_key, accounts, program};
use messages::concurrency::ConcurrencyReply;
use messages::planted::{Bug, Planted};
use messages::program::Action;
use messages::replication::Increments;
use messages::session::{Failure, SessionReply, SessionRequest};
use messages::{ChangedRows, Conflict, ConflictKind, Item, Message, ServerKind, SessionId};
use std::collections::BTreeMap;
use values::Value;

const SECOND: u64 = 8;
const THIRD: u64 = 9;

/// The first session's program asks for account 1, and two others that add to it wait.
fn three() -> World {
    let mut world = filled();
    world.hold_accesses = true;
    assert_eq!(world.execute(&add_balance(), &[1.into(), Value::BigInt(1)]), None);
    for (session, addend) in [(SECOND, 100), (THIRD, 10_000)] {
        world.execute_as(session, &add_balance(), &[1.into(), Value::BigInt(addend)]);
    }
    world.hold_accesses = false;
    for number in [4, 5] {
        busy(&mut world, number);
    }
    world.said();
    world
}

fn busy(world: &mut World, number: u64) {
    let busy = ConcurrencyReply::LockBusy { transaction: transaction(number) };
    world.tell(ServerKind::ConcurrencyController, Message::ConcurrencyReply(busy));
}

fn grant(world: &mut World, number: u64) -> Option<SessionReply> {
    let granted = ConcurrencyReply::LockReply { transaction: transaction(number), conflict: None };
    world.tell(ServerKind::ConcurrencyController, Message::ConcurrencyReply(granted))
}

fn balances(world: &World) -> Vec<Value> {
    world.rows(&accounts()).into_iter().map(|mut row| row.remove(2)).collect()
}

fn returned(reply: &SessionReply) -> i64 {
    match reply {
        SessionReply::Executed { rows, .. } => rows[0][0].as_integer().expect("a number"),
        other => panic!("not executed: {other:?}"),
    }
}

/// Otherwise a hot row would cost each program a round of messages; and whoever was told of a sum that nobody committed would be wrong.
#[test]
fn who_waits_for_a_row_goes_on_in_the_transaction_that_wrote_it() {
    let mut world = three();
    let first = grant(&mut world, 3).expect("an answer");
    script(
        &mut world,
        "read accounts[8101]
         hand over T4 to T3
         hand over T5 to T3
         commit T3 read (accounts[8101]@130) ranges () write (+accounts[8101])
         reply executed 1, 1 rows
         reply executed 1, 1 rows
         reply executed 1, 1 rows",
    );
    assert_eq!(returned(&first), 11);
    let others: BTreeMap<SessionId, i64> =
        world.others.iter().map(|(session, reply)| (*session, returned(reply))).collect();
    assert_eq!(others, BTreeMap::from([(SessionId(SECOND), 111), (SessionId(THIRD), 10_111)]));
    assert_eq!(balances(&world)[0], Value::BigInt(10_111));
    assert_eq!(world.driver.companions().committed, 2);
}

/// Otherwise the oldest would lose its turn by going along with a younger one.
#[test]
fn a_transaction_is_as_old_as_the_oldest_program_in_it() {
    let mut world = filled();
    world.commits.push_back(Some(ConflictKind::YoungerDies));
    world.hold_accesses = true;
    // The second session has lost once, and is older than the first by the time that both want the row.
    world.execute_as(SECOND, &add_balance(), &[1.into(), Value::BigInt(100)]);
    grant(&mut world, 3);
    let age = world.ages.pop().expect("it has tried to commit");
    world.execute(&add_balance(), &[1.into(), Value::BigInt(1)]);
    world.hold_accesses = false;
    busy(&mut world, 4);
    grant(&mut world, 5);
    assert_eq!(world.ages.pop(), Some(age));
    assert_eq!(world.histories.last().map(|(id, _)| *id), Some(transaction(5)));
}

/// Otherwise those before it would wait for what a guest waits for, and a circle of waits could close through them.
#[test]
fn a_guest_that_would_wait_leaves_and_starts_over() {
    let mut world = filled();
    world.hold_accesses = true;
    assert_eq!(world.execute(&add_balance(), &[1.into(), Value::BigInt(1)]), None);
    world.execute_as(SECOND, &add_to_both(), &[1.into(), Value::BigInt(100), 2.into()]);
    world.hold_accesses = false;
    busy(&mut world, 4);
    world.said();
    world.busy.insert(Item { table: ACCOUNTS, key: account_key(2) });
    let first = grant(&mut world, 3).expect("an answer");
    assert_eq!(returned(&first), 11);
    script(
        &mut world,
        "read accounts[8101]
         hand over T4 to T3
         may T3 at once write accounts[8101], write accounts[8102]?
         compare, read accounts[8101]
         may T3 write accounts[8102]?
         serve?
         commit T3 read (accounts[8101]@130) ranges () write (+accounts[8101])
         begin
         reply executed 1, 1 rows
         may T5 at once write accounts[8101], write accounts[8102]?
         compare, read accounts[8101]
         may T5 write accounts[8102]?
         read accounts[8102]
         commit T5 read (accounts[8101]@200 accounts[8102]@160) ranges () write (+accounts[8101] +accounts[8102])
         reply executed 1, 1 rows",
    );
    assert_eq!(balances(&world), [Value::BigInt(111), Value::BigInt(120)]);
}

/// What a failed program saw may never be committed: it fails by itself, or not at all.
#[test]
fn a_guest_that_fails_leaves_and_fails_alone() {
    let mut world = filled();
    world.hold_accesses = true;
    assert_eq!(world.execute(&add_balance(), &[1.into(), Value::BigInt(1)]), None);
    world.execute_as(SECOND, &add_balance(), &[1.into(), Value::BigInt(i64::MAX)]);
    world.hold_accesses = false;
    busy(&mut world, 4);
    let first = grant(&mut world, 3).expect("an answer");
    assert_eq!(returned(&first), 11);
    let [(_, SessionReply::Failed(Failure::Statement(wrong)))] = &world.others[..] else {
        panic!("{:?}", world.others);
    };
    assert_eq!(wrong.sqlstate, "22003");
    assert_eq!(world.histories.len(), 3, "two rows were made, and one was changed");
    assert_eq!(balances(&world)[0], Value::BigInt(11));
}

/// A program that was not told that its transaction was lost would wait for ever; one that was not run again would be lost.
#[test]
fn all_try_again_when_their_transaction_aborts() {
    let mut world = three();
    world.commits.push_back(Some(ConflictKind::YoungerDies));
    assert!(grant(&mut world, 3).is_some());
    assert_eq!(world.others.len(), 2);
    // The stand-in that grants everything does not let them wait for each other again.
    let committed: Vec<u64> = world.histories.iter().skip(2).map(|(id, _)| id.sequence).collect();
    assert_eq!(committed, [6, 7, 8]);
    assert_eq!(world.driver.companions().committed, 0);
}

/// One that asks to be cancelled while its transaction commits cannot know what becomes of it; the others can.
#[test]
fn a_companion_that_is_cancelled_hears_that_its_outcome_is_unknown() {
    let mut world = three();
    world.hold_commits = true;
    assert_eq!(grant(&mut world, 3), None);
    world.ask_as(SECOND, SessionRequest::Cancel);
    let [(SessionId(SECOND), SessionReply::Failed(Failure::Unknown { transaction: id, changed }))] = &world.others[..]
    else {
        panic!("{:?}", world.others);
    };
    assert_eq!(*id, transaction(3));
    assert_eq!(changed, &Some(ChangedRows { first: Item { table: ACCOUNTS, key: account_key(1) }, others: 0 }));
    world.ask_as(THIRD, SessionRequest::Close);
    let aborted = messages::commit::CommitReply::Aborted {
        transaction: transaction(3),
        conflict: Conflict::of(ConflictKind::YoungerDies),
    };
    world.hold_commits = false;
    let first = world.tell(ServerKind::AtomicityController, Message::CommitReply(aborted)).expect("an answer");
    assert_eq!((returned(&first), world.others.len()), (11, 1));
    assert_eq!(balances(&world)[0], Value::BigInt(11));
}

/// The answer to a guest's access that comes after it has gone would be taken for that of the next one.
#[test]
fn a_guest_that_goes_while_it_asks_sends_all_back_to_their_start() {
    let mut world = filled();
    world.hold_accesses = true;
    assert_eq!(world.execute(&add_balance(), &[1.into(), Value::BigInt(1)]), None);
    world.execute_as(SECOND, &add_to_both(), &[1.into(), Value::BigInt(100), 2.into()]);
    busy(&mut world, 4);
    assert_eq!(grant(&mut world, 3), None);
    world.said();
    world.ask_as(SECOND, SessionRequest::Close);
    world.hold_accesses = false;
    script(
        &mut world,
        "finish T3
         serve?
         begin
         may T5 write accounts[8101]?",
    );
    grant(&mut world, 3);
    assert_eq!(world.said(), "");
    let first = grant(&mut world, 5).expect("an answer");
    assert_eq!(returned(&first), 11);
    assert_eq!(balances(&world), [Value::BigInt(11), Value::BigInt(20)]);
}

/// Otherwise a program that was told that it is cancelled would be committed by those before it.
#[test]
fn what_cannot_be_undone_alone_is_lost_for_all() {
    let mut world = filled();
    world.increments = Increments::ToAll;
    world.hold_accesses = true;
    assert_eq!(world.execute(&add_balance(), &[1.into(), Value::BigInt(1)]), None);
    world.execute_as(SECOND, &add_to_one_and_unread_to_another(), &[1.into(), Value::BigInt(100), 2.into()]);
    // This one has to leave, and with it goes what would undo the one before.
    world.execute_as(THIRD, &add_to_both(), &[1.into(), Value::BigInt(10_000), 2.into()]);
    world.hold_accesses = false;
    for number in [4, 5] {
        busy(&mut world, number);
    }
    world.busy.insert(Item { table: ACCOUNTS, key: account_key(2) });
    world.hold_checks = true;
    assert_eq!(grant(&mut world, 3), None);
    world.said();
    world.ask_as(SECOND, SessionRequest::Cancel);
    assert!(matches!(&world.others[..], [(SessionId(SECOND), SessionReply::Failed(Failure::Cancelled))]));
    script(
        &mut world,
        "finish T3
         reply Failed(Cancelled)
         serve?",
    );
    assert_eq!(balances(&world), [Value::BigInt(10), Value::BigInt(20)]);
}

/// Whoever changes a schema that another program of its transaction has changed would undo that, and not know it.
#[test]
fn schema_changes_do_not_go_on_in_the_transaction_of_others() {
    let mut world = filled();
    world.hold_accesses = true;
    let change = |column: &str| {
        let row = messages::Row::from(column.as_bytes().to_vec());
        let writes = vec![(account_key(77), Some(messages::Timestamp::ZERO), Some(row))];
        program(vec![Action::Catalog { writes, drops: Vec::new(), makes: Vec::new() }])
    };
    assert_eq!(world.execute(&change("a"), &[]), None);
    world.execute_as(SECOND, &change("b"), &[]);
    world.hold_accesses = false;
    busy(&mut world, 4);
    world.said();
    assert!(grant(&mut world, 3).is_some());
    assert!(!world.said().contains("hand over"), "the second has not gone on in the transaction of the first");
    assert!(world.others.is_empty(), "the second waits: {:?}", world.others);
}

/// Otherwise a program of a million rows would keep those before it from their answer.
#[test]
fn a_guest_that_takes_long_leaves() {
    let mut world = filled();
    for number in 3..100 {
        world.run(&insert(), &[number.into(), Value::text(format!("owner {number}")), Value::BigInt(0)]);
    }
    world.hold_accesses = true;
    assert_eq!(world.execute(&add_balance(), &[1.into(), Value::BigInt(1)]), None);
    let every = (1..100).map(|account: i32| add_to_constant(account)).collect();
    world.execute_as(SECOND, &program(every), &[Value::Null, Value::BigInt(100)]);
    world.hold_accesses = false;
    busy(&mut world, 101);
    world.said();
    let first = grant(&mut world, 100).expect("an answer");
    assert_eq!(returned(&first), 11);
    let said = world.said();
    assert_eq!(said.matches("hand over").count(), 1, "{said}");
    assert_eq!(said.matches("commit T").count(), 2, "{said}");
    assert_eq!(world.others.len(), 1);
    assert_eq!(balances(&world)[0], Value::BigInt(111));
}

/// An answer before the outcome would promise what may abort; the simulator looks for it.
#[test]
fn the_planted_bug_answers_early() {
    let mut world = World::planted(Planted::only(Bug::CompanionAnsweredEarly));
    world.run(&insert(), &[1.into(), "ann".into(), Value::BigInt(10)]);
    world.hold_accesses = true;
    assert_eq!(world.execute(&add_balance(), &[1.into(), Value::BigInt(1)]), None);
    world.execute_as(SECOND, &add_balance(), &[1.into(), Value::BigInt(100)]);
    world.hold_accesses = false;
    world.hold_commits = true;
    busy(&mut world, 3);
    let early = grant(&mut world, 2).expect("an answer");
    assert_eq!((returned(&early), world.others.len()), (11, 0));
}
