//! SQLite's functions, which it hands over when the extension is loaded, and what is told to the user.

use libsqlite3_sys as ffi;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::Write as _;
use std::sync::OnceLock;

/// The oldest SQLite that this has been written for (2021): what it hands over and calls has been the same since.
const VERSION_MIN: c_int = 3_034_000;

/// What is needed of them. All have been in the table for longer than [`VERSION_MIN`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Api {
    pub(super) malloc64: unsafe extern "C" fn(ffi::sqlite3_uint64) -> *mut c_void,
    pub(super) free: unsafe extern "C" fn(*mut c_void),
    pub(super) log: unsafe extern "C" fn(c_int, *const c_char, ...),
    pub(super) uri_parameter: unsafe extern "C" fn(*const c_char, *const c_char) -> *const c_char,
    pub(super) vfs_find: unsafe extern "C" fn(*const c_char) -> *mut ffi::sqlite3_vfs,
    pub(super) vfs_register: unsafe extern "C" fn(*mut ffi::sqlite3_vfs, c_int) -> c_int,
}

static API: OnceLock<Api> = OnceLock::new();

/// Keeps SQLite's functions.
///
/// # Errors
/// What is wrong with this SQLite, for its user.
///
/// # Safety
/// `routines` is the table that SQLite has passed.
pub(super) unsafe fn take(routines: *const ffi::sqlite3_api_routines) -> Result<Api, String> {
    // Fields are read one by one: the table of an older SQLite ends before its last fields.
    // SAFETY: the table begins with the fields that every SQLite has.
    let version = unsafe { (*routines).libversion_number };
    // SAFETY: it takes nothing and changes nothing.
    let version = version.map_or(0, |version| unsafe { version() });
    if version < VERSION_MIN {
        return Err(format!("this SQLite has the version {version}, and at least {VERSION_MIN} is needed"));
    }
    // SAFETY: tables of this version have these fields.
    let api = unsafe {
        (|| {
            Some(Api {
                malloc64: (*routines).malloc64?,
                free: (*routines).free?,
                log: (*routines).log?,
                uri_parameter: (*routines).uri_parameter?,
                vfs_find: (*routines).vfs_find?,
                vfs_register: (*routines).vfs_register?,
            })
        })()
    };
    api.map(|api| *API.get_or_init(|| api)).ok_or_else(|| "this SQLite lacks functions that a VFS needs".to_owned())
}

/// The functions; nothing calls this crate before it has them.
pub(super) fn api() -> &'static Api {
    API.get().expect("SQLite loads an extension before it uses it")
}

/// Memory of SQLite's with a text in it, which SQLite frees; null if there is none.
pub(super) fn allocate(text: &str) -> *mut c_char {
    let Some(api) = API.get() else { return std::ptr::null_mut() };
    let text = text.replace('\0', " ");
    // SAFETY: any size may be asked for.
    let memory: *mut u8 = unsafe { (api.malloc64)(text.len() as u64 + 1) }.cast();
    if !memory.is_null() {
        // SAFETY: so many bytes were allocated, by nobody else's pointer.
        unsafe {
            memory.copy_from_nonoverlapping(text.as_ptr(), text.len());
            memory.add(text.len()).write(0);
        }
    }
    memory.cast()
}

/// Tells the user: in SQLite's error log, where a program has one, and on standard error, because most have none and `sqlite3_errmsg` has no room
/// for what a VFS has to say.
pub(super) fn tell(code: c_int, text: &str) {
    let line = format!("raid: {text}");
    // Nobody may be listening: a closed pipe, a terminal that has hung up. That must not end the user's program, as `eprintln!` would.
    let _ = writeln!(std::io::stderr(), "{line}");
    if let (Some(api), Ok(line)) = (API.get(), CString::new(line)) {
        // SAFETY: the format takes one text.
        unsafe { (api.log)(code, c"%s".as_ptr(), line.as_ptr()) };
    }
}

/// What an operator should know, from any thread.
pub(super) fn notify(text: &str) {
    tell(ffi::SQLITE_WARNING, text);
}

/// The value of a parameter in the URI of a file that is being opened.
///
/// # Safety
/// `name` is what SQLite has passed to `xOpen` for a database.
pub(super) unsafe fn parameter(name: *const c_char, key: &str) -> Option<String> {
    let key = CString::new(key).ok()?;
    // SAFETY: the name is SQLite's own, with its parameters behind it.
    let value = unsafe { (api().uri_parameter)(name, key.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: SQLite gives a text that lives as long as the name.
    Some(unsafe { CStr::from_ptr(value) }.to_string_lossy().into_owned())
}
