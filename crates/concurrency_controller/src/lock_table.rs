//! Who locks which items and ranges: the index under commit-locks, granted accesses and waiting accesses alike.
//!
//! Invariants: a transaction is listed at most once for an item, with a mode that covers all that it asked for; nothing is listed that
//! was not added and not removed. The table itself lets locks conflict: whoever uses it decides who waits. Everything that
//! is visited comes in key order, then in the order of adding.

use crate::limits::IDLE_STORAGES_MAX;
use crate::segments::Segments;
use messages::concurrency::{AccessKind, AccessTarget};
use messages::planted;
use messages::planted::Planted;
use messages::{History, Item, Key, KeyRange, TableId, TransactionId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};

/// How something is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Mode {
    /// With other readers.
    Shared,
    /// With others that add to it.
    Increment,
    /// Alone.
    Exclusive,
}

impl Mode {
    /// Whether two transactions may not have these at once.
    pub fn conflicts(self, other: Mode) -> bool {
        self != other || self == Mode::Exclusive
    }

    /// Whether who has this needs no lock of the other mode.
    pub(crate) fn covers(self, wanted: Mode) -> bool {
        self == Mode::Exclusive || self == wanted
    }

    /// The weakest mode that covers both.
    pub(crate) fn join(self, other: Mode) -> Mode {
        if self == other { self } else { Mode::Exclusive }
    }
}

impl From<AccessKind> for Mode {
    fn from(kind: AccessKind) -> Mode {
        match kind {
            AccessKind::Read => Mode::Shared,
            AccessKind::Write => Mode::Exclusive,
            AccessKind::Increment => Mode::Increment,
        }
    }
}

/// One lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Holder {
    /// Whose.
    pub transaction: TransactionId,
    /// How.
    pub mode: Mode,
}

/// How a transaction stands to something that it wants to lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockStanding {
    /// It has all of it locked already, in a mode that covers that.
    Covered,
    /// Nobody else has a lock that conflicts.
    Free,
    /// Somebody else may have: `LockTable::conflicts` tells.
    Contested,
}

/// The locks on one item or segment.
pub type Holders = SmallVec<[Holder; 2]>;

/// What is locked: a borrowed `AccessTarget`.
#[derive(Clone, Copy, Debug)]
pub enum LockPlace<'a> {
    /// One item.
    Point(TableId, &'a Key),
    /// Everything between two keys.
    Range(&'a KeyRange),
    /// Everything from one key to another, both included.
    Span(TableId, &'a Key, &'a Key),
    /// A storage as a whole.
    Whole(TableId),
}

impl<'a> From<&'a AccessTarget> for LockPlace<'a> {
    fn from(target: &'a AccessTarget) -> LockPlace<'a> {
        match target {
            AccessTarget::Item(item) => LockPlace::Point(item.table, &item.key),
            AccessTarget::Range(range) => LockPlace::Range(range),
        }
    }
}

impl<'a> LockPlace<'a> {
    /// The item, or the low end of the range, as a conflict names it.
    pub fn item(self) -> Item {
        match self {
            LockPlace::Point(table, key) | LockPlace::Span(table, key, _) => Item { table, key: key.clone() },
            LockPlace::Range(range) => Item { table: range.table, key: range.low.clone() },
            LockPlace::Whole(table) => Item { table, key: Key::lowest() },
        }
    }

    /// As it is found in a table; `None`: no key lies in it.
    fn extent(self) -> Option<LockExtent<'a>> {
        let range = match self {
            LockPlace::Point(table, key) => return Some(LockExtent::Point(table, key)),
            LockPlace::Range(range) => Cow::Borrowed(range),
            LockPlace::Span(table, low, high) => {
                Cow::Owned(KeyRange { table, low: low.clone(), high: Some(high.successor()) })
            }
            LockPlace::Whole(table) => Cow::Owned(KeyRange::whole(table)),
        };
        (!range.is_empty()).then_some(LockExtent::Range(range))
    }
}

/// An item, or a range that has keys.
enum LockExtent<'a> {
    Point(TableId, &'a Key),
    Range(Cow<'a, KeyRange>),
}

impl LockExtent<'_> {
    fn table(&self) -> TableId {
        match self {
            LockExtent::Point(table, _) => *table,
            LockExtent::Range(range) => range.table,
        }
    }
}

/// How a history becomes commit-locks: always in the same way, so that what was locked can be found again.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Placing {
    /// Items of a storage that are locked one by one, at most.
    pub points_max: usize,
    /// The clause to leave out, in the simulator.
    pub planted: Planted,
}

impl Placing {
    /// What a history commit-locks: writes exclusive; what is added to with others that add; items and ranges read shared. A storage of which it
    /// names more than `points_max` items is locked from the first to the last of them, because no transaction may keep its site from renewing its
    /// leases for as long as so many locks take. Dropped storages are locked exclusive as wholes: a drop that is installed before rows that were written
    /// earlier would leave them for good.
    pub fn places(self, history: &History) -> impl Iterator<Item = (LockPlace<'_>, Mode)> {
        let writes = || history.writes.iter().map(|write| (write.table, &write.key));
        let reads = || history.reads.iter().map(|read| (read.table, &read.key));
        let increments = history.increments.iter();
        let increments = increments.map(|added| (LockPlace::Point(added.table, &added.key), Mode::Increment));
        let ranges = history.ranges.iter().map(|read| (LockPlace::Range(&read.range), Mode::Shared));
        let written = self.points_and_spans(history.writes.len(), writes).map(|place| (place, Mode::Exclusive));
        let read = self.points_and_spans(history.reads.len(), reads).map(|place| (place, Mode::Shared));
        let dropped = history.drops.iter().filter(move |_| !planted!(self.planted, DropPassesWrites));
        let dropped = dropped.map(|table| (LockPlace::Whole(*table), Mode::Exclusive));
        written.chain(increments).chain(read).chain(ranges).chain(dropped)
    }

    /// The items, but of a storage of which they are many what lies from the first to the last of them.
    fn points_and_spans<'a, I: Iterator<Item = (TableId, &'a Key)>>(
        self,
        number: usize,
        items: impl Fn() -> I,
    ) -> impl Iterator<Item = LockPlace<'a>> {
        let mut storages: BTreeMap<TableId, (usize, LockPlace<'a>)> = BTreeMap::new();
        if number > self.points_max {
            for (table, key) in items() {
                let (number, span) = storages.entry(table).or_insert((0, LockPlace::Span(table, key, key)));
                *number += 1;
                let LockPlace::Span(_, low, high) = span else { unreachable!("only spans are put there") };
                *low = (*low).min(key);
                *high = if planted!(self.planted, SpanEndsEarly) { *low } else { (*high).max(key) };
            }
            storages.retain(|_, (number, _)| *number > self.points_max);
        }
        let spans: SmallVec<[LockPlace<'a>; 1]> = storages.values().map(|(_, span)| *span).collect();
        let points = items().filter(move |(table, _)| !storages.contains_key(table));
        spans.into_iter().chain(points.map(|(table, key)| LockPlace::Point(table, key)))
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct LockedStorage {
    points: FxHashMap<Key, Holders>,
    /// The keys of `points` in order, once a range has asked for them and until nothing is locked.
    #[serde(skip)]
    in_order: OnceCell<BTreeSet<Key>>,
    ranges: Segments,
    /// Locks in both that are not shared: without any, a reader need not look.
    unshared: usize,
}

impl LockedStorage {
    fn is_empty(&self) -> bool {
        self.points.is_empty() && self.ranges.is_empty()
    }

    fn add_point(&mut self, key: &Key, holder: Holder) -> bool {
        let holders = match self.points.entry(key.clone()) {
            Entry::Occupied(holders) => holders.into_mut(),
            Entry::Vacant(vacant) => {
                if let Some(in_order) = self.in_order.get_mut() {
                    in_order.insert(key.clone());
                }
                vacant.insert(Holders::new())
            }
        };
        let own = holders.iter_mut().find(|own| own.transaction == holder.transaction);
        let before = own.as_ref().map(|own| own.mode);
        match own {
            Some(own) => own.mode = own.mode.join(holder.mode),
            None => holders.push(holder),
        }
        self.unshared += usize::from(holder.mode != Mode::Shared && before.is_none_or(|mode| mode == Mode::Shared));
        before.is_none()
    }

    fn remove_point(&mut self, key: &Key, transaction: TransactionId) {
        let Entry::Occupied(mut holders) = self.points.entry(key.clone()) else {
            return;
        };
        let own = holders.get().iter().position(|holder| holder.transaction == transaction);
        let Some(own) = own else { return };
        let holder = holders.get_mut().remove(own);
        self.unshared -= usize::from(holder.mode != Mode::Shared);
        if holders.get().is_empty() {
            holders.remove();
            if self.points.is_empty() {
                self.in_order.take();
            } else if let Some(in_order) = self.in_order.get_mut() {
                in_order.remove(key);
            }
        }
    }

    fn visit(&self, extent: &LockExtent<'_>, visit: &mut dyn FnMut(Holder) -> ControlFlow<()>) -> ControlFlow<()> {
        match extent {
            LockExtent::Point(_, key) => {
                self.points.get(*key).into_iter().flatten().copied().try_for_each(&mut *visit)?;
                self.ranges.at(key).iter().copied().try_for_each(visit)
            }
            LockExtent::Range(range) => {
                let high = range.high.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
                let in_order = self.in_order.get_or_init(|| self.points.keys().cloned().collect());
                let keys = in_order.range::<Key, _>((Bound::Included(&range.low), high));
                keys.flat_map(|key| &self.points[key]).copied().try_for_each(&mut *visit)?;
                self.ranges.overlapping(range).flatten().copied().try_for_each(visit)
            }
        }
    }
}

/// Locks of many transactions on items and ranges.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct LockTable {
    storages: FxHashMap<TableId, LockedStorage>,
    /// Storages that are not empty.
    used: usize,
}

impl LockTable {
    /// Whether nobody locks anything.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Adds a lock. False when it need not be removed: the transaction has that item already (now in a mode that covers both), or
    /// the range has no key.
    pub fn add(&mut self, place: LockPlace<'_>, transaction: TransactionId, mode: Mode) -> bool {
        let Some(extent) = place.extent() else { return false };
        let storage = self.storages.entry(extent.table()).or_default();
        self.used += usize::from(storage.is_empty());
        let holder = Holder { transaction, mode };
        match extent {
            LockExtent::Point(_, key) => storage.add_point(key, holder),
            LockExtent::Range(range) => {
                storage.unshared += usize::from(mode != Mode::Shared);
                storage.ranges.add(&range, holder);
                true
            }
        }
    }

    /// Removes a lock: of an item in whatever mode, nothing if there is none; of a range as it was added.
    pub fn remove(&mut self, place: LockPlace<'_>, transaction: TransactionId, mode: Mode) {
        let Some(extent) = place.extent() else { return };
        let table = extent.table();
        let Some(storage) = self.storages.get_mut(&table).filter(|storage| !storage.is_empty()) else { return };
        match extent {
            LockExtent::Point(_, key) => storage.remove_point(key, transaction),
            LockExtent::Range(range) => {
                storage.unshared -= usize::from(mode != Mode::Shared);
                storage.ranges.remove(&range, Holder { transaction, mode });
            }
        }
        if storage.is_empty() {
            self.used -= 1;
            if self.storages.len() > IDLE_STORAGES_MAX {
                self.storages.remove(&table);
            }
        }
    }

    /// Removes the lock of an item, if it allows its holder nothing but to add. Whether it did.
    pub fn remove_increment(&mut self, item: &Item, transaction: TransactionId) -> bool {
        let holders = self.storages.get(&item.table).and_then(|storage| storage.points.get(&item.key));
        let only_adds = Holder { transaction, mode: Mode::Increment };
        let has = holders.is_some_and(|holders| holders.contains(&only_adds));
        if has {
            self.remove(LockPlace::Point(item.table, &item.key), transaction, Mode::Increment);
        }
        has
    }

    /// Where something is locked in the storage of this place, if it has a key.
    fn storage_at<'a>(&self, place: LockPlace<'a>) -> Option<(&LockedStorage, LockExtent<'a>)> {
        if self.is_empty() {
            return None;
        }
        let extent = place.extent()?;
        Some((self.storages.get(&extent.table())?, extent))
    }

    /// Visits every lock of another transaction that conflicts with this one, until told to stop. One may come more than once.
    pub fn conflicts(
        &self,
        place: LockPlace<'_>,
        own: TransactionId,
        mode: Mode,
        mut visit: impl FnMut(Holder) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some((storage, extent)) = self.storage_at(place) else { return ControlFlow::Continue(()) };
        if mode == Mode::Shared && storage.unshared == 0 {
            return ControlFlow::Continue(());
        }
        storage.visit(&extent, &mut |holder| {
            if holder.transaction != own && holder.mode.conflicts(mode) {
                visit(holder)
            } else {
                ControlFlow::Continue(())
            }
        })
    }

    /// Whether this transaction has a lock that conflicts with such a lock of another.
    pub fn stands_in_the_way(&self, transaction: TransactionId, place: LockPlace<'_>, mode: Mode) -> bool {
        let Some((storage, extent)) = self.storage_at(place) else { return false };
        let found = storage.visit(&extent, &mut |holder| match holder.transaction == transaction
            && holder.mode.conflicts(mode)
        {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        found.is_break()
    }

    /// How this transaction stands to a place, in one search.
    pub fn standing(&self, transaction: TransactionId, place: LockPlace<'_>, mode: Mode) -> LockStanding {
        let Some(extent) = place.extent() else { return LockStanding::Covered };
        let Some(storage) = self.storages.get(&extent.table()) else { return LockStanding::Free };
        let mut met = false;
        let mut has = |holders: &[Holder]| {
            met |= holders.iter().any(|other| other.transaction != transaction && other.mode.conflicts(mode));
            holders.iter().any(|own| own.transaction == transaction && own.mode.covers(mode))
        };
        let covered = match extent {
            LockExtent::Point(_, key) => {
                storage.points.get(key).is_some_and(|holders| has(holders)) || has(storage.ranges.at(key))
            }
            LockExtent::Range(range) => {
                let covered = storage.ranges.overlapping(&range).all(&mut has);
                // Points do not cover a range, and shared ones do not stand in a reader's way.
                met |= mode != Mode::Shared || storage.unshared > 0;
                covered
            }
        };
        match (covered, met) {
            (true, _) => LockStanding::Covered,
            (false, true) => LockStanding::Contested,
            (false, false) => LockStanding::Free,
        }
    }
}
