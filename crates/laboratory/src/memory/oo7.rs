//! OO7, the benchmark of design databases that the paper runs on a storage manager (section 3.8), on SQLite and on redb.
//!
//! After M. Carey, D. DeWitt, J. Naughton, "The OO7 benchmark" (SIGMOD 1993). A design is a tree of assemblies; each assembly at its bottom has some
//! composite parts, which it shares with others; a composite part has a document and a graph of atomic parts. A traversal goes through all of it
//! and is one transaction. Invariant: whatever the database, a traversal of the same design visits, or replaces, as many parts.
//!
//! * [`design`]: what is in the database;
//! * [`traversal`]: what is done with it;
//! * [`orders`]: what a database's process is told, and what it says;
//! * [`store`]: a database's process, seen from the one that measures;
//! * [`redb_store`]: redb's; `sqlite_store.py` is SQLite's, for a stock Python.

pub mod design;
pub mod orders;
pub mod redb_store;
pub mod store;
pub mod traversal;
