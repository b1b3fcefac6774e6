//! The end of a transaction whose statements have run: what it adds to and cannot is read first, its history is sent, and what was lost on nothing that it has
//! read is committed again.
//!
//! Invariants: what is only added to is given up before any of it is asked for in another way; a commit is tried again only once nothing of the last try is
//! left (rule 4), and all that was read is checked again.

use crate::exchange::SessionExchange;
use crate::need::{ExecutorEvent, ExecutorNeed};
use crate::release::{leave_snapshots, release};
use crate::session::DriverSession;
use crate::settling::{SettlingItems, Then, ToCommit};
use crate::transaction::ExecutingTransaction;
use crate::work::{DriverRequest, Waits};
use messages::commit::CommitRequest;
use messages::concurrency::{AccessKind, ConcurrencyRequest};
use messages::conflict::{Conflict, ConflictKind};
use messages::replication::ServiceRequest;
use messages::session::CommitReceipt;
use messages::{ChangedRows, Item, KeyRange};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

impl DriverRequest {
    /// Whether what its statements have left to be committed is to be kept, for another try, and is not yet.
    pub(crate) fn keeps(&self, transaction: &ExecutingTransaction) -> bool {
        self.job.is_commit() && self.to_commit.is_none() && !transaction.is_used_up()
    }

    /// Whether a commit that has lost so can be tried again though its statements cannot: none of them has seen what it was lost on. What it has read
    /// is checked again.
    pub(crate) fn can_commit_again(&self, conflict: &Conflict) -> bool {
        let Some(ToCommit { history, .. }) = &self.to_commit else { return false };
        let is_unseen = |item: &Item| {
            let is_read = history.reads.iter().any(|read| read.table == item.table && read.key == item.key);
            let in_range = |range: &KeyRange| range.table == item.table && range.contains(item.key.as_bytes());
            !is_read && !history.ranges.iter().any(|read| in_range(&read.range))
        };
        match conflict.kind {
            ConflictKind::EpochChanged | ConflictKind::Refused => true,
            ConflictKind::IncrementRefused => !self.reads_all,
            ConflictKind::Deadlock
            | ConflictKind::PreparedElsewhere
            | ConflictKind::YoungerDies
            | ConflictKind::OlderWaits
            | ConflictKind::LateAccess => conflict.item.as_deref().is_some_and(is_unseen),
            // Without a rival the row has gone, and stays away.
            ConflictKind::StaleRead => conflict.other.is_some() && conflict.item.as_deref().is_some_and(is_unseen),
            ConflictKind::SchemaChanged
            | ConflictKind::TooOld
            | ConflictKind::Cancelled
            | ConflictKind::SnapshotGivenUp
            | ConflictKind::ChangedSinceSnapshot
            | ConflictKind::CompanionGone => false,
        }
    }
}

impl DriverSession {
    /// Commits, if what the transaction adds can be committed as it is; else makes writes of that first.
    pub(crate) fn commit(&mut self, exchange: &mut SessionExchange) {
        let (work, transaction) = self.parts();
        for (table, read) in transaction.take_incremented() {
            exchange.shared.increment_worth.note(table, read);
        }
        if !transaction.file().has_increments() {
            return self.send_history(exchange);
        }
        if work.reads_all && work.job.is_commit() {
            return self.settle_increments(None, exchange);
        }
        let tag = exchange.tag();
        work.waits = Waits::Increments { tag };
        exchange.service(ServiceRequest::Check { tag, deadline: work.deadline });
    }

    /// The replication controller has answered to which items of the transaction nothing can be added.
    pub fn lacks(&mut self, lacking: Result<Vec<Item>, String>, exchange: &mut SessionExchange) {
        let (work, _) = self.parts();
        match (std::mem::replace(&mut work.waits, Waits::Nothing), lacking) {
            (Waits::Increments { .. }, Ok(lacking)) if !lacking.is_empty() => {
                self.settle_increments(Some(lacking), exchange);
            }
            // As with any other commit: it waits where it is decided, which refuses what cannot be added.
            (Waits::Increments { .. }, _) => self.send_history(exchange),
            (waits, _) => unreachable!("told what is lacking while {waits:?}"),
        }
    }

    /// Makes writes of what the transaction adds to these items, or to all, and then commits. What it adds to besides it asks for again, in one
    /// order with these: who kept the one while it waits for the other could be waited for by whoever has that.
    pub(crate) fn settle_increments(&mut self, items: Option<Vec<Item>>, exchange: &mut SessionExchange) {
        let (work, transaction) = self.parts();
        let items = items.map(BTreeSet::from_iter);
        let need = |item: &Item| match &items {
            Some(items) if !items.contains(item) => ExecutorNeed::Presence(item.clone()),
            _ => ExecutorNeed::Item(item.clone(), AccessKind::Write),
        };
        let left: VecDeque<_> = transaction.file().incremented_in_order(None).into_iter().map(need).collect();
        if transaction.is_guest() {
            // Each of them tries again by itself, and reads.
            let item = left
                .iter()
                .find(|need| matches!(need, ExecutorNeed::Item(..)))
                .and_then(ExecutorNeed::item)
                .map(Box::new);
            return self.lost(Conflict { kind: ConflictKind::IncrementRefused, item, other: None }, exchange);
        }
        if work.keeps(transaction) {
            let locks = transaction.locks_in_order();
            work.to_commit = Some(ToCommit { history: Arc::new(transaction.clone().into_history()), locks });
        }
        settle_first(work, transaction, SettlingItems { left, then: Then::Send }, exchange);
        self.run(ExecutorEvent::Go, exchange);
    }

    /// Sends the history to be committed. Reads alone are committed too, because whether locks at home are enough for them is the
    /// method's business, not ours. A transaction that did nothing ends here.
    pub(crate) fn send_history(&mut self, exchange: &mut SessionExchange) {
        let mut transaction = self.transaction.take().expect("there is a transaction to commit");
        let (id, mut age) = transaction.identity.expect("it has begun");
        let is_idle = transaction.is_idle();
        if is_idle {
            release(&mut transaction, exchange);
            return self.succeed(CommitReceipt::Nothing, exchange);
        }
        leave_snapshots(&mut transaction, exchange);
        if transaction.is_guest() {
            age = self.lost_age.expect("a guest has an age of its own");
        }
        let is_joint = transaction.is_guest();
        let companions = std::mem::take(&mut transaction.companions);
        let oldest = exchange.shared.companions.commit(id, age, companions);
        let ahead = transaction.ahead().clone();
        let work = self.work.as_mut().expect("a request is under way");
        let locks = work.keeps(&transaction).then(|| transaction.locks_in_order());
        let history = Arc::new(transaction.into_history());
        if let Some(locks) = locks {
            work.to_commit = Some(ToCommit { history: Arc::clone(&history), locks });
        }
        let changed = ChangedRows::of(history.changed().map(|(table, key)| Item { table, key: key.clone() }));
        let sent_at = exchange.now.boot;
        work.waits = Waits::Commit { transaction: id, age, is_joint, ahead, changed, sent_at };
        exchange.commit(CommitRequest::Commit { transaction: id, age: oldest, history, logged_everywhere: false });
    }
}

/// What is added to these items becomes writes before anything else goes on. Who waited for another's permission to add to one of them while that
/// waited for its own would wait for ever: so nobody keeps it.
pub(crate) fn settle_first(
    work: &mut DriverRequest,
    transaction: &mut ExecutingTransaction,
    settling: SettlingItems,
    exchange: &mut SessionExchange,
) {
    let items = transaction.give_up(settling.left.iter().filter_map(ExecutorNeed::item));
    if let (false, Some((transaction, _))) = (items.is_empty(), transaction.identity) {
        exchange.concurrency(ConcurrencyRequest::GiveUp { transaction, items });
    }
    work.settling = Some(settling);
}
