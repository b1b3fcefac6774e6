//! Whether this is still the process that has made something, or a child that was forked from it: without a system call.
//!
//! A library in somebody else's program has to ask that at every turn, because a child has the memory of its parent, and neither its
//! threads nor a right to its log. The kernel gives a child an empty page in place of one that is marked for that (madvise(2),
//! `MADV_WIPEONFORK`, since Linux 4.14). A child that shares all memory with its parent, as after vfork(2), is not noticed: it runs nothing but the
//! start of another program.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, Ordering};

/// Bytes of the page: the kernel rounds up to what it has.
const PAGE_BYTES: usize = 4096;

/// Made by the process that it is of.
#[derive(Debug)]
pub struct ForkMark {
    process: u32,
    /// Holds a one in the process that has made it; none if the kernel cannot do that.
    page: Option<NonNull<AtomicU8>>,
}

// SAFETY: the page is an owned piece of address space, and all that is ever done to it is to load and store an atomic.
unsafe impl Send for ForkMark {}
// SAFETY: as above.
unsafe impl Sync for ForkMark {}

impl ForkMark {
    /// Of this process. Where the kernel has no such pages, every question costs a system call.
    pub fn new() -> ForkMark {
        ForkMark { process: std::process::id(), page: make_page() }
    }

    /// Whether this is another process than the one that has made the mark.
    pub fn is_forked(&self) -> bool {
        match self.page {
            // SAFETY: the page is mapped until the mark is dropped; it is aligned, and holds zeros from the start.
            Some(page) => unsafe { page.as_ref() }.load(Ordering::Relaxed) == 0,
            None => self.process != std::process::id(),
        }
    }

    /// The number of the process that has made it.
    pub fn process(&self) -> u32 {
        self.process
    }
}

impl Default for ForkMark {
    fn default() -> ForkMark {
        ForkMark::new()
    }
}

fn make_page() -> Option<NonNull<AtomicU8>> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the kernel chooses a free place for the new mapping, so no memory in use is replaced.
    let start = unsafe { mmap_anonymous(ptr::null_mut(), PAGE_BYTES, protection, MapFlags::PRIVATE) }.ok()?;
    // SAFETY: the range is our own new mapping, and nothing is in it yet.
    if unsafe { madvise(start, PAGE_BYTES, Advice::LinuxWipeOnFork) }.is_err() {
        // SAFETY: as above; no pointer into it is kept.
        let _ = unsafe { munmap(start, PAGE_BYTES) };
        return None;
    }
    let page = NonNull::new(start.cast::<AtomicU8>())?;
    // SAFETY: the page is mapped, aligned and all zeros, which is an atomic.
    unsafe { page.as_ref() }.store(1, Ordering::Relaxed);
    Some(page)
}

impl Drop for ForkMark {
    fn drop(&mut self) {
        if let Some(page) = self.page {
            // SAFETY: the range is what `make_page` has mapped, and nobody asks any more.
            let _ = unsafe { munmap(page.as_ptr().cast(), PAGE_BYTES) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this failed, a program would be refused its own files.
    #[test]
    fn the_process_itself_is_not_forked() {
        let mark = ForkMark::new();
        assert!(!mark.is_forked());
        assert_eq!(mark.process(), std::process::id());
        std::thread::scope(|scope| assert!(!scope.spawn(|| mark.is_forked()).join().expect("a thread")));
    }
}
