//! The device. See the crate's description for its invariants.

use network_memory::host::remote_log::{LogTerms, RemoteLog, RemoteLogError};
use network_memory::limits::RECORD_BYTES_MAX;
use network_memory::names;
use network_memory::stream::{HEAD_BYTES, StreamPlaces};
use recoverable_memory::device::LogExtent;
use recoverable_memory::{DeviceError, DeviceReceipt, Durability, LogDevice, LogOffset};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::record::DeviceRecord;

/// Bytes of one record; more become several.
const PIECE_BYTES: usize = 4 << 20;
/// What records take beside their bytes, for the bound of the remote log: no more than the bytes themselves, and this.
const OVERHEAD_BYTES: u64 = 64 << 20;

const _: () = assert!(PIECE_BYTES + HEAD_BYTES <= RECORD_BYTES_MAX);

struct DeviceState {
    log: RemoteLog,
    /// All from `start` on.
    bytes: VecDeque<u8>,
    start: LogOffset,
    flushed: LogOffset,
    /// Holds for all below `flushed`.
    receipt: DeviceReceipt,
    /// k: what has a receipt and is not on the disk, so many servers hold.
    copies: u8,
    /// There is a local log.
    has_disk: bool,
    /// The process that has opened it: a child that was forked has the same log, and would write into it unnoticed.
    process: u32,
    /// Which byte each record begins with that has bytes, and where it is in the remote log.
    records: StreamPlaces<LogOffset>,
    failed: bool,
}

/// A log of recoverable memory in the memory of k servers.
pub struct RemoteLogDevice {
    capacity: u64,
    wait: Duration,
    state: Mutex<DeviceState>,
}

impl RemoteLogDevice {
    /// Opens or makes the log as the terms say, for `capacity` bytes of the device. `terms.time` is how long every later call may wait, too.
    ///
    /// # Errors
    /// [`DeviceError::Unavailable`] if the log is not open, or cannot be known; [`DeviceError::NotALog`] if another program has written it.
    pub fn open(terms: LogTerms, capacity: u64) -> Result<RemoteLogDevice, DeviceError> {
        let wait = terms.time;
        let (copies, has_disk) = (terms.copies, terms.folder.is_some());
        let retained_bytes_max = terms.retained_bytes_max.max(2 * capacity + OVERHEAD_BYTES);
        let log = RemoteLog::open(LogTerms { retained_bytes_max, ..terms }).map_err(|error| unavailable(&error))?;
        if let Some(doubt) = log.doubt() {
            let reason =
                format!("what was acknowledged may be missing ({doubt:?}): recoverable memory has no use for a part");
            return Err(DeviceError::Unavailable { reason });
        }
        let mut state = DeviceState {
            log,
            bytes: VecDeque::new(),
            start: LogOffset(0),
            flushed: LogOffset(0),
            receipt: DeviceReceipt::Memory { copies },
            copies,
            has_disk,
            process: std::process::id(),
            records: StreamPlaces::default(),
            failed: false,
        };
        state.replay()?;
        Ok(RemoteLogDevice { capacity, wait, state: Mutex::new(state) })
    }

    fn lock(&self) -> MutexGuard<'_, DeviceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs what must not be tried again once it has failed.
    fn finally<T>(&self, run: impl FnOnce(&mut DeviceState) -> Result<T, RemoteLogError>) -> Result<T, DeviceError> {
        let mut state = self.lock();
        if state.failed {
            return Err(DeviceError::Failed);
        }
        let process = std::process::id();
        if process != state.process {
            let reason = format!(
                "process {process} was forked from process {}, which has the log: open it after the fork, in one process",
                state.process
            );
            return Err(DeviceError::Unavailable { reason });
        }
        run(&mut state).map_err(|error| {
            state.failed = true;
            unavailable(&error)
        })
    }
}

fn unavailable(error: &RemoteLogError) -> DeviceError {
    DeviceError::Unavailable { reason: error.to_string() }
}

impl DeviceState {
    fn end(&self) -> LogOffset {
        self.start.plus(self.bytes.len() as u64)
    }

    /// Reads the remote log from its first record.
    fn replay(&mut self) -> Result<(), DeviceError> {
        let (from, end) = self.log.extent();
        for place in (from.0..end.0).map(names::RecordNumber) {
            let Some(bytes) = self.log.read(place) else { continue };
            let taken = DeviceRecord::decode(&bytes).is_some_and(|record| self.take(place, record));
            if !taken {
                let reason = format!("record {place} of the remote log is none of recoverable memory, or out of order");
                return Err(DeviceError::NotALog { reason });
            }
        }
        // What an opened log has stays in it.
        self.flushed = self.end();
        self.receipt = self.known();
        Ok(())
    }

    /// What is certain of everything that has a receipt.
    fn known(&self) -> DeviceReceipt {
        let status = self.log.status();
        if self.has_disk && status.synced >= status.appended {
            DeviceReceipt::Disk
        } else {
            DeviceReceipt::Memory { copies: self.copies }
        }
    }

    fn take(&mut self, place: names::RecordNumber, record: DeviceRecord<'_>) -> bool {
        match record {
            DeviceRecord::Bytes(position, bytes) => {
                if self.records.is_empty() && self.bytes.is_empty() && self.start <= position {
                    self.start = position;
                }
                if position != self.end() {
                    return false;
                }
                self.bytes.extend(bytes);
                self.records.note(position, place);
            }
            DeviceRecord::Truncate(upto) => {
                if upto > self.end() {
                    // The bytes before were given up together with their records.
                    self.clear(upto);
                }
                self.give_up(upto);
            }
            DeviceRecord::Reset(at) => self.clear(at),
        }
        true
    }

    fn clear(&mut self, at: LogOffset) {
        self.bytes.clear();
        self.records.clear();
        self.start = at;
    }

    /// Gives up bytes, and the records that have no other.
    fn give_up(&mut self, upto: LogOffset) {
        if upto > self.start {
            self.bytes.drain(..upto.since(self.start) as usize);
            self.start = upto;
        }
        self.records.give_up(upto, self.end());
    }

    /// Puts a record into the remote log, waits for its receipt, and gives up what lies before both it and the oldest byte.
    fn mark(&mut self, record: DeviceRecord<'_>, wait: Duration) -> Result<(), RemoteLogError> {
        let place = self.log.append_no_wait(&record.encode())?;
        self.flush(wait)?;
        self.take(place, record);
        self.log.truncate_before(self.records.first().map_or(place, |(_, first)| first.min(place)))
    }

    fn flush(&mut self, wait: Duration) -> Result<(), RemoteLogError> {
        match self.log.flush(wait)? {
            Some(names::RecordReceipt::Memory { copies }) => self.receipt = DeviceReceipt::Memory { copies },
            Some(names::RecordReceipt::Disk) => self.receipt = DeviceReceipt::Disk,
            // It came in the background, and nobody has kept its kind: that of an earlier flush says nothing of these bytes.
            None => self.receipt = self.known(),
        }
        self.flushed = self.end();
        Ok(())
    }
}

impl LogDevice for RemoteLogDevice {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn extent(&self) -> Result<LogExtent, DeviceError> {
        let state = self.lock();
        Ok(LogExtent { start: state.start, flushed: state.flushed.max(state.start), end: state.end() })
    }

    fn append(&self, bytes: &[u8]) -> Result<LogOffset, DeviceError> {
        {
            let state = self.lock();
            let (needed, free) = (bytes.len() as u64, self.capacity.saturating_sub(state.bytes.len() as u64));
            if needed > free && !state.failed {
                return Err(DeviceError::Full { needed, free });
            }
        }
        self.finally(|state| {
            for piece in bytes.chunks(PIECE_BYTES) {
                let position = state.end();
                let place = state.log.append_no_wait(&DeviceRecord::Bytes(position, piece).encode())?;
                state.bytes.extend(piece);
                state.records.note(position, place);
            }
            Ok(state.end())
        })
    }

    fn flush(&self, upto: LogOffset, wanted: Durability) -> Result<DeviceReceipt, DeviceError> {
        self.finally(|state| {
            assert!(upto <= state.end(), "flushing up to {upto}, the log ends at {}", state.end());
            if state.flushed < upto {
                state.flush(self.wait)?;
            }
            if state.receipt.meets(wanted) {
                return Ok(state.receipt);
            }
            state.log.sync(self.wait)?;
            Ok(DeviceReceipt::Disk)
        })
    }

    fn read(&self, from: LogOffset, buffer: &mut [u8]) -> Result<(), DeviceError> {
        let state = self.lock();
        let (bytes, start, end) = (buffer.len() as u64, state.start, state.end());
        if from < start || from.0.checked_add(bytes).is_none_or(|until| until > end.0) {
            return Err(DeviceError::OutOfExtent { from, bytes, start, end });
        }
        let at = from.since(start) as usize;
        for (to, from) in buffer.iter_mut().zip(state.bytes.range(at..)) {
            *to = *from;
        }
        Ok(())
    }

    fn truncate(&self, upto: LogOffset) -> Result<(), DeviceError> {
        self.finally(|state| {
            assert!(state.start <= upto && upto <= state.end(), "truncating at {upto}");
            state.mark(DeviceRecord::Truncate(upto), self.wait)
        })
    }

    fn reset(&self, at: LogOffset) -> Result<(), DeviceError> {
        self.finally(|state| {
            assert!(at >= state.end(), "a reset at {at} would use positions again");
            state.mark(DeviceRecord::Reset(at), self.wait)?;
            state.flushed = at;
            Ok(())
        })
    }
}
