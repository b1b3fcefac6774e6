//! Memory in the hands of the kernel: owned, or borrowed by a call that blocks until it is given back.
//!
//! Invariant: a borrow is in the hands of the kernel only while the caller that owns the borrow blocks; it does not return, nor
//! unwind, before the kernel has let go of it.

use crate::memory::{LentMemory, OwnedMemory, Portable};

/// See the module's description.
#[derive(Debug)]
pub(super) enum Lent {
    Owned(OwnedMemory),
    Read(*const [u8]),
    Write(*mut [u8]),
    Both(*mut [u8]),
}

// SAFETY: whoever made the pointers blocks until the kernel has let go of them, and does not touch the memory meanwhile; the kernel
// is behind a lock, so that one thread at a time follows them.
unsafe impl Send for Lent {}

impl LentMemory for Lent {
    fn readable(&self) -> Option<&[u8]> {
        match self {
            Lent::Owned(owned) => owned.readable(),
            // SAFETY: by the module's invariant the borrow that it was made of is still held by a caller that blocks.
            Lent::Read(bytes) => Some(unsafe { &**bytes }),
            // SAFETY: as above; the borrow was an exclusive one, and only the kernel, through `&self`, uses it now.
            Lent::Both(bytes) => Some(unsafe { &**bytes }),
            Lent::Write(_) => None,
        }
    }

    fn writable(&mut self) -> Option<&mut [u8]> {
        match self {
            Lent::Owned(owned) => owned.writable(),
            // SAFETY: by the module's invariant the exclusive borrow that it was made of is still held by a caller that blocks,
            // and `&mut self` keeps everybody else away.
            Lent::Write(bytes) | Lent::Both(bytes) => Some(unsafe { &mut **bytes }),
            Lent::Read(_) => None,
        }
    }
}

impl Portable for Lent {
    fn as_owned(&self) -> Option<&OwnedMemory> {
        match self {
            Lent::Owned(owned) => Some(owned),
            Lent::Read(_) | Lent::Write(_) | Lent::Both(_) => None,
        }
    }

    fn from_owned(owned: OwnedMemory) -> Lent {
        Lent::Owned(owned)
    }
}

impl Lent {
    /// Memory that was given away, back.
    pub(super) fn into_owned(self) -> Option<OwnedMemory> {
        match self {
            Lent::Owned(owned) => Some(owned),
            _ => None,
        }
    }
}
