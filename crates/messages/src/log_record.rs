//! What a site, or the oracle, writes to its log. Replaying a prefix of the log gives a state the site has been in.
//!
//! Every record may be replayed twice: after a checkpoint the log begins with snapshots of what the servers knew.

use crate::access::{Copies, StaleSet};
use crate::commit::{Outcome, TransactionsReport};
use crate::epoch::{Epoch, EpochId};
use crate::item::{History, Item, Row};
use crate::lineage::{KnownMarks, LogPoint};
use crate::replication::FailLockTable;
use crate::timestamp::{Age, Timestamp};
use identifiers::{EpochNumber, Incarnation, SiteId, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum LogRecord {
    /// Atomicity controller: this site votes yes. Before the vote leaves.
    Prepared {
        /// Which transaction.
        transaction: TransactionId,
        /// Its age.
        age: Age,
        /// In which epoch.
        epoch: EpochNumber,
        /// The order of its prepare at its home site.
        order: u64,
        /// Lower orders of that home and life are finished.
        finished_below: u64,
        /// The proposed clock.
        clock: u64,
        /// Whose votes count.
        participants: Vec<SiteId>,
        /// What it read and wrote.
        history: Arc<History>,
    },
    /// Atomicity controller: this site votes no, or an abort reached it before the prepare.
    Refused {
        /// Which transaction.
        transaction: TransactionId,
        /// The order of its prepare at its home site.
        order: u64,
        /// In which epoch.
        epoch: EpochNumber,
    },
    /// Atomicity controller: the outcome. Before locks are released and before it is acknowledged.
    Decided {
        /// Which transaction.
        transaction: TransactionId,
        /// What became of it.
        outcome: Outcome,
        /// The epoch that made the outcome.
        by: EpochNumber,
    },
    /// Atomicity controller, at a checkpoint: what it knows of transactions (prepared ones are repeated as `Prepared` behind it).
    Transactions {
        /// What it would report.
        report: TransactionsReport,
    },
    /// Access manager: copies that a copier brought.
    Copied {
        /// The copies.
        copies: Arc<Copies>,
    },
    /// Replication controller: no vote and no grant in this epoch any more.
    Sealed {
        /// The epoch.
        epoch: EpochNumber,
    },
    /// Replication controller: the highest epoch it has seen.
    EpochSeen {
        /// The epoch.
        epoch: Arc<Epoch>,
    },
    /// Replication controller: this site has all outcomes and fail-locks of this epoch. Also at a checkpoint.
    EpochLogged {
        /// The epoch.
        epoch: Arc<Epoch>,
        /// The life that belongs to it.
        incarnation: Incarnation,
        /// The first epoch in which this copy has taken part without a break.
        joined: EpochNumber,
        /// The chain of epochs.
        chain: Vec<EpochId>,
        /// Tables of all other sites.
        fail_locks: BTreeMap<SiteId, FailLockTable>,
        /// What is stale in the own copy, in addition to what was already.
        stale: Arc<StaleSet>,
    },
    /// Replication controller, at a checkpoint: what has committed here lately and may not be synced at every member.
    Recent {
        /// Everything at or below this, epoch and clock, is in this copy.
        complete_through: (EpochNumber, u64),
        /// By commit, what is stale in a copy without it.
        commits: Vec<(Timestamp, StaleSet)>,
    },
    /// Replication controller, now and then: how far each member has synced, so that a replay need not remember what is older.
    Synced {
        /// Everything at or below this, epoch and clock, is in this copy.
        complete_through: (EpochNumber, u64),
        /// By other member: everything at or below this is synced there.
        members: BTreeMap<SiteId, (EpochNumber, u64)>,
    },
    /// Access manager, at a checkpoint, and when nothing is stale any more: what is stale in the own copy, replacing all before.
    Stale {
        /// Which.
        stale: Arc<StaleSet>,
    },
    /// Oracle: its whole state after a change.
    Oracle {
        /// Encoded by the oracle.
        state: bytes::Bytes,
    },
    /// Access manager, when a post begins: rows to which something undecided is added, as they are now. Whatever the store has of them
    /// may lie between; who replays goes on from here.
    Unsettled {
        /// The newest version of each.
        rows: Arc<Vec<(Item, Timestamp, Row)>>,
    },
    /// Replication controller: a mark, at the beginning of a life and before each sync of which others are told.
    Marked {
        /// Which.
        mark: LogPoint,
    },
    /// Replication controller: the marks in this log, and the last one that each other site has told. At a checkpoint, and before every record
    /// that says what others have on disk: who knows that without knowing the mark could not tell a log of theirs that lacks it.
    Marks {
        /// They.
        known: KnownMarks,
    },
}

/// The head of a `Prepared` record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreparedHead {
    /// Which transaction.
    pub transaction: TransactionId,
    /// In which epoch.
    pub epoch: EpochNumber,
    /// The proposed clock.
    pub clock: u64,
}

impl LogRecord {
    /// As the bytes of a log record.
    pub fn encode_into(&self, buffer: &mut Vec<u8>) {
        let taken = std::mem::take(buffer);
        *buffer = postcard::to_extend(self, taken).expect("a log record always encodes");
    }

    /// Which transaction a `Prepared` record is of, and in which epoch, without decoding the rest; `None`: another record.
    pub fn prepared_in(bytes: &[u8]) -> Option<(TransactionId, EpochNumber)> {
        const PREPARED: u8 = 0;
        let (kind, fields) = bytes.split_first()?;
        let (header, _) = postcard::take_from_bytes(fields).ok()?;
        let (transaction, Age { .. }, epoch): (TransactionId, Age, EpochNumber) = header;
        (*kind == PREPARED).then_some((transaction, epoch))
    }

    /// What a `Prepared` record proposes, without decoding the rest; `None`: another record.
    pub fn proposal_in(bytes: &[u8]) -> Option<PreparedHead> {
        let (transaction, epoch) = LogRecord::prepared_in(bytes)?;
        let (header, _) = postcard::take_from_bytes(&bytes[1..]).ok()?;
        let (_, Age { .. }, _, _, _, clock): (TransactionId, Age, EpochNumber, u64, u64, u64) = header;
        Some(PreparedHead { transaction, epoch, clock })
    }

    /// Back from a log record.
    pub fn decode(bytes: &[u8]) -> Result<LogRecord, postcard::Error> {
        postcard::from_bytes(bytes)
    }
}
