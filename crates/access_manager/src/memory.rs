//! A store in memory: the twin of the real one in tests and in the simulator, with power losses and errors on demand.
//!
//! What was started is done when somebody asks whether it is, and not before: readers do not see a write that is under way.
//!
//! Invariant: after a loss of power it holds everything up to the last sync, and of what came later some first part: a write's metadata,
//! then its items, one by one.

use crate::store::{Store, StoreError, StoreRows, StoreWrite};
use bytes::Bytes;
use messages::{Key, KeyRange, Row, TableId, Timestamp};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard};

type StoredRows = BTreeMap<Key, (Timestamp, Row)>;

/// A store in memory. Clones are the same store: one goes to the access manager, one stays with whoever cuts the power.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    state: Arc<Mutex<MemoryStoreState>>,
}

#[derive(Debug, Default)]
struct MemoryStoreState {
    /// What reads see.
    live: BTreeMap<TableId, StoredRows>,
    metadata: Option<Bytes>,
    /// What was started and is not done, in order.
    jobs: Vec<MemoryStoreJob>,
    /// How to take back what is not synced, oldest first.
    unsynced: VecDeque<MemoryStoreUndo>,
    error: Option<StoreError>,
    held: bool,
}

#[derive(Debug)]
enum MemoryStoreJob {
    Write(Vec<StoreWrite>, Bytes),
    Persist,
}

#[derive(Debug)]
enum MemoryStoreUndo {
    Metadata(Option<Bytes>),
    Item { table: TableId, key: Key, before: Option<(Timestamp, Row)> },
    Removal { table: TableId, rows: StoredRows },
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// The store for a process that starts: what the one before had started is done.
    #[must_use]
    pub fn reopened(&self) -> MemoryStore {
        self.state().finish();
        self.clone()
    }

    /// Another store, with what a copy of this one's files has: all that was done.
    #[must_use]
    pub fn copied(&self) -> MemoryStore {
        let state = self.state();
        let copy = MemoryStoreState {
            live: state.live.clone(),
            metadata: state.metadata.clone(),
            ..MemoryStoreState::default()
        };
        MemoryStore { state: Arc::new(Mutex::new(copy)) }
    }

    fn state(&self) -> MutexGuard<'_, MemoryStoreState> {
        self.state.lock().expect("no holder of the lock panics")
    }

    /// Loses what is not synced, but for the first `kept` pieces of it. Errors and holds end too: the machine starts anew.
    pub fn power_loss(&self, kept: usize) {
        let mut state = self.state();
        state.finish();
        while state.unsynced.len() > kept {
            match state.unsynced.pop_back() {
                Some(MemoryStoreUndo::Metadata(before)) => state.metadata = before,
                Some(MemoryStoreUndo::Item { table, key, before }) => {
                    let storage = state.live.entry(table).or_default();
                    match before {
                        Some(row) => storage.insert(key, row),
                        None => storage.remove(&key),
                    };
                }
                Some(MemoryStoreUndo::Removal { table, rows }) => {
                    state.live.insert(table, rows);
                }
                None => break,
            }
        }
        state.unsynced.clear();
        state.error = None;
        state.held = false;
    }

    /// Every access fails with this from now on; `None`: no more.
    pub fn fail_with(&self, error: Option<StoreError>) {
        self.state().error = error;
    }

    /// While held, nothing that was started finishes.
    pub fn hold(&self, held: bool) {
        self.state().held = held;
    }

    /// Pieces that a loss of power would take: metadata, items, removals.
    pub fn unsynced(&self) -> usize {
        let mut state = self.state();
        state.finish();
        state.unsynced.len()
    }
}

impl MemoryStoreState {
    /// Does what was started, unless the disk fails.
    fn finish(&mut self) {
        for job in std::mem::take(&mut self.jobs) {
            match job {
                _ if self.error.is_some() => {}
                MemoryStoreJob::Write(writes, metadata) => self.write(writes, metadata),
                MemoryStoreJob::Persist => self.unsynced.clear(),
            }
        }
    }

    fn write(&mut self, writes: Vec<StoreWrite>, metadata: Bytes) {
        let before = self.metadata.replace(metadata);
        self.unsynced.push_back(MemoryStoreUndo::Metadata(before));
        for StoreWrite { table, key, version, row } in writes {
            let storage = self.live.entry(table).or_default();
            let before = match row {
                Some(row) => storage.insert(key.clone(), (version, row)),
                None => storage.remove(&key),
            };
            self.unsynced.push_back(MemoryStoreUndo::Item { table, key, before });
        }
    }

    fn sound(&self) -> Result<&MemoryStoreState, StoreError> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => Ok(self),
        }
    }
}

impl Store for MemoryStore {
    fn metadata(&self) -> Result<Option<Bytes>, StoreError> {
        Ok(self.state().sound()?.metadata.clone())
    }

    fn storages(&self) -> Result<Vec<TableId>, StoreError> {
        Ok(self.state().sound()?.live.keys().copied().collect())
    }

    fn get(&self, table: TableId, key: &Key) -> Result<Option<(Timestamp, Row)>, StoreError> {
        let state = self.state();
        Ok(state.sound()?.live.get(&table).and_then(|rows| rows.get(key)).cloned())
    }

    fn scan(
        &self,
        range: &KeyRange,
        reverse: bool,
        rows_max: usize,
        bytes_max: usize,
    ) -> Result<StoreRows, StoreError> {
        let state = self.state();
        let mut found = StoreRows::default();
        let Some(rows) = state.sound()?.live.get(&range.table).filter(|_| !range.is_empty()) else {
            return Ok(found);
        };
        let high = range.high.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut entries = rows.range::<Key, _>((Bound::Included(&range.low), high));
        let mut bytes = 0;
        while let Some((key, (version, row))) = if reverse { entries.next_back() } else { entries.next() } {
            if found.rows.len() == rows_max || bytes >= bytes_max {
                found.more = true;
                break;
            }
            bytes += key.as_bytes().len() + row.len();
            found.rows.push((key.clone(), *version, row.clone()));
        }
        Ok(found)
    }

    fn write(&mut self, writes: Vec<StoreWrite>, metadata: Bytes) {
        self.state().jobs.push(MemoryStoreJob::Write(writes, metadata));
    }

    fn remove_storage(&mut self, table: TableId) {
        let mut state = self.state();
        state.finish();
        if state.error.is_none()
            && let Some(rows) = state.live.remove(&table)
        {
            state.unsynced.push_back(MemoryStoreUndo::Removal { table, rows });
        }
    }

    fn persist(&mut self) {
        self.state().jobs.push(MemoryStoreJob::Persist);
    }

    fn is_idle(&mut self) -> Result<bool, StoreError> {
        let mut state = self.state();
        if !state.held {
            state.finish();
        }
        Ok(!state.sound()?.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::EpochNumber;

    fn put(store: &mut MemoryStore, number: u8) {
        let write = StoreWrite {
            table: TableId(20),
            key: Key::new(b"k"),
            version: Timestamp::snapshot(EpochNumber(1), u64::from(number)),
            row: Some(Row::copy_from_slice(&[number])),
        };
        store.write(vec![write], Bytes::copy_from_slice(&[number]));
    }

    /// The simulator's store must not be kinder or stricter than a real one.
    #[test]
    fn conforms() {
        crate::store::conformance::check(&mut MemoryStore::new());
    }

    /// A loss of power that kept too much would hide a missing sync; one that lost synced rows would be no disk.
    #[test]
    fn power_loss_takes_what_is_not_synced_from_the_end() {
        let mut store = MemoryStore::new();
        put(&mut store, 1);
        store.persist();
        put(&mut store, 2);
        put(&mut store, 3);
        store.power_loss(3);
        assert_eq!(store.metadata(), Ok(Some(Bytes::from_static(&[3]))), "the metadata come first");
        store.remove_storage(TableId(20));
        store.power_loss(0);
        let row = store.get(TableId(20), &Key::new(b"k")).map(|found| found.map(|(_, row)| row));
        assert_eq!(row, Ok(Some(Row::from_static(&[2]))), "the removal was not synced");
    }

    /// A full disk must be seen by whoever reads or waits.
    #[test]
    fn errors_come_out() {
        let mut store = MemoryStore::new();
        let error = StoreError::Disk("full".into());
        store.fail_with(Some(error.clone()));
        put(&mut store, 1);
        assert_eq!(store.is_idle(), Err(error.clone()));
        assert_eq!(store.metadata(), Err(error));
        store.fail_with(None);
        assert_eq!(store.is_idle(), Ok(true));
        assert_eq!(store.metadata(), Ok(None), "what failed was not written");
    }
}
