//! To and from the access manager: reads, version checks, installs, copies, posting.
//!
//! All of it stays within a site: nothing is lost or repeated. A request with a `tag` is answered by one reply with the same tag,
//! at once.

use crate::conflict::Conflict;
use crate::item::{History, Item, KeyRange, Row};
use crate::item_set::ItemSet;
use crate::key::Key;
use crate::schema::CatalogVersions;
use crate::timestamp::Timestamp;
use identifiers::{EpochNumber, TableId, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// To the access manager.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum AccessRequest {
    /// Action driver: one item. Answered `ReadReply`, `Stale` or `SnapshotGone`.
    Read {
        /// Names the read.
        tag: u64,
        /// Storage.
        table: TableId,
        /// Key.
        key: Key,
        /// The newest version at or below this; `None`: the newest.
        snapshot: Option<Timestamp>,
    },
    /// Action driver: rows of a range in key order. Answered `ScanReply`, `Stale` or `SnapshotGone`.
    Scan {
        /// Names the read.
        tag: u64,
        /// What to read.
        range: Box<KeyRange>,
        /// The newest versions at or below this; `None`: the newest.
        snapshot: Option<Timestamp>,
        /// At most so many rows; the reply says where to go on.
        limit: u32,
        /// From the high end down.
        reverse: bool,
    },
    /// Action driver, before a program runs: has each of these rows of the catalog still this version ([`Timestamp::ZERO`]: is it absent), and is
    /// none of them stale here? If so, what are the newest versions of these items? Answered `Compared`.
    Compare {
        /// Names the question.
        tag: u64,
        /// The rows.
        rows: CatalogVersions,
        /// The items, which the program will read.
        ahead: Vec<Item>,
    },
    /// Atomicity controller: do the versions and ranges that this history has read still stand here? Items that are stale here are
    /// passed over: their version is not known. And can what it adds be added, whatever becomes of others that were told so and have
    /// not ended? The asker holds commit-locks on all of it. Answered `CheckReply`.
    Check {
        /// Whose history.
        transaction: TransactionId,
        /// The history.
        history: Arc<History>,
    },
    /// Atomicity controller: a transaction that stood its check will not commit: what it was to add is expected no more. (`Install` says the
    /// same of one that commits.)
    Abandon {
        /// Which.
        transaction: TransactionId,
        /// Its history.
        history: Arc<History>,
    },
    /// Atomicity controller, when an epoch begins: everything that was checked has ended.
    NothingUndecided,
    /// Atomicity controller: a committed transaction's writes become the newest versions, and its increments are added to whatever is newer
    /// than it. Writes may be installed again, increments may not.
    Install {
        /// The commit timestamp.
        timestamp: Timestamp,
        /// Its writes.
        history: Arc<History>,
        /// It is large: other requests may be served between two parts of it. Answered `Installed` once all of it is there; until then the asker
        /// keeps its commit-locks, for which readers wait, those of snapshots too.
        in_steps: bool,
    },
    /// The access manager to itself: the next step of what is large.
    NextStep,
    /// Action driver, now and then: which snapshots will still be read. Versions that none of them sees may go. If it is lost they stay until
    /// the next one; twice is once.
    SnapshotsInUse {
        /// These, each of which was read before or lies above what `from` was before; ascending.
        in_use: Vec<Timestamp>,
        /// And any at or above this, which never falls.
        from: Timestamp,
    },
    /// Replication controller: these items of the own copy are stale from now on, until a copy or a write refreshes them.
    /// The caller has logged it.
    MarkStale {
        /// Which.
        stale: Arc<StaleSet>,
    },
    /// Replication controller: up to `limit` stale items (or the start of a stale storage) to fetch next; those that `wanted` names come first.
    /// Answered `StaleBatch`.
    NextStale {
        /// Names the request.
        tag: u64,
        /// At most so many.
        limit: u32,
        /// A read waits for these.
        wanted: Option<Box<KeyRange>>,
    },
    /// Replication controller: copies that an up member sent. Installed only where still stale, then unconditionally: whatever
    /// version the own copy has goes. The access manager logs them. Answered `CopiesInstalled`.
    InstallCopies {
        /// Names the request.
        tag: u64,
        /// The copies.
        copies: Arc<Copies>,
    },
    /// Replication controller at an up member, and action driver: the newest committed versions of what a copier asks for. Answered `Copies`. Of storages that
    /// were dropped before the epoch began nothing is there any more; what is dropped in it the asker drops by itself.
    ReadCopies {
        /// Names the request.
        tag: u64,
        /// What is wanted.
        wanted: CopyRequest,
        /// The epoch.
        epoch: EpochNumber,
    },
    /// The site: bring everything installed so far into the store; the log up to `position` may go when this is answered.
    /// The access manager has the log synced before the store gets anything. Answered `Posted` once the store has synced it.
    Post {
        /// Handed back.
        tag: u64,
    },
}

/// From the access manager.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum AccessReply {
    /// One item.
    ReadReply {
        /// Names the read.
        tag: u64,
        /// The version of the row; [`Timestamp::ZERO`] when it is absent, whether its deletion is still known here or not.
        version: Timestamp,
        /// The row; `None` when absent.
        row: Option<Row>,
    },
    /// Rows of a range.
    ScanReply {
        /// Names the read.
        tag: u64,
        /// Key, version and row, in the order asked for.
        rows: Vec<(Key, Timestamp, Row)>,
        /// Where to go on: the next `low` (or the next `high` when reversed); `None` when the range is done.
        next: Option<Box<Key>>,
        /// The largest timestamp installed here.
        as_of: Timestamp,
    },
    /// How rows of the catalog compare.
    Compared {
        /// Names the question.
        tag: u64,
        /// All of them are as named.
        are_equal: bool,
        /// Version and row of the items asked for, as in `ReadReply`, up to the first that is stale; none if the catalog is not as named.
        ahead: Vec<(Timestamp, Option<Row>)>,
    },
    /// What was asked for is stale here: ask the replication controller to refresh it, then ask again.
    Stale {
        /// Names the read.
        tag: u64,
        /// What is stale.
        range: Box<KeyRange>,
    },
    /// The snapshot cannot be read any more: begin a new one. If it is lost, the reader waits, like every reader whose server is lost, for the
    /// site's new life; if it comes twice, the second names no read.
    SnapshotGone {
        /// Names the read.
        tag: u64,
        /// It was given up, because the versions that it needs took too much memory. Otherwise it lies below a version that a copier
        /// brought, or was never told to be in use.
        given_up: bool,
    },
    /// To the action driver, unasked: this snapshot in use and all that are older were given up, and are answered `SnapshotGone`. If it is lost
    /// they are reported again, to no effect; twice is once.
    SnapshotsGivenUp {
        /// The newest of them.
        through: Timestamp,
    },
    /// To the atomicity controller and the site, unasked, while much of what was installed is not in the store: so many more bytes may be
    /// committed here before that is too much. 2^64 - 1: it is little again. It is told anew whenever it changes; twice is once.
    Room {
        /// Bytes of keys and rows.
        bytes: u64,
    },
    /// The outcome of a version check.
    CheckReply {
        /// Whose history.
        transaction: TransactionId,
        /// `None`: everything stands.
        conflict: Option<Conflict>,
    },
    /// All of what was to be installed in steps is there. If it is lost, its locks stay until the next epoch begins; twice is once.
    Installed {
        /// Whose writes.
        transaction: TransactionId,
    },
    /// Items to fetch.
    StaleBatch {
        /// Names the request.
        tag: u64,
        /// What to ask an up member for; `None`: nothing is stale here (or nothing of what was wanted).
        wanted: Option<CopyRequest>,
        /// Stale items left, whole storages counted as one.
        left: u64,
    },
    /// Copies are in.
    CopiesInstalled {
        /// Names the request.
        tag: u64,
        /// Bytes of keys and rows.
        bytes: u64,
    },
    /// Copies for another site.
    Copies {
        /// Names the request.
        tag: u64,
        /// The copies.
        copies: Arc<Copies>,
    },
    /// To the replication controller, unasked: these stale items were refreshed by a write or by copies, now in this site's memory.
    Refreshed {
        /// Which.
        items: Vec<Item>,
        /// Storages that were stale as a whole and no longer are.
        storages: Vec<TableId>,
    },
    /// To the user interface, unasked: catalog rows changed.
    CatalogRows {
        /// Key, version, row.
        rows: Vec<(Key, Timestamp, Option<Row>)>,
    },
    /// The store holds everything that was installed when `Post` came.
    Posted {
        /// Handed back.
        tag: u64,
    },
}

/// Fail-locked items of one site: those named, and whole storages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleSet {
    /// Items, present or not.
    pub items: ItemSet,
    /// Storages locked as a whole, because they were dropped, too many of their items were written, or nothing is known of the site's copy.
    pub storages: BTreeSet<TableId>,
    /// Everything is stale, storages not yet known included: a site that comes with an empty or foreign copy.
    pub everything: bool,
}

impl StaleSet {
    /// What is stale in a copy that lacks this transaction. Of a storage that it drops, whatever that copy has of it.
    pub fn without(history: &History) -> StaleSet {
        let storages: BTreeSet<TableId> = history.drops.iter().copied().collect();
        let items = ItemSet::packed_of(history.changed().filter(|(table, _)| !storages.contains(table)));
        StaleSet { items, storages, everything: false }
    }

    /// Whether nothing is stale.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.storages.is_empty() && !self.everything
    }
}

/// What a copier asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CopyRequest {
    /// These items.
    Items(Vec<Item>),
    /// The rows of a storage from this key on, as many as fit in a message.
    Range {
        /// From where.
        from: Box<KeyRange>,
    },
    /// Which storages exist: the first step when everything is stale.
    Storages,
}

/// What a copier brings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Copies {
    /// Each item asked for: its newest committed version, and its row unless absent or deleted.
    Items(Vec<(Item, Timestamp, Option<Row>)>),
    /// All rows and tombstones of `range`, which starts where the request did; what else the asker has there goes.
    Range {
        /// What this covers; the copier goes on at its `high`.
        range: KeyRange,
        /// Key, version, row.
        rows: Vec<(Key, Timestamp, Option<Row>)>,
    },
    /// Storages that exist.
    Storages(Vec<TableId>),
}
