//! Opens a group of files: takes it for this process, opens its log, rebuilds the files, and starts the settler.
//!
//! Invariant: when it returns, the files are on disk as the last record has left them, and the log is empty but for a record that says so. What
//! was in the files before there was a log is brought to disk before the first change goes into it.

use network_memory::host::log_folder::{FolderError, FolderOpening, LogFolder};
use network_memory::host::remote_log::RemoteLog;
use network_memory::names::{RecordNumber, RecoveryDoubt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{FilesOpenError, OptionError, failed};
use crate::group::RemoteFiles;
use crate::limits::FILES_MAX;
use crate::options::FilesOptions;
use crate::recovery::{ReplayedFiles, replay, with_changes};
use crate::settling::{Settler, settle};
use crate::shared::{GroupShared, NotifyOperator};

/// What an opening has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedFiles {
    /// The log was made: there was none.
    pub is_new: bool,
    /// What was replayed over the files.
    pub replayed: ReplayedFiles,
    /// Records with changes that were given up because it was asked for ([`FilesOptions::discard`]).
    pub given_up: u64,
    /// What the log could not vouch for.
    pub doubt: Option<RecoveryDoubt>,
}

impl RemoteFiles {
    /// Opens the files of these paths, which need not exist, are in one folder, and are always the same in the same order; `folder` is that
    /// of their log, in the same folder. Nobody may have the files open.
    ///
    /// # Errors
    /// See [`FilesOpenError`]. With [`network_memory::host::remote_log::RemoteLogError::Indeterminate`] it cannot be known what was acknowledged: servers must come back first.
    ///
    /// # Panics
    /// There is no path, or there are more than [`FILES_MAX`].
    pub fn open(
        paths: &[PathBuf],
        folder: &Path,
        options: &FilesOptions,
        notify: NotifyOperator,
    ) -> Result<RemoteFiles, FilesOpenError> {
        assert!((1..=FILES_MAX).contains(&paths.len()), "a group has 1 to {FILES_MAX} files");
        if options.servers.is_empty() && !folder.exists() {
            // Nothing is left behind.
            return Err(OptionError::NoServers.into());
        }
        let &FilesOptions { copies, wait, accept_loss, boot, ref servers, .. } = options;
        let opening = FolderOpening { copies, accept_loss, boot, ..FolderOpening::new(servers.clone(), wait) };
        let folder = LogFolder::take(folder).map_err(|error| of_files(error, &paths[0]))?;
        let (log, name, is_new) = folder.open(&opening).map_err(|error| of_files(error, &paths[0]))?;
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
        let opened = OpenedFiles { is_new, replayed, given_up, doubt: log.doubt() };
        let shared = Arc::new(GroupShared::new(paths.to_vec(), log, options, name.servers.len(), name.copies, notify));
        let log_failed = |failure: crate::error::DurabilityFailure| FilesOpenError::File {
            action: "bring to disk",
            path: paths[0].clone(),
            source: std::io::Error::other(failure.reason),
        };
        settle(&shared).map_err(log_failed)?;
        let settler = Settler::start(&shared).map_err(failed("start a thread for", &paths[0]))?;
        Ok(RemoteFiles::new(shared, settler, opened, folder))
    }
}

/// What went wrong with the log's folder, in words of these files.
fn of_files(error: FolderError, first: &Path) -> FilesOpenError {
    let path = first.to_path_buf();
    match error {
        FolderError::InUse { process, .. } => FilesOpenError::InUse { path, process },
        FolderError::File { action, path, source } => FilesOpenError::File { action, path, source },
        FolderError::Terms { path, reason } => FilesOpenError::Terms { path, reason },
        FolderError::Owner { path, found, .. } => {
            FilesOpenError::Terms { path, reason: format!("it names {found} as the owner of the log") }
        }
        FolderError::NoServers => OptionError::NoServers.into(),
        FolderError::Copies { wanted, made, path } => {
            OptionError::Copies { wanted, made, folder: path.display().to_string() }.into()
        }
        FolderError::Log { source, .. } => FilesOpenError::Log { path, source },
    }
}

/// Files beside the first that a crash has left belong to the database of that time: the program would take them for those of what was put in
/// its place.
fn nothing_beside(paths: &[PathBuf]) -> Result<(), FilesOpenError> {
    for beside in &paths[1..] {
        match std::fs::metadata(beside) {
            Ok(found) if found.len() > 0 => {
                return Err(FilesOpenError::Beside { path: paths[0].clone(), beside: beside.clone() });
            }
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed("look at", beside)(error)),
            _ => {}
        }
    }
    Ok(())
}

fn read(log: &RemoteLog) -> Vec<(RecordNumber, Vec<u8>)> {
    let (from, end) = log.extent();
    let positions = (from.0..end.0).map(RecordNumber);
    positions.filter_map(|position| log.read(position).map(|record| (position, record))).collect()
}
