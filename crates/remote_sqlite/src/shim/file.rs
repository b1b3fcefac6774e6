//! An open file of the VFS: our part, and behind it in the same memory the file of the default VFS, to which every call goes on.

use libsqlite3_sys as ffi;
use std::ffi::{c_int, c_void};

use super::{api, control};
use crate::database::{self, DatabaseFile};

/// Our part of a file's memory.
#[repr(C)]
pub(super) struct Handle {
    /// What SQLite sees.
    base: ffi::sqlite3_file,
    /// A file of a database; null for any other.
    file: *mut DatabaseFile,
}

/// Of our part. The default VFS's part behind it is aligned like ours.
pub(super) const HANDLE_BYTES: usize = size_of::<Handle>();

const _: () = assert!(HANDLE_BYTES.is_multiple_of(8), "what is behind it begins at a word");

/// Qualities of the disk that hold for what is read back after a recovery. Not those of writes that need no journal (atomic ones), nor of an order of writes: the
/// files are on the local disk in any order until the log mends them.
const QUALITIES: c_int =
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE | ffi::SQLITE_IOCAP_UNDELETABLE_WHEN_OPEN | ffi::SQLITE_IOCAP_IMMUTABLE;

/// The file of the default VFS.
pub(super) fn inner(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    file.wrapping_byte_add(HANDLE_BYTES)
}

impl Handle {
    /// Makes it an open file.
    ///
    /// # Safety
    /// The memory is `szOsFile` bytes of ours, and the inner file is open.
    pub(super) unsafe fn put(file: *mut ffi::sqlite3_file, found: Option<DatabaseFile>) {
        let found = found.map_or(std::ptr::null_mut(), |found| Box::into_raw(Box::new(found)));
        // SAFETY: the inner file is open, so it has methods.
        let version = unsafe { (*(*inner(file)).pMethods).iVersion };
        let methods: &'static ffi::sqlite3_io_methods = match version {
            ..=1 => &METHODS_1,
            2 => &METHODS_2,
            3.. => &METHODS_3,
        };
        // SAFETY: the memory is as long as our part, and more.
        unsafe { file.cast::<Handle>().write(Handle { base: ffi::sqlite3_file { pMethods: methods }, file: found }) };
    }
}

/// The file of a database; none for any other.
///
/// # Safety
/// `file` is open, and ours.
pub(super) unsafe fn ours<'a>(file: *mut ffi::sqlite3_file) -> Option<&'a DatabaseFile> {
    // SAFETY: `put` has written our part; what it points to lives until `close`, and one thread at a time has the file.
    unsafe { (*file.cast::<Handle>()).file.as_ref() }
}

/// Hands a call on to the file of the default VFS.
macro_rules! forward {
    ($file:expr, $method:ident, $without:expr $(, $argument:expr)*) => {{
        // SAFETY: the call is handed on as SQLite has made it, to a file that is open and has this method.
        unsafe {
            let inner = $crate::shim::file::inner($file);
            match (*(*inner).pMethods).$method {
                Some(method) => method(inner $(, $argument)*),
                None => $without,
            }
        }
    }};
}
pub(super) use forward;

const fn methods(version: c_int) -> ffi::sqlite3_io_methods {
    ffi::sqlite3_io_methods {
        iVersion: version,
        xClose: Some(close),
        xRead: Some(read),
        xWrite: Some(write),
        xTruncate: Some(truncate),
        xSync: Some(sync),
        xFileSize: Some(file_size),
        xLock: Some(lock),
        xUnlock: Some(unlock),
        xCheckReservedLock: Some(check_reserved_lock),
        xFileControl: Some(control::file_control),
        xSectorSize: Some(sector_size),
        xDeviceCharacteristics: Some(device_characteristics),
        xShmMap: Some(shm_map),
        xShmLock: Some(shm_lock),
        xShmBarrier: Some(shm_barrier),
        xShmUnmap: Some(shm_unmap),
        xFetch: Some(fetch),
        xUnfetch: Some(unfetch),
    }
}

/// By the version of the inner file's methods: SQLite does not call what a version does not have.
static METHODS_1: ffi::sqlite3_io_methods = methods(1);
static METHODS_2: ffi::sqlite3_io_methods = methods(2);
static METHODS_3: ffi::sqlite3_io_methods = methods(3);

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // The inner file first: closing gives up its locks, and the log is emptied only after that.
    let code = forward!(file, xClose, ffi::SQLITE_OK);
    // SAFETY: the file is ours; SQLite does not use it after this.
    let found = unsafe { std::mem::replace(&mut (*file.cast::<Handle>()).file, std::ptr::null_mut()) };
    if !found.is_null() {
        // SAFETY: `put` has made it of a box, and nobody else takes it.
        let found = unsafe { Box::from_raw(found) };
        let path = found.path().to_path_buf();
        if let Err(failure) = database::close(*found) {
            api::tell(ffi::SQLITE_IOERR, &format!("{} was not closed in order: {failure}", path.display()));
        }
    }
    code
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    out: *mut c_void,
    bytes: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    forward!(file, xRead, ffi::SQLITE_IOERR_READ, out, bytes, offset)
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    bytes: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: the file is open, and ours.
    let ours = unsafe { ours(file) };
    if ours.is_some_and(|ours| ours.before_write().is_err()) {
        return ffi::SQLITE_IOERR_WRITE;
    }
    let code = forward!(file, xWrite, ffi::SQLITE_IOERR_WRITE, from, bytes, offset);
    let Some(ours) = ours.filter(|_| code == ffi::SQLITE_OK) else { return code };
    // SAFETY: SQLite passes so many bytes, and keeps them during the call.
    let written = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), bytes as usize) };
    match ours.wrote(offset as u64, written) {
        Ok(()) => ffi::SQLITE_OK,
        Err(_) => ffi::SQLITE_IOERR_WRITE,
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    let forward = || forward!(file, xTruncate, ffi::SQLITE_IOERR_TRUNCATE, size);
    // SAFETY: the file is open, and ours.
    let Some(ours) = (unsafe { ours(file) }) else { return forward() };
    let mut present = 0;
    let code = forward!(file, xFileSize, ffi::SQLITE_IOERR_FSTAT, &raw mut present);
    if code != ffi::SQLITE_OK || size == present {
        return code;
    }
    if ours.before_write().is_err() {
        return ffi::SQLITE_IOERR_TRUNCATE;
    }
    if size > present {
        let code = forward();
        let is_told = code != ffi::SQLITE_OK || ours.files().extended(ours.number(), size as u64).is_ok();
        return if is_told { code } else { ffi::SQLITE_IOERR_TRUNCATE };
    }
    let cut = ours.files().cut(ours.number(), size as u64, forward);
    if cut.as_ref().is_ok_and(|code| *code != ffi::SQLITE_OK) {
        ours.files().fail(&format!("a file of {} could not be cut", ours.path().display()));
    }
    cut.unwrap_or(ffi::SQLITE_IOERR_TRUNCATE)
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: the file is open, and ours.
    match unsafe { ours(file) } {
        None => forward!(file, xSync, ffi::SQLITE_IOERR_FSYNC, flags),
        Some(ours) => match ours.files().sync() {
            Ok(_) => ffi::SQLITE_OK,
            Err(_) => ffi::SQLITE_IOERR_FSYNC,
        },
    }
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, out: *mut ffi::sqlite3_int64) -> c_int {
    forward!(file, xFileSize, ffi::SQLITE_IOERR_FSTAT, out)
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    forward!(file, xLock, ffi::SQLITE_IOERR_LOCK, level)
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    forward!(file, xUnlock, ffi::SQLITE_IOERR_UNLOCK, level)
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    forward!(file, xCheckReservedLock, ffi::SQLITE_IOERR_CHECKRESERVEDLOCK, out)
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    forward!(file, xSectorSize, 0)
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    let qualities = forward!(file, xDeviceCharacteristics, 0);
    // SAFETY: the file is open, and ours.
    if unsafe { ours(file) }.is_some() { qualities & QUALITIES } else { qualities }
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    page: c_int,
    bytes: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    forward!(file, xShmMap, ffi::SQLITE_IOERR_SHMMAP, page, bytes, extend, out)
}

unsafe extern "C" fn shm_lock(file: *mut ffi::sqlite3_file, offset: c_int, count: c_int, flags: c_int) -> c_int {
    forward!(file, xShmLock, ffi::SQLITE_IOERR_SHMLOCK, offset, count, flags)
}

unsafe extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
    forward!(file, xShmBarrier, ());
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    // A child that was forked must not take it away from its parent.
    // SAFETY: the file is open, and ours.
    let delete = if unsafe { ours(file) }.is_some_and(|ours| ours.files().is_forked()) { 0 } else { delete };
    forward!(file, xShmUnmap, ffi::SQLITE_OK, delete)
}

unsafe extern "C" fn fetch(
    file: *mut ffi::sqlite3_file,
    offset: ffi::sqlite3_int64,
    bytes: c_int,
    out: *mut *mut c_void,
) -> c_int {
    forward!(file, xFetch, ffi::SQLITE_IOERR_MMAP, offset, bytes, out)
}

unsafe extern "C" fn unfetch(file: *mut ffi::sqlite3_file, offset: ffi::sqlite3_int64, page: *mut c_void) -> c_int {
    forward!(file, xUnfetch, ffi::SQLITE_OK, offset, page)
}
