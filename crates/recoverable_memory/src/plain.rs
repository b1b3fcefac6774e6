//! Values in recoverable memory: plain data at offsets.
//!
//! Invariant: a value is any bytes of its size, so whatever a segment holds can be looked at safely. A segment holds no addresses:
//! it is mapped elsewhere the next time. Links are [`Offset`]s.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Range;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::error::RangeError;
use crate::limits::PAGE_BYTES;

/// Plain data: no padding, no pointer, every bit pattern allowed. Derive zerocopy's traits on a `#[repr(C)]` structure and it is
/// this. Numbers keep the byte order of the machine, unless they are zerocopy's `little_endian` ones.
pub trait Plain: FromBytes + IntoBytes + KnownLayout + Immutable {}

impl<T: FromBytes + IntoBytes + KnownLayout + Immutable> Plain for T {}

/// Where in a segment a value of type `T` stands: a link that may itself be stored in recoverable memory.
///
/// Zero is [`Offset::NULL`], so that a fresh segment, all zeros, holds links to nothing. What stands at offset 0 itself is the root,
/// to which nothing links. An offset that was read from a segment is checked wherever it is used.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(transparent)]
pub struct Offset<T> {
    bytes: u64,
    of: PhantomData<T>,
}

impl<T> Offset<T> {
    /// A link to nothing.
    pub const NULL: Offset<T> = Offset::new(0);

    /// The offset `bytes` bytes into a segment.
    pub const fn new(bytes: u64) -> Offset<T> {
        Offset { bytes, of: PhantomData }
    }

    /// Bytes from the start of the segment.
    pub const fn bytes(self) -> u64 {
        self.bytes
    }

    /// Whether it links to nothing.
    pub const fn is_null(self) -> bool {
        self.bytes == 0
    }

    /// The value `index` places further on, if it can be counted.
    pub fn nth(self, index: u64) -> Option<Offset<T>> {
        let bytes = index.checked_mul(size_of::<T>() as u64)?;
        self.bytes.checked_add(bytes).map(Offset::new)
    }

    /// The bytes of the value.
    pub(crate) fn range(self) -> Result<Range<u64>, RangeError> {
        self.range_of(1)
    }

    /// The bytes of so many values. A region begins on a page, so an aligned offset is an aligned address.
    pub(crate) fn range_of(self, count: usize) -> Result<Range<u64>, RangeError> {
        const { assert!(size_of::<T>() > 0, "a value has bytes") };
        const { assert!(align_of::<T>() as u64 <= PAGE_BYTES, "regions are aligned to pages") };
        if !self.bytes.is_multiple_of(align_of::<T>() as u64) {
            return Err(misaligned(self));
        }
        let end = u64::try_from(count).ok().and_then(|count| self.nth(count)).map_or(u64::MAX, Offset::bytes);
        Ok(self.bytes..end)
    }
}

// By hand: derived ones would ask the same of `T`.
impl<T> Clone for Offset<T> {
    fn clone(&self) -> Offset<T> {
        *self
    }
}
impl<T> Copy for Offset<T> {}
impl<T> PartialEq for Offset<T> {
    fn eq(&self, other: &Offset<T>) -> bool {
        self.bytes == other.bytes
    }
}
impl<T> Eq for Offset<T> {}
impl<T> Hash for Offset<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes.hash(state);
    }
}
impl<T> fmt::Debug for Offset<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "@{}", self.bytes)
    }
}

fn misaligned<T>(offset: Offset<T>) -> RangeError {
    RangeError::Misaligned { offset: offset.bytes, alignment: align_of::<T>() }
}

/// Bytes of the right number as a value.
pub(crate) fn view<T: Plain>(bytes: &[u8], offset: Offset<T>) -> Result<&T, RangeError> {
    T::ref_from_bytes(bytes).map_err(|_| misaligned(offset))
}

pub(crate) fn view_slice<T: Plain>(bytes: &[u8], offset: Offset<T>) -> Result<&[T], RangeError> {
    <[T]>::ref_from_bytes(bytes).map_err(|_| misaligned(offset))
}

pub(crate) fn view_mut<T: Plain>(bytes: &mut [u8], offset: Offset<T>) -> Result<&mut T, RangeError> {
    T::mut_from_bytes(bytes).map_err(|_| misaligned(offset))
}

pub(crate) fn view_slice_mut<T: Plain>(bytes: &mut [u8], offset: Offset<T>) -> Result<&mut [T], RangeError> {
    <[T]>::mut_from_bytes(bytes).map_err(|_| misaligned(offset))
}
