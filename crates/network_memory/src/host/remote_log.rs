//! A log that is durable in the memory of k servers, for the program that writes it.
//!
//! Whoever appends sends to all servers itself and waits for k of them itself: a wake-up across cores costs as much as the network. The
//! thread in the background makes connections, has the disk follow, and looks after servers while nobody appends. Of one thread at a
//! time. Invariant: what returned a [`RecordReceipt`] is durable as the receipt says; what returned an error may or may not be.

pub use super::log_terms::{LogTerms, RemoteLogError};

use super::connecting::Connecting;
use super::links::{ConnectorExchange, ServerLinks, WriterBell};
use super::{HostClock, draw};
use crate::limits::{PROBE_PAUSE, RECEIPTS_MAX, TURN_LOOKS_MAX};
use crate::names::{DiskId, LogId, RecordNumber, RecordReceipt, RecoveryDoubt, ServerId};
use crate::writer::{Boot, LogEvent, LogWriter, WriterDisk, WriterStatus, WriterStop, WriterTerms};
use commit_log::{Log, LogIdentity, LogOptions, LogStatus, MappedLog};
use raidcomm::keys::Keys;
use rustix::fd::OwnedFd;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the disk is brought up to date, in nanoseconds: what a loss of power everywhere at once may cost.
const SYNC_PAUSE: u64 = 10_000_000;
/// There while the local log may lack what was written to it: a sync has failed since it was opened last.
const FAILED: &str = "sync.failed";
/// Longest wait for something to happen, so that nothing that was forgotten stays so.
const WAIT_MAX: u64 = PROBE_PAUSE;
/// The kernel's name for its present run.
const BOOT_FILE: &str = "/proc/sys/kernel/random/boot_id";

/// How far a log is durable, as [`RemoteLog::turn`] has found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turned {
    /// Everything below has a receipt, which may be given now.
    pub acknowledged: RecordNumber,
    /// When to turn again at the latest.
    pub due: Duration,
}

/// What turns have come to.
#[derive(Clone, Copy, Debug)]
struct TurnCounts {
    /// When the last one was.
    at: u64,
    acknowledged: RecordNumber,
}

struct RemoteLogInner {
    writer: LogWriter<MappedLog>,
    links: ServerLinks,
    clock: HostClock,
    receipts: VecDeque<(RecordNumber, RecordReceipt)>,
    /// None if nobody turns.
    turns: Option<TurnCounts>,
    /// The next receipt is for the disk, and the lease was over before it could be given.
    is_withheld: bool,
    sync_asked_at: u64,
    /// Where a failed sync is noted.
    failure_note: FailureNote,
}

/// After a failed sync the kernel may drop what was written, and nobody sees that at the next start: it is told to it.
#[derive(Debug)]
struct FailureNote(Option<PathBuf>);

impl FailureNote {
    /// In the folder of the local log, if there is one.
    fn of(folder: Option<&Path>) -> FailureNote {
        FailureNote(folder.map(|folder| folder.join(FAILED)))
    }

    fn is_there(&self) -> bool {
        self.0.as_ref().is_some_and(|path| path.exists())
    }

    /// The local log says so itself now.
    fn remove(&self) -> io::Result<()> {
        self.0.as_ref().filter(|path| path.exists()).map_or(Ok(()), std::fs::remove_file)
    }

    /// Writes it, once, if that is why the writer has stopped.
    fn write(&mut self, stopped: Option<&WriterStop>) {
        if let Some(WriterStop::DiskFailed(_)) = stopped
            && let Some(path) = self.0.take()
            && let Err(error) = std::fs::write(&path, b"")
        {
            tracing::error!("{}: {error}: remove the local log before this log is opened again", path.display());
        }
    }
}

/// See the module's description.
pub struct RemoteLog {
    inner: Arc<Mutex<RemoteLogInner>>,
    stop: Arc<AtomicBool>,
    keeper: Option<JoinHandle<()>>,
}

impl RemoteLog {
    /// A name for a new log, which no other has.
    ///
    /// # Errors
    /// The operating system has no random numbers.
    pub fn draw_log() -> io::Result<LogId> {
        draw().map(LogId)
    }

    /// Opens a log and waits until it is open. An event says what was found, and [`RemoteLog::doubt`] what may be missing.
    ///
    /// # Errors
    /// See [`RemoteLogError`].
    pub fn open(terms: LogTerms) -> Result<RemoteLog, RemoteLogError> {
        let bell = WriterBell::new()?;
        let failure_note = FailureNote::of(terms.folder.as_deref());
        let exchange = Arc::new(Mutex::new(ConnectorExchange::default()));
        let disk = match &terms.folder {
            Some(folder) => {
                let rung = bell.clone();
                let identity = LogIdentity { instance: terms.log.0.into(), site: 0 };
                let options =
                    LogOptions { on_synced: Some(Box::new(move || rung.ring())), ..LogOptions::new(identity) };
                let (log, opened) = MappedLog::open(folder, options)?;
                if let Some(cut) = &opened.cut {
                    tracing::warn!(file = %cut.file.display(), offset = cut.offset, bytes = cut.bytes,
                        "the local log was cut at its last whole record; its servers are asked for what stood behind it");
                }
                let boot = terms.boot.map_or_else(boot, Ok)?;
                let is_cut = opened.cut.is_some() || failure_note.is_there();
                Some(WriterDisk { log, name_if_new: DiskId(draw()?), boot, is_cut })
            }
            None => None,
        };
        let LogTerms { time, keys, intent, .. } = terms;
        let clock = HostClock::start();
        let now = clock.now();
        let writer_terms = WriterTerms {
            log: terms.log,
            copies: terms.copies,
            members: terms.members,
            servers: terms.servers.into_iter().map(ServerId).collect(),
            restart_on_this_disk: terms.restart_on_this_disk,
            retained_bytes_max: terms.retained_bytes_max,
        };
        let writer = LogWriter::begin(now, writer_terms, draw()?, disk, intent, None)?;
        failure_note.remove()?;
        let links = ServerLinks::new(Arc::clone(&exchange), bell.clone(), keys.is_none());
        let inner = RemoteLogInner {
            writer,
            links,
            clock,
            receipts: VecDeque::new(),
            turns: None,
            is_withheld: false,
            sync_asked_at: 0,
            failure_note,
        };
        let inner = Arc::new(Mutex::new(inner));
        let stop = Arc::new(AtomicBool::new(false));
        let keeper =
            BackgroundKeeper { inner: Arc::clone(&inner), exchange, bell, clock, keys, stop: Arc::clone(&stop) };
        let spawned = std::thread::Builder::new().name("memory".to_owned()).spawn(move || keeper.run());
        let log = RemoteLog { inner, stop, keeper: Some(spawned?) };
        log.wait_open(now + time.as_nanos() as u64)?;
        Ok(log)
    }

    fn wait_open(&self, deadline: u64) -> Result<(), RemoteLogError> {
        let mut inner = self.lock();
        loop {
            let now = inner.drive();
            if inner.writer.is_open() {
                return Ok(());
            }
            inner.check()?;
            if now >= deadline {
                let missing = inner.writer.missing().cloned();
                return Err(missing.map_or(RemoteLogError::Slow, RemoteLogError::Indeterminate));
            }
            inner.wait(deadline)?;
        }
    }

    fn lock(&self) -> MutexGuard<'_, RemoteLogInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a record and waits until it is durable, at most so long; where the disk alone counts and has been quick, until a sync of it has returned
    /// that was begun in that time.
    ///
    /// # Errors
    /// See [`RemoteLogError`].
    pub fn append(&mut self, record: &[u8], time: Duration) -> Result<(RecordNumber, RecordReceipt), RemoteLogError> {
        let mut inner = self.lock();
        let position = inner.append(record)?;
        Ok((position, inner.wait_receipt(position, time)?))
    }

    /// Appends a record, which becomes durable together with later ones; [`RemoteLog::flush`] waits for it.
    ///
    /// # Errors
    /// See [`RemoteLogError`].
    pub fn append_no_wait(&mut self, record: &[u8]) -> Result<RecordNumber, RemoteLogError> {
        self.lock().append(record)
    }

    /// Waits until all that has been appended is durable, as [`RemoteLog::append`] does. The receipt is that of the last record; none if there is no
    /// record without a receipt.
    ///
    /// # Errors
    /// See [`RemoteLogError`].
    pub fn flush(&mut self, time: Duration) -> Result<Option<RecordReceipt>, RemoteLogError> {
        let mut inner = self.lock();
        let end = inner.writer.end();
        if inner.writer.acknowledged() >= end && !inner.is_withheld {
            return Ok(None);
        }
        inner.wait_receipt(RecordNumber(end.0 - 1), time).map(Some)
    }

    /// Waits until the local disk has all that has been appended, at most so long: for whoever wants the disk, whatever servers hold.
    ///
    /// # Errors
    /// See [`RemoteLogError`]; there is no local disk.
    pub fn sync(&mut self, time: Duration) -> Result<(), RemoteLogError> {
        let mut inner = self.lock();
        if inner.writer.disk().is_none() {
            let text = "the log has no local disk: name a folder when it is opened";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text).into());
        }
        let end = inner.writer.end();
        let deadline = inner.clock.now() + time.as_nanos() as u64;
        loop {
            inner.writer.request_sync();
            let now = inner.drive();
            if inner.writer.status(now).synced >= end {
                return Ok(());
            }
            inner.check()?;
            if now >= deadline {
                return Err(RemoteLogError::Late);
            }
            inner.wait(deadline)?;
        }
    }

    /// A descriptor that is readable when a turn may find something: for event loops, edge-triggered or not. From then on [`RemoteLog::turn`] is
    /// to be called then, and at least as often as it says.
    ///
    /// # Errors
    /// The operating system has none.
    pub fn watch(&mut self) -> io::Result<OwnedFd> {
        let mut inner = self.lock();
        // What is in the log that was opened stays in it.
        inner.turns = Some(TurnCounts { at: inner.clock.now(), acknowledged: inner.writer.acknowledged() });
        inner.links.watch()
    }

    /// Sends what was appended, without waiting, and without looking whether something has come: a [`RemoteLog::turn`] does.
    pub fn send(&mut self) {
        let mut inner = self.lock();
        let now = inner.clock.now();
        let RemoteLogInner { writer, links, .. } = &mut *inner;
        writer.flush(now);
        links.drive(now, writer);
    }

    /// Sends what was appended, and takes what has come, without waiting.
    ///
    /// # Errors
    /// The log has stopped.
    ///
    /// # Panics
    /// Nobody watches.
    pub fn turn(&mut self) -> Result<Turned, RemoteLogError> {
        self.lock().turn()
    }

    /// Ends the use of the log in order, within this time: the disk follows to the end and says that it is enough, so that the next opening
    /// needs no server, where every recovery has the disk.
    ///
    /// # Errors
    /// See [`RemoteLogError`]. Nothing is lost: the next opening asks the servers.
    pub fn close(self, time: Duration) -> Result<(), RemoteLogError> {
        let mut inner = self.lock();
        let deadline = inner.clock.now() + time.as_nanos() as u64;
        loop {
            let now = inner.clock.now();
            inner.writer.close(now);
            let now = inner.drive();
            if inner.writer.is_closed() {
                return Ok(());
            }
            inner.check()?;
            if now >= deadline {
                return Err(RemoteLogError::Late);
            }
            inner.wait(deadline)?;
        }
    }

    /// A record; none if it was truncated or has not been appended.
    pub fn read(&self, position: RecordNumber) -> Option<Vec<u8>> {
        self.lock().writer.read(position).map(|bytes| bytes.to_vec())
    }

    /// The first record, and the one that would come next.
    pub fn extent(&self) -> (RecordNumber, RecordNumber) {
        let inner = self.lock();
        (inner.writer.from(), inner.writer.end())
    }

    /// Gives up records below a position.
    ///
    /// # Errors
    /// One of them has no receipt.
    pub fn truncate_before(&mut self, position: RecordNumber) -> Result<(), RemoteLogError> {
        let mut inner = self.lock();
        if position > inner.writer.acknowledged() {
            return Err(RemoteLogError::Unacknowledged(inner.writer.acknowledged()));
        }
        let now = inner.clock.now();
        inner.writer.truncate_before(now, position);
        inner.drive();
        inner.check()
    }

    /// Ends the log for good: every member that holds it forgets it, which makes room for others. The local log stays: remove its folder. Servers
    /// that are away keep what they have.
    ///
    /// # Errors
    /// The log is not open, or not all members have answered in time.
    pub fn remove(self, time: Duration) -> Result<(), RemoteLogError> {
        let mut inner = self.lock();
        let deadline = inner.clock.now() + time.as_nanos() as u64;
        let now = inner.clock.now();
        inner.writer.remove(now)?;
        loop {
            let now = inner.drive();
            match inner.check() {
                Err(RemoteLogError::Stopped(WriterStop::Removed)) => return Ok(()),
                other => other?,
            }
            if now >= deadline {
                return Err(RemoteLogError::Late);
            }
            inner.wait(deadline)?;
        }
    }

    /// What the opening could not vouch for: to be looked at before the log is used.
    pub fn doubt(&self) -> Option<RecoveryDoubt> {
        self.lock().writer.doubt()
    }

    /// What has happened since it was asked last.
    pub fn events(&mut self) -> Vec<LogEvent> {
        let mut inner = self.lock();
        std::iter::from_fn(|| inner.writer.take_event()).collect()
    }

    /// How it stands.
    pub fn status(&self) -> WriterStatus {
        let inner = self.lock();
        inner.writer.status(inner.clock.now())
    }

    /// Everything below is on the local disk.
    pub fn on_disk(&self) -> RecordNumber {
        self.lock().writer.synced()
    }

    /// Counters of its local disk; none if it has none.
    pub fn disk_status(&self) -> Option<LogStatus> {
        self.lock().writer.disk().map(Log::status)
    }
}

/// Like the death of the process: nothing is waited for.
impl Drop for RemoteLog {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(keeper) = self.keeper.take() {
            keeper.thread().unpark();
            // A panic of the thread has been reported where it happened.
            let _ = keeper.join();
        }
    }
}

impl RemoteLogInner {
    fn append(&mut self, record: &[u8]) -> Result<RecordNumber, RemoteLogError> {
        let now = self.clock.now();
        Ok(self.writer.append(now, record)?)
    }

    /// Does everything that can be done now.
    fn drive(&mut self) -> u64 {
        let now = self.clock.now();
        self.writer.flush(now);
        self.links.drive(now, &mut self.writer);
        if self.writer.next_deadline().is_some_and(|deadline| deadline <= now) {
            self.links.meet(now, &mut self.writer);
            self.writer.tick(now);
            self.links.drive(now, &mut self.writer);
        }
        // Only when somebody waits is the disk asked at once; otherwise it follows.
        if now >= self.sync_asked_at + SYNC_PAUSE {
            self.sync_asked_at = now;
            self.writer.request_sync();
            self.links.meet(now, &mut self.writer);
        }
        for (end, receipt) in self.writer.take_receipts() {
            // Whoever asks wants that of the last record.
            match self.receipts.back_mut() {
                Some((last, kind)) if *kind == receipt => *last = end,
                _ => self.receipts.push_back((end, receipt)),
            }
            if self.receipts.len() > RECEIPTS_MAX {
                self.receipts.pop_front();
            }
        }
        self.failure_note.write(self.writer.stopped());
        now
    }

    fn turn(&mut self) -> Result<Turned, RemoteLogError> {
        let mut now = self.drive();
        // All that has come: whoever watches is not told of it again.
        for _ in 0..TURN_LOOKS_MAX {
            if !self.links.look() {
                break;
            }
            now = self.drive();
        }
        let mut acknowledged = self.turns.expect("whoever turns watches").acknowledged;
        while let Some(&(end, _)) = self.receipts.front()
            && self.is_vouched(end)
        {
            acknowledged = end;
            self.receipts.pop_front();
        }
        self.turns = Some(TurnCounts { at: now, acknowledged });
        self.check()?;
        let due = self.writer.next_deadline().into_iter().chain(self.links.next_deadline()).min();
        let due = due.unwrap_or(u64::MAX).clamp(now, now + SYNC_PAUSE) - now;
        Ok(Turned { acknowledged, due: Duration::from_nanos(due) })
    }

    /// Whether a receipt up to there may be given now. This thread may have been held up since the machine looked at the time.
    fn is_vouched(&mut self, end: RecordNumber) -> bool {
        let now = self.clock.now();
        let is_vouched = self.writer.vouches(now, end);
        if !is_vouched {
            self.writer.confirm(now);
            self.links.drive(now, &mut self.writer);
        }
        is_vouched
    }

    /// Whether whoever uses the log looks after it without waiting, and has done so lately.
    fn is_turned(&self, now: u64) -> bool {
        self.turns.is_some_and(|turns| now < turns.at + WAIT_MAX)
    }

    fn check(&self) -> Result<(), RemoteLogError> {
        self.writer.stopped().map_or(Ok(()), |stop| Err(RemoteLogError::Stopped(stop.clone())))
    }

    fn wait(&mut self, until: u64) -> io::Result<()> {
        let now = self.clock.now();
        let due = self.writer.next_deadline().into_iter().chain(self.links.next_deadline()).chain([until]);
        let due = due.min().unwrap_or(until).clamp(now, now + WAIT_MAX);
        self.links.wait(Duration::from_nanos(due - now))
    }

    fn wait_receipt(&mut self, position: RecordNumber, time: Duration) -> Result<RecordReceipt, RemoteLogError> {
        self.writer.leave_sync(true);
        let receipt = self.wait_receipt_syncing(position, time);
        self.writer.leave_sync(false);
        receipt
    }

    fn wait_receipt_syncing(
        &mut self,
        position: RecordNumber,
        time: Duration,
    ) -> Result<RecordReceipt, RemoteLogError> {
        let deadline = self.clock.now() + time.as_nanos() as u64;
        loop {
            let now = self.drive();
            while let Some(&(end, receipt)) = self.receipts.front() {
                if end > position {
                    self.is_withheld = !self.is_vouched(end);
                    if self.is_withheld {
                        break;
                    }
                    return Ok(receipt);
                }
                self.receipts.pop_front();
            }
            self.check()?;
            if now >= deadline {
                return Err(RemoteLogError::Late);
            }
            if self.writer.is_sync_left() {
                self.writer.sync_now(now);
                // Servers that come back are heard, though nobody waits for them.
                self.links.wait(Duration::ZERO)?;
                continue;
            }
            self.wait(deadline)?;
        }
    }
}

/// The thread in the background.
struct BackgroundKeeper {
    inner: Arc<Mutex<RemoteLogInner>>,
    exchange: Arc<Mutex<ConnectorExchange>>,
    bell: WriterBell,
    clock: HostClock,
    keys: Option<Keys>,
    stop: Arc<AtomicBool>,
}

impl BackgroundKeeper {
    fn run(self) {
        let mut connecting = Connecting::new(self.keys.clone());
        while !self.stop.load(Ordering::Relaxed) {
            if connecting.turn(self.clock.now(), &self.exchange) {
                self.bell.ring();
            }
            // Whoever holds it does all this itself.
            if let Ok(mut inner) = self.inner.try_lock()
                && !inner.is_turned(inner.clock.now())
            {
                let now = inner.clock.now();
                let RemoteLogInner { links, writer, .. } = &mut *inner;
                links.meet(now, writer);
                // What fails here fails for whoever waits, too, who is told.
                if links.wait(Duration::ZERO).is_ok() {
                    inner.drive();
                }
            }
            connecting.wait(Duration::from_nanos(SYNC_PAUSE));
        }
    }
}

/// Which run of the kernel this is.
fn boot() -> io::Result<Boot> {
    let text = std::fs::read_to_string(BOOT_FILE)?;
    let digits: String = text.trim().chars().filter(|digit| *digit != '-').collect();
    u128::from_str_radix(&digits, 16)
        .map(Boot)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("{BOOT_FILE} holds {text:?}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this failed, a log would be believed whole after a sync that has failed.
    #[test]
    fn a_failed_sync_is_noted_and_nothing_else_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut note = FailureNote::of(Some(folder.path()));
        for stopped in [None, Some(WriterStop::Removed)] {
            note.write(stopped.as_ref());
            assert!(!note.is_there());
        }
        note.write(Some(&WriterStop::DiskFailed("planted".to_owned())));
        let note = FailureNote::of(Some(folder.path()));
        assert!(note.is_there());
        note.remove().expect("it is there");
        assert!(!note.is_there());
        note.remove().expect("there is nothing to do");
    }
}
