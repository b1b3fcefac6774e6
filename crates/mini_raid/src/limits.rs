//! Bounds of the simulated world, in nanoseconds of true time unless the name says otherwise.

use messages::LeaseLength;
use messages::limits::{CLOCK_JUMP_MICROS_MAX, MILLISECOND, SECOND, SERVICE_PATIENCE, SILENT_VOTER};

/// One microsecond.
pub const MICROSECOND: u64 = 1_000;
/// How often a site's servers tick.
pub const TICK: u64 = 5 * MILLISECOND;
/// A site without a life asks the oracle for one this often.
pub const INCARNATE_AGAIN: u64 = 100 * MILLISECOND;
/// A wall clock is never further from true time than this.
pub const WALL_OFFSET_MICROS_MAX: i64 = 20_000_000;
/// Once faults have stopped, every site is up and a transaction has committed at every site within this time.
pub const RECOVERY_MAX: u64 = 40 * SECOND;
/// Once faults have stopped, no request waits longer for its answer.
pub const ANSWER_MAX: u64 = 3 * SERVICE_PATIENCE;
/// A site that does not vote keeps the others from committing no longer than this.
pub const SILENT_VOTER_MAX: u64 = 4 * SILENT_VOTER;
/// After the last transaction, decisions and copies settle within this time.
pub const SETTLE: u64 = 3 * SECOND;
/// A host that is late at all is once in so many ticks,
pub const LATE_ONE_IN: u64 = 400;
/// by so much in the mean.
pub const LATENESS: u64 = 150 * MILLISECOND;
/// Events of one run, beyond which something goes round in circles.
pub const EVENTS_MAX: u64 = 5_000_000;
/// Mean number of steps of a site from one move of a server to the next.
pub const MOVES_EVERY: u64 = 1_000;
/// Virtual time that a run simulates with faults, unless told otherwise.
pub const RUN_DEFAULT: u64 = 12 * SECOND;
/// Entries of a list after which clients go on with a fresh one.
pub const LIST_ENTRIES: usize = 60;
/// Changes of a table's schema after which clients go on with a fresh one.
pub const TABLE_CHANGES: usize = 10;
/// Rows that statements add to a table, at most.
pub const TABLE_ROWS: u64 = 40;
/// Once everything is quiet, storages that nobody can reach are gone within this time.
pub const DROPS_MAX: u64 = 20 * SECOND;
/// A sync behind the commits begins at most this long after them; see the window of [`crate::checkers::durability`].
pub const SYNC_BEHIND: u64 = 100 * MILLISECOND;
/// Transactions of a cycle that are printed.
pub const CYCLE_PRINTED_MAX: usize = 12;

const _: () = assert!(2 * WALL_OFFSET_MICROS_MAX as u64 <= CLOCK_JUMP_MICROS_MAX, "sites believe each other's clocks");
const _: () = assert!(TICK <= 10 * MILLISECOND, "servers are promised a tick that often");
const _: () = assert!(LeaseLength::MAX.waited_out() < SETTLE && SERVICE_PATIENCE < RECOVERY_MAX);
