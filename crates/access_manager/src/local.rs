//! The local copy: versions in memory over a store.
//!
//! Invariants: an item that is in memory is all there (its chain tells every snapshot that may be read), and the store is not asked
//! for it; a key that is not in memory is absent where its storage is `resident`, and elsewhere what the store says; the store has no
//! version above those in memory.

use crate::chain::{Batch, Chain, Generation, SeenVersion, Version};
use crate::limits::{
    HOLLOW_CHAINS_MAX, LOAD_BYTES_MAX, LOAD_ROWS_MAX, LOAD_ROWS_MIN, SCAN_BYTES_MAX, SCAN_ROWS_MAX, SCAN_WORK_MAX,
};
use crate::old_versions::{OldVersions, Tally};
use crate::ranges::{KeyRanges, KeySpan, before};
use crate::recent::RecentWrites;
use crate::replaying::Replaying;
use crate::settings::StoreSettings;
use crate::snapshots::ReadableSnapshots;
use crate::store::{self, Store, StoreError};
use messages::planted;
use messages::planted::Planted;
use messages::{Key, KeyRange, Row, TableId, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::{Entry, VacantEntry};
use std::ops::Bound;
use values::addition::{AddError, Addend};

/// One ordered key space.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeySpace {
    pub(crate) chains: BTreeMap<Key, Chain>,
    /// Where memory has every key that there is.
    pub(crate) resident: KeyRanges,
    pub(crate) recent: RecentWrites,
    /// Below this not all of it is known here: it was dropped while part of it was stale.
    floor: Timestamp,
}

/// What a scan is to bring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sought {
    /// As of when; the newest versions without.
    pub(crate) snapshot: Option<Timestamp>,
    /// At most so many rows.
    pub(crate) rows_max: usize,
    /// From the end of the range.
    pub(crate) reverse: bool,
    /// Rows whose past is not known count as absent: a planted bug, or no snapshot.
    pub(crate) forgiving: bool,
}

/// A batch of rows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ScannedBatch {
    /// Key, version and row; and where to go on.
    Rows(Vec<(Key, Timestamp, Row)>, Option<Key>),
    /// The snapshot lies below what is known of a row.
    Gone,
}

/// The versions of all storages.
#[derive(Serialize, Deserialize)]
pub(crate) struct Local {
    /// Stays where it is when the rest is moved.
    #[serde(skip, default = "store::away")]
    pub(crate) store: Box<dyn Store>,
    pub(crate) storages: BTreeMap<TableId, KeySpace>,
    /// Bytes of all chains.
    pub(crate) tally: Tally,
    pub(crate) old_versions: OldVersions,
    /// The largest timestamp installed here.
    pub(crate) as_of: Timestamp,
    /// What may be read beside the newest versions.
    pub(crate) snapshots: ReadableSnapshots,
    /// What is installed now belongs to this generation.
    pub(crate) generation: Generation,
    /// The newest generation that is on its way to the store.
    pub(crate) posting: Option<Generation>,
    /// Writes that the store has done.
    pub(crate) stored: Batch,
    /// Items whose newest version is of this generation and not in the store.
    pub(crate) unposted: Vec<(TableId, Key)>,
    pub(crate) planted: Planted,
    /// Nothing, but during a replay, in which nothing is moved.
    #[serde(skip)]
    pub(crate) replaying: Replaying,
    /// Writes at or below this are not listed in any storage.
    horizon: Timestamp,
    recent_writes_max: usize,
}

impl KeySpace {
    fn new(resident: KeyRanges, recent: RecentWrites) -> KeySpace {
        KeySpace { chains: BTreeMap::new(), resident, recent, floor: Timestamp::ZERO }
    }

    /// One that the store does not have, so that memory has every key of it.
    fn made(horizon: Timestamp, recent_writes_max: usize) -> KeySpace {
        KeySpace::new(KeyRanges::whole(), RecentWrites::new(horizon, recent_writes_max))
    }

    fn is_unknown_to(&self, snapshot: Option<Timestamp>) -> bool {
        snapshot.is_some_and(|snapshot| snapshot < self.floor)
    }

    /// Looks for an item, once for whatever is done with it then: of a large storage that is what costs.
    fn look<'a>(&'a mut self, key: &Key) -> MemoryPlace<'a> {
        let KeySpace { chains, resident, .. } = self;
        match chains.entry(key.clone()) {
            Entry::Occupied(found) => MemoryPlace::Known(found.into_mut()),
            Entry::Vacant(empty) => MemoryPlace::Unknown(Empty { empty, resident }),
        }
    }

    pub(crate) fn insert(&mut self, key: Key, chain: Chain, tally: &mut Tally) {
        tally.all += key.as_bytes().len();
        tally.add(&chain);
        let before = self.chains.insert(key, chain);
        assert!(before.is_none(), "an item that is in memory is changed in its place");
    }
}

/// Where an item was looked for in memory.
enum MemoryPlace<'a> {
    Known(&'a mut Chain),
    Unknown(Empty<'a>),
}

/// Where an item would be in memory.
struct Empty<'a> {
    empty: VacantEntry<'a, Key, Chain>,
    resident: &'a KeyRanges,
}

impl<'a> MemoryPlace<'a> {
    /// The item, from the store if need be; or that nothing is known of it.
    fn or_load(
        self,
        store: &dyn Store,
        table: TableId,
        tally: &mut Tally,
    ) -> Result<Result<&'a mut Chain, Empty<'a>>, StoreError> {
        let place = match self {
            MemoryPlace::Known(chain) => return Ok(Ok(chain)),
            MemoryPlace::Unknown(place) => place,
        };
        if place.resident.contains(place.empty.key()) {
            return Ok(Err(place));
        }
        Ok(match store.get(table, place.empty.key())? {
            Some((timestamp, row)) => Ok(place.fill(Chain::loaded(timestamp, row), tally)),
            None => Err(place),
        })
    }
}

impl<'a> Empty<'a> {
    fn fill(self, chain: Chain, tally: &mut Tally) -> &'a mut Chain {
        tally.all += self.empty.key().as_bytes().len();
        tally.add(&chain);
        self.empty.insert(chain)
    }
}

impl Local {
    /// Over a store that holds everything that was posted, the largest timestamp of which is `as_of`.
    pub(crate) fn new(store: Box<dyn Store>, as_of: Timestamp, settings: StoreSettings) -> Result<Local, StoreError> {
        let mut local = Local {
            storages: BTreeMap::new(),
            tally: Tally::default(),
            old_versions: OldVersions::new(settings.old_version_bytes_max),
            as_of,
            snapshots: ReadableSnapshots::new(settings.planted),
            generation: 1,
            posting: None,
            stored: 0,
            unposted: Vec::new(),
            planted: settings.planted,
            replaying: Replaying::default(),
            horizon: as_of,
            recent_writes_max: settings.recent_writes_max,
            store,
        };
        for table in local.store.storages()? {
            let storage = KeySpace::new(KeyRanges::default(), local.recent());
            local.storages.insert(table, storage);
        }
        Ok(local)
    }

    fn recent(&self) -> RecentWrites {
        RecentWrites::new(self.horizon, self.recent_writes_max)
    }

    /// The storage, made when it is new. A storage that the store did not have at the start is resident from the beginning.
    pub(crate) fn storage(&mut self, table: TableId) -> &mut KeySpace {
        let (horizon, writes_max) = (self.horizon, self.recent_writes_max);
        self.storages.entry(table).or_insert_with(|| KeySpace::made(horizon, writes_max))
    }

    /// What a reader of `snapshot` (`None`: the newest) sees of an item.
    pub(crate) fn read(
        &mut self,
        table: TableId,
        key: &Key,
        snapshot: Option<Timestamp>,
    ) -> Result<SeenVersion, StoreError> {
        let Some(storage) = self.storages.get_mut(&table) else {
            return Ok(SeenVersion::Absent(Timestamp::ZERO));
        };
        if storage.is_unknown_to(snapshot) {
            return Ok(SeenVersion::Gone);
        }
        if let Some(chain) = storage.chains.get_mut(key) {
            chain.referenced = true;
            return Ok(chain.read(snapshot));
        }
        Ok(match self.load(table, key)? {
            Some(chain) => chain.read(snapshot),
            None => SeenVersion::Absent(Timestamp::ZERO),
        })
    }

    /// Brings an item to memory, where it stays for a while. Returns what that costs: nothing if it is there, or known to be absent, 1 if the store
    /// has it not, and 4 if it has it.
    pub(crate) fn prefetch(&mut self, table: TableId, key: &Key) -> Result<usize, StoreError> {
        let Some(storage) = self.storages.get_mut(&table) else { return Ok(0) };
        let place = match storage.look(key) {
            MemoryPlace::Known(chain) => {
                chain.referenced = true;
                return Ok(0);
            }
            MemoryPlace::Unknown(place) if place.resident.contains(key) => return Ok(0),
            place @ MemoryPlace::Unknown(_) => place,
        };
        Ok(if place.or_load(&*self.store, table, &mut self.tally)?.is_ok() { 4 } else { 1 })
    }

    /// The version to compare with one that was read: the newest, or (a planted bug) the first. The row is not copied.
    pub(crate) fn version(&mut self, table: TableId, key: &Key, first: bool) -> Result<Option<&Version>, StoreError> {
        let Some(storage) = self.storages.get_mut(&table) else {
            return Ok(None);
        };
        let found = storage.look(key).or_load(&*self.store, table, &mut self.tally)?.ok();
        Ok(found.map(|chain| {
            chain.referenced = true;
            if first { chain.oldest() } else { chain.newest() }
        }))
    }

    /// Brings a row that is not in memory from the store.
    fn load(&mut self, table: TableId, key: &Key) -> Result<Option<&Chain>, StoreError> {
        let Some(storage) = self.storages.get_mut(&table) else {
            return Ok(None);
        };
        let found = storage.look(key).or_load(&*self.store, table, &mut self.tally)?;
        Ok(found.ok().map(|chain| &*chain))
    }

    /// Brings the rows at one end of a range from the store and makes that part resident. Returns how many rows came.
    pub(crate) fn load_range(
        &mut self,
        table: TableId,
        (low, high): KeySpan,
        reverse: bool,
        rows_max: usize,
    ) -> Result<usize, StoreError> {
        let range = KeyRange { table, low, high };
        let rows_max = rows_max.clamp(LOAD_ROWS_MIN, LOAD_ROWS_MAX);
        let found = self.store.scan(&range, reverse, rows_max, LOAD_BYTES_MAX)?;
        let last = found.rows.last().map(|(key, _, _)| key.clone()).filter(|_| found.more);
        let count = found.rows.len();
        let storage = self.storages.get_mut(&table).expect("only known storages are loaded");
        for (key, timestamp, row) in found.rows {
            if !storage.chains.contains_key(&key) {
                storage.insert(key, Chain::loaded(timestamp, row), &mut self.tally);
            }
        }
        match (last, reverse) {
            (None, _) => storage.resident.add(&range.low, range.high.as_ref()),
            (Some(last), false) => storage.resident.add(&range.low, Some(&last.successor())),
            (Some(last), true) => storage.resident.add(&last, range.high.as_ref()),
        }
        Ok(count)
    }

    /// Rows of a range, from either end.
    pub(crate) fn scan(&mut self, range: &KeyRange, sought: Sought) -> Result<ScannedBatch, StoreError> {
        let Sought { snapshot, reverse, .. } = sought;
        if self.storages.get(&range.table).is_some_and(|storage| storage.is_unknown_to(snapshot)) {
            return Ok(ScannedBatch::Gone);
        }
        let mut scan = StorageScan {
            sought: Sought { rows_max: sought.rows_max.clamp(1, SCAN_ROWS_MAX), ..sought },
            rows: Vec::new(),
            bytes: 0,
            work: 0,
        };
        let (mut low, mut high) = (range.low.clone(), range.high.clone());
        while before(&low, high.as_ref()) {
            let Some(storage) = self.storages.get_mut(&range.table) else {
                break;
            };
            let gap = match reverse {
                false => storage.resident.first_gap(&low, high.as_ref()),
                true => storage.resident.last_gap(&low, high.as_ref()),
            };
            let (from, to) = match &gap {
                None => (low.clone(), high.clone()),
                Some((start, _)) if !reverse => (low.clone(), Some(start.clone())),
                Some((_, None)) => (low.clone(), Some(low.clone())),
                Some((_, stop)) => (stop.clone().unwrap_or_else(|| low.clone()), high.clone()),
            };
            match scan.take(&mut storage.chains, &from, to.as_ref()) {
                ScanTaken::All => {}
                ScanTaken::Until(next) => return Ok(ScannedBatch::Rows(scan.rows, Some(next))),
                ScanTaken::Gone => return Ok(ScannedBatch::Gone),
            }
            let Some(gap) = gap else { break };
            match reverse {
                false => low = gap.0.clone(),
                true => high = gap.1.clone(),
            }
            self.load_range(range.table, gap, reverse, scan.sought.rows_max - scan.rows.len() + 1)?;
        }
        Ok(ScannedBatch::Rows(scan.rows, None))
    }

    /// A committed version of an item that is not stale here. Whether it is the newest.
    pub(crate) fn install(
        &mut self,
        table: TableId,
        key: &Key,
        timestamp: Timestamp,
        row: Option<Row>,
    ) -> Result<bool, StoreError> {
        let (generation, posting) = (self.generation, self.posting);
        let version = Version { timestamp, row, generation };
        let (horizon, writes_max) = (self.horizon, self.recent_writes_max);
        let storage = self.storages.entry(table).or_insert_with(|| KeySpace::made(horizon, writes_max));
        storage.recent.note(timestamp, key);
        self.as_of = self.as_of.max(timestamp);
        let chain = match storage.look(key).or_load(&*self.store, table, &mut self.tally)? {
            Ok(chain) => chain,
            Err(place) => {
                place.fill(Chain::written(version, false), &mut self.tally);
                self.unposted.push((table, key.clone()));
                return Ok(true);
            }
        };
        let listed = chain.dirty && chain.newest().generation == generation;
        self.tally.subtract(chain);
        let newest = chain.insert(version);
        chain.trim(&self.snapshots, posting);
        chain.referenced = true;
        self.tally.add(chain);
        self.old_versions.enqueue(table, key, chain);
        if newest && !listed {
            self.unposted.push((table, key.clone()));
        }
        Ok(newest)
    }

    /// Adds to an item that is not stale here, at a commit timestamp that may lie below versions that are known. Errors: the store's.
    ///
    /// # Panics
    /// The row is not there or cannot take it, which its check has excluded.
    pub(crate) fn add(
        &mut self,
        table: TableId,
        key: &Key,
        timestamp: Timestamp,
        addends: &[Addend],
    ) -> Result<(), StoreError> {
        let (generation, posting) = (self.generation, self.posting);
        let Some(storage) = self.storages.get_mut(&table) else {
            cannot_take(table, key, timestamp, AddError::NotANumber);
        };
        storage.recent.note(timestamp, key);
        self.as_of = self.as_of.max(timestamp);
        let Ok(chain) = storage.look(key).or_load(&*self.store, table, &mut self.tally)? else {
            cannot_take(table, key, timestamp, AddError::NotANumber);
        };
        let listed = chain.dirty && chain.newest().generation == generation;
        self.tally.subtract(chain);
        let added = chain.add(timestamp, addends, generation, posting);
        chain.trim(&self.snapshots, posting);
        chain.referenced = true;
        self.tally.add(chain);
        self.old_versions.enqueue(table, key, chain);
        if !listed {
            self.unposted.push((table, key.clone()));
        }
        match added {
            Ok(()) => Ok(()),
            Err(error) => cannot_take(table, key, timestamp, error),
        }
    }

    /// The log says how a row was when a post began.
    pub(crate) fn settle(&mut self, table: TableId, key: &Key, timestamp: Timestamp, row: Row) {
        self.replace(table, key, timestamp, Some(row));
    }

    /// A version in place of whatever this copy has of the item. Its past is not known.
    pub(crate) fn replace(&mut self, table: TableId, key: &Key, timestamp: Timestamp, row: Option<Row>) {
        if !planted!(self.planted, FloorOutlivesCopy) {
            self.replaying.forget_floor(table, key);
        }
        let generation = self.generation;
        let version = Version { timestamp, row, generation };
        self.storage(table);
        let storage = self.storages.get_mut(&table).expect("made above");
        storage.recent.note(timestamp, key);
        let before = storage.chains.remove(key);
        let listed = before.as_ref().is_some_and(|chain| chain.dirty && chain.newest().generation == generation);
        let mut written = Chain::written(version, true);
        if let Some(before) = before {
            written.queued = before.queued;
            self.tally.all -= key.as_bytes().len();
            self.tally.subtract(&before);
        }
        storage.insert(key.clone(), written, &mut self.tally);
        self.as_of = self.as_of.max(timestamp);
        if !listed {
            self.unposted.push((table, key.clone()));
        }
    }

    /// A storage part of which is stale was dropped: what its past was will not be known here any more.
    pub(crate) fn forget_past(&mut self, table: TableId, dropped: Timestamp) {
        let storage = self.storage(table);
        storage.floor = storage.floor.max(dropped);
    }

    /// Whether there is nothing of a storage but absences that copies have brought: to who reads it that is as if it were not there. `None`: that
    /// shows later, when deletions are forgotten and old snapshots have ended, or there is less to look at.
    pub(crate) fn is_hollow(&self, table: TableId) -> Result<Option<bool>, StoreError> {
        let Some(storage) = self.storages.get(&table) else { return Ok(Some(false)) };
        let newest = || storage.chains.values().map(Chain::newest).take(HOLLOW_CHAINS_MAX);
        if newest().any(|newest| newest.row.is_some()) {
            return Ok(Some(false));
        }
        let is_known = storage.resident.first_gap(&Key::lowest(), None).is_none();
        let looks = !planted!(self.planted, EmptyUnlooked);
        if looks && !is_known && !self.store.scan(&KeyRange::whole(table), false, 1, 1)?.rows.is_empty() {
            return Ok(Some(false));
        }
        let is_past = storage.chains.len() <= HOLLOW_CHAINS_MAX && storage.floor <= self.snapshots.oldest();
        Ok((is_past && newest().all(|newest| newest.timestamp == Timestamp::ZERO)).then_some(true))
    }

    /// Takes everything in a storage for absent. Until the store follows, memory has all that there is of it. Its items are handed back, to be freed
    /// bit by bit.
    pub(crate) fn void_storage(&mut self, table: TableId) -> BTreeMap<Key, Chain> {
        self.replaying.forget_floors(table);
        self.storage(table);
        let storage = self.storages.get_mut(&table).expect("made above");
        storage.resident = KeyRanges::whole();
        std::mem::take(&mut storage.chains)
    }

    /// Forgets a storage at once, here and in the store. Its items are handed back, to be freed bit by bit.
    pub(crate) fn remove_storage(&mut self, table: TableId) -> BTreeMap<Key, Chain> {
        self.store.remove_storage(table);
        self.replaying.forget_floors(table);
        let Some(storage) = self.storages.remove(&table) else {
            return BTreeMap::new();
        };
        storage.chains
    }
}

/// What a check has let in always fits.
pub(crate) fn cannot_take(table: TableId, key: &Key, timestamp: Timestamp, error: AddError) -> ! {
    panic!("{table:?} {key:?} cannot take what {timestamp:?} adds to it: {error:?}")
}

/// A scan on its way.
struct StorageScan {
    sought: Sought,
    rows: Vec<(Key, Timestamp, Row)>,
    bytes: usize,
    work: usize,
}

/// How far a scan came.
enum ScanTaken {
    All,
    Until(Key),
    Gone,
}

impl StorageScan {
    /// Takes rows between two keys, all of which are in memory.
    fn take(&mut self, chains: &mut BTreeMap<Key, Chain>, low: &Key, high: Option<&Key>) -> ScanTaken {
        if !before(low, high) {
            return ScanTaken::All;
        }
        let bound = high.map_or(Bound::Unbounded, Bound::Excluded);
        let mut entries = chains.range::<Key, _>((Bound::Included(low), bound));
        while let Some((key, chain)) = if self.sought.reverse { entries.next_back() } else { entries.next() } {
            let next = || if self.sought.reverse { key.successor() } else { key.clone() };
            if self.work >= SCAN_WORK_MAX || self.bytes >= SCAN_BYTES_MAX {
                return ScanTaken::Until(next());
            }
            self.work += 1;
            match chain.read(self.sought.snapshot) {
                SeenVersion::Row(..) if self.rows.len() == self.sought.rows_max => return ScanTaken::Until(next()),
                SeenVersion::Row(version, row) => {
                    self.bytes += key.as_bytes().len() + row.len();
                    self.rows.push((key.clone(), version, row));
                }
                SeenVersion::Absent(_) => {}
                SeenVersion::Gone if self.sought.forgiving => {}
                SeenVersion::Gone => return ScanTaken::Gone,
            }
        }
        ScanTaken::All
    }
}
