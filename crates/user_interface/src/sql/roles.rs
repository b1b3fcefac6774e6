//! Roles: CREATE, ALTER and DROP ROLE, USER and GROUP, from tokens to catalog rows.
//!
//! Invariants: a password is turned into a verifier here, and nothing of it goes further; whoever is no superuser gives nobody more than PostgreSQL 15
//! lets it.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::{Planner, SchemaChange};
use crate::sql::grants::{self, Either, Granting, Joining, Object};
use crate::sql::names;
use crate::sql::owned::dependents;
use crate::sql::rights::denied;
use crate::sql::settings::Facts;
use crate::sql::words::Words;
use authentication::Verifier;
use authentication::limits::{PASSWORD_BYTES_MAX, SALT_BYTES};
use messages::Key;
use messages::role::{BOOTSTRAP, BOOTSTRAP_OID, RoleSchema, Secret, is_predefined};
use messages::schema::{Catalog, CatalogEntry, Place};
use sqlparser::ast;
use sqlparser::tokenizer::Token;
use std::collections::BTreeSet;
use std::sync::Arc;
use values::{Type, Value};

/// From 1970 to 2000, in microseconds: SQL counts from the latter.
const MICROS_TO_2000: i64 = 946_684_800_000_000;

/// A statement about roles.
#[derive(Clone, Debug)]
pub enum RoleStatement {
    /// CREATE.
    Create(Named, Options),
    /// ALTER.
    Alter(Named, Options),
    /// ALTER ... RENAME TO.
    Rename(Named, Named),
    /// DROP; true: IF EXISTS.
    Drop(Vec<Named>, bool),
    /// GRANT, REVOKE: of privileges.
    Grant(Granting),
    /// The same: of membership.
    Join(Joining),
    /// ALTER ... OWNER TO, but for tables.
    Owner(Object, Named),
    /// REASSIGN OWNED.
    Reassign(Vec<Named>, Named),
    /// DROP OWNED.
    DropOwned(Vec<Named>),
}

/// How a role is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// By its name.
    Is(String),
    /// CURRENT_USER and its like: the word.
    Own(&'static str),
}

/// What is said of a role; `None`: nothing.
#[derive(Clone, Debug, Default)]
pub struct Options {
    superuser: Option<bool>,
    inherit: Option<bool>,
    create_role: Option<bool>,
    create_database: Option<bool>,
    login: Option<bool>,
    replication: Option<bool>,
    bypass_row_security: Option<bool>,
    connection_limit: Option<i32>,
    valid_until: Option<Option<i64>>,
    /// `None` within: PASSWORD NULL.
    password: Option<Option<Secret<String>>>,
    /// IN ROLE: what it becomes a member of.
    member_of: Vec<Named>,
    /// ROLE: who become members of it.
    members: Vec<Named>,
    /// ADMIN: who become members, and may make others so.
    admins: Vec<Named>,
}

/// Chance that a statement may need: drawn for it alone.
#[derive(Clone, Copy)]
pub struct Drawn {
    /// For a verifier.
    pub salt: [u8; SALT_BYTES],
    /// For [`CatalogEntry::Secret`].
    pub secret: [u8; 32],
}

impl RoleStatement {
    /// The command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            RoleStatement::Create(..) => "CREATE ROLE",
            RoleStatement::Alter(..) | RoleStatement::Rename(..) => "ALTER ROLE",
            RoleStatement::Drop(..) => "DROP ROLE",
            RoleStatement::Grant(granting) => {
                if granting.grants {
                    "GRANT"
                } else {
                    "REVOKE"
                }
            }
            RoleStatement::Join(joining) => {
                if joining.grants {
                    "GRANT ROLE"
                } else {
                    "REVOKE ROLE"
                }
            }
            RoleStatement::Owner(Object::Schema(_), _) => "ALTER SCHEMA",
            RoleStatement::Owner(Object::Database(_), _) => "ALTER DATABASE",
            RoleStatement::Owner(..) => "ALTER PROCEDURE",
            RoleStatement::Reassign(..) => "REASSIGN OWNED",
            RoleStatement::DropOwned(..) => "DROP OWNED",
        }
    }

    /// Catalog rows that decide what becomes of it.
    pub fn mentioned(&self) -> Vec<Key> {
        let names = match self {
            RoleStatement::Create(name, _) | RoleStatement::Alter(name, _) => std::slice::from_ref(name),
            RoleStatement::Rename(name, to) => return [name, to].into_iter().filter_map(Named::key).collect(),
            RoleStatement::Drop(names, _) | RoleStatement::DropOwned(names) => names,
            RoleStatement::Reassign(names, to) => {
                return names.iter().chain([to]).filter_map(Named::key).collect();
            }
            RoleStatement::Join(joining) => {
                let roles = joining.roles.iter().map(|role| CatalogEntry::role_key(role));
                return roles.chain(joining.members.iter().filter_map(Named::key)).collect();
            }
            RoleStatement::Owner(object, to) => return object.key().into_iter().chain(to.key()).collect(),
            RoleStatement::Grant(granting) => {
                let grantees = granting.grantees.iter().flatten().filter_map(Named::key);
                return granting.on.iter().filter_map(Object::key).chain(grantees).collect();
            }
        };
        names.iter().filter_map(Named::key).collect()
    }
}

impl Object {
    fn key(&self) -> Option<Key> {
        Some(match self {
            Object::Table(name) => CatalogEntry::key(name),
            Object::Procedure(_, name, _) => CatalogEntry::procedure_key(name),
            Object::Schema(_) => CatalogEntry::rights_key(Place::Schema),
            Object::Database(_) => CatalogEntry::rights_key(Place::Database),
            Object::AllTables | Object::AllProcedures(_) => return None,
        })
    }
}

impl Named {
    /// As ALTER TABLE names a new owner.
    pub(super) fn of(owner: &ast::Owner) -> Named {
        match owner {
            ast::Owner::Ident(name) => Named::Is(names::identifier(name)),
            ast::Owner::SessionUser => Named::Own("session_user"),
            ast::Owner::CurrentRole | ast::Owner::CurrentUser => Named::Own("current_user"),
        }
    }

    fn key(&self) -> Option<Key> {
        match self {
            Named::Is(name) => Some(CatalogEntry::role_key(name)),
            Named::Own(_) => None,
        }
    }
}

/// Whether what stands behind CREATE, ALTER or DROP is a role.
pub(super) fn begins(words: &Words) -> bool {
    let mut ahead = Words { text: words.text, rest: words.rest };
    ahead.skip(&["role", "group"]) || (ahead.skip(&["user"]) && !ahead.peek_is("mapping"))
}

/// Parses what stands behind CREATE, ALTER or DROP.
pub(super) fn parse(verb: &str, words: &mut Words) -> Result<RoleStatement> {
    let kind = words.keyword().ok_or_else(|| words.error())?;
    if verb == "drop" {
        let if_exists = words.skip(&["if"]);
        if if_exists {
            words.expect("exists")?;
        }
        let mut names = vec![named(words)?];
        while words.skip_token(&Token::Comma) {
            names.push(named(words)?);
        }
        return Ok(RoleStatement::Drop(names, if_exists));
    }
    if verb == "alter" && words.peek_is("all") {
        return Err(SqlError::unsupported("ALTER ROLE ALL"));
    }
    let name = named(words)?;
    if verb == "alter" {
        if words.skip(&["rename"]) {
            words.expect("to")?;
            return Ok(RoleStatement::Rename(name, named(words)?));
        }
        if words.peek_is("set") || words.peek_is("reset") || words.peek_is("in") {
            return Err(SqlError::unsupported("a role's own settings (ALTER ROLE ... SET)"));
        }
        if kind == "group" {
            return alter_group(name, words);
        }
    }
    words.skip(&["with"]);
    let mut options = Options::default();
    while words.peek().is_some() {
        options.option(words, verb == "create")?;
    }
    if verb == "alter" {
        return Ok(RoleStatement::Alter(name, options));
    }
    if kind == "user" {
        options.login.get_or_insert(true);
    }
    Ok(RoleStatement::Create(name, options))
}

/// Parses what stands behind GRANT or REVOKE.
pub(super) fn parse_grant(grants: bool, words: &mut Words) -> Result<RoleStatement> {
    Ok(match grants::parse(grants, words)? {
        Either::Granting(granting) => RoleStatement::Grant(granting),
        Either::Joining(joining) => RoleStatement::Join(joining),
    })
}

/// `ALTER GROUP role ADD USER role`.
fn alter_group(name: Named, words: &mut Words) -> Result<RoleStatement> {
    let grants = words.skip(&["add"]);
    if !grants {
        words.expect("drop")?;
    }
    words.expect("user")?;
    let members = grants::comma_separated(words, |words| named(words))?;
    let Named::Is(role) = name else { return Err(words.error()) };
    Ok(RoleStatement::Join(Joining { grants, roles: vec![role], members, admin: false, by: None }))
}

pub(super) fn named(words: &mut Words) -> Result<Named> {
    let keyword = words.peek_keyword().unwrap_or_default();
    let own = ["current_user", "current_role", "session_user"].into_iter().find(|own| *own == keyword);
    if let Some(own) = own {
        words.advance();
        return Ok(Named::Own(own));
    }
    let name = words.name()?;
    if name == "public" || (name == "none" && keyword == "none") {
        return Err(SqlError::new("42939", format!("role name \"{name}\" is reserved")));
    }
    Ok(Named::Is(name))
}

impl Options {
    fn option(&mut self, words: &mut Words, creates: bool) -> Result<()> {
        let word = words.keyword().ok_or_else(|| words.error())?;
        let (plain, yes) = match word.strip_prefix("no") {
            Some(rest) if !rest.is_empty() => (rest, false),
            _ => (word.as_str(), true),
        };
        let flag = match plain {
            "superuser" => &mut self.superuser,
            "inherit" => &mut self.inherit,
            "createrole" => &mut self.create_role,
            "createdb" => &mut self.create_database,
            "login" => &mut self.login,
            "replication" => &mut self.replication,
            "bypassrls" => &mut self.bypass_row_security,
            _ => return self.valued_option(&word, words, creates),
        };
        once(flag, yes)
    }

    fn valued_option(&mut self, word: &str, words: &mut Words, creates: bool) -> Result<()> {
        match word {
            "encrypted" => {
                words.expect("password")?;
                once(&mut self.password, password(words)?)
            }
            "password" => once(&mut self.password, password(words)?),
            "unencrypted" => Err(SqlError::unsupported("UNENCRYPTED PASSWORD")
                .with_hint("Remove UNENCRYPTED to store the password in encrypted form instead.")),
            "valid" => {
                words.expect("until")?;
                once(&mut self.valid_until, instant(&words.string()?)?)
            }
            "connection" => {
                words.expect("limit")?;
                let minus = words.skip_token(&Token::Minus);
                let number = match words.peek() {
                    Some(Token::Number(digits, _)) => digits.parse::<i32>().map_err(|_| words.error())?,
                    _ => return Err(words.error()),
                };
                words.advance();
                let limit = if minus { -number } else { number };
                if limit < -1 {
                    let message = format!("invalid connection limit: {limit}");
                    return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
                }
                once(&mut self.connection_limit, limit)
            }
            "in" | "role" | "user" | "admin" if creates => {
                if word == "in" && !words.skip(&["role", "group"]) {
                    return Err(words.error());
                }
                let roles = grants::comma_separated(words, |words| named(words))?;
                match word {
                    "in" => self.member_of.extend(roles),
                    "admin" => self.admins.extend(roles),
                    _ => self.members.extend(roles),
                }
                Ok(())
            }
            "sysid" if creates => Err(SqlError::unsupported("SYSID")),
            other => Err(SqlError::new(sqlstate::SYNTAX_ERROR, format!("unrecognized role option \"{other}\""))),
        }
    }

    /// What is said applies to a role.
    fn apply(&self, role: &mut RoleSchema, drawn: Drawn, planner: &mut Planner) -> Result<()> {
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
        role.valid_until = self.valid_until.unwrap_or(role.valid_until);
        match &self.password {
            None => {}
            Some(None) => role.verifier = None,
            Some(Some(Secret(password))) if password.is_empty() => {
                planner.notice("00000", "empty string is not a valid password, clearing password".to_owned());
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

/// Errors: 42601 for what was said before.
fn once<T>(option: &mut Option<T>, said: T) -> Result<()> {
    match option.replace(said) {
        None => Ok(()),
        Some(_) => Err(SqlError::new(sqlstate::SYNTAX_ERROR, "conflicting or redundant options")),
    }
}

fn password(words: &mut Words) -> Result<Option<Secret<String>>> {
    if words.skip(&["null"]) {
        return Ok(None);
    }
    words.string().map(|password| Some(Secret(password)))
}

/// A verifier that was made elsewhere is kept as it is.
fn verifier(password: &str, salt: [u8; SALT_BYTES]) -> Result<String> {
    let is_md5 = password.strip_prefix("md5").is_some_and(|hash| hash.len() == 32);
    if is_md5 {
        return Err(SqlError::unsupported("an MD5 hash as a password").with_hint("Give the password itself."));
    }
    if let Ok(verifier) = password.parse::<Verifier>() {
        return Ok(verifier.to_string());
    }
    if password.len() > PASSWORD_BYTES_MAX {
        let message = format!("a password has at most {PASSWORD_BYTES_MAX} bytes");
        return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    Ok(Verifier::of_password(password, salt).to_string())
}

/// Microseconds since 1970; `None`: never.
fn instant(text: &str) -> Result<Option<i64>> {
    if text.trim().eq_ignore_ascii_case("infinity") {
        return Ok(None);
    }
    match values::text::parse(text, Type::TimestampTz)? {
        Value::TimestampTz(micros) => Ok(Some(micros.saturating_add(MICROS_TO_2000))),
        _ => Err(SqlError::syntax(text)),
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
    let mut planner = Planner::new(catalog, own, facts.role);
    let actor = planner.standing.role.clone();
    match statement {
        RoleStatement::Create(name, options) => create(&mut planner, &actor, name, options, drawn, facts)?,
        RoleStatement::Alter(name, options) => {
            let name = resolved(name, facts);
            let mut role = existing(&planner.catalog, &name)?;
            check_changeable(&role)?;
            check_alter(&actor, &role, options)?;
            options.apply(&mut role, drawn, &mut planner)?;
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
        RoleStatement::DropOwned(of) => planner.drop_owned(of, facts)?,
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
        true => Err(SqlError::new("42939", format!("role name \"{}\" is reserved", role.name))
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
    let reserved = |name: &str| SqlError::new("42939", format!("role name \"{name}\" is reserved"));
    match name {
        Named::Own(word) => {
            let word = word.to_ascii_uppercase();
            Err(SqlError::new("42939", format!("{word} cannot be used as a role name here")))
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
    options.apply(&mut role, drawn, planner)?;
    let made = role.clone();
    write(planner, role);
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
    role.name = to;
    write(planner, role);
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
            planner.notice("00000", format!("role \"{name}\" does not exist, skipping"));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    if role.oid == actor.oid {
        return Err(SqlError::new("55006", "current user cannot be dropped"));
    }
    if role.oid == facts.session_role {
        return Err(SqlError::new("55006", "session user cannot be dropped"));
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
    let dependents = dependents(&planner.catalog, role.oid, facts);
    if !dependents.is_empty() {
        let message = format!("role \"{name}\" cannot be dropped because some objects depend on it");
        return Err(SqlError::new(sqlstate::DEPENDENT_OBJECTS, message).with_detail(dependents.join("\n")));
    }
    planner.forget_members(role.oid);
    planner.write(CatalogEntry::role_key(name), None);
    Ok(())
}
