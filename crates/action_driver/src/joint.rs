//! How a session runs its program in the transaction of another one, hands a transaction on, and leaves it (see `companions`).

use crate::companion::Companion;
use crate::companions::Errand;
use crate::exchange::SessionExchange;
use crate::limits::{COMPANIONS_MAX, JOINT_LOSSES_MAX};
use crate::session::DriverSession;
use crate::transaction::ExecutingTransaction;
use crate::work::{RequestedJob, Waits};
use messages::concurrency::ConcurrencyRequest;
use messages::limits::SERVICE_PATIENCE;
use messages::planted;
use messages::session::{AccessMode, CommitReceipt};
use messages::{Conflict, TransactionId};

impl DriverSession {
    /// An access has to wait. A program that is a transaction of its own may run in that of whoever it waits for.
    pub fn access_is_busy(&mut self, exchange: &mut SessionExchange) {
        let Some(work) = &mut self.work else { return };
        let Some(transaction) = &self.transaction else { return };
        if transaction.is_guest() {
            work.waits = Waits::Nothing;
            return self.leave(exchange);
        }
        let fits = !work.is_alone() && matches!(work.job, RequestedJob::Execute(_)) && transaction.can_be_joint();
        if let (true, Waits::Read(reading)) = (fits, &mut work.waits) {
            reading.list(exchange);
        }
    }

    /// The program has run well. Whoever waits for what it has written goes on in its transaction, if anybody does.
    pub(crate) fn hand_on(&mut self, exchange: &mut SessionExchange) -> bool {
        if !exchange.shared.companions.has_waiting() {
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
        for (table, read) in transaction.take_incremented() {
            exchange.shared.increment_worth.note(table, read);
        }
        let mut transaction = self.transaction.take().expect("looked at just above");
        let age = if transaction.is_guest() { self.lost_age.expect("a guest has an age of its own") } else { age };
        self.lost_age = Some(age);
        transaction.companions.push(Companion { session: exchange.session, age });
        let changed = transaction.changed();
        exchange.shared.companions.errands.push_back(Errand::Join(next, Box::new(transaction)));
        exchange.unfollow(id);
        let early = planted!(exchange.shared.planted, CompanionAnsweredEarly);
        if early {
            self.succeed(CommitReceipt::Nothing, exchange);
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
    pub fn join(&mut self, mut transaction: ExecutingTransaction, exchange: &mut SessionExchange) {
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
    pub(crate) fn leave(&mut self, exchange: &mut SessionExchange) {
        self.stop_waiting(exchange);
        self.end_transaction(exchange);
        let work = self.work.as_mut().expect("a guest has a request under way");
        work.start_over();
        work.joint_losses = JOINT_LOSSES_MAX;
        self.transaction = Some(ExecutingTransaction::new(AccessMode::ReadWrite, false, work.time_micros));
        self.begin(exchange);
    }

    /// Whether it waits for the outcome of this transaction, in which its program has run.
    pub fn is_companion_in(&self, transaction: TransactionId) -> bool {
        let waits = self.work.as_ref().map(|work| &work.waits);
        matches!(waits, Some(Waits::Joint { transaction: own, .. }) if *own == transaction)
    }

    /// Goes on with a transaction that a guest has left: this session's program is the last that has run in it.
    pub fn take_back(&mut self, mut transaction: ExecutingTransaction, exchange: &mut SessionExchange) {
        let (id, _) = transaction.identity.expect("it has begun");
        let work = self.work.as_ref().expect("a companion has a request under way");
        transaction.time_micros = work.time_micros;
        self.transaction = Some(transaction);
        exchange.follow(id);
        self.program_ended(exchange);
    }

    /// The transaction that it was a companion of is over.
    pub fn companion_over(&mut self, outcome: Result<CommitReceipt, Conflict>, exchange: &mut SessionExchange) {
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
    pub(crate) fn note_joint_loss(&mut self, exchange: &SessionExchange) {
        if let Some(work) = &mut self.work {
            work.joint_losses += 1;
            work.deadline = exchange.now.boot + SERVICE_PATIENCE;
        }
    }
}
