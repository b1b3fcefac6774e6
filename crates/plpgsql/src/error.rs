//! What a routine tells: errors and notices, with all that RAISE can say.

use std::borrow::Cow;
use std::fmt;

pub use ::sqlstate;
use ::sqlstate::{FEATURE_NOT_SUPPORTED, PROGRAM_LIMIT_EXCEEDED, SYNTAX_ERROR};
use values::ValueError;

/// An error or a notice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoutineError {
    /// Five characters.
    pub sqlstate: Cow<'static, str>,
    /// What is wrong.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What to do.
    pub hint: Option<String>,
    /// Where it came about, a line for each routine.
    pub context: Option<String>,
    /// The constraint that it is about.
    pub constraint: Option<String>,
    /// The column.
    pub column: Option<String>,
    /// The type.
    pub data_type: Option<String>,
    /// The table.
    pub table: Option<String>,
    /// The schema.
    pub schema: Option<String>,
    /// Where in the body, in bytes from its beginning; only errors of its syntax have a place.
    pub at: Option<u32>,
    /// Nothing of the transaction is left: no handler may go on.
    pub is_final: bool,
    /// `context` names the routine at hand.
    pub(crate) is_own: bool,
}

/// What each fallible step returns; boxed, because an error is rare and large.
pub type PlpgsqlResult<T> = Result<T, Box<RoutineError>>;

impl RoutineError {
    /// An error with this code and message.
    #[cold]
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> Box<RoutineError> {
        Box::new(RoutineError { sqlstate: Cow::Borrowed(sqlstate), message: message.into(), ..RoutineError::default() })
    }

    /// 42601 at this place of the body.
    #[cold]
    pub fn syntax(message: impl Into<String>, at: usize) -> Box<RoutineError> {
        RoutineError::new(SYNTAX_ERROR, message).at(at)
    }

    /// 0A000.
    #[cold]
    pub fn unsupported(feature: impl fmt::Display) -> Box<RoutineError> {
        RoutineError::new(FEATURE_NOT_SUPPORTED, format!("{feature} is not supported"))
    }

    /// 54000: more than a bound allows.
    #[cold]
    pub fn beyond(what: impl fmt::Display) -> Box<RoutineError> {
        RoutineError::new(PROGRAM_LIMIT_EXCEEDED, format!("{what}"))
    }

    /// The same with a hint.
    #[must_use]
    pub fn with_hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.hint = Some(hint.into());
        self
    }

    /// The same with more about it.
    #[must_use]
    pub fn with_detail(mut self: Box<Self>, detail: impl Into<String>) -> Box<Self> {
        self.detail = Some(detail.into());
        self
    }

    /// The same at this place of the body, unless it has one.
    #[must_use]
    pub fn at(mut self: Box<Self>, at: usize) -> Box<Self> {
        self.at = self.at.or(Some(at as u32));
        self
    }
}

impl fmt::Display for RoutineError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for RoutineError {}

impl From<ValueError> for Box<RoutineError> {
    #[cold]
    fn from(error: ValueError) -> Box<RoutineError> {
        let mut converted = RoutineError::new(error.sqlstate, error.message);
        converted.detail = error.detail.map(String::from);
        converted
    }
}
