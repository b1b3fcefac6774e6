//! Tables of which policies hold something back, or views whose rows are changed, as the compiler meets them: behind the query that stands in their place.
//!
//! Invariant: a program that reads such a table tests the policies first; one that knows nothing of them is refused.

use crate::errors::{Result, SqlError};
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::names;
use crate::sql::scope::HeldTable;
use crate::sql::types::{Compiled, beyond};
use messages::namespace;
use messages::program::Expression;
use messages::query::ROW_SECURITY_WINDOW;
use messages::schema::{Catalog, TableSchema, VersionedTable};
use privileges::Standing;
use sqlparser::ast::{self, ObjectName, TableAlias, TableFactor};
use values::Value;

/// Whether policies hold something of a table back from a role.
pub fn are_held(table: &TableSchema, catalog: &Catalog, role: u32) -> bool {
    table.row_security.is_enabled && Standing::of(catalog, role).is_held_by_policies(table)
}

/// What stands before the rows of a table, and what is to be read of it.
pub struct GuardParts<'a> {
    /// The table.
    pub name: &'a ObjectName,
    /// What the statement calls it.
    pub alias: &'a TableAlias,
    /// Which rows are let through.
    pub condition: &'a ast::Expr,
}

/// The parts of a query that stands in the place of a table; `None`: it is something else.
pub fn guard_of(factor: &TableFactor) -> Option<GuardParts<'_>> {
    let TableFactor::Derived { subquery, alias: Some(alias), .. } = factor else { return None };
    let ast::SetExpr::Select(select) = subquery.body.as_ref() else { return None };
    let [ast::NamedWindowDefinition(window, _)] = select.named_window.as_slice() else { return None };
    let [ast::TableWithJoins { relation: TableFactor::Table { name, .. }, .. }] = select.from.as_slice() else {
        return None;
    };
    let condition = select.selection.as_ref().filter(|_| window.value == ROW_SECURITY_WINDOW)?;
    Some(GuardParts { name, alias, condition })
}

impl Compiler<'_> {
    /// A plain table, or one of which policies hold something back.
    pub fn held_factor(&mut self, factor: &TableFactor) -> Compiled<HeldTable> {
        let Some(parts) = guard_of(factor).filter(|_| !self.is_of_procedure()) else {
            let (name, versioned) = self.table_factor(factor)?;
            return Ok(HeldTable { name, versioned, condition: None });
        };
        let (name, versioned) = self.held_name(&parts)?;
        let table = &versioned.table;
        let scope = Scope::table(namespace::bare(&table.name), table);
        // What a policy says that has no value is as good as false, and nothing behind it is computed then.
        let condition = self.condition(parts.condition, "POLICY", &scope)?;
        let holds = Expression::Coalesce(vec![condition.clone(), Expression::Constant(Value::Boolean(false))]);
        let condition = match &condition {
            // It may say by which key rows are found.
            Expression::Binary(..) | Expression::And(_) | Expression::Any(..) | Expression::In(..) => {
                Expression::And(vec![condition, holds])
            }
            _ => holds,
        };
        self.used_facts = true;
        Ok(HeldTable { name, versioned, condition: Some(condition) })
    }

    /// The table alone: the query that feeds the statement tests the condition.
    pub fn held_target(&mut self, factor: &TableFactor) -> Compiled<(String, VersionedTable)> {
        match guard_of(factor).filter(|_| !self.is_of_procedure()) {
            None => self.table_factor(factor),
            Some(parts) => {
                self.used_facts = true;
                self.held_name(&parts)
            }
        }
    }

    fn held_name(&mut self, parts: &GuardParts) -> Compiled<(String, VersionedTable)> {
        if !parts.alias.columns.is_empty() {
            return Err(beyond("this form of FROM"));
        }
        Ok((names::identifier(&parts.alias.name), self.table(parts.name)?))
    }

    /// Errors: 0A000 for a table of which policies hold something back, where nobody looks at these.
    pub(super) fn check_not_held(&self, table: &TableSchema) -> Result<()> {
        match are_held(table, self.catalog, self.facts.role) {
            false => Ok(()),
            true => {
                let name = namespace::bare(&table.name);
                Err(SqlError::unsupported(format!("row-level security of the table \"{name}\" here")))
            }
        }
    }
}

/// The table itself, in the place of what stands in its place.
pub(super) fn without_guard(factor: &mut TableFactor) {
    if let Some(GuardParts { name, alias, .. }) = guard_of(factor) {
        *factor = table_called(name.clone(), Some(alias.clone()));
    }
}

pub(super) fn table_called(name: ObjectName, alias: Option<TableAlias>) -> TableFactor {
    TableFactor::Table {
        name,
        alias,
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    }
}
