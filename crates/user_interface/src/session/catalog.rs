//! The catalog as a session sees it: what has committed, and the session's own changes over it.
//!
//! Invariant: a change of the running transaction is visible to its own statements only, and gone when it rolls back.

use crate::sql::ddl::SchemaChange;
use messages::database::DatabaseId;
use messages::schema::Catalog;
use messages::{Key, Row, TableId, Timestamp};
use privileges::path::SearchPath;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The committed catalog; each update makes a new generation.
#[derive(Debug, Default)]
pub struct SharedCatalog {
    /// As sessions of the first database see it: all that was applied is in it.
    catalog: Arc<Catalog>,
    /// As those of other databases do, which there are or were sessions of.
    others: BTreeMap<DatabaseId, Arc<Catalog>>,
    /// What sessions of any other database see: nothing.
    nothing: Arc<Catalog>,
    /// Counts updates.
    pub generation: u64,
}

impl SharedCatalog {
    /// As sessions of a database see it, which [`SharedCatalog::enter`] was told of.
    pub fn of(&self, database: DatabaseId) -> &Arc<Catalog> {
        match database {
            DatabaseId::FIRST => &self.catalog,
            _ => self.others.get(&database).unwrap_or(&self.nothing),
        }
    }

    /// The databases that were dropped, of those that there are or were sessions of.
    pub fn dropped(&self) -> Vec<DatabaseId> {
        self.others.keys().copied().filter(|id| self.catalog.database_numbered(*id).is_none()).collect()
    }

    /// No session asks for this database any more.
    pub fn forget(&mut self, database: DatabaseId) {
        self.others.remove(&database);
    }

    /// Sessions of this database will ask.
    pub fn enter(&mut self, database: DatabaseId) {
        if database != DatabaseId::FIRST && !self.others.contains_key(&database) {
            self.others.insert(database, self.catalog.of_database(database));
        }
    }

    /// Applies committed rows. A table whose row does not decode is as good as missing.
    pub fn apply(&mut self, rows: Vec<(Key, Timestamp, Option<Row>)>) {
        let catalog = Arc::make_mut(&mut self.catalog);
        self.generation += 1;
        // They come in the order in which the copy took them. Where another site's replaced one, the version is older, or of a deletion none.
        for (key, version, row) in rows {
            if catalog.apply(key.as_bytes(), version, row.as_deref()).is_err() {
                let gone = catalog.apply(key.as_bytes(), version, None);
                assert!(gone.is_ok(), "a deletion has nothing to decode");
            }
        }
        for (database, seen) in &mut self.others {
            *seen = self.catalog.of_database(*database);
        }
    }

    /// Starts over with these rows.
    pub fn load(&mut self, rows: Vec<(Key, Timestamp, Option<Row>)>) {
        self.catalog = Arc::default();
        self.apply(rows);
    }
}

/// A catalog row that a transaction wrote.
#[derive(Clone, Debug)]
pub struct OwnRow {
    /// The version that was there before.
    pub seen: Timestamp,
    /// What was written; `None`: deleted.
    pub row: Option<Row>,
}

/// The changes of a running transaction.
#[derive(Clone, Debug, Default)]
pub struct Overlay {
    rows: BTreeMap<Key, OwnRow>,
    made: Vec<TableId>,
    merged: Option<(u64, Arc<Catalog>)>,
}

/// A search path, with all that it depends on.
#[derive(Debug)]
pub struct KnownPath {
    /// The update of the catalog.
    pub generation: u64,
    /// The role that names are looked for by.
    pub role: u32,
    /// Its name.
    pub user: String,
    /// The value of `search_path`.
    pub setting: String,
    /// The schemas.
    pub path: SearchPath,
    /// The one of them that is the session's temporary objects'.
    pub temporary: Option<u32>,
}

impl Overlay {
    /// Whether the transaction changed nothing.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Storages made by the transaction into which rows may be committed ahead: a savepoint set since forbids that, because it
    /// could not take them back.
    pub fn made(&self) -> &[TableId] {
        &self.made
    }

    /// From here on rows in the storages made so far must not be committed ahead.
    pub fn forbid_private(&mut self) {
        self.made.clear();
    }

    /// The session is in another user interface, which counts updates of its own.
    pub fn forget_merged(&mut self) {
        self.merged = None;
    }

    /// Keys of the rows written.
    pub fn keys(&self) -> BTreeSet<Key> {
        self.rows.keys().cloned().collect()
    }

    /// The rows written, to be looked for in the committed catalog.
    pub fn take_rows(&mut self) -> Vec<(Key, OwnRow)> {
        let rows = std::mem::take(&mut self.rows);
        *self = Overlay::default();
        rows.into_iter().collect()
    }

    /// Adds a change that the action driver has done.
    pub fn add(&mut self, change: SchemaChange) {
        for (key, seen, row) in change.rows {
            // The version before the transaction's first write of the row is what its commit replaces.
            let seen = self.rows.get(&key).map_or(seen, |own| own.seen);
            self.rows.insert(key, OwnRow { seen, row });
        }
        self.made.extend(change.makes);
        self.merged = None;
    }

    /// The same, as far as it was asked for since the last change.
    pub fn merged<'a>(&'a self, shared: &'a SharedCatalog, database: DatabaseId) -> &'a Catalog {
        match &self.merged {
            Some((generation, merged)) if *generation == shared.generation => merged,
            _ => shared.of(database),
        }
    }

    /// The catalog with the changes in it.
    pub fn over(&mut self, shared: &SharedCatalog, database: DatabaseId) -> Arc<Catalog> {
        if self.rows.is_empty() {
            return shared.of(database).clone();
        }
        if let Some((generation, merged)) = &self.merged
            && *generation == shared.generation
        {
            return merged.clone();
        }
        let mut merged = Catalog::clone(shared.of(database));
        for (key, own) in &self.rows {
            let applied = merged.apply(key.as_bytes(), Timestamp::ZERO, own.row.as_deref());
            assert!(applied.is_ok(), "a catalog row of the session's own decodes");
        }
        let merged = Arc::new(merged);
        self.merged = Some((shared.generation, merged.clone()));
        merged
    }
}

/// Whether the committed catalog shows these rows, or something newer in their place.
pub fn shows(catalog: &Catalog, rows: &[(Key, OwnRow)]) -> bool {
    rows.iter().all(|(key, own)| {
        let version = catalog.version_of(key);
        match own.row {
            Some(_) => version != own.seen,
            None => version == Timestamp::ZERO || version != own.seen,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::schema::CatalogEntry;

    /// A site that was away learns by a copy, which has no version, that a table was dropped: otherwise nobody could use its name there again. And
    /// what a copy replaces may have been newer, and never committed.
    #[test]
    fn rows_count_in_the_order_in_which_they_come() {
        let mut shared = SharedCatalog::default();
        let key = CatalogEntry::key("t");
        let row = CatalogEntry::IndexOf("other".to_string()).encode();
        let version = |clock| Timestamp { clock, ..Timestamp::ZERO };
        shared.load(vec![(key.clone(), version(5), Some(row.clone()))]);
        shared.apply(vec![(key.clone(), Timestamp::ZERO, None)]);
        assert!(shared.catalog.index_names.is_empty());
        shared.apply(vec![(key.clone(), version(5), Some(row.clone())), (key.clone(), version(3), Some(row))]);
        assert_eq!(shared.catalog.version_of(&key), version(3));
    }
}
