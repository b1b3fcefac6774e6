//! What is wrong with a statement whose text is right, as PostgreSQL says it: its SQLSTATE, words, detail, hint and place.

use std::fmt;

/// A statement that cannot be given a meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalysisError {
    /// Five characters.
    pub sqlstate: &'static str,
    /// PostgreSQL's words.
    pub message: String,
    /// More about it, where PostgreSQL says more.
    pub detail: Option<String>,
    /// What to do, where PostgreSQL says so.
    pub hint: Option<String>,
    /// Where in the text, in bytes from its beginning; some errors have no place.
    pub at: Option<u32>,
}

pub use sqlstate::{
    AMBIGUOUS_ALIAS, AMBIGUOUS_COLUMN, AMBIGUOUS_FUNCTION, AMBIGUOUS_PARAMETER, CANNOT_COERCE, COLLATION_MISMATCH,
    DATATYPE_MISMATCH, DUPLICATE_ALIAS, DUPLICATE_COLUMN, FEATURE_NOT_SUPPORTED, GENERATED_ALWAYS, GROUPING_ERROR,
    INDETERMINATE_DATATYPE, INVALID_COLUMN_REFERENCE, INVALID_PARAMETER_VALUE, INVALID_RECURSION,
    INVALID_SCHEMA_NAME as UNDEFINED_SCHEMA, PROGRAM_LIMIT_EXCEEDED, QUERY_CANCELED,
    STATEMENT_TOO_COMPLEX as STACK_DEPTH_EXCEEDED, SYNTAX_ERROR, TOO_MANY_ARGUMENTS, TOO_MANY_COLUMNS,
    UNDEFINED_COLUMN, UNDEFINED_FUNCTION, UNDEFINED_OBJECT, UNDEFINED_PARAMETER, UNDEFINED_TABLE, WINDOWING_ERROR,
    WRONG_OBJECT_TYPE,
};

impl AnalysisError {
    /// An error that has no place yet.
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> AnalysisError {
        AnalysisError { sqlstate, message: message.into(), detail: None, hint: None, at: None }
    }

    /// The same with a detail.
    #[must_use]
    pub fn with_detail(self, detail: impl Into<String>) -> AnalysisError {
        AnalysisError { detail: Some(detail.into()), ..self }
    }

    /// The same with a hint.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> AnalysisError {
        AnalysisError { hint: Some(hint.into()), ..self }
    }

    /// The same at a place, if that is known, unless it has one.
    #[must_use]
    pub fn at_place(self, at: Option<u32>) -> AnalysisError {
        AnalysisError { at: self.at.or(at), ..self }
    }

    /// The same at a place, unless it has one.
    #[must_use]
    pub fn at(self, at: u32) -> AnalysisError {
        AnalysisError { at: self.at.or(Some(at)), ..self }
    }
}

impl fmt::Display for AnalysisError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for AnalysisError {}
