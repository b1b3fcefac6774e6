//! How much is measured, and how long is waited. Times are in milliseconds.

/// Rounds, unless the user says otherwise.
pub const ROUNDS: u32 = 3;
/// And of a quick run.
pub const ROUNDS_QUICK: u32 = 1;
/// Most rounds.
pub const ROUNDS_MAX: u32 = 1_000;
/// Transactions of one turn, at most: so many make a point of the paper's (section 3.2). Most turns end with their time.
pub const TRANSACTIONS_MAX: u64 = 10_000;
/// Syncs that are timed before each turn, to tell what the disk was like.
pub const SYNCS_PER_TURN: usize = 4;
/// Bytes of RVM's log where the paper does not vary it (sections 3.2, 3.4 to 3.7).
pub const LOG_BYTES: u64 = 8 << 20;
/// Bytes that a memory server takes, for all logs.
pub const SERVER_BYTES: u64 = 1 << 30;
/// Bytes that the log of one client keeps on its servers, at most.
pub const DEVICE_BYTES: u64 = 16 << 20;
/// How long a log may be durable by the disk only, after it was opened, before its servers are given up.
pub const MEMORY_TIME: u64 = 10_000;
/// Pairs of clients and servers on one network, at most.
pub const PAIRS_MAX: usize = 4;
/// Copies that figures of single clients are measured with, at most: so many servers there are.
pub const COPIES_MAX: u8 = 2;
/// Of the commits of a figure, so many in a hundred may have got their receipt from the disk before its notes say so.
pub const DISK_RECEIPTS_PERCENT: u64 = 1;

const _: () = assert!(LOG_BYTES <= DEVICE_BYTES, "the remote log holds what the one on disk holds");
const _: () = assert!(DEVICE_BYTES * 8 * PAIRS_MAX as u64 <= SERVER_BYTES, "a server has room for all clients");
const _: () = assert!(MEMORY_TIME < laboratory_harness::limits::SILENCE_TIME, "a client says why it gives up");
const _: () = assert!(ROUNDS_QUICK <= ROUNDS && ROUNDS <= ROUNDS_MAX);
const _: () = assert!(
    2 * PAIRS_MAX <= laboratory_harness::limits::SWITCHED_MAX as usize && COPIES_MAX as usize <= PAIRS_MAX,
    "all hosts are at one switch"
);
