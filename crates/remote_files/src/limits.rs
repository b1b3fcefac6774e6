//! Every bound, and how they relate.

use network_memory::limits::{RECORD_BYTES_MAX, RETAINED_BYTES_DEFAULT};
use std::time::Duration;

/// Files of one group.
pub const FILES_MAX: usize = 16;
/// Bytes of one write in the log; a longer one is split, with what waits put into the log between.
pub const WRITE_BYTES_MAX: usize = 1 << 20;
/// Bytes of changes that wait for a sync; with more they are put into the log before another one is taken.
pub const PENDING_BYTES_MAX: usize = 1 << 20;
/// Bytes of a write that may have a key: of fewer the pieces are hardly less.
pub const KEYED_BYTES_MIN: usize = 256;
/// At most so many: places in it are told with two bytes.
pub const KEYED_BYTES_MAX: usize = 1 << 16;
/// Bytes of writes that are remembered by their keys; with more everything is forgotten.
pub const REMEMBERED_BYTES_MAX: usize = 32 << 20;
/// Bytes of the log after which the files are brought to disk and the log is given up, unless it is told otherwise.
pub const SETTLE_BYTES_DEFAULT: u64 = 64 << 20;
/// At least so many.
pub const SETTLE_BYTES_MIN: u64 = 1 << 20;
/// At most so many: the log must take as much again while the files are brought to disk, and what waits then.
pub const SETTLE_BYTES_MAX: u64 = RETAINED_BYTES_DEFAULT / 4;
/// How long an opening and a sync may take, unless it is told otherwise.
pub const WAIT_DEFAULT: Duration = Duration::from_secs(10);
/// At most so long.
pub const WAIT_SECONDS_MAX: u64 = 3_600;
/// How often it is looked for what has happened to the log.
pub const LOOK: Duration = Duration::from_millis(250);

const _: () = assert!(
    2 * WRITE_BYTES_MAX + PENDING_BYTES_MAX < RECORD_BYTES_MAX,
    "what waits, and one more write, fit into a record"
);
const _: () = assert!(
    2 * SETTLE_BYTES_MAX + 16 * PENDING_BYTES_MAX as u64 <= RETAINED_BYTES_DEFAULT,
    "settling comes before full"
);
const _: () = assert!(SETTLE_BYTES_MIN <= SETTLE_BYTES_DEFAULT && SETTLE_BYTES_DEFAULT <= SETTLE_BYTES_MAX);
