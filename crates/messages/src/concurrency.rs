//! To and from the concurrency controller: locks while executing, commit-locks while committing, readers of snapshots.
//!
//! All of it stays within a site: nothing is lost or repeated.

use crate::conflict::Conflict;
use crate::item::{History, Item, KeyRange, Row};
use crate::key::Key;
use crate::method::MethodReport;
pub use crate::method::{Method, SwitchStrategy};
use crate::timestamp::{Age, Timestamp};
use identifiers::TransactionId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What an access names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessTarget {
    /// One item, present or not.
    Item(Item),
    /// Everything between two keys, present or not.
    Range(Box<KeyRange>),
}

/// How an executing transaction is about to use a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessKind {
    /// To read it.
    Read,
    /// To write it, or read it for update.
    Write,
    /// To add to it without reading it: with others that do the same.
    Increment,
}

impl AccessKind {
    /// Whether who may use something so may use it in the other way, too.
    pub fn covers(self, wanted: AccessKind) -> bool {
        self == AccessKind::Write || self == wanted
    }

    /// What allows both ways of use.
    pub fn join(self, other: AccessKind) -> AccessKind {
        if self == other { self } else { AccessKind::Write }
    }
}

/// What an access does that cannot be granted at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessWait {
    /// It waits.
    Waits,
    /// It is answered `LockBusy` instead, and nothing: as if it had not been asked for.
    Never,
    /// It is a lock that its client wants only if nobody else has it (`SKIP LOCKED`, `NOWAIT`): `LockTaken` if another executing transaction has accessed the
    /// target in a conflicting mode, or one that is being prepared has a commit-lock on it, *whatever the method*. It may wait for its turn, if
    /// the method gives turns.
    UnlessTaken,
}

/// To the concurrency controller.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ConcurrencyRequest {
    /// Action driver: may this executing transaction access the target? Answered `LockReply`, after a wait where the method waits. Whatever the
    /// method, an access of something that is commit-locked in a conflicting mode waits for that outcome; `LockBusy` says so at once. A
    /// transaction has at most one access under way. Never granted again once the transaction was doomed. One that is not to be had from others
    /// ([`AccessWait::UnlessTaken`]) is answered `LockReply` or `LockTaken`.
    Lock {
        /// Who asks. Known from its first access to its `Finish`.
        transaction: TransactionId,
        /// Its age.
        age: Age,
        /// What it wants.
        target: AccessTarget,
        /// How.
        kind: AccessKind,
        /// Whether it may wait.
        wait: AccessWait,
        /// Whether younger transactions die rather than take it, from now until who asks has ended: what would lose it again and again otherwise.
        precedence: bool,
    },
    /// Action driver: this executing transaction is about to access these items, in this order. Granted are those before the first for which it would
    /// have to wait, or be refused; that one and those behind it are as if they had not been asked for. Answered `LockPrefetchReply`.
    LockPrefetch {
        /// Who asks.
        transaction: TransactionId,
        /// Its age.
        age: Age,
        /// What it wants, and how.
        accesses: Vec<(Item, AccessKind)>,
    },
    /// Action driver: this executing transaction is about to read or write these items, to which it may only add so far and which it has not seen.
    /// Its permission to add to them ends, or two that do this would wait for each other. Not answered, known or not.
    GiveUp {
        /// Who.
        transaction: TransactionId,
        /// What it may add to.
        items: Vec<Item>,
    },
    /// Action driver: whatever this executing transaction has been granted belongs to another one, which executes, too, and waits for
    /// nothing; what it waits for it wants no more, and it has ended. Not answered.
    HandOver {
        /// Who.
        transaction: TransactionId,
        /// To whom.
        to: TransactionId,
    },
    /// Atomicity controller: commit-lock the whole read set (shared), write set (exclusive) and what is added to (with others that add), ranges
    /// too, whatever the method. Answered
    /// `CommitLockReply`: at once; or later, when the transaction is older than the prepared ones it conflicts with
    /// and so waits; it dies when it is younger than a prepared one or than one that waits. Executing transactions of this
    /// site that conflict are doomed, not waited for.
    CommitLock {
        /// Who.
        transaction: TransactionId,
        /// Its age.
        age: Age,
        /// What it read and wrote.
        history: Arc<History>,
        /// Executing transactions that it consists of, if those are several. They are not in its way, and keep what they have accessed until each
        /// is finished or commit-locked by itself. One of them that is doomed dooms it.
        gathered: Vec<TransactionId>,
    },
    /// Atomicity controller: the site has voted yes for this commit-locked transaction, with this proposed clock.
    Voted {
        /// Who.
        transaction: TransactionId,
        /// The proposed commit timestamp, its epoch and clock.
        proposal: Timestamp,
    },
    /// Action driver (never prepared) or atomicity controller (decision logged, writes installed): drop everything the transaction holds or
    /// waits for. Not answered, known or not.
    Finish {
        /// Who.
        transaction: TransactionId,
        /// Whether it has committed, as far as is known: for what is counted, and for nothing else.
        committed: bool,
    },
    /// Action driver: a snapshot reader is about to read the target at `snapshot`. Answered `SnapshotReply` once no transaction that
    /// holds an exclusive commit-lock on it *now* with a proposal at or below `snapshot` is undecided. (Later ones
    /// get later timestamps.) A commit-lock not yet voted for is passed over: its proposal will lie above.
    SnapshotAccess {
        /// Names the access.
        tag: u64,
        /// What it reads.
        target: AccessTarget,
        /// At which timestamp.
        snapshot: Timestamp,
    },
    /// Action driver: the reader no longer wants an answer.
    ForgetSnapshot {
        /// Names the access.
        tag: u64,
    },
    /// Access manager: these settings are installed here, by a commit or a copy: rows of the catalog as they are from now on. They come in the order in
    /// which they are installed, and never an older version of a row, but where a copy replaces what never committed. The site, before it serves: all
    /// that there are after a replay. Not answered.
    Settings {
        /// Key and row; no row: the setting is gone.
        rows: Vec<(Key, Option<Row>)>,
        /// The site begins its life: nothing has executed, and nothing is switched.
        begins: bool,
    },
    /// Action driver: which method is in force, and what has been switched? Answered `MethodReply`.
    Method {
        /// Handed back.
        tag: u64,
    },
}

/// From the concurrency controller.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ConcurrencyReply {
    /// To the action driver.
    LockReply {
        /// Who asked.
        transaction: TransactionId,
        /// `None`: granted. Otherwise the transaction must abort.
        conflict: Option<Conflict>,
    },
    /// To the action driver: somebody else has what this access wants. If it may wait, `LockReply` follows; otherwise it is as if it had
    /// not been asked for.
    LockBusy {
        /// Who asked.
        transaction: TransactionId,
    },
    /// To the action driver: somebody else has what this access wanted only if nobody has it. It is as if it had not been asked for.
    LockTaken {
        /// Who asked.
        transaction: TransactionId,
    },
    /// To the action driver.
    LockPrefetchReply {
        /// Who asked.
        transaction: TransactionId,
        /// So many, from the first on, are granted.
        granted: u32,
    },
    /// To the action driver, unasked: a prepared transaction took what this executing one had accessed; it must abort. At most once
    /// a transaction; after it no access is answered with a grant.
    Doomed {
        /// Who.
        transaction: TransactionId,
        /// Why.
        conflict: Conflict,
    },
    /// To the atomicity controller.
    CommitLockReply {
        /// Who.
        transaction: TransactionId,
        /// `None`: locked. Otherwise nothing is held.
        conflict: Option<Conflict>,
    },
    /// To the action driver.
    SnapshotReply {
        /// Names the access.
        tag: u64,
    },
    /// To the action driver.
    MethodReply {
        /// Handed back.
        tag: u64,
        /// What it asked for.
        report: Box<MethodReport>,
    },
}
