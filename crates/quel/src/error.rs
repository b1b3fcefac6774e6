//! What is wrong with a text, as a client of PostgreSQL is told.

use crate::limits::LIST_MAX;

/// Error codes (PostgreSQL 15, appendix A).
pub mod sqlstate {
    /// `feature_not_supported`.
    pub const FEATURE_NOT_SUPPORTED: &str = "0A000";
    /// `invalid_catalog_name`.
    pub const UNDEFINED_DATABASE: &str = "3D000";
    /// `syntax_error`.
    pub const SYNTAX_ERROR: &str = "42601";
    /// `undefined_column`.
    pub const UNDEFINED_COLUMN: &str = "42703";
    /// `undefined_object`: a type.
    pub const UNDEFINED_OBJECT: &str = "42704";
    /// `undefined_function`.
    pub const UNDEFINED_FUNCTION: &str = "42883";
    /// `undefined_table`.
    pub const UNDEFINED_TABLE: &str = "42P01";
    /// `program_limit_exceeded`.
    pub const PROGRAM_LIMIT_EXCEEDED: &str = "54000";
    /// `statement_too_complex`.
    pub const STATEMENT_TOO_COMPLEX: &str = "54001";
}

/// The result of reading QUEL.
pub type QuelResult<T> = std::result::Result<T, QuelError>;

/// An error of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuelError {
    /// The SQLSTATE.
    pub sqlstate: &'static str,
    /// The primary message.
    pub message: String,
    /// Where in the text: inside the crate in bytes from 0, as it is given out in characters from 1.
    pub at: usize,
    /// What to do about it.
    pub hint: Option<&'static str>,
}

impl QuelError {
    /// An error at a place.
    pub fn new(sqlstate: &'static str, message: impl Into<String>, at: usize) -> QuelError {
        QuelError { sqlstate, message: message.into(), at, hint: None }
    }

    /// 42601 at a token; an empty one is the end of the text.
    pub fn syntax(near: &str, at: usize) -> QuelError {
        let message = match near {
            "" => "syntax error at end of input".to_owned(),
            _ => format!("syntax error at or near \"{near}\""),
        };
        QuelError::new(sqlstate::SYNTAX_ERROR, message, at)
    }

    /// 0A000.
    pub fn unsupported(what: &str, at: usize) -> QuelError {
        QuelError::new(sqlstate::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"), at)
    }

    /// 54000.
    pub fn too_many(message: impl Into<String>, at: usize) -> QuelError {
        QuelError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message, at)
    }

    /// 54000 for a list.
    pub fn long_list(at: usize) -> QuelError {
        QuelError::too_many(format!("a list has at most {LIST_MAX} items"), at)
    }

    /// 54001.
    pub fn too_deep(at: usize) -> QuelError {
        QuelError::new(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded", at)
    }

    /// The same with a hint.
    pub fn with_hint(mut self, hint: &'static str) -> QuelError {
        self.hint = Some(hint);
        self
    }
}

impl std::fmt::Display for QuelError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for QuelError {}
