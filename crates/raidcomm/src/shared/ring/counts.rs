//! The two counts of a ring, and who is to be rung for.
//!
//! Invariants: read <= written <= read + capacity; the inlet alone writes the bytes between written and read + capacity, the outlet alone reads those
//! between read and written. Each side goes by its own count, and by a copy of the other's that it has checked: a count that breaks the
//! inequality is an error. A side that waits has said so and then looked at the other's count; the other has stored its count and then looks
//! whether it waits. Both are sequentially consistent, so one of them sees the other.

use super::Broken;
use crate::shared::mapping::{HEAD_BYTES, LINE_BYTES};
use crate::shared::place::{SharedCount, SharedPlace, Word};
use bytes::BytesMut;
use std::sync::atomic::Ordering;

/// Where the words lie: the writer's count and whether it waits; the reader's count and whether it waits.
pub(in crate::shared) const WRITTEN_AT: usize = LINE_BYTES;
pub(in crate::shared) const READ_AT: usize = 2 * LINE_BYTES;
pub(in crate::shared) const WRITER_WAITS_AT: usize = 3 * LINE_BYTES;
pub(in crate::shared) const READER_WAITS_AT: usize = 4 * LINE_BYTES;

/// Bytes that were moved, and whether the other side is to be rung for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::shared) struct MovedBytes {
    pub bytes: usize,
    pub ring: bool,
}

/// What both sides have.
#[derive(Debug)]
struct RingCounts<P> {
    place: P,
    /// Bytes, a power of two.
    capacity: u64,
}

impl<P: SharedPlace> RingCounts<P> {
    fn new(place: P) -> RingCounts<P> {
        let capacity = (place.length() - HEAD_BYTES) as u64;
        assert!(capacity.is_power_of_two(), "a ring of {capacity} bytes");
        RingCounts { place, capacity }
    }

    /// Where a byte lies, counted from the first one ever written, and how many lie behind it before the end of the memory.
    fn lies(&self, count: u64) -> (usize, usize) {
        let offset = count & (self.capacity - 1);
        (HEAD_BYTES + offset as usize, (self.capacity - offset) as usize)
    }

    /// Whether the other side has said that it waits; if so, that is taken back, and it is to be rung for.
    fn take_waiting(&self, at: usize) -> bool {
        let waits = self.place.word(at);
        // Before that, this side's count was stored, in one order with what the other side does: say that it waits, then look at the count.
        waits.load(Ordering::SeqCst) != 0 && waits.swap(0, Ordering::SeqCst) != 0
    }
}

/// Where bytes go in.
#[derive(Debug)]
pub(in crate::shared) struct Inlet<P> {
    ring: RingCounts<P>,
    written: u64,
    /// The reader's count, as it was last looked at.
    read: u64,
}

impl<P: SharedPlace> Inlet<P> {
    pub(in crate::shared) fn new(place: P) -> Inlet<P> {
        Inlet { ring: RingCounts::new(place), written: 0, read: 0 }
    }

    #[cfg(test)]
    pub(super) fn place(&self) -> &P {
        &self.ring.place
    }

    /// Copies in as many bytes as there is room for. If that is not all, the writer is rung for when there is room again.
    pub(in crate::shared) fn write(&mut self, mut bytes: &[u8]) -> Result<MovedBytes, Broken> {
        let before = self.written;
        let waits = self.ring.place.word(WRITER_WAITS_AT);
        let mut said = false;
        loop {
            let mut room = self.read + self.ring.capacity - self.written;
            if room < bytes.len() as u64 {
                self.read = self.look()?;
                room = self.read + self.ring.capacity - self.written;
            }
            let now = bytes.len().min(room as usize);
            let (at, straight) = self.ring.lies(self.written);
            let (first, rest) = bytes[..now].split_at(now.min(straight));
            self.ring.place.write(at, first);
            self.ring.place.write(HEAD_BYTES, rest);
            self.written += now as u64;
            bytes = &bytes[now..];
            if bytes.is_empty() || said {
                break;
            }
            // Once more after having said it: the reader may have made room in between.
            waits.store(1, Ordering::SeqCst);
            said = true;
        }
        if said && bytes.is_empty() {
            waits.store(0, Ordering::Relaxed);
        }
        let moved = (self.written - before) as usize;
        if moved == 0 {
            return Ok(MovedBytes { bytes: 0, ring: false });
        }
        self.ring.place.count(WRITTEN_AT).store(self.written, Ordering::SeqCst);
        Ok(MovedBytes { bytes: moved, ring: self.ring.take_waiting(READER_WAITS_AT) })
    }

    /// How far the reader is.
    fn look(&self) -> Result<u64, Broken> {
        let read = self.ring.place.count(READ_AT).load(Ordering::SeqCst);
        if (self.read..=self.written).contains(&read) { Ok(read) } else { Err(Broken) }
    }
}

/// Where bytes come out.
#[derive(Debug)]
pub(in crate::shared) struct Outlet<P> {
    ring: RingCounts<P>,
    read: u64,
}

impl<P: SharedPlace> Outlet<P> {
    pub(in crate::shared) fn new(place: P) -> Outlet<P> {
        Outlet { ring: RingCounts::new(place), read: 0 }
    }

    #[cfg(test)]
    pub(super) fn place(&self) -> &P {
        &self.ring.place
    }

    /// Moves bytes to the end of `into`, at most so many.
    pub(in crate::shared) fn read(&mut self, into: &mut BytesMut, bytes_max: usize) -> Result<MovedBytes, Broken> {
        let count = self.waiting()?.min(bytes_max as u64) as usize;
        if count == 0 {
            return Ok(MovedBytes { bytes: 0, ring: false });
        }
        into.reserve(count);
        let (at, straight) = self.ring.lies(self.read);
        let (first, rest) = into.spare_capacity_mut()[..count].split_at_mut(count.min(straight));
        self.ring.place.read(at, first);
        self.ring.place.read(HEAD_BYTES, rest);
        let length = into.len() + count;
        // SAFETY: so many bytes are reserved, and were filled.
        unsafe { into.set_len(length) };
        self.read += count as u64;
        self.ring.place.count(READ_AT).store(self.read, Ordering::SeqCst);
        // A writer that waits has much to write: it is not woken for each bit of room.
        let roomy = self.waiting()? <= self.ring.capacity / 2;
        Ok(MovedBytes { bytes: count, ring: roomy && self.ring.take_waiting(WRITER_WAITS_AT) })
    }

    /// How many bytes are there.
    fn waiting(&self) -> Result<u64, Broken> {
        let written = self.ring.place.count(WRITTEN_AT).load(Ordering::SeqCst);
        match written.checked_sub(self.read) {
            Some(waiting) if waiting <= self.ring.capacity => Ok(waiting),
            _ => Err(Broken),
        }
    }

    /// Says that this side is going to wait. `false`: do not, there is something to read (or to find broken).
    pub(in crate::shared) fn sleep(&self) -> bool {
        let waits = self.ring.place.word(READER_WAITS_AT);
        waits.store(1, Ordering::SeqCst);
        let nothing = self.waiting() == Ok(0);
        if !nothing {
            waits.store(0, Ordering::Relaxed);
        }
        nothing
    }

    /// Says that this side is awake.
    pub(in crate::shared) fn wake(&self) {
        self.ring.place.word(READER_WAITS_AT).store(0, Ordering::Relaxed);
    }
}
