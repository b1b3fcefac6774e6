//! GRANT and REVOKE, of privileges and of membership, REASSIGN OWNED and DROP OWNED: from tokens to what they ask for.
//!
//! Invariant: a privilege that there is not on an object of its kind is an error here, in PostgreSQL's words.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::lookup::{NameKind, NameLookup};
use crate::sql::names;
use crate::sql::role_syntax::{Named, named};
use crate::sql::words::Words;
use messages::namespace::PUBLIC;
use messages::privilege::Privileges;
use privileges::{Behavior, Kind};
use sqlparser::tokenizer::Token;
use values::Type;

/// GRANT or REVOKE of privileges.
#[derive(Clone, Debug)]
pub struct Granting {
    /// GRANT, not REVOKE.
    pub grants: bool,
    /// What may be done; columns: only with these.
    pub privileges: Vec<(Privileges, Vec<String>)>,
    /// ALL PRIVILEGES, of these columns if there are any.
    pub all: Option<Vec<String>>,
    /// With what.
    pub on: Vec<Object>,
    /// Who gets or loses it; `None`: PUBLIC.
    pub grantees: Vec<Option<Named>>,
    /// WITH GRANT OPTION, GRANT OPTION FOR.
    pub option: bool,
    /// GRANTED BY.
    pub by: Option<Named>,
    /// What becomes of what depends on it.
    pub behavior: Behavior,
}

impl Granting {
    /// REVOKE ALL ... CASCADE, of nobody and on nothing yet.
    pub fn revoke_all() -> Granting {
        Granting {
            grants: false,
            privileges: Vec::new(),
            all: Some(Vec::new()),
            on: Vec::new(),
            grantees: Vec::new(),
            option: false,
            by: None,
            behavior: Behavior::Cascade,
        }
    }
}

/// What privileges are granted on.
#[derive(Clone, Debug)]
pub enum Object {
    /// A table.
    Table(String),
    /// A sequence.
    Sequence(String),
    /// All sequences of a schema.
    AllSequences(String),
    /// All tables of a schema.
    AllTables(String),
    /// A schema.
    Schema(String),
    /// A database.
    Database(String),
    /// A procedure or function; what it was called (`procedure`, `function`, `routine`), its name, and the types of its arguments if they were given.
    Procedure(&'static str, String, Option<Vec<Type>>),
    /// A type.
    Type(String),
    /// A domain.
    Domain(String),
    /// All functions, procedures or both of a schema, by the same word.
    AllProcedures(&'static str, String),
}

impl Object {
    /// With the catalog's name in the place of the one that was written. Errors: 3F000, 42501.
    pub(super) fn qualified(&self, lookup: &NameLookup) -> Result<Object> {
        let relation = |name: &String| lookup.existing(NameKind::Relation, name);
        Ok(match self {
            Object::Table(name) => Object::Table(relation(name)?),
            Object::Sequence(name) => Object::Sequence(relation(name)?),
            Object::Type(name) => Object::Type(lookup.existing(NameKind::Type, name)?),
            Object::Domain(name) => Object::Domain(lookup.existing(NameKind::Type, name)?),
            Object::Procedure(word, name, types) => {
                Object::Procedure(word, lookup.existing(NameKind::Procedure, name)?, types.clone())
            }
            other => other.clone(),
        })
    }

    /// Its kind, and what errors call that.
    pub fn kind(&self) -> (Kind, &'static str) {
        match self {
            Object::Table(_) | Object::AllTables(_) => (Kind::Table, "table"),
            Object::Sequence(_) | Object::AllSequences(_) => (Kind::Sequence, "sequence"),
            Object::Schema(_) => (Kind::Schema, "schema"),
            Object::Database(_) => (Kind::Database, "database"),
            Object::Type(_) => (Kind::Type, "type"),
            Object::Domain(_) => (Kind::Type, "domain"),
            Object::Procedure(word, ..) | Object::AllProcedures(word, _) => (Kind::Procedure, word),
        }
    }
}

/// GRANT or REVOKE of membership.
#[derive(Clone, Debug)]
pub struct Joining {
    /// GRANT, not REVOKE.
    pub grants: bool,
    /// Of what.
    pub roles: Vec<String>,
    /// Who becomes a member, or is one no more.
    pub members: Vec<Named>,
    /// WITH ADMIN OPTION, ADMIN OPTION FOR.
    pub admin: bool,
    /// GRANTED BY.
    pub by: Option<Named>,
}

/// ALTER DEFAULT PRIVILEGES.
#[derive(Clone, Debug)]
pub struct DefaultPrivileges {
    /// For what these roles make; empty: the session's own.
    pub roles: Vec<Named>,
    /// Only in these schemas; none: in all.
    pub in_schemas: Vec<String>,
    /// What is granted or taken away.
    pub granting: Granting,
}

impl DefaultPrivileges {
    /// The roles that it names, as owners and as grantees.
    pub(super) fn names(&self) -> impl Iterator<Item = &Named> {
        self.roles.iter().chain(self.granting.grantees.iter().flatten())
    }
}

/// Parses what stands behind ALTER DEFAULT.
pub(super) fn parse_defaults(words: &mut Words) -> Result<DefaultPrivileges> {
    words.expect("privileges")?;
    let (mut roles, mut in_schemas) = (Vec::new(), Vec::new());
    loop {
        if words.skip(&["for"]) {
            if !words.skip(&["role", "user"]) {
                return Err(words.error());
            }
            roles = comma_separated(words, named)?;
        } else if words.skip(&["in"]) {
            words.expect("schema")?;
            let schemas = comma_separated(words, |words| words.name())?;
            in_schemas = schemas;
        } else {
            break;
        }
    }
    let grants = match words.keyword().as_deref() {
        Some("grant") => true,
        Some("revoke") => false,
        _ => return Err(words.error()),
    };
    Ok(DefaultPrivileges { roles, in_schemas, granting: parse_of_defaults(grants, words)? })
}

/// What a text that begins with GRANT or REVOKE is.
pub(super) enum Either {
    Granting(Granting),
    Joining(Joining),
}

/// Parses what stands behind GRANT or REVOKE.
pub(super) fn parse(grants: bool, words: &mut Words) -> Result<Either> {
    let mut ahead = Words { text: words.text, rest: words.rest };
    let mut option = false;
    let mut admin = false;
    if !grants && ahead.skip(&["grant", "admin"]) && ahead.skip(&["option"]) && ahead.skip(&["for"]) {
        (option, admin) = (words.peek_is("grant"), words.peek_is("admin"));
        *words = ahead;
    }
    let list = listed(words)?;
    let preposition = if grants { "to" } else { "from" };
    if words.skip(&["on"]) {
        if admin {
            return Err(words.error());
        }
        let on = objects(words)?;
        words.expect(preposition)?;
        let granting = granting(grants, list, on, option, words)?;
        check(&granting)?;
        return Ok(Either::Granting(granting));
    }
    let is_role = |(_, columns, quoted): &(String, Option<Vec<String>>, bool)| columns.is_none() || *quoted;
    if option || !list.iter().all(is_role) {
        return Err(words.error());
    }
    words.expect(preposition)?;
    let members = comma_separated(words, named)?;
    if grants && words.skip(&["with"]) {
        words.expect("admin")?;
        words.expect("option")?;
        admin = true;
    }
    let by = granted_by(words)?;
    if !grants {
        words.skip(&["cascade", "restrict"]);
    }
    let roles = list.into_iter().map(|(name, ..)| name).collect();
    Ok(Either::Joining(Joining { grants, roles, members, admin, by }))
}

/// A name, columns behind it, and whether it was quoted.
type Listed = (String, Option<Vec<String>>, bool);

fn listed(words: &mut Words) -> Result<Vec<Listed>> {
    comma_separated(words, |words| {
        let quoted = words.peek_is_quoted();
        let name = words.name()?;
        if name == "all" && !quoted {
            words.skip(&["privileges"]);
        }
        let columns = match words.skip_token(&Token::LParen) {
            true => {
                let columns = comma_separated(words, |words| words.name())?;
                words.expect_token(&Token::RParen)?;
                Some(columns)
            }
            false => None,
        };
        Ok((name, columns, quoted))
    })
}

pub(super) fn comma_separated<T>(words: &mut Words, one: impl Fn(&mut Words) -> Result<T>) -> Result<Vec<T>> {
    let mut all = vec![one(words)?];
    while words.skip_token(&Token::Comma) {
        all.push(one(words)?);
    }
    Ok(all)
}

/// Parses what stands behind GRANT or REVOKE in ALTER DEFAULT PRIVILEGES.
fn parse_of_defaults(grants: bool, words: &mut Words) -> Result<Granting> {
    let option = !grants && words.skip(&["grant"]);
    if option {
        words.expect("option")?;
        words.expect("for")?;
    }
    let list = listed(words)?;
    words.expect("on")?;
    let object = match words.keyword().ok_or_else(|| words.error())?.as_str() {
        "tables" => Object::AllTables(PUBLIC.to_owned()),
        "sequences" => Object::AllSequences(PUBLIC.to_owned()),
        "functions" | "routines" => Object::AllProcedures("function", PUBLIC.to_owned()),
        "types" | "schemas" => return Err(SqlError::unsupported("default privileges on types or schemas")),
        _ => return Err(words.error()),
    };
    words.expect(if grants { "to" } else { "from" })?;
    let granting = granting(grants, list, vec![object], option, words)?;
    if granting.by.is_some() {
        return Err(words.error());
    }
    if granting.privileges.iter().any(|(_, columns)| !columns.is_empty())
        || granting.all.iter().any(|all| !all.is_empty())
    {
        return Err(SqlError::new(sqlstate::INVALID_GRANT, "default privileges cannot be set for columns"));
    }
    check(&granting)?;
    Ok(granting)
}

fn granting(grants: bool, list: Vec<Listed>, on: Vec<Object>, mut option: bool, words: &mut Words) -> Result<Granting> {
    let (mut privileges, mut all) = (Vec::new(), None);
    for (name, columns, quoted) in list {
        if name == "all" && !quoted {
            all = Some(columns.unwrap_or_default());
            continue;
        }
        let known = privileges::text::privilege(&name).ok_or_else(|| {
            let message = format!("unrecognized privilege type \"{name}\"");
            SqlError::new(sqlstate::SYNTAX_ERROR, message)
        })?;
        privileges.push((known, columns.unwrap_or_default()));
    }
    let grantees = comma_separated(words, grantee)?;
    if grants && words.skip(&["with"]) {
        words.expect("grant")?;
        words.expect("option")?;
        option = true;
    }
    let by = granted_by(words)?;
    let behavior = match !grants && words.skip(&["cascade"]) {
        true => Behavior::Cascade,
        false => Behavior::Restrict,
    };
    if !grants {
        words.skip(&["restrict"]);
    }
    Ok(Granting { grants, privileges, all, on, grantees, option, by, behavior })
}

fn grantee(words: &mut Words) -> Result<Option<Named>> {
    words.skip(&["group"]);
    if words.peek_is("public") {
        words.advance();
        return Ok(None);
    }
    named(words).map(Some)
}

fn granted_by(words: &mut Words) -> Result<Option<Named>> {
    if !words.skip(&["granted"]) {
        return Ok(None);
    }
    words.expect("by")?;
    named(words).map(Some)
}

/// `name` or `schema.name`, as it was written. Errors: 0A000 for what is the system's.
pub(super) fn object_name(words: &mut Words) -> Result<String> {
    let name = words.name()?;
    if !words.skip_token(&Token::Period) {
        return Ok(name);
    }
    match name.as_str() {
        PUBLIC => words.name(),
        name if names::is_system_schema(name) => {
            Err(SqlError::unsupported(format!("privileges on what is in the schema {name}")))
        }
        _ => Ok(names::written(&name, &words.name()?)),
    }
}

fn objects(words: &mut Words) -> Result<Vec<Object>> {
    const ROUTINES: [(&str, &str); 3] =
        [("function", "functions"), ("procedure", "procedures"), ("routine", "routines")];
    if words.skip(&["all"]) {
        let kind = words.keyword().ok_or_else(|| words.error())?;
        let routine = ROUTINES.iter().find(|(_, several)| *several == kind);
        if routine.is_none() && !matches!(kind.as_str(), "tables" | "sequences") {
            return Err(words.error());
        }
        words.expect("in")?;
        words.expect("schema")?;
        let schemas = comma_separated(words, |words| words.name())?;
        let objects = schemas.into_iter().map(|schema| match (kind.as_str(), routine) {
            (_, Some((word, _))) => Object::AllProcedures(word, schema),
            ("tables", None) => Object::AllTables(schema),
            _ => Object::AllSequences(schema),
        });
        return Ok(objects.collect());
    }
    for (word, _) in ROUTINES {
        if words.skip(&[word]) {
            return comma_separated(words, |words| {
                let name = object_name(words)?;
                Ok(Object::Procedure(word, name, arguments(words)?))
            });
        }
    }
    if words.skip(&["schema"]) {
        return comma_separated(words, |words| Ok(Object::Schema(words.name()?)));
    }
    if words.skip(&["database"]) {
        return comma_separated(words, |words| Ok(Object::Database(words.name()?)));
    }
    let mut ahead = Words { text: words.text, rest: words.rest };
    // A table may be called so.
    if ahead.skip(&["sequence"])
        && matches!(ahead.peek(), Some(Token::Word(_)))
        && !matches!(ahead.peek_keyword().as_deref(), Some("to" | "from"))
    {
        *words = ahead;
        return comma_separated(words, |words| Ok(Object::Sequence(object_name(words)?)));
    }
    for (word, made) in [("type", Object::Type as fn(String) -> Object), ("domain", Object::Domain)] {
        let mut ahead = Words { text: words.text, rest: words.rest };
        if ahead.skip(&[word])
            && matches!(ahead.peek(), Some(Token::Word(_)))
            && !matches!(ahead.peek_keyword().as_deref(), Some("to" | "from"))
        {
            *words = ahead;
            return comma_separated(words, |words| Ok(made(object_name(words)?)));
        }
    }
    for other in ["language", "tablespace", "parameter"] {
        let mut ahead = Words { text: words.text, rest: words.rest };
        ahead.advance();
        // A table may be called so.
        if words.peek_is(other)
            && matches!(ahead.peek(), Some(Token::Word(_)))
            && !ahead.peek_is("to")
            && !ahead.peek_is("from")
        {
            return Err(SqlError::unsupported(format!("privileges on a {other}")));
        }
    }
    if words.peek_is("foreign") || words.peek_is("large") {
        return Err(SqlError::unsupported("privileges on foreign data or large objects"));
    }
    words.skip(&["table"]);
    comma_separated(words, |words| Ok(Object::Table(object_name(words)?)))
}

/// `(type, ...)`, with names before the types or without.
pub(super) fn arguments(words: &mut Words) -> Result<Option<Vec<Type>>> {
    if !words.skip_token(&Token::LParen) {
        return Ok(None);
    }
    let (mut types, mut spelled, mut depth) = (Vec::new(), Vec::<String>::new(), 0);
    loop {
        let Some(token) = words.peek().cloned() else { return Err(words.error()) };
        let ends = depth == 0 && matches!(token, Token::Comma | Token::RParen);
        match token {
            Token::LParen => depth += 1,
            Token::RParen if depth > 0 => depth -= 1,
            _ => {}
        }
        words.advance();
        if !ends {
            spelled.push(token.to_string());
            continue;
        }
        if !spelled.is_empty() {
            types.extend(argument(&spelled)?);
            spelled.clear();
        } else if token == Token::Comma || !types.is_empty() {
            return Err(words.error());
        }
        if token == Token::RParen {
            return Ok(Some(types));
        }
    }
}

/// The type of an argument, `[mode] [name] [mode] type`; `None` for one that is only given back.
fn argument(spelled: &[String]) -> Result<Option<Type>> {
    let mode = |word: &String| ["in", "out", "inout"].into_iter().find(|mode| word.eq_ignore_ascii_case(mode));
    let at = (0..2).find(|place| spelled.len() > place + 1 && mode(&spelled[*place]).is_some());
    let Some(at) = at else { return typed(spelled).map(Some) };
    let known = typed(&[&spelled[..at], &spelled[at + 1..]].concat())?;
    Ok(if mode(&spelled[at]) == Some("out") { None } else { Some(known) })
}

fn typed(spelled: &[String]) -> Result<Type> {
    let whole = spelled.join(" ");
    match whole.parse::<Type>() {
        Ok(known) => Ok(known),
        Err(_) if spelled.len() > 1 => Ok(spelled[1..].join(" ").parse::<Type>()?),
        Err(error) => Err(error.into()),
    }
}

/// Errors: 0LP01 for a privilege that there is not on such an object.
fn check(granting: &Granting) -> Result<()> {
    let invalid = |message: String| Err(SqlError::new(sqlstate::INVALID_GRANT, message));
    let Some((kind, word)) = granting.on.first().map(Object::kind) else { return Ok(()) };
    let name = |privilege: Privileges| {
        let found = Privileges::ALL.iter().find(|(known, ..)| *known == privilege);
        found.map_or("", |(_, _, name)| *name)
    };
    let on_columns = granting.all.iter().any(|columns| !columns.is_empty());
    if kind != Kind::Table && (on_columns || granting.privileges.iter().any(|(_, columns)| !columns.is_empty())) {
        return invalid("column privileges are only valid for relations".to_owned());
    }
    for (privilege, columns) in &granting.privileges {
        if !columns.is_empty() && !Kind::Column.privileges().contain(*privilege) {
            return invalid(format!("invalid privilege type {} for column", name(*privilege)));
        }
        let mut known = kind.privileges();
        if kind == Kind::Table {
            // Without its word a sequence is one of these, too.
            known = known | Kind::Sequence.privileges();
        }
        if !known.contain(*privilege) {
            let word = if kind == Kind::Table { "relation" } else { word };
            return invalid(format!("invalid privilege type {} for {word}", name(*privilege)));
        }
    }
    if granting.option && granting.grants && granting.grantees.iter().any(Option::is_none) {
        return invalid("grant options can only be granted to roles".to_owned());
    }
    Ok(())
}
