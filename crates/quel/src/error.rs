//! What is wrong with a text, as a client of PostgreSQL is told.

use crate::limits::LIST_MAX;
pub use ::sqlstate;

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
