//! Bounds that more than one server relies on, and how they relate. Times are in nanoseconds of the boot clock
//! unless the name says otherwise. What follows from the length of leases is in [`crate::lease`].

/// One millisecond.
pub const MILLISECOND: u64 = 1_000_000;
/// One second.
pub const SECOND: u64 = 1_000 * MILLISECOND;

/// Low bits of a hybrid clock that count within one microsecond.
pub const CLOCK_LOGICAL_BITS: u32 = 12;
/// A clock from another site may be this far ahead of ours, in microseconds; beyond it the message is refused.
pub const CLOCK_JUMP_MICROS_MAX: u64 = 60_000_000;

/// A disk that does not finish a sync within this time has stalled: its site gives up its leases until it does.
pub const SYNC_STALL: u64 = 4 * SECOND;
/// A member that renews its leases but leaves a prepare unanswered for this long is evicted.
pub const SILENT_VOTER: u64 = 2 * SECOND;
/// A message that must get through is sent again after this long without an answer.
pub const RESEND: u64 = 50 * MILLISECOND;
/// A site that was evicted waits at least this long between two attempts to join.
pub const JOIN_RETRY: u64 = 100 * MILLISECOND;

/// Bytes of keys and rows that one transaction may read and write.
pub const TRANSACTION_BYTES_MAX: usize = 32 << 20;
/// Bytes of an encoded key: a row whose key or index entry is longer is refused.
pub const KEY_BYTES_MAX: usize = 32 << 10;
/// Items that one transaction may write.
pub const TRANSACTION_WRITES_MAX: usize = 200_000;
/// Rows in one batch from the query processor.
pub const QUERY_BATCH_ROWS: usize = 1_000;
/// Rows committed ahead at a time into a storage that its transaction made itself.
pub const PRIVATE_CHUNK_ROWS: usize = 1_000;
/// Connections of clients to one site.
pub const CLIENTS_MAX: usize = 1_000;
/// A statement waits this long for its site to serve again before it fails.
pub const SERVICE_PATIENCE: u64 = 10 * SECOND;
/// Fail-locked items kept for one absent site; more lock the whole storage.
pub const FAIL_LOCKED_ITEMS_MAX: usize = 500_000;
/// Storages fail-locked as wholes for one absent site; more lock everything.
pub const FAIL_LOCKED_STORAGES_MAX: usize = 100_000;
/// Items in one copier message.
pub const COPY_ITEMS_MAX: usize = 2_000;
/// Bytes after which a copier message is closed.
pub const COPY_BYTES_MAX: usize = 1 << 20;
/// Sites of an instance.
pub const SITES_MAX: usize = 16;

/// Bytes of the parameters that a role's sessions begin with: every site keeps them, and a role may set its own.
pub const ROLE_SETTINGS_BYTES_MAX: usize = 64 << 10;

/// Bytes of the queries of all users' functions that a statement calls: they are read where the statement is compiled, which keeps others waiting.
pub const FUNCTION_BYTES_MAX: usize = 256 << 10;
