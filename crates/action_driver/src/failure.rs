//! What a client is told when a statement fails, in PostgreSQL's words.

use messages::limits::KEY_BYTES_MAX;
use messages::namespace;
use messages::schema::TableSchema;
use messages::session::{Failure, StatementFailure};
use values::{Type, Value, ValueError, Zone};

/// A statement that is wrong for this data or this state.
#[cold]
pub fn statement(sqlstate: &str, message: impl Into<String>) -> Failure {
    wrong(StatementFailure {
        sqlstate: sqlstate.into(),
        message: message.into(),
        detail: None,
        hint: None,
        constraint: None,
    })
}

/// As [`statement`], with a sentence more.
#[cold]
pub fn statement_with_detail(sqlstate: &str, message: impl Into<String>, detail: impl Into<String>) -> Failure {
    wrong(StatementFailure {
        sqlstate: sqlstate.into(),
        message: message.into(),
        detail: Some(detail.into()),
        hint: None,
        constraint: None,
    })
}

/// As [`statement`], with what to do about it.
#[cold]
pub fn statement_with_hint(sqlstate: &str, message: impl Into<String>, hint: impl Into<String>) -> Failure {
    wrong(StatementFailure {
        sqlstate: sqlstate.into(),
        message: message.into(),
        detail: None,
        hint: Some(hint.into()),
        constraint: None,
    })
}

/// A value that could not be computed or decoded.
#[cold]
pub fn of_value(error: ValueError) -> Failure {
    wrong(StatementFailure {
        sqlstate: error.sqlstate.into(),
        message: error.message,
        detail: error.detail.map(String::from),
        hint: None,
        constraint: None,
    })
}

/// 23505: a row with this key exists. `columns` are positions in the table, `values` the new row.
#[cold]
pub fn duplicate_key(constraint: &str, key: impl Iterator<Item = (String, Type, Value)>, zone: &Zone) -> Failure {
    let (names, texts): (Vec<String>, Vec<String>) =
        key.map(|(name, own, value)| (name, text_as(own, &value, zone))).unzip();
    wrong(StatementFailure {
        sqlstate: sqlstate::UNIQUE_VIOLATION.into(),
        message: format!("duplicate key value violates unique constraint \"{constraint}\""),
        detail: Some(format!("Key ({})=({}) already exists.", names.join(", "), texts.join(", "))),
        hint: None,
        constraint: Some(constraint.into()),
    })
}

/// 55P03: another transaction has locked a row, or some of a range of rows, that is not waited for.
#[cold]
pub fn row_is_locked(table: &TableSchema) -> Failure {
    let message = format!("could not obtain lock on row in relation \"{}\"", namespace::bare(&table.name));
    statement(sqlstate::LOCK_NOT_AVAILABLE, message)
}

/// 55P03: another transaction has locked a table that is not waited for.
#[cold]
pub fn table_is_locked(table: &TableSchema) -> Failure {
    let message = format!("could not obtain lock on relation \"{}\"", namespace::bare(&table.name));
    statement(sqlstate::LOCK_NOT_AVAILABLE, message)
}

/// 21000: a subquery that is to have one value has several.
#[cold]
pub fn several_values() -> Failure {
    statement(sqlstate::CARDINALITY_VIOLATION, "more than one row returned by a subquery used as an expression")
}

/// 23502: NULL in a column that refuses it.
#[cold]
pub fn not_null(table: &TableSchema, column: usize, values: &[Value], zone: &Zone) -> Failure {
    statement_with_detail(
        sqlstate::NOT_NULL_VIOLATION,
        format!(
            "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
            table.columns[column].name, table.name
        ),
        failing_row(table, values, zone),
    )
}

/// 23503: a row refers to one that is not there.
#[cold]
pub fn foreign_key(message: String, detail: String, constraint: &str) -> Failure {
    let (detail, constraint) = (Some(detail), Some(constraint.into()));
    wrong(StatementFailure {
        sqlstate: sqlstate::FOREIGN_KEY_VIOLATION.into(),
        message,
        detail,
        hint: None,
        constraint,
    })
}

/// 23514: a row does not satisfy a condition of its table.
#[cold]
pub fn check_violated(table: &TableSchema, constraint: &str, values: &[Value], zone: &Zone) -> Failure {
    let message = format!("new row for relation \"{}\" violates check constraint \"{constraint}\"", table.name);
    wrong(StatementFailure {
        sqlstate: sqlstate::CHECK_VIOLATION.into(),
        message,
        detail: Some(failing_row(table, values, zone)),
        hint: None,
        constraint: Some(constraint.into()),
    })
}

/// 42501: a row does not satisfy what row-level security asks of it.
#[cold]
pub fn row_refused(message: &str) -> Failure {
    statement(sqlstate::INSUFFICIENT_PRIVILEGE, message)
}

/// 44000: a row that is written through a view does not satisfy what the view asks of it.
#[cold]
pub fn refused_by_view(message: &str, table: &TableSchema, values: &[Value], zone: &Zone) -> Failure {
    wrong(StatementFailure {
        sqlstate: sqlstate::WITH_CHECK_OPTION_VIOLATION.into(),
        message: message.into(),
        detail: Some(failing_row(table, values, zone)),
        hint: None,
        constraint: None,
    })
}

/// The same failure without the values of rows that its detail shows.
#[cold]
pub fn without_values(failure: Failure) -> Failure {
    match failure {
        Failure::Statement(wrong) => {
            let StatementFailure { sqlstate, message, hint, constraint, .. } = *wrong;
            Failure::Statement(StatementFailure { sqlstate, message, detail: None, hint, constraint }.into())
        }
        other => other,
    }
}

/// 23514: a row that is there does not satisfy a new condition.
#[cold]
pub fn check_violated_before(table: &TableSchema, constraint: &str) -> Failure {
    let message = format!("check constraint \"{constraint}\" of relation \"{}\" is violated by some row", table.name);
    let constraint = Some(constraint.into());
    wrong(StatementFailure {
        sqlstate: sqlstate::CHECK_VIOLATION.into(),
        message,
        detail: None,
        hint: None,
        constraint,
    })
}

/// 23502: a value that is there is NULL, which its domain is to refuse.
#[cold]
pub fn null_in_domain(table: &TableSchema, column: usize) -> Failure {
    let (name, table) = (&table.columns[column].name, namespace::bare(&table.name));
    statement(sqlstate::NOT_NULL_VIOLATION, format!("column \"{name}\" of table \"{table}\" contains null values"))
}

/// 23514: a value that is there does not satisfy a new condition of its domain.
#[cold]
pub fn violates_new_constraint(table: &TableSchema, column: usize) -> Failure {
    let (name, table) = (&table.columns[column].name, namespace::bare(&table.name));
    let message = format!("column \"{name}\" of table \"{table}\" contains values that violate the new constraint");
    statement(sqlstate::CHECK_VIOLATION, message)
}

fn failing_row(table: &TableSchema, values: &[Value], zone: &Zone) -> String {
    let texts: Vec<String> = (0..table.columns.len())
        .filter(|&column| !table.columns[column].dropped)
        .map(|column| text_of(table, column, &values[column], zone))
        .collect();
    format!("Failing row contains ({}).", texts.join(", "))
}

/// 23502: a column that is to refuse NULL holds it.
#[cold]
pub fn contains_null(table: &TableSchema, column: usize) -> Failure {
    statement(
        sqlstate::NOT_NULL_VIOLATION,
        format!("column \"{}\" of relation \"{}\" contains null values", table.columns[column].name, table.name),
    )
}

/// 54000: a key is too long to be stored.
#[cold]
pub fn key_too_long(bytes: usize) -> Failure {
    statement(
        sqlstate::PROGRAM_LIMIT_EXCEEDED,
        format!("a key of {bytes} bytes exceeds the limit of {KEY_BYTES_MAX} bytes for primary keys and index entries"),
    )
}

/// 3B001: there is no such savepoint.
#[cold]
pub fn no_savepoint(name: &str) -> Failure {
    statement(sqlstate::INVALID_SAVEPOINT_SPECIFICATION, format!("savepoint \"{name}\" does not exist"))
}

/// 54000: the transaction is too large.
#[cold]
pub fn too_large(what: impl Into<String>) -> Failure {
    statement_with_detail(
        sqlstate::PROGRAM_LIMIT_EXCEEDED,
        what,
        "Split the work into several transactions; rows for a table that the same transaction has created or truncated are \
         not counted.",
    )
}

fn wrong(statement: StatementFailure) -> Failure {
    Failure::Statement(Box::new(statement))
}

fn text_of(table: &TableSchema, column: usize, value: &Value, zone: &Zone) -> String {
    text_as(table.columns[column].column_type, value, zone)
}

fn text_as(own: Type, value: &Value, zone: &Zone) -> String {
    if value.is_null() {
        return "null".into();
    }
    let mut bytes = Vec::new();
    values::text::write_in(value, own, zone, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}
