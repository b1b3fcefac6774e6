//! Schema changes: CREATE, DROP and TRUNCATE planned as catalog writes.
//!
//! Invariant: a plan names for each catalog row it writes the version that it was planned with, so that two changes of one name cannot
//! both commit. Names of tables, indexes and constraints share one space, as in PostgreSQL.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{FIRST_OBJECT, NAME_BYTES_MAX};
use crate::sql::checks::CheckDefinition;
use crate::sql::definitions::{
    KeyDefinition, TableParts, check_column_count, check_create_table, check_index_count, check_key_columns, options,
    table_key,
};
use crate::sql::denials::{OwnerReach, denied_for};
use crate::sql::foreign_keys::{self, ForeignKeyDefinition};
use crate::sql::like_syntax::LikeClause;
use crate::sql::local_times;
use crate::sql::names;
use crate::sql::settings::Facts;
use crate::sql::temporary_syntax::asked_persistence;
use messages::database::DatabaseId;
use messages::namespace;
use messages::privilege::Privileges;
use messages::program::{Action, Program};
use messages::schema::{Catalog, CatalogEntry, IndexSchema, TableSchema, TableSchemaKind, TemporaryOwner};
use messages::{Key, Row, TableId, Timestamp};
use privileges::{Kind, Standing};
use sqlparser::ast;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What the notice of an object begins with that CASCADE has taken along.
const CASCADE_PREFIX: &str = "drop cascades to ";

/// A planned schema change.
#[derive(Debug)]
pub struct SchemaChange {
    /// What the action driver is to do; `None`: nothing.
    pub program: Option<Program>,
    /// The catalog rows as they will be, each with the version that it was planned with.
    pub rows: Vec<(Key, Timestamp, Option<Row>)>,
    /// Storages that it makes.
    pub makes: Vec<TableId>,
    /// What the client is told.
    pub notices: Vec<SqlError>,
}

/// The command tag of a schema statement. Errors: 0A000 for statements that are not supported, naming the feature.
pub fn tag(statement: &ast::Statement) -> Result<&'static str> {
    use ast::ObjectType;
    use ast::Statement as S;
    Ok(match statement {
        S::CreateTable(_) => "CREATE TABLE",
        S::CreateIndex(_) => "CREATE INDEX",
        S::AlterTable(_) => "ALTER TABLE",
        S::AlterIndex { .. } => "ALTER INDEX",
        S::Truncate(_) => "TRUNCATE TABLE",
        S::DropProcedure { .. } => "DROP PROCEDURE",
        S::DropFunction(_) => "DROP FUNCTION",
        S::CreateTrigger(_) => "CREATE TRIGGER",
        S::DropTrigger(_) => "DROP TRIGGER",
        S::CreatePolicy(_) => "CREATE POLICY",
        S::AlterPolicy(_) => "ALTER POLICY",
        S::DropPolicy(_) => "DROP POLICY",
        S::Drop { object_type, .. } => match object_type {
            ObjectType::Table => "DROP TABLE",
            ObjectType::Index => "DROP INDEX",
            ObjectType::View => "DROP VIEW",
            ObjectType::MaterializedView => "DROP MATERIALIZED VIEW",
            ObjectType::Sequence => "DROP SEQUENCE",
            other => return Err(SqlError::unsupported(format!("DROP {other}"))),
        },
        other => {
            let text = other.to_string();
            let mut words: Vec<&str> = text.split_ascii_whitespace().take(3).collect();
            if !matches!(words.first(), Some(&"CREATE" | &"ALTER" | &"DROP")) {
                words.truncate(1);
            }
            words.truncate(if words.get(1) == Some(&"MATERIALIZED") { 3 } else { 2 });
            return Err(SqlError::unsupported(words.join(" ")));
        }
    })
}

/// Plans a schema statement over a catalog. `likes`: those that stood among the columns of CREATE TABLE. `own`: catalog rows that the running transaction wrote already.
pub fn plan(
    statement: &ast::Statement,
    likes: &[LikeClause],
    catalog: &Catalog,
    own: &BTreeSet<Key>,
    facts: &Facts,
) -> Result<SchemaChange> {
    use ast::Statement as S;
    let mut planner = Planner::new(catalog, own, facts);
    if let S::CreateTable(_) | S::CreateIndex(_) | S::AlterTable(_) | S::CreatePolicy(_) | S::AlterPolicy(_) = statement
    {
        local_times::refuse(statement, "a definition", facts.settings.zone())?;
    }
    match statement {
        S::CreateTable(create) => planner.create_table(create, likes)?,
        S::CreateIndex(create) => planner.create_index(create)?,
        S::AlterTable(alter) => planner.alter_table(alter, facts)?,
        S::AlterIndex { name, operation } => {
            let ast::AlterIndexOperation::RenameIndex { index_name } = operation;
            planner.rename_index(&names::own_relation(name)?, &names::own_relation(index_name)?)?;
        }
        S::Truncate(truncate) => planner.truncate(truncate)?,
        // Only those that are procedures are planned.
        S::CreateFunction(create) => planner.create_procedure(create)?,
        S::CreateTrigger(create) => planner.create_trigger(create)?,
        S::DropTrigger(dropped) => planner.drop_trigger(dropped)?,
        S::CreatePolicy(create) => planner.create_policy(create, facts)?,
        S::AlterPolicy(alter) => planner.alter_policy(alter, facts)?,
        S::DropPolicy(dropped) => planner.drop_policy(dropped)?,
        S::DropFunction(dropped) => {
            let cascade = matches!(dropped.drop_behavior, Some(ast::DropBehavior::Cascade));
            for described in &dropped.func_desc {
                planner.drop_function(described, dropped.if_exists, cascade)?;
            }
        }
        S::DropProcedure { if_exists, proc_desc, .. } => {
            for described in proc_desc {
                planner.drop_procedure(described, *if_exists)?;
            }
        }
        S::Drop { object_type, if_exists, names, cascade, .. } => {
            for name in names {
                let all: Vec<String> = names.iter().filter_map(|name| names::own_relation(name).ok()).collect();
                planner.drop_object(object_type, *if_exists, &names::own_relation(name)?, *cascade, &all)?;
            }
        }
        other => {
            tag(other)?;
        }
    }
    Ok(planner.finish())
}

/// Gathers catalog writes while working on a copy of the catalog.
pub(super) struct Planner<'a> {
    base: &'a Catalog,
    own: &'a BTreeSet<Key>,
    pub(super) catalog: Catalog,
    rows: BTreeMap<Key, Option<Row>>,
    pub(super) drops: Vec<TableId>,
    pub(super) makes: Vec<TableId>,
    pub(super) rebuilds: Vec<Action>,
    pub(super) notices: Vec<SqlError>,
    /// What the session's role may do.
    pub(super) standing: Standing,
    /// Catalog rows that the plan depends on beside those that it writes.
    pub(super) relied: BTreeSet<Key>,
    /// Whose session's temporary objects are the session's own.
    pub(super) temporary: TemporaryOwner,
    /// The database's name.
    pub(super) database: &'a str,
}

impl<'a> Planner<'a> {
    pub(super) fn new(base: &'a Catalog, own: &'a BTreeSet<Key>, facts: &Facts<'a>) -> Planner<'a> {
        Planner {
            standing: Standing::of(base, facts.role),
            temporary: facts.temporary.owner,
            database: facts.database,
            relied: BTreeSet::new(),
            base,
            own,
            catalog: base.clone(),
            rows: BTreeMap::new(),
            drops: Vec::new(),
            makes: Vec::new(),
            rebuilds: Vec::new(),
            notices: Vec::new(),
        }
    }

    pub(super) fn finish(mut self) -> SchemaChange {
        self.forget_comments();
        self.tell_cascades_together();
        if self.rows.is_empty() {
            return SchemaChange { program: None, rows: Vec::new(), makes: Vec::new(), notices: self.notices };
        }
        self.rely_on_database();
        let writes = self.rows.iter().map(|(key, row)| {
            let seen = (!self.own.contains(key)).then(|| self.base.version_of(key));
            (key.clone(), seen, row.clone())
        });
        let others = self.relied.iter().filter(|key| !self.rows.contains_key(*key) && !self.own.contains(*key));
        let others = others.map(|key| (key.clone(), self.base.version_of(key)));
        let of_role = self.standing.relied(self.base);
        let relied = of_role.into_iter().filter(|(key, _)| !self.rows.contains_key(key) && !self.relied.contains(key));
        let relies_on = others.chain(relied).collect();
        let mut actions =
            vec![Action::Catalog { writes: writes.collect(), drops: self.drops, makes: self.makes.clone() }];
        actions.extend(self.rebuilds);
        let mut program = Program {
            parameters: Vec::new(),
            actions,
            columns: Vec::new(),
            relies_on,
            read_only: false,
            references: Arc::default(),
            database: DatabaseId::FIRST,
        };
        foreign_keys::look_at(&self.catalog, &mut program);
        SchemaChange {
            program: Some(program),
            rows: self.rows.into_iter().map(|(key, row)| (key.clone(), self.base.version_of(&key), row)).collect(),
            makes: self.makes,
            notices: self.notices,
        }
    }

    /// Who makes something in a database has to know that it is there. The first one always is.
    fn rely_on_database(&mut self) {
        let own = self.catalog.database;
        if own != DatabaseId::FIRST
            && let Some(known) = self.catalog.database_numbered(own)
        {
            self.relied.insert(known.key());
        }
    }

    /// Writes a catalog row, in the copy and in the plan.
    pub(super) fn write(&mut self, key: Key, entry: Option<CatalogEntry>) {
        let row = entry.map(|entry| entry.encode());
        let applied = self.catalog.apply(key.as_bytes(), Timestamp::ZERO, row.as_deref());
        assert!(applied.is_ok(), "a catalog entry that was just encoded decodes");
        self.rows.insert(key, row);
    }

    pub(super) fn write_table(&mut self, table: TableSchema) {
        self.write(CatalogEntry::key(&table.name), Some(CatalogEntry::Table(Arc::new(table))));
    }

    pub(super) fn write_index_name(&mut self, index: &str, table: &str) {
        self.write(CatalogEntry::key(index), Some(CatalogEntry::IndexOf(table.to_string())));
    }

    pub(super) fn forget_name(&mut self, name: &str) {
        self.write(CatalogEntry::key(name), None);
    }

    /// A number for an object or storage.
    pub(super) fn next_number(&mut self) -> u32 {
        let number = self.catalog.next.0.max(FIRST_OBJECT);
        self.write(CatalogEntry::next_key(), Some(CatalogEntry::Next(number + 1)));
        number
    }

    /// A storage that this transaction makes.
    pub(super) fn make_storage(&mut self) -> TableId {
        let storage = TableId(self.next_number());
        self.makes.push(storage);
        storage
    }

    pub(super) fn is_taken(&self, name: &str) -> bool {
        self.catalog.has_relation(name)
    }

    pub(super) fn check_free(&self, name: &str) -> Result<()> {
        if self.is_taken(name) {
            return Err(SqlError::new(sqlstate::DUPLICATE_TABLE, format!("relation \"{name}\" already exists")));
        }
        Ok(())
    }

    /// A name made of these parts that nothing in the table's schema has yet, cut to length as PostgreSQL does.
    pub(super) fn free_name(&self, table: &str, columns: &[&str], suffix: &str) -> String {
        namespace::beside(table, &self.free_name_beside(table, columns, suffix, &[]))
    }

    /// The same, and none of these; without the schema.
    pub(super) fn free_name_beside(&self, table: &str, columns: &[&str], suffix: &str, others: &[&str]) -> String {
        let mut stem = namespace::bare(table).to_string();
        for column in columns {
            stem.push('_');
            stem.push_str(column);
        }
        // The namespace of the table is that of the name.
        (0..)
            .map(|number| {
                let suffix = if number == 0 { format!("_{suffix}") } else { format!("_{suffix}{number}") };
                let mut end = stem.len().min(NAME_BYTES_MAX - suffix.len());
                while !stem.is_char_boundary(end) {
                    end -= 1;
                }
                format!("{}{suffix}", &stem[..end])
            })
            .find(|name| !self.is_taken(&namespace::beside(table, name)) && !others.contains(&name.as_str()))
            .unwrap_or(stem)
    }

    /// A table to change. Errors: 42P01, 42809.
    pub(super) fn table(&self, name: &str) -> Result<Arc<TableSchema>> {
        let table = self.stored(name)?;
        match table.kind() {
            TableSchemaKind::Table => Ok(table),
            _ => Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a table"))),
        }
    }

    /// A table or a materialized view: what has rows and indexes. Errors: 42P01, 42809.
    pub(super) fn stored(&self, name: &str) -> Result<Arc<TableSchema>> {
        match self.catalog.tables.get(name) {
            Some(versioned) if versioned.table.is_plain() => Ok(versioned.table.clone()),
            Some(_) => Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a table"))),
            None if self.catalog.index_names.contains_key(name) => {
                Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a table")))
            }
            None => Err(SqlError::new(sqlstate::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))),
        }
    }

    pub(super) fn notice(&mut self, code: &'static str, message: String) {
        self.notices.push(*SqlError::new(code, message));
    }

    /// A statement tells once what CASCADE has taken along, however many objects that was found with.
    fn tell_cascades_together(&mut self) {
        let is_told = |notice: &SqlError| notice.message.starts_with(CASCADE_PREFIX);
        if self.notices.iter().filter(|notice| is_told(notice)).count() < 2 {
            return;
        }
        let (told, others): (Vec<SqlError>, Vec<SqlError>) =
            std::mem::take(&mut self.notices).into_iter().partition(is_told);
        let lines = told.into_iter().map(|notice| notice.detail.unwrap_or(notice.message));
        let lines: Vec<String> = lines.flat_map(|lines| lines.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        self.notices = others;
        self.tell_cascades(&lines);
    }

    /// What CASCADE has taken along, each as `drop cascades to what`: one notice, as PostgreSQL tells it.
    pub(super) fn tell_cascades(&mut self, lines: &[String]) {
        match lines {
            [] => {}
            [one] => self.notice(sqlstate::SUCCESSFUL_COMPLETION, one.clone()),
            several => {
                let message = format!("drop cascades to {} other objects", several.len());
                self.notices
                    .push(*SqlError::new(sqlstate::SUCCESSFUL_COMPLETION, message).with_detail(several.join("\n")));
            }
        }
    }

    /// A notice of the class "warning" is one.
    pub(super) fn warn(&mut self, code: &'static str, message: String) {
        self.notice(code, message);
    }

    fn create_table(&mut self, create: &ast::CreateTable, likes: &[LikeClause]) -> Result<()> {
        check_create_table(create)?;
        if create.global == Some(true) {
            self.warn(sqlstate::WARNING, "GLOBAL is deprecated in temporary table creation".to_owned());
        }
        let name = self.made_name(&names::own_relation(&create.name)?)?;
        self.check_create(&name)?;
        let persistence = self.persistence(&name, asked_persistence(create))?;
        if self.is_taken(&name) {
            if !create.if_not_exists {
                return self.check_free(&name);
            }
            self.notice(sqlstate::DUPLICATE_TABLE, format!("relation \"{name}\" already exists, skipping"));
            return Ok(());
        }
        check_column_count(create.columns.len())?;
        let mut table = TableSchema {
            oid: self.next_number(),
            options: options(&create.table_options)?,
            rights: self.new_rights(Kind::Table, &name),
            persistence,
            ..TableSchema::new(name.clone(), self.make_storage(), Vec::with_capacity(create.columns.len()))
        };
        self.check_no_type(&name)?;
        // Reserves the name for the indexes' generated names to see.
        self.write_table(table.clone());
        let TableParts { mut keys, mut checks, mut foreign_keys, generated, copied } =
            self.define_columns(&mut table, create, likes)?;
        check_column_count(table.columns.len())?;
        for constraint in &create.constraints {
            match constraint {
                ast::TableConstraint::Check(check) => checks.push(CheckDefinition::of_table(check)?),
                ast::TableConstraint::ForeignKey(key) => foreign_keys.push(ForeignKeyDefinition::of_table(key)),
                key => keys.push(table_key(key, &table)?),
            }
        }
        self.generate(&mut table, &generated)?;
        for key in keys {
            self.add_key(&mut table, key)?;
        }
        for check in checks {
            self.add_check(&mut table, check, true)?;
        }
        for one in &copied {
            self.copy_constraints(&mut table, one)?;
            self.copy_comments(&table, one);
        }
        for foreign_key in foreign_keys {
            self.add_foreign_key(&mut table, &foreign_key, true)?;
        }
        self.write_table(table);
        Ok(())
    }

    /// Adds a primary key or unique index to a table that has no rows yet, or whose rows will be copied.
    pub(super) fn add_key(&mut self, table: &mut TableSchema, key: KeyDefinition) -> Result<()> {
        check_key_columns(table, &key.columns)?;
        check_index_count(table)?;
        let column_names: Vec<&str> = key.columns.iter().map(|column| table.columns[*column].name.as_str()).collect();
        let name = match key.name {
            Some(name) => {
                let name = namespace::beside(&table.name, &name);
                self.check_free(&name)?;
                name
            }
            None if key.primary => self.free_name(&table.name, &[], "pkey"),
            None => self.free_name(&table.name, &column_names, "key"),
        };
        self.write_index_name(&name, &table.name);
        if key.primary {
            if !table.has_hidden_key() {
                return Err(SqlError::new(
                    sqlstate::INVALID_TABLE_DEFINITION,
                    format!("multiple primary keys for table \"{}\" are not allowed", table.name),
                ));
            }
            for column in &key.columns {
                table.columns[*column].not_null = true;
            }
            table.primary_key = key.columns;
            table.primary_key_name = Some(name);
            table.primary_key_oid = self.next_number();
        } else {
            let (oid, storage) = (self.next_number(), self.make_storage());
            let index = IndexSchema::new(name, oid, storage, &key.columns, true);
            table.indexes.push(IndexSchema { constraint: true, ..index });
        }
        Ok(())
    }

    fn truncate(&mut self, truncate: &ast::Truncate) -> Result<()> {
        let mut named = Vec::new();
        for target in &truncate.table_names {
            let name = names::own_relation(&target.name)?;
            if !truncate.if_exists || self.catalog.tables.contains_key(&name) {
                named.push(name);
            }
        }
        let cascade = truncate.cascade == Some(ast::CascadeOption::Cascade);
        for name in self.truncated(named, cascade)? {
            let table = self.table(&name)?;
            if !self.standing.on_table(&table).contain(Privileges::TRUNCATE) {
                return Err(denied_for("table", &name));
            }
            let oid = table.oid;
            self.empty_table(TableSchema::clone(&table));
            if truncate.identity == Some(ast::TruncateIdentityOption::Restart) {
                self.restart_owned_sequences(oid)?;
            }
        }
        Ok(())
    }

    /// Gives a table and its indexes storages with nothing in them.
    pub(super) fn empty_table(&mut self, mut table: TableSchema) {
        let storage = self.make_storage();
        self.drops.push(std::mem::replace(&mut table.storage, storage));
        for index in &mut table.indexes {
            let storage = self.make_storage();
            self.drops.push(std::mem::replace(&mut index.storage, storage));
        }
        self.write_table(table);
    }

    fn drop_object(
        &mut self,
        kind: &ast::ObjectType,
        if_exists: bool,
        name: &str,
        cascade: bool,
        all: &[String],
    ) -> Result<()> {
        let found = self.catalog.tables.get(name).map(|found| found.table.clone());
        let kind_found = found.as_ref().map(|found| found.kind());
        let (what, exists) = match kind {
            ast::ObjectType::Table => ("table", kind_found == Some(TableSchemaKind::Table)),
            ast::ObjectType::Index => ("index", self.catalog.index_names.contains_key(name)),
            ast::ObjectType::View => ("view", kind_found == Some(TableSchemaKind::View)),
            ast::ObjectType::MaterializedView => {
                ("materialized view", kind_found == Some(TableSchemaKind::MaterializedView))
            }
            ast::ObjectType::Sequence => ("sequence", kind_found == Some(TableSchemaKind::Sequence)),
            other => return Err(SqlError::unsupported(format!("DROP {other}"))),
        };
        if !exists {
            if self.is_taken(name) {
                let error = SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a {what}"));
                let hint = match kind_found {
                    Some(TableSchemaKind::View) => "Use DROP VIEW to remove a view.",
                    Some(TableSchemaKind::MaterializedView) => {
                        "Use DROP MATERIALIZED VIEW to remove a materialized view."
                    }
                    Some(TableSchemaKind::Sequence) => "Use DROP SEQUENCE to remove a sequence.",
                    Some(TableSchemaKind::Table) => "Use DROP TABLE to remove a table.",
                    None => "Use DROP INDEX to remove an index.",
                };
                return Err(error.with_hint(hint));
            }
            if !if_exists {
                let is_index = matches!(kind, ast::ObjectType::Index);
                let code = if is_index { sqlstate::UNDEFINED_OBJECT } else { sqlstate::UNDEFINED_TABLE };
                return Err(SqlError::new(code, format!("{what} \"{name}\" does not exist")));
            }
            self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("{what} \"{name}\" does not exist, skipping"));
            return Ok(());
        }
        match kind {
            ast::ObjectType::Table | ast::ObjectType::MaterializedView => {
                let rights = self.stored(name)?.rights.clone();
                self.check_owns(&rights, what, name, OwnerReach::Schema)?;
                self.drop_table(name, cascade, all)
            }
            ast::ObjectType::View => {
                let rights = found.map(|found| found.rights.clone()).unwrap_or_default();
                self.check_owns(&rights, "view", name, OwnerReach::Schema)?;
                self.drop_view(name, cascade, all)
            }
            ast::ObjectType::Sequence => {
                let rights = self.sequence(name)?.rights.clone();
                self.check_owns(&rights, "sequence", name, OwnerReach::Schema)?;
                self.drop_sequence(name, cascade)
            }
            _ => {
                self.check_owns_index(name, OwnerReach::Schema)?;
                self.drop_index(name, false)
            }
        }
    }

    /// Errors: 42501 for an index of others.
    pub(super) fn check_owns_index(&self, name: &str, reach: OwnerReach) -> Result<()> {
        let table = self.catalog.index_names.get(name).and_then(|(table, _)| self.catalog.tables.get(table));
        table.map_or(Ok(()), |known| self.check_owns(&known.table.rights, "index", name, reach))
    }

    pub(super) fn drop_table(&mut self, name: &str, cascade: bool, all: &[String]) -> Result<()> {
        let table = self.stored(name)?;
        let what = table.kind().word();
        self.drop_views_of(what, name, cascade, all)?;
        self.drop_policies_of(name, cascade, all)?;
        self.drop_referring(&format!("{what} {name}"), &table, None, all, cascade)?;
        self.drop_defaults_of_others(&table, cascade, all)?;
        self.drops.push(table.storage);
        self.drop_owned_sequences(table.oid, None);
        if let Some(key_name) = &table.primary_key_name {
            self.forget_name(key_name);
        }
        for index in &table.indexes {
            self.drops.push(index.storage);
            self.forget_name(&index.name);
        }
        self.forget_name(name);
        Ok(())
    }

    /// Drops an index, that of a constraint only as a constraint.
    pub(super) fn drop_index(&mut self, name: &str, as_constraint: bool) -> Result<()> {
        let owner = self.catalog.index_names.get(name).map(|(table, _)| table.clone()).unwrap_or_default();
        let mut table = TableSchema::clone(&*self.stored(&owner)?);
        let position = table.indexes.iter().position(|index| index.name == name);
        match position {
            Some(position) if as_constraint || !table.indexes[position].constraint => {
                let columns = table.indexes[position].whole_columns();
                let what = if as_constraint { "constraint" } else { "index" };
                let what = match as_constraint {
                    true => format!("{what} {name} on table {owner}"),
                    false => format!("{what} {name}"),
                };
                // Nothing refers to another kind of key.
                if let Some(columns) = columns {
                    self.drop_referring(&what, &table, Some(&columns), &[], false)?;
                }
                let index = table.indexes.remove(position);
                self.drops.push(index.storage);
                self.forget_name(name);
                self.write_table(table);
                Ok(())
            }
            _ if as_constraint => Err(SqlError::unsupported("dropping a primary key")),
            _ => Err(SqlError::new(
                sqlstate::DEPENDENT_OBJECTS_STILL_EXIST,
                format!("cannot drop index {name} because constraint {name} on table {owner} requires it"),
            )
            .with_hint(format!("You can drop constraint {name} on table {owner} instead."))),
        }
    }
}
