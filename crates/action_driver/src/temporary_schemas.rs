//! Drops the temporary schemas of sessions that have gone, with what is in them.
//!
//! A session of this life that closes is told of by its user interface. Those of lives that are over the first up member of an epoch looks for when the epoch
//! begins, as for storages left behind (`leftovers.rs`). What is to go is read from a snapshot of the whole catalog, and deleted by a transaction that has
//! read each of its rows; then the catalog is read again, until nothing is found. Invariants: a schema is dropped only if its row says that its owner's life
//! is over, or names a session of this life that has closed; what is in a schema that is not there any more goes, too. So what an abandoned commit makes in
//! such a schema does not stay: it has read the schema's row, and comes before the row goes or not at all.

use crate::answers::{Owner, Surroundings};
use crate::limits::{DROP_RETRY, FORSAKEN_PATIENCE, SCAN_ROWS_MAX, SWEPT_ROWS_MAX};
use messages::access::{AccessReply, AccessRequest};
use messages::commit::CommitRequest;
use messages::concurrency::{AccessTarget, ConcurrencyRequest};
use messages::namespace;
use messages::schema::{Catalog, CatalogEntry, TableSchema, TemporaryOwner};
use messages::{
    Age, Epoch, History, ItemRead, Key, KeyRange, Message, ServerKind, TableId, Timestamp, TransactionId, Write,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Owners of temporary schemas that may still be there.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct TemporarySchemas {
    /// Sessions of this life, and when they closed (boot clock): a commit that nobody waits for any more may come later.
    forsaken: BTreeMap<TemporaryOwner, u64>,
    /// The epoch that has begun: lives that are not in it are over.
    epoch: Option<Arc<Epoch>>,
    /// Nothing is looked for before (boot clock).
    not_before: u64,
    sweep: Option<SchemaSweep>,
}

/// A search under way.
#[derive(Debug, Serialize, Deserialize)]
struct SchemaSweep {
    began: u64,
    epoch: Option<Arc<Epoch>>,
    stage: SweepStage,
    /// What the catalog is read at, once it is fixed.
    snapshot: Option<Timestamp>,
    /// As far as it was read.
    catalog: Catalog,
    /// What is to go.
    found: SweepFound,
}

/// What is waited for.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum SweepStage {
    /// A snapshot.
    Pinning {
        tag: u64,
    },
    /// What is undecided on the catalog.
    Settling {
        tag: u64,
    },
    /// Rows of the catalog.
    Reading {
        tag: u64,
    },
    Beginning {
        tag: u64,
    },
    Committing {
        transaction: TransactionId,
    },
}

/// Rows of the catalog that are to go, with their versions, and storages.
#[derive(Debug, Default, Serialize, Deserialize)]
struct SweepFound {
    rows: Vec<(Key, Timestamp)>,
    storages: Vec<TableId>,
}

impl SweepFound {
    fn add_table(&mut self, table: &TableSchema, version: Timestamp) {
        self.rows.push((CatalogEntry::key(&table.name), version));
        self.storages.push(table.storage);
        self.storages.extend(table.indexes.iter().map(|index| index.storage));
    }

    fn into_history(self) -> History {
        let read = |(key, seen): &(Key, Timestamp)| ItemRead { table: TableId::CATALOG, key: key.clone(), seen: *seen };
        let written = |(key, _): &(Key, Timestamp)| Write { table: TableId::CATALOG, key: key.clone(), row: None };
        History {
            reads: self.rows.iter().map(read).collect(),
            writes: self.rows.iter().map(written).collect(),
            drops: self.storages,
            ..History::default()
        }
    }
}

impl SchemaSweep {
    fn waits_for(&self, answered: u64) -> bool {
        match self.stage {
            SweepStage::Committing { .. } => false,
            SweepStage::Pinning { tag }
            | SweepStage::Settling { tag }
            | SweepStage::Reading { tag }
            | SweepStage::Beginning { tag } => tag == answered,
        }
    }

    /// Whether the owner's life is over. `version`: that of the schema's row.
    fn is_over(&self, owner: TemporaryOwner, version: Timestamp) -> bool {
        let in_epoch = |epoch: &Arc<Epoch>| version.epoch > epoch.number || epoch.has(owner.site, owner.life);
        self.epoch.as_ref().is_some_and(|epoch| !in_epoch(epoch))
    }

    /// What is to go, now that all of the catalog is read.
    fn find(&mut self, forsaken: &BTreeMap<TemporaryOwner, u64>) {
        let mut found = SweepFound::default();
        self.find_within(&self.catalog, forsaken, &mut found);
        for other in self.catalog.others.values() {
            self.find_within(other, forsaken, &mut found);
        }
        self.found = found;
    }

    /// The same in one database.
    fn find_within(&self, catalog: &Catalog, forsaken: &BTreeMap<TemporaryOwner, u64>, all: &mut SweepFound) {
        let schemas = catalog.namespaces.values().filter(|(schema, version)| {
            schema.temporary.is_some_and(|owner| forsaken.contains_key(&owner) || self.is_over(owner, *version))
        });
        let schemas: Vec<_> = schemas.collect();
        let gone: BTreeSet<u32> = schemas.iter().map(|(schema, _)| schema.oid).collect();
        let there: BTreeSet<u32> = catalog.all_namespaces().iter().map(|schema| schema.oid).collect();
        let goes = |name: &str| {
            let schema = namespace::of(name);
            namespace::is_marked(name) && (gone.contains(&schema) || !there.contains(&schema))
        };
        let mut found = SweepFound::default();
        for known in catalog.tables.values().filter(|known| goes(&known.table.name)).take(SWEPT_ROWS_MAX) {
            found.add_table(&known.table, known.version);
        }
        let indexes = catalog.index_names.iter().filter(|(name, _)| goes(name)).take(SWEPT_ROWS_MAX);
        found.rows.extend(indexes.map(|(name, (_, version))| (CatalogEntry::key(name), *version)));
        // With more in them they are found again.
        if found.rows.len() < SWEPT_ROWS_MAX {
            found
                .rows
                .extend(schemas.iter().map(|(schema, version)| (CatalogEntry::namespace_key(&schema.name), *version)));
        }
        all.rows.extend(found.rows.into_iter().map(|(key, version)| (catalog.database.placed(&key), version)));
        all.storages.extend(found.storages);
    }
}

impl TemporarySchemas {
    /// A session of this life has closed.
    pub fn forsake(&mut self, owner: TemporaryOwner, around: &mut Surroundings) {
        self.forsaken.insert(owner, around.now.boot);
        self.not_before = 0;
    }

    /// An epoch begins, and this site is the one to look for what lives that are over have left.
    pub fn begin(&mut self, epoch: Arc<Epoch>) {
        self.epoch = Some(epoch);
        self.not_before = 0;
    }

    /// Begins what is due.
    pub fn tick(&mut self, around: &mut Surroundings) {
        let wants = self.epoch.is_some() || !self.forsaken.is_empty();
        if self.sweep.is_some() || !wants || self.not_before > around.now.boot {
            return;
        }
        let tag = around.answers.new_tag(Owner::TemporarySchemas);
        self.sweep = Some(SchemaSweep {
            began: around.now.boot,
            epoch: self.epoch.clone(),
            stage: SweepStage::Pinning { tag },
            snapshot: None,
            catalog: Catalog::default(),
            found: SweepFound::default(),
        });
        around.commit(CommitRequest::BeginSnapshot { tag });
    }

    fn waiting(&mut self, tag: u64) -> Option<&mut SchemaSweep> {
        self.sweep.as_mut().filter(|sweep| sweep.waits_for(tag))
    }

    /// The search ends; another begins no sooner than then (boot clock).
    fn end(&mut self, not_before: u64, around: &mut Surroundings) {
        if let Some(snapshot) = self.sweep.take().and_then(|sweep| sweep.snapshot) {
            around.snapshots.leave(snapshot);
        }
        self.not_before = not_before;
    }

    /// The snapshot is fixed.
    pub fn pinned(&mut self, tag: u64, snapshot: Timestamp, around: &mut Surroundings) {
        let Some(sweep) = self.waiting(tag) else { return };
        sweep.snapshot = Some(snapshot);
        around.snapshots.enter(snapshot);
        let tag = around.answers.new_tag(Owner::TemporarySchemas);
        sweep.stage = SweepStage::Settling { tag };
        let target = AccessTarget::Range(Box::new(KeyRange::whole(TableId::CATALOG)));
        let access = ConcurrencyRequest::SnapshotAccess { tag, target, snapshot };
        around.outbox.local(ServerKind::ConcurrencyController, Message::Concurrency(access));
    }

    /// All that the snapshot sees of the catalog is decided.
    pub fn settled(&mut self, tag: u64, around: &mut Surroundings) {
        if let Some(sweep) = self.waiting(tag) {
            sweep.read_from(Key::lowest(), around);
        }
    }

    /// The access manager has answered.
    pub fn read(&mut self, tag: u64, reply: AccessReply, around: &mut Surroundings) {
        let Some(sweep) = self.sweep.as_mut().filter(|sweep| sweep.waits_for(tag)) else { return };
        let AccessReply::ScanReply { rows, next, .. } = reply else {
            // Something of it is stale here, or gone.
            return self.end(around.now.boot + DROP_RETRY, around);
        };
        let mut applied =
            rows.iter().map(|(key, version, row)| sweep.catalog.apply(key.as_bytes(), *version, Some(row)));
        if applied.any(|applied| applied.is_err()) {
            return self.end(around.now.boot + DROP_RETRY, around);
        }
        if let Some(next) = next {
            return sweep.read_from(*next, around);
        }
        sweep.find(&self.forsaken);
        if sweep.found.rows.is_empty() {
            return self.found_nothing(around);
        }
        let tag = around.answers.new_tag(Owner::TemporarySchemas);
        sweep.stage = SweepStage::Beginning { tag };
        around.commit(CommitRequest::Begin { tag });
    }

    fn found_nothing(&mut self, around: &mut Surroundings) {
        let Some(sweep) = &self.sweep else { return };
        let began = sweep.began;
        let is_same =
            |epoch: &Arc<Epoch>| sweep.epoch.as_ref().is_some_and(|looked_for| looked_for.number == epoch.number);
        if self.epoch.as_ref().is_some_and(is_same) {
            self.epoch = None;
        }
        self.forsaken.retain(|_, since| *since + FORSAKEN_PATIENCE > began);
        // Who was forsaken meanwhile, and what began meanwhile, is looked for at once.
        let is_news = self.epoch.is_some() || self.forsaken.values().any(|since| *since >= began);
        let wait = if is_news { 0 } else { FORSAKEN_PATIENCE };
        self.end(around.now.boot + wait, around);
    }

    /// The transaction that drops them may begin.
    pub fn begun(&mut self, tag: u64, transaction: TransactionId, age: Age, around: &mut Surroundings) {
        let Some(sweep) = self.waiting(tag) else { return };
        sweep.stage = SweepStage::Committing { transaction };
        let history = Arc::new(std::mem::take(&mut sweep.found).into_history());
        around.answers.follow(transaction, Owner::TemporarySchemas);
        let request = CommitRequest::Commit { transaction, age, history, logged_everywhere: false };
        around.commit(request);
    }

    /// It is decided. The catalog is read again: at once, or a little later if the transaction has lost.
    pub fn decided(&mut self, transaction: TransactionId, committed: bool, around: &mut Surroundings) {
        around.answers.unfollow(transaction);
        if self.sweep.as_ref().is_some_and(|sweep| sweep.stage == SweepStage::Committing { transaction }) {
            let wait = if committed { 0 } else { DROP_RETRY };
            self.end(around.now.boot + wait, around);
        }
    }
}

impl SchemaSweep {
    fn read_from(&mut self, low: Key, around: &mut Surroundings) {
        let tag = around.answers.new_tag(Owner::TemporarySchemas);
        self.stage = SweepStage::Reading { tag };
        let range = Box::new(KeyRange { low, ..KeyRange::whole(TableId::CATALOG) });
        let scan = AccessRequest::Scan { tag, range, snapshot: self.snapshot, limit: SCAN_ROWS_MAX, reverse: false };
        around.outbox.local(ServerKind::AccessManager, Message::Access(scan));
    }
}
