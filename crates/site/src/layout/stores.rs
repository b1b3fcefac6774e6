//! The store of a site, as it changes hands between processes.
//!
//! Invariant: a store that is closed has on disk everything that was started, so whoever opens it next finds what the access manager counts on.

use crate::limits;
use crate::store::FjallStore;
use access_manager::{Store, StoreError};
use domain::Stores;
use std::path::PathBuf;
use std::time::Instant;

/// Opens and closes the store in this folder.
pub struct FolderStores(pub PathBuf);

impl Stores for FolderStores {
    fn open(&mut self) -> Result<Box<dyn Store>, StoreError> {
        let begun = Instant::now();
        let store = FjallStore::open(&self.0)?;
        tracing::debug!(took = ?begun.elapsed(), "the store is opened");
        Ok(Box::new(store))
    }

    fn close(&mut self, mut store: Box<dyn Store>) -> Result<(), StoreError> {
        store.persist();
        let begun = Instant::now();
        while !store.is_idle()? {
            if begun.elapsed() > limits::STORE_CLOSE_MAX {
                let waited_s = limits::STORE_CLOSE_MAX.as_secs();
                return Err(StoreError::Disk(format!("{}: not written after {waited_s} s", self.0.display())));
            }
            std::thread::sleep(limits::STORE_CLOSE_LOOK);
        }
        let written = begun.elapsed();
        drop(store);
        tracing::debug!(?written, closed = ?begun.elapsed(), "the store is closed");
        Ok(())
    }
}
