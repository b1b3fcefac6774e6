//! The databases of an instance. Where the catalog has what is in each, [`crate::catalog_place`] says.
//!
//! Invariant: each has a name of its own.

pub use crate::database_id::DatabaseId;
use serde::{Deserialize, Serialize};

/// A database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseSchema {
    /// Its name.
    pub name: String,
    /// Its object identifier; `DatabaseId(0)`: none of this name is there any more, of those that every instance has at first.
    pub id: DatabaseId,
    /// Whether whoever may make databases may copy it.
    pub is_template: bool,
    /// Whether sessions may begin.
    pub allows_connections: bool,
    /// How many sessions a site lets in; -1: as many as there are places.
    pub connection_limit: i32,
}

impl DatabaseSchema {
    /// An ordinary one.
    pub fn new(name: impl Into<String>, id: DatabaseId) -> DatabaseSchema {
        let name = name.into();
        DatabaseSchema { name, id, is_template: false, allows_connections: true, connection_limit: -1 }
    }
}

/// The databases that every instance has at first.
pub fn built_in() -> [DatabaseSchema; 4] {
    let template = |name, id| DatabaseSchema { is_template: true, ..DatabaseSchema::new(name, id) };
    [
        DatabaseSchema::new("raid", DatabaseId::FIRST),
        DatabaseSchema::new("postgres", DatabaseId::POSTGRES),
        template("template1", DatabaseId::TEMPLATE1),
        DatabaseSchema { allows_connections: false, ..template("template0", DatabaseId::TEMPLATE0) },
    ]
}
