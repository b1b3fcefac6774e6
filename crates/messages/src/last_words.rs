//! What a life of a site leaves open when it ends and its clients stay, as the next life takes it over; and what the others know of it.
//!
//! Absence proves nothing by itself: a transaction counts as failed only where it never was sent, or where an [`OutcomeTable`] covers it and does not name it.

use crate::item::ChangedRows;
use crate::session::SessionReply;
use identifiers::{EpochNumber, Incarnation, SessionId, SiteId, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What became of the transactions of a life of a site that an epoch has lost: made by that epoch, the same at all of its members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeTable {
    /// Whose transactions.
    pub home: SiteId,
    /// Of which life.
    pub life: Incarnation,
    /// The last active epoch that it was a member of, as far as those know who have made this. What it prepared earlier its own memory knows.
    pub epoch: EpochNumber,
    /// Of what it prepared in that epoch or later, all that committed and has this order or a higher one is named.
    pub finished_below: u64,
    /// Sequences of what has committed.
    pub commits: BTreeSet<u64>,
}

/// What a member knows of the homes in the last epoch that was active there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HomesKnown {
    /// That epoch.
    pub epoch: EpochNumber,
    /// By member of it: its life, and the order below which everything is finished.
    pub homes: BTreeMap<SiteId, (Incarnation, u64)>,
}

/// A transaction that its home has sent to be voted for, by itself or in a group, and whose outcome nobody was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTransaction {
    /// As it was asked for.
    pub transaction: TransactionId,
    /// As others know it: by its group's name, if it was sent in one.
    pub sent_as: TransactionId,
    /// The order of its prepare.
    pub order: u64,
    /// The epoch in which that was sent.
    pub epoch: EpochNumber,
    /// What its home knew.
    pub testimony: Testimony,
}

/// What a home knew of a transaction when its life ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Testimony {
    /// Nothing that is final: what it has refused by itself the others may commit.
    Open,
    /// All have voted yes.
    Committed,
    /// The last epoch that it has logged has resolved it so. That is final if the epoch has become active.
    Resolved {
        /// How.
        committed: bool,
    },
}

/// What lives of a site have left open, by session; of each life that has ended in good order and is not forgotten.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LastWords {
    /// By life.
    pub lives: BTreeMap<Incarnation, BTreeMap<SessionId, LeftSession>>,
}

/// What a life has left of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftSession {
    /// So many requests of the session had come.
    pub taken: u64,
    /// What had become of the last one.
    pub request: LeftRequest,
}

/// What had become of a session's last request when its life ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LeftRequest {
    /// It was answered.
    Answered,
    /// Nothing of it can ever commit.
    Undone,
    /// It has committed: the answer.
    Committed(SessionReply),
    /// Its commit was under way.
    Doubt(Box<InDoubtCommit>),
    /// Nobody can know.
    Unknown {
        /// Which transaction.
        transaction: TransactionId,
        /// What it was to change.
        changed: Option<ChangedRows>,
    },
}

/// A commit whose outcome the others know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InDoubtCommit {
    /// Which transaction, as the client is told.
    pub transaction: TransactionId,
    /// What it was to change.
    pub changed: Option<ChangedRows>,
    /// The answer, should it have committed.
    pub reply: SessionReply,
    /// As it was sent.
    pub sent: Option<OpenTransaction>,
}
