//! Ranges of keys and who locks them, as segments: neighbouring keys under the same locks.
//!
//! Invariants: a boundary starts a segment that ends at the next one; two neighbours differ in their holders, and the last
//! segment before a gap is followed by one without holders; keys below the first boundary are not locked. So looking up a
//! key costs one search, however many ranges there are.

use crate::lock_table::{Holder, Holders};
use messages::{Key, KeyRange};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Bound;

/// Locked ranges of one storage.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Segments {
    /// First key of a segment, and its holders in order; a transaction with two ranges over a key is listed twice.
    boundaries: BTreeMap<Key, Holders>,
}

impl Segments {
    /// Whether nothing is locked.
    pub fn is_empty(&self) -> bool {
        self.boundaries.is_empty()
    }

    /// Who locks this key by a range.
    pub fn at(&self, key: &Key) -> &[Holder] {
        let below = self.boundaries.range::<Key, _>(..=key).next_back();
        below.map_or(&[], |(_, holders)| holders)
    }

    /// Holders of every segment that shares a key with the range, in key order. The range is not empty.
    pub fn overlapping<'a>(&'a self, range: &'a KeyRange) -> impl Iterator<Item = &'a [Holder]> {
        let first = std::iter::once(self.at(&range.low));
        first.chain(self.boundaries.range::<Key, _>(behind_low(range)).map(|(_, holders)| &holders[..]))
    }

    /// Locks a range. The range is not empty.
    pub fn add(&mut self, range: &KeyRange, holder: Holder) {
        self.split(range);
        for (_, holders) in self.boundaries.range_mut::<Key, _>(from_low(range)) {
            let place = holders.partition_point(|other| *other < holder);
            holders.insert(place, holder);
        }
        self.join(range);
    }

    /// Takes back one `add` with the same words.
    pub fn remove(&mut self, range: &KeyRange, holder: Holder) {
        self.split(range);
        for (_, holders) in self.boundaries.range_mut::<Key, _>(from_low(range)) {
            let place = holders.iter().position(|other| *other == holder);
            holders.remove(place.expect("only an added range is removed"));
        }
        self.join(range);
    }

    /// Makes both ends of the range boundaries.
    fn split(&mut self, range: &KeyRange) {
        for end in std::iter::once(&range.low).chain(&range.high) {
            if !self.boundaries.contains_key(end) {
                let holders = Holders::from_slice(self.at(end));
                self.boundaries.insert(end.clone(), holders);
            }
        }
    }

    /// Removes the boundaries in and at the ends of the range where nothing changes any more.
    fn join(&mut self, range: &KeyRange) {
        let high = range.high.as_ref().map_or(Bound::Unbounded, Bound::Included);
        let mut before = self.boundaries.range::<Key, _>(..&range.low).next_back().map(|(_, holders)| holders);
        let mut superfluous: Vec<Key> = Vec::new();
        for (key, holders) in self.boundaries.range::<Key, _>((Bound::Included(&range.low), high)) {
            if before.map_or(holders.is_empty(), |before| before == holders) {
                superfluous.push(key.clone());
            }
            before = Some(holders);
        }
        for key in superfluous {
            self.boundaries.remove(&key);
        }
    }
}

fn high(range: &KeyRange) -> Bound<&Key> {
    range.high.as_ref().map_or(Bound::Unbounded, Bound::Excluded)
}

fn from_low(range: &KeyRange) -> (Bound<&Key>, Bound<&Key>) {
    (Bound::Included(&range.low), high(range))
}

fn behind_low(range: &KeyRange) -> (Bound<&Key>, Bound<&Key>) {
    (Bound::Excluded(&range.low), high(range))
}
