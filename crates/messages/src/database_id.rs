//! Numbers of databases.
//!
//! Invariant: a number is of one database, and of no other object of the instance.

use serde::{Deserialize, Serialize};

/// A database by its object identifier, which it keeps for life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DatabaseId(pub u32);

/// The first database's.
impl Default for DatabaseId {
    fn default() -> DatabaseId {
        DatabaseId::FIRST
    }
}

impl DatabaseId {
    /// The database that every instance has had from its beginning.
    pub const FIRST: DatabaseId = DatabaseId(5);
    /// The database that administrators' tools connect to.
    pub const POSTGRES: DatabaseId = DatabaseId(6);
    /// PostgreSQL's number of `template1`.
    pub const TEMPLATE1: DatabaseId = DatabaseId(1);
    /// PostgreSQL's number of `template0`.
    pub const TEMPLATE0: DatabaseId = DatabaseId(4);
}
