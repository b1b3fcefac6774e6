//! Frames into datagrams, and back: as many as fit into each, a longer one cut into pieces.
//!
//! Invariant: frames leave a [`Queue`] in the order in which they came into it; a frame comes out of a [`Joining`] once, when its last
//! piece has come, whatever the order.

use super::packet::{Chunk, PIECE_BYTES, WHOLE_BYTES};
use crate::limits::{DATAGRAM_FRAME_BYTES_MAX, DATAGRAMS_AHEAD_MAX, OUTPUT_BYTES_KEPT, QUEUED_BYTES_MAX};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};

/// A piece at a datagram's end has at least so many bytes, unless its frame has fewer left.
const PIECE_LEAST: usize = 64;

/// Frames that wait to be sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    bytes: Vec<u8>,
    /// The bytes before this have left.
    start: usize,
    lengths: VecDeque<u32>,
    /// Bytes of the first frame that have left.
    cut: usize,
    /// The number of the next frame that is cut.
    frame: u64,
}

/// Why a frame is not put into a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotQueued {
    /// It is too long for datagrams; here it is.
    Long(Vec<u8>),
    /// Too much waits.
    Full,
}

impl Queue {
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
            let (bytes, rest) = (&self.bytes[self.start..], length);
            if self.cut == 0 && WHOLE_BYTES + left <= room {
                Chunk::Whole(&bytes[..left]).encode(datagram);
                self.start += left;
            } else if room >= PIECE_BYTES + left.min(PIECE_LEAST) {
                let count = left.min(room - PIECE_BYTES);
                let piece = &bytes[..count];
                Chunk::Piece { frame: self.frame, total: rest, offset: self.cut as u32, bytes: piece }.encode(datagram);
                self.start += count;
                self.cut += count;
                if self.cut < length as usize {
                    return;
                }
                self.frame += 1;
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

/// Frames of which not all pieces have come.
#[derive(Clone, Debug, Default)]
pub(super) struct Joining(BTreeMap<u64, Partial>);

#[derive(Clone, Debug)]
struct Partial {
    bytes: Vec<u8>,
    missing: usize,
}

impl Joining {
    /// Takes a piece. `Ok(Some)`: it was the last one.
    ///
    /// # Errors
    /// No sender that keeps to the rules sends that.
    pub(super) fn take(&mut self, frame: u64, total: u32, offset: u32, piece: &[u8]) -> Result<Option<Bytes>, ()> {
        let total = total as usize;
        let is_new = !self.0.contains_key(&frame);
        if total > DATAGRAM_FRAME_BYTES_MAX || (is_new && self.0.len() >= DATAGRAMS_AHEAD_MAX) {
            return Err(());
        }
        let partial = self.0.entry(frame).or_insert_with(|| Partial { bytes: vec![0; total], missing: total });
        let end = (offset as usize).checked_add(piece.len()).ok_or(())?;
        let place = partial.bytes.get_mut(offset as usize..end).filter(|_| piece.len() <= partial.missing).ok_or(())?;
        place.copy_from_slice(piece);
        partial.missing -= piece.len();
        if partial.missing > 0 {
            return Ok(None);
        }
        Ok(self.0.remove(&frame).map(|whole| whole.bytes.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::Fields;
    use proptest::prelude::*;

    /// All frames of these datagrams.
    fn join(datagrams: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let (mut joining, mut frames) = (Joining::default(), Vec::new());
        for datagram in datagrams {
            let mut fields = Fields(datagram);
            while let Some(chunk) = Chunk::next(&mut fields).expect("only chunks were written") {
                match chunk {
                    Chunk::Whole(bytes) => frames.push(bytes.to_vec()),
                    Chunk::Piece { frame, total, offset, bytes } => {
                        let whole = joining.take(frame, total, offset, bytes).expect("a good piece");
                        frames.extend(whole.map(|whole| whole.to_vec()));
                    }
                    Chunk::Invitation { .. } => panic!("nobody is invited"),
                }
            }
        }
        assert!(joining.0.is_empty(), "every piece has come");
        frames
    }

    proptest! {
        /// If this failed, frames would be lost, doubled or mixed up on their way through datagrams.
        #[test]
        fn frames_come_out_as_they_went_in(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..500), 0..20),
            bytes in 100usize..400,
            is_reversed in any::<bool>(),
        ) {
            let mut queue = Queue::default();
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
            let (mut expected, mut joined) = (frames, if is_reversed {
                datagrams.reverse();
                join(&datagrams)
            } else {
                join(&datagrams)
            });
            expected.sort();
            joined.sort();
            prop_assert_eq!(joined, expected);
        }
    }

    #[test]
    fn a_long_frame_comes_back_and_leaves_the_rest_as_it_was() {
        let mut queue = Queue::default();
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
        let mut joining = Joining::default();
        assert_eq!(joining.take(1, DATAGRAM_FRAME_BYTES_MAX as u32 + 1, 0, b"x"), Err(()));
        assert_eq!(joining.take(1, 4, 0, b"abc"), Ok(None));
        assert_eq!(joining.take(1, 4, 0, b"ab"), Err(()), "more than is missing");
        assert_eq!(joining.take(1, 9, 8, b"x"), Err(()), "outside the frame as it was first described");
        for frame in 2..=DATAGRAMS_AHEAD_MAX as u64 {
            assert_eq!(joining.take(frame, 4, 0, b"abc"), Ok(None));
        }
        assert_eq!(joining.take(u64::MAX, 4, 0, b"abc"), Err(()), "too many");
        assert_eq!(joining.take(1, 4, 3, b"d"), Ok(Some(Bytes::from_static(b"abcd"))));
    }
}
