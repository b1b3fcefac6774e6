//! The latest writes to one storage, for checking ranges that were read.
//!
//! Invariant: every write to the storage with a timestamp above `horizon` is listed, deletions included. So a range that was read at or
//! above the horizon is checked against the list alone: no row is visited, and deletions need not be remembered for it.

use messages::{Key, KeyRange, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Whether a range still holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RangeVerdict {
    /// Nothing in it has been written since.
    Holds,
    /// This has been written since.
    Written(Key, Timestamp),
    /// Writes since then have been forgotten.
    TooOld,
}

/// The latest writes to one storage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RecentWrites {
    /// By timestamp, oldest first.
    writes: VecDeque<(Timestamp, Key)>,
    horizon: Timestamp,
    writes_max: usize,
}

impl RecentWrites {
    /// Nothing is known of writes at or below `horizon`.
    pub(crate) fn new(horizon: Timestamp, writes_max: usize) -> RecentWrites {
        RecentWrites { writes: VecDeque::new(), horizon, writes_max }
    }

    pub(crate) fn note(&mut self, timestamp: Timestamp, key: &Key) {
        if timestamp <= self.horizon {
            return;
        }
        let later = self.writes.iter().rev().take_while(|(other, _)| *other > timestamp).count();
        match later {
            0 => self.writes.push_back((timestamp, key.clone())),
            _ => self.writes.insert(self.writes.len() - later, (timestamp, key.clone())),
        }
        while self.writes.len() > self.writes_max {
            if let Some((forgotten, _)) = self.writes.pop_front() {
                self.horizon = forgotten;
            }
        }
    }

    /// Whether nothing in `range` has been written since `as_of`, apart from keys that `skip` names.
    pub(crate) fn check(&self, range: &KeyRange, as_of: Timestamp, skip: impl Fn(&Key) -> bool) -> RangeVerdict {
        if as_of < self.horizon {
            return RangeVerdict::TooOld;
        }
        let since = self.writes.iter().rev().take_while(|(timestamp, _)| *timestamp > as_of);
        for (timestamp, key) in since {
            if range.contains(key.as_bytes()) && !skip(key) {
                return RangeVerdict::Written(key.clone(), *timestamp);
            }
        }
        RangeVerdict::Holds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::{EpochNumber, TableId};

    fn at(clock: u64) -> Timestamp {
        Timestamp::snapshot(EpochNumber(1), clock)
    }

    fn verdict(recent: &RecentWrites, as_of: u64) -> RangeVerdict {
        recent.check(&KeyRange::whole(TableId(20)), at(as_of), |_| false)
    }

    /// A phantom would slip through if a write were missed, whether it came late or was forgotten.
    #[test]
    fn writes_since_are_found_or_the_range_is_too_old() {
        let mut recent = RecentWrites::new(at(5), 2);
        assert_eq!(verdict(&recent, 4), RangeVerdict::TooOld);
        assert_eq!(verdict(&recent, 5), RangeVerdict::Holds);
        recent.note(at(20), &Key::new(b"b"));
        recent.note(at(10), &Key::new(b"a"));
        assert_eq!(verdict(&recent, 20), RangeVerdict::Holds);
        assert_eq!(verdict(&recent, 15), RangeVerdict::Written(Key::new(b"b"), at(20)));
        recent.note(at(30), &Key::new(b"c"));
        assert_eq!(verdict(&recent, 9), RangeVerdict::TooOld, "the write at 10 has been forgotten");
        assert_eq!(verdict(&recent, 10), RangeVerdict::Written(Key::new(b"c"), at(30)));
    }
}
