//! User interface to action driver: sessions, their transactions and the programs they run.
//!
//! A session has at most one request under way. Every request that does not say otherwise is answered by exactly one reply
//! with the same `session`. All of it stays within a site, so nothing here is lost or repeated.

use crate::conflict::Conflict;
use crate::item::{ChangedRows, KeyRange, Row};
use crate::key::Key;
use crate::program::Program;
use crate::schema::{CatalogVersions, TableSchema, TemporaryOwner};
use identifiers::{Incarnation, TransactionId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use values::{Value, Zone};

/// What a transaction may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessMode {
    /// Reads and writes.
    ReadWrite,
    /// Reads one snapshot: no message to other sites, no lock, no abort.
    ReadOnly,
}

/// How a transaction that writes is kept apart from others (PostgreSQL's manual, 13.2). One that reads only reads one snapshot, whatever it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Isolation {
    /// As if all transactions were executed one after the other, in an order that agrees with real time.
    #[default]
    Serializable,
    /// Statements that change nothing read one snapshot, which the first statement takes. What is changed, and what it is changed by, has not been changed by
    /// others since.
    RepeatableRead,
    /// Each statement that changes nothing reads a snapshot of its own.
    ReadCommitted,
}

/// User interface (or query processor) to action driver.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum SessionRequest {
    /// `BEGIN`: a transaction of several requests. Answered `Begun`.
    Begin {
        /// What it may do.
        mode: AccessMode,
        /// How it is kept apart from others, if it may write.
        isolation: Isolation,
        /// When it began: microseconds since 1970.
        time_micros: i64,
    },
    /// Runs a program: within the session's transaction, or, when there is none, as a transaction of its own, committed before the
    /// answer and retried inside when it loses a conflict. Answered `Executed` or `Failed`.
    Execute {
        /// What to run.
        program: Arc<Program>,
        /// Values of its parameters, of the declared types.
        parameters: Vec<Value>,
        /// Rows for `InsertInput::Supplied` and `AccessPath::Supplied`.
        rows: Vec<Vec<Value>>,
        /// When the statement began: microseconds since 1970. `now()` when the program is a transaction of its own.
        time_micros: i64,
        /// The session's time zone.
        zone: Zone,
    },
    /// A batch of rows for the query processor, read within the session's transaction, which `Begin` must have opened. Answered
    /// `Scanned` or `Failed`.
    Scan {
        /// What to read, one after the other: keys of the table, or of the index that leads to it.
        ranges: Vec<KeyRange>,
        /// That index, if it is one.
        through: Option<IndexPath>,
        /// From the highest key of each range to the lowest.
        reverse: bool,
        /// About so many rows at most, 1 at least.
        limit: u32,
        /// The catalog rows that the query was planned with (first scan of each table).
        relies_on: CatalogVersions,
        /// A number of the query, if it is that of a statement that changes nothing: below the strict level all its batches are read at one snapshot.
        /// `None`: the statement changes something by what is read.
        query: Option<u64>,
    },
    /// `COMMIT`. Answered `Committed` or `Failed`; either way the transaction is over.
    Commit,
    /// `ROLLBACK`. Answered `RolledBack`, also when there is no transaction.
    Rollback,
    /// `SAVEPOINT`: remembers the private writes. Answered `Marked`.
    Savepoint {
        /// Its name.
        name: String,
    },
    /// `ROLLBACK TO`: drops the private writes since; what was read and locked stays. Answered `Marked`, or `Failed` with 3B001.
    RollbackTo {
        /// Its name.
        name: String,
    },
    /// `RELEASE`. Answered `Marked`, or `Failed` with 3B001.
    Release {
        /// Its name.
        name: String,
    },
    /// What has become of the session's last request to an earlier life of the site, which was not answered? Answered as that would have been, if it has
    /// committed, once this life serves; `Undone`; or `Failed`, when nobody can know, or does not for long.
    Resume {
        /// Of which life it was asked.
        life: Incarnation,
        /// How many requests of the session that life was asked, this one included; `Cancel`, `Close`, `ForsakeTemporary` and `Resume` do not count.
        asked: u64,
    },
    /// Ends what the session waits for with SQLSTATE 57014, where it still can. Not answered itself.
    Cancel,
    /// `DISCARD SEQUENCES`: forgets what the session was given of sequences. Not answered.
    ForgetSequences,
    /// The client has gone: roll back, forget the session. Not answered.
    Close,
    /// After `Close`: the temporary schema of this owner, if it is there or comes yet, is nobody's. Not answered. If it is lost, so is the driver, and with
    /// it the life that the schema belongs to; twice is once.
    ForsakeTemporary {
        /// Whose it was: a session of this life.
        owner: TemporaryOwner,
    },
}

/// An index that leads to rows of its table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IndexPath {
    /// The table.
    pub table: Arc<TableSchema>,
    /// Which of its indexes.
    pub index: usize,
}

/// Action driver to user interface or query processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SessionReply {
    /// The transaction is open.
    Begun,
    /// The program has run (and committed, when it was a transaction of its own).
    Executed {
        /// Rows returned.
        rows: Vec<Vec<Value>>,
        /// Rows inserted, updated, deleted or returned by the last action.
        affected: u64,
    },
    /// A batch of rows in the order of the keys by which they were found.
    Scanned {
        /// The table's key and the encoded row.
        rows: Vec<(Key, Row)>,
        /// What is still to be read; nothing at the end.
        left: Vec<KeyRange>,
    },
    /// Committed: durable as the receipt says, visible at every site.
    Committed {
        /// What made it durable.
        receipt: CommitReceipt,
    },
    /// Rolled back.
    RolledBack,
    /// A savepoint was set, released or returned to.
    Marked,
    /// To `Resume`: nothing of the request is anywhere, nor can it ever be.
    Undone,
    /// Did not succeed. Within an explicit transaction, that transaction is aborted unless `failure` leaves it open.
    Failed(Failure),
}

/// What made a commit durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommitReceipt {
    /// Logged in the memory of so many caught-up sites.
    Memory {
        /// How many.
        copies: u16,
    },
    /// On the home site's disk.
    Disk,
    /// Nothing was written.
    Nothing,
}

/// What is wrong with a statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatementFailure {
    /// SQLSTATE.
    pub sqlstate: String,
    /// What is wrong.
    pub message: String,
    /// More, in a sentence.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Name of the constraint that was hurt.
    pub constraint: Option<String>,
}

/// Why a request did not succeed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Failure {
    /// Lost a conflict (40001, or 40P01 for a deadlock). Nothing of the transaction remains anywhere.
    Conflict {
        /// What kind, on what.
        conflict: Conflict,
    },
    /// The statement is wrong for this data or this state.
    Statement(Box<StatementFailure>),
    /// The program relied on a catalog row that has changed: compile it again.
    SchemaChanged {
        /// The catalog row.
        key: Key,
    },
    /// Cancelled, certainly not committed (57014).
    Cancelled,
    /// The commit was under way when the session was cancelled or the site lost its place: it may or may not commit (08007).
    Unknown {
        /// Which transaction to ask for; `TransactionId::ZERO` when its name is lost, too.
        transaction: TransactionId,
        /// What it was to change, as far as that is known.
        changed: Option<ChangedRows>,
    },
    /// The site may not serve now: no lease, sealed, or not a member (57P03).
    Unavailable {
        /// Why, in words.
        reason: String,
    },
}
