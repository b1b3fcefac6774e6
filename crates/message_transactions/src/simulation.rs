//! A simulated network of kernels that loses, doubles, delays and reorders, with kernels that crash, processes that move and servers
//! that are slow, driven by a seed; and checkers, which stand outside the kernels.
//!
//! Invariant: a seed means the same run for ever. [`run`] makes one short schedule and says what was wrong with it, if anything.
//!
//! In reading order: `profile` (what a seed makes of a run), `world` (nodes, network, time), `programs` (clients and servers),
//! `ledger` (what was asked, executed and answered, and what must hold of it).

mod ledger;
mod profile;
mod programs;
mod world;

pub use profile::KernelRunProfile;

use super::planted::PlantedInKernel;
use world::KernelWorld;

/// How a run went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelRunOutcome {
    /// Its seed.
    pub seed: u64,
    /// What was wrong, with the last things that happened before it.
    pub failure: Option<String>,
    /// Operations that clients began.
    pub operations: u64,
    /// Packets that were sent.
    pub packets: u64,
    /// Operations that were given up, with reason.
    pub given_up: u64,
}

/// Runs the schedule of a seed, with a planted bug or none.
pub fn run(seed: u64, planted: Option<PlantedInKernel>) -> KernelRunOutcome {
    run_profile(seed, KernelRunProfile::of(seed), planted)
}

/// Runs a schedule of a given kind.
pub fn run_profile(seed: u64, profile: KernelRunProfile, planted: Option<PlantedInKernel>) -> KernelRunOutcome {
    let mut world = KernelWorld::new(seed, profile, planted);
    let failure = world.run().err();
    let failure = failure.map(|what| format!("{what}\n{profile:?}\n{}", world.story()));
    let (operations, packets, given_up) = world.counts();
    KernelRunOutcome { seed, failure, operations, packets, given_up }
}

#[cfg(test)]
mod tests;
