//! What is wrong with a text, as PostgreSQL says it.

use std::fmt;

/// A text that PostgreSQL's scanner or grammar refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Five characters, `42601` for most.
    pub sqlstate: &'static str,
    /// PostgreSQL's words.
    pub message: String,
    /// More about it, where PostgreSQL says more.
    pub detail: Option<&'static str>,
    /// What to do, where PostgreSQL says so.
    pub hint: Option<&'static str>,
    /// Where in the text, in bytes from its beginning; some errors have no place.
    pub at: Option<u32>,
}

/// Something that a text's writer should know although the text is taken, as a NOTICE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Five characters.
    pub sqlstate: &'static str,
    /// PostgreSQL's words.
    pub message: String,
}

pub use sqlstate::{FEATURE_NOT_SUPPORTED, STATEMENT_TOO_COMPLEX as STACK_DEPTH_EXCEEDED, SYNTAX_ERROR};

impl SyntaxError {
    /// An error with a place.
    pub fn new(sqlstate: &'static str, message: impl Into<String>, at: u32) -> SyntaxError {
        SyntaxError { sqlstate, message: message.into(), detail: None, hint: None, at: Some(at) }
    }

    /// `message at or near "text"`, or `message at end of input`.
    pub fn near(message: &str, text: &str, at: usize, end: usize) -> SyntaxError {
        let message = match text.get(at..end) {
            Some(near) if !near.is_empty() => format!("{message} at or near \"{near}\""),
            _ => format!("{message} at end of input"),
        };
        SyntaxError::new(SYNTAX_ERROR, message, at as u32)
    }

    /// The same with a hint.
    #[must_use]
    pub fn with_hint(self, hint: &'static str) -> SyntaxError {
        SyntaxError { hint: Some(hint), ..self }
    }

    /// Where in the text as the protocol counts: in characters, from 1.
    pub fn position(&self, text: &str) -> Option<usize> {
        let at = self.at? as usize;
        Some(text.char_indices().take_while(|(start, _)| *start < at).count() + 1)
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for SyntaxError {}
