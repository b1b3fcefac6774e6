//! The one error of this crate: a SQLSTATE and the message PostgreSQL would print.
//!
//! Everything here is the client's data or stored bytes being wrong, so nothing in this crate panics on its input.

use std::fmt;

pub use ::sqlstate;

/// Why a value could not be read, computed or converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ValueError {
    /// One of [`sqlstate`].
    pub sqlstate: &'static str,
    /// PostgreSQL's primary message, without a final full stop.
    pub message: String,
    /// PostgreSQL's DETAIL line, when it has one.
    pub detail: Option<Box<str>>,
}

impl ValueError {
    /// An error with a code of [`sqlstate`] and PostgreSQL's message.
    #[cold]
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> Self {
        Self { sqlstate, message: message.into(), detail: None }
    }

    /// What full text search says.
    #[cold]
    pub fn of_search(error: text_search::TextSearchError) -> Self {
        Self::new(error.sqlstate, error.message)
    }

    /// The same error with a DETAIL line.
    pub fn with_detail(mut self, detail: impl Into<Box<str>>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Stored bytes that no encoder of this crate wrote; `what` names the part that is wrong.
    #[cold]
    pub(crate) fn corrupt(what: &str) -> Self {
        Self::new(sqlstate::DATA_CORRUPTED, format!("stored bytes are damaged: {what}"))
    }

    /// `invalid input syntax for type ...`, 22P02.
    #[cold]
    pub(crate) fn syntax(type_name: impl fmt::Display, input: &str) -> Self {
        Self::new(
            sqlstate::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type {type_name}: \"{input}\""),
        )
    }

    /// `value "..." is out of range for type ...`, 22003.
    #[cold]
    pub(crate) fn text_out_of_range(type_name: impl fmt::Display, input: &str) -> Self {
        Self::new(
            sqlstate::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("value \"{input}\" is out of range for type {type_name}"),
        )
    }

    /// `... out of range`, 22003.
    #[cold]
    pub(crate) fn out_of_range(type_name: impl fmt::Display) -> Self {
        Self::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("{type_name} out of range"))
    }

    /// `division by zero`, 22012.
    #[cold]
    pub(crate) fn division_by_zero() -> Self {
        Self::new(sqlstate::DIVISION_BY_ZERO, "division by zero")
    }

    /// `... out of range`, 22008.
    #[cold]
    pub(crate) fn datetime_out_of_range(what: impl fmt::Display) -> Self {
        Self::new(sqlstate::DATETIME_FIELD_OVERFLOW, format!("{what} out of range"))
    }

    /// A feature that is refused, 0A000.
    #[cold]
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(sqlstate::FEATURE_NOT_SUPPORTED, message)
    }
}
