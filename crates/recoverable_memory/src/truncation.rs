//! Brings records of the log to the segments: what truncation and recovery have in common, and truncation itself.
//!
//! Truncation is RVM's epoch truncation (section 5.1.2 of the RVM paper): what is in the log when it begins is one epoch, and commits go
//! on behind it. Incremental truncation, which writes pages from memory instead, is left out. It would read memory that
//! transactions change at the same time, and keep every page that some transaction is always busy with in the log.
//!
//! Invariants:
//! * records are applied from the newest to the oldest, and each byte is written once, with its newest value;
//! * nothing is written to a segment before the log holds it durably, and the log gives nothing up before the segments are synced.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::coverage::Coverage;
use crate::device::{LogDevice, LogOffset};
use crate::error::Error;
use crate::files::FixedFile;
use crate::limits::{CHUNK_BYTES, GAP_BYTES_MAX};
use crate::pieces::pieces;
use crate::record::{self, RecordKind, SegmentChange};
use crate::shared::{MemoryShared, lock};

/// A segment that changes are brought to.
#[derive(Clone)]
pub(crate) struct TruncatedSegment {
    name: Arc<str>,
    file: Arc<dyn FixedFile>,
    bytes: u64,
}

impl TruncatedSegment {
    pub(crate) fn new(name: &str, file: Arc<dyn FixedFile>) -> Result<TruncatedSegment, Error> {
        let bytes = file.bytes().map_err(Error::io("look at", name))?;
        Ok(TruncatedSegment { name: name.into(), file, bytes })
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(crate) fn file(&self) -> &Arc<dyn FixedFile> {
        &self.file
    }

    /// The length of the segment.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a change that ends there fits.
    pub(crate) fn check(&self, end: u64) -> Result<(), Error> {
        if end <= self.bytes {
            return Ok(());
        }
        Err(Error::SegmentShort { name: self.name.to_string(), bytes: self.bytes, end })
    }
}

/// Brings pieces of the log to their segments and syncs these. Returns the bytes written.
pub(crate) fn apply(
    device: &dyn LogDevice,
    pieces: &[Range<LogOffset>],
    targets: &BTreeMap<u32, TruncatedSegment>,
) -> Result<u64, Error> {
    let mut done = Coverage::default();
    let mut touched = BTreeMap::new();
    let mut written = 0;
    let mut buffer = Vec::new();
    for piece in pieces.iter().rev() {
        buffer.resize(piece.end.since(piece.start) as usize, 0);
        device.read(piece.start, &mut buffer)?;
        let mut values = newest_values(&buffer, piece, &mut done)?;
        values.sort_unstable_by_key(|value| (value.segment, value.offset));
        for run in values.chunk_by(|left, right| left.segment == right.segment) {
            let number = run[0].segment;
            let Some(target) = targets.get(&number) else {
                let reason = format!("segment {number} has no name");
                return Err(Error::Malformed { position: piece.start, reason });
            };
            written += write(run, target)?;
            touched.insert(number, target);
        }
    }
    for target in touched.values() {
        target.file.sync().map_err(Error::io("sync", &target.name))?;
    }
    Ok(written)
}

/// The values of a piece that newer pieces, and newer records of its own, have not overwritten.
fn newest_values<'a>(
    bytes: &'a [u8],
    piece: &Range<LogOffset>,
    done: &mut Coverage,
) -> Result<Vec<SegmentChange<'a>>, Error> {
    let mut changes = Vec::new();
    let mut rest = bytes;
    let mut at = piece.start;
    while !rest.is_empty() {
        // All this was sound a moment ago.
        let damaged = || Error::Damaged { position: at, bytes: piece.end.since(at) };
        let header = record::RecordHeader::decode(rest, at).ok_or_else(damaged)?;
        let (own, behind) = rest.split_at_checked(header.record_bytes() as usize).ok_or_else(damaged)?;
        let body = &own[record::HEADER_BYTES..];
        if !header.fits(body) {
            return Err(damaged());
        }
        if header.kind() == Some(RecordKind::Changes) {
            for change in record::changes(body) {
                let malformed = |_| Error::Malformed { position: at, reason: "a change is cut off".to_string() };
                changes.push(change.map_err(malformed)?);
            }
        }
        at = at.plus(header.record_bytes());
        rest = behind;
    }
    let mut values = Vec::new();
    for SegmentChange { segment, offset, bytes } in changes.into_iter().rev() {
        done.cover(segment, offset..offset + bytes.len() as u64, |gap| {
            let bytes = &bytes[(gap.start - offset) as usize..(gap.end - offset) as usize];
            values.push(SegmentChange { segment, offset: gap.start, bytes });
        });
    }
    Ok(values)
}

/// Writes values of one segment, sorted by offset and without overlaps. Neighbours are written in one piece.
fn write(values: &[SegmentChange<'_>], target: &TruncatedSegment) -> Result<u64, Error> {
    let mut written = 0;
    let mut buffer = Vec::new();
    let near = |left: &SegmentChange<'_>, right: &SegmentChange<'_>| right.offset - left.end() <= GAP_BYTES_MAX;
    for run in values.chunk_by(near) {
        // A run may be long; its values are short, or there are few of them.
        let mut rest = run;
        while let Some(first) = rest.first() {
            let reach = first.offset + (CHUNK_BYTES as u64).max(first.bytes.len() as u64);
            let (own, behind) = rest.split_at(rest.partition_point(|value| value.end() <= reach));
            written += write_run(own, &mut buffer, target)?;
            rest = behind;
        }
    }
    Ok(written)
}

/// Writes values as one piece, with the bytes between them as they stand in the segment.
fn write_run(values: &[SegmentChange<'_>], buffer: &mut Vec<u8>, target: &TruncatedSegment) -> Result<u64, Error> {
    let [first, .., last] = values else {
        let [only] = values else { return Ok(0) };
        target.check(only.end())?;
        target.file.write_at(only.offset, only.bytes).map_err(Error::io("write", &target.name))?;
        return Ok(only.bytes.len() as u64);
    };
    target.check(last.end())?;
    buffer.resize((last.end() - first.offset) as usize, 0);
    let bytes: u64 = values.iter().map(|value| value.bytes.len() as u64).sum();
    if bytes < buffer.len() as u64 {
        target.file.read_at(first.offset, buffer).map_err(Error::io("read", &target.name))?;
    }
    for value in values {
        let at = (value.offset - first.offset) as usize;
        buffer[at..at + value.bytes.len()].copy_from_slice(value.bytes);
    }
    target.file.write_at(first.offset, buffer).map_err(Error::io("write", &target.name))?;
    Ok(bytes)
}

impl MemoryShared {
    /// Brings all that is in the log now to the segments. One thread at a time; commits go on meanwhile.
    pub(crate) fn truncate(&self) -> Result<(), Error> {
        let _alone = lock(&self.truncating);
        let nothing_to_bring = {
            let log = lock(&self.log);
            log.changes_end <= log.start
        };
        if nothing_to_bring { self.check() } else { self.truncate_epoch() }
    }

    /// Makes room for a record of so many bytes, beside a list of segments. The room may be taken by others before the caller
    /// has it.
    pub(crate) fn make_room(&self, needed: u64) -> Result<(), Error> {
        let _alone = lock(&self.truncating);
        self.check()?;
        {
            let mut log = lock(&self.log);
            if log.has_room(needed) {
                return Ok(());
            }
            log.counters.truncations_forced += 1;
        }
        self.truncate_epoch()
    }

    /// Leaves a list of segments of what is in the log now. The caller holds `truncating`.
    fn truncate_epoch(&self) -> Result<(), Error> {
        self.check()?;
        let (starts, epoch_end, end, targets) = {
            let mut log = lock(&self.log);
            let epoch_end = log.end;
            let starts = std::mem::take(&mut log.starts);
            // From here on the log may begin.
            self.append_segments(&mut log)?;
            let targets: BTreeMap<u32, TruncatedSegment> = (0..).zip(log.segments.iter().cloned()).collect();
            (starts, epoch_end, log.end, targets)
        };
        self.flush_upto(end, self.options().durability)?;
        let written = apply(self.device(), &pieces(&starts, epoch_end), &targets).map_err(|error| self.fail(error))?;
        self.device().truncate(epoch_end).map_err(|error| self.fail(error.into()))?;
        let mut log = lock(&self.log);
        log.start = epoch_end;
        log.counters.truncations += 1;
        log.counters.truncation_bytes += written;
        Ok(())
    }
}
