//! The one error of this crate: a SQLSTATE and a message in PostgreSQL's words.
//!
//! Errors of DataFusion are sorted into SQLSTATEs here and nowhere else. What the client can cause has a class of its own;
//! `XX000` remains for what neither the client nor the data explains.

use crate::hidden_names::shown;
use analyzer::AnalysisError;
use analyzer::facts::Facts;
use datafusion::arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use executor::ExecutionError;
use grammar::SyntaxError;
use sql_syntax::{TooDeep, Unread};
use thiserror::Error;
use values::ValueError;

/// Why a query cannot be planned or has failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct QueryError {
    /// Five characters, as in PostgreSQL 15, appendix A.
    pub sqlstate: String,
    /// What is wrong, without the word ERROR.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Where in the statement, in bytes from its beginning.
    pub at: Option<u32>,
}

impl QueryError {
    /// An error with this SQLSTATE.
    pub fn new(sqlstate: &str, message: impl Into<String>) -> QueryError {
        QueryError { sqlstate: sqlstate.to_owned(), message: message.into(), detail: None, hint: None, at: None }
    }

    /// `0A000`: valid SQL that is not offered here.
    pub fn unsupported(feature: impl Into<String>) -> QueryError {
        QueryError::new("0A000", feature)
    }

    /// `42P01`.
    pub fn undefined_table(name: &str) -> QueryError {
        QueryError::new("42P01", format!("relation \"{name}\" does not exist"))
    }

    /// `42883`.
    pub fn undefined_function(call: &str) -> QueryError {
        QueryError::new("42883", format!("function {call} does not exist"))
    }

    /// The same without a place: it is in a text that the client has not sent.
    pub(crate) fn anywhere(self) -> QueryError {
        QueryError { at: None, ..self }
    }

    /// As it travels through DataFusion and comes out unchanged.
    pub(crate) fn into_datafusion(self) -> DataFusionError {
        DataFusionError::External(Box::new(self))
    }
}

impl From<TooDeep> for QueryError {
    fn from(_: TooDeep) -> QueryError {
        QueryError::new("54001", TooDeep::MESSAGE)
    }
}

impl From<Unread> for QueryError {
    fn from(unread: Unread) -> QueryError {
        match unread {
            Unread::TooDeep => TooDeep.into(),
            Unread::Syntax(message) => QueryError::new("42601", message),
            Unread::Unsupported(message) => QueryError::unsupported(message),
        }
    }
}

impl From<ValueError> for QueryError {
    fn from(error: ValueError) -> QueryError {
        QueryError::new(error.sqlstate, error.message)
    }
}

impl From<SyntaxError> for QueryError {
    fn from(error: SyntaxError) -> QueryError {
        let (detail, hint) = (error.detail.map(str::to_owned), error.hint.map(str::to_owned));
        QueryError { detail, hint, at: error.at, ..QueryError::new(error.sqlstate, error.message) }
    }
}

impl From<AnalysisError> for QueryError {
    fn from(error: AnalysisError) -> QueryError {
        let AnalysisError { sqlstate, message, detail, hint, at } = error;
        QueryError { sqlstate: sqlstate.to_owned(), message, detail, hint, at }
    }
}

impl From<ExecutionError> for QueryError {
    fn from(error: ExecutionError) -> QueryError {
        let ExecutionError { sqlstate, message, detail, hint, at } = error;
        QueryError { sqlstate: sqlstate.to_owned(), message, detail, hint, at }
    }
}

/// A value's error on its way through DataFusion.
pub(crate) fn of_value(error: ValueError) -> DataFusionError {
    QueryError::from(error).into_datafusion()
}

impl From<DataFusionError> for QueryError {
    fn from(error: DataFusionError) -> QueryError {
        of_datafusion(&error)
    }
}

fn of_datafusion(error: &DataFusionError) -> QueryError {
    match error {
        DataFusionError::External(inner) => match inner.downcast_ref::<QueryError>() {
            Some(known) => known.clone(),
            None => match inner.downcast_ref::<DataFusionError>() {
                Some(nested) => of_datafusion(nested),
                None => of_words(&inner.to_string()),
            },
        },
        DataFusionError::ArrowError(inner, _) => of_arrow(inner),
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => of_datafusion(inner),
        DataFusionError::Shared(inner) => of_datafusion(inner),
        DataFusionError::Collection(all) => match all.first() {
            Some(first) => of_datafusion(first),
            None => QueryError::new("XX000", error.to_string()),
        },
        DataFusionError::SchemaError(inner, _) => of_schema(inner),
        DataFusionError::SQL(inner, _) => QueryError::new("42601", inner.to_string()),
        DataFusionError::NotImplemented(message) if message.contains("does not support logical expression") => {
            QueryError::unsupported("a subquery that depends on the row around it in this way is not supported")
        }
        DataFusionError::NotImplemented(message) => QueryError::unsupported(first_line(message)),
        DataFusionError::ResourcesExhausted(_) => QueryError::new(
            "53200",
            "out of memory: the query needs more than is set aside for sorts, joins and aggregates",
        ),
        DataFusionError::Plan(message) => of_plan(message),
        DataFusionError::Execution(message) => of_execution(message),
        other => of_words(&other.to_string()),
    }
}

/// What is known by its words only.
fn of_words(message: &str) -> QueryError {
    match message.contains("egular expression did not compile") || message.contains("regex parse error") {
        true => of_pattern(message),
        false => QueryError::new("XX000", first_line(message)),
    }
}

fn of_arrow(error: &ArrowError) -> QueryError {
    match error {
        ArrowError::DivideByZero => division_by_zero(),
        ArrowError::ArithmeticOverflow(message) => of_overflow(message),
        ArrowError::CastError(message) => QueryError::new("22P02", message.clone()),
        ArrowError::ParseError(message) => QueryError::new("22P02", message.clone()),
        ArrowError::NotYetImplemented(message) => QueryError::unsupported(message.clone()),
        ArrowError::ExternalError(inner) => match inner.downcast_ref::<DataFusionError>() {
            Some(nested) => of_datafusion(nested),
            None => match inner.downcast_ref::<QueryError>() {
                Some(known) => known.clone(),
                None => of_words(&inner.to_string()),
            },
        },
        ArrowError::InvalidArgumentError(message) if message.contains("too large to store") => {
            QueryError::new("22003", "numeric field overflow")
        }
        other => of_words(&other.to_string()),
    }
}

/// A regular expression that the library does not read: PostgreSQL may.
fn of_pattern(message: &str) -> QueryError {
    let beyond = message.contains("not supported") || message.contains("unrecognized escape");
    let line = message.lines().last().unwrap_or_default().trim().to_owned();
    if beyond {
        QueryError::unsupported(line)
    } else {
        QueryError::new("2201B", format!("invalid regular expression: {line}"))
    }
}

/// `22012`.
pub(crate) fn division_by_zero() -> QueryError {
    QueryError::new("22012", "division by zero")
}

fn of_overflow(message: &str) -> QueryError {
    QueryError::new("22003", format!("value out of range: {}", first_line(message)))
}

fn of_schema(error: &SchemaError) -> QueryError {
    match error {
        SchemaError::AmbiguousReference { field } => {
            QueryError::new("42702", format!("column reference \"{}\" is ambiguous", field.name))
        }
        SchemaError::DuplicateQualifiedField { name, .. } | SchemaError::DuplicateUnqualifiedField { name } => {
            QueryError::new("42702", format!("column name \"{name}\" is used more than once"))
        }
        SchemaError::FieldNotFound { field, valid_fields } => match &field.relation {
            Some(table)
                if valid_fields
                    .iter()
                    .all(|valid| valid.relation.as_ref().is_none_or(|known| known.table() != table.table())) =>
            {
                QueryError::new("42P01", format!("missing FROM-clause entry for table \"{}\"", shown(table.table())))
            }
            Some(table) => {
                let column = format!("column {}.{} does not exist", shown(table.table()), shown(&field.name));
                QueryError::new("42703", column)
            }
            None => QueryError::new("42703", format!("column \"{}\" does not exist", field.name)),
        },
    }
}

/// DataFusion's planner says most things in words only; those that a client meets are told apart by their beginnings.
fn of_plan(message: &str) -> QueryError {
    let line = first_line(message);
    if let Some(call) = between(message, "External error: function ", " does not exist") {
        return QueryError::undefined_function(call);
    }
    if let Some(name) = between(message, "Invalid function '", "'") {
        if matches!(name, "nextval" | "currval" | "lastval" | "setval") {
            return QueryError::unsupported(format!("{name}() in a query that reads rows is not supported"));
        }
        return match Facts::postgresql15().functions_named(name).next() {
            Some(_) => QueryError::unsupported(format!("the function {name} in a query of this form is not supported")),
            None => QueryError::undefined_function(&format!("{name}()")),
        };
    }
    if message.contains("Cannot find column with position") {
        return QueryError::new("42P10", line);
    }
    if message.contains("must appear in the GROUP BY clause")
        || message.contains("Aggregate functions are not allowed")
        || message.contains("must be in the GROUP BY")
    {
        return QueryError::new("42803", line);
    }
    if message.contains("must have the same number of columns") || message.contains("different number of columns") {
        return QueryError::new("42601", "each query of a set operation must have the same number of columns");
    }
    if message.contains("Projections require unique expression names") || message.contains("ambiguous") {
        return QueryError::new("42702", line);
    }
    if message.contains("Ambiguous reference") {
        return QueryError::new("42702", line);
    }
    if message.contains("Failed to coerce")
        || message.contains("coercion")
        || message.contains("does not support")
        || message.contains("Cannot coerce")
        || message.contains("Cannot infer common argument type")
        || message.contains("No function matches")
    {
        return QueryError::new("42883", line);
    }
    if message.contains("nsupported") || message.contains("not supported") || message.contains("not implemented") {
        return QueryError::unsupported(line);
    }
    if message.contains("type mismatch") || message.contains("must be of type") || message.contains("boolean") {
        return QueryError::new("42804", line);
    }
    QueryError::new("42601", line)
}

fn of_execution(message: &str) -> QueryError {
    if message.contains("ivide by zero") {
        return division_by_zero();
    }
    if message.contains("verflow") {
        return of_overflow(message);
    }
    if message.contains("more than one row") {
        return QueryError::new("21000", "more than one row returned by a subquery used as an expression");
    }
    of_words(message)
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = &text[text.find(before)? + before.len()..];
    rest.find(after).map(|end| &rest[..end])
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().trim().to_owned()
}
