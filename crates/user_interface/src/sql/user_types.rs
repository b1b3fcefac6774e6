//! CREATE, ALTER and DROP TYPE planned as catalog writes (PostgreSQL's `typecmds.c`, `pg_enum.c`).
//!
//! Invariants: a column carries the definition of its type, so each change of a type writes the rows of all tables that have it. Only a label that gets another
//! name is a change of rows: tables that have the type are copied, as by a change of a column's type. Whatever names a type relies on its row.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::{Planner, SchemaChange};
use crate::sql::denials::{OwnerReach, denied_for};
use crate::sql::extension_functions::extensions_called;
use crate::sql::lookup::no_schema;
use crate::sql::names;
use crate::sql::parse;
use crate::sql::roles::find;
use crate::sql::settings::Facts;
use crate::sql::type_syntax::{LabelPlace, NewLabel, TypeAlteration, TypeStatement};
use crate::sql::types::{is_user_type, type_of, type_of_mut, types_named, user_type_name, user_type_name_mut};
use crate::sql::visits::{visit_expressions, visit_expressions_mut};
use messages::Key;
use messages::namespace::{self, OWN_TEMPORARY};
use messages::privilege::{Privileges, Rights};
use messages::schema::{
    Catalog, CatalogEntry, Column, LabelSchema, ProcedureSchema, TableSchema, TypeSchema, TypeSchemaKind,
};
use privileges::Kind;
use sqlparser::ast::{self, Expr};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use values::Type;
use values::enumeration::EnumOrder;
use values::limits::ENUM_LABEL_BYTES_MAX;

/// Plans a statement about a type.
pub fn plan(statement: &TypeStatement, catalog: &Catalog, own: &BTreeSet<Key>, facts: &Facts) -> Result<SchemaChange> {
    let mut planner = Planner::new(catalog, own, facts);
    match statement {
        TypeStatement::Create(name, labels) => planner.create_type(name, labels)?,
        TypeStatement::Alter(name, change) => planner.alter_type(name, change, facts)?,
        TypeStatement::Drop(dropped) => planner.drop_types(dropped)?,
        TypeStatement::Domain(statement) => planner.domain(statement, facts)?,
    }
    Ok(planner.finish())
}

pub(super) fn no_type(name: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
}

/// Errors: 42602.
fn check_label(label: &str) -> Result<()> {
    match label.len() <= ENUM_LABEL_BYTES_MAX {
        true => Ok(()),
        false => Err(SqlError::new(sqlstate::INVALID_NAME, format!("invalid enum label \"{label}\""))
            .with_detail(format!("Labels must be {ENUM_LABEL_BYTES_MAX} bytes or less."))),
    }
}

/// Whether values of a column's type are of this enum, or arrays of it.
pub(super) fn is_of(column_type: Type, oid: u32) -> bool {
    let element = column_type.element().unwrap_or(column_type);
    matches!(element, Type::Enum(labels) if labels.oid() == oid)
}

/// A name as statements write it, with the number of its schema.
pub(super) fn written(name: &str) -> String {
    let quoted = names::quote(namespace::bare(name));
    match (quoted.strip_prefix('"'), namespace::is_marked(name)) {
        (_, false) => quoted,
        (None, true) => name.to_owned(),
        (Some(_), true) => names::quote(name),
    }
}

/// Whether an expression names a type.
pub(super) fn names_type<T: ast::Visit>(part: &T, name: &str) -> bool {
    let found = visit_expressions(part, |expression| match type_of(expression).and_then(user_type_name) {
        Some(found) if names::own_relation(found).is_ok_and(|found| is_user_type(&found, name)) => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Whether a text stands in an expression.
fn has_literal<T: ast::Visit>(part: &T, text: &str) -> bool {
    let found = visit_expressions(part, |expression| match expression {
        Expr::Value(value) if crate::sql::literals::text_of(&value.value).is_some_and(|found| found.contains(text)) => {
            ControlFlow::Break(())
        }
        Expr::TypedString(typed)
            if crate::sql::literals::text_of(&typed.value.value).is_some_and(|found| found.contains(text)) =>
        {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Gives a type another name wherever an expression has it.
fn rename_type<T: ast::VisitMut>(part: &mut T, old: &str, new: &str) {
    let _ = visit_expressions_mut(part, |expression| {
        if let Some(name) = type_of_mut(expression).and_then(user_type_name_mut)
            && names::own_relation(name).is_ok_and(|found| is_user_type(&found, old))
        {
            // Of an array's own name the underscore stays.
            let array = names::own_relation(name).is_ok_and(|found| found != old);
            let new =
                if array { namespace::beside(new, &format!("_{}", namespace::bare(new))) } else { new.to_owned() };
            *name = ast::ObjectName::from(vec![ast::Ident::with_quote('"', new)]);
        }
        ControlFlow::<()>::Continue(())
    });
}

/// The text of a default or condition with another name for a type.
pub(super) fn renamed(text: &str, old: &str, new: &str) -> Result<String> {
    let mut expression = parse::expression(text)?;
    rename_type(&mut expression, old, new);
    Ok(expression.to_string())
}

impl Planner<'_> {
    pub(super) fn write_type(&mut self, known: TypeSchema) {
        self.write(CatalogEntry::type_key(&known.name), Some(CatalogEntry::Type(Arc::new(known))));
    }

    /// An object identifier for a type, and the next one for its arrays.
    pub(super) fn next_type_number(&mut self) -> u32 {
        let mut number = self.next_number();
        if number % 2 == 1 {
            number = self.next_number();
        }
        self.next_number();
        number
    }

    /// Errors: 42710 for a name that a type or relation has.
    pub(super) fn check_type_free(&self, name: &str) -> Result<()> {
        let array = namespace::bare(name).strip_prefix('_').map(|element| namespace::beside(name, element));
        let is_array = array.is_some_and(|element| self.catalog.types.contains_key(&element));
        let is_table = self.catalog.tables.get(name).is_some_and(|known| known.table.sequence.is_none());
        match self.catalog.types.contains_key(name) || is_array || is_table {
            true => Err(SqlError::new(sqlstate::DUPLICATE_OBJECT, format!("type \"{name}\" already exists"))),
            false => Ok(()),
        }
    }

    /// Errors: 42710 for a relation that is called like a type.
    pub(super) fn check_no_type(&mut self, name: &str) -> Result<()> {
        if self.catalog.types.contains_key(name) {
            let message = format!("type \"{name}\" already exists");
            return Err(SqlError::new(sqlstate::DUPLICATE_OBJECT, message).with_hint(
                "A relation has an associated type of the same name, so you must use a name that doesn't conflict with any existing type.",
            ));
        }
        self.relied.insert(CatalogEntry::type_key(name));
        Ok(())
    }

    /// A column may have a type that its maker may use, and relies on it. Errors: 42501.
    pub(super) fn use_type(&mut self, column_type: Type) -> Result<()> {
        let Type::Enum(labels) = column_type.element().unwrap_or(column_type) else { return Ok(()) };
        let Some(known) = self.catalog.type_numbered(labels.oid()).cloned() else { return Ok(()) };
        if !self.standing.on(Kind::Type, &known.rights).contain(Privileges::USAGE) {
            return Err(denied_for("type", &known.written));
        }
        self.relied.insert(CatalogEntry::type_key(&known.name));
        Ok(())
    }

    /// Whatever types an expression names must stay, and whatever functions of extensions it calls.
    pub(super) fn rely_on_types<T: ast::Visit>(&mut self, part: &T) {
        for name in types_named(part) {
            self.touch_domain(&name);
        }
        self.relied.extend(extensions_called(part));
    }

    /// The same of a column with its default. Errors: as [`Planner::use_type`].
    pub(super) fn use_column_type(&mut self, column: &Column, definition: &ast::ColumnDef) -> Result<()> {
        for option in &definition.options {
            if let ast::ColumnOption::Default(default) = &option.option {
                self.rely_on_types(default);
            }
        }
        self.use_type_of(column)
    }

    fn create_type(&mut self, name: &str, labels: &[String]) -> Result<()> {
        if self.catalog.is_temporary(name) || namespace::of(name) == namespace::UNMADE_TEMPORARY {
            return Err(SqlError::unsupported("a temporary type"));
        }
        self.check_create(name)?;
        self.check_type_free(name)?;
        self.relied.insert(CatalogEntry::key(name));
        let oid = self.next_type_number();
        let mut kept: Vec<LabelSchema> = Vec::with_capacity(labels.len());
        for (number, (label, order)) in labels.iter().zip(EnumOrder::sequence()).enumerate() {
            check_label(label)?;
            if kept.iter().any(|other| other.label == *label) {
                let message = "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"";
                return Err(SqlError::new(sqlstate::UNIQUE_VIOLATION, message)
                    .with_detail(format!("Key (enumtypid, enumlabel)=({oid}, {label}) already exists.")));
            }
            let sort_order = (number + 1) as f32;
            kept.push(LabelSchema { oid: self.next_number(), order, sort_order, label: label.clone() });
        }
        let rights = Rights::of(self.standing.role.oid);
        let kind = TypeSchemaKind::Enum(kept);
        self.write_type(TypeSchema { name: name.to_owned(), written: written(name), oid, kind, rights });
        Ok(())
    }

    /// A user's type. Errors: 42704; 42809 for a type that is no enum.
    fn user_type(&self, name: &str) -> Result<Arc<TypeSchema>> {
        if let Some((known, _)) = self.catalog.types.get(name) {
            return Ok(known.clone());
        }
        let no_enum = |shown: &str| SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("{shown} is not an enum"));
        if let Some(known) = self.catalog.tables.get(name) {
            return Err(no_enum(&known.table.name));
        }
        match namespace::bare(name).trim_start_matches("pg_catalog.").parse::<Type>() {
            Ok(built_in) => Err(no_enum(built_in.base_name())),
            Err(_) => Err(no_type(name)),
        }
    }

    pub(super) fn alter_type(&mut self, name: &str, change: &TypeAlteration, facts: &Facts) -> Result<()> {
        let known = self.user_type(name)?;
        self.check_owns(&known.rights, "type", &known.written, OwnerReach::Object)?;
        let mut new = TypeSchema::clone(&known);
        if known.domain().is_some() && matches!(change, TypeAlteration::Add(_) | TypeAlteration::RenameLabel(..)) {
            let message = format!("{} is not an enum", known.written);
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        match change {
            TypeAlteration::Add(label) => match self.add_label(&mut new, label)? {
                true => self.retype(&known, new, false),
                false => Ok(()),
            },
            TypeAlteration::RenameLabel(old, to) => {
                check_label(to)?;
                let TypeSchemaKind::Enum(labels) = &mut new.kind else { return Ok(()) };
                let Some(place) = labels.iter().position(|label| label.label == *old) else {
                    return Err(no_label(old));
                };
                if labels.iter().any(|label| label.label == *to) {
                    return Err(label_exists(to));
                }
                labels[place].label = to.clone();
                self.check_unnamed(&known, old)?;
                self.retype(&known, new, true)
            }
            TypeAlteration::Rename(to) => self.rename(&known, namespace::beside(name, to)),
            TypeAlteration::Move(to) => {
                let schema = match to.as_str() {
                    OWN_TEMPORARY => None,
                    to => Some(self.catalog.namespace(to).ok_or_else(|| no_schema(to))?)
                        .filter(|to| to.temporary.is_none()),
                };
                let Some(schema) = schema else {
                    let message = "cannot move objects into or out of temporary schemas";
                    return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
                };
                let moved = namespace::within(namespace::bare(name), schema.oid);
                if moved == name {
                    return Ok(());
                }
                if self.check_type_free(&moved).is_err() {
                    let message = format!("type \"{}\" already exists in schema \"{to}\"", namespace::bare(name));
                    return Err(SqlError::new(sqlstate::DUPLICATE_OBJECT, message));
                }
                self.rename(&known, moved)
            }
            TypeAlteration::Give(owner) => {
                let owner = find(&self.catalog, owner, facts)?;
                self.give_type(new, &owner)
            }
        }
    }

    /// False: the label is there already, which is told.
    fn add_label(&mut self, known: &mut TypeSchema, new: &NewLabel) -> Result<bool> {
        check_label(&new.label)?;
        let TypeSchemaKind::Enum(labels) = &mut known.kind else { return Ok(false) };
        if labels.iter().any(|label| label.label == new.label) {
            if !new.if_not_exists {
                return Err(label_exists(&new.label));
            }
            let message = format!("{}, skipping", label_exists(&new.label).message);
            self.notice(sqlstate::DUPLICATE_OBJECT, message);
            return Ok(false);
        }
        let find = |neighbour: &String| {
            labels.iter().position(|label| label.label == *neighbour).ok_or_else(|| no_label(neighbour))
        };
        let place = match &new.place {
            LabelPlace::Last => labels.len(),
            LabelPlace::Before(neighbour) => find(neighbour)?,
            LabelPlace::After(neighbour) => find(neighbour)? + 1,
        };
        let low = place.checked_sub(1).map(|low| &labels[low]);
        let high = labels.get(place);
        let order = EnumOrder::between(low.map(|label| &label.order), high.map(|label| &label.order))?;
        let sort_order = match (low, high) {
            (None, None) => 1.0,
            (None, Some(high)) => high.sort_order - 1.0,
            (Some(low), None) => low.sort_order + 1.0,
            (Some(low), Some(high)) => (low.sort_order + high.sort_order) / 2.0,
        };
        let is_full = low.is_some_and(|low| low.sort_order == sort_order)
            || high.is_some_and(|high| high.sort_order == sort_order);
        labels.insert(place, LabelSchema { oid: self.next_number(), order, sort_order, label: new.label.clone() });
        if is_full {
            // As PostgreSQL counts anew.
            for (number, label) in labels.iter_mut().enumerate() {
                label.sort_order = (number + 1) as f32;
            }
        }
        Ok(true)
    }

    /// Errors: 0A000 for a label that a view or a condition may name: their texts are read anew.
    fn check_unnamed(&self, known: &TypeSchema, label: &str) -> Result<()> {
        for domain in self.catalog.types.values().filter_map(|(other, _)| other.domain()) {
            let texts = domain.checks.iter().map(|check| &check.text).chain(&domain.rules.default);
            for text in texts {
                let part = parse::expression(text)?;
                if has_literal(&part, label) && (is_of(domain.base, known.oid) || names_type(&part, &known.name)) {
                    let feature = format!("renaming a label that the domain {} may name", domain.rules.name);
                    return Err(SqlError::unsupported(feature));
                }
            }
        }
        let of_type = |table: &TableSchema| table.columns.iter().any(|column| is_of(column.column_type, known.oid));
        for versioned in self.catalog.tables.values() {
            let table = &versioned.table;
            for check in &table.checks {
                let condition = parse::expression(&check.text)?;
                if has_literal(&condition, label) && (of_type(table) || names_type(&condition, &known.name)) {
                    let feature = format!("renaming a label that the constraint \"{}\" names", check.name);
                    return Err(SqlError::unsupported(feature).with_hint("Drop the constraint, and make it anew."));
                }
            }
            if table.query().is_some() && has_literal(&self.view_query(table)?, label) {
                let feature = format!("renaming a label that the view \"{}\" may name", table.name);
                return Err(SqlError::unsupported(feature).with_hint("Drop the view, and make it anew."));
            }
        }
        Ok(())
    }

    /// Gives a type another name. Expressions go on naming it.
    fn rename(&mut self, known: &TypeSchema, name: String) -> Result<()> {
        self.check_create(&name)?;
        self.check_type_free(&name)?;
        self.relied.insert(CatalogEntry::key(&name));
        self.write(CatalogEntry::type_key(&known.name), None);
        let new = TypeSchema { written: written(&name), name, ..known.clone() };
        self.retype(known, new, false)
    }

    /// Puts a changed type in the place of what it was, wherever it is. `relabels`: rows have it, too.
    fn retype(&mut self, old: &TypeSchema, new: TypeSchema, relabels: bool) -> Result<()> {
        if new.domain().is_some() {
            return self.put_domain(old, new);
        }
        let data_type = new.data_type()?;
        let changed = |column_type: Type| match (is_of(column_type, old.oid), column_type.element()) {
            (false, _) => column_type,
            (true, None) => data_type,
            (true, Some(_)) => data_type.array(),
        };
        self.write_type(new.clone());
        let all: Vec<Arc<TableSchema>> = self.catalog.tables.values().map(|known| known.table.clone()).collect();
        for from in all {
            let mut to = TableSchema::clone(&from);
            let has_type = to.columns.iter().any(|column| is_of(column.column_type, old.oid));
            let is_named = self.rename_in_texts(&mut to, &old.name, &new.name)?;
            if !has_type && !is_named {
                continue;
            }
            for column in &mut to.columns {
                column.column_type = changed(column.column_type);
                if relabels && is_of(column.column_type, old.oid) {
                    column.missing = values::cast::assign(&column.missing, column.column_type)?;
                    relabel_default(column, old, &new)?;
                }
            }
            self.compile_checks(&mut to)?;
            self.compile_generated(&from, &mut to)?;
            self.compile_set_defaults(&mut to)?;
            match relabels && has_type && to.view.is_none() {
                true => self.rebuild(from, to, Vec::new()),
                false => self.write_table(to),
            }
        }
        self.retype_domains(old, &new, changed)?;
        let procedures: Vec<_> = self.catalog.procedures.values().map(|(known, _)| known.clone()).collect();
        for procedure in procedures {
            if procedure.parameters.iter().any(|(_, parameter)| is_of(*parameter, old.oid)) {
                let parameters =
                    procedure.parameters.iter().map(|(name, parameter)| (name.clone(), changed(*parameter)));
                let procedure =
                    ProcedureSchema { parameters: parameters.collect(), ..ProcedureSchema::clone(&procedure) };
                let key = CatalogEntry::procedure_key(&procedure.name);
                self.write(key, Some(CatalogEntry::Procedure(Arc::new(procedure))));
            }
        }
        Ok(())
    }

    /// Whether a table's defaults and conditions, or a view's query, name a type, which gets another name there.
    pub(super) fn rename_in_texts(&self, table: &mut TableSchema, old: &str, new: &str) -> Result<bool> {
        let mut is_named = false;
        if table.query().is_some() {
            let mut query = self.view_query(table)?;
            if names_type(&query, old) {
                rename_type(&mut query, old, new);
                let text: Arc<str> = query.to_string().into();
                match &mut table.materialized {
                    Some(materialized) => materialized.text = text,
                    None => table.view = Some(text),
                }
                is_named = true;
            }
        }
        let defaults = table.columns.iter_mut().filter_map(|column| column.default.as_mut());
        for text in defaults.chain(table.checks.iter_mut().map(|check| &mut check.text)) {
            // Most have no cast in them.
            if text.contains("::") || text.contains("CAST") {
                is_named |= names_type(&parse::expression(text)?, old);
                *text = renamed(text, old, new)?;
            }
        }
        Ok(is_named)
    }
}

fn no_label(label: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, format!("\"{label}\" is not an existing enum label"))
}

fn label_exists(label: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::DUPLICATE_OBJECT, format!("enum label \"{label}\" already exists"))
}

/// A default that is a label goes on being that one.
fn relabel_default(column: &mut Column, old: &TypeSchema, new: &TypeSchema) -> Result<()> {
    let Some(text) = &column.default else { return Ok(()) };
    let mut default = parse::expression(text)?;
    let name_now = |label: &str| {
        let place = old.labels().iter().position(|known| known.label == label)?;
        Some(new.labels()[place].label.clone())
    };
    let _ = visit_expressions_mut(&mut default, |part| {
        if let Expr::Value(value) = part
            && let Some(label) = crate::sql::literals::text_of(&value.value).and_then(name_now)
        {
            value.value = ast::Value::SingleQuotedString(label);
        }
        ControlFlow::<()>::Continue(())
    });
    column.default = Some(default.to_string());
    Ok(())
}
