//! Why a transaction lost: the kind of conflict and the item, for SQLSTATE 40001's detail, counters and retries.

use crate::identifiers::TransactionId;
use crate::item::Item;
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
    /// Something cannot be added to unread just now: the sum could leave the column's range, or a member's copy is not complete. An
    /// ordinary write can do it.
    IncrementRefused,
}

impl ConflictKind {
    /// Every kind, for counters and tests.
    pub const ALL: [ConflictKind; 11] = [
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
    ];

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
        }
    }
}

/// A lost conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// What kind.
    pub kind: ConflictKind,
    /// On what, when it is one item (for a range, its low end).
    pub item: Option<Item>,
    /// Against whom, when known.
    pub other: Option<TransactionId>,
}

impl Conflict {
    /// A conflict of this kind, nothing else known.
    pub fn of(kind: ConflictKind) -> Conflict {
        Conflict { kind, item: None, other: None }
    }
}
