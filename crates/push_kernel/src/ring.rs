//! The ring that programs deliver packets to, and from which they are read without a system call.
//!
//! One reader at a time. Invariant: a record is read once, and only when the kernel has finished it. Source: Documentation/bpf/ringbuf.rst of Linux.
//!
//! Packets that several processors deliver may be finished in another order than they were counted by the program. Who is woken, and misses one, looks again after
//! some microseconds, and does not wait for another wake.

use crate::call::{self, BpfCommand};
use crate::failure::KernelFailure;
use crate::limits::RING_BYTES;
use crate::memory::{SharedMemory, page_bytes};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Release};

const KIND_RING: u32 = 27;
const RECORD_HEADER_BYTES: usize = 8;
const IS_BUSY: u32 = 1 << 31;
const IS_LEFT_OUT: u32 = 1 << 30;

/// See the module's description.
#[derive(Debug)]
pub struct PacketRing {
    descriptor: OwnedFd,
    /// A page with our position.
    reader: SharedMemory,
    /// A page with the kernel's position; then the bytes, which are mapped twice in a row.
    writer: SharedMemory,
}

impl PacketRing {
    pub(crate) fn new() -> Result<PacketRing, KernelFailure> {
        let mut arguments = call::MapCreate { kind: KIND_RING, entries: RING_BYTES as u32, ..Default::default() };
        // SAFETY: the arguments have no address.
        let made = unsafe { call::descriptor(BpfCommand::MapCreate, &mut arguments) };
        let descriptor = made.map_err(|why| KernelFailure::of("make a ring", why))?;
        let page = page_bytes();
        let refused = |why| KernelFailure::of("map a ring", why);
        let reader = SharedMemory::map(&descriptor, page, 0, true).map_err(refused)?;
        let writer = SharedMemory::map(&descriptor, page + 2 * RING_BYTES, page as u64, false).map_err(refused)?;
        Ok(PacketRing { descriptor, reader, writer })
    }

    /// What is readable when a program has woken: for poll(2) and epoll(7).
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Copies the next packet into a buffer, from its IPv4 header on. Says whether there was one. It takes `&mut` because there is one reader.
    pub fn read(&mut self, packet: &mut Vec<u8>) -> bool {
        loop {
            let (Some(read), Some(written)) = (self.reader.u64(0), self.writer.u64(0)) else { return false };
            let position = read.load(Acquire);
            if position >= written.load(Acquire) {
                return false;
            }
            let begin = page_bytes() + (position as usize & (RING_BYTES - 1));
            let Some(head) = self.writer.u32(begin).map(|head| head.load(Acquire)) else { return false };
            if head & IS_BUSY != 0 {
                return false;
            }
            let length = (head & !IS_LEFT_OUT) as usize;
            packet.clear();
            let is_packet = head & IS_LEFT_OUT == 0;
            if is_packet {
                self.copy(begin + RECORD_HEADER_BYTES, length, packet);
            }
            let taken = (length + RECORD_HEADER_BYTES).next_multiple_of(8);
            read.store(position + taken as u64, Release);
            if is_packet {
                return true;
            }
        }
    }

    /// A record begins at a multiple of 8.
    fn copy(&self, begin: usize, length: usize, packet: &mut Vec<u8>) {
        packet.reserve(length.next_multiple_of(8));
        for offset in (0..length).step_by(8) {
            let Some(word) = self.writer.u64(begin + offset) else { break };
            packet.extend(word.load(std::sync::atomic::Ordering::Relaxed).to_ne_bytes());
        }
        packet.truncate(length);
    }
}
