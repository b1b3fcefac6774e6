//! What clients saw: the only thing that the checkers of consistency look at.
//!
//! Invariant: times are true times at the client; a transaction's observations are what it was told, its writes what it asked for,
//! whether or not they came about.

use crate::families::FamilyView;
use std::collections::BTreeMap;

/// Names a write: unique in a run, above 0. 0 stands for nothing written yet.
pub type WriteToken = u32;

/// What a client knows of a transaction's outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionFate {
    /// Nothing yet.
    Open,
    /// It committed.
    Committed,
    /// It did not, and never will.
    Aborted,
    /// Nobody told.
    Unknown,
}

/// Something read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// A list, without the transaction's own entries.
    List {
        /// Which.
        key: u64,
        /// Its entries.
        entries: Vec<WriteToken>,
    },
    /// A register.
    Register {
        /// Which.
        key: u64,
        /// The write seen; 0 for none.
        value: WriteToken,
    },
    /// A counter, without the transaction's own increments.
    Counter {
        /// Which.
        key: u64,
        /// The increments that it holds, in no order.
        increments: Vec<WriteToken>,
    },
    /// All members of a range.
    Members {
        /// First key.
        low: u64,
        /// Behind the last key.
        high: u64,
        /// Keys that are present and the insertions that brought them.
        present: Vec<(u64, WriteToken)>,
    },
}

/// Something written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryWrite {
    /// An entry was appended to a list.
    Append {
        /// To which.
        key: u64,
        /// The entry.
        token: WriteToken,
    },
    /// A register was overwritten by a transaction that had read it.
    Register {
        /// Which.
        key: u64,
        /// The write that was overwritten.
        before: WriteToken,
        /// The new one.
        token: WriteToken,
    },
    /// Something was added to a counter, which need not have been read.
    Increment {
        /// To which.
        key: u64,
        /// The addition.
        token: WriteToken,
    },
    /// A member came, and the entry was appended to its companion list.
    Insert {
        /// Which.
        member: u64,
        /// The entry.
        token: WriteToken,
    },
    /// A member went, and the entry was appended to its companion list.
    Delete {
        /// Which.
        member: u64,
        /// The entry.
        token: WriteToken,
    },
}

impl HistoryWrite {
    /// The entry.
    pub fn token(&self) -> WriteToken {
        match self {
            HistoryWrite::Append { token, .. }
            | HistoryWrite::Register { token, .. }
            | HistoryWrite::Increment { token, .. }
            | HistoryWrite::Insert { token, .. }
            | HistoryWrite::Delete { token, .. } => *token,
        }
    }
}

/// The list that records what became of a member: appended to by every transaction that brings or removes it.
pub fn companion(member: u64) -> u64 {
    1_000_000 + member
}

/// One transaction as its client saw it.
#[derive(Clone, Debug)]
pub struct ObservedTransaction {
    /// Which client.
    pub client: usize,
    /// At which site.
    pub site: usize,
    /// When its first request was sent.
    pub begun: u64,
    /// When its last answer came, or the client gave up.
    pub ended: u64,
    /// What became of it.
    pub fate: TransactionFate,
    /// Whether it only reads, and what it reads is told at once.
    pub read_only: bool,
    /// What it read.
    pub observations: Vec<Observation>,
    /// What it wrote.
    pub changes: Vec<HistoryWrite>,
    /// What it read and wrote of parents and children.
    pub family: FamilyView,
    /// Lists that it has taken because nobody else had them.
    pub taken: Vec<TakenList>,
    /// When its commit was sent, if it was.
    pub committing: Option<u64>,
    /// What it has read at snapshots, below the strict level: each as a transaction of its own that only reads.
    pub snapshots: Vec<ObservedTransaction>,
}

/// A list that was free for a transaction to lock (`SKIP LOCKED`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenList {
    /// Which.
    pub key: u64,
    /// When it was asked for.
    pub asked: u64,
    /// When the client was told that it has it.
    pub told: u64,
}

impl ObservedTransaction {
    /// Whether its client was told something that stands, whatever becomes of it later: what a reader has read does.
    pub fn has_told(&self) -> bool {
        self.read_only && !self.observations.is_empty()
    }

    /// Of this fate, from 10 to 20 at site 1, without reads or writes.
    #[cfg(test)]
    pub fn of_fate(fate: TransactionFate) -> ObservedTransaction {
        ObservedTransaction {
            client: 0,
            site: 1,
            begun: 10,
            ended: 20,
            fate,
            read_only: false,
            observations: Vec::new(),
            changes: Vec::new(),
            family: FamilyView::default(),
            taken: Vec::new(),
            committing: None,
            snapshots: Vec::new(),
        }
    }
}

/// A restart after a total failure: what may be gone with the power of machines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// By home site that lost power: since when its decisions were not synced, and when the power went (true times).
    pub windows: BTreeMap<usize, (u64, u64)>,
}

impl Loss {
    /// When power went last.
    pub fn moment(&self) -> u64 {
        self.windows.values().map(|(_, moment)| *moment).max().unwrap_or(0)
    }
}

/// All transactions of a run.
#[derive(Clone, Debug, Default)]
pub struct RunHistory {
    /// In the order in which they began.
    pub transactions: Vec<ObservedTransaction>,
    /// Restarts after total failures, in order.
    pub losses: Vec<Loss>,
}
