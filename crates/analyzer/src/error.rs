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

/// SQLSTATE query_canceled.
pub const QUERY_CANCELED: &str = "57014";
/// SQLSTATE feature_not_supported.
pub const FEATURE_NOT_SUPPORTED: &str = "0A000";
/// SQLSTATE undefined_function: no operator or function takes these arguments.
pub const UNDEFINED_FUNCTION: &str = "42883";
/// SQLSTATE ambiguous_function: several operators or functions take these arguments, none better than the others.
pub const AMBIGUOUS_FUNCTION: &str = "42725";
/// SQLSTATE datatype_mismatch.
pub const DATATYPE_MISMATCH: &str = "42804";
/// SQLSTATE cannot_coerce.
pub const CANNOT_COERCE: &str = "42846";
/// SQLSTATE wrong_object_type: it is there, and of another kind.
pub const WRONG_OBJECT_TYPE: &str = "42809";
/// SQLSTATE undefined_object.
pub const UNDEFINED_OBJECT: &str = "42704";
/// SQLSTATE undefined_parameter.
pub const UNDEFINED_PARAMETER: &str = "42P02";
/// SQLSTATE ambiguous_parameter: its uses want it of different types.
pub const AMBIGUOUS_PARAMETER: &str = "42P08";
/// SQLSTATE indeterminate_datatype.
pub const INDETERMINATE_DATATYPE: &str = "42P18";
/// SQLSTATE syntax_error, which covers some misuse of calls, too.
pub const SYNTAX_ERROR: &str = "42601";
/// SQLSTATE undefined_column.
pub const UNDEFINED_COLUMN: &str = "42703";
/// SQLSTATE undefined_table.
pub const UNDEFINED_TABLE: &str = "42P01";
/// SQLSTATE ambiguous_column.
pub const AMBIGUOUS_COLUMN: &str = "42702";
/// SQLSTATE ambiguous_alias.
pub const AMBIGUOUS_ALIAS: &str = "42P09";
/// SQLSTATE duplicate_alias.
pub const DUPLICATE_ALIAS: &str = "42712";
/// SQLSTATE duplicate_column.
pub const DUPLICATE_COLUMN: &str = "42701";
/// SQLSTATE invalid_column_reference.
pub const INVALID_COLUMN_REFERENCE: &str = "42P10";
/// SQLSTATE grouping_error: an aggregate, or a column beside one, where it must not be.
pub const GROUPING_ERROR: &str = "42803";
/// SQLSTATE windowing_error.
pub const WINDOWING_ERROR: &str = "42P20";
/// SQLSTATE invalid_recursion.
pub const INVALID_RECURSION: &str = "42P19";
/// SQLSTATE undefined_schema.
pub const UNDEFINED_SCHEMA: &str = "3F000";
/// SQLSTATE invalid_parameter_value.
pub const INVALID_PARAMETER_VALUE: &str = "22023";
/// SQLSTATE program_limit_exceeded.
pub const PROGRAM_LIMIT_EXCEEDED: &str = "54000";
/// SQLSTATE stack_depth_limit_exceeded's place: too deep to be read.
pub const STACK_DEPTH_EXCEEDED: &str = "54001";
/// SQLSTATE too_many_columns.
pub const TOO_MANY_COLUMNS: &str = "54011";
/// SQLSTATE generated_always.
pub const GENERATED_ALWAYS: &str = "428C9";
/// SQLSTATE collation_mismatch.
pub const COLLATION_MISMATCH: &str = "42P21";
/// SQLSTATE too_many_arguments.
pub const TOO_MANY_ARGUMENTS: &str = "54023";

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
