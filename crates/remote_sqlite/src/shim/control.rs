//! `xFileControl`: `PRAGMA raid_status`, the name of the VFS, and what must not reach the default VFS.

use libsqlite3_sys as ffi;
use std::ffi::{CStr, c_char, c_int, c_void};

use super::api;
use super::file::{forward, ours};

/// The pragma that says what makes commits durable.
const STATUS: &CStr = c"raid_status";

pub(super) unsafe extern "C" fn file_control(
    file: *mut ffi::sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the file is open, and ours.
    if let Some(ours) = unsafe { ours(file) } {
        match operation {
            ffi::SQLITE_FCNTL_PRAGMA => {
                // SAFETY: for this operation SQLite passes three texts: a result, the pragma's name, and its value or null.
                let texts: &mut [*mut c_char; 3] = unsafe { &mut *argument.cast() };
                // SAFETY: the name is never null.
                if unsafe { CStr::from_ptr(texts[1]) } == STATUS {
                    texts[0] = api::allocate(&ours.files().status().to_string());
                    return ffi::SQLITE_OK;
                }
            }
            // A commit that waits for nobody survives the death of the process all the same, as it does without this VFS.
            ffi::SQLITE_FCNTL_SYNC | ffi::SQLITE_FCNTL_COMMIT_PHASETWO => {
                // A failure has been told, and the next write is refused.
                let _ = ours.files().ship();
            }
            // A file system that writes several pages at once makes SQLite do without a journal; the log has no such record.
            ffi::SQLITE_FCNTL_BEGIN_ATOMIC_WRITE
            | ffi::SQLITE_FCNTL_COMMIT_ATOMIC_WRITE
            | ffi::SQLITE_FCNTL_ROLLBACK_ATOMIC_WRITE => return ffi::SQLITE_NOTFOUND,
            _ => {}
        }
    }
    let code = forward!(file, xFileControl, ffi::SQLITE_NOTFOUND, operation, argument);
    if operation == ffi::SQLITE_FCNTL_VFSNAME && code == ffi::SQLITE_OK {
        // SAFETY: for this operation SQLite passes where it wants a text of its memory, which the default VFS has put there.
        let name: &mut *mut c_char = unsafe { &mut *argument.cast() };
        if !name.is_null() {
            // SAFETY: as above.
            let under = unsafe { CStr::from_ptr(*name) }.to_string_lossy().into_owned();
            // SAFETY: it is SQLite's memory, and nobody else has it.
            unsafe { (api::api().free)(name.cast()) };
            *name = api::allocate(&format!("raid/{under}"));
        }
    }
    code
}
