//! CREATE, ALTER and DROP SCHEMA, and what moves from one schema to another, planned as catalog writes (PostgreSQL's `schemacmds.c`).
//!
//! Invariants: whatever is made in a schema relies on the schema's row, which dropping writes, so that nothing is left in one that is gone. A schema that comes
//! to be found without being named, because it is called like a role, makes all that was compiled before stale.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::{Planner, SchemaChange};
use crate::sql::denials::{OwnerReach, not_owner};
use crate::sql::lookup::no_schema;
use crate::sql::names::is_system_schema;
use crate::sql::role_syntax::Named;
use crate::sql::roles::find;
use crate::sql::schema_syntax::{MovedRelation, NewSchema, SchemaStatement};
use crate::sql::settings::Facts;
use crate::sql::views::TableChange;
use messages::Key;
use messages::namespace::{self, OWN_TEMPORARY, PUBLIC, PUBLIC_OID};
use messages::privilege::{Privileges, Rights};
use messages::schema::{Catalog, CatalogEntry, ExtensionSchema, NamespaceSchema, Place, TableSchema};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Plans a statement about a schema.
pub fn plan(
    statement: &SchemaStatement,
    catalog: &Catalog,
    own: &BTreeSet<Key>,
    facts: &Facts,
) -> Result<SchemaChange> {
    let mut planner = Planner::new(catalog, own, facts);
    match statement {
        SchemaStatement::Comment(comment) => planner.comment(comment, facts)?,
        SchemaStatement::Extension(statement) => planner.extension(statement, facts)?,
        SchemaStatement::Database(statement) => planner.database(statement, facts)?,
        SchemaStatement::Create(new) => planner.create_schema(new, facts)?,
        SchemaStatement::Rename(name, to) => planner.rename_schema(name, to)?,
        SchemaStatement::Drop(dropped) => {
            for name in &dropped.names {
                match planner.catalog.namespace(name) {
                    Some(schema) => {
                        if !planner.standing.has(schema.rights.owner) {
                            return Err(not_owner("schema", name));
                        }
                        planner.drop_schema(&schema, dropped.cascade, facts)?;
                    }
                    None if is_system_schema(name) => {
                        let message =
                            format!("cannot drop schema {name} because it is required by the database system");
                        return Err(SqlError::new(sqlstate::DEPENDENT_OBJECTS, message));
                    }
                    None if dropped.if_exists => {
                        planner.notice(
                            sqlstate::SUCCESSFUL_COMPLETION,
                            format!("schema \"{name}\" does not exist, skipping"),
                        );
                    }
                    None => return Err(no_schema(name)),
                }
            }
        }
        SchemaStatement::Move(moved) => planner.move_relation(moved)?,
        SchemaStatement::DropExpression(dropped) => planner.drop_expression(dropped)?,
    }
    Ok(planner.finish())
}

/// Errors: 42939 for a name that is the system's.
fn check_name(name: &str) -> Result<()> {
    match name.starts_with("pg_") {
        false => Ok(()),
        true => Err(SqlError::new(sqlstate::RESERVED_NAME, format!("unacceptable schema name \"{name}\""))
            .with_detail("The prefix \"pg_\" is reserved for system schemas.")),
    }
}

fn already_there(name: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::DUPLICATE_SCHEMA, format!("schema \"{name}\" already exists"))
}

impl Planner<'_> {
    pub(super) fn write_schema(&mut self, schema: NamespaceSchema) {
        let key = CatalogEntry::namespace_key(&schema.name);
        self.write(key, Some(CatalogEntry::Namespace(Arc::new(schema))));
    }

    fn is_schema(&self, name: &str) -> bool {
        is_system_schema(name) || self.catalog.namespace(name).is_some()
    }

    fn create_schema(&mut self, new: &NewSchema, facts: &Facts) -> Result<()> {
        let owner = match &new.owner {
            Some(owner) => find(&self.catalog, owner, facts)?,
            None => self.standing.role.clone(),
        };
        let name = match (&new.name, &new.owner) {
            (Some(name), _) => name.clone(),
            (None, Some(Named::Is(name))) => name.clone(),
            (None, _) => facts.user.to_owned(),
        };
        self.check_place(Place::Database, Privileges::CREATE, facts.database)?;
        if !self.standing.is_member(owner.oid) {
            let message = format!("must be member of role \"{}\"", owner.name);
            return Err(crate::sql::denials::denied(message));
        }
        check_name(&name)?;
        if self.is_schema(&name) {
            if !new.if_not_exists {
                return Err(already_there(&name));
            }
            self.notice(sqlstate::DUPLICATE_SCHEMA, format!("schema \"{name}\" already exists, skipping"));
            return Ok(());
        }
        self.relied.insert(CatalogEntry::role_key(&owner.name));
        if name == PUBLIC {
            // It is there again, its owner's alone.
            self.write(CatalogEntry::namespace_key(PUBLIC), None);
            let rights = Arc::new(Rights::of(owner.oid));
            self.write(CatalogEntry::rights_key(Place::Schema), Some(CatalogEntry::Rights(rights)));
            return Ok(());
        }
        let oid = self.next_number();
        self.write_schema(NamespaceSchema::new(name.clone(), oid, Rights::of(owner.oid)));
        self.hide_public(&name);
        Ok(())
    }

    /// A schema that is called like a role comes first in that role's search path: names without a schema may mean something else now.
    pub(super) fn hide_public(&mut self, name: &str) {
        // The other of the two may be made meanwhile.
        self.relied.extend([CatalogEntry::role_key(name), CatalogEntry::namespace_key(name)]);
        if self.catalog.role(name).is_none() || self.catalog.namespace(name).is_none() {
            return;
        }
        let tables = self.catalog.tables.values().map(|known| known.table.clone());
        let tables: Vec<_> = tables.filter(|table| namespace::of(&table.name) == PUBLIC_OID).collect();
        for table in tables {
            self.write_table(TableSchema::clone(&table));
        }
        let procedures = self.catalog.procedures.values().map(|(procedure, _)| procedure.clone());
        let procedures: Vec<_> = procedures.filter(|one| namespace::of(&one.name) == PUBLIC_OID).collect();
        for procedure in procedures {
            let key = CatalogEntry::procedure_key(&procedure.name);
            self.write(key, Some(CatalogEntry::Procedure(procedure)));
        }
        for known in self.extensions_in(PUBLIC_OID) {
            self.write_extension(ExtensionSchema::clone(&known));
        }
        let types = self.catalog.types.values().map(|(known, _)| known.clone());
        let types: Vec<_> = types.filter(|known| namespace::of(&known.name) == PUBLIC_OID).collect();
        for known in types {
            self.write(CatalogEntry::type_key(&known.name), Some(CatalogEntry::Type(known)));
        }
    }

    fn rename_schema(&mut self, name: &str, to: &str) -> Result<()> {
        let schema = self.catalog.namespace(name).ok_or_else(|| no_schema(name))?;
        if !self.standing.has(schema.rights.owner) {
            return Err(not_owner("schema", name));
        }
        self.check_place(Place::Database, Privileges::CREATE, "")?;
        check_name(to)?;
        if self.is_schema(to) {
            return Err(already_there(to));
        }
        if schema.oid == PUBLIC_OID || to == PUBLIC {
            return Err(SqlError::unsupported("renaming the schema public").with_hint("Make another schema."));
        }
        if schema.temporary.is_some() {
            return Err(SqlError::unsupported("renaming a temporary schema"));
        }
        self.write(CatalogEntry::namespace_key(name), None);
        self.write_schema(NamespaceSchema { name: to.to_owned(), ..NamespaceSchema::clone(&schema) });
        self.hide_public(to);
        Ok(())
    }

    /// What is in a schema, as messages name it, in the order in which it was made.
    fn contents(&self, schema: &NamespaceSchema, facts: &Facts) -> Vec<String> {
        let qualified = |name: &str| match facts.path.contains(&schema.oid) {
            true => namespace::bare(name).to_owned(),
            false => format!("{}.{}", schema.name, namespace::bare(name)),
        };
        let tables = self.catalog.tables.values().map(|known| &known.table);
        let in_it = tables.filter(|table| namespace::of(&table.name) == schema.oid);
        let inner: BTreeSet<u32> = in_it.clone().map(|table| table.oid).collect();
        // A sequence that a column owns goes with its table.
        let goes_along = |table: &TableSchema| {
            let owner = table.sequence.as_ref().and_then(|sequence| sequence.owned_by);
            owner.is_some_and(|(owner, _)| inner.contains(&owner))
        };
        let in_it = in_it.filter(|table| !goes_along(table));
        let mut contents: Vec<(u32, String)> =
            in_it.map(|table| (table.oid, format!("{} {}", table.kind().word(), qualified(&table.name)))).collect();
        let procedures = self.catalog.procedures.values().map(|(procedure, _)| procedure);
        let procedures = procedures.filter(|procedure| namespace::of(&procedure.name) == schema.oid);
        contents.extend(procedures.map(|procedure| {
            let types: Vec<&str> = procedure.parameters.iter().map(|(_, data_type)| data_type.base_name()).collect();
            (procedure.oid, format!("{} {}({})", procedure.word(), qualified(&procedure.name), types.join(",")))
        }));
        let types = self.catalog.types.values().map(|(known, _)| known);
        let types = types.filter(|known| namespace::of(&known.name) == schema.oid);
        contents.extend(types.map(|known| (known.oid, format!("type {}", qualified(&known.name)))));
        let extensions = self.extensions_in(schema.oid).into_iter();
        contents.extend(extensions.map(|known| (known.oid, format!("extension {}", known.name))));
        contents.sort();
        contents.into_iter().map(|(_, what)| what).collect()
    }

    /// Drops a schema with what is in it. Errors: 2BP01 for one that is not empty, unless CASCADE takes that along.
    pub(super) fn drop_schema(&mut self, schema: &NamespaceSchema, cascade: bool, facts: &Facts) -> Result<()> {
        // What another site has just made in it may not be known here; whatever is made takes a number.
        self.relied.insert(CatalogEntry::next_key());
        let contents = self.contents(schema, facts);
        if !cascade && !contents.is_empty() {
            let mut depends: Vec<String> =
                contents.iter().map(|what| format!("{what} depends on schema {}", schema.name)).collect();
            for known in self.extensions_in(schema.oid) {
                depends.extend(self.lines_on_extension(&known, facts)?);
            }
            return Err(SqlError::needed(format!("schema {}", schema.name), depends.join("\n")));
        }
        let told = self.notices.len();
        for known in self.extensions_in(schema.oid) {
            self.drop_extension(&known, true, facts)?;
        }
        self.drop_contents(schema)?;
        self.drop_defaults_in(schema.oid);
        let others = self.notices.split_off(told);
        let others = others.iter().flat_map(|notice| match &notice.detail {
            Some(detail) => detail.lines().map(str::to_owned).collect(),
            None => vec![notice.message.clone()],
        });
        let lines: Vec<String> = contents.iter().map(|what| format!("drop cascades to {what}")).chain(others).collect();
        self.tell_cascades(&lines);
        if schema.oid == PUBLIC_OID {
            let gone = NamespaceSchema { oid: 0, ..schema.clone() };
            self.write_schema(gone);
            return Ok(());
        }
        self.write(CatalogEntry::namespace_key(&schema.name), None);
        Ok(())
    }

    pub(super) fn drop_contents(&mut self, schema: &NamespaceSchema) -> Result<()> {
        let names: Vec<String> =
            self.catalog.tables.keys().filter(|name| namespace::of(name) == schema.oid).cloned().collect();
        for name in &names {
            // A view may have gone with what it reads, a sequence with the table that owns it.
            let Some(known) = self.catalog.tables.get(name).map(|known| known.table.clone()) else { continue };
            match (&known.sequence, &known.view) {
                (Some(sequence), _) if sequence.owned_by.is_some() => {}
                (Some(_), _) => self.drop_sequence(name, true)?,
                (_, Some(_)) => self.drop_view(name, true, &names)?,
                _ => self.drop_table(name, true, &names)?,
            }
        }
        // What is left belongs to a column of a table elsewhere.
        for name in &names {
            if self.catalog.tables.contains_key(name) {
                self.drop_sequence(name, true)?;
            }
        }
        let types = self.catalog.types.values().map(|(known, _)| known);
        let types: Vec<_> = types.filter(|known| namespace::of(&known.name) == schema.oid).cloned().collect();
        for known in types {
            // A domain may have gone with what it is over.
            if self.catalog.types.contains_key(&known.name) {
                self.drop_type(&known, true)?;
            }
        }
        let procedures = self.catalog.procedures.values().map(|(known, _)| known);
        let procedures: Vec<_> = procedures.filter(|known| namespace::of(&known.name) == schema.oid).cloned().collect();
        for known in procedures {
            self.forget_routine(&known, true)?;
        }
        Ok(())
    }

    /// SET SCHEMA. Errors: 0A000 for what a view reads.
    fn move_relation(&mut self, moved: &MovedRelation) -> Result<()> {
        let Some(known) = self.catalog.tables.get(&moved.name).map(|known| known.table.clone()) else {
            let message = format!("relation \"{}\" does not exist", moved.name);
            if moved.if_exists {
                self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("{message}, skipping"));
                return Ok(());
            }
            return Err(SqlError::new(sqlstate::UNDEFINED_TABLE, message));
        };
        let kind = known.kind().word();
        if kind != moved.word {
            let message = format!("\"{}\" is not a {}", moved.name, moved.word);
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        self.check_owns(&known.rights, kind, &known.name, OwnerReach::Object)?;
        if known.sequence.as_ref().is_some_and(|sequence| sequence.owned_by.is_some()) {
            let message = "cannot move an owned sequence into another schema";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        let schema = match moved.to.as_str() {
            OWN_TEMPORARY => None,
            to => Some(self.catalog.namespace(to).ok_or_else(|| no_schema(to))?).filter(|to| to.temporary.is_none()),
        };
        let Some(schema) = schema.filter(|_| !known.persistence.is_temporary()) else {
            let message = "cannot move objects into or out of temporary schemas";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
        };
        let name = namespace::within(namespace::bare(&known.name), schema.oid);
        self.check_create(&name)?;
        if name == known.name {
            return Ok(());
        }
        if self.catalog.has_relation(&name) {
            let bare = namespace::bare(&name);
            let message = format!("relation \"{bare}\" already exists in schema \"{}\"", schema.name);
            return Err(SqlError::new(sqlstate::DUPLICATE_TABLE, message));
        }
        self.check_views(&known, &TableChange::Whole)?;
        self.check_policies_let_rename(&known)?;
        match kind {
            "sequence" => self.rename_sequence(&known, &name),
            _ => self.put_in_schema(TableSchema::clone(&known), &name, schema.oid),
        }
    }

    /// A table goes with its indexes and with the sequences that its columns own.
    fn put_in_schema(&mut self, mut table: TableSchema, name: &str, schema: u32) -> Result<()> {
        let sequences = self.owned(table.oid, None);
        self.forget_name(&table.name);
        let moved = |index: &str| namespace::within(namespace::bare(index), schema);
        for index in table.indexes.iter().map(|index| &index.name).chain(&table.primary_key_name) {
            self.forget_name(index);
            self.check_free(&moved(index))?;
            self.write_index_name(&moved(index), name);
        }
        for index in &mut table.indexes {
            index.name = moved(&index.name);
        }
        table.primary_key_name = table.primary_key_name.as_deref().map(moved);
        table.name = name.to_owned();
        self.write_table(table);
        for sequence in sequences {
            let name = moved(&sequence.name);
            self.rename_sequence(&sequence, &name)?;
        }
        Ok(())
    }
}
