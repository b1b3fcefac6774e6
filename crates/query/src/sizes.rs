//! How many rows tables have, as far as it was seen.
//!
//! Nothing counts the rows of a table, and planning reads none. But who reads a table to its end has counted it. Invariant: a number only decides between ways
//! that give the same rows. One that has become wrong is put right by the next reading of the whole table, which is what a wrong number leads to.

use crate::limits::{ROWS_KNOWN_MIN, TABLE_ROWS};
use messages::TableId;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// By how much a number may have changed before plans that were made with it are made again.
const FACTOR: f64 = 8.0;

/// Tables whose numbers are kept.
const TABLES_MAX: usize = 4_096;

/// The numbers of rows that were counted, by the tables' storages.
#[derive(Debug, Default)]
pub(crate) struct TableSizes(Mutex<BTreeMap<TableId, usize>>);

impl TableSizes {
    /// How many rows a table is taken to have. Few may have become many, so none is taken to have hardly any.
    pub(crate) fn rows(&self, storage: TableId) -> f64 {
        let counted = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&storage).copied();
        counted.map_or(TABLE_ROWS, |rows| rows.max(ROWS_KNOWN_MIN)) as f64
    }

    /// A table was read to its end.
    pub(crate) fn counted(&self, storage: TableId, rows: usize) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= TABLES_MAX && !known.contains_key(&storage) {
            known.pop_first();
        }
        known.insert(storage, rows);
    }

    /// Whether a number that a plan was made with still is about right.
    pub(crate) fn is_about(&self, storage: TableId, rows: f64) -> bool {
        let now = self.rows(storage);
        now <= rows * FACTOR && rows <= now * FACTOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan would be kept that was made for a table of another size, or be made again each time.
    #[test]
    fn sizes_are_learned_and_about_right_for_long() {
        let sizes = TableSizes::default();
        let table = TableId(7);
        let before = sizes.rows(table);
        assert!(sizes.is_about(table, before));
        sizes.counted(table, 20_000);
        assert!(!sizes.is_about(table, before) && sizes.is_about(table, 20_000.0));
        sizes.counted(table, 100_000);
        assert!(sizes.is_about(table, 20_000.0));
        sizes.counted(table, 0);
        assert_eq!(sizes.rows(table), ROWS_KNOWN_MIN as f64);
    }
}
