//! Memory that a process lends for the time of an exchange, or moves data from and to.
//!
//! Invariant: what is not readable is never read, what is not writable never written: both are asked of the memory itself.

/// Memory with rights. The kernel keeps it while an exchange lasts and hands it back with the outcome.
pub trait LentMemory {
    /// The bytes, if they may be read.
    fn readable(&self) -> Option<&[u8]>;
    /// The bytes, if they may be written.
    fn writable(&mut self) -> Option<&mut [u8]>;
}

/// Memory that is given away for the time of an exchange and comes back with its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedMemory {
    /// The receiver may read it.
    Readable(Vec<u8>),
    /// The receiver may write it.
    Writable(Vec<u8>),
    /// The receiver may read and write it.
    Both(Vec<u8>),
}

impl OwnedMemory {
    /// The bytes, whatever the rights.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            OwnedMemory::Readable(bytes) | OwnedMemory::Writable(bytes) | OwnedMemory::Both(bytes) => bytes,
        }
    }
}

impl LentMemory for OwnedMemory {
    fn readable(&self) -> Option<&[u8]> {
        match self {
            OwnedMemory::Readable(bytes) | OwnedMemory::Both(bytes) => Some(bytes),
            OwnedMemory::Writable(_) => None,
        }
    }

    fn writable(&mut self) -> Option<&mut [u8]> {
        match self {
            OwnedMemory::Writable(bytes) | OwnedMemory::Both(bytes) => Some(bytes),
            OwnedMemory::Readable(_) => None,
        }
    }
}

/// Memory that can go to another operating-system process with its owner.
pub trait Portable: LentMemory + Sized {
    /// The memory; `None` if it cannot leave this operating-system process, because somebody else owns it.
    fn as_owned(&self) -> Option<&OwnedMemory>;
    /// The memory there.
    fn from_owned(owned: OwnedMemory) -> Self;
}

impl Portable for OwnedMemory {
    fn as_owned(&self) -> Option<&OwnedMemory> {
        Some(self)
    }

    fn from_owned(owned: OwnedMemory) -> OwnedMemory {
        owned
    }
}

/// What a receiver may do with the sender's segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentRights {
    /// Length of the segment, in bytes.
    pub bytes: u64,
    /// It may be read.
    pub read: bool,
    /// It may be written.
    pub write: bool,
}

impl SegmentRights {
    pub(super) fn of(memory: Option<&mut impl LentMemory>) -> SegmentRights {
        let Some(memory) = memory else { return SegmentRights::default() };
        let read = memory.readable().map(<[u8]>::len);
        let write = memory.writable().map(|bytes| bytes.len());
        SegmentRights { bytes: read.or(write).unwrap_or(0) as u64, read: read.is_some(), write: write.is_some() }
    }

    /// Whether so many bytes from there on lie inside.
    pub(super) fn contains(&self, offset: u64, bytes: u64) -> bool {
        offset.checked_add(bytes).is_some_and(|end| end <= self.bytes)
    }
}
