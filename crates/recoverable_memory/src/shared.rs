//! What happens between a commit and the disk, in the threads of the application and in the one that truncates.
//!
//! A commit is copied to the spool, in memory. The spool becomes a record of the log when somebody flushes, or when it is full; when the
//! log is filled to the threshold, a truncation begins.
//!
//! Locks, in the order in which they are taken: `truncating`, `log`, `spool`. Records stand in the log in the order of their
//! commits, because the spool is emptied only under `log`. Nobody waits for a sync or a network under `log` or `spool`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use crate::device::{DeviceError, DeviceReceipt, Durability, LogDevice, LogOffset};
use crate::error::Error;
use crate::files::FileFolder;
use crate::limits::{NAME_BYTES_MAX, RECORD_ALIGNMENT, RECORD_SHARE, SEGMENTS_SHARE};
use crate::mapping::{Registry, SegmentMapping};
use crate::options::{RecoverableMemoryOptions, Truncation};
use crate::pieces::note_record;
use crate::record::{self, RecordKind, SegmentChange};
use crate::spool::{RecordBatch, Spool};
use crate::statistics::{MemoryState, Statistics};
use crate::truncation::TruncatedSegment;

/// What the application's threads and the one in the background share.
pub(crate) struct MemoryShared {
    device: Box<dyn LogDevice>,
    folder: Box<dyn FileFolder>,
    options: RecoverableMemoryOptions,
    record_bytes_max: u64,
    registry: Arc<Registry>,
    spool: Mutex<Spool>,
    pub(crate) log: Mutex<WrittenLog>,
    /// Held by whoever truncates.
    pub(crate) truncating: Mutex<()>,
    /// All below is durable.
    flushed: AtomicU64,
    /// The first failure. From then on nothing is done.
    failure: OnceLock<String>,
    live: AtomicU64,
    aborted: AtomicU64,
    /// Wakes the thread in the background; gone when it is to end.
    wake: Mutex<Option<SyncSender<()>>>,
    /// It has been woken and has not looked yet.
    awake: AtomicBool,
}

/// The log as far as it is written. `start <= changes_end <= end`, or there are no changes and `changes_end` is below `start`.
pub(crate) struct WrittenLog {
    pub(crate) start: LogOffset,
    pub(crate) end: LogOffset,
    /// The end of the last record of changes.
    pub(crate) changes_end: LogOffset,
    /// Where the pieces begin that a truncation reads at a time.
    pub(crate) starts: Vec<LogOffset>,
    /// By number.
    pub(crate) segments: Vec<TruncatedSegment>,
    capacity: u64,
    /// Bytes that the next list of segments takes, for which there is always room.
    reserve: u64,
    /// A used buffer.
    spare: Vec<u8>,
    pub(crate) counters: Statistics,
}

impl WrittenLog {
    fn used(&self) -> u64 {
        self.end.since(self.start)
    }

    /// Whether a record of so many bytes fits beside a list of segments.
    pub(crate) fn has_room(&self, needed: u64) -> bool {
        self.used() + needed + self.reserve <= self.capacity
    }
}

/// Takes a lock whoever panicked with it. [`MemoryShared::check`] sees to it that nothing is built on what that may have left half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryShared {
    /// A memory whose log is empty and begins at `start`.
    pub(crate) fn new(
        device: Box<dyn LogDevice>,
        folder: Box<dyn FileFolder>,
        options: RecoverableMemoryOptions,
        start: LogOffset,
    ) -> MemoryShared {
        let capacity = device.capacity();
        let log = WrittenLog {
            start,
            end: start,
            changes_end: start,
            starts: Vec::new(),
            segments: Vec::new(),
            capacity,
            reserve: 0,
            spare: Vec::new(),
            counters: Statistics::default(),
        };
        MemoryShared {
            device,
            folder,
            options,
            record_bytes_max: capacity / RECORD_SHARE / RECORD_ALIGNMENT * RECORD_ALIGNMENT,
            registry: Arc::default(),
            spool: Mutex::new(Spool::new()),
            log: Mutex::new(log),
            truncating: Mutex::new(()),
            flushed: AtomicU64::new(start.0),
            failure: OnceLock::new(),
            live: AtomicU64::new(0),
            aborted: AtomicU64::new(0),
            wake: Mutex::new(None),
            awake: AtomicBool::new(false),
        }
    }

    pub(crate) fn query(&self) -> MemoryState {
        let log = lock(&self.log);
        let name = |number: u32| log.segments[number as usize].name().to_string();
        MemoryState {
            regions: self.registry.mapped().into_iter().map(|(number, range)| (name(number), range)).collect(),
            transactions_live: self.live.load(Ordering::Relaxed),
            transactions_spooled: lock(&self.spool).transactions() as u64,
            log_bytes_used: log.used(),
            log_bytes_capacity: log.capacity,
            log_end: log.end,
            log_flushed: LogOffset(self.flushed.load(Ordering::Acquire)),
        }
    }

    pub(crate) fn statistics(&self) -> Statistics {
        let log = lock(&self.log);
        let spool = lock(&self.spool).counters;
        Statistics {
            transactions_committed: spool.transactions,
            transactions_aborted: self.aborted.load(Ordering::Relaxed),
            bytes_set: spool.bytes_set,
            bytes_committed: spool.bytes_committed,
            transactions_coalesced: spool.transactions_coalesced,
            bytes_coalesced: spool.bytes_coalesced,
            ..log.counters
        }
    }

    /// Says how the thread in the background is woken; `None` ends it.
    pub(crate) fn wake_by(&self, wake: Option<SyncSender<()>>) {
        *lock(&self.wake) = wake;
    }

    pub(crate) fn folder(&self) -> &dyn FileFolder {
        self.folder.as_ref()
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    pub(crate) fn device(&self) -> &dyn LogDevice {
        self.device.as_ref()
    }

    pub(crate) fn options(&self) -> &RecoverableMemoryOptions {
        &self.options
    }

    /// The most bytes that the record of a transaction may take.
    pub(crate) fn record_bytes_max(&self) -> u64 {
        self.record_bytes_max
    }

    /// Whether the mapping is one of this memory.
    pub(crate) fn mapped(&self, mapping: &SegmentMapping) -> bool {
        Arc::ptr_eq(mapping.registry(), &self.registry)
    }

    pub(crate) fn begun(&self) {
        self.live.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn ended(&self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn aborted(&self) {
        self.ended();
        self.aborted.fetch_add(1, Ordering::Relaxed);
    }

    /// The failure, if there was one.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.log.is_poisoned() || self.spool.is_poisoned() {
            let _ = self.failure.set("a thread has panicked while it wrote to the log".to_string());
        }
        match self.failure.get() {
            None => Ok(()),
            Some(reason) => Err(Error::Failed { reason: reason.clone() }),
        }
    }

    /// Notes a failure after which nothing may be done.
    pub(crate) fn fail(&self, error: Error) -> Error {
        let _ = self.failure.set(error.to_string());
        error
    }

    /// Memory holds changes of a transaction that has neither committed nor been undone.
    pub(crate) fn abandon(&self) -> Error {
        let reason = "a transaction was given up with its changes still in memory".to_string();
        let _ = self.failure.set(reason.clone());
        Error::Failed { reason }
    }

    /// Adds a transaction to the spool; its record alone would take at most `record_bytes`.
    pub(crate) fn commit<'a>(
        &self,
        changes: impl Iterator<Item = SegmentChange<'a>>,
        record_bytes: u64,
        bytes_set: u64,
    ) -> Result<(), Error> {
        let spool_bytes_max = self.record_bytes_max.min(self.options.spool_bytes as u64);
        loop {
            self.check()?;
            {
                let mut spool = lock(&self.spool);
                let fits =
                    |spool: &Spool, bytes_max| spool.is_empty() || spool.record_bytes() + record_bytes <= bytes_max;
                // Coalescing pays if half of the spool is free after it: then it need not be done again soon.
                if fits(&spool, spool_bytes_max) || {
                    spool.coalesce();
                    fits(&spool, spool_bytes_max / 2)
                } {
                    spool.push(changes, bytes_set);
                    return Ok(());
                }
            }
            self.write_out()?;
        }
    }

    /// Makes the spool a record of the log, if there is anything in it. Returns the end of the log.
    pub(crate) fn write_out(&self) -> Result<LogOffset, Error> {
        loop {
            let needed = {
                let mut log = lock(&self.log);
                self.check()?;
                let mut spool = lock(&self.spool);
                if spool.is_empty() {
                    return Ok(log.end);
                }
                spool.coalesce();
                let needed = spool.record_bytes();
                if log.has_room(needed) {
                    let RecordBatch { mut buffer, transactions } = spool.take(std::mem::take(&mut log.spare));
                    drop(spool);
                    self.append(&mut log, &mut buffer, RecordKind::Changes, transactions)?;
                    log.changes_end = log.end;
                    buffer.shrink_to(self.options.spool_bytes);
                    log.spare = buffer;
                    let end = log.end;
                    let full = log.used() * 100 > log.capacity * u64::from(self.options.truncate_at_percent);
                    drop(log);
                    if full {
                        self.want_truncation()?;
                    }
                    return Ok(end);
                }
                needed
            };
            self.make_room(needed)?;
        }
    }

    fn want_truncation(&self) -> Result<(), Error> {
        match self.options.truncation {
            Truncation::Inline => self.truncate(),
            Truncation::Background => {
                if !self.awake.swap(true, Ordering::AcqRel)
                    && let Some(wake) = &*lock(&self.wake)
                {
                    // A wish that is already there is enough.
                    let _ = wake.try_send(());
                }
                Ok(())
            }
        }
    }

    /// Appends a record whose body is in `buffer` behind room for a header.
    fn append(
        &self,
        log: &mut WrittenLog,
        buffer: &mut [u8],
        kind: RecordKind,
        transactions: u32,
    ) -> Result<(), Error> {
        let flushed = LogOffset(self.flushed.load(Ordering::Acquire));
        record::seal(buffer, kind, log.end, flushed, transactions);
        let end = self.device.append(buffer).map_err(|error| self.fail(error.into()))?;
        let expected = log.end.plus(buffer.len() as u64);
        if end != expected {
            let reason = format!("it ends at {end} instead of {expected}: somebody else has written to it");
            return Err(self.fail(DeviceError::Unavailable { reason }.into()));
        }
        note_record(&mut log.starts, log.end..end);
        log.end = end;
        log.counters.records += 1;
        log.counters.log_bytes += buffer.len() as u64;
        Ok(())
    }

    /// Appends the list of segments, for which there is room.
    pub(crate) fn append_segments(&self, log: &mut WrittenLog) -> Result<(), Error> {
        let mut buffer = record::segments_buffer(log.segments.iter().map(|segment| &**segment.name()));
        self.append(log, &mut buffer, RecordKind::Segments, 0)
    }

    /// The number of a segment, which gets one if it has none: then the log says so before any change of it.
    pub(crate) fn segment(&self, name: &str) -> Result<(u32, TruncatedSegment), Error> {
        loop {
            let needed = {
                let mut log = lock(&self.log);
                self.check()?;
                let known = log.segments.iter().position(|segment| **segment.name() == *name);
                if let Some(index) = known {
                    return Ok((index as u32, log.segments[index].clone()));
                }
                let bytes = record::segments_bytes(log.segments.iter().map(|segment| &**segment.name()).chain([name]));
                let bytes_max = log.capacity / SEGMENTS_SHARE;
                if bytes > bytes_max {
                    return Err(Error::TooManySegments { bytes, bytes_max });
                }
                // For the list itself, and for the one of the next truncation.
                if log.has_room(2 * bytes) {
                    let file = self.folder.open(name).map_err(Error::io("open", name))?;
                    let file = file.ok_or_else(|| Error::NoSegment { name: name.to_string() })?;
                    let segment = TruncatedSegment::new(name, file)?;
                    log.segments.push(segment.clone());
                    log.reserve = bytes;
                    self.append_segments(&mut log)?;
                    return Ok((log.segments.len() as u32 - 1, segment));
                }
                2 * bytes
            };
            self.make_room(needed)?;
        }
    }

    /// Makes durable what was committed before.
    pub(crate) fn flush(&self, wanted: Durability) -> Result<DeviceReceipt, Error> {
        let end = self.write_out()?;
        self.flush_upto(end, wanted)
    }

    pub(crate) fn flush_upto(&self, end: LogOffset, wanted: Durability) -> Result<DeviceReceipt, Error> {
        self.check()?;
        let begin = Instant::now();
        let receipt = self.device.flush(end, wanted).map_err(|error| self.fail(error.into()))?;
        if !receipt.meets(wanted) {
            let reason = format!("it has flushed to {receipt} where {wanted:?} was wanted");
            return Err(self.fail(DeviceError::Unavailable { reason }.into()));
        }
        self.flushed.fetch_max(end.0, Ordering::AcqRel);
        let us = u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX);
        let counters = &mut lock(&self.log).counters;
        counters.flushes += 1;
        counters.flush_us_last = us;
        counters.flush_us_max = counters.flush_us_max.max(us);
        counters.flush_us_total += us;
        Ok(receipt)
    }
}

/// The thread in the background.
pub(crate) fn truncate_on_demand(shared: &MemoryShared, wishes: &Receiver<()>) {
    // Nobody is to go on with a memory whose truncation has died.
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        while wishes.recv().is_ok() {
            shared.awake.store(false, Ordering::Release);
            // Whoever commits next is told.
            if shared.truncate().is_err() {
                return;
            }
        }
    }));
    if result.is_err() {
        let _ = shared.failure.set("the thread that truncates has panicked".to_string());
    }
}

/// Names are files of one folder, on any file system, and never the log's.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(Error::Name { name: name.to_string() })
}
