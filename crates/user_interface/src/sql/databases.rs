//! CREATE, ALTER and DROP DATABASE, planned as catalog writes, and what is asked of databases by name (PostgreSQL's `dbcommands.c`).
//!
//! Invariant: what is made in a database other than the first relies on the database's row, which dropping it deletes, so that nothing is left of one that is
//! gone.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::database_syntax::{DatabaseOptions, DatabaseStatement, DroppedDatabase};
use crate::sql::ddl::Planner;
use crate::sql::denials::{denied, not_owner};
use crate::sql::roles::find;
use crate::sql::settings::Facts;
use messages::Key;
use messages::database::{self, DatabaseId, DatabaseSchema};
use messages::privilege::{Privileges, Rights};
use messages::schema::{Catalog, CatalogEntry, CommentTarget, Place};
use messages::settings::of_database;
use privileges::Kind;
use std::sync::Arc;

/// The database of this name. Errors: 3D000.
pub(super) fn existing(catalog: &Catalog, name: &str) -> Result<Arc<DatabaseSchema>> {
    let missing = || SqlError::new(sqlstate::INVALID_CATALOG_NAME, format!("database \"{name}\" does not exist"));
    catalog.database_named(name).ok_or_else(missing)
}

impl Planner<'_> {
    /// Plans a statement about a database.
    pub(super) fn database(&mut self, statement: &DatabaseStatement, facts: &Facts) -> Result<()> {
        match statement {
            DatabaseStatement::Create(name, options) => self.create_database(name, options, facts),
            DatabaseStatement::Alter(name, options) => self.alter_database(name, options, facts),
            DatabaseStatement::Rename(name, to) => self.rename_database(name, to, facts),
            DatabaseStatement::Drop(dropped) => self.drop_database(dropped, facts),
        }
    }

    fn write_database(&mut self, known: DatabaseSchema) {
        self.write(known.key(), Some(CatalogEntry::Database(Arc::new(known))));
    }

    /// No database has this name any more.
    fn forget_database(&mut self, name: &str) {
        let is_first = database::built_in().iter().any(|known| known.name == name);
        let gone = is_first.then(|| CatalogEntry::Database(Arc::new(DatabaseSchema::new(name, DatabaseId(0)))));
        self.write(CatalogEntry::database_key(name), gone);
    }

    /// The key of what was granted on a database.
    pub(super) fn database_rights_key(&self, id: DatabaseId) -> Key {
        let own = CatalogEntry::rights_key(Place::Database);
        if id == self.catalog.database { own } else { id.within(&own) }
    }

    pub(super) fn write_database_rights(&mut self, id: DatabaseId, rights: Rights) {
        let key = self.database_rights_key(id);
        self.write(key, Some(CatalogEntry::Rights(Arc::new(rights))));
    }

    /// A database of this name that the role owns; the plan relies on it. Errors: 3D000, 42501.
    pub(super) fn owned_database(&mut self, name: &str) -> Result<Arc<DatabaseSchema>> {
        let known = existing(&self.catalog, name)?;
        self.relied.extend([known.key(), self.database_rights_key(known.id)]);
        match self.standing.has(self.catalog.database_rights(known.id).owner) {
            true => Ok(known),
            false => Err(not_owner("database", name)),
        }
    }

    fn may_make_databases(&self) -> bool {
        self.standing.is_superuser() || self.standing.role.create_database
    }

    fn create_database(&mut self, name: &str, options: &DatabaseOptions, facts: &Facts) -> Result<()> {
        let owner = match &options.owner {
            Some(owner) => find(&self.catalog, owner, facts)?,
            None => self.standing.role.clone(),
        };
        if !self.may_make_databases() {
            return Err(denied("permission denied to create database"));
        }
        if !self.standing.is_member(owner.oid) {
            return Err(denied(format!("must be member of role \"{}\"", owner.name)));
        }
        self.check_template(options.template.as_deref().unwrap_or("template1"))?;
        if self.catalog.database_named(name).is_some() {
            return Err(already_there(name));
        }
        self.relied.insert(CatalogEntry::role_key(&owner.name));
        let id = DatabaseId(self.next_number());
        let known = DatabaseSchema::new(name, id);
        self.write_database(options.over(known));
        if owner.oid != Rights::default().owner {
            self.write_database_rights(id, Rights::of(owner.oid));
        }
        Ok(())
    }

    /// Errors: 3D000, 42501, and 0A000 for a template that has something in it.
    fn check_template(&mut self, name: &str) -> Result<()> {
        let Some(template) = self.catalog.database_named(name) else {
            let message = format!("template database \"{name}\" does not exist");
            return Err(SqlError::new(sqlstate::INVALID_CATALOG_NAME, message));
        };
        self.relied.extend([template.key(), CatalogEntry::next_key()]);
        let owner = self.catalog.database_rights(template.id).owner;
        if !template.is_template && !self.standing.has(owner) {
            return Err(denied(format!("permission denied to copy database \"{name}\"")));
        }
        match self.catalog.within(template.id).is_none_or(is_empty) {
            true => Ok(()),
            false => Err(SqlError::unsupported(format!("copying the database \"{name}\", which is not empty,"))
                .with_hint("Make an empty database, and copy into it with pg_dump and psql.")),
        }
    }

    fn alter_database(&mut self, name: &str, options: &DatabaseOptions, facts: &Facts) -> Result<()> {
        let known = self.owned_database(name)?;
        if options.allows_connections == Some(false) && known.id == facts.database_id {
            let message = "cannot disallow connections for current database";
            return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        self.write_database(options.over(DatabaseSchema::clone(&known)));
        Ok(())
    }

    fn rename_database(&mut self, name: &str, to: &str, facts: &Facts) -> Result<()> {
        let known = self.owned_database(name)?;
        if !self.may_make_databases() {
            return Err(denied("permission denied to rename database"));
        }
        if self.catalog.database_named(to).is_some() {
            return Err(already_there(to));
        }
        if known.id == facts.database_id {
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, "current database cannot be renamed"));
        }
        self.forget_database(name);
        self.write_database(DatabaseSchema { name: to.to_owned(), ..DatabaseSchema::clone(&known) });
        Ok(())
    }

    fn drop_database(&mut self, dropped: &DroppedDatabase, facts: &Facts) -> Result<()> {
        let name = &dropped.name;
        if self.catalog.database_named(name).is_none() && dropped.if_exists {
            let message = format!("database \"{name}\" does not exist, skipping");
            self.notice(sqlstate::SUCCESSFUL_COMPLETION, message);
            return Ok(());
        }
        let known = self.owned_database(name)?;
        if known.is_template {
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, "cannot drop a template database"));
        }
        if known.id == facts.database_id {
            return Err(SqlError::new(sqlstate::OBJECT_IN_USE, "cannot drop the currently open database"));
        }
        if known.id == DatabaseId::FIRST {
            return Err(SqlError::unsupported("dropping the first database of an instance"));
        }
        // What another site has just made in it may not be known here; whatever is made takes a number.
        self.relied.insert(CatalogEntry::next_key());
        self.drop_contents_of(known.id);
        let settings = of_database(known.id);
        let settings: Vec<_> = self.catalog.settings.keys().filter(|key| key.starts_with(&settings)).cloned().collect();
        settings.iter().for_each(|key| self.write(CatalogEntry::setting_key(key), None));
        let comment = CommentTarget::database(known.id);
        if self.catalog.comments.contains_key(&comment) {
            self.write(CatalogEntry::comment_key(comment), None);
        }
        self.forget_database(name);
        Ok(())
    }

    /// Drops all that is in a database, and its rights.
    fn drop_contents_of(&mut self, id: DatabaseId) {
        let Some(own) = self.catalog.within(id).cloned() else { return };
        let tables = own.tables.values().map(|known| &known.table);
        let storages = tables.flat_map(|table| {
            [table.storage].into_iter().chain(table.indexes.iter().map(|index| index.storage)).collect::<Vec<_>>()
        });
        self.drops.extend(storages);
        let relations = own.tables.keys().chain(own.index_names.keys()).map(|name| CatalogEntry::key(name));
        let procedures = own.procedures.keys().map(|name| CatalogEntry::procedure_key(name));
        let types = own.types.keys().map(|name| CatalogEntry::type_key(name));
        let extensions = own.extensions.keys().map(|name| CatalogEntry::extension_key(name));
        let schemas = own.namespaces.keys().map(|name| CatalogEntry::namespace_key(name));
        let rights = own.rights.keys().map(|place| CatalogEntry::rights_key(*place));
        let comments = own.comments.keys().filter(|target| !target.is_shared());
        let comments = comments.map(|target| CatalogEntry::comment_key(*target));
        let all = relations.chain(procedures).chain(types).chain(extensions).chain(schemas);
        let all: Vec<Key> = all.chain(rights).chain(comments).collect();
        all.iter().for_each(|key| self.write(id.within(key), None));
    }

    /// What the role may do in a database.
    pub(super) fn on_database(&self, id: DatabaseId) -> Privileges {
        self.standing.on(Kind::Database, &self.catalog.database_rights(id))
    }
}

fn is_empty(own: &Catalog) -> bool {
    own.tables.is_empty()
        && own.procedures.is_empty()
        && own.types.is_empty()
        && own.extensions.is_empty()
        && own.namespaces.is_empty()
}

fn already_there(name: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::DUPLICATE_DATABASE, format!("database \"{name}\" already exists"))
}

impl DatabaseOptions {
    /// A database with what these say.
    fn over(&self, known: DatabaseSchema) -> DatabaseSchema {
        DatabaseSchema {
            is_template: self.is_template.unwrap_or(known.is_template),
            allows_connections: self.allows_connections.unwrap_or(known.allows_connections),
            connection_limit: self.connection_limit.unwrap_or(known.connection_limit),
            ..known
        }
    }
}
