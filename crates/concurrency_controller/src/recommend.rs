//! Which method to choose when, from what a site has counted under load.
//!
//! Locking loses waiting time where transactions of one site meet, optimistic validation whole transactions. So:
//!
//! * **Locking** (the default) when accesses meet often: who waits commits in the end, and it costs no message.
//! * **Optimistic** when they hardly ever meet, or when transactions stay open for long while a client thinks: nobody
//!   waits for them, and what is doomed is rare.

use crate::LockCounters;
use crate::limits::RECOMMENDATION_SAMPLE_MIN;
use messages::concurrency::Method;

/// Of a million accesses, this many conflicts or fewer speak for validation.
const RARE_PER_MILLION: u64 = 1_000;
/// Of a million accesses, this many conflicts or more speak for locking.
const FREQUENT_PER_MILLION: u64 = 20_000;

/// A method and how far to believe in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recommendation {
    /// The method.
    pub method: Method,
    /// From 0 (stay with what runs) to 100 (switch).
    pub belief_percent: u8,
}

/// Judges the load of one interval, counted while `current` ran. Under either method a conflict is an access that waited, was refused or was
/// lost to a commit-lock.
pub fn recommend(current: Method, interval: &LockCounters) -> Recommendation {
    let conflicts = interval.access_waits + interval.deadlocks + interval.doomed;
    let per_million = conflicts.saturating_mul(1_000_000) / interval.accesses.max(1);
    if interval.accesses < RECOMMENDATION_SAMPLE_MIN || (RARE_PER_MILLION..FREQUENT_PER_MILLION).contains(&per_million)
    {
        return Recommendation { method: current, belief_percent: 0 };
    }
    if per_million < RARE_PER_MILLION {
        let margin = 100 - 50 * per_million / RARE_PER_MILLION;
        return Recommendation { method: Method::Optimistic, belief_percent: margin as u8 };
    }
    let margin = (50 * per_million / FREQUENT_PER_MILLION).min(100);
    Recommendation { method: Method::Locking, belief_percent: margin as u8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(accesses: u64, conflicts: u64) -> Recommendation {
        let interval = LockCounters { accesses, access_waits: conflicts, ..LockCounters::default() };
        recommend(Method::Locking, &interval)
    }

    /// Otherwise a site would switch back and forth on noise.
    #[test]
    fn few_accesses_or_a_middling_load_change_nothing() {
        assert_eq!(judge(10, 0).belief_percent, 0);
        assert_eq!(judge(100_000, 1_000), Recommendation { method: Method::Locking, belief_percent: 0 });
    }

    /// Otherwise the method that wastes least would not be the one that is recommended.
    #[test]
    fn rare_conflicts_speak_for_validation_and_frequent_ones_for_locking() {
        assert_eq!(judge(100_000, 0), Recommendation { method: Method::Optimistic, belief_percent: 100 });
        assert_eq!(judge(100_000, 2_000), Recommendation { method: Method::Locking, belief_percent: 50 });
        assert_eq!(judge(100_000, 90_000), Recommendation { method: Method::Locking, belief_percent: 100 });
    }
}
