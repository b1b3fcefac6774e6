//! What the targets share: an input read as a script, and memory that a hostile process passes.
//!
//! `cargo +nightly fuzz run TARGET` in the root of the repository; the targets are in `fuzz_targets`. Invariant of all of them: whatever the input,
//! nothing panics, no memory is touched that is not ours, and what is refused is refused by an error.

use raidcomm::shared::ring::RingFiles;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::pwrite;

/// Bytes before what a ring or a line carries.
pub const HEAD_BYTES: usize = 4096;
/// Where the words of a ring and of a line are: each has a line of the cache.
pub const LINE_BYTES: usize = 64;

/// An input, read from its start. What is not there is zeros.
pub struct Script<'a>(pub &'a [u8]);

impl<'a> Script<'a> {
    /// Whether there is more.
    pub fn goes_on(&self) -> bool {
        !self.0.is_empty()
    }

    /// So many bytes.
    pub fn array<const COUNT: usize>(&mut self) -> [u8; COUNT] {
        let mut bytes = [0; COUNT];
        let count = COUNT.min(self.0.len());
        bytes[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        bytes
    }

    /// A byte.
    pub fn byte(&mut self) -> u8 {
        u8::from_le_bytes(self.array())
    }

    /// A number of two bytes.
    pub fn short(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// A number of four bytes.
    pub fn word(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// A number of eight bytes.
    pub fn count(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// At most so many bytes, fewer at the end.
    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.byte()) % choices.len()]
    }
}

/// Memory of so many bytes that nobody can shorten, all zeros.
pub fn sealed(bytes: usize) -> OwnedFd {
    let memory = memfd_create("hostile", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).expect("memory");
    ftruncate(&memory, bytes as u64).expect("its length");
    fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW).expect("seals");
    memory
}

/// What a hostile process does with memory that both have. Where there is none, nothing.
pub fn put(memory: impl AsFd, at: usize, bytes: &[u8]) {
    let _ = pwrite(memory, bytes, at as u64);
}

/// Files as they are passed for a ring over this memory, and a copy of the memory to write to.
pub fn files_of(memory: OwnedFd) -> (RingFiles, OwnedFd) {
    let bell = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).expect("a bell");
    let own = memory.try_clone().expect("a descriptor");
    (RingFiles { memory, data: bell(), room: bell() }, own)
}
