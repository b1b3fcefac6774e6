//! How long to wait for a server, and how large what is generated gets.

use std::time::Duration;

/// A server must take a connection within this time.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);

/// What a statement may take, as the server is told.
pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(20);

/// Nothing comes for longer: the connection is given up.
pub const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);

/// A step of the isolation suite that is not done within this time waits for another session.
pub const STEP_WAIT: Duration = Duration::from_millis(300);

/// A server whose connection broke must take a new one within this time, or counts as dead.
pub const RETURN_TIME_MAX: Duration = Duration::from_secs(20);

/// How long to wait between two tries to connect.
pub const RETURN_INTERVAL: Duration = Duration::from_millis(100);

/// Bytes of a message of a server.
pub const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Tables of a case.
pub const TABLES_MAX: usize = 3;

/// Columns of a table beside its key.
pub const COLUMNS_MAX: usize = 5;

/// Rows of a table: a join of three tables must stay small.
pub const ROWS_MAX: usize = 9;

/// Steps of a case.
pub const STEPS_MAX: usize = 24;

/// How deep queries are nested in queries.
pub const QUERY_DEPTH_MAX: usize = 3;

/// How deep expressions are nested in expressions.
pub const EXPRESSION_DEPTH_MAX: usize = 3;

/// Checks of a case.
pub const CHECKS: usize = 12;

/// With how many sets of values a check executes what it prepared.
pub const CHECK_PARAMETER_SETS: usize = 3;

/// Candidates that minimising one difference may try.
pub const MINIMISE_TRIES_MAX: usize = 1500;

/// And for how long.
pub const MINIMISE_TIME_MAX: Duration = Duration::from_secs(60);

/// Rows of an answer that a report shows.
pub const ROWS_SHOWN: usize = 12;

/// How often progress is told.
pub const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

const _: () =
    assert!(STATEMENT_TIMEOUT.as_millis() < ANSWER_TIME_MAX.as_millis(), "a server may answer that it took too long");
