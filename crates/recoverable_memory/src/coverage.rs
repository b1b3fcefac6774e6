//! Which bytes are covered: ranges in numbered spaces, joined where they overlap or touch.
//!
//! All of RVM's coalescing is one question (section 5.2 of the RVM paper): which part of this range is new? A transaction asks it
//! to keep each old value once and to log each byte once; the spool, to find transactions that later ones have overwritten;
//! truncation and recovery, going from the newest record to the oldest, to write each byte once.
//!
//! Invariant: ranges of one space neither overlap nor touch, and none is empty.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};

/// Ranges of bytes in spaces.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    /// The end of each range, by space and start.
    ends: BTreeMap<(u32, u64), u64>,
    /// The sum of their lengths.
    bytes: u64,
}

impl Coverage {
    /// Covers a range of `space`, and calls `told` with each part that was not covered, in order.
    pub(crate) fn cover(&mut self, space: u32, range: Range<u64>, mut told: impl FnMut(Range<u64>)) {
        if range.is_empty() {
            return;
        }
        // Mostly no more than one range is near, and it is not looked for twice.
        match self.ends.range_mut(..=(space, range.end)).next_back() {
            Some((&(found, start), end)) if found == space && *end >= range.start => {
                if start > range.start {
                    return self.cover_several(space, range, told);
                }
                if *end < range.end {
                    self.bytes += range.end - *end;
                    let new = std::mem::replace(end, range.end)..range.end;
                    told(new);
                }
            }
            _ => {
                self.bytes += range.end - range.start;
                self.ends.insert((space, range.start), range.end);
                told(range);
            }
        }
    }

    fn cover_several(&mut self, space: u32, range: Range<u64>, mut told: impl FnMut(Range<u64>)) {
        let mut new_bytes = 0;
        let mut gap = |gap: Range<u64>| {
            new_bytes += gap.end - gap.start;
            told(gap);
        };
        let (mut start, mut end) = (range.start, range.end);
        let mut new_from = range.start;
        if let Some((before, until)) = self.last_from(space, range.start)
            && until >= range.start
        {
            (start, new_from) = (before, until);
        }
        let further = |from| (Bound::Excluded((space, from)), Bound::Included((space, range.end)));
        while let Some((&(_, next), &until)) = self.ends.range(further(range.start)).next() {
            if next > new_from {
                gap(new_from..next);
            }
            new_from = until;
            end = end.max(until);
            self.ends.remove(&(space, next));
        }
        if new_from < range.end {
            gap(new_from..range.end);
        }
        self.ends.insert((space, start), end);
        self.bytes += new_bytes;
    }

    /// How many bytes of a range are not covered.
    pub(crate) fn missing(&self, space: u32, range: Range<u64>) -> u64 {
        let first = self.last_from(space, range.start).map_or(range.start, |(start, _)| start);
        let near = self.ends.range((space, first)..(space, range.end.max(first)));
        let covered = near.map(|(&(_, start), &end)| end.min(range.end).saturating_sub(start.max(range.start)));
        range.end - range.start - covered.sum::<u64>()
    }

    /// The bytes covered.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of ranges.
    pub(crate) fn ranges(&self) -> usize {
        self.ends.len()
    }

    /// Whether every byte of a range is covered.
    pub(crate) fn contains(&self, space: u32, range: Range<u64>) -> bool {
        range.is_empty() || self.last_from(space, range.start).is_some_and(|(_, until)| until >= range.end)
    }

    /// Every range, by space and start.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Range<u64>)> {
        self.ends.iter().map(|(&(space, start), &end)| (space, start..end))
    }

    /// The last range that starts at or before `at`.
    fn last_from(&self, space: u32, at: u64) -> Option<(u64, u64)> {
        let (&(found, start), &end) = self.ends.range(..=(space, at)).next_back()?;
        (found == space).then_some((start, end))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn gaps(coverage: &mut Coverage, space: u32, range: Range<u64>) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        coverage.cover(space, range, |gap| gaps.push((gap.start, gap.end)));
        gaps
    }

    /// If this fails, an old value is kept twice, the second time a new one, and an abort restores that.
    #[test]
    fn ranges_are_joined_and_gaps_are_told() {
        let mut coverage = Coverage::default();
        assert_eq!(gaps(&mut coverage, 0, 10..20), [(10, 20)]);
        assert_eq!(gaps(&mut coverage, 0, 20..30), [(20, 30)]);
        assert_eq!(gaps(&mut coverage, 0, 40..50), [(40, 50)]);
        assert_eq!(gaps(&mut coverage, 1, 15..18), [(15, 18)]);
        assert_eq!(gaps(&mut coverage, 0, 12..18), []);
        assert_eq!(gaps(&mut coverage, 0, 5..60), [(5, 10), (30, 40), (50, 60)]);
        assert_eq!(coverage.iter().collect::<Vec<_>>(), [(0, 5..60), (1, 15..18)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]
        /// Against a plain array of flags. If this fails, bytes are logged twice or not at all.
        #[test]
        fn it_agrees_with_flags(ranges in proptest::collection::vec((0..2_u32, 0..64_u64, 0..16_u64), 0..40)) {
            let mut flags = [[false; 80]; 2];
            let mut coverage = Coverage::default();
            for (space, start, length) in ranges {
                let flags = &mut flags[space as usize];
                let contained = (start..start + length).all(|at| flags[at as usize]);
                prop_assert_eq!(coverage.contains(space, start..start + length), contained);
                let missing = (start..start + length).filter(|&at| !flags[at as usize]).count() as u64;
                prop_assert_eq!(coverage.missing(space, start..start + length), missing);
                for (from, until) in gaps(&mut coverage, space, start..start + length) {
                    for at in from..until {
                        prop_assert!(!std::mem::replace(&mut flags[at as usize], true));
                    }
                }
                prop_assert!((start..start + length).all(|at| flags[at as usize]));
            }
            let covered: Vec<_> = coverage.iter().collect();
            for pair in covered.windows(2) {
                prop_assert!(pair[0].0 < pair[1].0 || pair[0].1.end < pair[1].1.start);
            }
            prop_assert_eq!(coverage.ranges(), covered.len());
            let bytes: u64 = covered.iter().map(|(_, range)| range.end - range.start).sum();
            prop_assert_eq!(bytes, coverage.bytes());
            prop_assert_eq!(bytes, flags.iter().flatten().filter(|&&flag| flag).count() as u64);
        }
    }
}
