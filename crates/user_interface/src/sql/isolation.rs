//! Isolation levels as clients ask for them (PostgreSQL's manual, 13.2 and SET TRANSACTION).

use crate::errors::{Result, SqlError, sqlstate};
use messages::session::{AccessMode, Isolation};
use serde::{Deserialize, Serialize};

/// A level, from the weakest to the strongest. Files name it as SHOW does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TransactionLevel {
    /// As READ COMMITTED, as in PostgreSQL.
    #[serde(rename = "read uncommitted")]
    ReadUncommitted,
    /// See [`Isolation::ReadCommitted`].
    #[serde(rename = "read committed")]
    ReadCommitted,
    /// See [`Isolation::RepeatableRead`].
    #[serde(rename = "repeatable read")]
    RepeatableRead,
    /// What there is where nobody asks for less.
    #[default]
    #[serde(rename = "serializable")]
    Serializable,
}

impl TransactionLevel {
    const ALL: [TransactionLevel; 4] = [
        TransactionLevel::Serializable,
        TransactionLevel::RepeatableRead,
        TransactionLevel::ReadCommitted,
        TransactionLevel::ReadUncommitted,
    ];

    /// Its name, as SHOW prints it.
    pub fn name(self) -> &'static str {
        match self {
            TransactionLevel::ReadUncommitted => "read uncommitted",
            TransactionLevel::ReadCommitted => "read committed",
            TransactionLevel::RepeatableRead => "repeatable read",
            TransactionLevel::Serializable => "serializable",
        }
    }

    /// The level of this name, however it is written.
    pub fn of_name(name: &str) -> Option<TransactionLevel> {
        TransactionLevel::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }

    /// The level that a value of a parameter names. Errors: 22023.
    pub fn of_value(parameter: &str, value: &str) -> Result<TransactionLevel> {
        TransactionLevel::of_name(value).ok_or_else(|| {
            let message = format!("invalid value for parameter \"{parameter}\": \"{value}\"");
            let names = TransactionLevel::ALL.map(TransactionLevel::name).join(", ");
            SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message).with_hint(format!("Available values: {names}."))
        })
    }

    /// What the servers do about it.
    pub fn isolation(self) -> Isolation {
        match self {
            TransactionLevel::ReadUncommitted | TransactionLevel::ReadCommitted => Isolation::ReadCommitted,
            TransactionLevel::RepeatableRead => Isolation::RepeatableRead,
            TransactionLevel::Serializable => Isolation::Serializable,
        }
    }
}

/// What BEGIN, START TRANSACTION, SET TRANSACTION and SET SESSION CHARACTERISTICS say of a transaction, as far as they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionModes {
    /// READ ONLY or READ WRITE.
    pub access: Option<AccessMode>,
    /// ISOLATION LEVEL.
    pub level: Option<TransactionLevel>,
}
