//! The source of `random()` and `gen_random_uuid()`, and of the jitter of retries: seeded, so that a simulation repeats.
//!
//! SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). Not for secrets.

use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// A deterministic generator. It is drawn from behind a shared reference, because evaluating an expression changes nothing else.
#[derive(Debug, Serialize, Deserialize)]
pub struct Generator(Cell<u64>);

impl Generator {
    /// Numbers that depend on the seed alone.
    pub fn new(seed: u64) -> Generator {
        Generator(Cell::new(seed))
    }

    /// 64 random bits.
    pub fn next(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
