//! What a statement names that may be there at other sites already: it is looked at again before an error is told.

use crate::sql::extension_functions::{each_call, extensions_written};
use crate::sql::literals::text_of;
use crate::sql::lookup::{NameKind, NameLookup};
use crate::sql::names;
use crate::sql::parse::{self, Parsed, Statement};
use crate::sql::procedures;
use crate::sql::types::{types_named, user_type_name};
use crate::sql::utility::{Copy, CopySource, Utility};
use crate::sql::visits::visit_relations;
use messages::Key;
use sqlparser::ast;
use std::ops::ControlFlow;

/// Catalog rows of what a statement mentions, which decide whether it can be compiled.
pub fn mentioned(statement: &Statement, lookup: &NameLookup) -> Vec<Key> {
    let of_relations =
        |names: Vec<String>| names.iter().flat_map(|name| lookup.keys(NameKind::Relation, name)).collect();
    match statement {
        Statement::Sql(statement) => match &**statement {
            ast::Statement::Call(function) => {
                let name = names::own_relation(&function.name).ok();
                name.map(|name| lookup.keys(NameKind::Procedure, &name)).unwrap_or_default()
            }
            ast::Statement::Drop { names, .. } => {
                of_relations(names.iter().filter_map(|name| names::own_relation(name).ok()).collect())
            }
            _ => {
                let keys: Vec<Key> = of_relations(written_relations(statement));
                let types = written_types(statement);
                let types = types.iter().flat_map(|name| lookup.keys(NameKind::Type, name));
                let mut functions = Vec::new();
                each_call(&**statement, |name| {
                    let name = names::own_relation(name).ok();
                    functions.extend(name.into_iter().flat_map(|name| lookup.keys(NameKind::Procedure, &name)));
                });
                keys.into_iter().chain(types).chain(extensions_written(statement)).chain(functions).collect()
            }
        },
        Statement::Utility(utility) => match &**utility {
            Utility::Copy(Copy { source: CopySource::Table(name, _), .. }) => lookup.keys(NameKind::Relation, name),
            Utility::Refresh(refresh) => lookup.keys(NameKind::Relation, &refresh.name),
            Utility::LockTable(locking) => of_relations(locking.tables.clone()),
            Utility::Maintenance(maintenance) => of_relations(maintenance.relations()),
            Utility::Roles(roles) => roles.mentioned(lookup),
            Utility::Sequence(sequence) => sequence.mentioned(lookup),
            Utility::Types(statement) => statement.mentioned(lookup),
            Utility::Schemas(schemas) => schemas.mentioned(lookup),
            Utility::Explain(text, _) => {
                let explained = parse::statement(text).ok().flatten();
                // An EXPLAIN of an EXPLAIN is refused, however many stand one behind the other.
                let explained = explained.filter(|parsed| !matches!(parsed.statement, Statement::Utility(_)));
                explained.map_or_else(Vec::new, |parsed| mentioned(&parsed.statement, lookup))
            }
            Utility::System(statement) => statement.mentioned(),
            _ => Vec::new(),
        },
        Statement::Function(create) => {
            let text = match &create.function_body {
                Some(ast::CreateFunctionBody::AsBeforeOptions { body: ast::Expr::Value(text), .. }) => {
                    text_of(&text.value)
                }
                _ => None,
            };
            let body = text.and_then(|text| parse::statements(text).ok()).unwrap_or_default();
            let of_rows = |parsed: &&Parsed| matches!(parsed.statement, Statement::Sql(_));
            body.iter().filter(of_rows).flat_map(|parsed| mentioned(&parsed.statement, lookup)).collect()
        }
        Statement::Procedure(create) => {
            let body = procedures::definition(create).and_then(|procedure| parse::statements(&procedure.body));
            // A body has nothing else: one procedure within the other would take the stack.
            let of_rows = |parsed: &&Parsed| matches!(parsed.statement, Statement::Sql(_));
            body.iter().flatten().filter(of_rows).flat_map(|parsed| mentioned(&parsed.statement, lookup)).collect()
        }
    }
}

/// Names of the users' types that a statement mentions, as they were written.
fn written_types(statement: &ast::Statement) -> Vec<String> {
    let of_columns: Vec<&ast::DataType> = match statement {
        ast::Statement::CreateTable(create) => create.columns.iter().map(|column| &column.data_type).collect(),
        ast::Statement::AlterTable(alter) => alter.operations.iter().filter_map(type_of_alteration).collect(),
        _ => Vec::new(),
    };
    let names = of_columns.into_iter().filter_map(user_type_name);
    types_named(statement).into_iter().chain(names.filter_map(|name| names::own_relation(name).ok())).collect()
}

/// The type that a column gets.
fn type_of_alteration(operation: &ast::AlterTableOperation) -> Option<&ast::DataType> {
    match operation {
        ast::AlterTableOperation::AddColumn { column_def, .. } => Some(&column_def.data_type),
        ast::AlterTableOperation::AlterColumn {
            op: ast::AlterColumnOperation::SetDataType { data_type, .. }, ..
        } => Some(data_type),
        _ => None,
    }
}

/// Names of the relations that a statement mentions, as they were written.
fn written_relations(statement: &ast::Statement) -> Vec<String> {
    let mut found = Vec::new();
    let _ = visit_relations(statement, |name| {
        found.extend(names::own_relation(name).ok());
        ControlFlow::<()>::Continue(())
    });
    found
}
