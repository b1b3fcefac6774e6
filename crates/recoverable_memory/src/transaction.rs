//! Transactions: the only way to change a region.
//!
//! Invariants:
//! * a byte is changed only after its range was set, so a commit logs every byte that may have changed, and, in mode [`Restore`], the
//!   value from before the transaction is kept;
//! * a range is set only if the whole transaction then still fits the log, so a commit never fails for its size;
//! * a region is borrowed until the transaction has ended, so nobody sees what may still be undone.

//!
//! What the compiler refuses. Two transactions with one region:
//!
//! ```compile_fail,E0499
//! # fn two(memory: &recoverable_memory::Memory, region: &mut recoverable_memory::Region) -> Result<(), recoverable_memory::Error> {
//! let (first, second) = (memory.begin(), memory.begin());
//! first.enlist(region)?;
//! second.enlist(region)?;
//! # first.abort();
//! # Ok(())
//! # }
//! ```
//!
//! Looking at what may still be undone:
//!
//! ```compile_fail,E0502
//! # fn look(memory: &recoverable_memory::Memory, region: &mut recoverable_memory::Region) -> Result<(), recoverable_memory::Error> {
//! let transaction = memory.begin();
//! transaction.enlist(region)?;
//! region.bytes();
//! transaction.abort();
//! # Ok(())
//! # }
//! ```
//!
//! Changing what was set after the commit, or while another range of the region is lent:
//!
//! ```compile_fail,E0505
//! # use recoverable_memory::CommitMode;
//! # fn late(memory: &recoverable_memory::Memory, region: &mut recoverable_memory::Region) -> Result<(), Box<dyn std::error::Error>> {
//! let transaction = memory.begin();
//! let mut enlisted = transaction.enlist(region)?;
//! let bytes = enlisted.set_range(0..8)?;
//! transaction.commit(CommitMode::Flush)?;
//! bytes.fill(1);
//! # Ok(())
//! # }
//! ```
//!
//! ```compile_fail,E0499
//! # fn both(memory: &recoverable_memory::Memory, region: &mut recoverable_memory::Region) -> Result<(), Box<dyn std::error::Error>> {
//! # let transaction = memory.begin();
//! let mut enlisted = transaction.enlist(region)?;
//! let (left, right) = (enlisted.set_range(0..8)?, enlisted.set_range(4..12)?);
//! left.copy_from_slice(right);
//! # drop(enlisted);
//! # Ok(())
//! # }
//! ```
//!
//! Aborting what keeps no old values:
//!
//! ```compile_fail,E0599
//! # fn undo(memory: &recoverable_memory::Memory) {
//! memory.begin_no_restore().abort();
//! # }
//! ```

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::Range;

use smallvec::SmallVec;

use crate::coverage::Coverage;
use crate::device::{DeviceReceipt, Durability};
use crate::error::{Error, RangeError};
use crate::mapping::Span;
use crate::memory::Memory;
use crate::plain::{self, Offset, Plain};
use crate::record::{self, SegmentChange};
use crate::region::{self, Region};
use crate::shared::MemoryShared;

/// Whether a transaction keeps old values; see [`Restore`] and [`NoRestore`].
pub trait RestoreMode: private::Sealed {
    /// Whether it does.
    const KEEPS_OLD_VALUES: bool;
}

/// The transaction keeps old values, and can be aborted. Dropping it aborts it.
#[derive(Debug)]
pub enum Restore {}

/// The transaction keeps no old values and has no abort. Dropping it after a range was set, as a panic does, leaves memory half
/// changed: the [`Memory`] then fails, and is to be opened again.
#[derive(Debug)]
pub enum NoRestore {}

impl RestoreMode for Restore {
    const KEEPS_OLD_VALUES: bool = true;
}

impl RestoreMode for NoRestore {
    const KEEPS_OLD_VALUES: bool = false;
}

mod private {
    pub trait Sealed {}
    impl Sealed for super::Restore {}
    impl Sealed for super::NoRestore {}
}

/// What a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitMode {
    /// Nothing. The commit is durable after a later [`Memory::flush`], or a later commit that waits; until then the death of the
    /// process loses it, with all that came after it (RVM's bounded persistence).
    NoFlush,
    /// The disk.
    Flush,
    /// The memory of so many other servers, or the disk if that is there first. A log without servers means the disk.
    Remote {
        /// Servers, 1 or more.
        copies: u8,
    },
}

impl CommitMode {
    fn durability(self) -> Option<Durability> {
        match self {
            CommitMode::NoFlush => None,
            CommitMode::Flush => Some(Durability::Disk),
            CommitMode::Remote { copies } => Some(Durability::Memory { copies }),
        }
    }
}

/// A transaction. `'r` is how long it has its regions.
#[must_use = "a transaction that is dropped does not commit"]
pub struct MemoryTransaction<'r, M: RestoreMode> {
    memory: &'r MemoryShared,
    work: RefCell<TransactionWork<'r>>,
    mode: PhantomData<M>,
}

struct TransactionWork<'r> {
    regions: SmallVec<[BorrowedRegion<'r>; 4]>,
    /// The ranges that were set; the space is the index of the region.
    set: Coverage,
    /// Bytes asked for, also those that were set before.
    bytes_set: u64,
    /// Parts of `old`, in order: region and range.
    undo: SmallVec<[(u32, Range<u64>); 4]>,
    old: Vec<u8>,
    ended: bool,
}

/// A region that the transaction has borrowed.
struct BorrowedRegion<'r> {
    span: Span,
    /// The region's own mark, through which it stays borrowed.
    enlisted: &'r mut bool,
}

impl<'r, M: RestoreMode> MemoryTransaction<'r, M> {
    pub(crate) fn new(memory: &'r MemoryShared) -> MemoryTransaction<'r, M> {
        memory.begun();
        let work = TransactionWork {
            regions: SmallVec::new(),
            set: Coverage::default(),
            bytes_set: 0,
            undo: SmallVec::new(),
            old: Vec::new(),
            ended: false,
        };
        MemoryTransaction { memory, work: RefCell::new(work), mode: PhantomData }
    }

    /// Takes a region into the transaction, which has it until it ends.
    ///
    /// # Errors
    /// [`Error::ForeignRegion`]; and [`Error::Failed`], if an earlier transaction with this region was leaked (`mem::forget`), since
    /// nobody knows then what the region holds.
    pub fn enlist<'t>(&'t self, region: &'r mut Region) -> Result<Enlisted<'t, 'r, M>, Error> {
        self.memory.check()?;
        if !self.memory.mapped(region.mapping()) {
            return Err(Error::ForeignRegion);
        }
        if region.enlisted {
            return Err(self.memory.abandon());
        }
        let span = region.span().clone();
        let enlisted = &mut region.enlisted;
        *enlisted = true;
        let mut work = self.work.borrow_mut();
        let index = u32::try_from(work.regions.len()).expect("nobody maps as many regions");
        work.regions.push(BorrowedRegion { span: span.clone(), enlisted });
        Ok(Enlisted { transaction: self, index, span })
    }

    /// Commits: all that was set, or nothing. What it returns says by what the commit is durable.
    ///
    /// A commit that waits keeps its regions meanwhile. To let others have them, commit without flush and call [`Memory::flush`]
    /// after the regions have been given back: one flush then serves all that were committed.
    ///
    /// # Errors
    /// [`Error::Failed`], and the failure that led there. With `Restore` the memory has its old values then, unless the failure came
    /// after the commit: in the flush. Such a commit may or may not be there after the memory is opened again.
    pub fn commit(self, how: CommitMode) -> Result<DeviceReceipt, Error> {
        {
            let mut work = self.work.borrow_mut();
            self.memory.commit(work.changes(), work.record_bytes(0), work.bytes_set)?;
            work.end();
        }
        self.memory.ended();
        match how.durability() {
            None => Ok(DeviceReceipt::Buffered),
            Some(wanted) => self.memory.flush(wanted),
        }
    }

    /// Sets a range of one of the regions.
    fn set(&self, index: u32, range: Range<u64>) -> Result<(), RangeError> {
        let work = &mut *self.work.borrow_mut();
        let span = &work.regions[index as usize].span;
        region::check(span, &range)?;
        let bytes_max = self.memory.record_bytes_max();
        // The first is cheaper and mostly suffices.
        if work.record_bytes(range.end - range.start) > bytes_max {
            let bytes = work.record_bytes(work.set.missing(index, range.clone()));
            if bytes > bytes_max {
                return Err(RangeError::LogTooSmall { bytes, bytes_max });
            }
        }
        work.bytes_set += range.end - range.start;
        let (undo, old) = (&mut work.undo, &mut work.old);
        work.set.cover(index, range, |gap| {
            if M::KEEPS_OLD_VALUES {
                // SAFETY: the transaction has the region to itself, and `set` is called by an `Enlisted` that is borrowed
                // exclusively, so no reference to the region's bytes is alive.
                old.extend_from_slice(unsafe { span.bytes(gap.clone()) });
                undo.push((index, gap));
            }
        });
        Ok(())
    }
}

impl MemoryTransaction<'_, Restore> {
    /// Gives every byte the value that it had before the transaction.
    pub fn abort(self) {
        drop(self);
    }
}

impl<M: RestoreMode> Drop for MemoryTransaction<'_, M> {
    fn drop(&mut self) {
        let work = self.work.get_mut();
        if work.ended {
            return;
        }
        if M::KEEPS_OLD_VALUES {
            work.restore();
        } else if work.set.iter().next().is_some() {
            self.memory.abandon();
        }
        work.end();
        self.memory.aborted();
    }
}

impl TransactionWork<'_> {
    /// The new values.
    fn changes(&self) -> impl Iterator<Item = SegmentChange<'_>> {
        self.set.iter().map(|(index, range)| {
            let span = &self.regions[index as usize].span;
            // SAFETY: the transaction has the region to itself, and no `Enlisted` is alive: it borrows the transaction, which
            // is being committed by value.
            let bytes = unsafe { span.bytes(range.clone()) };
            SegmentChange { segment: span.segment, offset: range.start, bytes }
        })
    }

    fn restore(&mut self) {
        let mut old = self.old.as_slice();
        for (index, range) in self.undo.drain(..) {
            let (value, rest) = old.split_at((range.end - range.start) as usize);
            // SAFETY: as in `changes`: nobody else has the region, and the transaction is being dropped.
            unsafe { self.regions[index as usize].span.bytes_mut(range) }.copy_from_slice(value);
            old = rest;
        }
    }

    /// Gives the regions back.
    fn end(&mut self) {
        self.ended = true;
        for taken in &mut self.regions {
            *taken.enlisted = false;
        }
    }

    /// The most bytes that the record takes when so many more are set in one range.
    fn record_bytes(&self, new_bytes: u64) -> u64 {
        record::record_bytes(self.set.ranges() + usize::from(new_bytes > 0), self.set.bytes() + new_bytes)
    }
}

/// A region in a transaction.
pub struct Enlisted<'t, 'r, M: RestoreMode> {
    transaction: &'t MemoryTransaction<'r, M>,
    index: u32,
    span: Span,
}

impl<M: RestoreMode> Enlisted<'_, '_, M> {
    /// Says that a range will change, and gives it to be changed. Setting it again, or what overlaps it, costs no log.
    ///
    /// # Errors
    /// [`RangeError`]; nothing has changed then.
    pub fn set_range(&mut self, range: Range<u64>) -> Result<&mut [u8], RangeError> {
        self.transaction.set(self.index, range.clone())?;
        // SAFETY: the transaction has the region to itself as long as it lives, which is longer than `self`; `&mut self` excludes
        // every other reference into the region, since each is borrowed from this, its only, `Enlisted`.
        Ok(unsafe { self.span.bytes_mut(range) })
    }

    /// Sets the range of a value.
    ///
    /// # Errors
    /// [`RangeError`].
    pub fn set<T: Plain>(&mut self, offset: Offset<T>) -> Result<&mut T, RangeError> {
        plain::view_mut(self.set_range(offset.range()?)?, offset)
    }

    /// Sets the range of so many values in a row.
    ///
    /// # Errors
    /// [`RangeError`].
    pub fn set_slice<T: Plain>(&mut self, offset: Offset<T>, count: usize) -> Result<&mut [T], RangeError> {
        plain::view_slice_mut(self.set_range(offset.range_of(count)?)?, offset)
    }

    /// The part of the segment that the region is: offsets in bytes.
    pub fn range(&self) -> Range<u64> {
        self.span.range.clone()
    }

    /// Some bytes as the transaction has left them so far.
    ///
    /// # Errors
    /// [`RangeError::Outside`].
    pub fn read(&self, range: Range<u64>) -> Result<&[u8], RangeError> {
        region::check(&self.span, &range)?;
        // SAFETY: as in `set_range`, shared: a reference that may be written through would borrow `self` exclusively.
        Ok(unsafe { self.span.bytes(range) })
    }

    /// A value as the transaction has left it so far.
    ///
    /// # Errors
    /// [`RangeError::Outside`], [`RangeError::Misaligned`].
    pub fn get<T: Plain>(&self, offset: Offset<T>) -> Result<&T, RangeError> {
        plain::view(self.read(offset.range()?)?, offset)
    }

    /// So many values in a row.
    ///
    /// # Errors
    /// [`RangeError::Outside`], [`RangeError::Misaligned`].
    pub fn get_slice<T: Plain>(&self, offset: Offset<T>, count: usize) -> Result<&[T], RangeError> {
        plain::view_slice(self.read(offset.range_of(count)?)?, offset)
    }
}

impl Memory {
    /// Begins a transaction that can be aborted.
    pub fn begin(&self) -> MemoryTransaction<'_, Restore> {
        MemoryTransaction::new(self.shared())
    }

    /// Begins a transaction that keeps no old values and cannot be aborted.
    pub fn begin_no_restore(&self) -> MemoryTransaction<'_, NoRestore> {
        MemoryTransaction::new(self.shared())
    }
}
