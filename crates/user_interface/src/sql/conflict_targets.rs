//! The unique keys that the target of ON CONFLICT speaks of (PostgreSQL's `infer_arbiter_indexes`).

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::conflict_syntax::{ConflictPart, part};
use crate::sql::expressions::Compiler;
use crate::sql::implication::implies;
use crate::sql::names;
use crate::sql::parse;
use crate::sql::row_expressions::{RowExpressionUse, row_expression};
use crate::sql::visits::visit_expressions;
use messages::program::{ConflictKey, Expression};
use messages::schema::{Catalog, IndexKeyPart, IndexSchema, TableSchema};
use sqlparser::ast::{Expr, Ident};
use std::ops::ControlFlow;

/// What a target names.
#[derive(Default)]
struct InferenceTarget {
    /// In ascending order, each once.
    columns: Vec<usize>,
    expressions: Vec<Expression>,
    predicate: Option<Expression>,
}

impl Compiler<'_> {
    /// The unique keys of exactly these parts whose rows the predicate is about. Errors: 42P10 if there is none, 42703, and those of expressions.
    pub(super) fn inferred_keys(&self, table: &TableSchema, parts: &[Ident]) -> Result<Vec<ConflictKey>> {
        inferred(table, &InferenceTarget::of(table, parts, self.catalog)?)
    }
}

fn inferred(table: &TableSchema, target: &InferenceTarget) -> Result<Vec<ConflictKey>> {
    let mut keys = Vec::new();
    if !table.has_hidden_key() && target.expressions.is_empty() && target.is_of(&table.primary_key) {
        keys.push(ConflictKey::PrimaryKey);
    }
    let indexes = table.indexes.iter().enumerate().filter(|(_, index)| target.means(index, table));
    keys.extend(indexes.map(|(position, _)| ConflictKey::Index(position)));
    match keys.is_empty() {
        false => Ok(keys),
        true => Err(SqlError::new(
            sqlstate::INVALID_COLUMN_REFERENCE,
            "there is no unique or exclusion constraint matching the ON CONFLICT specification",
        )),
    }
}

/// The columns that a part of a target names.
pub(super) fn columns_of(name: &Ident, table: &TableSchema) -> Vec<usize> {
    let text = match part(name) {
        ConflictPart::Name(name) => return table.column(&names::identifier(name)).into_iter().collect(),
        ConflictPart::Text(text) => key_text(text),
        ConflictPart::Predicate(text) => text,
    };
    let mut columns = Vec::new();
    let Ok(tree) = parse::expression(text) else { return columns };
    let _ = visit_expressions(&tree, |part| {
        let name = match part {
            Expr::Identifier(name) => Some(name),
            Expr::CompoundIdentifier(names) => names.last(),
            _ => None,
        };
        columns.extend(name.and_then(|name| table.column(&names::identifier(name))));
        ControlFlow::<()>::Continue(())
    });
    columns
}

/// A key's expression, without an operator class behind it: all of a type answer the same here.
fn key_text(text: &str) -> &str {
    match text.rsplit_once(char::is_whitespace) {
        Some((before, class)) if class.to_ascii_lowercase().ends_with("_ops") => before,
        _ => text,
    }
}

impl InferenceTarget {
    fn of(table: &TableSchema, parts: &[Ident], catalog: &Catalog) -> Result<InferenceTarget> {
        let mut target = InferenceTarget::default();
        for name in parts {
            match part(name) {
                ConflictPart::Name(name) => target.columns.push(column(table, name)?),
                ConflictPart::Text(text) => target.add(table, text, catalog)?,
                ConflictPart::Predicate(text) => {
                    let tree = parse::expression(text)?;
                    let usage = RowExpressionUse::InferencePredicate;
                    target.predicate = Some(row_expression(&tree, table, catalog, usage)?.expression);
                }
            }
        }
        target.columns.sort_unstable();
        target.columns.dedup();
        Ok(target)
    }

    fn add(&mut self, table: &TableSchema, text: &str, catalog: &Catalog) -> Result<()> {
        let mut tree = parse::expression(key_text(text))?;
        loop {
            tree = match tree {
                Expr::Nested(inner) => *inner,
                Expr::Collate { expr, collation } => match names::function(&collation).as_deref() {
                    Some("C" | "POSIX" | "default") => *expr,
                    _ => return Err(SqlError::unsupported(format!("collation {collation}"))),
                },
                tree => {
                    if let Expr::Identifier(name) = &tree {
                        self.columns.push(column(table, name)?);
                        return Ok(());
                    }
                    let own = row_expression(&tree, table, catalog, RowExpressionUse::Inference)?;
                    self.expressions.push(own.expression);
                    return Ok(());
                }
            };
        }
    }

    fn is_of(&self, columns: &[usize]) -> bool {
        let mut columns = columns.to_vec();
        columns.sort_unstable();
        columns.dedup();
        columns == self.columns
    }

    /// Whether the index is unique, has exactly these keys, and has all rows that the predicate is about.
    fn means(&self, index: &IndexSchema, table: &TableSchema) -> bool {
        let (mut columns, mut expressions) = (Vec::new(), Vec::new());
        for key in &index.keys {
            match &key.part {
                IndexKeyPart::Column(column) => columns.push(*column),
                IndexKeyPart::Expression(own) => expressions.push(&own.expression),
            }
        }
        let has = |own: &Expression| expressions.iter().any(|known| known.is_same_as(own));
        let wants = |own: &&Expression| self.expressions.iter().any(|wanted| wanted.is_same_as(own));
        index.unique
            && self.is_of(&columns)
            && self.expressions.iter().all(has)
            && expressions.iter().all(wants)
            && index.predicate.as_ref().is_none_or(|own| {
                self.predicate
                    .as_ref()
                    .is_some_and(|given| implies(std::slice::from_ref(given), &own.expression, table))
            })
    }
}

/// Errors: 42703.
fn column(table: &TableSchema, name: &Ident) -> Result<usize> {
    let name = names::identifier(name);
    let missing = || SqlError::new(sqlstate::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist"));
    table.column(&name).ok_or_else(missing)
}
