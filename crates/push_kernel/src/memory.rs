//! Memory that is shared with the kernel.
//!
//! Invariant: it is mapped as long as the value is there, and every access is atomic and within it.

use rustix::fd::AsFd;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// Bytes of a page of memory.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: it reads a constant of the system.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).expect("every Linux tells the size of its pages")
}

/// A mapping.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    begin: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to the process, and all accesses are atomic.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Maps so many bytes of a descriptor, from an offset on, which is a multiple of a page.
    pub(crate) fn map(of: impl AsFd, bytes: usize, offset: u64, is_writable: bool) -> io::Result<SharedMemory> {
        let protection = if is_writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: the kernel chooses a place where nothing is; nobody else has a reference there.
        let begin = unsafe { mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, of, offset)? };
        let begin = NonNull::new(begin.cast::<u8>()).ok_or_else(|| io::Error::other("a mapping at address 0"))?;
        Ok(SharedMemory { begin, bytes })
    }

    fn at<T>(&self, offset: usize) -> Option<NonNull<T>> {
        let end = offset.checked_add(size_of::<T>())?;
        if end > self.bytes || !offset.is_multiple_of(size_of::<T>()) {
            return None;
        }
        // SAFETY: the place is within the mapping.
        Some(unsafe { self.begin.add(offset) }.cast::<T>())
    }

    /// 1 byte; none behind the end.
    pub(crate) fn u8(&self, offset: usize) -> Option<&AtomicU8> {
        // SAFETY: within the mapping and aligned; all others, too, access it atomically or in the kernel.
        self.at(offset).map(|place| unsafe { place.as_ref() })
    }

    /// 2 bytes; none behind the end, or where they do not lie aligned.
    pub(crate) fn u16(&self, offset: usize) -> Option<&AtomicU16> {
        // SAFETY: as of 1 byte.
        self.at(offset).map(|place| unsafe { place.as_ref() })
    }

    /// 4 bytes; none behind the end, or where they do not lie aligned.
    pub(crate) fn u32(&self, offset: usize) -> Option<&AtomicU32> {
        // SAFETY: as of 1 byte.
        self.at(offset).map(|place| unsafe { place.as_ref() })
    }

    /// 8 bytes; none behind the end, or where they do not lie aligned.
    pub(crate) fn u64(&self, offset: usize) -> Option<&AtomicU64> {
        // SAFETY: as of 1 byte.
        self.at(offset).map(|place| unsafe { place.as_ref() })
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, and no reference outlives the value. Failing means that it is not mapped.
        let _ = unsafe { munmap(self.begin.as_ptr().cast(), self.bytes) };
    }
}
