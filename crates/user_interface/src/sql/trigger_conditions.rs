//! WHEN of triggers: what it may name, and what becomes of it when the table's columns change.
//!
//! Invariants: a condition that is kept has a meaning for its table; it reads nothing but the row at hand, so that whoever fires the trigger needs no right for it.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::names;
use crate::sql::parse;
use crate::sql::settings::{Facts, Settings};
use crate::sql::types::Stop;
use crate::sql::visits::{visit_expressions, visit_expressions_mut};
use messages::schema::{Catalog, TableSchema, TriggerSchema, TriggerTiming};
use sqlparser::ast::{self, Expr, Ident};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Which of the two rows of a trigger a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TriggerRow {
    Old,
    New,
}

impl TriggerRow {
    fn named(name: &Ident) -> Option<TriggerRow> {
        match names::identifier(name).as_str() {
            "old" => Some(TriggerRow::Old),
            "new" => Some(TriggerRow::New),
            _ => None,
        }
    }

    /// The row, if an expression is all of it: `old` or `old.*`.
    fn whole(expression: &Expr) -> Option<TriggerRow> {
        match expression {
            Expr::Identifier(name) => TriggerRow::named(name),
            Expr::QualifiedWildcard(name, _) => match name.0.as_slice() {
                [ast::ObjectNamePart::Identifier(name)] => TriggerRow::named(name),
                _ => None,
            },
            _ => None,
        }
    }

    /// The row that an expression names, and the column, unless it is all of it.
    fn of(expression: &Expr) -> Option<(TriggerRow, Option<String>)> {
        match expression {
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [row, column] => Some((TriggerRow::named(row)?, Some(names::identifier(column)))),
                _ => None,
            },
            other => Some((TriggerRow::whole(other)?, None)),
        }
    }
}

fn invalid(message: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::INVALID_OBJECT_DEFINITION, message)
}

/// Checks the condition of a trigger that is made. Errors: 42P17 for a row that there is none of, 42703, 42804 for what is not boolean; 0A000 for subqueries,
/// functions of users, and whole rows that are not compared.
pub(super) fn check(condition: &Expr, trigger: &TriggerSchema, table: &TableSchema, catalog: &Catalog) -> Result<()> {
    let checked = visit_expressions(condition, |part| match check_part(part, trigger, table, catalog) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    });
    if let ControlFlow::Break(error) = checked {
        return Err(error);
    }
    let expanded = expanded(condition.clone(), table);
    if visit_expressions(&expanded, |part| match TriggerRow::whole(part) {
        Some(_) => ControlFlow::Break(()),
        None => ControlFlow::Continue(()),
    })
    .is_break()
    {
        return Err(SqlError::unsupported("a whole row in WHEN that is not compared with IS DISTINCT FROM"));
    }
    let settings = Settings::default();
    let facts = Facts::nobody(&settings);
    let mut compiler = Compiler::new(catalog, &facts, "", Vec::new());
    let shared = Arc::new(table.clone());
    let scope = Scope::table("old", &shared).and("new", &shared, table.columns.len());
    match compiler.condition(&expanded, "WHEN", &scope) {
        // What a program does not have the query processor may.
        Ok(_) | Err(Stop::Beyond(_)) => Ok(()),
        Err(Stop::Error(error)) => Err(error),
    }
}

fn check_part(part: &Expr, trigger: &TriggerSchema, table: &TableSchema, catalog: &Catalog) -> Result<()> {
    if matches!(part, Expr::Subquery(_) | Expr::InSubquery { .. } | Expr::Exists { .. }) {
        let message = "cannot use subquery in trigger WHEN condition";
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    if let Expr::Function(function) = part
        && let Ok(name) = names::own_relation(&function.name)
        && catalog.procedures.contains_key(&name)
    {
        return Err(SqlError::unsupported("a function of a user in WHEN of a trigger"));
    }
    let Some((row, column)) = TriggerRow::of(part) else { return Ok(()) };
    if !trigger.is_for_rows {
        return Err(invalid("statement trigger's WHEN condition cannot reference column values"));
    }
    match row {
        TriggerRow::Old if trigger.events.insert => {
            return Err(invalid("INSERT trigger's WHEN condition cannot reference OLD values"));
        }
        TriggerRow::New if trigger.events.delete => {
            return Err(invalid("DELETE trigger's WHEN condition cannot reference NEW values"));
        }
        _ => {}
    }
    let known = column.as_ref().and_then(|column| table.column(column));
    if let (Some(column), None) = (&column, known) {
        let row = if row == TriggerRow::Old { "old" } else { "new" };
        let message = format!("column {row}.{column} does not exist");
        return Err(SqlError::new(sqlstate::UNDEFINED_COLUMN, message));
    }
    let is_generated = match known {
        Some(column) => table.generated_column(column).is_some(),
        None => !table.generated.is_empty(),
    };
    match (is_generated, row) {
        (true, TriggerRow::New) if trigger.timing == TriggerTiming::Before => {
            Err(invalid("BEFORE trigger's WHEN condition cannot reference NEW generated columns"))
        }
        (true, _) => Err(SqlError::unsupported("a generated column in WHEN of a trigger")),
        (false, _) => Ok(()),
    }
}

/// A condition in which rows that are compared as a whole are compared column by column.
fn expanded(condition: Expr, table: &TableSchema) -> Expr {
    let mut condition = condition;
    let _ = visit_expressions_mut(&mut condition, |part| {
        let (left, right, is_distinct) = match part {
            Expr::IsDistinctFrom(left, right) => (left, right, true),
            Expr::IsNotDistinctFrom(left, right) => (left, right, false),
            _ => return ControlFlow::<()>::Continue(()),
        };
        if let (Some(left), Some(right)) = (TriggerRow::whole(left), TriggerRow::whole(right)) {
            *part = compared(left, right, is_distinct, table);
        }
        ControlFlow::Continue(())
    });
    condition
}

fn compared(left: TriggerRow, right: TriggerRow, is_distinct: bool, table: &TableSchema) -> Expr {
    let live = table.columns.iter().filter(|column| !column.dropped);
    let alike = live.map(|column| {
        let of = |row| {
            let row = if row == TriggerRow::Old { "old" } else { "new" };
            Box::new(Expr::CompoundIdentifier(vec![Ident::new(row), Ident::with_quote('"', column.name.clone())]))
        };
        Expr::IsNotDistinctFrom(of(left), of(right))
    });
    let all = alike.reduce(|left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: ast::BinaryOperator::And,
        right: Box::new(right),
    });
    let all = Expr::Nested(Box::new(all.unwrap_or_else(|| Expr::value(ast::Value::Boolean(true)))));
    match is_distinct {
        true => Expr::Nested(Box::new(Expr::UnaryOp { op: ast::UnaryOperator::Not, expr: Box::new(all) })),
        false => all,
    }
}

/// The condition of a trigger as it is computed for a row. Errors: 42601 for a text that is none any more.
pub(super) fn computed(text: &str, table: &TableSchema) -> Result<String> {
    Ok(expanded(parse::expression(text)?, table).to_string())
}

/// A condition as it is kept: without parentheses around it, `new` and `old` as PostgreSQL writes them.
pub(super) fn kept(condition: &Expr) -> String {
    let mut condition = condition;
    while let Expr::Nested(inner) = condition {
        condition = inner;
    }
    let mut condition = condition.clone();
    let _ = visit_expressions_mut(&mut condition, |part| {
        let row = match part {
            Expr::CompoundIdentifier(parts) => parts.first_mut(),
            Expr::Identifier(name) => Some(name),
            Expr::QualifiedWildcard(name, _) => match name.0.first_mut() {
                Some(ast::ObjectNamePart::Identifier(name)) => Some(name),
                _ => None,
            },
            _ => None,
        };
        if let Some(row) = row.filter(|row| row.quote_style.is_none()) {
            row.value.make_ascii_lowercase();
        }
        ControlFlow::<()>::Continue(())
    });
    condition.to_string()
}

/// The columns that a trigger depends on: those of UPDATE OF, and those that its condition names.
pub(super) fn columns(trigger: &TriggerSchema, table: &TableSchema) -> Result<Vec<usize>> {
    let mut columns = trigger.columns.clone();
    let Some(text) = &trigger.condition else { return Ok(columns) };
    let _ = visit_expressions(&parse::expression(text)?, |part| {
        if let Some((_, Some(column))) = TriggerRow::of(part) {
            columns.extend(table.column(&column));
        }
        ControlFlow::<()>::Continue(())
    });
    Ok(columns)
}

/// Gives a column another name in the conditions of a table's triggers.
pub(super) fn rename(table: &mut TableSchema, old: &str, new: &str) -> Result<()> {
    let renamed = match names::quote(new).starts_with('"') {
        true => Ident::with_quote('"', new),
        false => Ident::new(new),
    };
    for trigger in &mut table.triggers {
        let Some(text) = &trigger.condition else { continue };
        let mut condition = parse::expression(text)?;
        let _ = visit_expressions_mut(&mut condition, |part| {
            let is_it = matches!(TriggerRow::of(part), Some((_, Some(column))) if column == old);
            if let (true, Expr::CompoundIdentifier(parts)) = (is_it, part)
                && let Some(name) = parts.last_mut()
            {
                *name = renamed.clone();
            }
            ControlFlow::<()>::Continue(())
        });
        trigger.condition = Some(condition.to_string());
    }
    Ok(())
}
