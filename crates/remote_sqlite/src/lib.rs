//! A loadable extension of SQLite: a virtual file system (VFS) over the default one, whose commits wait for the memory of k servers instead of a
//! disk.
//!
//! `.load ./libraid_sqlite`, then open `file:db?vfs=raid&servers=HOST:PORT,HOST:PORT&k=2`. SQLite stays as it is, and so do its files: every
//! call goes on to the default VFS, but for syncs of a database, its rollback journal and its write-ahead log, which become a record
//! of a remote log. What is promised and how it is kept stands in [`remote_files`]; this crate says which call of SQLite is which change of a
//! file. It knows no page and no transaction.
//!
//! | SQLite calls | what happens |
//! |---|---|
//! | `xWrite` | the default VFS writes; the change waits for the next sync |
//! | `xSync` | one record with all changes, and k servers have it; no disk |
//! | `xTruncate`, `xDelete` | k servers have it, then the default VFS does it: deleting the journal is a commit |
//! | `xOpen` of a database | the first one in this process recovers; others share its log |
//! | `xClose` | the last one in this process brings everything to disk and empties the log |
//! | `xFetch`, `xShm*`, locks | the default VFS: readers and locks never notice |
//! | temporary files | the default VFS: nothing of them is needed after a crash |
//! | `xFileControl` at the end of a commit; `xWrite` of a database behind its journal | what waits goes into the log, and nobody waits: it outlives the process |
//! | super-journals | the default VFS, with its syncs; after a loss of power each database is recovered by itself (README) |
//!
//! * [`database`]: databases that are open in this process, in safe code;
//! * [`shim`]: what SQLite calls, the only unsafe code;
//! * [`stock`]: stock programs over it, for tests and measurements.

pub mod database;
pub mod shim;
pub mod stock;
