//! Statements that change rows of a view whose triggers take the place of that.
//!
//! Invariant: such a statement is compiled as if the view were a table of its columns, for its errors, its parameters and what it gives back; that program never
//! runs.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::given::Context;
use crate::sql::parse::{self, Statement};
use crate::sql::prepared::{Plan, Prepared};
use crate::sql::row_guards::PolicyReader;
use crate::sql::views::{self, Expanded};
use messages::schema::{Catalog, TableSchema, VersionedTable};
use sqlparser::ast;
use std::sync::Arc;

/// Catalogs in which the view is a table: those of [`Context::all`] and [`Context::catalog`].
pub(super) struct ViewTables {
    all: Catalog,
    seen: Catalog,
}

impl ViewTables {
    /// For a statement on such a view.
    pub(super) fn of(expanded: Option<&Expanded>, statement: &ast::Statement, context: &Context) -> Option<ViewTables> {
        let view = expanded?.instead.as_ref()?;
        let with = |catalog: &Catalog| with_table(catalog, view, statement);
        Some(ViewTables { all: with(context.all), seen: with(context.catalog) })
    }

    /// What the statement is compiled with.
    pub(super) fn within<'a>(&'a self, context: &Context<'a>) -> Context<'a> {
        Context { all: &self.all, catalog: &self.seen, with_view: Some(context.all), ..*context }
    }
}

/// Rows that are there have all columns for a key; an INSERT finds no key that it could be in conflict with.
fn with_table(catalog: &Catalog, view: &TableSchema, statement: &ast::Statement) -> Catalog {
    let mut catalog = catalog.clone();
    let primary_key = match statement {
        ast::Statement::Insert(_) => Vec::new(),
        _ => (0..view.columns.len()).collect(),
    };
    let table = TableSchema { view: None, check_option: None, changed: Vec::new(), primary_key, ..view.clone() };
    if let Some(known) = catalog.tables.get_mut(&view.name) {
        *known = VersionedTable { table: Arc::new(table), ..known.clone() };
    }
    catalog
}

/// Has the query that describes a statement read the view.
pub(super) fn read_view(prepared: &mut Prepared, context: &Context) -> Result<()> {
    let (Plan::Feed(sql, ..), Some(catalog)) = (&mut prepared.plan, context.with_view) else { return Ok(()) };
    let broken = || SqlError::new(sqlstate::INTERNAL_ERROR, "a statement on a view has no query");
    let parsed = parse::statement(sql)?.ok_or_else(broken)?;
    let Statement::Sql(tree) = &parsed.statement else { return Err(broken()) };
    if let Some(expanded) = views::expand(tree, tree.depths().levels, catalog, PolicyReader::of(context.facts))? {
        *sql = expanded.statement.to_string().into();
    }
    Ok(())
}
