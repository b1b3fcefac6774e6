//! What goes wrong, as the client is told: a SQLSTATE, PostgreSQL's message, and more where it helps.
//!
//! Invariant: every failure of a request becomes exactly one of these; "did not commit" is only said when it is certain.

use messages::namespace;
use messages::schema::Catalog;
use messages::session::{Failure, StatementFailure};
use messages::{ChangedRows, Conflict, ConflictKind, Item, ItemName, TableId, TransactionId};
use sql_syntax::TooDeep;
use std::borrow::Cow;
use values::ValueError;

/// Error codes, some of them by shorter names.
pub mod sqlstate {
    pub use ::sqlstate::*;
    pub use ::sqlstate::{
        ACTIVE_SQL_TRANSACTION as ACTIVE_TRANSACTION, BAD_COPY_FILE_FORMAT as BAD_COPY,
        CANT_CHANGE_RUNTIME_PARAM as CANNOT_CHANGE_PARAMETER, DEADLOCK_DETECTED as DEADLOCK,
        DEPENDENT_OBJECTS_STILL_EXIST as DEPENDENT_OBJECTS, DUPLICATE_CURSOR as DUPLICATE_PORTAL,
        DUPLICATE_PREPARED_STATEMENT as DUPLICATE_STATEMENT, IN_FAILED_SQL_TRANSACTION as FAILED_TRANSACTION,
        INDETERMINATE_DATATYPE as INDETERMINATE_TYPE, INVALID_AUTHORIZATION_SPECIFICATION as INVALID_AUTHORIZATION,
        INVALID_CURSOR_NAME as UNDEFINED_PORTAL, INVALID_GRANT_OPERATION as INVALID_GRANT,
        INVALID_SCHEMA_NAME as UNDEFINED_SCHEMA, INVALID_SQL_STATEMENT_NAME as UNDEFINED_STATEMENT,
        NO_ACTIVE_SQL_TRANSACTION as NO_ACTIVE_TRANSACTION, OBJECT_NOT_IN_PREREQUISITE_STATE as OBJECT_NOT_IN_STATE,
        READ_ONLY_SQL_TRANSACTION as READ_ONLY_TRANSACTION, TRANSACTION_RESOLUTION_UNKNOWN as OUTCOME_UNKNOWN,
    };
}

/// An error as an ErrorResponse carries it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SqlError {
    /// The SQLSTATE.
    pub sqlstate: Cow<'static, str>,
    /// The primary message.
    pub message: String,
    /// More, in a sentence.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Where in the statement, in characters from 1.
    pub position: Option<usize>,
    /// The constraint that was hurt.
    pub constraint: Option<String>,
    /// The table whose constraint it is.
    pub table: Option<String>,
    /// The schema of that table, if it is not `public`.
    pub schema: Option<String>,
    /// The function of PostgreSQL that reports such an error, where drivers look at it.
    pub routine: Option<&'static str>,
    /// Where it came about in routines.
    pub context: Option<String>,
    /// The column that it is about.
    pub column: Option<String>,
    /// The type that it is about.
    pub data_type: Option<String>,
}

/// What every fallible step of a statement returns; boxed, because an error is rare and large.
pub type Result<T> = std::result::Result<T, Box<SqlError>>;

impl SqlError {
    /// An error with this code and message.
    #[cold]
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> Box<SqlError> {
        Box::new(SqlError {
            sqlstate: Cow::Borrowed(sqlstate),
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            constraint: None,
            table: None,
            schema: None,
            routine: None,
            context: None,
            column: None,
            data_type: None,
        })
    }

    /// A feature that is refused, 0A000.
    #[cold]
    pub fn unsupported(feature: impl std::fmt::Display) -> Box<SqlError> {
        SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, format!("{feature} is not supported"))
    }

    /// What is to be dropped is needed by others, 2BP01. `dependents`: each in a line.
    #[cold]
    pub fn needed(what: impl std::fmt::Display, dependents: impl Into<String>) -> Box<SqlError> {
        let message = format!("cannot drop {what} because other objects depend on it");
        SqlError::new(sqlstate::DEPENDENT_OBJECTS, message)
            .with_detail(dependents)
            .with_hint("Use DROP ... CASCADE to drop the dependent objects too.")
    }

    /// A prepared statement has other columns by now, 0A000. Drivers know it by the function of PostgreSQL that says so, and prepare it again.
    #[cold]
    pub fn plan_changed() -> Box<SqlError> {
        let mut error = SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, "cached plan must not change result type");
        error.routine = Some("RevalidateCachedQuery");
        error
    }

    /// A syntax error, 42601.
    #[cold]
    pub fn syntax(near: impl std::fmt::Display) -> Box<SqlError> {
        SqlError::new(sqlstate::SYNTAX_ERROR, format!("syntax error at or near \"{near}\""))
    }

    /// The same error with a DETAIL line.
    pub fn with_detail(mut self: Box<Self>, detail: impl Into<String>) -> Box<Self> {
        self.detail = Some(detail.into());
        self
    }

    /// The same error with a HINT line.
    pub fn with_hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.hint = Some(hint.into());
        self
    }

    /// The same error at this character of the statement, unless it knows its place already.
    pub fn at(mut self: Box<Self>, position: Option<usize>) -> Box<Self> {
        self.position = self.position.or(position);
        self
    }

    /// What a failed request means for the client; the catalog names tables and decodes keys.
    pub fn of_failure(failure: Failure, catalog: &Catalog) -> Box<SqlError> {
        match failure {
            Failure::Conflict { conflict } => of_conflict(&conflict, catalog),
            Failure::Statement(wrong) => {
                let StatementFailure { sqlstate, message, detail, hint, constraint } = *wrong;
                let hint = hint.or_else(|| (message == TooDeep::MESSAGE).then(|| TooDeep::HINT.to_string()));
                let table = constraint.as_ref().and_then(|name| Some(catalog.index_names.get(name)?.0.clone()));
                let schema = table.as_deref().and_then(|table| catalog.namespace_numbered(namespace::of(table)));
                Box::new(SqlError {
                    sqlstate: Cow::Owned(sqlstate),
                    message,
                    detail,
                    hint,
                    position: None,
                    table,
                    schema: schema.map(|schema| schema.name.clone()),
                    constraint,
                    routine: None,
                    context: None,
                    column: None,
                    data_type: None,
                })
            }
            Failure::SchemaChanged { key } => {
                SqlError::new(sqlstate::SERIALIZATION_FAILURE, "could not serialize access due to concurrent update")
                    .with_detail(format!(
                        "The definition of {} changed while the statement was compiled.",
                        catalog_name(key.as_bytes())
                    ))
                    .with_hint("Nothing of the statement remains: run it again.")
            }
            Failure::Cancelled => SqlError::new(sqlstate::QUERY_CANCELED, "canceling statement due to user request"),
            Failure::Unknown { transaction, changed } => of_unknown(transaction, changed, catalog),
            Failure::Unavailable { reason } => {
                SqlError::new(sqlstate::CANNOT_CONNECT_NOW, format!("this site cannot serve now: {reason}"))
            }
        }
    }
}

fn of_conflict(conflict: &Conflict, catalog: &Catalog) -> Box<SqlError> {
    let mut detail = conflict.kind.describe().to_string();
    if let Some(first) = detail.get(..1).map(str::to_uppercase) {
        detail.replace_range(..1, &first);
    }
    match &conflict.item {
        Some(item) => detail.push_str(&describe_item(item, catalog)),
        None if conflict.kind == ConflictKind::EpochChanged => detail.push_str("; no row was in conflict"),
        None => {}
    }
    if let Some(other) = conflict.other {
        detail.push_str(&format!(" (transaction {other})"));
    }
    detail.push('.');
    match conflict.kind {
        ConflictKind::Deadlock => SqlError::new(sqlstate::DEADLOCK, "deadlock detected"),
        ConflictKind::Cancelled => SqlError::new(sqlstate::QUERY_CANCELED, "canceling statement due to user request"),
        ConflictKind::SnapshotGivenUp => SqlError::new(sqlstate::SNAPSHOT_TOO_OLD, "snapshot too old"),
        _ => SqlError::new(sqlstate::SERIALIZATION_FAILURE, "could not serialize access due to concurrent update"),
    }
    .with_detail(detail)
    .with_hint(conflict.kind.advice())
}

/// The outcome of a commit is not known: what it may have changed, and how to find out.
fn of_unknown(transaction: TransactionId, changed: Option<ChangedRows>, catalog: &Catalog) -> Box<SqlError> {
    if transaction == TransactionId::ZERO {
        return SqlError::new(
            sqlstate::OUTCOME_UNKNOWN,
            "the site started again during the commit: the transaction may or may not have committed",
        )
        .with_detail("Which rows it was to change is not known here any more.")
        .with_hint(UNKNOWN_ADVICE);
    }
    let error = SqlError::new(
        sqlstate::OUTCOME_UNKNOWN,
        format!("the outcome of transaction {transaction} is not known: it may or may not have committed"),
    );
    let Some(ChangedRows { first, others }) = changed else {
        return error
            .with_detail("The commit was under way when it was waited for no longer.")
            .with_hint(UNKNOWN_ADVICE);
    };
    let rows = match others {
        0 => String::new(),
        1 => ", and 1 other item".to_string(),
        others => format!(", and {others} other items"),
    };
    let detail = format!(
        "The commit was under way when it was waited for no longer. It changes a row{}{rows}.",
        describe_item(&first, catalog)
    );
    error.with_detail(detail).with_hint(UNKNOWN_ADVICE)
}

/// What to do when the outcome of a commit is not known.
pub const UNKNOWN_ADVICE: &str = "Read what the transaction was to change, and run it again only if it has not committed. It is \
                                  decided without you, at the latest when this site serves again.";

/// ` in table "t", key (a, b)=(1, x)`, as far as the catalog knows the storage.
fn describe_item(item: &Item, catalog: &Catalog) -> String {
    if item.table == TableId::CATALOG {
        return format!(" in the catalog: {}", catalog_name(item.key.as_bytes()));
    }
    let ItemName { table, index, key } = ItemName::of(item, catalog);
    let Some(table) = table else { return format!(" in {}", item.table) };
    let key = key.map_or_else(String::new, |key| format!(", key {key}"));
    match index {
        Some(index) => format!(" in index \"{index}\" of table \"{table}\"{key}"),
        None => format!(" in table \"{table}\"{key}"),
    }
}

/// What a catalog key speaks of.
fn catalog_name(key: &[u8]) -> String {
    match key.split_first() {
        Some((b'n', name)) => format!("\"{}\"", String::from_utf8_lossy(name)),
        Some((b'p', name)) => format!("procedure \"{}\"", String::from_utf8_lossy(name)),
        Some((b'r', name)) => format!("role \"{}\"", String::from_utf8_lossy(name)),
        _ => "the object counter".to_string(),
    }
}

impl From<TooDeep> for Box<SqlError> {
    #[cold]
    fn from(_: TooDeep) -> Box<SqlError> {
        SqlError::new(sqlstate::STATEMENT_TOO_COMPLEX, TooDeep::MESSAGE).with_hint(TooDeep::HINT)
    }
}

impl From<ValueError> for Box<SqlError> {
    #[cold]
    fn from(error: ValueError) -> Box<SqlError> {
        let mut converted = SqlError::new(error.sqlstate, error.message);
        converted.detail = error.detail.map(String::from);
        converted
    }
}
