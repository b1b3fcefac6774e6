//! What comments are about.
//!
//! Invariant: two objects have two targets, in one database.

use crate::database_id::DatabaseId;
use serde::{Deserialize, Serialize};

/// What a comment is about, as `pg_description` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CommentTarget {
    /// Object identifier of the system catalog that the object is in.
    pub class: u32,
    /// Object identifier.
    pub oid: u32,
    /// A column's number from 1; 0: the whole object.
    pub number: i32,
}

impl CommentTarget {
    /// `pg_class`.
    pub const RELATIONS: u32 = 1259;
    /// `pg_constraint`.
    pub const CONSTRAINTS: u32 = 2606;
    /// `pg_proc`.
    pub const PROCEDURES: u32 = 1255;
    /// `pg_type`.
    pub const TYPES: u32 = 1247;
    /// `pg_policy`.
    pub const POLICIES: u32 = 3256;
    /// `pg_extension`.
    pub const EXTENSIONS: u32 = 3079;
    /// `pg_namespace`.
    pub const SCHEMAS: u32 = 2615;
    /// The schema `public`.
    pub const PUBLIC: CommentTarget =
        CommentTarget { class: CommentTarget::SCHEMAS, oid: crate::namespace::PUBLIC_OID, number: 0 };
    /// `pg_database`, which is the same for all databases.
    pub const DATABASES: u32 = 1262;
    /// `pg_authid`, likewise.
    pub const ROLES: u32 = 1260;

    /// An object of a system catalog.
    pub fn new(class: u32, oid: u32) -> CommentTarget {
        CommentTarget { class, oid, number: 0 }
    }

    /// A database.
    pub fn database(id: DatabaseId) -> CommentTarget {
        CommentTarget::new(CommentTarget::DATABASES, id.0)
    }

    /// Whether it is of no database.
    pub fn is_shared(self) -> bool {
        matches!(self.class, CommentTarget::DATABASES | CommentTarget::ROLES)
    }

    /// A relation or index.
    pub fn relation(oid: u32) -> CommentTarget {
        CommentTarget::new(CommentTarget::RELATIONS, oid)
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<CommentTarget> {
        let part = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let number = i32::try_from(part(8)?).ok()?;
        (bytes.len() == 12).then_some(CommentTarget { class: part(0)?, oid: part(4)?, number })
    }
}
