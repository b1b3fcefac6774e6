//! Names of WITH in a statement of several parts: what they are, and where they are read.
//!
//! Invariant: a name is found where it may mean a query of the statement's own WITH, not where a WITH within gives it another meaning.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::WITH_QUERIES_MAX;
use crate::sql::names;
use sqlparser::ast::{self, SetExpr};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Whether a query changes rows.
pub(super) fn is_change(query: &ast::Query) -> bool {
    use SetExpr::{Delete, Insert, Merge, Update};
    matches!(query.body.as_ref(), Insert(_) | Update(_) | Delete(_) | Merge(_))
}

/// Whether a WITH clause has a query that changes rows.
pub(super) fn has_change(with: Option<&ast::With>) -> bool {
    with.is_some_and(|with| with.cte_tables.iter().any(|table| is_change(&table.query)))
}

/// A query of a WITH clause.
pub(super) struct WithItem<'a> {
    /// Its name.
    pub name: String,
    /// As it stands there.
    pub table: &'a ast::Cte,
    /// What it is.
    pub query: &'a ast::Query,
    /// Where its name stands.
    pub position: Option<usize>,
}

impl WithItem<'_> {
    /// Whether it changes rows and says nothing of them.
    pub fn returns_nothing(&self) -> bool {
        match self.query.body.as_ref() {
            SetExpr::Insert(ast::Statement::Insert(insert)) => insert.returning.is_none(),
            SetExpr::Update(ast::Statement::Update(update)) => update.returning.is_none(),
            SetExpr::Delete(ast::Statement::Delete(delete)) => delete.returning.is_none(),
            _ => false,
        }
    }
}

/// The queries of a WITH clause. Errors: 54000, 42712 for a name twice, 0A000 for MERGE.
pub(super) fn items_of<'a>(with: Option<&'a ast::With>, text: &str) -> Result<Vec<WithItem<'a>>> {
    let mut items: Vec<WithItem> = Vec::new();
    if with.is_some_and(|with| with.cte_tables.len() > WITH_QUERIES_MAX) {
        let message =
            format!("a statement that changes rows in WITH may have at most {WITH_QUERIES_MAX} queries there");
        return Err(SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
    }
    for table in with.iter().flat_map(|with| &with.cte_tables) {
        let name = names::identifier(&table.alias.name);
        let position = names::place(&table.alias.name, text);
        if items.iter().any(|item| item.name == name) {
            let message = format!("WITH query name \"{name}\" specified more than once");
            return Err(SqlError::new(sqlstate::DUPLICATE_ALIAS, message).at(position));
        }
        if matches!(table.query.body.as_ref(), SetExpr::Merge(_)) {
            let message = "MERGE not supported in WITH query";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message).at(position));
        }
        if is_change(&table.query) && table.query.with.is_some() {
            return Err(SqlError::unsupported("WITH within a WITH query that changes rows"));
        }
        items.push(WithItem { name, table, query: &table.query, position });
    }
    Ok(items)
}

/// Collects names of relations, but those that a WITH around them gives.
#[derive(Default)]
pub(super) struct NamesRead {
    hidden: Vec<BTreeSet<String>>,
    found: Vec<(String, ast::Ident)>,
}

impl ast::Visitor for NamesRead {
    type Break = ();

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        self.hidden.push(tables.map(|table| names::identifier(&table.alias.name)).collect());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
        self.hidden.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ast::ObjectName) -> ControlFlow<()> {
        if let [ast::ObjectNamePart::Identifier(part)] = relation.0.as_slice() {
            let name = names::identifier(part);
            if !self.hidden.iter().any(|hidden| hidden.contains(&name)) {
                self.found.push((name, part.clone()));
            }
        }
        ControlFlow::Continue(())
    }
}

/// The names of relations that are read, each as it was written; `target` is inserted into, which is no reading.
pub(super) fn mentions_of(
    visit: impl FnOnce(&mut NamesRead) -> ControlFlow<()>,
    target: Option<&ast::ObjectName>,
) -> Vec<(String, ast::Ident)> {
    let mut names = NamesRead::default();
    let _ = visit(&mut names);
    let mut found = names.found;
    let target = target.and_then(|name| names::own_relation(name).ok());
    if let Some(place) = target.and_then(|target| found.iter().position(|(name, _)| *name == target)) {
        found.remove(place);
    }
    found
}

/// Looks for WITH queries that change rows where none may be.
struct Nested<'a> {
    /// Queries that may change rows: those of the statement's own WITH.
    allowed: BTreeSet<*const ast::Query>,
    text: &'a str,
    depth: usize,
}

impl ast::Visitor for Nested<'_> {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<Box<SqlError>> {
        self.depth += 1;
        if self.depth > 1 && is_change(query) && !self.allowed.contains(&std::ptr::from_ref(query)) {
            let near = match query.body.as_ref() {
                SetExpr::Update(_) => "SET",
                SetExpr::Delete(_) => "FROM",
                _ => "INTO",
            };
            return ControlFlow::Break(SqlError::syntax(near));
        }
        if self.depth > 1 && has_change(query.with.as_ref()) {
            let mut tables = query.with.iter().flat_map(|with| &with.cte_tables);
            let position = tables.find(|table| is_change(&table.query));
            let position = position.and_then(|table| names::place(&table.alias.name, self.text));
            let message = "WITH clause containing a data-modifying statement must be at the top level";
            return ControlFlow::Break(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message).at(position));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &ast::Query) -> ControlFlow<Box<SqlError>> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

/// Errors: 0A000 for a WITH query that changes rows below the top of a statement, 42601 for a change of rows that is no query of WITH.
pub(super) fn check_nested(statement: &ast::Statement, text: &str) -> Result<()> {
    let (with, depth) = match statement {
        ast::Statement::Query(query) => (query.with.as_ref(), 0),
        _ => (None, 1),
    };
    let allowed = with.iter().flat_map(|with| &with.cte_tables).map(|table| std::ptr::from_ref(table.query.as_ref()));
    let mut nested = Nested { allowed: allowed.collect(), text, depth };
    match ast::Visit::visit(statement, &mut nested) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}
