//! A cluster whose data come from a snapshot: it must not be started before all of them are there.
//!
//! Invariant: a folder with the file `restoring` is no cluster yet; whoever restores again clears it, and clears nothing else.

use crate::cluster::{ClusterDirectory, ClusterError, ClusterWish, file_error};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What is in it: another program's file of this name is none of ours.
const RESTORING_TEXT: &str = "A snapshot is being restored here: this is no cluster yet.\n";

/// The file that says so.
const RESTORING_FILE: &str = "restoring";

/// The file whose lock whoever restores has.
const LOCK_FILE: &str = "restoring.lock";

/// The mark before it has its name.
const NEW_MARK_FILE: &str = "restoring.new";

/// Whether a restore to this folder has not come to its end.
pub(crate) fn is_marked(folder: &Path) -> bool {
    fs::read_to_string(folder.join(RESTORING_FILE)).is_ok_and(|text| text == RESTORING_TEXT)
}

/// A folder that is being restored to.
pub struct RestoringFolder {
    folder: PathBuf,
    _lock: File,
}

impl RestoringFolder {
    /// Takes a folder that is not there, is empty, or was being restored to.
    pub(crate) fn begin(folder: &Path) -> Result<RestoringFolder, ClusterError> {
        let mark = folder.join(RESTORING_FILE);
        fs::create_dir_all(folder).map_err(file_error(folder))?;
        let entries = fs::read_dir(folder).map_err(file_error(folder))?;
        let entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        // One that was cut off before it had its mark has nothing else.
        let is_ours = is_marked(folder) || entries == [folder.join(LOCK_FILE)];
        if !entries.is_empty() && !is_ours {
            return Err(ClusterError::NotEmpty(folder.to_owned()));
        }
        // Two at once would take away what the other has brought.
        let lock = File::create(folder.join(LOCK_FILE)).map_err(file_error(folder))?;
        lock.try_lock().map_err(|_| ClusterError::Locked(folder.to_owned()))?;
        // The mark stands until the rest is gone.
        for path in entries.iter().filter(|path| **path != mark && !path.ends_with(LOCK_FILE)) {
            let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            removed.map_err(file_error(path))?;
        }
        let new = folder.join(NEW_MARK_FILE);
        fs::write(&new, RESTORING_TEXT).map_err(file_error(&new))?;
        File::open(&new).and_then(|file| file.sync_all()).map_err(file_error(&new))?;
        fs::rename(&new, &mark).map_err(file_error(&mark))?;
        File::open(folder).and_then(|file| file.sync_all()).map_err(file_error(folder))?;
        Ok(RestoringFolder { folder: folder.to_owned(), _lock: lock })
    }

    /// The new cluster, whose processes have configurations and no data.
    pub fn cluster(&self, wish: &ClusterWish) -> Result<ClusterDirectory, ClusterError> {
        ClusterDirectory::made(&self.folder, wish)
    }

    /// All data are there.
    pub fn finish(self) -> Result<(), ClusterError> {
        sync_configurations(&self.folder)?;
        let mark = self.folder.join(RESTORING_FILE);
        let _ = fs::remove_file(self.folder.join(LOCK_FILE));
        match fs::remove_file(&mark) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(file_error(&mark)(error)),
            _ => {}
        }
        File::open(&self.folder).and_then(|file| file.sync_all()).map_err(file_error(&self.folder))
    }
}

/// Syncs the configurations in a folder and in those below it.
fn sync_configurations(folder: &Path) -> Result<(), ClusterError> {
    for entry in fs::read_dir(folder).map_err(file_error(folder))?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            sync_configurations(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            File::open(&path).and_then(|file| file.sync_all()).map_err(file_error(&path))?;
        }
    }
    File::open(folder).and_then(|file| file.sync_all()).map_err(file_error(folder))
}
