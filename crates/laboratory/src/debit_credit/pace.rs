//! A rate that many clients keep together.
//!
//! Invariant: turns are never made up for. After a time in which nobody could work, the rate is what it was before.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// See the module's description.
#[derive(Debug)]
pub struct Pace {
    begun: Instant,
    /// Microseconds between two turns.
    interval_us: u64,
    /// When the next turn is, microseconds from the beginning.
    next_us: AtomicU64,
}

impl Pace {
    /// So many turns a second, one at least.
    pub fn new(rate: u32) -> Pace {
        let interval_us = 1_000_000 / u64::from(rate.max(1));
        Pace { begun: Instant::now(), interval_us, next_us: AtomicU64::new(0) }
    }

    /// Waits for the next turn that nobody else has, or until `stop` is set.
    pub fn wait_for_turn(&self, stop: &AtomicBool) {
        let turn = self.begun + Duration::from_micros(self.take(self.begun.elapsed().as_micros() as u64));
        while !stop.load(Ordering::Relaxed) {
            let left = turn.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(local_cluster::limits::LOOK_INTERVAL));
        }
    }

    /// Takes the next turn, now or later; both in microseconds from the beginning.
    fn take(&self, now_us: u64) -> u64 {
        let after = |next: u64| Some(next.max(now_us) + self.interval_us);
        let before = self.next_us.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after);
        before.unwrap_or_else(|next| next).max(now_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A load that made up for lost turns would come in a burst after every kill, and its gaps would be those of an overload.
    #[test]
    fn turns_come_at_the_rate_and_are_not_made_up_for() {
        let pace = Pace::new(100);
        let turns: Vec<u64> = [0, 0, 0, 25_000, 1_000_000, 1_000_001].map(|now| pace.take(now)).to_vec();
        assert_eq!(turns, [0, 10_000, 20_000, 30_000, 1_000_000, 1_010_000]);
    }
}
