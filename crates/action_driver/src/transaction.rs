//! What one transaction has read, locked and written: everything that becomes its history.
//!
//! Invariants: an item is read at one version only (seeing another is a lost conflict); reads of a snapshot are not recorded;
//! storages that the transaction made itself are neither locked nor recorded, because nobody else can see them.

mod isolation;
mod plants;
mod savepoints;
mod view;

use crate::companion::Companion;
use crate::differential_file::DifferentialFile;
use crate::failure;
use crate::limits::{
    INCREMENTED_REMEMBERED, JOINT_BYTES_MAX, JOINT_ITEMS_MAX, LOCKED_AGAIN_MAX, PRIVATE_CHUNK_BYTES, RANGES_REMEMBERED,
};
use crate::reference_keys::PendingReference;
use crate::sequences::{self, OwnSequence};
use isolation::IsolatedReads;
pub use isolation::{RequestReads, changed_since};
use messages::concurrency::{AccessKind, AccessTarget};
use messages::conflict::{Conflict, ConflictKind};
use messages::limits::{KEY_BYTES_MAX, TRANSACTION_BYTES_MAX, TRANSACTION_WRITES_MAX};
use messages::planted;
use messages::planted::Planted;
use messages::session::{AccessMode, Failure};
use messages::{
    Age, ChangedRows, EpochNumber, History, Item, ItemRead, Key, KeyRange, Notification, RangeRead, Row, TableId,
    Timestamp, TransactionId, Write,
};
use savepoints::{Moment, Savepoint};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use values::Addend;
use view::StatementView;

/// A transaction that is executing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExecutingTransaction {
    /// What it may do.
    pub mode: AccessMode,
    /// Whether the client opened it, so that it outlives a request.
    pub explicit: bool,
    /// When it began: microseconds since 1970.
    pub time_micros: i64,
    /// The epoch of the service check at its begin; `None` before that.
    pub epoch: Option<EpochNumber>,
    /// Its identifier and age, once begun. Only for `ReadWrite`.
    pub identity: Option<(TransactionId, Age)>,
    /// Whether others let it have the ranges that it reads: it takes long, and has lost before.
    pub takes_precedence: bool,
    /// Its snapshot, once begun. Only for `ReadOnly`.
    pub snapshot: Option<Timestamp>,
    /// Whether it may add to items without reading them.
    pub may_add: bool,
    /// Whether it has read anything that a lease must cover.
    pub has_read: bool,
    /// Whether its statement has looked at rows that no commit checks.
    pub has_peeked: bool,
    /// Whether the client has been told anything of it, so that it cannot be started over.
    pub answered: bool,
    /// Why it is over, when that was found out between two requests. The next request is answered so.
    pub over: Option<Failure>,
    /// Whose programs have run in it before the present one, in that order.
    pub companions: Vec<Companion>,
    /// What it reads below the strict level.
    isolated: IsolatedReads,
    file: DifferentialFile,
    items: BTreeMap<Item, ItemState>,
    granted: u32,
    ranges: Vec<RangeRead>,
    range_locks: VecDeque<(KeyRange, AccessKind)>,
    read_bytes: usize,
    drops: Vec<TableId>,
    makes: Vec<TableId>,
    ahead: BTreeSet<TableId>,
    /// Whether rows were committed ahead, whoever cares for their storages now.
    used_up: bool,
    private_writes: usize,
    private_bytes: usize,
    savepoints: Vec<Savepoint>,
    statement: Option<Moment>,
    relied_on: Vec<(Key, Timestamp)>,
    /// The version of the row of numbers that it has committed ahead.
    claimed: Option<Timestamp>,
    /// Items that statements could add to without reading them, and whether they were read nevertheless.
    incremented: BTreeMap<Item, bool>,
    /// Sequences that it has made or set, the last definition of each last. While a program of it runs they are with [`crate::sequences::Sequences`].
    pub(crate) sequences: Vec<OwnSequence>,
    /// What it notifies of, each once.
    notifications: Vec<Notification>,
    /// The same, to be found.
    notified: BTreeSet<Notification>,
    notified_bytes: usize,
    /// Keys that foreign keys have put off looking at.
    deferred: Vec<PendingReference>,
    /// Whether foreign keys that may be put off are, if the client has said so.
    deferral: Option<bool>,
    /// What a statement of several programs began with, while one is under way.
    view: Option<StatementView>,
    /// Whether the request under way reads what that statement began with.
    pub sees_before: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct ItemState {
    seen: Option<Timestamp>,
    locked: Option<AccessKind>,
    /// Counted up: the order in which items were first locked.
    order: u32,
}

impl ExecutingTransaction {
    /// A transaction that has done nothing.
    pub fn new(mode: AccessMode, explicit: bool, time_micros: i64) -> ExecutingTransaction {
        ExecutingTransaction {
            mode,
            explicit,
            time_micros,
            epoch: None,
            identity: None,
            takes_precedence: false,
            snapshot: None,
            may_add: false,
            has_read: false,
            has_peeked: false,
            answered: false,
            over: None,
            companions: Vec::new(),
            isolated: IsolatedReads::default(),
            file: DifferentialFile::new(explicit),
            items: BTreeMap::new(),
            granted: 0,
            ranges: Vec::new(),
            range_locks: VecDeque::new(),
            read_bytes: 0,
            drops: Vec::new(),
            makes: Vec::new(),
            ahead: BTreeSet::new(),
            used_up: false,
            private_writes: 0,
            private_bytes: 0,
            savepoints: Vec::new(),
            statement: None,
            relied_on: Vec::new(),
            claimed: None,
            incremented: BTreeMap::new(),
            sequences: Vec::new(),
            notifications: Vec::new(),
            notified: BTreeSet::new(),
            notified_bytes: 0,
            deferred: Vec::new(),
            deferral: None,
            view: None,
            sees_before: false,
        }
    }

    /// An explicit transaction whose statements have left this to be committed, and had locked this in that order.
    pub fn of_history(
        history: &History,
        locks: &[(Item, AccessKind)],
        time_micros: i64,
        planted: Planted,
    ) -> ExecutingTransaction {
        let mut transaction = ExecutingTransaction::new(AccessMode::ReadWrite, true, time_micros);
        transaction.answered = true;
        // No statement of it can be undone any more.
        transaction.file = DifferentialFile::new(false);
        for read in history.reads.iter().filter(|_| !planted!(planted, ReadsNotRepeated)) {
            let item = Item { table: read.table, key: read.key.clone() };
            transaction.items.insert(item, ItemState { seen: Some(read.seen), ..ItemState::default() });
            transaction.read_bytes += read.key.as_bytes().len();
        }
        transaction.ranges = history.ranges.clone();
        for write in &history.writes {
            transaction.file.put(Item { table: write.table, key: write.key.clone() }, write.row.clone());
        }
        let place_of = |(item, _): &(Item, AccessKind)| {
            history.increments.binary_search_by(|added| (added.table, &added.key).cmp(&(item.table, &item.key))).ok()
        };
        let mut places: Vec<usize> = locks.iter().filter_map(place_of).collect();
        let mut is_listed = vec![false; history.increments.len()];
        places.iter().for_each(|place| is_listed[*place] = true);
        places.extend((0..is_listed.len()).filter(|place| !is_listed[*place]));
        for place in places {
            let increment = &history.increments[place];
            let item = Item { table: increment.table, key: increment.key.clone() };
            transaction.file.add(item, &increment.addends);
        }
        transaction.drops = history.drops.clone();
        transaction.notifications = history.notifications.clone();
        transaction
    }

    /// Whether it reads a snapshot.
    pub fn is_snapshot(&self) -> bool {
        self.mode == AccessMode::ReadOnly
    }

    /// Whether the present program is not the first that runs in it.
    pub fn is_guest(&self) -> bool {
        !self.companions.is_empty()
    }

    /// Whether programs of several sessions may run in it: each is a transaction of its own, and changes rows, not storages.
    pub fn can_be_joint(&self) -> bool {
        !self.explicit
            && self.mode == AccessMode::ReadWrite
            && self.makes.is_empty()
            && self.drops.is_empty()
            && self.ahead.is_empty()
            // What one of them notifies of is not what another one does, though it be the same.
            && self.notifications.is_empty()
            && !self.file.writes_to(TableId::CATALOG)
    }

    /// Whether it is too large for another program to run in it.
    pub fn is_large(&self) -> bool {
        self.file.len() > JOINT_ITEMS_MAX || self.file.bytes() + self.read_bytes > JOINT_BYTES_MAX
    }

    /// Whether what the present program has written can be undone alone.
    pub fn can_be_left(&self) -> bool {
        self.statement.is_some()
    }

    /// Another program begins, which can be undone alone.
    pub fn begin_guest(&mut self, time_micros: i64) {
        self.time_micros = time_micros;
        self.file.keep_undo();
        self.file.forget_undo();
        self.statement = Some(self.moment());
    }

    /// What it changes.
    pub fn changed(&self) -> Option<ChangedRows> {
        ChangedRows::of(self.file.items().cloned())
    }

    /// Whether it has its identifier or its snapshot.
    pub fn has_begun(&self) -> bool {
        self.identity.is_some() || self.snapshot.is_some()
    }

    /// Its private writes.
    pub fn file(&self) -> &DifferentialFile {
        &self.file
    }

    /// Whether it made this storage itself.
    pub fn is_private(&self, table: TableId) -> bool {
        self.makes.contains(&table)
    }

    /// The row of numbers was committed ahead, with this version.
    pub fn note_claim(&mut self, version: Timestamp) {
        self.claimed = Some(version);
    }

    /// The version that the row of numbers has since this transaction has committed it ahead.
    pub fn claimed(&self) -> Option<Timestamp> {
        self.claimed
    }

    /// The version of an item that it has read.
    pub fn version_seen(&self, item: &Item) -> Option<Timestamp> {
        self.items.get(item)?.seen
    }

    /// Whether it may use the target so without asking (again).
    pub fn holds(&self, item: &Item, kind: AccessKind) -> bool {
        if self.is_private(item.table) {
            return true;
        }
        let own = self.items.get(item).and_then(|state| state.locked);
        if own.is_some_and(|held| held.covers(kind)) {
            return true;
        }
        let mut ranges = self.range_locks.iter();
        ranges
            .any(|(range, held)| held.covers(kind) && range.table == item.table && range.contains(item.key.as_bytes()))
    }

    /// The items that it has locked, and how, in the order in which it came to them; none if they are many.
    pub fn locks_in_order(&self) -> Arc<[(Item, AccessKind)]> {
        if self.items.len() > LOCKED_AGAIN_MAX {
            return Arc::new([]);
        }
        let locked = |(item, state): (&Item, &ItemState)| Some((state.order, item.clone(), state.locked?));
        let mut locks: Vec<_> = self.items.iter().filter_map(locked).collect();
        locks.sort_unstable_by_key(|(order, ..)| *order);
        locks.into_iter().map(|(_, item, kind)| (item, kind)).collect()
    }

    /// Notes what the concurrency controller has granted.
    pub fn note_granted(&mut self, target: AccessTarget, kind: AccessKind) {
        match target {
            AccessTarget::Item(item) => {
                self.granted += 1;
                let state = self.items.entry(item).or_insert(ItemState { order: self.granted, ..ItemState::default() });
                state.locked = Some(state.locked.map_or(kind, |held| held.join(kind)));
            }
            AccessTarget::Range(range) => {
                if self.range_locks.iter().any(|held| held.1.covers(kind) && contains(&held.0, &range)) {
                    return;
                }
                if self.range_locks.len() == RANGES_REMEMBERED {
                    self.range_locks.pop_front();
                }
                self.range_locks.push_back((*range, kind));
            }
        }
    }

    /// Notes the version of an item that was read. Errors: it was another one before; 54000.
    pub fn note_item_read(&mut self, item: &Item, version: Timestamp) -> Result<(), Failure> {
        self.has_read = true;
        if self.is_snapshot() || self.is_private(item.table) {
            return Ok(());
        }
        self.check_age(item.table, &item.key, version)?;
        let state = self.items.entry(item.clone()).or_default();
        match state.seen {
            Some(seen) if seen != version => {
                Err(Failure::Conflict { conflict: Conflict::on(item.clone(), ConflictKind::StaleRead, None) })
            }
            Some(_) => Ok(()),
            None => {
                state.seen = Some(version);
                self.read_bytes += item.key.as_bytes().len();
                self.check_size()
            }
        }
    }

    /// Notes a range that was read when `as_of` was the largest timestamp installed. A range that goes on where the last one
    /// ended is joined to it under the smaller timestamp: whatever changed in either after that still shows. Errors: 54000.
    pub fn note_range_read(&mut self, range: KeyRange, as_of: Timestamp) -> Result<(), Failure> {
        self.has_read = true;
        if self.is_snapshot() || self.is_private(range.table) || range.is_empty() {
            return Ok(());
        }
        let as_of = self.since_snapshot(range.table, as_of);
        if let Some(last) = self.ranges.last_mut()
            && last.range.table == range.table
        {
            if last.range.high.as_ref() == Some(&range.low) {
                last.range.high = range.high;
                last.as_of = last.as_of.min(as_of);
                return Ok(());
            }
            if range.high.as_ref() == Some(&last.range.low) {
                last.range.low = range.low;
                last.as_of = last.as_of.min(as_of);
                return Ok(());
            }
            if last.range == range {
                last.as_of = last.as_of.min(as_of);
                return Ok(());
            }
        }
        self.read_bytes += range.low.as_bytes().len() + range.high.as_ref().map_or(0, |high| high.as_bytes().len());
        self.ranges.push(RangeRead { range, as_of });
        self.check_size()
    }

    /// Rows were read that are no part of its history. What comes of those that it looks at to lock some of them is told under a lease.
    pub fn note_peek(&mut self, is_told: bool) {
        self.has_read |= is_told;
        self.has_peeked |= is_told;
    }

    /// The version at which the catalog row was found before.
    pub fn relied_on(&self, key: &Key) -> Option<Timestamp> {
        self.relied().iter().find(|relied| relied.0 == *key).map(|relied| relied.1)
    }

    /// Notes the version of a catalog row that programs rely on.
    pub fn note_relied_on(&mut self, key: Key, version: Timestamp) {
        self.relied_mut().push((key, version));
    }

    /// Notes that catalog rows which programs rely on have these versions. Errors: it has read another one; 54000.
    pub fn note_unchanged(&mut self, rows: &[(Key, Timestamp)]) -> Result<(), Failure> {
        for (key, version) in rows {
            if self.relied_on(key).is_none() {
                self.note_item_read(&Item { table: TableId::CATALOG, key: key.clone() }, *version)?;
                self.note_relied_on(key.clone(), *version);
            }
        }
        Ok(())
    }

    /// Writes a row, or with `None` deletes it. Errors: 54000.
    pub fn write(&mut self, item: Item, row: Option<Row>) -> Result<(), Failure> {
        if row.is_some() && item.key.as_bytes().len() > KEY_BYTES_MAX {
            return Err(failure::key_too_long(item.key.as_bytes().len()));
        }
        if self.is_private(item.table) {
            self.private_writes += 1;
            self.private_bytes += item.key.as_bytes().len() + row.as_ref().map_or(0, |row| row.len());
        }
        self.remember(&item);
        self.file.put(item, row);
        self.check_size()
    }

    /// Whether it can add to an item: what it has read or written it changes as a row.
    pub fn can_add_to(&self, item: &Item) -> bool {
        self.may_add
            && self.view.is_none()
            && !self.is_private(item.table)
            && self.file.get(item).is_none()
            && self.version_seen(item).is_none()
    }

    /// Adds to columns of an item that it has not read. False, and nothing has changed, when a number gets too large. Errors: 54000.
    pub fn add(&mut self, item: Item, addends: &[Addend]) -> Result<bool, Failure> {
        let added = self.file.add(item, addends);
        self.check_size()?;
        Ok(added)
    }

    /// Of these items, those that it may only add to so far; which it may no more.
    pub fn give_up(&mut self, items: impl Iterator<Item = Item>) -> Vec<Item> {
        let mut given_up = Vec::new();
        for item in items {
            if let Some(state) = self.items.get_mut(&item)
                && state.locked == Some(AccessKind::Increment)
            {
                state.locked = None;
                given_up.push(item);
            }
        }
        given_up
    }

    /// Makes what it adds to an item a write of the row that it has just read. Errors: a lost conflict, because the row has gone or the sum
    /// does not fit any more; 54000.
    pub fn settle(&mut self, item: &Item, row: Option<Row>) -> Result<Option<Row>, Failure> {
        let Some(addends) = self.file.take_increment(item) else { return Ok(row) };
        let lost = |kind| Failure::Conflict { conflict: Conflict::on(item.clone(), kind, None) };
        let row = row.ok_or_else(|| lost(ConflictKind::StaleRead))?;
        let sum = values::addition::add(&row, &addends).map_err(|_| lost(ConflictKind::IncrementRefused))?;
        let sum = Some(Row::from(sum));
        // Whoever reads what was there before a statement reads the sum, too.
        self.file.put(item.clone(), sum.clone());
        self.check_size()?;
        Ok(sum)
    }

    /// A statement could add to this item without reading it, whether it did or not.
    pub fn note_incremented(&mut self, item: &Item) {
        if self.incremented.len() < INCREMENTED_REMEMBERED {
            self.incremented.entry(item.clone()).or_insert(false);
        }
    }

    /// An item is read: if a statement has added to it, that was for nothing.
    pub fn note_wanted(&mut self, item: &Item) {
        if let Some(wanted) = self.incremented.get_mut(item) {
            *wanted = true;
        }
    }

    /// What statements could add to without reading it, by storage, and whether it was read nevertheless. Told once.
    pub fn take_incremented(&mut self) -> impl Iterator<Item = (TableId, bool)> + use<> {
        std::mem::take(&mut self.incremented).into_iter().map(|(item, wanted)| (item.table, wanted))
    }

    fn check_size(&self) -> Result<(), Failure> {
        if self.file.bytes() + self.read_bytes + self.notified_bytes > TRANSACTION_BYTES_MAX {
            return Err(failure::too_large(format!(
                "transaction reads and writes more than {} MiB of keys and rows",
                TRANSACTION_BYTES_MAX >> 20
            )));
        }
        if self.notifications.len() > TRANSACTION_WRITES_MAX {
            return Err(failure::too_large("transaction notifies of too much"));
        }
        if self.file.len() > TRANSACTION_WRITES_MAX {
            return Err(failure::too_large(format!(
                "transaction writes more than {TRANSACTION_WRITES_MAX} rows, those of indexes included"
            )));
        }
        Ok(())
    }

    /// Storages that nobody can reach once it has committed, and storages that it makes.
    pub fn change_storages(&mut self, drops: &[TableId], makes: &[TableId]) {
        self.drops.extend_from_slice(drops);
        self.makes.extend_from_slice(makes);
    }

    /// Who listens is told of this once it has committed; what it says already is said once. Errors: 54000.
    pub fn notify(&mut self, notification: Notification) -> Result<(), Failure> {
        let bytes = notification.bytes();
        if self.notified.insert(notification.clone()) {
            self.notified_bytes += bytes;
            self.notifications.push(notification);
        }
        self.check_size()
    }

    /// Whether enough rows of private storages have gathered to commit them ahead: so many, or fewer large ones. Not within a savepoint, whose rollback
    /// would have to take them back.
    pub fn is_chunk_due(&self, chunk_rows: usize) -> bool {
        let full = self.private_writes >= chunk_rows || self.private_bytes >= PRIVATE_CHUNK_BYTES;
        full && self.savepoints.is_empty() && self.view.is_none()
    }

    /// Takes out the rows of private storages, to be committed ahead. From now on a failed statement cannot be undone alone.
    pub fn take_chunk(&mut self) -> Vec<Write> {
        assert!(self.savepoints.is_empty(), "a savepoint's rollback could not take the rows back");
        self.statement = None;
        self.used_up = true;
        self.private_writes = 0;
        self.private_bytes = 0;
        let writes = self.file.take_storages(&self.makes);
        self.ahead.extend(writes.iter().map(|write| write.table));
        writes
    }

    /// Whether its storages hold rows committed ahead, or may come to hold some: nothing may be begun again with them.
    pub fn is_used_up(&self) -> bool {
        self.used_up
    }

    /// Storages that hold rows committed ahead: they are dropped should the transaction not commit.
    pub fn ahead(&self) -> &BTreeSet<TableId> {
        &self.ahead
    }

    /// Takes over the care for the storages that hold rows committed ahead.
    pub fn take_ahead(&mut self) -> BTreeSet<TableId> {
        std::mem::take(&mut self.ahead)
    }

    /// Whether it has neither read nor written anything.
    pub fn is_idle(&self) -> bool {
        let no_reads = self.ranges.is_empty() && self.items.values().all(|state| state.seen.is_none());
        no_reads && self.changes_nothing()
    }

    fn changes_nothing(&self) -> bool {
        self.file.is_empty() && self.drops.is_empty() && self.ahead.is_empty() && self.notifications.is_empty()
    }

    /// From the beginning, as if nothing had been asked of it. What it held elsewhere has been given up.
    pub fn start_over(&mut self) {
        assert!(!self.has_begun() && self.ahead.is_empty(), "it still holds something");
        let mut fresh = ExecutingTransaction::new(self.mode, self.explicit, self.time_micros);
        fresh.isolated = self.isolated.anew();
        // An explicit transaction starts over only as a reader, before its first rows: its savepoints mark nothing yet.
        fresh.savepoints = std::mem::take(&mut self.savepoints);
        fresh.statement = self.statement;
        *self = fresh;
    }

    /// What it read and wrote. Storages made and given up again after rows were committed ahead are dropped with it.
    pub fn into_history(mut self) -> History {
        for own in std::mem::take(&mut self.sequences) {
            self.file.put(sequences::item(&own.schema), Some(own.state.encode(&own.schema)));
        }
        let mut drops = self.drops;
        for table in self.ahead {
            if !self.makes.contains(&table) && !drops.contains(&table) {
                drops.push(table);
            }
        }
        let reads = self
            .items
            .into_iter()
            .filter_map(|(item, state)| Some(ItemRead { table: item.table, key: item.key, seen: state.seen? }));
        let reads = reads.collect();
        let (writes, increments) = self.file.into_parts();
        History { reads, ranges: self.ranges, writes, increments, drops, notifications: self.notifications }
    }
}

/// Whether every key of `inner` lies in `outer`.
fn contains(outer: &KeyRange, inner: &KeyRange) -> bool {
    let below = match (&outer.high, &inner.high) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(outer), Some(inner)) => inner <= outer,
    };
    outer.table == inner.table && outer.low <= inner.low && below
}
