//! SQL at a site, as any client asks it.
//!
//! Invariant: an answer has at most [`ROWS_MAX`] rows and [`RESULT_BYTES_MAX`] bytes. What is given up, for its time or because its page has gone, is
//! cancelled at the site.

use crate::limits::{CONNECT_TIME_MAX, RESULT_BYTES_MAX, RESULTS_MAX, ROWS_MAX, VALUE_BYTES_MAX};
use futures::StreamExt;
use serde::Serialize;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio_postgres::{CancelToken, NoTls, SimpleQueryMessage};

/// What came of one statement.
#[derive(Debug, Default, Serialize)]
pub(crate) struct SqlResult {
    /// Names of the columns; `None`: it has no rows to show.
    pub(crate) columns: Option<Vec<String>>,
    /// The values as text; `None`: NULL.
    pub(crate) rows: Vec<Vec<Option<String>>>,
    /// Rows that it returned or changed.
    pub(crate) count: u64,
    /// There was more than is shown.
    pub(crate) is_cut: bool,
}

/// What came of a text.
#[derive(Debug, Default, Serialize)]
pub(crate) struct SqlAnswer {
    /// One for each statement.
    pub(crate) results: Vec<SqlResult>,
    /// All of it, with the connection, in milliseconds.
    pub(crate) took_ms: f64,
}

/// Why there is no answer.
#[derive(Debug, Serialize)]
pub(crate) struct SqlFailure {
    /// In words of the site, or of the console.
    pub(crate) error: String,
    /// The SQLSTATE; empty if the site has not said any.
    pub(crate) code: String,
    /// Where in the text, counted in characters from 1.
    pub(crate) position: Option<u32>,
    /// Whether the site has answered at all.
    #[serde(skip)]
    pub(crate) is_answer: bool,
}

/// A site, as a client sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SqlPlace<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) user: &'a str,
}

/// Cancels what is under way when nobody waits for it any more.
struct CancelGuard {
    token: Option<CancelToken>,
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        if let (Some(token), Ok(runtime)) = (self.token.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move { tokio::time::timeout(CONNECT_TIME_MAX, token.cancel_query(NoTls)).await });
        }
    }
}

/// Asks it, and gives up after `time_max`.
pub(crate) async fn ask(place: SqlPlace<'_>, text: &str, time_max: Duration) -> Result<SqlAnswer, SqlFailure> {
    let begun = Instant::now();
    match tokio::time::timeout(time_max, exchange(place, text)).await {
        Ok(answer) => answer.map(|results| SqlAnswer { results, took_ms: begun.elapsed().as_secs_f64() * 1e3 }),
        Err(_) => Err(failure(format!("It took longer than {} s and was cancelled.", time_max.as_secs()))),
    }
}

async fn exchange(place: SqlPlace<'_>, text: &str) -> Result<Vec<SqlResult>, SqlFailure> {
    let mut config = tokio_postgres::Config::new();
    config.host(place.address.ip().to_string()).port(place.address.port()).user(place.user).dbname("raid");
    config.connect_timeout(CONNECT_TIME_MAX).application_name("raid console");
    if let Ok(password) = std::env::var("PGPASSWORD") {
        config.password(password);
    }
    let (client, connection) = config.connect(NoTls).await.map_err(|error| told(&error))?;
    // It ends with the client.
    tokio::spawn(connection);
    let mut guard = CancelGuard { token: Some(client.cancel_token()) };
    let messages = client.simple_query_raw(text).await.map_err(|error| told(&error))?;
    let mut messages = std::pin::pin!(messages);
    let mut answer = GrowingAnswer::default();
    while let Some(message) = messages.next().await {
        if !answer.take(message.map_err(|error| told(&error))?) {
            return Ok(answer.results);
        }
    }
    guard.token = None;
    Ok(answer.results)
}

/// What has come of an answer.
#[derive(Default)]
struct GrowingAnswer {
    results: Vec<SqlResult>,
    open: SqlResult,
    bytes: usize,
}

impl GrowingAnswer {
    /// Takes a message. Returns whether there is room for more.
    fn take(&mut self, message: SimpleQueryMessage) -> bool {
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                self.open.columns = Some(columns.iter().map(|column| column.name().to_owned()).collect());
            }
            SimpleQueryMessage::Row(row) => {
                let values: Vec<Option<String>> = (0..row.len()).map(|at| row.get(at).map(shortened)).collect();
                self.bytes += values.iter().flatten().map(String::len).sum::<usize>();
                if self.open.rows.len() == ROWS_MAX || self.bytes > RESULT_BYTES_MAX {
                    self.open.is_cut = true;
                    return self.end(self.open.rows.len() as u64);
                }
                self.open.rows.push(values);
            }
            SimpleQueryMessage::CommandComplete(count) => return self.end(count),
            _ => {}
        }
        true
    }

    /// A statement is over.
    fn end(&mut self, count: u64) -> bool {
        let done = SqlResult { count, ..std::mem::take(&mut self.open) };
        let has_room = !done.is_cut && self.results.len() + 1 < RESULTS_MAX;
        self.results.push(done);
        has_room
    }
}

fn shortened(value: &str) -> String {
    if value.len() <= VALUE_BYTES_MAX {
        return value.to_owned();
    }
    let mut end = VALUE_BYTES_MAX;
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &value[..end])
}

fn failure(error: String) -> SqlFailure {
    SqlFailure { error, code: String::new(), position: None, is_answer: false }
}

/// What a site has said, or why it was not reached.
fn told(error: &tokio_postgres::Error) -> SqlFailure {
    let Some(said) = error.as_db_error() else {
        let mut words = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(reason) = source {
            words = format!("{words}: {reason}");
            source = reason.source();
        }
        return failure(words);
    };
    let more = [said.detail(), said.hint()].into_iter().flatten();
    let error = std::iter::once(said.message()).chain(more).collect::<Vec<_>>().join("\n");
    let position = match said.position() {
        Some(tokio_postgres::error::ErrorPosition::Original(position)) => Some(*position),
        _ => None,
    };
    SqlFailure { error, code: said.code().code().to_owned(), position, is_answer: true }
}
