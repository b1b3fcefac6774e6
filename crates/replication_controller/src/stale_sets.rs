//! Sets of fail-locks: adding to them, uniting what several members keep of one site.
//!
//! Invariant: a set covers whatever was added to it; what is too much to be named is locked as whole storages, which name no items, and too
//! many of these as everything. Sets are
//! shared between tables, reports and log records, and large ones are united as wholes, in time linear in their items: while that is done,
//! nobody serves.

use messages::access::StaleSet;
use messages::limits::{FAIL_LOCKED_ITEMS_MAX, FAIL_LOCKED_STORAGES_MAX};
use messages::reached;
use messages::{Item, ItemSet, Key, TableId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Items named at most when the planted bug drops those beyond.
const ITEMS_MAX_DROPPING: usize = 8;

/// Adds an item.
pub(crate) fn lock(stale: &mut StaleSet, item: Item, overflow_drops: bool) {
    if stale.everything || stale.storages.contains(&item.table) {
        return;
    }
    stale.items.tree_mut().insert(item);
    coarsen(stale, overflow_drops);
}

/// Adds storages as wholes.
pub(crate) fn lock_storages(stale: &mut Arc<StaleSet>, storages: impl Iterator<Item = TableId>) {
    for table in storages {
        if stale.everything || stale.storages.contains(&table) {
            continue;
        }
        let stale = Arc::make_mut(stale);
        stale.storages.insert(table);
        let first = Item { table, key: Key::lowest() };
        if stale.items.tree().range(first..).next().is_some_and(|item| item.table == table) {
            stale.items.tree_mut().retain(|item| item.table != table);
        }
        coarsen(stale, false);
    }
}

/// Adds many items, in whatever order. Mostly they are there: what has committed lately was locked for whoever was away.
pub(crate) fn lock_all(stale: &mut Arc<StaleSet>, mut items: impl Iterator<Item = Item>, overflow_drops: bool) {
    while !stale.everything {
        // No more at a time than a set may name: what is locked as a whole by then is passed over.
        let storages = &stale.storages;
        let named = items.by_ref().filter(|item| !storages.contains(&item.table));
        let more: Vec<Item> = named.take(FAIL_LOCKED_ITEMS_MAX).collect();
        if more.is_empty() {
            return;
        }
        let items = ItemSet::packed_of(more.iter().map(|item| (item.table, &item.key)));
        unite(stale, &Arc::new(StaleSet { items, ..StaleSet::default() }), overflow_drops);
    }
}

/// Adds whatever another set covers. Members mostly keep the same set of a site that is away, and what has committed lately was mostly locked
/// for it: then nothing is copied.
pub(crate) fn unite(into: &mut Arc<StaleSet>, other: &Arc<StaleSet>, overflow_drops: bool) {
    if into.is_empty() {
        *into = other.clone();
    } else if into != other {
        let everything = into.everything || other.everything;
        let storages: BTreeSet<TableId> = into.storages.union(&other.storages).copied().collect();
        let items = into.items.union(&other.items, |table| everything || storages.contains(&table));
        let united = StaleSet { items, storages, everything };
        if united == **other {
            *into = other.clone();
        } else if united != **into {
            *into = Arc::new(united);
        }
    }
    if into.items.len() > items_max(overflow_drops) || into.storages.len() > FAIL_LOCKED_STORAGES_MAX {
        coarsen(Arc::make_mut(into), overflow_drops);
    }
}

fn items_max(overflow_drops: bool) -> usize {
    if overflow_drops { ITEMS_MAX_DROPPING } else { FAIL_LOCKED_ITEMS_MAX }
}

/// Locks the storages with the most items as wholes until the rest can be named; and everything, if those are too many.
fn coarsen(stale: &mut StaleSet, overflow_drops: bool) {
    while stale.items.len() > items_max(overflow_drops) {
        if overflow_drops {
            stale.items.tree_mut().pop_first();
            continue;
        }
        let mut counts: BTreeMap<TableId, usize> = BTreeMap::new();
        for item in stale.items.tree() {
            *counts.entry(item.table).or_default() += 1;
        }
        reached!("fail-locks-overflow");
        let largest = counts.into_iter().max_by_key(|(_, count)| *count).map(|(table, _)| table);
        let table = largest.expect("a full set has a largest storage");
        stale.items.tree_mut().retain(|item| item.table != table);
        stale.storages.insert(table);
    }
    if stale.storages.len() > FAIL_LOCKED_STORAGES_MAX {
        *stale = StaleSet { everything: true, ..StaleSet::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn item(table: u32, key: u8) -> Item {
        Item { table: TableId(table), key: Key::new(&[key]) }
    }

    fn covers(stale: &StaleSet, item: &Item) -> bool {
        stale.everything || stale.storages.contains(&item.table) || stale.items.tree().contains(item)
    }

    fn any_set() -> impl Strategy<Value = StaleSet> {
        let items = proptest::collection::btree_set((0u32..3, 0u8..6), 0..8);
        let storages = proptest::collection::btree_set(0u32..3, 0..2);
        (items, storages, proptest::bool::weighted(0.1)).prop_map(|(items, storages, everything)| StaleSet {
            items: items.into_iter().map(|(table, key)| item(table, key)).collect(),
            storages: storages.into_iter().map(TableId).collect(),
            everything,
        })
    }

    proptest! {
        /// Were an item lost, a returning site would serve it stale; were one too many locked, it would be copied for nothing. What another
        /// report or table shares must not change with it.
        #[test]
        fn a_union_covers_what_its_parts_cover(sets in proptest::collection::vec(any_set(), 1..4)) {
            let sets: Vec<Arc<StaleSet>> = sets.into_iter().map(Arc::new).collect();
            let before: Vec<StaleSet> = sets.iter().map(|set| StaleSet::clone(set)).collect();
            let mut united = Arc::default();
            sets.iter().for_each(|set| unite(&mut united, set, false));
            for (table, key) in (0..3).flat_map(|table| (0..6).map(move |key| (table, key))) {
                let item = item(table, key);
                prop_assert_eq!(covers(&united, &item), sets.iter().any(|set| covers(set, &item)));
            }
            prop_assert!(sets.iter().map(|set| &**set).eq(&before));
        }
    }

    proptest! {
        /// Were an item taken for named that is not, whoever was away would read it stale.
        #[test]
        fn items_locked_together_are_covered(
            set in any_set(),
            more in proptest::collection::vec((0u32..3, 0u8..6), 0..8),
            named in proptest::collection::vec(any::<proptest::sample::Index>(), 0..4),
        ) {
            let mut more: Vec<Item> = more.into_iter().map(|(table, key)| item(table, key)).collect();
            let known: Vec<Item> = set.items.iter().collect();
            more.extend(named.iter().filter(|_| !known.is_empty()).map(|index| index.get(&known).clone()));
            let mut stale = Arc::new(set.clone());
            lock_all(&mut stale, more.iter().cloned(), false);
            for (table, key) in (0..3).flat_map(|table| (0..6).map(move |key| (table, key))) {
                let item = item(table, key);
                prop_assert_eq!(covers(&stale, &item), covers(&set, &item) || more.contains(&item));
            }
        }
    }

    /// A dropped storage must be covered whatever was named of it, and no number of them may fill the memory of the sites that are left.
    #[test]
    fn dropped_storages_are_locked_as_wholes() {
        let named = StaleSet { items: [item(1, 1), item(2, 1), item(2, 2), item(3, 1)].into(), ..StaleSet::default() };
        let (mut stale, shared) = (Arc::new(named.clone()), Arc::new(named));
        lock_storages(&mut stale, [TableId(2), TableId(7)].into_iter());
        assert_eq!(stale.items, [item(1, 1), item(3, 1)].into());
        assert_eq!(stale.storages, [TableId(2), TableId(7)].into());
        let mut many = Arc::clone(&shared);
        lock_storages(&mut many, (10..10 + FAIL_LOCKED_STORAGES_MAX as u32).map(TableId));
        assert!(!many.everything && many.items == shared.items);
        let mut united = Arc::clone(&many);
        unite(&mut united, &stale, false);
        lock_storages(&mut many, [TableId(1)].into_iter());
        assert!(many.everything && many.storages.is_empty() && many.items.is_empty());
        assert_eq!((united, shared.storages.len()), (many, 0));
    }

    /// A table without a bound would fill the memory of the sites that are left.
    #[test]
    fn a_full_set_locks_its_largest_storage() {
        let many = |table| {
            (0..FAIL_LOCKED_ITEMS_MAX as u32 / 2 + 1)
                .map(move |number| Item { table: TableId(table), key: Key::new(&number.to_be_bytes()) })
        };
        let mut stale = Arc::default();
        lock_all(&mut stale, many(1), false);
        lock_all(&mut stale, many(2).chain([item(2, 7)]), false);
        assert_eq!(stale.storages, [TableId(2)].into(), "the larger one");
        assert_eq!(stale.items.len(), FAIL_LOCKED_ITEMS_MAX / 2 + 1, "the other is named still");
        let mut full = StaleSet { items: many(1).chain(many(2).skip(2)).collect(), ..StaleSet::default() };
        assert_eq!(full.items.len(), FAIL_LOCKED_ITEMS_MAX);
        lock(&mut full, item(3, 7), false);
        assert_eq!((full.storages.len(), full.items.tree().contains(&item(3, 7))), (1, true));
    }
}
