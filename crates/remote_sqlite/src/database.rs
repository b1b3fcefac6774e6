//! Databases that are open in this process. Connections to one database share its log.
//!
//! Invariant: a database is in the list from before its first file is opened until after its last file is closed, and one thread at a time
//! opens or closes: nobody sees files that are being rebuilt, or closes them under somebody else.
//!
//! A list is that of one process. A child that was forked begins with an empty one: databases of its parent are locked by their folders, and it is
//! refused. The list that it has inherited may be locked by a thread that is not there, so it is left alone.

use remote_files::error::{DurabilityFailure, FilesOpenError};
use remote_files::{FileNumber, FilesOptions, OpenedFiles, RemoteFiles};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The files of a database, by what comes behind its name.
const ENDS: [&str; 3] = ["", "-journal", "-wal"];
/// The database itself.
const MAIN: FileNumber = FileNumber(0);
/// And the folder of its log.
const FOLDER_END: &str = "-raid";

/// A file of an open database. It has to be given back by [`close`].
pub struct DatabaseFile {
    database: Arc<Database>,
    number: FileNumber,
    /// Where a page will be written if what was written last is what stands before it, and its number.
    announced: Cell<Option<(u64, u64)>>,
}

/// In a journal a page stands behind its number, in a write-ahead log behind a frame's header that begins with its number (SQLite's file
/// format, <https://www.sqlite.org/fileformat2.html>, sections 3 and 4). What these are taken for by mistake costs room in the log only.
const BEFORE_PAGE_BYTES: [usize; 2] = [4, 24];

struct Database {
    path: PathBuf,
    files: RemoteFiles,
    /// A journal or write-ahead log was written, and perhaps not put into the log.
    is_journal_ahead: AtomicBool,
}

#[derive(Default)]
struct OpenDatabase {
    databases: BTreeMap<PathBuf, (Arc<Database>, usize)>,
}

/// What a process has open; behind it what a child has that was forked from it.
struct List {
    process: u32,
    open: Mutex<OpenDatabase>,
    child: OnceLock<Box<List>>,
}

static FIRST: OnceLock<Box<List>> = OnceLock::new();

/// The list of this process.
fn list() -> MutexGuard<'static, OpenDatabase> {
    let process = std::process::id();
    let new = || Box::new(List { process, open: Mutex::default(), child: OnceLock::new() });
    let mut list = FIRST.get_or_init(new);
    while list.process != process {
        list = list.child.get_or_init(new);
    }
    list.open.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this process was forked from one of that number which had databases open.
fn is_parent(process: u32) -> bool {
    let lists = std::iter::successors(FIRST.get(), |list| list.child.get());
    process != std::process::id() && lists.into_iter().any(|list| list.process == process)
}

/// Whether this process was forked from one which had databases open.
fn is_child() -> bool {
    FIRST.get().is_some_and(|first| first.process != std::process::id())
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// The database that a file belongs to, and which of its files it is.
fn parts(path: &Path) -> Option<(PathBuf, FileNumber)> {
    let name = path.as_os_str().as_bytes();
    ENDS.iter().enumerate().skip(1).find_map(|(number, end)| {
        let database = name.strip_suffix(end.as_bytes())?;
        Some((OsStr::from_bytes(database).into(), FileNumber(number as u8)))
    })
}

/// Whether there is anything of this database: itself, or its log.
pub fn exists(path: &Path) -> bool {
    path.exists() || beside(path, FOLDER_END).exists()
}

/// Opens the main file of a database: the first one recovers it.
///
/// # Errors
/// See [`FilesOpenError`].
pub fn open(
    path: &Path,
    options: &FilesOptions,
    notify: fn(&str),
) -> Result<(DatabaseFile, Option<OpenedFiles>), FilesOpenError> {
    let mut open = list();
    let number = MAIN;
    if let Some((database, count)) = open.databases.get_mut(path) {
        *count += 1;
        return Ok((DatabaseFile::new(Arc::clone(database), number), None));
    }
    let paths: Vec<PathBuf> = ENDS.iter().map(|end| beside(path, end)).collect();
    let files = RemoteFiles::open(&paths, &beside(path, FOLDER_END), options, Box::new(notify));
    let files = files.map_err(|error| match error {
        // It has the lock from its parent, and keeps it when that has ended.
        FilesOpenError::InUse { path, process: Some(process) } if is_parent(process) => {
            FilesOpenError::Forked { path, process }
        }
        other => other,
    })?;
    let opened = files.opened().clone();
    let database = Arc::new(Database { path: path.to_path_buf(), files, is_journal_ahead: AtomicBool::new(false) });
    open.databases.insert(path.to_path_buf(), (Arc::clone(&database), 1));
    Ok((DatabaseFile::new(database, number), Some(opened)))
}

/// Another file of a database that is open; none if it is of no such database.
///
/// # Errors
/// A connection that was inherited through a fork wants it: its database is that of the parent.
pub fn open_other(path: &Path) -> Result<Option<DatabaseFile>, Inherited> {
    let Some((name, number)) = parts(path) else { return Ok(None) };
    let mut open = list();
    let Some((database, count)) = open.databases.get_mut(&name) else {
        let is_inherited = is_child() && beside(&name, FOLDER_END).exists();
        return if is_inherited { Err(Inherited(name)) } else { Ok(None) };
    };
    *count += 1;
    Ok(Some(DatabaseFile::new(Arc::clone(database), number)))
}

/// A database that a parent of this process has opened, and that this process has not.
#[derive(Debug)]
pub struct Inherited(PathBuf);

impl std::fmt::Display for Inherited {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let process = std::process::id();
        write!(
            formatter,
            "a connection to {} was opened before process {process} was forked: use it in the parent only",
            self.0.display()
        )
    }
}

/// Gives a file back, after it was closed. With the last one the database is brought to disk, and its log is emptied.
///
/// # Errors
/// That could not be done: the next opening replays the log.
pub fn close(file: DatabaseFile) -> Result<(), DurabilityFailure> {
    if file.files().is_forked() {
        // It is the parent's, which brings it to disk: nothing of it is touched, not even the count.
        std::mem::forget(file);
        return Ok(());
    }
    let mut open = list();
    let DatabaseFile { database, .. } = file;
    let Some((_, count)) = open.databases.get_mut(&database.path) else { return Ok(()) };
    *count -= 1;
    if *count > 0 {
        return Ok(());
    }
    open.databases.remove(&database.path);
    Arc::into_inner(database).map_or(Ok(()), |database| database.files.close())
}

impl DatabaseFile {
    fn new(database: Arc<Database>, number: FileNumber) -> DatabaseFile {
        DatabaseFile { database, number, announced: Cell::new(None) }
    }

    /// Tells that bytes have been written. A page goes by its number, whether it is written to a journal, the log or the database.
    ///
    /// # Errors
    /// The remote log has failed.
    pub fn wrote(&self, offset: u64, bytes: &[u8]) -> Result<(), DurabilityFailure> {
        let announced = self.announced.take();
        let page = if self.number == MAIN {
            (bytes.len() as u64).checked_sub(1).map(|last| offset / (last + 1) + 1)
        } else {
            announced.and_then(|(at, page)| (at == offset).then_some(page))
        };
        if BEFORE_PAGE_BYTES.contains(&bytes.len()) {
            let page = bytes.first_chunk().map(|number| u64::from(u32::from_be_bytes(*number)));
            self.announced.set(page.map(|page| (offset + bytes.len() as u64, page)));
        }
        let told = match page {
            Some(page) => self.database.files.wrote_keyed(self.number, offset, page, bytes),
            None => self.database.files.wrote(self.number, offset, bytes),
        };
        if self.number != MAIN {
            self.database.is_journal_ahead.store(true, Ordering::Release);
        }
        told
    }

    /// To be called before the file is written. Without syncs (`synchronous = OFF`, or `NORMAL` in WAL mode) SQLite relies on the order of its writes
    /// when its process dies: what a journal or write-ahead log holds is there before the database is written. The files keep that order; so does
    /// a replay, if the log has the journal before the database has the page.
    ///
    /// # Errors
    /// The remote log has failed.
    pub fn before_write(&self) -> Result<(), DurabilityFailure> {
        self.files().check()?;
        // One connection at a time writes the database itself, by SQLite's own locks.
        if self.number == MAIN && self.database.is_journal_ahead.swap(false, Ordering::AcqRel) {
            self.files().ship()?;
        }
        Ok(())
    }

    /// The database's files.
    pub fn files(&self) -> &RemoteFiles {
        &self.database.files
    }

    /// Which of them this is.
    pub fn number(&self) -> FileNumber {
        self.number
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.database.path
    }
}
