//! Records of the remote log: pieces of records of the site, each with its record's position ([`network_memory::stream`]).
//!
//! Invariant: a record whose last piece is missing was never appended: whoever reads passes over what there is of it.

use commit_log::Position;
use network_memory::stream::StreamRecord;

/// Which part of its record a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordPart {
    Whole,
    First,
    Middle,
    Last,
}

impl RecordPart {
    const ALL: [RecordPart; 4] = [RecordPart::Whole, RecordPart::First, RecordPart::Middle, RecordPart::Last];

    /// Of a piece in a row of so many.
    pub(crate) fn of(index: usize, count: usize) -> RecordPart {
        match (index == 0, index + 1 == count) {
            (true, true) => RecordPart::Whole,
            (true, false) => RecordPart::First,
            (false, false) => RecordPart::Middle,
            (false, true) => RecordPart::Last,
        }
    }

    /// Whether a record begins with it.
    pub(crate) fn begins(self) -> bool {
        matches!(self, RecordPart::Whole | RecordPart::First)
    }

    /// Whether a record ends with it.
    pub(crate) fn ends(self) -> bool {
        matches!(self, RecordPart::Whole | RecordPart::Last)
    }
}

/// A record of the remote log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub(crate) part: RecordPart,
    pub(crate) position: Position,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Piece<'a> {
    /// Replaces what is in the buffer.
    pub(crate) fn encode_into(self, buffer: &mut Vec<u8>) {
        let Piece { part, position, bytes } = self;
        StreamRecord { kind: part as u8 + 1, position: position.0, bytes }.encode_into(buffer);
    }

    /// None if it is no piece.
    pub(crate) fn decode(record: &'a [u8]) -> Option<Piece<'a>> {
        let StreamRecord { kind, position, bytes } = StreamRecord::decode(record)?;
        let part = RecordPart::ALL.into_iter().find(|part| *part as u8 + 1 == kind)?;
        (!bytes.is_empty()).then_some(Piece { part, position: Position(position), bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use network_memory::stream::HEAD_BYTES;

    /// If this failed, a log would be read as another one than was written.
    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let mut buffer = Vec::new();
        for (index, part) in RecordPart::ALL.into_iter().enumerate() {
            let piece = Piece { part, position: Position(index as u64 * 1_000), bytes: b"abc" };
            piece.encode_into(&mut buffer);
            assert_eq!(Piece::decode(&buffer), Some(piece));
            assert_eq!(Piece::decode(&buffer[..HEAD_BYTES]), None, "no record is empty");
        }
        for wrong in [&[][..], &[1, 0, 0], &[5, 0, 0, 0, 0, 0, 0, 0, 0, 1], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 1]] {
            assert_eq!(Piece::decode(wrong), None);
        }
    }

    #[test]
    fn a_row_of_pieces_begins_once_and_ends_once() {
        for count in 1..5 {
            let parts: Vec<RecordPart> = (0..count).map(|index| RecordPart::of(index, count)).collect();
            assert_eq!(parts.iter().filter(|part| part.begins()).count(), 1);
            assert_eq!(parts.iter().filter(|part| part.ends()).count(), 1);
            assert!(parts[0].begins() && parts[count - 1].ends());
        }
    }
}
