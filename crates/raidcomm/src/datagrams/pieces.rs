//! Frames into datagrams, and back: as many as fit into each, a longer one cut into pieces.
//!
//! Invariant: frames leave a [`FrameQueue`] in the order in which they came into it, and come out of a [`JoiningFrame`], to which all datagrams are
//! given in their order, in the same.

use super::Stray;
use super::packet::{Chunk, PIECE_BYTES, WHOLE_BYTES};
use crate::limits::{DATAGRAM_FRAME_BYTES_MAX, OUTPUT_BYTES_KEPT, QUEUED_BYTES_MAX};
use bytes::Bytes;
use std::collections::VecDeque;

/// A piece at a datagram's end has at least so many bytes, unless its frame has fewer left.
const PIECE_LEAST: usize = 64;

/// Frames that wait to be sent.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameQueue {
    bytes: Vec<u8>,
    /// The bytes before this have left.
    start: usize,
    lengths: VecDeque<u32>,
    /// Bytes of the first frame that have left.
    cut: usize,
}

/// Why a frame is not put into a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotQueued {
    /// It is too long for datagrams; here it is.
    Long(Vec<u8>),
    /// Too much waits.
    Full,
}

impl FrameQueue {
    /// Bytes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.bytes.len() - self.start
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Puts a frame at the end that `write` appends.
    pub(super) fn append_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), NotQueued> {
        if self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        let end = self.bytes.len();
        write(&mut self.bytes);
        let length = self.bytes.len() - end;
        if length > DATAGRAM_FRAME_BYTES_MAX {
            return Err(NotQueued::Long(self.bytes.split_off(end)));
        }
        if self.waiting() > QUEUED_BYTES_MAX {
            self.bytes.truncate(end);
            return Err(NotQueued::Full);
        }
        self.lengths.push_back(length as u32);
        Ok(())
    }

    /// Appends chunks to a datagram, which then is no longer than `end`. What is put there has left.
    pub(super) fn fill(&mut self, datagram: &mut Vec<u8>, end: usize) {
        while let Some(&length) = self.lengths.front() {
            let room = end.saturating_sub(datagram.len());
            let left = length as usize - self.cut;
            let bytes = &self.bytes[self.start..];
            if self.cut == 0 && WHOLE_BYTES + left <= room {
                Chunk::Whole(&bytes[..left]).encode(datagram);
                self.start += left;
            } else if room >= PIECE_BYTES + left.min(PIECE_LEAST) {
                let count = left.min(room - PIECE_BYTES);
                Chunk::Piece { total: length, offset: self.cut as u32, bytes: &bytes[..count] }.encode(datagram);
                self.start += count;
                self.cut += count;
                if self.cut < length as usize {
                    return;
                }
                self.cut = 0;
            } else {
                return;
            }
            self.lengths.pop_front();
        }
        self.bytes.clear();
        self.bytes.shrink_to(OUTPUT_BYTES_KEPT);
        self.start = 0;
    }
}

/// The frame of which not all pieces have come.
#[derive(Clone, Debug, Default)]
pub(super) struct JoiningFrame(Vec<u8>);

impl JoiningFrame {
    /// Takes the next piece. `Ok(Some)`: it was the last of its frame.
    ///
    /// # Errors
    /// No sender that keeps to the rules sends that.
    pub(super) fn take(&mut self, total: u32, offset: u32, piece: &[u8]) -> Result<Option<Bytes>, Stray> {
        let (total, offset) = (total as usize, offset as usize);
        if total > DATAGRAM_FRAME_BYTES_MAX || offset != self.0.len() {
            return Err(Stray::Malformed);
        }
        self.0.extend_from_slice(piece);
        Ok((self.0.len() >= total).then(|| std::mem::take(&mut self.0).into()))
    }

    /// Whether the rest of a frame is missing.
    pub(super) fn is_within(&self) -> bool {
        !self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::FieldReader;
    use proptest::prelude::*;

    /// All frames of these datagrams.
    fn join(datagrams: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let (mut joining, mut frames) = (JoiningFrame::default(), Vec::new());
        for datagram in datagrams {
            let mut fields = FieldReader(datagram);
            while let Some(chunk) = Chunk::next(&mut fields).expect("only chunks were written") {
                match chunk {
                    Chunk::Whole(bytes) => frames.push(bytes.to_vec()),
                    Chunk::Piece { total, offset, bytes } => {
                        let whole = joining.take(total, offset, bytes).expect("a good piece");
                        frames.extend(whole.map(|whole| whole.to_vec()));
                    }
                    Chunk::Invitation { .. } => panic!("nobody is invited"),
                }
            }
        }
        assert!(!joining.is_within(), "every piece has come");
        frames
    }

    proptest! {
        /// If this failed, frames would be lost, doubled or mixed up on their way through datagrams.
        #[test]
        fn frames_come_out_as_they_went_in(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..500), 0..20),
            bytes in 100usize..400,
        ) {
            let mut queue = FrameQueue::default();
            let mut datagrams = Vec::new();
            for (index, frame) in frames.iter().enumerate() {
                prop_assert_eq!(queue.append_with(|buffer| buffer.extend_from_slice(frame)), Ok(()));
                while index % 3 == 0 && !queue.is_empty() {
                    let mut datagram = Vec::new();
                    queue.fill(&mut datagram, bytes);
                    prop_assert!((1..=bytes).contains(&datagram.len()));
                    datagrams.push(datagram);
                }
            }
            while !queue.is_empty() {
                let mut datagram = Vec::new();
                queue.fill(&mut datagram, bytes);
                datagrams.push(datagram);
            }
            prop_assert_eq!(queue.waiting(), 0);
            prop_assert_eq!(join(&datagrams), frames);
        }
    }

    #[test]
    fn a_long_frame_comes_back_and_leaves_the_rest_as_it_was() {
        let mut queue = FrameQueue::default();
        queue.append_with(|buffer| buffer.extend_from_slice(b"first")).expect("room");
        let long = vec![7; DATAGRAM_FRAME_BYTES_MAX + 1];
        assert_eq!(queue.append_with(|buffer| buffer.extend_from_slice(&long)), Err(NotQueued::Long(long)));
        assert_eq!(queue.waiting(), 5);
        queue.append_with(|buffer| buffer.extend_from_slice(b"second")).expect("room");
        let mut datagram = Vec::new();
        queue.fill(&mut datagram, 100);
        assert_eq!(join(&[datagram]), [b"first".to_vec(), b"second".to_vec()]);
    }

    #[test]
    fn pieces_that_nobody_would_send_are_refused() {
        let mut joining = JoiningFrame::default();
        let wrong = Err(Stray::Malformed);
        assert_eq!(joining.take(DATAGRAM_FRAME_BYTES_MAX as u32 + 1, 0, b"x"), wrong);
        assert_eq!(joining.take(4, 1, b"x"), wrong, "not from its begin");
        assert_eq!(joining.take(4, 0, b"ab"), Ok(None));
        assert_eq!(joining.take(4, 0, b"ab"), wrong, "not where the last one ended");
        assert_eq!(joining.take(4, 2, b"cd"), Ok(Some(Bytes::from_static(b"abcd"))));
    }
}
