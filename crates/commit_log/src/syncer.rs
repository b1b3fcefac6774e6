//! The thread in the background: brings appended records to disk, makes the next segment ahead of need, and removes old
//! ones, so that whoever appends makes no system call.
//!
//! Whoever appends may sync itself as well ([`Syncer::sync_here`]): two switches between threads take as long as a quick disk.
//!
//! Invariant: `synced` rises to a position only after every byte below it has been synced without a failure; one at a time
//! syncs. The first failure ends the thread for good; nothing is synced again.
//!
//! Positions cross between the threads in atomics, everything else under one mutex that is never held over a system call.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;
use thread_priority::unix::{
    NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};
use thread_priority::{ThreadPriority, ThreadPriorityValue};

use crate::error::LogError;
use crate::limits::SEGMENT_HEADER_BYTES;
use crate::log::LogStatus;
use crate::mapping::FileMapping;
use crate::place::{LogIdentity, Position};
use crate::segment::{self, SegmentFile};

/// Called by the thread when `synced` has risen or a sync has failed, to wake an event loop. It must not block.
pub type OnSynced = Box<dyn Fn() + Send>;

/// A segment with its memory, ready to be appended to.
#[derive(Debug)]
pub(crate) struct PreparedSegment {
    pub(crate) segment: SegmentFile,
    pub(crate) mapping: FileMapping,
}

impl PreparedSegment {
    /// Makes a new segment.
    pub(crate) fn create(template: &Template, sequence: u64, capacity: u64) -> Result<PreparedSegment, LogError> {
        let segment = SegmentFile::create(&template.folder, template.owner, sequence, capacity)?;
        PreparedSegment::map(segment)
    }

    /// Maps a segment that exists.
    pub(crate) fn map(segment: SegmentFile) -> Result<PreparedSegment, LogError> {
        let length = SEGMENT_HEADER_BYTES + segment.capacity;
        let mapping = FileMapping::new(&segment.file, length as usize);
        let mapping = mapping.map_err(|source| LogError::io("map", &segment.path, length, source))?;
        Ok(PreparedSegment { segment, mapping })
    }
}

/// What all segments of a log have in common.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pub(crate) folder: PathBuf,
    pub(crate) owner: LogIdentity,
    /// Bytes of records, unless one record needs more.
    pub(crate) capacity: u64,
}

/// The next segment.
#[derive(Debug)]
enum NextSegment {
    /// Nobody is making one: the last attempt failed, or it is being made by whoever appends.
    Missing,
    Wanted,
    /// The thread is making it.
    Underway,
    Ready(PreparedSegment),
}

struct SyncerState {
    /// The segments above `synced`, in order; the last one is being appended to.
    unsynced: VecDeque<SegmentFile>,
    sync_requested: bool,
    /// Somebody is at it: the thread, or whoever appends.
    is_syncing: bool,
    next: NextSegment,
    next_sequence: u64,
    /// Segments to be removed, oldest first: a crash in between must leave a log without a gap.
    removals: VecDeque<PathBuf>,
    /// Memory of full segments. Giving it back takes time that whoever appends must not spend.
    retired: Vec<FileMapping>,
    failure: Option<io::Error>,
    stop: bool,
    /// The thread waits for work and nobody has woken it yet.
    idle: bool,
}

struct SyncerShared {
    state: Mutex<SyncerState>,
    /// There is work for the thread.
    work: Condvar,
    /// The thread has finished something that may be waited for.
    progress: Condvar,
    appended: AtomicU64,
    synced: AtomicU64,
    failed: AtomicBool,
    syncs: AtomicU64,
    latency_us_total: AtomicU64,
    latency_us_last: AtomicU64,
    latency_us_max: AtomicU64,
}

impl SyncerShared {
    fn lock(&self) -> MutexGuard<'_, SyncerState> {
        // A panic of the thread marks the log as failed, so the state behind a poisoned lock is not built upon.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the thread for the work that was put into `state`. Costs a system call only if the thread sleeps.
    fn wake(&self, mut state: MutexGuard<'_, SyncerState>) {
        let sleeps = std::mem::replace(&mut state.idle, false);
        drop(state);
        if sleeps {
            self.work.notify_one();
        }
    }

    fn fail(&self, error: io::Error) {
        let mut state = self.lock();
        state.failure = Some(error);
        state.next = NextSegment::Missing;
        state.is_syncing = false;
        self.failed.store(true, Ordering::Release);
        // The thread ends.
        self.wake(state);
        self.progress.notify_all();
    }

    /// What is to be synced now, if anything is; whoever takes it syncs it.
    fn begin_sync(&self, state: &mut SyncerState) -> Option<(Vec<SegmentFile>, Position)> {
        let target = Position(self.appended.load(Ordering::Acquire));
        if target.0 <= self.synced.load(Ordering::Relaxed) {
            return None;
        }
        state.is_syncing = true;
        Some((state.unsynced.iter().cloned().collect(), target))
    }

    /// Brings `segments` to disk, which hold all records from `synced` to `target`.
    fn sync(&self, segments: &[SegmentFile], target: Position) -> io::Result<()> {
        let started = Instant::now();
        for segment in segments {
            rustix::fs::fdatasync(&segment.file)?;
        }
        let latency = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        if let Some(last) = segments.last() {
            last.write_mark(target, self.syncs.load(Ordering::Relaxed))?;
        }
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.latency_us_total.fetch_add(latency, Ordering::Relaxed);
        self.latency_us_last.store(latency, Ordering::Relaxed);
        self.latency_us_max.fetch_max(latency, Ordering::Relaxed);
        let mut state = self.lock();
        // The last one may have been appended to since.
        state.unsynced.drain(..segments.len() - 1);
        state.is_syncing = false;
        self.synced.store(target.0, Ordering::Release);
        drop(state);
        self.progress.notify_all();
        Ok(())
    }
}

/// The owner's end of the thread.
pub(crate) struct Syncer {
    shared: Arc<SyncerShared>,
    template: Template,
    thread: Option<thread::JoinHandle<()>>,
}

impl fmt::Debug for Syncer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Syncer").field("template", &self.template).finish_non_exhaustive()
    }
}

impl Syncer {
    /// Starts the thread for a log that is on disk up to `end` and appends to `active`.
    ///
    /// # Errors
    /// The operating system has no thread for us.
    pub(crate) fn start(
        template: Template,
        active: SegmentFile,
        end: Position,
        next_sequence: u64,
        on_synced: Option<OnSynced>,
    ) -> Result<Syncer, LogError> {
        let state = SyncerState {
            unsynced: VecDeque::from([active]),
            sync_requested: false,
            is_syncing: false,
            next: NextSegment::Wanted,
            next_sequence,
            removals: VecDeque::new(),
            retired: Vec::new(),
            failure: None,
            stop: false,
            idle: false,
        };
        let shared = Arc::new(SyncerShared {
            state: Mutex::new(state),
            work: Condvar::new(),
            progress: Condvar::new(),
            appended: AtomicU64::new(end.0),
            synced: AtomicU64::new(end.0),
            failed: AtomicBool::new(false),
            syncs: AtomicU64::new(0),
            latency_us_total: AtomicU64::new(0),
            latency_us_last: AtomicU64::new(0),
            latency_us_max: AtomicU64::new(0),
        });
        let worker = SyncerThread { shared: Arc::clone(&shared), template: template.clone(), on_synced };
        let spawned = thread::Builder::new().name("log sync".to_string()).spawn(move || worker.run());
        let thread = spawned.map_err(|source| LogError::io("start the thread for", &template.folder, 0, source))?;
        Ok(Syncer { shared, template, thread: Some(thread) })
    }

    /// Tells the thread how far the log goes. No system call.
    pub(crate) fn set_appended(&self, end: Position) {
        self.shared.appended.store(end.0, Ordering::Release);
    }

    pub(crate) fn synced(&self) -> Position {
        Position(self.shared.synced.load(Ordering::Acquire))
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.shared.failed.load(Ordering::Acquire)
    }

    /// The failure of the thread, the first time it is asked for.
    pub(crate) fn take_failure(&self) -> Option<io::Error> {
        self.shared.lock().failure.take()
    }

    pub(crate) fn request_sync(&self) {
        let mut state = self.shared.lock();
        state.sync_requested = true;
        self.shared.wake(state);
    }

    /// Syncs all that has been appended on this thread, or waits for a sync that is under way first.
    pub(crate) fn sync_here(&self) {
        let shared = &self.shared;
        let mut state = shared.lock();
        while state.is_syncing {
            state = shared.progress.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if self.has_failed() {
            return;
        }
        let Some((segments, target)) = shared.begin_sync(&mut state) else { return };
        drop(state);
        match shared.sync(&segments, target) {
            Ok(()) => {
                let state = shared.lock();
                // What the thread was asked for it has left.
                if state.sync_requested {
                    shared.wake(state);
                }
            }
            Err(error) => shared.fail(error),
        }
    }

    /// Waits until all below `position` is on disk or the log has failed.
    #[cfg(test)]
    pub(crate) fn wait_synced(&self, position: Position) {
        let mut state = self.shared.lock();
        while self.synced() < position && !self.has_failed() {
            state = self.shared.progress.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The next segment, with at least `capacity` bytes: the one that was made ahead, or else a new one.
    pub(crate) fn next_segment(&self, capacity: u64) -> Result<PreparedSegment, LogError> {
        let ordinary = capacity <= self.template.capacity;
        let mut state = self.shared.lock();
        while matches!(state.next, NextSegment::Underway) {
            state = self.shared.progress.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // While it is missing the thread makes none: sequence numbers must rise in the order of use.
        let spare = match std::mem::replace(&mut state.next, NextSegment::Missing) {
            NextSegment::Ready(prepared) if ordinary => return Ok(prepared),
            spare => spare,
        };
        let sequence = state.next_sequence;
        state.next_sequence += 1;
        drop(state);
        let created = PreparedSegment::create(&self.template, sequence, capacity.max(self.template.capacity));
        let mut state = self.shared.lock();
        match (spare, &created) {
            // Its number is below that of the new one, so it cannot follow.
            (NextSegment::Ready(spare), Ok(_)) => {
                state.removals.push_back(spare.segment.path);
                state.retired.push(spare.mapping);
            }
            (spare, _) => state.next = spare,
        }
        created
    }

    /// Has appending gone over to `segment`; `full` is the memory of the one before. Starts a sync of that one, and has
    /// another segment made.
    pub(crate) fn switch(&self, segment: SegmentFile, full: FileMapping) {
        let mut state = self.shared.lock();
        state.unsynced.push_back(segment);
        state.retired.push(full);
        state.sync_requested = true;
        if matches!(state.next, NextSegment::Missing) {
            state.next = NextSegment::Wanted;
        }
        self.shared.wake(state);
    }

    /// Has segments removed, oldest first.
    pub(crate) fn remove(&self, paths: impl IntoIterator<Item = PathBuf>) {
        let mut state = self.shared.lock();
        state.removals.extend(paths);
        self.shared.wake(state);
    }

    /// The counters, but for the bytes appended.
    pub(crate) fn status(&self) -> LogStatus {
        LogStatus {
            syncs: self.shared.syncs.load(Ordering::Relaxed),
            sync_latency_us_total: self.shared.latency_us_total.load(Ordering::Relaxed),
            sync_latency_us_last: self.shared.latency_us_last.load(Ordering::Relaxed),
            sync_latency_us_max: self.shared.latency_us_max.load(Ordering::Relaxed),
            ..LogStatus::default()
        }
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stop = true;
        self.shared.wake(state);
        // A panic of the thread has been reported as the failure of the log.
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

/// One step of the thread.
enum SyncerTask {
    Prepare {
        sequence: u64,
    },
    Sync {
        segments: Vec<SegmentFile>,
        target: Position,
    },
    /// What was asked for has been synced by somebody else.
    Tell,
    Remove(PathBuf),
    Stop,
}

struct SyncerThread {
    shared: Arc<SyncerShared>,
    template: Template,
    on_synced: Option<OnSynced>,
}

/// Turns a panic of the thread into a failure of the log, so that nobody waits for a dead thread.
impl Drop for SyncerThread {
    fn drop(&mut self) {
        if thread::panicking() {
            self.shared.fail(io::Error::other("the sync thread has panicked"));
        }
    }
}

/// The calling thread runs before others that are busy, where that is allowed. It waits for the disk most of the time; a sync that only waits for a processor
/// would be taken for a disk that stands still.
fn go_first() {
    let lowest = ThreadPriorityValue::try_from(1).expect("1 is a priority");
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::RoundRobin);
    let set = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(lowest), policy);
    if let Err(error) = set {
        tracing::debug!(?error, "the log is synced without a real-time priority");
    }
}

/// It runs beside others again: what is next may take long.
fn go_beside() {
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
    if let Err(error) = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy) {
        tracing::debug!(?error, "the thread that syncs the log keeps its priority");
    }
}

impl SyncerThread {
    fn run(self) {
        go_first();
        let mut after_sync = false;
        loop {
            let task = self.next_task(after_sync);
            after_sync = matches!(task, SyncerTask::Sync { .. });
            match task {
                SyncerTask::Prepare { sequence } => {
                    go_beside();
                    self.prepare(sequence);
                    go_first();
                }
                SyncerTask::Tell => self.notify(),
                SyncerTask::Sync { segments, target } => match self.shared.sync(&segments, target) {
                    Ok(()) => self.notify(),
                    Err(error) => {
                        self.shared.fail(error);
                        return self.notify();
                    }
                },
                SyncerTask::Remove(path) => self.remove(path),
                // A sync that somebody else made has failed.
                SyncerTask::Stop if self.shared.failed.load(Ordering::Acquire) => return self.notify(),
                SyncerTask::Stop => return,
            }
        }
    }

    /// The most urgent work; waits for some. A removal goes before a sync that follows another one, so that syncs without
    /// a pause do not keep old segments for ever.
    fn next_task(&self, after_sync: bool) -> SyncerTask {
        let mut state = self.shared.lock();
        loop {
            if !state.retired.is_empty() {
                let retired = std::mem::take(&mut state.retired);
                drop(state);
                drop(retired);
                state = self.shared.lock();
            }
            if state.stop || self.shared.failed.load(Ordering::Acquire) {
                return SyncerTask::Stop;
            }
            if matches!(state.next, NextSegment::Wanted) {
                state.next = NextSegment::Underway;
                state.next_sequence += 1;
                return SyncerTask::Prepare { sequence: state.next_sequence - 1 };
            }
            if after_sync && let Some(path) = state.removals.pop_front() {
                return SyncerTask::Remove(path);
            }
            if !state.is_syncing && std::mem::take(&mut state.sync_requested) {
                return match self.shared.begin_sync(&mut state) {
                    Some((segments, target)) => SyncerTask::Sync { segments, target },
                    // Whoever has asked waits to be told.
                    None => SyncerTask::Tell,
                };
            }
            if let Some(path) = state.removals.pop_front() {
                return SyncerTask::Remove(path);
            }
            state.idle = true;
            state = self.shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle = false;
        }
    }

    fn prepare(&self, sequence: u64) {
        let prepared = PreparedSegment::create(&self.template, sequence, self.template.capacity);
        let next = match prepared {
            Ok(prepared) => NextSegment::Ready(prepared),
            Err(error) => {
                // Whoever appends tries again when the segment is needed, and gets the error then.
                tracing::warn!(%error, "the next log segment could not be prepared");
                NextSegment::Missing
            }
        };
        self.shared.lock().next = next;
        self.shared.progress.notify_all();
    }

    fn notify(&self) {
        if let Some(on_synced) = &self.on_synced {
            on_synced();
        }
    }

    /// Removes the oldest segment. If that fails, the ones behind it stay too: their removal would leave a gap.
    fn remove(&self, path: PathBuf) {
        if let Err(error) = segment::remove(&path) {
            tracing::warn!(%error, path = %path.display(), "an old log segment could not be removed and stays, with those behind it");
            self.shared.lock().removals.clear();
        }
    }
}
