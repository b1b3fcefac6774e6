//! Every bound of the log, and how they relate to each other. A bound is part of the format where it says so.

/// Bytes of a segment before its first record. Part of the format; a whole page, so that records start on a page.
pub const SEGMENT_HEADER_BYTES: u64 = 4096;

/// Bytes in front of each record: length, checksum and position. Part of the format.
pub const FRAME_HEADER_BYTES: usize = 16;

/// Every record starts at a multiple of this. Part of the format; the size of the word that publishes a record.
pub const FRAME_ALIGNMENT: usize = 8;

/// The longest record, in bytes. Recovery reads no more than this on the word of a length that it has not yet checked.
pub const RECORD_BYTES_MAX: usize = 256 << 20;

/// Bytes of records in a segment, unless the caller or a longer record wants otherwise. A start goes through whole segments.
pub const SEGMENT_BYTES_DEFAULT: u64 = 16 << 20;

/// The smallest segment that may be asked for, in bytes.
pub const SEGMENT_BYTES_MIN: u64 = 4096;

/// The largest segment, in bytes: room for one record of [`RECORD_BYTES_MAX`], rounded up to whole pages.
pub const SEGMENT_BYTES_MAX: u64 = (RECORD_BYTES_MAX as u64) + SEGMENT_HEADER_BYTES;

/// Records that have been appended and are not yet on disk, in bytes. Beyond it `append` refuses: the disk has stalled,
/// and going on would only make the loss larger. Checked when a segment is full, so a segment more may be unsynced.
pub const UNSYNCED_BYTES_MAX: u64 = 4 << 30;

/// No position is ever as high as this; a higher one on disk is damage.
pub const POSITION_END: u64 = 1 << 62;

/// Buffer of a reader of records, in bytes.
pub const READ_BUFFER_BYTES: usize = 256 << 10;

/// Bytes that are read, written or cleared at once where a whole file is gone through.
pub const CHUNK_BYTES: usize = 1 << 20;

const _: () = assert!(RECORD_BYTES_MAX <= u32::MAX as usize, "a length is 32 bits in the format");
const _: () = assert!(SEGMENT_BYTES_MIN <= SEGMENT_BYTES_DEFAULT && SEGMENT_BYTES_DEFAULT <= SEGMENT_BYTES_MAX);
const _: () = assert!(SEGMENT_BYTES_MAX >= (RECORD_BYTES_MAX + FRAME_HEADER_BYTES + FRAME_ALIGNMENT) as u64);
const _: () = assert!(UNSYNCED_BYTES_MAX >= 4 * SEGMENT_BYTES_MAX, "the longest record must not look like a stall");
const _: () = assert!(SEGMENT_HEADER_BYTES.is_multiple_of(4096) && SEGMENT_BYTES_MAX.is_multiple_of(4096));
const _: () = assert!(FRAME_HEADER_BYTES.is_multiple_of(FRAME_ALIGNMENT) && FRAME_ALIGNMENT == size_of::<u64>());
const _: () = assert!(size_of::<usize>() >= size_of::<u64>(), "segments are mapped whole: 64-bit machines only");
