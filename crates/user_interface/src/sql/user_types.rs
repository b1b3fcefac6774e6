//! CREATE, ALTER and DROP TYPE planned as catalog writes (PostgreSQL's `typecmds.c`, `pg_enum.c`).
//!
//! Invariants: a column carries the definition of its type, so each change of a type writes the rows of all tables that have it. Only a label that gets another
//! name is a change of rows: tables that have the type are copied, as by a change of a column's type. Whatever names a type relies on its row.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::{Planner, SchemaChange};
use crate::sql::definitions::default_expression;
use crate::sql::denials::{OwnerReach, denied_for};
use crate::sql::lookup::no_schema;
use crate::sql::names;
use crate::sql::parse;
use crate::sql::roles::find;
use crate::sql::settings::Facts;
use crate::sql::type_syntax::{DroppedTypes, LabelPlace, NewLabel, TypeAlteration, TypeStatement};
use crate::sql::types::{is_user_type, type_of, type_of_mut, types_named, user_type_name, user_type_name_mut};
use crate::sql::views::TableChange;
use messages::Key;
use messages::namespace::{self, OWN_TEMPORARY};
use messages::privilege::{Privileges, Rights};
use messages::schema::{Catalog, CatalogEntry, LabelSchema, ProcedureSchema, TableSchema, TypeSchema, TypeSchemaKind};
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
    }
    Ok(planner.finish())
}

/// What depends on a type that is to go.
enum TypeDependent {
    Column { table: String, column: String, is_array: bool },
    View(String),
    Default { table: String, column: String },
    Procedure(String, String),
}

impl TypeDependent {
    fn described(&self) -> String {
        match self {
            TypeDependent::Column { table, column, .. } => format!("column {column} of table {table}"),
            TypeDependent::View(name) => format!("view {name}"),
            TypeDependent::Default { table, column } => format!("default value for column {column} of table {table}"),
            TypeDependent::Procedure(_, described) => format!("function {described}"),
        }
    }
}

fn no_type(name: &str) -> Box<SqlError> {
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
fn is_of(column_type: Type, oid: u32) -> bool {
    let element = column_type.element().unwrap_or(column_type);
    matches!(element, Type::Enum(labels) if labels.oid() == oid)
}

/// A name as statements write it, with the number of its schema.
fn written(name: &str) -> String {
    let quoted = names::quote(namespace::bare(name));
    match (quoted.strip_prefix('"'), namespace::is_marked(name)) {
        (_, false) => quoted,
        (None, true) => name.to_owned(),
        (Some(_), true) => names::quote(name),
    }
}

/// Whether an expression names a type.
fn names_type<T: ast::Visit>(part: &T, name: &str) -> bool {
    let found = ast::visit_expressions(part, |expression| match type_of(expression).and_then(user_type_name) {
        Some(found) if names::own_relation(found).is_ok_and(|found| is_user_type(&found, name)) => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Whether a text stands in an expression.
fn has_literal<T: ast::Visit>(part: &T, text: &str) -> bool {
    let found = ast::visit_expressions(part, |expression| match expression {
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
    let _ = ast::visit_expressions_mut(part, |expression| {
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
fn renamed(text: &str, old: &str, new: &str) -> Result<String> {
    let mut expression = parse::expression(text)?;
    rename_type(&mut expression, old, new);
    Ok(expression.to_string())
}

impl Planner<'_> {
    pub(super) fn write_type(&mut self, known: TypeSchema) {
        self.write(CatalogEntry::type_key(&known.name), Some(CatalogEntry::Type(Arc::new(known))));
    }

    /// An object identifier for a type, and the next one for its arrays.
    fn next_type_number(&mut self) -> u32 {
        let mut number = self.next_number();
        if number % 2 == 1 {
            number = self.next_number();
        }
        self.next_number();
        number
    }

    /// Errors: 42710 for a name that a type or relation has.
    fn check_type_free(&self, name: &str) -> Result<()> {
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

    /// Whatever types an expression names must stay.
    pub(super) fn rely_on_types<T: ast::Visit>(&mut self, part: &T) {
        self.relied.extend(types_named(part).iter().map(|name| CatalogEntry::type_key(name)));
    }

    /// The same of a column's default and conditions.
    pub(super) fn rely_on_column(&mut self, definition: &ast::ColumnDef) {
        for option in &definition.options {
            match &option.option {
                ast::ColumnOption::Default(default) => self.rely_on_types(default),
                ast::ColumnOption::Check(check) => self.rely_on_types(&*check.expr),
                _ => {}
            }
        }
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

    fn alter_type(&mut self, name: &str, change: &TypeAlteration, facts: &Facts) -> Result<()> {
        let known = self.user_type(name)?;
        self.check_owns(&known.rights, "type", &known.written, OwnerReach::Object)?;
        let mut new = TypeSchema::clone(&known);
        match change {
            TypeAlteration::Add(label) => match self.add_label(&mut new, label)? {
                true => self.retype(&known, new, false),
                false => Ok(()),
            },
            TypeAlteration::RenameLabel(old, to) => {
                check_label(to)?;
                let TypeSchemaKind::Enum(labels) = &mut new.kind;
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
        let TypeSchemaKind::Enum(labels) = &mut known.kind;
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
            if table.view.is_some() && has_literal(&self.view_query(table)?, label) {
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
            for place in 0..to.foreign_keys.len() {
                for position in 0..to.foreign_keys[place].columns.len() {
                    let column = to.foreign_keys[place].columns[position];
                    if to.columns[column].default.is_some() && is_of(to.columns[column].column_type, old.oid) {
                        to.foreign_keys[place].defaults[position] = default_expression(&to, column, &self.catalog)?;
                    }
                }
            }
            match relabels && has_type && to.view.is_none() {
                true => self.rebuild(from, to, Vec::new()),
                false => self.write_table(to),
            }
        }
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
    fn rename_in_texts(&self, table: &mut TableSchema, old: &str, new: &str) -> Result<bool> {
        let mut is_named = false;
        if table.view.is_some() {
            let mut query = self.view_query(table)?;
            if names_type(&query, old) {
                rename_type(&mut query, old, new);
                table.view = Some(query.to_string().into());
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

    fn drop_types(&mut self, dropped: &DroppedTypes) -> Result<()> {
        for name in &dropped.names {
            let Some((known, _)) = self.catalog.types.get(name).cloned() else {
                self.not_droppable(name, dropped.if_exists)?;
                continue;
            };
            self.check_owns(&known.rights, "type", &known.written, OwnerReach::Schema)?;
            self.drop_type(&known, dropped.cascade)?;
        }
        Ok(())
    }

    /// Errors: 42704, 2BP01.
    fn not_droppable(&mut self, name: &str, if_exists: bool) -> Result<()> {
        let element = namespace::bare(name).strip_prefix('_').map(|element| namespace::beside(name, element));
        let required = |what: &str, by: &str| {
            SqlError::new(sqlstate::DEPENDENT_OBJECTS, format!("cannot drop type {what} because {by} requires it"))
                .with_hint(format!("You can drop {by} instead."))
        };
        if let Some((element, _)) = element.and_then(|element| self.catalog.types.get(&element)) {
            return Err(required(&format!("{}[]", element.written), &format!("type {}", element.written)));
        }
        if let Some(known) = self.catalog.tables.get(name).filter(|known| known.table.sequence.is_none()) {
            let word = if known.table.view.is_some() { "view" } else { "table" };
            return Err(required(&written(name), &format!("{word} {}", written(name))));
        }
        if let Ok(built_in) = namespace::bare(name).trim_start_matches("pg_catalog.").parse::<Type>() {
            let shown = built_in.base_name();
            let message = format!("cannot drop type {shown} because it is required by the database system");
            return Err(SqlError::new(sqlstate::DEPENDENT_OBJECTS, message));
        }
        if !if_exists {
            return Err(no_type(name));
        }
        self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("type \"{name}\" does not exist, skipping"));
        Ok(())
    }

    /// What depends on a type, in the order in which PostgreSQL tells it: arrays first, older objects before younger ones, later columns before earlier ones.
    fn type_dependents(&self, known: &TypeSchema) -> Result<Vec<TypeDependent>> {
        let mut tables: Vec<Arc<TableSchema>> = self.catalog.tables.values().map(|known| known.table.clone()).collect();
        tables.sort_by_key(|table| table.oid);
        let mut found = Vec::new();
        let mut views = BTreeSet::new();
        for is_array in [true, false] {
            for table in tables.iter().filter(|table| table.view.is_none()) {
                let columns = table.columns.iter().rev().filter(|column| !column.dropped);
                let own = columns.filter(|column| {
                    is_of(column.column_type, known.oid) && column.column_type.element().is_some() == is_array
                });
                for column in own {
                    let (table_name, column) = (table.name.clone(), column.name.clone());
                    let readers = self.views_reading(table, &TableChange::Column(&column))?;
                    found.push(TypeDependent::Column { table: table_name, column, is_array });
                    for view in readers {
                        if views.insert(view.oid) {
                            found.push(TypeDependent::View(view.name.clone()));
                        }
                    }
                }
                for column in table.columns.iter().filter(|_| !is_array) {
                    let Some(default) = &column.default else { continue };
                    if !is_of(column.column_type, known.oid) && names_type(&parse::expression(default)?, &known.name) {
                        let (table, column) = (table.name.clone(), column.name.clone());
                        found.push(TypeDependent::Default { table, column });
                    }
                }
                let named = |text: &str| parse::expression(text).is_ok_and(|text| names_type(&text, &known.name));
                if let Some(check) =
                    table.checks.iter().find(|check| !is_array && self.stays(table, check, known) && named(&check.text))
                {
                    let feature = format!("dropping a type that the constraint \"{}\" names", check.name);
                    return Err(SqlError::unsupported(feature).with_hint("Drop the constraint before."));
                }
            }
        }
        for view in tables.iter().filter(|table| table.view.is_some() && !views.contains(&table.oid)) {
            let shows = view.columns.iter().any(|column| is_of(column.column_type, known.oid));
            if shows || names_type(&self.view_query(view)?, &known.name) {
                found.push(TypeDependent::View(view.name.clone()));
            }
        }
        for (procedure, _) in self.catalog.procedures.values() {
            if procedure.parameters.iter().any(|(_, parameter)| is_of(*parameter, known.oid)) {
                let types: Vec<&str> = procedure.parameters.iter().map(|(_, known)| known.base_name()).collect();
                let described = format!("{}({})", procedure.name, types.join(","));
                found.push(TypeDependent::Procedure(procedure.name.clone(), described));
            }
        }
        Ok(found)
    }

    /// Whether a condition is over columns that do not go with the type.
    fn stays(&self, table: &TableSchema, check: &messages::schema::CheckSchema, known: &TypeSchema) -> bool {
        !check.columns.iter().any(|column| is_of(table.columns[*column].column_type, known.oid))
    }

    /// Drops a type. Errors: 2BP01 for what depends on it, unless CASCADE takes that along.
    pub(super) fn drop_type(&mut self, known: &TypeSchema, cascade: bool) -> Result<()> {
        let dependents = self.type_dependents(known)?;
        let shown = &known.written;
        if !dependents.is_empty() && !cascade {
            let line = |dependent: &TypeDependent| {
                let what = dependent.described();
                match dependent {
                    TypeDependent::Column { is_array: true, .. } => format!("{what} depends on type {shown}[]"),
                    TypeDependent::View(name) => format!("{what} depends on {}", self.view_reason(name, known)),
                    _ => format!("{what} depends on type {shown}"),
                }
            };
            let lines: Vec<String> = dependents.iter().map(line).collect();
            let message = format!("cannot drop type {shown} because other objects depend on it");
            return Err(SqlError::new(sqlstate::DEPENDENT_OBJECTS, message)
                .with_detail(lines.join("\n"))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let told = self.notices.len();
        for dependent in &dependents {
            if let TypeDependent::View(name) = dependent
                && self.catalog.tables.contains_key(name)
            {
                self.drop_view(name, true, &[])?;
            }
        }
        for dependent in &dependents {
            self.drop_type_dependent(dependent)?;
        }
        self.notices.truncate(told);
        let lines: Vec<String> =
            dependents.iter().map(|dependent| format!("drop cascades to {}", dependent.described())).collect();
        match lines.as_slice() {
            [] => {}
            [one] => self.notice(sqlstate::SUCCESSFUL_COMPLETION, one.clone()),
            several => {
                let message = format!("drop cascades to {} other objects", several.len());
                self.notices
                    .push(*SqlError::new(sqlstate::SUCCESSFUL_COMPLETION, message).with_detail(several.join("\n")));
            }
        }
        self.write(CatalogEntry::type_key(&known.name), None);
        Ok(())
    }

    /// What a view needs of a type: the last column that it reads, or the type itself.
    fn view_reason(&self, view: &str, known: &TypeSchema) -> String {
        for versioned in self.catalog.tables.values().filter(|versioned| versioned.table.view.is_none()) {
            let table = &versioned.table;
            for column in table.columns.iter().filter(|column| !column.dropped && is_of(column.column_type, known.oid))
            {
                let readers = self.views_reading(table, &TableChange::Column(&column.name));
                if readers.is_ok_and(|readers| readers.iter().any(|reader| reader.name == view)) {
                    return format!("column {} of table {}", column.name, table.name);
                }
            }
        }
        format!("type {}", known.written)
    }

    fn drop_type_dependent(&mut self, dependent: &TypeDependent) -> Result<()> {
        match dependent {
            TypeDependent::Column { table, column, .. } => {
                let mut table = TableSchema::clone(&*self.table(table)?);
                self.drop_column(&mut table, column, true, true)?;
                self.write_table(table);
            }
            TypeDependent::Default { table, column } => {
                let mut table = TableSchema::clone(&*self.table(table)?);
                for known in table.columns.iter_mut().filter(|known| known.name == *column) {
                    known.default = None;
                }
                self.write_table(table);
            }
            TypeDependent::Procedure(name, _) => self.write(CatalogEntry::procedure_key(name), None),
            TypeDependent::View(_) => {}
        }
        Ok(())
    }
}

fn no_label(label: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, format!("\"{label}\" is not an existing enum label"))
}

fn label_exists(label: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::DUPLICATE_OBJECT, format!("enum label \"{label}\" already exists"))
}

/// A default that is a label goes on being that one.
fn relabel_default(column: &mut messages::schema::Column, old: &TypeSchema, new: &TypeSchema) -> Result<()> {
    let Some(text) = &column.default else { return Ok(()) };
    let mut default = parse::expression(text)?;
    let name_now = |label: &str| {
        let place = old.labels().iter().position(|known| known.label == label)?;
        Some(new.labels()[place].label.clone())
    };
    let _ = ast::visit_expressions_mut(&mut default, |part| {
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
