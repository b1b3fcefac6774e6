//! Temporary tables, views and sequences: what is in a schema of the session's own, `pg_temp_` with its number (PostgreSQL's `namespace.c`, `tablecmds.c`).
//!
//! They are kept as everything else is. The schema is made by the transaction that first needs it, and its row of the catalog says whose it is. It goes with the
//! session, or with the life of the site that the session asked: the action driver sees to that. Invariants: what is in such a schema is temporary and nothing
//! else is; what lasts refers to nothing temporary.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::{Planner, SchemaChange};
use crate::sql::denials::{denied, denied_for};
use crate::sql::expressions::Compiler;
use crate::sql::modify::Modification;
use crate::sql::names;
use crate::sql::parse::{self, Statement};
use crate::sql::settings::Facts;
use crate::sql::temporary_syntax::{AskedPersistence, in_others_schema, invalid, only_on_temporary};
use crate::sql::types::Stop;
use messages::Key;
use messages::namespace::{self, TEMPORARY, UNMADE_TEMPORARY};
use messages::privilege::{Privileges, Rights};
use messages::program::Program;
use messages::role::BOOTSTRAP_OID;
use messages::schema::{
    AtCommit, Catalog, CatalogEntry, NamespaceSchema, Place, TablePersistence, TableSchema, TemporaryOwner,
};
use sqlparser::ast;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What drops all that is temporary (DISCARD TEMP). The schema stays.
pub fn plan_discard(catalog: &Catalog, own: &BTreeSet<Key>, facts: &Facts) -> Result<SchemaChange> {
    let mut planner = Planner::new(catalog, own, facts);
    if let Some(schema) = planner.catalog.temporary_schema(facts.temporary.owner).cloned() {
        planner.drop_contents(&schema)?;
        planner.notices.clear();
    }
    Ok(planner.finish())
}

/// What the end of a transaction does to temporary tables: some are emptied, some are dropped. Errors: 0A000 for an emptied one that one refers to which is not.
pub fn plan_at_commit(catalog: &Catalog, own: &BTreeSet<Key>, facts: &Facts) -> Result<SchemaChange> {
    let mut planner = Planner::new(catalog, own, facts);
    let tables = acting_at_commit(catalog, facts);
    let dropped: Vec<String> =
        tables.iter().filter(|table| is_at_commit(table, AtCommit::Drop)).map(|table| table.name.clone()).collect();
    for name in &dropped {
        if planner.catalog.tables.contains_key(name) {
            planner.drop_table(name, true, &dropped)?;
        }
    }
    let mut deletions = String::new();
    for table in tables.iter().filter(|table| is_at_commit(table, AtCommit::Empty)) {
        planner.check_emptied(table)?;
        // It was empty when the transaction began, which so deletes what it has written itself; but it may have filled a table of its own ahead.
        let is_of_transaction = own.contains(&CatalogEntry::key(&table.name));
        match is_of_transaction || !table.foreign_keys.is_empty() || planner.is_referred_to(table) {
            true => planner.empty_table(TableSchema::clone(table)),
            false => deletions.push_str(&format!("DELETE FROM {};", names::quote(&table.name))),
        }
    }
    planner.notices.clear();
    let mut change = planner.finish();
    for parsed in parse::statements(&deletions)? {
        if let Statement::Sql(tree) = &parsed.statement
            && let ast::Statement::Delete(delete) = &**tree
        {
            let mut compiler = Compiler::new(catalog, facts, &deletions, Vec::new());
            if let Modification::Program(mut program) = compiler.delete(delete, None).map_err(Stop::into_error)? {
                compiler.rely(&mut program);
                add_program(&mut change, program);
            }
        }
    }
    Ok(change)
}

/// Has a program done with a change.
fn add_program(change: &mut SchemaChange, program: Program) {
    match &mut change.program {
        None => change.program = Some(program),
        Some(first) => {
            let new = program.relies_on.iter().filter(|row| !first.relies_on.contains(row));
            first.relies_on = first.relies_on.iter().chain(new).cloned().collect();
            first.actions.extend(program.actions);
        }
    }
}

fn is_at_commit(table: &TableSchema, at_commit: AtCommit) -> bool {
    table.persistence == TablePersistence::Temporary(at_commit)
}

/// The session's tables to which the end of a transaction does something.
pub fn acting_at_commit(catalog: &Catalog, facts: &Facts) -> Vec<Arc<TableSchema>> {
    let Some(schema) = facts.temporary.schema else { return Vec::new() };
    let acts = |table: &&Arc<TableSchema>| {
        namespace::of(&table.name) == schema
            && (is_at_commit(table, AtCommit::Empty) || is_at_commit(table, AtCommit::Drop))
    };
    catalog.tables.values().map(|known| &known.table).filter(acts).cloned().collect()
}

impl Planner<'_> {
    /// The name of what is to be made, in the session's temporary schema if it is for that, which then is there. Errors: 42501.
    pub(super) fn made_name(&mut self, name: &str) -> Result<String> {
        match namespace::of(name) {
            UNMADE_TEMPORARY => Ok(namespace::within(namespace::bare(name), self.own_temporary()?)),
            _ => Ok(name.to_owned()),
        }
    }

    /// The number of the session's temporary schema. Errors: 42501 for a role that may have none.
    fn own_temporary(&mut self) -> Result<u32> {
        if let Some(known) = self.catalog.temporary_schema(self.temporary) {
            return Ok(known.oid);
        }
        if !self.may_make_temporary() {
            return Err(denied(format!(
                "permission denied to create temporary tables in database \"{}\"",
                self.database
            )));
        }
        let oid = self.next_number();
        let rights = Rights::of(BOOTSTRAP_OID);
        let schema = NamespaceSchema::new(format!("{TEMPORARY}{oid}"), oid, rights);
        self.write_schema(NamespaceSchema { temporary: Some(self.temporary), ..schema });
        Ok(oid)
    }

    fn may_make_temporary(&self) -> bool {
        self.standing.on_place(&self.catalog, Place::Database).contain(Privileges::TEMPORARY)
    }

    /// Whether something may be made in a temporary schema. Errors: 42P16 for another session's, 42501.
    pub(super) fn check_own_temporary(&self, owner: TemporaryOwner, schema: &str) -> Result<()> {
        match owner == self.temporary {
            false => Err(in_others_schema()),
            true if self.may_make_temporary() => Ok(()),
            true => Err(denied_for("schema", schema)),
        }
    }

    /// How long a sequence lasts, or what else says nothing of it.
    pub(super) fn persistence_in_schema(&self, name: &str) -> TablePersistence {
        match self.catalog.is_temporary(name) {
            true => TablePersistence::Temporary(AtCommit::Preserve),
            false => TablePersistence::Permanent,
        }
    }

    /// How long a table lasts that is asked for so. Errors: 42P16.
    pub(super) fn persistence(&self, name: &str, asked: impl Into<AskedPersistence>) -> Result<TablePersistence> {
        let AskedPersistence { is_unlogged, at_commit } = asked.into();
        match (self.catalog.is_temporary(name), is_unlogged) {
            (true, true) => Err(invalid("only temporary relations may be created in temporary schemas")),
            (true, false) => Ok(TablePersistence::Temporary(at_commit.unwrap_or_default())),
            (false, _) if at_commit.is_some() => Err(only_on_temporary()),
            (false, true) => Ok(TablePersistence::Unlogged),
            (false, false) => Ok(TablePersistence::Permanent),
        }
    }

    /// A foreign key is between tables that last as long. Errors: 42P16.
    pub(super) fn check_persistence(&self, table: &TableSchema, parent: &TableSchema) -> Result<()> {
        use TablePersistence::{Permanent, Temporary, Unlogged};
        match (table.persistence, parent.persistence) {
            (Permanent, Permanent) | (Unlogged, Permanent | Unlogged) => Ok(()),
            (Permanent, _) => Err(invalid("constraints on permanent tables may reference only permanent tables")),
            (Unlogged, _) => {
                Err(invalid("constraints on unlogged tables may reference only permanent or unlogged tables"))
            }
            (Temporary(_), Temporary(_)) if namespace::of(&table.name) == namespace::of(&parent.name) => Ok(()),
            (Temporary(_), Temporary(_)) => {
                Err(invalid("constraints on temporary tables must involve temporary tables of this session"))
            }
            (Temporary(_), _) => Err(invalid("constraints on temporary tables may reference only temporary tables")),
        }
    }

    /// Tables with foreign keys that refer to this one.
    fn children(&self, table: &TableSchema) -> impl Iterator<Item = &Arc<TableSchema>> {
        let (oid, tables) = (table.oid, self.catalog.tables.values().map(|known| &known.table));
        tables.filter(move |child| child.foreign_keys.iter().any(|key| key.parent == oid))
    }

    fn is_referred_to(&self, table: &TableSchema) -> bool {
        self.children(table).next().is_some()
    }

    /// Errors: 0A000 for a table that is emptied while one refers to it that is not.
    fn check_emptied(&self, table: &TableSchema) -> Result<()> {
        let kept = self.children(table).find(|child| !is_at_commit(child, AtCommit::Empty));
        let Some(kept) = kept else { return Ok(()) };
        let message = "unsupported ON COMMIT and foreign key combination";
        Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message).with_detail(format!(
            "Table \"{}\" references \"{}\", but they do not have the same ON COMMIT setting.",
            kept.name, table.name
        )))
    }
}
