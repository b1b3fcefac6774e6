//! The folder of a log: a lock that one process holds, the name of the log and of its servers, and the log's own disk. Whoever opens the log
//! again need not name them.
//!
//! | file | content |
//! |---|---|
//! | `lock` | locked by the process that has the files open; its number |
//! | `terms` | the log's name, its servers, k, and whether it has been made |
//! | `log/` | the local log, which is replayed and sent to servers that come back |

use super::remote_log::{LogTerms, RemoteLog, RemoteLogError};
use crate::limits::RETAINED_BYTES_DEFAULT;
use crate::names::LogId;
use crate::writer::{BeginError, Boot, Intent, WriterStop};
use raidcomm::keys::Keys;
use rustix::fs::{FlockOperation, flock};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// k of a new log, if it is not said; that of its servers, if there are fewer.
pub const COPIES_DEFAULT: u8 = 2;

const LOCK: &str = "lock";
const TERMS: &str = "terms";
const TERMS_NEW: &str = "terms.new";
const LOG: &str = "log";

/// Why a log is not opened from its folder.
#[derive(Debug, Error)]
pub enum FolderError {
    /// Another process has it.
    #[error("{} is in use by another process{}", path.display(), process.map(|process| format!(" ({process})")).unwrap_or_default())]
    InUse {
        /// The folder.
        path: PathBuf,
        /// Which process, if it has said so.
        process: Option<u32>,
    },
    /// A file or folder.
    #[error("could not {action} {}: {source}", path.display())]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The file that names the log.
    #[error("{} is damaged: {reason}", path.display())]
    Terms {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The log is somebody else's.
    #[error("the log in {} belongs to {found}, not to {expected}: use the folder of the right one", path.display())]
    Owner {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        found: String,
        /// Who wants it.
        expected: String,
    },
    /// There are none, and there is no log yet that could name them.
    #[error("no memory servers are named")]
    NoServers,
    /// k is that of the log.
    #[error("k={wanted}, but the log in {} was made with k={made}", path.display())]
    Copies {
        /// What was wanted.
        wanted: u8,
        /// What it was made with.
        made: u8,
        /// The folder.
        path: PathBuf,
    },
    /// The log.
    #[error("the log in {} is not open: {source}", path.display())]
    Log {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: Box<RemoteLogError>,
    },
}

/// What is known of a log before it is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogName {
    /// Which log.
    pub log: LogId,
    /// k.
    pub copies: u8,
    /// As it was last opened with.
    pub servers: Vec<SocketAddr>,
    /// Who writes it, if that was said when it was made: of one line.
    pub owner: String,
    /// It has been made; before that nothing depends on it.
    pub is_made: bool,
}

/// How a log is opened from its folder.
#[derive(Clone, Debug)]
pub struct FolderOpening {
    /// The memory servers; none: those that the log was last opened with.
    pub servers: Vec<SocketAddr>,
    /// k; none: that of the log, or [`COPIES_DEFAULT`].
    pub copies: Option<u8>,
    /// Who writes it, in words of one line; the log of another one is refused. Empty: nobody minds.
    pub owner: String,
    /// The log is opened with what answers, whatever is lost.
    pub accept_loss: bool,
    /// Bytes of records since the last truncation.
    pub retained_bytes_max: u64,
    /// How long it may take.
    pub time: Duration,
    /// See [`LogTerms::boot`].
    pub boot: Option<Boot>,
    /// As the servers': keys of the instance, or none.
    pub keys: Option<Keys>,
}

impl FolderOpening {
    /// With these servers; nothing is accepted to be lost.
    pub fn new(servers: Vec<SocketAddr>, time: Duration) -> FolderOpening {
        let (copies, accept_loss, retained_bytes_max) = (None, false, RETAINED_BYTES_DEFAULT);
        FolderOpening {
            servers,
            copies,
            owner: String::new(),
            accept_loss,
            retained_bytes_max,
            time,
            boot: None,
            keys: None,
        }
    }
}

/// A folder that this process has alone.
#[derive(Debug)]
pub struct LogFolder {
    path: PathBuf,
    _lock: File,
}

/// Names the file in an error.
fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    move |source| FolderError::File { action, path: path.to_path_buf(), source }
}

/// The folder that a file is in: the present one for a name alone.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => Path::new("/"),
    }
}

/// Makes what is in a folder, and what is not any more, durable.
///
/// # Errors
/// The operating system's.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

impl LogFolder {
    /// Takes the folder, and makes it if there is none; what it is in must be there.
    ///
    /// # Errors
    /// Another process has it, or the operating system refuses.
    pub fn take(path: &Path) -> Result<LogFolder, FolderError> {
        if !path.is_dir() {
            fs::create_dir(path).map_err(failed("make", path))?;
        }
        let name = path.join(LOCK);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&name);
        let mut lock = opened.map_err(failed("open", &name))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                // It only helps to find the process.
                let _ = lock.read_to_string(&mut holder);
                return Err(FolderError::InUse { path: path.to_path_buf(), process: holder.trim().parse().ok() });
            }
            Err(error) => return Err(failed("lock", &name)(error.into())),
        }
        let told = lock.set_len(0).and_then(|()| lock.rewind()).and_then(|()| writeln!(lock, "{}", std::process::id()));
        told.map_err(failed("write", &name))?;
        Ok(LogFolder { path: path.to_path_buf(), _lock: lock })
    }

    /// Opens the log, or makes it; says which. Its name is written down before it is made.
    ///
    /// # Errors
    /// See [`FolderError`].
    pub fn open(&self, opening: &FolderOpening) -> Result<(RemoteLog, LogName, bool), FolderError> {
        let name = self.name(opening)?;
        let open = |intent| {
            let terms = LogTerms::new(name.log, name.copies, name.servers.clone(), Some(self.path.join(LOG)));
            let &FolderOpening { retained_bytes_max, time, boot, ref keys, .. } = opening;
            RemoteLog::open(LogTerms { intent, retained_bytes_max, time, boot, keys: keys.clone(), ..terms })
        };
        let log_failed = |error| FolderError::Log { path: self.path.clone(), source: Box::new(error) };
        if name.is_made {
            let intent = if opening.accept_loss { Intent::AcceptLoss } else { Intent::Open };
            return open(intent).map(|log| (log, name, false)).map_err(log_failed);
        }
        let log = match open(Intent::Create) {
            // It was made before a crash that came before that was written down.
            Err(RemoteLogError::Begin(BeginError::Exists) | RemoteLogError::Stopped(WriterStop::Exists { .. })) => {
                open(Intent::Open)
            }
            other => other,
        };
        let log = log.map_err(log_failed)?;
        let name = LogName { is_made: true, ..name };
        self.write(&name)?;
        Ok((log, name, true))
    }

    /// The log's name, which is written down before the log is made.
    fn name(&self, opening: &FolderOpening) -> Result<LogName, FolderError> {
        let FolderOpening { servers, copies, owner, .. } = opening;
        // What could not be made is named anew: nothing depends on it, but that it is not made twice.
        let (known, begun) = match self.read_of(owner)? {
            Some(name) if name.is_made => (Some(name), None),
            other => (None, other.map(|name| name.log)),
        };
        match known {
            Some(mut name) => {
                if let Some(wanted) = copies.filter(|wanted| *wanted != name.copies) {
                    return Err(FolderError::Copies { wanted, made: name.copies, path: self.path.clone() });
                }
                if !servers.is_empty() && *servers != name.servers {
                    name.servers.clone_from(servers);
                    self.write(&name)?;
                }
                Ok(name)
            }
            None if servers.is_empty() => Err(FolderError::NoServers),
            None => {
                let log = match begun {
                    Some(log) => log,
                    None => RemoteLog::draw_log().map_err(failed("name", &self.path))?,
                };
                let copies = copies.unwrap_or(COPIES_DEFAULT.min(servers.len() as u8));
                let name = LogName { log, copies, servers: servers.clone(), owner: owner.clone(), is_made: false };
                self.write(&name)?;
                Ok(name)
            }
        }
    }

    /// What was written last, of a log of this owner; none if nothing was.
    ///
    /// # Errors
    /// The log is somebody else's, or as [`LogFolder::read`].
    pub fn read_of(&self, owner: &str) -> Result<Option<LogName>, FolderError> {
        match self.read()? {
            Some(name) if name.owner != owner => {
                Err(FolderError::Owner { path: self.path.clone(), found: name.owner, expected: owner.to_owned() })
            }
            name => Ok(name),
        }
    }

    /// What was written last; none if nothing was.
    ///
    /// # Errors
    /// The file is damaged, or cannot be read.
    pub fn read(&self) -> Result<Option<LogName>, FolderError> {
        let path = self.path.join(TERMS);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("read", &path)(error)),
        };
        parse(&text).map(Some).map_err(|reason| FolderError::Terms { path, reason })
    }

    /// Writes it down, durably.
    fn write(&self, name: &LogName) -> Result<(), FolderError> {
        let (new, path) = (self.path.join(TERMS_NEW), self.path.join(TERMS));
        let write = || {
            let mut file = File::create(&new)?;
            file.write_all(print(name).as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            sync_folder(&self.path)?;
            // The folder itself may be new.
            sync_folder(folder_of(&self.path))
        };
        write().map_err(failed("write", &path))
    }
}

/// Reads addresses with commas between them; host names are looked up.
///
/// # Errors
/// The name that is no address, and why; or that there is none.
pub fn read_servers(text: &str) -> Result<Vec<SocketAddr>, (String, String)> {
    let server = |name: &str| {
        let failed = |reason: String| (name.to_owned(), reason);
        let mut addresses = name.to_socket_addrs().map_err(|error| failed(error.to_string()))?;
        addresses.next().ok_or_else(|| failed("the name has no address".to_owned()))
    };
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(server).collect()
}

fn print(name: &LogName) -> String {
    let mut text =
        "# The remote log whose disk is this folder. Written by the program; servers are those of its last opening.\n"
            .to_owned();
    let servers: Vec<String> = name.servers.iter().map(SocketAddr::to_string).collect();
    let made = if name.is_made { "yes" } else { "no" };
    let _ = write!(
        text,
        "log = {:016x}\nk = {}\nservers = {}\nmade = {made}\n",
        name.log.0,
        name.copies,
        servers.join(",")
    );
    if !name.owner.is_empty() {
        let _ = writeln!(text, "owner = {}", name.owner);
    }
    text
}

fn parse(text: &str) -> Result<LogName, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pairs: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once('=')).collect();
    let value = |name: &str| {
        let found = pairs.iter().find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim());
        found.ok_or_else(|| format!("there is no line \"{name} = ...\""))
    };
    let log = value("log")?;
    let copies = value("k")?;
    Ok(LogName {
        log: LogId(u64::from_str_radix(log, 16).map_err(|error| format!("log = {log}: {error}"))?),
        copies: copies.parse().map_err(|error| format!("k = {copies}: {error}"))?,
        servers: read_servers(value("servers")?).map_err(|(name, reason)| format!("servers: {name:?}: {reason}"))?,
        owner: value("owner").unwrap_or_default().to_owned(),
        is_made: value("made")? == "yes",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> LogName {
        let servers = ["127.0.0.1:7901", "[::1]:7902"].map(|server| server.parse().expect("an address")).to_vec();
        LogName { log: LogId(0xab), copies: 2, servers, owner: "the test".to_owned(), is_made: true }
    }

    /// If this failed, the log of a database would not be found again, or another one would be made.
    #[test]
    fn a_name_is_found_again() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("db-raid");
        let folder = LogFolder::take(&path).expect("nobody has it");
        assert_eq!(folder.read().expect("no file"), None);
        folder.write(&name()).expect("a disk");
        assert_eq!(folder.read().expect("a file"), Some(name()));
        fs::write(path.join(TERMS), "log = 1\nk = 2\n").expect("a disk");
        let message = folder.read().expect_err("lines are wanting").to_string();
        assert!(message.contains("servers"), "{message}");
    }

    /// If this failed, a database in the present folder could not be opened by its name alone.
    #[test]
    fn a_name_alone_is_in_the_present_folder() {
        for (path, folder) in [("db", "."), ("a/db", "a"), ("/db", "/"), ("/", "/")] {
            assert_eq!(folder_of(Path::new(path)), Path::new(folder));
            sync_folder(folder_of(Path::new("db"))).expect("it is there");
        }
    }

    /// If this failed, two processes would write one database with two logs.
    #[test]
    fn one_at_a_time_has_it() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("db-raid");
        let first = LogFolder::take(&path).expect("nobody has it");
        let second = LogFolder::take(&path).expect_err("the first has it").to_string();
        assert!(second.contains("another process") && second.contains(&std::process::id().to_string()), "{second}");
        drop(first);
        LogFolder::take(&path).expect("nobody has it any more");
    }
}
