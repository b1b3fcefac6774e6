//! The log of a site: on its disk alone, or in the memory of servers as well, as the configuration says.
//!
//! Invariants: there is one log, or one and its successor, which has everything that it has and takes its place; a log is never gone on
//! with that lacks what was acknowledged, unless the operator has said so.

use crate::config::SiteConfig;
use crate::core::advice;
use crate::limits;
use crate::repair::{self, LOG_FOLDER, MEMORY_LOG_FOLDER};
use commit_log::mapped::OnSynced;
use commit_log::{Log, LogError, LogOptions, LogRecords, LogStatus, MappedLog, Position};
use network_memory::host::log_folder::{FolderError, FolderOpening, LogFolder, folder_of, sync_folder};
use network_memory::host::remote_log::RemoteLogError;
use network_memory::writer::Boot;
use raidcomm::keys::Keys;
use remote_commit_log::RemoteCommitLog;
use remote_commit_log::log::LogOpenError;
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::ErrorKind;
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
    Memory(#[from] LogOpenError),
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
    /// Another process has the site's data.
    #[error("the data in {folder} is in use by another process: stop that one first, or use another folder")]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// What may be lost, other sites believe that this one has.
    #[error(
        "--accept-lost-memory is for a site without others: those count on what this one has logged, and would bring it only what they know \
         it to lack; take a new copy from them with --repair"
    )]
    CountedOn,
    /// Somebody wanted the site to end meanwhile.
    #[error("it was told to end while it waited for its memory servers")]
    Stopped,
}

/// What to do about it.
fn advice_on(error: &LogOpenError) -> String {
    match error {
        LogOpenError::Folder(FolderError::NoServers) => {
            "; name them in its configuration: memory = [\"HOST:PORT\", ...]".to_owned()
        }
        LogOpenError::Folder(FolderError::Copies { made, .. }) => format!(
            "; say memory_copies = {made}, or start the site once without memory servers, which brings the log to its disk"
        ),
        LogOpenError::Folder(FolderError::Log { source, .. }) => {
            advice(matches!(**source, RemoteLogError::Log(LogError::Corrupt { .. })))
        }
        LogOpenError::Folder(FolderError::File { source, .. }) if source.kind() == ErrorKind::ReadOnlyFilesystem => {
            "; the file system is read-only: mount it writable, or look in the kernel's log for the disk error that made it so".to_owned()
        }
        LogOpenError::Foreign { .. } => advice(true),
        _ => String::new(),
    }
}

/// Takes the data of a site for this process, for as long as what is returned lives.
///
/// # Errors
/// Another process has it, or the operating system refuses.
pub fn take(data: &Path) -> Result<File, SiteLogError> {
    let failed = |action, source| SiteLogError::File { action, path: data.to_owned(), source };
    let folder = File::open(data).map_err(|source| failed("open", source))?;
    match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(folder),
        Err(Errno::WOULDBLOCK) => Err(SiteLogError::InUse { folder: data.to_owned() }),
        Err(error) => Err(failed("lock", error.into())),
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
    /// what is in it, until `stop` is set. This process has taken the site's data.
    ///
    /// # Errors
    /// See [`SiteLogError`].
    pub fn open(
        config: &SiteConfig,
        keys: Option<&Keys>,
        on_synced: OnSynced,
        stop: &AtomicBool,
    ) -> Result<SiteLog, SiteLogError> {
        if config.accept_lost_memory && !config.peers.is_empty() {
            return Err(SiteLogError::CountedOn);
        }
        let places = Places::of(config);
        let opener = Opener { config, keys, stop };
        let (wanted, other) =
            if config.memory.is_empty() { (&places.disk, &places.memory) } else { (&places.memory, &places.disk) };
        for place in [wanted, other] {
            opener.give_up(&place.with_extension(NEW))?;
            opener.give_up(&place.with_extension(OLD))?;
        }
        if is_there(wanted)? {
            // A carrying that was cut off when all was done but this.
            opener.put_away(other)?;
        } else if is_there(other)? {
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

    fn read_from(&self, position: Position) -> LogRecords<'_> {
        self.log().read_from(position)
    }

    fn turn(&mut self) -> Option<Duration> {
        self.log_mut().turn()
    }

    fn on_disk(&self) -> Position {
        self.log().on_disk()
    }

    fn has_failed(&self) -> bool {
        self.log().has_failed()
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
        let opening = self.opening(servers);
        let mut told = String::new();
        loop {
            match RemoteCommitLog::open(folder, &opening, begins_at) {
                Err(LogOpenError::Folder(FolderError::Log { source, .. })) if is_passing(&source) => {
                    let text = source.to_string();
                    if told != text {
                        match *source {
                            RemoteLogError::Indeterminate(_) => tracing::warn!(
                                "waiting for memory servers: {text}; start them again, or, if their memory is lost, give up what only they \
                                 had: `raid site --config FILE --accept-lost-memory`"
                            ),
                            _ => tracing::warn!("waiting: {text}"),
                        }
                        told = text;
                    }
                    if self.stop.load(Ordering::Relaxed) {
                        return Err(SiteLogError::Stopped);
                    }
                }
                other => return Ok(other?),
            }
        }
    }

    fn opening(self, servers: &[SocketAddr]) -> FolderOpening {
        let config = self.config;
        FolderOpening {
            copies: (config.memory_copies > 0 && !servers.is_empty()).then_some(config.memory_copies),
            owner: repair::identity(config).to_string(),
            accept_loss: config.accept_lost_memory,
            boot: (config.boot > 0).then(|| Boot(config.boot.into())),
            keys: self.keys.cloned(),
            ..FolderOpening::new(servers.to_vec(), limits::LOG_OPEN_TIME)
        }
    }

    /// Puts a log away whose place another one has taken, so that it is never there in part.
    fn put_away(self, folder: &Path) -> Result<(), SiteLogError> {
        if !is_there(folder)? {
            return Ok(());
        }
        let old = folder.with_extension(OLD);
        rename(folder, &old)?;
        self.give_up(&old)
    }

    /// Removes a log that nobody needs, and has memory servers forget it if they answer.
    fn give_up(self, folder: &Path) -> Result<(), SiteLogError> {
        if !is_there(folder)? {
            return Ok(());
        }
        if is_made(folder)
            && let Err(reason) = self.forget(folder)
        {
            tracing::warn!("memory servers keep a log that is over, until they lose their memory: {reason}");
        }
        let failed = |source| SiteLogError::File { action: "remove", path: folder.to_owned(), source };
        fs::remove_dir_all(folder).map_err(failed)
    }

    fn forget(self, folder: &Path) -> Result<(), String> {
        let log =
            RemoteCommitLog::open(folder, &self.opening(&[]), Position::START).map_err(|error| error.to_string())?;
        log.remove(limits::LOG_CLOSE_TIME).map_err(|error| error.to_string())
    }
}

/// Whether it is a folder of a log that memory servers keep, which was made: before that nothing depends on it.
fn is_made(folder: &Path) -> bool {
    LogFolder::take(folder).and_then(|folder| folder.read()).is_ok_and(|name| name.is_some_and(|name| name.is_made))
}

/// An error is no answer: a log that cannot be seen may be there.
fn is_there(folder: &Path) -> Result<bool, SiteLogError> {
    folder.try_exists().map_err(|source| SiteLogError::File { action: "look for", path: folder.to_owned(), source })
}

/// Durable when it returns.
fn rename(from: &Path, to: &Path) -> Result<(), SiteLogError> {
    let renamed = fs::rename(from, to).and_then(|()| sync_folder(folder_of(to)));
    renamed.map_err(|source| SiteLogError::File { action: "rename", path: from.to_owned(), source })
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
    if is_to_disk && !is_made(old) {
        return opener.put_away(old);
    }
    let partial = new.with_extension(NEW);
    let (from, mut to);
    if is_to_disk {
        from = SiteLog::Memory(Box::new(opener.memory(old, &[], Position::START)?));
        to = SiteLog::Disk(opener.disk(&partial, from.first(), None)?);
    } else {
        from = SiteLog::Disk(opener.disk(old, Position::START, None)?);
        to = SiteLog::Memory(Box::new(opener.memory(&partial, &config.memory, from.first())?));
    }
    let bytes = from.appended().since(from.first());
    tracing::info!(from = %old.display(), to = %new.display(), bytes, "the log is carried over");
    for entry in from.read_from(from.first()) {
        let (position, record) = entry?;
        let copied = to.append(&record)?;
        assert_eq!(copied, position, "a log that is carried over keeps its positions");
    }
    match to {
        SiteLog::Disk(log) => log.close()?,
        SiteLog::Memory(log) => log.close(limits::LOG_CARRY_TIME)?,
    }
    drop(from);
    rename(&partial, new)?;
    opener.put_away(old)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EXPLAINED;
    use network_memory::host::local_servers::LocalServers;

    struct World {
        place: tempfile::TempDir,
        servers: LocalServers,
    }

    impl World {
        fn new() -> World {
            let servers = LocalServers::start(2, 16 << 20).expect("loopback has ports");
            World { place: tempfile::tempdir().expect("a temporary folder"), servers }
        }

        /// A site without others, on its disk.
        fn on_disk(&self) -> SiteConfig {
            let path = self.place.path().join("site.toml");
            let (site, _) = EXPLAINED.split_once("# The oracle").expect("both are explained");
            std::fs::write(&path, site).expect("the folder can be written");
            let config = SiteConfig::read(&path).expect("it is explained right");
            SiteConfig { data: self.place.path().to_owned(), peers: Default::default(), ..config }
        }

        fn in_memory(&self) -> SiteConfig {
            SiteConfig { memory: self.servers.addresses().to_vec(), ..self.on_disk() }
        }
    }

    fn open(config: &SiteConfig) -> Result<SiteLog, SiteLogError> {
        SiteLog::open(config, None, Box::new(|| ()), &AtomicBool::new(false))
    }

    fn records(log: &SiteLog) -> Vec<(Position, Vec<u8>)> {
        log.read_from(log.first()).map(|entry| entry.expect("it can be read")).collect()
    }

    fn folders(world: &World) -> Vec<String> {
        let entries = fs::read_dir(world.place.path()).expect("a folder").map(|entry| entry.expect("an entry"));
        let mut names: Vec<String> = entries
            .filter(|entry| entry.path().is_dir())
            .map(|entry| entry.file_name().into_string().expect("a name"))
            .collect();
        names.sort();
        names
    }

    /// If this failed, a site would lose its log, or its place in it, when memory servers are given to it or taken away.
    #[test]
    fn a_log_is_carried_with_its_positions() {
        let world = World::new();
        let mut expected = Vec::new();
        for (life, config) in
            [world.on_disk(), world.in_memory(), world.on_disk(), world.in_memory()].iter().enumerate()
        {
            let mut log = open(config).expect("it opens");
            assert_eq!(records(&log), expected, "in life {life}");
            for number in 0..20 {
                let record = vec![life as u8 + 1; 10 + number];
                expected.push((log.append(&record).expect("there is room"), record));
            }
            // So it begins later than at the start in the next life.
            log.sync_now().expect("a disk, or servers");
            if life == 1 {
                log.truncate_before(expected[25].0).expect("it is durable");
                expected.drain(..25);
            }
            let is_memory = matches!(log, SiteLog::Memory(_));
            assert_eq!(folders(&world), [if is_memory { MEMORY_LOG_FOLDER } else { LOG_FOLDER }]);
        }
    }

    /// If this failed, a site whose log was being carried when it was killed would go on with half of it, or not at all.
    #[test]
    fn what_a_killed_carrying_leaves_is_put_right() {
        let world = World::new();
        let mut log = open(&world.on_disk()).expect("it opens");
        log.append(b"a record").expect("there is room");
        drop(log);
        // Killed while it copied: there is a part of a log, or a folder of one that was never made.
        let part = world.place.path().join("memory-log.new");
        for is_made in [false, true] {
            match is_made {
                false => fs::create_dir(&part).expect("a new folder"),
                true => {
                    let opening = FolderOpening {
                        owner: repair::identity(&world.on_disk()).to_string(),
                        ..FolderOpening::new(world.servers.addresses().to_vec(), limits::LOG_OPEN_TIME)
                    };
                    let mut log = RemoteCommitLog::open(&part, &opening, Position::START).expect("servers are there");
                    log.append(b"a part").expect("there is room");
                }
            }
            assert_eq!(records(&open(&world.on_disk()).expect("it opens")).len(), 1);
            assert_eq!(folders(&world), [LOG_FOLDER]);
        }
        // Killed when all was done but the end of the old one.
        let old = world.place.path().join("kept");
        fs::rename(world.place.path().join(LOG_FOLDER), &old).expect("nobody uses it");
        let mut log = open(&world.in_memory()).expect("a new one");
        log.append(b"the same").expect("there is room");
        drop(log);
        fs::rename(&old, world.place.path().join(LOG_FOLDER)).expect("nobody uses it");
        assert_eq!(records(&open(&world.in_memory()).expect("it opens"))[0].1, b"the same");
        assert_eq!(folders(&world), [MEMORY_LOG_FOLDER]);
    }

    /// If this failed, two processes, or the process of another site, would write over a site's log.
    #[test]
    fn a_log_is_of_one_site_and_one_process() {
        let world = World::new();
        let taken = take(world.place.path()).expect("nobody has it");
        let error = take(world.place.path()).expect_err("it is taken").to_string();
        assert!(error.contains("in use by another process"), "{error}");
        drop(taken);
        take(world.place.path()).expect("it is free again");
        drop(open(&world.in_memory()).expect("it opens"));
        let other = SiteConfig { id: 9, ..world.in_memory() };
        let error = open(&other).err().expect("it is another site's").to_string();
        assert!(error.contains("site 1 of instance") && error.contains("site 9 of instance"), "{error}");
    }

    /// If this failed, other sites would believe that a site has what it has lost.
    #[test]
    fn a_site_with_others_accepts_no_loss() {
        let world = World::new();
        let peers = [("2".to_owned(), SocketAddr::from(([127, 0, 0, 1], 1)))].into();
        let config = SiteConfig { accept_lost_memory: true, alone: true, peers, ..world.in_memory() };
        let error = open(&config).err().expect("it is refused").to_string();
        assert!(error.contains("--repair"), "{error}");
        assert!(folders(&world).is_empty(), "nothing was made");
    }
}
