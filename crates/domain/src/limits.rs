//! Bounds of a domain.

use messages::LeaseLength;
use messages::limits::{MILLISECOND, SECOND};

/// Bytes of log after which a checkpoint begins. A start replays so much and what came while the store took it.
pub const CHECKPOINT_BYTES: u64 = 32 << 20;
/// How often is looked whether the log has come to rest (boot clock, in nanoseconds): a checkpoint costs little then,
pub const REST_INTERVAL: u64 = 2 * SECOND;
/// and it has when it has grown by less than this since,
pub const REST_BYTES_MAX: u64 = 64 << 10;
/// unless a start would replay no more than this anyway, in bytes.
pub const REST_CHECKPOINT_BYTES: u64 = 512 << 10;
/// Bytes of records that are read at a time at a start: about a millisecond's work.
pub const REPLAY_PART_BYTES: usize = 64 << 10;
/// Messages that one call may deliver inside a site before something is badly wrong.
pub const MESSAGES_PER_CALL_MAX: usize = 10_000_000;
/// Messages from outside that are under way at once, where no server is called: what their transactions need is in the processor's caches.
pub const TOGETHER_MAX: usize = 32;
/// Calls of servers for what goes on inside a site after which what has come from outside is taken in, however long a statement goes on.
pub const INSIDE_MAX: usize = 64;
/// Messages that are taken before something less urgent that came earlier.
pub const PASSED_MAX: usize = 64;
/// Bytes of log that are kept because no archive has them.
pub const UNARCHIVED_BYTES_MAX: u64 = 8 << 30;
/// How long messages inside a site are delivered (boot clock, in nanoseconds) before the caller has its turn,
pub const RUN_TIME_MAX: u64 = 5 * MILLISECOND;

const _: () = assert!(
    4 * RUN_TIME_MAX < LeaseLength::MIN.renewal(),
    "which lets leases be renewed in time, however short they are and whatever a statement costs"
);
const _: () = assert!(REST_BYTES_MAX < REST_CHECKPOINT_BYTES && REST_CHECKPOINT_BYTES < CHECKPOINT_BYTES);
