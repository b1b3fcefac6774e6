//! The twin of the mapped log for the simulator: no file, no thread, no clock, the same positions and the same failures.
//!
//! Invariant: nothing happens by itself. A requested sync is finished by [`MemoryLog::complete_sync`], and a loss of power
//! loses exactly what [`MemoryLog::power_loss`] is told to, so equal calls give equal logs.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;

use crate::error::LogError;
use crate::frame::frame_bytes;
use crate::limits::RECORD_BYTES_MAX;
use crate::log::{Cut, CutReason, Log, LogRecords, LogStatus, Opened};
use crate::place::Position;

/// A log in plain memory, with switches for the failures of a disk.
#[derive(Clone, Debug, Default)]
pub struct MemoryLog {
    /// In order and without a gap, up to `appended`.
    records: VecDeque<(Position, Vec<u8>)>,
    appended: Position,
    synced: Position,
    /// How far `poll_synced` says that it is, if that is further: a planted bug.
    claimed: Position,
    /// How far the requested sync has to come.
    requested: Option<Position>,
    /// The disk refuses every sync while this is set.
    fail_sync: bool,
    /// The disk has no room while this is set.
    full: bool,
    failure: DiskFailure,
    bytes_appended: u64,
    syncs: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DiskFailure {
    #[default]
    None,
    /// A sync has failed and nobody knows.
    Untold,
    Told,
}

impl MemoryLog {
    /// An empty log.
    pub fn new() -> MemoryLog {
        MemoryLog::default()
    }

    /// An empty log whose first record will have this position.
    pub fn beginning_at(position: Position) -> MemoryLog {
        MemoryLog { appended: position, synced: position, ..MemoryLog::default() }
    }

    /// From now on every sync fails (`true`) or none does.
    pub fn fail_sync(&mut self, fail: bool) {
        self.fail_sync = fail;
    }

    /// From now on the disk is full (`true`) or it is not.
    pub fn set_full(&mut self, full: bool) {
        self.full = full;
    }

    /// How far the sync has to come that is waiting for [`MemoryLog::complete_sync`], if one was requested.
    pub fn sync_requested(&self) -> Option<Position> {
        self.requested
    }

    /// Finishes the requested sync, or fails it. What was appended since the request is not part of it.
    pub fn complete_sync(&mut self) {
        let Some(target) = self.requested.take() else { return };
        if self.failure != DiskFailure::None {
            return;
        }
        if self.fail_sync {
            self.failure = DiskFailure::Untold;
            return;
        }
        self.synced = target.max(self.synced);
        self.syncs += 1;
    }

    /// The process dies and opens the log again: nothing is lost, and all is on disk.
    pub fn restart(&mut self) -> Opened {
        self.reopen(None)
    }

    /// Power fails, and the log is opened again. Records that end at or below `keep_until` happen to be on disk, those
    /// below `synced` are there for certain, all others are lost. With `torn`, a part of the first lost one is on disk,
    /// which opening the log has to cut.
    pub fn power_loss(&mut self, keep_until: Position, torn: bool) -> Opened {
        let keep = self.synced.max(keep_until);
        let kept = self.records.partition_point(|(start, record)| end_of(*start, record) <= keep);
        let lost = self.records.get(kept).map(|(start, record)| (*start, frame_bytes(record.len()) as u64));
        self.records.truncate(kept);
        let cut = lost.filter(|_| torn).map(|(position, frame)| Cut {
            reason: CutReason::TornTail,
            file: PathBuf::from("memory"),
            offset: position.0,
            position,
            bytes: frame / 2,
            later_record: None,
        });
        self.appended = lost.map_or(self.appended, |(position, _)| position);
        self.reopen(cut)
    }

    /// Goes on after a failed sync as if it had succeeded: what a program does that tries a failed sync again. What was not
    /// synced stays so.
    pub fn forgive(&mut self) {
        self.failure = DiskFailure::None;
        self.claimed = self.appended;
    }

    /// The records from this position on, without copying them; a position before the first is taken for the first.
    pub fn records_from(&self, position: Position) -> impl Iterator<Item = (Position, &[u8])> {
        let index = self.records.partition_point(|(start, _)| *start < position);
        self.records.range(index..).map(|(start, record)| (*start, record.as_slice()))
    }

    fn reopen(&mut self, cut: Option<Cut>) -> Opened {
        self.synced = self.appended;
        self.claimed = Position::START;
        self.requested = None;
        self.failure = DiskFailure::None;
        self.bytes_appended = 0;
        self.syncs = 0;
        let (first, end) = (self.first(), self.appended);
        Opened { created: false, first, end, records: self.records.len() as u64, cut }
    }

    fn check(&mut self) -> Result<(), LogError> {
        match std::mem::replace(&mut self.failure, DiskFailure::Told) {
            DiskFailure::None => {
                self.failure = DiskFailure::None;
                Ok(())
            }
            DiskFailure::Untold => {
                Err(LogError::SyncFailed { source: io::Error::other("the simulated disk has failed") })
            }
            DiskFailure::Told => Err(LogError::Failed),
        }
    }
}

fn end_of(start: Position, record: &[u8]) -> Position {
    start.plus(frame_bytes(record.len()) as u64)
}

impl Log for MemoryLog {
    fn append(&mut self, record: &[u8]) -> Result<Position, LogError> {
        self.check()?;
        if !(1..=RECORD_BYTES_MAX).contains(&record.len()) {
            return Err(LogError::RecordSize { bytes: record.len() });
        }
        let frame = frame_bytes(record.len()) as u64;
        if self.full {
            return Err(LogError::DiskFull { path: PathBuf::from("memory"), bytes: frame });
        }
        let position = self.appended;
        self.records.push_back((position, record.to_vec()));
        self.appended = position.plus(frame);
        self.bytes_appended += frame;
        Ok(position)
    }

    fn appended(&self) -> Position {
        self.appended
    }

    fn synced(&self) -> Position {
        self.synced
    }

    fn first(&self) -> Position {
        self.records.front().map_or(self.appended, |(start, _)| *start)
    }

    fn request_sync(&mut self) {
        self.requested = Some(self.appended);
    }

    fn poll_synced(&mut self) -> Result<Position, LogError> {
        self.check()?;
        Ok(self.synced.max(self.claimed))
    }

    fn sync_now(&mut self) -> Result<(), LogError> {
        self.check()?;
        self.request_sync();
        self.complete_sync();
        self.check()
    }

    fn truncate_before(&mut self, position: Position) -> Result<(), LogError> {
        self.check()?;
        let dropped = self.records.partition_point(|(start, record)| end_of(*start, record) <= position);
        // Like the mapped log, which never drops the segment that is being appended to.
        self.records.drain(..dropped.min(self.records.len().saturating_sub(1)));
        Ok(())
    }

    fn read_from(&self, position: Position) -> LogRecords<'_> {
        let (first, end) = (self.first(), self.appended);
        let refused = if position < first {
            LogError::Truncated { position, first }
        } else if position > end {
            LogError::BeyondEnd { position, end }
        } else {
            let index = self.records.partition_point(|(start, _)| *start < position);
            if position == end || self.records.get(index).is_some_and(|(start, _)| *start == position) {
                return Box::new(self.records.range(index..).cloned().map(Ok));
            }
            LogError::NotARecord { position }
        };
        Box::new(std::iter::once(Err(refused)))
    }

    fn status(&self) -> LogStatus {
        LogStatus { bytes_appended: self.bytes_appended, syncs: self.syncs, ..LogStatus::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(log: &MemoryLog) -> Vec<Position> {
        log.read_from(log.first()).map(|record| record.unwrap().0).collect()
    }

    /// Five records of 24 bytes in the log, of which the first two are synced.
    fn five() -> MemoryLog {
        let mut log = MemoryLog::new();
        for index in 0..5_u8 {
            log.append(&[index; 8]).unwrap();
            if index == 1 {
                log.sync_now().unwrap();
            }
        }
        log
    }

    /// If this fails, the simulator loses records that a real disk keeps, or keeps ones that it may lose.
    #[test]
    fn power_loss_keeps_what_is_synced_and_what_it_is_told_to() {
        for (keep_until, kept) in [(0, 2), (48, 2), (71, 2), (72, 3), (100, 4), (120, 5), (1000, 5)] {
            for torn in [false, true] {
                let mut log = five();
                let opened = log.power_loss(Position(keep_until), torn);
                assert_eq!((opened.records, opened.end), (kept, Position(kept * 24)));
                assert_eq!(opened.cut.map(|cut| cut.position), (torn && kept < 5).then_some(opened.end));
                assert_eq!(positions(&log), (0..kept).map(|index| Position(index * 24)).collect::<Vec<_>>());
                assert_eq!((log.synced(), log.append(b"new").unwrap()), (opened.end, opened.end));
            }
        }
    }

    /// If this fails, a sync of the simulator covers records that were appended after it began.
    #[test]
    fn a_sync_reaches_what_was_there_when_it_was_requested() {
        let mut log = five();
        log.request_sync();
        log.append(b"too late").unwrap();
        assert_eq!((log.sync_requested(), log.synced()), (Some(Position(120)), Position(48)));
        log.complete_sync();
        assert_eq!((log.sync_requested(), log.poll_synced().unwrap()), (None, Position(120)));
    }

    /// If this fails, a failed sync goes unnoticed, or is retried.
    #[test]
    fn a_failed_sync_is_told_once_and_is_final() {
        let mut log = five();
        log.fail_sync(true);
        log.request_sync();
        log.complete_sync();
        log.fail_sync(false);
        assert!(matches!(log.append(b"x"), Err(LogError::SyncFailed { .. })));
        assert!(matches!(log.poll_synced(), Err(LogError::Failed)));
        assert!(matches!(log.sync_now(), Err(LogError::Failed)));
        assert!(matches!(log.append(b"x"), Err(LogError::Failed)));
        assert!(matches!(log.truncate_before(Position(48)), Err(LogError::Failed)));
        assert_eq!(log.synced(), Position(48));
        assert_eq!(log.restart().end, Position(120));
        assert_eq!(log.append(b"x").unwrap(), Position(120));
    }

    /// If this fails, a full disk changes the log or lasts for ever.
    #[test]
    fn a_full_disk_refuses_and_changes_nothing() {
        let mut log = five();
        log.set_full(true);
        assert!(matches!(log.append(b"x"), Err(LogError::DiskFull { .. })));
        assert_eq!(log.appended(), Position(120));
        log.set_full(false);
        assert_eq!(log.append(b"x").unwrap(), Position(120));
    }
}
