//! The bytes of one record in a segment, all numbers little-endian:
//!
//! | bytes | content |
//! |---|---|
//! | 4 | length of the record, 1 to `RECORD_BYTES_MAX` |
//! | 4 | CRC-32 over position, length and record |
//! | 8 | position in the log |
//! | length | the record |
//! | 0 to 7 | zeros, up to a multiple of 8 |
//!
//! Invariant: length and checksum are one aligned word that is written last, and it is zero where no record is. So a
//! process killed while it appends leaves a blank word, never half a record. The position, besides being under the
//! checksum, stands there in full so that a search through damaged bytes can pass over a wrong place without computing a
//! checksum.

use crate::limits::{FRAME_ALIGNMENT, FRAME_HEADER_BYTES, RECORD_BYTES_MAX};
use crate::place::Position;

/// The bytes that a record of `length` bytes takes in the log: by so much its position is below that of the next one.
pub fn frame_bytes(length: usize) -> usize {
    (FRAME_HEADER_BYTES + length).next_multiple_of(FRAME_ALIGNMENT)
}

/// The word that makes the record valid: length and checksum.
pub(crate) fn word(position: Position, record: &[u8]) -> u64 {
    assert!((1..=RECORD_BYTES_MAX).contains(&record.len()), "record of {} bytes", record.len());
    let length = record.len() as u32;
    u64::from(length) | u64::from(checksum(position, length, record)) << 32
}

fn checksum(position: Position, length: u32, record: &[u8]) -> u32 {
    let mut prefix = [0; 12];
    prefix[..8].copy_from_slice(&position.0.to_le_bytes());
    prefix[8..].copy_from_slice(&length.to_le_bytes());
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&prefix);
    hasher.update(record);
    hasher.finalize()
}

/// The head of a frame as it was read: nothing in it can be trusted yet.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    word: u64,
    /// The position that the frame claims.
    pub(crate) position: Position,
}

impl Head {
    pub(crate) fn decode(bytes: &[u8; FRAME_HEADER_BYTES]) -> Head {
        Head { word: little_endian(bytes, 0), position: Position(little_endian(bytes, 8)) }
    }

    /// The length of the record, if it is one that a record can have.
    pub(crate) fn length(self) -> Option<usize> {
        let length = (self.word & u64::from(u32::MAX)) as usize;
        (1..=RECORD_BYTES_MAX).contains(&length).then_some(length)
    }

    /// Whether `body`, the record with its padding, is what was appended at `position`.
    pub(crate) fn matches(self, position: Position, body: &[u8]) -> bool {
        let Some(length) = self.length() else { return false };
        let Some((record, padding)) = body.split_at_checked(length) else {
            return false;
        };
        self.position == position && padding.iter().all(|&byte| byte == 0) && word(position, record) == self.word
    }
}

/// Where the record ends that starts at `offset` of `data` and belongs at `position`; `None` if there is no valid one.
pub(crate) fn end_of_record(data: &[u8], offset: usize, position: Position) -> Option<usize> {
    let (head, rest) = data.get(offset..)?.split_first_chunk()?;
    let head = Head::decode(head);
    if head.position != position {
        return None;
    }
    let frame = frame_bytes(head.length()?);
    let body = rest.get(..frame - FRAME_HEADER_BYTES)?;
    head.matches(position, body).then_some(offset + frame)
}

/// The number in the 8 bytes of `bytes` from `offset` on.
pub(crate) fn little_endian(bytes: &[u8], offset: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[offset..offset + 8]);
    u64::from_le_bytes(number)
}

/// A whole frame, for tests that lay out segments by hand.
#[cfg(test)]
pub(crate) fn encode(position: Position, record: &[u8]) -> Vec<u8> {
    let mut frame = word(position, record).to_le_bytes().to_vec();
    frame.extend(position.0.to_le_bytes());
    frame.extend(record);
    frame.resize(frame_bytes(record.len()), 0);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, damage of a single byte can go unnoticed.
    #[test]
    fn every_flipped_byte_is_noticed() {
        for length in 1..40 {
            let record: Vec<u8> = (0..length).collect();
            let whole = encode(Position(4096), &record);
            assert_eq!(end_of_record(&whole, 0, Position(4096)), Some(whole.len()));
            for index in 0..whole.len() {
                for flip in [0x01, 0x80, 0xff] {
                    let mut damaged = whole.clone();
                    damaged[index] ^= flip;
                    assert_eq!(end_of_record(&damaged, 0, Position(4096)), None, "byte {index} of {length}");
                }
            }
        }
    }

    /// If this fails, a record left over from an earlier use of the bytes passes for a new one.
    #[test]
    fn a_record_is_valid_at_its_own_position_only() {
        let frame = encode(Position(64), b"record");
        assert_eq!(end_of_record(&frame, 0, Position(64)), Some(frame.len()));
        assert_eq!(end_of_record(&frame, 0, Position(72)), None);
    }

    /// If this fails, a short file makes recovery read outside of its buffer.
    #[test]
    fn a_frame_that_is_cut_short_is_not_valid() {
        let frame = encode(Position(0), b"a record of some length");
        for length in 0..frame.len() {
            assert_eq!(end_of_record(&frame[..length], 0, Position(0)), None, "cut to {length}");
        }
        assert_eq!(end_of_record(&frame, frame.len() + 1, Position(0)), None);
    }
}
