//! What was written last under a key, so that a write that differs little from it takes little of the log.
//!
//! A database writes a page again and again, in its log, its journal and its file, and changes a few bytes of it each time. Whoever tells of
//! a write may give it a key (for a database, the number of the page): the log then holds the bytes in which it differs from the last write
//! with that key. Invariants:
//! * the writer of the log and its replay remember the same, because both do what the log says: a key that is wrong costs room, not
//!   truth, and a checksum over the whole write says if they ever differ;
//! * nothing that is remembered stands in a record that may be given up: the log says when everything is forgotten.

use std::collections::HashMap;

use crate::limits::{KEYED_BYTES_MAX, KEYED_BYTES_MIN, REMEMBERED_BYTES_MAX};

/// Differing bytes that are closer than this are told as one piece: a piece takes 4 bytes beside its own.
const GAP: usize = 8;

/// See the module's description.
#[derive(Clone, Debug, Default)]
pub struct Remembered {
    writes: HashMap<u64, Box<[u8]>>,
    bytes: usize,
}

/// How a write is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Telling {
    /// Nothing of its key is known, or it has little in common with that.
    Whole,
    /// As pieces: where each begins, and how long it is.
    Pieces(Vec<(u16, u16)>),
}

/// Pieces as the log has them: each its place (2 bytes), its length (2 bytes), and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces<'a>(pub &'a [u8]);

impl<'a> Pieces<'a> {
    /// One after the other; none for what is no piece, and then no more.
    pub fn iter(self) -> impl Iterator<Item = Option<(usize, &'a [u8])>> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let piece = rest.split_first_chunk::<4>().and_then(|(head, behind)| {
                let at = usize::from(u16::from_le_bytes([head[0], head[1]]));
                let length = usize::from(u16::from_le_bytes([head[2], head[3]]));
                let (bytes, next) = behind.split_at_checked(length)?;
                rest = next;
                Some((at, bytes))
            });
            if piece.is_none() {
                rest = &[];
            }
            Some(piece)
        })
    }
}

impl Remembered {
    /// Whether a write of so many bytes may have a key.
    pub fn takes(bytes: usize) -> bool {
        (KEYED_BYTES_MIN..=KEYED_BYTES_MAX).contains(&bytes)
    }

    /// Whether everything has to be forgotten before a write of so many bytes is remembered.
    pub fn is_full(&self, bytes: usize) -> bool {
        self.bytes + bytes > REMEMBERED_BYTES_MAX
    }

    /// Forgets everything.
    pub fn forget(&mut self) {
        self.writes.clear();
        self.bytes = 0;
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// How to tell of a write, which is remembered in place of the last one.
    pub fn tell(&mut self, key: u64, bytes: &[u8]) -> Telling {
        let pieces = self.writes.get(&key).and_then(|last| differences(last, bytes));
        self.remember(key, bytes);
        pieces.map_or(Telling::Whole, Telling::Pieces)
    }

    /// Remembers a write in place of the last one.
    pub fn remember(&mut self, key: u64, bytes: &[u8]) {
        match self.writes.get_mut(&key) {
            Some(last) if last.len() == bytes.len() => last.copy_from_slice(bytes),
            _ => {
                let last = self.writes.insert(key, bytes.into());
                self.bytes += bytes.len();
                self.bytes -= last.map_or(0, |last| last.len());
            }
        }
    }

    /// Makes a write of what is remembered and pieces of it, and remembers it; none if that does not go together.
    pub fn redo(&mut self, key: u64, pieces: Pieces<'_>) -> Option<&[u8]> {
        let last = self.writes.get_mut(&key)?;
        for piece in pieces.iter() {
            let (at, bytes) = piece?;
            last.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
        }
        Some(last)
    }
}

/// Where `bytes` differ from `last`; none if they are not of one length, or have little in common.
fn differences(last: &[u8], bytes: &[u8]) -> Option<Vec<(u16, u16)>> {
    if last.len() != bytes.len() {
        return None;
    }
    let mut pieces: Vec<(usize, usize)> = Vec::new();
    let mut told = 0;
    let mut add = |from: usize, to: usize| {
        match pieces.last_mut() {
            Some((_, end)) if from < *end + GAP => {
                told += to - *end;
                *end = to;
            }
            _ => {
                told += to - from + 4;
                pieces.push((from, to));
            }
        }
        told <= bytes.len() / 2
    };
    let words = last.chunks_exact(8).zip(bytes.chunks_exact(8));
    let whole = words.len() * 8;
    for (index, (one, other)) in words.enumerate() {
        let differing = u64::from_le_bytes(one.try_into().ok()?) ^ u64::from_le_bytes(other.try_into().ok()?);
        if differing != 0 {
            let from = index * 8 + differing.trailing_zeros() as usize / 8;
            let to = index * 8 + 8 - differing.leading_zeros() as usize / 8;
            if !add(from, to) {
                return None;
            }
        }
    }
    for at in (whole..bytes.len()).filter(|at| last[*at] != bytes[*at]) {
        if !add(at, at + 1) {
            return None;
        }
    }
    Some(pieces.into_iter().map(|(from, to)| (from as u16, (to - from) as u16)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieces_of(telling: &[(u16, u16)], bytes: &[u8]) -> Vec<u8> {
        let mut pieces = Vec::new();
        for &(at, length) in telling {
            pieces.extend_from_slice(&at.to_le_bytes());
            pieces.extend_from_slice(&length.to_le_bytes());
            pieces.extend_from_slice(&bytes[usize::from(at)..usize::from(at) + usize::from(length)]);
        }
        pieces
    }

    proptest! {
        /// If this failed, a replay would make other pages than were written.
        #[test]
        fn pieces_make_the_whole(
            length in KEYED_BYTES_MIN..700,
            edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..60),
        ) {
            let first: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let mut second = first.clone();
            for (at, byte) in &edits {
                second[at.index(length)] = *byte;
            }
            let (mut writer, mut replay) = (Remembered::default(), Remembered::default());
            prop_assert_eq!(writer.tell(7, &first), Telling::Whole);
            replay.remember(7, &first);
            if let Telling::Pieces(telling) = writer.tell(7, &second) {
                let pieces = pieces_of(&telling, &second);
                prop_assert!(pieces.len() <= length / 2);
                prop_assert_eq!(replay.redo(7, Pieces(&pieces)), Some(&second[..]));
            } else {
                prop_assert!(edits.len() > 20, "few edits are told as pieces");
            }
        }

        /// If this failed, a damaged record could end the program.
        #[test]
        fn any_pieces_can_be_read(pieces in proptest::collection::vec(any::<u8>(), 0..60)) {
            let mut remembered = Remembered::default();
            remembered.remember(1, &[0; 300]);
            let _ = remembered.redo(1, Pieces(&pieces));
            prop_assert_eq!(remembered.redo(2, Pieces(&[])), None);
        }
    }
}
