//! A segment: the memory of one line, and the states of its slots.
//!
//! Invariant: a slot's bytes are copied in and out by the side whose the slot is, told by its state; the other side is not trusted to keep to it.

use super::mapping::{HEAD_BYTES, LINE_BYTES, SharedMapping};
use super::place::{SharedPlace, Word};
use super::shape::{LineError, Shape};
use super::waiting;
use crate::limits::{LINE_BYTES_MAX, SLOTS_MAX};
use rustix::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

const MAGIC: u32 = u32::from_le_bytes(*b"RAID");
const VERSION: u32 = 1;
/// Where the words of a segment lie: magic, version and shape; then what was posted to each side, and how each side waits.
const MAGIC_AT: usize = 0;
const VERSION_AT: usize = 4;
const SLOTS_AT: usize = 8;
const SLOT_BYTES_AT: usize = 12;
pub(super) const POSTED_AT: [usize; 2] = [LINE_BYTES, 2 * LINE_BYTES];
pub(super) const WAITING_AT: [usize; 2] = [3 * LINE_BYTES, 4 * LINE_BYTES];
/// Where the words of a slot lie, from its start; its bytes come behind them.
pub(super) const STATE_AT: usize = 0;
pub(super) const LENGTH_AT: usize = 4;

/// Set among the posted bits to wake a side whose peer is gone; no slot has it.
const NOBODY: u32 = 1 << 31;

/// One of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineSide {
    Client,
    Server,
}

impl LineSide {
    pub(super) const fn other(self) -> LineSide {
        match self {
            LineSide::Client => LineSide::Server,
            LineSide::Server => LineSide::Client,
        }
    }
}

/// Whose a slot is, and what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotPhase {
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
pub(super) struct SlotState(u32);

impl SlotState {
    pub(super) fn phase(self) -> SlotPhase {
        match self.0 & 3 {
            0 => SlotPhase::Free,
            1 => SlotPhase::Requested,
            2 => SlotPhase::Serving,
            _ => SlotPhase::Replied,
        }
    }

    /// The same use, in another phase.
    pub(super) fn to(self, phase: SlotPhase) -> SlotState {
        SlotState(self.0 & !3 | phase as u32)
    }

    /// Free, for the next use.
    pub(super) fn next(self) -> SlotState {
        SlotState((self.0 & !3).wrapping_add(4))
    }
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct LineSegment<P = SharedMapping> {
    place: P,
    shape: Shape,
}

impl LineSegment {
    /// A new one, and the file by which another process maps it.
    pub(super) fn create(shape: Shape) -> Result<(LineSegment, OwnedFd), LineError> {
        shape.check()?;
        let (mapping, file) = SharedMapping::create("raidcomm line", length_of(shape))?;
        mapping.word(MAGIC_AT).store(MAGIC, Ordering::Relaxed);
        mapping.word(VERSION_AT).store(VERSION, Ordering::Relaxed);
        mapping.word(SLOTS_AT).store(shape.slots, Ordering::Relaxed);
        mapping.word(SLOT_BYTES_AT).store(shape.slot_bytes, Ordering::Release);
        Ok((LineSegment { place: mapping, shape }, file))
    }

    /// One that the other side has made. Errors: it is not one.
    pub(super) fn open(file: &OwnedFd) -> Result<LineSegment, LineError> {
        let contents_max = LINE_BYTES_MAX + u64::from(SLOTS_MAX) * 2 * LINE_BYTES as u64;
        let mapping = SharedMapping::open(file, contents_max)?;
        let read = |at| mapping.word(at).load(Ordering::Acquire);
        if read(MAGIC_AT) != MAGIC {
            return Err(LineError::Foreign);
        }
        if read(VERSION_AT) != VERSION {
            return Err(LineError::Version { found: read(VERSION_AT), expected: VERSION });
        }
        let shape = Shape { slots: read(SLOTS_AT), slot_bytes: read(SLOT_BYTES_AT) };
        shape.check()?;
        if mapping.length() != length_of(shape) {
            return Err(LineError::Foreign);
        }
        Ok(LineSegment { place: mapping, shape })
    }
}

impl<P: SharedPlace> LineSegment<P> {
    /// One in the memory of a model.
    #[cfg(test)]
    pub(super) fn of(place: P, shape: Shape) -> LineSegment<P> {
        LineSegment { place, shape }
    }

    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    fn slot(&self, slot: u32) -> usize {
        assert!(slot < self.shape.slots, "slot {slot} of {}", self.shape.slots);
        HEAD_BYTES + slot as usize * stride(self.shape)
    }

    /// The slots that were posted to this side and that it waits on.
    pub(super) fn posted(&self, to: LineSide) -> &P::Word {
        self.place.word(POSTED_AT[to as usize])
    }

    /// Sleeps until something is posted to this side, for the time at most; perhaps shorter.
    pub(super) fn sleep(&self, side: LineSide, time: Option<Duration>) {
        self.place.sleep(POSTED_AT[side as usize], time);
    }

    /// Wakes a side that sleeps.
    pub(super) fn wake(&self, side: LineSide) {
        self.place.wake(POSTED_AT[side as usize]);
    }

    /// How a side waits; see [`waiting`].
    pub(super) fn waiting(&self, side: LineSide) -> &P::Word {
        self.place.word(WAITING_AT[side as usize])
    }

    /// Tells a side of a slot, and wakes it if it sleeps.
    pub(super) fn post(&self, to: LineSide, slot: u32) {
        // In one order with what a side does before it sleeps: it says that it will, and looks once more.
        self.posted(to).fetch_or(1 << slot, Ordering::SeqCst);
        waiting::wake_sleeper(self, to);
    }

    /// Wakes a side of this process whose peer is gone.
    pub(super) fn post_nobody(&self, to: LineSide) {
        self.posted(to).fetch_or(NOBODY, Ordering::SeqCst);
        waiting::wake_sleeper(self, to);
    }

    /// What was posted to this side since the last call; only slots that there are.
    pub(super) fn take_posted(&self, to: LineSide) -> u32 {
        let posted = self.posted(to);
        // Most calls find nothing: they leave the line shared.
        if posted.load(Ordering::Acquire) == 0 {
            return 0;
        }
        posted.swap(0, Ordering::Acquire) & (u32::MAX >> (32 - self.shape.slots))
    }

    pub(super) fn state(&self, slot: u32) -> SlotState {
        SlotState(self.place.word(self.slot(slot) + STATE_AT).load(Ordering::Acquire))
    }

    /// Moves a slot on, if it is still as it was seen. What was written to it before is seen by who sees the new state.
    pub(super) fn advance(&self, slot: u32, from: SlotState, to: SlotState) -> bool {
        self.place.word(self.slot(slot) + STATE_AT).replace(from.0, to.0, Ordering::AcqRel)
    }

    /// What a hostile side may write.
    #[cfg(test)]
    pub(super) fn lie_about_length(&self, slot: u32, length: u32) {
        self.place.word(self.slot(slot) + LENGTH_AT).store(length, Ordering::Relaxed);
    }

    /// Puts bytes into a slot of this side. They fit: the caller has looked.
    pub(super) fn write(&self, slot: u32, bytes: &[u8]) {
        assert!(bytes.len() <= self.shape.slot_bytes as usize, "{} bytes for a slot", bytes.len());
        let at = self.slot(slot);
        self.place.write(at + LINE_BYTES, bytes);
        self.place.word(at + LENGTH_AT).store(bytes.len() as u32, Ordering::Relaxed);
    }

    /// Takes the bytes out of a slot of this side. `None`: the length is not one.
    pub(super) fn read(&self, slot: u32, into: &mut Vec<u8>) -> Option<()> {
        let at = self.slot(slot);
        // Looked at once: the other side may change it.
        let length = self.place.word(at + LENGTH_AT).load(Ordering::Relaxed);
        if length > self.shape.slot_bytes {
            return None;
        }
        into.clear();
        into.reserve(length as usize);
        self.place.read(at + LINE_BYTES, &mut into.spare_capacity_mut()[..length as usize]);
        // SAFETY: so many bytes are reserved, and were filled.
        unsafe { into.set_len(length as usize) };
        Some(())
    }
}

fn stride(shape: Shape) -> usize {
    LINE_BYTES + (shape.slot_bytes as usize).next_multiple_of(LINE_BYTES)
}

fn length_of(shape: Shape) -> usize {
    HEAD_BYTES + shape.slots as usize * stride(shape)
}
