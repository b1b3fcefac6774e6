//! Frames: how messages follow each other on a stream of bytes.
//!
//! A frame is `length: u32`, `checksum: u32` (both little endian) and `length` bytes of payload. The checksum is the
//! CRC-32 of the length and the payload, so that a run of zeros is not a run of empty frames.
//!
//! Invariant: a decoder yields exactly the payloads that were encoded, in order, however the bytes were cut; after the
//! first byte that cannot be right it yields nothing but the error, because no later boundary can be trusted.

use crate::limits::FRAME_BYTES_MAX;
use bytes::{Bytes, BytesMut};
use thiserror::Error;

/// Bytes before the payload of a frame.
pub const HEADER_BYTES: usize = 8;

/// Why the bytes of a stream are not frames. The stream must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The length is larger than this side accepts: a broken or foreign sender.
    #[error("a frame claims {length} bytes, more than the {length_max} accepted")]
    Length {
        /// Bytes of payload that the header claims.
        length: u32,
        /// Bytes of payload that this side accepts.
        length_max: usize,
    },
    /// Length and payload are not what was sent.
    #[error("a frame of {length} bytes has checksum {computed:08x} and claims {claimed:08x}")]
    Checksum {
        /// Bytes of payload.
        length: u32,
        /// The checksum in the header.
        claimed: u32,
        /// The checksum of what arrived.
        computed: u32,
    },
}

fn checksum(length: [u8; 4], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length);
    hasher.update(payload);
    hasher.finalize()
}

/// The header of a frame with this payload.
///
/// # Panics
/// If the payload is larger than [`FRAME_BYTES_MAX`].
pub fn header(payload: &[u8]) -> [u8; HEADER_BYTES] {
    assert!(payload.len() <= FRAME_BYTES_MAX, "a payload of {} bytes is too large for a frame", payload.len());
    let length = (payload.len() as u32).to_le_bytes();
    let checksum = checksum(length, payload).to_le_bytes();
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&length);
    header[4..].copy_from_slice(&checksum);
    header
}

/// Appends one frame with this payload.
///
/// # Panics
/// If the payload is larger than [`FRAME_BYTES_MAX`].
pub fn append(buffer: &mut Vec<u8>, payload: &[u8]) {
    buffer.extend_from_slice(&header(payload));
    buffer.extend_from_slice(payload);
}

/// Appends one frame whose payload `write` appends in place.
///
/// # Errors
/// The payload was larger than `payload_bytes_max`; its size comes back, and the buffer is as it was.
///
/// # Panics
/// If `write` removes bytes that were there before, or if `payload_bytes_max` is above [`FRAME_BYTES_MAX`].
pub fn append_with(
    buffer: &mut Vec<u8>,
    payload_bytes_max: usize,
    write: impl FnOnce(&mut Vec<u8>),
) -> Result<(), usize> {
    let start = buffer.len();
    buffer.extend_from_slice(&[0; HEADER_BYTES]);
    write(buffer);
    let payload_start = start + HEADER_BYTES;
    assert!(buffer.len() >= payload_start, "the writer of a payload removed bytes before it");
    let payload_bytes = buffer.len() - payload_start;
    if payload_bytes > payload_bytes_max {
        buffer.truncate(start);
        return Err(payload_bytes);
    }
    let header = header(&buffer[payload_start..]);
    buffer[start..payload_start].copy_from_slice(&header);
    Ok(())
}

/// Takes bytes as they arrive and yields the payloads of complete frames.
#[derive(Debug)]
pub struct FrameDecoder {
    buffer: BytesMut,
    payload_bytes_max: usize,
    error: Option<FrameError>,
}

impl FrameDecoder {
    /// A decoder that accepts payloads up to `payload_bytes_max`, which is at most [`FRAME_BYTES_MAX`].
    pub fn new(payload_bytes_max: usize) -> FrameDecoder {
        assert!(payload_bytes_max <= FRAME_BYTES_MAX, "a decoder accepts no more than a frame may hold");
        FrameDecoder { buffer: BytesMut::new(), payload_bytes_max, error: None }
    }

    /// Accepts payloads up to this size from here on.
    pub fn accept(&mut self, payload_bytes_max: usize) {
        assert!(payload_bytes_max <= FRAME_BYTES_MAX, "a decoder accepts no more than a frame may hold");
        self.payload_bytes_max = payload_bytes_max;
    }

    /// Takes the next bytes of the stream. Memory grows with the bytes that came, never with what a header claims.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// As [`FrameDecoder::feed`], but `read` appends the next bytes of the stream in place. After an error they are dropped.
    pub fn fill<T>(&mut self, read: impl FnOnce(&mut BytesMut) -> T) -> T {
        let result = read(&mut self.buffer);
        if self.error.is_some() {
            self.buffer.clear();
        }
        result
    }

    /// Whether bytes of an incomplete frame, or of frames not asked for, are waiting.
    pub fn has_rest(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Bytes of an incomplete frame, and of frames not asked for.
    pub fn rest_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// The payload of the next frame, if all of it has come. The payload shares the receive buffer: copy out what is to
    /// be kept for long.
    ///
    /// # Errors
    /// The bytes are not frames; the same error comes from here on.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, FrameError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let frame = self.take_frame();
        if let Err(error) = frame {
            self.error = Some(error);
            self.buffer = BytesMut::new();
        }
        frame
    }

    fn take_frame(&mut self) -> Result<Option<Bytes>, FrameError> {
        let Some((&length_bytes, rest)) = self.buffer.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(length_bytes);
        // Judged as soon as the length is there, before anything is waited for.
        if length as usize > self.payload_bytes_max {
            return Err(FrameError::Length { length, length_max: self.payload_bytes_max });
        }
        let Some((&claimed, rest)) = rest.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let Some(payload) = rest.get(..length as usize) else {
            return Ok(None);
        };
        let claimed = u32::from_le_bytes(claimed);
        let computed = checksum(length_bytes, payload);
        if claimed != computed {
            return Err(FrameError::Checksum { length, claimed, computed });
        }
        let mut frame = self.buffer.split_to(HEADER_BYTES + length as usize).freeze();
        Ok(Some(frame.split_off(HEADER_BYTES)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Feeds the bytes in pieces of the given sizes and collects what comes out.
    fn decode(bytes: &[u8], cuts: &[usize], payload_bytes_max: usize) -> (Vec<Bytes>, Result<(), FrameError>) {
        let mut decoder = FrameDecoder::new(payload_bytes_max);
        let mut payloads = Vec::new();
        let mut rest = bytes;
        let mut cuts = cuts.iter().copied().cycle();
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(cuts.next().unwrap_or(rest.len()).clamp(1, rest.len()));
            rest = later;
            decoder.feed(piece);
            loop {
                match decoder.next_frame() {
                    Ok(Some(payload)) => payloads.push(payload),
                    Ok(None) => break,
                    Err(error) => {
                        decoder.feed(rest);
                        assert_eq!(decoder.next_frame(), Err(error), "an error must be final");
                        return (payloads, Err(error));
                    }
                }
            }
        }
        (payloads, Ok(()))
    }

    #[test]
    fn a_run_of_zeros_is_not_a_run_of_empty_frames() {
        let (payloads, end) = decode(&[0; 64], &[64], 64);
        assert!(payloads.is_empty());
        assert!(matches!(end, Err(FrameError::Checksum { length: 0, claimed: 0, .. })), "{end:?}");
    }

    #[test]
    fn a_huge_length_is_refused_before_its_payload_is_waited_for() {
        let mut decoder = FrameDecoder::new(FRAME_BYTES_MAX);
        decoder.feed(&u32::MAX.to_le_bytes());
        assert_eq!(decoder.next_frame(), Err(FrameError::Length { length: u32::MAX, length_max: FRAME_BYTES_MAX }));
    }

    #[test]
    fn a_payload_over_the_bound_leaves_the_buffer_as_it_was() {
        let mut buffer = b"before".to_vec();
        assert_eq!(append_with(&mut buffer, 3, |buffer| buffer.extend_from_slice(b"four")), Err(4));
        assert_eq!(buffer, b"before");
        assert_eq!(append_with(&mut buffer, 4, |buffer| buffer.extend_from_slice(b"four")), Ok(()));
        assert_eq!(buffer.len(), b"before".len() + HEADER_BYTES + 4);
    }

    proptest! {
        /// If this failed, sites would lose, merge or reorder messages at the edges of reads.
        #[test]
        fn frames_survive_any_cut(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20),
            cuts in prop::collection::vec(1usize..300, 1..20),
        ) {
            let mut bytes = Vec::new();
            for (index, payload) in payloads.iter().enumerate() {
                // Both ways of encoding make the same bytes.
                if index % 2 == 0 {
                    append(&mut bytes, payload);
                } else {
                    prop_assert_eq!(append_with(&mut bytes, 200, |buffer| buffer.extend_from_slice(payload)), Ok(()));
                }
            }
            let (decoded, end) = decode(&bytes, &cuts, 200);
            prop_assert_eq!(end, Ok(()));
            prop_assert_eq!(decoded, payloads);
        }

        /// If this failed, whoever reaches the port could stop a site.
        #[test]
        fn arbitrary_bytes_never_panic_and_cuts_do_not_matter(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            small_length in any::<bool>(),
            cuts in prop::collection::vec(1usize..50, 1..20),
        ) {
            let mut bytes = bytes;
            if small_length && bytes.len() > 3 {
                bytes[1..4].fill(0); // otherwise nearly every length is too large, and no checksum is looked at
            }
            let whole = decode(&bytes, &[bytes.len().max(1)], 300);
            prop_assert_eq!(decode(&bytes, &cuts, 300), whole);
        }

        /// If this failed, a flipped bit on the way would reach a server as a message.
        #[test]
        fn a_flipped_bit_is_noticed(
            payload in prop::collection::vec(any::<u8>(), 0..100),
            position in any::<prop::sample::Index>(),
            bit in 0u8..8,
        ) {
            let mut bytes = Vec::new();
            append(&mut bytes, &payload);
            let position = position.index(bytes.len());
            bytes[position] ^= 1 << bit;
            let (decoded, _) = decode(&bytes, &[bytes.len()], FRAME_BYTES_MAX);
            prop_assert!(decoded.is_empty(), "a damaged frame was delivered");
        }
    }
}
