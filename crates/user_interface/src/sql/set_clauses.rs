//! SET of UPDATE, ON CONFLICT and MERGE: which column gets which value.
//!
//! Invariant: a row of values, and a subquery of several columns, are one value for each column; such a subquery is asked once for each of them.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::SQL_BYTES_MAX;
use crate::sql::names;
use crate::sql::types::{Compiled, beyond};
use messages::schema::{Identity, TableSchema};
use sqlparser::ast::{self, Expr, SelectItem, SetExpr};
use std::borrow::Cow;

/// What a subquery is called in the place of which there is one for each of its columns.
const ROW: &str = "row";

/// What makes a tree of an expression's text.
pub(super) type ExpressionReader = fn(&str) -> Result<Expr>;

/// The columns that SET assigns to and the syntax of their values. Errors: 42703; 42601 for a column named twice, or another number of values.
pub(super) fn pairs<'e>(
    assignments: &'e [ast::Assignment],
    table: &TableSchema,
    read: ExpressionReader,
) -> Compiled<Vec<(usize, Cow<'e, Expr>)>> {
    let mut pairs: Vec<(usize, Cow<Expr>)> = Vec::with_capacity(assignments.len());
    let mut add = |name: &ast::ObjectName, value: Cow<'e, Expr>| {
        let column = column_of(table, name)?;
        if pairs.iter().any(|(other, _)| *other == column) {
            return Err(SqlError::new(
                sqlstate::SYNTAX_ERROR,
                format!("multiple assignments to same column \"{}\"", table.columns[column].name),
            ));
        }
        pairs.push((column, value));
        Ok(())
    };
    for assignment in assignments {
        let names = match &assignment.target {
            ast::AssignmentTarget::ColumnName(name) => {
                add(name, Cow::Borrowed(&assignment.value))?;
                continue;
            }
            ast::AssignmentTarget::Tuple(names) => names,
        };
        let values: Vec<Cow<Expr>> = match &assignment.value {
            Expr::Tuple(values) => values.iter().map(Cow::Borrowed).collect(),
            Expr::Nested(value) if names.len() == 1 => vec![Cow::Borrowed(value)],
            Expr::Function(function) if is_row(function) => row_of(function)?.into_iter().map(Cow::Borrowed).collect(),
            Expr::Subquery(query) => {
                let count = width(&query.body).ok_or_else(|| beyond("a subquery with * in SET"))?;
                check_count(names, count)?;
                check_repeated(query, count)?;
                let value = |place| column_of_row(query, place, count, read).map(Cow::Owned);
                (0..count).map(value).collect::<Result<_>>()?
            }
            _ => {
                let message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message).into());
            }
        };
        check_count(names, values.len())?;
        for (name, value) in names.iter().zip(values) {
            add(name, value)?;
        }
    }
    Ok(pairs)
}

/// The column that a name means. Errors: 42703.
fn column_of(table: &TableSchema, name: &ast::ObjectName) -> Result<usize> {
    let relation = names::relation(name)?;
    table.column(&relation.name).ok_or_else(|| no_column(table, &relation.name))
}

/// `column "c" of relation "t" does not exist`, 42703.
pub fn no_column(table: &TableSchema, column: &str) -> Box<SqlError> {
    SqlError::new(
        sqlstate::UNDEFINED_COLUMN,
        format!("column \"{column}\" of relation \"{}\" does not exist", table.name),
    )
}

/// Errors: 42601.
fn check_count(names: &[ast::ObjectName], count: usize) -> Result<()> {
    match names.len() == count {
        true => Ok(()),
        false => Err(SqlError::new(sqlstate::SYNTAX_ERROR, "number of columns does not match number of values")),
    }
}

fn is_row(function: &ast::Function) -> bool {
    let name = function.name.0.as_slice();
    matches!(name, [ast::ObjectNamePart::Identifier(name)] if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("row"))
}

/// The values of `ROW (...)`. Errors: 42601.
fn row_of(function: &ast::Function) -> Result<Vec<&Expr>> {
    let ast::FunctionArguments::List(list) = &function.args else { return Err(SqlError::syntax("ROW")) };
    let value = |argument| match argument {
        &ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ref value)) => Ok(value),
        _ => Err(SqlError::syntax("ROW")),
    };
    list.args.iter().map(value).collect()
}

/// How many columns a query has, as far as its text tells.
pub(super) fn width(body: &SetExpr) -> Option<usize> {
    match body {
        SetExpr::Select(select) => {
            let is_one =
                |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
            select.projection.iter().all(is_one).then_some(select.projection.len())
        }
        SetExpr::Values(values) => values.rows.first().map(|row| row.content.len()),
        SetExpr::Query(query) => width(&query.body),
        SetExpr::SetOperation { left, .. } => width(left),
        _ => None,
    }
}

/// Errors: 54000 for a subquery that would become too long where it is asked once for each of its columns.
fn check_repeated(query: &ast::Query, count: usize) -> Result<()> {
    if count.saturating_mul(query.to_string().len()) <= SQL_BYTES_MAX {
        return Ok(());
    }
    let message = format!("a subquery for {count} columns, once for each of them, exceeds {SQL_BYTES_MAX} bytes");
    Err(SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message))
}

/// `(SELECT row.cN FROM (query) AS row (c0, c1, ...))`. Errors: 54001 for one that is too deep.
fn column_of_row(query: &ast::Query, place: usize, count: usize, read: ExpressionReader) -> Result<Expr> {
    let columns: Vec<String> = (0..count).map(|place| format!("c{place}")).collect();
    read(&format!("(SELECT \"{ROW}\".c{place} FROM ({query}) AS \"{ROW}\" ({}))", columns.join(", ")))
}

/// Errors: 428C9 for a column that is computed of others, if it is inserted with a value.
pub(super) fn check_not_given(table: &TableSchema, column: usize) -> Result<()> {
    let name = &table.columns[column].name;
    match table.generated_column(column) {
        None => Ok(()),
        Some(_) => Err(generated_always(format!("cannot insert a non-DEFAULT value into column \"{name}\""))
            .with_detail(is_generated(name))),
    }
}

/// Errors: 428C9 for a column that is computed of others, or always drawn, if it is set to a value.
pub(super) fn check_not_set(table: &TableSchema, column: usize) -> Result<()> {
    let name = &table.columns[column].name;
    let detail = match (table.generated_column(column), table.columns[column].identity) {
        (Some(_), _) => is_generated(name),
        (None, Some(Identity::Always)) => always(name),
        _ => return Ok(()),
    };
    Err(generated_always(format!("column \"{name}\" can only be updated to DEFAULT")).with_detail(detail))
}

fn generated_always(message: String) -> Box<SqlError> {
    SqlError::new(sqlstate::GENERATED_ALWAYS, message)
}

fn is_generated(column: &str) -> String {
    format!("Column \"{column}\" is a generated column.")
}

pub(super) fn always(column: &str) -> String {
    format!("Column \"{column}\" is an identity column defined as GENERATED ALWAYS.")
}
