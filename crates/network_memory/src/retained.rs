//! Records in a row, from one position to another, in memory.
//!
//! Invariant: no gap; `records[i]` is the record at `from + i`.

use crate::limits::RECORD_OVERHEAD_BYTES;
use crate::message::CheckedRecord;
use crate::names::{LogMark, RecordNumber, WriterEpoch};
use std::collections::VecDeque;

/// See the module's description.
#[derive(Clone, Debug, Default)]
pub(crate) struct Retained {
    from: RecordNumber,
    /// Of the record before `from`.
    epoch_before: WriterEpoch,
    records: VecDeque<CheckedRecord>,
    bytes: u64,
}

/// What a record takes of a quota.
pub(crate) fn cost(record: &CheckedRecord) -> u64 {
    record.bytes.len() as u64 + RECORD_OVERHEAD_BYTES
}

impl Retained {
    /// No records, behind this mark.
    pub(crate) fn behind(mark: LogMark) -> Retained {
        Retained { from: mark.position, epoch_before: mark.epoch, ..Retained::default() }
    }

    pub(crate) fn from(&self) -> RecordNumber {
        self.from
    }

    pub(crate) fn end(&self) -> RecordNumber {
        self.from.plus(self.records.len())
    }

    /// What the records take of a quota.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The mark at the end.
    pub(crate) fn end_mark(&self) -> LogMark {
        LogMark { position: self.end(), epoch: self.records.back().map_or(self.epoch_before, |record| record.epoch) }
    }

    /// The mark at the start.
    pub(crate) fn start_mark(&self) -> LogMark {
        LogMark { position: self.from, epoch: self.epoch_before }
    }

    /// The mark at a position between start and end.
    pub(crate) fn mark(&self, position: RecordNumber) -> Option<LogMark> {
        let epoch = match position {
            _ if position == self.from => self.epoch_before,
            _ if position < self.from => return None,
            _ => self.records.get(position.since(self.from) - 1)?.epoch,
        };
        Some(LogMark { position, epoch })
    }

    /// The last mark below a position at which an epoch ends; the one at the start if there is none.
    pub(crate) fn boundary_below(&self, position: RecordNumber) -> LogMark {
        let at = |position: RecordNumber| self.mark(position).unwrap_or(self.start_mark());
        let last = position.min(self.end());
        let epoch = at(last).epoch;
        let below = (self.from.0..last.0).rev().map(RecordNumber);
        // One epoch has many records: what is below its first one is a boundary.
        below.map(at).find(|mark| mark.epoch != epoch).unwrap_or(self.start_mark())
    }

    pub(crate) fn get(&self, position: RecordNumber) -> Option<&CheckedRecord> {
        if position < self.from { None } else { self.records.get(position.since(self.from)) }
    }

    /// The records from a position on; from the start if that is later.
    pub(crate) fn starting_at(&self, position: RecordNumber) -> impl Iterator<Item = &CheckedRecord> {
        self.records.range(position.since(self.from).min(self.records.len())..)
    }

    pub(crate) fn push(&mut self, record: CheckedRecord) {
        self.bytes += cost(&record);
        self.records.push_back(record);
    }

    /// Gives up what lies below.
    pub(crate) fn truncate_before(&mut self, position: RecordNumber) {
        while self.from < position
            && let Some(record) = self.records.pop_front()
        {
            self.bytes -= cost(&record);
            self.epoch_before = record.epoch;
            self.from = self.from.plus(1);
        }
    }

    /// Says in which epoch the record before the first was written.
    pub(crate) fn set_epoch_before(&mut self, epoch: WriterEpoch) {
        self.epoch_before = epoch;
    }

    /// Gives up what lies at or above.
    pub(crate) fn truncate_from(&mut self, position: RecordNumber) {
        while self.end() > position
            && let Some(record) = self.records.pop_back()
        {
            self.bytes -= cost(&record);
        }
    }

    /// For the simulator: a record rots.
    pub(crate) fn damage(&mut self, position: RecordNumber) {
        if let Some(record) = self.records.get_mut(position.since(self.from)) {
            let mut bytes = record.bytes.to_vec();
            match bytes.first_mut() {
                Some(byte) => *byte ^= 0x10,
                None => bytes.push(0),
            }
            record.bytes = bytes.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::LogId;

    /// If this failed, marks of different logs would be taken for the same, or a record for its neighbour.
    #[test]
    fn marks_and_records_follow_truncation() {
        let epoch = |number| WriterEpoch { number, writer: 1 };
        let mut retained = Retained::behind(LogMark { position: RecordNumber(10), epoch: epoch(1) });
        for (at, number) in [(10, 2), (11, 2), (12, 3)] {
            retained.push(CheckedRecord::new(LogId(1), RecordNumber(at), epoch(number), vec![at as u8; 3].into()));
        }
        assert_eq!(retained.mark(RecordNumber(10)).map(|mark| mark.epoch.number), Some(1));
        assert_eq!(retained.mark(RecordNumber(12)).map(|mark| mark.epoch.number), Some(2));
        assert_eq!(retained.mark(RecordNumber(13)), Some(retained.end_mark()));
        assert_eq!((retained.mark(RecordNumber(9)), retained.mark(RecordNumber(14))), (None, None));
        let boundaries = [14, 13, 12, 11, 10].map(|at| retained.boundary_below(RecordNumber(at)).position.0);
        assert_eq!(boundaries, [12, 12, 10, 10, 10]);
        retained.truncate_before(RecordNumber(12));
        assert_eq!((retained.start_mark().epoch.number, retained.end()), (2, RecordNumber(13)));
        assert!(retained.get(RecordNumber(12)).is_some_and(|record| record.is_sound(LogId(1), RecordNumber(12))));
        assert!(retained.get(RecordNumber(11)).is_none());
        retained.damage(RecordNumber(12));
        assert!(retained.get(RecordNumber(12)).is_some_and(|record| !record.is_sound(LogId(1), RecordNumber(12))));
        retained.truncate_from(RecordNumber(12));
        assert_eq!((retained.end_mark().epoch.number, retained.bytes()), (2, 0));
    }
}
