//! Roles: CREATE, ALTER and DROP ROLE, USER and GROUP, planned as catalog writes.
//!
//! Invariant: a password is turned into a verifier here, and nothing of it goes further; whoever is no superuser gives nobody more than PostgreSQL 15
//! lets it.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::{Planner, SchemaChange};
use crate::sql::denials::denied;
use crate::sql::owned::dependents;
use crate::sql::role_syntax::{self, Named, Options, RoleStatement};
use crate::sql::settings::Facts;
use authentication::PasswordVerifier;
use authentication::limits::{PASSWORD_BYTES_MAX, SALT_BYTES};
use messages::Key;
use messages::role::{BOOTSTRAP, BOOTSTRAP_OID, RoleSchema, Secret, is_predefined};
use messages::schema::{Catalog, CatalogEntry};
use std::collections::BTreeSet;
use std::sync::Arc;
use values::Zone;

/// Chance that a statement may need: drawn for it alone.
#[derive(Clone, Copy)]
pub struct Drawn {
    /// For a verifier.
    pub salt: [u8; SALT_BYTES],
    /// For [`CatalogEntry::Secret`].
    pub secret: [u8; 32],
}

/// A verifier that was made elsewhere is kept as it is.
fn verifier(password: &str, salt: [u8; SALT_BYTES]) -> Result<String> {
    let is_md5 = password.strip_prefix("md5").is_some_and(|hash| hash.len() == 32);
    if is_md5 {
        return Err(SqlError::unsupported("an MD5 hash as a password").with_hint("Give the password itself."));
    }
    if let Ok(verifier) = password.parse::<PasswordVerifier>() {
        return Ok(verifier.to_string());
    }
    if password.len() > PASSWORD_BYTES_MAX {
        let message = format!("a password has at most {PASSWORD_BYTES_MAX} bytes");
        return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    Ok(PasswordVerifier::of_password(password, salt).to_string())
}

impl Options {
    /// What is said applies to a role.
    fn apply(&self, role: &mut RoleSchema, drawn: Drawn, zone: &Zone, planner: &mut Planner) -> Result<()> {
        let flags = [
            (self.superuser, &mut role.superuser),
            (self.inherit, &mut role.inherit),
            (self.create_role, &mut role.create_role),
            (self.create_database, &mut role.create_database),
            (self.login, &mut role.login),
            (self.replication, &mut role.replication),
            (self.bypass_row_security, &mut role.bypass_row_security),
        ];
        for (said, flag) in flags {
            *flag = said.unwrap_or(*flag);
        }
        role.connection_limit = self.connection_limit.unwrap_or(role.connection_limit);
        if let Some(until) = &self.valid_until {
            role.valid_until = role_syntax::instant(until, zone)?;
        }
        match &self.password {
            None => {}
            Some(None) => role.verifier = None,
            Some(Some(Secret(password))) if password.is_empty() => {
                planner.notice(
                    sqlstate::SUCCESSFUL_COMPLETION,
                    "empty string is not a valid password, clearing password".to_owned(),
                );
                role.verifier = None;
            }
            Some(Some(Secret(password))) => {
                role.verifier = Some(Secret(verifier(password, drawn.salt)?));
                if planner.catalog.secret.is_none() {
                    planner.write(CatalogEntry::secret_key(), Some(CatalogEntry::Secret(Secret(drawn.secret))));
                }
            }
        }
        Ok(())
    }
}

/// Plans a statement over a catalog. `own`: catalog rows that the running transaction wrote already.
pub fn plan(
    statement: &RoleStatement,
    catalog: &Catalog,
    own: &BTreeSet<Key>,
    facts: &Facts,
    drawn: Drawn,
) -> Result<SchemaChange> {
    let mut planner = Planner::new(catalog, own, facts);
    let actor = planner.standing.role.clone();
    match statement {
        RoleStatement::Create(name, options) => create(&mut planner, &actor, name, options, drawn, facts)?,
        RoleStatement::Alter(name, options) => {
            let name = resolved(name, facts);
            let mut role = existing(&planner.catalog, &name)?;
            check_changeable(&role)?;
            check_alter(&actor, &role, options)?;
            options.apply(&mut role, drawn, facts.settings.zone(), &mut planner)?;
            write(&mut planner, role);
        }
        RoleStatement::Rename(name, to) => rename(&mut planner, &actor, &resolved(name, facts), to, facts)?,
        RoleStatement::Drop(names, if_exists) => {
            for name in names {
                drop_role(&mut planner, &actor, name, *if_exists, facts)?;
            }
        }
        RoleStatement::Grant(granting) => planner.grant(granting, facts)?,
        RoleStatement::Join(joining) => planner.join(joining, facts)?,
        RoleStatement::Owner(object, owner) => planner.give(object, owner, facts)?,
        RoleStatement::Reassign(of, to) => planner.reassign(of, to, facts)?,
        RoleStatement::Defaults(defaults) => planner.alter_defaults(defaults, facts)?,
        RoleStatement::Settings(own) => planner.change_settings(own, facts)?,
        RoleStatement::DropOwned(of, cascade) => planner.drop_owned(of, *cascade, facts)?,
    }
    Ok(planner.finish())
}

fn resolved(name: &Named, facts: &Facts) -> String {
    let (role, own) = match name {
        Named::Is(name) => return name.clone(),
        Named::Own("session_user") => (facts.session_role, facts.session_user),
        Named::Own(_) => (facts.role, facts.user),
    };
    if role == BOOTSTRAP_OID { BOOTSTRAP.to_owned() } else { own.to_owned() }
}

/// The role that is meant; what the bootstrap superuser logged in as is one for it. Errors: 42704.
pub(super) fn find(catalog: &Catalog, name: &Named, facts: &Facts) -> Result<Arc<RoleSchema>> {
    let meant = resolved(name, facts);
    let own = [(facts.role, facts.user), (facts.session_role, facts.session_user)];
    match catalog.role(&meant) {
        Some(role) => Ok(role),
        None if own.contains(&(BOOTSTRAP_OID, meant.as_str())) => existing(catalog, BOOTSTRAP).map(Arc::new),
        None => existing(catalog, &meant).map(Arc::new),
    }
}

/// Errors: 42939 for a predefined role.
fn check_changeable(role: &RoleSchema) -> Result<()> {
    match is_predefined(role.oid) {
        true => Err(SqlError::new(sqlstate::RESERVED_NAME, format!("role name \"{}\" is reserved", role.name))
            .with_detail("Predefined roles cannot be changed.")),
        false => Ok(()),
    }
}

fn existing(catalog: &Catalog, name: &str) -> Result<RoleSchema> {
    let role = catalog.role(name).map(|role| (*role).clone());
    role.ok_or_else(|| SqlError::new(sqlstate::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist")))
}

pub(super) fn write(planner: &mut Planner, role: RoleSchema) {
    planner.write(CatalogEntry::role_key(&role.name), Some(CatalogEntry::Role(Arc::new(role))));
}

fn may_make_roles(actor: &RoleSchema) -> bool {
    actor.superuser || actor.create_role
}

/// Errors: 42939 for a name that no role may have, 42710 for one that is taken.
fn check_new_name(catalog: &Catalog, name: &Named) -> Result<String> {
    let reserved = |name: &str| SqlError::new(sqlstate::RESERVED_NAME, format!("role name \"{name}\" is reserved"));
    match name {
        Named::Own(word) => {
            let word = word.to_ascii_uppercase();
            Err(SqlError::new(sqlstate::RESERVED_NAME, format!("{word} cannot be used as a role name here")))
        }
        Named::Is(name) if name.starts_with("pg_") => {
            Err(reserved(name).with_detail("Role names starting with \"pg_\" are reserved."))
        }
        Named::Is(name) if catalog.role(name).is_some() => {
            Err(SqlError::new(sqlstate::DUPLICATE_OBJECT, format!("role \"{name}\" already exists")))
        }
        Named::Is(name) => Ok(name.clone()),
    }
}

fn create(
    planner: &mut Planner,
    actor: &RoleSchema,
    name: &Named,
    options: &Options,
    drawn: Drawn,
    facts: &Facts,
) -> Result<()> {
    let asks = |option: Option<bool>| option == Some(true);
    if !actor.superuser {
        for (asked, what) in [
            (asks(options.superuser), "superusers"),
            (asks(options.replication), "replication users"),
            (asks(options.bypass_row_security), "bypassrls users"),
        ] {
            if asked {
                return Err(denied(format!("must be superuser to create {what}")));
            }
        }
    }
    if !may_make_roles(actor) {
        return Err(denied("permission denied to create role"));
    }
    let name = check_new_name(&planner.catalog, name)?;
    let mut role = RoleSchema::new(name, planner.next_number());
    options.apply(&mut role, drawn, facts.settings.zone(), planner)?;
    let made = role.clone();
    write(planner, role);
    planner.hide_public(&made.name);
    for other in &options.member_of {
        let other = find(&planner.catalog, other, facts)?;
        planner.check_admin(&other)?;
        planner.relied.insert(CatalogEntry::role_key(&other.name));
        let member = existing(&planner.catalog, &made.name)?;
        planner.add_member(&other, member, facts.role, false)?;
    }
    let admins = options.admins.iter().map(|name| (name, true));
    for (member, admin) in admins.chain(options.members.iter().map(|name| (name, false))) {
        let member = RoleSchema::clone(&*find(&planner.catalog, member, facts)?);
        planner.add_member(&made, member, facts.role, admin)?;
    }
    Ok(())
}

/// As PostgreSQL 15 has it (`AlterRole`): roles change their own password, those with CREATEROLE all that makes nobody a superuser.
fn check_alter(actor: &RoleSchema, role: &RoleSchema, options: &Options) -> Result<()> {
    if role.name == BOOTSTRAP && options.superuser == Some(false) {
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, "permission denied to alter role")
            .with_detail("The bootstrap superuser must have the SUPERUSER attribute."));
    }
    if actor.superuser {
        return Ok(());
    }
    if role.superuser || options.superuser.is_some() {
        return Err(denied("must be superuser to alter superuser roles or change superuser attribute"));
    }
    if role.replication || options.replication.is_some() {
        return Err(denied("must be superuser to alter replication roles or change replication attribute"));
    }
    if options.bypass_row_security.is_some() {
        return Err(denied("must be superuser to change bypassrls attribute"));
    }
    let only_password = options.password.is_some()
        && [options.inherit, options.create_role, options.create_database, options.login].iter().all(Option::is_none)
        && options.connection_limit.is_none()
        && options.valid_until.is_none();
    match actor.create_role || (only_password && actor.oid == role.oid) {
        true => Ok(()),
        false => Err(denied("permission denied")),
    }
}

fn rename(planner: &mut Planner, actor: &RoleSchema, name: &str, to: &Named, facts: &Facts) -> Result<()> {
    let mut role = existing(&planner.catalog, name)?;
    if name == facts.session_user {
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, "session user cannot be renamed"));
    }
    if name == facts.user {
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, "current user cannot be renamed"));
    }
    check_changeable(&role)?;
    if name == BOOTSTRAP {
        return Err(SqlError::unsupported(format!("renaming the role {BOOTSTRAP}")));
    }
    let to = check_new_name(&planner.catalog, to)?;
    if role.superuser && !actor.superuser {
        return Err(denied("must be superuser to rename superusers"));
    }
    if !may_make_roles(actor) {
        return Err(denied("permission denied to rename role"));
    }
    planner.write(CatalogEntry::role_key(name), None);
    role.name.clone_from(&to);
    write(planner, role);
    planner.hide_public(&to);
    Ok(())
}

fn drop_role(planner: &mut Planner, actor: &RoleSchema, name: &Named, if_exists: bool, facts: &Facts) -> Result<()> {
    if !may_make_roles(actor) {
        return Err(denied("permission denied to drop role"));
    }
    let Named::Is(name) = name else {
        return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, "cannot use special role specifier in DROP ROLE"));
    };
    let role = match existing(&planner.catalog, name) {
        Ok(role) => role,
        Err(_) if if_exists => {
            planner.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("role \"{name}\" does not exist, skipping"));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    if role.oid == actor.oid {
        return Err(SqlError::new(sqlstate::OBJECT_IN_USE, "current user cannot be dropped"));
    }
    if role.oid == facts.session_role {
        return Err(SqlError::new(sqlstate::OBJECT_IN_USE, "session user cannot be dropped"));
    }
    if role.superuser && !actor.superuser {
        return Err(denied("must be superuser to drop superusers"));
    }
    if name == BOOTSTRAP || is_predefined(role.oid) {
        return Err(SqlError::new(
            sqlstate::DEPENDENT_OBJECTS,
            format!("cannot drop role {name} because it is required by the database system"),
        ));
    }
    // Nothing may be made or granted meanwhile that depends on it.
    planner.rely_on_all();
    let dependents = dependents(&planner.catalog, role.oid);
    if !dependents.is_empty() {
        let message = format!("role \"{name}\" cannot be dropped because some objects depend on it");
        return Err(SqlError::new(sqlstate::DEPENDENT_OBJECTS, message).with_detail(dependents.join("\n")));
    }
    planner.forget_members(role.oid);
    planner.write(CatalogEntry::role_key(name), None);
    Ok(())
}
