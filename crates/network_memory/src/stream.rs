//! A stream over a log: positions of a program's own, such as bytes, over records that are numbered.
//!
//! A record of a stream says what it is and where it stands, so that an opening finds again what [`StreamPlaces`] knows while the log is open. Each
//! program over a log of this crate has kinds of its own. Invariant: what is given up here is whole records, the oldest first.

use crate::names::RecordNumber;
use std::collections::VecDeque;

/// Bytes of a record in front of those that it carries.
pub const HEAD_BYTES: usize = 9;

/// A record of a stream: a kind (1 byte), a position (8, little-endian), and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamRecord<'a> {
    /// What it is; each program numbers its own.
    pub kind: u8,
    /// Where it stands in the stream.
    pub position: u64,
    /// What it carries.
    pub bytes: &'a [u8],
}

impl<'a> StreamRecord<'a> {
    /// Replaces what is in the buffer.
    pub fn encode_into(self, buffer: &mut Vec<u8>) {
        buffer.clear();
        buffer.reserve(HEAD_BYTES + self.bytes.len());
        buffer.push(self.kind);
        buffer.extend_from_slice(&self.position.to_le_bytes());
        buffer.extend_from_slice(self.bytes);
    }

    /// None if it is none.
    pub fn decode(record: &'a [u8]) -> Option<StreamRecord<'a>> {
        let (kind, rest) = record.split_first()?;
        let (position, bytes) = rest.split_first_chunk::<8>()?;
        Some(StreamRecord { kind: *kind, position: u64::from_le_bytes(*position), bytes })
    }
}

/// Where parts of a stream begin, whose positions are `P`, and where in the log each has its first record.
#[derive(Debug)]
pub struct StreamPlaces<P> {
    starts: VecDeque<(P, RecordNumber)>,
}

impl<P> Default for StreamPlaces<P> {
    fn default() -> StreamPlaces<P> {
        StreamPlaces { starts: VecDeque::new() }
    }
}

impl<P: Copy + Ord> StreamPlaces<P> {
    /// A part begins, behind all others.
    pub fn note(&mut self, start: P, place: RecordNumber) {
        self.starts.push_back((start, place));
    }

    /// The oldest part.
    pub fn first(&self) -> Option<(P, RecordNumber)> {
        self.starts.front().copied()
    }

    /// The part that begins there, and all behind it; `None` if none does.
    pub fn from(&self, start: P) -> Option<impl Iterator<Item = (P, RecordNumber)> + '_> {
        let index = self.starts.binary_search_by_key(&start, |(start, _)| *start).ok()?;
        Some(self.starts.range(index..).copied())
    }

    /// Where the last part ends all of whose records are below `upto`. The log ends at `log_end`, the stream at `end`.
    pub fn whole_below(&self, upto: RecordNumber, log_end: RecordNumber, end: P) -> P {
        let begun = self.starts.partition_point(|(_, place)| *place < upto);
        let next = self.starts.get(begun);
        let next_place = next.map_or(log_end, |(_, place)| *place);
        match begun.checked_sub(1).and_then(|last| self.starts.get(last)) {
            // Not all of its records are.
            Some((start, _)) if next_place > upto => *start,
            _ => next.map_or(end, |(start, _)| *start),
        }
    }

    /// How many parts begin below a position; the last part does not count.
    pub fn count_below(&self, position: P) -> usize {
        let below = self.starts.partition_point(|(start, _)| *start < position);
        below.min(self.starts.len().saturating_sub(1))
    }

    /// The first record of a part; they are counted from the oldest.
    pub fn place(&self, index: usize) -> Option<RecordNumber> {
        self.starts.get(index).map(|(_, place)| *place)
    }

    /// Forgets the oldest parts.
    pub fn forget(&mut self, count: usize) {
        self.starts.drain(..count);
    }

    /// Forgets the parts that have nothing at or above `upto` in a stream that ends at `end`.
    pub fn give_up(&mut self, upto: P, end: P) {
        while !self.starts.is_empty() && self.starts.get(1).map_or(end, |(next, _)| *next) <= upto {
            self.starts.pop_front();
        }
    }

    /// Forgets all parts.
    pub fn clear(&mut self) {
        self.starts.clear();
    }

    /// Whether there are no parts.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(starts: &[(u64, u64)]) -> StreamPlaces<u64> {
        let mut places = StreamPlaces::default();
        starts.iter().for_each(|(start, place)| places.note(*start, RecordNumber(*place)));
        places
    }

    /// If this failed, a log would be read as another one than was written.
    #[test]
    fn what_is_written_is_read() {
        let (mut buffer, record) = (vec![7; 3], StreamRecord { kind: 3, position: 1 << 40, bytes: b"abc" });
        record.encode_into(&mut buffer);
        assert_eq!(buffer.len(), HEAD_BYTES + 3);
        assert_eq!(StreamRecord::decode(&buffer), Some(record));
        assert_eq!(StreamRecord::decode(&buffer[..HEAD_BYTES - 1]), None);
    }

    /// If this failed, a part would be acknowledged before all of it is there.
    #[test]
    fn a_part_is_whole_when_all_its_records_are() {
        let places = places(&[(0, 0), (10, 1), (20, 4)]);
        let whole = |upto| places.whole_below(RecordNumber(upto), RecordNumber(6), 30);
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(whole), [0, 10, 10, 10, 20, 20, 30]);
    }

    /// If this failed, something would be given up that is needed, or kept for ever.
    #[test]
    fn only_whole_parts_are_given_up() {
        let mut parts = places(&[(0, 0), (10, 1), (20, 4)]);
        assert_eq!([0, 1, 10, 11, 99].map(|position| parts.count_below(position)), [0, 1, 1, 2, 2]);
        parts.give_up(19, 30);
        assert_eq!(parts.first(), Some((10, RecordNumber(1))));
        assert_eq!(parts.from(20).map(Iterator::count), Some(1));
        assert!(parts.from(15).is_none());
        parts.give_up(30, 30);
        assert!(parts.is_empty());
    }
}
