//! The store on disk: the newest version of every row, over fjall, a log-structured store. Its twin in memory is
//! `access_manager::MemoryStore`.
//!
//! One keyspace per storage, named by its number, so that a dropped storage goes with its files. Keys carry one byte in front, because fjall has
//! no empty key; values are the version and the row. Everything that may wait for the disk happens on one thread of the store's own, in order.
//! Rows go to sorted files at once and not through fjall's journal, which would have to be read at every start.
//!
//! A store that is damaged in the middle of its journal opens with what stood before the damage, as if the rest had never been. So every batch
//! says its number and which storages there are, and the number of the last one that was persisted stands in a file beside the store: a store
//! with less has lost what the log no longer has.
//!
//! Invariant: readers find in `StoreShared::readable` only keyspaces that no later removal is waiting for.

mod base;

pub(crate) use base::{Base, StoreReader};

use crate::{limits, store_files};
use access_manager::store::{Store, StoreError, StoreRows, StoreWrite};

use bytes::Bytes;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, LsmError, PersistMode};
use messages::{EpochNumber, Incarnation, Key, KeyRange, Row, SiteId, TableId, Timestamp, TransactionId};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::JoinHandle;
use std::time::Instant;

/// Bytes of blocks that fjall keeps: small, because the access manager keeps rows.
const BLOCK_CACHE_BYTES: u64 = 32 << 20;
/// Bytes of recent writes that fjall keeps per storage before they go to a file.
const WRITE_BUFFER_BYTES: u64 = 16 << 20;
/// Threads that flush and compact.
const BACKGROUND_THREADS: usize = 1;
/// Longest key, in bytes: fjall's, less the byte in front.
const KEY_BYTES_MAX: usize = u16::MAX as usize - 1;
const _: () = assert!(messages::limits::KEY_BYTES_MAX <= KEY_BYTES_MAX, "what a statement may write can be stored");
/// Stands in front of every key.
const KEY_PREFIX: u8 = 0;
/// Bytes of a version in front of a row.
const VERSION_BYTES: usize = 30;
/// More sequence numbers than fjall takes for the removal of a keyspace.
const REMOVAL_NUMBERS: usize = 16;
/// The keyspace of the metadata, and the only key in it.
const METADATA: &str = "metadata";

/// The key of what the last batch says of the store: its number, 8 bytes, and the number of each storage, 8 bytes each.
const BATCH: &str = "batch";
/// Extension of the file beside the store's folder that tells the number of the last persisted batch.
pub(crate) const PERSISTED_EXTENSION: &str = "persisted";

/// The store of a site, in a folder of its own.
pub struct FjallStore {
    shared: Arc<StoreShared>,
    metadata: Keyspace,
    /// `None` while it is being closed.
    jobs: Option<Sender<StoreJob>>,
    writer: Option<JoinHandle<()>>,
    started: u64,
}

#[derive(Default)]
struct StoreShared {
    /// Where the store lies, for errors.
    folder: PathBuf,
    readable: RwLock<BTreeMap<TableId, Keyspace>>,
    /// Removals that the writer has not come to.
    removals: Mutex<BTreeMap<TableId, u32>>,
    finished: AtomicU64,
    failure: Mutex<Option<StoreError>>,
    /// Held while a job is done, so that nobody sees half of one.
    writing: Mutex<()>,
    /// What a base is read from; `None` once the store is being closed, so that its folder can be opened again.
    database: Mutex<Option<(Database, Keyspace)>>,
}

enum StoreJob {
    Write(Vec<StoreWrite>, Bytes),
    Remove(TableId),
    Persist,
}

impl FjallStore {
    /// Opens the store in this folder; makes both when there is none.
    ///
    /// # Errors
    /// The disk fails, another process has the store open, or what is in the folder is damaged or no store of ours.
    pub fn open(folder: &Path) -> Result<FjallStore, StoreError> {
        store_files::check(folder).map_err(StoreError::Damaged)?;
        let builder = || Database::builder(folder).cache_size(BLOCK_CACHE_BYTES).worker_threads(BACKGROUND_THREADS);
        let database = when_free(|| builder().open()).map_err(|error| error_of(folder, &error))?;
        let metadata = database.keyspace(METADATA, options).map_err(|error| error_of(folder, &error))?;
        pass_over_removals(&database, &metadata).map_err(|error| error_of(folder, &error))?;
        let mut tables = BTreeMap::new();
        for name in database.list_keyspace_names() {
            if &*name == METADATA {
                continue;
            }
            let table = name
                .parse()
                .map_err(|_| StoreError::Damaged(format!("{}: unknown keyspace {name:?}", folder.display())))?;
            let keyspace = database.keyspace(&name, options).map_err(|error| error_of(folder, &error))?;
            tables.insert(TableId(table), keyspace);
        }
        let batch = last_batch(folder, &metadata, &tables)?;
        let shared = Arc::new(StoreShared {
            folder: folder.to_owned(),
            readable: RwLock::new(tables.clone()),
            database: Mutex::new(Some((database.clone(), metadata.clone()))),
            ..StoreShared::default()
        });
        let (jobs, queue) = channel();
        let writer = Writer { database, metadata: metadata.clone(), tables, shared: shared.clone(), batch };
        let writer = std::thread::Builder::new().name("store".into()).spawn(move || writer.run(queue));
        let writer = writer.map_err(|error| StoreError::Disk(format!("no thread for the store: {error}")))?;
        Ok(FjallStore { shared, metadata, jobs: Some(jobs), writer: Some(writer), started: 0 })
    }

    fn keyspace(&self, table: TableId) -> Option<Keyspace> {
        self.shared.readable.read().expect("no holder of the lock panics").get(&table).cloned()
    }

    fn start(&mut self, job: StoreJob) {
        self.started += 1;
        // Without a writer nothing finishes any more, which `is_idle` tells.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(job));
    }
}

impl Drop for FjallStore {
    /// Waits for the writer, so that the folder can be opened again at once. What was not persisted may be lost.
    fn drop(&mut self) {
        self.shared.fail(StoreError::Disk("the store is being closed".into()));
        *self.shared.database.lock().expect("no holder of the lock panics") = None;
        self.jobs = None;
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has nothing left to wait for.
            let _ = writer.join();
        }
    }
}

impl Store for FjallStore {
    fn metadata(&self) -> Result<Option<Bytes>, StoreError> {
        let found = self.metadata.get(METADATA).map_err(|error| error_of(&self.shared.folder, &error))?;
        Ok(found.map(|value| Bytes::copy_from_slice(&value)))
    }

    fn storages(&self) -> Result<Vec<TableId>, StoreError> {
        Ok(self.shared.readable.read().expect("no holder of the lock panics").keys().copied().collect())
    }

    fn get(&self, table: TableId, key: &Key) -> Result<Option<(Timestamp, Row)>, StoreError> {
        let Some(keyspace) = self.keyspace(table) else { return Ok(None) };
        let found = keyspace.get(stored_key(key)).map_err(|error| error_of(&self.shared.folder, &error))?;
        found.map(|value| decode(table, &value)).transpose()
    }

    fn scan(
        &self,
        range: &KeyRange,
        reverse: bool,
        rows_max: usize,
        bytes_max: usize,
    ) -> Result<StoreRows, StoreError> {
        let mut found = StoreRows::default();
        let Some(keyspace) = self.keyspace(range.table).filter(|_| !range.is_empty()) else {
            return Ok(found);
        };
        let high = range.high.as_ref().map_or(Bound::Unbounded, |high| Bound::Excluded(stored_key(high)));
        let mut entries = keyspace.range((Bound::Included(stored_key(&range.low)), high));
        let mut bytes = 0;
        while let Some(entry) = if reverse { entries.next_back() } else { entries.next() } {
            if found.rows.len() >= rows_max || bytes >= bytes_max {
                found.more = true;
                break;
            }
            let (key, value) = entry.into_inner().map_err(|error| error_of(&self.shared.folder, &error))?;
            let key = match key.split_first() {
                Some((&KEY_PREFIX, key)) => Key::new(key),
                _ => return Err(StoreError::Damaged(format!("a key of another layout in {}", range.table))),
            };
            let (version, row) = decode(range.table, &value)?;
            bytes += key.as_bytes().len() + row.len();
            found.rows.push((key, version, row));
        }
        Ok(found)
    }

    fn write(&mut self, writes: Vec<StoreWrite>, metadata: Bytes) {
        self.start(StoreJob::Write(writes, metadata));
    }

    fn remove_storage(&mut self, table: TableId) {
        *self.shared.removals.lock().expect("no holder of the lock panics").entry(table).or_default() += 1;
        self.shared.readable.write().expect("no holder of the lock panics").remove(&table);
        self.start(StoreJob::Remove(table));
    }

    fn persist(&mut self) {
        self.start(StoreJob::Persist);
    }

    fn is_idle(&mut self) -> Result<bool, StoreError> {
        if let Some(error) = &*self.shared.failure.lock().expect("no holder of the lock panics") {
            return Err(error.clone());
        }
        if self.writer.as_ref().is_none_or(JoinHandle::is_finished) {
            return Err(StoreError::Damaged("the store's thread has ended".into()));
        }
        Ok(self.shared.finished.load(Ordering::Acquire) == self.started)
    }
}

impl StoreShared {
    fn failed(&self) -> bool {
        self.failure.lock().expect("no holder of the lock panics").is_some()
    }

    /// Keeps the first error.
    fn fail(&self, error: StoreError) {
        self.failure.lock().expect("no holder of the lock panics").get_or_insert(error);
    }
}

/// What the store's thread has: it alone makes, changes and removes keyspaces.
struct Writer {
    database: Database,
    metadata: Keyspace,
    tables: BTreeMap<TableId, Keyspace>,
    shared: Arc<StoreShared>,
    /// The number of the last batch.
    batch: u64,
}

impl Writer {
    fn run(mut self, queue: Receiver<StoreJob>) {
        for job in queue {
            let shared = self.shared.clone();
            let writing = shared.writing.lock().expect("no holder of the lock panics");
            // After a failure nothing may follow: the disk's state is not known.
            if !self.shared.failed()
                && let Err(error) = self.work(job)
            {
                self.shared.fail(error);
            }
            drop(writing);
            self.shared.finished.fetch_add(1, Ordering::Release);
        }
    }

    fn work(&mut self, job: StoreJob) -> Result<(), StoreError> {
        match job {
            StoreJob::Write(writes, metadata) => self.write(writes, metadata),
            StoreJob::Remove(table) => self.remove(table),
            StoreJob::Persist => self.persist(),
        }
    }

    /// The metadata first, on disk: no row may survive without them.
    fn write(&mut self, writes: Vec<StoreWrite>, metadata: Bytes) -> Result<(), StoreError> {
        let mut by_table: BTreeMap<TableId, Vec<StoreWrite>> = BTreeMap::new();
        for write in writes {
            if write.key.as_bytes().len() > KEY_BYTES_MAX {
                let bytes = write.key.as_bytes().len();
                return Err(StoreError::Disk(format!("a key of {bytes} bytes, where {KEY_BYTES_MAX} are possible")));
            }
            by_table.entry(write.table).or_default().push(write);
        }
        // A storage that is not there has no row to remove.
        by_table
            .retain(|table, writes| self.tables.contains_key(table) || writes.iter().any(|write| write.row.is_some()));
        for table in by_table.keys() {
            self.table(*table)?;
        }
        let said = self.next_batch();
        let mut batch = self.database.batch();
        batch.insert(&self.metadata, METADATA, metadata);
        batch.insert(&self.metadata, BATCH, said);
        batch.commit().map_err(|error| error_of(&self.shared.folder, &error))?;
        if !by_table.is_empty() {
            self.database.persist(PersistMode::SyncAll).map_err(|error| error_of(&self.shared.folder, &error))?;
        }
        by_table.into_iter().try_for_each(|(table, writes)| self.ingest(table, writes))
    }

    /// Makes a sorted file of these rows: it need not be read at the next start, as fjall's journal would have to be.
    fn ingest(&self, table: TableId, mut writes: Vec<StoreWrite>) -> Result<(), StoreError> {
        // The newest version of a key first, and only that.
        writes.sort_unstable_by(|one, other| (&one.key, other.version).cmp(&(&other.key, one.version)));
        writes.dedup_by(|later, first| later.key == first.key);
        let ingest = || -> fjall::Result<()> {
            let mut ingestion = self.tables[&table].start_ingestion()?;
            for StoreWrite { key, version, row, .. } in &writes {
                match row {
                    Some(row) => ingestion.write(stored_key(key), encode(*version, row))?,
                    None => ingestion.write_tombstone(stored_key(key))?,
                }
            }
            ingestion.finish()
        };
        ingest().map_err(|error| error_of(&self.shared.folder, &error))
    }

    /// What the next batch says of the store.
    fn next_batch(&mut self) -> Vec<u8> {
        self.batch += 1;
        let numbers = std::iter::once(self.batch).chain(self.tables.keys().map(|table| u64::from(table.0)));
        numbers.flat_map(u64::to_le_bytes).collect()
    }

    /// The batches first, then the file that says they are there.
    fn persist(&mut self) -> Result<(), StoreError> {
        let folder = &self.shared.folder;
        self.database.persist(PersistMode::SyncAll).map_err(|error| error_of(folder, &error))?;
        let path = folder.with_extension(PERSISTED_EXTENSION);
        write_durably(&path, &format!("{}\n", self.batch))
            .map_err(|error| StoreError::Disk(format!("{}: {error}", path.display())))
    }

    fn table(&mut self, table: TableId) -> Result<&Keyspace, StoreError> {
        if !self.tables.contains_key(&table) {
            let name = table.0.to_string();
            let keyspace =
                self.database.keyspace(&name, options).map_err(|error| error_of(&self.shared.folder, &error))?;
            let removals = self.shared.removals.lock().expect("no holder of the lock panics");
            if !removals.contains_key(&table) {
                let mut readable = self.shared.readable.write().expect("no holder of the lock panics");
                readable.insert(table, keyspace.clone());
            }
            self.tables.insert(table, keyspace);
        }
        Ok(&self.tables[&table])
    }

    fn remove(&mut self, table: TableId) -> Result<(), StoreError> {
        if let Some(keyspace) = self.tables.remove(&table) {
            // On disk before it is done: a storage that is missed must be one that was lost.
            let said = self.next_batch();
            let mut batch = self.database.batch();
            batch.insert(&self.metadata, BATCH, said);
            batch.commit().map_err(|error| error_of(&self.shared.folder, &error))?;
            self.persist()?;
            self.database.delete_keyspace(keyspace).map_err(|error| error_of(&self.shared.folder, &error))?;
            pass_over_removals(&self.database, &self.metadata)
                .map_err(|error| error_of(&self.shared.folder, &error))?;
        }
        let mut removals = self.shared.removals.lock().expect("no holder of the lock panics");
        if let Some(waiting) = removals.get_mut(&table) {
            *waiting -= 1;
            if *waiting == 0 {
                removals.remove(&table);
            }
        }
        Ok(())
    }
}

/// Writes the last batch's words again, so that what comes next has higher numbers than anything before.
///
/// fjall notes the removal of a keyspace with a sequence number that it does not find again at the next start when no batch has come
/// after it. A new keyspace that then gets the number of the removed one is taken for it at the start after that, and deleted.
fn pass_over_removals(database: &Database, metadata: &Keyspace) -> fjall::Result<()> {
    let Some(said) = metadata.get(BATCH)? else { return Ok(()) };
    for _ in 0..REMOVAL_NUMBERS {
        let mut batch = database.batch();
        batch.insert(metadata, BATCH, said.clone());
        batch.commit()?;
    }
    database.persist(PersistMode::SyncAll)
}

/// The number of the last batch in the store, which must not be below that of the last one persisted, and must find its storages there.
fn last_batch(folder: &Path, metadata: &Keyspace, tables: &BTreeMap<TableId, Keyspace>) -> Result<u64, StoreError> {
    let path = folder.with_extension(PERSISTED_EXTENSION);
    let persisted = match std::fs::read_to_string(&path) {
        Ok(text) => text
            .trim()
            .parse()
            .map_err(|_| StoreError::Damaged(format!("{}: {text:?} is no number of a batch", path.display())))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
        Err(error) => return Err(StoreError::Disk(format!("{}: {error}", path.display()))),
    };
    let said = metadata.get(BATCH).map_err(|error| error_of(folder, &error))?;
    let said: Vec<u64> =
        said.iter().flat_map(|bytes| bytes.as_chunks::<8>().0).map(|bytes| u64::from_le_bytes(*bytes)).collect();
    let (found, storages) = said.split_first().map_or((0, &[][..]), |(number, storages)| (*number, storages));
    let folder = folder.display();
    if found < persisted {
        return Err(StoreError::Damaged(format!("{folder}: it ends with batch {found}, but had {persisted} on disk")));
    }
    match storages.iter().find(|storage| !tables.keys().any(|table| u64::from(table.0) == **storage)) {
        Some(lost) => Err(StoreError::Damaged(format!("{folder}: storage {lost} is gone"))),
        None => Ok(found),
    }
}

/// Replaces a small file, so that a crash leaves the old text or the new one.
fn write_durably(path: &Path, text: &str) -> std::io::Result<()> {
    let draft = path.with_extension("draft");
    let mut file = File::create(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&draft, path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// A process that has just been ended may still have the store.
fn when_free<T>(open: impl Fn() -> fjall::Result<T>) -> fjall::Result<T> {
    let begun = Instant::now();
    loop {
        match open() {
            Err(fjall::Error::Locked) if begun.elapsed() < limits::STORE_FREE_MAX => {
                std::thread::sleep(limits::PROCESS_LOOK);
            }
            opened => return opened,
        }
    }
}

fn options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default().max_memtable_size(WRITE_BUFFER_BYTES)
}

fn stored_key(key: &Key) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(key.as_bytes().len() + 1);
    bytes.push(KEY_PREFIX);
    bytes.extend_from_slice(key.as_bytes());
    bytes
}

fn encode(version: Timestamp, row: &Row) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(VERSION_BYTES + row.len());
    bytes.extend_from_slice(&version.epoch.0.to_le_bytes());
    bytes.extend_from_slice(&version.clock.to_le_bytes());
    bytes.extend_from_slice(&version.transaction.home.0.to_le_bytes());
    bytes.extend_from_slice(&version.transaction.incarnation.0.to_le_bytes());
    bytes.extend_from_slice(&version.transaction.sequence.to_le_bytes());
    assert_eq!(bytes.len(), VERSION_BYTES, "a version has a fixed size");
    bytes.extend_from_slice(row);
    bytes
}

fn decode(table: TableId, value: &[u8]) -> Result<(Timestamp, Row), StoreError> {
    let mut rest = value;
    let version = decode_version(&mut rest);
    let version = version.ok_or_else(|| StoreError::Damaged(format!("a row without its version in {table}")))?;
    // A slice of fjall's would keep its whole block in memory.
    Ok((version, Row::copy_from_slice(rest)))
}

fn decode_version(rest: &mut &[u8]) -> Option<Timestamp> {
    let epoch = EpochNumber(u64::from_le_bytes(*rest.split_off(..8)?.as_array()?));
    let clock = u64::from_le_bytes(*rest.split_off(..8)?.as_array()?);
    let home = SiteId(u16::from_le_bytes(*rest.split_off(..2)?.as_array()?));
    let incarnation = Incarnation(u32::from_le_bytes(*rest.split_off(..4)?.as_array()?));
    let sequence = u64::from_le_bytes(*rest.split_off(..8)?.as_array()?);
    let transaction = TransactionId { home, incarnation, sequence };
    Some(Timestamp { epoch, clock, transaction })
}

/// Says where, so that an operator knows which disk to look at.
fn error_of(folder: &Path, error: &fjall::Error) -> StoreError {
    let folder = folder.display();
    match error {
        fjall::Error::Io(error) | fjall::Error::Storage(LsmError::Io(error)) => {
            StoreError::Disk(format!("{folder}: {error}"))
        }
        fjall::Error::Poisoned => StoreError::Disk(format!("{folder}: an earlier write or sync failed")),
        fjall::Error::Locked => StoreError::Disk(format!("{folder}: another process has it open")),
        error => StoreError::Damaged(format!("{folder}: {error:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    const TABLE: TableId = TableId(20);

    fn open(folder: &Path) -> FjallStore {
        FjallStore::open(&folder.join("store")).expect("the store opens")
    }

    fn settle(store: &mut FjallStore) {
        while !store.is_idle().expect("the store is sound") {
            std::thread::yield_now();
        }
    }

    fn key(number: u64) -> Key {
        Key::new(&number.to_be_bytes())
    }

    fn version(clock: u64) -> Timestamp {
        Timestamp::snapshot(EpochNumber(3), clock)
    }

    /// A batch of rows of the same age, and its number as metadata.
    fn write(store: &mut FjallStore, number: u64) {
        let write = |place: u64| StoreWrite {
            table: TableId(TABLE.0 + (place % 3) as u32),
            key: key(place),
            version: version(number),
            row: Some(Row::from(vec![b'x'; 100])),
        };
        let writes = (0..50).map(write).collect();
        store.write(writes, Bytes::copy_from_slice(&number.to_be_bytes()));
    }

    /// The access manager was tested on the twin in memory; it is right here only if both do the same.
    #[test]
    fn conforms() {
        let folder = tempfile::tempdir().expect("a folder");
        access_manager::store::conformance::check(&mut open(folder.path()));
    }

    /// If this fails, a storage that was made after another was removed is gone at the start after the next.
    #[test]
    fn a_storage_made_after_a_removal_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let put = |store: &mut FjallStore, table: u32| {
            let row = Some(Row::from_static(b"row"));
            store
                .write(vec![StoreWrite { table: TableId(table), key: key(1), version: version(1), row }], Bytes::new());
            settle(store);
        };
        for tables in [[20, 21], [22, 23], [24, 25]] {
            let mut store = open(folder.path());
            tables.into_iter().for_each(|table| put(&mut store, table));
            store.remove_storage(TableId(tables[1]));
            settle(&mut store);
        }
        assert_eq!(open(folder.path()).storages(), Ok(vec![TableId(20), TableId(22), TableId(24)]));
    }

    /// Every part of a version must come back, or a site would vote against its own rows after a restart.
    #[test]
    fn a_store_opens_again_with_what_it_had() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = open(folder.path());
        write(&mut store, 7);
        store.remove_storage(TableId(21));
        store.persist();
        settle(&mut store);
        let locked = FjallStore::open(&folder.path().join("store")).err();
        assert!(matches!(locked, Some(StoreError::Disk(_))), "two processes would ruin it: {locked:?}");
        drop(store);
        let store = open(folder.path());
        let row = Row::from(vec![b'x'; 100]);
        assert_eq!(store.get(TABLE, &key(0)), Ok(Some((version(7), row))));
        assert_eq!(store.storages(), Ok(vec![TABLE, TableId(22)]));
        assert_eq!(store.metadata(), Ok(Some(Bytes::copy_from_slice(&7u64.to_be_bytes()))));
    }

    /// A value that is too short for a version must stop the site, not panic or be taken for a row.
    #[test]
    fn damaged_rows_are_errors() {
        for length in 0..VERSION_BYTES {
            let decoded = decode(TABLE, &vec![1; length]);
            assert!(matches!(decoded, Err(StoreError::Damaged(_))), "{length} bytes");
        }
        assert_eq!(decode(TABLE, &encode(version(9), &Row::new())), Ok((version(9), Row::new())));
    }

    /// A key beyond fjall's limit would end the store's thread, and the site would wait for ever.
    #[test]
    fn a_key_that_is_too_long_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = open(folder.path());
        let key = Key::new(&vec![1; KEY_BYTES_MAX + 1]);
        let write = StoreWrite { table: TABLE, key, version: version(1), row: Some(Row::new()) };
        store.write(vec![write], Bytes::new());
        let error = loop {
            match store.is_idle() {
                Ok(_) => std::thread::yield_now(),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("65535 bytes"), "{error}");
    }

    /// A process killed in the middle of writing must find what it persisted, and no row newer than the metadata.
    #[test]
    fn a_killed_process_loses_nothing_persisted() {
        const CHILD: &str = "RAID_TEST_STORE_TO_FILL";
        if let Some(folder) = std::env::var_os(CHILD) {
            let mut store = open(Path::new(&folder));
            for number in 1.. {
                write(&mut store, number);
                store.persist();
                settle(&mut store);
                println!("persisted {number}");
                std::io::stdout().flush().expect("the parent listens");
            }
        }
        let folder = tempfile::tempdir().expect("a folder");
        let name = "store::tests::a_killed_process_loses_nothing_persisted";
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args([name, "--exact", "--nocapture"])
            .env(CHILD, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut persisted = 0;
        for line in lines.map(|line| line.expect("text")) {
            // The test harness writes its own words in front of the first.
            if let Some((_, number)) = line.rsplit_once("persisted ") {
                persisted = number.parse().expect("a number");
            }
            if persisted == 20 {
                child.kill().expect("the child runs");
            }
        }
        child.wait().expect("the child has ended");
        assert!(persisted >= 20, "the child came as far as {persisted}");
        let store = open(folder.path());
        let found = store.metadata().expect("sound").expect("written");
        let found = u64::from_be_bytes(found[..].try_into().expect("a number"));
        assert!(found >= persisted, "batch {persisted} was persisted, {found} was found");
        for place in 0..50 {
            let row = store.get(TableId(TABLE.0 + (place % 3) as u32), &key(place)).expect("sound");
            let clock = row.map(|(version, _)| version.clock).expect("a row");
            assert!(
                (persisted..=found).contains(&clock),
                "row {place} is of batch {clock}, not {persisted} to {found}"
            );
        }
    }

    /// Every file of the store, with its bytes.
    fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            match entry.path().is_dir() {
                true => found.extend(files(&entry.path())),
                false => found.push((entry.path(), std::fs::read(entry.path()).expect("a file"))),
            }
        }
        found.sort();
        found
    }

    /// Everything that can be read, which must be what was persisted.
    fn check(folder: &Path, number: u64) -> Result<(), StoreError> {
        let store = FjallStore::open(&folder.join("store"))?;
        for place in 0..50 {
            let row = store.get(TableId(TABLE.0 + (place % 3) as u32), &key(place))?;
            assert_eq!(row.map(|(version, _)| version.clock), Some(number), "row {place} is old or gone");
        }
        Ok(())
    }

    /// A damaged file must be an error that names it or do no harm: what was persisted must not vanish in silence, since the log no longer has
    /// it, and nothing may bring the process down without a word.
    #[test]
    fn damage_is_an_error_or_harmless() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = open(folder.path());
        for number in 1..=9 {
            write(&mut store, number);
        }
        store.persist();
        settle(&mut store);
        drop(store);
        let sound = files(folder.path());
        let mut refused = 0;
        for (path, bytes) in &sound {
            // A file that is gone, one cut short, and a flipped byte at two places.
            let mut damaged: Vec<Option<Vec<u8>>> = vec![None, Some(bytes[..bytes.len() / 2].to_vec())];
            for place in [bytes.len() / 3, bytes.len().saturating_sub(9)] {
                let mut flipped = bytes.clone();
                if let Some(byte) = flipped.get_mut(place) {
                    *byte ^= 0x55;
                    damaged.push(Some(flipped));
                }
            }
            for damage in damaged {
                let work = tempfile::tempdir().expect("a folder");
                for (other, bytes) in &sound {
                    let copy = work.path().join(other.strip_prefix(folder.path()).expect("below it"));
                    std::fs::create_dir_all(copy.parent().expect("a folder")).expect("a copy");
                    match (other == path, &damage) {
                        (true, None) => {}
                        (true, Some(damage)) => std::fs::write(copy, damage).expect("a copy"),
                        (false, _) => std::fs::write(copy, bytes).expect("a copy"),
                    }
                }
                if let Err(error) = check(work.path(), 9) {
                    refused += 1;
                    let text = error.to_string();
                    assert!(text.contains(&*work.path().to_string_lossy()), "it must say where: {text}");
                }
            }
        }
        assert!(refused > 0, "some damage matters");
    }
}
