//! ALTER TABLE and ALTER INDEX planned as catalog writes and rebuilds.
//!
//! Invariant: a change that alters where rows lie (a primary key) or what they may hold (a type, NOT NULL) gives the table new storages and
//! copies the rows into them; a new column leaves them as they are, and the schema says what they lack.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::checks::CheckDefinition;
use crate::sql::column_types::{Fill, fill_missing, set_type};
use crate::sql::ddl::Planner;
use crate::sql::definitions::{
    KeyDefinition, check_column_count, check_default, column, column_keys, default_expression, generation_expression,
    table_key,
};
use crate::sql::denials::OwnerReach;
use crate::sql::foreign_keys::{ForeignKeyDefinition, check_triggers, has_constraint};
use crate::sql::generated;
use crate::sql::names;
use crate::sql::role_syntax::Named;
use crate::sql::roles::find;
use crate::sql::sequences;
use crate::sql::set_clauses::no_column;
use crate::sql::settings::Facts;
use crate::sql::trigger_conditions;
use crate::sql::triggers;
use crate::sql::views::TableChange;
use messages::namespace;
use messages::program::{Action, Expression};
use messages::schema::{Catalog, Column, GeneratedColumn, TableSchema};
use sqlparser::ast::{self, AlterColumnOperation, AlterTableOperation};
use std::sync::Arc;
use values::Value;

impl Planner<'_> {
    pub(super) fn alter_table(&mut self, alter: &ast::AlterTable, facts: &Facts) -> Result<()> {
        let name = names::own_relation(&alter.name)?;
        if alter.if_exists && !self.catalog.tables.contains_key(&name) {
            self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("relation \"{name}\" does not exist, skipping"));
            return Ok(());
        }
        for operation in &alter.operations {
            let from = self.altered(operation, &name)?;
            self.check_owns_table(&from)?;
            if let AlterTableOperation::OwnerTo { new_owner } = operation {
                let owner = find(&self.catalog, &Named::of(new_owner), facts)?;
                self.give_table(TableSchema::clone(&from), &owner)?;
                continue;
            }
            self.alter(operation, from)?;
        }
        Ok(())
    }

    /// What is altered: a table, or a view where what is done can be done to it. Errors: 42P01, 42809.
    fn altered(&self, operation: &AlterTableOperation, name: &str) -> Result<Arc<TableSchema>> {
        let known = self.catalog.tables.get(name).map(|known| &known.table);
        let is_view = |known: &&Arc<TableSchema>| known.query().is_some() || known.sequence.is_some();
        let Some(view) = known.filter(is_view) else { return self.table(name) };
        let action = match operation {
            AlterTableOperation::RenameColumn { .. } if view.sequence.is_some() => {
                let message = format!("cannot rename columns of relation \"{name}\"");
                let detail = "This operation is not supported for sequences.".to_owned();
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message).with_detail(detail));
            }
            AlterTableOperation::RenameTable { .. }
            | AlterTableOperation::RenameColumn { .. }
            | AlterTableOperation::OwnerTo { .. } => return Ok(view.clone()),
            AlterTableOperation::AddColumn { .. } => "ADD COLUMN",
            AlterTableOperation::DropColumn { .. } => "DROP COLUMN",
            AlterTableOperation::AddConstraint { .. } => "ADD CONSTRAINT",
            AlterTableOperation::DropConstraint { .. } => "DROP CONSTRAINT",
            AlterTableOperation::EnableRowLevelSecurity => "ENABLE ROW SECURITY",
            AlterTableOperation::DisableRowLevelSecurity => "DISABLE ROW SECURITY",
            AlterTableOperation::ForceRowLevelSecurity => "FORCE ROW SECURITY",
            AlterTableOperation::NoForceRowLevelSecurity => "NO FORCE ROW SECURITY",
            AlterTableOperation::EnableTrigger { .. } => "ENABLE TRIGGER",
            AlterTableOperation::DisableTrigger { .. } => "DISABLE TRIGGER",
            other => return Err(SqlError::unsupported(format!("ALTER {} {other}", view.kind().word().to_uppercase()))),
        };
        let message = format!("ALTER action {action} cannot be performed on relation \"{name}\"");
        let detail = format!("This operation is not supported for {}s.", view.kind().word());
        Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message).with_detail(detail))
    }

    fn alter(&mut self, operation: &AlterTableOperation, from: Arc<TableSchema>) -> Result<()> {
        let mut to = TableSchema::clone(&from);
        match operation {
            _ if self.secure_rows(&from, operation) => return Ok(()),
            AlterTableOperation::EnableTrigger { name } => return self.enable_trigger(&from, name, true),
            AlterTableOperation::DisableTrigger { name } => return self.enable_trigger(&from, name, false),
            AlterTableOperation::AddConstraint { .. }
            | AlterTableOperation::ValidateConstraint { .. }
            | AlterTableOperation::RenameConstraint { .. }
            | AlterTableOperation::DropConstraint { .. } => return self.alter_constraint(operation, from, to),
            AlterTableOperation::DropColumn { column_names, if_exists, drop_behavior, .. } => {
                let cascade = *drop_behavior == Some(ast::DropBehavior::Cascade);
                for column in column_names {
                    self.drop_column(&mut to, &names::identifier(column), *if_exists, cascade)?;
                }
            }
            AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
                let (old, new) = (names::identifier(old_column_name), names::identifier(new_column_name));
                let position = to.column(&old).ok_or_else(|| {
                    SqlError::new(sqlstate::UNDEFINED_COLUMN, format!("column \"{old}\" does not exist"))
                })?;
                if to.column(&new).is_some() {
                    return Err(SqlError::new(
                        sqlstate::DUPLICATE_COLUMN,
                        format!("column \"{new}\" of relation \"{}\" already exists", to.name),
                    ));
                }
                self.check_views(&to, &TableChange::Column(&old))?;
                Planner::rename_in_checks(&mut to, position, &old, &new)?;
                trigger_conditions::rename(&mut to, &old, &new)?;
                self.rename_in_policies(&mut to, position, &old, &new)?;
                to.columns[position].name = new;
            }
            AlterTableOperation::RenameTable { table_name } => {
                let (ast::RenameTableNameKind::As(name) | ast::RenameTableNameKind::To(name)) = table_name;
                if to.sequence.is_some() {
                    self.check_create(&to.name)?;
                    return self.rename_sequence(&to, &names::own_relation(name)?);
                }
                return self.rename_table(to, names::own_relation(name)?);
            }
            AlterTableOperation::AlterColumn { column_name, op } => {
                return self.alter_a_column(from, to, &names::identifier(column_name), op);
            }
            AlterTableOperation::AddColumn { if_not_exists, column_def, .. } => {
                return self.add_column(to, column_def, *if_not_exists);
            }
            other => {
                let text = other.to_string();
                let words: Vec<&str> = text.split_ascii_whitespace().take(2).collect();
                return Err(SqlError::unsupported(format!("ALTER TABLE {}", words.join(" "))));
            }
        }
        self.write_table(to);
        Ok(())
    }

    fn alter_a_column(
        &mut self,
        from: Arc<TableSchema>,
        mut to: TableSchema,
        name: &str,
        operation: &AlterColumnOperation,
    ) -> Result<()> {
        let position = to.column(name).ok_or_else(|| no_column(&from, name))?;
        match operation {
            AlterColumnOperation::SetDataType { using, .. } => {
                generated::check_type_is_free(&from, position)?;
                triggers::check_type_is_free(&from, position)?;
                self.check_policies_let_change(&from, position)?;
                self.check_views(&from, &TableChange::Column(name))?;
                if let Some(expression) = using {
                    self.rely_on_types(expression);
                }
            }
            AlterColumnOperation::SetDefault { value } => {
                generated::check_takes_default(&from, position, false)?;
                self.rely_on_types(value);
            }
            AlterColumnOperation::DropDefault => generated::check_takes_default(&from, position, true)?,
            _ => {}
        }
        let fill = alter_column(&mut to, position, operation, &self.catalog)?;
        if let AlterColumnOperation::SetDefault { .. } = operation {
            self.check_draws(&from, to.columns[position].default.as_deref())?;
        }
        self.use_type_of(&to.columns[position])?;
        self.compile_set_defaults(&mut to)?;
        match fill {
            None => self.write_table(to),
            Some(fill) => {
                self.compile_checks(&mut to)?;
                self.compile_generated(&from, &mut to)?;
                self.compile_indexes(&from, &mut to)?;
                self.rebuild(from, to, fill);
            }
        }
        Ok(())
    }

    fn alter_constraint(
        &mut self,
        operation: &AlterTableOperation,
        from: Arc<TableSchema>,
        mut to: TableSchema,
    ) -> Result<()> {
        match operation {
            AlterTableOperation::AddConstraint { constraint: ast::TableConstraint::Check(check), not_valid } => {
                self.add_check(&mut to, CheckDefinition::of_table(check)?, !not_valid)?;
                if !not_valid {
                    self.rebuild(from, to, Vec::new());
                    return Ok(());
                }
            }
            AlterTableOperation::AddConstraint { constraint: ast::TableConstraint::ForeignKey(key), not_valid } => {
                self.add_foreign_key(&mut to, &ForeignKeyDefinition::of_table(key), !not_valid)?;
                if !not_valid {
                    self.rebuilds.push(Action::CheckReferences { table: Arc::new(to.clone()) });
                }
            }
            AlterTableOperation::AddConstraint { constraint, .. } => return self.add_constraint(constraint, from),
            AlterTableOperation::ValidateConstraint { name } => {
                let name = names::identifier(name);
                if let Some(key) = to.foreign_keys.iter_mut().find(|key| key.name == name) {
                    if !std::mem::replace(&mut key.is_valid, true) {
                        self.write_table(to.clone());
                        self.rebuilds.push(Action::CheckReferences { table: Arc::new(to) });
                    }
                    return Ok(());
                }
                let Some(check) = to.checks.iter_mut().find(|check| check.name == name) else {
                    return Err(no_constraint(&to, &name));
                };
                if !std::mem::replace(&mut check.is_valid, true) {
                    self.rebuild(from, to, Vec::new());
                }
                return Ok(());
            }
            AlterTableOperation::RenameConstraint { old_name, new_name } => {
                let (old, new) = (names::identifier(old_name), names::identifier(new_name));
                let taken = has_constraint(&to, &new);
                if let Some(key) = to.foreign_keys.iter_mut().find(|key| key.name == old).filter(|_| !taken) {
                    key.name = new;
                    self.write_table(to);
                    return Ok(());
                }
                let Some(check) = to.checks.iter_mut().find(|check| check.name == old) else {
                    let [index, renamed] = [&old, &new].map(|name| namespace::beside(&to.name, name));
                    let is_key = self.catalog.index_names.get(&index).is_some_and(|(owner, _)| *owner == to.name);
                    return if is_key { self.rename_index(&index, &renamed) } else { Err(no_constraint(&to, &old)) };
                };
                if taken {
                    let message = format!("constraint \"{new}\" for relation \"{}\" already exists", to.name);
                    return Err(SqlError::new(sqlstate::DUPLICATE_OBJECT, message));
                }
                check.name = new;
                to.checks.sort_by(|left, right| left.name.cmp(&right.name));
            }
            AlterTableOperation::DropConstraint { if_exists, name, .. } => {
                return self.drop_constraint(from, &names::identifier(name), *if_exists);
            }
            _ => unreachable!("called for constraints only"),
        }
        self.write_table(to);
        Ok(())
    }

    /// Rows that were written before are shorter than the schema: the default, if it is the same for all, is what they lack. Any other
    /// column that refuses NULL has the rows looked through.
    fn add_column(&mut self, mut table: TableSchema, definition: &ast::ColumnDef, if_not_exists: bool) -> Result<()> {
        let mut column = column(definition, &self.catalog)?;
        self.use_column_type(&column, definition)?;
        self.check_draws(&table, column.default.as_deref())?;
        self.check_views(&table, &TableChange::NewColumn)?;
        if table.column(&column.name).is_some() {
            let message = format!("column \"{}\" of relation \"{}\" already exists", column.name, table.name);
            if if_not_exists {
                self.notice(sqlstate::DUPLICATE_COLUMN, format!("{message}, skipping"));
                return Ok(());
            }
            return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, message));
        }
        let generation = generation_expression(definition, namespace::bare(&table.name))?;
        let keys = column_keys(definition, table.columns.len());
        let checks = CheckDefinition::of_column(definition);
        let foreign_keys = ForeignKeyDefinition::of_column(definition);
        let mut is_computed = generation.is_none() && !fill_missing(&mut column, &self.catalog)?;
        check_column_count(table.columns.len() + 1)?;
        table.columns.push(column);
        let position = table.columns.len() - 1;
        if let Some(default) = self.column_sequence(&table, position, definition)? {
            table.columns[position].default = Some(default);
            is_computed = true;
        }
        let column = &mut table.columns[position];
        let refuses = column.not_null && column.missing.is_null();
        let not_null = column.not_null;
        column.not_null &= !refuses;
        let mut from = Arc::new(table.clone());
        self.generate(&mut table, generation.map(|expression| (position, expression)).as_slice())?;
        check_triggers(&table)?;
        self.write_table(table.clone());
        let has_checks = !checks.is_empty();
        for check in checks {
            self.add_check(&mut table, check, true)?;
        }
        let refers = !foreign_keys.is_empty();
        for foreign_key in foreign_keys {
            self.add_foreign_key(&mut table, &foreign_key, true)?;
        }
        if refers {
            self.write_table(table.clone());
            from = Arc::new(table.clone());
        }
        if refuses || is_computed || has_checks || generation.is_some() {
            table.columns[position].not_null = not_null;
            let fill = if is_computed {
                vec![(position, default_expression(&table, position, &self.catalog)?)]
            } else {
                Vec::new()
            };
            self.rebuild(from, table.clone(), fill);
            from = self.table(&table.name)?;
        }
        if refers {
            self.rebuilds.push(Action::CheckReferences { table: from.clone() });
        }
        for key in keys {
            self.add_key_to_rows(key, from)?;
            from = self.table(&table.name)?;
        }
        Ok(())
    }

    /// Gives the table and its indexes new storages, and has the rows copied into them.
    pub(super) fn rebuild(&mut self, from: Arc<TableSchema>, mut to: TableSchema, fill: Vec<(usize, Expression)>) {
        let storage = self.make_storage();
        self.drops.push(std::mem::replace(&mut to.storage, storage));
        for index in &mut to.indexes {
            let storage = self.make_storage();
            self.drops.push(std::mem::replace(&mut index.storage, storage));
        }
        // What the rows lacked is written out.
        for column in &mut to.columns {
            column.missing = Value::Null;
        }
        self.write_table(to.clone());
        self.rebuilds.push(Action::Rebuild { from, to: Arc::new(to), index: None, fill });
    }

    /// A unique constraint becomes an index; a primary key gives the table and its indexes new storages.
    fn add_constraint(&mut self, constraint: &ast::TableConstraint, from: Arc<TableSchema>) -> Result<()> {
        self.add_key_to_rows(table_key(constraint, &from)?, from)
    }

    fn add_key_to_rows(&mut self, key: KeyDefinition, from: Arc<TableSchema>) -> Result<()> {
        let primary = key.primary;
        let mut to = TableSchema::clone(&from);
        self.add_key(&mut to, key)?;
        if primary {
            self.rebuild(from, to, Vec::new());
        } else {
            let index = Some(to.indexes.len() - 1);
            self.write_table(to.clone());
            self.rebuilds.push(Action::Rebuild { from, to: Arc::new(to), index, fill: Vec::new() });
        }
        Ok(())
    }

    /// The rows get hidden keys.
    fn drop_primary_key(&mut self, from: Arc<TableSchema>) {
        let mut to = TableSchema::clone(&from);
        if let Some(name) = to.primary_key_name.take() {
            self.forget_name(&name);
        }
        to.primary_key.clear();
        to.primary_key_oid = 0;
        self.rebuild(from, to, Vec::new());
    }

    fn drop_constraint(&mut self, table: Arc<TableSchema>, name: &str, if_exists: bool) -> Result<()> {
        let index_name = namespace::beside(&table.name, name);
        let own = self.catalog.index_names.get(&index_name).is_some_and(|(owner, _)| *owner == table.name);
        if own && table.primary_key_name.as_deref() == Some(&index_name) {
            let what = format!("constraint {name} on table {}", table.name);
            self.drop_referring(&what, &table, Some(&table.primary_key), &[], false)?;
            self.drop_primary_key(table);
            return Ok(());
        }
        if own && table.indexes.iter().any(|index| index.constraint && index.name == index_name) {
            return self.drop_index(&index_name, true);
        }
        let is_key = table.foreign_keys.iter().any(|key| key.name == name);
        if is_key || table.checks.iter().any(|check| check.name == name) {
            let mut to = TableSchema::clone(&table);
            to.checks.retain(|check| check.name != name);
            to.foreign_keys.retain(|key| key.name != name);
            self.write_table(to);
            return Ok(());
        }
        let error = no_constraint(&table, name);
        if if_exists {
            self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message));
            return Ok(());
        }
        Err(error)
    }

    /// The column's place in the rows stays; indexes on it go.
    pub(super) fn drop_column(
        &mut self,
        table: &mut TableSchema,
        name: &str,
        if_exists: bool,
        cascade: bool,
    ) -> Result<()> {
        let Some(position) = table.column(name) else {
            let error = no_column(table, name);
            if if_exists {
                self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message));
                return Ok(());
            }
            return Err(error);
        };
        self.check_views(table, &TableChange::Column(name))?;
        if table.primary_key.contains(&position) {
            return Err(SqlError::unsupported("dropping a column of the primary key"));
        }
        self.drop_triggers_on(table, position, cascade)?;
        self.drop_policies_on(table, position, cascade)?;
        let depends = |own: &&GeneratedColumn| own.expression.columns.contains(&position);
        let dependents: Vec<String> =
            table.generated.iter().filter(depends).map(|own| table.columns[own.column].name.clone()).collect();
        for dependent in dependents {
            let shown = namespace::bare(&table.name);
            if !cascade {
                return Err(SqlError::needed(
                    format!("column {name} of table {shown}"),
                    format!("column {dependent} of table {shown} depends on column {name} of table {shown}"),
                ));
            }
            self.notice(
                sqlstate::SUCCESSFUL_COMPLETION,
                format!("drop cascades to column {dependent} of table {shown}"),
            );
            self.drop_column(table, &dependent, true, true)?;
        }
        table.generated.retain(|own| own.column != position);
        let (gone, kept) = std::mem::take(&mut table.indexes).into_iter().partition(|index| index.names(position));
        table.indexes = kept;
        let gone: Vec<messages::schema::IndexSchema> = gone;
        for index in gone {
            self.drops.push(index.storage);
            self.forget_name(&index.name);
        }
        self.drop_owned_sequences(table.oid, Some(position));
        table.checks.retain(|check| !check.columns.contains(&position));
        table.foreign_keys.retain(|key| !key.columns.contains(&position));
        let what = format!("column {name} of table {}", table.name);
        self.drop_referring(&what, table, Some(&[position]), &[], cascade)?;
        let column = &mut table.columns[position];
        column.dropped = true;
        column.not_null = false;
        column.default = None;
        column.domain = None;
        column.identity = None;
        column.name = format!("........pg.dropped.{}........", position + 1);
        Ok(())
    }

    fn rename_table(&mut self, mut table: TableSchema, name: String) -> Result<()> {
        self.check_create(&name)?;
        self.check_free(&name)?;
        self.check_no_type(&name)?;
        self.check_views(&table, &TableChange::Whole)?;
        self.check_policies_let_rename(&table)?;
        self.forget_name(&table.name);
        let indexes: Vec<String> = table.indexes.iter().map(|index| index.name.clone()).collect();
        for index in indexes.iter().chain(table.primary_key_name.iter()) {
            self.write_index_name(index, &name);
        }
        table.name = name;
        self.write_table(table);
        Ok(())
    }

    pub(super) fn rename_index(&mut self, old: &str, new: &str) -> Result<()> {
        let Some((owner, _)) = self.catalog.index_names.get(old).cloned() else {
            return Err(SqlError::new(sqlstate::UNDEFINED_TABLE, format!("relation \"{old}\" does not exist")));
        };
        self.check_owns_index(old, OwnerReach::Object)?;
        self.check_create(new)?;
        self.check_free(new)?;
        let mut table = TableSchema::clone(&*self.stored(&owner)?);
        if table.primary_key_name.as_deref() == Some(old) {
            table.primary_key_name = Some(new.to_string());
        }
        for index in table.indexes.iter_mut().filter(|index| index.name == old) {
            index.name = new.to_string();
        }
        self.forget_name(old);
        self.write_index_name(new, &owner);
        self.write_table(table);
        Ok(())
    }
}

fn no_constraint(table: &TableSchema, name: &str) -> Box<SqlError> {
    let message = format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name);
    SqlError::new(sqlstate::UNDEFINED_OBJECT, message)
}

/// Errors: 42601.
fn check_is_no_identity(column: &Column, table: &str) -> Result<()> {
    match column.identity {
        None => Ok(()),
        Some(_) => {
            let message = format!("column \"{}\" of relation \"{table}\" is an identity column", column.name);
            Err(SqlError::new(sqlstate::SYNTAX_ERROR, message))
        }
    }
}

fn alter_column(
    table: &mut TableSchema,
    position: usize,
    operation: &AlterColumnOperation,
    catalog: &Catalog,
) -> Result<Option<Fill>> {
    let before = Arc::new(table.clone());
    let in_key = table.primary_key.contains(&position);
    let table_name = &table.name;
    let column = &mut table.columns[position];
    match operation {
        AlterColumnOperation::SetDefault { value } => {
            check_is_no_identity(column, table_name)?;
            check_default(value, column, catalog)?;
            column.default = Some(sequences::drawing(value.clone(), None).to_string());
        }
        AlterColumnOperation::DropDefault => {
            check_is_no_identity(column, table_name)?;
            column.default = None;
        }
        AlterColumnOperation::DropNotNull if in_key => {
            return Err(SqlError::new(
                sqlstate::INVALID_TABLE_DEFINITION,
                format!("column \"{}\" is in a primary key", column.name),
            ));
        }
        AlterColumnOperation::DropNotNull if column.identity.is_some() => {
            let message = format!("column \"{}\" of relation \"{table_name}\" is an identity column", column.name);
            return Err(SqlError::new(sqlstate::SYNTAX_ERROR, message));
        }
        AlterColumnOperation::DropNotNull => column.not_null = false,
        AlterColumnOperation::SetNotNull if column.not_null => {}
        AlterColumnOperation::SetNotNull => {
            column.not_null = true;
            return Ok(Some(Fill::new()));
        }
        AlterColumnOperation::SetDataType { data_type, using, .. } => {
            return set_type(column, position, data_type, using.as_ref(), &before, catalog);
        }
        AlterColumnOperation::AddGenerated { .. } => return Err(SqlError::unsupported("a generated column")),
    }
    Ok(None)
}
