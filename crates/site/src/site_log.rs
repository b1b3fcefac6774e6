//! The log of a site: on its disk alone, or in the memory of servers as well, as the configuration says.
//!
//! Invariants: there is one log, or one and its successor, which has everything that it has and takes its place; a log is never gone on
//! with that lacks what was acknowledged, unless the operator has said so.

use crate::config::SiteConfig;
use crate::core::advice;
use crate::limits;
use crate::repair::{self, LOG_FOLDER, MEMORY_LOG_FOLDER};
use commit_log::mapped::OnSynced;
use commit_log::{Log, LogError, LogOptions, LogStatus, MappedLog, Position, Records};
use network_memory::host::log_folder::{FolderError, Opening, sync_folder};
use network_memory::host::remote_log::RemoteLogError;
use network_memory::writer::Boot;
use raidcomm::keys::Keys;
use remote_commit_log::RemoteCommitLog;
use remote_commit_log::log::OpenError;
use rustix::fd::OwnedFd;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use thiserror::Error;

/// A folder that takes another one's place when it is complete, and one whose place was taken.
const NEW: &str = "new";
const OLD: &str = "old";

/// Why there is no log to go on with.
#[derive(Debug, Error)]
pub enum SiteLogError {
    /// On the disk.
    #[error("{0}{advice}", advice = advice(matches!(.0, LogError::Corrupt { .. })))]
    Log(#[from] LogError),
    /// In the memory of servers.
    #[error("{0}{advice}", advice = advice_on(.0))]
    Memory(#[from] OpenError),
    /// A file or folder.
    #[error("could not {action} {path}: {source}")]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// Which.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// Somebody wanted the site to end meanwhile.
    #[error("it was told to end while it waited for its memory servers")]
    Stopped,
}

/// What to do about it.
fn advice_on(error: &OpenError) -> String {
    match error {
        OpenError::Folder(FolderError::NoServers) => {
            "; name them in its configuration: memory = [\"HOST:PORT\", ...]".to_owned()
        }
        OpenError::Folder(FolderError::Copies { made, .. }) => format!(
            "; say memory_copies = {made}, or start the site once without memory servers, which brings the log to its disk"
        ),
        OpenError::Folder(FolderError::Log { source, .. }) => {
            advice(matches!(**source, RemoteLogError::Log(LogError::Corrupt { .. })))
        }
        OpenError::Doubtful { .. } | OpenError::Foreign { .. } => advice(true),
        _ => String::new(),
    }
}

/// See the module's description.
pub enum SiteLog {
    /// On the disk alone.
    Disk(MappedLog),
    /// In the memory of servers, while the disk follows.
    Memory(Box<RemoteCommitLog>),
}

impl SiteLog {
    /// Opens the log, or makes it; carries it to where the configuration wants it. Waits for memory servers without which nobody knows
    /// what is in it, until `stop` is set.
    ///
    /// # Errors
    /// See [`SiteLogError`].
    pub fn open(
        config: &SiteConfig,
        keys: Option<&Keys>,
        on_synced: OnSynced,
        stop: &AtomicBool,
    ) -> Result<SiteLog, SiteLogError> {
        let places = Places::of(config);
        let opener = Opener { config, keys, stop };
        let (wanted, other) =
            if config.memory.is_empty() { (&places.disk, &places.memory) } else { (&places.memory, &places.disk) };
        for place in [wanted, other] {
            remove(&place.with_extension(NEW))?;
            remove(&place.with_extension(OLD))?;
        }
        if wanted.exists() {
            // A carrying that was cut off when all was done but this.
            set_aside(other)?;
        } else if other.exists() {
            carry(opener, &places)?;
        }
        match config.memory.is_empty() {
            true => opener.disk(wanted, Position::START, Some(on_synced)).map(SiteLog::Disk),
            false => Ok(SiteLog::Memory(Box::new(opener.memory(wanted, &config.memory, Position::START)?))),
        }
    }

    /// What becomes readable when [`Log::poll_synced`] may find something, beside what `on_synced` tells.
    pub fn watcher(&self) -> Option<&OwnedFd> {
        match self {
            SiteLog::Disk(_) => None,
            SiteLog::Memory(log) => Some(log.watcher()),
        }
    }

    /// Its memory servers.
    pub fn servers(&self) -> &[SocketAddr] {
        match self {
            SiteLog::Disk(_) => &[],
            SiteLog::Memory(log) => log.servers(),
        }
    }

    /// Ends it in order: everything is on disk then, and nothing else is needed to open it.
    ///
    /// # Errors
    /// The disk has failed, or is slow.
    pub fn close(self) -> Result<(), LogError> {
        match self {
            SiteLog::Disk(log) => log.close(),
            SiteLog::Memory(log) => log.close(limits::LOG_CLOSE_TIME),
        }
    }

    fn log(&self) -> &dyn Log {
        match self {
            SiteLog::Disk(log) => log,
            SiteLog::Memory(log) => &**log,
        }
    }

    fn log_mut(&mut self) -> &mut dyn Log {
        match self {
            SiteLog::Disk(log) => log,
            SiteLog::Memory(log) => &mut **log,
        }
    }
}

impl Log for SiteLog {
    fn append(&mut self, record: &[u8]) -> Result<Position, LogError> {
        self.log_mut().append(record)
    }

    fn appended(&self) -> Position {
        self.log().appended()
    }

    fn synced(&self) -> Position {
        self.log().synced()
    }

    fn first(&self) -> Position {
        self.log().first()
    }

    fn request_sync(&mut self) {
        self.log_mut().request_sync();
    }

    fn poll_synced(&mut self) -> Result<Position, LogError> {
        self.log_mut().poll_synced()
    }

    fn sync_now(&mut self) -> Result<(), LogError> {
        self.log_mut().sync_now()
    }

    fn truncate_before(&mut self, position: Position) -> Result<(), LogError> {
        self.log_mut().truncate_before(position)
    }

    fn read_from(&self, position: Position) -> Records<'_> {
        self.log().read_from(position)
    }

    fn turn(&mut self) -> Option<Duration> {
        self.log_mut().turn()
    }

    fn status(&self) -> LogStatus {
        self.log().status()
    }
}

/// Where the two kinds of log are.
struct Places {
    disk: PathBuf,
    memory: PathBuf,
}

impl Places {
    fn of(config: &SiteConfig) -> Places {
        Places { disk: config.data.join(LOG_FOLDER), memory: config.data.join(MEMORY_LOG_FOLDER) }
    }
}

/// What it takes to open a log of either kind.
#[derive(Clone, Copy)]
struct Opener<'a> {
    config: &'a SiteConfig,
    keys: Option<&'a Keys>,
    stop: &'a AtomicBool,
}

impl Opener<'_> {
    fn disk(self, folder: &Path, begins_at: Position, on_synced: Option<OnSynced>) -> Result<MappedLog, SiteLogError> {
        let options = LogOptions { on_synced, begins_at, ..LogOptions::new(repair::identity(self.config)) };
        fs::create_dir_all(folder).map_err(|source| SiteLogError::File {
            action: "make",
            path: folder.to_owned(),
            source,
        })?;
        let (log, opened) = MappedLog::open(folder, options)?;
        if let Some(cut) = &opened.cut {
            tracing::warn!(file = %cut.file.display(), offset = cut.offset, bytes = cut.bytes,
                "the log was cut at its last whole record; the other sites have what stood behind it");
        }
        Ok(log)
    }

    /// Without servers, those that it was last opened with.
    fn memory(
        self,
        folder: &Path,
        servers: &[SocketAddr],
        begins_at: Position,
    ) -> Result<RemoteCommitLog, SiteLogError> {
        let config = self.config;
        let opening = Opening {
            copies: (config.memory_copies > 0).then_some(config.memory_copies),
            accept_loss: config.accept_lost_memory,
            boot: (config.boot > 0).then(|| Boot(config.boot.into())),
            keys: self.keys.cloned(),
            ..Opening::new(servers.to_vec(), limits::LOG_OPEN_TIME)
        };
        // Other sites count on what this one has logged: it may only lack something if there are none, or they are given up as well.
        let may_lack = config.peers.is_empty() || config.alone;
        let mut is_told = false;
        loop {
            match RemoteCommitLog::open(folder, &opening, begins_at, may_lack) {
                Err(OpenError::Folder(FolderError::Log { source, .. })) if is_passing(&source) => {
                    if !std::mem::replace(&mut is_told, true) {
                        tracing::warn!(
                            "waiting for memory servers: {source}; start them again, or, if their memory is lost, give up what only they \
                             had: `raid site --config FILE --accept-lost-memory`"
                        );
                    }
                    if self.stop.load(Ordering::Relaxed) {
                        return Err(SiteLogError::Stopped);
                    }
                }
                other => return Ok(other?),
            }
        }
    }
}

/// Whether servers that come back would help.
fn is_passing(error: &RemoteLogError) -> bool {
    matches!(error, RemoteLogError::Indeterminate(_) | RemoteLogError::Slow)
}

/// Carries the log to the other kind: a copy is made and made durable, takes its place, and only then the old one goes.
fn carry(opener: Opener<'_>, places: &Places) -> Result<(), SiteLogError> {
    let config = opener.config;
    let is_to_disk = config.memory.is_empty();
    let (old, new) = if is_to_disk { (&places.memory, &places.disk) } else { (&places.disk, &places.memory) };
    tracing::info!(from = %old.display(), to = %new.display(), "the log is carried over");
    let partial = new.with_extension(NEW);
    let (from, mut to);
    if is_to_disk {
        from = SiteLog::Memory(Box::new(opener.memory(old, &[], Position::START)?));
        to = SiteLog::Disk(opener.disk(&partial, from.first(), None)?);
    } else {
        from = SiteLog::Disk(opener.disk(old, Position::START, None)?);
        to = SiteLog::Memory(Box::new(opener.memory(&partial, &config.memory, from.first())?));
    }
    for entry in from.read_from(from.first()) {
        let (position, record) = entry?;
        let copied = to.append(&record)?;
        assert_eq!(copied, position, "a log that is carried over keeps its positions");
    }
    to.close()?;
    let renamed = fs::rename(&partial, new).and_then(|()| sync_folder(&config.data));
    renamed.map_err(|source| SiteLogError::File { action: "rename", path: partial, source })?;
    if let SiteLog::Memory(log) = from
        && let Err(error) = log.remove(limits::LOG_CLOSE_TIME)
    {
        tracing::warn!("memory servers keep the log that was carried over, until they lose their memory: {error}");
    }
    set_aside(old)
}

/// Removes a folder so that it is never there in part.
fn set_aside(folder: &Path) -> Result<(), SiteLogError> {
    if !folder.exists() {
        return Ok(());
    }
    let old = folder.with_extension(OLD);
    fs::rename(folder, &old).map_err(|source| SiteLogError::File {
        action: "rename",
        path: folder.to_owned(),
        source,
    })?;
    remove(&old)
}

fn remove(folder: &Path) -> Result<(), SiteLogError> {
    match fs::remove_dir_all(folder) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(SiteLogError::File { action: "remove", path: folder.to_owned(), source })
        }
        _ => Ok(()),
    }
}
