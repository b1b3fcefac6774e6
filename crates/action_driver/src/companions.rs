//! Programs that commit together: those that wait for a row that another one has just written run in its transaction, one after the
//! other, before it is committed. So a hot row costs a round of messages for all who want it, not one for each.
//!
//! The transaction goes from session to session. Whoever has run in it waits for its outcome, as a *companion*; whoever runs in it
//! as a *guest* leaves it at once if it would have to wait, has failed or takes long, and starts over by itself; and so does everybody when the
//! transaction is lost: who has lost together too often goes on alone.
//!
//! Invariants: only programs that are transactions of their own are companions, because nothing of them is told before the outcome;
//! no schema changes among them; a transaction that goes on waits for no lock; what a guest that leaves has written is undone, or the transaction is
//! lost (what it has read and locked stays with the transaction); the outcome reaches every companion that is still there.

use crate::exchange::Exchange;
use crate::limits::{COMPANIONS_MAX, JOINT_LOSSES_MAX};
use crate::session::{Session, release};
use crate::transaction::Transaction;
use crate::work::{Job, Waits};
use messages::commit::CommitReply;
use messages::concurrency::ConcurrencyRequest;
use messages::limits::SERVICE_PATIENCE;
use messages::planted::Bug;
use messages::session::{AccessMode, Receipt};
use messages::{Age, Conflict, ConflictKind, Item, SessionId, TransactionId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A session whose program has run in a transaction that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Companion {
    /// Which session.
    pub session: SessionId,
    /// Its own age: the transaction is as old as the oldest.
    pub age: Age,
}

/// Programs that have committed in the transaction of another, in this life of the site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// All of them.
    pub committed: u64,
    /// Of them, those whose transaction was durable in memory.
    pub in_memory: u64,
}

/// What one session leaves to be done by another, within the same step.
#[derive(Debug, Serialize, Deserialize)]
pub enum Errand {
    /// Runs its program in this transaction, if it still waits for what that has written.
    Join(SessionId, Box<Transaction>),
    /// A guest has left: one of the companions goes on with it.
    TakeBack(Box<Transaction>),
    /// The transaction that it was a companion of is over.
    Over(SessionId, TransactionId, Result<Receipt, Conflict>),
}

/// Programs that wait for an item, and the companions of what is being committed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Companions {
    /// By item, in the order in which they began to wait.
    waiting: FxHashMap<Item, VecDeque<(u64, SessionId)>>,
    waits: u64,
    /// Who waits for the outcome of a transaction, apart from the session that sent it.
    committing: FxHashMap<TransactionId, Vec<Companion>>,
    /// What is left to be done in this step.
    pub errands: VecDeque<Errand>,
    /// What has committed so.
    pub counters: Counters,
}

impl Companions {
    /// A session's program waits for an item.
    pub fn waits(&mut self, item: Item, session: SessionId) {
        self.waits += 1;
        self.waiting.entry(item).or_default().push_back((self.waits, session));
    }

    /// It waits no more.
    pub fn waits_no_more(&mut self, item: &Item, session: SessionId) {
        let Some(waiting) = self.waiting.get_mut(item) else { return };
        waiting.retain(|(_, other)| *other != session);
        if waiting.is_empty() {
            self.waiting.remove(item);
        }
    }

    /// Who has waited longest for something that the transaction has written.
    fn next_for(&self, transaction: &Transaction) -> Option<SessionId> {
        let waiting = transaction.file().items().filter_map(|item| self.waiting.get(item)?.front());
        waiting.min().map(|(_, session)| *session)
    }

    /// The transaction is over: whoever waits for that is told within this step.
    pub fn decided(&mut self, reply: &CommitReply) {
        if self.committing.is_empty() {
            return;
        }
        let (transaction, outcome) = match reply {
            CommitReply::Committed { transaction, receipt, .. } => (*transaction, Ok(*receipt)),
            CommitReply::Aborted { transaction, conflict } => (*transaction, Err(conflict.clone())),
            _ => return,
        };
        let companions = self.committing.remove(&transaction).unwrap_or_default();
        if let Ok(receipt) = outcome {
            self.counters.committed += companions.len() as u64;
            let in_memory = matches!(receipt, Receipt::Memory { .. });
            self.counters.in_memory += if in_memory { companions.len() as u64 } else { 0 };
        }
        self.tell(companions, transaction, &outcome);
    }

    fn tell(&mut self, companions: Vec<Companion>, transaction: TransactionId, outcome: &Result<Receipt, Conflict>) {
        let over = |companion: Companion| Errand::Over(companion.session, transaction, outcome.clone());
        self.errands.extend(companions.into_iter().map(over));
    }

    /// The transaction is sent to be committed: who waits for it besides its sender, and how old it is with them.
    pub fn commit(&mut self, transaction: TransactionId, age: Age, companions: Vec<Companion>) -> Age {
        let oldest = companions.iter().map(|companion| companion.age).fold(age, Age::min);
        if !companions.is_empty() {
            self.committing.insert(transaction, companions);
        }
        oldest
    }

    /// The transaction has lost a conflict before it was sent: so have all of its companions.
    pub fn lost(&mut self, transaction: &mut Transaction, conflict: &Conflict) {
        let companions = std::mem::take(&mut transaction.companions);
        if let Some((id, _)) = transaction.identity {
            self.tell(companions, id, &Err(conflict.clone()));
        }
    }
}

impl Session {
    /// An access has to wait. A program that is a transaction of its own may run in that of whoever it waits for.
    pub fn access_is_busy(&mut self, exchange: &mut Exchange) {
        let Some(work) = &mut self.work else { return };
        let Some(transaction) = &self.transaction else { return };
        if transaction.is_guest() {
            work.waits = Waits::Nothing;
            return self.leave(exchange);
        }
        let fits = !work.is_alone() && matches!(work.job, Job::Execute(_)) && transaction.can_be_joint();
        if let (true, Waits::Read(reading)) = (fits, &mut work.waits) {
            reading.list(exchange);
        }
    }

    /// The program has run well. Whoever waits for what it has written goes on in its transaction, if anybody does.
    pub(crate) fn hand_on(&mut self, exchange: &mut Exchange) -> bool {
        if exchange.shared.companions.waiting.is_empty() {
            return false;
        }
        let (Some(work), Some(transaction)) = (&mut self.work, &mut self.transaction) else { return false };
        let goes_on = !work.is_alone()
            && transaction.can_be_joint()
            && transaction.companions.len() < COMPANIONS_MAX
            && !transaction.is_large();
        let next = if goes_on { exchange.shared.companions.next_for(transaction) } else { None };
        let (Some(next), Some((id, age))) = (next, transaction.identity) else { return false };
        // What the next one reads is not read by this one.
        for (table, read) in transaction.take_summed() {
            exchange.shared.sums.note(table, read);
        }
        let mut transaction = self.transaction.take().expect("looked at just above");
        let age = if transaction.is_guest() { self.lost_age.expect("a guest has an age of its own") } else { age };
        self.lost_age = Some(age);
        transaction.companions.push(Companion { session: exchange.session, age });
        let changed = transaction.changed();
        exchange.shared.companions.errands.push_back(Errand::Join(next, Box::new(transaction)));
        exchange.unfollow(id);
        let early = exchange.shared.planted.is(Bug::CompanionAnsweredEarly);
        if early {
            self.succeed(Receipt::Nothing, exchange);
        } else {
            self.work.as_mut().expect("a request is under way").waits = Waits::Joint { transaction: id, changed };
        }
        true
    }

    /// Whether its program waits for an item and may go on in another transaction.
    pub fn is_listed(&self) -> bool {
        matches!(self.work.as_ref().map(|work| &work.waits), Some(Waits::Read(reading)) if reading.is_listed())
    }

    /// Runs the program in a transaction that others have run in. It still waits for what that has written.
    pub fn join(&mut self, mut transaction: Transaction, exchange: &mut Exchange) {
        self.stop_waiting(exchange);
        self.keep_age();
        let (id, _) = transaction.identity.expect("it has begun");
        let own = self.transaction.take().and_then(|own| own.identity);
        let (own, _) = own.expect("who waits for an item has begun");
        exchange.unfollow(own);
        exchange.concurrency(ConcurrencyRequest::HandOver { transaction: own, to: id });
        let work = self.work.as_mut().expect("who waits has a request under way");
        work.start_over();
        transaction.begin_guest(work.time_micros);
        transaction.may_add &= !work.reads_all;
        self.transaction = Some(transaction);
        exchange.follow(id);
        self.begin(exchange);
    }

    /// A guest gives the transaction back as it was, and starts over by itself.
    pub(crate) fn leave(&mut self, exchange: &mut Exchange) {
        self.stop_waiting(exchange);
        self.end_transaction(exchange);
        let work = self.work.as_mut().expect("a guest has a request under way");
        work.start_over();
        work.joint_losses = JOINT_LOSSES_MAX;
        self.transaction = Some(Transaction::new(AccessMode::ReadWrite, false, work.time_micros));
        self.begin(exchange);
    }

    /// Whether it waits for the outcome of this transaction, in which its program has run.
    pub fn is_companion_in(&self, transaction: TransactionId) -> bool {
        let waits = self.work.as_ref().map(|work| &work.waits);
        matches!(waits, Some(Waits::Joint { transaction: own, .. }) if *own == transaction)
    }

    /// Goes on with a transaction that a guest has left: this session's program is the last that has run in it.
    pub fn take_back(&mut self, mut transaction: Transaction, exchange: &mut Exchange) {
        let (id, _) = transaction.identity.expect("it has begun");
        let work = self.work.as_ref().expect("a companion has a request under way");
        transaction.time_micros = work.time_micros;
        self.transaction = Some(transaction);
        exchange.follow(id);
        self.program_ended(exchange);
    }

    /// The transaction that it was a companion of is over.
    pub fn companion_over(&mut self, outcome: Result<Receipt, Conflict>, exchange: &mut Exchange) {
        match outcome {
            Ok(receipt) => {
                self.lost_age = None;
                self.succeed(receipt, exchange);
            }
            Err(conflict) => {
                self.note_joint_loss(exchange);
                self.try_again(conflict, exchange);
            }
        }
    }

    /// A transaction is lost that several have run in: each may try for as long as if it had just come.
    pub(crate) fn note_joint_loss(&mut self, exchange: &Exchange) {
        if let Some(work) = &mut self.work {
            work.joint_losses += 1;
            work.deadline = exchange.now.boot + SERVICE_PATIENCE;
        }
    }
}

/// A guest has left the transaction. What the last of several guests has written cannot be undone once a later one has left: then all is
/// lost.
pub(crate) fn give_back(mut transaction: Transaction, exchange: &mut Exchange) {
    if !transaction.can_be_left() {
        exchange.shared.companions.lost(&mut transaction, &Conflict::of(ConflictKind::CompanionGone));
        return release(&mut transaction, exchange);
    }
    if let Some((id, _)) = transaction.identity {
        exchange.unfollow(id);
    }
    if !exchange.shared.planted.is(Bug::GuestLeavesWrites) {
        transaction.fail_statement();
    }
    exchange.shared.companions.errands.push_back(Errand::TakeBack(Box::new(transaction)));
}
