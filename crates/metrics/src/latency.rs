//! Latencies, in buckets whose bounds are powers of two.
//!
//! Invariant: bucket `i` holds what took at most [`bound_nanoseconds`]`(i)` and more than the bound before it; the last bucket has no bound.

use crate::counter::EventCounter;
use serde::{Deserialize, Serialize};
use std::array;

/// The first bound is 2 to this many nanoseconds: 4 microseconds, less than any statement takes.
const FIRST: u32 = 12;

/// How many buckets there are. The last bound is 2^35 nanoseconds, 34 seconds; one more bucket holds what took longer.
pub const BUCKETS: usize = 25;

/// The upper bound of a bucket, in nanoseconds; `None`: it has none.
pub fn bound_nanoseconds(bucket: usize) -> Option<u64> {
    (bucket + 1 < BUCKETS).then(|| 1 << (FIRST as usize + bucket))
}

/// The bucket of a duration.
fn bucket_of(nanoseconds: u64) -> usize {
    let bits = u64::BITS - nanoseconds.saturating_sub(1).leading_zeros();
    (bits.saturating_sub(FIRST) as usize).min(BUCKETS - 1)
}

/// How long things took, as a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyHistogram {
    buckets: [u64; BUCKETS],
    nanoseconds: u64,
}

impl LatencyHistogram {
    /// Something took so many nanoseconds.
    pub fn observe(&mut self, nanoseconds: u64) {
        self.buckets[bucket_of(nanoseconds)] += 1;
        self.nanoseconds = self.nanoseconds.wrapping_add(nanoseconds);
    }

    /// How many things took that long, by bucket.
    pub fn buckets(&self) -> &[u64; BUCKETS] {
        &self.buckets
    }

    /// How many things there were.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// How long they took together, in nanoseconds.
    pub fn nanoseconds(&self) -> u64 {
        self.nanoseconds
    }

    /// What another has observed, too.
    pub fn merge(&mut self, other: &LatencyHistogram) {
        for (bucket, more) in self.buckets.iter_mut().zip(other.buckets) {
            *bucket += more;
        }
        self.nanoseconds = self.nanoseconds.wrapping_add(other.nanoseconds);
    }
}

/// How long things took, written by one thread and read by others.
#[derive(Debug)]
pub struct LatencyRecorder {
    buckets: [EventCounter; BUCKETS],
    nanoseconds: EventCounter,
}

impl Default for LatencyRecorder {
    fn default() -> LatencyRecorder {
        LatencyRecorder { buckets: array::from_fn(|_| EventCounter::default()), nanoseconds: EventCounter::default() }
    }
}

impl LatencyRecorder {
    /// Something took so many nanoseconds.
    pub fn observe(&self, nanoseconds: u64) {
        self.buckets[bucket_of(nanoseconds)].add(1);
        self.nanoseconds.add(nanoseconds);
    }

    /// What was observed until now.
    pub fn read(&self) -> LatencyHistogram {
        LatencyHistogram {
            buckets: array::from_fn(|bucket| self.buckets[bucket].get()),
            nanoseconds: self.nanoseconds.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A duration in the wrong bucket would move every quantile that is computed of it.
    #[test]
    fn each_duration_is_in_the_bucket_whose_bounds_hold_it() {
        let near = (0..u64::BITS).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for nanoseconds in near.chain([u64::MAX]) {
            let bucket = bucket_of(nanoseconds);
            assert!(bound_nanoseconds(bucket).is_none_or(|bound| nanoseconds <= bound), "{nanoseconds}");
            let below = bucket.checked_sub(1).and_then(bound_nanoseconds);
            assert!(below.is_none_or(|bound| nanoseconds > bound), "{nanoseconds}");
        }
        assert_eq!(bound_nanoseconds(BUCKETS - 2), Some(1 << 35));
        assert_eq!(bound_nanoseconds(BUCKETS - 1), None);
    }

    /// What several threads have recorded would be counted twice, or not at all.
    #[test]
    fn what_was_recorded_is_read_and_added_up() {
        let (first, second) = (LatencyRecorder::default(), LatencyRecorder::default());
        first.observe(1_000);
        first.observe(1_000_000);
        second.observe(u64::from(u32::MAX) * 60);
        let mut all = first.read();
        all.merge(&second.read());
        let mut expected = LatencyHistogram::default();
        for nanoseconds in [1_000, 1_000_000, u64::from(u32::MAX) * 60] {
            expected.observe(nanoseconds);
        }
        assert_eq!(all, expected);
        assert_eq!((all.count(), all.buckets()[0], all.buckets()[BUCKETS - 1]), (3, 1, 1));
    }
}
