//! The bytes of a log record, all numbers little-endian. A header:
//!
//! | bytes | content |
//! |---|---|
//! | 4 | `RVL1`: a record of this version |
//! | 4 | kind: 1 changes, 2 segments |
//! | 8 | position in the log, a multiple of 8 |
//! | 8 | all below this position was durable when the record was made |
//! | 4 | bytes of the body, a multiple of 8 |
//! | 4 | transactions in the body |
//! | 4 | CRC-32 of the body |
//! | 4 | CRC-32 of the 36 bytes before |
//!
//! and a body. *Changes*, the new values of one or more whole transactions, oldest first, each value as
//!
//! | bytes | content |
//! |---|---|
//! | 4 | number of the segment |
//! | 4 | length |
//! | 8 | offset in the segment |
//! | length | the new bytes, then zeros up to a multiple of 8 |
//!
//! *Segments*, the names that the numbers stand for: number and length of the name (4 each), the name, zeros up to a multiple
//! of 8; for every segment in use. Such a record stands before the first change of a segment, and again wherever truncation lets
//! the log begin.
//!
//! Invariant: a record is valid as a whole or not at all, so its transactions are atomic together. That allows transactions of one
//! record to be coalesced. The position in it keeps what an earlier lap or life of the log has left from being taken for a record.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::device::LogOffset;
use crate::limits::{POSITION_END, RECORD_ALIGNMENT};

const MAGIC: u32 = u32::from_le_bytes(*b"RVL1");
/// Bytes of the header that its own checksum covers.
const CHECKED_BYTES: usize = 36;

/// Bytes of a header.
pub(crate) const HEADER_BYTES: usize = 40;
/// Bytes before each value of a change.
pub(crate) const CHANGE_BYTES: usize = 16;
/// Bytes before each name of a segment.
const NAME_BYTES: usize = 8;

const _: () =
    assert!(size_of::<RecordHeader>() == HEADER_BYTES && HEADER_BYTES.is_multiple_of(RECORD_ALIGNMENT as usize));
const _: () = assert!(size_of::<ChangeHeader>() == CHANGE_BYTES && size_of::<NameHeader>() == NAME_BYTES);

/// What a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKind {
    Changes = 1,
    Segments = 2,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct RecordHeader {
    magic: U32,
    kind: U32,
    position: U64,
    flushed: U64,
    body_bytes: U32,
    transactions: U32,
    body_checksum: U32,
    checksum: U32,
}

impl RecordHeader {
    /// The header at `position`, if `bytes` are one.
    pub(crate) fn decode(bytes: &[u8], position: LogOffset) -> Option<RecordHeader> {
        let header = RecordHeader::read_from_bytes(bytes.get(..HEADER_BYTES)?).ok()?;
        let sound = header.magic == MAGIC
            && header.position == position.0
            && header.checksum == crc32fast::hash(&header.as_bytes()[..CHECKED_BYTES])
            && header.flushed() <= position
            && position.0 < POSITION_END
            && u64::from(header.body_bytes).is_multiple_of(RECORD_ALIGNMENT);
        sound.then_some(header)
    }

    pub(crate) fn kind(&self) -> Option<RecordKind> {
        [RecordKind::Changes, RecordKind::Segments].into_iter().find(|&kind| self.kind == kind as u32)
    }

    pub(crate) fn flushed(&self) -> LogOffset {
        LogOffset(self.flushed.get())
    }

    pub(crate) fn transactions(&self) -> u32 {
        self.transactions.get()
    }

    /// Bytes of header and body.
    pub(crate) fn record_bytes(&self) -> u64 {
        HEADER_BYTES as u64 + u64::from(self.body_bytes.get())
    }

    /// Whether `body` is what the header was made for.
    pub(crate) fn fits(&self, body: &[u8]) -> bool {
        body.len() == self.body_bytes.get() as usize && self.body_checksum == crc32fast::hash(body)
    }
}

/// Makes a record of a buffer: fills in the header, for which room was left in front of the body.
///
/// # Panics
/// If there is no such room, or the body is too long or not padded.
pub(crate) fn seal(buffer: &mut [u8], kind: RecordKind, position: LogOffset, flushed: LogOffset, transactions: u32) {
    let (head, body) = buffer.split_at_mut(HEADER_BYTES);
    assert!(body.len().is_multiple_of(RECORD_ALIGNMENT as usize), "a body of {} bytes", body.len());
    let mut header = RecordHeader {
        magic: MAGIC.into(),
        kind: (kind as u32).into(),
        position: position.0.into(),
        flushed: flushed.0.into(),
        body_bytes: u32::try_from(body.len()).expect("a record is bounded").into(),
        transactions: transactions.into(),
        body_checksum: crc32fast::hash(body).into(),
        checksum: 0.into(),
    };
    header.checksum = crc32fast::hash(&header.as_bytes()[..CHECKED_BYTES]).into();
    head.copy_from_slice(header.as_bytes());
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct ChangeHeader {
    segment: U32,
    length: U32,
    offset: U64,
}

/// A new value in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentChange<'a> {
    pub(crate) segment: u32,
    pub(crate) offset: u64,
    pub(crate) bytes: &'a [u8],
}

impl SegmentChange<'_> {
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

/// The most bytes that a record of so many values with so many bytes in all takes.
pub(crate) fn record_bytes(values: usize, bytes: u64) -> u64 {
    HEADER_BYTES as u64 + bytes + values as u64 * (CHANGE_BYTES as u64 + RECORD_ALIGNMENT - 1)
}

/// Appends a value to a body.
///
/// # Panics
/// If it has more than `u32::MAX` bytes.
pub(crate) fn push_change(body: &mut Vec<u8>, change: SegmentChange<'_>) {
    let length = u32::try_from(change.bytes.len()).expect("a record is bounded");
    let header = ChangeHeader { segment: change.segment.into(), length: length.into(), offset: change.offset.into() };
    body.extend_from_slice(header.as_bytes());
    body.extend_from_slice(change.bytes);
    pad(body);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(RECORD_ALIGNMENT as usize), 0);
}

/// The values of a body in order. `Err` once, and nothing more, where the body makes no sense.
pub(crate) fn changes(body: &[u8]) -> impl Iterator<Item = Result<SegmentChange<'_>, Malformed>> {
    parts(body, |rest| {
        let (header, rest) = ChangeHeader::ref_from_prefix(rest).ok()?;
        let (bytes, rest) = split_padded(rest, header.length.get())?;
        header.offset.get().checked_add(bytes.len() as u64)?;
        Some((SegmentChange { segment: header.segment.get(), offset: header.offset.get(), bytes }, rest))
    })
}

/// A body that its checksum calls sound and that makes no sense all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct NameHeader {
    number: U32,
    length: U32,
}

/// The bytes that a record of these names takes.
pub(crate) fn segments_bytes<'a>(names: impl Iterator<Item = &'a str>) -> u64 {
    let bodies = names.map(|name| NAME_BYTES + name.len().next_multiple_of(RECORD_ALIGNMENT as usize));
    HEADER_BYTES as u64 + bodies.sum::<usize>() as u64
}

/// Room for a header, and the names of segments, numbered from 0, as a body.
pub(crate) fn segments_buffer<'a>(names: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut buffer = vec![0; HEADER_BYTES];
    for (number, name) in (0_u32..).zip(names) {
        let length = u32::try_from(name.len()).expect("a name is bounded");
        buffer.extend_from_slice(NameHeader { number: number.into(), length: length.into() }.as_bytes());
        buffer.extend_from_slice(name.as_bytes());
        pad(&mut buffer);
    }
    buffer
}

/// The names of a body in order.
pub(crate) fn names(body: &[u8]) -> impl Iterator<Item = Result<(u32, &str), Malformed>> {
    parts(body, |rest| {
        let (header, rest) = NameHeader::ref_from_prefix(rest).ok()?;
        let (name, rest) = split_padded(rest, header.length.get())?;
        Some(((header.number.get(), std::str::from_utf8(name).ok()?), rest))
    })
}

/// Cuts a body into parts until it is used up.
fn parts<'a, T>(
    body: &'a [u8],
    mut next: impl FnMut(&'a [u8]) -> Option<(T, &'a [u8])>,
) -> impl Iterator<Item = Result<T, Malformed>> {
    let mut rest = Some(body).filter(|body| !body.is_empty());
    std::iter::from_fn(move || {
        let Some((part, left)) = next(rest.take()?) else { return Some(Err(Malformed)) };
        rest = Some(left).filter(|left| !left.is_empty());
        Some(Ok(part))
    })
}

fn split_padded(bytes: &[u8], length: u32) -> Option<(&[u8], &[u8])> {
    let padded = (length as usize).checked_next_multiple_of(RECORD_ALIGNMENT as usize)?;
    let (value, rest) = bytes.split_at_checked(padded)?;
    Some((&value[..length as usize], rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Vec<u8> {
        let mut buffer = vec![0; HEADER_BYTES];
        push_change(&mut buffer, SegmentChange { segment: 1, offset: 70_000, bytes: b"seven b" });
        push_change(&mut buffer, SegmentChange { segment: 0, offset: 8, bytes: b"" });
        seal(&mut buffer, RecordKind::Changes, LogOffset(800), LogOffset(792), 2);
        buffer
    }

    /// The format, byte by byte. If this fails, logs of earlier builds are not read any more: raise the version.
    #[test]
    fn the_bytes_of_a_record_are_as_documented() {
        let record = record();
        let mut expected = Vec::new();
        expected.extend(b"RVL1");
        expected.extend([1, 0, 0, 0]);
        expected.extend(800_u64.to_le_bytes());
        expected.extend(792_u64.to_le_bytes());
        expected.extend([40, 0, 0, 0, 2, 0, 0, 0]);
        let mut body = Vec::new();
        body.extend([1, 0, 0, 0, 7, 0, 0, 0]);
        body.extend(70_000_u64.to_le_bytes());
        body.extend(b"seven b\0");
        body.extend([0, 0, 0, 0, 0, 0, 0, 0]);
        body.extend(8_u64.to_le_bytes());
        expected.extend(crc32fast::hash(&body).to_le_bytes());
        expected.extend(crc32fast::hash(&expected).to_le_bytes());
        expected.extend(body);
        assert_eq!(record, expected);
        assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926, "the CRC-32 of Ethernet");
    }

    /// If this fails, recovery writes other bytes than were committed.
    #[test]
    fn what_was_put_in_comes_out() {
        let record = record();
        let header = RecordHeader::decode(&record, LogOffset(800)).unwrap();
        assert_eq!((header.kind(), header.transactions()), (Some(RecordKind::Changes), 2));
        assert_eq!((header.flushed(), header.record_bytes()), (LogOffset(792), record.len() as u64));
        assert!(header.fits(&record[HEADER_BYTES..]));
        let found: Vec<_> = changes(&record[HEADER_BYTES..]).map(Result::unwrap).collect();
        assert_eq!(found[0], SegmentChange { segment: 1, offset: 70_000, bytes: b"seven b" });
        assert_eq!(found[1].bytes, b"");
        let names_given = ["accounts", "a"];
        let buffer = segments_buffer(names_given.into_iter());
        assert_eq!(buffer.len() as u64, segments_bytes(names_given.into_iter()));
        let found: Vec<_> = names(&buffer[HEADER_BYTES..]).map(Result::unwrap).collect();
        assert_eq!(found, [(0, "accounts"), (1, "a")]);
    }

    /// If this fails, a record that rotted, or one of an earlier lap, is taken for a commit.
    #[test]
    fn every_flipped_bit_and_every_other_place_is_noticed() {
        let record = record();
        assert!(RecordHeader::decode(&record, LogOffset(808)).is_none());
        for bit in 0..record.len() * 8 {
            let mut damaged = record.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let sound = RecordHeader::decode(&damaged, LogOffset(800))
                .is_some_and(|header| header.fits(&damaged[HEADER_BYTES..]));
            assert!(!sound, "bit {bit}");
        }
    }

    /// If this fails, a body that another program wrote ends recovery in a panic.
    #[test]
    fn a_body_that_makes_no_sense_is_an_error() {
        let body = &record()[HEADER_BYTES..];
        for length in 0..body.len() {
            let found: Vec<_> = changes(&body[..length]).collect();
            let whole = length == 0 || length == 24;
            assert_eq!(found.iter().any(Result::is_err), !whole, "{length} bytes");
            assert!(names(&body[..length]).count() <= 3);
        }
        let mut endless = body.to_vec();
        endless[8..16].fill(0xff);
        assert_eq!(changes(&endless).next(), Some(Err(Malformed)));
    }
}
