//! What a compiled statement needs, held against what the role may do: the one place that denies rows to a client.
//!
//! Invariant: a statement's program relies on every catalog row that decided that it may run; a statement that may not is told so when it is executed, as
//! in PostgreSQL, and not when it is prepared.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::denials::denied_for;
use crate::sql::function_calls::too_long;
use messages::namespace;
use messages::privilege::{Grant, PUBLIC, Privileges};
use messages::role::BOOTSTRAP_OID;
use messages::schema::{Catalog, Place, TableSchema};
use messages::{Key, Timestamp};
use privileges::Standing;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a statement does with one table that it names.
#[derive(Clone, Debug)]
pub struct Need {
    /// The table.
    pub table: Arc<TableSchema>,
    /// What the role needs of it; of a sequence, one of these.
    pub required: Privileges,
    /// Positions of columns that are read.
    pub selected: BTreeSet<usize>,
    /// Of columns that INSERT fills.
    pub inserted: BTreeSet<usize>,
    /// Of columns that UPDATE changes.
    pub updated: BTreeSet<usize>,
}

/// All that a statement needs.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Of tables, in the order in which they are named.
    pub tables: Vec<Need>,
    /// Names of procedures that it calls, each found in the catalog.
    pub procedures: Vec<String>,
    /// Names of users' functions that it calls, each found in the catalog.
    pub functions: Vec<String>,
    /// There is more that it needs: functions that it calls are too long to be read.
    pub has_more: bool,
    /// It reads what the schema `raid` shows.
    pub monitors: bool,
    /// A table is named without its schema.
    pub unqualified: Option<String>,
    /// A table is named with its schema.
    pub qualified: bool,
}

impl Need {
    /// Nothing yet.
    pub fn of(table: Arc<TableSchema>, required: Privileges) -> Need {
        Need { table, required, selected: BTreeSet::new(), inserted: BTreeSet::new(), updated: BTreeSet::new() }
    }

    /// Whether a role has it: on the table, or on each column that is used, or on any where none is (PostgreSQL's `ExecCheckRTEPerms`).
    fn is_met(&self, standing: &Standing) -> bool {
        let held = standing.on_table(&self.table);
        if self.table.sequence.is_some() && !self.required.is_empty() && self.required.meet(held) {
            return true;
        }
        let missing = self.required & !held;
        let by_column = Privileges::SELECT | Privileges::INSERT | Privileges::UPDATE;
        if missing.is_empty() {
            return true;
        }
        if !by_column.contain(missing) {
            return false;
        }
        let used = [
            (Privileges::SELECT, &self.selected),
            (Privileges::INSERT, &self.inserted),
            (Privileges::UPDATE, &self.updated),
        ];
        used.into_iter().filter(|(privilege, _)| missing.contain(*privilege)).all(|(privilege, columns)| {
            let has = |column: usize| standing.on_column(&self.table, column).contain(privilege);
            match columns.is_empty() {
                true => (0..self.table.columns.len()).any(has),
                false => columns.iter().all(|column| has(*column)),
            }
        })
    }
}

/// Errors: 42P01 for a table without its schema where the role may not look into that, 42501 for one with it; 42883 for a function.
fn check_schema(needs: &Needs, standing: &Standing, catalog: &Catalog) -> Result<()> {
    if standing.on_place(catalog, Place::Schema).contain(Privileges::USAGE) {
        return Ok(());
    }
    match &needs.unqualified {
        Some(name) => Err(SqlError::new(sqlstate::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))),
        None if needs.qualified => Err(denied_for("schema", "public")),
        None => match needs.functions.iter().find(|name| !namespace::is_marked(name)) {
            Some(name) => Err(no_function(name, catalog)),
            None => Ok(()),
        },
    }
}

/// 42883 for a function that the role does not see.
fn no_function(name: &str, catalog: &Catalog) -> Box<SqlError> {
    let known = catalog.procedures.get(name).map(|(known, _)| known.parameters.as_slice());
    let types: Vec<&str> = known.unwrap_or_default().iter().map(|(_, known)| known.base_name()).collect();
    SqlError::new(sqlstate::UNDEFINED_FUNCTION, format!("function {name}({}) does not exist", types.join(", ")))
        .with_hint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

/// Errors: 42501 unless the role may do all of it.
fn check(needs: &Needs, standing: &Standing, catalog: &Catalog) -> Result<()> {
    if standing.is_superuser() {
        return Ok(());
    }
    if needs.has_more {
        return Err(too_long());
    }
    if needs.monitors && !standing.monitors() {
        return Err(denied_for("view", "contention"));
    }
    for name in &needs.procedures {
        let procedure = catalog.procedures.get(name);
        if procedure.is_some_and(|(procedure, _)| standing.on_procedure(procedure).is_empty()) {
            return Err(denied_for("procedure", name));
        }
    }
    let is_denied = |name: &&String| {
        catalog.procedures.get(*name).is_some_and(|(known, _)| standing.on_procedure(known).is_empty())
    };
    match needs.tables.iter().find(|need| !need.is_met(standing)) {
        None => match needs.functions.iter().find(is_denied) {
            Some(name) => Err(denied_for("function", name)),
            None => Ok(()),
        },
        Some(need) if need.table.sequence.is_some() => Err(denied_for("sequence", &need.table.name)),
        Some(need) => Err(denied_for(need.table.kind().word(), &need.table.name)),
    }
}

/// What the role of a session may do with a statement.
pub struct Verdict {
    /// Why it may not execute it.
    pub denied: Option<Box<SqlError>>,
    /// Catalog rows that decided that, with their versions.
    pub rights: Vec<(Key, Timestamp)>,
}

/// Settles whether a role may execute a statement. Errors: those of a schema that it may not look into.
pub fn decide(catalog: &Catalog, role: u32, needs: impl FnOnce() -> Needs) -> Result<Verdict> {
    if role == BOOTSTRAP_OID {
        return Ok(Verdict { denied: None, rights: Vec::new() });
    }
    let (standing, needs) = (Standing::of(catalog, role), needs());
    check_schema(&needs, &standing, catalog)?;
    Ok(Verdict { denied: check(&needs, &standing, catalog).err(), rights: standing.relied(catalog) })
}

/// What of the catalog a role may name: no table and no procedure of `public`, if it may not look into that.
pub fn seen(catalog: &Arc<Catalog>, role: u32) -> Arc<Catalog> {
    let by_all = |grant: &Grant| grant.grantee == PUBLIC && grant.privileges.contain(Privileges::USAGE);
    let is_open =
        catalog.rights.get(&Place::Schema).is_none_or(|(rights, _)| rights.grants.iter().flatten().any(by_all));
    if is_open || role == BOOTSTRAP_OID {
        return catalog.clone();
    }
    if Standing::of(catalog, role).on_place(catalog, Place::Schema).contain(Privileges::USAGE) {
        return catalog.clone();
    }
    let mut seen = Catalog::clone(catalog);
    seen.tables.retain(|name, _| namespace::is_marked(name));
    seen.index_names.retain(|name, _| namespace::is_marked(name));
    seen.procedures.retain(|name, _| namespace::is_marked(name));
    Arc::new(seen)
}
