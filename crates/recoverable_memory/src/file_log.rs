//! A log in one file of fixed size, used round and round. All numbers little-endian:
//!
//! | bytes | content |
//! |---|---|
//! | 4,096 | status |
//! | 4,096 | the same status again |
//! | capacity | byte `p` of the log at `p` modulo capacity |
//!
//! A status is `RVMLOG1\0` (magic and version), the capacity (8), the number of the status (8), the start of the log (8), CRC-32 of these
//! 32 bytes (4), zeros.
//!
//! Invariants:
//! * a status is written to its first place and synced, then to its second and synced. So one of them is whole at any time, and
//!   once that is done either may rot;
//! * room before the start is used again only when the status that says so is on disk.
//!
//! What was synced is noted nowhere but in the records themselves: each says how far the log was durable when it was made. A note at
//! the front would make every commit write to two places of the disk, and after a loss of power it would be missing anyway.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::device::{DeviceError, DeviceReceipt, Durability, LogDevice, LogExtent, LogOffset};
use crate::files::{FileFolder, FixedFile};
use crate::limits::{BLOCK_BYTES, LOG_BYTES_MAX, LOG_BYTES_MIN, POSITION_END};

const STATUS_MAGIC: [u8; 8] = *b"RVMLOG1\0";
const STATUS_OFFSETS: [u64; 2] = [0, BLOCK_BYTES];
/// Where the bytes of the log begin in the file.
const DATA_OFFSET: u64 = 2 * BLOCK_BYTES;

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct FileLogStatus {
    magic: [u8; 8],
    capacity: U64,
    number: U64,
    start: U64,
    checksum: U32,
}

impl FileLogStatus {
    fn new(capacity: u64, number: u64, start: LogOffset) -> FileLogStatus {
        let mut status = FileLogStatus {
            magic: STATUS_MAGIC,
            capacity: capacity.into(),
            number: number.into(),
            start: start.0.into(),
            checksum: 0.into(),
        };
        status.checksum = status.sum().into();
        status
    }

    fn sum(&self) -> u32 {
        crc32fast::hash(&self.as_bytes()[..32])
    }

    fn is_sound(&self) -> bool {
        self.magic == STATUS_MAGIC
            && self.checksum == self.sum()
            && self.start < POSITION_END
            && is_capacity(self.capacity.get())
    }
}

fn is_capacity(bytes: u64) -> bool {
    (LOG_BYTES_MIN..=LOG_BYTES_MAX).contains(&bytes) && bytes.is_multiple_of(LOG_BYTES_MIN)
}

/// A log in a file. Dropping it syncs nothing.
pub struct FileLog {
    file: Arc<dyn FixedFile>,
    capacity: u64,
    ends: Mutex<Ends>,
    sync: Mutex<Sync>,
    /// Beside the lock, because an append does not wait for a sync.
    failed: AtomicBool,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    start: LogOffset,
    end: LogOffset,
}

/// What only one thread at a time does; the others wait for it and find their bytes synced with its own.
#[derive(Debug)]
struct Sync {
    synced: LogOffset,
    status: u64,
}

impl FileLog {
    /// Makes a log file of `capacity` bytes of records: a multiple of 4,096 from [`LOG_BYTES_MIN`] to [`LOG_BYTES_MAX`].
    ///
    /// # Errors
    /// [`DeviceError::NotALog`] for a capacity that is none, and what the folder refuses.
    pub fn create(folder: &dyn FileFolder, name: &str, capacity: u64) -> Result<FileLog, DeviceError> {
        if !is_capacity(capacity) {
            let reason = format!(
                "a log of {capacity} bytes is not possible: choose a multiple of {LOG_BYTES_MIN} up to {LOG_BYTES_MAX}"
            );
            return Err(DeviceError::NotALog { reason });
        }
        let mut head = vec![0; DATA_OFFSET as usize];
        let status = FileLogStatus::new(capacity, 0, LogOffset(0));
        for offset in STATUS_OFFSETS {
            put(&mut head, offset, status.as_bytes());
        }
        let file = folder.create(name, DATA_OFFSET + capacity, &head).map_err(DeviceError::io("create"))?;
        Ok(FileLog::of(file, &status))
    }

    /// Opens a log file, or says that there is none.
    ///
    /// # Errors
    /// [`DeviceError::NotALog`] if the file is not one or both copies of its status are damaged.
    pub fn open(folder: &dyn FileFolder, name: &str) -> Result<Option<FileLog>, DeviceError> {
        let Some(file) = folder.open(name).map_err(DeviceError::io("open"))? else { return Ok(None) };
        let bytes = file.bytes().map_err(DeviceError::io("look at"))?;
        let not_a_log = |reason: String| DeviceError::NotALog { reason };
        if bytes < DATA_OFFSET {
            return Err(not_a_log(format!("{name} has {bytes} bytes, which is too short for a log: put the log back")));
        }
        let read = |offset| {
            let mut block = [0; size_of::<FileLogStatus>()];
            file.read_at(offset, &mut block).map(|()| block).map_err(DeviceError::io("read"))
        };
        let mut statuses = Vec::new();
        for offset in STATUS_OFFSETS {
            statuses.extend(FileLogStatus::read_from_bytes(&read(offset)?).ok().filter(FileLogStatus::is_sound));
        }
        let Some(status) = statuses.into_iter().max_by_key(|status| status.number.get()) else {
            return Err(not_a_log(format!(
                "{name} is no log of this program, or both copies of its status are damaged"
            )));
        };
        if bytes != DATA_OFFSET + status.capacity.get() {
            let expected = DATA_OFFSET + status.capacity.get();
            return Err(not_a_log(format!(
                "{name} has {bytes} bytes instead of {expected}: a part of the log is gone"
            )));
        }
        Ok(Some(FileLog::of(file, &status)))
    }

    fn of(file: Arc<dyn FixedFile>, status: &FileLogStatus) -> FileLog {
        let (start, capacity) = (LogOffset(status.start.get()), status.capacity.get());
        let ends = Mutex::new(Ends { start, end: start.plus(capacity) });
        let sync = Mutex::new(Sync { synced: start, status: status.number.get() });
        FileLog { file, capacity, ends, sync, failed: AtomicBool::new(false) }
    }

    fn ends(&self) -> MutexGuard<'_, Ends> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sync(&self) -> MutexGuard<'_, Sync> {
        self.sync.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pieces of `length` bytes at a position, each whole in the file: its offset there, and which of the bytes it is.
    fn pieces(&self, from: LogOffset, length: usize) -> [(u64, std::ops::Range<usize>); 2] {
        let at = from.0 % self.capacity;
        let first = length.min(usize::try_from(self.capacity - at).unwrap_or(usize::MAX));
        [(DATA_OFFSET + at, 0..first), (DATA_OFFSET, first..length)]
    }

    /// Runs what must not be tried again once it has failed.
    fn finally<T>(&self, action: &'static str, run: impl FnOnce() -> std::io::Result<T>) -> Result<T, DeviceError> {
        if self.failed.load(Ordering::Acquire) {
            return Err(DeviceError::Failed);
        }
        run().map_err(|source| {
            self.failed.store(true, Ordering::Release);
            DeviceError::Io { action, source }
        })
    }

    fn write_status(&self, sync: &mut Sync, start: LogOffset) -> std::io::Result<()> {
        sync.status += 1;
        let status = FileLogStatus::new(self.capacity, sync.status, start);
        for offset in STATUS_OFFSETS {
            self.file.write_at(offset, status.as_bytes())?;
            self.file.sync()?;
        }
        Ok(())
    }
}

fn put(head: &mut [u8], offset: u64, bytes: &[u8]) {
    let offset = offset as usize;
    head[offset..offset + bytes.len()].copy_from_slice(bytes);
}

impl LogDevice for FileLog {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn extent(&self) -> Result<LogExtent, DeviceError> {
        let Ends { start, end } = *self.ends();
        Ok(LogExtent { start, flushed: self.sync().synced.max(start), end })
    }

    fn append(&self, bytes: &[u8]) -> Result<LogOffset, DeviceError> {
        let Ends { start, end } = *self.ends();
        let (needed, free) = (bytes.len() as u64, self.capacity - end.since(start));
        if needed > free {
            return Err(DeviceError::Full { needed, free });
        }
        self.finally("append to", || {
            let pieces = self.pieces(end, bytes.len()).into_iter().filter(|(_, piece)| !piece.is_empty());
            pieces.into_iter().try_for_each(|(offset, piece)| self.file.write_at(offset, &bytes[piece]))
        })?;
        let end = end.plus(needed);
        self.ends().end = end;
        Ok(end)
    }

    fn flush(&self, upto: LogOffset, _wanted: Durability) -> Result<DeviceReceipt, DeviceError> {
        let mut sync = self.sync();
        self.finally("sync", || {
            if sync.synced < upto {
                let end = self.ends().end;
                self.file.sync()?;
                sync.synced = end;
            }
            Ok(DeviceReceipt::Disk)
        })
    }

    fn read(&self, from: LogOffset, buffer: &mut [u8]) -> Result<(), DeviceError> {
        let Ends { start, end } = *self.ends();
        let bytes = buffer.len() as u64;
        if from < start || from.0.checked_add(bytes).is_none_or(|until| until > end.0) {
            return Err(DeviceError::OutOfExtent { from, bytes, start, end });
        }
        for (offset, piece) in self.pieces(from, buffer.len()).into_iter().filter(|(_, piece)| !piece.is_empty()) {
            self.file.read_at(offset, &mut buffer[piece]).map_err(DeviceError::io("read"))?;
        }
        Ok(())
    }

    fn truncate(&self, upto: LogOffset) -> Result<(), DeviceError> {
        let Ends { start, end } = *self.ends();
        assert!(start <= upto && upto <= end, "truncating {start} to {end} at {upto}");
        let mut sync = self.sync();
        self.finally("truncate", || self.write_status(&mut sync, upto))?;
        self.ends().start = upto;
        Ok(())
    }

    fn reset(&self, at: LogOffset) -> Result<(), DeviceError> {
        assert!(at >= self.ends().end, "a reset at {at} would use positions again");
        let mut sync = self.sync();
        self.finally("reset", || {
            self.write_status(&mut sync, at)?;
            sync.synced = at;
            Ok(())
        })?;
        *self.ends() = Ends { start: at, end: at };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::SimulatedDisk;

    /// If this fails, a second sync passes for the success of the first, whose bytes the kernel has dropped.
    #[test]
    fn a_failure_is_final() {
        for fails in 0..3 {
            let disk = SimulatedDisk::new();
            let log = FileLog::create(&disk, "log", LOG_BYTES_MIN).unwrap();
            log.reset(log.extent().unwrap().end).unwrap();
            let end = log.append(&[1; 8]).unwrap();
            log.flush(end, Durability::Disk).unwrap();
            let next = log.append(&[2; 8]).unwrap();
            // The sync of a flush; those of a truncation, each after a write.
            disk.fail_sync_at(disk.steps().len() + [0, 1, 3][fails]);
            let failed = if fails == 0 { log.flush(next, Durability::Disk).map(drop) } else { log.truncate(end) };
            assert!(matches!(failed, Err(DeviceError::Io { .. })), "{failed:?}");
            assert!(matches!(log.flush(next, Durability::Disk), Err(DeviceError::Failed)));
            assert!(matches!(log.append(&[3; 8]), Err(DeviceError::Failed)));
            assert!(matches!(log.truncate(end), Err(DeviceError::Failed)));
            assert!(matches!(log.reset(next), Err(DeviceError::Failed)));
        }
    }
}
