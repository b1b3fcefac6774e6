//! Bounds of the concurrency controller. What waits here is bounded by its senders: one access for each open transaction, one
//! commit-lock for each prepare, one snapshot access for each reader.

use messages::limits::{MILLISECOND, SECOND};

/// Storages without any lock whose tables are kept for the next one; beyond it they are given back.
pub const IDLE_STORAGES_MAX: usize = 1_024;

/// A transaction that reads, or writes, more items of a storage than this commit-locks all of it from the first to the last of them, unless a
/// site is told otherwise.
pub const POINTS_MAX: usize = 4_096;

/// A transaction that holds at most this many accesses is first asked whether anybody waits for it at all, before the graph of waits is
/// searched for a circle. Beyond it, asking would cost more than searching.
pub const HOLDS_ASKED_MAX: usize = 64;

/// A transaction that has been granted fewer accesses than this looks through a list of them while it executes alone.
pub const ALONE_MAX: usize = 16;

/// An access that has waited so long for commit-locks goes before younger transactions of other sites.
pub const ACCESS_PATIENCE: u64 = 100 * MILLISECOND;
/// And keeps them off for so long once it is granted: time for a statement, not for a client that thinks.
pub const OWED_TIME: u64 = SECOND;

/// An access with precedence keeps younger ones off for so long at most: as long as it takes to build an index of a large table.
pub const PRECEDENCE_TIME: u64 = 600 * SECOND;

/// Accesses below which a load says nothing about the method.
pub const RECOMMENDATION_SAMPLE_MIN: u64 = 1_000;
