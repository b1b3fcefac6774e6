//! LOCK TABLE as a program, and the locks that are taken before it.
//!
//! Invariant: sessions that lock a table in modes that conflict by PostgreSQL's table of modes exclude each other at all sites, by locks that are rows
//! (`crate::locks`). What changes rows without LOCK TABLE takes no such lock: of that the program takes care, by a lock of all rows at its own site, and by
//! reading all of them.

use crate::errors::{Result, SqlError, sqlstate};
use crate::locks::held::{HeldLock, TableLock};
use crate::sql::denials::denied_for;
use crate::sql::given::Context;
use crate::sql::lock_table_syntax::TableLocking;
use crate::sql::prepared::{Plan, Prepared, Tag};
use crate::sql::rights::{Need, Needs};
use messages::Timestamp;
use messages::advisory::{AdvisoryKey, AdvisoryMode};
use messages::database::DatabaseId;
use messages::namespace;
use messages::privilege::Privileges;
use messages::program::{Action, Program, RowLockStrength, RowLockWait, SelectLock};
use messages::schema::{CatalogEntry, TableSchema, TableSchemaKind, VersionedTable};
use privileges::Standing;
use std::sync::Arc;

const TAG: &str = "LOCK TABLE";

impl TableLocking {
    /// Whether it needs a transaction that may write.
    fn writes(&self) -> bool {
        !matches!(self.mode, AdvisoryMode::AccessShare | AdvisoryMode::RowShare | AdvisoryMode::RowExclusive)
    }

    /// How all rows are locked, so that changes of them are kept out that take no lock of the table.
    fn of_rows(&self) -> Option<SelectLock> {
        let strength = match self.mode {
            AdvisoryMode::AccessShare
            | AdvisoryMode::RowShare
            | AdvisoryMode::RowExclusive
            | AdvisoryMode::ShareUpdateExclusive => return None,
            AdvisoryMode::Share | AdvisoryMode::ShareRowExclusive | AdvisoryMode::Exclusive => RowLockStrength::Share,
            AdvisoryMode::AccessExclusive => RowLockStrength::Update,
        };
        Some(SelectLock { strength, wait: if self.waits { RowLockWait::Wait } else { RowLockWait::Error } })
    }

    /// Of what rights one is enough (`LockTableAclCheck` in lockcmds.c).
    fn rights(&self) -> Privileges {
        let changes = Privileges::UPDATE | Privileges::DELETE | Privileges::TRUNCATE;
        match self.mode {
            AdvisoryMode::AccessShare => Privileges::SELECT,
            AdvisoryMode::RowExclusive => changes | Privileges::INSERT,
            _ => changes,
        }
    }

    /// The tables. Errors: 42P01, 42809; 0A000 for a view.
    fn found(&self, context: &Context) -> Result<Vec<VersionedTable>> {
        let table = |name: &String| {
            let shown = namespace::bare(name);
            let Some(found) = context.catalog.tables.get(name) else {
                return Err(match context.catalog.index_names.contains_key(name) {
                    true => not_lockable(shown, "indexes"),
                    false => {
                        let message = format!("relation \"{}\" does not exist", namespace::shown(name));
                        SqlError::new(sqlstate::UNDEFINED_TABLE, message)
                    }
                });
            };
            match found.table.kind() {
                TableSchemaKind::Sequence => Err(not_lockable(shown, "sequences")),
                TableSchemaKind::MaterializedView => Err(not_lockable(shown, "materialized views")),
                TableSchemaKind::View => Err(SqlError::unsupported("LOCK TABLE of a view")),
                TableSchemaKind::Table => Ok(found.clone()),
            }
        };
        self.tables.iter().map(table).collect()
    }

    /// The statement. Errors: those of a schema that the role may not look into.
    pub(super) fn prepare(&self, text: &Arc<str>, context: &Context) -> Result<Prepared> {
        // What is wrong with a table is said where a lock of one could be taken.
        let (tables, wrong) = match self.found(context) {
            Ok(tables) => (tables, None),
            Err(wrong) => (Vec::new(), Some(wrong)),
        };
        let lock = |table: &TableSchema| TableLock {
            lock: HeldLock { key: AdvisoryKey::of_table(table.oid).within(context.facts.database_id), mode: self.mode },
            waits: self.waits,
            name: namespace::bare(&table.name).to_owned(),
        };
        let relies_on = tables.iter().filter(|found| found.version != Timestamp::ZERO);
        let program = Program {
            parameters: Vec::new(),
            actions: tables
                .iter()
                .map(|found| Action::LockTable { table: found.table.clone(), lock: self.of_rows() })
                .collect(),
            columns: Vec::new(),
            relies_on: relies_on.map(|found| (CatalogEntry::key(&found.table.name), found.version)).collect(),
            read_only: !self.writes(),
            references: Arc::default(),
            database: DatabaseId::FIRST,
        };
        let table_locks = tables.iter().map(|found| lock(&found.table)).collect();
        let mut prepared = Prepared::simple(text, Plan::Program(Arc::new(program)), Tag::Plain(TAG));
        prepared.table_locks = table_locks;
        prepared.inside_blocks = Some(TAG);
        prepared.writes = self.writes();
        prepared.shareable = false;
        let keys = self.tables.iter().map(|name| CatalogEntry::key(name));
        prepared.mentions = keys.map(|key| (key.clone(), context.all.version_of(&key))).collect();
        // Of the rights one is enough, and those on columns are none.
        let standing = Standing::of(context.all, context.facts.role);
        let held = |table: &TableSchema| standing.on_table(table) & self.rights();
        let need = |found: &VersionedTable| Need::of(found.table.clone(), held(&found.table));
        let needs = || Needs { tables: tables.iter().map(need).collect(), ..Needs::default() };
        prepared.protect(context.all, context.facts.role, needs)?;
        let lacking = tables.iter().find(|found| held(&found.table).is_empty());
        let lacking = lacking.map(|found| denied_for("table", namespace::bare(&found.table.name)));
        prepared.denied = wrong.or(prepared.denied.take()).or(lacking);
        Ok(prepared)
    }
}

/// 42809.
fn not_lockable(name: &str, what: &str) -> Box<SqlError> {
    let message = format!("cannot lock relation \"{name}\"");
    SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message)
        .with_detail(format!("This operation is not supported for {what}."))
}
