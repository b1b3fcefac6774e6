//! What can go wrong: when a group of files is opened, and afterwards.

use network_memory::host::remote_log::RemoteLogError;
use network_memory::names::RecordNumber;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

use crate::change::Unreadable;

/// Why files are not opened. Nothing of them has been changed, unless it says so.
#[derive(Debug, Error)]
pub enum FilesOpenError {
    /// An option that makes no sense.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// Another process has them.
    #[error(
        "{} is open in another process{}: one process at a time may ship its changes; close it there, or use that process",
        path.display(), process.map(|process| format!(" ({process})")).unwrap_or_default()
    )]
    InUse {
        /// The first of the files.
        path: PathBuf,
        /// Which process, if it has said so.
        process: Option<u32>,
    },
    /// A process from which this one was forked has them, or had them.
    #[error(
        "{} was opened by process {process} before this process was forked from it: the log is locked until neither of them lives; open \
         files after the fork, in one process, or start processes without one (in Python: multiprocessing with \"spawn\")",
        path.display()
    )]
    Forked {
        /// The first of the files.
        path: PathBuf,
        /// Which process has opened them.
        process: u32,
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
    #[error("{} is damaged: {reason}; put it back, or move its folder away if the files beside it are right", path.display())]
    Terms {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The remote log.
    #[error("the log of {} is not open: {source}", path.display())]
    Log {
        /// The first of the files.
        path: PathBuf,
        /// Why.
        source: Box<RemoteLogError>,
    },
    /// A record is none of ours.
    #[error("record {position} of the log cannot be replayed: {source}; another program or version has written it")]
    Record {
        /// Which.
        position: RecordNumber,
        /// What is wrong.
        source: Unreadable,
    },
    /// A record names a file that the group does not have.
    #[error(
        "record {position} of the log changes file {file}, and there are {files}: another program or version has written it"
    )]
    NoSuchFile {
        /// Which record.
        position: RecordNumber,
        /// Which file.
        file: u8,
        /// How many there are.
        files: usize,
    },
    /// The log was to be given up, and a file would be taken for one of what was put in the first one's place.
    #[error(
        "recover=discard would open {} with {} beside it, which the crash may have left, and which would be applied to it: if the first is a \
         backup that is whole without it, move the second away; if it belongs to the backup, open and close the backup once without the \
         log (a plain program), which takes it in",
        path.display(), beside.display()
    )]
    Beside {
        /// The first of the files.
        path: PathBuf,
        /// What lies beside it.
        beside: PathBuf,
    },
    /// A file is not what the log goes on from.
    #[error(
        "{} has {} bytes, and had {expected} when it was last brought to disk: the log holds only what was changed since; \
         put the file back, or, if the files are right as they are (from a backup), open them with recover=discard, which gives up \
         the changes in the log", path.display(), found.map_or_else(|| "no".to_owned(), |found| found.to_string())
    )]
    Short {
        /// Which file.
        path: PathBuf,
        /// Bytes that it has; none if there is no such file.
        found: Option<u64>,
        /// Bytes that it must have at least.
        expected: u64,
    },
}

/// Names the file in an error.
pub(crate) fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FilesOpenError {
    move |source| FilesOpenError::File { action, path: path.to_path_buf(), source }
}

/// An option that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OptionError {
    /// There are none.
    #[error("no memory servers are named: say servers=HOST:PORT,HOST:PORT")]
    NoServers,
    /// Not an address.
    #[error("servers: {name:?} is no address ({reason}): say HOST:PORT")]
    Server {
        /// What was given.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// Not a number, or not one that is possible.
    #[error("{name}={value} is not possible: it must be a number from {min} to {max}")]
    Number {
        /// Of the option.
        name: &'static str,
        /// What was given.
        value: String,
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// One of a few words.
    #[error("{name}={value} is not possible: it must be {words}")]
    Word {
        /// Of the option.
        name: &'static str,
        /// What was given.
        value: String,
        /// What is possible.
        words: &'static str,
    },
    /// The files have a log that was made with another k.
    #[error(
        "k={wanted} was asked for, and the log was made with k={made}: leave k out, or close the files and remove their folder {folder}"
    )]
    Copies {
        /// Asked for.
        wanted: u8,
        /// Of the log.
        made: u8,
        /// The log's folder.
        folder: String,
    },
}

/// Why a change is not durable. It is final: whether the change will be there after a recovery is not known, so nothing is taken any more.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{reason}; close all that have {} open, and open it again", path.display())]
pub struct DurabilityFailure {
    /// The first of the files.
    pub path: PathBuf,
    /// What has failed first.
    pub reason: String,
}
