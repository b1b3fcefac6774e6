//! Regions: what an application holds of mapped memory, and what the compiler checks borrows of.
//!
//! Invariant: no two regions have a byte in common. So a shared borrow of a region is a licence to read it, and an exclusive one,
//! which only a transaction makes use of, to change it.

use std::ops::Range;
use std::sync::Arc;

use crate::error::RangeError;
use crate::mapping::{SegmentMapping, Span};
use crate::plain::{Offset, Plain};

/// A range of a segment, mapped into memory.
///
/// A region is owned by whoever has it, may go to other threads, and is changed only by [`crate::MemoryTransaction::enlist`], which borrows
/// it until the transaction ends. Threads that change different parts of a segment at the same time map them apart, or
/// [split](Region::split_at) one region, and put each piece into a lock of its own: RVM leaves it to its user what may run at
/// the same time, and so do we, except that the compiler checks the user.
///
/// All offsets are counted in bytes from the start of the *segment*, whatever part of it is mapped.
///
/// Dropping all pieces of a region unmaps it. What was committed and not yet flushed is not lost by that.
#[derive(Debug)]
pub struct Region {
    span: Span,
    /// A transaction has not ended, or was leaked.
    pub(crate) enlisted: bool,
    mapping: Arc<SegmentMapping>,
}

impl Region {
    pub(crate) fn new(mapping: SegmentMapping) -> Region {
        Region { span: mapping.span(), enlisted: false, mapping: Arc::new(mapping) }
    }

    /// The part of the segment that it is: offsets in bytes.
    pub fn range(&self) -> Range<u64> {
        self.span.range.clone()
    }

    /// Its bytes; the first one is at the offset where [`Region::range`] begins.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the region keeps its mapping alive; nobody else has these bytes, and nobody changes them while `self` is
        // borrowed.
        unsafe { self.span.bytes(self.range()) }
    }

    /// Some of its bytes.
    ///
    /// # Errors
    /// [`RangeError::Outside`].
    pub fn read(&self, range: Range<u64>) -> Result<&[u8], RangeError> {
        self.check(&range)?;
        // SAFETY: as in `bytes`.
        Ok(unsafe { self.span.bytes(range) })
    }

    /// The value at an offset.
    ///
    /// # Errors
    /// [`RangeError::Outside`], [`RangeError::Misaligned`].
    pub fn get<T: Plain>(&self, offset: Offset<T>) -> Result<&T, RangeError> {
        crate::plain::view(self.read(offset.range()?)?, offset)
    }

    /// So many values in a row.
    ///
    /// # Errors
    /// [`RangeError::Outside`], [`RangeError::Misaligned`].
    pub fn get_slice<T: Plain>(&self, offset: Offset<T>, count: usize) -> Result<&[T], RangeError> {
        crate::plain::view_slice(self.read(offset.range_of(count)?)?, offset)
    }

    /// Cuts the region in two at an offset, which need not be that of a page.
    ///
    /// # Errors
    /// [`RangeError::Outside`], with which the region is lost to the caller and unmapped.
    pub fn split_at(self, offset: u64) -> Result<(Region, Region), RangeError> {
        self.check(&(offset..offset))?;
        let (before, behind) = self.span.split_at(offset);
        let mapping = Arc::clone(&self.mapping);
        let behind = Region { span: behind, enlisted: self.enlisted, mapping };
        Ok((Region { span: before, enlisted: self.enlisted, mapping: self.mapping }, behind))
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    pub(crate) fn mapping(&self) -> &SegmentMapping {
        &self.mapping
    }

    fn check(&self, range: &Range<u64>) -> Result<(), RangeError> {
        check(&self.span, range)
    }
}

/// Whether a range lies within.
pub(crate) fn check(span: &Span, range: &Range<u64>) -> Result<(), RangeError> {
    if span.holds(range) {
        return Ok(());
    }
    Err(RangeError::Outside { asked: range.clone(), region: span.range.clone() })
}
