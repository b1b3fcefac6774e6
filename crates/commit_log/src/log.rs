//! The contract of a log: the seam between the real world ([`crate::MappedLog`]) and the simulator
//! ([`crate::MemoryLog`]). The same calls give the same positions in both.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::LogError;
use crate::place::Position;

/// The records of a log in order, each with the position at which it starts. After an error there are no more.
pub type LogRecords<'a> = Box<dyn Iterator<Item = Result<(Position, Vec<u8>), LogError>> + 'a>;

/// An endless row of records.
///
/// Contract, with `first <= synced <= appended` at all times:
/// * a record survives the death of the process as soon as `append` has returned, and the loss of power as soon as
///   `synced` is above the position at which it starts: it is on disk, or as the [`LogReceipt`] says;
/// * records are lost from the end only, never from the middle;
/// * `synced` never falls while the log is open;
/// * a failed sync kills the log: the first call that can return an error returns [`LogError::SyncFailed`], every later
///   one [`LogError::Failed`]. `appended`, `synced`, `first` and `status` go on answering.
pub trait Log {
    /// Appends a record of 1 to [`crate::limits::RECORD_BYTES_MAX`] bytes and returns the position at which it starts.
    ///
    /// # Errors
    /// After an error nothing has been appended. [`LogError::DiskFull`] and [`LogError::Behind`] may be tried again.
    fn append(&mut self, record: &[u8]) -> Result<Position, LogError>;

    /// The end of the log: where the next record will start.
    fn appended(&self) -> Position;

    /// Everything below survives the loss of power. Always the start of a record, or the end of the log.
    fn synced(&self) -> Position;

    /// Everything below is on the local disk: for what must not be ahead of it, because what only the memory of other hosts holds can be
    /// lost with them. Not above [`Log::synced`].
    fn on_disk(&self) -> Position {
        self.synced()
    }

    /// Whether the log has failed, before a call says why.
    fn has_failed(&self) -> bool {
        false
    }

    /// The oldest position that can still be read.
    fn first(&self) -> Position;

    /// Starts a sync of all that has been appended, or has the one that is under way followed by another. Returns at
    /// once; several requests may be met by one sync (group commit).
    fn request_sync(&mut self);

    /// What the syncs have reached.
    ///
    /// # Errors
    /// The failure of a sync.
    fn poll_synced(&mut self) -> Result<Position, LogError>;

    /// Syncs all that has been appended and waits for it.
    ///
    /// # Errors
    /// The failure of the sync.
    fn sync_now(&mut self) -> Result<(), LogError>;

    /// Gives up records below `position`. The log decides how much of them really goes, and a crash may bring back what
    /// was given up; `first` tells. Never drops a record at or above `position`, and never the end of the log.
    ///
    /// # Errors
    /// Only that the log has failed.
    fn truncate_before(&mut self, position: Position) -> Result<(), LogError>;

    /// The records from `position` to the present end. `position` must be the start of a record or the end.
    fn read_from(&self, position: Position) -> LogRecords<'_>;

    /// For a log that is also kept elsewhere than on the local disk: sends what was appended since the last call, without waiting. Whoever
    /// drives the log calls it once in each of its turns, and again at the latest after the time that it returns.
    fn turn(&mut self) -> Option<Duration> {
        None
    }

    /// Counters for the operator.
    fn status(&self) -> LogStatus;
}

/// What lets a record survive the loss of power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogReceipt {
    /// A sync of the local disk that covers it has returned.
    #[default]
    Disk,
    /// The memory of other hosts.
    Memory {
        /// How many hold it.
        copies: u8,
    },
}

/// Counters of a log since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogStatus {
    /// Bytes appended, frames included.
    pub bytes_appended: u64,
    /// Syncs that have reached the disk.
    pub syncs: u64,
    /// Durations of all of them together, in microseconds.
    pub sync_latency_us_total: u64,
    /// Duration of the last of them, in microseconds; 0 before the first.
    pub sync_latency_us_last: u64,
    /// Duration of the longest of them, in microseconds.
    pub sync_latency_us_max: u64,
    /// What makes records survive the loss of power now.
    pub receipt: LogReceipt,
    /// Bytes that survive by the memory of other hosts alone: lost if that and the local power go at once.
    pub window_bytes: u64,
}

/// What was found when a log was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// There was no log before.
    pub created: bool,
    /// The oldest position that can be read.
    pub first: Position,
    /// The end of the log. All below is on disk.
    pub end: Position,
    /// The number of records in between.
    pub records: u64,
    /// What had to be cut off the end, if anything.
    pub cut: Option<Cut>,
}

/// What opening a log has cut off its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Whether this is a matter of course or a loss.
    pub reason: CutReason,
    /// The segment in which the cut was made.
    pub file: PathBuf,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// Where in the log: nothing from here on was kept.
    pub position: Position,
    /// Bytes in use from there on, in this segment and the later ones: what was dropped.
    pub bytes: u64,
    /// The first whole record behind the cut, if there was one. It was dropped, since a record before it is missing.
    pub later_record: Option<Position>,
}

/// Why a log was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutReason {
    /// The records had never been reported as synced. A process killed inside `append` leaves such a tail, and so does a
    /// loss of power, which writes pages in any order: whole records may follow a torn one.
    TornTail,
    /// Records that had been synced are damaged or gone. Other copies must make up for them.
    Corruption,
}
