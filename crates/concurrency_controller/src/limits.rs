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

/// Time over which a load is judged.
pub const EVIDENCE_WINDOW: u64 = 10 * SECOND;
/// A client of whose transaction nothing is under way for so long thinks.
pub const THINKS_MIN: u64 = 5 * MILLISECOND;
/// Before a commit so long: it may have waited for others to commit with it.
pub const THINKS_BEFORE_COMMIT_MIN: u64 = 20 * MILLISECOND;
/// Items of which it is known who has accessed them last. A power of two.
pub const EVIDENCE_PLACES: usize = 4_096;
/// Tries of which it is known when they began and ended.
pub const EVIDENCE_TRIES: usize = 4_096;
/// Others that a try has come behind, as far as is remembered.
pub const EVIDENCE_MEETINGS: usize = 4;
/// Ranges that are remembered.
pub const EVIDENCE_RANGES: usize = 16;
/// Writes that are remembered for who reads a range behind them.
pub const EVIDENCE_WRITES: usize = 64;
/// Items whose conflicts are told from all.
pub const HOT_ITEMS: usize = 8;

/// Under `serial` who has the turn leaves it to others when it has asked for nothing for so long: its client thinks.
pub const SERIAL_IDLE: u64 = 50 * MILLISECOND;

/// Under `timestamp` so many accesses of ended transactions are remembered for older ones that execute.
pub const GHOSTS_MAX: usize = 10_000;
/// Who has come too late so often gets no stamp, and waits for locks instead.
pub const REFUSALS_MAX: u8 = 4;
/// Transactions of which it is remembered how often they came too late; beyond it the youngest are forgotten.
pub const REFUSED_MAX: usize = 4_096;

/// A switch that waits for transactions from before it dooms the rest of them after so long.
pub const SWITCH_PATIENCE: u64 = 5 * SECOND;

/// Switches of the method that are told of.
pub const SWITCHES_KEPT: usize = 64;

const _: () = assert!(EVIDENCE_PLACES.is_power_of_two() && THINKS_MIN < THINKS_BEFORE_COMMIT_MIN);
const _: () = assert!(THINKS_BEFORE_COMMIT_MIN < SERIAL_IDLE && SWITCH_PATIENCE < EVIDENCE_WINDOW);
const _: () = assert!(SERIAL_IDLE < ACCESS_PATIENCE && ACCESS_PATIENCE < SWITCH_PATIENCE);
