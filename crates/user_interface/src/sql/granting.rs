//! GRANT and REVOKE of privileges, planned as catalog writes (PostgreSQL's `aclchk.c`).
//!
//! Invariant: a plan relies on the row of each role that gets something, so that nothing is granted to a role that is being dropped.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::databases;
use crate::sql::ddl::Planner;
use crate::sql::denials::{denied, denied_for};
use crate::sql::grants::{Granting, Object};
use crate::sql::lookup::no_schema;
use crate::sql::role_syntax;
use crate::sql::roles::find;
use crate::sql::settings::Facts;
use messages::namespace::{self, PUBLIC as PUBLIC_SCHEMA, PUBLIC_OID};
use messages::privilege::{Grants, PUBLIC, Privileges, Rights};
use messages::schema::{CatalogEntry, NamespaceSchema, Place, TableSchema, TypeSchema};
use privileges::grants::{GrantChange, GrantRefused, best_grantor, changed};
use privileges::{Kind, Standing};
use std::sync::Arc;

/// What is granted or taken away, on one object.
struct Wanted<'a> {
    statement: &'a Granting,
    grantees: &'a [u32],
    privileges: Privileges,
    all: bool,
    kind: Kind,
}

/// What messages call an object.
struct Named<'a> {
    word: &'a str,
    name: &'a str,
    /// Of a table, if it is one.
    column: Option<&'a str>,
}

impl Named<'_> {
    fn denied(&self) -> Box<SqlError> {
        match self.column {
            None => denied_for(self.word, self.name),
            Some(column) => denied(format!("permission denied for column \"{column}\" of relation \"{}\"", self.name)),
        }
    }

    fn in_warnings(&self) -> String {
        match self.column {
            None => format!("\"{}\"", self.name),
            Some(column) => format!("column \"{column}\" of relation \"{}\"", self.name),
        }
    }
}

impl Planner<'_> {
    /// GRANT or REVOKE.
    pub(super) fn grant(&mut self, statement: &Granting, facts: &Facts) -> Result<()> {
        if let Some(by) = &statement.by
            && find(&self.catalog, by, facts)?.oid != facts.role
        {
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, "grantor must be current user"));
        }
        for object in &statement.on {
            match object {
                Object::Table(name) => drop(self.relation(name)?),
                Object::Sequence(name) => drop(self.sequence(name)?),
                _ => {}
            }
        }
        let grantees = self.grantees(&statement.grantees, facts)?;
        for object in &statement.on {
            match object {
                Object::Table(name) | Object::Sequence(name) => self.grant_on_table(statement, &grantees, name)?,
                Object::AllSequences(schema) | Object::AllTables(schema) => {
                    let schema = self.schema_numbered(schema)?;
                    let wants_sequences = matches!(object, Object::AllSequences(_));
                    let tables = self.catalog.tables.values().map(|known| &known.table);
                    let wanted = tables.filter(|table| {
                        table.sequence.is_some() == wants_sequences && namespace::of(&table.name) == schema
                    });
                    let names: Vec<String> = wanted.map(|table| table.name.clone()).collect();
                    for name in names {
                        self.grant_on_table(statement, &grantees, &name)?;
                    }
                }
                Object::Procedure(word, name, types) => {
                    let name = self.procedure_named(word, name, types.as_deref())?;
                    self.grant_on_procedure(statement, &grantees, &name)?;
                }
                Object::AllProcedures(word, schema) => {
                    let schema = self.schema_numbered(schema)?;
                    let all = self.catalog.procedures.values().map(|(known, _)| known);
                    let meant = all.filter(|known| {
                        namespace::of(&known.name) == schema && (*word == "routine" || *word == known.word())
                    });
                    let names: Vec<String> = meant.map(|known| known.name.clone()).collect();
                    for name in names {
                        self.grant_on_procedure(statement, &grantees, &name)?;
                    }
                }
                Object::Schema(name) => self.grant_on_schema(statement, &grantees, name)?,
                Object::Type(name) => self.grant_on_type(statement, &grantees, name)?,
                Object::Domain(name) => {
                    self.domain_named(name, true)?;
                    self.grant_on_type(statement, &grantees, name)?;
                }
                Object::Database(name) => self.grant_on_database(statement, &grantees, name)?,
            }
        }
        Ok(())
    }

    /// Who is named to get something; the plan relies on their rows. Errors: 42704.
    pub(super) fn grantees(&mut self, named: &[Option<role_syntax::Named>], facts: &Facts) -> Result<Vec<u32>> {
        let mut grantees = Vec::with_capacity(named.len());
        for grantee in named {
            grantees.push(match grantee {
                None => PUBLIC,
                Some(name) => {
                    let role = find(&self.catalog, name, facts)?;
                    self.relied.insert(CatalogEntry::role_key(&role.name));
                    role.oid
                }
            });
        }
        Ok(grantees)
    }

    /// A table, a view, materialized or not, or a sequence. Errors: 42P01, 42809.
    fn relation(&self, name: &str) -> Result<Arc<TableSchema>> {
        if let Some(known) = self.catalog.tables.get(name).filter(|known| known.table.view.is_some()) {
            return Ok(known.table.clone());
        }
        self.sequence(name).or_else(|_| self.stored(name))
    }

    pub(super) fn grant_on_table(&mut self, statement: &Granting, grantees: &[u32], name: &str) -> Result<()> {
        let table = self.relation(name)?;
        let mut to = TableSchema::clone(&table);
        let on_all = |columns: &Vec<String>| columns.is_empty();
        let whole = statement.privileges.iter().filter(|(_, columns)| on_all(columns));
        let whole = whole.fold(Privileges::NONE, |all, (privilege, _)| all | *privilege);
        let all = statement.all.as_ref().is_some_and(on_all);
        let mut by_column: Vec<(usize, Privileges, bool)> = Vec::new();
        if all || !whole.is_empty() {
            let kind = Kind::of(&table);
            let privileges = if all { kind.privileges() } else { self.on_relation(kind, name, whole)? };
            let wanted = Wanted { statement, grantees, privileges, all, kind };
            let word = if kind == Kind::Sequence { "sequence" } else { "table" };
            let named = Named { word, name, column: None };
            let held = self.standing.on_table(&table);
            to.rights.grants = Some(self.regrant(&wanted, &table.rights, None, held, &named)?);
            // What was granted on columns alone goes with what is taken away from the table.
            let also = privileges & Kind::Column.privileges();
            if !statement.grants && !also.is_empty() && kind == Kind::Table {
                let all = also == Kind::Column.privileges();
                self.check_system_columns(statement, &table, also, all)?;
                let live = (0..to.columns.len()).filter(|column| !to.columns[*column].dropped);
                by_column.extend(live.map(|column| (column, also, all)));
            }
        }
        let named = statement.privileges.iter().map(|(privilege, columns)| (*privilege, columns, false));
        let all = statement.all.iter().map(|columns| (Kind::Column.privileges(), columns, true));
        for (privileges, columns, all) in named.chain(all) {
            for column in columns {
                let place = table.column(column).ok_or_else(|| crate::sql::set_clauses::no_column(&table, column))?;
                match by_column.iter_mut().find(|(known, ..)| *known == place) {
                    Some(known) => known.1 = known.1 | privileges,
                    None => by_column.push((place, privileges, all)),
                }
            }
        }
        for (column, privileges, all) in by_column {
            let wanted = Wanted { statement, grantees, privileges, all, kind: Kind::Column };
            let column_name = to.columns[column].name.clone();
            let named = Named { word: "table", name, column: Some(&column_name) };
            let own = to.columns[column].grants.clone().unwrap_or_default();
            let held = self.standing.on_table(&table) | self.standing.on_column(&table, column);
            let grants = self.regrant(&wanted, &to.rights, Some(own), held, &named)?;
            to.columns[column].grants = Some(grants).filter(|grants| !grants.is_empty());
        }
        self.write_table(to);
        Ok(())
    }

    /// Of privileges on a relation those that its kind has. Errors: 0LP01 for a table's USAGE.
    fn on_relation(&mut self, kind: Kind, name: &str, wanted: Privileges) -> Result<Privileges> {
        let known = kind.privileges();
        if known.contain(wanted) {
            return Ok(wanted);
        }
        if kind == Kind::Table {
            return Err(SqlError::new(sqlstate::INVALID_GRANT, "invalid privilege type USAGE for table"));
        }
        let message = format!("sequence \"{name}\" only supports USAGE, SELECT, and UPDATE privileges");
        self.warn(sqlstate::INVALID_GRANT, message);
        Ok(wanted & known)
    }

    /// PostgreSQL takes away what is granted on system columns, too. There is nothing to take away here, but it is said whether one might.
    fn check_system_columns(
        &mut self,
        statement: &Granting,
        table: &TableSchema,
        privileges: Privileges,
        all: bool,
    ) -> Result<()> {
        let held = self.standing.on_table(table);
        for column in ["tableoid", "cmax", "xmax", "cmin", "xmin", "ctid"] {
            let wanted = Wanted { statement, grantees: &[], privileges, all, kind: Kind::Column };
            let named = Named { word: "table", name: &table.name, column: Some(column) };
            self.regrant(&wanted, &table.rights, Some(Vec::new()), held, &named)?;
        }
        Ok(())
    }

    /// The grants of an object after the statement. `own`: those of a column, whose table has `rights`. Errors: 42501, 2BP01, 0LP01.
    fn regrant(
        &mut self,
        wanted: &Wanted,
        rights: &Rights,
        own: Option<Grants>,
        held: Privileges,
        named: &Named,
    ) -> Result<Grants> {
        let Wanted { statement, grantees, privileges, all, kind } = wanted;
        let table_kind = if *kind == Kind::Column { Kind::Table } else { *kind };
        let mut every = table_kind.grants(rights);
        every.extend(own.clone().unwrap_or_default());
        let merged = Rights { owner: rights.owner, grants: Some(every) };
        let (grantor, can) = best_grantor(&self.standing, *kind, &merged, *privileges);
        let done = *privileges & can;
        if can.is_empty() {
            let standing = &self.standing;
            let any = (held | standing.grantable(*kind, &merged)) & kind.privileges();
            if any.is_empty() {
                return Err(named.denied());
            }
        }
        let (code, verb) = if statement.grants {
            (sqlstate::PRIVILEGE_NOT_GRANTED, "granted")
        } else {
            (sqlstate::PRIVILEGE_NOT_REVOKED, "could be revoked")
        };
        let what = named.in_warnings();
        if done.is_empty() {
            let was = if statement.grants { "were granted" } else { verb };
            self.warn(code, format!("no privileges {was} for {what}"));
        } else if !all && done != *privileges {
            let was = if statement.grants { "were granted" } else { verb };
            self.warn(code, format!("not all privileges {was} for {what}"));
        }
        let mut grants = own.unwrap_or_else(|| table_kind.grants(rights));
        for grantee in grantees.iter() {
            let only = |wanted: bool| if wanted { done } else { Privileges::NONE };
            let change = GrantChange {
                adds: statement.grants,
                grantee: *grantee,
                grantor,
                privileges: only(statement.grants || !statement.option),
                grantable: only(!statement.grants || statement.option),
            };
            grants = changed(&grants, rights.owner, &change, statement.behavior).map_err(refused)?;
        }
        Ok(grants)
    }

    pub(super) fn grant_on_procedure(&mut self, statement: &Granting, grantees: &[u32], name: &str) -> Result<()> {
        let Some((procedure, _)) = self.catalog.procedures.get(name).cloned() else { return Ok(()) };
        let held = self.standing.on_procedure(&procedure);
        let named = Named { word: "function", name, column: None };
        let rights = self.regranted(statement, grantees, Kind::Procedure, &procedure.rights, held, &named)?;
        let mut procedure = (*procedure).clone();
        procedure.rights = rights;
        self.write(CatalogEntry::procedure_key(name), Some(CatalogEntry::Procedure(Arc::new(procedure))));
        Ok(())
    }

    /// The number of a schema that a statement names. Errors: 3F000.
    fn schema_numbered(&self, name: &str) -> Result<u32> {
        self.catalog.namespace(name).map(|schema| schema.oid).ok_or_else(|| no_schema(name))
    }

    pub(super) fn grant_on_schema(&mut self, statement: &Granting, grantees: &[u32], name: &str) -> Result<()> {
        let schema = self.catalog.namespace(name).ok_or_else(|| no_schema(name))?;
        if schema.oid == PUBLIC_OID {
            return self.grant_on_public(statement, grantees);
        }
        let held = self.standing.on_schema(&schema.rights);
        let named = Named { word: "schema", name, column: None };
        let rights = self.regranted(statement, grantees, Kind::Schema, &schema.rights, held, &named)?;
        self.write_schema(NamespaceSchema { rights, ..NamespaceSchema::clone(&schema) });
        Ok(())
    }

    pub(super) fn grant_on_type(&mut self, statement: &Granting, grantees: &[u32], name: &str) -> Result<()> {
        let Some((known, _)) = self.catalog.types.get(name).cloned() else {
            return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist")));
        };
        let held = self.standing.on(Kind::Type, &known.rights);
        let named = Named { word: "type", name: &known.written, column: None };
        let rights = self.regranted(statement, grantees, Kind::Type, &known.rights, held, &named)?;
        self.write_type(TypeSchema { rights, ..TypeSchema::clone(&known) });
        Ok(())
    }

    pub(super) fn grant_on_public(&mut self, statement: &Granting, grantees: &[u32]) -> Result<()> {
        let rights = self.catalog.rights(Place::Schema);
        let held = self.standing.on_place(&self.catalog, Place::Schema);
        let named = Named { word: "schema", name: PUBLIC_SCHEMA, column: None };
        let rights = self.regranted(statement, grantees, Kind::Schema, &rights, held, &named)?;
        self.write(CatalogEntry::rights_key(Place::Schema), Some(CatalogEntry::Rights(Arc::new(rights))));
        Ok(())
    }

    /// Errors: 3D000, 42501.
    pub(super) fn grant_on_database(&mut self, statement: &Granting, grantees: &[u32], name: &str) -> Result<()> {
        let known = databases::existing(&self.catalog, name)?;
        self.relied.insert(known.key());
        let rights = self.catalog.database_rights(known.id);
        let (held, named) = (self.on_database(known.id), Named { word: "database", name, column: None });
        let rights = self.regranted(statement, grantees, Kind::Database, &rights, held, &named)?;
        self.write_database_rights(known.id, rights);
        Ok(())
    }

    fn regranted(
        &mut self,
        statement: &Granting,
        grantees: &[u32],
        kind: Kind,
        rights: &Rights,
        held: Privileges,
        named: &Named,
    ) -> Result<Rights> {
        let all = statement.all.is_some();
        let named_ones = statement.privileges.iter().fold(Privileges::NONE, |all, (privilege, _)| all | *privilege);
        let privileges = if all { kind.privileges() } else { named_ones };
        let wanted = Wanted { statement, grantees, privileges, all, kind };
        let grants = self.regrant(&wanted, rights, None, held, named)?;
        Ok(Rights { owner: rights.owner, grants: Some(grants) })
    }

    /// A role that may look into the schema may name what is in it.
    pub(super) fn check_place(&self, place: Place, wanted: Privileges, name: &str) -> Result<()> {
        let word = if place == Place::Schema { "schema" } else { "database" };
        match self.standing.on_place(&self.catalog, place).contain(wanted) {
            true => Ok(()),
            false => Err(denied_for(word, name)),
        }
    }

    /// What a role needs to make something of this name, whose schema the plan then relies on. Errors: 42501.
    pub(super) fn check_create(&mut self, name: &str) -> Result<()> {
        let none = || SqlError::new(sqlstate::UNDEFINED_SCHEMA, "no schema has been selected to create in");
        let schema = self.catalog.namespace_numbered(namespace::of(name)).ok_or_else(none)?;
        self.relied.insert(CatalogEntry::namespace_key(&schema.name));
        if let Some(owner) = schema.temporary {
            return self.check_own_temporary(owner, &schema.name);
        }
        let may = self.standing.on_schema(&schema.rights);
        if schema.oid == PUBLIC_OID && !may.contain(Privileges::USAGE) {
            return Err(none());
        }
        match may.contain(Privileges::CREATE) {
            true => Ok(()),
            false => Err(denied_for("schema", &schema.name)),
        }
    }

    /// What another role may do.
    pub(super) fn standing_of(&self, role: u32) -> Standing {
        Standing::of(&self.catalog, role)
    }
}

pub(super) fn refused(refused: GrantRefused) -> Box<SqlError> {
    match refused {
        GrantRefused::Dependent => SqlError::new(sqlstate::DEPENDENT_OBJECTS, "dependent privileges exist")
            .with_hint("Use CASCADE to revoke them too."),
        GrantRefused::Circle => {
            SqlError::new(sqlstate::INVALID_GRANT, "grant options cannot be granted back to your own grantor")
        }
    }
}
