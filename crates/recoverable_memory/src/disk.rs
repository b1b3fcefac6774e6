//! The real disk: files of one folder, each locked while it is open. The twin of [`crate::simulated`].
//!
//! Invariant: under its own name a file is complete. It is made under another name, filled, synced, and only then renamed; and
//! its folder is synced before it is used.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};

use crate::files::{FileFolder, FixedFile};
use crate::limits::CHUNK_BYTES;

/// The end of the name of a file that is being made.
const UNFINISHED: &str = ".unfinished";

/// A folder of the file system.
#[derive(Clone, Debug)]
pub struct DiskFolder {
    path: PathBuf,
}

impl DiskFolder {
    /// The folder at `path`, which is made if it is not there.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn new(path: &Path) -> io::Result<DiskFolder> {
        if !path.is_dir() {
            fs::create_dir_all(path)?;
            if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                sync_folder(parent)?;
            }
        }
        Ok(DiskFolder { path: path.to_path_buf() })
    }

    /// Whether there is no file in it, but for some that were never finished.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn is_empty(&self) -> io::Result<bool> {
        for entry in fs::read_dir(&self.path)? {
            if !entry?.file_name().to_string_lossy().ends_with(UNFINISHED) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl FileFolder for DiskFolder {
    fn open(&self, name: &str) -> io::Result<Option<Arc<dyn FixedFile>>> {
        match OpenOptions::new().read(true).write(true).open(self.path.join(name)) {
            Ok(file) => lock(file).map(|file| Some(Arc::new(DiskFile { file }) as Arc<dyn FixedFile>)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create(&self, name: &str, bytes: u64, head: &[u8]) -> io::Result<Arc<dyn FixedFile>> {
        let path = self.path.join(name);
        if path.try_exists()? {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let unfinished = self.path.join(format!("{name}{UNFINISHED}"));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&unfinished)?;
        let mut file = lock(file)?;
        let made = fill(&mut file, bytes, head).and_then(|()| fs::hard_link(&unfinished, &path));
        fs::remove_file(&unfinished)?;
        made?;
        sync_folder(&self.path)?;
        Ok(Arc::new(DiskFile { file }))
    }
}

/// Writes zeros instead of reserving blocks: a sync of blocks that are merely reserved has to write to the file system's own
/// journal, and every sync of the first lap through a log would.
fn fill(file: &mut fs::File, bytes: u64, head: &[u8]) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all(head)?;
    let zeros = vec![0; CHUNK_BYTES];
    let mut left = bytes.saturating_sub(head.len() as u64);
    while left > 0 {
        let some = left.min(CHUNK_BYTES as u64);
        file.write_all(&zeros[..some as usize])?;
        left -= some;
    }
    file.sync_all()
}

/// The lock vanishes with the process, however that ends.
fn lock(file: fs::File) -> io::Result<fs::File> {
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

/// Brings the names in a folder to disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    fs::File::open(path)?.sync_all()
}

#[derive(Debug)]
struct DiskFile {
    file: fs::File,
}

impl FixedFile for DiskFile {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use super::*;

    /// If this fails, two programs write to one log or segment.
    #[test]
    fn a_file_is_open_once() {
        let folder = tempfile::tempdir().unwrap();
        let folder = DiskFolder::new(folder.path()).unwrap();
        let file = folder.create("log", 10, b"head").unwrap();
        assert_eq!(folder.open("log").err().unwrap().kind(), ErrorKind::WouldBlock);
        drop(file);
        let file = folder.open("log").unwrap().unwrap();
        let mut bytes = [1; 10];
        file.read_at(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"head\0\0\0\0\0\0");
        assert!(folder.open("other").unwrap().is_none());
    }

    /// If this fails, making a segment twice empties it, or what a crash left of making one stops the next attempt.
    #[test]
    fn a_file_is_made_once_and_an_unfinished_one_is_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(format!("data{UNFINISHED}")), [7; 100]).unwrap();
        let disk = DiskFolder::new(folder.path()).unwrap();
        assert!(disk.is_empty().unwrap());
        assert_eq!(disk.create("data", 20, &[]).unwrap().bytes().unwrap(), 20);
        assert_eq!(disk.create("data", 20, &[]).err().unwrap().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(fs::read(folder.path().join("data")).unwrap(), [0; 20]);
    }
}
