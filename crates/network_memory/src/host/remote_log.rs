//! A log that is durable in the memory of k servers, for the program that writes it.
//!
//! Whoever appends sends to all servers itself and waits for k of them itself: a wake-up across cores costs as much as the network. The
//! thread in the background makes connections, has the disk follow, and looks after servers while nobody appends. Of one thread at a
//! time. Invariant: what returned a [`Receipt`] is durable as the receipt says; what returned an error may or may not be.

use super::connecting::Connecting;
use super::links::{Bell, Exchange, Links};
use super::{Clock, draw};
use crate::limits::{PROBE_PAUSE, RECEIPTS_MAX, RETAINED_BYTES_DEFAULT};
use crate::names::{DiskId, Doubt, LogId, Position, Receipt, ServerId};
use crate::writer::{AppendError, BeginError, Boot, Disk, Event, Intent, Missing, Stop, Terms, Writer, WriterStatus};
use commit_log::{Identity, LogError, LogOptions, MappedLog};
use raidcomm::keys::Keys;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use thiserror::Error;

/// How often the disk is brought up to date, in nanoseconds: what a loss of power everywhere at once may cost.
const SYNC_PAUSE: u64 = 10_000_000;
/// There while the local log may lack what was written to it: a sync has failed since it was opened last.
const FAILED: &str = "sync.failed";
/// Longest wait for something to happen, so that nothing that was forgotten stays so.
const WAIT_MAX: u64 = PROBE_PAUSE;
/// The kernel's name for its present run.
const BOOT_FILE: &str = "/proc/sys/kernel/random/boot_id";

/// How a log is opened.
#[derive(Clone, Debug)]
pub struct LogTerms {
    /// Which log. For a new one, drawn at random ([`RemoteLog::draw_log`]).
    pub log: LogId,
    /// k: so many servers must hold a record.
    pub copies: u8,
    /// n; the servers beyond are spares. Without a fall-back to this disk all servers are members.
    pub members: u8,
    /// Where they listen.
    pub servers: Vec<SocketAddr>,
    /// The folder of the local log.
    pub folder: Option<PathBuf>,
    /// Every recovery has this disk: the disk alone may be enough at any time. Otherwise only under a lease.
    pub restart_on_this_disk: bool,
    /// What is expected to be there.
    pub intent: Intent,
    /// Bytes of records since the last truncation.
    pub retained_bytes_max: u64,
    /// How long the opening may take.
    pub time: Duration,
    /// Which run of the kernel wrote to the folder if a crash has lost nothing of it: the present one of this host, unless the folder
    /// lives and dies with something else.
    pub boot: Option<Boot>,
    /// As the servers': keys of the instance, or none.
    pub keys: Option<Keys>,
}

impl LogTerms {
    /// A log that exists, on these servers and on this disk.
    pub fn new(log: LogId, copies: u8, servers: Vec<SocketAddr>, folder: Option<PathBuf>) -> LogTerms {
        LogTerms {
            log,
            copies,
            members: servers.len() as u8,
            servers,
            restart_on_this_disk: folder.is_some(),
            folder,
            intent: Intent::Open,
            retained_bytes_max: RETAINED_BYTES_DEFAULT,
            time: Duration::from_secs(10),
            boot: None,
            keys: None,
        }
    }
}

/// Why a log is not open, or a record has no receipt.
#[derive(Debug, Error)]
pub enum RemoteLogError {
    /// What the log contains cannot be known. Bring back what is missing, or accept its loss.
    #[error("the log cannot be opened yet: {0}")]
    Indeterminate(Missing),
    /// The servers did not get so far in time.
    #[error(
        "the log was not opened in time: its servers hold it, but fewer than enough of them, or the local disk is full"
    )]
    Slow,
    /// The writer has stopped.
    #[error(transparent)]
    Stopped(#[from] Stop),
    /// The terms, or the local log.
    #[error(transparent)]
    Begin(#[from] BeginError),
    /// The local log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Nothing was appended.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// It is not known whether it is durable: neither servers nor disk have answered in time. It is still tried.
    #[error("no receipt in time: neither k servers nor the disk have answered, or the lease was over")]
    Late,
    /// Not everything that is to be given up has a receipt.
    #[error("record {0} has no receipt yet: wait for it before truncating")]
    Unacknowledged(Position),
    /// The operating system.
    #[error(transparent)]
    System(#[from] io::Error),
}

struct Inner {
    writer: Writer<MappedLog>,
    links: Links,
    clock: Clock,
    receipts: VecDeque<(Position, Receipt)>,
    /// The next receipt is for the disk, and the lease was over before it could be given.
    is_withheld: bool,
    sync_asked_at: u64,
    /// Where a failed sync is noted, unless it was.
    failed: Option<PathBuf>,
}

/// See the module's description.
pub struct RemoteLog {
    inner: Arc<Mutex<Inner>>,
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
        let bell = Bell::new()?;
        let exchange = Arc::new(Mutex::new(Exchange::default()));
        let disk = match &terms.folder {
            Some(folder) => {
                let rung = bell.clone();
                let identity = Identity { instance: terms.log.0.into(), site: 0 };
                let options =
                    LogOptions { on_synced: Some(Box::new(move || rung.ring())), ..LogOptions::new(identity) };
                let (log, opened) = MappedLog::open(folder, options)?;
                let boot = terms.boot.map_or_else(boot, Ok)?;
                let is_cut = opened.cut.is_some() || folder.join(FAILED).exists();
                Some(Disk { log, name_if_new: DiskId(draw()?), boot, is_cut })
            }
            None => None,
        };
        let failed = terms.folder.as_ref().map(|folder| folder.join(FAILED));
        let LogTerms { time, keys, intent, .. } = terms;
        let clock = Clock::start();
        let now = clock.now();
        let writer_terms = Terms {
            log: terms.log,
            copies: terms.copies,
            members: terms.members,
            servers: terms.servers.into_iter().map(ServerId).collect(),
            restart_on_this_disk: terms.restart_on_this_disk,
            retained_bytes_max: terms.retained_bytes_max,
        };
        let writer = Writer::begin(now, writer_terms, draw()?, disk, intent, None)?;
        // The local log says so itself now.
        if let Some(failed) = failed.as_ref().filter(|failed| failed.exists()) {
            std::fs::remove_file(failed)?;
        }
        let links = Links::new(Arc::clone(&exchange), bell.clone(), keys.is_none());
        let inner =
            Inner { writer, links, clock, receipts: VecDeque::new(), is_withheld: false, sync_asked_at: 0, failed };
        let inner = Arc::new(Mutex::new(inner));
        let stop = Arc::new(AtomicBool::new(false));
        let keeper = Keeper { inner: Arc::clone(&inner), exchange, bell, clock, keys, stop: Arc::clone(&stop) };
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

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a record and waits until it is durable, at most so long; where the disk alone counts and has been quick, until a sync of it has returned
    /// that was begun in that time.
    ///
    /// # Errors
    /// See [`RemoteLogError`].
    pub fn append(&mut self, record: &[u8], time: Duration) -> Result<(Position, Receipt), RemoteLogError> {
        let mut inner = self.lock();
        let position = inner.append(record)?;
        Ok((position, inner.wait_receipt(position, time)?))
    }

    /// Appends a record, which becomes durable together with later ones; [`RemoteLog::flush`] waits for it.
    ///
    /// # Errors
    /// See [`RemoteLogError`].
    pub fn append_no_wait(&mut self, record: &[u8]) -> Result<Position, RemoteLogError> {
        self.lock().append(record)
    }

    /// Waits until all that has been appended is durable, as [`RemoteLog::append`] does. The receipt is that of the last record; none if there is no
    /// record without a receipt.
    ///
    /// # Errors
    /// See [`RemoteLogError`].
    pub fn flush(&mut self, time: Duration) -> Result<Option<Receipt>, RemoteLogError> {
        let mut inner = self.lock();
        let end = inner.writer.end();
        if inner.writer.acknowledged() >= end && !inner.is_withheld {
            return Ok(None);
        }
        inner.wait_receipt(Position(end.0 - 1), time).map(Some)
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

    /// A record; none if it was truncated or has not been appended.
    pub fn read(&self, position: Position) -> Option<Vec<u8>> {
        self.lock().writer.read(position).map(|bytes| bytes.to_vec())
    }

    /// The first record, and the one that would come next.
    pub fn extent(&self) -> (Position, Position) {
        let inner = self.lock();
        (inner.writer.from(), inner.writer.end())
    }

    /// Gives up records below a position.
    ///
    /// # Errors
    /// One of them has no receipt.
    pub fn truncate_before(&mut self, position: Position) -> Result<(), RemoteLogError> {
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
                Err(RemoteLogError::Stopped(Stop::Removed)) => return Ok(()),
                other => other?,
            }
            if now >= deadline {
                return Err(RemoteLogError::Late);
            }
            inner.wait(deadline)?;
        }
    }

    /// What the opening could not vouch for: to be looked at before the log is used.
    pub fn doubt(&self) -> Option<Doubt> {
        self.lock().writer.doubt()
    }

    /// What has happened since it was asked last.
    pub fn events(&mut self) -> Vec<Event> {
        let mut inner = self.lock();
        std::iter::from_fn(|| inner.writer.take_event()).collect()
    }

    /// How it stands.
    pub fn status(&self) -> WriterStatus {
        let inner = self.lock();
        inner.writer.status(inner.clock.now())
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

impl Inner {
    fn append(&mut self, record: &[u8]) -> Result<Position, RemoteLogError> {
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
        self.note_failure();
        now
    }

    /// After a failed sync the kernel may drop what was written, and nobody sees that at the next start: it is told to it.
    fn note_failure(&mut self) {
        if let (Some(Stop::DiskFailed(_)), Some(path)) = (self.writer.stopped(), self.failed.take())
            && let Err(error) = std::fs::write(&path, b"")
        {
            tracing::error!("{}: {error}: remove the local log before this log is opened again", path.display());
        }
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

    fn wait_receipt(&mut self, position: Position, time: Duration) -> Result<Receipt, RemoteLogError> {
        self.writer.leave_sync(true);
        let receipt = self.wait_receipt_syncing(position, time);
        self.writer.leave_sync(false);
        receipt
    }

    fn wait_receipt_syncing(&mut self, position: Position, time: Duration) -> Result<Receipt, RemoteLogError> {
        let deadline = self.clock.now() + time.as_nanos() as u64;
        loop {
            let now = self.drive();
            while let Some(&(end, receipt)) = self.receipts.front() {
                if end > position {
                    // This thread may have been held up since the machine looked at the time.
                    self.is_withheld = receipt == Receipt::Disk && !self.writer.vouches(self.clock.now(), end);
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
struct Keeper {
    inner: Arc<Mutex<Inner>>,
    exchange: Arc<Mutex<Exchange>>,
    bell: Bell,
    clock: Clock,
    keys: Option<Keys>,
    stop: Arc<AtomicBool>,
}

impl Keeper {
    fn run(self) {
        let mut connecting = Connecting::new(self.keys.clone());
        while !self.stop.load(Ordering::Relaxed) {
            if connecting.turn(self.clock.now(), &self.exchange) {
                self.bell.ring();
            }
            // Whoever holds it does all this itself.
            if let Ok(mut inner) = self.inner.try_lock() {
                let now = inner.clock.now();
                let Inner { links, writer, .. } = &mut *inner;
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
