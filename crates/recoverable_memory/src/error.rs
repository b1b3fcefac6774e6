//! What can go wrong with recoverable memory, and what to do about it. Every text says both.

use std::io;
use std::ops::Range;

use thiserror::Error;

use crate::device::{DeviceError, LogOffset};
use crate::limits::{NAME_BYTES_MAX, PAGE_BYTES};

/// A failure of recoverable memory.
#[derive(Debug, Error)]
pub enum Error {
    /// The log has refused an operation.
    #[error(transparent)]
    Log(#[from] DeviceError),
    /// There is no log.
    #[error(
        "there is no log `{name}`: put it back, since the segments may lack commits without it, or create one if they were closed in order"
    )]
    NoLog {
        /// The name of its file.
        name: String,
    },
    /// Bytes of the log that had been durable are damaged or gone.
    #[error(
        "the log is damaged at position {position}: {bytes} bytes from there on cannot be trusted; nothing was changed: put a sound copy of the log back, or open it with `OnDamage::Cut` and lose the commits from there on"
    )]
    Damaged {
        /// Where the damage begins.
        position: LogOffset,
        /// Bytes from there to where the log is known to have gone on.
        bytes: u64,
    },
    /// A record is sound by its checksum and makes no sense.
    #[error(
        "the log's record at position {position} makes no sense ({reason}): it was written by another program; nothing was changed"
    )]
    Malformed {
        /// Where the record begins.
        position: LogOffset,
        /// What makes no sense.
        reason: String,
    },
    /// The log holds commits for a segment that is not there.
    #[error("the log holds commits for segment `{name}`, which is not there: put it back; nothing was changed")]
    SegmentMissing {
        /// The segment.
        name: String,
    },
    /// There is no such segment.
    #[error("there is no segment `{name}`: create it first")]
    NoSegment {
        /// The segment.
        name: String,
    },
    /// There is one already.
    #[error("there is a segment `{name}` already")]
    SegmentExists {
        /// The segment.
        name: String,
    },
    /// A segment has another length than it had.
    #[error(
        "segment `{name}` has {bytes} bytes, and the log holds a commit that goes to byte {end}: put the whole segment back; nothing was changed"
    )]
    SegmentShort {
        /// The segment.
        name: String,
        /// Its length in bytes.
        bytes: u64,
        /// The end of the change that does not fit.
        end: u64,
    },
    /// A name that cannot be a segment's.
    #[error(
        "`{name}` cannot be the name of a segment: use 1 to {NAME_BYTES_MAX} letters, digits, `-`, `_` and `.`, not `.` first"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// A range that cannot be mapped.
    #[error("bytes {} to {} of segment `{name}` cannot be mapped: a region is whole pages of {PAGE_BYTES} bytes within its {bytes} bytes", range.start, range.end)]
    NotPages {
        /// The segment.
        name: String,
        /// The range that was asked for.
        range: Range<u64>,
        /// The length of the segment in bytes.
        bytes: u64,
    },
    /// A page is mapped already.
    #[error("bytes {} to {} of segment `{name}` are mapped already: drop that region first", range.start, range.end)]
    Mapped {
        /// The segment.
        name: String,
        /// The range that is in the way.
        range: Range<u64>,
    },
    /// The log is too small to list its segments.
    #[error(
        "a list of segments of {bytes} bytes does not fit a log of this size, which has {bytes_max} for it: use a larger log"
    )]
    TooManySegments {
        /// Bytes that the list would take.
        bytes: u64,
        /// Bytes that it may take.
        bytes_max: u64,
    },
    /// The region belongs to another memory, or an earlier one.
    #[error("the region was not mapped by this memory")]
    ForeignRegion,
    /// An option that is out of range.
    #[error("option {name} cannot be {value}: {expected}")]
    Option {
        /// Its name.
        name: &'static str,
        /// The value.
        value: u64,
        /// What it can be.
        expected: &'static str,
    },
    /// A file or memory has refused an operation.
    #[error("could not {action} `{name}`: {source}")]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The segment.
        name: String,
        /// The failure of the operating system.
        source: io::Error,
    },
    /// Something failed before, and what is in memory is not to be trusted any more.
    #[error(
        "recoverable memory has failed and does nothing any more ({reason}): close it and open it again, which brings back what was durable"
    )]
    Failed {
        /// The first failure.
        reason: String,
    },
}

impl Error {
    /// A failure of the operating system while `action` was done to a segment.
    pub(crate) fn io(action: &'static str, name: &str) -> impl FnOnce(io::Error) -> Error {
        let name = name.to_string();
        move |source| Error::Io { action, name, source }
    }
}

/// A range that cannot be read or set. Nothing has changed; the transaction may go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RangeError {
    /// It is not within the region.
    #[error("bytes {} to {} are not within the region, which is bytes {} to {} of its segment", asked.start, asked.end, region.start, region.end)]
    Outside {
        /// The range that was asked for.
        asked: Range<u64>,
        /// The region.
        region: Range<u64>,
    },
    /// A value cannot stand there.
    #[error("offset {offset} is not a multiple of {alignment}, as a value of this type needs")]
    Misaligned {
        /// The offset that was asked for.
        offset: u64,
        /// What it must be a multiple of.
        alignment: usize,
    },
    /// The transaction would not fit the log.
    #[error(
        "the transaction would take {bytes} bytes of log, and {bytes_max} are the most in a log of this size: use a larger log, or several transactions"
    )]
    LogTooSmall {
        /// Bytes that its record would take.
        bytes: u64,
        /// Bytes that it may take.
        bytes_max: u64,
    },
}
