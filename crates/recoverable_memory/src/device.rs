//! What a log can be: a row of bytes at positions that only grow, of which the front is given up. The seam between a log on
//! disk ([`crate::file_log`]), one in the memory of other hosts, and a test's ([`crate::memory_log`]).

use std::fmt;
use std::io;

use thiserror::Error;

/// A byte offset in the endless log. It is never used for other bytes, not even after a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogOffset(pub u64);

impl LogOffset {
    /// The position `bytes` further on.
    pub fn plus(self, bytes: u64) -> LogOffset {
        LogOffset(self.0 + bytes)
    }

    /// How many bytes lie between `earlier` and this position.
    ///
    /// # Panics
    /// If `earlier` is later.
    pub fn since(self, earlier: LogOffset) -> u64 {
        assert!(earlier <= self, "position {earlier} is not earlier than {self}");
        self.0 - earlier.0
    }
}

impl fmt::Display for LogOffset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// A sync of the local disk.
    Disk,
    /// The memory of so many servers on other hosts, or a sync of the local disk if that comes first.
    Memory {
        /// Servers, 1 or more.
        copies: u8,
    },
}

/// What made a commit durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceReceipt {
    /// Nothing yet: the commit survives neither the death of the process nor a loss of power before it is flushed.
    Buffered,
    /// So many servers on other hosts have it in memory.
    Memory {
        /// Servers that have acknowledged it.
        copies: u8,
    },
    /// The local disk has been synced.
    Disk,
}

impl DeviceReceipt {
    /// Whether this is at least what was wanted.
    pub fn meets(self, wanted: Durability) -> bool {
        match (self, wanted) {
            (DeviceReceipt::Disk, _) => true,
            (DeviceReceipt::Memory { copies }, Durability::Memory { copies: wanted }) => copies >= wanted,
            (DeviceReceipt::Memory { .. } | DeviceReceipt::Buffered, _) => false,
        }
    }
}

impl fmt::Display for DeviceReceipt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceReceipt::Buffered => write!(formatter, "nothing yet"),
            DeviceReceipt::Memory { copies } => write!(formatter, "memory of {copies} servers"),
            DeviceReceipt::Disk => write!(formatter, "disk"),
        }
    }
}

/// What of a log can be read: `start <= flushed <= end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogExtent {
    /// The oldest byte.
    pub start: LogOffset,
    /// All below was acknowledged as durable once: what cannot be read there is lost, not torn. It may be lower than what was
    /// acknowledged, where the note of it was lost.
    pub flushed: LogOffset,
    /// No byte was ever written here or beyond. Below it and above `flushed` anything may stand.
    pub end: LogOffset,
}

/// A log of bytes with a fixed capacity. Records, checksums and torn ends are the business of the caller.
///
/// Contract:
/// * `append` puts bytes at the end and may return before they are safe anywhere (it is pipelined). The caller appends from one
///   thread at a time; `flush`, `read` and `extent` may come from others meanwhile;
/// * `flush(upto, wanted)` waits until all below `upto` is durable as `wanted` or better, and says by what. Several threads may wait at
///   a time, and a device meets them by one sync if it can (group commit). A device that cannot give `wanted` gives more, never
///   less, or fails;
/// * what a flush has covered is read back after any crash that the receipt speaks of, byte by byte. Of what was appended since, any
///   part may be there;
/// * `truncate` and `reset` are durable when they return, and happen whole or not at all. Only then is room used again;
/// * **a failure is final**, except [`DeviceError::Full`] and those of `read` and `extent`: every later call fails with [`DeviceError::Failed`]. A failed sync is not
///   tried again, because the kernel may have dropped the bytes and call the next sync a success;
/// * a remote device that finds that another writer has taken its log over fails likewise.
pub trait LogDevice: Send + Sync {
    /// The most bytes between start and end.
    fn capacity(&self) -> u64;

    /// What can be read, as far as the device itself can tell.
    ///
    /// # Errors
    /// A device that cannot know, because what it needs cannot be reached, says so instead of guessing.
    fn extent(&self) -> Result<LogExtent, DeviceError>;

    /// Appends bytes and returns the end of the log behind them.
    ///
    /// # Errors
    /// [`DeviceError::Full`]: nothing was appended, and it may be tried again after a truncation. Any other is final.
    fn append(&self, bytes: &[u8]) -> Result<LogOffset, DeviceError>;

    /// Waits until all below `upto` is durable.
    ///
    /// # Errors
    /// Final.
    fn flush(&self, upto: LogOffset, wanted: Durability) -> Result<DeviceReceipt, DeviceError>;

    /// Fills `buffer` with the bytes from `from` on, which lie between start and end.
    ///
    /// # Errors
    /// [`DeviceError::OutOfExtent`], and whatever the device meets.
    fn read(&self, from: LogOffset, buffer: &mut [u8]) -> Result<(), DeviceError>;

    /// Gives up all below `upto`, which has been flushed.
    ///
    /// # Errors
    /// Final.
    fn truncate(&self, upto: LogOffset) -> Result<(), DeviceError>;

    /// Gives up everything and goes on at `at`, which is not below the extent's end. After it nothing that was written before can be
    /// taken for part of the log, whatever stood beyond its end.
    ///
    /// # Errors
    /// Final.
    fn reset(&self, at: LogOffset) -> Result<(), DeviceError>;
}

/// A failure of a log device.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// There is no room for these bytes.
    #[error("the log has {free} bytes of room, {needed} are needed: truncate it first")]
    Full {
        /// Bytes to be appended.
        needed: u64,
        /// Bytes of room.
        free: u64,
    },
    /// The bytes are not there.
    #[error("the log has no {bytes} bytes at position {from}: it goes from {start} to {end}")]
    OutOfExtent {
        /// The first byte asked for.
        from: LogOffset,
        /// How many were asked for.
        bytes: u64,
        /// The oldest byte there is.
        start: LogOffset,
        /// Where the log ends.
        end: LogOffset,
    },
    /// What holds the log has refused an operation.
    #[error("could not {action} the log: {source}")]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The failure of the operating system.
        source: io::Error,
    },
    /// This is no log, or not one of this program, or it is damaged.
    #[error("{reason}")]
    NotALog {
        /// What is wrong, and what to do.
        reason: String,
    },
    /// What the device needs cannot be had, such as enough servers.
    #[error("the log cannot be used now: {reason}")]
    Unavailable {
        /// What is missing.
        reason: String,
    },
    /// It failed before.
    #[error("the log has failed before and does nothing any more: close it and open it again")]
    Failed,
}

impl DeviceError {
    /// A failure of the operating system while `action` was done.
    pub fn io(action: &'static str) -> impl FnOnce(io::Error) -> DeviceError {
        move |source| DeviceError::Io { action, source }
    }
}
