//! Bounds of the user interface: what a client may send, and what is kept for it.
//!
//! Invariant: nothing that a client sends makes the server hold more than these allow, before the error is sent.

use messages::limits::{QUERY_BATCH_ROWS, SECOND};

/// Longest message of a client, in bytes, its length word included.
pub const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// A message of a client is long beyond this, in bytes: taking it up is not for whoever serves short ones.
pub const LONG_MESSAGE_BYTES: usize = 8 << 10;
/// Longest startup message, in bytes (PostgreSQL's `MAX_STARTUP_PACKET_LENGTH`).
pub const STARTUP_BYTES_MAX: usize = 10_000;
/// Longest message of a client that has not been let in yet, in bytes, its length word included.
pub const MESSAGE_BYTES_MAX_UNKNOWN: usize = authentication::limits::MESSAGE_BYTES_MAX;
/// Longest SQL text, in bytes. A token in memory takes some 100 bytes, so this bounds a parse to a few hundred MiB at worst.
pub const SQL_BYTES_MAX: usize = 4 << 20;
/// Places of a statement at which policies may hold a table back: policies read tables that have policies.
pub const GUARDS_MAX: usize = 256;
/// Depth of an expression that compiles; AND and OR chains count once. The query processor follows deeper ones.
pub const EXPRESSION_DEPTH_MAX: usize = 200;
/// Nodes that compiling an expression may visit for each byte of the statement. Some constructs (BETWEEN, a CASE with an operand) visit
/// an operand more than once, and nesting them multiplies that.
pub const NODES_PER_BYTE_MAX: usize = 16;
/// Nodes that compiling may visit however short the statement is.
pub const NODES_MIN: usize = 4_096;
/// Depth of a computed value that can be a key's bound: it may be copied for each value of an IN list.
pub const BOUND_DEPTH_MAX: usize = 6;
/// Steps in finding out whether a condition implies the predicate of an index.
pub const IMPLICATION_STEPS_MAX: usize = 10_000;
/// Domains over each other.
pub const DOMAINS_WITHIN_MAX: usize = 32;
/// Bytes of the texts of a domain, those of the domains that it is over included: each column of it carries them.
pub const DOMAIN_BYTES_MAX: usize = 64 << 10;
/// Indexes of a table.
pub const INDEXES_MAX: usize = 256;
/// Parameters of a statement: the protocol counts them in 16 bits.
pub const PARAMETERS_MAX: usize = u16::MAX as usize;
/// Parameters of a procedure, as in PostgreSQL.
pub const PROCEDURE_PARAMETERS_MAX: usize = 100;
/// Named prepared statements of one session.
pub const STATEMENTS_MAX: usize = 10_000;
/// Bytes of the rows that all cursors of a session keep.
pub const CURSOR_BYTES_MAX: usize = 64 << 20;
/// Bytes of the rows that the cursors of all sessions of a user interface keep together.
pub const CURSORS_BYTES_MAX: usize = 512 << 20;
/// Channels that one session listens on.
pub const CHANNELS_MAX: usize = 10_000;
/// Bytes of notifications kept for a session whose client is in a transaction or does not take its output, their texts shared with others.
pub const NOTIFICATIONS_BYTES_MAX: usize = 16 << 20;
/// Portals of one session.
pub const PORTALS_MAX: usize = 1_000;
/// Compiled statements kept for all sessions of one user interface; when there are more, all are forgotten.
pub const CACHED_STATEMENTS_MAX: usize = 5_000;
/// Longest SQL text that is kept compiled for other sessions, in bytes.
pub const CACHED_SQL_BYTES_MAX: usize = 64 << 10;
/// Longest SQL text that is compiled as its outline, in bytes.
pub const OUTLINE_BYTES_MAX: usize = 8 << 10;
/// Constants that an outline leaves out.
pub const OUTLINE_CONSTANTS_MAX: usize = 100;
/// Outlines of which it is known that they have come before.
pub const OUTLINE_PLACES: usize = 2_048;
/// How often a statement is compiled again because the catalog moved under it.
pub const RECOMPILATIONS_MAX: u32 = 8;
/// How often the error of a statement that cannot be compiled is doubted.
pub const DOUBTS_MAX: u32 = 4;
/// How long a statement waits for the catalog to show a change that has committed, in nanoseconds.
pub const CATALOG_PATIENCE: u64 = SECOND;
/// How often sessions are counted by state.
pub const SESSIONS_COUNTED: u64 = SECOND;
/// How long a connection may take until it has said who it is, in nanoseconds (PostgreSQL's `authentication_timeout`): silent ones
/// would take the places of clients.
pub const STARTUP_PATIENCE: u64 = 60 * SECOND;
/// How long a client may take to take what it was told last, in nanoseconds: then its connection ends.
pub const FAREWELL_PATIENCE: u64 = 60 * SECOND;
/// Output of a statement under way is sent once it is so many bytes: PostgreSQL's buffer (`PQ_SEND_BUFFER_SIZE`).
pub const OUTPUT_HELD_MAX: usize = 8 << 10;
/// Bytes of output above which no more rows of a query are asked for, and no more notifications told.
pub const OUTPUT_BYTES_HIGH: usize = 1 << 20;
/// Rows handed to the action driver at a time by COPY and INSERT ... SELECT.
pub const SUPPLIED_ROWS: usize = QUERY_BATCH_ROWS;
/// Bytes of rows handed to the action driver at a time.
pub const SUPPLIED_BYTES: usize = 1 << 20;
/// Rows of a query kept while it feeds a change of the table that it reads.
pub const KEPT_ROWS_MAX: usize = 1_000_000;
/// Bytes of rows that a statement keeps: twice what a transaction may write.
pub const KEPT_BYTES_MAX: usize = 2 * messages::limits::TRANSACTION_BYTES_MAX;
/// Queries of the WITH of a statement that changes rows there: each is compiled with those before it.
pub const WITH_QUERIES_MAX: usize = 100;
/// Routines in PL/pgSQL that call each other.
pub const ROUTINES_MAX: usize = 32;
/// Functions in PL/pgSQL that a session keeps ready to run.
pub const KNOWN_FUNCTIONS_MAX: usize = 32;
/// What a routine may do before the session lets others have their turn: notices and statements that no server has to answer.
pub const ROUTINE_STEPS_AT_ONCE: usize = 500;
/// Rows and stages that a statement with triggers passes over before the session lets others have their turn.
pub const FIRING_STEPS_AT_ONCE: usize = 4_000;
/// How often a routine that is a transaction by itself is run again because it has lost a conflict.
pub const ROUTINE_TRIES_MAX: u32 = 10;
/// Longest line of COPY data, in bytes.
pub const COPY_LINE_BYTES_MAX: usize = MESSAGE_BYTES_MAX;
/// Longest identifier, in bytes (PostgreSQL's `NAMEDATALEN - 1`); longer ones are cut.
pub const NAME_BYTES_MAX: usize = 63;
// A name of QUEL's is the same in SQL.
const _: () = assert!(NAME_BYTES_MAX == quel::limits::NAME_BYTES_MAX);
/// Columns of a table.
pub const COLUMNS_MAX: usize = 1_600;
/// Columns of a key or index.
pub const KEY_COLUMNS_MAX: usize = 32;
/// The first number given to a table, an index or a storage.
pub const FIRST_OBJECT: u32 = messages::TableId::FIRST_CREATED.0;

const _: () = assert!(SQL_BYTES_MAX < MESSAGE_BYTES_MAX && STARTUP_BYTES_MAX < MESSAGE_BYTES_MAX);
const _: () = assert!(EXPRESSION_DEPTH_MAX <= sql_syntax::limits::DEPTH_MAX);

/// Claims on one advisory lock: each takes some 30 bytes of its row, which is written anew with each change.
pub const ADVISORY_CLAIMS_MAX: usize = 10_000;
/// Advisory locks of one session.
pub const ADVISORY_LOCKS_MAX: usize = 10_000;
/// Advisory locks that one transaction gives back.
pub const ADVISORY_GIVEN_BACK: usize = 64;
/// How long a client waits at most for its advisory locks to be given back before it is told that its transaction is over, in nanoseconds.
pub const GIVING_BACK_PATIENCE: u64 = 2 * SECOND;
/// How long a session waits for an advisory lock until it looks whether it is in a deadlock, in nanoseconds, and then again (PostgreSQL's `deadlock_timeout`).
pub const DEADLOCK_PERIOD: u64 = SECOND;
/// How long after a failure of the site advisory locks are tried to be given back again, in nanoseconds.
pub const GIVING_BACK_PERIOD: u64 = 200 * messages::limits::MILLISECOND;
/// A transaction of advisory locks that has lost so many conflicts is tried again only after a while, which doubles each time.
pub const ADVISORY_TRIES_AT_ONCE: u32 = 2;
/// The most that while becomes, in nanoseconds.
pub const ADVISORY_DELAY_MAX: u64 = 64 * messages::limits::MILLISECOND;
/// Bytes of a text in what is noted of a session, at most.
pub const EVENT_TEXT_BYTES_MAX: usize = 4096;

/// Connections to a site that are kept for superusers (`superuser_reserved_connections`).
pub const RESERVED_CONNECTIONS: usize = 3;
