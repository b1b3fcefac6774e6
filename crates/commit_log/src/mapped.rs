//! The log in the real world: a folder of segments, of which the last one is mapped into memory.
//!
//! Invariants:
//! * an append is a copy into a mapping that is shared with the kernel, and its last store makes the record valid, so the
//!   death of the process loses nothing that has been appended;
//! * all blocks of a segment are reserved before its first record, so a full disk is an error of `append`;
//! * positions run on without a gap from one segment to the next, whatever room is left over in the first.
//!
//! Linux is assumed: `fdatasync` brings dirty pages of shared mappings to disk, and reserved blocks stay reserved (not so
//! on copy-on-write file systems such as btrfs, where a full disk can still end the process by a signal).

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::LogError;
use crate::frame::{frame_bytes, word};
use crate::limits::{
    POSITION_END, RECORD_BYTES_MAX, SEGMENT_BYTES_DEFAULT, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, SEGMENT_HEADER_BYTES,
    UNSYNCED_BYTES_MAX,
};
use crate::log::{Log, LogRecords, LogStatus, Opened};
use crate::mapping::FileMapping;
use crate::place::Position;
use crate::reader::LogReader;
use crate::recovery::{KeptSegment, RecoveredLog, recover};
use crate::segment::{START_SLOT, SegmentFile, start_words, sync_folder};
use crate::syncer::{PreparedSegment, Syncer, Template};

pub use crate::place::LogIdentity;
pub use crate::syncer::OnSynced;

/// What to do with records that had been synced and are damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Stop with [`LogError::Corrupt`] and change nothing.
    Refuse,
    /// Drop everything from the damage on and tell so in [`Opened::cut`]. For a caller who gets it back from other copies.
    CutAtCorruption,
}

/// How to open a log.
pub struct LogOptions {
    /// Whose log it is. A folder with the log of somebody else is refused.
    pub identity: LogIdentity,
    /// Bytes of records in a segment; a longer record gets a segment of its own. Rounded up to whole pages.
    pub segment_bytes: u64,
    /// What to do with damage.
    pub repair: Repair,
    /// Where a new log begins: at the start, unless it goes on from another one.
    pub begins_at: Position,
    /// Called from the thread in the background whenever a sync that was requested has been done or has failed.
    pub on_synced: Option<OnSynced>,
}

impl LogOptions {
    /// From the start, in segments of the usual size; damage is refused, nobody is called.
    pub fn new(identity: LogIdentity) -> LogOptions {
        let (segment_bytes, repair, begins_at) = (SEGMENT_BYTES_DEFAULT, Repair::Refuse, Position::START);
        LogOptions { identity, segment_bytes, repair, begins_at, on_synced: None }
    }
}

/// A log in a folder. Dropping it syncs nothing, like the death of the process; [`MappedLog::close`] does.
#[derive(Debug)]
pub struct MappedLog {
    /// In order and without a gap; the last one is mapped.
    segments: Vec<KeptSegment>,
    mapping: FileMapping,
    /// The end of the log, and the same in bytes behind the header of the mapped segment.
    end: Position,
    used: u64,
    bytes_appended: u64,
    /// The failure of the log has been told.
    failed: bool,
    syncer: Syncer,
    /// Holds the lock on the folder, and goes last.
    _lock: FolderLock,
}

impl MappedLog {
    /// Opens the log in `folder`, or makes one if there is none, and tells what was found. All that was found is on disk
    /// then.
    ///
    /// # Errors
    /// [`LogError::Locked`], [`LogError::Corrupt`], [`LogError::WrongIdentity`] and whatever the operating system refuses.
    pub fn open(folder: &Path, options: LogOptions) -> Result<(MappedLog, Opened), LogError> {
        let LogOptions { identity, segment_bytes, repair, begins_at, on_synced } = options;
        if !(SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&segment_bytes) {
            return Err(LogError::SegmentSize { bytes: segment_bytes });
        }
        let lock = lock_folder(folder)?;
        let template = Template { folder: folder.to_path_buf(), owner: identity, capacity: whole_pages(segment_bytes) };
        let RecoveredLog { mut segments, mut end, records, cut, mut next_sequence } =
            recover(folder, identity, repair)?;
        let created = segments.is_empty() && cut.is_none();
        if created {
            end = begins_at;
        }
        let active = match segments.last() {
            Some(last) => PreparedSegment::map(SegmentFile::open(&last.path, last.sequence, last.capacity)?)?,
            None => {
                let mut active = PreparedSegment::create(&template, next_sequence, template.capacity)?;
                next_sequence += 1;
                put_to_use(&mut active, end, &mut segments);
                active
            }
        };
        let PreparedSegment { segment, mapping } = active;
        // Everything up to the end has been synced by recovery; the mark says so to the next one. The syncer starts with
        // the other slot.
        let marked = segment.file.sync_all().and_then(|()| segment.write_mark(end, 1));
        marked.map_err(|source| LogError::io("sync", &segment.path, 0, source))?;
        let used = segments.last().map_or(0, |active| end.since(active.first));
        let syncer = Syncer::start(template, segment, end, next_sequence, on_synced)?;
        let first = segments.first().map_or(end, |segment| segment.first);
        let opened = Opened { created, first, end, records, cut };
        let log = MappedLog { segments, mapping, end, used, bytes_appended: 0, failed: false, syncer, _lock: lock };
        Ok((log, opened))
    }

    /// Syncs everything and closes the log.
    ///
    /// # Errors
    /// The failure of the sync.
    pub fn close(mut self) -> Result<(), LogError> {
        self.sync_now()
    }

    /// Tells the failure of the thread, once as what it was.
    fn check(&mut self) -> Result<(), LogError> {
        if !self.syncer.has_failed() {
            return Ok(());
        }
        match self.syncer.take_failure().filter(|_| !std::mem::replace(&mut self.failed, true)) {
            Some(source) => Err(LogError::SyncFailed { source }),
            None => Err(LogError::Failed),
        }
    }

    fn capacity(&self) -> u64 {
        self.segments.last().map_or(0, |active| active.capacity)
    }

    /// Goes on in the next segment, which has room for `frame` bytes.
    fn rotate(&mut self, frame: u64) -> Result<(), LogError> {
        let unsynced_bytes = self.end.since(self.synced());
        if unsynced_bytes + frame > UNSYNCED_BYTES_MAX {
            self.syncer.request_sync();
            return Err(LogError::Behind { unsynced_bytes });
        }
        let mut next = self.syncer.next_segment(whole_pages(frame))?;
        put_to_use(&mut next, self.end, &mut self.segments);
        let full = std::mem::replace(&mut self.mapping, next.mapping);
        self.syncer.switch(next.segment, full);
        self.used = 0;
        Ok(())
    }
}

impl Log for MappedLog {
    fn append(&mut self, record: &[u8]) -> Result<Position, LogError> {
        self.check()?;
        if !(1..=RECORD_BYTES_MAX).contains(&record.len()) {
            return Err(LogError::RecordSize { bytes: record.len() });
        }
        let frame = frame_bytes(record.len()) as u64;
        if self.used + frame > self.capacity() {
            self.rotate(frame)?;
        }
        let position = self.end;
        assert!(position.0 < POSITION_END - frame, "a log does not grow to {position} bytes");
        let offset = (SEGMENT_HEADER_BYTES + self.used) as usize;
        self.mapping.write(offset + 8, &position.0.to_le_bytes());
        self.mapping.write(offset + 16, record);
        self.mapping.publish(offset, word(position, record));
        self.used += frame;
        self.end = position.plus(frame);
        self.bytes_appended += frame;
        self.syncer.set_appended(self.end);
        Ok(position)
    }

    fn appended(&self) -> Position {
        self.end
    }

    fn synced(&self) -> Position {
        self.syncer.synced()
    }

    fn has_failed(&self) -> bool {
        self.syncer.has_failed()
    }

    fn first(&self) -> Position {
        self.segments.first().map_or(self.end, |segment| segment.first)
    }

    fn request_sync(&mut self) {
        self.syncer.request_sync();
    }

    fn poll_synced(&mut self) -> Result<Position, LogError> {
        self.check()?;
        Ok(self.synced())
    }

    fn sync_now(&mut self) -> Result<(), LogError> {
        self.check()?;
        self.syncer.sync_here();
        self.check()
    }

    fn truncate_before(&mut self, position: Position) -> Result<(), LogError> {
        self.check()?;
        let dropped = self.segments.iter().skip(1).take_while(|next| next.first <= position).count();
        if dropped > 0 {
            self.syncer.remove(self.segments.drain(..dropped).map(|segment| segment.path));
        }
        Ok(())
    }

    fn read_from(&self, position: Position) -> LogRecords<'_> {
        let (first, end) = (self.first(), self.end);
        if position < first {
            return Box::new(std::iter::once(Err(LogError::Truncated { position, first })));
        }
        if position > end {
            return Box::new(std::iter::once(Err(LogError::BeyondEnd { position, end })));
        }
        Box::new(LogReader::new(&self.segments, position, end))
    }

    fn status(&self) -> LogStatus {
        LogStatus { bytes_appended: self.bytes_appended, ..self.syncer.status() }
    }
}

/// Makes a prepared segment the one that continues the log at `first`. Stores into memory only.
fn put_to_use(prepared: &mut PreparedSegment, first: Position, segments: &mut Vec<KeptSegment>) {
    let SegmentFile { sequence, capacity, path, .. } = &prepared.segment;
    let (start, valid) = start_words(*sequence, first);
    prepared.mapping.write(START_SLOT, &start.to_le_bytes());
    prepared.mapping.publish(START_SLOT + 8, valid);
    segments.push(KeptSegment { sequence: *sequence, capacity: *capacity, first, path: path.clone() });
}

fn whole_pages(bytes: u64) -> u64 {
    bytes.next_multiple_of(SEGMENT_HEADER_BYTES)
}

/// The exclusive use of a folder.
#[derive(Debug)]
struct FolderLock(File);

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child process that is just being started by another thread holds a copy of the
        // descriptor until it has replaced its program, and the lock with it. If this fails, closing has to do.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// Makes sure that the folder exists and nobody else uses it.
fn lock_folder(folder: &Path) -> Result<FolderLock, LogError> {
    if !folder.is_dir() {
        fs::create_dir_all(folder).map_err(|source| LogError::io("create", folder, 0, source))?;
        if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            sync_folder(parent).map_err(|source| LogError::io("sync", parent, 0, source))?;
        }
    }
    let path: PathBuf = folder.join("lock");
    let opened = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let file = opened.map_err(|source| LogError::io("create", &path, 0, source))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(FolderLock(file)),
        Err(Errno::WOULDBLOCK) => Err(LogError::Locked { folder: folder.to_path_buf() }),
        Err(error) => Err(LogError::io("lock", &path, 0, error.into())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn opened(on_synced: Option<OnSynced>) -> (tempfile::TempDir, MappedLog) {
        let folder = tempfile::tempdir().unwrap();
        let identity = LogIdentity { instance: 1, site: 1 };
        let options = LogOptions { segment_bytes: 4096, on_synced, ..LogOptions::new(identity) };
        let (log, _) = MappedLog::open(folder.path(), options).unwrap();
        (folder, log)
    }

    /// Has every sync of the log fail: its thread gets a file that cannot be synced.
    fn break_disk(log: &mut MappedLog, on_synced: Option<OnSynced>) {
        let active = log.segments.last().unwrap().clone();
        let KeptSegment { sequence, capacity, path, .. } = active;
        let unsyncable = Arc::new(File::open("/dev/null").unwrap());
        let segment = SegmentFile { sequence, capacity, path: path.clone(), file: unsyncable };
        let folder = path.parent().unwrap().to_path_buf();
        let template = Template { folder, owner: LogIdentity { instance: 1, site: 1 }, capacity };
        log.syncer = Syncer::start(template, segment, log.end, 100, on_synced).unwrap();
    }

    /// If this fails, a site goes on after a failed sync, and answers for transactions that no disk holds.
    #[test]
    fn a_failed_sync_is_told_once_and_is_final() {
        for first_call in 0..4 {
            let (_folder, mut log) = opened(None);
            log.append(b"on disk").unwrap();
            log.sync_now().unwrap();
            let synced = log.synced();
            break_disk(&mut log, None);
            log.append(b"not on disk").unwrap();
            log.request_sync();
            log.syncer.wait_synced(log.end);
            let told = match first_call {
                0 => log.append(b"x").err(),
                1 => log.poll_synced().err(),
                2 => log.sync_now().err(),
                _ => log.truncate_before(Position::START).err(),
            };
            assert!(matches!(told, Some(LogError::SyncFailed { .. })), "{told:?}");
            assert!(matches!(log.append(b"x"), Err(LogError::Failed)));
            assert!(matches!(log.poll_synced(), Err(LogError::Failed)));
            assert!(matches!(log.truncate_before(Position::START), Err(LogError::Failed)));
            assert!(matches!(log.sync_now(), Err(LogError::Failed)));
            assert_eq!(log.synced(), synced);
            assert_eq!(log.read_from(Position::START).filter(Result::is_ok).count(), 2);
        }
    }

    /// If this fails, a sync on the caller's own thread that has failed is tried again, or nobody is told.
    #[test]
    fn a_failed_sync_of_the_caller_is_final() {
        let (_folder, mut log) = opened(None);
        let (told, heard) = std::sync::mpsc::channel();
        break_disk(&mut log, Some(Box::new(move || told.send(()).unwrap())));
        log.append(b"not on disk").unwrap();
        assert!(matches!(log.sync_now(), Err(LogError::SyncFailed { .. })));
        heard.recv().unwrap();
        assert!(matches!(log.sync_now(), Err(LogError::Failed)));
        assert!(matches!(log.append(b"x"), Err(LogError::Failed)));
    }

    /// If this fails, an event loop that has asked for a sync is not told when somebody else has made it.
    #[test]
    fn whoever_has_asked_is_told_whoever_syncs() {
        let (told, heard) = std::sync::mpsc::channel();
        let (_folder, mut log) = opened(Some(Box::new(move || told.send(()).unwrap_or_default())));
        for _ in 0..200 {
            log.append(b"on disk").unwrap();
            log.request_sync();
            log.sync_now().unwrap();
            assert_eq!(log.synced(), log.appended());
            heard.recv().unwrap();
        }
    }

    /// If this fails, a bug of the caller's callback hangs the site instead of stopping it.
    #[test]
    fn a_panic_of_the_thread_is_a_failed_sync() {
        let (_folder, mut log) = opened(Some(Box::new(|| panic!("planted: a callback that panics"))));
        log.append(b"first").unwrap();
        // The sync itself succeeds, and the thread dies afterwards.
        let sync = |log: &mut MappedLog| {
            log.request_sync();
            log.syncer.wait_synced(log.end);
            log.check()
        };
        let first = sync(&mut log);
        assert!(matches!(first, Ok(()) | Err(LogError::SyncFailed { .. })), "{first:?}");
        if first.is_ok() {
            let told = loop {
                match log.append(b"next").and_then(|_| sync(&mut log)) {
                    Ok(()) => continue,
                    Err(error) => break error,
                }
            };
            assert!(matches!(told, LogError::SyncFailed { .. }), "{told:?}");
        }
        assert!(matches!(log.sync_now(), Err(LogError::Failed)));
    }

    /// If this fails, a log that is closed while another thread starts a program cannot be opened again.
    #[test]
    fn a_copy_of_the_descriptor_in_a_child_does_not_keep_the_lock() {
        let (folder, log) = opened(None);
        let inherited = log._lock.0.try_clone().unwrap();
        drop(log);
        let options = LogOptions { segment_bytes: 4096, ..LogOptions::new(LogIdentity { instance: 1, site: 1 }) };
        let again = MappedLog::open(folder.path(), options);
        assert!(again.is_ok(), "{again:?}");
        drop(inherited);
    }

    /// If this fails, a stalled disk lets the loss that a power failure would cause grow without bound.
    #[test]
    fn a_disk_that_stalls_stops_the_log_at_the_bound() {
        let (_folder, mut log) = opened(None);
        log.end = Position(UNSYNCED_BYTES_MAX);
        log.used = log.capacity();
        assert!(matches!(log.append(b"x"), Err(LogError::Behind { unsynced_bytes: UNSYNCED_BYTES_MAX })));
        assert_eq!(log.appended(), Position(UNSYNCED_BYTES_MAX));
    }
}
