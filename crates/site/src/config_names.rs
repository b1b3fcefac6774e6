//! What a site's configuration names: isolation levels and methods of concurrency control.

use messages::concurrency::Method;
use serde::{Deserialize, Serialize};
use user_interface::sql::isolation::TransactionLevel;

/// The name of an isolation level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LevelName {
    /// See [`TransactionLevel::ReadUncommitted`].
    #[serde(rename = "read uncommitted")]
    ReadUncommitted,
    /// See [`TransactionLevel::ReadCommitted`].
    #[serde(rename = "read committed")]
    ReadCommitted,
    /// See [`TransactionLevel::RepeatableRead`].
    #[serde(rename = "repeatable read")]
    RepeatableRead,
    /// See [`TransactionLevel::Serializable`].
    #[default]
    #[serde(rename = "serializable")]
    Serializable,
}

impl From<LevelName> for TransactionLevel {
    fn from(name: LevelName) -> TransactionLevel {
        match name {
            LevelName::ReadUncommitted => TransactionLevel::ReadUncommitted,
            LevelName::ReadCommitted => TransactionLevel::ReadCommitted,
            LevelName::RepeatableRead => TransactionLevel::RepeatableRead,
            LevelName::Serializable => TransactionLevel::Serializable,
        }
    }
}

/// The name of a concurrency-control method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MethodName {
    /// Two-phase read/write locking.
    #[default]
    Locking,
    /// Optimistic validation.
    Optimistic,
    /// One transaction at a time.
    Serial,
    /// Two-phase locking with exclusive locks only.
    SimpleLocking,
    /// Strict timestamp ordering.
    Timestamp,
}

impl From<MethodName> for Method {
    fn from(name: MethodName) -> Method {
        match name {
            MethodName::Locking => Method::Locking,
            MethodName::Optimistic => Method::Optimistic,
            MethodName::Serial => Method::Serial,
            MethodName::SimpleLocking => Method::SimpleLocking,
            MethodName::Timestamp => Method::Timestamp,
        }
    }
}
