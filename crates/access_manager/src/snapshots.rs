//! Snapshots that may still be read, and so which versions are needed.
//!
//! Invariant: whatever is read is the newest version, or that of a snapshot which [`ReadableSnapshots::may_read`]: one of `in_use`, or one at or above
//! `from`. Neither gets back what it has lost, so a version that none of them sees is never seen again:
//!
//! * the newest version is needed;
//! * a version that another one at or below `from` has replaced is needed by snapshots `in_use` alone;
//! * every other one may be read by a snapshot that is still to be fixed.
//!
//! What was voted for and is not decided changes nothing of that. Its reader waits for the outcome with a snapshot that stays in use; and an
//! increment that commits among versions some of which have gone gets a wrong row of its own only where no snapshot sees it: had a snapshot
//! seen it, the version below it would have been that snapshot's until then.

use messages::Timestamp;
use messages::planted::Planted;
use messages::{planted, reached};
use serde::{Deserialize, Serialize};

/// Snapshots that may still be read.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReadableSnapshots {
    /// Ascending, all below `from`.
    in_use: Vec<Timestamp>,
    from: Timestamp,
    /// This one and those below it were given up for the memory that they held.
    given_up: Timestamp,
    /// Counted up whenever a version may have become useless.
    changes: u32,
    planted: Planted,
}

impl ReadableSnapshots {
    /// Any snapshot may be read.
    pub(crate) fn new(planted: Planted) -> ReadableSnapshots {
        ReadableSnapshots { in_use: Vec::new(), from: Timestamp::ZERO, given_up: Timestamp::ZERO, changes: 1, planted }
    }

    /// From now on only these are read, and those at or above `from`. What could not be read before cannot be now.
    pub(crate) fn report(&mut self, mut in_use: Vec<Timestamp>, from: Timestamp) {
        in_use.sort_unstable();
        in_use.dedup();
        in_use.retain(|snapshot| *snapshot < from && self.may_read(*snapshot));
        self.in_use = in_use;
        self.from = self.from.max(from);
        self.changes = self.changes.wrapping_add(1).max(1);
    }

    /// Whether the versions that it sees are all there.
    pub(crate) fn may_read(&self, snapshot: Timestamp) -> bool {
        snapshot >= self.from || self.in_use.binary_search(&snapshot).is_ok()
    }

    /// Whether it was given up.
    pub(crate) fn is_given_up(&self, snapshot: Timestamp) -> bool {
        snapshot <= self.given_up
    }

    /// At or below every snapshot that may be read.
    pub(crate) fn oldest(&self) -> Timestamp {
        self.in_use.first().copied().unwrap_or(self.from)
    }

    /// The oldest of those that are known to be in use.
    pub(crate) fn oldest_in_use(&self) -> Option<Timestamp> {
        self.in_use.first().copied()
    }

    /// Snapshots that are not known yet lie here or above.
    pub(crate) fn from(&self) -> Timestamp {
        self.from
    }

    /// See the field. Never 0.
    pub(crate) fn changes(&self) -> u32 {
        self.changes
    }

    /// Whether a version is needed that another one, at or below `from`, has replaced.
    pub(crate) fn need(&self, version: Timestamp, replaced: Timestamp) -> bool {
        let first = self.in_use.partition_point(|snapshot| *snapshot < version);
        let seen_by = self.in_use.get(first).filter(|snapshot| **snapshot < replaced);
        if seen_by.is_some() {
            reached!("needed-version-kept");
        }
        match planted!(self.planted, NeededVersionPruned) {
            true => seen_by.is_some() && first == 0,
            false => seen_by.is_some(),
        }
    }

    /// Gives up the oldest snapshot in use.
    pub(crate) fn give_up_oldest(&mut self) -> Timestamp {
        reached!("oldest-snapshot-given-up");
        self.given_up = self.in_use.remove(0);
        self.changes = self.changes.wrapping_add(1).max(1);
        self.given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::EpochNumber;

    fn at(clock: u64) -> Timestamp {
        Timestamp::snapshot(EpochNumber(1), clock)
    }

    /// A reader would get a row of another moment: of a snapshot that was never told, left, was given up, or comes back.
    #[test]
    fn only_what_stayed_in_use_may_be_read() {
        let mut snapshots = ReadableSnapshots::new(Planted::none());
        assert!(snapshots.may_read(at(1)), "nothing was reported yet");
        snapshots.report(vec![at(40), at(10), at(20)], at(30));
        let all = |snapshots: &ReadableSnapshots| [10, 15, 20, 30, 40].map(|clock| snapshots.may_read(at(clock)));
        assert_eq!(all(&snapshots), [true, false, true, true, true]);
        snapshots.report(vec![at(20)], at(35));
        assert_eq!(all(&snapshots), [false, false, true, false, true]);
        snapshots.report(vec![at(10), at(20), at(30)], at(35));
        assert_eq!(all(&snapshots), [false, false, true, false, true], "what was lost does not come back");
        assert_eq!(snapshots.give_up_oldest(), at(20));
        assert!(!snapshots.may_read(at(20)) && snapshots.is_given_up(at(20)) && !snapshots.is_given_up(at(35)));
        snapshots.report(vec![at(20)], at(35));
        assert!(!snapshots.may_read(at(20)));
        assert_eq!((snapshots.oldest(), snapshots.oldest_in_use()), (at(35), None));
    }

    /// A version is read by a snapshot at its own timestamp, and not by one at that of the next version.
    #[test]
    fn a_version_is_needed_until_it_was_replaced() {
        let mut snapshots = ReadableSnapshots::new(Planted::none());
        snapshots.report(vec![at(20)], at(50));
        let needed =
            [(10, 15), (10, 20), (10, 21), (20, 21), (21, 30)].map(|(one, other)| snapshots.need(at(one), at(other)));
        assert_eq!(needed, [false, false, true, true, false]);
    }
}
