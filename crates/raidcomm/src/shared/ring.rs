//! A ring: bytes from one process to another of the same host, in order, like a pipe, but with no system call while both are awake.
//!
//! The writer copies bytes in and says how many it has written in all; the reader copies them out and says how many it has read. A side that
//! is going to wait says so first, and then looks once more; the other side rings its bell (eventfd(2)), which an event loop waits for beside
//! its sockets. Whoever is awake is not rung for. That the other side is gone must be told by another channel, which the owner keeps.
//!
//! Invariants: read <= written <= read + capacity; the writer alone writes the bytes between written and read + capacity, the reader alone reads those
//! between read and written. Each side goes by its own count, and by a copy of the other's that it has checked: a count that breaks the
//! inequality is an error.

use super::greeting::LineError;
use super::mapping::{HEAD_BYTES, LINE_BYTES, Mapping};
use crate::limits::RING_BYTES_MAX;
use bytes::BytesMut;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::fs::{OFlags, fcntl_getfl};
use std::sync::atomic::{AtomicU32, Ordering};
use thiserror::Error;

const MAGIC: u32 = u32::from_le_bytes(*b"RING");
const VERSION: u32 = 1;
/// Where the words lie: what the ring is; the writer's count and whether it waits; the reader's count and whether it waits.
const MAGIC_AT: usize = 0;
const VERSION_AT: usize = 4;
const WRITTEN_AT: usize = LINE_BYTES;
const READ_AT: usize = 2 * LINE_BYTES;
const WRITER_WAITS_AT: usize = 3 * LINE_BYTES;
const READER_WAITS_AT: usize = 4 * LINE_BYTES;

/// The other side has broken the protocol: no byte of the ring can be trusted. Close it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the other side of a ring of shared memory has written what it may not")]
pub struct Broken;

/// What the writer passes to the reader's process.
#[derive(Debug)]
pub struct Files {
    /// The memory.
    pub memory: OwnedFd,
    /// The reader's bell.
    pub data: OwnedFd,
    /// The writer's bell.
    pub room: OwnedFd,
}

/// What both sides have.
#[derive(Debug)]
struct Ring {
    mapping: Mapping,
    /// Bytes, a power of two.
    capacity: u64,
    /// Rung by the other side.
    own_bell: OwnedFd,
    /// Rung by this side.
    other_bell: OwnedFd,
}

impl Ring {
    /// Where a byte lies, counted from the first one ever written, and how many lie behind it before the end of the memory.
    fn place(&self, count: u64) -> (usize, usize) {
        let offset = count & (self.capacity - 1);
        (HEAD_BYTES + offset as usize, (self.capacity - offset) as usize)
    }

    /// Wakes the other side, if it has said that it waits.
    fn wake(&self, waits: &AtomicU32) {
        // Before that, this side's count was stored, in one order with what the other side does: say that it waits, then look at the count.
        if waits.load(Ordering::SeqCst) != 0 && waits.swap(0, Ordering::SeqCst) != 0 {
            // A bell that is full has been rung and not been heard; another error means that the other side is going.
            let _ = rustix::io::write(&self.other_bell, &1_u64.to_ne_bytes());
        }
    }
}

/// The end that bytes go into.
#[derive(Debug)]
pub struct Writer {
    ring: Ring,
    written: u64,
    /// The reader's count, as it was last looked at.
    read: u64,
}

impl Writer {
    /// A ring for so many bytes, and what the reader's process needs of it.
    ///
    /// # Errors
    /// The operating system refuses memory or descriptors.
    ///
    /// # Panics
    /// If `bytes` is no power of two up to [`RING_BYTES_MAX`].
    pub fn create(bytes: usize) -> Result<(Writer, Files), LineError> {
        assert!(bytes.is_power_of_two() && bytes as u64 <= RING_BYTES_MAX, "a ring of {bytes} bytes");
        let (mapping, memory) = Mapping::create("raidcomm ring", HEAD_BYTES + bytes)?;
        mapping.word(MAGIC_AT).store(MAGIC, Ordering::Relaxed);
        mapping.word(VERSION_AT).store(VERSION, Ordering::Relaxed);
        let bell = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let (data, room) = (bell()?, bell()?);
        let files = Files { memory, data: data.try_clone()?, room: room.try_clone()? };
        let ring = Ring { mapping, capacity: bytes as u64, own_bell: room, other_bell: data };
        Ok((Writer { ring, written: 0, read: 0 }, files))
    }

    /// Copies in as many bytes as there is room for, and says how many. If that is not all, the bell is rung when there is room again.
    ///
    /// # Errors
    /// The reader has broken the protocol.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<usize, Broken> {
        let before = self.written;
        let mut said = false;
        loop {
            let mut room = self.read + self.ring.capacity - self.written;
            if room < bytes.len() as u64 {
                room = self.look()?;
            }
            let now = bytes.len().min(room as usize);
            let (at, straight) = self.ring.place(self.written);
            let (first, rest) = bytes[..now].split_at(now.min(straight));
            self.ring.mapping.write(at, first);
            self.ring.mapping.write(HEAD_BYTES, rest);
            self.written += now as u64;
            bytes = &bytes[now..];
            if bytes.is_empty() || said {
                break;
            }
            // Once more after having said it: the reader may have made room in between.
            self.ring.mapping.word(WRITER_WAITS_AT).store(1, Ordering::SeqCst);
            said = true;
        }
        if said && bytes.is_empty() {
            self.ring.mapping.word(WRITER_WAITS_AT).store(0, Ordering::Relaxed);
        }
        if self.written > before {
            self.ring.mapping.count(WRITTEN_AT).store(self.written, Ordering::SeqCst);
            self.ring.wake(self.ring.mapping.word(READER_WAITS_AT));
        }
        Ok((self.written - before) as usize)
    }

    /// What a hostile writer may do.
    #[cfg(test)]
    pub(crate) fn lie(&mut self) {
        self.ring.mapping.count(WRITTEN_AT).store(u64::MAX, Ordering::SeqCst);
        self.ring.wake(self.ring.mapping.word(READER_WAITS_AT));
    }

    /// Looks how far the reader is, and says how much room there is.
    fn look(&mut self) -> Result<u64, Broken> {
        let read = self.ring.mapping.count(READ_AT).load(Ordering::SeqCst);
        if read < self.read || read > self.written {
            return Err(Broken);
        }
        self.read = read;
        Ok(read + self.ring.capacity - self.written)
    }
}

/// The end that bytes come out of.
#[derive(Debug)]
pub struct Reader {
    ring: Ring,
    read: u64,
}

impl Reader {
    /// The reader's end of what a writer has passed.
    ///
    /// # Errors
    /// It is not the memory of a ring, or could shrink, or a bell could make this side wait.
    pub fn open(files: Files) -> Result<Reader, LineError> {
        let Files { memory, data, room } = files;
        let mapping = Mapping::open(&memory, RING_BYTES_MAX)?;
        let capacity = (mapping.length() - HEAD_BYTES) as u64;
        let magic = mapping.word(MAGIC_AT).load(Ordering::Relaxed);
        if magic != MAGIC || !capacity.is_power_of_two() {
            return Err(LineError::Foreign);
        }
        let found = mapping.word(VERSION_AT).load(Ordering::Relaxed);
        if found != VERSION {
            return Err(LineError::Version { found, expected: VERSION });
        }
        for bell in [&data, &room] {
            if !fcntl_getfl(bell)?.contains(OFlags::NONBLOCK) {
                return Err(LineError::Foreign);
            }
        }
        Ok(Reader { ring: Ring { mapping, capacity, own_bell: data, other_bell: room }, read: 0 })
    }

    /// Moves bytes to the end of `into`, at most so many, and says how many.
    ///
    /// # Errors
    /// The writer has broken the protocol.
    pub fn read(&mut self, into: &mut BytesMut, bytes_max: usize) -> Result<usize, Broken> {
        let count = self.waiting()?.min(bytes_max as u64) as usize;
        if count == 0 {
            return Ok(0);
        }
        into.reserve(count);
        let (at, straight) = self.ring.place(self.read);
        let (first, rest) = into.spare_capacity_mut()[..count].split_at_mut(count.min(straight));
        self.ring.mapping.read(at, first);
        self.ring.mapping.read(HEAD_BYTES, rest);
        let length = into.len() + count;
        // SAFETY: so many bytes are reserved, and were filled.
        unsafe { into.set_len(length) };
        self.read += count as u64;
        self.ring.mapping.count(READ_AT).store(self.read, Ordering::SeqCst);
        let left = self.waiting()?;
        // A writer that waits has much to write: it is not woken for each bit of room.
        if left <= self.ring.capacity / 2 {
            self.ring.wake(self.ring.mapping.word(WRITER_WAITS_AT));
        }
        Ok(count)
    }

    /// How many bytes are there.
    fn waiting(&self) -> Result<u64, Broken> {
        let written = self.ring.mapping.count(WRITTEN_AT).load(Ordering::SeqCst);
        match written.checked_sub(self.read) {
            Some(waiting) if waiting <= self.ring.capacity => Ok(waiting),
            _ => Err(Broken),
        }
    }

    /// Says that this side is going to wait for its bell. `false`: do not, there is something to read (or to find broken).
    pub fn sleep(&self) -> bool {
        let waits = self.ring.mapping.word(READER_WAITS_AT);
        waits.store(1, Ordering::SeqCst);
        let nothing = self.waiting() == Ok(0);
        if !nothing {
            waits.store(0, Ordering::Relaxed);
        }
        nothing
    }

    /// Rings this side's own bell: there is more to read than it wanted to read at once.
    pub fn ring(&self) {
        // As when the other side rings it.
        let _ = rustix::io::write(&self.ring.own_bell, &1_u64.to_ne_bytes());
    }

    /// Says that this side is awake, and need not be rung for.
    pub fn wake(&self) {
        self.ring.mapping.word(READER_WAITS_AT).store(0, Ordering::Relaxed);
    }
}

/// The bell of this end: readable, for an event loop, each time that it was rung.
impl AsFd for Writer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.own_bell.as_fd()
    }
}

/// The bell of this end: readable, for an event loop, each time that it was rung.
impl AsFd for Reader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.own_bell.as_fd()
    }
}

impl AsRawFd for Writer {
    fn as_raw_fd(&self) -> RawFd {
        self.ring.own_bell.as_raw_fd()
    }
}

impl AsRawFd for Reader {
    fn as_raw_fd(&self) -> RawFd {
        self.ring.own_bell.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::thread;

    fn ring(bytes: usize) -> (Writer, Reader) {
        let (writer, files) = Writer::create(bytes).expect("a ring");
        (writer, Reader::open(files).expect("the ring"))
    }

    /// Waits for the bell as an event loop does, and stops it. A bell that is never rung fails the test.
    fn hear(end: &impl AsFd) {
        let patience = Timespec { tv_sec: 20, tv_nsec: 0 };
        let mut polled = [PollFd::new(end, PollFlags::IN)];
        assert_eq!(poll(&mut polled, Some(&patience)), Ok(1), "the bell is rung");
        rustix::io::read(end, &mut [0; 8]).expect("it was rung");
    }

    fn is_rung(end: &impl AsFd) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(end, PollFlags::IN)], Some(&now)) == Ok(1)
    }

    /// If this failed, a site would wait for ever for a frame that is there, or for room that is there.
    #[test]
    fn bytes_come_out_as_they_went_in_while_both_sides_sleep_when_they_can() {
        let (mut writer, mut reader) = ring(4096);
        let bytes: Vec<u8> =
            (0..3_000_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let expected = bytes.clone();
        let writing = thread::spawn(move || {
            let mut rest = &bytes[..];
            let mut size = 1;
            while !rest.is_empty() {
                size = size * 7 % 9_973;
                let mut piece;
                (piece, rest) = rest.split_at(size.min(rest.len()));
                while !piece.is_empty() {
                    let count = writer.write(piece).expect("the reader keeps to the protocol");
                    piece = &piece[count..];
                    if !piece.is_empty() {
                        hear(&writer);
                    }
                }
            }
        });
        let mut read = BytesMut::new();
        let mut size = 1;
        while read.len() < expected.len() {
            size = size * 11 % 9_967;
            if reader.read(&mut read, size).expect("the writer keeps to the protocol") == 0 && reader.sleep() {
                hear(&reader);
                reader.wake();
            }
        }
        writing.join().expect("the writer ends");
        assert!(read == expected, "bytes were lost, doubled or mixed up");
    }

    #[test]
    fn whoever_is_awake_is_not_rung_for() {
        let (mut writer, mut reader) = ring(64);
        let mut read = BytesMut::new();
        assert_eq!(writer.write(&[1; 40]), Ok(40));
        assert!(!is_rung(&reader), "it had not said that it waits");
        assert!(!reader.sleep(), "there is something to read");
        assert_eq!(reader.read(&mut read, 100), Ok(40));
        assert!(!is_rung(&writer), "it had room for all");
        assert!(reader.sleep());
        assert_eq!(writer.write(&[2; 100]), Ok(64));
        assert!(is_rung(&reader));
        assert_eq!(writer.write(&[2; 36]), Ok(0));
        assert_eq!(reader.read(&mut read, 10), Ok(10));
        assert!(!is_rung(&writer), "a little room is not worth it");
        assert_eq!(reader.read(&mut read, 40), Ok(40));
        assert!(is_rung(&writer));
    }

    #[test]
    fn a_hostile_side_is_found_out() {
        for wrong in [1, 65, u64::MAX] {
            let (mut writer, reader) = ring(64);
            reader.ring.mapping.count(READ_AT).store(wrong, Ordering::SeqCst);
            assert_eq!(writer.write(&[1; 65]), Err(Broken), "read {wrong} of nothing");
            let (writer, mut reader) = ring(64);
            writer.ring.mapping.count(WRITTEN_AT).store(wrong, Ordering::SeqCst);
            let read = reader.read(&mut BytesMut::new(), 100);
            assert_eq!(read, if wrong <= 64 { Ok(wrong as usize) } else { Err(Broken) }, "wrote {wrong}");
        }
        let (mut writer, mut reader) = ring(64);
        writer.write(&[1; 64]).expect("the reader has done nothing");
        reader.read(&mut BytesMut::new(), 64).expect("the writer keeps to the protocol");
        writer.write(&[1; 64]).expect("the reader keeps to the protocol");
        reader.ring.mapping.count(READ_AT).store(63, Ordering::SeqCst);
        assert_eq!(writer.write(&[1; 64]), Err(Broken), "the reader's count went back");
        writer.ring.mapping.count(WRITTEN_AT).store(63, Ordering::SeqCst);
        assert_eq!(reader.read(&mut BytesMut::new(), 64), Err(Broken), "the writer's count went back");
        assert!(!reader.sleep(), "who cannot trust the ring must not wait for it");
    }

    #[test]
    fn what_is_no_ring_is_refused() {
        let files = |change: &dyn Fn(&mut Files)| {
            let (_, mut files) = Writer::create(64).expect("a ring");
            change(&mut files);
            Reader::open(files).map(drop)
        };
        let socket = || OwnedFd::from(std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket"));
        assert!(files(&|_| ()).is_ok());
        assert!(matches!(files(&|files| files.memory = socket()), Err(LineError::NotSealed)));
        let blocking = "writing to it could block";
        assert!(matches!(files(&|files| files.room = socket()), Err(LineError::Foreign)), "{blocking}");
        assert!(matches!(files(&|files| files.data = socket()), Err(LineError::Foreign)), "{blocking}");
        for odd in [0, 1, 63, 100] {
            let (_, memory) = Mapping::create("odd", HEAD_BYTES + odd).expect("memory");
            let slot = std::cell::Cell::new(Some(memory));
            let opened = files(&|files| files.memory = slot.take().expect("once"));
            assert!(matches!(opened, Err(LineError::Foreign)), "{odd} bytes of zeros are no ring");
        }
    }

    proptest! {
        /// If this failed, frames would be damaged where the ring begins anew.
        #[test]
        fn any_sequence_of_writes_and_reads_keeps_the_bytes(steps in prop::collection::vec((0usize..200, 0usize..200), 1..50)) {
            let (mut writer, mut reader) = ring(128);
            let (mut next, mut read) = (0_u8, BytesMut::new());
            for (to_write, to_read) in steps {
                let bytes: Vec<u8> = (0..to_write).map(|offset| next.wrapping_add(offset as u8)).collect();
                let count = writer.write(&bytes).expect("the reader keeps to the protocol");
                next = next.wrapping_add(count as u8);
                reader.read(&mut read, to_read).expect("the writer keeps to the protocol");
            }
            reader.read(&mut read, 200).expect("the writer keeps to the protocol");
            prop_assert!(read.iter().enumerate().all(|(place, &byte)| byte == place as u8));
            prop_assert_eq!(read.len() as u8, next);
        }
    }
}
