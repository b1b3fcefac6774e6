//! Columns that get another type, and those that are added to rows.
//!
//! Invariant: whatever a row that is there holds in such a column is what its type, and its domain, allow; else the change fails.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::definitions::check_default;
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::parse;
use crate::sql::row_expressions::{RowExpressionUse, check_form};
use crate::sql::settings::{Facts, Settings};
use crate::sql::types::{Stop, named_type_in};
use messages::namespace;
use messages::program::Expression;
use messages::schema::{Catalog, Column, TableSchema};
use sqlparser::ast;
use std::sync::Arc;
use values::cast::{Context, context};
use values::{Type, Value};

/// What computes columns of rows that are copied, over the rows as they were.
pub(super) type Fill = Vec<(usize, Expression)>;

/// Gives a new column what rows hold in it that are there. False: it has to be computed for each. Errors: those of its default.
pub(super) fn fill_missing(column: &mut Column, catalog: &Catalog) -> Result<bool> {
    let same = match column.default_text() {
        Some(default) => check_default(&parse::expression(default)?, column, catalog)?,
        None => Some(Value::Null),
    };
    match same.filter(|_| !column.is_restricted()) {
        Some(same) => column.missing = same,
        None => return Ok(false),
    }
    Ok(true)
}

/// ALTER COLUMN ... TYPE. `None`: rows stay as they are. Errors: 42804 for a type that the old one does not become by itself.
pub(super) fn set_type(
    column: &mut Column,
    position: usize,
    data_type: &ast::DataType,
    using: Option<&ast::Expr>,
    before: &Arc<TableSchema>,
    catalog: &Catalog,
) -> Result<Option<Fill>> {
    let named = named_type_in(data_type, catalog)?;
    let (target, domain) = (named.data_type()?, named.rules());
    let is_stricter = domain.as_ref().is_some_and(|domain| domain.refuses_any());
    let was_same = target == column.column_type;
    let shown = domain.as_ref().map_or_else(|| target.to_string(), |domain| domain.name.clone());
    column.domain = domain;
    let fill = match using {
        None if was_same && !is_stricter => return Ok(None),
        None if is_stricter => {
            let own = Expression::Column(position as u16);
            let own = if was_same { own } else { Expression::Cast(Box::new(own), target, false) };
            vec![(position, column.in_domain(own))]
        }
        None => Fill::new(),
        Some(expression) => {
            let computed = transformed(expression, before, position, target, catalog)?;
            vec![(position, column.in_domain(computed))]
        }
    };
    let silent = using.is_some()
        || target.unmodified() == column.column_type.unmodified()
        || matches!(context(column.column_type, target), Some(Context::Implicit | Context::Assignment));
    if !silent {
        let message = format!("column \"{}\" cannot be cast automatically to type {shown}", column.name);
        return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, message));
    }
    column.column_type = target;
    if let Some(default) = &column.default {
        check_default(&parse::expression(default)?, column, catalog)?;
    }
    Ok(Some(fill))
}

/// The expression of `ALTER COLUMN ... TYPE ... USING`, as a value of the new type. Errors: 42804 for one that does not fit, 0A000 for what a row alone does not
/// determine, and those of expressions.
fn transformed(
    expression: &ast::Expr,
    table: &Arc<TableSchema>,
    position: usize,
    target: Type,
    catalog: &Catalog,
) -> Result<Expression> {
    check_form(expression, RowExpressionUse::Transform)?;
    let settings = Settings::default();
    let facts = Facts::nobody(&settings);
    let text = expression.to_string();
    let mut compiler = Compiler::new(catalog, &facts, &text, Vec::new());
    let scope = Scope::table(namespace::bare(&table.name), table);
    let typed = compiler.expression(expression, &scope).map_err(|stop| match stop {
        Stop::Error(error) => error,
        Stop::Beyond(error) if error.sqlstate == sqlstate::UNDEFINED_FUNCTION => error,
        Stop::Beyond(_) => SqlError::unsupported(format!("{text} in USING")),
    })?;
    if !compiler.parameters.known().is_empty() {
        return Err(SqlError::new(sqlstate::UNDEFINED_PARAMETER, "there is no parameter $1"));
    }
    if compiler.used_facts {
        return Err(SqlError::unsupported("USING with what depends on the session"));
    }
    let name = &table.columns[position].name;
    compiler.parameters.assign(typed, name, target).map_err(|error| {
        if error.sqlstate != sqlstate::DATATYPE_MISMATCH {
            return error;
        }
        let shown = target.base_name();
        let message =
            format!("result of USING clause for column \"{name}\" cannot be cast automatically to type {shown}");
        SqlError::new(sqlstate::DATATYPE_MISMATCH, message).with_hint("You might need to add an explicit cast.")
    })
}
