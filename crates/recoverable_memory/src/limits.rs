//! Every bound of recoverable memory, and how they relate to each other. A bound is part of a format where it says so.

/// Regions begin and end at multiples of this in their segment, in bytes. Values of this alignment and below may lie anywhere
/// that their own alignment allows.
pub const PAGE_BYTES: u64 = 4096;

/// The smallest log, in bytes. The paper's figures 2 and 3 begin with a few kilobytes.
pub const LOG_BYTES_MIN: u64 = 4096;

/// The largest log, in bytes: half of it, the largest record, has a length of 32 bits.
pub const LOG_BYTES_MAX: u64 = 4 << 30;

/// The log's size unless the caller wants another, in bytes: that of the paper's figure 1.
pub const LOG_BYTES_DEFAULT: u64 = 8 << 20;

/// A record may take the log's size divided by this, so that it fits beside a list of segments and what came meanwhile.
pub const RECORD_SHARE: u64 = 2;

/// The list of segments may take the log's size divided by this: at a truncation the log holds two of them.
pub const SEGMENTS_SHARE: u64 = 8;

/// Committed bytes that may wait in memory to be written to the log, unless the caller wants another bound. A transaction that is
/// larger waits alone.
pub const SPOOL_BYTES_DEFAULT: usize = 256 << 10;

/// An attempt at inter-transaction coalescing was in vain if it saved less than the spool's bytes divided by this.
pub const COALESCING_SHARE: usize = 8;

/// After attempts in vain, at most so many are left out.
pub const COALESCING_PAUSE_MAX: u32 = 15;

/// Beyond this part of the log, in percent, a truncation begins, unless the caller wants another.
pub const TRUNCATE_AT_PERCENT_DEFAULT: u8 = 50;

/// Bytes of log that a truncation or a recovery reads and applies at a time. A longer record is a piece of its own.
pub const PIECE_BYTES: u64 = 4 << 20;

/// Bytes that are read, written or searched at a time where a whole file is gone through, and at most joined to one write.
pub const CHUNK_BYTES: usize = 1 << 20;

/// Values for a segment that have no more bytes than this between them are written in one piece, with what stands between them: one
/// read and one write are cheaper than two writes.
pub const GAP_BYTES_MAX: u64 = 512;

/// The longest name of a segment, in bytes.
pub const NAME_BYTES_MAX: usize = 255;

/// No log position is ever as high as this.
pub const POSITION_END: u64 = 1 << 62;

/// Bytes of each block at the front of a log file. Part of the format; a torn write of one leaves the others alone.
pub const BLOCK_BYTES: u64 = 4096;

/// Records begin at multiples of this. Part of the format.
pub const RECORD_ALIGNMENT: u64 = 8;

const _: () = assert!(LOG_BYTES_MIN <= LOG_BYTES_DEFAULT && LOG_BYTES_DEFAULT <= LOG_BYTES_MAX);
const _: () = assert!(LOG_BYTES_MAX / RECORD_SHARE <= u32::MAX as u64, "a length is 32 bits in the format");
const _: () =
    assert!(2 * RECORD_SHARE + SEGMENTS_SHARE <= RECORD_SHARE * SEGMENTS_SHARE, "a record fits beside two lists");
const _: () = assert!(SEGMENTS_SHARE >= 4, "at a map the log holds two lists and room for two more");
const _: () =
    assert!(LOG_BYTES_MIN / SEGMENTS_SHARE >= 512, "a list of one segment of the longest name fits the smallest log");
const _: () = assert!(LOG_BYTES_MIN.is_multiple_of(RECORD_ALIGNMENT) && BLOCK_BYTES.is_multiple_of(RECORD_ALIGNMENT));
const _: () = assert!(TRUNCATE_AT_PERCENT_DEFAULT <= 100);
const _: () = assert!(size_of::<usize>() >= size_of::<u64>(), "segments are mapped whole: 64-bit machines only");
