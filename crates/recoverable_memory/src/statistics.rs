//! Counters and the state of a memory, for those who watch it.

use std::ops::Range;

use crate::device::LogOffset;

/// Counters since the memory was opened. Times are in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Transactions committed, flushed or not.
    pub transactions_committed: u64,
    /// Transactions aborted or dropped.
    pub transactions_aborted: u64,
    /// Bytes that committed transactions have asked to set.
    pub bytes_set: u64,
    /// What was left of them when each byte was counted once for each transaction (intra-transaction coalescing).
    pub bytes_committed: u64,
    /// Transactions that never went to the log because later ones had overwritten them (inter-transaction coalescing).
    pub transactions_coalesced: u64,
    /// Bytes of log, headers included, that this has saved.
    pub bytes_coalesced: u64,
    /// Records appended to the log.
    pub records: u64,
    /// Bytes appended to the log.
    pub log_bytes: u64,
    /// Waits for the log to be durable.
    pub flushes: u64,
    /// How long the last of them took.
    pub flush_us_last: u64,
    /// How long the longest took.
    pub flush_us_max: u64,
    /// How long all of them took.
    pub flush_us_total: u64,
    /// Truncations of the log.
    pub truncations: u64,
    /// Truncations that a commit or a map had to wait for, because the log was full.
    pub truncations_forced: u64,
    /// Bytes that truncations have written to segments.
    pub truncation_bytes: u64,
}

/// The state of a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryState {
    /// What is mapped: segment, and range of bytes in it.
    pub regions: Vec<(String, Range<u64>)>,
    /// Transactions that have not ended.
    pub transactions_live: u64,
    /// Committed transactions that wait in memory to be written to the log.
    pub transactions_spooled: u64,
    /// Bytes of log that are not in the segments yet.
    pub log_bytes_used: u64,
    /// Bytes of log that there can be.
    pub log_bytes_capacity: u64,
    /// The end of the log.
    pub log_end: LogOffset,
    /// All below is durable.
    pub log_flushed: LogOffset,
}
