//! LIKE of CREATE TABLE: columns of another table, with what else of it is to be copied (PostgreSQL's `transformTableLikeClause`).
//!
//! Invariant: what is copied depends on the other table no more, but for the sequences that its defaults draw from.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::checks::CheckDefinition;
use crate::sql::ddl::Planner;
use crate::sql::definitions::{KeyDefinition, check_index_count};
use crate::sql::denials::denied_for;
use crate::sql::like_syntax::{CopiedColumns, LikeClause};
use crate::sql::parse;
use crate::sql::sequences::default_text;
use messages::namespace;
use messages::privilege::Privileges;
use messages::schema::{
    CatalogEntry, Column, CommentTarget, GeneratedColumn, IndexKey, IndexKeyPart, IndexSchema, TableSchema,
    TableSchemaKind,
};
use std::collections::BTreeMap;
use values::Value;

impl Planner<'_> {
    /// Appends the columns of a LIKE. Errors: 42P01; 42809 for what has no columns to copy; 42501; 42701.
    pub(super) fn copy_columns(&mut self, table: &mut TableSchema, clause: &LikeClause) -> Result<CopiedColumns> {
        let Some(from) = self.catalog.tables.get(&clause.table).map(|known| known.table.clone()) else {
            let message = format!("relation \"{}\" does not exist", clause.table);
            return Err(SqlError::new(sqlstate::UNDEFINED_TABLE, message));
        };
        if from.kind() == TableSchemaKind::Sequence {
            let message = format!("relation \"{}\" is invalid in LIKE clause", clause.table);
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message)
                .with_detail("This operation is not supported for sequences."));
        }
        if !self.standing.on_table(&from).contain(Privileges::SELECT) {
            return Err(denied_for(from.kind().word(), &from.name));
        }
        self.relied.insert(CatalogEntry::key(&from.name));
        let mut places = BTreeMap::new();
        let live = from.columns.iter().enumerate().filter(|(_, column)| !column.dropped);
        for (was, column) in live.map(|(was, column)| (was, column.clone())).collect::<Vec<_>>() {
            if table.columns.iter().any(|other| other.name == column.name) {
                let message = format!("column \"{}\" specified more than once", column.name);
                return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, message));
            }
            self.use_type_of(&column)?;
            let is_generated = from.generated.iter().any(|own| own.column == was);
            let has_default = clause.copies.defaults && column.identity.is_none() && !is_generated;
            let default = column.default.clone().filter(|_| has_default);
            self.check_draws(table, default.as_deref())?;
            let place = table.columns.len();
            places.insert(was, place);
            let identity = column.identity.filter(|_| clause.copies.identity);
            table.columns.push(Column { default, identity, missing: Value::Null, grants: None, ..column });
            if identity.is_some() {
                self.copy_identity(table, &from, was, place);
            }
        }
        Ok(CopiedColumns { from, clause: clause.clone(), places })
    }

    /// A sequence for an identity, as that which it is a copy of has one.
    fn copy_identity(&mut self, table: &mut TableSchema, from: &TableSchema, was: usize, place: usize) {
        let owned = self.owned(from.oid, Some(was)).into_iter().find_map(|known| known.sequence.clone());
        let Some(mut schema) = owned else { return };
        schema.owned_by = Some((table.oid, place));
        let name = self.free_name(&table.name, &[&table.columns[place].name], "seq");
        self.make_sequence(&name, *schema);
        table.columns[place].default = Some(default_text(&name));
    }

    /// Copies conditions, keys and what columns are computed by, once all columns are there. Errors: 0A000 for an expression whose columns stand elsewhere now.
    pub(super) fn copy_constraints(&mut self, table: &mut TableSchema, copied: &CopiedColumns) -> Result<()> {
        let CopiedColumns { from, clause, .. } = copied;
        if clause.copies.generated && !from.generated.is_empty() {
            check_in_place(copied, "a generated column")?;
            table.generated.extend(from.generated.iter().map(GeneratedColumn::clone));
        }
        if clause.copies.constraints {
            for check in &from.checks {
                let (name, condition) = (namespace::bare(&check.name).to_owned(), parse::expression(&check.text)?);
                self.add_check(table, CheckDefinition { name: Some(name), condition, column: None }, true)?;
            }
        }
        if !clause.copies.indexes {
            return Ok(());
        }
        if !from.primary_key.is_empty()
            && !from.has_hidden_key()
            && let Some(columns) = copied.moved(&from.primary_key)
        {
            self.add_key(table, KeyDefinition { name: None, columns, primary: true })?;
        }
        for index in &from.indexes {
            match index.whole_columns().filter(|_| index.constraint).and_then(|columns| copied.moved(&columns)) {
                Some(columns) => self.add_key(table, KeyDefinition { name: None, columns, primary: false })?,
                None => self.copy_index(table, copied, index)?,
            }
        }
        Ok(())
    }

    fn copy_index(&mut self, table: &mut TableSchema, copied: &CopiedColumns, index: &IndexSchema) -> Result<()> {
        check_index_count(table)?;
        if index.predicate.is_some() {
            check_in_place(copied, "a partial index")?;
        }
        let mut keys = Vec::with_capacity(index.keys.len());
        for key in &index.keys {
            let part = match &key.part {
                IndexKeyPart::Column(was) => IndexKeyPart::Column(copied.places.get(was).copied().unwrap_or(*was)),
                IndexKeyPart::Expression(expression) => {
                    check_in_place(copied, "an index on an expression")?;
                    IndexKeyPart::Expression(expression.clone())
                }
            };
            keys.push(IndexKey { part, ..key.clone() });
        }
        let included = copied.moved(&index.included).unwrap_or_default();
        let mut copy = IndexSchema { keys, included, constraint: false, ..index.clone() };
        let names = copy.column_names(table);
        copy.name = self.free_name(&table.name, &names.iter().map(String::as_str).collect::<Vec<_>>(), "idx");
        (copy.oid, copy.storage) = (self.next_number(), self.make_storage());
        self.write_index_name(&copy.name, &table.name);
        table.indexes.push(copy);
        Ok(())
    }

    /// Copies what is said of columns.
    pub(super) fn copy_comments(&mut self, table: &TableSchema, copied: &CopiedColumns) {
        if !copied.clause.copies.comments {
            return;
        }
        for (was, place) in &copied.places {
            let of = |oid: u32, column: usize| CommentTarget {
                class: CommentTarget::RELATIONS,
                oid,
                number: column as i32 + 1,
            };
            let known = self.catalog.comments.get(&of(copied.from.oid, *was)).map(|(text, _)| text.clone());
            if let Some(text) = known {
                self.write(CatalogEntry::comment_key(of(table.oid, *place)), Some(CatalogEntry::Comment(text)));
            }
        }
    }
}

/// Errors: 0A000.
fn check_in_place(copied: &CopiedColumns, what: &str) -> Result<()> {
    match copied.is_in_place() {
        true => Ok(()),
        false => Err(SqlError::unsupported(format!("LIKE that copies {what} to other places of a row"))),
    }
}
