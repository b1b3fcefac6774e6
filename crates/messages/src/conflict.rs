//! Why a transaction lost: the kind of conflict and the item, for SQLSTATE 40001's detail, counters and retries.

use crate::item::Item;
use identifiers::TransactionId;
use serde::{Deserialize, Serialize};

/// The kind of conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ConflictKind {
    /// Waiting would have closed a circle of waits at the home site (SQLSTATE 40P01).
    Deadlock,
    /// An item or range that was read has changed since.
    StaleRead,
    /// A transaction of another site that has been prepared took the item first.
    PreparedElsewhere,
    /// Several prepared transactions met at a site, and this one is the younger.
    YoungerDies,
    /// The epoch changed before every site had prepared it.
    EpochChanged,
    /// A site is no longer allowed to vote for it: sealed, or its identifier is below the mark.
    Refused,
    /// The table's definition changed while the transaction ran.
    SchemaChanged,
    /// The range read is so old that deletions in it may have been forgotten.
    TooOld,
    /// The client's session ended or asked to cancel.
    Cancelled,
    /// An older transaction of another site has waited long to access the item, and goes first.
    OlderWaits,
    /// Something cannot be added to unread just now: the sum could leave the column's range, or it is stale in a member's copy. An
    /// ordinary write can do it.
    IncrementRefused,
    /// The snapshot of a read-only transaction was given up, because the versions kept for it took too much memory (SQLSTATE 72000).
    SnapshotGivenUp,
    /// A program that ran in the same transaction, to be committed with it, was ended by its client.
    CompanionGone,
    /// It came too late for its place in the order that the site keeps among executing transactions: one behind it was there first.
    LateAccess,
    /// At REPEATABLE READ, something was committed since the transaction's snapshot that it was about to change, or to change something by.
    ChangedSinceSnapshot,
}

impl ConflictKind {
    /// Every kind, for counters and tests.
    pub const ALL: [ConflictKind; 15] = [
        ConflictKind::Deadlock,
        ConflictKind::StaleRead,
        ConflictKind::PreparedElsewhere,
        ConflictKind::YoungerDies,
        ConflictKind::EpochChanged,
        ConflictKind::Refused,
        ConflictKind::SchemaChanged,
        ConflictKind::TooOld,
        ConflictKind::Cancelled,
        ConflictKind::OlderWaits,
        ConflictKind::IncrementRefused,
        ConflictKind::SnapshotGivenUp,
        ConflictKind::CompanionGone,
        ConflictKind::LateAccess,
        ConflictKind::ChangedSinceSnapshot,
    ];

    /// Its name, as `raid.contention` shows it.
    pub fn name(self) -> &'static str {
        match self {
            ConflictKind::Deadlock => "deadlock",
            ConflictKind::StaleRead => "stale read",
            ConflictKind::PreparedElsewhere => "prepared elsewhere",
            ConflictKind::YoungerDies => "younger dies",
            ConflictKind::EpochChanged => "epoch changed",
            ConflictKind::Refused => "refused",
            ConflictKind::SchemaChanged => "schema changed",
            ConflictKind::TooOld => "too old",
            ConflictKind::Cancelled => "cancelled",
            ConflictKind::OlderWaits => "older waits",
            ConflictKind::IncrementRefused => "increment refused",
            ConflictKind::SnapshotGivenUp => "snapshot given up",
            ConflictKind::CompanionGone => "companion gone",
            ConflictKind::LateAccess => "late access",
            ConflictKind::ChangedSinceSnapshot => "changed since snapshot",
        }
    }

    /// In a few words, as the detail of an error says it.
    pub fn describe(self) -> &'static str {
        match self {
            ConflictKind::Deadlock => "deadlock",
            ConflictKind::StaleRead => "changed since it was read",
            ConflictKind::PreparedElsewhere => "taken by a transaction of another site",
            ConflictKind::YoungerDies => "an older transaction is committing",
            ConflictKind::EpochChanged => "the set of sites changed during the commit",
            ConflictKind::Refused => "a site refused to vote",
            ConflictKind::SchemaChanged => "the table's definition changed",
            ConflictKind::TooOld => "the read is too old to be checked",
            ConflictKind::Cancelled => "cancelled",
            ConflictKind::OlderWaits => "an older transaction has waited for it for long",
            ConflictKind::IncrementRefused => "cannot be added to without being read at this moment",
            ConflictKind::CompanionGone => "a program that was to commit with it was cancelled",
            ConflictKind::LateAccess => {
                "a transaction that comes later in the order of this site has accessed it already"
            }
            ConflictKind::ChangedSinceSnapshot => "changed since the transaction's snapshot",
            ConflictKind::SnapshotGivenUp => {
                "given up as the oldest snapshot, because row versions kept for readers took more memory than this site gives them"
            }
        }
    }

    /// What who has lost so may do, in a sentence or two.
    pub fn advice(self) -> &'static str {
        match self {
            ConflictKind::Deadlock => {
                "The transaction might succeed if retried. Transactions that use rows in the same order, or read FOR UPDATE what they write \
                 later, do not deadlock."
            }
            ConflictKind::StaleRead => {
                "The transaction might succeed if retried. If it is lost often on this row, read the row FOR UPDATE, or change it in one \
                 statement; raid.contention counts."
            }
            ConflictKind::PreparedElsewhere | ConflictKind::YoungerDies | ConflictKind::OlderWaits => {
                "The transaction might succeed if retried: it keeps its age, so that it goes before others in the end. If this row is \
                 wanted often, keep transactions short that write it, or run them at one site; raid.contention counts."
            }
            ConflictKind::EpochChanged | ConflictKind::Refused => {
                "Nothing of the transaction remains. Retry it; if this site has left the set of sites, connect to another one."
            }
            ConflictKind::SchemaChanged | ConflictKind::IncrementRefused | ConflictKind::CompanionGone => {
                "The transaction might succeed if retried."
            }
            ConflictKind::LateAccess => {
                "The transaction might succeed if retried: it then comes last in the order. If it is lost often, access rows that many use early \
                 in the transaction, or choose another concurrency-control method for this site."
            }
            ConflictKind::ChangedSinceSnapshot => {
                "The transaction might succeed if retried. Rows that are read FOR UPDATE in its first statement are lost less often."
            }
            ConflictKind::TooOld => "Retry the transaction, and let less time pass between its first read and its end.",
            ConflictKind::Cancelled => "Nothing of the transaction remains.",
            ConflictKind::SnapshotGivenUp => {
                "Run the transaction again, in less time or in smaller parts, or while less is written; or give the site more memory \
                 (memory_mb in its configuration)."
            }
        }
    }
}

/// A lost conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// What kind.
    pub kind: ConflictKind,
    /// On what, when it is one item (for a range, its low end).
    pub item: Option<Box<Item>>,
    /// Against whom, when known.
    pub other: Option<TransactionId>,
}

impl Conflict {
    /// A conflict of this kind, nothing else known.
    pub fn of(kind: ConflictKind) -> Conflict {
        Conflict { kind, item: None, other: None }
    }

    /// A conflict of this kind on an item, against whom, when known.
    pub fn on(item: Item, kind: ConflictKind, other: Option<TransactionId>) -> Conflict {
        Conflict { kind, item: Some(Box::new(item)), other }
    }
}
