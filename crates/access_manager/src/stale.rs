//! What is stale in the own copy: the fail-locks that this site has to work off.
//!
//! Invariant: a key that is not stale here has its newest committed version, or is absent, in this copy. Kept as ranges of keys, so that a
//! storage that is stale as a whole shrinks with every range copied and every key written.

use crate::ranges::{KeyRanges, KeySpan, before, is_point};
use messages::access::{CopyRequest, StaleSet};
use messages::{Item, Key, KeyRange, TableId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Default, Serialize, Deserialize)]
struct StaleStorage {
    ranges: KeyRanges,
    /// Was stale as a whole: its end is reported.
    whole: bool,
}

/// What is stale in the own copy.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Stale {
    /// Storages that `storages` does not know are stale as a whole.
    everything: bool,
    storages: BTreeMap<TableId, StaleStorage>,
}

impl Stale {
    pub(crate) fn is_empty(&self) -> bool {
        !self.everything && self.storages.is_empty()
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.everything
    }

    /// Storages of which something is stale, as far as they are known.
    pub(crate) fn storages(&self) -> impl Iterator<Item = TableId> + '_ {
        self.storages.iter().filter(|(_, storage)| !storage.ranges.is_empty()).map(|(table, _)| *table)
    }

    pub(crate) fn contains(&self, table: TableId, key: &Key) -> bool {
        match self.storages.get(&table) {
            Some(storage) => storage.ranges.contains(key),
            None => self.everything,
        }
    }

    /// Adds to what is stale.
    pub(crate) fn mark(&mut self, set: &StaleSet) {
        if set.everything {
            self.everything = true;
            self.storages.clear();
            return;
        }
        for table in &set.storages {
            self.mark_whole(*table);
        }
        let mut items = set.items.iter().peekable();
        while let Some(&Item { table, .. }) = items.peek() {
            let keys = std::iter::from_fn(|| items.next_if(|item| item.table == table)).map(|item| item.key);
            match self.known(table) {
                Some(storage) => storage.ranges.add_points(keys),
                None => keys.for_each(drop),
            }
        }
    }

    fn mark_whole(&mut self, table: TableId) {
        let storage = StaleStorage { ranges: KeyRanges::whole(), whole: true };
        self.storages.insert(table, storage);
    }

    /// The storage to add stale items to; `None` when all of it is stale anyway.
    fn known(&mut self, table: TableId) -> Option<&mut StaleStorage> {
        match self.everything {
            true => self.storages.get_mut(&table),
            false => Some(self.storages.entry(table).or_default()),
        }
    }

    /// Takes a range of keys out. Whether that ends a storage that was stale as a whole.
    pub(crate) fn refresh(&mut self, table: TableId, low: &Key, high: Option<&Key>) -> bool {
        if self.everything && !self.storages.contains_key(&table) {
            self.mark_whole(table);
        }
        let Some(storage) = self.storages.get_mut(&table) else {
            return false;
        };
        storage.ranges.remove(low, high);
        let finished = storage.whole && storage.ranges.is_empty();
        if storage.ranges.is_empty() {
            storage.whole = false;
            // While everything is stale, a storage that is not known would be stale again.
            if !self.everything {
                self.storages.remove(&table);
            }
        }
        finished
    }

    /// Ends `everything`: from now on only these storages, and those already known, are stale. Whether a storage is one of them is told by
    /// [`Stale::knows`].
    pub(crate) fn list_storages(&mut self, listed: &[TableId]) {
        for table in listed {
            if !self.storages.contains_key(table) {
                self.mark_whole(*table);
            }
        }
        self.everything = false;
        self.storages.retain(|_, storage| !storage.ranges.is_empty());
    }

    /// Whether part of this storage is stale by name, or has been refreshed while everything was stale.
    pub(crate) fn knows(&self, table: TableId) -> bool {
        self.storages.contains_key(&table)
    }

    /// The first stale part of a range of keys.
    pub(crate) fn first_in(&self, table: TableId, low: &Key, high: Option<&Key>) -> Option<KeySpan> {
        match self.storages.get(&table) {
            Some(storage) => storage.ranges.first_in(low, high),
            None => (self.everything && before(low, high)).then(|| (low.clone(), high.cloned())),
        }
    }

    /// The last stale part of a range of keys.
    pub(crate) fn last_in(&self, table: TableId, low: &Key, high: Option<&Key>) -> Option<KeySpan> {
        match self.storages.get(&table) {
            Some(storage) => storage.ranges.last_in(low, high),
            None => (self.everything && before(low, high)).then(|| (low.clone(), high.cloned())),
        }
    }

    /// What to ask an up member for next: of `wanted` if given, else in order, and storages of which more than single items are stale
    /// last: they take long. The same until it is refreshed.
    pub(crate) fn next(&self, limit: usize, wanted: Option<&KeyRange>) -> Option<CopyRequest> {
        if self.everything {
            return Some(CopyRequest::Storages);
        }
        let mut items = Vec::new();
        match wanted {
            Some(range) => {
                let storage = self.storages.get(&range.table)?;
                let mut low = range.low.clone();
                while items.len() < limit
                    && let Some((start, end)) = storage.ranges.first_in(&low, range.high.as_ref())
                {
                    let Some(next) = end.clone().filter(|_| is_point(&start, end.as_ref())) else {
                        let from = extent(range.table, start, storage.ranges.end(), range.high.as_ref());
                        return Some(items_or(items, from));
                    };
                    items.push(Item { table: range.table, key: start });
                    low = next;
                }
            }
            None => {
                let with_extents =
                    |has: bool| self.storages.iter().filter(move |(_, storage)| (storage.ranges.extents() > 0) == has);
                for (table, storage) in with_extents(false).chain(with_extents(true)) {
                    for (start, end) in storage.ranges.iter() {
                        if !is_point(start, end) {
                            let from = extent(*table, start.clone(), storage.ranges.end(), None);
                            return Some(items_or(items, from));
                        }
                        items.push(Item { table: *table, key: start.clone() });
                        if items.len() >= limit {
                            return Some(CopyRequest::Items(items));
                        }
                    }
                }
            }
        }
        (!items.is_empty()).then_some(CopyRequest::Items(items))
    }

    /// Stale items left; a storage that is stale as a whole counts as one.
    pub(crate) fn left(&self) -> u64 {
        let left = |storage: &StaleStorage| match storage.whole {
            true => usize::from(!storage.ranges.is_empty()),
            false => storage.ranges.points() + storage.ranges.extents(),
        };
        u64::from(self.everything) + self.storages.values().map(left).sum::<usize>() as u64
    }

    /// For the log. A storage of which more than single items are stale is named as a whole: after a restart it is copied again.
    pub(crate) fn to_set(&self) -> StaleSet {
        let mut set = StaleSet { everything: self.everything, ..StaleSet::default() };
        if self.everything {
            return set;
        }
        let mut named = Vec::new();
        for (table, storage) in &self.storages {
            if storage.ranges.extents() > 0 {
                set.storages.insert(*table);
                continue;
            }
            let items = storage.ranges.iter().map(|(key, _)| Item { table: *table, key: key.clone() });
            named.extend(items);
        }
        set.items = named.into_iter().collect();
        set
    }
}

/// From the first stale key to the last of the storage, refreshed ones in between included: one message after the other then covers the
/// storage however many single keys have been written meanwhile.
fn extent(table: TableId, low: Key, last: Option<&Key>, bound: Option<&Key>) -> KeyRange {
    let high = match (last, bound) {
        (Some(last), Some(bound)) => Some(last.min(bound).clone()),
        (last, bound) => last.or(bound).cloned(),
    };
    KeyRange { table, low, high }
}

/// Items found so far, or else the range.
fn items_or(items: Vec<Item>, from: KeyRange) -> CopyRequest {
    if !items.is_empty() {
        CopyRequest::Items(items)
    } else if is_point(&from.low, from.high.as_ref()) {
        let KeyRange { table, low: key, .. } = from;
        CopyRequest::Items(vec![Item { table, key }])
    } else {
        CopyRequest::Range { from: Box::new(from) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(20);

    fn key(text: &str) -> Key {
        Key::new(text.as_bytes())
    }

    fn item(text: &str) -> Item {
        Item { table: TABLE, key: key(text) }
    }

    fn whole() -> Stale {
        let mut stale = Stale::default();
        stale.mark(&StaleSet { storages: [TABLE].into(), ..StaleSet::default() });
        stale
    }

    fn point(stale: &mut Stale, text: &str) -> bool {
        stale.refresh(TABLE, &key(text), Some(&key(text).successor()))
    }

    /// A key written while its storage is stale must count as fresh, and the storage as stale until its last key is copied.
    #[test]
    fn a_whole_storage_shrinks() {
        let mut stale = whole();
        assert!(!point(&mut stale, "m"));
        assert!(!stale.contains(TABLE, &key("m")) && stale.contains(TABLE, &key("n")));
        assert!(!stale.refresh(TABLE, &key(""), Some(&key("k"))));
        let from = KeyRange { table: TABLE, low: key("k"), high: None };
        assert_eq!(
            stale.next(10, None),
            Some(CopyRequest::Range { from: Box::new(from) }),
            "continues behind what was copied"
        );
        assert_eq!(stale.left(), 1);
        assert!(stale.to_set().storages.contains(&TABLE), "a restart copies all of it again");
        assert!(stale.refresh(TABLE, &key("k"), None), "the end is reported once");
        assert!(stale.is_empty() && !stale.refresh(TABLE, &key("k"), None));
    }

    /// A read that waits must not wait for the whole storage.
    #[test]
    fn what_is_wanted_comes_first() {
        let mut stale = whole();
        let wanted = KeyRange::point(TABLE, key("m"));
        assert_eq!(stale.next(10, Some(&wanted)), Some(CopyRequest::Items(vec![item("m")])));
        point(&mut stale, "m");
        assert_eq!(stale.next(10, Some(&wanted)), None, "nothing of what is wanted is stale");
    }

    /// Thousands of rows would wait for the copy of a storage that nobody reads, perhaps.
    #[test]
    fn single_items_come_before_whole_storages() {
        let mut stale = whole();
        let other = Item { table: TableId(21), key: key("a") };
        stale.mark(&StaleSet { items: [other.clone()].into(), ..StaleSet::default() });
        assert_eq!(stale.next(10, None), Some(CopyRequest::Items(vec![other.clone()])));
        stale.refresh(other.table, &other.key, Some(&other.key.successor()));
        assert!(matches!(stale.next(10, None), Some(CopyRequest::Range { from }) if from.table == TABLE));
    }

    /// Items are handed out as items, up to the limit, and survive a restart as items.
    #[test]
    fn items_stay_items() {
        let mut stale = Stale::default();
        let items = StaleSet { items: ["a", "b", "c"].map(item).into(), ..StaleSet::default() };
        stale.mark(&items);
        assert_eq!(stale.next(2, None), Some(CopyRequest::Items(vec![item("a"), item("b")])));
        assert_eq!((stale.left(), stale.to_set()), (3, items));
        assert!(!point(&mut stale, "b") && stale.left() == 2);
    }

    /// A site without any copy must not serve a storage that it has not heard of, but may serve what it has received.
    #[test]
    fn everything_ends_with_the_list_of_storages() {
        let mut stale = Stale::default();
        stale.mark(&StaleSet { everything: true, ..StaleSet::default() });
        assert!(stale.contains(TableId(77), &key("a")));
        assert_eq!(stale.next(10, None), Some(CopyRequest::Storages));
        point(&mut stale, "written");
        assert!(!stale.contains(TABLE, &key("written")) && stale.contains(TABLE, &key("other")));
        stale.list_storages(&[TableId(21)]);
        assert!(!stale.contains(TableId(77), &key("a")));
        assert!(stale.contains(TABLE, &key("other")) && !stale.contains(TABLE, &key("written")));
        assert!(stale.contains(TableId(21), &key("a")));
    }
}
