//! A file mapped into memory, shared with the kernel: the only unsafe code of the log.
//!
//! Invariant: no reference into the mapped bytes ever exists, only copies in through a pointer. So the kernel, and
//! writes to the same file through its descriptor, may change other bytes of the file at any time.

use std::fs::File;
use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::fadvise;
use rustix::mm::{MapFlags, ProtFlags, madvise, mmap, munmap};

/// The first bytes of a file, in memory. What is written here is in the kernel's page cache at once: it outlives the
/// process, and `fdatasync` on the file puts it on disk.
#[derive(Debug)]
pub(crate) struct FileMapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is an owned piece of address space; nothing about it is tied to the thread that made it.
unsafe impl Send for FileMapping {}

impl FileMapping {
    /// Maps the first `length` bytes of `file`, which must be that long and have all its blocks: a write to a page
    /// without a place on disk would end the process by a signal instead of an error.
    pub(crate) fn new(file: &File, length: usize) -> io::Result<FileMapping> {
        let available = file.metadata()?.len();
        if length == 0 || available < length as u64 {
            let reason = format!("{length} bytes cannot be mapped from a file of {available} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        // SAFETY: the kernel chooses a free place for the new mapping, so no memory in use is replaced.
        let start =
            unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, file, 0) }?;
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("a file was mapped at address zero"))?;
        let mapping = FileMapping { start, length };
        mapping.keep_pages_small(file);
        Ok(mapping)
    }

    /// Has the kernel bring in single pages. Read ahead, it would bring in blocks of up to some megabytes, which a write through
    /// memory makes dirty as a whole: each sync would then write megabytes for a kilobyte that was appended.
    fn keep_pages_small(&self, file: &File) {
        // What was read from the file before may be in large blocks already. Both are advice: without it all is right, but slower.
        let _ = fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
        // SAFETY: the range is our own mapping, and this advice changes no byte of it.
        let _ = unsafe { madvise(self.start.as_ptr().cast(), self.length, rustix::mm::Advice::Random) };
    }

    /// Copies `bytes` to `offset`.
    ///
    /// # Panics
    /// If they do not fit.
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.check(offset, bytes.len());
        // SAFETY: the target lies within the mapping, which is live and writable as long as `self`; `bytes` is a Rust
        // slice and no reference into the mapping exists, so the two do not overlap; `&mut self` excludes other writers
        // through the mapping.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr().add(offset), bytes.len()) }
    }

    /// Stores one word at `offset`, whole and after everything that was written before.
    ///
    /// # Panics
    /// If it does not fit or `offset` is not a multiple of 8.
    pub(crate) fn publish(&mut self, offset: usize, word: u64) {
        self.check(offset, size_of::<u64>());
        assert!(offset.is_multiple_of(align_of::<AtomicU64>()), "offset {offset} of a word");
        // SAFETY: the word lies within the mapping and is aligned, since a mapping starts on a page; no other access
        // through memory can happen meanwhile because of `&mut self`.
        let target = unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(offset).cast()) };
        // The release order keeps the compiler and the processor from moving earlier writes behind this one, so a process
        // killed in between leaves the word as it was.
        target.store(word.to_le(), Ordering::Release);
    }

    fn check(&self, offset: usize, length: usize) {
        let end = offset.checked_add(length);
        assert!(end.is_some_and(|end| end <= self.length), "{length} bytes at {offset} of {}", self.length);
    }
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        // SAFETY: the range is exactly what `mmap` returned, it is unmapped only here, and no pointer into it is left.
        let result = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
        debug_assert!(result.is_ok(), "unmapping our own range: {result:?}");
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// If this fails, appended records are not in the file.
    #[test]
    fn what_is_written_can_be_read_from_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let mut mapping = FileMapping::new(&file, 8192).unwrap();
        mapping.write(4090, b"across a page");
        mapping.publish(8184, 0x0102_0304_0506_0708);
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        assert_eq!(&bytes[4090..4103], b"across a page");
        assert_eq!(bytes[8184..], 0x0102_0304_0506_0708_u64.to_le_bytes());
    }

    /// If this fails, a file that is too short ends the process by a signal.
    #[test]
    fn a_file_that_is_too_short_is_refused() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(100).unwrap();
        assert!(FileMapping::new(&file, 4096).is_err());
        assert!(FileMapping::new(&file, 0).is_err());
    }

    /// If this fails, a wrong offset overwrites foreign memory.
    #[test]
    #[should_panic(expected = "bytes at")]
    fn a_write_outside_is_refused() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        FileMapping::new(&file, 4096).unwrap().write(4090, b"seven b");
    }
}
