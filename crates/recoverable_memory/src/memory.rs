//! The door: a log, its segments, and what happens between a commit and the disk.
//!
//! A commit is copied to the spool, in memory. The spool becomes a record of the log when somebody flushes, or when it is full; when the
//! log is filled to the threshold, a truncation begins.
//!
//! Locks, in the order in which they are taken: `truncating`, `log`, `spool`. Records stand in the log in the order of their
//! commits, because the spool is emptied only under `log`. Nobody waits for a disk or a network under `log` or `spool`.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use crate::device::{DeviceError, Durability, LogDevice, Position, Receipt};
use crate::disk::DiskFolder;
use crate::error::Error;
use crate::file_log::FileLog;
use crate::files::Folder;
use crate::limits::{
    LOG_BYTES_DEFAULT, LOG_BYTES_MIN, NAME_BYTES_MAX, PAGE_BYTES, RECORD_ALIGNMENT, RECORD_SHARE, SEGMENTS_SHARE,
    SPOOL_BYTES_DEFAULT, TRUNCATE_AT_PERCENT_DEFAULT,
};
use crate::mapping::{Mapping, Registry};
use crate::record::{self, Change, Kind};
use crate::recovery::{OnDamage, Recovered, note_record, recover};
use crate::region::Region;
use crate::spool::{Batch, Spool};
use crate::statistics::{Query, Statistics};
use crate::truncation::Target;

/// The name of the log's file in a folder. No segment can have it.
pub const LOG_NAME: &str = ".log";

/// Who truncates the log when it is filled to the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// A thread, while commits go on.
    Background,
    /// The thread that commits. Then the same calls make the same writes, as a test of crashes needs it.
    Inline,
}

/// How a memory behaves.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The size of a log that is created, in bytes: a multiple of 4,096.
    pub log_bytes: u64,
    /// Committed bytes that may wait in memory to be written to the log.
    pub spool_bytes: usize,
    /// How full the log is when a truncation begins, in percent, 0 to 100.
    pub truncate_at_percent: u8,
    /// Who does it.
    pub truncation: Truncation,
    /// How durable records must be before they are brought to segments.
    pub durability: Durability,
    /// What to do about damage in the log.
    pub on_damage: OnDamage,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            log_bytes: LOG_BYTES_DEFAULT,
            spool_bytes: SPOOL_BYTES_DEFAULT,
            truncate_at_percent: TRUNCATE_AT_PERCENT_DEFAULT,
            truncation: Truncation::Background,
            durability: Durability::Disk,
            on_damage: OnDamage::Refuse,
        }
    }
}

/// Recoverable memory: a log and its segments. May be used by many threads at a time.
///
/// Dropping it writes nothing, like the death of the process: commits that were not flushed are lost. [`Memory::close`] loses
/// nothing.
pub struct Memory {
    shared: Arc<Shared>,
    recovered: Recovered,
    /// The end of the wish for truncations, and the thread that waits for them.
    background: Option<JoinHandle<()>>,
}

/// What the application's threads and the one in the background share.
pub(crate) struct Shared {
    device: Box<dyn LogDevice>,
    folder: Box<dyn Folder>,
    options: Options,
    record_bytes_max: u64,
    registry: Arc<Registry>,
    spool: Mutex<Spool>,
    pub(crate) log: Mutex<Log>,
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
pub(crate) struct Log {
    pub(crate) start: Position,
    pub(crate) end: Position,
    /// The end of the last record of changes.
    pub(crate) changes_end: Position,
    /// Where the pieces begin that a truncation reads at a time.
    pub(crate) starts: Vec<Position>,
    /// By number.
    pub(crate) segments: Vec<Target>,
    capacity: u64,
    /// Bytes that the next list of segments takes, for which there is always room.
    reserve: u64,
    /// A used buffer.
    spare: Vec<u8>,
    pub(crate) counters: Statistics,
}

impl Log {
    fn used(&self) -> u64 {
        self.end.since(self.start)
    }

    /// Whether a record of so many bytes fits beside a list of segments.
    pub(crate) fn has_room(&self, needed: u64) -> bool {
        self.used() + needed + self.reserve <= self.capacity
    }
}

/// Takes a lock whoever panicked with it: nothing under the locks of this crate is left half done by a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    /// Opens the memory in a folder and recovers it.
    ///
    /// # Errors
    /// [`Error::NoLog`] if there is no log; what [`Memory::with_device`] returns.
    pub fn open(folder: &Path, options: Options) -> Result<Memory, Error> {
        let folder = DiskFolder::new(folder).map_err(Error::io("open", "folder"))?;
        match FileLog::open(&folder, LOG_NAME)? {
            Some(log) => Memory::with_device(Box::new(log), Box::new(folder), options),
            None => Err(Error::NoLog { name: LOG_NAME.to_string() }),
        }
    }

    /// Makes an empty log in a folder, which is made too if it is not there, and opens it. To give segments a log of another size,
    /// [`close`](Memory::close) the memory, remove the file [`LOG_NAME`], and call this.
    ///
    /// # Errors
    /// [`Error::Log`] if there is a log already; what [`Memory::with_device`] returns.
    pub fn create(folder: &Path, options: Options) -> Result<Memory, Error> {
        let folder = DiskFolder::new(folder).map_err(Error::io("open", "folder"))?;
        let log = FileLog::create(&folder, LOG_NAME, options.log_bytes)?;
        Memory::with_device(Box::new(log), Box::new(folder), options)
    }

    /// Opens the memory in a folder, or makes one if the folder is empty or not there.
    ///
    /// # Errors
    /// [`Error::NoLog`] if there are files and no log; what [`Memory::with_device`] returns.
    pub fn open_or_create(folder: &Path, options: Options) -> Result<Memory, Error> {
        let disk = DiskFolder::new(folder).map_err(Error::io("open", "folder"))?;
        if disk.is_empty().map_err(Error::io("list", "folder"))? {
            return Memory::create(folder, options);
        }
        Memory::open(folder, options)
    }

    /// Recovers the memory whose log is `device` and whose segments are in `folder`, and opens it.
    ///
    /// # Errors
    /// Those of [`recover`]; [`Error::Option`].
    pub fn with_device(device: Box<dyn LogDevice>, folder: Box<dyn Folder>, options: Options) -> Result<Memory, Error> {
        let capacity = device.capacity();
        check_options(&options, capacity)?;
        let recovered = recover(device.as_ref(), folder.as_ref(), options.on_damage)?;
        let start = device.extent()?.start;
        let log = Log {
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
        let shared = Arc::new(Shared {
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
        });
        let mut memory = Memory { shared, recovered, background: None };
        if options.truncation == Truncation::Background {
            memory.start_background()?;
        }
        Ok(memory)
    }

    /// What opening it has brought back.
    pub fn recovered(&self) -> Recovered {
        self.recovered
    }

    /// Makes a segment: a file of so many bytes, all zeros, in whole pages of [`PAGE_BYTES`]. It is on disk when this returns.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::SegmentExists`], [`Error::NotPages`], and what the folder refuses.
    pub fn create_segment(&self, name: &str, bytes: u64) -> Result<(), Error> {
        self.shared.check()?;
        check_name(name)?;
        if bytes == 0 || !bytes.is_multiple_of(PAGE_BYTES) {
            return Err(Error::NotPages { name: name.to_string(), range: 0..bytes, bytes });
        }
        match self.shared.folder.create(name, bytes, &[]) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(Error::SegmentExists { name: name.to_string() })
            }
            Err(error) => Err(Error::io("create", name)(error)),
        }
    }

    /// The length of a segment in bytes, or `None` if there is no such segment.
    ///
    /// # Errors
    /// What the folder refuses, and [`Error::Name`].
    pub fn segment_bytes(&self, name: &str) -> Result<Option<u64>, Error> {
        check_name(name)?;
        let known = lock(&self.shared.log).segments.iter().find(|segment| **segment.name() == *name).map(Target::bytes);
        if known.is_some() {
            return Ok(known);
        }
        let file = self.shared.folder.open(name).map_err(Error::io("open", name))?;
        file.map(|file| file.bytes()).transpose().map_err(Error::io("look at", name))
    }

    /// Maps a range of a segment: whole pages of [`PAGE_BYTES`], none of which is mapped already. The bytes are read into memory. What
    /// the log holds is brought to the segments first, if it holds anything.
    ///
    /// # Errors
    /// [`Error::NoSegment`], [`Error::NotPages`], [`Error::Mapped`], [`Error::TooManySegments`], and failures of files and log.
    pub fn map(&self, name: &str, range: Range<u64>) -> Result<Region, Error> {
        check_name(name)?;
        let (number, segment) = self.shared.segment(name)?;
        let name = || name.to_string();
        let pages = range.start < range.end
            && range.end <= segment.bytes()
            && range.start.is_multiple_of(PAGE_BYTES)
            && range.end.is_multiple_of(PAGE_BYTES);
        if !pages {
            return Err(Error::NotPages { name: name(), range, bytes: segment.bytes() });
        }
        let registry = &self.shared.registry;
        registry.claim(number, range.clone()).map_err(|range| Error::Mapped { name: name(), range })?;
        let mapping = Mapping::new(number, range.clone(), Arc::clone(registry));
        let mut mapping = mapping.map_err(Error::io("find memory for", segment.name()))?;
        // An earlier region of these pages may have left commits. From here on there are no new ones: the pages are ours.
        self.shared.write_out()?;
        self.shared.truncate()?;
        let read = mapping.fill(|bytes| segment.file().read_at(range.start, bytes));
        read.map_err(Error::io("read", segment.name()))?;
        Ok(Region::new(mapping))
    }

    /// Maps a whole segment.
    ///
    /// # Errors
    /// As [`Memory::map`].
    pub fn map_all(&self, name: &str) -> Result<Region, Error> {
        let bytes = self.segment_bytes(name)?.ok_or_else(|| Error::NoSegment { name: name.to_string() })?;
        self.map(name, 0..bytes)
    }

    /// Makes durable what was committed before, and says by what.
    ///
    /// # Errors
    /// [`Error::Log`], after which the memory has failed: whether the commits are durable will be seen when it is opened again.
    pub fn flush(&self, wanted: Durability) -> Result<Receipt, Error> {
        self.shared.flush(wanted)
    }

    /// Brings what is committed to the segments now, and empties the log.
    ///
    /// # Errors
    /// Of log and segments, after which the memory has failed.
    pub fn truncate(&self) -> Result<(), Error> {
        self.shared.write_out()?;
        self.shared.truncate()
    }

    /// Flushes, brings everything to the segments, and closes the memory.
    ///
    /// # Errors
    /// Of log and segments. Nothing that was durable is lost by it.
    pub fn close(self) -> Result<(), Error> {
        self.truncate()
    }

    /// What it is doing.
    pub fn query(&self) -> Query {
        let shared = &self.shared;
        let log = lock(&shared.log);
        let name = |number: u32| log.segments[number as usize].name().to_string();
        Query {
            regions: shared.registry.mapped().into_iter().map(|(number, range)| (name(number), range)).collect(),
            transactions_live: shared.live.load(Ordering::Relaxed),
            transactions_spooled: lock(&shared.spool).transactions() as u64,
            log_bytes_used: log.used(),
            log_bytes_capacity: log.capacity,
            log_end: log.end,
            log_flushed: Position(shared.flushed.load(Ordering::Acquire)),
        }
    }

    /// What it has done.
    pub fn statistics(&self) -> Statistics {
        let log = lock(&self.shared.log);
        let spool = lock(&self.shared.spool).counters;
        Statistics {
            transactions_committed: spool.transactions,
            transactions_aborted: self.shared.aborted.load(Ordering::Relaxed),
            bytes_set: spool.bytes_set,
            bytes_committed: spool.bytes_committed,
            transactions_coalesced: spool.transactions_coalesced,
            bytes_coalesced: spool.bytes_coalesced,
            ..log.counters
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    fn start_background(&mut self) -> Result<(), Error> {
        let (sender, wishes) = mpsc::sync_channel(1);
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("truncation".to_string());
        let thread = thread.spawn(move || truncate_on_demand(&shared, &wishes));
        self.background = Some(thread.map_err(Error::io("start", "the thread that truncates"))?);
        *lock(&self.shared.wake) = Some(sender);
        Ok(())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        *lock(&self.shared.wake) = None;
        // A panic of the thread has made the memory fail.
        let _ = self.background.take().map(JoinHandle::join);
    }
}

fn truncate_on_demand(shared: &Shared, wishes: &Receiver<()>) {
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

fn check_options(options: &Options, capacity: u64) -> Result<(), Error> {
    let percent = u64::from(options.truncate_at_percent);
    if percent > 100 {
        return Err(Error::Option { name: "truncate_at_percent", value: percent, expected: "0 to 100" });
    }
    if capacity < LOG_BYTES_MIN {
        return Err(Error::Option { name: "log_bytes", value: capacity, expected: "4,096 or more" });
    }
    Ok(())
}

/// Names are files of one folder, on any file system, and never the log's.
fn check_name(name: &str) -> Result<(), Error> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(Error::Name { name: name.to_string() })
}

impl Shared {
    pub(crate) fn device(&self) -> &dyn LogDevice {
        self.device.as_ref()
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// The most bytes that the record of a transaction may take.
    pub(crate) fn record_bytes_max(&self) -> u64 {
        self.record_bytes_max
    }

    /// Whether the mapping is one of this memory.
    pub(crate) fn mapped(&self, mapping: &Mapping) -> bool {
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
        changes: impl Iterator<Item = Change<'a>>,
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
    pub(crate) fn write_out(&self) -> Result<Position, Error> {
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
                    let Batch { mut buffer, transactions } = spool.take(std::mem::take(&mut log.spare));
                    drop(spool);
                    self.append(&mut log, &mut buffer, Kind::Changes, transactions)?;
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
    fn append(&self, log: &mut Log, buffer: &mut [u8], kind: Kind, transactions: u32) -> Result<(), Error> {
        let flushed = Position(self.flushed.load(Ordering::Acquire));
        record::seal(buffer, kind, log.end, flushed, transactions);
        let end = self.device.append(buffer).map_err(|error| self.fail(error.into()))?;
        assert_eq!(end, log.end.plus(buffer.len() as u64), "the log device has another end of the log");
        note_record(&mut log.starts, log.end..end);
        log.end = end;
        log.counters.records += 1;
        log.counters.log_bytes += buffer.len() as u64;
        Ok(())
    }

    /// Appends the list of segments, for which there is room.
    pub(crate) fn append_segments(&self, log: &mut Log) -> Result<(), Error> {
        let mut buffer = record::segments_buffer(log.segments.iter().map(|segment| &**segment.name()));
        self.append(log, &mut buffer, Kind::Segments, 0)
    }

    /// The number of a segment, which gets one if it has none: then the log says so before any change of it.
    fn segment(&self, name: &str) -> Result<(u32, Target), Error> {
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
                    let segment = Target::new(name, file)?;
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
    pub(crate) fn flush(&self, wanted: Durability) -> Result<Receipt, Error> {
        let end = self.write_out()?;
        self.flush_upto(end, wanted)
    }

    pub(crate) fn flush_upto(&self, end: Position, wanted: Durability) -> Result<Receipt, Error> {
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
