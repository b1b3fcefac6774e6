//! Timestamps that order committed transactions, and ages that order conflicting ones.
//!
//! Timestamps compare by epoch first: whatever a later epoch resolves lies after everything of an earlier one.

use crate::limits::CLOCK_LOGICAL_BITS;
use identifiers::{EpochNumber, TransactionId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A commit timestamp, and so the version of every item that the transaction wrote. [`Timestamp::ZERO`] is the version
/// of an item that was never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp {
    /// The epoch that decided the transaction.
    pub epoch: EpochNumber,
    /// Hybrid logical clock: microseconds since 1970 in the upper bits, a counter in the lower 12.
    /// 0 for what an epoch change resolved.
    pub clock: u64,
    /// Breaks ties.
    pub transaction: TransactionId,
}

impl Timestamp {
    /// Below every commit: the version of an absent item.
    pub const ZERO: Timestamp = Timestamp { epoch: EpochNumber(0), clock: 0, transaction: TransactionId::ZERO };

    /// Above all others.
    pub const MAX: Timestamp = Timestamp {
        epoch: EpochNumber(u64::MAX),
        clock: u64::MAX,
        transaction: TransactionId {
            home: identifiers::SiteId(u16::MAX),
            incarnation: crate::Incarnation(u32::MAX),
            sequence: u64::MAX,
        },
    };

    /// The largest timestamp with this epoch and clock: a snapshot there sees all commits up to and with this clock.
    pub fn snapshot(epoch: EpochNumber, clock: u64) -> Timestamp {
        Timestamp { epoch, clock, ..Timestamp::MAX }
    }
}

impl Default for Timestamp {
    fn default() -> Timestamp {
        Timestamp::ZERO
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.clock >> CLOCK_LOGICAL_BITS;
        let logical = self.clock & ((1 << CLOCK_LOGICAL_BITS) - 1);
        write!(formatter, "{}:{micros}.{logical}:{}", self.epoch.0, self.transaction)
    }
}

/// The age of a transaction: the clock when its session first tried it, kept over retries. **Smaller is older**; the
/// older waits, the younger dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Age {
    /// Hybrid logical clock of the home site at the first try.
    pub clock: u64,
    /// The first try's identifier.
    pub first: TransactionId,
}
