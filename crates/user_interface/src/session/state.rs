//! What a session is made of.
//!
//! Invariant: `open` is true exactly while the action driver holds a transaction for the session, as far as its replies tell.

use crate::counters::Uncounted;
use crate::errors::SqlError;
use crate::limits::{OUTPUT_BYTES_HIGH, OUTPUT_HELD_MAX};
use crate::locks::errands::SessionLocks;
use crate::protocol::copy::{CopyColumn, Options};
use crate::protocol::format::Formats;
use crate::session::catalog::{KnownPath, Overlay, OwnRow};
use crate::session::copying::CopyIn;
use crate::session::listening::Listening;
use crate::session::login::{Login, Peer};
use crate::session::parts_progress::PartsProgress;
use crate::session::routine_runs::Routines;
use crate::session::sql_cursor::SqlCursor;
use crate::sql::ddl::SchemaChange;
use crate::sql::isolation::TransactionLevel;
use crate::sql::parse::{Parsed, QuelOrigin};
use crate::sql::prepared::Prepared;
use crate::sql::session_settings::{SessionSettings, ToldSettings};
use crate::sql::statement_form::StatementForm;
use crate::sql::utility::RoleChange;
use bytes::BytesMut;
use messages::database::DatabaseId;
use messages::program::Program;
use messages::session::AccessMode;
use messages::{Incarnation, Key, SessionId};
use quel::Ranges;
use rustc_hash::FxHashMap;
use sqlparser::ast;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use values::Value;

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing but startup packets, and answers to who the client is, are understood.
    Startup,
    /// The session is up.
    Ready,
    /// Nothing more is read; the socket is closed when the output is sent.
    Finished,
}

/// Where the session is with transactions, as its client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// Each statement is a transaction of its own.
    None,
    /// The statements of one cycle are one transaction, without the client having asked for it.
    Implicit,
    /// BEGIN was said.
    Open,
    /// A statement within BEGIN failed.
    Failed,
}

/// What the client is in the middle of saying.
#[derive(Debug)]
pub enum Cycle {
    /// Nothing.
    Idle,
    /// A simple query: its whole text, and the statements still to run.
    Simple(Arc<str>, VecDeque<Parsed>),
    /// Extended messages up to a Sync.
    Extended,
}

/// What is under way.
#[derive(Debug)]
pub enum Work {
    /// Nothing: the next message may come.
    Idle,
    /// The query processor describes a statement that a Parse message names; the client is about to be told its columns, or not.
    Parsing(String, Box<Prepared>, bool),
    /// A statement is being executed.
    Statement(Box<Execution>),
    /// An implicit transaction ends, then the cycle; the tag of its last statement is kept back until then. True: it commits.
    Ending(Option<String>, bool),
    /// What was under way when a life of the site ended has to be known to have committed or not.
    Parked(Box<Parked>),
    /// A schema change has committed and is to appear in the catalog before the client is told.
    Settling(Box<Settling>),
}

/// See [`Work::Parked`].
#[derive(Debug)]
pub struct Parked {
    /// The life that was asked to commit.
    pub life: Incarnation,
    /// The number of that request among the session's to that life.
    pub asked: u64,
    /// What then goes on: a statement that commits by itself or ends a block, or the end of an implicit transaction.
    pub work: Work,
}

/// See [`Work::Settling`].
#[derive(Debug)]
pub struct Settling {
    /// What is to appear.
    pub rows: Vec<(Key, OwnRow)>,
    /// When to stop waiting, by the boot clock.
    pub deadline: u64,
    /// What the client is then told.
    pub tag: Option<String>,
    /// Whether the cycle ends with it.
    pub ends_cycle: bool,
}

/// Where a statement's rows go.
#[derive(Debug)]
pub enum Sink {
    /// To the client as DataRows.
    Rows,
    /// To the client as COPY data.
    Copy(Options, Vec<CopyColumn>),
}

/// What a statement waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing was asked yet.
    New,
    /// The query processor's description.
    Describe,
    /// The transaction's begin.
    Begin,
    /// A program's end.
    Program,
    /// A batch of a query's rows.
    Rows,
    /// Room in the output, before more rows are asked for.
    Room,
    /// A batch of rows of the query that feeds a program.
    Source,
    /// The program's end with a batch of supplied rows.
    Batch,
    /// A batch of rows of the query of one of the statement's parts.
    PartRows,
    /// The end of a program of one of its parts, or of one of its edges.
    PartProgram,
    /// The client's COPY data.
    CopyData,
    /// The program's end with a batch of COPY rows.
    CopyBatch,
    /// The plan as text.
    Explain,
    /// What BEGIN ... END does to temporary tables before it ends.
    AtCommit,
    /// The end of BEGIN ... END.
    Commit,
    /// The end of a block by ROLLBACK, or COMMIT of a failed one.
    Rollback,
    /// A savepoint set, released, or (with its name) returned to.
    Savepoint,
    /// The catalog's next change, until this time: the statement was compiled with a row that has changed.
    Catalog(u64),
    /// The end of the transaction, to begin the statement anew in another.
    Restart,
    /// This time, by the boot clock: it sleeps.
    Sleep(u64),
    /// An advisory lock.
    Lock,
}

/// A statement under way.
#[derive(Debug)]
pub struct Execution {
    /// What it is.
    pub prepared: Arc<Prepared>,
    /// Values of its parameters.
    pub parameters: Vec<Value>,
    /// Texts of the constants of a statement that runs as its outline: they are its parameters.
    pub constants: Option<Vec<Box<str>>>,
    /// Arguments of EXECUTE, until the parameters' types are known.
    pub arguments: Option<Vec<ast::Expr>>,
    /// Formats of its result's columns.
    pub formats: Formats,
    /// The portal it runs in, for the extended protocol.
    pub portal: Option<String>,
    /// At most so many rows now; 0: all.
    pub rows_max: usize,
    /// Whether the client has been told the columns, or is not to be.
    pub announced: bool,
    /// What it was when the client was told of it, or bound its parameters: the client can be given nothing else.
    pub told: Option<Arc<Prepared>>,
    /// Rows sent now.
    pub sent: u64,
    /// Rows changed so far.
    pub affected: u64,
    /// How often it was compiled again.
    pub recompilations: u32,
    /// Whether it opened the transaction that it runs in.
    pub began: bool,
    /// Rows of it were sent by an Execute before.
    pub was_suspended: bool,
    /// It has begun before, in a life of the site that is over.
    pub begins_again: bool,
    /// What it returns when it has slept, or has its locks.
    pub asleep: Vec<Vec<Value>>,
    /// How many of its calls about advisory locks are done.
    pub calls_done: usize,
    /// What it waits for.
    pub step: Step,
    /// Where its rows go.
    pub sink: Sink,
    /// What EXPLAIN has said so far.
    pub explained: Vec<String>,
    /// The schema change that it is.
    pub change: Option<SchemaChange>,
    /// What fills the table that it has made.
    pub fills: Option<Arc<Program>>,
    /// The cursor that keeps its rows, as far as they have come.
    pub cursor: Option<SqlCursor>,
    /// Rows to supply to its program.
    pub supply: Supply,
    /// How far a statement of several parts has come.
    pub parts: Option<Box<PartsProgress>>,
    /// COPY FROM: the data so far.
    pub copy: Option<Box<CopyIn>>,
    /// A portal's rows that were fetched and not sent.
    pub buffered: VecDeque<Vec<Value>>,
    /// Whether a query has no more rows than those buffered.
    pub exhausted: bool,
    /// It is there to confirm what the client is to be told.
    pub doubt: Option<Box<Doubt>>,
}

/// What is to be told unless the catalog has changed, and what is tried again if it has.
#[derive(Debug)]
pub struct Doubt {
    /// What to tell.
    pub confirmed: Confirmed,
    /// What it came of.
    pub again: Again,
}

/// What the catalog decides and the client is told.
#[derive(Debug)]
pub enum Confirmed {
    /// A statement cannot be compiled.
    Error(Box<SqlError>),
    /// The role that a client wants to be is what it is known to be.
    Login,
    /// The session may become another role; the command tag.
    Becomes(RoleChange, String),
    /// A statement of this name is compiled, and about to be described.
    Parsed(String, Arc<Prepared>),
}

/// What a text is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextLanguage {
    /// What the session speaks.
    Session,
    /// SQL that the session's text has become.
    Sql {
        /// What is special about it.
        form: StatementForm,
    },
}

/// A statement to be compiled, as the client sent it.
#[derive(Debug)]
pub enum Again {
    /// No statement: a client wants to be let in.
    Login,
    /// SET ROLE.
    Becomes(Box<Execution>),
    /// By the simple protocol.
    Simple(Parsed),
    /// What the innermost routine has asked for.
    Routine,
    /// By Parse.
    Parse {
        /// The statement's name.
        name: String,
        /// Its text.
        sql: Box<str>,
        /// What that is in.
        language: TextLanguage,
        /// Types of its parameters, by object identifier.
        types: Vec<u32>,
        /// The client is about to be told its columns.
        told: bool,
    },
    /// By either; it was to be described.
    Statement(Box<Execution>),
}

/// Rows on their way from a query to the program that takes them.
#[derive(Debug, Default)]
pub struct Supply {
    /// In order.
    pub rows: VecDeque<Vec<Value>>,
    /// Keys that were supplied, and which of the rows each came with: a row that joins several times is changed once.
    pub keys: BTreeMap<Arc<[u8]>, usize>,
    /// What rows took that have been kept.
    pub bytes: usize,
    /// The query has no more.
    pub last: bool,
}

/// Why a statement is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelReason {
    /// A CancelRequest came.
    Request,
    /// `statement_timeout` is over.
    Timeout,
}

/// A statement bound to parameters.
#[derive(Debug)]
pub struct Portal {
    /// What it is; `None`: an empty query.
    pub prepared: Option<Arc<Prepared>>,
    /// Values of its parameters.
    pub parameters: Vec<Value>,
    /// Formats of its result's columns.
    pub formats: Formats,
    /// Its columns are to be told when it is executed.
    pub announces: bool,
    /// Where it stopped, if it was suspended.
    pub suspended: Option<Box<Execution>>,
    /// It ran to its end, or was overtaken by another query.
    pub done: bool,
}

/// What the caller of a session acts by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionStanding {
    /// Bytes to send.
    pub output_bytes: usize,
    /// Messages are taken.
    pub takes_input: bool,
    /// Its output waits for advisory locks to be given back.
    pub is_held: bool,
    /// How far the connection is.
    pub phase: Phase,
}

/// A client's session.
#[derive(Debug)]
pub struct Session {
    /// Its number.
    pub id: SessionId,
    /// The process id that stands for it.
    pub process: i32,
    /// What a CancelRequest has to know.
    pub secret: i32,
    /// How far the connection is.
    pub phase: Phase,
    /// There is no place for it: it is told so, or may cancel.
    pub is_refused: bool,
    /// What is to be sent.
    pub output: BytesMut,
    /// Whether something in it must not wait for what is under way.
    pub is_due: bool,
    /// Whether the session is among those that the caller is to look at.
    pub listed: bool,
    /// Who logged in. What it may do depends on [`Session::current_user`].
    pub user: String,
    /// Its number, once it is let in: that of the bootstrap superuser under whatever name. Another role may have the name by now.
    pub role: u32,
    /// How it is let in.
    pub login: Login,
    /// The database it says it wants.
    pub database: String,
    /// Its number; of a client that has not been let in yet, the first one's.
    pub database_id: DatabaseId,
    /// Its parameters.
    pub settings: SessionSettings,
    /// The life of the site that its requests are for.
    pub life: Incarnation,
    /// How many requests that life was asked.
    pub asked: u64,
    /// How many queries it has had the query processor begin.
    pub queries: u64,
    /// Its transaction is gone with a life of the site, and its client has not been told yet.
    pub lost: bool,
    /// Where it is with transactions.
    pub block: Block,
    /// What the block may do.
    pub mode: AccessMode,
    /// How it is kept apart from others.
    pub level: TransactionLevel,
    /// Whether the action driver's transaction can do nothing but read.
    pub only_reads: bool,
    /// Whether the action driver has a transaction open for it.
    pub open: bool,
    /// When the block began: microseconds since 1970.
    pub began_micros: i64,
    /// Whether the implicit transaction is to be rolled back.
    pub implicit_failed: bool,
    /// The transaction's schema changes.
    pub overlay: Overlay,
    /// The path that was worked out last, while the transaction had changed nothing.
    pub path: RefCell<Option<KnownPath>>,
    /// Its parameters as they were told last.
    pub told_settings: RefCell<Option<ToldSettings>>,
    /// It has asked this life of the site to make its temporary schema.
    pub has_temporary: bool,
    /// The transaction may have written to temporary tables.
    pub wrote_temporary: bool,
    /// What an implicit transaction does to temporary tables is under way, before it commits.
    pub at_commit: Option<SchemaChange>,
    /// Savepoints, each with the schema changes and the settings before it.
    pub savepoints: Vec<(String, Overlay, SessionSettings)>,
    /// The channels that it listens on.
    pub listening: Listening,
    /// Its advisory locks.
    pub locks: SessionLocks,
    /// Prepared statements; `None`: of an empty text.
    pub statements: FxHashMap<String, Option<Arc<Prepared>>>,
    /// The variables that QUEL ranges over.
    pub ranges: Ranges,
    /// Where the parts of the SQL under way stand in QUEL; `None`: it was SQL.
    pub places: Option<Arc<QuelOrigin>>,
    /// The statement under way as it was written, if it runs as its outline.
    pub outlined: Option<Arc<str>>,
    /// Portals.
    pub portals: FxHashMap<String, Portal>,
    /// Cursors that DECLARE has made.
    pub cursors: FxHashMap<String, SqlCursor>,
    /// Routines under way, each called by the one before it.
    pub routines: Routines<Box<Execution>>,
    /// The portal whose query the query processor holds.
    pub query_portal: Option<String>,
    /// How often the query processor was told to stop and has not said that it did: its other replies are late until then.
    pub stops: u32,
    /// What the client is in the middle of saying.
    pub cycle: Cycle,
    /// What is under way.
    pub work: Work,
    /// An extended message failed: everything up to Sync is passed over.
    pub skip_to_sync: bool,
    /// The statement under way is to be cancelled, and why.
    pub cancelled: Option<CancelReason>,
    /// When the statement under way, or the startup, takes too long, by the boot clock.
    pub deadline: Option<u64>,
    /// How often an error of the statement under way was doubted.
    pub doubts: u32,
    /// What of it is not counted yet.
    pub uncounted: Uncounted,
}

impl Session {
    /// A session that has just connected.
    pub fn new(id: SessionId, peer: Peer, life: Incarnation, process: i32, secret: i32) -> Session {
        Session {
            id,
            process,
            secret,
            phase: Phase::Startup,
            is_refused: false,
            output: BytesMut::new(),
            is_due: false,
            listed: false,
            user: String::new(),
            role: 0,
            login: Login::new(peer),
            database: String::new(),
            database_id: DatabaseId::FIRST,
            settings: SessionSettings::default(),
            life,
            asked: 0,
            lost: false,
            block: Block::None,
            mode: AccessMode::ReadWrite,
            level: TransactionLevel::default(),
            only_reads: false,
            queries: 0,
            open: false,
            began_micros: 0,
            implicit_failed: false,
            overlay: Overlay::default(),
            path: RefCell::default(),
            told_settings: RefCell::default(),
            has_temporary: false,
            wrote_temporary: false,
            at_commit: None,
            savepoints: Vec::new(),
            listening: Listening::default(),
            locks: SessionLocks::default(),
            statements: FxHashMap::default(),
            ranges: Ranges::default(),
            places: None,
            outlined: None,
            portals: FxHashMap::default(),
            cursors: FxHashMap::default(),
            routines: Routines::default(),
            query_portal: None,
            stops: 0,
            cycle: Cycle::Idle,
            work: Work::Idle,
            skip_to_sync: false,
            cancelled: None,
            deadline: None,
            doubts: 0,
            uncounted: Uncounted::default(),
        }
    }

    /// What its caller acts by.
    pub fn standing(&self) -> SessionStanding {
        SessionStanding {
            output_bytes: self.output.len(),
            takes_input: self.takes_input(),
            is_held: self.locks.holds_client(),
            phase: self.phase,
        }
    }

    /// Whether messages of the client are taken now.
    pub fn takes_input(&self) -> bool {
        match &self.work {
            Work::Idle => !self.login.waits() && !self.locks.holds_client(),
            Work::Statement(execution) => execution.step == Step::CopyData,
            _ => false,
        }
    }

    /// Whether it has waited for its client to take its output, and goes on now.
    pub fn has_room(&self) -> bool {
        let waits = match &self.work {
            Work::Statement(execution) => execution.step == Step::Room,
            _ => self.has_notifications(),
        };
        waits && self.output.len() <= OUTPUT_BYTES_HIGH / 2
    }

    /// Whether nothing of it is under way, late answers included, and nothing can come for it.
    pub fn is_at_rest(&self) -> bool {
        let is_kept = self.listening.is_on() || self.locks.is_on();
        self.phase == Phase::Ready && self.takes_input() && self.stops == 0 && !is_kept
    }

    /// Whether its output waits, to leave with what is under way: each packet costs both ends more than its bytes. As PostgreSQL does, nothing is
    /// held back that Sync or Flush ends, that is a notice, or that is much. All is, while advisory locks are given back that it may be about.
    pub fn holds_output(&self) -> bool {
        let is_little = !self.takes_input() && !self.is_due && self.output.len() < OUTPUT_HELD_MAX;
        self.phase == Phase::Ready && (self.locks.holds_client() || is_little)
    }

    /// The status that ReadyForQuery shows.
    pub fn status(&self) -> u8 {
        match self.block {
            Block::None | Block::Implicit => b'I',
            Block::Open => b'T',
            Block::Failed => b'E',
        }
    }
}

impl Execution {
    /// A statement with nothing done yet.
    pub fn new(prepared: Arc<Prepared>) -> Box<Execution> {
        Box::new(Execution {
            prepared,
            parameters: Vec::new(),
            constants: None,
            arguments: None,
            formats: Formats::Text,
            portal: None,
            rows_max: 0,
            announced: false,
            told: None,
            sent: 0,
            affected: 0,
            recompilations: 0,
            began: false,
            was_suspended: false,
            begins_again: false,
            asleep: Vec::new(),
            calls_done: 0,
            explained: Vec::new(),
            step: Step::New,
            sink: Sink::Rows,
            change: None,
            fills: None,
            cursor: None,
            supply: Supply::default(),
            parts: None,
            copy: None,
            buffered: VecDeque::new(),
            exhausted: false,
            doubt: None,
        })
    }
}
