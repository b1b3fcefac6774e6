//! ALTER DEFAULT PRIVILEGES: what is granted on what a role makes from now on (PostgreSQL's `aclchk.c`, `ExecAlterDefaultPrivilegesStmt`).
//!
//! The defaults of a role stand in its own row, so whatever it makes relies on them. Invariant: defaults that say what holds anyway are not kept.

use crate::errors::{Result, SqlError};
use crate::sql::ddl::Planner;
use crate::sql::denials::denied;
use crate::sql::granting::refused;
use crate::sql::grants::{DefaultPrivileges, Object};
use crate::sql::lookup::no_schema;
use crate::sql::role_syntax::Named;
use crate::sql::roles::{find, write};
use crate::sql::settings::Facts;
use messages::namespace;
use messages::privilege::{DefaultGrants, Grants, MadeKind, Privileges, Rights};
use messages::role::RoleSchema;
use privileges::Kind;
use privileges::grants::{Behavior, GrantChange, changed};

/// What PostgreSQL calls the objects.
fn made_kind(kind: Kind) -> Option<MadeKind> {
    match kind {
        Kind::Table => Some(MadeKind::Table),
        Kind::Sequence => Some(MadeKind::Sequence),
        Kind::Procedure => Some(MadeKind::Procedure),
        Kind::Column | Kind::Schema | Kind::Database | Kind::Type => None,
    }
}

/// What a new object of the kind has granted on it by itself.
fn base(kind: Kind, in_schema: bool, owner: u32) -> Grants {
    if in_schema { Vec::new() } else { kind.default_grants(owner) }
}

fn is_same(one: &Grants, other: &Grants) -> bool {
    one.len() == other.len() && one.iter().all(|grant| other.contains(grant))
}

impl Planner<'_> {
    pub(super) fn alter_defaults(&mut self, statement: &DefaultPrivileges, facts: &Facts) -> Result<()> {
        let mut schemas = Vec::new();
        for name in &statement.in_schemas {
            schemas.push(Some(self.catalog.namespace(name).ok_or_else(|| no_schema(name))?.oid));
        }
        if schemas.is_empty() {
            schemas.push(None);
        }
        let grantees = self.grantees(&statement.granting.grantees, facts)?;
        let mut roles = Vec::new();
        for name in &statement.roles {
            let role = find(&self.catalog, name, facts)?;
            if !self.standing.is_member(role.oid) {
                return Err(denied(format!("must be member of role \"{}\"", role.name)));
            }
            roles.push(role);
        }
        if roles.is_empty() {
            roles.push(find(&self.catalog, &Named::Own("current_user"), facts)?);
        }
        for role in roles {
            let mut changed = RoleSchema::clone(&role);
            for schema in &schemas {
                changed = with_defaults(&changed, statement, *schema, &grantees)?;
            }
            write(self, changed);
        }
        Ok(())
    }

    /// The rights of what the session's role makes under this name.
    pub(super) fn new_rights(&self, kind: Kind, name: &str) -> Rights {
        let role = &self.standing.role;
        let of = |schema: Option<u32>| {
            let known = |defaults: &&DefaultGrants| Some(defaults.kind) == made_kind(kind) && defaults.schema == schema;
            role.defaults.iter().find(known).map(|defaults| defaults.grants.clone())
        };
        let own = Rights::of(role.oid);
        let (everywhere, in_schema) = (of(None), of(Some(namespace::of(name))));
        if everywhere.is_none() && in_schema.is_none() {
            return own;
        }
        let base = base(kind, false, role.oid);
        let mut grants = everywhere.unwrap_or_else(|| base.clone());
        for grant in in_schema.into_iter().flatten() {
            let (grantee, privileges, grantable) = (grant.grantee, grant.privileges, grant.grantable);
            let change = GrantChange { adds: true, grantee, grantor: grant.grantor, privileges, grantable };
            // Grants of the owner make no circle.
            grants = changed(&grants, role.oid, &change, Behavior::Cascade).unwrap_or(grants);
        }
        if is_same(&grants, &base) { own } else { Rights { grants: Some(grants), ..own } }
    }

    /// What is granted in a schema goes with it.
    pub(super) fn drop_defaults_in(&mut self, schema: u32) {
        for role in self.catalog.all_roles() {
            if role.defaults.iter().any(|defaults| defaults.schema == Some(schema)) {
                let mut after = RoleSchema::clone(&role);
                after.defaults.retain(|defaults| defaults.schema != Some(schema));
                write(self, after);
            }
        }
    }

    /// DROP OWNED takes a role's own defaults away, and the role out of those of others.
    pub(super) fn drop_defaults(&mut self, of: u32) {
        for role in self.catalog.all_roles() {
            let mut after = RoleSchema::clone(&role);
            if role.oid == of {
                after.defaults.clear();
            }
            for defaults in &mut after.defaults {
                defaults.grants.retain(|grant| grant.grantee != of);
            }
            if after != *role {
                write(self, after);
            }
        }
    }
}

/// A role with its defaults after the statement. Errors: 2BP01, 0LP01.
fn with_defaults(
    role: &RoleSchema,
    statement: &DefaultPrivileges,
    schema: Option<u32>,
    grantees: &[u32],
) -> Result<RoleSchema> {
    let granting = &statement.granting;
    let unsupported = || SqlError::unsupported("default privileges on what is no table, sequence or function");
    let (kind, _) = granting.on.first().map(Object::kind).ok_or_else(unsupported)?;
    let made = made_kind(kind).ok_or_else(unsupported)?;
    let named = granting.privileges.iter().fold(Privileges::NONE, |all, (privilege, _)| all | *privilege);
    let privileges = if granting.all.is_some() { kind.privileges() } else { named };
    let mut after = role.clone();
    let at = after.defaults.iter().position(|known| known.kind == made && known.schema == schema);
    let base = base(kind, schema.is_some(), role.oid);
    let mut grants = at.map_or_else(|| base.clone(), |at| after.defaults.remove(at).grants);
    for grantee in grantees {
        let only = |wanted: bool| if wanted { privileges } else { Privileges::NONE };
        let change = GrantChange {
            adds: granting.grants,
            grantee: *grantee,
            grantor: role.oid,
            privileges: only(granting.grants || !granting.option),
            grantable: only(!granting.grants || granting.option),
        };
        grants = changed(&grants, role.oid, &change, granting.behavior).map_err(refused)?;
    }
    if !is_same(&grants, &base) {
        after.defaults.push(DefaultGrants { kind: made, schema, grants });
        after.defaults.sort_by_key(|known| (known.kind, known.schema));
    }
    Ok(after)
}
