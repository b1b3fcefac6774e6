//! Calls of users' functions in statements.
//!
//! Invariant: what a statement needs and relies on includes what the functions that it calls need and rely on, one within the other.

use crate::sql::extension_functions::each_call;
use crate::sql::names;
use crate::sql::parse::{self, Statement};
use messages::schema::{Catalog, ProcedureSchema};
use sqlparser::ast;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The users' functions that a tree calls, by the catalog's names, which its calls have.
pub(super) fn called<T: ast::Visit>(part: &T, catalog: &Catalog) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each_call(part, |name| {
        let known = names::own_relation(name)
            .ok()
            .filter(|name| catalog.procedures.get(name).is_some_and(|(known, _)| known.function.is_some()));
        found.extend(known);
    });
    found
}

/// All functions that a tree calls, those that these call among them, with the statements that they are.
pub(super) fn called_within<T: ast::Visit>(part: &T, catalog: &Catalog) -> Vec<(Arc<ProcedureSchema>, parse::Parsed)> {
    let mut open: Vec<String> = called(part, catalog).into_iter().collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    while let Some(name) = open.pop() {
        let Some((known, _)) = catalog.procedures.get(&name).filter(|_| seen.insert(name.clone())) else { continue };
        let query = known.function.as_ref().map(|function| &function.query);
        let Some(parsed) = query.and_then(|query| parse::statement(query).ok().flatten()) else { continue };
        if let Statement::Sql(tree) = &parsed.statement {
            open.extend(tree.with(|statement| called(statement, catalog)));
        }
        found.push((known.clone(), parsed));
    }
    found
}
