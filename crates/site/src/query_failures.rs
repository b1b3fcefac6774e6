//! Failures of queries, in the words of the action driver.

use messages::session::{Failure, StatementFailure};
use query::QueryError;

pub(crate) fn failed() -> Failure {
    statement_failure(sqlstate::INTERNAL_ERROR, "the query processor failed on this statement")
}

pub(crate) fn statement_failure(state: &str, message: &str) -> Failure {
    let (sqlstate, message) = (state.to_owned(), message.to_owned());
    Failure::Statement(Box::new(StatementFailure { sqlstate, message, detail: None, hint: None, constraint: None }))
}

pub(crate) fn of_query(error: QueryError) -> Failure {
    let QueryError { sqlstate, message, detail, hint, .. } = error;
    Failure::Statement(Box::new(StatementFailure { sqlstate, message, detail, hint, constraint: None }))
}
