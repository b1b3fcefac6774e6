//! Planted bugs must be found: otherwise their clauses of the design are not checked at all.
//!
//! `raid sim --plant NAME` looks for one for a minute of a core, two runs of three in the situation where it shows. `cargo run --release -p mini_raid
//! --example plants` does so for all. A test has less time: it looks for those that are found soon on average. Those of concurrency-control methods the
//! suite of `concurrency_controller` finds.

use messages::planted::{Bug, Planted};
use mini_raid::Sweep;

/// Found by few runs in thousands, if at all, even in the situation where they show. The page of the simulator says why of each. The cases, models and
/// scripts of the crates in which they are planted find them.
const SELDOM: &[Bug] = &[
    Bug::EmptyUnlooked,
    Bug::OutcomesForgottenEarly,
    Bug::ToldBeforeServing,
    Bug::ErrorsUnconfirmed,
    Bug::ToldBeforeLogged,
    Bug::UnsettledNotLogged,
    Bug::PostForgetsIncrements,
    Bug::FloorOutlivesCopy,
    Bug::LongWaiterPassed,
    Bug::GrantAfterSeal,
    Bug::MarkUnnamed,
    Bug::PostPassesInstall,
    Bug::EpochPassesInstall,
    Bug::ShrinkForgetsLonger,
    Bug::PromotedLacksTables,
    Bug::ReadBelowFloor,
    Bug::NoBecomesYes,
    Bug::DuplicatePrepareExecuted,
    Bug::RestoredOracleTrusted,
    Bug::DropPassesWrites,
    Bug::WaiterOvertaken,
    Bug::NoSyncOnSoleSurvivor,
    Bug::AgeRenewed,
    Bug::TailNotLocked,
    Bug::PromotedDecidesAlone,
    Bug::VoidDropStands,
    Bug::VoidedRowsReturn,
    Bug::IncrementsToStaleSkipped,
    Bug::AbsentTakenForAbort,
    Bug::MomentPassed,
    Bug::SettledTwice,
    Bug::ReadSnapshotUnconfirmed,
    Bug::UndecidedMomentRestored,
];

/// Runs in which all others are found for certain, with some to spare.
const RUNS_MAX: u64 = 300;

/// If this fails, a checker has become blind, or the simulator no longer reaches what it is for.
#[test]
fn planted_bugs_are_found() {
    let mut missed = Vec::new();
    let by_simulation = |bug: &&Bug| {
        !SELDOM.contains(bug) && ![Bug::OF_METHODS, Bug::OF_DELIVERY, Bug::OF_EXPERT].concat().contains(bug)
    };
    for bug in Bug::ALL.iter().filter(by_simulation) {
        let sweep = Sweep { runs: RUNS_MAX, planted: Planted::only(*bug), ..Sweep::default() };
        if sweep.run(|_, _| {}).failed.is_empty() {
            missed.push(bug.name());
        }
    }
    assert!(missed.is_empty(), "the checkers no longer find: {}", missed.join(", "));
}
