//! A ring: bytes from one process to another of the same host, in order, like a pipe, but with no system call while both are awake.
//!
//! The writer copies bytes in and says how many it has written in all; the reader copies them out and says how many it has read. A side that
//! is going to wait says so first, and then looks once more; the other side rings its bell (eventfd(2)), which an event loop waits for beside
//! its sockets. Whoever is awake is not rung for. That the other side is gone must be told by another channel, which the owner keeps.
//!
//! What each side may do with the bytes, and when a bell is rung, is in `counts`.

pub(super) mod counts;

use super::mapping::{HEAD_BYTES, SharedMapping};
use super::place::SharedPlace;
use super::shape::LineError;
use crate::limits::RING_BYTES_MAX;
use bytes::BytesMut;
pub(super) use counts::{Inlet, MovedBytes, Outlet};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::fs::{OFlags, fcntl_getfl};
use std::sync::atomic::Ordering;
use thiserror::Error;

const MAGIC: u32 = u32::from_le_bytes(*b"RING");
const VERSION: u32 = 1;
/// Where the words lie that say what the ring is.
const MAGIC_AT: usize = 0;
const VERSION_AT: usize = 4;

/// The other side has broken the protocol: no byte of the ring can be trusted. Close it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the other side of a ring of shared memory has written what it may not")]
pub struct Broken;

/// What the writer passes to the reader's process.
#[derive(Debug)]
pub struct RingFiles {
    /// The memory.
    pub memory: OwnedFd,
    /// The reader's bell.
    pub data: OwnedFd,
    /// The writer's bell.
    pub room: OwnedFd,
}

/// How a side hears, and how it rings.
#[derive(Debug)]
struct Bells {
    /// Rung by the other side.
    own: OwnedFd,
    /// Rung by this side.
    other: OwnedFd,
}

impl Bells {
    /// Rings for the other side if that is needed.
    fn tell(&self, moved: MovedBytes) -> usize {
        if moved.ring {
            ring(&self.other);
        }
        moved.bytes
    }
}

fn ring(bell: &OwnedFd) {
    // A bell that is full has been rung and not been heard; another error means that the other side is going.
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
}

/// The end that bytes go into.
#[derive(Debug)]
pub struct RingWriter {
    inlet: Inlet<SharedMapping>,
    bells: Bells,
}

impl RingWriter {
    /// A ring for so many bytes, and what the reader's process needs of it.
    ///
    /// # Errors
    /// The operating system refuses memory or descriptors.
    ///
    /// # Panics
    /// If `bytes` is no power of two up to [`RING_BYTES_MAX`].
    pub fn create(bytes: usize) -> Result<(RingWriter, RingFiles), LineError> {
        assert!(bytes.is_power_of_two() && bytes as u64 <= RING_BYTES_MAX, "a ring of {bytes} bytes");
        let (mapping, memory) = SharedMapping::create("raidcomm ring", HEAD_BYTES + bytes)?;
        mapping.word(MAGIC_AT).store(MAGIC, Ordering::Relaxed);
        mapping.word(VERSION_AT).store(VERSION, Ordering::Relaxed);
        let bell = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let (data, room) = (bell()?, bell()?);
        let files = RingFiles { memory, data: data.try_clone()?, room: room.try_clone()? };
        Ok((RingWriter { inlet: Inlet::new(mapping), bells: Bells { own: room, other: data } }, files))
    }

    /// Copies in as many bytes as there is room for, and says how many. If that is not all, the bell is rung when there is room again.
    ///
    /// # Errors
    /// The reader has broken the protocol.
    pub fn write(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        let moved = self.inlet.write(bytes)?;
        Ok(self.bells.tell(moved))
    }

    /// What a hostile writer may do.
    #[cfg(test)]
    pub(crate) fn lie(&mut self) {
        self.inlet.place().count(counts::WRITTEN_AT).store(u64::MAX, Ordering::SeqCst);
        ring(&self.bells.other);
    }
}

/// The end that bytes come out of.
#[derive(Debug)]
pub struct RingReader {
    outlet: Outlet<SharedMapping>,
    bells: Bells,
}

impl RingReader {
    /// The reader's end of what a writer has passed.
    ///
    /// # Errors
    /// It is not the memory of a ring, or could shrink, or a bell could make this side wait.
    pub fn open(files: RingFiles) -> Result<RingReader, LineError> {
        let RingFiles { memory, data, room } = files;
        let mapping = SharedMapping::open(&memory, RING_BYTES_MAX)?;
        let capacity = mapping.length() - HEAD_BYTES;
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
        Ok(RingReader { outlet: Outlet::new(mapping), bells: Bells { own: data, other: room } })
    }

    /// Moves bytes to the end of `into`, at most so many, and says how many.
    ///
    /// # Errors
    /// The writer has broken the protocol.
    pub fn read(&mut self, into: &mut BytesMut, bytes_max: usize) -> Result<usize, Broken> {
        let moved = self.outlet.read(into, bytes_max)?;
        Ok(self.bells.tell(moved))
    }

    /// Says that this side is going to wait for its bell. `false`: do not, there is something to read (or to find broken).
    pub fn sleep(&self) -> bool {
        self.outlet.sleep()
    }

    /// Rings this side's own bell: there is more to read than it wanted to read at once.
    pub fn ring(&self) {
        ring(&self.bells.own);
    }

    /// Says that this side is awake, and need not be rung for.
    pub fn wake(&self) {
        self.outlet.wake();
    }
}

/// The bell of this end: readable, for an event loop, each time that it was rung.
impl AsFd for RingWriter {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bells.own.as_fd()
    }
}

/// The bell of this end: readable, for an event loop, each time that it was rung.
impl AsFd for RingReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bells.own.as_fd()
    }
}

impl AsRawFd for RingWriter {
    fn as_raw_fd(&self) -> RawFd {
        self.bells.own.as_raw_fd()
    }
}

impl AsRawFd for RingReader {
    fn as_raw_fd(&self) -> RawFd {
        self.bells.own.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::thread;

    fn ring(bytes: usize) -> (RingWriter, RingReader) {
        let (writer, files) = RingWriter::create(bytes).expect("a ring");
        (writer, RingReader::open(files).expect("the ring"))
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
            reader.outlet.place().count(counts::READ_AT).store(wrong, Ordering::SeqCst);
            assert_eq!(writer.write(&[1; 65]), Err(Broken), "read {wrong} of nothing");
            let (writer, mut reader) = ring(64);
            writer.inlet.place().count(counts::WRITTEN_AT).store(wrong, Ordering::SeqCst);
            let read = reader.read(&mut BytesMut::new(), 100);
            assert_eq!(read, if wrong <= 64 { Ok(wrong as usize) } else { Err(Broken) }, "wrote {wrong}");
        }
        let (mut writer, mut reader) = ring(64);
        writer.write(&[1; 64]).expect("the reader has done nothing");
        reader.read(&mut BytesMut::new(), 64).expect("the writer keeps to the protocol");
        writer.write(&[1; 64]).expect("the reader keeps to the protocol");
        reader.outlet.place().count(counts::READ_AT).store(63, Ordering::SeqCst);
        assert_eq!(writer.write(&[1; 64]), Err(Broken), "the reader's count went back");
        writer.inlet.place().count(counts::WRITTEN_AT).store(63, Ordering::SeqCst);
        assert_eq!(reader.read(&mut BytesMut::new(), 64), Err(Broken), "the writer's count went back");
        assert!(!reader.sleep(), "who cannot trust the ring must not wait for it");
    }

    #[test]
    fn what_is_no_ring_is_refused() {
        let files = |change: &dyn Fn(&mut RingFiles)| {
            let (_, mut files) = RingWriter::create(64).expect("a ring");
            change(&mut files);
            RingReader::open(files).map(drop)
        };
        let socket = || OwnedFd::from(std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket"));
        assert!(files(&|_| ()).is_ok());
        assert!(matches!(files(&|files| files.memory = socket()), Err(LineError::NotSealed)));
        let blocking = "writing to it could block";
        assert!(matches!(files(&|files| files.room = socket()), Err(LineError::Foreign)), "{blocking}");
        assert!(matches!(files(&|files| files.data = socket()), Err(LineError::Foreign)), "{blocking}");
        for odd in [0, 1, 63, 100] {
            let (_, memory) = SharedMapping::create("odd", HEAD_BYTES + odd).expect("memory");
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
