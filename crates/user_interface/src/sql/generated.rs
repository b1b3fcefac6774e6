//! Generated columns: computed of the other columns of their row whenever it is written (`GENERATED ALWAYS AS (...) STORED`).
//!
//! Invariant: a generated column depends on the row alone, and on no other generated column, so that they can be computed in any order.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::Planner;
use crate::sql::parse;
use crate::sql::row_expressions::{RowExpressionUse, row_expression};
use crate::sql::schema_syntax::DroppedExpression;
use crate::sql::set_clauses::no_column;
use messages::expression_sql::SqlStyle;
use messages::program::Expression;
use messages::schema::{Catalog, Column, GeneratedColumn, RowExpression, TableSchema};
use sqlparser::ast::Expr;
use std::sync::Arc;
use values::cast::{Context, context};

/// Compiles a column's expression. `generated`: columns that are generated, itself among them. Errors: 42P17 for one that depends on more than the row's other
/// columns, 42804 for one whose values do not fit, and those of expressions.
fn compile(
    expression: &Expr,
    table: &TableSchema,
    position: usize,
    generated: &[usize],
    catalog: &Catalog,
) -> Result<GeneratedColumn> {
    let own = row_expression(expression, table, catalog, RowExpressionUse::Generation)?;
    if let Some(other) = own.columns.iter().find(|column| generated.contains(column)) {
        let name = &table.columns[*other].name;
        let message = format!("cannot use generated column \"{name}\" in column generation expression");
        return Err(SqlError::new(sqlstate::INVALID_OBJECT_DEFINITION, message)
            .with_detail("A generated column cannot reference another generated column."));
    }
    let column = &table.columns[position];
    Ok(GeneratedColumn { column: position, expression: Arc::new(assigned(own, column)?) })
}

/// The expression, whose values are assigned to the column. Errors: 42804.
fn assigned(own: RowExpression, column: &Column) -> Result<RowExpression> {
    if own.result == column.column_type {
        return Ok(own);
    }
    let is_constant = matches!(own.expression, Expression::Constant(_));
    let same = own.result.unmodified() == column.column_type.unmodified();
    if !same
        && !is_constant
        && !matches!(context(own.result, column.column_type), Some(Context::Implicit | Context::Assignment))
    {
        let message = format!(
            "column \"{}\" is of type {} but default expression is of type {}",
            column.name,
            column.column_type.base_name(),
            own.result.base_name()
        );
        return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, message)
            .with_hint("You will need to rewrite or cast the expression."));
    }
    Ok(own)
}

impl Planner<'_> {
    /// Makes columns generated ones, which the table has already.
    pub(super) fn generate(&mut self, table: &mut TableSchema, definitions: &[(usize, &Expr)]) -> Result<()> {
        let mut generated: Vec<usize> = table.generated.iter().map(|own| own.column).collect();
        generated.extend(definitions.iter().map(|(position, _)| *position));
        for (position, expression) in definitions {
            self.rely_on_types(*expression);
            if table.columns[*position].domain.is_some() {
                return Err(SqlError::unsupported("a generated column of a domain"));
            }
            let own = compile(expression, table, *position, &generated, &self.catalog)?;
            table.generated.push(own);
        }
        Ok(())
    }

    /// DROP EXPRESSION: the column keeps its values. Errors: 42P01, 42703, 42501, 55000 for a column that is not generated.
    pub(super) fn drop_expression(&mut self, dropped: &DroppedExpression) -> Result<()> {
        if dropped.table_if_exists && !self.catalog.tables.contains_key(&dropped.table) {
            let message = format!("relation \"{}\" does not exist, skipping", dropped.table);
            self.notice(sqlstate::SUCCESSFUL_COMPLETION, message);
            return Ok(());
        }
        let mut table = TableSchema::clone(&*self.table(&dropped.table)?);
        self.check_owns_table(&table)?;
        let position = table.column(&dropped.column).ok_or_else(|| no_column(&table, &dropped.column))?;
        if table.generated_column(position).is_none() {
            let (column, name) = (&dropped.column, &table.name);
            let message = format!("column \"{column}\" of relation \"{name}\" is not a stored generated column");
            if dropped.if_exists {
                self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("{message}, skipping"));
                return Ok(());
            }
            return Err(SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        table.generated.retain(|own| own.column != position);
        self.write_table(table);
        Ok(())
    }

    /// Columns have other types, or names of types have changed. Errors: those of expressions that do not fit any more.
    pub(super) fn compile_generated(&self, from: &TableSchema, to: &mut TableSchema) -> Result<()> {
        let mut all = to.generated.clone();
        for own in &mut all {
            let text = parse::expression(&own.expression.sql(from, SqlStyle::Source))?;
            *own = compile(&text, to, own.column, &[], &self.catalog)?;
        }
        to.generated = all;
        Ok(())
    }
}

/// Errors: 0A000 for another type of a column that generated ones are computed of.
pub(super) fn check_type_is_free(table: &TableSchema, position: usize) -> Result<()> {
    match table.generated.iter().find(|own| own.expression.columns.contains(&position)) {
        None => Ok(()),
        Some(own) => {
            let (used, by) = (&table.columns[position].name, &table.columns[own.column].name);
            let message = "cannot alter type of a column used by a generated column";
            Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message)
                .with_detail(format!("Column \"{used}\" is used by generated column \"{by}\".")))
        }
    }
}

/// Errors: 42601 for a default of a generated column.
pub(super) fn check_takes_default(table: &TableSchema, position: usize, drops: bool) -> Result<()> {
    if table.generated_column(position).is_none() {
        return Ok(());
    }
    let name = &table.columns[position].name;
    let message = format!("column \"{name}\" of relation \"{}\" is a generated column", table.name);
    let error = SqlError::new(sqlstate::SYNTAX_ERROR, message);
    Err(if drops { error.with_hint("Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.") } else { error })
}
