//! Statements about roles, from tokens to what they ask for.
//!
//! Invariant: a password stands here until it has become a verifier, and is not printed.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::grants::{self, DefaultPrivileges, Either, Granting, Joining, Object};
use crate::sql::lookup::{NameKind, NameLookup};
use crate::sql::names;
use crate::sql::own_settings_syntax::{self, OwnSettings, SettingsHolder};
use crate::sql::words::Words;
use messages::Key;
use messages::role::Secret;
use messages::schema::{CatalogEntry, Place};
use sqlparser::ast;
use sqlparser::tokenizer::Token;
use values::{Type, Value, Zone};

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
    DropOwned(Vec<Named>, bool),
    /// ALTER DEFAULT PRIVILEGES.
    Defaults(Box<DefaultPrivileges>),
    /// ALTER ROLE or DATABASE ... SET.
    Settings(OwnSettings),
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
    pub(super) superuser: Option<bool>,
    pub(super) inherit: Option<bool>,
    pub(super) create_role: Option<bool>,
    pub(super) create_database: Option<bool>,
    pub(super) login: Option<bool>,
    pub(super) replication: Option<bool>,
    pub(super) bypass_row_security: Option<bool>,
    pub(super) connection_limit: Option<i32>,
    /// VALID UNTIL, as it is written: the session's time zone decides what it is.
    pub(super) valid_until: Option<String>,
    /// `None` within: PASSWORD NULL.
    pub(super) password: Option<Option<Secret<String>>>,
    /// IN ROLE: what it becomes a member of.
    pub(super) member_of: Vec<Named>,
    /// ROLE: who become members of it.
    pub(super) members: Vec<Named>,
    /// ADMIN: who become members, and may make others so.
    pub(super) admins: Vec<Named>,
}

impl RoleStatement {
    /// Whether it names what is in the schema, and so depends on what of that the role sees.
    pub fn names_objects(&self) -> bool {
        matches!(self, RoleStatement::Grant(_) | RoleStatement::Owner(..))
    }

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
            RoleStatement::Owner(Object::Sequence(_), _) => "ALTER SEQUENCE",
            RoleStatement::Owner(Object::Procedure("function", ..), _) => "ALTER FUNCTION",
            RoleStatement::Owner(Object::Procedure("routine", ..), _) => "ALTER ROUTINE",
            RoleStatement::Owner(..) => "ALTER PROCEDURE",
            RoleStatement::Reassign(..) => "REASSIGN OWNED",
            RoleStatement::DropOwned(..) => "DROP OWNED",
            RoleStatement::Defaults(_) => "ALTER DEFAULT PRIVILEGES",
            RoleStatement::Settings(own) => own.tag(),
        }
    }

    /// With the catalog's names in the place of those that were written. Errors: 3F000, 42501.
    pub fn qualified(&self, lookup: &NameLookup) -> Result<RoleStatement> {
        Ok(match self {
            RoleStatement::Grant(granting) => {
                let on = granting.on.iter().map(|object| object.qualified(lookup)).collect::<Result<_>>()?;
                RoleStatement::Grant(Granting { on, ..granting.clone() })
            }
            RoleStatement::Owner(object, owner) => RoleStatement::Owner(object.qualified(lookup)?, owner.clone()),
            other => other.clone(),
        })
    }

    /// Catalog rows that decide what becomes of it.
    pub fn mentioned(&self, lookup: &NameLookup) -> Vec<Key> {
        let names = match self {
            RoleStatement::Create(name, _) | RoleStatement::Alter(name, _) => std::slice::from_ref(name),
            RoleStatement::Rename(name, to) => return [name, to].into_iter().filter_map(Named::key).collect(),
            RoleStatement::Drop(names, _) | RoleStatement::DropOwned(names, _) => names,
            RoleStatement::Settings(own) => return own.mentioned(),
            RoleStatement::Defaults(defaults) => return defaults.names().filter_map(Named::key).collect(),
            RoleStatement::Reassign(names, to) => {
                return names.iter().chain([to]).filter_map(Named::key).collect();
            }
            RoleStatement::Join(joining) => {
                let roles = joining.roles.iter().map(|role| CatalogEntry::role_key(role));
                return roles.chain(joining.members.iter().filter_map(Named::key)).collect();
            }
            RoleStatement::Owner(object, to) => return object.keys(lookup).into_iter().chain(to.key()).collect(),
            RoleStatement::Grant(granting) => {
                let grantees = granting.grantees.iter().flatten().filter_map(Named::key);
                return granting.on.iter().flat_map(|object| object.keys(lookup)).chain(grantees).collect();
            }
        };
        names.iter().filter_map(Named::key).collect()
    }
}

impl Object {
    fn keys(&self, lookup: &NameLookup) -> Vec<Key> {
        match self {
            Object::Table(name) | Object::Sequence(name) => lookup.keys(NameKind::Relation, name),
            Object::Procedure(_, name, _) => lookup.keys(NameKind::Procedure, name),
            Object::Type(name) | Object::Domain(name) => lookup.keys(NameKind::Type, name),
            Object::Schema(name) => {
                vec![CatalogEntry::rights_key(Place::Schema), CatalogEntry::namespace_key(name)]
            }
            Object::Database(name) => vec![CatalogEntry::database_key(name)],
            Object::AllTables(name) | Object::AllSequences(name) | Object::AllProcedures(_, name) => {
                vec![CatalogEntry::namespace_key(name)]
            }
        }
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

    pub(super) fn key(&self) -> Option<Key> {
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
    if verb == "alter" && words.peek_is("all") && !words.peek_is_quoted() {
        let holder = own_settings_syntax::holder(words)?;
        let change = own_settings_syntax::parse_of_role(&holder, words)?;
        return change.map(RoleStatement::Settings).ok_or_else(|| words.error());
    }
    let name = named(words)?;
    if verb == "alter" {
        if words.skip(&["rename"]) {
            words.expect("to")?;
            return Ok(RoleStatement::Rename(name, named(words)?));
        }
        if let Some(own) = own_settings_syntax::parse_of_role(&SettingsHolder::Role(name.clone()), words)? {
            return Ok(RoleStatement::Settings(own));
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
    let members = grants::comma_separated(words, named)?;
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
        return Err(SqlError::new(sqlstate::RESERVED_NAME, format!("role name \"{name}\" is reserved")));
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
                once(&mut self.valid_until, words.string()?)
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
                let roles = grants::comma_separated(words, named)?;
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

/// Microseconds since 1970; `None`: never. Errors: those of a `timestamptz`.
pub(super) fn instant(text: &str, zone: &Zone) -> Result<Option<i64>> {
    if text.trim().eq_ignore_ascii_case("infinity") {
        return Ok(None);
    }
    match values::text::parse_in(text, Type::TimestampTz(None), zone)? {
        Value::TimestampTz(micros) => Ok(Some(micros.saturating_add(MICROS_TO_2000))),
        _ => Err(SqlError::syntax(text)),
    }
}
