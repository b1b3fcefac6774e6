//! The life of a statement: may the site serve, begin, run, check again, commit; and again from the start when it lost.
//!
//! Invariants (rules 4 to 6 and 14): nothing is read before the site may serve; no row of a snapshot reaches a client unless the
//! epoch still stands and all leases hold after the read; a transaction is tried again only when nothing of it is left and the client
//! has been told nothing, under a new identifier and its first age; what clients were told of, only its commit is (`commit`).

use crate::ahead_commits::{begin_chunk, committed_ahead, is_claim, is_of_numbers, numbers_taken, storages_used_up};
use crate::commit::settle_first;
use crate::exchange::SessionExchange;
use crate::execution::ProgramExecution;
use crate::need::{ExecutorEvent, ExecutorNeed};
use crate::reads::{self, ReadProgress, ReadState};
use crate::release::release;
use crate::scene::{ExecutorStep, NumberSources};
use crate::sequences::Given;
use crate::session::DriverSession;
use crate::settling::{SettlingItems, Then, ToCommit};
use crate::transaction::ExecutingTransaction;
use crate::work::{DriverRequest, RequestedJob, Waits};
use messages::access::AccessReply;
use messages::commit::CommitRequest;
use messages::conflict::{Conflict, ConflictKind};
use messages::limits::SERVICE_PATIENCE;
use messages::method::MethodReport;
use messages::planted;
use messages::replication::{Increments, Service, ServiceRequest};
use messages::session::{AccessMode, CommitReceipt, Failure, Isolation, SessionReply};
use messages::{Age, Timestamp, TransactionId};
use std::sync::Arc;

impl DriverSession {
    pub(crate) fn parts(&mut self) -> (&mut DriverRequest, &mut ExecutingTransaction) {
        let work = self.work.as_mut().expect("a request is under way");
        (work, self.transaction.as_mut().expect("a statement runs in a transaction"))
    }

    /// Begins a try: with the transaction as it is, or from nothing.
    pub(crate) fn begin(&mut self, exchange: &mut SessionExchange) {
        let (work, transaction) = self.parts();
        let is_pure = matches!(&work.job, RequestedJob::Execute(execution) if execution.is_pure());
        let wants_snapshot = transaction.wants_snapshot(exchange.shared.planted);
        // Whatever it does, the first statement at REPEATABLE READ fixes what the others read.
        let is_first = wants_snapshot && transaction.isolation() == Isolation::RepeatableRead;
        if is_pure && !is_first || transaction.has_begun() && !wants_snapshot {
            return self.run(ExecutorEvent::Go, exchange);
        }
        let tag = exchange.tag();
        if transaction.isolation() != Isolation::Serializable
            && planted!(exchange.shared.planted, ReadSnapshotUnconfirmed)
        {
            work.waits = Waits::Begin { tag };
            return exchange.commit(match transaction.has_begun() {
                true => CommitRequest::BeginSnapshot { tag },
                false => CommitRequest::Begin { tag },
            });
        }
        work.waits = Waits::Service { tag };
        exchange.service(ServiceRequest::Check { tag, deadline: work.deadline });
    }

    /// The replication controller has answered whether the site may serve.
    pub fn serviced(&mut self, verdict: Result<Service, String>, exchange: &mut SessionExchange) {
        let (work, transaction) = self.parts();
        match (std::mem::replace(&mut work.waits, Waits::Nothing), verdict) {
            (Waits::Service { .. }, Ok(service)) => {
                transaction.epoch = Some(service.epoch);
                let has_identity = transaction.identity.is_some();
                if !has_identity {
                    // Who adds unread sees what others have added since a snapshot, and of what they have done with it only what the snapshot has.
                    transaction.may_add = service.increments != Increments::ToNothing
                        && !work.reads_all
                        && !transaction.is_snapshot()
                        && transaction.isolation() == Isolation::Serializable;
                }
                let tag = exchange.tag();
                work.waits = Waits::Begin { tag };
                exchange.commit(if transaction.is_snapshot() || has_identity {
                    CommitRequest::BeginSnapshot { tag }
                } else {
                    CommitRequest::Begin { tag }
                });
            }
            (Waits::Increments { .. }, Ok(service)) if service.increments == Increments::ToAll => {
                self.send_history(exchange)
            }
            (Waits::Increments { .. }, Ok(service)) if service.increments == Increments::ToWhatIsThere => {
                let tag = exchange.tag();
                work.waits = Waits::Increments { tag };
                let items = transaction.file().incremented().cloned().collect();
                exchange.service(ServiceRequest::Increments { tag, items });
            }
            (Waits::Increments { .. }, Ok(_)) => self.settle_increments(None, exchange),
            // As with any other commit: it waits where it is decided, which refuses what cannot be added.
            (Waits::Increments { .. }, Err(_)) => self.send_history(exchange),
            (Waits::Service { .. }, Err(reason)) => self.give_up(Failure::Unavailable { reason }, exchange),
            (Waits::After { failure, .. }, Ok(_)) => self.settle(failure, exchange),
            // A transaction that writes outlives an epoch.
            (Waits::After { failure: None, .. }, Err(_))
                if work.job.is_confirmation() && !transaction.is_snapshot() =>
            {
                let tag = exchange.tag();
                work.waits = Waits::Again { tag };
                exchange.service(ServiceRequest::Check { tag, deadline: work.deadline });
            }
            (Waits::Again { .. }, Ok(service)) => {
                transaction.epoch = Some(service.epoch);
                work.job.start_over();
                self.run(ExecutorEvent::Go, exchange);
            }
            (Waits::Again { .. }, Err(reason)) => self.give_up(Failure::Unavailable { reason }, exchange),
            (Waits::After { .. }, Err(_)) if transaction.has_fresh_snapshot() => {
                self.read_again(Conflict::of(ConflictKind::EpochChanged), exchange);
            }
            (Waits::After { .. }, Err(_)) => self.lost(Conflict::of(ConflictKind::EpochChanged), exchange),
            (waits, _) => unreachable!("a service reply while {waits:?}"),
        }
    }

    /// The transaction, or a chunk, has its identifier.
    pub fn begun(&mut self, id: TransactionId, age: Age, exchange: &mut SessionExchange) {
        let lost_age = self.lost_age;
        let (work, transaction) = self.parts();
        exchange.follow(id);
        match std::mem::replace(&mut work.waits, Waits::Nothing) {
            Waits::Begin { .. } => {
                if let Some(epoch) = transaction.epoch {
                    exchange.shared.snapshots.hear(Timestamp {
                        epoch,
                        clock: age.clock,
                        transaction: TransactionId::ZERO,
                    });
                }
                let renewed = planted!(exchange.shared.planted, AgeRenewed);
                let first = if renewed { age } else { lost_age.unwrap_or(age) };
                transaction.identity = Some((id, first));
                // What copies a table loses it again and again to those who write rows of it.
                transaction.takes_precedence = lost_age.is_some() && work.job.rebuilds();
                if transaction.wants_snapshot(exchange.shared.planted) {
                    let tag = exchange.tag();
                    work.waits = Waits::Begin { tag };
                    return exchange.commit(CommitRequest::BeginSnapshot { tag });
                }
                self.run(ExecutorEvent::Go, exchange);
            }
            Waits::ChunkBegin { chunk, .. } => {
                let history = Arc::clone(&chunk);
                work.waits = Waits::ChunkCommit { transaction: id, chunk };
                // What names its storages, or takes them, does not conflict with it.
                exchange.commit(CommitRequest::Commit { transaction: id, age, history, logged_everywhere: true });
            }
            waits => unreachable!("begun while {waits:?}"),
        }
    }

    /// The snapshot is fixed. One of another epoch than the one that was checked is not used.
    pub fn snapshot_begun(&mut self, snapshot: Timestamp, exchange: &mut SessionExchange) {
        let (work, transaction) = self.parts();
        let first = matches!(work.waits, Waits::Begin { .. });
        let unconfirmed = transaction.identity.is_some() && planted!(exchange.shared.planted, ReadSnapshotUnconfirmed);
        let other_epoch = transaction.epoch != Some(snapshot.epoch) && !unconfirmed;
        if first && other_epoch {
            // What a transaction has done that writes stands.
            return match transaction.identity {
                Some(_) => self.begin(exchange),
                None => self.lost(Conflict::of(ConflictKind::EpochChanged), exchange),
            };
        }
        exchange.shared.snapshots.enter(snapshot);
        if let Some(last) = transaction.take_snapshot(snapshot) {
            exchange.shared.snapshots.leave(last);
        }
        if first {
            return self.run(ExecutorEvent::Go, exchange);
        }
        if let Waits::Read(reading) = &mut work.waits {
            let progress = reading.moved(transaction, exchange);
            self.progressed(Ok(progress), exchange);
        }
    }

    /// The concurrency controller has answered an access.
    pub fn granted(&mut self, conflict: Option<Conflict>, exchange: &mut SessionExchange) {
        if let Some(conflict) = conflict {
            return self.lost(conflict, exchange);
        }
        let (work, transaction) = self.parts();
        if let Waits::Read(reading) = &mut work.waits {
            let progress = reading.granted(transaction, exchange);
            self.progressed(Ok(progress), exchange);
        }
    }

    /// The concurrency controller has answered that somebody else has what was wanted only if nobody has it.
    pub fn access_is_taken(&mut self, exchange: &mut SessionExchange) {
        if matches!(self.work.as_ref().map(|work| &work.waits), Some(Waits::Read(_))) {
            self.run(ExecutorEvent::Taken, exchange);
        }
    }

    /// The concurrency controller has told its method.
    pub fn told_method(&mut self, report: Box<MethodReport>, exchange: &mut SessionExchange) {
        if matches!(self.parts().0.waits, Waits::Read(_)) {
            self.run(ExecutorEvent::Method(report), exchange);
        }
    }

    /// The concurrency controller has answered what was asked for ahead.
    pub fn granted_ahead(&mut self, granted: u32, exchange: &mut SessionExchange) {
        let (work, transaction) = self.parts();
        if let Waits::Read(reading) = &mut work.waits {
            reading.granted_ahead(granted, transaction, exchange);
        }
    }

    /// The access manager has answered a read.
    pub fn fetched(&mut self, reply: AccessReply, exchange: &mut SessionExchange) {
        let (work, transaction) = self.parts();
        if transaction.is_guest() && matches!(reply, AccessReply::Stale { .. }) {
            return self.leave(exchange);
        }
        if let Waits::Read(reading) = &mut work.waits {
            let progress = reading.fetched(reply, transaction, exchange);
            self.progressed(progress, exchange);
        }
    }

    /// The replication controller has refreshed what was stale.
    pub fn refreshed(&mut self, failure: Option<String>, exchange: &mut SessionExchange) {
        let (work, transaction) = self.parts();
        if let Waits::Read(reading) = &mut work.waits {
            let progress = reading.refreshed(failure, transaction, exchange);
            self.progressed(progress, exchange);
        }
    }

    fn progressed(&mut self, progress: Result<ReadProgress, Failure>, exchange: &mut SessionExchange) {
        match progress {
            Ok(ReadProgress::Waiting) => {}
            Ok(ReadProgress::Ready(event)) => self.run(event, exchange),
            Ok(ReadProgress::SnapshotGone(conflict))
                if conflict.kind != ConflictKind::SnapshotGivenUp && self.parts().1.has_fresh_snapshot() =>
            {
                self.read_again(conflict, exchange);
            }
            Ok(ReadProgress::SnapshotGone(conflict)) => self.lost(conflict, exchange),
            Err(failure) => self.ran(Some(failure), exchange),
        }
    }

    /// What reads a snapshot of which nobody has been told anything begins again at another one, unless that has taken too long.
    fn read_again(&mut self, conflict: Conflict, exchange: &mut SessionExchange) {
        let (work, transaction) = self.parts();
        let Some(delay) = work.delay(exchange) else { return self.lost(conflict, exchange) };
        work.start_over();
        if let Some(snapshot) = transaction.leave_fresh_snapshot() {
            exchange.shared.snapshots.leave(snapshot);
        }
        if delay == 0 {
            return self.begin(exchange);
        }
        let until = exchange.now.boot + delay;
        work.waits = Waits::Delay { until, chunk: None };
        exchange.wake_at(until);
    }

    /// Goes on until an answer has to be awaited.
    pub(crate) fn run(&mut self, event: ExecutorEvent, exchange: &mut SessionExchange) {
        let mut event = event;
        loop {
            let work = self.work.as_mut().expect("a request is under way");
            let transaction = self.transaction.as_mut().expect("a statement runs in a transaction");
            work.waits = Waits::Nothing;
            let answer = std::mem::replace(&mut event, ExecutorEvent::Go);
            let step = match work.settling.take() {
                Some(settling) => match settling.next(&mut work.settling) {
                    Ok(need) | Err(Then::Need(need)) => Ok(ExecutorStep::Need(need)),
                    Err(Then::Commit) => return self.commit(exchange),
                    Err(Then::Send) => return self.send_history(exchange),
                },
                None => match &mut work.job {
                    RequestedJob::Execute(execution) => {
                        resume(execution, transaction, &mut self.given, exchange, answer)
                    }
                    RequestedJob::Scan(scan) => scan.resume(transaction, &exchange.shared.contention, answer),
                    RequestedJob::Commit => {
                        let to_commit = work.to_commit.as_ref().expect("a commit that runs is tried again");
                        work.settling = Some(SettlingItems::lock_again(to_commit));
                        continue;
                    }
                },
            };
            match step {
                Ok(ExecutorStep::Done) => return self.ran(None, exchange),
                Ok(ExecutorStep::Check | ExecutorStep::Gathered) => {
                    unreachable!("a program looks at its foreign keys itself")
                }
                Ok(ExecutorStep::Need(ExecutorNeed::Chunk | ExecutorNeed::Claim(..) | ExecutorNeed::Block(..)))
                    if transaction.is_guest() =>
                {
                    return self.leave(exchange);
                }
                Ok(ExecutorStep::Need(
                    need @ (ExecutorNeed::Claim(..) | ExecutorNeed::Block(..) | ExecutorNeed::Chunk),
                )) => {
                    let ahead = committed_ahead(need, transaction, exchange.shared.planted);
                    return begin_chunk(work, Arc::new(ahead), exchange);
                }
                Ok(ExecutorStep::Need(_)) if transaction.is_guest() && work.takes_long(transaction) => {
                    return self.leave(exchange);
                }
                Ok(ExecutorStep::Need(need)) => {
                    work.needs += 1;
                    let Some(need) = unsettled(work, transaction, need, exchange) else { continue };
                    let passes_own = planted!(exchange.shared.planted, OwnWritesPassed);
                    let answer = match reads::answer_at_once(&need, transaction) {
                        Some(answer) if !passes_own => Ok(Some(answer)),
                        own => work.job.answer_ahead(&need, transaction).map(|ahead| ahead.or(own)),
                    };
                    match answer {
                        Ok(Some(answer)) => event = answer,
                        Ok(None) => {
                            work.waits = Waits::Read(ReadState::begin(need, transaction, exchange));
                            return;
                        }
                        Err(failure) => return self.ran(Some(failure), exchange),
                    }
                }
                Err(failure) => return self.ran(Some(failure), exchange),
            }
        }
    }

    /// The statement has run: well, or it has failed.
    fn ran(&mut self, failure: Option<Failure>, exchange: &mut SessionExchange) {
        match failure {
            Some(Failure::Conflict { conflict }) => return self.lost(conflict, exchange),
            // It may have failed by what others did before it, which is not committed yet.
            Some(_) if self.parts().1.is_guest() => return self.leave(exchange),
            Some(failure @ (Failure::Unavailable { .. } | Failure::Cancelled | Failure::Unknown { .. })) => {
                return self.give_up(failure, exchange);
            }
            // A commit that fails leaves nothing open.
            Some(failure) if matches!(self.parts().0.job, RequestedJob::Commit) => {
                return self.give_up(failure, exchange);
            }
            _ => {}
        }
        let (work, transaction) = self.parts();
        // Where a commit follows, it validates what was read. A failure is told without one, and so is what was to be confirmed.
        let is_told = failure.is_some() || work.job.is_confirmation();
        let has_peeked = std::mem::take(&mut transaction.has_peeked);
        let unconfirmed = !transaction.is_snapshot() && planted!(exchange.shared.planted, ReadSnapshotUnconfirmed);
        let at_snapshot = transaction.reads_snapshot() && !unconfirmed;
        let tells_reads = transaction.has_read && (at_snapshot || is_told || has_peeked);
        match transaction.epoch_read() {
            Some(epoch) if tells_reads => {
                let tag = exchange.tag();
                exchange.service(ServiceRequest::CheckAfter { tag, epoch });
                work.waits = Waits::After { tag, failure };
            }
            _ => self.settle(failure, exchange),
        }
    }

    /// What has come of the statement may be told; or first committed, when it is a transaction of its own that writes.
    fn settle(&mut self, failure: Option<Failure>, exchange: &mut SessionExchange) {
        let (work, _) = self.parts();
        if std::mem::take(&mut work.commits_next) {
            work.job = RequestedJob::Commit;
            return match failure {
                Some(failure) => self.give_up(failure, exchange),
                None => self.commit(exchange),
            };
        }
        let (_, transaction) = self.parts();
        let (explicit, begun) = (transaction.explicit, transaction.identity.is_some());
        transaction.answered = true;
        if failure.is_some() {
            transaction.fail_statement();
        } else if !explicit && begun {
            return self.program_ended(exchange);
        }
        if !explicit {
            self.end_transaction(exchange);
        }
        match failure {
            Some(failure) => self.finish(SessionReply::Failed(failure), exchange),
            None => self.succeed(CommitReceipt::Nothing, exchange),
        }
    }

    /// A program that is a transaction of its own has ended well: others may go on in that, or it commits.
    pub(crate) fn program_ended(&mut self, exchange: &mut SessionExchange) {
        if !self.hand_on(exchange) {
            self.commit(exchange);
        }
    }

    pub(crate) fn succeed(&mut self, receipt: CommitReceipt, exchange: &mut SessionExchange) {
        self.leave_statement_snapshot(exchange);
        let work = self.work.take().expect("a request is under way");
        exchange.reply(work.reply_to, work.job.reply(receipt));
    }

    /// The transaction, or a chunk, has committed.
    pub fn committed(
        &mut self,
        id: TransactionId,
        timestamp: Timestamp,
        receipt: CommitReceipt,
        exchange: &mut SessionExchange,
    ) {
        exchange.unfollow(id);
        let work = self.work.as_mut().expect("a request is under way");
        match std::mem::replace(&mut work.waits, Waits::Nothing) {
            Waits::Commit { sent_at, .. } => {
                exchange.shared.counts.committed(exchange.now.boot.saturating_sub(sent_at));
                self.lost_age = None;
                self.succeed(receipt, exchange);
            }
            Waits::ChunkCommit { chunk, .. } => {
                work.tries = 0;
                work.deadline = exchange.now.boot + SERVICE_PATIENCE;
                if is_claim(&chunk) && is_of_numbers(&chunk) {
                    self.parts().1.note_claim(timestamp);
                }
                self.run(ExecutorEvent::ChunkCommitted, exchange);
            }
            waits => unreachable!("committed while {waits:?}"),
        }
    }

    /// The transaction, or a chunk, has aborted.
    pub fn aborted(&mut self, id: TransactionId, conflict: Conflict, exchange: &mut SessionExchange) {
        exchange.unfollow(id);
        let work = self.work.as_mut().expect("a request is under way");
        match std::mem::replace(&mut work.waits, Waits::Nothing) {
            Waits::Commit { ahead, age, is_joint, .. } if ahead.is_empty() => {
                self.lost_age = Some(age);
                if conflict.kind == ConflictKind::EpochChanged && work.tries == 0 {
                    // However long the change took, it is tried once.
                    work.deadline = exchange.now.boot + SERVICE_PATIENCE;
                }
                if is_joint {
                    self.note_joint_loss(exchange);
                }
                self.lost(conflict, exchange);
            }
            Waits::Commit { ahead, age, .. } => {
                self.lost_age = Some(age);
                exchange.lost(&conflict);
                exchange.drop_storages(ahead);
                let failure = storages_used_up(work, conflict);
                self.finish(SessionReply::Failed(failure), exchange);
            }
            Waits::ChunkCommit { chunk, .. } if is_claim(&chunk) && conflict.kind == ConflictKind::StaleRead => {
                if !is_of_numbers(&chunk) {
                    return self.run(ExecutorEvent::BlockLost, exchange);
                }
                self.ran(Some(numbers_taken()), exchange);
            }
            Waits::ChunkCommit { chunk, .. } => match work.delay(exchange) {
                Some(0) => begin_chunk(work, chunk, exchange),
                Some(delay) => {
                    let until = exchange.now.boot + delay;
                    let chunk = Some(chunk);
                    exchange.wake_at(until);
                    work.waits = Waits::Delay { until, chunk };
                }
                None => self.lost(conflict, exchange),
            },
            waits => unreachable!("aborted while {waits:?}"),
        }
    }

    /// The transaction has lost a conflict: it is tried again where the client knows nothing of it, else it is over.
    pub(crate) fn lost(&mut self, conflict: Conflict, exchange: &mut SessionExchange) {
        exchange.lost(&conflict);
        self.keep_age();
        if let Some(transaction) = &mut self.transaction
            && transaction.is_guest()
        {
            exchange.shared.companions.lost(transaction, &conflict);
            self.note_joint_loss(exchange);
        }
        self.stop_waiting(exchange);
        if let (ConflictKind::IncrementRefused, Some(item)) = (conflict.kind, &conflict.item) {
            exchange.shared.increment_worth.refused(item.table);
        }
        self.try_again(conflict, exchange);
    }

    /// What has lost a conflict is tried again where the client knows nothing of it, else it is over.
    pub(crate) fn try_again(&mut self, conflict: Conflict, exchange: &mut SessionExchange) {
        for (table, read) in self.transaction.iter_mut().flat_map(ExecutingTransaction::take_incremented) {
            exchange.shared.increment_worth.note(table, read);
        }
        let work = self.work.as_mut().expect("a request is under way");
        let commits_again = work.can_commit_again(&conflict);
        if conflict.kind == ConflictKind::IncrementRefused {
            work.reads_all = true;
        }
        let forgets = planted!(exchange.shared.planted, UsedStoragesFilled);
        let used_up = self.transaction.as_ref().is_some_and(|transaction| match forgets {
            false => transaction.is_used_up(),
            true => !transaction.ahead().is_empty(),
        });
        // An explicit transaction comes here with its transaction, or from its commit without one.
        let again = match (&self.transaction, &work.job) {
            (_, RequestedJob::Commit) => commits_again,
            (Some(transaction), _) => !transaction.explicit || transaction.is_snapshot() && !transaction.answered,
            (None, _) => true,
        };
        if used_up && again {
            let failure = storages_used_up(work, conflict);
            return self.give_up(failure, exchange);
        }
        // A change of epochs is no rival that should be let pass.
        let changed = self.transaction.is_none() && conflict.kind == ConflictKind::EpochChanged;
        let Some(delay) = work.delay(exchange).filter(|_| again).map(|delay| if changed { 0 } else { delay }) else {
            return self.give_up(Failure::Conflict { conflict }, exchange);
        };
        work.start_over();
        if delay > 0 {
            let until = exchange.now.boot + delay;
            work.waits = Waits::Delay { until, chunk: None };
            exchange.wake_at(until);
        }
        let time_micros = work.time_micros;
        let to_commit = work.to_commit.clone();
        if let Some(transaction) = &mut self.transaction {
            release(transaction, exchange);
        }
        match (&mut self.transaction, to_commit) {
            (transaction, Some(ToCommit { history, locks })) => {
                let planted = exchange.shared.planted;
                *transaction = Some(ExecutingTransaction::of_history(&history, &locks, time_micros, planted));
            }
            (Some(transaction), None) => transaction.start_over(),
            (none, None) => *none = Some(ExecutingTransaction::new(AccessMode::ReadWrite, false, time_micros)),
        }
        if delay == 0 {
            self.begin(exchange);
        }
    }

    /// The moment for another try may have come.
    pub fn woken(&mut self, exchange: &mut SessionExchange) {
        let Some(work) = &mut self.work else { return };
        match &mut work.waits {
            Waits::Delay { until, chunk } if *until <= exchange.now.boot => match chunk.take() {
                Some(chunk) => begin_chunk(work, chunk, exchange),
                None => self.begin(exchange),
            },
            _ => {}
        }
    }
}

/// Goes on with a program.
fn resume(
    execution: &mut ProgramExecution,
    transaction: &mut ExecutingTransaction,
    given: &mut Given,
    exchange: &mut SessionExchange,
    event: ExecutorEvent,
) -> Result<ExecutorStep, Failure> {
    let shared = &mut *exchange.shared;
    let numbers = NumberSources {
        generator: &shared.generator,
        hidden_keys: &mut shared.hidden_keys,
        sequences: &mut shared.sequences,
    };
    execution.resume(transaction, given, numbers, &shared.increment_worth, shared.rules, event)
}

/// What is needed next, unless something else has to be settled before it.
fn unsettled(
    work: &mut DriverRequest,
    transaction: &mut ExecutingTransaction,
    need: ExecutorNeed,
    exchange: &mut SessionExchange,
) -> Option<ExecutorNeed> {
    if let ExecutorNeed::Item(item, _) | ExecutorNeed::ItemUnlessTaken(item, _) = &need {
        transaction.note_wanted(item);
    }
    if work.settling.is_none() {
        let left = reads::to_settle(&need, transaction);
        if !left.is_empty() {
            left.iter().filter_map(ExecutorNeed::item).for_each(|item| transaction.note_wanted(&item));
            settle_first(work, transaction, SettlingItems { left, then: Then::Need(need) }, exchange);
            return None;
        }
    }
    Some(need)
}
