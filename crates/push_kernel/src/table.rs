//! A table in the kernel: an array with one value, which is mapped into this process, too.
//!
//! Invariant: a field is read and written in one step, so a program never sees half a number.

use crate::call::{self, BpfCommand};
use crate::failure::KernelFailure;
use crate::memory::{SharedMemory, page_bytes};
use push::PushTable;
use push::program::PushFieldType;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

const KIND_ARRAY: u32 = 2;
const CAN_BE_MAPPED: u32 = 1 << 10;

/// See the module's description.
#[derive(Debug)]
pub struct KernelTable {
    shape: PushTable,
    descriptor: OwnedFd,
    memory: SharedMemory,
}

impl KernelTable {
    /// Makes a table whose bytes are all 0.
    pub(crate) fn new(shape: &PushTable) -> Result<KernelTable, KernelFailure> {
        let mut arguments = call::MapCreate {
            kind: KIND_ARRAY,
            key_bytes: 4,
            value_bytes: shape.bytes() as u32,
            entries: 1,
            flags: CAN_BE_MAPPED,
        };
        // SAFETY: the arguments have no address.
        let made = unsafe { call::descriptor(BpfCommand::MapCreate, &mut arguments) };
        let descriptor = made.map_err(|why| KernelFailure::of("make a table", why))?;
        let bytes = shape.bytes().next_multiple_of(page_bytes());
        let memory = SharedMemory::map(&descriptor, bytes, 0, true);
        let memory = memory.map_err(|why| KernelFailure::of("map a table", why))?;
        Ok(KernelTable { shape: shape.clone(), descriptor, memory })
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Its rows and fields.
    pub fn shape(&self) -> &PushTable {
        &self.shape
    }

    /// The number in a row's field; 0 if there is no such row or field.
    pub fn read(&self, field: usize, index: u64) -> u64 {
        let Some((shape, offset)) = self.place(field, index) else { return 0 };
        let value = match shape {
            PushFieldType::U8 => self.memory.u8(offset).map(|place| u64::from(place.load(Acquire))),
            PushFieldType::U16 => self.memory.u16(offset).map(|place| u64::from(place.load(Acquire))),
            PushFieldType::U32 => self.memory.u32(offset).map(|place| u64::from(place.load(Acquire))),
            PushFieldType::U64 => self.memory.u64(offset).map(|place| place.load(Acquire)),
        };
        value.unwrap_or_default()
    }

    /// Writes the lowest bytes of a number to a row's field. Says whether there is one.
    pub fn write(&self, field: usize, index: u64, value: u64) -> bool {
        let Some((shape, offset)) = self.place(field, index) else { return false };
        let done = match shape {
            PushFieldType::U8 => self.memory.u8(offset).map(|place| place.store(value as u8, Release)),
            PushFieldType::U16 => self.memory.u16(offset).map(|place| place.store(value as u16, Release)),
            PushFieldType::U32 => self.memory.u32(offset).map(|place| place.store(value as u32, Release)),
            PushFieldType::U64 => self.memory.u64(offset).map(|place| place.store(value, Release)),
        };
        done.is_some()
    }

    /// Puts another number into a row's field of 8 bytes and takes what was there, in one step. `None` if there is none.
    pub fn swap(&self, field: usize, index: u64, value: u64) -> Option<u64> {
        let (shape, offset) = self.place(field, index)?;
        self.memory.u64(offset).filter(|_| shape == PushFieldType::U64).map(|place| place.swap(value, AcqRel))
    }

    fn place(&self, field: usize, index: u64) -> Option<(PushFieldType, usize)> {
        let field = self.shape.fields.get(field).filter(|_| index < self.shape.rows)?;
        let offset = PushTable::COUNT_BYTES + index as usize * self.shape.row_bytes + field.offset;
        Some((field.shape, offset))
    }

    /// Rows in use.
    pub fn count(&self) -> u64 {
        self.memory.u64(0).map_or(0, |count| count.load(Acquire)).min(self.shape.rows)
    }

    /// Says how many rows are in use. What they have must have been written before.
    pub fn set_count(&self, rows: u64) {
        if let Some(count) = self.memory.u64(0) {
            count.store(rows.min(self.shape.rows), Release);
        }
    }

    /// Puts a row behind those in use: one number for each field. Says whether there was room. One thread at a time may do so.
    pub fn add_row(&self, values: &[u64]) -> bool {
        let index = self.count();
        if index >= self.shape.rows {
            return false;
        }
        for (field, value) in values.iter().enumerate() {
            self.write(field, index, *value);
        }
        self.set_count(index + 1);
        true
    }

    /// All its bytes, as the kernel has them.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn bytes(&self) -> Result<Vec<u8>, KernelFailure> {
        let mut bytes = vec![0; self.shape.bytes().next_multiple_of(8)];
        self.element(BpfCommand::MapLookup, bytes.as_mut_ptr(), "read a table")?;
        bytes.truncate(self.shape.bytes());
        Ok(bytes)
    }

    /// Writes all its bytes; what is missing is 0, what is too much is left out. A program may see some before others.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set_bytes(&self, bytes: &[u8]) -> Result<(), KernelFailure> {
        let mut all = bytes.to_vec();
        all.resize(self.shape.bytes().next_multiple_of(8), 0);
        self.element(BpfCommand::MapUpdate, all.as_mut_ptr(), "write a table")
    }

    /// `value` is of at least as many bytes as a value of the map has.
    fn element(&self, command: BpfCommand, value: *mut u8, doing: &'static str) -> Result<(), KernelFailure> {
        let key = 0_u32;
        let mut arguments = call::MapElement {
            map: call::raw(self.descriptor.as_fd()),
            key: call::address(&raw const key),
            value: call::address(value),
            ..Default::default()
        };
        // SAFETY: the key has 4 bytes, and the value those of the table rounded up to 8, as callers make it.
        unsafe { call::bpf(command, &mut arguments) }.map_err(|why| KernelFailure::of(doing, why))?;
        Ok(())
    }
}
