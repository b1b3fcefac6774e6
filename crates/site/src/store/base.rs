//! Reading all that the store has at one moment, while it goes on: the base of a snapshot.
//!
//! Invariant: what is read is what a start would find if the process had been killed between two jobs of the store's thread, together with the
//! metadata of that moment, which tell from where the log is needed beside it.

use super::{KEY_PREFIX, METADATA, StoreShared, decode, error_of};
use access_manager::store::{StoreError, StoreWrite};
use bytes::Bytes;
use fjall::{Keyspace, Readable, Snapshot};
use messages::{Key, TableId};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// Bytes of rows that are handed out at once, about.
const BASE_CHUNK_BYTES: usize = 1 << 20;

/// A way to the store for those who copy it. It keeps nothing open.
#[derive(Clone)]
pub(crate) struct StoreReader(Weak<StoreShared>);

/// All that a store has at one moment.
pub(crate) struct Base {
    shared: Arc<StoreShared>,
    snapshot: Snapshot,
    tables: BTreeMap<TableId, Keyspace>,
    metadata: Option<Bytes>,
}

impl super::FjallStore {
    /// For those who copy the store.
    pub(crate) fn reader(&self) -> StoreReader {
        StoreReader(Arc::downgrade(&self.shared))
    }
}

fn closed() -> StoreError {
    StoreError::Disk("the store is being closed".to_owned())
}

impl StoreReader {
    /// What the store has now. Waits for the job that is under way.
    ///
    /// # Errors
    /// The store is not open in this process any more, or cannot be read.
    pub(crate) fn base(&self) -> Result<Base, StoreError> {
        let shared = self.0.upgrade().ok_or_else(closed)?;
        let writing = shared.writing.lock().expect("no holder of the lock panics");
        let open = shared.database.lock().expect("no holder of the lock panics").clone();
        let (database, metadata) = open.ok_or_else(closed)?;
        let snapshot = database.snapshot();
        let tables = shared.readable.read().expect("no holder of the lock panics").clone();
        let metadata = snapshot.get(&metadata, METADATA).map_err(|error| error_of(&shared.folder, &error))?;
        let metadata = metadata.map(|value| Bytes::copy_from_slice(&value));
        drop(writing);
        Ok(Base { shared, snapshot, tables, metadata })
    }
}

impl Base {
    /// The metadata of that moment.
    pub(crate) fn metadata(&self) -> Option<Bytes> {
        self.metadata.clone()
    }

    /// Hands out all rows, in chunks of about [`BASE_CHUNK_BYTES`], each of one storage.
    ///
    /// # Errors
    /// Those of `take`, and those of the store, which may be closed meanwhile.
    pub(crate) fn read<E: From<StoreError>>(
        &self,
        mut take: impl FnMut(Vec<StoreWrite>) -> Result<(), E>,
    ) -> Result<(), E> {
        for (&table, keyspace) in &self.tables {
            let (mut chunk, mut bytes) = (Vec::new(), 0);
            for entry in self.snapshot.iter(keyspace) {
                let (key, value) = entry.into_inner().map_err(|error| error_of(&self.shared.folder, &error))?;
                let Some((&KEY_PREFIX, key)) = key.split_first() else {
                    return Err(StoreError::Damaged(format!("a key of another layout in {table}")).into());
                };
                let (version, row) = decode(table, &value)?;
                bytes += key.len() + value.len();
                chunk.push(StoreWrite { table, key: Key::new(key), version, row: Some(row) });
                if bytes >= BASE_CHUNK_BYTES {
                    if self.shared.failed() {
                        return Err(closed().into());
                    }
                    take(std::mem::take(&mut chunk))?;
                    bytes = 0;
                }
            }
            if !chunk.is_empty() {
                take(chunk)?;
            }
        }
        Ok(())
    }
}
