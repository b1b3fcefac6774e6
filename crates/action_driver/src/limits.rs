//! Bounds of the action driver, and how they relate to those that all servers share. Times are in nanoseconds of the boot clock.

use messages::limits::{
    MILLISECOND, PRIVATE_CHUNK_ROWS, SECOND, SERVICE_PATIENCE, TRANSACTION_BYTES_MAX, TRANSACTION_WRITES_MAX,
};

/// Rows asked for in the first batch of a scan: most scans end in it.
pub const SCAN_ROWS_FIRST: u32 = 128;
/// Rows asked for in every later batch.
pub const SCAN_ROWS_MAX: u32 = 1_024;
/// A batch for the query processor ends after so many bytes of keys and rows.
pub const SCAN_BYTES_MAX: usize = 4 << 20;
/// Bytes in memory of the rows that one request may return.
pub const RESULT_BYTES_MAX: usize = 256 << 20;
/// Bytes of the keys and rows that one statement may collect before it writes the first.
pub const COLLECTED_BYTES_MAX: usize = 2 * TRANSACTION_BYTES_MAX;
/// Locked ranges that a transaction remembers, so as not to ask again for what lies in them.
pub const RANGES_REMEMBERED: usize = 16;
/// Actions of a program whose accesses are asked for before the first of them runs.
pub const AHEAD_ACTIONS_MAX: usize = 16;
/// Bytes of rows after which a chunk is committed ahead, however few its rows.
pub const PRIVATE_CHUNK_BYTES: usize = TRANSACTION_BYTES_MAX / 4;

/// Waiting time before the second retry of a transaction that lost a conflict; the first is at once. It doubles.
pub const RETRY_DELAY_FIRST: u64 = MILLISECOND;
/// The longest waiting time between two tries.
pub const RETRY_DELAY_MAX: u64 = 64 * MILLISECOND;
/// Waiting time between two tries to drop a storage that its transaction left behind.
pub const DROP_RETRY: u64 = SECOND;
/// How often the snapshots in use are reported; each session has one at most.
pub const SNAPSHOTS_PERIOD: u64 = 100 * MILLISECOND;

/// Programs that go on in one transaction, after the first.
pub const COMPANIONS_MAX: usize = 31;
/// A transaction that has written more items than this is committed as it is, without the program that wanted more.
pub const JOINT_ITEMS_MAX: usize = 256;
/// And one whose keys and rows take more bytes than this.
pub const JOINT_BYTES_MAX: usize = 256 << 10;
/// A program that needs more rows or batches than this takes too long for those before it.
pub const JOINT_NEEDS_MAX: u32 = 64;
/// A program that has lost so many transactions together with others goes on alone.
pub const JOINT_LOSSES_MAX: u32 = 2;

/// So long after a session has closed its temporary schema is looked for again: a commit of it that nobody waits for may have come.
pub const FORSAKEN_PATIENCE: u64 = 10 * SECOND;
/// Tables, and names of indexes, that are dropped at a time with the temporary schemas they are in.
pub const SWEPT_ROWS_MAX: usize = 1_000;

/// Rows of `raid.contention`.
pub const CONTENTION_ROWS_MAX: usize = 256;
/// Who has waited so long for an item, to read it or to lock it, is counted there.
pub const LONG_WAIT: u64 = 20 * MILLISECOND;

/// Items that a transaction remembers it could add to unread.
pub const SUMMED_REMEMBERED: usize = 64;
/// A column holds at least so much on either side of zero where one transaction may add to it and subtract from it unread. Meanwhile the row may
/// come to where the first of both alone would have been out of range; but others have to move it by half of this for that.
pub const WIDE_RANGE: i128 = 1_000_000_000;
/// After an item that could be added to unread was read by the same transaction, so many others of its storage are updated as rows.
pub const READ_BACK_STEP: u16 = 16;
/// The most that such a storage can have before it is added to again.
pub const READ_BACK_MAX: u16 = 1_024;
/// A commit that is tried again locks so many items once more, at most; of a larger one nothing.
pub const LOCKED_AGAIN_MAX: usize = 1_000;

/// Bits of the counter in a hidden key.
pub const HIDDEN_COUNTER_BITS: u32 = 48;
/// Hidden keys that one life of a site gives out: see [`crate::hidden_keys`].
pub const HIDDEN_KEYS_PER_LIFE_MAX: u64 = 1 << 36;
/// Keys that a statement has found to be there, and does not look for again.
pub const KEYS_REMEMBERED: usize = 10_000;
/// Sequences of which a site keeps a block: what is left of the others is a gap.
pub const SEQUENCE_BLOCKS_MAX: usize = 10_000;
/// Values of a sequence that a site takes at first: what it does not give out before it restarts is a gap. PostgreSQL loses as many (`SEQ_LOG_VALS`).
pub const SEQUENCE_BLOCK_FIRST: u64 = 32;
/// Values that it takes at most, unless the sequence's `CACHE` asks for more: each block is twice as large as the one before.
pub const SEQUENCE_BLOCK_MAX: u64 = 1024;

const _: () = assert!(SCAN_ROWS_FIRST <= SCAN_ROWS_MAX);
const _: () = assert!(3 * SWEPT_ROWS_MAX < TRANSACTION_WRITES_MAX, "it can commit");
const _: () = assert!(RETRY_DELAY_FIRST <= RETRY_DELAY_MAX);
const _: () = assert!(RETRY_DELAY_MAX < SERVICE_PATIENCE, "a transaction is tried more than once");
const _: () = assert!(
    PRIVATE_CHUNK_ROWS < TRANSACTION_WRITES_MAX && PRIVATE_CHUNK_BYTES < TRANSACTION_BYTES_MAX,
    "a chunk is committed ahead before its transaction is too large"
);
const _: () = assert!(HIDDEN_KEYS_PER_LIFE_MAX < 1 << HIDDEN_COUNTER_BITS);
