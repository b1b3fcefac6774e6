//! [`redb`]'s storage backend over [`remote_files`]: a commit of redb waits for the memory of k servers instead of the disk.
//!
//! redb stays as it is: what it writes goes to the file as ever, without a sync, and into the remote log; its `sync_data` waits for k servers.
//! Promises and their reasons stand in [`remote_files`]. Invariant: the log has every change of the file that redb has made, in its order.

use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};
use remote_files::error::FilesOpenError;
use remote_files::group::NotifyOperator;
use remote_files::status::FilesStatus;
use remote_files::{FileNumber, FilesOptions, OpenedFiles, RemoteFiles};
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Bound;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

/// The only file of the group.
const FILE: FileNumber = FileNumber(0);
/// What the log's folder has behind the file's name.
const FOLDER_END: &str = "-raid";
/// Writes that begin at a multiple of this are pages, and go by their place in the file.
const PAGE_BYTES: u64 = 4096;

/// See the crate's description. Copies of it stand for the same file: keep one to ask for the status.
#[derive(Clone)]
pub struct RemoteBackend {
    shared: Arc<BackendShared>,
}

struct BackendShared {
    file: File,
    /// redb's own, over the same file: its locks only, so that redb without this backend is refused, and is noticed.
    locks: FileBackend,
    /// None once redb has closed it.
    files: RwLock<Option<RemoteFiles>>,
    opened: OpenedFiles,
}

impl RemoteBackend {
    /// Opens a file, which need not exist, and recovers it first if it was not closed in order. Beside it a folder is made for its log. `notify` is
    /// called with what an operator should know.
    ///
    /// # Errors
    /// See [`FilesOpenError`]; among others another process has the file, or it cannot be known what was acknowledged.
    pub fn open(path: &Path, options: &FilesOptions, notify: NotifyOperator) -> Result<RemoteBackend, FilesOpenError> {
        let mut folder = path.as_os_str().to_owned();
        folder.push(FOLDER_END);
        let during = lock_whole(path)?;
        let files = RemoteFiles::open(&[path.to_path_buf()], Path::new(&folder), options, notify)?;
        let opened = files.opened().clone();
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(failed("open", path))?;
        if let Some(during) = during {
            during.close().map_err(failed("unlock", path))?;
        }
        // A file of its own: its locks are its own, too, and go with it.
        let locks = OpenOptions::new().read(true).write(true).open(path).map_err(failed("open", path))?;
        let locks = FileBackend::new(locks).map_err(|error| failed("lock", path)(io::Error::other(error)))?;
        let shared = BackendShared { file, locks, files: RwLock::new(Some(files)), opened };
        Ok(RemoteBackend { shared: Arc::new(shared) })
    }

    /// What the opening has found.
    pub fn opened(&self) -> &OpenedFiles {
        &self.shared.opened
    }

    /// How it stands; none once it is closed.
    pub fn status(&self) -> Option<FilesStatus> {
        self.shared.files.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(RemoteFiles::status)
    }

    /// redb's file for a lock; a child that was forked has no business with its parent's.
    fn locks(&self) -> Result<&FileBackend, BackendError> {
        self.with(|files, _| files.check()).map_err(BackendError::Io)?;
        Ok(&self.shared.locks)
    }

    fn with<T>(
        &self,
        run: impl FnOnce(&RemoteFiles, &File) -> Result<T, remote_files::error::DurabilityFailure>,
    ) -> io::Result<T> {
        let files = self.shared.files.read().unwrap_or_else(PoisonError::into_inner);
        let files = files.as_ref().ok_or_else(|| io::Error::other("the database is closed"))?;
        run(files, &self.shared.file).map_err(io::Error::other)
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FilesOpenError {
    move |source| FilesOpenError::File { action, path: path.to_path_buf(), source }
}

/// Locks the file against redb without this backend while it is recovered; none if there is none yet.
fn lock_whole(path: &Path) -> Result<Option<FileBackend>, FilesOpenError> {
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("open", path)(error)),
    };
    let locks = FileBackend::new(file).map_err(|error| failed("lock", path)(io::Error::other(error)))?;
    match locks.try_lock_range(Bound::Unbounded, Bound::Unbounded) {
        Ok(true) => Ok(Some(locks)),
        Ok(false) => Err(FilesOpenError::InUse { path: path.to_path_buf(), process: None }),
        // A file system without locks: redb does without them, too.
        Err(BackendError::Unsupported) => Ok(None),
        Err(error) => Err(failed("lock", path)(io::Error::other(error.to_string()))),
    }
}

impl std::fmt::Debug for RemoteBackend {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RemoteBackend").field("file", &self.shared.file).finish_non_exhaustive()
    }
}

impl StorageBackend for RemoteBackend {
    fn len(&self) -> io::Result<u64> {
        self.shared.file.metadata().map(|found| found.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.shared.file.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if len >= self.len()? {
            self.with(|files, _| files.check())?;
            self.shared.file.set_len(len)?;
            return self.with(|files, _| files.extended(FILE, len));
        }
        self.with(|files, file| {
            let cut = files.cut(FILE, len, || file.set_len(len))?;
            // The log says that it was cut.
            Ok(cut.inspect_err(|error| files.fail(&format!("the file could not be cut: {error}"))))
        })?
    }

    fn sync_data(&self) -> io::Result<()> {
        self.with(|files, _| files.sync().map(drop))
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.with(|files, _| files.check())?;
        self.shared.file.write_all_at(data, offset)?;
        self.with(|files, _| match offset % PAGE_BYTES {
            0 => files.wrote_keyed(FILE, offset, offset / PAGE_BYTES, data),
            _ => files.wrote(FILE, offset, data),
        })
    }

    fn close(&self) -> io::Result<()> {
        let files = self.shared.files.write().unwrap_or_else(PoisonError::into_inner).take();
        let Some(files) = files else { return Ok(()) };
        if files.is_forked() {
            // The locks are the parent's, whose file description this process shares.
            return files.close().map_err(io::Error::other);
        }
        let closed = files.close().map_err(io::Error::other);
        // Only then: nobody changes the file while its log is being emptied.
        closed.and(self.shared.locks.close())
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.locks()?.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.locks()?.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.locks()?.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.locks()?.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        if self.with(|files, _| Ok(files.is_forked())).map_err(BackendError::Io)? {
            return Ok(());
        }
        self.shared.locks.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.locks()?.query_lock_range(start, end)
    }
}

/// The example of the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
