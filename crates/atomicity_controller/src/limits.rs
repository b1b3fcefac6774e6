//! Bounds of the atomicity controller; times in nanoseconds of the boot clock.

use messages::limits::{MILLISECOND, RESEND, SECOND, SILENT_VOTER};

/// Acknowledgements of decisions are held back for this long, so that many share a message.
pub const ACKNOWLEDGE_AFTER: u64 = 5 * MILLISECOND;
/// A participant that has been undecided for this long asks the home site.
pub const INQUIRE_AFTER: u64 = SECOND;
/// How often the log is synced behind the commits, at most.
pub const SYNC_INTERVAL: u64 = 20 * MILLISECOND;
/// How often the action driver is told the clock.
pub const CLOCK_INTERVAL: u64 = 100 * MILLISECOND;
/// A voter that says that its vote waits is asked again after this long.
pub const WAITING_ASKED: u64 = 5 * RESEND;
/// Transactions named in one inquiry.
pub const INQUIRE_MAX: usize = 256;
/// A participant counts as silent only when it was asked so many times again.
pub const SILENT_AFTER_RESENDS: u32 = 10;

/// A prepare is sent again after so long for each byte of its history, as if the network carried ten million bytes in a second: sent sooner, it
/// would only stand in its own way.
pub const RESEND_FOR_BYTE: u64 = SECOND / 10_000_000;
/// But never later than after this.
pub const RESEND_MAX: u64 = SECOND;
/// Members of a group of transactions that commit together.
pub const GROUP_MAX: usize = 32;
/// A transaction that reads and writes more items and ranges than this commits alone.
pub const GROUP_ITEMS_MAX: usize = 64;
/// So does one that reads more ranges.
pub const GROUP_RANGES_MAX: usize = 4;
/// Bytes of keys and rows in one group: so that its prepare still goes as a datagram.
pub const GROUP_BYTES_MAX: usize = 24 << 10;
/// A ready transaction is sent after this long, whatever is on its way.
pub const GROUP_PATIENCE: u64 = 2 * MILLISECOND;
/// Rounds begin so far apart, unless fewer than this are on their way.
pub const ROUND_PACE: u64 = MILLISECOND / 4;
/// Rounds on their way, at most.
pub const ROUNDS_MAX: u64 = 64;
/// What is taken for the time of a round grows by this part of it with every slower one.
pub const ROUND_SLACK_PARTS: u64 = 16;

const _: () = assert!(SILENT_AFTER_RESENDS as u64 * RESEND < SILENT_VOTER, "silence is noticed in time");
const _: () = assert!(4 * WAITING_ASKED < SILENT_VOTER, "a voter that waits says so in time");
const _: () = assert!(ACKNOWLEDGE_AFTER < RESEND, "an acknowledgement must come before the decision is sent again");
