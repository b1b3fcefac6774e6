//! How statements on tables with triggers are executed.
//!
//! Invariant: a statement that fires nothing is what it would be without triggers.

use crate::errors::{Result, SqlError};
use crate::sql::expressions::Compiler;
use crate::sql::given::Context;
use crate::sql::parse::Parsed;
use crate::sql::prepared::{Plan, Prepared};
use messages::schema::CatalogEntry;
use sqlparser::ast;
use std::sync::Arc;
use values::Type;

/// What a statement that may fire triggers is compiled to: without them, it would be this.
pub(super) fn of_triggers(
    prepared: Prepared,
    parsed: &Parsed,
    statement: &ast::Statement,
    declared: &[Option<Type>],
    context: &Context,
) -> Result<Prepared> {
    let has_triggers = context.catalog.tables.values().any(|known| !known.table.triggers.is_empty());
    if parsed.is_row_change || prepared.undescribed || !has_triggers {
        return Ok(prepared);
    }
    let mut compiler = Compiler::of_statement(context, declared.to_vec());
    compiler.overriding = parsed.overriding;
    // Only programs lock the rows that they read: others would wait for each other when they write.
    let locks = matches!(prepared.plan, Plan::Program(_));
    let firing = match statement {
        ast::Statement::Insert(insert) => {
            compiler.firing_insert(insert, prepared.parameters.len(), prepared.source.len())?
        }
        ast::Statement::Update(update) => compiler.firing_update(update, locks)?,
        ast::Statement::Delete(delete) => compiler.firing_delete(delete, locks)?,
        _ => None,
    };
    let Some(firing) = firing else { return Ok(prepared) };
    if !context.view_checks.is_empty() {
        return Err(SqlError::unsupported("a check option of a view whose table has triggers"));
    }
    if parsed.is_replace() {
        return Err(SqlError::unsupported("replace of QUEL on a table with triggers"));
    }
    let functions = firing.triggers.iter().map(|(_, trigger)| CatalogEntry::procedure_key(&trigger.function.0));
    let functions = functions.map(|key| (key.clone(), context.all.version_of(&key)));
    let mentions = prepared.mentions.iter().cloned().chain(functions).collect();
    Ok(Prepared { plan: Plan::Firing(Arc::new(firing)), shareable: false, mentions, ..prepared })
}

/// A query that finds rows to be changed reads the newest, with locks, as a statement does that changes them: below the strict level as well.
pub(super) fn of_change(mut prepared: Prepared) -> Prepared {
    prepared.writes = true;
    if let Plan::Program(program) = &mut prepared.plan {
        Arc::make_mut(program).read_only = false;
    }
    prepared
}
