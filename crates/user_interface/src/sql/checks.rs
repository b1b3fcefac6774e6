//! CHECK constraints: conditions over one row, compiled when they are made.
//!
//! Invariant: a condition's text and what it was compiled to say the same, whatever becomes of the columns' names and types.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::Planner;
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::names;
use crate::sql::parse;
use crate::sql::settings::{Facts, Settings};
use crate::sql::types::Stop;
use crate::sql::visits::{visit_expressions, visit_expressions_mut};
use messages::namespace;
use messages::program::Expression;
use messages::schema::{Catalog, CheckSchema, TableSchema};
use sqlparser::ast::{self, Expr};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A condition as a statement gives it.
pub(super) struct CheckDefinition {
    /// The constraint's name, if it has one.
    pub name: Option<String>,
    /// The condition.
    pub condition: Expr,
    /// The column beside which it stands.
    pub column: Option<String>,
}

impl CheckDefinition {
    /// The conditions beside a column.
    pub fn of_column(definition: &ast::ColumnDef) -> Vec<CheckDefinition> {
        let options = definition.options.iter();
        options
            .filter_map(|option| match &option.option {
                ast::ColumnOption::Check(check) => Some(CheckDefinition {
                    name: option.name.as_ref().or(check.name.as_ref()).map(names::identifier),
                    condition: (*check.expr).clone(),
                    column: Some(names::identifier(&definition.name)),
                }),
                _ => None,
            })
            .collect()
    }

    /// A condition of a table. Errors: 0A000 for one that is not enforced.
    pub fn of_table(check: &ast::CheckConstraint) -> Result<CheckDefinition> {
        if check.enforced == Some(false) {
            return Err(SqlError::unsupported("NOT ENFORCED"));
        }
        let name = check.name.as_ref().map(names::identifier);
        Ok(CheckDefinition { name, condition: (*check.expr).clone(), column: None })
    }
}

/// A condition over a table's columns. Errors: 42804 where it is not boolean, 0A000 for what a row alone does not determine.
pub(super) fn compile(condition: &Expr, table: &TableSchema, catalog: &Catalog) -> Result<Expression> {
    let settings = Settings::default();
    let facts = Facts::nobody(&settings);
    let mut compiler = Compiler::new(catalog, &facts, "", Vec::new());
    let scope = Scope::table(&table.name, &Arc::new(table.clone()));
    let compiled = compiler.condition(condition, "CHECK", &scope).map_err(|stop| match stop {
        Stop::Error(error) => error,
        Stop::Beyond(_) if has_subquery(condition) => SqlError::unsupported("cannot use subquery in check constraint"),
        Stop::Beyond(error) => error,
    })?;
    if !compiler.parameters.known().is_empty() {
        return Err(SqlError::new(sqlstate::UNDEFINED_PARAMETER, "there is no parameter $1"));
    }
    if compiler.used_facts {
        return Err(SqlError::unsupported("a check constraint that depends on the session"));
    }
    Ok(compiled)
}

fn has_subquery(condition: &Expr) -> bool {
    let is_one = |part: &Expr| matches!(part, Expr::Subquery(_) | Expr::InSubquery { .. } | Expr::Exists { .. });
    visit_expressions(condition, |part| match is_one(part) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    })
    .is_break()
}

/// The columns that a condition names, each once.
fn columns_of(condition: &Expr, table: &TableSchema) -> Vec<usize> {
    let mut columns = Vec::new();
    let _ = visit_expressions(condition, |part| {
        let name = match part {
            Expr::Identifier(name) => Some(name),
            Expr::CompoundIdentifier(names) => names.last(),
            _ => None,
        };
        if let Some(column) = name.and_then(|name| table.column(&names::identifier(name)))
            && !columns.contains(&column)
        {
            columns.push(column);
        }
        ControlFlow::<()>::Continue(())
    });
    columns
}

impl Planner<'_> {
    /// Adds a condition to a table. Errors: 42710 for a name that another constraint has.
    pub(super) fn add_check(&mut self, table: &mut TableSchema, check: CheckDefinition, is_valid: bool) -> Result<()> {
        self.rely_on_types(&check.condition);
        let condition = compile(&check.condition, table, &self.catalog)?;
        let columns = columns_of(&check.condition, table);
        let name = match check.name {
            Some(name) => {
                let of_key = table.primary_key_name.as_deref().map(namespace::bare) == Some(&name)
                    || table.indexes.iter().any(|index| index.constraint && namespace::bare(&index.name) == name);
                if of_key || table.checks.iter().any(|other| other.name == name) {
                    let message = format!("constraint \"{name}\" for relation \"{}\" already exists", table.name);
                    return Err(SqlError::new(sqlstate::DUPLICATE_OBJECT, message));
                }
                name
            }
            None => {
                let only = match (&check.column, columns.as_slice()) {
                    (Some(column), _) => Some(column.clone()),
                    (None, [column]) => Some(table.columns[*column].name.clone()),
                    (None, _) => None,
                };
                self.check_name(table, only.as_deref())
            }
        };
        let oid = self.next_number();
        let text = check.condition.to_string();
        table.checks.push(CheckSchema { name, oid, text, condition, columns, is_valid });
        // They are checked in the order of their names.
        table.checks.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(())
    }

    /// A name that no constraint has.
    fn check_name(&self, table: &TableSchema, column: Option<&str>) -> String {
        let columns: Vec<&str> = column.into_iter().collect();
        let is_beside = |other: &TableSchema| namespace::of(&other.name) == namespace::of(&table.name);
        let others = self.catalog.tables.values();
        let others = others.filter(|other| other.table.oid != table.oid && is_beside(&other.table));
        let names: Vec<&str> = others
            .flat_map(|other| &other.table.checks)
            .chain(&table.checks)
            .map(|check| check.name.as_str())
            .chain(self.domain_check_names(namespace::of(&table.name)))
            .collect();
        self.free_name_beside(&table.name, &columns, "check", &names)
    }

    /// A column has another name.
    pub(super) fn rename_in_checks(table: &mut TableSchema, position: usize, old: &str, new: &str) -> Result<()> {
        for check in table.checks.iter_mut().filter(|check| check.columns.contains(&position)) {
            let mut condition = parse::expression(&check.text)?;
            let quoted = names::quote(new).starts_with('"');
            let renamed = if quoted { ast::Ident::with_quote('"', new) } else { ast::Ident::new(new) };
            let _ = visit_expressions_mut(&mut condition, |part| {
                let name = match part {
                    Expr::Identifier(name) => Some(name),
                    Expr::CompoundIdentifier(names) => names.last_mut(),
                    _ => None,
                };
                if let Some(name) = name.filter(|name| names::identifier(name) == old) {
                    *name = renamed.clone();
                }
                ControlFlow::<()>::Continue(())
            });
            check.text = condition.to_string();
        }
        Ok(())
    }

    /// Columns have other types. Errors: those of conditions that do not fit any more.
    pub(super) fn compile_checks(&self, table: &mut TableSchema) -> Result<()> {
        for place in 0..table.checks.len() {
            let condition = parse::expression(&table.checks[place].text)?;
            table.checks[place].condition = compile(&condition, table, &self.catalog)?;
        }
        Ok(())
    }
}
