//! Decides what of the files in a folder is the log.
//!
//! The log is the longest row of valid records that starts with the first segment and has no gap. Where it ends although
//! bytes follow, there are two cases, told apart by the *mark*, the highest synced position that any segment header holds:
//! * the end is at or above the mark: the bytes beyond had never been promised to survive a loss of power. A process
//!   killed inside `append` leaves half a record there; a loss of power may even leave whole records behind a missing
//!   one, because the kernel writes pages in any order. This tail is cut.
//! * the end is below the mark, or a header is damaged: what was on disk is not there any more. That is corruption, and
//!   opening stops, unless the caller has asked to cut there too.
//!
//! Invariant: after recovery nothing but zeros follows the last record in its segment, and that is on disk before the next
//! record is appended. So a record that was cut off can never be read behind a new one.

use std::path::{Path, PathBuf};

use crate::error::LogError;
use crate::frame::{Head, end_of_record, frame_bytes};
use crate::limits::{FRAME_ALIGNMENT, SEGMENT_BYTES_MAX, SEGMENT_HEADER_BYTES};
use crate::log::{Cut, CutReason};
use crate::mapped::Repair;
use crate::place::{LogIdentity, Position};
use crate::segment::{self, DataReader, SegmentFile, SegmentHeader};

/// A segment that belongs to the log. It ends where the next one starts, the last one at the end of the log.
#[derive(Clone, Debug)]
pub(crate) struct KeptSegment {
    pub(crate) sequence: u64,
    pub(crate) capacity: u64,
    pub(crate) first: Position,
    pub(crate) path: PathBuf,
}

/// The log that was found in a folder.
#[derive(Debug)]
pub(crate) struct RecoveredLog {
    /// In order, without a gap. Empty if there is no log yet or nothing of it could be kept.
    pub(crate) segments: Vec<KeptSegment>,
    pub(crate) end: Position,
    pub(crate) records: u64,
    pub(crate) cut: Option<Cut>,
    /// Free for the next segment.
    pub(crate) next_sequence: u64,
}

/// A segment file as it was found.
struct SegmentCandidate {
    sequence: u64,
    path: PathBuf,
    header: Result<SegmentHeader, u64>,
}

/// The valid records at the start of some bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ValidRecords {
    /// Where they end, in bytes behind that start.
    end: usize,
    records: u64,
}

/// The row that `data` starts with, whose first byte is at `first`.
fn scan(data: &[u8], first: Position) -> ValidRecords {
    let mut row = ValidRecords::default();
    while let Some(end) = end_of_record(data, row.end, first.plus(row.end as u64)) {
        row = ValidRecords { end, records: row.records + 1 };
    }
    row
}

/// The first valid record that starts at `from` or behind it; `from` is a place where a record may start.
fn find_record(data: &[u8], first: Position, from: usize) -> Option<Position> {
    (from..used(data))
        .step_by(FRAME_ALIGNMENT)
        .find(|&offset| end_of_record(data, offset, first.plus(offset as u64)).is_some())
        .map(|offset| first.plus(offset as u64))
}

/// The end of the bytes in use: behind the last one that is not zero.
fn used(data: &[u8]) -> usize {
    let mut end = data.len();
    for chunk in data.rchunks(SEGMENT_HEADER_BYTES as usize) {
        // Without a branch for each byte, which most of a segment would take in vain.
        if chunk.iter().fold(0, |all, byte| all | byte) != 0 {
            break;
        }
        end -= chunk.len();
    }
    data[..end].iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)
}

/// The row of records that a segment starts with, and the bytes behind it, as far as any are in use.
fn read_row(path: &Path, capacity: u64, first: Position) -> Result<(ValidRecords, Vec<u8>), LogError> {
    let mut reader = DataReader::open(path, capacity)?;
    let mut records = 0;
    // Records are read whatever the file system says of blocks: what follows them may be left out if it was never written.
    while reader.read_more()? {
        let row = scan(&reader.data, first.plus(reader.forgotten));
        records += row.records;
        reader.forget(row.end);
        if !may_go_on(&reader.data, first.plus(reader.forgotten)) {
            break;
        }
    }
    let row = ValidRecords { end: reader.forgotten as usize, records };
    reader.read_rest()?;
    Ok((row, reader.data))
}

/// Whether more bytes could make a record at `position`, where there is none in `rest`.
fn may_go_on(rest: &[u8], position: Position) -> bool {
    let Some(head) = rest.first_chunk().map(Head::decode) else { return true };
    head.position == position && head.length().is_some_and(|length| frame_bytes(length) > rest.len())
}

/// Finds the log of `owner` in `folder`, cuts what does not belong to it, and brings the rest to disk.
pub(crate) fn recover(folder: &Path, owner: LogIdentity, repair: Repair) -> Result<RecoveredLog, LogError> {
    let mut candidates = Vec::new();
    for (sequence, path) in segment::list(folder)? {
        let header = segment::read_header(&path, sequence, owner)?;
        candidates.push(SegmentCandidate { sequence, path, header });
    }
    let mark = candidates.iter().filter_map(|candidate| candidate.header.ok()?.mark).max().unwrap_or_default();
    let mut walk = SegmentWalk::default();
    for (index, candidate) in candidates.iter().enumerate() {
        if !walk.step(index, candidate)? {
            break;
        }
    }
    let cut = walk.find_cut(&candidates, mark)?;
    if let Some(cut) = &cut
        && cut.reason == CutReason::Corruption
        && repair == Repair::Refuse
    {
        let Cut { file, offset, position, bytes, .. } = cut.clone();
        return Err(LogError::Corrupt { file, offset, position, bytes });
    }
    // Newest first, so that a crash in between leaves a log that is cut in the same place again. Segments that were
    // prepared and never used go as well.
    for candidate in candidates.iter().rev().filter(|candidate| !walk.keeps(candidate)) {
        segment::remove(&candidate.path).map_err(|source| LogError::io("remove", &candidate.path, 0, source))?;
    }
    walk.clear_tail()?;
    walk.lower_marks(&candidates)?;
    walk.bring_to_disk(mark)?;
    if walk.kept.is_empty() {
        // Positions are not used again, not even if nothing could be kept.
        walk.end = candidates.iter().filter_map(|candidate| candidate.header.ok()?.first).fold(mark, Position::max);
    }
    let next_sequence = candidates.last().map_or(0, |candidate| candidate.sequence + 1);
    Ok(RecoveredLog { segments: walk.kept, end: walk.end, records: walk.records, cut, next_sequence })
}

/// The way along the segments, as long as each starts where the one before ends.
#[derive(Default)]
struct SegmentWalk {
    kept: Vec<KeptSegment>,
    /// The bytes behind the last record in its segment.
    tail: Vec<u8>,
    /// The end of the last record.
    end: Position,
    /// The same in the last kept segment, in bytes behind its header.
    last_row_end: usize,
    records: u64,
    /// The first segment that does not continue the log, by its index, and the offset of the damage if its header is.
    gap: Option<(usize, Option<u64>)>,
}

impl SegmentWalk {
    /// Takes the next segment in. False if it does not continue the log.
    fn step(&mut self, index: usize, candidate: &SegmentCandidate) -> Result<bool, LogError> {
        let header = match candidate.header {
            Ok(header) => header,
            Err(offset) => {
                self.gap = Some((index, Some(offset)));
                return Ok(false);
            }
        };
        let Some(first) = header.first else { return Ok(true) };
        if !self.kept.is_empty() && first != self.end {
            self.gap = Some((index, None));
            return Ok(false);
        }
        let (row, tail) = read_row(&candidate.path, header.capacity, first)?;
        self.tail = tail;
        let SegmentCandidate { sequence, path, .. } = candidate;
        self.kept.push(KeptSegment { sequence: *sequence, capacity: header.capacity, first, path: path.clone() });
        self.end = first.plus(row.end as u64);
        self.last_row_end = row.end;
        self.records += row.records;
        Ok(true)
    }

    fn keeps(&self, candidate: &SegmentCandidate) -> bool {
        self.kept.iter().any(|kept| kept.sequence == candidate.sequence)
    }

    /// What follows the log and has to be cut off, if anything does; or what is missing from it.
    fn find_cut(&self, candidates: &[SegmentCandidate], mark: Position) -> Result<Option<Cut>, LogError> {
        let mut bytes = 0;
        let mut later_record = None;
        if !self.kept.is_empty() {
            bytes += used(&self.tail) as u64;
            later_record = find_record(&self.tail, self.end, 0);
        }
        let beyond = self.gap.map_or(&[][..], |(index, _)| &candidates[index..]);
        for candidate in beyond {
            let header = candidate.header.ok();
            let capacity = header.map_or(u64::MAX, |header| header.capacity).min(SEGMENT_BYTES_MAX);
            let mut reader = DataReader::open(&candidate.path, capacity)?;
            reader.read_rest()?;
            let data = reader.data;
            bytes += used(&data) as u64;
            if let Some(first) = header.and_then(|header| header.first).filter(|_| later_record.is_none()) {
                later_record = find_record(&data, first, 0).filter(|&found| found > self.end);
            }
        }
        let damaged_header = self.gap.and_then(|(index, offset)| Some((&candidates[index], offset?)));
        let reason = match damaged_header {
            None if mark <= self.end && bytes == 0 => return Ok(None),
            None if mark <= self.end => CutReason::TornTail,
            _ => CutReason::Corruption,
        };
        let (file, offset) = match (damaged_header, self.kept.last()) {
            (Some((candidate, offset)), _) => (candidate.path.clone(), offset),
            (None, Some(last)) => (last.path.clone(), SEGMENT_HEADER_BYTES + self.last_row_end as u64),
            // A mark without any segment in use: the slot that puts it to use is gone.
            (None, None) => {
                match candidates.iter().find(|candidate| candidate.header.is_ok_and(|h| h.mark.is_some())) {
                    Some(candidate) => (candidate.path.clone(), segment::START_SLOT as u64),
                    None => return Ok(None),
                }
            }
        };
        Ok(Some(Cut { reason, file, offset, position: self.end, bytes, later_record }))
    }

    /// Clears what follows the last record in its segment.
    fn clear_tail(&self) -> Result<(), LogError> {
        let Some(last) = self.kept.last() else { return Ok(()) };
        let used = used(&self.tail);
        if used > 0 {
            let segment = SegmentFile::open(&last.path, last.sequence, last.capacity)?;
            let cleared = segment.clear(self.last_row_end as u64, (self.last_row_end + used) as u64);
            cleared.map_err(|source| LogError::io("clear the tail of", &last.path, 0, source))?;
        }
        Ok(())
    }

    /// Takes back the marks that promise more than is left after a cut. This comes last, so that a crash before it leaves
    /// a log that is still known to be damaged.
    fn lower_marks(&self, candidates: &[SegmentCandidate]) -> Result<(), LogError> {
        let promises_more = |header: SegmentHeader| header.mark.is_some_and(|mark| mark > self.end);
        let too_high = candidates.iter().filter(|candidate| candidate.header.is_ok_and(promises_more));
        let kept = self.kept.iter().filter(|kept| too_high.clone().any(|found| found.sequence == kept.sequence));
        for KeptSegment { sequence, capacity, path, .. } in kept {
            let lowered = SegmentFile::open(path, *sequence, *capacity)?.overwrite_marks(self.end);
            lowered.map_err(|source| LogError::io("mark", path, 0, source))?;
        }
        Ok(())
    }

    /// Brings to disk what may be in the kernel's memory only: all that is above the mark.
    fn bring_to_disk(&self, mark: Position) -> Result<(), LogError> {
        let ends = self.kept.iter().skip(1).map(|next| next.first).chain([self.end]);
        for (kept, end) in self.kept.iter().zip(ends).filter(|&(_, end)| end > mark) {
            let segment = SegmentFile::open(&kept.path, kept.sequence, kept.capacity)?;
            let from = mark.max(kept.first).since(kept.first);
            let written = segment.rewrite(from, end.since(kept.first));
            written.map_err(|source| LogError::io("sync", &kept.path, 0, source))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::encode;

    fn segment_of(first: Position, records: &[Vec<u8>]) -> Vec<u8> {
        let mut data = Vec::new();
        for record in records {
            data.extend(encode(first.plus(data.len() as u64), record));
        }
        data
    }

    proptest! {
        /// If this fails, damaged bytes end the process instead of being reported.
        #[test]
        fn any_bytes_can_be_scanned(data in proptest::collection::vec(any::<u8>(), 0..600), first in 0..1_u64 << 40) {
            let row = scan(&data, Position(first));
            prop_assert!(row.end <= data.len());
            prop_assert!(used(&data) <= data.len());
            find_record(&data, Position(first), row.end);
        }

        /// If this fails, records are lost or made up where bytes in the middle are damaged.
        #[test]
        fn damage_ends_the_row_at_its_record_and_the_next_one_is_found(
            lengths in proptest::collection::vec(1..60_usize, 2..12),
            place in any::<prop::sample::Index>(),
            flip in 1..=255_u8,
        ) {
            let first = Position(1 << 20);
            let records: Vec<Vec<u8>> = lengths.iter().map(|&length| vec![0xa5; length]).collect();
            let mut data = segment_of(first, &records);
            let index = place.index(data.len());
            data[index] ^= flip;
            let mut start = 0;
            let mut damaged = 0;
            while start + encode(first, &records[damaged]).len() <= index {
                start += encode(first, &records[damaged]).len();
                damaged += 1;
            }
            prop_assert_eq!(scan(&data, first), ValidRecords { end: start, records: damaged as u64 });
            let next = start + encode(first, &records[damaged]).len();
            let expected = (damaged + 1 < records.len()).then_some(first.plus(next as u64));
            prop_assert_eq!(find_record(&data, first, start), expected);
        }
    }
}
