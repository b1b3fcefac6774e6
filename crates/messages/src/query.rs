//! User interface to query processor: statements that no action program expresses.
//!
//! The query processor reads rows through the session's transaction at the action driver (`SessionRequest::Scan`), which the user interface
//! has opened before. A session has at most one query under way. All of it stays within a site.

use crate::program::ResultColumn;
use crate::role::BOOTSTRAP_OID;
use crate::schema::{Catalog, CatalogVersions};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::Arc;
use values::{Type, Value, Zone};

/// The name of a window, which no client can write, in the queries of rows that row-level security lets through: what is said of these rows may be computed for no others.
pub const ROW_SECURITY_WINDOW: &str = "\u{1e}row security";

/// From 1970 to 2000, in microseconds.
const MICROS_TO_2000: i64 = 946_684_800_000_000;

/// What a query may ask about the session that runs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFacts {
    /// The name of the role whose privileges count: `current_user`.
    pub user: String,
    /// Its number: that of the bootstrap superuser under whatever name. Another role may have the name by now.
    pub role: u32,
    /// The name of the role that may become others: `session_user`.
    pub session_user: String,
    /// The database's name.
    pub database: String,
    /// What `version()` says.
    pub version: String,
    /// Its time zone.
    pub zone: Zone,
    /// Where constants of the statement are read that name no zone: what the session's was when the statement was compiled.
    pub constants_zone: Zone,
    /// When its statement began, in microseconds since 1970: what the views of time zones show.
    pub time_micros: i64,
    /// Its parameters, as SHOW names and prints them.
    pub settings: Arc<[(String, String)]>,
    /// The number of the schema of its temporary objects, if it has one.
    pub temporary: Option<u32>,
    /// The process id that stands for it: what `pg_backend_pid()` says.
    pub process: i32,
    /// What the sessions of its site are doing, for a statement that asks (`pg_stat_activity`).
    pub activity: Arc<[SessionActivity]>,
}

/// What a session is doing. Times are in microseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionActivity {
    /// The process id that stands for it.
    pub process: i32,
    /// The name of the role that logged in.
    pub user: String,
    /// Its number.
    pub role: u32,
    /// The database's name.
    pub database: String,
    /// What the client calls itself.
    pub application: String,
    /// Where the client is.
    pub address: Option<IpAddr>,
    /// When it was let in.
    pub began_micros: i64,
    /// When its transaction began, if one is open.
    pub transaction_micros: Option<i64>,
    /// When its last statement began.
    pub statement_micros: Option<i64>,
    /// When it came into its state.
    pub changed_micros: i64,
    /// PostgreSQL's name of its state.
    pub state: String,
    /// Its last statement.
    pub statement: Arc<str>,
}

impl SessionFacts {
    /// When its statement began, in microseconds since 2000.
    pub fn now(&self) -> i64 {
        self.time_micros - MICROS_TO_2000
    }

    /// Whether the session is the bootstrap superuser's.
    pub fn is_bootstrap(&self) -> bool {
        self.role == BOOTSTRAP_OID
    }
}

/// User interface to query processor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum QueryRequest {
    /// Which columns and parameters does this statement have? Answered `Described` or `Failed`.
    Describe {
        /// One statement.
        sql: Arc<str>,
        /// Types of the parameters as far as the client gave them.
        parameters: Vec<Option<Type>>,
        /// The session's catalog, its own uncommitted changes included.
        catalog: Arc<Catalog>,
        /// The session.
        session: Arc<SessionFacts>,
    },
    /// Run it. Answered by `Rows` (the first batch), `Changed` or `Failed`.
    Run(Box<Run>),
    /// The next batch. Answered by `Rows` or `Failed`.
    More,
    /// The rows of the function that was to be called. Answered as what the query was asked before.
    Called {
        /// They have the columns of its result.
        rows: Vec<Vec<Value>>,
    },
    /// No more rows are wanted. Answered by `Stopped`: what comes before that belongs to the query that was stopped, and is dropped by
    /// the asker.
    Stop,
    /// The plan as text, for EXPLAIN. Answered by `Rows` of one text column.
    Explain {
        /// One statement.
        sql: Arc<str>,
        /// The session's catalog.
        catalog: Arc<Catalog>,
        /// The session.
        session: Arc<SessionFacts>,
    },
    /// Takes a snapshot of the instance at this site. Answered by `Rows` of one text, the snapshot's folder, once it is permanent, or `Failed`.
    Snapshot {
        /// Its name.
        name: String,
    },
}

/// See [`QueryRequest::Run`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// One statement.
    pub sql: Arc<str>,
    /// Values of its parameters.
    pub parameters: Vec<Value>,
    /// The types of the parameters.
    pub parameter_types: Vec<Option<Type>>,
    /// What the asker takes its columns to be. Answered `Changed` if they are not.
    pub columns: Vec<ResultColumn>,
    /// The session's catalog.
    pub catalog: Arc<Catalog>,
    /// Catalog rows, beside those of its tables, that the asker relied on: they decide what the role may read.
    pub relies_on: CatalogVersions,
    /// Its number among its session's, if its statement changes nothing: what it reads is read at one snapshot. `None`: the statement changes something by
    /// what is read.
    pub query: Option<u64>,
    /// The session.
    pub session: Arc<SessionFacts>,
    /// When the transaction began, in microseconds since 1970: what `now()` says.
    pub time_micros: i64,
}

/// Query processor to user interface.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum QueryReply {
    /// Shape of the statement.
    Described {
        /// Columns of its result.
        columns: Vec<ResultColumn>,
        /// Types of its parameters.
        parameters: Vec<Type>,
    },
    /// A batch.
    Rows {
        /// Rows, at most `limits::QUERY_BATCH_ROWS`.
        rows: Vec<Vec<Value>>,
        /// No more follow.
        last: bool,
    },
    /// A function is to run before the query goes on: answered by `Called`. What runs meanwhile is within this query.
    Call {
        /// Its object identifier.
        function: u32,
        /// Its arguments.
        arguments: Vec<Value>,
    },
    /// What was to run has other columns, or columns of other types, than the asker takes it to have: it is to be described anew. Nothing was read.
    Changed,
    /// `Stop` was obeyed.
    Stopped,
    /// The statement cannot be planned, or failed while it ran. A failed scan's reason is handed through.
    Failed(crate::session::Failure),
}
