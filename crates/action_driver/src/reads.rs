//! The exchange of messages that brings what an executor asks for: permission, then the read, then a refresh when stale.
//!
//! Invariants: whoever writes asks the concurrency controller before each access, and whoever reads a snapshot waits for the
//! undecided commits on what it reads; nothing reaches an executor that is stale or that its transaction's own writes do not cover.

use crate::exchange::SessionExchange;
use crate::limits::LONG_WAIT;
use crate::need::{Ahead, ExecutorEvent, ExecutorNeed, RangeAccess, RangeNeed, catalog_item};
use crate::transaction::{ExecutingTransaction, changed_since};
use messages::access::{AccessReply, AccessRequest};
use messages::commit::CommitRequest;
use messages::concurrency::{AccessKind, AccessTarget, AccessWait, ConcurrencyRequest};
use messages::conflict::{Conflict, ConflictKind};
use messages::limits::SERVICE_PATIENCE;
use messages::planted;
use messages::replication::ServiceRequest;
use messages::schema::CatalogEntry;
use messages::session::Failure;
use messages::{Item, Key, Row, TableId, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

/// Where a read stands.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadState {
    need: ExecutorNeed,
    stage: ReadStage,
    /// When permission was asked for (boot clock).
    asked_at: u64,
    /// Whether it is listed as waiting for its item.
    is_listed: bool,
    /// The newest is that it is not there: whether the transaction's snapshot has it is what is asked now.
    at_floor: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ReadStage {
    /// A new snapshot was asked for (planted bug).
    Moving { tag: u64 },
    /// The concurrency controller was asked about a snapshot.
    AskingSnapshot { tag: u64 },
    /// The concurrency controller was asked on behalf of the transaction.
    Asking,
    /// The concurrency controller was asked for its method.
    AskingMethod { tag: u64 },
    /// The access manager was asked.
    Fetching { tag: u64 },
    /// The replication controller was asked to refresh it.
    Refreshing { tag: u64 },
}

/// What came of an answer.
#[derive(Debug)]
pub enum ReadProgress {
    /// Another answer is awaited.
    Waiting,
    /// The executor can go on.
    Ready(ExecutorEvent),
    /// The snapshot cannot be read any more, for this reason: a new one is needed.
    SnapshotGone(Conflict),
}

/// Answers without any message what the transaction itself knows.
pub fn answer_at_once(need: &ExecutorNeed, transaction: &ExecutingTransaction) -> Option<ExecutorEvent> {
    match need {
        ExecutorNeed::Item(item, _) | ExecutorNeed::ItemUnlessTaken(item, _) => {
            transaction.own(item).map(ExecutorEvent::Item)
        }
        ExecutorNeed::Presence(_) => None,
        ExecutorNeed::Lock(item) => transaction.holds(item, AccessKind::Write).then_some(ExecutorEvent::Locked),
        ExecutorNeed::Range(need) => need.range.is_empty().then(|| ExecutorEvent::Batch(Vec::new(), None)),
        ExecutorNeed::Unchanged(..) | ExecutorNeed::Relied(_) | ExecutorNeed::Confirmed(_) => None,
        ExecutorNeed::Numbers
        | ExecutorNeed::Method
        | ExecutorNeed::Chunk
        | ExecutorNeed::Claim(..)
        | ExecutorNeed::Sequence(_)
        | ExecutorNeed::Block(..) => None,
    }
}

/// What has to be read first because the transaction adds to it: what it is about to see must have the sums.
pub fn to_settle(need: &ExecutorNeed, transaction: &ExecutingTransaction) -> VecDeque<ExecutorNeed> {
    let file = transaction.file();
    let written = |item: &Item| ExecutorNeed::Item(item.clone(), AccessKind::Write);
    match need {
        ExecutorNeed::Item(item, _) | ExecutorNeed::ItemUnlessTaken(item, _) | ExecutorNeed::Lock(item)
            if file.increment_of(item).is_some() =>
        {
            [written(item)].into()
        }
        ExecutorNeed::Range(need) => file.incremented_in_order(Some(&need.range)).into_iter().map(written).collect(),
        ExecutorNeed::Item(..) | ExecutorNeed::ItemUnlessTaken(..) | ExecutorNeed::Lock(_) => VecDeque::new(),
        ExecutorNeed::Presence(_) | ExecutorNeed::Unchanged(..) => VecDeque::new(),
        ExecutorNeed::Relied(_)
        | ExecutorNeed::Confirmed(_)
        | ExecutorNeed::Numbers
        | ExecutorNeed::Chunk
        | ExecutorNeed::Claim(..) => VecDeque::new(),
        ExecutorNeed::Method | ExecutorNeed::Sequence(_) | ExecutorNeed::Block(..) => VecDeque::new(),
    }
}

impl ReadState {
    /// Asks for what cannot be answered at once.
    pub fn begin(need: ExecutorNeed, transaction: &ExecutingTransaction, exchange: &mut SessionExchange) -> ReadState {
        let mut reading = ReadState {
            need,
            stage: ReadStage::Asking,
            asked_at: exchange.now.boot,
            is_listed: false,
            at_floor: false,
        };
        if transaction.is_snapshot() && transaction.has_read && planted!(exchange.shared.planted, SnapshotMovesUp) {
            let tag = exchange.tag();
            exchange.commit(CommitRequest::BeginSnapshot { tag });
            reading.stage = ReadStage::Moving { tag };
        } else {
            reading.ask(transaction, exchange);
        }
        reading
    }

    /// Asks for permission, where one is needed.
    fn ask(&mut self, transaction: &ExecutingTransaction, exchange: &mut SessionExchange) {
        (self.at_floor, self.asked_at) = (false, exchange.now.boot);
        let (target, kind) = match &self.need {
            ExecutorNeed::Item(item, kind) | ExecutorNeed::ItemUnlessTaken(item, kind) => {
                if self.snapshot(transaction).is_none() && transaction.holds(item, *kind) {
                    return self.fetch(transaction, exchange);
                }
                (AccessTarget::Item(item.clone()), *kind)
            }
            ExecutorNeed::Lock(item) => (AccessTarget::Item(item.clone()), AccessKind::Write),
            ExecutorNeed::Presence(item) if transaction.holds(item, AccessKind::Increment) => {
                return self.fetch(transaction, exchange);
            }
            ExecutorNeed::Presence(item) => (AccessTarget::Item(item.clone()), AccessKind::Increment),
            // A batch asks anew: rows that another transaction has prepared to change since the last one are waited for.
            ExecutorNeed::Range(need) => {
                if transaction.is_private(need.range.table) || only_shows(need, transaction) {
                    return self.fetch(transaction, exchange);
                }
                (AccessTarget::Range(Box::new(need.range.clone())), need.kind)
            }
            ExecutorNeed::Unchanged(_, accesses) if !accesses.is_empty() => {
                let (transaction, age) = transaction.identity.expect("a transaction has begun before it reads");
                let accesses = accesses.iter().map(|access| (access.item.clone(), access.kind)).collect();
                exchange.concurrency(ConcurrencyRequest::LockPrefetch { transaction, age, accesses });
                self.stage = ReadStage::Asking;
                return;
            }
            // Outside of snapshots the prepare checks the version: no lock on the catalog is needed.
            ExecutorNeed::Unchanged(..)
            | ExecutorNeed::Relied(_)
            | ExecutorNeed::Numbers
            | ExecutorNeed::Sequence(_)
                if self.snapshot(transaction).is_none() =>
            {
                return self.fetch(transaction, exchange);
            }
            ExecutorNeed::Relied(key) | ExecutorNeed::Confirmed(key) => {
                (AccessTarget::Item(catalog_item(key)), AccessKind::Read)
            }
            ExecutorNeed::Method => {
                let tag = exchange.tag();
                exchange.concurrency(ConcurrencyRequest::Method { tag });
                self.stage = ReadStage::AskingMethod { tag };
                return;
            }
            ExecutorNeed::Unchanged(..) | ExecutorNeed::Numbers | ExecutorNeed::Sequence(_) => {
                unreachable!("not asked of a snapshot")
            }
            ExecutorNeed::Chunk | ExecutorNeed::Claim(..) | ExecutorNeed::Block(..) => {
                unreachable!("it is committed, not read")
            }
        };
        let (wait, takes_precedence) = (self.wait_of(transaction), transaction.takes_precedence);
        let of_all = matches!(self.need, ExecutorNeed::Confirmed(_)).then_some(Timestamp::MAX);
        match (self.snapshot(transaction).or(of_all), transaction.identity) {
            (Some(snapshot), _) => {
                let tag = exchange.tag();
                exchange.concurrency(ConcurrencyRequest::SnapshotAccess { tag, target, snapshot });
                self.stage = ReadStage::AskingSnapshot { tag };
            }
            (None, Some((transaction, age))) => {
                let precedence = takes_precedence && matches!(target, AccessTarget::Range(_));
                let access = ConcurrencyRequest::Lock { transaction, age, target, kind, wait, precedence };
                exchange.concurrency(access);
                self.stage = ReadStage::Asking;
            }
            (None, None) => unreachable!("a transaction has begun before it reads"),
        }
    }

    /// The snapshot at which it is read.
    fn snapshot(&self, transaction: &ExecutingTransaction) -> Option<Timestamp> {
        snapshot_of(&self.need, transaction)
    }

    /// Asks the access manager.
    fn fetch(&mut self, transaction: &ExecutingTransaction, exchange: &mut SessionExchange) {
        let tag = exchange.tag();
        let snapshot = self.snapshot(transaction);
        let request = match &self.need {
            ExecutorNeed::Item(item, _)
            | ExecutorNeed::ItemUnlessTaken(item, _)
            | ExecutorNeed::Presence(item)
            | ExecutorNeed::Sequence(item) => {
                AccessRequest::Read { tag, table: item.table, key: item.key.clone(), snapshot }
            }
            ExecutorNeed::Relied(key) | ExecutorNeed::Confirmed(key) => {
                AccessRequest::Read { tag, table: TableId::CATALOG, key: key.clone(), snapshot }
            }
            ExecutorNeed::Unchanged(rows, accesses) => {
                let wanted = accesses.iter().filter(|access| access.reads);
                let ahead = wanted.map(|access| access.item.clone()).collect();
                AccessRequest::Compare { tag, rows: Arc::clone(rows), ahead }
            }
            ExecutorNeed::Numbers => {
                AccessRequest::Read { tag, table: TableId::CATALOG, key: CatalogEntry::next_key(), snapshot }
            }
            ExecutorNeed::Range(need) => AccessRequest::Scan {
                tag,
                range: Box::new(need.range.clone()),
                snapshot,
                limit: need.limit,
                reverse: need.reverse,
            },
            ExecutorNeed::Lock(_)
            | ExecutorNeed::Method
            | ExecutorNeed::Chunk
            | ExecutorNeed::Claim(..)
            | ExecutorNeed::Block(..) => {
                unreachable!("nothing is read for it")
            }
        };
        exchange.access(request);
        self.stage = ReadStage::Fetching { tag };
    }

    /// A snapshot was given out: for the planted bug that moves it up.
    pub fn moved(&mut self, transaction: &ExecutingTransaction, exchange: &mut SessionExchange) -> ReadProgress {
        self.ask(transaction, exchange);
        ReadProgress::Waiting
    }

    /// Permission is waited for: whoever has written the item may let this program go on in its transaction.
    pub fn list(&mut self, exchange: &mut SessionExchange) {
        let item = match &self.need {
            ExecutorNeed::Item(item, _) | ExecutorNeed::Lock(item) | ExecutorNeed::Presence(item)
                if self.stage == ReadStage::Asking =>
            {
                item
            }
            _ => return,
        };
        // Whoever changes the schema has to see the version that it changes.
        if item.table != TableId::CATALOG {
            exchange.shared.companions.waits(item.clone(), exchange.session);
            self.is_listed = true;
        }
    }

    /// Whether its access waits.
    fn wait_of(&self, transaction: &ExecutingTransaction) -> AccessWait {
        let is_unless_taken = match &self.need {
            ExecutorNeed::ItemUnlessTaken(..) => true,
            ExecutorNeed::Range(need) => {
                matches!(need.access, RangeAccess::UnlessTaken | RangeAccess::Whole { unless_taken: true })
            }
            _ => false,
        };
        match (is_unless_taken, transaction.is_guest()) {
            (true, _) => AccessWait::UnlessTaken,
            (false, true) => AccessWait::Never,
            (false, false) => AccessWait::Waits,
        }
    }

    /// Whether it is listed so.
    pub fn is_listed(&self) -> bool {
        self.is_listed
    }

    /// Whether the concurrency controller has not answered yet.
    pub fn is_asking(&self) -> bool {
        self.stage == ReadStage::Asking
    }

    fn unlist(&self, exchange: &mut SessionExchange) {
        if self.is_listed
            && let Some(item) = self.need.item()
        {
            exchange.shared.companions.waits_no_more(&item, exchange.session);
        }
    }

    /// The concurrency controller permits it.
    pub fn granted(&mut self, transaction: &mut ExecutingTransaction, exchange: &mut SessionExchange) -> ReadProgress {
        self.unlist(exchange);
        self.is_listed = false;
        let waited = exchange.now.boot.saturating_sub(self.asked_at);
        if waited >= LONG_WAIT
            && let Some(item) = self.need.item()
        {
            exchange.shared.contention.waited(item, waited, exchange.now);
        }
        if self.snapshot(transaction).is_none() {
            match &self.need {
                ExecutorNeed::Item(item, kind) | ExecutorNeed::ItemUnlessTaken(item, kind) => {
                    transaction.note_granted(AccessTarget::Item(item.clone()), *kind);
                }
                ExecutorNeed::Range(need) => {
                    transaction.note_granted(AccessTarget::Range(Box::new(need.range.clone())), need.kind)
                }
                ExecutorNeed::Lock(item) => {
                    transaction.note_granted(AccessTarget::Item(item.clone()), AccessKind::Write);
                    return ReadProgress::Ready(ExecutorEvent::Locked);
                }
                ExecutorNeed::Presence(item) => {
                    transaction.note_granted(AccessTarget::Item(item.clone()), AccessKind::Increment);
                }
                ExecutorNeed::Unchanged(..) | ExecutorNeed::Relied(_) | ExecutorNeed::Confirmed(_) => {}
                ExecutorNeed::Numbers
                | ExecutorNeed::Method
                | ExecutorNeed::Chunk
                | ExecutorNeed::Claim(..)
                | ExecutorNeed::Sequence(_)
                | ExecutorNeed::Block(..) => {}
            }
        }
        self.fetch(transaction, exchange);
        ReadProgress::Waiting
    }

    /// The concurrency controller permits so many of the accesses that were asked for ahead: the others are asked for one by one when their turn comes.
    pub fn granted_ahead(
        &mut self,
        granted: u32,
        transaction: &mut ExecutingTransaction,
        exchange: &mut SessionExchange,
    ) {
        let ExecutorNeed::Unchanged(_, accesses) = &mut self.need else { unreachable!("nothing was asked for ahead") };
        accesses.truncate(usize::try_from(granted).unwrap_or(usize::MAX));
        for access in accesses {
            transaction.note_granted(AccessTarget::Item(access.item.clone()), access.kind);
        }
        self.fetch(transaction, exchange);
    }

    /// The access manager has answered. Errors: a lost conflict, or a transaction that has become too large.
    pub fn fetched(
        &mut self,
        reply: AccessReply,
        transaction: &mut ExecutingTransaction,
        exchange: &mut SessionExchange,
    ) -> Result<ReadProgress, Failure> {
        match reply {
            AccessReply::ReadReply { version, row, .. } => {
                if let Some(progress) = self.looks_at_floor(version, &row, transaction, exchange)? {
                    return Ok(progress);
                }
                item_read(&self.need, version, row, transaction).map(ReadProgress::Ready)
            }
            AccessReply::ScanReply { rows, next, as_of, .. } => {
                self.range_read(rows, next.map(|key| *key), as_of, transaction)
            }
            AccessReply::Compared { are_equal, ahead, .. } => {
                let ExecutorNeed::Unchanged(_, accesses) = &mut self.need else {
                    unreachable!("the catalog is no answer to {:?}", self.need)
                };
                let ahead = Ahead::of(std::mem::take(accesses), ahead);
                Ok(ReadProgress::Ready(ExecutorEvent::Unchanged(are_equal, ahead)))
            }
            AccessReply::Stale { range, .. } => {
                let tag = exchange.tag();
                let deadline = exchange.now.boot + SERVICE_PATIENCE;
                exchange.service(ServiceRequest::Refresh { tag, range, deadline });
                self.stage = ReadStage::Refreshing { tag };
                Ok(ReadProgress::Waiting)
            }
            AccessReply::SnapshotGone { given_up, .. } => {
                // What is read when it is noticed has nothing to do with it.
                let given_up = given_up.then(|| Conflict::of(ConflictKind::SnapshotGivenUp));
                let too_old =
                    || Conflict { kind: ConflictKind::TooOld, item: self.need.item().map(Box::new), other: None };
                Ok(ReadProgress::SnapshotGone(given_up.unwrap_or_else(too_old)))
            }
            other => unreachable!("no answer to a read: {other:?}"),
        }
    }

    /// What is not there may have gone since the transaction's snapshot. Errors: it has.
    fn looks_at_floor(
        &mut self,
        version: Timestamp,
        row: &Option<Row>,
        transaction: &ExecutingTransaction,
        exchange: &mut SessionExchange,
    ) -> Result<Option<ReadProgress>, Failure> {
        let (ExecutorNeed::Item(item, _) | ExecutorNeed::ItemUnlessTaken(item, _)) = &self.need else {
            return Ok(None);
        };
        match transaction.floor_of(item.table) {
            Some(_) if self.at_floor && row.is_some() => Err(changed_since(item.clone())),
            Some(_) if self.at_floor => Ok(None),
            Some(floor) if version == Timestamp::ZERO && self.snapshot(transaction).is_none() => {
                let (tag, snapshot) = (exchange.tag(), Some(floor));
                let Item { table, key } = item.clone();
                exchange.access(AccessRequest::Read { tag, table, key, snapshot });
                self.stage = ReadStage::Fetching { tag };
                self.at_floor = true;
                Ok(Some(ReadProgress::Waiting))
            }
            _ => Ok(None),
        }
    }

    /// `next` splits the range into what was read and what is left: from the low end up, or reversed from the high end down.
    fn range_read(
        &self,
        rows: Vec<(Key, Timestamp, Row)>,
        next: Option<Key>,
        as_of: Timestamp,
        transaction: &mut ExecutingTransaction,
    ) -> Result<ReadProgress, Failure> {
        let ExecutorNeed::Range(need) = &self.need else {
            unreachable!("rows of a range are no answer to {:?}", self.need)
        };
        if let RangeAccess::Whole { .. } = need.access {
            // Nothing of it has changed since: that is what is checked, whichever rows have come.
            transaction.note_range_read(need.range.clone(), as_of)?;
            return Ok(ReadProgress::Ready(ExecutorEvent::Batch(Vec::new(), None)));
        }
        let (mut read, mut left) = (need.range.clone(), None);
        if let Some(next) = next {
            let mut rest = need.range.clone();
            if need.reverse {
                read.low = next.clone();
                rest.high = Some(next);
            } else {
                read.high = Some(next.clone());
                rest.low = next;
            }
            left = Some(rest).filter(|rest| !rest.is_empty());
        }
        match only_shows(need, transaction) {
            false if self.snapshot(transaction).is_some() => transaction.note_snapshot_read(),
            false => {
                for (key, version, _) in &rows {
                    transaction.check_age(need.range.table, key, *version)?;
                }
                transaction.note_range_read(read.clone(), as_of)?;
            }
            true => transaction.note_peek(need.access == RangeAccess::Peeks),
        }
        let rows = transaction.overlay(&read, rows, need.reverse);
        Ok(ReadProgress::Ready(ExecutorEvent::Batch(rows, left)))
    }

    /// The replication controller has refreshed it, or cannot. Asks anew for permission, because time has passed.
    pub fn refreshed(
        &mut self,
        failure: Option<String>,
        transaction: &ExecutingTransaction,
        exchange: &mut SessionExchange,
    ) -> Result<ReadProgress, Failure> {
        if let Some(reason) = failure {
            return Err(Failure::Unavailable { reason });
        }
        self.ask(transaction, exchange);
        Ok(ReadProgress::Waiting)
    }

    /// The answer is no longer wanted.
    pub fn forget(&self, exchange: &mut SessionExchange) {
        self.unlist(exchange);
        match self.stage {
            ReadStage::Asking => {}
            ReadStage::AskingSnapshot { tag } => {
                exchange.forget_tag(tag);
                exchange.concurrency(ConcurrencyRequest::ForgetSnapshot { tag });
            }
            ReadStage::Moving { tag }
            | ReadStage::AskingMethod { tag }
            | ReadStage::Fetching { tag }
            | ReadStage::Refreshing { tag } => exchange.forget_tag(tag),
        }
    }
}

/// The snapshot at which this is read; `None`: the newest, which becomes part of the transaction's history.
fn snapshot_of(need: &ExecutorNeed, transaction: &ExecutingTransaction) -> Option<Timestamp> {
    match need {
        ExecutorNeed::Item(item, kind) | ExecutorNeed::ItemUnlessTaken(item, kind) => {
            transaction.snapshot_for(item.table, *kind)
        }
        ExecutorNeed::Range(need) => transaction.snapshot_for(need.range.table, need.kind),
        ExecutorNeed::Relied(_) => transaction.snapshot_for(TableId::CATALOG, AccessKind::Read),
        ExecutorNeed::Presence(_)
        | ExecutorNeed::Lock(_)
        | ExecutorNeed::Unchanged(..)
        | ExecutorNeed::Confirmed(_)
        | ExecutorNeed::Method
        | ExecutorNeed::Chunk
        | ExecutorNeed::Numbers
        | ExecutorNeed::Claim(..)
        | ExecutorNeed::Sequence(_)
        | ExecutorNeed::Block(..) => transaction.snapshot,
    }
}

/// Whether a batch is no part of what its transaction has read: it is looked at for rows to lock one by one; or it is of the claims on advisory locks, which
/// `pg_locks` shows as they are just then. Those are no part of a transaction that writes: its session takes locks meanwhile, in transactions of their own, which
/// would wait for it.
fn only_shows(need: &RangeNeed, transaction: &ExecutingTransaction) -> bool {
    need.access == RangeAccess::Peeks || need.range.table == TableId::ADVISORY_LOCKS && !transaction.is_snapshot()
}

/// An item was read for a need. Errors: it had another version before; the transaction has become too large; what it adds does not fit any more.
pub fn item_read(
    need: &ExecutorNeed,
    version: Timestamp,
    row: Option<Row>,
    transaction: &mut ExecutingTransaction,
) -> Result<ExecutorEvent, Failure> {
    if snapshot_of(need, transaction).is_some() {
        transaction.note_snapshot_read();
        return Ok(match need {
            ExecutorNeed::Item(..) | ExecutorNeed::ItemUnlessTaken(..) | ExecutorNeed::Presence(_) => {
                ExecutorEvent::Item(row)
            }
            ExecutorNeed::Sequence(_) => ExecutorEvent::Sequence(version, row),
            // A program that relies on its absence does not know when it was dropped.
            _ => ExecutorEvent::Relied(if row.is_some() { version } else { Timestamp::ZERO }),
        });
    }
    Ok(match need {
        ExecutorNeed::Relied(key) | ExecutorNeed::Confirmed(key) => {
            transaction.note_item_read(&catalog_item(key), version)?;
            // A program that relies on its absence does not know when it was dropped.
            ExecutorEvent::Relied(if row.is_some() { version } else { Timestamp::ZERO })
        }
        ExecutorNeed::Numbers => ExecutorEvent::Relied(if row.is_some() { version } else { Timestamp::ZERO }),
        ExecutorNeed::Sequence(_) => ExecutorEvent::Sequence(version, row),
        ExecutorNeed::Item(item, _) | ExecutorNeed::ItemUnlessTaken(item, _) => {
            transaction.note_item_read(item, version)?;
            ExecutorEvent::Item(transaction.settle(item, row)?)
        }
        ExecutorNeed::Presence(item) => {
            if row.is_none() {
                transaction.note_item_read(item, version)?;
            }
            ExecutorEvent::Item(row)
        }
        other => unreachable!("one item is no answer to {other:?}"),
    })
}
