//! A session's request under way: what was asked, which answer is awaited, and how often it has been tried.
//!
//! Invariant: an answer that is no longer wanted is forgotten ([`Waits::forget`]), so that it cannot reach what comes after.

use crate::exchange::SessionExchange;
use crate::execution::ProgramExecution;
use crate::limits::{JOINT_LOSSES_MAX, JOINT_NEEDS_MAX, RETRY_DELAY_FIRST, RETRY_DELAY_MAX};
use crate::need::{ExecutorEvent, ExecutorNeed};
use crate::reads::ReadState;
use crate::scan::ScanJob;
use crate::settling::{SettlingItems, ToCommit};
use crate::transaction::{ExecutingTransaction, RequestReads};
use messages::limits::SERVICE_PATIENCE;
use messages::session::{CommitReceipt, Failure, SessionReply};
use messages::{Age, ChangedRows, History, Now, ServerKind, TableId, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A request under way.
#[derive(Debug, Serialize, Deserialize)]
pub struct DriverRequest {
    /// Who asked.
    pub(crate) reply_to: ServerKind,
    /// What was asked.
    pub(crate) job: RequestedJob,
    /// The answer awaited.
    pub(crate) waits: Waits,
    /// When its transaction began: microseconds since 1970.
    pub(crate) time_micros: i64,
    /// It is not tried again after this (boot clock).
    pub(crate) deadline: u64,
    pub(crate) tries: u32,
    /// What is made a write of before anything else goes on.
    pub(crate) settling: Option<SettlingItems>,
    /// What the statements of an explicit transaction have left to be committed, once its commit may be lost without their fault.
    pub(crate) to_commit: Option<ToCommit>,
    /// Whether an increment was refused, so that the next try reads.
    pub(crate) reads_all: bool,
    /// How often it has lost a transaction that others ran in, too; or it has left one, and counts as if it had lost too many.
    pub(crate) joint_losses: u32,
    /// Rows and batches that this try has needed.
    pub(crate) needs: u32,
    /// Whether the transaction commits when the job is done: it looks at what was put off until then.
    pub(crate) commits_next: bool,
}

/// What was asked.
#[derive(Debug, Serialize, Deserialize)]
pub enum RequestedJob {
    /// Run a program.
    Execute(Box<ProgramExecution>),
    /// Read a batch of rows.
    Scan(Box<ScanJob>),
    /// Commit.
    Commit,
}

/// The answer awaited.
#[derive(Debug, Serialize, Deserialize)]
pub enum Waits {
    /// None: only while an event is handled.
    Nothing,
    /// Whether the site may serve.
    Service { tag: u64 },
    /// An identifier, or a snapshot.
    Begin { tag: u64 },
    /// A row or rows.
    Read(ReadState),
    /// Whether all leases hold; then the statement has succeeded or failed so.
    After { tag: u64, failure: Option<Failure> },
    /// Whether the site may serve, so that what it did not hold leases for is confirmed once more.
    Again { tag: u64 },
    /// Whether what the transaction adds can be committed as it is.
    Increments { tag: u64 },
    /// The outcome of the transaction.
    Commit {
        transaction: TransactionId,
        /// The program's own age.
        age: Age,
        /// Whether programs of other sessions have run in it.
        is_joint: bool,
        /// What to drop should it abort.
        ahead: BTreeSet<TableId>,
        /// What it changes, should nobody wait for the outcome.
        changed: Option<ChangedRows>,
        /// When (boot clock).
        sent_at: u64,
    },
    /// The outcome of a transaction that the programs of other sessions run in as well, or have run in; and what it changed until then.
    Joint { transaction: TransactionId, changed: Option<ChangedRows> },
    /// An identifier for a chunk.
    ChunkBegin { tag: u64, chunk: Arc<History> },
    /// The outcome of a chunk.
    ChunkCommit { transaction: TransactionId, chunk: Arc<History> },
    /// The moment for another try: of the chunk, or of everything.
    Delay { until: u64, chunk: Option<Arc<History>> },
}

impl DriverRequest {
    /// A request that has just come.
    pub fn new(reply_to: ServerKind, job: RequestedJob, time_micros: i64, now: Now) -> DriverRequest {
        DriverRequest {
            reply_to,
            job,
            waits: Waits::Nothing,
            time_micros,
            deadline: now.boot + SERVICE_PATIENCE,
            tries: 0,
            settling: None,
            to_commit: None,
            reads_all: false,
            joint_losses: 0,
            needs: 0,
            commits_next: false,
        }
    }

    /// From the beginning.
    pub(crate) fn start_over(&mut self) {
        self.settling = None;
        self.needs = 0;
        self.job.start_over();
    }

    /// Whether it runs in a transaction of its own, and lets nobody into that.
    pub(crate) fn is_alone(&self) -> bool {
        self.joint_losses >= JOINT_LOSSES_MAX
    }

    /// Whether those that have run in the transaction before should not wait for it any longer.
    pub(crate) fn takes_long(&self, transaction: &ExecutingTransaction) -> bool {
        self.needs >= JOINT_NEEDS_MAX || transaction.is_large()
    }

    /// Waits before the next try: not at all before the first retry, then longer and longer. `None`: it has taken too long.
    pub(crate) fn delay(&mut self, exchange: &SessionExchange) -> Option<u64> {
        if exchange.now.boot >= self.deadline {
            return None;
        }
        self.tries += 1;
        let Some(doublings) = self.tries.checked_sub(2) else { return Some(0) };
        let delay = RETRY_DELAY_MAX.min(RETRY_DELAY_FIRST << doublings.min(16));
        // Up to half as much again, so that two that met do not meet again.
        Some(delay + exchange.shared.generator.next() % (delay / 2))
    }
}

impl RequestedJob {
    /// Whether it does nothing but confirm what the schema is.
    pub fn is_confirmation(&self) -> bool {
        matches!(self, RequestedJob::Execute(execution) if execution.is_confirmation())
    }

    /// What it reads. What confirms the schema looks at the newest.
    pub(crate) fn reads(&self) -> RequestReads {
        match self {
            RequestedJob::Execute(execution) if execution.is_read_only() && !execution.is_confirmation() => {
                RequestReads::Statement
            }
            RequestedJob::Execute(execution) if execution.locks_tables() => RequestReads::Locked,
            RequestedJob::Scan(scan) => scan.reads(),
            RequestedJob::Execute(_) | RequestedJob::Commit => RequestReads::Newest,
        }
    }

    /// Whether it copies all of a table.
    pub(crate) fn rebuilds(&self) -> bool {
        matches!(self, RequestedJob::Execute(execution) if execution.rebuilds())
    }

    /// Whether it commits what statements have done before.
    pub(crate) fn is_commit(&self) -> bool {
        matches!(self, RequestedJob::Commit)
    }

    /// Answers a need with what was read before the program began. Errors: a lost conflict, or a transaction that has become too large.
    pub(crate) fn answer_ahead(
        &mut self,
        need: &ExecutorNeed,
        transaction: &mut ExecutingTransaction,
    ) -> Result<Option<ExecutorEvent>, Failure> {
        match self {
            RequestedJob::Execute(execution) => execution.answer_ahead(need, transaction),
            RequestedJob::Scan(_) | RequestedJob::Commit => Ok(None),
        }
    }

    pub(crate) fn start_over(&mut self) {
        match self {
            RequestedJob::Execute(execution) => execution.start_over(),
            RequestedJob::Scan(scan) => scan.start_over(),
            RequestedJob::Commit => {}
        }
    }

    /// What [`RequestedJob::reply`] will be.
    pub(crate) fn reply_if_committed(&self, receipt: CommitReceipt) -> SessionReply {
        match self {
            RequestedJob::Execute(execution) => {
                let results = execution.results();
                SessionReply::Executed { rows: results.rows.clone(), affected: results.affected }
            }
            RequestedJob::Scan(_) | RequestedJob::Commit => SessionReply::Committed { receipt },
        }
    }

    pub(crate) fn reply(self, receipt: CommitReceipt) -> SessionReply {
        match self {
            RequestedJob::Execute(execution) => {
                let results = execution.into_results();
                SessionReply::Executed { rows: results.rows, affected: results.affected }
            }
            RequestedJob::Scan(scan) => scan.into_reply(),
            RequestedJob::Commit => SessionReply::Committed { receipt },
        }
    }
}

impl Waits {
    /// The answer is no longer wanted. What was committed ahead by a chunk still under way is dropped after it.
    pub(crate) fn forget(self, transaction: Option<&mut ExecutingTransaction>, exchange: &mut SessionExchange) {
        match self {
            Waits::Nothing | Waits::Delay { .. } | Waits::Joint { .. } => {}
            Waits::Service { tag }
            | Waits::Begin { tag }
            | Waits::After { tag, .. }
            | Waits::Again { tag }
            | Waits::Increments { tag }
            | Waits::ChunkBegin { tag, .. } => {
                exchange.forget_tag(tag);
            }
            Waits::Read(reading) => reading.forget(exchange),
            Waits::Commit { transaction, ahead, .. } => exchange.drop_after(transaction, ahead, false),
            Waits::ChunkCommit { transaction: chunk, .. } => {
                let ahead = transaction.map(ExecutingTransaction::take_ahead).unwrap_or_default();
                exchange.drop_after(chunk, ahead, true);
            }
        }
    }
}
