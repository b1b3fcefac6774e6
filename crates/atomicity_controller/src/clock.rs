//! The site's hybrid logical clock: never goes back, never falls behind what it has seen, close to wall time.
//!
//! One for the whole site: a proposal lies above everything that the site has voted for or served. (Kulkarni et al., Logical Physical
//! Clocks, 2014; here physical and logical part share one number.)

use messages::Now;
use messages::limits::{CLOCK_JUMP_MICROS_MAX, CLOCK_LOGICAL_BITS};
use serde::{Deserialize, Serialize};

/// A hybrid logical clock.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct HybridClock(u64);

impl HybridClock {
    /// The last value given out or seen.
    pub fn now(&self) -> u64 {
        self.0
    }

    /// A value above all before, and at least wall time.
    pub fn tick(&mut self, now: Now) -> u64 {
        self.0 = (self.0 + 1).max(now.wall_micros << CLOCK_LOGICAL_BITS);
        self.0
    }

    /// Every later value lies above this one.
    pub fn merge(&mut self, seen: u64) {
        self.0 = self.0.max(seen);
    }

    /// Whether another site's value is near enough to be believed.
    pub fn believes(&self, now: Now, seen: u64) -> bool {
        let ours = self.0.max(now.wall_micros << CLOCK_LOGICAL_BITS);
        seen <= ours.saturating_add(CLOCK_JUMP_MICROS_MAX << CLOCK_LOGICAL_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(wall_micros: u64) -> Now {
        Now { boot: 0, wall_micros }
    }

    #[test]
    fn goes_up_when_wall_time_goes_back() {
        let mut clock = HybridClock::default();
        let first = clock.tick(at(1_000));
        let second = clock.tick(at(500));
        assert!(second > first, "a wall clock that was set back must not set the hybrid clock back");
    }

    #[test]
    fn lies_above_what_it_merged() {
        let mut clock = HybridClock::default();
        clock.merge(1 << 40);
        assert!(clock.tick(at(1)) > 1 << 40, "a proposal must lie above every decision seen");
    }

    #[test]
    fn disbelieves_a_far_jump() {
        let clock = HybridClock::default();
        let near = (10 + CLOCK_JUMP_MICROS_MAX) << CLOCK_LOGICAL_BITS;
        assert!(clock.believes(at(10), near));
        assert!(!clock.believes(at(10), near + 1), "one site's broken clock must not drag all others along");
    }
}
