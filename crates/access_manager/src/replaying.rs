//! A replay's changes of rows: gathered in the order of the log, and made many at a time, row by row.
//!
//! A log names hot rows again and again, and others in no order at all; made at once, each change would look for its row in memory, and in the store,
//! by itself. Invariant: rows come out as if each change had been made when the log told of it. The changes of one row keep the order of the log, and
//! whoever looks at rows during a replay has what was gathered made first ([`Local::catch_up`]).

use crate::chain::{Chain, Version};
use crate::limits::{REPLAYED_AT_ONCE, REPLAYED_BYTES_AT_ONCE};
use crate::local::{Local, cannot_take};
use crate::store::StoreError;
use messages::{Addends, Key, Row, TableId, Timestamp};
use std::collections::BTreeMap;
use values::addition::{self, AddError};

/// What a replay keeps until it ends.
#[derive(Debug, Default)]
pub(crate) struct Replaying {
    /// In the order of the log.
    changes: Vec<ReplayedChange>,
    /// Bytes of rows among them.
    bytes: usize,
    /// Rows that came from the store to be added to, and what the store had of them then. It has everything up to that.
    floors: BTreeMap<(TableId, Key), Timestamp>,
}

/// One change of a row.
#[derive(Debug)]
struct ReplayedChange {
    table: TableId,
    key: Key,
    timestamp: Timestamp,
    what: What,
}

#[derive(Debug)]
enum What {
    Written(Option<Row>),
    Added(Addends),
}

/// A row on its way through its changes.
struct Changing {
    timestamp: Timestamp,
    row: Option<Row>,
    /// What is still to be added to it.
    sum: Addends,
}

impl Replaying {
    /// A row is replaced: what the store had of it does not matter any more.
    pub(crate) fn forget_floor(&mut self, table: TableId, key: &Key) {
        if !self.floors.is_empty() {
            self.floors.remove(&(table, key.clone()));
        }
    }

    /// A storage is gone, or replaced.
    pub(crate) fn forget_floors(&mut self, table: TableId) {
        self.floors.retain(|(other, _), _| *other != table);
    }
}

impl Changing {
    /// Adds, now or with what comes.
    fn add(&mut self, table: TableId, key: &Key, timestamp: Timestamp, addends: &Addends) {
        self.timestamp = self.timestamp.max(timestamp);
        let like = self.sum.len() == addends.len();
        let both = || {
            let pairs = self.sum.iter().zip(addends);
            let same = |(one, other): &(&addition::Addend, &addition::Addend)| {
                one.column == other.column && one.unit == other.unit
            };
            pairs.map(|pair| Some(pair).filter(same).and_then(|(one, other)| one.and(*other))).collect()
        };
        match like.then(both).flatten() {
            Some(sum) => self.sum = sum,
            None => {
                self.sum_up(table, key);
                self.sum.clone_from(addends);
            }
        }
    }

    /// The row with everything added to it.
    fn sum_up(&mut self, table: TableId, key: &Key) {
        let sum = std::mem::take(&mut self.sum);
        if sum.is_empty() {
            return;
        }
        match self.row.as_ref().ok_or(AddError::NotANumber).and_then(|row| addition::add(row, &sum)) {
            Ok(row) => self.row = Some(row.into()),
            Err(error) => cannot_take(table, key, self.timestamp, error),
        }
    }
}

impl Local {
    /// As [`Local::install`], of what the log says: whatever lies below is neither looked for nor kept, because no snapshot is so old.
    pub(crate) fn reinstall(
        &mut self,
        table: TableId,
        key: &Key,
        timestamp: Timestamp,
        row: Option<Row>,
    ) -> Result<(), StoreError> {
        self.storage(table).recent.note(timestamp, key);
        self.replaying.bytes += row.as_ref().map_or(0, Row::len);
        self.gather(ReplayedChange { table, key: key.clone(), timestamp, what: What::Written(row) })
    }

    /// As [`Local::add`], of what the log says. A row that the store has may have had this added to it before it was posted; then its
    /// version is not below. (Where both were undecided when it was posted, [`Local::settle`] has said how the row was then.)
    pub(crate) fn readd(
        &mut self,
        table: TableId,
        key: &Key,
        timestamp: Timestamp,
        addends: &Addends,
    ) -> Result<(), StoreError> {
        let Some(storage) = self.storages.get_mut(&table) else { return Ok(()) };
        storage.recent.note(timestamp, key);
        self.gather(ReplayedChange { table, key: key.clone(), timestamp, what: What::Added(addends.clone()) })
    }

    /// The version that this copy has of an item, however stale that may be. What comes from the store has everything up to it.
    pub(crate) fn replayed(&mut self, table: TableId, key: &Key) -> Result<Option<Timestamp>, StoreError> {
        let is_here = self.storages.get(&table).is_some_and(|storage| storage.chains.contains_key(key));
        let known = self.version(table, key, false)?.map(|known| known.timestamp);
        if let Some(stored) = known.filter(|_| !is_here) {
            self.replaying.floors.insert((table, key.clone()), stored);
        }
        Ok(known)
    }

    fn gather(&mut self, change: ReplayedChange) -> Result<(), StoreError> {
        self.as_of = self.as_of.max(change.timestamp);
        self.replaying.changes.push(change);
        if self.replaying.changes.len() < REPLAYED_AT_ONCE && self.replaying.bytes < REPLAYED_BYTES_AT_ONCE {
            return Ok(());
        }
        self.catch_up()
    }

    /// Makes the changes that were gathered.
    pub(crate) fn catch_up(&mut self) -> Result<(), StoreError> {
        let changes = std::mem::take(&mut self.replaying.changes);
        self.replaying.bytes = 0;
        // What tells most of them apart, in few bytes: sorting moves it many times.
        let place = |(number, change): (usize, &ReplayedChange)| (change.table, change.key.prefix(), number);
        let mut order: Vec<(TableId, u64, usize)> = changes.iter().enumerate().map(place).collect();
        // Those of one row stay in the order of the log.
        order.sort_unstable_by(|one, other| {
            let by_key = || changes[one.2].key.cmp(&changes[other.2].key).then(one.2.cmp(&other.2));
            (one.0, one.1).cmp(&(other.0, other.1)).then_with(by_key)
        });
        let is_same = |one: &(TableId, u64, usize), other: &(TableId, u64, usize)| {
            (one.0, one.1) == (other.0, other.1) && changes[one.2].key == changes[other.2].key
        };
        order.chunk_by(is_same).try_for_each(|row| self.change(row.iter().map(|place| &changes[place.2])))
    }

    /// The log has been replayed.
    pub(crate) fn replay_ends(&mut self) -> Result<(), StoreError> {
        self.catch_up()?;
        self.replaying = Replaying::default();
        Ok(())
    }

    /// Makes the changes of one row.
    fn change<'a>(&mut self, changes: impl Iterator<Item = &'a ReplayedChange>) -> Result<(), StoreError> {
        let mut changes = changes.peekable();
        let Some(ReplayedChange { table, key, .. }) = changes.peek() else { return Ok(()) };
        let generation = self.generation;
        let storage = self.storages.get_mut(table).expect("made when the change was gathered");
        let mut known = storage.chains.get_mut(key);
        let mut row = known.as_ref().map(|chain| {
            let newest = chain.newest();
            Changing { timestamp: newest.timestamp, row: newest.row.clone(), sum: Addends::new() }
        });
        let mut floor = None;
        if row.is_some() && !self.replaying.floors.is_empty() {
            floor = self.replaying.floors.get(&(*table, key.clone())).copied();
        }
        let (mut has_changed, mut looked) = (false, row.is_some() || storage.resident.contains(key));
        for ReplayedChange { timestamp, what, .. } in changes {
            match what {
                What::Written(_) if row.as_ref().is_some_and(|row| row.timestamp >= *timestamp) => {}
                What::Written(written) => {
                    row = Some(Changing { timestamp: *timestamp, row: written.clone(), sum: Addends::new() });
                    (has_changed, looked) = (true, true);
                }
                What::Added(addends) => {
                    if !std::mem::replace(&mut looked, true)
                        && let Some((stored, found)) = self.store.get(*table, key)?
                    {
                        row = Some(Changing { timestamp: stored, row: Some(found), sum: Addends::new() });
                        self.replaying.floors.insert((*table, key.clone()), stored);
                        floor = Some(stored);
                    }
                    let Some(row) = row.as_mut().filter(|_| floor.is_none_or(|floor| floor < *timestamp)) else {
                        continue;
                    };
                    row.add(*table, key, *timestamp, addends);
                    has_changed = true;
                }
            }
        }
        let Some(mut row) = row.filter(|_| has_changed) else { return Ok(()) };
        row.sum_up(*table, key);
        let version = Version { timestamp: row.timestamp, row: row.row, generation };
        let mut written = Chain::written(version, true);
        let mut listed = false;
        if let Some(chain) = &mut known {
            listed = chain.dirty && chain.newest().generation == generation;
            written.queued = chain.queued;
            self.tally.subtract(chain);
            self.tally.add(&written);
            **chain = written;
        } else {
            storage.insert(key.clone(), written, &mut self.tally);
        }
        if !listed {
            self.unposted.push((*table, key.clone()));
        }
        Ok(())
    }
}
