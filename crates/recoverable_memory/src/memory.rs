//! The door: opens a log with its segments, maps regions, flushes, truncates, tells what it is doing.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use crate::device::{DeviceReceipt, Durability, LogDevice};
use crate::disk::DiskFolder;
use crate::error::Error;
use crate::file_log::FileLog;
use crate::files::FileFolder;
use crate::limits::PAGE_BYTES;
use crate::mapping::SegmentMapping;
use crate::options::{RecoverableMemoryOptions, Truncation, check_options};
use crate::recovery::{RecoveryReport, recover};
use crate::region::Region;
use crate::shared::{MemoryShared, check_name, lock, truncate_on_demand};
use crate::statistics::{MemoryState, Statistics};
use crate::truncation::TruncatedSegment;

/// The name of the log's file in a folder. No segment can have it.
pub const LOG_NAME: &str = ".log";

/// Recoverable memory: a log and its segments. May be used by many threads at a time.
///
/// Dropping it writes nothing, like the death of the process: commits that were not flushed are lost. [`Memory::close`] loses
/// nothing.
pub struct Memory {
    shared: Arc<MemoryShared>,
    recovered: RecoveryReport,
    /// The end of the wish for truncations, and the thread that waits for them.
    background: Option<JoinHandle<()>>,
}

impl Memory {
    /// Opens the memory in a folder and recovers it.
    ///
    /// # Errors
    /// [`Error::NoLog`] if there is no log; what [`Memory::with_device`] returns.
    pub fn open(folder: &Path, options: RecoverableMemoryOptions) -> Result<Memory, Error> {
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
    pub fn create(folder: &Path, options: RecoverableMemoryOptions) -> Result<Memory, Error> {
        let folder = DiskFolder::new(folder).map_err(Error::io("open", "folder"))?;
        let log = FileLog::create(&folder, LOG_NAME, options.log_bytes)?;
        Memory::with_device(Box::new(log), Box::new(folder), options)
    }

    /// Opens the memory in a folder, or makes one if the folder is empty or not there.
    ///
    /// # Errors
    /// [`Error::NoLog`] if there are files and no log; what [`Memory::with_device`] returns.
    pub fn open_or_create(folder: &Path, options: RecoverableMemoryOptions) -> Result<Memory, Error> {
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
    pub fn with_device(
        device: Box<dyn LogDevice>,
        folder: Box<dyn FileFolder>,
        options: RecoverableMemoryOptions,
    ) -> Result<Memory, Error> {
        check_options(&options, device.capacity())?;
        let recovered = recover(device.as_ref(), folder.as_ref(), options.on_damage)?;
        let start = device.extent()?.start;
        let shared = Arc::new(MemoryShared::new(device, folder, options, start));
        let mut memory = Memory { shared, recovered, background: None };
        if options.truncation == Truncation::Background {
            memory.start_background()?;
        }
        Ok(memory)
    }

    /// What opening it has brought back.
    pub fn recovered(&self) -> RecoveryReport {
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
        match self.shared.folder().create(name, bytes, &[]) {
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
        let known = lock(&self.shared.log)
            .segments
            .iter()
            .find(|segment| **segment.name() == *name)
            .map(TruncatedSegment::bytes);
        if known.is_some() {
            return Ok(known);
        }
        let file = self.shared.folder().open(name).map_err(Error::io("open", name))?;
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
        let registry = self.shared.registry();
        registry.claim(number, range.clone()).map_err(|range| Error::Mapped { name: name(), range })?;
        let mapping = SegmentMapping::new(number, range.clone(), Arc::clone(registry));
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
    pub fn flush(&self, wanted: Durability) -> Result<DeviceReceipt, Error> {
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
    pub fn query(&self) -> MemoryState {
        self.shared.query()
    }

    /// What it has done.
    pub fn statistics(&self) -> Statistics {
        self.shared.statistics()
    }

    pub(crate) fn shared(&self) -> &MemoryShared {
        &self.shared
    }

    fn start_background(&mut self) -> Result<(), Error> {
        let (sender, wishes) = mpsc::sync_channel(1);
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("truncation".to_string());
        let thread = thread.spawn(move || truncate_on_demand(&shared, &wishes));
        self.background = Some(thread.map_err(Error::io("start", "the thread that truncates"))?);
        self.shared.wake_by(Some(sender));
        Ok(())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.shared.wake_by(None);
        // A panic of the thread has made the memory fail.
        let _ = self.background.take().map(JoinHandle::join);
    }
}
