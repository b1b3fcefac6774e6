//! Servers that are moved while their site runs: between two steps one of them becomes bytes, and goes on from them.
//!
//! Invariant: its chance is its own, and a moved server behaves as one that was not, so the run of a seed is the same with it and without it.

use crate::random::Random;
use access_manager::{Store, StoreError};
use commit_log::Log;
use domain::{Domain, SERVERS, Stores};

/// See the module's description.
pub struct Mover {
    random: Random,
    /// Mean number of steps from one move to the next; 0: nothing moves.
    every: u64,
    /// Moves so far.
    pub moved: u64,
}

impl Mover {
    /// Moves something about once in so many steps.
    pub fn new(seed: u64, every: u64) -> Mover {
        Mover { random: Random::new(seed.rotate_left(17)), every, moved: 0 }
    }

    /// Between two steps of a site.
    pub fn step<L: Log>(&mut self, domain: &mut Domain<L>) {
        if self.every == 0 || self.random.below(self.every) > 0 {
            return;
        }
        let kind = SERVERS[self.random.index(SERVERS.len())];
        if domain.fetch(kind, &mut Kept(None)).is_ok() {
            self.moved += 1;
        }
    }
}

/// The store stays open: what it has under way goes on.
struct Kept(Option<Box<dyn Store>>);

impl Stores for Kept {
    fn open(&mut self) -> Result<Box<dyn Store>, StoreError> {
        Ok(self.0.take().expect("a store is taken out before it is put back"))
    }

    fn close(&mut self, store: Box<dyn Store>) -> Result<(), StoreError> {
        self.0 = Some(store);
        Ok(())
    }
}
