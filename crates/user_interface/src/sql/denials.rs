//! 42501, in PostgreSQL's words.

use crate::errors::{SqlError, sqlstate};

/// 42501.
pub fn denied(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, message.into())
}

/// 42501 for an object: `permission denied for table t`.
pub fn denied_for(kind: &str, name: &str) -> Box<SqlError> {
    denied(format!("permission denied for {kind} {name}"))
}

/// 42501 for an object of others: `must be owner of table t`.
pub fn not_owner(kind: &str, name: &str) -> Box<SqlError> {
    denied(format!("must be owner of {kind} {name}"))
}

/// Who may do something with what is in a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnerReach {
    /// Its owner.
    Object,
    /// Whom the schema belongs to, too, as when it is dropped.
    Schema,
}
