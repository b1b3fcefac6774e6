//! Versions of catalog rows that were found to stand: every call of a program relies on the same few, and asks twice.
//!
//! Invariant: what is noted here stands, because all is forgotten before anything happens that might change a row of the catalog.

use crate::limits::VALIDATED_MAX;
use messages::{Key, Timestamp};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Rows of the catalog, and the versions that stand.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ValidatedRows {
    versions: FxHashMap<Key, Timestamp>,
}

impl ValidatedRows {
    /// Whether this is known to stand.
    pub(crate) fn knows(&self, key: &Key, version: Timestamp) -> bool {
        self.versions.get(key) == Some(&version)
    }

    /// It stands.
    pub(crate) fn note(&mut self, key: &Key, version: Timestamp) {
        if self.versions.len() < VALIDATED_MAX {
            self.versions.insert(key.clone(), version);
        }
    }

    /// Nothing is known any more.
    pub(crate) fn forget(&mut self) {
        self.versions.clear();
    }
}
