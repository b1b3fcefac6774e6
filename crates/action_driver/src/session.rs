//! One client's session: its transaction, and the request under way.
//!
//! Invariants: every request but `Cancel` and `Close` is answered by one reply; a transaction that ends without a commit gives up
//! all that it holds in the same step; a request that comes while another is under way waits for it (the query processor may have
//! a scan under way that nobody waits for any more).

use crate::exchange::SessionExchange;
use crate::execution::ProgramExecution;
use crate::failure;
use crate::release::{give_back, release};
use crate::scan::ScanJob;
use crate::sequences::Given;
use crate::transaction::{ExecutingTransaction, RequestReads};
use crate::work::{DriverRequest, RequestedJob, Waits};
use messages::commit::CommitRequest;
use messages::conflict::{Conflict, ConflictKind};
use messages::planted;
use messages::session::{AccessMode, CommitReceipt, Failure, SessionReply, SessionRequest};
use messages::{Age, ServerKind, TransactionId};
use serde::{Deserialize, Serialize};

/// One client's session.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct DriverSession {
    /// The client's transaction, or that of the program under way.
    pub(crate) transaction: Option<ExecutingTransaction>,
    /// The request under way.
    pub(crate) work: Option<DriverRequest>,
    /// The age of its transactions that have lost conflicts since the last one that committed: the next one is as old, whether
    /// the driver tries it again or the client does.
    pub(crate) lost_age: Option<Age>,
    pub(crate) queued: Option<(ServerKind, SessionRequest)>,
    /// Requests of the user interface that have come, but for `Cancel`.
    pub(crate) taken: u64,
    /// What it was given of sequences.
    pub(crate) given: Given,
}

impl DriverSession {
    /// A request from the user interface or the query processor.
    pub fn request(&mut self, from: ServerKind, request: SessionRequest, exchange: &mut SessionExchange) {
        if matches!(request, SessionRequest::Cancel) {
            return self.cancel(exchange);
        }
        if matches!(request, SessionRequest::ForgetSequences) {
            self.given = Given::default();
            return;
        }
        if matches!(request, SessionRequest::Rollback) {
            // A scan that nobody waits for any more may itself wait, for a lock.
            self.cancel(exchange);
        }
        self.taken += u64::from(from == ServerKind::UserInterface);
        if self.work.is_some() {
            assert!(self.queued.is_none(), "a session has one request under way");
            self.queued = Some((from, request));
        } else {
            self.begin_request(from, request, exchange);
        }
    }

    /// After every event: begins the request that has waited for the last one.
    pub fn begin_queued(&mut self, exchange: &mut SessionExchange) {
        while self.work.is_none()
            && let Some((from, request)) = self.queued.take()
        {
            self.begin_request(from, request, exchange);
        }
    }

    fn begin_request(&mut self, from: ServerKind, request: SessionRequest, exchange: &mut SessionExchange) {
        if let Some(over) = self.transaction.as_mut().and_then(|transaction| transaction.over.take()) {
            self.end_transaction(exchange);
            let reply = match request {
                SessionRequest::Rollback => SessionReply::RolledBack,
                _ => SessionReply::Failed(over),
            };
            return exchange.reply(from, reply);
        }
        match request {
            SessionRequest::Begin { mode, isolation, time_micros } => {
                if self.transaction.is_none() {
                    self.transaction = Some(ExecutingTransaction::begin(mode, isolation, time_micros));
                }
                exchange.reply(from, SessionReply::Begun);
            }
            SessionRequest::Execute { program, parameters, rows, time_micros, zone } => {
                let execution = ProgramExecution::new(program, parameters, rows, zone);
                self.execute(from, execution, time_micros, exchange);
            }
            SessionRequest::Scan { .. } => {
                let Some(transaction) = &self.transaction else {
                    let failure =
                        failure::statement(sqlstate::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress");
                    return exchange.reply(from, SessionReply::Failed(failure));
                };
                let time_micros = transaction.time_micros;
                let job = RequestedJob::Scan(Box::new(ScanJob::new(request)));
                self.begin_statement(DriverRequest::new(from, job, time_micros, exchange.now), exchange);
            }
            SessionRequest::Commit => self.commit_request(from, exchange),
            SessionRequest::Rollback => {
                self.end_transaction(exchange);
                exchange.reply(from, SessionReply::RolledBack);
            }
            SessionRequest::Savepoint { name } => {
                if let Some(transaction) = &mut self.transaction {
                    transaction.set_savepoint(name);
                }
                exchange.reply(from, SessionReply::Marked);
            }
            SessionRequest::RollbackTo { name } => {
                self.at_savepoint(from, &name, ExecutingTransaction::roll_back_to, exchange)
            }
            SessionRequest::Release { name } => self.at_savepoint(from, &name, ExecutingTransaction::release, exchange),
            SessionRequest::Cancel
            | SessionRequest::Close
            | SessionRequest::ForsakeTemporary { .. }
            | SessionRequest::Resume { .. }
            | SessionRequest::ForgetSequences => {
                unreachable!("handled where they arrive")
            }
        }
    }

    fn execute(
        &mut self,
        from: ServerKind,
        execution: ProgramExecution,
        time_micros: i64,
        exchange: &mut SessionExchange,
    ) {
        let mode = if execution.is_read_only() { AccessMode::ReadOnly } else { AccessMode::ReadWrite };
        let transaction = self.transaction.get_or_insert_with(|| ExecutingTransaction::new(mode, false, time_micros));
        if transaction.is_snapshot() && mode == AccessMode::ReadWrite {
            let failure = failure::statement(
                sqlstate::READ_ONLY_SQL_TRANSACTION,
                "cannot write or lock rows in a read-only transaction",
            );
            return exchange.reply(from, SessionReply::Failed(failure));
        }
        let time_micros = transaction.time_micros;
        let job = RequestedJob::Execute(Box::new(execution));
        self.begin_statement(DriverRequest::new(from, job, time_micros, exchange.now), exchange);
    }

    fn begin_statement(&mut self, work: DriverRequest, exchange: &mut SessionExchange) {
        let transaction = self.transaction.as_mut().expect("a statement runs in a transaction");
        transaction.begin_statement();
        transaction.sees_before = matches!(work.job, RequestedJob::Scan(_));
        transaction.begin_request(match work.job.reads() {
            RequestReads::Newest if planted!(exchange.shared.planted, FirstCommitterPassed) => RequestReads::Locked,
            reads => reads,
        });
        self.work = Some(work);
        self.begin(exchange);
    }

    fn commit_request(&mut self, from: ServerKind, exchange: &mut SessionExchange) {
        match &self.transaction {
            Some(transaction)
                if transaction.identity.is_some()
                    && transaction.has_deferred()
                    && !planted!(exchange.shared.planted, DeferredCheckSkipped) =>
            {
                let job = RequestedJob::Execute(Box::new(ProgramExecution::of_deferred()));
                let mut work = DriverRequest::new(from, job, transaction.time_micros, exchange.now);
                work.commits_next = true;
                self.begin_statement(work, exchange);
            }
            Some(transaction) if transaction.identity.is_some() => {
                let work = DriverRequest::new(from, RequestedJob::Commit, transaction.time_micros, exchange.now);
                self.work = Some(work);
                self.parts().1.begin_request(RequestReads::Newest);
                self.commit(exchange);
            }
            _ => {
                self.end_transaction(exchange);
                let receipt = CommitReceipt::Nothing;
                exchange.reply(from, SessionReply::Committed { receipt });
            }
        }
    }

    fn at_savepoint(
        &mut self,
        from: ServerKind,
        name: &str,
        act: fn(&mut ExecutingTransaction, &str) -> Result<(), Failure>,
        exchange: &mut SessionExchange,
    ) {
        let result = match &mut self.transaction {
            Some(transaction) => act(transaction, name),
            None => Err(failure::no_savepoint(name)),
        };
        let reply = match result {
            Ok(()) => SessionReply::Marked,
            Err(failure) => SessionReply::Failed(failure),
        };
        exchange.reply(from, reply);
    }

    /// Ends what is under way. A commit that was sent goes on by itself, and nobody is told of its outcome.
    fn cancel(&mut self, exchange: &mut SessionExchange) {
        let Some(work) = &self.work else { return };
        let failure = match work.waits {
            Waits::Commit { transaction, ref changed, .. } | Waits::Joint { transaction, ref changed } => {
                // It lives on: no other transaction may have its age.
                self.lost_age = None;
                Failure::Unknown { transaction, changed: changed.clone() }
            }
            _ => Failure::Cancelled,
        };
        self.stop_waiting(exchange);
        self.give_up(failure, exchange);
    }

    /// Ends transaction and request with a failure. A request that waits for this one belonged to the same transaction and fails
    /// with it.
    pub(crate) fn give_up(&mut self, failure: Failure, exchange: &mut SessionExchange) {
        match &mut self.transaction {
            Some(transaction) if transaction.explicit && self.queued.is_some() => {
                release(transaction, exchange);
                transaction.over = Some(failure.clone());
            }
            _ => self.end_transaction(exchange),
        }
        self.finish(SessionReply::Failed(failure), exchange);
    }

    /// The client has gone.
    pub fn close(&mut self, exchange: &mut SessionExchange) {
        self.queued = None;
        self.stop_waiting(exchange);
        self.end_transaction(exchange);
    }

    /// A prepared transaction took what this one has accessed.
    pub fn doomed(&mut self, doomed: TransactionId, conflict: Conflict, exchange: &mut SessionExchange) {
        let Some(transaction) = &mut self.transaction else {
            // It may not have been sent yet.
            return exchange.commit(CommitRequest::Withdraw { transaction: doomed, conflict });
        };
        if transaction.identity.is_none_or(|(own, _)| own != doomed) {
            return;
        }
        if self.work.is_some() {
            self.lost(conflict, exchange);
        } else {
            exchange.lost(&conflict);
            self.lost_age = transaction.identity.map(|(_, age)| age);
            release(transaction, exchange);
            transaction.over = Some(Failure::Conflict { conflict });
        }
    }

    /// Remembers the age of a transaction that has lost.
    pub(crate) fn keep_age(&mut self) {
        let own = self.transaction.as_ref().filter(|transaction| !transaction.is_guest());
        let identity = own.and_then(|transaction| transaction.identity);
        self.lost_age = identity.map(|(_, age)| age).or(self.lost_age);
    }

    /// No answer is awaited any more.
    pub(crate) fn stop_waiting(&mut self, exchange: &mut SessionExchange) {
        let Some(work) = &mut self.work else { return };
        let mut transaction = self.transaction.as_mut();
        // An answer to a guest that has gone would be taken for one to the next.
        if let (Some(transaction), Waits::Read(reading)) = (&mut transaction, &work.waits)
            && transaction.is_guest()
            && reading.is_asking()
        {
            exchange.shared.companions.lost(transaction, &Conflict::of(ConflictKind::CompanionGone));
        }
        std::mem::replace(&mut work.waits, Waits::Nothing).forget(transaction, exchange);
    }

    /// Ends the transaction, if there is one, without a commit. One that others have run in before is theirs again.
    pub(crate) fn end_transaction(&mut self, exchange: &mut SessionExchange) {
        if let Some(mut transaction) = self.transaction.take() {
            if transaction.is_guest() {
                return give_back(transaction, exchange);
            }
            release(&mut transaction, exchange);
        }
    }

    /// The snapshot of the statement under way is read no more.
    pub(crate) fn leave_statement_snapshot(&mut self, exchange: &mut SessionExchange) {
        if let Some(transaction) = &mut self.transaction
            && !planted!(exchange.shared.planted, StatementSnapshotKept)
            && let Some(snapshot) = transaction.leave_statement_snapshot()
        {
            exchange.shared.snapshots.leave(snapshot);
        }
    }

    /// Answers the request under way.
    pub(crate) fn finish(&mut self, reply: SessionReply, exchange: &mut SessionExchange) {
        self.leave_statement_snapshot(exchange);
        let work = self.work.take().expect("a request is under way");
        exchange.reply(work.reply_to, reply);
    }
}
