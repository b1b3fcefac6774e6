//! Drops what lives that are over have left behind: storages into which they had committed rows ahead, and which nobody names.
//!
//! The first up member of an epoch looks for them when the epoch begins. Invariants: a storage is dropped only if a row of it is of a life that has
//! committed in this epoch or before and is not in this epoch, and a snapshot of the whole catalog names it nowhere, which still holds when the drop
//! commits. That life can name it no more, and nobody else ever does: a number is taken once (`catalog.rs`).

use crate::answers::{Owner, Surroundings};
use crate::limits::{DROP_RETRY, SCAN_ROWS_MAX};
use messages::access::{AccessReply, AccessRequest, Copies, CopyRequest};
use messages::commit::CommitRequest;
use messages::concurrency::{AccessTarget, ConcurrencyRequest};
use messages::planted;
use messages::schema::CatalogEntry;
use messages::{
    Age, Epoch, History, Key, KeyRange, Message, RangeRead, Row, ServerKind, TableId, Timestamp, TransactionId,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The search under way.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Leftovers {
    search: Option<LeftoverSearch>,
}

#[derive(Debug, Serialize, Deserialize)]
struct LeftoverSearch {
    epoch: Arc<Epoch>,
    stage: LeftoverStage,
    /// What everything is read at, once it is fixed.
    snapshot: Option<Timestamp>,
    /// Storages that nobody is known to name.
    unnamed: BTreeSet<TableId>,
    /// Of them, those that lives have filled which are over.
    found: Vec<TableId>,
}

/// What is waited for.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum LeftoverStage {
    Waiting {
        until: u64,
    },
    /// A snapshot.
    Pinning {
        tag: u64,
    },
    /// What is undecided on the catalog.
    Settling {
        tag: u64,
    },
    /// Which storages there are.
    Listing {
        tag: u64,
    },
    /// Rows of the catalog.
    Naming {
        tag: u64,
    },
    /// A row of this storage.
    Looking {
        tag: u64,
        storage: TableId,
    },
    Beginning {
        tag: u64,
    },
    Committing {
        transaction: TransactionId,
    },
}

impl LeftoverSearch {
    fn waits_for(&self, answered: u64) -> bool {
        match self.stage {
            LeftoverStage::Waiting { .. } | LeftoverStage::Committing { .. } => false,
            LeftoverStage::Pinning { tag }
            | LeftoverStage::Settling { tag }
            | LeftoverStage::Listing { tag }
            | LeftoverStage::Naming { tag }
            | LeftoverStage::Looking { tag, .. }
            | LeftoverStage::Beginning { tag } => tag == answered,
        }
    }

    /// Takes those out that these rows of the catalog name. False: one of them cannot be read.
    fn name(&mut self, rows: &[(Key, Timestamp, Row)]) -> bool {
        rows.iter().all(|(_, _, row)| {
            let entry = CatalogEntry::decode(row);
            if let Ok(CatalogEntry::Table(table)) = &entry {
                let indexes = table.indexes.iter().map(|index| index.storage);
                for named in indexes.chain([table.storage]) {
                    self.unnamed.remove(&named);
                }
            }
            entry.is_ok()
        })
    }

    /// Whether a row of this version was committed by a life that is over.
    fn is_left(&self, version: Timestamp) -> bool {
        let TransactionId { home, incarnation, .. } = version.transaction;
        version.epoch <= self.epoch.number && !self.epoch.has(home, incarnation)
    }
}

impl Leftovers {
    /// An epoch begins, and this site is the one to drop what is left.
    pub fn begin(&mut self, epoch: Arc<Epoch>, around: &mut Surroundings) {
        if !planted!(around.planted, LeftoversStay) {
            self.search_from(epoch, 0, around);
        }
    }

    /// Begins a search at the first tick from then on (boot clock), in place of the one under way.
    fn search_from(&mut self, epoch: Arc<Epoch>, until: u64, around: &mut Surroundings) {
        self.end_search(around);
        let stage = LeftoverStage::Waiting { until };
        let search = LeftoverSearch { epoch, stage, snapshot: None, unnamed: BTreeSet::new(), found: Vec::new() };
        self.search = Some(search);
    }

    fn end_search(&mut self, around: &mut Surroundings) {
        if let Some(snapshot) = self.search.take().and_then(|search| search.snapshot) {
            around.snapshots.leave(snapshot);
        }
    }

    /// Begins what is due.
    pub fn tick(&mut self, around: &mut Surroundings) {
        let is_due = |search: &LeftoverSearch| matches!(search.stage, LeftoverStage::Waiting { until } if until <= around.now.boot);
        if self.search.as_ref().is_some_and(is_due) {
            let tag = around.answers.new_tag(Owner::Leftovers);
            self.enter_stage(LeftoverStage::Pinning { tag });
            let begin = CommitRequest::BeginSnapshot { tag };
            around.commit(begin);
        }
    }

    fn enter_stage(&mut self, stage: LeftoverStage) {
        self.search.as_mut().expect("a search is under way").stage = stage;
    }

    fn waiting_search(&mut self, tag: u64) -> Option<&mut LeftoverSearch> {
        self.search.as_mut().filter(|search| search.waits_for(tag))
    }

    /// The snapshot is fixed.
    pub fn pinned(&mut self, tag: u64, snapshot: Timestamp, around: &mut Surroundings) {
        let Some(search) = self.waiting_search(tag) else { return };
        search.snapshot = Some(snapshot);
        around.snapshots.enter(snapshot);
        let tag = around.answers.new_tag(Owner::Leftovers);
        self.enter_stage(LeftoverStage::Settling { tag });
        let target = AccessTarget::Range(Box::new(KeyRange::whole(TableId::CATALOG)));
        let access = ConcurrencyRequest::SnapshotAccess { tag, target, snapshot };
        around.outbox.local(ServerKind::ConcurrencyController, Message::Concurrency(access));
    }

    /// All that the snapshot sees of the catalog is decided.
    pub fn settled(&mut self, tag: u64, around: &mut Surroundings) {
        let Some(epoch) = self.waiting_search(tag).map(|search| search.epoch.number) else { return };
        let tag = around.answers.new_tag(Owner::Leftovers);
        self.enter_stage(LeftoverStage::Listing { tag });
        let list = AccessRequest::ReadCopies { tag, wanted: CopyRequest::Storages, epoch };
        around.outbox.local(ServerKind::AccessManager, Message::Access(list));
    }

    /// The access manager has answered.
    pub fn read(&mut self, tag: u64, reply: AccessReply, around: &mut Surroundings) {
        let living = planted!(around.planted, LivingLeftovers);
        let Some(search) = self.waiting_search(tag) else { return };
        // Where to go on in what is being read.
        let next = match (&search.stage, reply) {
            (LeftoverStage::Listing { .. }, AccessReply::Copies { copies, .. }) => match &*copies {
                Copies::Storages(listed) => {
                    search.unnamed = listed.iter().copied().filter(|it| *it >= TableId::FIRST_CREATED).collect();
                    search.stage = LeftoverStage::Naming { tag };
                    Some(Some(Key::lowest()))
                }
                _ => None,
            },
            (LeftoverStage::Naming { .. }, AccessReply::ScanReply { rows, next, .. }) => {
                search.name(&rows).then(|| next.map(|key| *key))
            }
            (LeftoverStage::Looking { storage, .. }, AccessReply::ScanReply { rows, next, .. }) => {
                let storage = *storage;
                let row = rows.first().map(|(_, version, _)| *version);
                if row.is_some_and(|version| living || search.is_left(version)) {
                    search.found.push(storage);
                }
                Some(next.filter(|_| row.is_none()).map(|key| *key))
            }
            // Something of it is stale here, or gone.
            _ => None,
        };
        match next {
            Some(next) => self.read_on(next, around),
            None => {
                let epoch = Arc::clone(&search.epoch);
                self.search_from(epoch, around.now.boot + DROP_RETRY, around);
            }
        }
    }

    /// Reads on from there in what is being read, or what comes after it; with all read, drops what was found.
    fn read_on(&mut self, next: Option<Key>, around: &mut Surroundings) {
        let tag = around.answers.new_tag(Owner::Leftovers);
        let search = self.search.as_mut().expect("a search is under way");
        if let (LeftoverStage::Looking { storage, .. }, None) = (&search.stage, &next) {
            search.unnamed.remove(storage);
        }
        let goes_on = matches!(search.stage, LeftoverStage::Naming { .. }) && !search.unnamed.is_empty();
        let (range, limit) = match (next, search.unnamed.first()) {
            (Some(low), _) if goes_on => {
                search.stage = LeftoverStage::Naming { tag };
                (KeyRange { low, ..KeyRange::whole(TableId::CATALOG) }, SCAN_ROWS_MAX)
            }
            (low, Some(&storage)) => {
                search.stage = LeftoverStage::Looking { tag, storage };
                (KeyRange { low: low.unwrap_or_default(), ..KeyRange::whole(storage) }, 1)
            }
            (_, None) => return self.drop_found(tag, around),
        };
        let scan =
            AccessRequest::Scan { tag, range: Box::new(range), snapshot: search.snapshot, limit, reverse: false };
        around.outbox.local(ServerKind::AccessManager, Message::Access(scan));
    }

    fn drop_found(&mut self, tag: u64, around: &mut Surroundings) {
        if self.search.as_ref().is_some_and(|search| search.found.is_empty()) {
            around.answers.take(tag);
            return self.end_search(around);
        }
        self.enter_stage(LeftoverStage::Beginning { tag });
        around.commit(CommitRequest::Begin { tag });
    }

    /// The transaction that drops them may begin.
    pub fn begun(&mut self, tag: u64, transaction: TransactionId, age: Age, around: &mut Surroundings) {
        let Some(search) = self.waiting_search(tag) else { return };
        search.stage = LeftoverStage::Committing { transaction };
        let as_of = search.snapshot.expect("it was read at a snapshot");
        let catalog = RangeRead { range: KeyRange::whole(TableId::CATALOG), as_of };
        let drops = search.found.clone();
        let history = Arc::new(History { ranges: vec![catalog], drops, ..History::default() });
        around.answers.follow(transaction, Owner::Leftovers);
        let request = CommitRequest::Commit { transaction, age, history, logged_everywhere: false };
        around.commit(request);
    }

    /// It is decided. If it has lost, the catalog has changed: it is read again.
    pub fn decided(&mut self, transaction: TransactionId, committed: bool, around: &mut Surroundings) {
        around.answers.unfollow(transaction);
        let Some(search) = &self.search else { return };
        if search.stage != (LeftoverStage::Committing { transaction }) {
            return;
        }
        match committed {
            true => self.end_search(around),
            false => self.search_from(Arc::clone(&search.epoch), around.now.boot + DROP_RETRY, around),
        }
    }
}
