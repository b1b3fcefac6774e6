//! One segment: a file of fixed size with a header page and records behind it. All numbers are little-endian.
//!
//! | bytes | content | written |
//! |---|---|---|
//! | 0..8 | magic | when the file is made |
//! | 8..12 | format version | when the file is made |
//! | 16..32, 32..40 | instance, site | when the file is made |
//! | 40..48 | sequence number, as in the name of the file | when the file is made |
//! | 48..56 | capacity: bytes of records | when the file is made |
//! | 56..60 | CRC-32 over 0..56 | when the file is made |
//! | 64..80 | position of the first record | when the segment is put to use |
//! | 80..96, 96..112 | synced mark: all below this position is on disk | in turn, after each sync |
//!
//! The last three are *slots*: position, CRC-32 over (kind, sequence number, position), kind. A slot whose second word is
//! zero has not been written.
//!
//! Invariants: a file appears under its name only once the first part is on disk and all its blocks are reserved, so a
//! first part that cannot be read is damage and not an accident. Sequence numbers rise in the order of the positions. A
//! synced mark is written only after that sync, so every mark that can be read is true.
//! Bytes 0..64 keep their meaning in all format versions.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;

use crate::error::LogError;
use crate::frame::little_endian;
use crate::limits::{CHUNK_BYTES, POSITION_END, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, SEGMENT_HEADER_BYTES};
use crate::place::{LogIdentity, Position};

const MAGIC: [u8; 8] = *b"RAIDLOG\n";
const VERSION: u32 = 4;
const FIXED_BYTES: usize = 64;
const CHECKED_BYTES: usize = 56;
/// Where the slot of the first position is in the file.
pub(crate) const START_SLOT: usize = 64;
const MARK_SLOTS: [usize; 2] = [80, 96];
const USED_HEADER_BYTES: usize = 112;
const SUFFIX: &str = ".log";
const UNFINISHED_SUFFIX: &str = ".new";

/// What a slot tells.
#[derive(Clone, Copy)]
enum HeaderSlot {
    Start = 1,
    Mark = 2,
}

/// The two words of a slot. The second one makes it valid and is never zero.
fn slot_words(slot: HeaderSlot, sequence: u64, position: Position) -> (u64, u64) {
    let mut bytes = [0; 20];
    bytes[..4].copy_from_slice(&(slot as u32).to_le_bytes());
    bytes[4..12].copy_from_slice(&sequence.to_le_bytes());
    bytes[12..].copy_from_slice(&position.0.to_le_bytes());
    (position.0, u64::from(crc32fast::hash(&bytes)) | (slot as u64) << 32)
}

/// The slot that puts segment `sequence` to use from `position` on: its position and the word to publish behind it.
pub(crate) fn start_words(sequence: u64, position: Position) -> (u64, u64) {
    slot_words(HeaderSlot::Start, sequence, position)
}

/// `None` if the slot is damaged, `Some(None)` if it has not been written.
fn decode_slot(bytes: &[u8], offset: usize, slot: HeaderSlot, sequence: u64) -> Option<Option<Position>> {
    let position = Position(little_endian(bytes, offset));
    let word = little_endian(bytes, offset + 8);
    if word == 0 {
        return Some(None);
    }
    (position.0 < POSITION_END && word == slot_words(slot, sequence, position).1).then_some(Some(position))
}

/// What the header of a segment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    /// Bytes of records that the segment has room for.
    pub(crate) capacity: u64,
    /// Position of its first record; `None` while it waits for its use.
    pub(crate) first: Option<Position>,
    /// All below was on disk when this was written.
    pub(crate) mark: Option<Position>,
}

/// Reads the header of `path`, which is named for `sequence`. A damaged one is `Ok(Err(offset of the damage))`.
///
/// # Errors
/// A failure to read, a foreign owner, or a format that is not ours.
pub(crate) fn read_header(
    path: &Path,
    sequence: u64,
    owner: LogIdentity,
) -> Result<Result<SegmentHeader, u64>, LogError> {
    let failed = |source| LogError::io("read", path, 0, source);
    let mut bytes = Vec::with_capacity(USED_HEADER_BYTES);
    File::open(path).map_err(failed)?.take(USED_HEADER_BYTES as u64).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() < USED_HEADER_BYTES {
        return Ok(Err(bytes.len() as u64));
    }
    let checksum = u64::from(crc32fast::hash(&bytes[..CHECKED_BYTES]));
    if bytes[..8] != MAGIC || little_endian(&bytes, CHECKED_BYTES) != checksum {
        return Ok(Err(0));
    }
    let version = (little_endian(&bytes, 8) & u64::from(u32::MAX)) as u32;
    if version != VERSION {
        return Err(LogError::UnsupportedVersion { file: path.to_path_buf(), found: version, expected: VERSION });
    }
    let instance = u128::from(little_endian(&bytes, 16)) | u128::from(little_endian(&bytes, 24)) << 64;
    let found = LogIdentity { instance, site: little_endian(&bytes, 32) };
    if found != owner {
        return Err(LogError::WrongIdentity { file: path.to_path_buf(), found, expected: owner });
    }
    Ok(decode_rest(&bytes, sequence))
}

fn decode_rest(bytes: &[u8], sequence: u64) -> Result<SegmentHeader, u64> {
    if little_endian(bytes, 40) != sequence {
        return Err(40);
    }
    let capacity = little_endian(bytes, 48);
    if !(SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&capacity) {
        return Err(48);
    }
    let first = decode_slot(bytes, START_SLOT, HeaderSlot::Start, sequence).ok_or(START_SLOT as u64)?;
    let marks = MARK_SLOTS.map(|offset| decode_slot(bytes, offset, HeaderSlot::Mark, sequence));
    // One slot may be torn: it was being written. The other one then holds the mark before.
    let mark = match marks {
        [None, None] => return Err(MARK_SLOTS[0] as u64),
        [one, other] => one.flatten().max(other.flatten()),
    };
    Ok(SegmentHeader { capacity, first, mark })
}

/// An open segment file.
#[derive(Clone, Debug)]
pub(crate) struct SegmentFile {
    pub(crate) sequence: u64,
    /// Bytes of records that it has room for.
    pub(crate) capacity: u64,
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<File>,
}

impl SegmentFile {
    /// Makes a segment file, reserves all its blocks, and brings it to disk under its name.
    ///
    /// # Errors
    /// A full disk, among others. No file is left behind then.
    pub(crate) fn create(
        folder: &Path,
        owner: LogIdentity,
        sequence: u64,
        capacity: u64,
    ) -> Result<SegmentFile, LogError> {
        assert!((SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&capacity), "segment of {capacity} bytes");
        let unfinished = folder.join(format!("{sequence:020}{UNFINISHED_SUFFIX}"));
        let path = folder.join(format!("{sequence:020}{SUFFIX}"));
        let made = (|| {
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&unfinished)?;
            reserve(&file, SEGMENT_HEADER_BYTES + capacity)?;
            file.write_all_at(&encode_fixed(owner, sequence, capacity), 0)?;
            file.sync_all()?;
            fs::rename(&unfinished, &path)?;
            sync_folder(folder)?;
            Ok(SegmentFile { sequence, capacity, path: path.clone(), file: Arc::new(file) })
        })();
        made.map_err(|source| {
            // The first failure is the one to tell; recovery clears away what cannot be removed now.
            let _ = fs::remove_file(&unfinished);
            let _ = fs::remove_file(&path);
            LogError::io("create", &path, SEGMENT_HEADER_BYTES + capacity, source)
        })
    }

    /// Opens a segment for writing and makes sure that it has all its blocks.
    pub(crate) fn open(path: &Path, sequence: u64, capacity: u64) -> Result<SegmentFile, LogError> {
        let failed = |source| LogError::io("open", path, SEGMENT_HEADER_BYTES + capacity, source);
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        reserve(&file, SEGMENT_HEADER_BYTES + capacity).map_err(failed)?;
        Ok(SegmentFile { sequence, capacity, path: path.to_path_buf(), file: Arc::new(file) })
    }

    /// Notes that all below `position` is on disk. The two slots are used in `turn`, so that a torn write leaves one.
    pub(crate) fn write_mark(&self, position: Position, turn: u64) -> io::Result<()> {
        let (position, word) = slot_words(HeaderSlot::Mark, self.sequence, position);
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&position.to_le_bytes());
        bytes[8..].copy_from_slice(&word.to_le_bytes());
        self.file.write_all_at(&bytes, MARK_SLOTS[(turn % 2) as usize] as u64)
    }

    /// Has both slots say that only what is below `position` is on disk, and brings that to disk.
    pub(crate) fn overwrite_marks(&self, position: Position) -> io::Result<()> {
        self.write_mark(position, 0)?;
        self.write_mark(position, 1)?;
        self.file.sync_all()
    }

    /// Makes the header and the records at `from..to` (bytes behind the header) dirty again and brings them to disk.
    /// After a failed sync the kernel takes the pages for clean though they are not on disk; only writing helps.
    pub(crate) fn rewrite(&self, from: u64, to: u64) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK_BYTES];
        let header = (0, SEGMENT_HEADER_BYTES);
        for (mut offset, end) in [header, (SEGMENT_HEADER_BYTES + from, SEGMENT_HEADER_BYTES + to)] {
            while offset < end {
                let chunk = &mut buffer[..CHUNK_BYTES.min((end - offset) as usize)];
                self.file.read_exact_at(chunk, offset)?;
                self.file.write_all_at(chunk, offset)?;
                offset += chunk.len() as u64;
            }
        }
        self.file.sync_all()
    }

    /// Writes zeros over the records at `from..to` (bytes behind the header) and brings them to disk.
    pub(crate) fn clear(&self, from: u64, to: u64) -> io::Result<()> {
        write_zeros(&self.file, SEGMENT_HEADER_BYTES + from, SEGMENT_HEADER_BYTES + to)?;
        self.file.sync_all()
    }
}

/// Reads the records part of a segment from its start on, as far as the file goes.
pub(crate) struct DataReader {
    file: File,
    path: PathBuf,
    /// Bytes of the records part that the file has.
    present: u64,
    /// How many of them were read and forgotten.
    pub(crate) forgotten: u64,
    /// What was read behind them.
    pub(crate) data: Vec<u8>,
}

impl DataReader {
    pub(crate) fn open(path: &Path, capacity: u64) -> Result<DataReader, LogError> {
        let failed = |source| LogError::io("read", path, 0, source);
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let present = length.saturating_sub(SEGMENT_HEADER_BYTES).min(capacity);
        Ok(DataReader { file, path: path.to_path_buf(), present, forgotten: 0, data: Vec::new() })
    }

    /// The first byte of the records part that was not read.
    fn place(&self) -> u64 {
        self.forgotten + self.data.len() as u64
    }

    /// Reads the next part. False: there is nothing more.
    pub(crate) fn read_more(&mut self) -> Result<bool, LogError> {
        let end = (self.place() + CHUNK_BYTES as u64).min(self.present);
        let more = end > self.place();
        self.read_to(end).map(|()| more)
    }

    /// Forgets the first bytes of the data: fresh memory for all of a segment takes longer than reading it.
    pub(crate) fn forget(&mut self, bytes: usize) {
        self.data.drain(..bytes);
        self.forgotten += bytes as u64;
    }

    /// Reads all the rest, but for blocks at the end that were never written: they are zeros, and most of a segment that is in use.
    pub(crate) fn read_rest(&mut self) -> Result<(), LogError> {
        let written = written_end(&self.file, SEGMENT_HEADER_BYTES + self.place());
        let written = written.map_err(|source| LogError::io("read", &self.path, 0, source))?;
        self.read_to(written.saturating_sub(SEGMENT_HEADER_BYTES).min(self.present))
    }

    fn read_to(&mut self, end: u64) -> Result<(), LogError> {
        let start = self.place();
        if end <= start {
            return Ok(());
        }
        self.data.reserve((end - start) as usize);
        // Looking for written blocks has moved the file's place.
        let read = seek(&self.file, SeekFrom::Start(SEGMENT_HEADER_BYTES + start))
            .map_err(io::Error::from)
            .and_then(|_| (&self.file).take(end - start).read_to_end(&mut self.data));
        match read {
            Ok(bytes) if bytes as u64 == end - start => Ok(()),
            Ok(_) => Err(LogError::io("read", &self.path, 0, io::Error::from(ErrorKind::UnexpectedEof))),
            Err(source) => Err(LogError::io("read", &self.path, 0, source)),
        }
    }
}

/// Where the last written block from `offset` on ends, as far as the file system tells (lseek(2), SEEK_DATA); `offset` if there is none.
fn written_end(file: &File, offset: u64) -> io::Result<u64> {
    let mut end = offset;
    loop {
        match seek(file, SeekFrom::Data(end)) {
            Ok(data) => end = seek(file, SeekFrom::Hole(data))?.max(data + 1),
            Err(Errno::NXIO) => return Ok(end),
            // Not told: all that there is counts as written.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(file.metadata()?.len()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The sequence numbers and paths of the segments in `folder`, in order. Clears away unfinished ones.
pub(crate) fn list(folder: &Path) -> Result<Vec<(u64, PathBuf)>, LogError> {
    let failed = |source| LogError::io("list", folder, 0, source);
    let mut segments = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        if let Some(sequence) = name.strip_suffix(SUFFIX).and_then(parse_sequence) {
            segments.push((sequence, path));
        } else if name.strip_suffix(UNFINISHED_SUFFIX).and_then(parse_sequence).is_some() {
            fs::remove_file(&path).map_err(|source| LogError::io("remove", &path, 0, source))?;
        }
    }
    segments.sort_unstable();
    Ok(segments)
}

fn parse_sequence(digits: &str) -> Option<u64> {
    let plain = digits.len() == 20 && digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

/// Brings the names in `folder` to disk.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Removes a segment for good. One that is gone already is fine.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    match path.parent() {
        Some(folder) => sync_folder(folder),
        None => Ok(()),
    }
}

fn encode_fixed(owner: LogIdentity, sequence: u64, capacity: u64) -> [u8; FIXED_BYTES] {
    let mut bytes = [0; FIXED_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[16..32].copy_from_slice(&owner.instance.to_le_bytes());
    bytes[32..40].copy_from_slice(&owner.site.to_le_bytes());
    bytes[40..48].copy_from_slice(&sequence.to_le_bytes());
    bytes[48..56].copy_from_slice(&capacity.to_le_bytes());
    let checksum = crc32fast::hash(&bytes[..CHECKED_BYTES]);
    bytes[CHECKED_BYTES..CHECKED_BYTES + 4].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Gives the file `length` bytes with blocks on disk behind all of them. New bytes are zero, present ones stay.
fn reserve(file: &File, length: u64) -> io::Result<()> {
    loop {
        match fallocate(file, FallocateFlags::empty(), 0, length) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            // The file system cannot reserve: fill up what is missing.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return write_zeros(file, file.metadata()?.len(), length),
            Err(error) => return Err(error.into()),
        }
    }
}

fn write_zeros(file: &File, mut offset: u64, end: u64) -> io::Result<()> {
    let zeros = vec![0; CHUNK_BYTES];
    while offset < end {
        let chunk = CHUNK_BYTES.min((end - offset) as usize);
        file.write_all_at(&zeros[..chunk], offset)?;
        offset += chunk as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: LogIdentity = LogIdentity { instance: 7, site: 3 };

    fn made(capacity: u64) -> (tempfile::TempDir, SegmentFile) {
        let folder = tempfile::tempdir().unwrap();
        let segment = SegmentFile::create(folder.path(), OWNER, 5, capacity).unwrap();
        (folder, segment)
    }

    fn header(segment: &SegmentFile) -> Result<SegmentHeader, u64> {
        read_header(&segment.path, segment.sequence, OWNER).unwrap()
    }

    /// If this fails, a new segment is not recognized, or its blocks are not reserved and a full disk is a signal.
    #[test]
    fn a_new_segment_is_listed_whole_and_unused() {
        use std::os::unix::fs::MetadataExt;
        let (folder, segment) = made(8192);
        assert_eq!(list(folder.path()).unwrap(), vec![(5, segment.path.clone())]);
        assert_eq!(header(&segment), Ok(SegmentHeader { capacity: 8192, first: None, mark: None }));
        let metadata = segment.file.metadata().unwrap();
        assert_eq!(metadata.len(), SEGMENT_HEADER_BYTES + 8192);
        assert!(metadata.blocks() * 512 >= metadata.len());
    }

    /// If this fails, a torn mark makes a healthy log unreadable, or an older mark hides a newer one.
    #[test]
    fn the_newest_readable_mark_counts() {
        let (_folder, segment) = made(4096);
        for turn in 0..5 {
            segment.write_mark(Position(turn * 8), turn).unwrap();
            assert_eq!(header(&segment).unwrap().mark, Some(Position(turn * 8)));
        }
        segment.file.write_all_at(&[0xff], MARK_SLOTS[0] as u64 + 9).unwrap();
        assert_eq!(header(&segment).unwrap().mark, Some(Position(24)));
        segment.file.write_all_at(&[0xff], MARK_SLOTS[1] as u64 + 9).unwrap();
        assert_eq!(header(&segment), Err(MARK_SLOTS[0] as u64));
    }

    /// If this fails, a site continues the log of another, or misreads one of another release.
    #[test]
    fn a_foreign_segment_is_refused() {
        let (_folder, segment) = made(4096);
        let stranger = LogIdentity { instance: 7, site: 4 };
        assert!(matches!(read_header(&segment.path, 5, stranger), Err(LogError::WrongIdentity { .. })));
        let mut bytes = encode_fixed(OWNER, 5, 4096);
        bytes[8] = 9;
        let checksum = crc32fast::hash(&bytes[..CHECKED_BYTES]);
        bytes[CHECKED_BYTES..CHECKED_BYTES + 4].copy_from_slice(&checksum.to_le_bytes());
        segment.file.write_all_at(&bytes, 0).unwrap();
        let refused = read_header(&segment.path, 5, OWNER);
        assert!(matches!(refused, Err(LogError::UnsupportedVersion { found: 9, .. })), "{refused:?}");
    }

    /// If this fails, damage in the part of the header that never changes goes unnoticed.
    #[test]
    fn every_damaged_byte_of_the_fixed_part_is_noticed() {
        let (_folder, segment) = made(4096);
        let whole = encode_fixed(OWNER, 5, 4096);
        for index in 0..FIXED_BYTES {
            segment.file.write_all_at(&[whole[index] ^ 0x10], index as u64).unwrap();
            assert!(header(&segment).is_err(), "byte {index}");
            segment.file.write_all_at(&whole, 0).unwrap();
        }
        assert!(header(&segment).is_ok());
    }

    /// If this fails, a crash while a segment is made leaves garbage for ever, or foreign files are taken for segments.
    #[test]
    fn unfinished_segments_are_cleared_and_foreign_files_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["00000000000000000009.new", "notes.new", "9.log", "+0000000000000000009.log", "lock"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        assert_eq!(list(folder.path()).unwrap(), vec![]);
        assert!(!folder.path().join("00000000000000000009.new").exists());
        assert!(folder.path().join("notes.new").exists());
    }
}
