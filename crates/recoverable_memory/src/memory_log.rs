//! A log in memory that stands for one on other hosts with a disk beside: what a flush has covered survives, the rest is lost as a test
//! says. For tests, and the smallest example of a device.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::device::{DeviceError, DeviceReceipt, Durability, LogDevice, LogExtent, LogOffset};

/// The log. Clones are the same log.
#[derive(Clone, Debug)]
pub struct VolatileLog {
    state: Arc<Mutex<MemoryLogState>>,
    capacity: u64,
    copies: u8,
}

#[derive(Debug)]
struct MemoryLogState {
    bytes: Vec<u8>,
    start: LogOffset,
    flushed: LogOffset,
    flushes: u64,
    flushes_max: u64,
    failed: bool,
}

impl MemoryLogState {
    fn end(&self) -> LogOffset {
        self.start.plus(self.bytes.len() as u64)
    }

    fn check(&self) -> Result<(), DeviceError> {
        if self.failed { Err(DeviceError::Failed) } else { Ok(()) }
    }
}

impl VolatileLog {
    /// An empty log of `capacity` bytes with `copies` servers. What they do not suffice for is told to be on disk.
    pub fn new(capacity: u64, copies: u8) -> VolatileLog {
        let (start, flushed) = (LogOffset(0), LogOffset(0));
        let state =
            MemoryLogState { bytes: Vec::new(), start, flushed, flushes: 0, flushes_max: u64::MAX, failed: false };
        VolatileLog { state: Arc::new(Mutex::new(state)), capacity, copies }
    }

    /// Has every flush fail once `flushes` of them have succeeded.
    pub fn fail_after(&self, flushes: u64) {
        self.lock().flushes_max = flushes;
    }

    /// The log as its next user finds it if this one dies now and all but `kept` of the bytes that were not flushed are lost.
    pub fn after_death(&self, kept: usize) -> VolatileLog {
        let state = self.lock();
        let survive = (state.flushed.since(state.start) as usize).saturating_add(kept).min(state.bytes.len());
        let next = VolatileLog::new(self.capacity, self.copies);
        let (start, flushed) = (state.start, state.flushed);
        *next.lock() = MemoryLogState {
            bytes: state.bytes[..survive].to_vec(),
            start,
            flushed,
            flushes: 0,
            flushes_max: u64::MAX,
            failed: false,
        };
        next
    }

    fn lock(&self) -> MutexGuard<'_, MemoryLogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogDevice for VolatileLog {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn extent(&self) -> Result<LogExtent, DeviceError> {
        let state = self.lock();
        Ok(LogExtent { start: state.start, flushed: state.flushed, end: state.end() })
    }

    fn append(&self, bytes: &[u8]) -> Result<LogOffset, DeviceError> {
        let mut state = self.lock();
        state.check()?;
        let (needed, free) = (bytes.len() as u64, self.capacity - state.bytes.len() as u64);
        if needed > free {
            return Err(DeviceError::Full { needed, free });
        }
        state.bytes.extend_from_slice(bytes);
        Ok(state.end())
    }

    fn flush(&self, upto: LogOffset, wanted: Durability) -> Result<DeviceReceipt, DeviceError> {
        let mut state = self.lock();
        state.check()?;
        assert!(upto <= state.end(), "flushing up to {upto}, the log ends at {}", state.end());
        if state.flushes == state.flushes_max {
            state.failed = true;
            return Err(DeviceError::Unavailable { reason: "the simulated servers are gone".to_string() });
        }
        state.flushes += 1;
        state.flushed = state.end();
        let receipt = DeviceReceipt::Memory { copies: self.copies };
        Ok(if receipt.meets(wanted) { receipt } else { DeviceReceipt::Disk })
    }

    fn read(&self, from: LogOffset, buffer: &mut [u8]) -> Result<(), DeviceError> {
        let state = self.lock();
        let bytes = buffer.len() as u64;
        if from < state.start || from.0.checked_add(bytes).is_none_or(|until| until > state.end().0) {
            return Err(DeviceError::OutOfExtent { from, bytes, start: state.start, end: state.end() });
        }
        let at = from.since(state.start) as usize;
        buffer.copy_from_slice(&state.bytes[at..at + buffer.len()]);
        Ok(())
    }

    fn truncate(&self, upto: LogOffset) -> Result<(), DeviceError> {
        let mut state = self.lock();
        state.check()?;
        assert!(state.start <= upto && upto <= state.flushed, "truncating at {upto}");
        let gone = upto.since(state.start) as usize;
        state.bytes.drain(..gone);
        state.start = upto;
        Ok(())
    }

    fn reset(&self, at: LogOffset) -> Result<(), DeviceError> {
        let mut state = self.lock();
        state.check()?;
        assert!(at >= state.end(), "a reset at {at} would use positions again");
        state.bytes.clear();
        (state.start, state.flushed) = (at, at);
        Ok(())
    }
}
