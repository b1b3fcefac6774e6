//! What roles own: ALTER ... OWNER TO, REASSIGN OWNED, DROP OWNED, and what keeps a role from being dropped.
//!
//! Invariant: whoever gives something away may, as its owner, and is a member of the role that gets it.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::Planner;
use crate::sql::denials::{OwnerReach, denied, denied_for, not_owner};
use crate::sql::grants::{Granting, Object};
use crate::sql::lookup::no_schema;
use crate::sql::role_syntax::Named;
use crate::sql::roles::find;
use crate::sql::settings::Facts;
use messages::namespace::{self, PUBLIC};
use messages::privilege::{MadeKind, Privileges, Rights};
use messages::role::{BOOTSTRAP_OID, RoleSchema};
use messages::schema::{
    Catalog, CatalogEntry, CommentTarget, ExtensionSchema, NamespaceSchema, Place, PolicySchema, ProcedureSchema,
    TableSchema, TypeSchema,
};
use privileges::grants::{name_role, with_owner};
use std::sync::Arc;
use values::Type;

/// `procedure p(integer)` or `function f(integer)` as details name it.
fn described(procedure: &ProcedureSchema) -> String {
    let types: Vec<String> = procedure.inputs().map(|(_, data_type)| data_type.base_name().to_owned()).collect();
    format!("{} {}({})", procedure.word(), procedure.name, types.join(","))
}

impl Planner<'_> {
    /// Errors: 42501 for a table or view of others.
    pub(super) fn check_owns_table(&self, table: &TableSchema) -> Result<()> {
        match self.standing.has(table.rights.owner) {
            true => Ok(()),
            false => Err(not_owner(table.kind().word(), &table.name)),
        }
    }

    /// Errors: 42501 for what is another role's, and not in reach.
    pub(super) fn check_owns(&self, rights: &Rights, kind: &str, name: &str, reach: OwnerReach) -> Result<()> {
        let schema = self.catalog.namespace_numbered(namespace::of(name));
        let of_schema =
            reach == OwnerReach::Schema && schema.is_some_and(|schema| self.standing.has(schema.rights.owner));
        match of_schema || self.standing.has(rights.owner) {
            true => Ok(()),
            false => Err(not_owner(kind, name)),
        }
    }

    /// Errors: 42883 for a procedure that there is not.
    pub(super) fn procedure_named(&self, word: &str, name: &str, types: Option<&[Type]>) -> Result<String> {
        let found = self.catalog.procedures.get(name).filter(|(procedure, _)| {
            let known = procedure.inputs().map(|(_, data_type)| data_type.unmodified());
            types.is_none_or(|types| types.iter().map(|wanted| wanted.unmodified()).eq(known))
        });
        let message = match (found, types) {
            (Some((procedure, _)), _) if word != "routine" && word != procedure.word() => {
                let shown = described(procedure);
                let message = format!("{} is not a {word}", &shown[procedure.word().len() + 1..]);
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message));
            }
            (Some(_), _) => return Ok(name.to_owned()),
            (None, Some(types)) => {
                let types: Vec<&str> = types.iter().map(|wanted| wanted.base_name()).collect();
                format!("{word} {name}({}) does not exist", types.join(", "))
            }
            (None, None) => format!("could not find a {word} named \"{name}\""),
        };
        Err(SqlError::new(sqlstate::UNDEFINED_FUNCTION, message))
    }

    /// Errors: 42501 unless the session's role may give something to another one, which may make things in the object's schema.
    fn check_gives(&mut self, new: &RoleSchema, object: Option<&str>) -> Result<()> {
        self.relied.insert(CatalogEntry::role_key(&new.name));
        if self.standing.is_superuser() {
            return Ok(());
        }
        if !self.standing.is_member(new.oid) {
            return Err(denied(format!("must be member of role \"{}\"", new.name)));
        }
        let Some(object) = object else { return Ok(()) };
        let standing = self.standing_of(new.oid);
        match self.catalog.namespace_numbered(namespace::of(object)) {
            Some(schema) if !standing.on_schema(&schema.rights).contain(Privileges::CREATE) => {
                Err(denied_for("schema", &schema.name))
            }
            _ => Ok(()),
        }
    }

    /// ALTER TABLE ... OWNER TO. Errors: 0A000 for a sequence that a column owns.
    pub(super) fn give_table(&mut self, table: TableSchema, new: &RoleSchema) -> Result<()> {
        if table.rights.owner != new.oid {
            self.check_is_unowned(&table)?;
            self.check_gives(new, Some(&table.name))?;
            for sequence in self.owned(table.oid, None) {
                self.write_owned_table(TableSchema::clone(&sequence), new.oid);
            }
            self.write_owned_table(table, new.oid);
        }
        Ok(())
    }

    fn check_is_unowned(&self, sequence: &TableSchema) -> Result<()> {
        let Some((owner, _)) = sequence.sequence.as_deref().and_then(|known| known.owned_by) else { return Ok(()) };
        let owner = self.catalog.tables.values().find(|known| known.table.oid == owner);
        let shown = owner.map_or("", |known| namespace::bare(&known.table.name));
        let name = namespace::bare(&sequence.name);
        let message = format!("cannot change owner of sequence \"{name}\"");
        let detail = format!("Sequence \"{name}\" is linked to table \"{shown}\".");
        Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message).with_detail(detail))
    }

    fn write_owned_table(&mut self, mut table: TableSchema, owner: u32) {
        let old = table.rights.owner;
        for column in &mut table.columns {
            column.grants = column.grants.take().map(|grants| with_owner(&grants, old, owner));
        }
        table.rights = given(&table.rights, owner);
        self.write_table(table);
    }

    fn write_owned_procedure(&mut self, procedure: &ProcedureSchema, owner: u32) {
        let procedure = ProcedureSchema { rights: given(&procedure.rights, owner), ..procedure.clone() };
        let key = CatalogEntry::procedure_key(&procedure.name);
        self.write(key, Some(CatalogEntry::Procedure(Arc::new(procedure))));
    }

    fn write_owned_type(&mut self, known: &TypeSchema, owner: u32) {
        self.write_type(TypeSchema { rights: given(&known.rights, owner), ..known.clone() });
    }

    /// ALTER TYPE ... OWNER TO.
    pub(super) fn give_type(&mut self, known: TypeSchema, new: &RoleSchema) -> Result<()> {
        if known.rights.owner != new.oid {
            self.check_gives(new, Some(&known.name))?;
            self.write_owned_type(&known, new.oid);
        }
        Ok(())
    }

    /// Types that a role owns.
    pub(super) fn types_of(&self, owner: u32) -> Vec<Arc<TypeSchema>> {
        let types = self.catalog.types.values().map(|(known, _)| known);
        types.filter(|known| known.rights.owner == owner).cloned().collect()
    }

    fn write_owned_public(&mut self, owner: u32) {
        let rights = given(&self.catalog.rights(Place::Schema), owner);
        self.write(CatalogEntry::rights_key(Place::Schema), Some(CatalogEntry::Rights(Arc::new(rights))));
    }

    /// ALTER PROCEDURE, SCHEMA or DATABASE ... OWNER TO.
    pub(super) fn give(&mut self, object: &Object, owner: &Named, facts: &Facts) -> Result<()> {
        let new = find(&self.catalog, owner, facts)?;
        match object {
            Object::Procedure(word, name, types) => {
                let name = self.procedure_named(word, name, types.as_deref())?;
                let Some((procedure, _)) = self.catalog.procedures.get(&name).cloned() else { return Ok(()) };
                self.check_owns(&procedure.rights, "function", &name, OwnerReach::Object)?;
                if procedure.rights.owner != new.oid {
                    self.check_gives(&new, Some(&name))?;
                    self.write_owned_procedure(&procedure, new.oid);
                }
            }
            Object::Schema(name) if name == PUBLIC && self.catalog.namespace(name).is_some() => {
                self.give_public(&new)?;
            }
            Object::Schema(name) => self.give_schema(name, &new)?,
            Object::Database(name) => self.give_database(name, &new)?,
            Object::Sequence(name) => {
                let sequence = self.sequence(name)?;
                self.check_owns(&sequence.rights, "sequence", name, OwnerReach::Object)?;
                self.give_table(TableSchema::clone(&sequence), &new)?;
            }
            Object::Table(_)
            | Object::AllTables(_)
            | Object::AllSequences(_)
            | Object::Type(_)
            | Object::Domain(_)
            | Object::AllProcedures(..) => {}
        }
        Ok(())
    }

    /// ALTER SCHEMA ... OWNER TO.
    fn give_schema(&mut self, name: &str, new: &RoleSchema) -> Result<()> {
        let schema = self.catalog.namespace(name).ok_or_else(|| no_schema(name))?;
        if !self.standing.has(schema.rights.owner) {
            return Err(not_owner("schema", name));
        }
        if schema.rights.owner != new.oid {
            self.check_gives(new, None)?;
            self.check_place(Place::Database, Privileges::CREATE, "")?;
            self.write_owned_schema(&schema, new.oid);
        }
        Ok(())
    }

    fn write_owned_schema(&mut self, schema: &NamespaceSchema, owner: u32) {
        self.write_schema(NamespaceSchema { rights: given(&schema.rights, owner), ..schema.clone() });
    }

    /// Schemas beside `public` that a role owns.
    fn schemas_of(&self, owner: u32) -> Vec<Arc<NamespaceSchema>> {
        let schemas = self.catalog.namespaces.values().map(|(schema, _)| schema);
        schemas.filter(|schema| schema.oid != 0 && schema.rights.owner == owner).cloned().collect()
    }

    fn give_public(&mut self, new: &RoleSchema) -> Result<()> {
        let rights = self.catalog.rights(Place::Schema);
        if !self.standing.has(rights.owner) {
            return Err(not_owner("schema", PUBLIC));
        }
        if rights.owner != new.oid {
            self.check_gives(new, None)?;
            self.check_place(Place::Database, Privileges::CREATE, "")?;
            self.write_owned_public(new.oid);
        }
        Ok(())
    }

    /// ALTER DATABASE ... OWNER TO. Errors: 3D000, 42501.
    fn give_database(&mut self, name: &str, new: &RoleSchema) -> Result<()> {
        let known = self.owned_database(name)?;
        let rights = self.catalog.database_rights(known.id);
        if rights.owner == new.oid {
            return Ok(());
        }
        self.check_gives(new, None)?;
        let role = &self.standing.role;
        if !(role.superuser || role.create_database) {
            return Err(denied("permission denied to change owner of database"));
        }
        self.write_database_rights(known.id, given(&rights, new.oid));
        Ok(())
    }

    /// REASSIGN OWNED.
    pub(super) fn reassign(&mut self, of: &[Named], to: &Named, facts: &Facts) -> Result<()> {
        let refused = || denied("permission denied to reassign objects");
        let old = of.iter().map(|name| find(&self.catalog, name, facts)).collect::<Result<Vec<_>>>()?;
        if old.iter().any(|role| !self.standing.has(role.oid)) {
            return Err(refused());
        }
        let new = find(&self.catalog, to, facts)?;
        if !self.standing.has(new.oid) {
            return Err(refused());
        }
        self.relied.insert(CatalogEntry::role_key(&new.name));
        for role in old {
            check_not_required(&role, "reassign ownership of objects owned by")?;
            self.rely_on_all();
            for table in self.tables_of(role.oid) {
                self.write_owned_table(table, new.oid);
            }
            for known in self.types_of(role.oid) {
                self.write_owned_type(&known, new.oid);
            }
            for known in self.extensions_of(role.oid) {
                let rights = given(&known.rights, new.oid);
                self.write_extension(ExtensionSchema { rights, ..ExtensionSchema::clone(&known) });
            }
            for procedure in self.procedures_of(role.oid) {
                self.write_owned_procedure(&procedure, new.oid);
            }
            for schema in self.schemas_of(role.oid) {
                self.write_owned_schema(&schema, new.oid);
            }
            if self.catalog.rights(Place::Schema).owner == role.oid {
                self.write_owned_public(new.oid);
            }
            for known in self.catalog.all_databases() {
                let rights = self.catalog.database_rights(known.id);
                if rights.owner == role.oid {
                    self.write_database_rights(known.id, given(&rights, new.oid));
                }
            }
        }
        Ok(())
    }

    fn tables_of(&self, owner: u32) -> Vec<TableSchema> {
        let tables = self.catalog.tables.values().filter(|known| known.table.rights.owner == owner);
        tables.map(|known| TableSchema::clone(&known.table)).collect()
    }

    fn procedures_of(&self, owner: u32) -> Vec<Arc<ProcedureSchema>> {
        let procedures = self.catalog.procedures.values().map(|(procedure, _)| procedure);
        procedures.filter(|procedure| procedure.rights.owner == owner).cloned().collect()
    }

    fn extensions_of(&self, owner: u32) -> Vec<Arc<ExtensionSchema>> {
        let extensions = self.catalog.extensions.values().map(|(known, _)| known);
        extensions.filter(|known| known.rights.owner == owner).cloned().collect()
    }

    /// DROP OWNED: what roles own in the schema goes, and so does what was granted to them.
    pub(super) fn drop_owned(&mut self, of: &[Named], cascade: bool, facts: &Facts) -> Result<()> {
        let roles = of.iter().map(|name| find(&self.catalog, name, facts)).collect::<Result<Vec<_>>>()?;
        if roles.iter().any(|role| !self.standing.has(role.oid)) {
            return Err(denied("permission denied to drop objects"));
        }
        for role in roles {
            check_not_required(&role, "drop objects owned by")?;
            self.rely_on_all();
            let tables = self.tables_of(role.oid);
            let names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
            for table in tables {
                // A sequence goes with the table that owns it.
                if !self.catalog.tables.contains_key(&table.name) {
                    continue;
                }
                match (&table.sequence, &table.view) {
                    (Some(_), _) => self.drop_sequence(&table.name, cascade)?,
                    (_, Some(_)) => self.drop_view(&table.name, cascade, &names)?,
                    _ => self.drop_table(&table.name, cascade, &names)?,
                }
            }
            for procedure in self.procedures_of(role.oid) {
                self.forget_routine(&procedure, cascade)?;
            }
            for known in self.extensions_of(role.oid) {
                self.drop_extension(&known, cascade, facts)?;
            }
            for known in self.types_of(role.oid) {
                // A domain may have gone with what it is over.
                if self.catalog.types.contains_key(&known.name) {
                    self.drop_type(&known, cascade)?;
                }
            }
            for schema in self.schemas_of(role.oid) {
                self.drop_schema(&schema, cascade, facts)?;
            }
            self.ungrant(role.oid)?;
            self.forget_in_policies(role.oid);
            self.drop_defaults(role.oid);
        }
        Ok(())
    }

    /// Takes away all that was granted to a role, as far as the session's role may.
    fn ungrant(&mut self, role: u32) -> Result<()> {
        let revoke = Granting::revoke_all();
        let is_named =
            |rights: &Rights| rights.owner != role && rights.grants.iter().flatten().any(|grant| grant.grantee == role);
        let in_columns = |table: &TableSchema| {
            let all = table.columns.iter().flat_map(|column| column.grants.iter().flatten());
            table.rights.owner != role && all.into_iter().any(|grant| grant.grantee == role)
        };
        let of_procedures = self.catalog.procedures.values().filter(|(procedure, _)| is_named(&procedure.rights));
        let procedures: Vec<String> = of_procedures.map(|(procedure, _)| procedure.name.clone()).collect();
        for name in procedures {
            self.grant_on_procedure(&revoke, &[role], &name)?;
        }
        let of_tables = self.catalog.tables.values().map(|known| &known.table);
        let of_tables = of_tables.filter(|table| is_named(&table.rights) || in_columns(table));
        let tables: Vec<String> = of_tables.map(|table| table.name.clone()).collect();
        for name in tables {
            self.grant_on_table(&revoke, &[role], &name)?;
        }
        let types = self.catalog.types.values().filter(|(known, _)| is_named(&known.rights));
        let types: Vec<String> = types.map(|(known, _)| known.name.clone()).collect();
        for name in types {
            self.grant_on_type(&revoke, &[role], &name)?;
        }
        let schemas = self.catalog.namespaces.values().filter(|(schema, _)| is_named(&schema.rights));
        let schemas: Vec<String> = schemas.map(|(schema, _)| schema.name.clone()).collect();
        for name in schemas {
            self.grant_on_schema(&revoke, &[role], &name)?;
        }
        if is_named(&self.catalog.rights(Place::Schema)) {
            self.grant_on_public(&revoke, &[role])?;
        }
        for known in self.catalog.all_databases() {
            if is_named(&self.catalog.database_rights(known.id)) {
                self.grant_on_database(&revoke, &[role], &known.name)?;
            }
        }
        Ok(())
    }

    /// The plan depends on the whole catalog: on what a role does not own, too.
    pub(super) fn rely_on_all(&mut self) {
        let keys: Vec<_> = all_keys(&self.catalog);
        self.relied.extend(keys);
    }
}

fn all_keys(catalog: &Catalog) -> Vec<messages::Key> {
    let tables = catalog.tables.keys().map(|name| CatalogEntry::key(name));
    let types = catalog.types.keys().map(|name| CatalogEntry::type_key(name));
    let procedures = catalog.procedures.keys().map(|name| CatalogEntry::procedure_key(name)).chain(types);
    let extensions = catalog.extensions.keys().map(|name| CatalogEntry::extension_key(name));
    let procedures = procedures.chain(extensions);
    let roles = catalog.roles.keys().map(|name| CatalogEntry::role_key(name));
    let places = Place::ALL.map(CatalogEntry::rights_key);
    let schemas = catalog.namespaces.keys().map(|name| CatalogEntry::namespace_key(name));
    // What is made takes a number from the counter.
    tables.chain(procedures).chain(roles).chain(places).chain(schemas).chain([CatalogEntry::next_key()]).collect()
}

fn given(rights: &Rights, owner: u32) -> Rights {
    let grants = rights.grants.as_ref().map(|grants| with_owner(grants, rights.owner, owner));
    Rights { owner, grants }
}

/// Errors: 2BP01 for what the system needs.
fn check_not_required(role: &RoleSchema, what: &str) -> Result<()> {
    if role.oid != BOOTSTRAP_OID {
        return Ok(());
    }
    let message = format!("cannot {what} role {} because they are required by the database system", role.name);
    Err(SqlError::new(sqlstate::DEPENDENT_OBJECTS, message))
}

/// What depends on a role, as errors list it.
pub(super) fn dependents(catalog: &Catalog, role: u32) -> Vec<String> {
    let mut found = dependents_within(catalog, role);
    let mut databases = catalog.all_databases();
    databases.sort_by_key(|known| known.id);
    for known in &databases {
        let rights = catalog.database_rights(known.id);
        if rights.owner == role {
            found.push(format!("owner of database {}", known.name));
        } else if rights.grants.as_ref().is_some_and(|grants| name_role(grants, role)) {
            found.push(format!("privileges for database {}", known.name));
        }
    }
    for known in databases.iter().filter(|known| known.id != catalog.database) {
        match catalog.within(known.id).map_or(0, |own| dependents_within(own, role).len()) {
            0 => {}
            1 => found.push(format!("1 object in database {}", known.name)),
            count => found.push(format!("{count} objects in database {}", known.name)),
        }
    }
    found
}

fn dependents_within(catalog: &Catalog, role: u32) -> Vec<String> {
    let granted =
        |rights: &Rights| rights.owner != role && rights.grants.as_ref().is_some_and(|grants| name_role(grants, role));
    let mut found: Vec<(u32, u32, String)> = Vec::new();
    let mut object = |class: u32, oid: u32, rights: &Rights, what: &str| {
        if rights.owner == role {
            found.push((class, oid, format!("owner of {what}")));
        } else if granted(rights) {
            found.push((class, oid, format!("privileges for {what}")));
        }
    };
    for (procedure, _) in catalog.procedures.values() {
        object(1255, procedure.oid, &procedure.rights, &described(procedure));
    }
    for (known, _) in catalog.types.values() {
        object(1247, known.oid, &known.rights, &format!("type {}", known.written));
    }
    for known in catalog.tables.values() {
        let kind = known.table.kind().word();
        object(1259, known.table.oid, &known.table.rights, &format!("{kind} {}", known.table.name));
    }
    for (known, _) in catalog.extensions.values() {
        object(CommentTarget::EXTENSIONS, known.oid, &known.rights, &format!("extension {}", known.name));
    }
    object(2615, 0, &catalog.rights(Place::Schema), "schema public");
    for (schema, _) in catalog.namespaces.values().filter(|(schema, _)| schema.oid != 0) {
        object(2615, schema.oid, &schema.rights, &format!("schema {}", schema.name));
    }
    for known in catalog.tables.values() {
        let table = &known.table;
        let of_role = table.columns.iter().filter(|column| {
            table.rights.owner != role && column.grants.as_ref().is_some_and(|grants| name_role(grants, role))
        });
        let texts = of_role.map(|column| format!("privileges for column {} of table {}", column.name, table.name));
        found.extend(texts.map(|text| (1259, table.oid, text)));
    }
    for known in catalog.tables.values() {
        let table = &known.table;
        let named = table.row_security.policies.iter().filter(|policy| policy.roles.contains(&role));
        let text = |policy: &PolicySchema| format!("target of policy {} on table {}", policy.name, table.name);
        found.extend(named.map(|policy| (CommentTarget::POLICIES, policy.oid, text(policy))));
    }
    for other in catalog.all_roles() {
        for defaults in &other.defaults {
            let kind = match defaults.kind {
                MadeKind::Table => "relations",
                MadeKind::Sequence => "sequences",
                MadeKind::Procedure => "functions",
            };
            let schema = defaults.schema.and_then(|schema| catalog.namespace_numbered(schema));
            let place = schema.map_or(String::new(), |schema| format!(" in schema {}", schema.name));
            let what = format!("default privileges on new {kind} belonging to role {}{place}", other.name);
            if other.oid == role {
                found.push((826, other.oid, format!("owner of {what}")));
            } else if name_role(&defaults.grants, role) {
                found.push((826, other.oid, format!("privileges for {what}")));
            }
        }
    }
    found.sort_by_key(|(class, oid, _)| (*class, *oid));
    found.into_iter().map(|(_, _, text)| text).collect()
}
