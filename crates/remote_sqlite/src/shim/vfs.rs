//! The VFS `raid`: opens and deletes files, and leaves everything else to the default VFS.

use libsqlite3_sys as ffi;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::api::{self, Api};
use super::file::{self, Handle};
use crate::database;
use remote_files::FilesOptions;
use remote_files::error::FilesOpenError;

const NAME: &CStr = c"raid";

/// Registers the VFS, unless it was.
///
/// # Errors
/// SQLite has no default VFS, or does not take this one.
///
/// # Safety
/// The functions are those of an SQLite that is initialised.
pub(super) unsafe fn register(api: Api) -> Result<(), String> {
    // SAFETY: the names are texts, or null for the default.
    let (known, default) = unsafe { ((api.vfs_find)(NAME.as_ptr()), (api.vfs_find)(std::ptr::null())) };
    if !known.is_null() {
        return Ok(());
    }
    if default.is_null() {
        return Err("this SQLite has no default VFS".to_owned());
    }
    // SAFETY: a registered VFS stays valid and does not change.
    let under = unsafe { &*default };
    let size = under.szOsFile as usize + file::HANDLE_BYTES;
    let vfs = ffi::sqlite3_vfs {
        iVersion: under.iVersion.min(2),
        szOsFile: size as c_int,
        mxPathname: under.mxPathname,
        pNext: std::ptr::null_mut(),
        zName: NAME.as_ptr(),
        pAppData: default.cast(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        xDlOpen: Some(dl_open),
        xDlError: Some(dl_error),
        xDlSym: Some(dl_sym),
        xDlClose: Some(dl_close),
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: Some(get_last_error),
        xCurrentTimeInt64: under.xCurrentTimeInt64.map(|_| current_time_int64 as _),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    };
    // SQLite keeps it for as long as the process lives.
    let vfs = Box::leak(Box::new(vfs));
    // SAFETY: it is whole, and never moves or goes.
    match unsafe { (api.vfs_register)(vfs, 0) } {
        ffi::SQLITE_OK => Ok(()),
        code => Err(format!("SQLite does not take the VFS: error {code}")),
    }
}

/// The default VFS.
///
/// # Safety
/// `vfs` is ours.
unsafe fn under(vfs: *mut ffi::sqlite3_vfs) -> *mut ffi::sqlite3_vfs {
    // SAFETY: `register` has put it there.
    unsafe { (*vfs).pAppData.cast() }
}

/// Hands a call on to the default VFS.
macro_rules! forward {
    ($vfs:expr, $method:ident, $without:expr $(, $argument:expr)*) => {{
        // SAFETY: the call is handed on as SQLite has made it, to the VFS that has this method.
        unsafe {
            let under = under($vfs);
            match (*under).$method {
                Some(method) => method(under $(, $argument)*),
                None => $without,
            }
        }
    }};
}

/// The path of a name; none for a temporary file, which has no name.
///
/// # Safety
/// `name` is null or a text.
unsafe fn path<'a>(name: *const c_char) -> Option<&'a Path> {
    if name.is_null() {
        return None;
    }
    // SAFETY: it is a text, which SQLite keeps during the call.
    Some(Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes())))
}

/// What of our own a file is; none if the default VFS is enough. On an error its code, after it was told.
///
/// # Safety
/// As [`open`].
unsafe fn find(name: *const c_char, flags: c_int) -> Result<Option<database::DatabaseFile>, c_int> {
    // SAFETY: SQLite passes null or a text.
    let Some(path) = (unsafe { path(name) }) else { return Ok(None) };
    if flags & (ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_WAL) != 0 {
        return database::open_other(path).map_err(|inherited| {
            api::tell(ffi::SQLITE_CANTOPEN, &inherited.to_string());
            ffi::SQLITE_CANTOPEN
        });
    }
    let is_new = || flags & ffi::SQLITE_OPEN_CREATE != 0;
    if flags & ffi::SQLITE_OPEN_MAIN_DB == 0 || !is_new() && !database::exists(path) {
        return Ok(None);
    }
    // SAFETY: it is the name of a database, as `xOpen` has been given it.
    let options = FilesOptions::read(|key| unsafe { api::parameter(name, key) });
    let opened = options.map_err(FilesOpenError::from).and_then(|options| database::open(path, &options, api::notify));
    match opened {
        Ok((file, opened)) => {
            if let Some(opened) = opened.as_ref().filter(|opened| opened.given_up > 0) {
                let text = format!(
                    "{}: recover=discard has given up {} records of changes in its log; leave it out from now on, or the next crash \
                     loses commits",
                    path.display(),
                    opened.given_up
                );
                api::tell(ffi::SQLITE_NOTICE, &text);
            }
            if let Some(opened) = opened.filter(|opened| opened.replayed.records > 0 || opened.doubt.is_some()) {
                let replayed = opened.replayed;
                let doubt = match opened.doubt {
                    Some(doubt) => format!("; what was acknowledged may be missing ({doubt:?})"),
                    None => String::new(),
                };
                let text = format!(
                    "{} was not closed in order: {} records with {} changes were replayed from its log{doubt}",
                    path.display(),
                    replayed.records,
                    replayed.changes
                );
                api::tell(ffi::SQLITE_NOTICE, &text);
            }
            Ok(Some(file))
        }
        Err(error) => {
            let code = if let FilesOpenError::InUse { .. } = error { ffi::SQLITE_BUSY } else { ffi::SQLITE_CANTOPEN };
            api::tell(code, &format!("{} is not opened: {error}", path.display()));
            Err(code)
        }
    }
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes `szOsFile` bytes for a file. Without methods it does not close it.
    unsafe { (*file).pMethods = std::ptr::null() };
    // SAFETY: the name is as SQLite has passed it.
    let found = match unsafe { find(name, flags) } {
        Ok(found) => found,
        Err(code) => return code,
    };
    // SAFETY: behind our part of the memory there are `szOsFile` bytes of the default VFS.
    let code = forward!(vfs, xOpen, ffi::SQLITE_CANTOPEN, name, file::inner(file), flags, flags_out);
    if code != ffi::SQLITE_OK {
        if let Some(Err(failure)) = found.map(database::close) {
            api::tell(code, &failure.to_string());
        }
        return code;
    }
    // SAFETY: the memory is ours, and the inner file is open.
    unsafe { Handle::put(file, found) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, sync_folder: c_int) -> c_int {
    // SAFETY: SQLite passes a text.
    let path = unsafe { path(name) };
    let found = path.map_or(Ok(None), |path| Ok(database::open_other(path)?.map(|file| (path, file))));
    let (path, file) = match found {
        Ok(Some(found)) => found,
        Ok(None) => return forward!(vfs, xDelete, ffi::SQLITE_IOERR_DELETE, name, sync_folder),
        Err(inherited) => {
            let inherited: database::Inherited = inherited;
            api::tell(ffi::SQLITE_IOERR_DELETE, &inherited.to_string());
            return ffi::SQLITE_IOERR_DELETE;
        }
    };
    let forward = || forward!(vfs, xDelete, ffi::SQLITE_IOERR_DELETE, name, 0);
    let code = if path.exists() {
        let deleted = file.files().delete(file.number(), forward);
        if deleted.as_ref().is_ok_and(|code| !matches!(*code, ffi::SQLITE_OK | ffi::SQLITE_IOERR_DELETE_NOENT)) {
            file.files().fail(&format!("{} could not be deleted", path.display()));
        }
        deleted.unwrap_or(ffi::SQLITE_IOERR_DELETE)
    } else {
        forward()
    };
    if let Err(failure) = database::close(file) {
        api::tell(ffi::SQLITE_IOERR, &failure.to_string());
    }
    code
}

unsafe extern "C" fn access(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, flags: c_int, out: *mut c_int) -> c_int {
    forward!(vfs, xAccess, ffi::SQLITE_IOERR_ACCESS, name, flags, out)
}

unsafe extern "C" fn full_pathname(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    bytes: c_int,
    out: *mut c_char,
) -> c_int {
    forward!(vfs, xFullPathname, ffi::SQLITE_CANTOPEN, name, bytes, out)
}

unsafe extern "C" fn dl_open(vfs: *mut ffi::sqlite3_vfs, name: *const c_char) -> *mut c_void {
    forward!(vfs, xDlOpen, std::ptr::null_mut(), name)
}

unsafe extern "C" fn dl_error(vfs: *mut ffi::sqlite3_vfs, bytes: c_int, out: *mut c_char) {
    forward!(vfs, xDlError, (), bytes, out);
}

type Symbol = Option<unsafe extern "C" fn(*mut ffi::sqlite3_vfs, *mut c_void, *const c_char)>;

unsafe extern "C" fn dl_sym(vfs: *mut ffi::sqlite3_vfs, library: *mut c_void, name: *const c_char) -> Symbol {
    forward!(vfs, xDlSym, None, library, name)
}

unsafe extern "C" fn dl_close(vfs: *mut ffi::sqlite3_vfs, library: *mut c_void) {
    forward!(vfs, xDlClose, (), library);
}

unsafe extern "C" fn randomness(vfs: *mut ffi::sqlite3_vfs, bytes: c_int, out: *mut c_char) -> c_int {
    forward!(vfs, xRandomness, 0, bytes, out)
}

unsafe extern "C" fn sleep(vfs: *mut ffi::sqlite3_vfs, microseconds: c_int) -> c_int {
    forward!(vfs, xSleep, 0, microseconds)
}

unsafe extern "C" fn current_time(vfs: *mut ffi::sqlite3_vfs, out: *mut f64) -> c_int {
    forward!(vfs, xCurrentTime, ffi::SQLITE_ERROR, out)
}

unsafe extern "C" fn current_time_int64(vfs: *mut ffi::sqlite3_vfs, out: *mut ffi::sqlite3_int64) -> c_int {
    forward!(vfs, xCurrentTimeInt64, ffi::SQLITE_ERROR, out)
}

unsafe extern "C" fn get_last_error(vfs: *mut ffi::sqlite3_vfs, bytes: c_int, out: *mut c_char) -> c_int {
    forward!(vfs, xGetLastError, 0, bytes, out)
}
