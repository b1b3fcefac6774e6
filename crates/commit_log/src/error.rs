//! What can go wrong with a log, and what to do about it. Every text says both.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::limits::{RECORD_BYTES_MAX, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, UNSYNCED_BYTES_MAX};
use crate::place::{LogIdentity, Position};

/// A failure of the log. After [`LogError::SyncFailed`] the log is dead; after any other error of `append` it is as it
/// was before, and the call may be repeated once the cause is gone.
#[derive(Debug, Error)]
pub enum LogError {
    /// There is no room for another segment. Nothing of the record was written.
    #[error("the disk under {} is full: {bytes} bytes of log could not be reserved; nothing was written; free space there and try again", path.display())]
    DiskFull {
        /// The file that could not be made or extended.
        path: PathBuf,
        /// The bytes that were asked for.
        bytes: u64,
    },
    /// The file system does not let us write.
    #[error("the file system of {} is read-only: mount it writable, or look in the kernel's log for the disk error that made it so", path.display())]
    ReadOnly {
        /// The file that could not be written.
        path: PathBuf,
    },
    /// Bytes that had reached the disk are damaged or gone.
    #[error("the log is damaged in {} at byte {offset} (log position {position}): {bytes} bytes from there on cannot be trusted; put a sound copy of the file back, or give this log up", file.display())]
    Corrupt {
        /// The damaged segment.
        file: PathBuf,
        /// Where in the file the damage starts, in bytes.
        offset: u64,
        /// The position in the log of that byte, or of the last byte known before it.
        position: Position,
        /// Bytes in use from the damage to the end of the log: what a cut would drop.
        bytes: u64,
    },
    /// The folder holds the log of somebody else.
    #[error("{} belongs to {found}, not to {expected}: point this site to its own folder", file.display())]
    WrongIdentity {
        /// The segment that says so.
        file: PathBuf,
        /// The owner that the segment names.
        found: LogIdentity,
        /// The owner that the caller named.
        expected: LogIdentity,
    },
    /// The segment was written by a program with another format.
    #[error("{} has log format {found}, this program reads {expected}: use the release that wrote it", file.display())]
    UnsupportedVersion {
        /// The segment that says so.
        file: PathBuf,
        /// The version that it names.
        found: u32,
        /// The version of this program.
        expected: u32,
    },
    /// Another process, or another log of this process, has the folder open.
    #[error("the log in {} is in use by another process: stop that one first, or use another folder", folder.display())]
    Locked {
        /// The folder.
        folder: PathBuf,
    },
    /// A record that is empty or too long.
    #[error("a record of {bytes} bytes cannot be logged: it must have 1 to {RECORD_BYTES_MAX} bytes; split it")]
    RecordSize {
        /// Its length.
        bytes: usize,
    },
    /// A segment size that is out of range.
    #[error("segments of {bytes} bytes are not possible: choose {SEGMENT_BYTES_MIN} to {SEGMENT_BYTES_MAX} bytes")]
    SegmentSize {
        /// The size that was asked for.
        bytes: u64,
    },
    /// The disk does not keep up.
    #[error(
        "{unsynced_bytes} bytes of log wait for the disk, and {UNSYNCED_BYTES_MAX} are the bound; nothing was written; the disk is stalled or too slow: try again after the next sync"
    )]
    Behind {
        /// Bytes appended and not yet synced.
        unsynced_bytes: u64,
    },
    /// A sync failed. This is told once; what is on disk beyond the last synced position is unknown and stays so.
    #[error(
        "the log could not be written to disk ({source}): stop this site, replace the disk if it is broken, and start again; a failed sync is never retried because the kernel may have dropped the data"
    )]
    SyncFailed {
        /// The failure of the operating system.
        source: io::Error,
    },
    /// A sync failed earlier.
    #[error("the log has failed before and does nothing any more: stop this site and start it again")]
    Failed,
    /// The log is also kept elsewhere than on the local disk, and cannot go on because of that.
    #[error("the log cannot go on: {reason}")]
    Elsewhere {
        /// Why, and what to do.
        reason: String,
    },
    /// The records there were given up by `truncate_before`.
    #[error("log position {position} was truncated: the log now starts at {first}")]
    Truncated {
        /// The position that was asked for.
        position: Position,
        /// The oldest position that can be read.
        first: Position,
    },
    /// The log is not that long.
    #[error("log position {position} is beyond the end of the log at {end}")]
    BeyondEnd {
        /// The position that was asked for.
        position: Position,
        /// The end of the log.
        end: Position,
    },
    /// The position lies inside a record.
    #[error("no record starts at log position {position}: read from a position that the log itself has given")]
    NotARecord {
        /// The position that was asked for.
        position: Position,
    },
    /// Any other failure of the operating system.
    #[error("could not {action} {}: {source}; check the permissions and the health of the disk", path.display())]
    Io {
        /// What was tried, as a verb: "read", "create".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The failure of the operating system.
        source: io::Error,
    },
}

impl LogError {
    /// Sorts a failure of the operating system while `action` was done to `path`. `bytes` is what was to be reserved, if
    /// anything was.
    pub(crate) fn io(action: &'static str, path: &Path, bytes: u64, source: io::Error) -> LogError {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => LogError::DiskFull { path, bytes },
            io::ErrorKind::ReadOnlyFilesystem => LogError::ReadOnly { path },
            _ => LogError::Io { action, path, source },
        }
    }
}
