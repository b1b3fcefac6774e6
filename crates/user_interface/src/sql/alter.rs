//! ALTER TABLE and ALTER INDEX planned as catalog writes and rebuilds.
//!
//! Invariant: a change that alters where rows lie (a primary key) gives the table new storages and copies the rows into them; one that
//! alters what rows hold leaves them as they are, so only what old rows satisfy already is accepted.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::COLUMNS_MAX;
use crate::sql::ddl::Planner;
use crate::sql::definitions::{check_default, column, column_keys, table_key};
use crate::sql::insert::no_column;
use crate::sql::names;
use messages::program::Action;
use messages::schema::TableSchema;
use sqlparser::ast::{self, AlterColumnOperation, AlterTableOperation};
use std::sync::Arc;

impl Planner<'_> {
    pub(super) fn alter_table(&mut self, alter: &ast::AlterTable) -> Result<()> {
        let name = names::own_relation(&alter.name)?;
        if alter.if_exists && !self.catalog.tables.contains_key(&name) {
            self.notice("00000", format!("relation \"{name}\" does not exist, skipping"));
            return Ok(());
        }
        for operation in &alter.operations {
            let from = self.table(&name)?;
            self.alter(operation, from)?;
        }
        Ok(())
    }

    fn alter(&mut self, operation: &AlterTableOperation, from: Arc<TableSchema>) -> Result<()> {
        let mut to = TableSchema::clone(&from);
        match operation {
            AlterTableOperation::AddConstraint { constraint, .. } => return self.add_constraint(constraint, from),
            AlterTableOperation::DropConstraint { if_exists, name, .. } => {
                return self.drop_constraint(&from, &names::identifier(name), *if_exists);
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
                alter_column(&mut to, position, op)?;
            }
            AlterTableOperation::AddColumn { if_not_exists, column_def, .. } => {
                if !self.add_column(&mut to, column_def, *if_not_exists)? {
                    return Ok(());
                }
            }
            AlterTableOperation::OwnerTo { .. } => return Ok(()),
            other => {
                let text = other.to_string();
                let words: Vec<&str> = text.split_ascii_whitespace().take(2).collect();
                return Err(SqlError::unsupported(format!("ALTER TABLE {}", words.join(" "))));
            }
        }
        self.write_table(to);
        Ok(())
    }

    /// Rows that were written before are shorter than the schema and read as NULL in the new column, so it must be nullable and without
    /// default. False: there is one already.
    fn add_column(
        &mut self,
        table: &mut TableSchema,
        definition: &ast::ColumnDef,
        if_not_exists: bool,
    ) -> Result<bool> {
        let column = column(definition)?;
        if table.column(&column.name).is_some() {
            let message = format!("column \"{}\" of relation \"{}\" already exists", column.name, table.name);
            if if_not_exists {
                self.notice(sqlstate::DUPLICATE_COLUMN, format!("{message}, skipping"));
                return Ok(false);
            }
            return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, message));
        }
        let keys = column_keys(definition, table.columns.len());
        if column.not_null || column.default.is_some() || !keys.is_empty() {
            return Err(SqlError::unsupported("ALTER TABLE ADD COLUMN with NOT NULL, DEFAULT or a key")
                .with_hint("Add a nullable column, then UPDATE the rows and set the default."));
        }
        if table.columns.len() >= COLUMNS_MAX {
            return Err(SqlError::new(
                sqlstate::TOO_MANY_COLUMNS,
                format!("tables can have at most {COLUMNS_MAX} columns"),
            ));
        }
        table.columns.push(column);
        Ok(true)
    }

    /// A unique constraint becomes an index; a primary key gives the table and its indexes new storages.
    fn add_constraint(&mut self, constraint: &ast::TableConstraint, from: Arc<TableSchema>) -> Result<()> {
        let key = table_key(constraint, &from)?;
        let primary = key.primary;
        let mut to = TableSchema::clone(&from);
        self.add_key(&mut to, key)?;
        let index = if primary {
            let storage = self.make_storage();
            self.drops.push(std::mem::replace(&mut to.storage, storage));
            for index in &mut to.indexes {
                let storage = self.make_storage();
                self.drops.push(std::mem::replace(&mut index.storage, storage));
            }
            None
        } else {
            Some(to.indexes.len() - 1)
        };
        self.write_table(to.clone());
        self.rebuilds.push(Action::Rebuild { from, to: Arc::new(to), index });
        Ok(())
    }

    fn drop_constraint(&mut self, table: &TableSchema, name: &str, if_exists: bool) -> Result<()> {
        let own = self.catalog.index_names.get(name).is_some_and(|(owner, _)| *owner == table.name);
        let is_constraint = table.primary_key_name.as_deref() == Some(name)
            || table.indexes.iter().any(|index| index.constraint && index.name == name);
        if own && is_constraint {
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

fn alter_column(table: &mut TableSchema, position: usize, operation: &AlterColumnOperation) -> Result<()> {
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
        AlterColumnOperation::SetNotNull => return Err(SqlError::unsupported("ALTER COLUMN SET NOT NULL")),
        AlterColumnOperation::SetDataType { .. } => return Err(SqlError::unsupported("ALTER COLUMN TYPE")),
        AlterColumnOperation::AddGenerated { .. } => return Err(SqlError::unsupported("a generated column")),
    }
    Ok(())
}
