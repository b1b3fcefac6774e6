//! Recovery: finds out how far the log goes, brings it to the segments, and empties it.
//!
//! Invariants:
//! * it changes segments only once the whole log has been read and found sound, and the log only once the segments are on disk. So
//!   it may be interrupted anywhere and repeated (section 5.1.2 of the RVM paper);
//! * a record that cannot be read where the log is known to have been durable is damage, never the end. It is known by the device
//!   ([`LogExtent::flushed`]), and by every sound record behind it, which says how far the log was durable when it was made.

use std::collections::BTreeMap;

use crate::device::{LogDevice, LogExtent, LogOffset};
use crate::error::Error;
use crate::files::FileFolder;
use crate::limits::{CHUNK_BYTES, RECORD_ALIGNMENT};
use crate::options::OnDamage;
use crate::pieces::{note_record, pieces};
use crate::record::{self, HEADER_BYTES, RecordHeader, RecordKind};
use crate::shared::check_name;
use crate::truncation::{TruncatedSegment, apply};

/// What a recovery found and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Transactions brought back; those that had been coalesced away are not counted.
    pub transactions: u64,
    /// Records of the log.
    pub records: u64,
    /// Bytes of log.
    pub log_bytes: u64,
    /// Bytes written to segments.
    pub segment_bytes: u64,
    /// Where the log was cut because of damage.
    pub cut: Option<LogOffset>,
}

/// Brings the log of `device` to the segments in `folder` and empties it.
///
/// # Errors
/// [`Error::Damaged`], [`Error::Malformed`], [`Error::SegmentMissing`], [`Error::SegmentShort`]: nothing was changed. Others of the
/// device and the folder, after which it may be tried again from the start.
pub fn recover(device: &dyn LogDevice, folder: &dyn FileFolder, on_damage: OnDamage) -> Result<RecoveryReport, Error> {
    let extent = device.extent()?;
    let mut scan = scan(device, extent, on_damage)?;
    let mut targets = BTreeMap::new();
    for (&number, name) in &scan.names {
        let file = folder.open(name).map_err(Error::io("open", name))?;
        let Some(file) = file else { return Err(Error::SegmentMissing { name: name.clone() }) };
        targets.insert(number, TruncatedSegment::new(name, file)?);
    }
    let end = scan.recovered.log_bytes + extent.start.0;
    // Only now is it known of every change that it fits its segment.
    for (&number, &(reach, position)) in &scan.reach {
        let Some(target) = targets.get(&number) else {
            return Err(Error::Malformed { position, reason: format!("segment {number} has no name") });
        };
        target.check(reach)?;
    }
    let pieces = pieces(&scan.starts, LogOffset(end));
    scan.recovered.segment_bytes = apply(device, &pieces, &targets)?;
    // Beyond all that may stand there, so that nothing of it is ever taken for a record.
    device.reset(LogOffset(extent.end.0.next_multiple_of(RECORD_ALIGNMENT)))?;
    Ok(scan.recovered)
}

#[derive(Default)]
struct RecoveryScan {
    recovered: RecoveryReport,
    /// Where the pieces of the log begin.
    starts: Vec<LogOffset>,
    names: BTreeMap<u32, String>,
    /// The end of the furthest change of each segment, and the record that holds it.
    reach: BTreeMap<u32, (u64, LogOffset)>,
}

/// Goes through the log from the start to its end.
fn scan(device: &dyn LogDevice, extent: LogExtent, on_damage: OnDamage) -> Result<RecoveryScan, Error> {
    let mut scan = RecoveryScan::default();
    let mut reader = RecordReader::new(device, extent.end);
    let mut at = extent.start;
    while let Some((header, body)) = reader.record(at)? {
        scan.record(at, &header, body)?;
        at = at.plus(header.record_bytes());
    }
    let known = reader.durable_behind(at)?.unwrap_or(at).max(extent.flushed);
    if known > at {
        match on_damage {
            OnDamage::Refuse => return Err(Error::Damaged { position: at, bytes: known.since(at) }),
            OnDamage::Cut => scan.recovered.cut = Some(at),
        }
    }
    scan.recovered.log_bytes = at.since(extent.start);
    Ok(scan)
}

impl RecoveryScan {
    fn record(&mut self, at: LogOffset, header: &RecordHeader, body: &[u8]) -> Result<(), Error> {
        let malformed = |reason: &str| Error::Malformed { position: at, reason: reason.to_string() };
        match header.kind() {
            Some(RecordKind::Changes) => {
                for change in record::changes(body) {
                    let change = change.map_err(|_| malformed("a change is cut off"))?;
                    let reach = self.reach.entry(change.segment).or_insert((0, at));
                    if change.end() > reach.0 {
                        *reach = (change.end(), at);
                    }
                }
            }
            Some(RecordKind::Segments) => {
                for name in record::names(body) {
                    let (number, name) = name.map_err(|_| malformed("a name is cut off"))?;
                    // A name is a path: one that nobody here has written might lead anywhere.
                    check_name(name).map_err(|error| malformed(&error.to_string()))?;
                    self.names.insert(number, name.to_string());
                }
            }
            None => return Err(malformed("it is of an unknown kind")),
        }
        self.recovered.records += 1;
        self.recovered.transactions += u64::from(header.transactions());
        note_record(&mut self.starts, at..at.plus(header.record_bytes()));
        Ok(())
    }
}

/// Reads records of a device, whatever may stand there.
struct RecordReader<'a> {
    device: &'a dyn LogDevice,
    end: LogOffset,
    buffer: Vec<u8>,
    /// The position of the buffer's first byte.
    first: LogOffset,
}

impl<'a> RecordReader<'a> {
    fn new(device: &'a dyn LogDevice, end: LogOffset) -> RecordReader<'a> {
        RecordReader { device, end, buffer: Vec::new(), first: LogOffset(0) }
    }

    /// The record at a position, or `None` if there is no sound one.
    fn record(&mut self, at: LogOffset) -> Result<Option<(RecordHeader, &[u8])>, Error> {
        let Some(header) = self.header(at)? else { return Ok(None) };
        let Some(record) = self.bytes(at, header.record_bytes())? else { return Ok(None) };
        let body = &record[HEADER_BYTES..];
        Ok(header.fits(body).then_some((header, body)))
    }

    fn header(&mut self, at: LogOffset) -> Result<Option<RecordHeader>, Error> {
        Ok(self.bytes(at, HEADER_BYTES as u64)?.and_then(|bytes| RecordHeader::decode(bytes, at)))
    }

    /// How far the log was durable according to the records behind `at`, if that is beyond `at`.
    fn durable_behind(&mut self, at: LogOffset) -> Result<Option<LogOffset>, Error> {
        let mut durable = None;
        let mut place = at.plus(RECORD_ALIGNMENT);
        while place < self.end {
            let flushed = self.header(place)?.map(|header| header.flushed());
            durable = durable.max(flushed.filter(|&flushed| flushed > at));
            place = place.plus(RECORD_ALIGNMENT);
        }
        Ok(durable)
    }

    /// So many bytes, or `None` if the log may not go that far.
    fn bytes(&mut self, from: LogOffset, length: u64) -> Result<Option<&[u8]>, Error> {
        let until = from.plus(length);
        if until > self.end {
            return Ok(None);
        }
        let buffered = self.first.plus(self.buffer.len() as u64);
        if from < self.first || until > buffered {
            let size = length.max(CHUNK_BYTES as u64).min(self.end.since(from));
            self.buffer.resize(size as usize, 0);
            self.first = from;
            self.device.read(from, &mut self.buffer)?;
        }
        let at = from.since(self.first) as usize;
        Ok(Some(&self.buffer[at..at + length as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Durability;
    use crate::memory_log::VolatileLog;
    use crate::record::{SegmentChange, push_change, seal, segments_buffer};
    use crate::simulated::SimulatedDisk;

    fn change(segment: u32) -> Vec<u8> {
        let mut buffer = vec![0; HEADER_BYTES];
        push_change(&mut buffer, SegmentChange { segment, offset: 0, bytes: b"new" });
        buffer
    }

    /// Recovers a log of these records, with sound checksums, onto a disk with a segment `a`.
    fn recovered(records: Vec<(RecordKind, Vec<u8>)>) -> (Result<RecoveryReport, Error>, SimulatedDisk) {
        let (log, disk) = (VolatileLog::new(4096, 1), SimulatedDisk::new());
        drop(disk.create("a", 4096, b"old").unwrap());
        let mut end = LogOffset(0);
        for (kind, mut buffer) in records {
            seal(&mut buffer, kind, end, LogOffset(0), 1);
            end = log.append(&buffer).unwrap();
        }
        log.flush(end, Durability::Disk).unwrap();
        (recover(&log, &disk, OnDamage::Refuse), disk)
    }

    /// If this fails, a log that somebody made up leads out of its folder, or ends recovery in a panic or in half of its changes.
    #[test]
    fn sound_records_that_make_no_sense_change_nothing() {
        let names = |name: &str| (RecordKind::Segments, segments_buffer([name].into_iter()));
        let (result, disk) = recovered(vec![names("a"), (RecordKind::Changes, change(0))]);
        assert_eq!(result.unwrap().segment_bytes, 3);
        assert_eq!(disk.contents("a").unwrap()[..4], *b"new\0");
        let cut_off = change(0)[..HEADER_BYTES + 8].to_vec();
        for wrong in [names("../a"), names(".log"), (RecordKind::Changes, change(7)), (RecordKind::Changes, cut_off)] {
            let (result, disk) = recovered(vec![names("a"), (RecordKind::Changes, change(0)), wrong]);
            assert!(matches!(result, Err(Error::Malformed { .. })), "{result:?}");
            assert_eq!(disk.contents("a").unwrap()[..4], *b"old\0");
        }
    }
}
