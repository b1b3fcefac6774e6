//! What can go wrong while a statement is planned or run.

use values::ValueError;

/// An error as PostgreSQL tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionError {
    /// Five characters.
    pub sqlstate: &'static str,
    /// PostgreSQL's words.
    pub message: String,
    /// More about it, where PostgreSQL says more.
    pub detail: Option<String>,
    /// What to do, where PostgreSQL says so.
    pub hint: Option<String>,
    /// Where in the text, in bytes from its beginning.
    pub at: Option<u32>,
}

impl ExecutionError {
    /// An error without detail, hint and place.
    #[cold]
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> ExecutionError {
        ExecutionError { sqlstate, message: message.into(), detail: None, hint: None, at: None }
    }

    /// The same error at a place.
    pub fn at(mut self, at: Option<u32>) -> ExecutionError {
        self.at = at;
        self
    }
}

impl std::fmt::Display for ExecutionError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ExecutionError {}

impl From<ValueError> for ExecutionError {
    fn from(error: ValueError) -> ExecutionError {
        let detail = error.detail.map(String::from);
        ExecutionError { detail, ..ExecutionError::new(error.sqlstate, error.message) }
    }
}

/// Why an operator or an expression yields nothing now. Whoever propagates it can be called again afterwards.
#[derive(Debug)]
pub(crate) enum Interruption {
    /// A need is posted.
    Wait,
    /// The budget is spent.
    Yield,
    /// The statement fails.
    Failed(Box<ExecutionError>),
}

impl From<ExecutionError> for Interruption {
    fn from(error: ExecutionError) -> Interruption {
        Interruption::Failed(Box::new(error))
    }
}

impl From<ValueError> for Interruption {
    fn from(error: ValueError) -> Interruption {
        Interruption::Failed(Box::new(error.into()))
    }
}
