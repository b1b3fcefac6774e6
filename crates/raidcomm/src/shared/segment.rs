//! A segment: the memory of one line, and the states of its slots.
//!
//! Invariant: no reference to the bytes of a slot ever exists, only copies in and out through a pointer; words are atomic. So the other side may
//! write what it wants at any time: this side sees wrong bytes at worst.

use super::greeting::{LineError, Shape};
use super::waiting;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

const MAGIC: u32 = u32::from_le_bytes(*b"RAID");
const VERSION: u32 = 1;
/// Bytes before the first slot.
const HEAD_BYTES: usize = 4096;
/// Words that different sides write lie in different cache lines.
const LINE_BYTES: usize = 64;
/// Where the words of a segment lie: magic, version and shape; then what was posted to each side, and how each side waits.
const MAGIC_AT: usize = 0;
const VERSION_AT: usize = 4;
const SLOTS_AT: usize = 8;
const SLOT_BYTES_AT: usize = 12;
const POSTED_AT: [usize; 2] = [LINE_BYTES, 2 * LINE_BYTES];
const WAITING_AT: [usize; 2] = [3 * LINE_BYTES, 4 * LINE_BYTES];
/// Where the words of a slot lie, from its start; its bytes come behind them.
const STATE_AT: usize = 0;
const LENGTH_AT: usize = 4;

/// Set among the posted bits to wake a side whose peer is gone; no slot has it.
const NOBODY: u32 = 1 << 31;

/// One of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

impl Side {
    pub(super) const fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

/// Whose a slot is, and what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The client's; nothing is in it.
    Free = 0,
    /// A request, which the server may take and the client may take back.
    Requested = 1,
    /// The server's: it executes the request.
    Serving = 2,
    /// The client's: the reply.
    Replied = 3,
}

/// A slot's state: its phase, and how often it was used, so that no state is mistaken for one of an earlier call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(u32);

impl State {
    pub(super) fn phase(self) -> Phase {
        match self.0 & 3 {
            0 => Phase::Free,
            1 => Phase::Requested,
            2 => Phase::Serving,
            _ => Phase::Replied,
        }
    }

    /// The same use, in another phase.
    pub(super) fn to(self, phase: Phase) -> State {
        State(self.0 & !3 | phase as u32)
    }

    /// Free, for the next use.
    pub(super) fn next(self) -> State {
        State((self.0 & !3).wrapping_add(4))
    }
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct Segment {
    start: NonNull<u8>,
    length: usize,
    shape: Shape,
}

// SAFETY: the mapping is an owned piece of address space, not tied to a thread; all access is by atomic words, or by copies to and from
// slots, which the slot's state allows to one side, that is one `&mut` end, at a time.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// A new one, and the file by which another process maps it.
    pub(super) fn create(shape: Shape) -> Result<(Segment, OwnedFd), LineError> {
        shape.check()?;
        let file = memfd_create("raidcomm line", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, length_of(shape) as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let segment = Segment::map(&file, length_of(shape), shape)?;
        segment.word(MAGIC_AT).store(MAGIC, Ordering::Relaxed);
        segment.word(VERSION_AT).store(VERSION, Ordering::Relaxed);
        segment.word(SLOTS_AT).store(shape.slots, Ordering::Relaxed);
        segment.word(SLOT_BYTES_AT).store(shape.slot_bytes, Ordering::Release);
        Ok((segment, file))
    }

    /// One that the other side has made. Errors: it is not one, or could shrink below what is mapped of it, which would end this
    /// process by a signal.
    pub(super) fn open(file: &OwnedFd) -> Result<Segment, LineError> {
        if !fcntl_get_seals(file)?.contains(SealFlags::SHRINK | SealFlags::GROW) {
            return Err(LineError::NotSealed);
        }
        let length = fstat(file)?.st_size.unsigned_abs() as usize;
        if length < HEAD_BYTES {
            return Err(LineError::Foreign);
        }
        let head = Segment::map(file, HEAD_BYTES, Shape { slots: 0, slot_bytes: 0 })?;
        let read = |at| head.word(at).load(Ordering::Acquire);
        if read(MAGIC_AT) != MAGIC {
            return Err(LineError::Foreign);
        }
        if read(VERSION_AT) != VERSION {
            return Err(LineError::Version { found: read(VERSION_AT), expected: VERSION });
        }
        let shape = Shape { slots: read(SLOTS_AT), slot_bytes: read(SLOT_BYTES_AT) };
        shape.check()?;
        if length != length_of(shape) {
            return Err(LineError::Foreign);
        }
        Segment::map(file, length, shape)
    }

    fn map(file: &OwnedFd, length: usize, shape: Shape) -> Result<Segment, LineError> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: the kernel chooses a free place for the new mapping, so no memory in use is replaced.
        let start =
            unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, flags, file.as_fd(), 0) }?;
        let start = NonNull::new(start.cast()).ok_or(LineError::Foreign)?;
        Ok(Segment { start, length, shape })
    }

    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        assert!(
            at.is_multiple_of(align_of::<AtomicU32>()) && at + size_of::<AtomicU32>() <= self.length,
            "word at {at}"
        );
        // SAFETY: the word lies within the mapping, which lives as long as `self`, and is aligned, since a mapping starts on a page; nobody
        // in this process accesses these bytes but as this atomic word.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    fn slot(&self, slot: u32) -> usize {
        assert!(slot < self.shape.slots, "slot {slot} of {}", self.shape.slots);
        HEAD_BYTES + slot as usize * stride(self.shape)
    }

    /// The slots that were posted to this side and that it waits on.
    pub(super) fn posted(&self, to: Side) -> &AtomicU32 {
        self.word(POSTED_AT[to as usize])
    }

    /// How a side waits; see [`waiting`].
    pub(super) fn waiting(&self, side: Side) -> &AtomicU32 {
        self.word(WAITING_AT[side as usize])
    }

    /// Tells a side of a slot, and wakes it if it sleeps.
    pub(super) fn post(&self, to: Side, slot: u32) {
        // In one order with what a side does before it sleeps: it says that it will, and looks once more.
        self.posted(to).fetch_or(1 << slot, Ordering::SeqCst);
        waiting::wake_sleeper(self, to);
    }

    /// Wakes a side of this process whose peer is gone.
    pub(super) fn post_nobody(&self, to: Side) {
        self.posted(to).fetch_or(NOBODY, Ordering::SeqCst);
        waiting::wake_sleeper(self, to);
    }

    /// What was posted to this side since the last call; only slots that there are.
    pub(super) fn take_posted(&self, to: Side) -> u32 {
        let posted = self.posted(to);
        // Most calls find nothing: they leave the line shared.
        if posted.load(Ordering::Acquire) == 0 {
            return 0;
        }
        posted.swap(0, Ordering::Acquire) & (u32::MAX >> (32 - self.shape.slots))
    }

    pub(super) fn state(&self, slot: u32) -> State {
        State(self.word(self.slot(slot) + STATE_AT).load(Ordering::Acquire))
    }

    /// Moves a slot on, if it is still as it was seen. What was written to it before is seen by who sees the new state.
    pub(super) fn advance(&self, slot: u32, from: State, to: State) -> bool {
        let word = self.word(self.slot(slot) + STATE_AT);
        word.compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// What a hostile side may write.
    #[cfg(test)]
    pub(super) fn lie_about_length(&self, slot: u32, length: u32) {
        self.word(self.slot(slot) + LENGTH_AT).store(length, Ordering::Relaxed);
    }

    /// Puts bytes into a slot of this side. They fit: the caller has looked.
    pub(super) fn write(&self, slot: u32, bytes: &[u8]) {
        assert!(bytes.len() <= self.shape.slot_bytes as usize, "{} bytes for a slot", bytes.len());
        let at = self.slot(slot);
        // SAFETY: the target lies within the mapping: `slot` is one of its slots and the bytes fit into it. `bytes` is a Rust slice and no
        // reference into the mapping exists, so the two do not overlap.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr().add(at + LINE_BYTES), bytes.len()) }
        self.word(at + LENGTH_AT).store(bytes.len() as u32, Ordering::Relaxed);
    }

    /// Takes the bytes out of a slot of this side. `None`: the length is not one.
    pub(super) fn read(&self, slot: u32, into: &mut Vec<u8>) -> Option<()> {
        let at = self.slot(slot);
        // Looked at once: the other side may change it.
        let length = self.word(at + LENGTH_AT).load(Ordering::Relaxed);
        if length > self.shape.slot_bytes {
            return None;
        }
        into.clear();
        into.reserve(length as usize);
        // SAFETY: the source lies within the mapping, as checked; the target is the vector's own room, reserved above, and becomes part
        // of it only once it is filled. A peer that breaks the protocol may write to the source meanwhile: it is outside of this program,
        // and makes the copied bytes wrong at worst.
        unsafe {
            ptr::copy_nonoverlapping(self.start.as_ptr().add(at + LINE_BYTES), into.as_mut_ptr(), length as usize);
            into.set_len(length as usize);
        }
        Some(())
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `map` made; nothing borrowed from it outlives `self`. It cannot fail for a whole mapping.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

fn stride(shape: Shape) -> usize {
    LINE_BYTES + (shape.slot_bytes as usize).next_multiple_of(LINE_BYTES)
}

fn length_of(shape: Shape) -> usize {
    HEAD_BYTES + shape.slots as usize * stride(shape)
}
