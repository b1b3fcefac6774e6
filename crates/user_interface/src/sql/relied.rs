//! The catalog rows that a statement names.
//!
//! Invariant: a row that decides whether a statement can be compiled is among them.

use crate::sql::extension_functions::{each_call, extensions_called};
use crate::sql::function_calls::called_within;
use crate::sql::given::Context;
use crate::sql::names;
use crate::sql::parse::Statement;
use crate::sql::types::types_named;
use crate::sql::visits::visit_relations;
use messages::schema::{Catalog, CatalogEntry, CatalogVersions};
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
    let _ = visit_relations(statement, |name| {
        if let Ok(relation) = names::relation(name)
            && !found.contains(&relation.name)
        {
            found.push(relation.name);
        }
        ControlFlow::<()>::Continue(())
    });
    found
}

/// Catalog rows of all functions that a tree may call, were they made, and of what those read that there are.
pub(super) fn functions_called<T: ast::Visit>(part: &T, catalog: &Catalog) -> Vec<Key> {
    let mut keys = Vec::new();
    each_call(part, |name| keys.extend(names::own_relation(name).ok().map(|name| CatalogEntry::procedure_key(&name))));
    for (known, parsed) in called_within(part, catalog).all {
        keys.push(CatalogEntry::procedure_key(&known.name));
        if let Statement::Sql(tree) = &parsed.statement {
            let relations = tree.with(relations);
            keys.extend(relations.iter().map(|name| CatalogEntry::key(name)));
        }
    }
    keys.sort();
    keys.dedup();
    keys
}
