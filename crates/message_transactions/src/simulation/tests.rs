//! The kernels hold under faults, and the checkers find what they are for.

use super::*;

/// Seeds of every change; `cargo run --release -p message_transactions --example schedules` runs more.
const SEEDS: u64 = 1_500;
/// Seeds within which a planted bug must be found.
const SEEDS_TO_FIND: u64 = 4_000;

/// If a schedule failed, messages would be lost, doubled or wrong in some accident of the network.
#[test]
fn schedules_hold() {
    for seed in 1..=SEEDS {
        let outcome = run(seed, None);
        assert_eq!(outcome.failure, None, "seed {seed}");
    }
}

/// A run that is not repeated by its seed cannot be looked into.
#[test]
fn a_seed_means_the_same_run() {
    for seed in [1, 77, 1_234] {
        assert_eq!(run(seed, None), run(seed, None));
    }
}

/// A checker that finds nothing when a clause is left out would find nothing either if the clause were broken.
#[test]
fn planted_bugs_are_found() {
    for bug in PlantedInKernel::ALL {
        let found = (1..=SEEDS_TO_FIND).find(|&seed| run(seed, Some(bug)).failure.is_some());
        assert!(found.is_some(), "{bug:?} was not found in {SEEDS_TO_FIND} seeds");
    }
}
