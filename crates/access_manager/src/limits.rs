//! Bounds of the access manager. All of them keep one `handle` or `tick` below about 5 ms, far below a lease.

use messages::limits::{COPY_BYTES_MAX, COPY_ITEMS_MAX, MILLISECOND, QUERY_BATCH_ROWS, SILENT_VOTER};
use messages::{Key, LeaseLength, TableId};

/// Bytes of versions kept in memory unless the site says otherwise.
pub const MEMORY_BYTES: usize = 1 << 30;
/// Of these, old versions may take one part in so many.
pub const OLD_VERSIONS_SHARE: usize = 4;
/// Bytes that an item costs while it has old versions, beside these.
pub const OLD_VERSIONS_QUEUED_BYTES: usize = size_of::<(TableId, Key)>();
/// Of the bytes of versions kept in memory, what is not in the store yet may take one part in so many,
pub const UNPOSTED_SHARE: usize = 2;
/// but never more than this: a start would replay it.
pub const UNPOSTED_BYTES_MAX: usize = 256 << 20;
/// Items whose old versions are looked at in each tick.
pub const OLD_VERSIONS_PER_TICK: usize = 100;
/// So many times as many are looked at while old versions take more than half of what they may: then one item for each that is
/// installed becomes so many. So while a pass over all of them is under way, one part in so many comes to them at most: of the
/// items, whatever their bytes are.
pub const OLD_VERSIONS_HASTE: usize = 4;
/// Rows of the catalog that are remembered to have been validated.
pub const VALIDATED_MAX: usize = 1_024;
/// Writes remembered per storage for checking ranges that were read; a range read before them is too old.
pub const RECENT_WRITES_MAX: usize = 16_384;

/// Rows in one answer to a scan, whatever was asked for.
pub const SCAN_ROWS_MAX: usize = 2_000;
/// Versions and deletions that one scan looks at; it then answers with what it has and where to go on.
pub const SCAN_WORK_MAX: usize = 4_000;
/// Bytes after which an answer to a scan is closed.
pub const SCAN_BYTES_MAX: usize = 4 << 20;

/// Fewest rows worth one visit to the store.
pub const LOAD_ROWS_MIN: usize = 32;
/// Most rows of one visit to the store.
pub const LOAD_ROWS_MAX: usize = 1_000;
/// Bytes after which a visit to the store ends.
pub const LOAD_BYTES_MAX: usize = 1 << 20;

/// In which time a post gathers one more item for the store, in nanoseconds,
pub const POST_ITEM_TIME: u64 = MILLISECOND / 100;
/// but at most so many at once.
pub const POST_ITEMS_AT_ONCE: u64 = 500;
/// Items that go to the store together: each time it makes a file of them.
pub const POST_WRITE_ITEMS: usize = 64_000;
/// Bytes after which no more are gathered.
pub const POST_WRITE_BYTES: usize = 16 << 20;

/// So many times as many while much is not in the store yet.
pub const POST_HASTE: u64 = 4;

/// Rows that a transaction touches which is checked at once, or changes which is installed at once. Of more, those that are not in memory are brought
/// there first, and all is done in steps, between which others are served:
pub const TOUCHED_MAX: usize = 1_000;
/// in each so many rows are compared, or installed,
pub const STEP_ROWS: usize = 256;
/// or as many are brought to memory as cost this: a row that the store has costs 4, one that it does not have 1;
pub const PREFETCHES_PER_STEP: usize = 256;
/// of so many that are looked for there.
pub const PREFETCH_LOOKS_PER_STEP: usize = 2_000;

/// A post rests this many times as long as the store took for the last write, unless much is not in the store yet.
pub const POST_REST: u64 = 2;

/// Items that the eviction sweep looks at after each message that has brought something to memory, while memory is short,
pub const SWEEP_PER_MESSAGE: usize = 16;
/// and one more for so many bytes that it has brought, so that what is brought goes again however much that is and however few ticks there are:
/// fewer bytes than any item costs, because an item that was read is passed over once,
pub const SWEEP_BYTES: usize = 64;
/// but no more than this.
pub const SWEEP_PER_MESSAGE_MAX: usize = 4_000;
/// Items that the eviction sweep looks at in each tick, while memory is short.
pub const SWEEP_PER_TICK: usize = 2_000;
/// Items of a dropped storage that are freed in each tick.
pub const FREE_PER_TICK: usize = 5_000;

/// How long a deletion stays known after it was posted. A member that has not learnt of a decision by then has been evicted, so no
/// copier of this epoch can miss the deletion and bring "absent" to a member whose snapshots must still see the row.
pub const TOMBSTONE_RETENTION: u64 = 2 * SILENT_VOTER;
/// Deletions forgotten in each tick.
pub const BURY_PER_TICK: usize = 2_000;

/// Changes of rows that a replay makes together: the more, the more often a row is named twice among them; few enough that it takes a tenth of a
/// second at most.
pub const REPLAYED_AT_ONCE: usize = 16 << 10;
/// Bytes of rows after which they are made, however few they are.
pub const REPLAYED_BYTES_AT_ONCE: usize = 16 << 20;

/// Items at most that a storage of which copies have taken rows away is looked through for, to see whether anything is left.
pub const HOLLOW_CHAINS_MAX: usize = 2_000;

/// Own items replaced or removed by one message of copies; what it brings beyond that stays stale and is asked for again.
pub const COPY_WORK_MAX: usize = 2 * COPY_ITEMS_MAX;

const _: () = assert!(QUERY_BATCH_ROWS <= SCAN_ROWS_MAX, "a batch of the query processor is one scan");
const _: () = assert!(
    OLD_VERSIONS_SHARE > 1 && OLD_VERSIONS_HASTE > 1,
    "old versions are bounded, and looked at sooner than made"
);
const _: () =
    assert!(UNPOSTED_SHARE > 1 && POST_HASTE > 1, "what is in the store has room too, and comes there sooner");
const _: () = assert!(2 * POST_WRITE_BYTES < UNPOSTED_BYTES_MAX, "the store takes many bites of what may wait for it");
const _: () = assert!(LOAD_ROWS_MAX < SWEEP_PER_MESSAGE_MAX, "more can go than one visit to the store brings");
const _: () = assert!(SCAN_ROWS_MAX < SCAN_WORK_MAX, "a scan looks at more than it returns");
const _: () = assert!(LOAD_BYTES_MAX <= SCAN_BYTES_MAX, "a visit to the store fits in an answer");
const _: () = assert!(COPY_ITEMS_MAX <= COPY_WORK_MAX, "one message of copies makes progress");
const _: () = assert!(COPY_BYTES_MAX <= SCAN_BYTES_MAX, "a copier reads no more than a scan");
const _: () = assert!(
    LeaseLength::MAX.waited_out() < TOMBSTONE_RETENTION,
    "deletions outlive the leases of those who missed them, however long these are"
);
