//! Bounds of the console.

use std::time::Duration;

/// How often each site is asked.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long a site may take to answer.
pub const ANSWER_TIME_MAX: Duration = Duration::from_millis(900);
/// Bytes of an answer of a site's console.
pub const ANSWER_BYTES_MAX: u64 = 4 << 20;
/// Sites of a cluster.
pub const SITES_MAX: usize = 16;
/// Samples that are kept: an hour.
pub const SAMPLES_MAX: usize = 3_600;
/// Samples that a page is given at first, unless it asks for more.
pub const SAMPLES_USUAL: usize = 900;
/// Different servers, causes and kinds of statements of which figures are kept.
pub const LABELS_MAX: usize = 96;
/// Such figures in a sample of one site.
pub const LABELLED_MAX: usize = 24;
/// Bytes that the history takes, with what its vectors keep in reserve.
pub const HISTORY_BYTES_MAX: usize = 30 << 20;
/// Pages at a time.
pub const PAGES_MAX: usize = 32;
/// Connections at a time. A page holds one for its events and some more while it loads.
pub const CONNECTIONS_MAX: usize = 8 * PAGES_MAX;
/// How long a connection may take to say what it wants.
pub const HEAD_TIME_MAX: Duration = Duration::from_secs(10);
/// Bytes of a request's head.
pub const HEAD_BYTES_MAX: usize = 16 << 10;
/// Bytes of a request's body.
pub const BODY_BYTES_MAX: usize = 64 << 10;
/// How often pages hear something, so that whoever is between does not take them for gone.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Wrong tokens in [`LOGIN_WINDOW`]; after that nobody is let in until it is over.
pub const LOGINS_MAX: usize = 5;
/// See [`LOGINS_MAX`].
pub const LOGIN_WINDOW: Duration = Duration::from_secs(60);
/// Rows of an answer to SQL.
pub const ROWS_MAX: usize = 1_000;
/// Bytes of all values of an answer.
pub const RESULT_BYTES_MAX: usize = 4 << 20;
/// Bytes of one value; a longer one is cut.
pub const VALUE_BYTES_MAX: usize = 64 << 10;
/// Answers to one text of SQL, which may have several statements.
pub const RESULTS_MAX: usize = 32;
/// How long a site may take to let the console in.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// How long SQL may take before it is cancelled.
pub const SQL_TIME_MAX: Duration = Duration::from_secs(60);
/// SQL that runs at a time.
pub const STATEMENTS_MAX: usize = 8;
/// How long an answer to a view serves all pages.
pub const VIEW_AGE_MAX: Duration = Duration::from_secs(2);
/// How long a site may take for a view.
pub const VIEW_TIME_MAX: Duration = Duration::from_secs(5);
/// How long a command may take: `raid restart` waits for 60 seconds until a site serves.
pub const COMMAND_TIME_MAX: Duration = Duration::from_secs(75);
/// Bytes of what a command says.
pub const COMMAND_BYTES_MAX: u64 = 16 << 10;
/// How long sites may take to run a method that was set.
pub const METHOD_TIME_MAX: Duration = Duration::from_secs(5);
/// How often is looked whether they do, or whether the console is to end.
pub const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Bytes of `console.log`; a longer one is kept as `console.log.old`, and a new one begun.
pub const LOG_BYTES_MAX: u64 = 4 << 20;
/// Actions that pages are shown.
pub const ACTIONS_SHOWN: usize = 100;

const _: () = assert!(ANSWER_TIME_MAX.as_nanos() < POLL_INTERVAL.as_nanos());
const _: () = assert!(SAMPLES_USUAL <= SAMPLES_MAX && PAGES_MAX < CONNECTIONS_MAX);
const _: () = assert!(VALUE_BYTES_MAX <= RESULT_BYTES_MAX && LABELLED_MAX <= LABELS_MAX);
