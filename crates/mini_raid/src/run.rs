//! One run: from a seed to a verdict.
//!
//! Invariant: a broken invariant inside a server is a failure of the run like any other; it never ends the program.

use crate::bounds::RunBounds;
use crate::statistics::RunStatistics;
use crate::world::World;
use messages::planted::Planted;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOutcome {
    /// Its seed.
    pub seed: u64,
    /// How many sites.
    pub sites: usize,
    /// Counters.
    pub statistics: RunStatistics,
    /// What went wrong; `None`: nothing.
    pub failure: Option<String>,
}

thread_local! {
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Panics of this thread are kept for the verdict instead of being printed, while a run is under way.
fn keep_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let kept = PANIC.with(|kept| match &mut *kept.borrow_mut() {
                Some(text) => {
                    *text = panic.to_string();
                    true
                }
                None => false,
            });
            if !kept {
                print(panic);
            }
        }));
    });
}

/// Simulates the world of this seed.
pub fn run(seed: u64, sites: usize, planted: Planted, bounds: RunBounds) -> RunOutcome {
    keep_panics();
    PANIC.with(|kept| *kept.borrow_mut() = Some(String::new()));
    let simulated = catch_unwind(AssertUnwindSafe(|| {
        let mut world = World::new(seed, sites, planted, bounds);
        world.run_until(bounds.time, bounds.events);
        if world.events() < bounds.events {
            world.finish();
            world.restore_snapshots(bounds);
        }
        world.into_result()
    }));
    let panic = PANIC.with(|kept| kept.borrow_mut().take()).unwrap_or_default();
    let (statistics, failure) = match simulated {
        Ok((statistics, failure)) => (statistics, failure),
        Err(_) => (RunStatistics::new(sites), Some(format!("a broken invariant: {panic}"))),
    };
    RunOutcome { seed, sites, statistics, failure }
}
