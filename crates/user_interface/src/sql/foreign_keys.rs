//! FOREIGN KEY: definitions, what depends on them, and which of them a program has to look at.
//!
//! Invariants: a foreign key refers to a primary key or a unique index, which stays while it does; whatever changes a table relies on the definitions of all
//! tables that refer to it, or that it refers to.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::Planner;
use crate::sql::definitions::default_expression;
use crate::sql::denials::denied_for;
use crate::sql::expressions::Compiler;
use crate::sql::names;
use messages::namespace;
use messages::privilege::Privileges;
use messages::program::{Action, ForeignKeyReference, Program};
use messages::schema::{
    Catalog, CatalogEntry, ForeignKeySchema, OnChange, TableSchema, TriggerEvent, TriggerSchema, TriggerTiming,
};
use messages::{Key, Timestamp};
use sqlparser::ast;
use std::sync::Arc;
use values::Type;

/// A foreign key as a statement gives it.
pub(super) struct ForeignKeyDefinition {
    name: Option<String>,
    columns: Vec<String>,
    constraint: ast::ForeignKeyConstraint,
}

impl ForeignKeyDefinition {
    /// Those beside a column.
    pub fn of_column(definition: &ast::ColumnDef) -> Vec<ForeignKeyDefinition> {
        let options = definition.options.iter();
        options
            .filter_map(|option| match &option.option {
                ast::ColumnOption::ForeignKey(constraint) => Some(ForeignKeyDefinition {
                    name: option.name.as_ref().or(constraint.name.as_ref()).map(names::identifier),
                    columns: vec![names::identifier(&definition.name)],
                    constraint: constraint.clone(),
                }),
                _ => None,
            })
            .collect()
    }

    /// One of a table.
    pub fn of_table(constraint: &ast::ForeignKeyConstraint) -> ForeignKeyDefinition {
        ForeignKeyDefinition {
            name: constraint.name.as_ref().map(names::identifier),
            columns: constraint.columns.iter().map(names::identifier).collect(),
            constraint: constraint.clone(),
        }
    }
}

fn on_change(action: Option<ast::ReferentialAction>) -> OnChange {
    match action {
        None | Some(ast::ReferentialAction::NoAction) => OnChange::NoAction,
        Some(ast::ReferentialAction::Restrict) => OnChange::Restrict,
        Some(ast::ReferentialAction::Cascade) => OnChange::Cascade,
        Some(ast::ReferentialAction::SetNull) => OnChange::SetNull,
        Some(ast::ReferentialAction::SetDefault) => OnChange::SetDefault,
    }
}

fn invalid(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(sqlstate::INVALID_FOREIGN_KEY, message)
}

/// Positions of columns. Errors: 42703.
fn positions(table: &TableSchema, names: &[String]) -> Result<Vec<usize>> {
    let position = |name: &String| {
        table.column(name).ok_or_else(|| {
            let message = format!("column \"{name}\" referenced in foreign key constraint does not exist");
            SqlError::new(sqlstate::UNDEFINED_COLUMN, message)
        })
    };
    names.iter().map(position).collect()
}

/// Whether a unique key of the table is of these columns.
fn is_unique(table: &TableSchema, columns: &[usize]) -> bool {
    let same = |key: &[usize]| key.len() == columns.len() && key.iter().all(|column| columns.contains(column));
    let mut indexes = table.indexes.iter().filter(|index| index.unique);
    (!table.has_hidden_key() && same(&table.primary_key))
        || indexes.any(|index| index.whole_columns().is_some_and(|columns| same(&columns)))
}

/// The columns that a foreign key of so many columns refers to. Errors: 42703, 42704, 42830.
fn referred_columns(parent: &TableSchema, given: &[ast::Ident], count: usize) -> Result<Vec<usize>> {
    let referred: Vec<String> = given.iter().map(names::identifier).collect();
    let parent_columns = match referred.is_empty() {
        true if parent.has_hidden_key() => {
            let message = format!("there is no primary key for referenced table \"{}\"", parent.name);
            return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, message));
        }
        true => parent.primary_key.clone(),
        false => positions(parent, &referred)?,
    };
    if count != parent_columns.len() {
        return Err(invalid("number of referencing and referenced columns for foreign key disagree"));
    }
    if !is_unique(parent, &parent_columns) {
        return Err(invalid(format!(
            "there is no unique constraint matching given keys for referenced table \"{}\"",
            parent.name
        )));
    }
    Ok(parent_columns)
}

/// Errors: 42804 for columns that cannot be compared.
fn check_types<'c>(
    table: &TableSchema,
    parent: &TableSchema,
    name: &str,
    pairs: impl Iterator<Item = (&'c usize, &'c usize)>,
) -> Result<()> {
    for (&column, &of) in pairs {
        let (left, right) = (&table.columns[column], &parent.columns[of]);
        if !are_comparable(left.column_type, right.column_type) {
            let message = format!("foreign key constraint \"{name}\" cannot be implemented");
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, message).with_detail(format!(
                "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                left.name,
                right.name,
                left.column_type.base_name(),
                right.column_type.base_name()
            )));
        }
    }
    Ok(())
}

fn are_comparable(left: Type, right: Type) -> bool {
    let is_whole = |one: Type| matches!(one, Type::SmallInt | Type::Integer | Type::BigInt);
    left.unmodified() == right.unmodified()
        || (is_whole(left) && is_whole(right))
        || (left.is_string() && right.is_string())
}

/// The foreign keys that a table has, or that refer to it.
fn of_table(catalog: &Catalog, table: u32) -> impl Iterator<Item = ForeignKeyReference> + '_ {
    let tables = catalog.tables.values().map(|versioned| &versioned.table);
    tables.flat_map(move |child| {
        let keys = child.foreign_keys.iter().enumerate();
        keys.filter(move |(_, key)| child.oid == table || key.parent == table).filter_map(move |(position, key)| {
            let parent = by_oid(catalog, key.parent)?;
            Some(ForeignKeyReference { child: Arc::clone(child), foreign_key: position, parent })
        })
    })
}

fn by_oid(catalog: &Catalog, oid: u32) -> Option<Arc<TableSchema>> {
    catalog.tables.values().map(|versioned| &versioned.table).find(|table| table.oid == oid).cloned()
}

/// The foreign keys that a change of these tables concerns, with those of the tables that are changed along.
pub(super) fn concerned(catalog: &Catalog, changed: impl IntoIterator<Item = u32>) -> Vec<ForeignKeyReference> {
    let mut todo: Vec<u32> = changed.into_iter().collect();
    let mut done = Vec::new();
    let mut found: Vec<ForeignKeyReference> = Vec::new();
    while let Some(table) = todo.pop() {
        if done.contains(&table) {
            continue;
        }
        done.push(table);
        for reference in of_table(catalog, table) {
            let key = &reference.child.foreign_keys[reference.foreign_key];
            let follows = |on_change| !matches!(on_change, OnChange::NoAction | OnChange::Restrict);
            if reference.parent.oid == table && (follows(key.on_delete) || follows(key.on_update)) {
                todo.push(reference.child.oid);
            }
            let is_new = |other: &ForeignKeyReference| {
                (other.child.oid, other.foreign_key) != (reference.child.oid, reference.foreign_key)
            };
            if found.iter().all(is_new) {
                found.push(reference);
            }
        }
    }
    found
}

/// The tables that a program's actions change or check.
fn changed(program: &Program) -> Vec<u32> {
    let table = |action: &Action| match action {
        Action::Insert { table, .. } | Action::CheckReferences { table } => Some(table.oid),
        Action::Update { source, .. } | Action::Delete { source, .. } => Some(source.table.oid),
        _ => None,
    };
    program.actions.iter().filter_map(table).collect()
}

/// Has a program look at the foreign keys that it concerns. The catalog rows that it relies on for that.
pub(super) fn look_at(catalog: &Catalog, program: &mut Program) -> Vec<(Key, Timestamp)> {
    let references = concerned(catalog, changed(program));
    let tables = references.iter().flat_map(|reference| [&reference.child, &reference.parent]);
    let relied = tables.filter_map(|table| {
        let key = CatalogEntry::key(&table.name);
        let version = catalog.version_of(&key);
        (version != Timestamp::ZERO).then_some((key, version))
    });
    let relied = relied.collect();
    program.references = references.into();
    relied
}

impl Compiler<'_> {
    /// Has a program look at the foreign keys that it concerns, and rely on their tables.
    pub(super) fn refer(&mut self, program: &mut Program) {
        for relied in look_at(self.catalog, program) {
            if !self.relies_on.contains(&relied) {
                self.relies_on.push(relied);
            }
        }
    }
}

/// Errors: 42601 for a foreign key that would change generated columns.
fn check_generated(table: &TableSchema, columns: &[usize], on_update: OnChange, on_delete: OnChange) -> Result<()> {
    if !columns.iter().any(|column| table.generated_column(*column).is_some()) {
        return Ok(());
    }
    let changes = [OnChange::Cascade, OnChange::SetNull, OnChange::SetDefault];
    let wrong = match (changes.contains(&on_update), changes[1..].contains(&on_delete)) {
        (true, _) => "UPDATE",
        (_, true) => "DELETE",
        _ => return Ok(()),
    };
    let message = format!("invalid ON {wrong} action for foreign key constraint containing generated column");
    Err(SqlError::new(sqlstate::SYNTAX_ERROR, message))
}

/// 0A000 for triggers that would have to fire for what foreign keys do to the rows of their table, or that would see rows without their generated columns.
pub(super) fn check_triggers(table: &TableSchema) -> Result<()> {
    let sees = |known: &TriggerSchema| {
        known.timing == TriggerTiming::After && (known.is_for_rows || !known.transitions.is_empty())
    };
    if !table.generated.is_empty() && table.triggers.iter().any(sees) {
        let feature = "a trigger AFTER each row, or with transition tables, on a table with generated columns";
        return Err(SqlError::unsupported(feature));
    }
    let fires = |event| table.triggers.iter().any(|known| known.events.has(event));
    let is_changed = |action: OnChange| !matches!(action, OnChange::NoAction | OnChange::Restrict);
    for key in &table.foreign_keys {
        let deletes = key.on_delete == OnChange::Cascade;
        let updates = is_changed(key.on_update) || (is_changed(key.on_delete) && !deletes);
        let event = match () {
            () if deletes && fires(TriggerEvent::Delete) => TriggerEvent::Delete,
            () if updates && fires(TriggerEvent::Update) => TriggerEvent::Update,
            () => continue,
        };
        let feature =
            format!("a trigger for {} on a table on which the foreign key \"{}\" does that", event.word(), key.name);
        return Err(SqlError::unsupported(feature));
    }
    Ok(())
}

impl Planner<'_> {
    /// Adds a foreign key to a table. Errors: 42P01, 42703, 42704, 42710, 42804, 42830.
    pub(super) fn add_foreign_key(
        &mut self,
        table: &mut TableSchema,
        definition: &ForeignKeyDefinition,
        is_valid: bool,
    ) -> Result<()> {
        let given = &definition.constraint;
        let parent_name = self.made_name(&names::own_relation(&given.foreign_table)?)?;
        let parent = if parent_name == table.name { Arc::new(table.clone()) } else { self.table(&parent_name)? };
        self.check_persistence(table, &parent)?;
        let columns = positions(table, &definition.columns)?;
        check_generated(table, &columns, on_change(given.on_update), on_change(given.on_delete))?;
        let parent_columns = referred_columns(&parent, &given.referred_columns, columns.len())?;
        let may = |column: &usize| {
            let granted = self.standing.on_table(&parent) | self.standing.on_column(&parent, *column);
            granted.contain(Privileges::REFERENCES)
        };
        if !parent_columns.iter().all(may) {
            return Err(denied_for("table", &parent_name));
        }
        let name = match &definition.name {
            Some(name) if has_constraint(table, name) => {
                let message = format!("constraint \"{name}\" for relation \"{}\" already exists", table.name);
                return Err(SqlError::new(sqlstate::DUPLICATE_OBJECT, message));
            }
            Some(name) => name.clone(),
            None => {
                let names: Vec<&str> = definition.columns.iter().map(String::as_str).collect();
                let others: Vec<&str> = table.foreign_keys.iter().map(|key| key.name.as_str()).collect();
                self.free_name_beside(&table.name, &names, "fkey", &others)
            }
        };
        check_types(table, &parent, &name, columns.iter().zip(&parent_columns))?;
        let (is_deferrable, is_deferred) = deferral(given.characteristics.as_ref())?;
        let defaults = columns.iter().map(|&column| default_expression(table, column, &self.catalog));
        let key = ForeignKeySchema {
            name,
            defaults: defaults.collect::<Result<_>>()?,
            oid: self.next_number(),
            columns,
            parent: parent.oid,
            parent_columns,
            on_delete: on_change(given.on_delete),
            on_update: on_change(given.on_update),
            is_full: is_full(given.match_kind)?,
            is_deferrable,
            is_deferred,
            is_valid,
        };
        table.foreign_keys.push(key);
        check_triggers(table)?;
        if parent.oid != table.oid {
            // What changes it was compiled without the new foreign key.
            self.write_table(TableSchema::clone(&parent));
        }
        Ok(())
    }

    /// Foreign keys of other tables that refer to this one, unless these tables go, too.
    fn referring(&self, table: u32, but: &[String]) -> Vec<ForeignKeyReference> {
        let references = of_table(&self.catalog, table);
        let refers = |reference: &ForeignKeyReference| {
            reference.parent.oid == table && reference.child.oid != table && !but.contains(&reference.child.name)
        };
        references.filter(refers).collect()
    }

    /// What refers to a table, or to a key of it, when that goes. Errors: 2BP01, unless CASCADE takes it along.
    pub(super) fn drop_referring(
        &mut self,
        what: &str,
        table: &TableSchema,
        columns: Option<&[usize]>,
        but: &[String],
        cascade: bool,
    ) -> Result<()> {
        let mut referring = self.referring(table.oid, but);
        if let Some(columns) = columns {
            referring.retain(|reference| {
                let key = &reference.child.foreign_keys[reference.foreign_key];
                key.parent_columns.iter().any(|column| columns.contains(column))
            });
        }
        let mut dependents = Vec::new();
        for reference in referring {
            let name = reference.child.foreign_keys[reference.foreign_key].name.clone();
            let dependent = format!("constraint {name} on table {}", reference.child.name);
            if !cascade {
                return Err(SqlError::needed(what, format!("{dependent} depends on {}", depended(what, table))));
            }
            dependents.push(format!("drop cascades to {dependent}"));
            let mut child = TableSchema::clone(&*self.table(&reference.child.name)?);
            child.foreign_keys.retain(|key| key.name != name);
            self.write_table(child);
        }
        self.tell_cascades(&dependents);
        Ok(())
    }

    /// The tables to be truncated, with those that refer to them if CASCADE says so. Errors: 0A000 for a table that another refers to.
    pub(super) fn truncated(&mut self, names: Vec<String>, cascade: bool) -> Result<Vec<String>> {
        let mut all = names;
        let mut at = 0;
        while let Some(name) = all.get(at).cloned() {
            at += 1;
            let table = self.table(&name)?;
            for reference in self.referring(table.oid, &all) {
                let child = &reference.child.name;
                if !cascade {
                    let message = "cannot truncate a table referenced in a foreign key constraint";
                    return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message)
                        .with_detail(format!("Table \"{child}\" references \"{name}\"."))
                        .with_hint(format!(
                            "Truncate table \"{child}\" at the same time, or use TRUNCATE ... CASCADE."
                        )));
                }
                if !all.contains(child) {
                    self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("truncate cascades to table \"{child}\""));
                    all.push(child.clone());
                }
            }
        }
        Ok(all)
    }
}

fn depended(what: &str, table: &TableSchema) -> String {
    match what.strip_prefix("constraint ").and_then(|rest| rest.split(" on ").next()) {
        Some(name) => format!("index {name}"),
        None if what.starts_with("column ") => what.to_string(),
        None => format!("table {}", table.name),
    }
}

/// Whether the table has a constraint of this name.
pub(super) fn has_constraint(table: &TableSchema, name: &str) -> bool {
    table.primary_key_name.as_deref().map(namespace::bare) == Some(name)
        || table.indexes.iter().any(|index| index.constraint && namespace::bare(&index.name) == name)
        || table.checks.iter().any(|check| check.name == name)
        || table.foreign_keys.iter().any(|key| key.name == name)
}

fn is_full(kind: Option<ast::ConstraintReferenceMatchKind>) -> Result<bool> {
    match kind {
        None | Some(ast::ConstraintReferenceMatchKind::Simple) => Ok(false),
        Some(ast::ConstraintReferenceMatchKind::Full) => Ok(true),
        Some(ast::ConstraintReferenceMatchKind::Partial) => {
            Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, "MATCH PARTIAL not yet implemented"))
        }
    }
}

/// Whether it may be put off, and whether it is. Errors: 42601, 0A000.
fn deferral(characteristics: Option<&ast::ConstraintCharacteristics>) -> Result<(bool, bool)> {
    let Some(given) = characteristics else { return Ok((false, false)) };
    if given.enforced == Some(false) {
        return Err(SqlError::unsupported("NOT ENFORCED"));
    }
    let is_deferred = given.initially == Some(ast::DeferrableInitial::Deferred);
    if is_deferred && given.deferrable == Some(false) {
        let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
        return Err(SqlError::new(sqlstate::SYNTAX_ERROR, message));
    }
    Ok((given.deferrable.unwrap_or(is_deferred), is_deferred))
}
