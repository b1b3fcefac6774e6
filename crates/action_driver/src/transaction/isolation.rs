//! What a transaction reads that asked for less than the strict level (PostgreSQL's manual, 13.2).
//!
//! A statement that changes nothing reads a snapshot: at READ COMMITTED one of its own, at REPEATABLE READ that of the transaction's first statement.
//! Nothing is locked for it, and no commit checks it. A statement that changes something reads the newest versions, with locks, and the commit checks
//! them, as at the strict level; at REPEATABLE READ these have to be what the snapshot has, too (first committer wins).
//!
//! Invariants: a query is read at one snapshot from its first batch to its last, whatever runs in between; what a snapshot has shown of the catalog
//! counts for statements that read that snapshot, and for no others.

use super::ExecutingTransaction;
use crate::need::catalog_item;
use messages::concurrency::AccessKind;
use messages::conflict::{Conflict, ConflictKind};
use messages::planted;
use messages::planted::Planted;
use messages::session::{AccessMode, Failure, Isolation};
use messages::{EpochNumber, Item, Key, TableId, Timestamp};
use serde::{Deserialize, Serialize};

/// What the request under way reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestReads {
    /// The newest versions, as part of the transaction's history.
    #[default]
    Newest,
    /// The same, whatever the snapshot: tables are locked before there is one.
    Locked,
    /// It is a statement that changes nothing.
    Statement,
    /// It is a batch of this query, whose statement changes nothing.
    Query(u64),
}

/// Snapshots of a transaction that has an identifier.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct IsolatedReads {
    isolation: Isolation,
    request: RequestReads,
    /// Of the statement under way.
    statement: Option<Timestamp>,
    /// Of the query of this number that was read last; at REPEATABLE READ, under 0, of the transaction.
    kept: Option<(u64, Timestamp)>,
    /// The request under way has taken the snapshot that it reads: nobody has been told anything of that.
    is_fresh: bool,
    /// Versions of catalog rows, as the last snapshot has shown them.
    relied_on: Vec<(Key, Timestamp)>,
}

impl IsolatedReads {
    pub(super) fn at(isolation: Isolation) -> IsolatedReads {
        IsolatedReads { isolation, ..IsolatedReads::default() }
    }

    /// For the same request of a transaction that begins again.
    pub(super) fn anew(&self) -> IsolatedReads {
        IsolatedReads { request: self.request, ..IsolatedReads::at(self.isolation) }
    }

    pub(super) fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// The snapshot that the request under way reads.
    fn current(&self) -> Option<Timestamp> {
        match (self.isolation, self.request) {
            (Isolation::Serializable, _) | (_, RequestReads::Newest | RequestReads::Locked) => None,
            (Isolation::RepeatableRead, _) => self.kept.map(|kept| kept.1),
            (Isolation::ReadCommitted, RequestReads::Statement) => self.statement,
            (Isolation::ReadCommitted, RequestReads::Query(number)) => {
                self.kept.filter(|kept| kept.0 == number).map(|kept| kept.1)
            }
        }
    }
}

impl ExecutingTransaction {
    /// An explicit transaction that has done nothing.
    pub fn begin(mode: AccessMode, isolation: Isolation, time_micros: i64) -> ExecutingTransaction {
        // Whatever it asks for, who only reads reads one snapshot.
        let isolated = match mode {
            AccessMode::ReadOnly => IsolatedReads::default(),
            AccessMode::ReadWrite => IsolatedReads::at(isolation),
        };
        ExecutingTransaction { isolated, ..ExecutingTransaction::new(mode, true, time_micros) }
    }

    /// How it is kept apart from others.
    pub fn isolation(&self) -> Isolation {
        self.isolated.isolation()
    }

    /// A request begins, which reads this.
    pub fn begin_request(&mut self, reads: RequestReads) {
        (self.isolated.request, self.isolated.is_fresh) = (reads, false);
    }

    /// Whether the request under way needs a snapshot that there is not yet.
    pub fn wants_snapshot(&self, planted: Planted) -> bool {
        let keeps = planted!(planted, StatementSnapshotKept);
        match (self.isolated.isolation, self.isolated.request) {
            (Isolation::Serializable, _) | (_, RequestReads::Locked) => false,
            (Isolation::ReadCommitted, RequestReads::Newest) => false,
            (Isolation::RepeatableRead, _) if planted!(planted, SnapshotTakenAnew) => true,
            (Isolation::RepeatableRead, _) => self.isolated.kept.is_none(),
            (Isolation::ReadCommitted, RequestReads::Statement) if keeps => self.isolated.statement.is_none(),
            (Isolation::ReadCommitted, RequestReads::Query(_)) if planted!(planted, QueryMovesOn) => true,
            (Isolation::ReadCommitted, _) => self.isolated.current().is_none(),
        }
    }

    /// The snapshot that it wants. The one in its place, which is read no more.
    pub fn take_snapshot(&mut self, snapshot: Timestamp) -> Option<Timestamp> {
        if self.is_snapshot() {
            return self.snapshot.replace(snapshot);
        }
        self.isolated.relied_on.clear();
        self.isolated.is_fresh = true;
        match (self.isolated.isolation, self.isolated.request) {
            (Isolation::ReadCommitted, RequestReads::Statement) => self.isolated.statement.replace(snapshot),
            (Isolation::ReadCommitted, RequestReads::Query(number)) => {
                self.isolated.kept.replace((number, snapshot)).map(|kept| kept.1)
            }
            _ => self.isolated.kept.replace((0, snapshot)).map(|kept| kept.1),
        }
    }

    /// The snapshot that the request under way has taken, which is to begin again at another one.
    pub fn leave_fresh_snapshot(&mut self) -> Option<Timestamp> {
        self.isolated.is_fresh = false;
        match (self.isolated.isolation, self.isolated.request) {
            (Isolation::ReadCommitted, RequestReads::Statement) => self.isolated.statement.take(),
            _ => self.isolated.kept.take().map(|kept| kept.1),
        }
    }

    /// The snapshot of a statement that has ended.
    pub fn leave_statement_snapshot(&mut self) -> Option<Timestamp> {
        self.isolated.statement.take()
    }

    /// All its snapshots, which are read no more.
    pub fn leave_snapshots(&mut self) -> impl Iterator<Item = Timestamp> + use<> {
        let own = [self.snapshot.take(), self.isolated.statement.take(), self.isolated.kept.take().map(|kept| kept.1)];
        own.into_iter().flatten()
    }

    /// Whether it reads a snapshot just now. That it has one of its own tells [`ExecutingTransaction::is_snapshot`].
    pub fn reads_snapshot(&self) -> bool {
        self.is_snapshot() || self.isolated.current().is_some()
    }

    /// Whether the request under way can be begun again, at another snapshot, without its client noticing: it has taken the one that it reads, and changes
    /// nothing.
    pub fn has_fresh_snapshot(&self) -> bool {
        self.isolated.is_fresh && self.isolated.current().is_some()
    }

    /// The epoch in which what is read just now has to be confirmed.
    pub fn epoch_read(&self) -> Option<EpochNumber> {
        self.isolated.current().map(|snapshot| snapshot.epoch).or(self.epoch)
    }

    /// The snapshot at which something of this storage is accessed so; `None`: the newest, and it becomes part of the history.
    pub fn snapshot_for(&self, table: TableId, kind: AccessKind) -> Option<Timestamp> {
        if self.is_snapshot() {
            return self.snapshot;
        }
        // What it made itself was committed after its snapshot, if at all; who holds an advisory lock is shown as it is.
        let is_newest = self.is_private(table) || table == TableId::ADVISORY_LOCKS || kind != AccessKind::Read;
        self.isolated.current().filter(|_| !is_newest)
    }

    /// Something was read at a snapshot.
    pub fn note_snapshot_read(&mut self) {
        self.has_read = true;
    }

    /// The versions of catalog rows that the request under way knows.
    pub(super) fn relied(&self) -> &Vec<(Key, Timestamp)> {
        if self.isolated.current().is_some() { &self.isolated.relied_on } else { &self.relied_on }
    }

    /// The same, to add to.
    pub(super) fn relied_mut(&mut self) -> &mut Vec<(Key, Timestamp)> {
        if self.isolated.current().is_some() { &mut self.isolated.relied_on } else { &mut self.relied_on }
    }

    /// What of this storage is read as the newest has to be what this snapshot has. Definitions may be newer.
    pub fn floor_of(&self, table: TableId) -> Option<Timestamp> {
        let IsolatedReads { isolation, request, kept, .. } = &self.isolated;
        let applies = (*isolation, *request) == (Isolation::RepeatableRead, RequestReads::Newest);
        let is_checked = table != TableId::CATALOG && !self.is_private(table);
        kept.filter(|_| applies && is_checked).map(|kept| kept.1)
    }

    /// What was read as the newest has this version: it has to be that which the snapshot has. Errors: a lost conflict.
    pub fn check_age(&self, table: TableId, key: &Key, version: Timestamp) -> Result<(), Failure> {
        match self.floor_of(table) {
            Some(floor) if version > floor => Err(changed_since(Item { table, key: key.clone() })),
            _ => Ok(()),
        }
    }

    /// A range counts as unchanged since its snapshot, if the newest versions have to be those.
    pub(super) fn since_snapshot(&self, table: TableId, as_of: Timestamp) -> Timestamp {
        self.floor_of(table).map_or(as_of, |floor| floor.min(as_of))
    }

    /// A catalog row that the request under way relies on is of a definition that its snapshot does not have yet. Errors: a lost conflict, as that stays so.
    pub fn check_definition(&self, key: &Key, relied: Timestamp) -> Result<(), Failure> {
        let stays = self.isolated.isolation == Isolation::RepeatableRead;
        match self.isolated.current() {
            Some(snapshot) if stays && relied > snapshot => Err(changed_since(catalog_item(key))),
            _ => Ok(()),
        }
    }
}

/// Somebody has changed this since the transaction's snapshot.
pub fn changed_since(item: Item) -> Failure {
    Failure::Conflict { conflict: Conflict::on(item, ConflictKind::ChangedSinceSnapshot, None) }
}
