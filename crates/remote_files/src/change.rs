//! What a record of the log says: changes of files, in the order in which they were made.
//!
//! A record is a row of changes; numbers are little-endian:
//!
//! | change | bytes |
//! |---|---|
//! | write | 1, file (1), offset (8), length (4), the bytes |
//! | resize | 2, file (1), size (8) |
//! | delete | 3, file (1) |
//! | remember | 5, file (1), offset (8), key (8), length (4), the bytes: a write, which is remembered by its key |
//! | rewrite | 6, file (1), offset (8), key (8), CRC-32 (4), length (4), pieces: a write of what is remembered, with these pieces changed |
//! | forget | 7: nothing is remembered any more |
//! | settled | 4, position (8), number of files (1), for each: 0 if there is none, or 1 and its size (8) |
//!
//! Numbers of a kind are never used for another. Invariant: every change can be made again over whatever came after it, and with all that
//! follow it gives the same files.

use network_memory::names::RecordNumber;
use thiserror::Error;

use crate::limits::{FILES_MAX, KEYED_BYTES_MAX, WRITE_BYTES_MAX};
use crate::remembered::{Pieces, Remembered, Telling};

const WRITE: u8 = 1;
const RESIZE: u8 = 2;
const DELETE: u8 = 3;
const SETTLED: u8 = 4;
const REMEMBER: u8 = 5;
const REWRITE: u8 = 6;
const FORGET: u8 = 7;

/// A file of a group, by its place in the list of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileNumber(pub u8);

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange<'a> {
    /// Bytes were written; the file exists from then on.
    Write {
        /// Where.
        file: FileNumber,
        /// From which byte on.
        offset: u64,
        /// What.
        bytes: &'a [u8],
    },
    /// Bytes were written, and are remembered by a key ([`crate::remembered`]).
    Remember {
        /// Where.
        file: FileNumber,
        /// From which byte on.
        offset: u64,
        /// By which.
        key: u64,
        /// What.
        bytes: &'a [u8],
    },
    /// What is remembered by a key was written, with some pieces changed.
    Rewrite {
        /// Where.
        file: FileNumber,
        /// From which byte on.
        offset: u64,
        /// By which.
        key: u64,
        /// Of all bytes that were written.
        checksum: u32,
        /// What is not as remembered.
        pieces: Pieces<'a>,
    },
    /// Nothing is remembered any more.
    Forget,
    /// The file was cut, or made longer with zeros; it exists from then on.
    Resize {
        /// Which.
        file: FileNumber,
        /// Bytes that it has now.
        size: u64,
    },
    /// The file is gone.
    Delete {
        /// Which.
        file: FileNumber,
    },
    /// Every change of the records below the position is on the local disk.
    Settled {
        /// The first record that may be needed.
        below: RecordNumber,
        /// How long each file was at least, at that time; none if it did not exist.
        sizes: Vec<Option<u64>>,
    },
}

/// A record that cannot be read: another program or version has written it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("byte {at} of the record is no change of a file")]
pub struct Unreadable {
    /// Where in the record.
    pub at: usize,
}

impl FileChange<'_> {
    /// Adds the change to a record. A write that is too long becomes several.
    pub fn append(&self, record: &mut Vec<u8>) {
        match self {
            FileChange::Write { file, offset, bytes } => {
                let mut offset = *offset;
                for piece in bytes.chunks(WRITE_BYTES_MAX) {
                    record.reserve(14 + piece.len());
                    record.extend_from_slice(&[WRITE, file.0]);
                    record.extend_from_slice(&offset.to_le_bytes());
                    record.extend_from_slice(&(piece.len() as u32).to_le_bytes());
                    record.extend_from_slice(piece);
                    offset += piece.len() as u64;
                }
            }
            FileChange::Remember { file, offset, key, bytes } => {
                assert!(bytes.len() <= KEYED_BYTES_MAX, "longer ones have no key");
                head(record, REMEMBER, *file, *offset, *key);
                record.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                record.extend_from_slice(bytes);
            }
            FileChange::Rewrite { file, offset, key, checksum, pieces } => {
                head(record, REWRITE, *file, *offset, *key);
                record.extend_from_slice(&checksum.to_le_bytes());
                record.extend_from_slice(&(pieces.0.len() as u32).to_le_bytes());
                record.extend_from_slice(pieces.0);
            }
            FileChange::Forget => record.push(FORGET),
            FileChange::Resize { file, size } => {
                record.extend_from_slice(&[RESIZE, file.0]);
                record.extend_from_slice(&size.to_le_bytes());
            }
            FileChange::Delete { file } => record.extend_from_slice(&[DELETE, file.0]),
            FileChange::Settled { below, sizes } => {
                assert!(sizes.len() <= FILES_MAX, "a group has few files");
                record.push(SETTLED);
                record.extend_from_slice(&below.0.to_le_bytes());
                record.push(sizes.len() as u8);
                for size in sizes {
                    record.push(u8::from(size.is_some()));
                    record.extend(size.iter().flat_map(|size| size.to_le_bytes()));
                }
            }
        }
    }
}

fn head(record: &mut Vec<u8>, kind: u8, file: FileNumber, offset: u64, key: u64) {
    record.extend_from_slice(&[kind, file.0]);
    record.extend_from_slice(&offset.to_le_bytes());
    record.extend_from_slice(&key.to_le_bytes());
}

/// Adds a write with a key to a record, as short as what is remembered lets, and remembers it.
///
/// # Panics
/// [`Remembered::takes`] does not say that it may have a key.
pub fn append_keyed(
    record: &mut Vec<u8>,
    remembered: &mut Remembered,
    file: FileNumber,
    offset: u64,
    key: u64,
    bytes: &[u8],
) {
    if remembered.is_full(bytes.len()) {
        remembered.forget();
        FileChange::Forget.append(record);
    }
    let Telling::Pieces(places) = remembered.tell(key, bytes) else {
        return FileChange::Remember { file, offset, key, bytes }.append(record);
    };
    // As `FileChange::Rewrite`, without a copy of the pieces.
    head(record, REWRITE, file, offset, key);
    record.extend_from_slice(&crc32fast::hash(bytes).to_le_bytes());
    let length: usize = places.iter().map(|(_, length)| 4 + usize::from(*length)).sum();
    record.extend_from_slice(&(length as u32).to_le_bytes());
    for (at, length) in places {
        record.extend_from_slice(&at.to_le_bytes());
        record.extend_from_slice(&length.to_le_bytes());
        record.extend_from_slice(&bytes[usize::from(at)..usize::from(at) + usize::from(length)]);
    }
}

/// Reads the changes of a record, in order. After an error nothing more comes.
#[derive(Clone, Debug)]
pub struct Changes<'a> {
    record: &'a [u8],
    at: usize,
}

impl<'a> Changes<'a> {
    /// Of this record.
    pub fn of(record: &'a [u8]) -> Changes<'a> {
        Changes { record, at: 0 }
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.record.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    fn number(&mut self) -> Option<u64> {
        self.take(8)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }

    fn length(&mut self) -> Option<u32> {
        self.take(4)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }

    fn change(&mut self) -> Option<FileChange<'a>> {
        match self.byte()? {
            WRITE => {
                let (file, offset) = (FileNumber(self.byte()?), self.number()?);
                let length = self.length()?;
                // No file of any system is longer.
                offset.checked_add(length.into()).filter(|end| *end <= i64::MAX as u64)?;
                Some(FileChange::Write { file, offset, bytes: self.take(length as usize)? })
            }
            RESIZE => {
                let (file, size) = (FileNumber(self.byte()?), self.number()?);
                (size <= i64::MAX as u64).then_some(FileChange::Resize { file, size })
            }
            REMEMBER => {
                let (file, offset, key) = (FileNumber(self.byte()?), self.number()?, self.number()?);
                let length = self.length()? as usize;
                let is_possible = Remembered::takes(length) && offset <= i64::MAX as u64 - KEYED_BYTES_MAX as u64;
                let bytes = self.take(length)?;
                is_possible.then_some(FileChange::Remember { file, offset, key, bytes })
            }
            REWRITE => {
                let (file, offset, key) = (FileNumber(self.byte()?), self.number()?, self.number()?);
                let (checksum, length) = (self.length()?, self.length()? as usize);
                let pieces = Pieces(self.take(length)?);
                let is_possible = offset <= i64::MAX as u64 - KEYED_BYTES_MAX as u64;
                is_possible.then_some(FileChange::Rewrite { file, offset, key, checksum, pieces })
            }
            FORGET => Some(FileChange::Forget),
            DELETE => Some(FileChange::Delete { file: FileNumber(self.byte()?) }),
            SETTLED => {
                let (below, files) = (RecordNumber(self.number()?), self.byte()?);
                let mut sizes = Vec::new();
                for _ in 0..files {
                    sizes.push(match self.byte()? {
                        0 => None,
                        1 => Some(self.number()?),
                        _ => return None,
                    });
                }
                Some(FileChange::Settled { below, sizes })
            }
            _ => None,
        }
    }
}

impl<'a> Iterator for Changes<'a> {
    type Item = Result<FileChange<'a>, Unreadable>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        if at == self.record.len() {
            return None;
        }
        let change = self.change();
        if change.is_none() {
            self.at = self.record.len();
        }
        Some(change.ok_or(Unreadable { at }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn changes() -> Vec<FileChange<'static>> {
        vec![
            FileChange::Write { file: FileNumber(2), offset: 1 << 40, bytes: b"some bytes" },
            FileChange::Resize { file: FileNumber(0), size: 7 },
            FileChange::Remember { file: FileNumber(1), offset: 3, key: u64::MAX, bytes: &[8; 300] },
            FileChange::Rewrite {
                file: FileNumber(1),
                offset: 4,
                key: 5,
                checksum: 6,
                pieces: Pieces(&[1, 0, 1, 0, 9]),
            },
            FileChange::Forget,
            FileChange::Settled { below: RecordNumber(99), sizes: vec![Some(0), None, Some(u64::MAX)] },
            FileChange::Delete { file: FileNumber(1) },
        ]
    }

    /// If this failed, a recovery would make other files than there were.
    #[test]
    fn what_is_written_is_read() {
        let mut record = Vec::new();
        changes().iter().for_each(|change| change.append(&mut record));
        let read: Result<Vec<_>, _> = Changes::of(&record).collect();
        assert_eq!(read, Ok(changes()));
        let long = vec![5; 2 * WRITE_BYTES_MAX + 3];
        let mut record = Vec::new();
        FileChange::Write { file: FileNumber(0), offset: 10, bytes: &long }.append(&mut record);
        let ends: Vec<u64> = Changes::of(&record)
            .map(|change| match change {
                Ok(FileChange::Write { offset, bytes, .. }) => offset + bytes.len() as u64,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(ends, [WRITE_BYTES_MAX, 2 * WRITE_BYTES_MAX, 2 * WRITE_BYTES_MAX + 3].map(|end| 10 + end as u64));
    }

    /// If this failed, half a record would be taken for a whole one.
    #[test]
    fn a_cut_record_is_noticed() {
        for change in changes() {
            let mut record = Vec::new();
            change.append(&mut record);
            for end in 1..record.len() {
                let last = Changes::of(&record[..end]).last();
                assert_eq!(last, Some(Err(Unreadable { at: 0 })), "{change:?} up to byte {end}");
            }
        }
    }

    proptest! {
        /// If this failed, a record of another program could end ours.
        #[test]
        fn any_bytes_can_be_read(record in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Changes::of(&record).count() <= record.len());
        }
    }
}
