//! The catalog rows that a statement names.
//!
//! Invariant: a row that decides whether a statement can be compiled is among them.

use crate::sql::extension_functions::extensions_called;
use crate::sql::given::Context;
use crate::sql::names;
use crate::sql::types::types_named;
use crate::sql::user_functions::functions_called;
use messages::schema::{CatalogEntry, CatalogVersions};
use messages::{Key, Timestamp};
use sqlparser::ast;
use std::ops::ControlFlow;
use values::Type;

/// The catalog rows of what a statement names, with their versions: it relies on these rows already, and has these parameters.
pub(super) fn mentions_with(
    statement: &ast::Statement,
    relies_on: &[(Key, Timestamp)],
    parameters: &[Option<Type>],
    context: &Context,
) -> CatalogVersions {
    let relations = relations(statement).into_iter().map(|name| CatalogEntry::key(&name));
    let relations = relations.map(|key| (key.clone(), context.all.version_of(&key)));
    let types = types_named(statement).into_iter().map(|name| CatalogEntry::type_key(&name));
    let types = types.chain(extensions_called(statement)).chain(functions_called(statement, context.all));
    let types = types.map(|key| (key.clone(), context.all.version_of(&key)));
    let types = types.filter(|row| !relies_on.contains(row));
    let of_parameters = parameters.iter().flatten().filter(|known| known.has_labels());
    let of_parameters = of_parameters.filter_map(|known| context.all.type_numbered(known.oid() & !1));
    let of_parameters = of_parameters.map(|known| CatalogEntry::type_key(&known.name));
    let types = types.chain(of_parameters.map(|key| (key.clone(), context.all.version_of(&key))));
    relations.chain(types).chain(relies_on.iter().cloned()).collect()
}

/// Names of the relations that a statement mentions, system catalogs left out.
pub(super) fn relations(statement: &ast::Statement) -> Vec<String> {
    let mut found = Vec::new();
    let _ = ast::visit_relations(statement, |name| {
        if let Ok(relation) = names::relation(name)
            && !found.contains(&relation.name)
        {
            found.push(relation.name);
        }
        ControlFlow::<()>::Continue(())
    });
    found
}
