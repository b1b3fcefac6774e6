//! Distributed commit: between atomicity controllers, and with the servers of their own site.
//!
//! `Prepare`, `Vote`, `Decide`, `DecideAck` cross sites: each may be lost, repeated, late or out of order. The sender resends until the
//! answer comes; the receiver answers a repetition with the same words.

use crate::access::StaleSet;
use crate::conflict::Conflict;
use crate::epoch::Epoch;
use crate::item::History;
use crate::last_words::HomesKnown;
use crate::session::CommitReceipt;
use crate::timestamp::{Age, Timestamp};
use identifiers::{EpochNumber, SiteId, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Between the atomicity controllers of two sites.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum CommitMessage {
    /// Home site to every other participant: vote for this. Resent to those who have not answered.
    Prepare {
        /// Which transaction.
        transaction: TransactionId,
        /// Its age.
        age: Age,
        /// Counted from 1 by the home site's life, in the order of its prepares. An order is executed at most once.
        order: u64,
        /// Every prepare of this home and incarnation with a lower order is finished: decided, and every participant knows.
        finished_below: u64,
        /// Every site whose vote counts, the home site included.
        participants: Vec<SiteId>,
        /// What it read and wrote, new values included.
        history: Arc<History>,
    },
    /// Participant to home: its vote, final; repeated word for word when asked again.
    Vote {
        /// Which transaction.
        transaction: TransactionId,
        /// Yes with the proposed clock, or no with the reason.
        vote: Vote,
    },
    /// Participant to home, in answer to a repeated prepare: this site lives, but its vote waits, for an older transaction that holds
    /// a commit-lock or for the disk. Lost: the next repetition is answered again.
    Waiting {
        /// Which transaction.
        transaction: TransactionId,
    },
    /// Home to participants: the outcome. Resent until acknowledged.
    Decide {
        /// Which transaction.
        transaction: TransactionId,
        /// The order of its prepare.
        order: u64,
        /// What became of it.
        outcome: Outcome,
    },
    /// Participant to home: these outcomes are logged here (or were long since). Sent for every `Decide`, several at once.
    DecideAck {
        /// Which transactions.
        transactions: Vec<TransactionId>,
    },
    /// Participant to home: undecided here for a while; what became of it? Answered `Decide` once it is decided.
    Inquire {
        /// Which transactions.
        transactions: Vec<TransactionId>,
    },
}

/// A site's answer to a prepare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Vote {
    /// Prepared here: logged, commit-locked, checked.
    Yes {
        /// Proposed clock: above everything this site has voted for or served.
        clock: u64,
    },
    /// Refused here, for ever.
    No {
        /// Why.
        conflict: Conflict,
    },
}

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Committed, at this timestamp.
    Commit(Timestamp),
    /// Aborted.
    Abort,
}

/// Action driver to the atomicity controller of its site; `Gathered` is the controller's own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum CommitRequest {
    /// Commit this transaction, which the action driver has executed under this identifier. Answered `Committed` or `Aborted`, exactly
    /// once, however long it takes. Sequences need not come in order.
    Commit {
        /// Which transaction.
        transaction: TransactionId,
        /// Its age.
        age: Age,
        /// What it read and wrote; it writes something.
        history: Arc<History>,
        /// `Committed` is said only once every participant has logged it. What is built on it without a conflict with it could otherwise outlive
        /// it when all lose power.
        logged_everywhere: bool,
    },
    /// This transaction has lost what it had accessed since it was to be committed: `Aborted` follows, unless its prepare has been sent, which
    /// decides then.
    Withdraw {
        /// Which transaction.
        transaction: TransactionId,
        /// To whom it has lost.
        conflict: Conflict,
    },
    /// A read-only transaction begins: note everything this site has voted for and not decided, wait for those outcomes, then
    /// answer `SnapshotBegun` with the site's clock.
    BeginSnapshot {
        /// Names the reader.
        tag: u64,
    },
    /// A new transaction identifier's age and begin: answered `Begun`. Takes the site's clock.
    Begin {
        /// Names the session.
        tag: u64,
    },
    /// Atomicity controller to itself, when transactions are ready that may leave: what waits inside the site before it is delivered first, and may make
    /// more ready, which leave with them.
    Gathered,
}

/// Atomicity controller to the action driver of its site.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum CommitReply {
    /// All voted yes in one epoch, or a resolution committed it.
    Committed {
        /// Which transaction.
        transaction: TransactionId,
        /// Its commit timestamp.
        timestamp: Timestamp,
        /// What made it durable.
        receipt: CommitReceipt,
    },
    /// Aborted, and every participant knows.
    Aborted {
        /// Which transaction.
        transaction: TransactionId,
        /// Why.
        conflict: Conflict,
    },
    /// A snapshot is fixed.
    SnapshotBegun {
        /// Names the reader.
        tag: u64,
        /// Everything committed at or below it is seen, nothing else. It does not outlive its epoch.
        snapshot: Timestamp,
    },
    /// A transaction may begin.
    Begun {
        /// Names the session.
        tag: u64,
        /// Its identifier: a new one at every try.
        transaction: TransactionId,
        /// The age, should this be the session's first try.
        age: Age,
    },
    /// Now and then: every snapshot that is still to be given out lies above this. Without it, a site that no reader is connected to
    /// would keep all versions.
    Clock {
        /// The site's clock.
        clock: Timestamp,
    },
}

/// Replication controller to the atomicity controller of its site: changing epochs (rules 7 and 8).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum EpochRequest {
    /// Stop voting, deciding by votes and answering, for good, until `Activate`. Answered `TransactionsReported`.
    Seal {
        /// The sealed epoch.
        epoch: EpochNumber,
    },
    /// Again what `Seal` answers: the seal stands.
    Report {
        /// Handed back.
        tag: u64,
    },
    /// All members' reports for this epoch: compute, log and apply the outcomes. Answered `Resolved`.
    Resolve {
        /// The new epoch.
        epoch: Arc<Epoch>,
        /// By member: what it reported.
        reports: Arc<BTreeMap<SiteId, Arc<TransactionsReport>>>,
        /// This copy takes part from this epoch on: what its log holds of transactions counts for nothing and is dropped.
        fresh: bool,
    },
    /// Every member has logged the outcomes: serve in this epoch.
    Activate {
        /// The new epoch.
        epoch: Arc<Epoch>,
    },
}

/// Atomicity controller to the replication controller of its site.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum EpochReply {
    /// Its transactions that others may not know the outcome of.
    TransactionsReported {
        /// Handed back; 0 for `Seal`.
        tag: u64,
        /// The report.
        report: Arc<TransactionsReport>,
        /// What is known of the homes whose transactions it names, if an epoch was active in this life.
        homes: Option<HomesKnown>,
    },
    /// The outcomes are logged and applied here.
    Resolved {
        /// The epoch that they were resolved for.
        epoch: EpochNumber,
        /// What the reports and the resolution name as committed and at least one member had not decided, and what is stale in a copy
        /// without it: for fail-locks.
        committed: Vec<(Timestamp, StaleSet)>,
        /// All that the reports and the resolution name as committed.
        commits: Vec<TransactionId>,
    },
    /// A transaction has committed here: for fail-locks.
    Committed {
        /// Its timestamp.
        timestamp: Timestamp,
        /// What it wrote.
        history: Arc<History>,
    },
    /// Everything with a timestamp at or below this that will ever commit in this epoch is logged here, decision included. The others are told
    /// once it is on disk.
    LoggedThrough {
        /// The epoch.
        epoch: EpochNumber,
        /// The clock in it.
        clock: u64,
    },
    /// A participant leaves a prepare unanswered: `limits::SILENT_VOTER` has passed.
    SilentVoter {
        /// Who.
        site: SiteId,
    },
}

/// What one member knows of transactions, when an epoch is sealed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionsReport {
    /// The first epoch in which this copy has taken part without a break: it counts for transactions prepared since then. After a
    /// total failure the log stands for the break. Filled in by the replication controller.
    pub joined: EpochNumber,
    /// The highest clock this site has voted for or served, so that the next epoch's clocks lie above.
    pub clock: u64,
    /// Transactions not known to be finished everywhere.
    pub transactions: BTreeMap<TransactionId, TransactionReport>,
}

/// What one member knows of one transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionReport {
    /// The epoch in which it was prepared.
    pub epoch: EpochNumber,
    /// The order of its prepare at its home site.
    pub order: u64,
    /// Whose votes count.
    pub participants: Vec<SiteId>,
    /// What is stale in a copy without it, while it is undecided here.
    pub changes: StaleSet,
    /// What is known.
    pub state: TransactionState,
}

/// What is known of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TransactionState {
    /// Voted yes, no outcome yet.
    Prepared,
    /// Voted no.
    Refused,
    /// Decided, by votes in its own epoch or by the resolution of a later one: the epoch that made the outcome.
    Decided(Outcome, EpochNumber),
}
