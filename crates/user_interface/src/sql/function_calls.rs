//! Calls of users' functions in statements.
//!
//! Invariant: what a statement needs and relies on includes what the functions that it calls need and rely on, one within the other.

use crate::errors::{SqlError, sqlstate};
use crate::sql::extension_functions::each_call;
use crate::sql::names;
use crate::sql::parse::{self, Statement};
use messages::limits::FUNCTION_BYTES_MAX;
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

/// The functions that a tree calls, those that these call among them.
#[derive(Default)]
pub(super) struct CalledFunctions {
    /// Each with the statement that it is, and with those that its defaults are.
    pub all: Vec<(Arc<ProcedureSchema>, parse::Parsed)>,
    /// Whether there are more: they are too long to be read, or cannot be.
    pub has_more: bool,
}

/// All functions that a tree calls.
pub(super) fn called_within<T: ast::Visit>(part: &T, catalog: &Catalog) -> CalledFunctions {
    let mut open: Vec<String> = called(part, catalog).into_iter().collect();
    let mut seen = BTreeSet::new();
    let (mut found, mut bytes) = (CalledFunctions::default(), 0);
    while let Some(name) = open.pop() {
        let Some((known, _)) = catalog.procedures.get(&name).filter(|_| seen.insert(name.clone())) else { continue };
        let Some(function) = &known.function else { continue };
        let defaults = function.defaults.iter().map(|default| format!("SELECT {default}"));
        // What one in PL/pgSQL needs is found out when it runs.
        let query = if known.plpgsql.is_some() { "SELECT NULL".to_owned() } else { function.query.clone() };
        for text in std::iter::once(query).chain(defaults) {
            bytes += text.len();
            let parsed = if bytes > FUNCTION_BYTES_MAX { None } else { parse::statement(&text).ok().flatten() };
            let Some(parsed) = parsed else {
                found.has_more = true;
                return found;
            };
            if let Statement::Sql(tree) = &parsed.statement {
                open.extend(tree.with(|statement| called(statement, catalog)));
            }
            found.all.push((known.clone(), parsed));
        }
    }
    found
}

/// Whether a tree calls functions in PL/pgSQL.
pub(super) fn calls_routines<T: ast::Visit>(part: &T, catalog: &Catalog) -> bool {
    let is_routine = |known: &ProcedureSchema| known.plpgsql.is_some() && known.function.is_some();
    let has_routines = catalog.procedures.values().any(|(known, _)| is_routine(known));
    has_routines && called_within(part, catalog).all.iter().any(|(known, _)| is_routine(known))
}

/// 54000 for a statement that calls functions which are too long to be read for it.
pub(super) fn too_long() -> Box<SqlError> {
    let message = format!("the functions that a statement calls may have {FUNCTION_BYTES_MAX} bytes together");
    SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message)
}
