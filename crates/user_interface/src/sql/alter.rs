//! ALTER TABLE and ALTER INDEX planned as catalog writes and rebuilds.
//!
//! Invariant: a change that alters where rows lie (a primary key) or what they may hold (a type, NOT NULL) gives the table new storages and
//! copies the rows into them; a new column leaves them as they are, and the schema says what they lack.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::COLUMNS_MAX;
use crate::sql::ddl::Planner;
use crate::sql::definitions::{KeyDefinition, check_default, column, column_keys, table_key};
use crate::sql::insert::no_column;
use crate::sql::names;
use crate::sql::parse;
use crate::sql::role_syntax::Named;
use crate::sql::roles::find;
use crate::sql::settings::Facts;
use messages::program::Action;
use messages::schema::TableSchema;
use sqlparser::ast::{self, AlterColumnOperation, AlterTableOperation};
use std::sync::Arc;
use values::Value;
use values::cast::{Context, context};

impl Planner<'_> {
    pub(super) fn alter_table(&mut self, alter: &ast::AlterTable, facts: &Facts) -> Result<()> {
        let name = names::own_relation(&alter.name)?;
        if alter.if_exists && !self.catalog.tables.contains_key(&name) {
            self.notice("00000", format!("relation \"{name}\" does not exist, skipping"));
            return Ok(());
        }
        for operation in &alter.operations {
            let from = self.table(&name)?;
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

    fn alter(&mut self, operation: &AlterTableOperation, from: Arc<TableSchema>) -> Result<()> {
        let mut to = TableSchema::clone(&from);
        match operation {
            AlterTableOperation::AddConstraint { constraint, .. } => return self.add_constraint(constraint, from),
            AlterTableOperation::DropConstraint { if_exists, name, .. } => {
                return self.drop_constraint(from, &names::identifier(name), *if_exists);
            }
            AlterTableOperation::DropColumn { column_names, if_exists, .. } => {
                for column in column_names {
                    self.drop_column(&mut to, &names::identifier(column), *if_exists)?;
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
                to.columns[position].name = new;
            }
            AlterTableOperation::RenameTable { table_name } => {
                let (ast::RenameTableNameKind::As(name) | ast::RenameTableNameKind::To(name)) = table_name;
                return self.rename_table(to, names::own_relation(name)?);
            }
            AlterTableOperation::AlterColumn { column_name, op } => {
                let name = names::identifier(column_name);
                let position = to.column(&name).ok_or_else(|| no_column(&from, &name))?;
                if alter_column(&mut to, position, op)? {
                    self.rebuild(from, to);
                    return Ok(());
                }
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

    /// Rows that were written before are shorter than the schema: the default, if it is the same for all, is what they lack. Any other
    /// column that refuses NULL has the rows looked through.
    fn add_column(&mut self, mut table: TableSchema, definition: &ast::ColumnDef, if_not_exists: bool) -> Result<()> {
        let mut column = column(definition)?;
        if table.column(&column.name).is_some() {
            let message = format!("column \"{}\" of relation \"{}\" already exists", column.name, table.name);
            if if_not_exists {
                self.notice(sqlstate::DUPLICATE_COLUMN, format!("{message}, skipping"));
                return Ok(());
            }
            return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, message));
        }
        let keys = column_keys(definition, table.columns.len());
        if let Some(default) = &column.default {
            column.missing = check_default(&parse::expression(default)?, &column)?.ok_or_else(|| {
                SqlError::unsupported("ALTER TABLE ADD COLUMN with a default that is computed for each row")
                    .with_hint("Add the column without it, then set the default and UPDATE the rows.")
            })?;
        }
        let refuses = column.not_null && column.missing.is_null();
        column.not_null &= !refuses;
        if table.columns.len() >= COLUMNS_MAX {
            return Err(SqlError::new(
                sqlstate::TOO_MANY_COLUMNS,
                format!("tables can have at most {COLUMNS_MAX} columns"),
            ));
        }
        table.columns.push(column);
        let mut from = Arc::new(table.clone());
        self.write_table(table.clone());
        if refuses {
            if let Some(last) = table.columns.last_mut() {
                last.not_null = true;
            }
            self.rebuild(from, table.clone());
            from = self.table(&table.name)?;
        }
        for key in keys {
            self.add_key_to_rows(key, from)?;
            from = self.table(&table.name)?;
        }
        Ok(())
    }

    /// Gives the table and its indexes new storages, and has the rows copied into them.
    fn rebuild(&mut self, from: Arc<TableSchema>, mut to: TableSchema) {
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
        self.rebuilds.push(Action::Rebuild { from, to: Arc::new(to), index: None });
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
            self.rebuild(from, to);
        } else {
            let index = Some(to.indexes.len() - 1);
            self.write_table(to.clone());
            self.rebuilds.push(Action::Rebuild { from, to: Arc::new(to), index });
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
        self.rebuild(from, to);
    }

    fn drop_constraint(&mut self, table: Arc<TableSchema>, name: &str, if_exists: bool) -> Result<()> {
        let own = self.catalog.index_names.get(name).is_some_and(|(owner, _)| *owner == table.name);
        if own && table.primary_key_name.as_deref() == Some(name) {
            self.drop_primary_key(table);
            return Ok(());
        }
        if own && table.indexes.iter().any(|index| index.constraint && index.name == name) {
            return self.drop_index(name, true);
        }
        let message = format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name);
        if if_exists {
            self.notice("00000", format!("{message}, skipping"));
            return Ok(());
        }
        Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, message))
    }

    /// The column's place in the rows stays; indexes on it go.
    fn drop_column(&mut self, table: &mut TableSchema, name: &str, if_exists: bool) -> Result<()> {
        let Some(position) = table.column(name) else {
            let error = no_column(table, name);
            if if_exists {
                self.notice("00000", format!("{}, skipping", error.message));
                return Ok(());
            }
            return Err(error);
        };
        if table.primary_key.contains(&position) {
            return Err(SqlError::unsupported("dropping a column of the primary key"));
        }
        let (gone, kept) =
            std::mem::take(&mut table.indexes).into_iter().partition(|index| index.columns.contains(&position));
        table.indexes = kept;
        let gone: Vec<messages::schema::IndexSchema> = gone;
        for index in gone {
            self.drops.push(index.storage);
            self.forget_name(&index.name);
        }
        let column = &mut table.columns[position];
        column.dropped = true;
        column.not_null = false;
        column.default = None;
        column.name = format!("........pg.dropped.{}........", position + 1);
        Ok(())
    }

    fn rename_table(&mut self, mut table: TableSchema, name: String) -> Result<()> {
        self.check_create()?;
        self.check_free(&name)?;
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
        self.check_owns_index(old, false)?;
        self.check_create()?;
        self.check_free(new)?;
        let mut table = TableSchema::clone(&*self.table(&owner)?);
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

/// True: the rows have to be copied, because they may not be what the column asks for.
fn alter_column(table: &mut TableSchema, position: usize, operation: &AlterColumnOperation) -> Result<bool> {
    let in_key = table.primary_key.contains(&position);
    let column = &mut table.columns[position];
    match operation {
        AlterColumnOperation::SetDefault { value } => {
            check_default(value, column)?;
            column.default = Some(value.to_string());
        }
        AlterColumnOperation::DropDefault => column.default = None,
        AlterColumnOperation::DropNotNull if in_key => {
            return Err(SqlError::new(
                sqlstate::INVALID_TABLE_DEFINITION,
                format!("column \"{}\" is in a primary key", column.name),
            ));
        }
        AlterColumnOperation::DropNotNull => column.not_null = false,
        AlterColumnOperation::SetNotNull if column.not_null => {}
        AlterColumnOperation::SetNotNull => {
            column.not_null = true;
            return Ok(true);
        }
        AlterColumnOperation::SetDataType { using: Some(_), .. } => {
            return Err(SqlError::unsupported("ALTER COLUMN TYPE ... USING"));
        }
        AlterColumnOperation::SetDataType { data_type, using: None, .. } => {
            let target = crate::sql::types::data_type(data_type)?;
            if target == column.column_type {
                return Ok(false);
            }
            let silent = target.unmodified() == column.column_type.unmodified()
                || matches!(context(column.column_type, target), Some(Context::Implicit | Context::Assignment));
            if !silent {
                let message = format!("column \"{}\" cannot be cast automatically to type {target}", column.name);
                return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, message));
            }
            column.column_type = target;
            if let Some(default) = &column.default {
                check_default(&parse::expression(default)?, column)?;
            }
            return Ok(true);
        }
        AlterColumnOperation::AddGenerated { .. } => return Err(SqlError::unsupported("a generated column")),
    }
    Ok(false)
}
