//! Memory servers, writers and disks in one thread, over a network that loses, doubles, delays, reorders and cuts; crashes with and
//! without loss of memory; and a checker, which stands outside the machines.
//!
//! Invariant: a seed means the same run for ever. What must hold of every run stands in `ledger`, `matching`,
//! `losses` and `ending`.

mod accidents;
mod ending;
mod hosts;
mod ledger;
mod losses;
mod matching;
mod profile;
mod world;
mod writers;

use crate::planted::PlantedInLog;
use world::LogWorld;

/// How a run went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRunOutcome {
    /// Its seed.
    pub seed: u64,
    /// What was wrong.
    pub failure: Option<String>,
    /// Records with a receipt.
    pub acknowledged: u64,
    /// Times that a log was opened.
    pub opened: u64,
    /// Times that somebody was told that the log cannot be opened here or now, at the end of a life or of the run.
    pub indeterminate: u64,
}

/// Runs the schedule of a seed, with a planted bug or none.
pub fn run(seed: u64, planted: Option<PlantedInLog>) -> LogRunOutcome {
    let mut world = LogWorld::new(seed, planted);
    let failure = world.run().err().map(|failure| format!("{failure}\n{}", world.story()));
    let counts = world.counts();
    LogRunOutcome {
        seed,
        failure,
        acknowledged: counts.acknowledged,
        opened: counts.opened,
        indeterminate: counts.indeterminate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this failed, logs would lose, fork or misreport what was acknowledged.
    #[test]
    fn schedules_keep_the_rules() {
        for seed in 1..=300 {
            let outcome = run(seed, None);
            assert_eq!(outcome.failure, None, "seed {seed}");
        }
    }

    /// If this failed, the checker would not find what it is for.
    #[test]
    fn each_planted_bug_is_found() {
        for planted in PlantedInLog::ALL.into_iter().filter(|planted| !planted.is_rare()) {
            let found = (1..=20_000).any(|seed| run(seed, Some(planted)).failure.is_some());
            assert!(found, "{planted:?} is not found");
        }
    }

    /// Runs that have failed once. In this one a record of a server rots, the other has lost its memory, and a host has a copy of an earlier epoch.
    #[test]
    fn found_seeds_keep_the_rules() {
        assert_eq!(run(9_536_286, None).failure, None);
    }

    /// Two hosts, of which one accepts a loss while the other, which has just made the log, lives, and while all servers that have let it count on
    /// its disk lose their memory: without the rule both acknowledge a first record.
    #[test]
    fn a_loss_is_not_accepted_while_the_writer_may_count_on_its_disk() {
        assert_eq!(run(9_568_399, None).failure, None);
        assert!(
            run(9_568_399, Some(PlantedInLog::SealNotHeld)).failure.is_some(),
            "the run does not come to it any more"
        );
    }

    /// A host accepts a loss though enough servers have kept their memory, and its disk fails when it has begun its epoch at one server alone, where a
    /// record rots. Another server has lost its memory meanwhile: without the rule it vouches for what that epoch was to bring it.
    #[test]
    fn an_accepted_loss_that_breaks_off_gives_up_nothing() {
        assert_eq!(run(22_225_827, None).failure, None);
        assert!(
            run(22_225_827, Some(PlantedInLog::GivenUpForNothing)).failure.is_some(),
            "the run does not come to it any more"
        );
    }

    /// If this failed, a checker would take a server for one that counts because it has kept its memory, though no life of it does: it did not answer
    /// whoever has accepted a loss, and the writer has not met it since.
    #[test]
    fn a_member_that_nobody_has_met_counts_as_lost() {
        assert_eq!(run(31_190_859, None).failure, None);
    }

    /// If this failed, two hosts for which opening the log takes longer than the pauses after which they try again could seal it against each other for
    /// ever.
    #[test]
    fn two_that_open_a_log_at_the_same_time_leave_each_other_alone() {
        assert_eq!(run(31_502_728, None).failure, None);
    }

    /// If this failed, a log that is open would count on without a server that has come back empty for as long as another one answers sooner.
    #[test]
    fn a_log_that_goes_on_to_another_epoch_waits_for_whoever_is_there() {
        assert_eq!(run(30_672, None).failure, None);
    }

    /// If this failed, a failing seed could not be replayed.
    #[test]
    fn a_seed_is_the_same_run() {
        for seed in 1..=20 {
            assert_eq!(run(seed, None), run(seed, None));
        }
    }
}
