//! The exchange of messages that brings what an executor asks for: permission, then the read, then a refresh when stale.
//!
//! Invariants: whoever writes asks the concurrency controller before each access, and whoever reads a snapshot waits for the
//! undecided commits on what it reads; nothing reaches an executor that is stale or that its transaction's own writes do not cover.

use crate::exchange::Exchange;
use crate::limits::LONG_WAIT;
use crate::need::{Ahead, Event, Need, catalog_item};
use crate::transaction::Transaction;
use messages::access::{AccessReply, AccessRequest};
use messages::commit::CommitRequest;
use messages::concurrency::{AccessKind, ConcurrencyRequest, Target};
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
pub struct Reading {
    need: Need,
    stage: Stage,
    /// When permission was asked for (boot clock).
    asked_at: u64,
    /// Whether it is listed as waiting for its item.
    is_listed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
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
pub enum Progress {
    /// Another answer is awaited.
    Waiting,
    /// The executor can go on.
    Ready(Event),
    /// The snapshot cannot be read any more, for this reason: a new one is needed.
    SnapshotGone(Conflict),
}

/// Answers without any message what the transaction itself knows.
pub fn answer_at_once(need: &Need, transaction: &Transaction) -> Option<Event> {
    match need {
        Need::Item(item, _) => transaction.file().get(item).map(|row| Event::Item(row.clone())),
        Need::Presence(_) => None,
        Need::Lock(item) => transaction.holds(item, AccessKind::Write).then_some(Event::Locked),
        Need::Range(need) => need.range.is_empty().then(|| Event::Batch(Vec::new(), None)),
        Need::Unchanged(..) | Need::Relied(_) | Need::Confirmed(_) => None,
        Need::Numbers | Need::Method | Need::Chunk | Need::Claim(..) => None,
    }
}

/// What has to be read first because the transaction adds to it: what it is about to see must have the sums.
pub fn to_settle(need: &Need, transaction: &Transaction) -> VecDeque<Need> {
    let file = transaction.file();
    let written = |item: &Item| Need::Item(item.clone(), AccessKind::Write);
    match need {
        Need::Item(item, _) | Need::Lock(item) if file.added_to(item).is_some() => [written(item)].into(),
        Need::Range(need) => file.added_to_in_order(Some(&need.range)).into_iter().map(written).collect(),
        Need::Item(..) | Need::Lock(_) | Need::Presence(_) | Need::Unchanged(..) => VecDeque::new(),
        Need::Relied(_) | Need::Confirmed(_) | Need::Numbers => VecDeque::new(),
        Need::Method | Need::Chunk | Need::Claim(..) => VecDeque::new(),
    }
}

impl Reading {
    /// Asks for what cannot be answered at once.
    pub fn begin(need: Need, transaction: &Transaction, exchange: &mut Exchange) -> Reading {
        let mut reading = Reading { need, stage: Stage::Asking, asked_at: exchange.now.boot, is_listed: false };
        if transaction.is_snapshot() && transaction.has_read && planted!(exchange.shared.planted, SnapshotMovesUp) {
            let tag = exchange.tag();
            exchange.commit(CommitRequest::BeginSnapshot { tag });
            reading.stage = Stage::Moving { tag };
        } else {
            reading.ask(transaction, exchange);
        }
        reading
    }

    /// Asks for permission, where one is needed.
    fn ask(&mut self, transaction: &Transaction, exchange: &mut Exchange) {
        self.asked_at = exchange.now.boot;
        let (target, kind) = match &self.need {
            Need::Item(item, kind) => {
                if !transaction.is_snapshot() && transaction.holds(item, *kind) {
                    return self.fetch(transaction, exchange);
                }
                (Target::Item(item.clone()), *kind)
            }
            Need::Lock(item) => (Target::Item(item.clone()), AccessKind::Write),
            Need::Presence(item) if transaction.holds(item, AccessKind::Increment) => {
                return self.fetch(transaction, exchange);
            }
            Need::Presence(item) => (Target::Item(item.clone()), AccessKind::Increment),
            // A batch asks anew: rows that another transaction has prepared to change since the last one are waited for.
            Need::Range(need) => {
                if transaction.is_private(need.range.table) {
                    return self.fetch(transaction, exchange);
                }
                (Target::Range(Box::new(need.range.clone())), need.kind)
            }
            Need::Unchanged(_, accesses) if !accesses.is_empty() => {
                let (transaction, age) = transaction.identity.expect("a transaction has begun before it reads");
                let accesses = accesses.iter().map(|access| (access.item.clone(), access.kind)).collect();
                exchange.concurrency(ConcurrencyRequest::AccessAhead { transaction, age, accesses });
                self.stage = Stage::Asking;
                return;
            }
            // Outside of snapshots the prepare checks the version: no lock on the catalog is needed.
            Need::Unchanged(..) | Need::Relied(_) | Need::Numbers if !transaction.is_snapshot() => {
                return self.fetch(transaction, exchange);
            }
            Need::Relied(key) | Need::Confirmed(key) => (Target::Item(catalog_item(key)), AccessKind::Read),
            Need::Method => {
                let tag = exchange.tag();
                exchange.concurrency(ConcurrencyRequest::Method { tag });
                self.stage = Stage::AskingMethod { tag };
                return;
            }
            Need::Unchanged(..) | Need::Numbers => unreachable!("not asked of a snapshot"),
            Need::Chunk | Need::Claim(..) => unreachable!("it is committed, not read"),
        };
        let (may_wait, takes_precedence) = (!transaction.is_guest(), transaction.takes_precedence);
        let of_all = matches!(self.need, Need::Confirmed(_)).then_some(Timestamp::MAX);
        match (transaction.snapshot.or(of_all), transaction.identity) {
            (Some(snapshot), _) => {
                let tag = exchange.tag();
                exchange.concurrency(ConcurrencyRequest::SnapshotAccess { tag, target, snapshot });
                self.stage = Stage::AskingSnapshot { tag };
            }
            (None, Some((transaction, age))) => {
                let precedence = takes_precedence && matches!(target, Target::Range(_));
                let access = ConcurrencyRequest::Access { transaction, age, target, kind, may_wait, precedence };
                exchange.concurrency(access);
                self.stage = Stage::Asking;
            }
            (None, None) => unreachable!("a transaction has begun before it reads"),
        }
    }

    /// Asks the access manager.
    fn fetch(&mut self, transaction: &Transaction, exchange: &mut Exchange) {
        let tag = exchange.tag();
        let snapshot = transaction.snapshot;
        let request = match &self.need {
            Need::Item(item, _) | Need::Presence(item) => {
                AccessRequest::Read { tag, table: item.table, key: item.key.clone(), snapshot }
            }
            Need::Relied(key) | Need::Confirmed(key) => {
                AccessRequest::Read { tag, table: TableId::CATALOG, key: key.clone(), snapshot }
            }
            Need::Unchanged(rows, accesses) => {
                let wanted = accesses.iter().filter(|access| access.reads);
                let ahead = wanted.map(|access| access.item.clone()).collect();
                AccessRequest::Compare { tag, rows: Arc::clone(rows), ahead }
            }
            Need::Numbers => {
                AccessRequest::Read { tag, table: TableId::CATALOG, key: CatalogEntry::next_key(), snapshot }
            }
            Need::Range(need) => AccessRequest::Scan {
                tag,
                range: Box::new(need.range.clone()),
                snapshot,
                limit: need.limit,
                reverse: need.reverse,
            },
            Need::Lock(_) | Need::Method | Need::Chunk | Need::Claim(..) => unreachable!("nothing is read for it"),
        };
        exchange.access(request);
        self.stage = Stage::Fetching { tag };
    }

    /// A snapshot was given out: for the planted bug that moves it up.
    pub fn moved(&mut self, transaction: &Transaction, exchange: &mut Exchange) -> Progress {
        self.ask(transaction, exchange);
        Progress::Waiting
    }

    /// Permission is waited for: whoever has written the item may let this program go on in its transaction.
    pub fn list(&mut self, exchange: &mut Exchange) {
        let item = match &self.need {
            Need::Item(item, _) | Need::Lock(item) | Need::Presence(item) if self.stage == Stage::Asking => item,
            _ => return,
        };
        // Whoever changes the schema has to see the version that it changes.
        if item.table != TableId::CATALOG {
            exchange.shared.companions.waits(item.clone(), exchange.session);
            self.is_listed = true;
        }
    }

    /// Whether it is listed so.
    pub fn is_listed(&self) -> bool {
        self.is_listed
    }

    /// Whether the concurrency controller has not answered yet.
    pub fn is_asking(&self) -> bool {
        self.stage == Stage::Asking
    }

    fn unlist(&self, exchange: &mut Exchange) {
        if self.is_listed
            && let Some(item) = self.need.item()
        {
            exchange.shared.companions.waits_no_more(&item, exchange.session);
        }
    }

    /// The concurrency controller permits it.
    pub fn granted(&mut self, transaction: &mut Transaction, exchange: &mut Exchange) -> Progress {
        self.unlist(exchange);
        self.is_listed = false;
        let waited = exchange.now.boot.saturating_sub(self.asked_at);
        if waited >= LONG_WAIT
            && let Some(item) = self.need.item()
        {
            exchange.shared.contention.waited(item, waited, exchange.now);
        }
        if !transaction.is_snapshot() {
            match &self.need {
                Need::Item(item, kind) => transaction.note_granted(Target::Item(item.clone()), *kind),
                Need::Range(need) => transaction.note_granted(Target::Range(Box::new(need.range.clone())), need.kind),
                Need::Lock(item) => {
                    transaction.note_granted(Target::Item(item.clone()), AccessKind::Write);
                    return Progress::Ready(Event::Locked);
                }
                Need::Presence(item) => {
                    transaction.note_granted(Target::Item(item.clone()), AccessKind::Increment);
                }
                Need::Unchanged(..) | Need::Relied(_) | Need::Confirmed(_) => {}
                Need::Numbers | Need::Method | Need::Chunk | Need::Claim(..) => {}
            }
        }
        self.fetch(transaction, exchange);
        Progress::Waiting
    }

    /// The concurrency controller permits so many of the accesses that were asked for ahead: the others are asked for one by one when their turn comes.
    pub fn granted_ahead(&mut self, granted: u32, transaction: &mut Transaction, exchange: &mut Exchange) {
        let Need::Unchanged(_, accesses) = &mut self.need else { unreachable!("nothing was asked for ahead") };
        accesses.truncate(usize::try_from(granted).unwrap_or(usize::MAX));
        for access in accesses {
            transaction.note_granted(Target::Item(access.item.clone()), access.kind);
        }
        self.fetch(transaction, exchange);
    }

    /// The access manager has answered. Errors: a lost conflict, or a transaction that has become too large.
    pub fn fetched(
        &mut self,
        reply: AccessReply,
        transaction: &mut Transaction,
        exchange: &mut Exchange,
    ) -> Result<Progress, Failure> {
        match reply {
            AccessReply::ReadReply { version, row, .. } => {
                item_read(&self.need, version, row, transaction).map(Progress::Ready)
            }
            AccessReply::ScanReply { rows, next, as_of, .. } => {
                self.range_read(rows, next.map(|key| *key), as_of, transaction)
            }
            AccessReply::Compared { are_equal, ahead, .. } => {
                let Need::Unchanged(_, accesses) = &mut self.need else {
                    unreachable!("the catalog is no answer to {:?}", self.need)
                };
                let ahead = Ahead::of(std::mem::take(accesses), ahead);
                Ok(Progress::Ready(Event::Unchanged(are_equal, ahead)))
            }
            AccessReply::Stale { range, .. } => {
                let tag = exchange.tag();
                let deadline = exchange.now.boot + SERVICE_PATIENCE;
                exchange.service(ServiceRequest::Refresh { tag, range, deadline });
                self.stage = Stage::Refreshing { tag };
                Ok(Progress::Waiting)
            }
            AccessReply::SnapshotGone { given_up, .. } => {
                // What is read when it is noticed has nothing to do with it.
                let given_up = given_up.then(|| Conflict::of(ConflictKind::SnapshotGivenUp));
                let too_old =
                    || Conflict { kind: ConflictKind::TooOld, item: self.need.item().map(Box::new), other: None };
                Ok(Progress::SnapshotGone(given_up.unwrap_or_else(too_old)))
            }
            other => unreachable!("no answer to a read: {other:?}"),
        }
    }

    /// `next` splits the range into what was read and what is left: from the low end up, or reversed from the high end down.
    fn range_read(
        &self,
        rows: Vec<(Key, Timestamp, Row)>,
        next: Option<Key>,
        as_of: Timestamp,
        transaction: &mut Transaction,
    ) -> Result<Progress, Failure> {
        let Need::Range(need) = &self.need else { unreachable!("rows of a range are no answer to {:?}", self.need) };
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
        let rows = transaction.file().overlay(&read, rows, need.reverse);
        transaction.note_range_read(read, as_of)?;
        Ok(Progress::Ready(Event::Batch(rows, left)))
    }

    /// The replication controller has refreshed it, or cannot. Asks anew for permission, because time has passed.
    pub fn refreshed(
        &mut self,
        failure: Option<String>,
        transaction: &Transaction,
        exchange: &mut Exchange,
    ) -> Result<Progress, Failure> {
        if let Some(reason) = failure {
            return Err(Failure::Unavailable { reason });
        }
        self.ask(transaction, exchange);
        Ok(Progress::Waiting)
    }

    /// The answer is no longer wanted.
    pub fn forget(&self, exchange: &mut Exchange) {
        self.unlist(exchange);
        match self.stage {
            Stage::Asking => {}
            Stage::AskingSnapshot { tag } => {
                exchange.forget_tag(tag);
                exchange.concurrency(ConcurrencyRequest::ForgetSnapshot { tag });
            }
            Stage::Moving { tag }
            | Stage::AskingMethod { tag }
            | Stage::Fetching { tag }
            | Stage::Refreshing { tag } => exchange.forget_tag(tag),
        }
    }
}

/// An item was read for a need. Errors: it had another version before; the transaction has become too large; what it adds does not fit any more.
pub fn item_read(
    need: &Need,
    version: Timestamp,
    row: Option<Row>,
    transaction: &mut Transaction,
) -> Result<Event, Failure> {
    Ok(match need {
        Need::Relied(key) | Need::Confirmed(key) => {
            transaction.note_item_read(&catalog_item(key), version)?;
            // A program that relies on its absence does not know when it was dropped.
            Event::Relied(if row.is_some() { version } else { Timestamp::ZERO })
        }
        Need::Numbers => Event::Relied(if row.is_some() { version } else { Timestamp::ZERO }),
        Need::Item(item, _) => {
            transaction.note_item_read(item, version)?;
            Event::Item(transaction.settle(item, row)?)
        }
        Need::Presence(item) => {
            if row.is_none() {
                transaction.note_item_read(item, version)?;
            }
            Event::Item(row)
        }
        other => unreachable!("one item is no answer to {other:?}"),
    })
}
