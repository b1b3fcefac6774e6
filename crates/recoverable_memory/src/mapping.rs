//! The memory of a region: the unsafe ground of the crate, with what [`crate::transaction`] does to it.
//!
//! The memory is anonymous, and the segment's bytes are copied into it, as in RVM: the file changes only by truncation, and neither
//! an error of the disk nor another program can change or take away what a reference points to.
//!
//! Invariant: whoever reads or writes through a [`Span`] has the exclusive or shared borrow of the [`crate::Region`] that it
//! belongs to; two regions never have a byte in common.

use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// Which pages of which segments are mapped, by segment: a page is mapped once at most.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    mapped: Mutex<Vec<(u32, Range<u64>)>>,
}

impl Registry {
    /// Notes that a range is mapped. `Err` is a range that is in the way.
    pub(crate) fn claim(&self, segment: u32, range: Range<u64>) -> Result<(), Range<u64>> {
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let in_the_way = mapped
            .iter()
            .find(|(other, taken)| *other == segment && taken.start < range.end && range.start < taken.end);
        match in_the_way {
            Some((_, taken)) => Err(taken.clone()),
            None => {
                mapped.push((segment, range));
                Ok(())
            }
        }
    }

    pub(crate) fn mapped(&self) -> Vec<(u32, Range<u64>)> {
        self.mapped.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn release(&self, segment: u32, range: &Range<u64>) {
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        mapped.retain(|(other, taken)| *other != segment || taken != range);
    }
}

/// Memory for a range of a segment, zeros at first. Dropping it unmaps the range.
#[derive(Debug)]
pub(crate) struct SegmentMapping {
    memory: AnonymousPages,
    segment: u32,
    range: Range<u64>,
    registry: Arc<Registry>,
}

impl SegmentMapping {
    /// Memory for a range that has been claimed; if there is none, the claim is given back.
    pub(crate) fn new(segment: u32, range: Range<u64>, registry: Arc<Registry>) -> io::Result<SegmentMapping> {
        let memory = AnonymousPages::new((range.end - range.start) as usize)
            .inspect_err(|_| registry.release(segment, &range))?;
        Ok(SegmentMapping { memory, segment, range, registry })
    }

    /// Fills the memory. `&mut`: there is no span yet.
    pub(crate) fn fill<E>(&mut self, read: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<(), E> {
        // SAFETY: the memory is live and has been initialised with zeros; `&mut self` and the absence of spans exclude every
        // other access.
        read(unsafe { std::slice::from_raw_parts_mut(self.memory.start.as_ptr(), self.memory.length) })
    }

    /// The whole of it.
    pub(crate) fn span(&self) -> Span {
        Span { start: self.memory.start, segment: self.segment, range: self.range.clone() }
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }
}

impl Drop for SegmentMapping {
    fn drop(&mut self) {
        self.registry.release(self.segment, &self.range);
    }
}

/// A range of a segment in memory, without a lifetime: whoever holds one answers for the borrow of its region.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    start: NonNull<u8>,
    pub(crate) segment: u32,
    /// Offsets in the segment.
    pub(crate) range: Range<u64>,
}

impl Span {
    /// Whether a range lies within.
    pub(crate) fn holds(&self, range: &Range<u64>) -> bool {
        self.range.start <= range.start && range.start <= range.end && range.end <= self.range.end
    }

    /// Cuts it in two.
    pub(crate) fn split_at(&self, offset: u64) -> (Span, Span) {
        assert!(self.holds(&(offset..self.range.end)), "a cut at {offset} of {:?}", self.range);
        let behind = self.at(offset);
        let before = Span { range: self.range.start..offset, ..self.clone() };
        (before, Span { start: behind, segment: self.segment, range: offset..self.range.end })
    }

    /// The bytes of a range.
    ///
    /// # Safety
    /// The mapping is live and the bytes are not written to during `'a`.
    pub(crate) unsafe fn bytes<'a>(&self, range: Range<u64>) -> &'a [u8] {
        assert!(self.holds(&range), "{range:?} of {:?}", self.range);
        // SAFETY: the range lies within the mapping, which is live and initialised; the caller answers for no writes.
        unsafe { std::slice::from_raw_parts(self.at(range.start).as_ptr(), (range.end - range.start) as usize) }
    }

    /// The bytes of a range, to be changed.
    ///
    /// # Safety
    /// The mapping is live and the bytes are not accessed in any other way during `'a`.
    pub(crate) unsafe fn bytes_mut<'a>(&self, range: Range<u64>) -> &'a mut [u8] {
        assert!(self.holds(&range), "{range:?} of {:?}", self.range);
        // SAFETY: the range lies within the mapping, which is live and initialised; the caller answers for exclusive access.
        unsafe { std::slice::from_raw_parts_mut(self.at(range.start).as_ptr(), (range.end - range.start) as usize) }
    }

    fn at(&self, offset: u64) -> NonNull<u8> {
        // SAFETY: the callers have checked that the offset lies within the span, so the result lies within the same mapping
        // or right behind it.
        unsafe { self.start.add((offset - self.range.start) as usize) }
    }
}

// SAFETY: a span is an address; what may be done with it is up to whoever holds the borrow, whatever the thread.
unsafe impl Send for Span {}
// SAFETY: as above; nothing is reached through a shared span without `unsafe`.
unsafe impl Sync for Span {}

/// Whole pages of anonymous memory, zeros at first.
#[derive(Debug)]
struct AnonymousPages {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the memory is an owned piece of address space; nothing about it is tied to the thread that made it.
unsafe impl Send for AnonymousPages {}
// SAFETY: a shared `AnonymousPages` gives its address only.
unsafe impl Sync for AnonymousPages {}

#[cfg(not(miri))]
impl AnonymousPages {
    fn new(length: usize) -> io::Result<AnonymousPages> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        // SAFETY: the kernel chooses a free place for the new mapping, so no memory in use is replaced.
        let start = unsafe {
            mmap_anonymous(std::ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        }?;
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("memory was mapped at address zero"))?;
        Ok(AnonymousPages { start, length })
    }
}

#[cfg(not(miri))]
impl Drop for AnonymousPages {
    fn drop(&mut self) {
        // SAFETY: the range is exactly what was mapped, it is unmapped only here, and no reference into it is left, because
        // regions keep their mapping alive.
        let result = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length) };
        debug_assert!(result.is_ok(), "unmapping our own range: {result:?}");
    }
}

/// The interpreter makes no system calls: pages of its allocator stand for mapped ones.
#[cfg(miri)]
impl AnonymousPages {
    fn layout(length: usize) -> std::alloc::Layout {
        std::alloc::Layout::from_size_align(length, crate::limits::PAGE_BYTES as usize).expect("pages have a layout")
    }

    fn new(length: usize) -> io::Result<AnonymousPages> {
        // SAFETY: the length is not zero, since a region has a page at least.
        let start = unsafe { std::alloc::alloc_zeroed(AnonymousPages::layout(length)) };
        let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(AnonymousPages { start, length })
    }
}

#[cfg(miri)]
impl Drop for AnonymousPages {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and no reference into it is left.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), AnonymousPages::layout(self.length)) }
    }
}
