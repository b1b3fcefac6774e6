//! Opens a group of files: takes it for this process, opens its log, rebuilds the files, and starts the settler.
//!
//! Invariant: when it returns, the files are on disk as the last record has left them, and the log is empty but for a record that says so. What
//! was in the files before there was a log is brought to disk before the first change goes into it.

use network_memory::host::remote_log::{LogTerms, RemoteLog, RemoteLogError};
use network_memory::names::{Doubt, Position};
use network_memory::writer::{BeginError, Intent, Stop};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{OpenError, OptionError};
use crate::folder::{Folder, LogName, failed};
use crate::group::{Notify, Shared, ShippedFiles};
use crate::limits::FILES_MAX;
use crate::options::{COPIES_DEFAULT, Options};
use crate::recovery::{Replayed, replay, with_changes};
use crate::settling::{Settler, settle};

/// What an opening has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The log was made: there was none.
    pub is_new: bool,
    /// What was replayed over the files.
    pub replayed: Replayed,
    /// Records with changes that were given up because it was asked for ([`Options::discard`]).
    pub given_up: u64,
    /// What the log could not vouch for.
    pub doubt: Option<Doubt>,
}

impl ShippedFiles {
    /// Opens the files of these paths, which need not exist, are in one folder, and are always the same in the same order; `folder` is that
    /// of their log, in the same folder. Nobody may have the files open.
    ///
    /// # Errors
    /// See [`OpenError`]. With [`RemoteLogError::Indeterminate`] it cannot be known what was acknowledged: servers must come back first.
    ///
    /// # Panics
    /// There is no path, or there are more than [`FILES_MAX`].
    pub fn open(
        paths: &[PathBuf],
        folder: &Path,
        options: &Options,
        notify: Notify,
    ) -> Result<ShippedFiles, OpenError> {
        assert!((1..=FILES_MAX).contains(&paths.len()), "a group has 1 to {FILES_MAX} files");
        if options.servers.is_empty() && !folder.exists() {
            // Nothing is left behind.
            return Err(OptionError::NoServers.into());
        }
        let folder = Folder::take(folder, &paths[0])?;
        let name = name(&folder, options)?;
        let (log, is_new) = open_log(&folder, &name, &paths[0], options)?;
        let mut records = read(&log);
        let given_up = if options.discard { with_changes(&records) } else { 0 };
        if options.discard {
            if given_up > 0 {
                nothing_beside(paths)?;
            }
            records.clear();
        }
        let replayed = replay(paths, &records)?;
        drop(records);
        let opened = Opened { is_new, replayed, given_up, doubt: log.doubt() };
        let shared = Arc::new(Shared::new(paths.to_vec(), log, options, name.servers.len(), name.copies, notify));
        let log_failed = |failure: crate::error::Failure| OpenError::File {
            action: "bring to disk",
            path: paths[0].clone(),
            source: std::io::Error::other(failure.reason),
        };
        settle(&shared).map_err(log_failed)?;
        let settler = Settler::start(&shared).map_err(failed("start a thread for", &paths[0]))?;
        Ok(ShippedFiles::new(shared, settler, opened, folder))
    }
}

/// The log's name, which is written down before the log is made.
fn name(folder: &Folder, options: &Options) -> Result<LogName, OpenError> {
    // What could not be made is named anew: nothing depends on it, but that it is not made twice.
    let (known, begun) = match folder.read()? {
        Some(name) if name.is_made => (Some(name), None),
        other => (None, other.map(|name| name.log)),
    };
    match known {
        Some(mut name) => {
            if let Some(wanted) = options.copies.filter(|wanted| *wanted != name.copies) {
                let folder = folder.path().display().to_string();
                return Err(OptionError::Copies { wanted, made: name.copies, folder }.into());
            }
            if !options.servers.is_empty() && options.servers != name.servers {
                name.servers.clone_from(&options.servers);
                folder.write(&name)?;
            }
            Ok(name)
        }
        None if options.servers.is_empty() => Err(OptionError::NoServers.into()),
        None => {
            let log = match begun {
                Some(log) => log,
                None => RemoteLog::draw_log().map_err(failed("name", folder.path()))?,
            };
            let copies = options.copies.unwrap_or(COPIES_DEFAULT.min(options.servers.len() as u8));
            let name = LogName { log, copies, servers: options.servers.clone(), is_made: false };
            folder.write(&name)?;
            Ok(name)
        }
    }
}

/// Opens the log, or makes it; says which.
fn open_log(folder: &Folder, name: &LogName, first: &Path, options: &Options) -> Result<(RemoteLog, bool), OpenError> {
    let open = |intent| {
        let terms = LogTerms::new(name.log, name.copies, name.servers.clone(), Some(folder.log()));
        RemoteLog::open(LogTerms { intent, time: options.wait, boot: options.boot, ..terms })
    };
    let log_failed = |error| OpenError::Log { path: first.to_path_buf(), source: Box::new(error) };
    if name.is_made {
        let intent = if options.accept_loss { Intent::AcceptLoss } else { Intent::Open };
        return open(intent).map(|log| (log, false)).map_err(log_failed);
    }
    let log = match open(Intent::Create) {
        // It was made before a crash that came before that was written down.
        Err(RemoteLogError::Begin(BeginError::Exists) | RemoteLogError::Stopped(Stop::Exists { .. })) => {
            open(Intent::Open)
        }
        other => other,
    };
    let log = log.map_err(log_failed)?;
    folder.write(&LogName { is_made: true, ..name.clone() })?;
    Ok((log, true))
}

/// Files beside the first that a crash has left belong to the database of that time: the program would take them for those of what was put in
/// its place.
fn nothing_beside(paths: &[PathBuf]) -> Result<(), OpenError> {
    for beside in &paths[1..] {
        match std::fs::metadata(beside) {
            Ok(found) if found.len() > 0 => {
                return Err(OpenError::Beside { path: paths[0].clone(), beside: beside.clone() });
            }
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed("look at", beside)(error)),
            _ => {}
        }
    }
    Ok(())
}

fn read(log: &RemoteLog) -> Vec<(Position, Vec<u8>)> {
    let (from, end) = log.extent();
    let positions = (from.0..end.0).map(Position);
    positions.filter_map(|position| log.read(position).map(|record| (position, record))).collect()
}
