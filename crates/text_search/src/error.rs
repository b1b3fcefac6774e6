//! What is wrong with a text, a vector or a query: a SQLSTATE and PostgreSQL's message.

use sqlstate::{PROGRAM_LIMIT_EXCEEDED, SYNTAX_ERROR};

/// Why a vector or a query could not be read or computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextSearchError {
    /// One of `sqlstate`.
    pub sqlstate: &'static str,
    /// PostgreSQL's message.
    pub message: String,
}

impl TextSearchError {
    /// An error with a code of `sqlstate`.
    #[cold]
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> Self {
        Self { sqlstate, message: message.into() }
    }

    #[cold]
    pub(crate) fn syntax(message: impl Into<String>) -> Self {
        Self::new(SYNTAX_ERROR, message)
    }

    #[cold]
    pub(crate) fn limit(message: impl Into<String>) -> Self {
        Self::new(PROGRAM_LIMIT_EXCEEDED, message)
    }
}
