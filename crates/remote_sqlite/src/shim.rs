//! What SQLite calls: the extension's entry point, a VFS, its files. The only unsafe code of the crate.
//!
//! The contract is SQLite's (<https://www.sqlite.org/vfs.html>, and the comments of `sqlite3.h`): pointers that it hands over are valid during
//! the call, one thread at a time uses a file, and a file's memory, `szOsFile` bytes, is its own from `xOpen` to `xClose`.
//!
//! * `api`: SQLite's functions, which it hands over when the extension is loaded, and what is told to the user;
//! * `vfs`: opening and deleting files; `file`: reading, writing, syncing them; `control`: `PRAGMA raid_status` and the like.
//!
//! The types are those of `libsqlite3-sys`. Its wrappers of functions are not used: they want an SQLite that is as new as their
//! headers, and a stock program often has an older one.

mod api;
mod control;
mod file;
mod vfs;

use libsqlite3_sys as ffi;
use std::ffi::{c_char, c_int};

/// SQLite's entry point: its name follows from that of the file, `libraid_sqlite.so`. Registers the VFS `raid`, once for the process.
///
/// # Safety
/// Called by `sqlite3_load_extension` only, with what that passes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_raidsqlite_init(
    _connection: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    routines: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: SQLite passes its table of functions, which lives as long as SQLite does.
    let done = unsafe { api::take(routines) }.and_then(|api| {
        // SAFETY: the functions are those of this SQLite, which is initialised, since it loads an extension.
        unsafe { vfs::register(api) }
    });
    match done {
        // The VFS may be used by any later connection.
        Ok(()) => ffi::SQLITE_OK_LOAD_PERMANENTLY,
        Err(reason) => {
            if !message.is_null() {
                // SAFETY: SQLite passes where it wants the message, and frees what `allocate` gives.
                unsafe { *message = api::allocate(&reason) };
            }
            ffi::SQLITE_ERROR
        }
    }
}
