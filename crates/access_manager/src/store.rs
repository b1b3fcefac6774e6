//! The seam to what keeps rows on disk: an ordered map of newest versions, one per storage.
//!
//! Invariant: a store never holds a version that the log could lose, because the site lets only synced versions be posted. Until
//! [`Store::persist`] has finished, a loss of power may take any part of what was written since the last time; replaying the log makes up
//! for it.
//!
//! Writing is *started* and finishes on its own, so that a slow disk never holds up the machine; reads may or may not see a write that is
//! under way, and the access manager keeps every such row in memory until it has finished. Real stores run the suite in [`conformance`].

use bytes::Bytes;
use messages::{Key, KeyRange, Row, TableId, Timestamp};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub mod conformance;

/// Why a store does not go on. None of these is retried: the site stops.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum StoreError {
    /// The disk is full, gone, or refuses a write or a sync.
    #[error("the store cannot be read or written: {0}; free space or replace the disk, then start the site again")]
    Disk(String),
    /// What was read is not what was written.
    #[error("the store is damaged: {0}; start this site with `--repair` to take a new copy from the other sites")]
    Damaged(String),
}

/// One item to write: its newest version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreWrite {
    /// Storage.
    pub table: TableId,
    /// Key.
    pub key: Key,
    /// Version of the row or of its deletion.
    pub version: Timestamp,
    /// The row; `None` removes the key.
    pub row: Option<Row>,
}

/// Rows of one visit to a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreRows {
    /// Key, version and row, in the order asked for.
    pub rows: Vec<(Key, Timestamp, Row)>,
    /// Whether the range may hold more behind them.
    pub more: bool,
}

/// An ordered map of newest versions.
pub trait Store: Send {
    /// The metadata of the last write that is seen; `None` before the first.
    fn metadata(&self) -> Result<Option<Bytes>, StoreError>;

    /// Storages that may hold rows, in order.
    fn storages(&self) -> Result<Vec<TableId>, StoreError>;

    /// One row.
    fn get(&self, table: TableId, key: &Key) -> Result<Option<(Timestamp, Row)>, StoreError>;

    /// Rows of a range in key order, or in reverse: at least one if there is any, at most `rows_max`, ending behind the row that reaches
    /// `bytes_max`, which is 1 at least.
    fn scan(&self, range: &KeyRange, reverse: bool, rows_max: usize, bytes_max: usize)
    -> Result<StoreRows, StoreError>;

    /// Starts to write the metadata and these items. When the process is killed or power is lost, any part of the items may have been
    /// written, but none without the metadata.
    fn write(&mut self, writes: Vec<StoreWrite>, metadata: Bytes);

    /// Starts to remove a storage with all its rows. Reads see none of them from now on.
    fn remove_storage(&mut self, table: TableId);

    /// Starts to bring everything written so far to a place where it survives a loss of power.
    fn persist(&mut self);

    /// Whether everything that was started has finished. The first error of any of it comes out here, and again ever after.
    fn is_idle(&mut self) -> Result<bool, StoreError>;
}

/// Stands where a store was taken away: everything fails.
pub(crate) fn away() -> Box<dyn Store> {
    Box::new(Away)
}

struct Away;

impl Away {
    fn error<T>() -> Result<T, StoreError> {
        Err(StoreError::Disk("it was taken away from the access manager, which is being moved".to_owned()))
    }
}

impl Store for Away {
    fn metadata(&self) -> Result<Option<Bytes>, StoreError> {
        Away::error()
    }

    fn storages(&self) -> Result<Vec<TableId>, StoreError> {
        Away::error()
    }

    fn get(&self, _: TableId, _: &Key) -> Result<Option<(Timestamp, Row)>, StoreError> {
        Away::error()
    }

    fn scan(&self, _: &KeyRange, _: bool, _: usize, _: usize) -> Result<StoreRows, StoreError> {
        Away::error()
    }

    fn write(&mut self, _: Vec<StoreWrite>, _: Bytes) {}

    fn remove_storage(&mut self, _: TableId) {}

    fn persist(&mut self) {}

    fn is_idle(&mut self) -> Result<bool, StoreError> {
        Away::error()
    }
}
