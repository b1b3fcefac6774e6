//! `ALTER TABLE ... ALTER COLUMN ... ADD GENERATED`, `SET GENERATED`, `RESTART`, `SET` of an option, and `DROP IDENTITY`: from tokens to what they ask for.

use crate::errors::{Result, SqlError};
use crate::sql::lookup::{NameKind, NameLookup};
use crate::sql::sequence_options::{Options, options, relation};
use crate::sql::words::Words;
use messages::schema::Identity;
use sqlparser::tokenizer::Token;

/// What becomes of an identity.
#[derive(Clone, Debug)]
pub(super) enum IdentityChange {
    /// ADD GENERATED, with the sequence's name if one was given.
    Add(Identity, Option<String>, Options),
    /// SET GENERATED, SET of options, RESTART.
    Set(Option<Identity>, Options),
    /// DROP IDENTITY; true: IF EXISTS.
    Drop(bool),
}

/// A statement that changes the identity of a column.
#[derive(Clone, Debug)]
pub struct IdentityStatement {
    pub(super) table: String,
    pub(super) if_exists: bool,
    pub(super) column: String,
    pub(super) change: IdentityChange,
}

/// The words of options that SET begins.
const OPTIONS: [&str; 8] = ["increment", "minvalue", "maxvalue", "no", "start", "restart", "cache", "cycle"];

/// Parses what stands behind ALTER if it changes an identity; `None`: it is something else. Errors: 0A000 for several changes in one statement.
pub(super) fn parse(words: &mut Words) -> Result<Option<IdentityStatement>> {
    let mut ahead = Words { text: words.text, rest: words.rest };
    if !ahead.skip(&["table"]) {
        return Ok(None);
    }
    let if_exists = ahead.skip(&["if"]) && ahead.skip(&["exists"]);
    ahead.skip(&["only"]);
    let Ok(table) = relation(&mut ahead) else { return Ok(None) };
    ahead.skip_token(&Token::Mul);
    if !ahead.skip(&["alter"]) {
        return Ok(None);
    }
    ahead.skip(&["column"]);
    let Ok(column) = ahead.name() else { return Ok(None) };
    let from_verb = ahead.rest;
    let verb = ahead.keyword();
    let change = match verb.as_deref() {
        Some("add") if ahead.peek_is("generated") => added(&mut ahead)?,
        Some("drop") if ahead.skip(&["identity"]) => {
            let if_exists = ahead.skip(&["if"]);
            if if_exists {
                ahead.expect("exists")?;
            }
            IdentityChange::Drop(if_exists)
        }
        Some("set") if ahead.peek_is("generated") || OPTIONS.iter().any(|word| ahead.peek_is(word)) => {
            ahead.rest = from_verb;
            set(&mut ahead)?
        }
        Some("restart") => {
            ahead.rest = from_verb;
            set(&mut ahead)?
        }
        _ => return Ok(None),
    };
    if ahead.peek() == Some(&Token::Comma) {
        return Err(SqlError::unsupported("a change of an identity beside other changes in one statement"));
    }
    *words = ahead;
    Ok(Some(IdentityStatement { table, if_exists, column, change }))
}

fn generated(words: &mut Words) -> Result<Identity> {
    words.expect("generated")?;
    if words.skip(&["always"]) {
        return Ok(Identity::Always);
    }
    words.expect("by")?;
    words.expect("default")?;
    Ok(Identity::ByDefault)
}

fn added(words: &mut Words) -> Result<IdentityChange> {
    let identity = generated(words)?;
    words.expect("as")?;
    words.expect("identity")?;
    let (mut name, mut given) = (None, Options::default());
    if words.skip_token(&Token::LParen) {
        let end = words.rest.iter().position(|token| token.token == Token::RParen).ok_or_else(|| words.error())?;
        let mut inner = Words { text: words.text, rest: &words.rest[..end] };
        // The name stands first where PostgreSQL's own tools write it.
        if inner.skip(&["sequence"]) {
            inner.expect("name")?;
            name = Some(relation(&mut inner)?);
        }
        given = options(&mut inner)?;
        words.rest = &words.rest[end + 1..];
    }
    Ok(IdentityChange::Add(identity, name, given))
}

/// `SET GENERATED ... SET option ... RESTART ...`, in any order.
fn set(words: &mut Words) -> Result<IdentityChange> {
    let (mut identity, mut kept) = (None, Vec::new());
    while let Some(token) = words.rest.first().filter(|token| token.token != Token::Comma) {
        if !words.skip(&["set"]) {
            kept.push(token.clone());
            words.advance();
        } else if words.peek_is("generated") {
            identity = Some(generated(words)?);
        }
    }
    Ok(IdentityChange::Set(identity, options(&mut Words { text: words.text, rest: &kept })?))
}

impl IdentityStatement {
    /// With the catalog's names in the place of those that were written. Errors: 3F000, 42501.
    pub(super) fn qualified(&self, lookup: &NameLookup) -> Result<IdentityStatement> {
        let mut statement = self.clone();
        statement.table = lookup.existing(NameKind::Relation, &self.table)?;
        if let IdentityChange::Add(_, Some(name), _) = &mut statement.change {
            *name = lookup.new_name(name)?;
        }
        Ok(statement)
    }

    /// The relations that it names.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        let sequence = match &self.change {
            IdentityChange::Add(_, name, _) => name.as_ref(),
            _ => None,
        };
        std::iter::once(&self.table).chain(sequence)
    }
}
