//! Roles as `pg_authid`, `pg_roles`, `pg_shadow` and `pg_user` show them, and what their sessions begin with.
//!
//! Invariant: verifiers are shown where PostgreSQL shows them, in pg_authid and pg_shadow, which superusers alone may read.

use super::rows::{Row, row};
use super::{OWNER_OID, SystemCatalog};
use messages::role::{BOOTSTRAP, BOOTSTRAP_OID, RoleSchema, Secret};
use messages::settings::{OF_EVERYBODY, of_database};
use std::sync::Arc;

/// What views show in a password's place.
const HIDDEN: &str = "********";

/// All roles. The bootstrap superuser is called what the session calls it: who logs in by a name that no role has, where the rules trust it to be whoever
/// it says, is the bootstrap superuser.
fn all(catalog: &SystemCatalog) -> Vec<Arc<RoleSchema>> {
    let own = |role: Arc<RoleSchema>| match role.oid == BOOTSTRAP_OID && catalog.session().is_bootstrap() {
        true => Arc::new(RoleSchema { name: owner(catalog), ..(*role).clone() }),
        false => role,
    };
    catalog.catalog().all_roles().into_iter().map(own).collect()
}

/// What the bootstrap superuser is called.
pub(super) fn owner(catalog: &SystemCatalog) -> String {
    let session = catalog.session();
    if session.is_bootstrap() { session.user.clone() } else { BOOTSTRAP.to_owned() }
}

/// The name of the role with this identifier.
pub fn role_name(catalog: &SystemCatalog, oid: u32) -> Option<String> {
    if oid == BOOTSTRAP_OID {
        return Some(owner(catalog));
    }
    catalog.show();
    catalog.catalog().role_numbered(oid).map(|role| role.name.clone())
}

/// The identifier of the role with this name.
pub fn role_oid(catalog: &SystemCatalog, name: &str) -> Option<u32> {
    let is_bootstrap = name == owner(catalog) || name == BOOTSTRAP;
    catalog.show();
    if is_bootstrap { Some(OWNER_OID) } else { catalog.catalog().role(name).map(|role| role.oid) }
}

/// The rows of one of the four.
pub(super) fn rows(catalog: &SystemCatalog, name: &str) -> Vec<Row> {
    let all = all(catalog);
    let verifier = |role: &RoleSchema| role.verifier.as_ref().map(|Secret(text)| text.clone());
    let hidden = |_: &RoleSchema| Some(HIDDEN.to_owned());
    match name {
        "pg_authid" => all.iter().map(|role| of_role(role, verifier(role))).collect(),
        "pg_roles" => {
            let own = |role: &Arc<RoleSchema>| row! { rolconfig: config(&role.settings) };
            all.iter().map(|role| [of_role(role, hidden(role)), own(role)].concat()).collect()
        }
        "pg_shadow" => all.iter().filter(|role| role.login).map(|role| of_user(role, verifier(role))).collect(),
        _ => all.iter().filter(|role| role.login).map(|role| of_user(role, hidden(role))).collect(),
    }
}

/// The rows of `pg_db_role_setting`.
pub(super) fn settings(catalog: &SystemCatalog) -> Vec<Row> {
    let known = catalog.catalog();
    let of = |prefix: &str| -> Vec<(String, String)> {
        let own = known.settings.iter().filter_map(|(key, (value, _))| Some((key.strip_prefix(prefix)?, value)));
        own.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    };
    let databases = known.all_databases().into_iter().map(|database| (database.id.0, of(&of_database(database.id))));
    let shared = databases.chain([(0, of(OF_EVERYBODY))]).map(|(database, own)| (database, 0, own));
    let of_roles = all(catalog).into_iter().map(|role| (0, role.oid, role.settings.clone()));
    let rows = shared.chain(of_roles).filter(|(_, _, own)| !own.is_empty());
    rows.map(|(database, role, own)| row! { setdatabase: database, setrole: role, setconfig: config(&own) }).collect()
}

/// Parameters as these relations show them; `None`: there are none.
fn config(settings: &[(String, String)]) -> Option<Vec<String>> {
    let shown = settings.iter().map(|(name, value)| format!("{name}={value}"));
    (!settings.is_empty()).then(|| shown.collect())
}

fn of_role(role: &RoleSchema, password: Option<String>) -> Row {
    row! {
        oid: role.oid, rolname: role.name.as_str(), rolsuper: role.superuser, rolinherit: role.inherit,
        rolcreaterole: role.create_role, rolcreatedb: role.create_database, rolcanlogin: role.login,
        rolreplication: role.replication, rolbypassrls: role.bypass_row_security, rolconnlimit: role.connection_limit,
        rolpassword: password, rolvaliduntil: role.valid_until,
    }
}

fn of_user(role: &RoleSchema, password: Option<String>) -> Row {
    row! {
        usename: role.name.as_str(), usesysid: role.oid, usecreatedb: role.create_database, usesuper: role.superuser,
        userepl: role.replication, usebypassrls: role.bypass_row_security, passwd: password, valuntil: role.valid_until,
        useconfig: config(&role.settings),
    }
}
