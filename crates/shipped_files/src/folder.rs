//! The folder of a group's log: a lock that one process holds, the name of the log and of its servers, and the log's own disk.
//!
//! | file | content |
//! |---|---|
//! | `lock` | locked by the process that has the files open; its number |
//! | `terms` | the log's name, its servers, k, and whether it has been made |
//! | `log/` | the local log, which is replayed and sent to servers that come back |

use network_memory::names::LogId;
use rustix::fs::{FlockOperation, flock};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::error::OpenError;
use crate::options::read_servers;

const LOCK: &str = "lock";
const TERMS: &str = "terms";
const TERMS_NEW: &str = "terms.new";
const LOG: &str = "log";

/// What is known of a log before it is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogName {
    pub(crate) log: LogId,
    pub(crate) copies: u8,
    /// As it was last opened with.
    pub(crate) servers: Vec<SocketAddr>,
    /// It has been made; before that nothing depends on it.
    pub(crate) is_made: bool,
}

/// A folder that this process has alone.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    _lock: File,
}

/// Names the file in an error.
pub(crate) fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OpenError {
    move |source| OpenError::File { action, path: path.to_path_buf(), source }
}

/// The folder that a file is in: the present one for a name alone.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => Path::new("/"),
    }
}

/// Makes what is in a folder, and what is not any more, durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

impl Folder {
    /// Takes the folder, and makes it if there is none. `files` is what it is for, to be named in errors.
    pub(crate) fn take(path: &Path, files: &Path) -> Result<Folder, OpenError> {
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
                return Err(OpenError::InUse { path: files.to_path_buf(), process: holder.trim().parse().ok() });
            }
            Err(error) => return Err(failed("lock", &name)(error.into())),
        }
        let told = lock.set_len(0).and_then(|()| lock.rewind()).and_then(|()| writeln!(lock, "{}", std::process::id()));
        told.map_err(failed("write", &name))?;
        Ok(Folder { path: path.to_path_buf(), _lock: lock })
    }

    /// Of the local log.
    pub(crate) fn log(&self) -> PathBuf {
        self.path.join(LOG)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What was written last; none if nothing was.
    pub(crate) fn read(&self) -> Result<Option<LogName>, OpenError> {
        let path = self.path.join(TERMS);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("read", &path)(error)),
        };
        parse(&text).map(Some).map_err(|reason| OpenError::Terms { path, reason })
    }

    /// Writes it down, durably.
    pub(crate) fn write(&self, name: &LogName) -> Result<(), OpenError> {
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

fn print(name: &LogName) -> String {
    let mut text = "# The remote log of the files beside this folder. Written by the program; servers are those of its last opening.\n"
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
        servers: read_servers(value("servers")?).map_err(|error| error.to_string())?,
        is_made: value("made")? == "yes",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> LogName {
        let servers = ["127.0.0.1:7901", "[::1]:7902"].map(|server| server.parse().expect("an address")).to_vec();
        LogName { log: LogId(0xab), copies: 2, servers, is_made: true }
    }

    /// If this failed, the log of a database would not be found again, or another one would be made.
    #[test]
    fn a_name_is_found_again() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("db-raid");
        let folder = Folder::take(&path, Path::new("db")).expect("nobody has it");
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
        let first = Folder::take(&path, Path::new("db")).expect("nobody has it");
        let second = Folder::take(&path, Path::new("db")).expect_err("the first has it").to_string();
        assert!(second.contains("another process") && second.contains(&std::process::id().to_string()), "{second}");
        drop(first);
        Folder::take(&path, Path::new("db")).expect("nobody has it any more");
    }
}
