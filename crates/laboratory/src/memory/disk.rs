//! The disk: this machine's, or a model of a slower one, whose syncs take at least so long.
//!
//! Invariant: a model's sync is one of this disk, lengthened; nothing becomes durable earlier than it says.

use recoverable_memory::disk::DiskFolder;
use recoverable_memory::files::{FileFolder, FixedFile};
use redb::StorageBackend;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::fmt;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::memory::limits::SYNCS_PER_TURN;

/// What a sync brings to disk.
const PAGE: [u8; 4096] = [0x5a; 4096];

/// See the module's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Disk {
    /// That of this machine.
    This,
    /// One whose syncs take at least so many milliseconds.
    Model(u64),
}

impl Disk {
    /// Syncs, and takes the time that this disk takes.
    fn sync(self, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let begun = Instant::now();
        sync()?;
        if let Disk::Model(milliseconds) = self {
            std::thread::sleep(Duration::from_millis(milliseconds).saturating_sub(begun.elapsed()));
        }
        Ok(())
    }

    /// Transactions in a second that wait for a sync each, at most; none if nobody knows.
    pub fn rate_max(self) -> Option<f64> {
        match self {
            Disk::This => None,
            Disk::Model(milliseconds) => Some(1e3 / milliseconds as f64),
        }
    }
}

impl fmt::Display for Disk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Disk::This => write!(formatter, "this disk"),
            Disk::Model(milliseconds) => write!(formatter, "modelled {milliseconds} ms disk"),
        }
    }
}

/// Files of recoverable memory on a disk.
pub struct Files {
    folder: DiskFolder,
    disk: Disk,
}

impl Files {
    /// In this folder, which is made if it is not there.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn new(path: &Path, disk: Disk) -> io::Result<Files> {
        Ok(Files { folder: DiskFolder::new(path)?, disk })
    }

    fn on_disk(&self, file: Arc<dyn FixedFile>) -> Arc<dyn FixedFile> {
        Arc::new(OnDisk { file, disk: self.disk })
    }
}

impl FileFolder for Files {
    fn open(&self, name: &str) -> io::Result<Option<Arc<dyn FixedFile>>> {
        Ok(self.folder.open(name)?.map(|file| self.on_disk(file)))
    }

    fn create(&self, name: &str, bytes: u64, head: &[u8]) -> io::Result<Arc<dyn FixedFile>> {
        self.folder.create(name, bytes, head).map(|file| self.on_disk(file))
    }
}

struct OnDisk {
    file: Arc<dyn FixedFile>,
    disk: Disk,
}

impl FixedFile for OnDisk {
    fn bytes(&self) -> io::Result<u64> {
        self.file.bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.sync(|| self.file.sync())
    }
}

/// A file of redb on a disk.
#[derive(Debug)]
pub struct Backend<B> {
    /// The file.
    pub backend: B,
    /// The disk.
    pub disk: Disk,
}

impl<B: StorageBackend> StorageBackend for Backend<B> {
    fn len(&self) -> io::Result<u64> {
        self.backend.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.backend.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.backend.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.sync(|| self.backend.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.backend.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.backend.close()
    }
}

/// What syncs of a page took on this disk while something was measured. The page has its place from the start, as a log's have: the file system has nothing
/// of its own to write.
#[derive(Debug)]
pub struct SyncTimes {
    file: std::fs::File,
    times: RefCell<Vec<Duration>>,
}

impl SyncTimes {
    /// In this folder.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn new(folder: &Path) -> io::Result<SyncTimes> {
        let file = std::fs::File::create(folder.join("sync-times"))?;
        file.write_all_at(&PAGE, 0)?;
        file.sync_all()?;
        Ok(SyncTimes { file, times: RefCell::default() })
    }

    /// Takes the time of some.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn take(&self) -> io::Result<()> {
        for _ in 0..SYNCS_PER_TURN {
            self.file.write_all_at(&PAGE, 0)?;
            let begun = Instant::now();
            self.file.sync_data()?;
            self.times.borrow_mut().push(begun.elapsed());
        }
        Ok(())
    }
}

impl fmt::Display for SyncTimes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut times = self.times.borrow().clone();
        times.sort_unstable();
        let Some(last) = times.len().checked_sub(1) else { return write!(formatter, "no sync was timed") };
        let [median, p99] = [50, 99].map(|percent| times[last * percent / 100].as_secs_f64() * 1e3);
        write!(
            formatter,
            "a sync of this disk took {median:.2} ms (median), {p99:.2} ms (99th percentile) of {} between the turns, waiting for a processor included",
            times.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, the model of a slower disk is as fast as this one, or does not sync it.
    #[test]
    fn a_models_sync_is_a_real_one_and_takes_as_long_as_it_says() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = Files::new(folder.path(), Disk::Model(3)).expect("a disk");
        let file = files.create("log", 4096, &[]).expect("room");
        file.write_at(0, b"page").expect("room");
        let begun = Instant::now();
        file.sync().expect("a disk");
        assert!(begun.elapsed() >= Duration::from_millis(3));
        let failed = Disk::Model(0).sync(|| Err(io::Error::other("no disk")));
        assert!(failed.is_err());
        let times = SyncTimes::new(folder.path()).expect("a disk");
        times.take().expect("a disk");
        assert!(times.to_string().contains(&format!("of {SYNCS_PER_TURN} between")), "{times}");
    }
}
