//! A piece of memory that two processes map: a file without a name, passed from one to the other.
//!
//! Invariants: no reference to its bytes ever exists, only copies in and out through a pointer, and words that are atomic. So the other side may
//! write what it wants at any time: this side sees wrong bytes at worst. Nobody can make the file shorter: touching what is gone would end
//! the process by a signal.

use super::place::SharedPlace;
use super::shape::LineError;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::thread::futex;
use rustix::time::Timespec;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

/// Bytes of the head, which tells what the memory is and holds the words that both sides look at; contents come behind it.
pub(super) const HEAD_BYTES: usize = 4096;
/// Words that different sides write lie in different cache lines.
pub(super) const LINE_BYTES: usize = 64;

/// See the module's description.
#[derive(Debug)]
pub(super) struct SharedMapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is an owned piece of address space, not tied to a thread; all access is by atomic words, or by copies to and from bytes
// that the words give to one side, that is one `&mut` end, at a time.
unsafe impl Send for SharedMapping {}
// SAFETY: as above.
unsafe impl Sync for SharedMapping {}

impl SharedMapping {
    /// A new one, all zeros, and the file by which another process maps it.
    pub(super) fn create(name: &str, length: usize) -> Result<(SharedMapping, OwnedFd), LineError> {
        let file = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, length as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok((SharedMapping::map(&file, length)?, file))
    }

    /// One that the other side has made. Errors: it could shrink, or is shorter than a head, or longer than a head and `contents_max`.
    pub(super) fn open(file: &OwnedFd, contents_max: u64) -> Result<SharedMapping, LineError> {
        // Other files than these have no seals to tell.
        let seals = fcntl_get_seals(file).unwrap_or_else(|_| SealFlags::empty());
        if !seals.contains(SealFlags::SHRINK | SealFlags::GROW) {
            return Err(LineError::NotSealed);
        }
        let length = fstat(file)?.st_size.unsigned_abs();
        if !(HEAD_BYTES as u64..=HEAD_BYTES as u64 + contents_max).contains(&length) {
            return Err(LineError::Foreign);
        }
        SharedMapping::map(file, length as usize)
    }

    fn map(file: &OwnedFd, length: usize) -> Result<SharedMapping, LineError> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: the kernel chooses a free place for the new mapping, so no memory in use is replaced.
        let start =
            unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, flags, file.as_fd(), 0) }?;
        let start = NonNull::new(start.cast()).ok_or(LineError::Foreign)?;
        Ok(SharedMapping { start, length })
    }

    /// Where something lies.
    fn at<T>(&self, at: usize) -> *mut T {
        assert!(at.is_multiple_of(align_of::<T>()) && at + size_of::<T>() <= self.length, "a word at {at}");
        // SAFETY: it lies within the mapping, as just checked.
        unsafe { self.start.as_ptr().add(at).cast() }
    }
}

impl SharedPlace for SharedMapping {
    type Word = AtomicU32;
    type Count = AtomicU64;

    fn length(&self) -> usize {
        self.length
    }

    #[inline]
    fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: the word lies within the mapping, which lives as long as `self`, and is aligned, since a mapping starts on a page; nobody
        // in this process accesses these bytes but as this atomic word.
        unsafe { AtomicU32::from_ptr(self.at(at)) }
    }

    #[inline]
    fn count(&self, at: usize) -> &AtomicU64 {
        // SAFETY: as for `word`.
        unsafe { AtomicU64::from_ptr(self.at(at)) }
    }

    fn write(&self, at: usize, bytes: &[u8]) {
        assert!(at <= self.length && bytes.len() <= self.length - at, "{} bytes at {at}", bytes.len());
        // SAFETY: the target lies within the mapping, as just checked. `bytes` is a Rust slice and no reference into the mapping exists, so
        // the two do not overlap.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr().add(at), bytes.len()) }
    }

    fn read(&self, at: usize, into: &mut [MaybeUninit<u8>]) {
        assert!(at <= self.length && into.len() <= self.length - at, "{} bytes at {at}", into.len());
        // SAFETY: the source lies within the mapping, as just checked, and `into` outside of it. A peer that breaks the protocol may write to
        // the source meanwhile: it is outside of this program, and makes the copied bytes wrong at worst.
        unsafe { ptr::copy_nonoverlapping(self.start.as_ptr().add(at), into.as_mut_ptr().cast(), into.len()) }
    }

    fn sleep(&self, at: usize, time: Option<Duration>) {
        // One that is too long to tell is as good as none.
        let time = time.and_then(|time| Timespec::try_from(time).ok());
        // Interrupted, woken, out of time, or changed before it began: the caller looks.
        let _ = futex::wait(self.word(at), futex::Flags::empty(), 0, time.as_ref());
    }

    fn wake(&self, at: usize) {
        // It cannot fail for a word that is mapped.
        let _ = futex::wake(self.word(at), futex::Flags::empty(), 1);
    }
}

impl Drop for SharedMapping {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `map` made; nothing borrowed from it outlives `self`. It cannot fail for a whole mapping.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}
