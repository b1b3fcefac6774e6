//! Sets of keys as disjoint ranges. Invariant: ranges are not empty, and no two of them touch.

use messages::Key;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Bound;

/// A range of keys: the first key in it, and the first key behind it (`None`: to the end).
pub(crate) type KeySpan = (Key, Option<Key>);

/// A set of keys of one storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyRanges {
    ranges: BTreeMap<Key, Option<Key>>,
    points: usize,
}

/// Whether `key` lies before the end `high`.
pub(crate) fn before(key: &Key, high: Option<&Key>) -> bool {
    high.is_none_or(|high| key < high)
}

/// Whether a range holds exactly one key.
pub(crate) fn is_point(low: &Key, high: Option<&Key>) -> bool {
    high.is_some_and(|high| high.as_bytes().split_last() == Some((&0, low.as_bytes())))
}

fn lower(first: Option<&Key>, second: Option<&Key>) -> Option<Key> {
    match (first, second) {
        (Some(first), Some(second)) => Some(first.min(second).clone()),
        (first, second) => first.or(second).cloned(),
    }
}

impl KeyRanges {
    /// Every key.
    pub(crate) fn whole() -> KeyRanges {
        let mut ranges = KeyRanges::default();
        ranges.add(&Key::lowest(), None);
        ranges
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Ranges that hold one key.
    pub(crate) fn points(&self) -> usize {
        self.points
    }

    /// Ranges that hold more than one key.
    pub(crate) fn extents(&self) -> usize {
        self.ranges.len() - self.points
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, Option<&Key>)> {
        self.ranges.iter().map(|(low, high)| (low, high.as_ref()))
    }

    /// The end of the last range.
    pub(crate) fn end(&self) -> Option<&Key> {
        self.ranges.last_key_value().and_then(|(_, high)| high.as_ref())
    }

    pub(crate) fn contains(&self, key: &Key) -> bool {
        let below = self.ranges.range::<Key, _>(..=key).next_back();
        below.is_some_and(|(_, high)| before(key, high.as_ref()))
    }

    fn put(&mut self, low: Key, high: Option<Key>) {
        self.points += usize::from(is_point(&low, high.as_ref()));
        self.ranges.insert(low, high);
    }

    fn take(&mut self, low: &Key) -> Option<Key> {
        let high = self.ranges.remove(low).expect("only ranges that were found are taken");
        self.points -= usize::from(is_point(low, high.as_ref()));
        high
    }

    pub(crate) fn add(&mut self, low: &Key, high: Option<&Key>) {
        if !before(low, high) {
            return;
        }
        let (mut low, mut high) = (low.clone(), high.cloned());
        let touching = self.ranges.range::<Key, _>(..=&low).next_back();
        if let Some((start, end)) = touching.filter(|(_, end)| end.as_ref().is_none_or(|end| low <= *end)) {
            low = start.clone();
            if end.as_ref().is_none_or(|end| !before(end, high.as_ref())) {
                return;
            }
            self.take(&low);
        }
        while let Some((start, _)) = self.ranges.range::<Key, _>(&low..).next() {
            if high.as_ref().is_some_and(|high| high < start) {
                break;
            }
            let start = start.clone();
            let end = self.take(&start);
            high = match (high, end) {
                (Some(high), Some(end)) => Some(high.max(end)),
                _ => None,
            };
        }
        self.put(low, high);
    }

    /// Adds single keys, which come in ascending order, in time linear in all ranges.
    pub(crate) fn add_points(&mut self, keys: impl Iterator<Item = Key>) {
        let mut known = std::mem::take(&mut self.ranges).into_iter().peekable();
        let point = |key: Key| {
            let behind = key.successor();
            (key, Some(behind))
        };
        let mut points = keys.map(point).peekable();
        let mut all: Vec<(Key, Option<Key>)> = Vec::with_capacity(known.len());
        loop {
            let known_first = match (known.peek(), points.peek()) {
                (Some((known, _)), Some((point, _))) => known <= point,
                (known, _) => known.is_some(),
            };
            let Some((low, high)) = (if known_first { known.next() } else { points.next() }) else { break };
            match all.last_mut() {
                Some((_, last)) if last.as_ref().is_none_or(|last| low <= *last) => {
                    *last = match (last.take(), high) {
                        (Some(last), Some(high)) => Some(last.max(high)),
                        _ => None,
                    };
                }
                _ => all.push((low, high)),
            }
        }
        self.points = all.iter().filter(|(low, high)| is_point(low, high.as_ref())).count();
        // In ascending order: the tree is made as a whole.
        self.ranges = all.into_iter().collect();
    }

    pub(crate) fn remove(&mut self, low: &Key, high: Option<&Key>) {
        if !before(low, high) {
            return;
        }
        let straddling = self.ranges.range::<Key, _>(..low).next_back();
        if let Some((start, end)) = straddling.filter(|(_, end)| before(low, end.as_ref())) {
            let (start, end) = (start.clone(), end.clone());
            self.take(&start);
            self.put(start, Some(low.clone()));
            if let Some(high) = high.filter(|high| before(high, end.as_ref())) {
                self.put(high.clone(), end);
            }
        }
        while let Some((start, _)) = self.ranges.range::<Key, _>(low..).next().filter(|(start, _)| before(start, high))
        {
            let start = start.clone();
            let end = self.take(&start);
            if let Some(high) = high.filter(|high| before(high, end.as_ref())) {
                self.put(high.clone(), end);
            }
        }
    }

    /// The first part of `[low, high)` that is in the set.
    pub(crate) fn first_in(&self, low: &Key, high: Option<&Key>) -> Option<KeySpan> {
        if !before(low, high) {
            return None;
        }
        let around = self.ranges.range::<Key, _>(..=low).next_back();
        if let Some((_, end)) = around.filter(|(_, end)| before(low, end.as_ref())) {
            return Some((low.clone(), lower(end.as_ref(), high)));
        }
        let (start, end) = self.ranges.range::<Key, _>(low..).next().filter(|(start, _)| before(start, high))?;
        Some((start.clone(), lower(end.as_ref(), high)))
    }

    /// The last part of `[low, high)` that is in the set.
    pub(crate) fn last_in(&self, low: &Key, high: Option<&Key>) -> Option<KeySpan> {
        if !before(low, high) {
            return None;
        }
        let bound = high.map_or(Bound::Unbounded, Bound::Excluded);
        let (start, end) = self.ranges.range::<Key, _>((Bound::Unbounded, bound)).next_back()?;
        before(low, end.as_ref()).then(|| (start.max(low).clone(), lower(end.as_ref(), high)))
    }

    /// The first part of `[low, high)` that is not in the set.
    pub(crate) fn first_gap(&self, low: &Key, high: Option<&Key>) -> Option<KeySpan> {
        let around = self.ranges.range::<Key, _>(..=low).next_back();
        let from = match around.filter(|(_, end)| before(low, end.as_ref())) {
            Some((_, end)) => end.clone()?,
            None => low.clone(),
        };
        if !before(&from, high) {
            return None;
        }
        let next = self.ranges.range::<Key, _>(&from..).next().map(|(start, _)| start);
        Some((from, lower(next, high)))
    }

    /// The last part of `[low, high)` that is not in the set.
    pub(crate) fn last_gap(&self, low: &Key, high: Option<&Key>) -> Option<KeySpan> {
        if !before(low, high) {
            return None;
        }
        let bound = high.map_or(Bound::Unbounded, Bound::Excluded);
        let mut below = self.ranges.range::<Key, _>((Bound::Unbounded, bound)).rev();
        let Some((start, end)) = below.next() else {
            return Some((low.clone(), high.cloned()));
        };
        if let Some(end) = end.as_ref().filter(|end| before(end, high)) {
            return Some((end.max(low).clone(), high.cloned()));
        }
        // The last range reaches the end: the gap lies before it.
        if start <= low {
            return None;
        }
        let from = below.next().and_then(|(_, end)| end.clone());
        Some((from.map_or_else(|| low.clone(), |end| end.max(low.clone())), Some(start.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(number: u8) -> Key {
        Key::new(&[number])
    }

    /// The set by single keys `0..=15`; every range below ends at 16 at most, or nowhere.
    fn members(ranges: &KeyRanges) -> Vec<bool> {
        (0..16).map(|number| ranges.contains(&key(number))).collect()
    }

    fn end(high: u8) -> Option<Key> {
        (high < 16).then(|| key(high))
    }

    proptest! {
        /// Were a range lost or grown, a stale item would be served or a row be taken for absent.
        #[test]
        fn ranges_agree_with_single_keys(steps in proptest::collection::vec((any::<bool>(), 0u8..16, 0u8..17), 1..30)) {
            let mut ranges = KeyRanges::default();
            let mut model = vec![false; 16];
            for (adds, low, high) in steps {
                let last = end(high);
                if adds { ranges.add(&key(low), last.as_ref()) } else { ranges.remove(&key(low), last.as_ref()) }
                for number in low..high.min(16) { model[usize::from(number)] = adds; }
                prop_assert_eq!(members(&ranges), model.clone());
                let listed: Vec<_> = ranges.iter().map(|(low, high)| (low.clone(), high.cloned())).collect();
                prop_assert!(listed.windows(2).all(|pair| pair[0].1.as_ref().is_some_and(|high| *high < pair[1].0)));
                prop_assert_eq!(ranges.extents() + ranges.points(), listed.len());
            }
            for low in 0..16u8 {
                for high in low + 1..17 {
                    let window: Vec<u8> = (low..high).collect();
                    let (from, to) = (key(low), end(high));
                    let start = |extent: Option<KeySpan>| extent.map(|(start, _)| start.as_bytes()[0]);
                    let stop = |extent: Option<KeySpan>| extent.map(|(_, stop)| stop.map_or(16, |stop| stop.as_bytes()[0]));
                    let model = &model;
                    let is = |wanted: bool| move |number: &&u8| model[usize::from(**number)] == wanted;
                    prop_assert_eq!(start(ranges.first_in(&from, to.as_ref())), window.iter().find(is(true)).copied());
                    prop_assert_eq!(start(ranges.first_gap(&from, to.as_ref())), window.iter().find(is(false)).copied());
                    prop_assert_eq!(stop(ranges.last_in(&from, to.as_ref())), window.iter().rfind(is(true)).map(|n| n + 1));
                    prop_assert_eq!(stop(ranges.last_gap(&from, to.as_ref())), window.iter().rfind(is(false)).map(|n| n + 1));
                }
            }
        }
    }

    proptest! {
        /// What is added as a whole must be the set that one key after the other makes: else a stale key would be served, or counted wrongly.
        #[test]
        fn keys_are_added_together_as_one_by_one(
            known in proptest::collection::vec((0u8..4, 0u8..5), 0..4),
            added in proptest::collection::btree_set((0u8..4, 0usize..3), 0..12),
        ) {
            let mut ranges = KeyRanges::default();
            for (low, high) in known {
                ranges.add(&key(low), (high < 4).then(|| key(high)).as_ref());
            }
            // Keys that touch are among them: a key, and its successors.
            let successor = |(number, times)| (0..times).fold(key(number), |key: Key, _| key.successor());
            let added: Vec<Key> = added.into_iter().map(successor).collect();
            let mut expected = ranges.clone();
            added.iter().for_each(|key| expected.add(key, Some(&key.successor())));
            ranges.add_points(added.into_iter());
            prop_assert_eq!(ranges, expected);
        }
    }

    /// An item that is stale by itself must be asked for as an item, and counted as one.
    #[test]
    fn points_are_counted() {
        let mut ranges = KeyRanges::default();
        ranges.add(&key(3), Some(&key(3).successor()));
        assert_eq!((ranges.points(), ranges.extents()), (1, 0));
        ranges.add(&key(2), Some(&key(4)));
        assert_eq!((ranges.points(), ranges.extents()), (0, 1));
        ranges.remove(&key(3), None);
        assert!(!ranges.contains(&key(3)) && ranges.contains(&key(2)));
    }
}
