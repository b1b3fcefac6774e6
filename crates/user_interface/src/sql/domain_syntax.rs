//! CREATE, ALTER and DROP DOMAIN, from tokens to what they ask for.
//!
//! Invariant: what stands behind a domain's name is text here; it is read when the statement is planned.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::grants::comma_separated;
use crate::sql::lookup::{NameKind, NameLookup};
use crate::sql::role_syntax::{Named, named};
use crate::sql::sequence_options::relation;
use crate::sql::type_syntax::DroppedTypes;
use crate::sql::words::{Words, slice};
use messages::Key;
use messages::schema::CatalogEntry;
use sqlparser::tokenizer::Token;

/// A statement about a domain.
#[derive(Clone, Debug)]
pub enum DomainStatement {
    /// CREATE DOMAIN: its name and definition.
    Create(String, DomainText),
    /// ALTER DOMAIN.
    Alter(String, DomainAlteration),
    /// DROP DOMAIN.
    Drop(DroppedTypes),
}

/// What stands behind a domain's name.
#[derive(Clone, Debug)]
pub struct DomainText {
    /// The name as it is written.
    pub(super) name: String,
    /// A type, and constraints.
    pub(super) definition: String,
}

/// What ALTER DOMAIN does.
#[derive(Clone, Debug)]
pub enum DomainAlteration {
    /// SET DEFAULT.
    SetDefault(DomainText),
    /// DROP DEFAULT.
    DropDefault,
    /// SET NOT NULL, or DROP NOT NULL.
    NotNull(bool),
    /// ADD of a constraint; and whether the values that there are satisfy it.
    Add(DomainText, bool),
    /// DROP CONSTRAINT.
    DropConstraint {
        /// Its name.
        name: String,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// RENAME CONSTRAINT: the old name and the new one.
    RenameConstraint(String, String),
    /// VALIDATE CONSTRAINT.
    Validate(String),
    /// RENAME TO.
    Rename(String),
    /// SET SCHEMA.
    Move(String),
    /// OWNER TO.
    Give(Named),
}

impl DomainStatement {
    /// The command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            DomainStatement::Create(..) => "CREATE DOMAIN",
            DomainStatement::Alter(..) => "ALTER DOMAIN",
            DomainStatement::Drop(_) => "DROP DOMAIN",
        }
    }

    /// With the catalog's names in the place of those that were written. Errors: 3F000, 42501.
    pub(super) fn qualified(&self, lookup: &NameLookup) -> Result<DomainStatement> {
        Ok(match self {
            DomainStatement::Create(name, text) => DomainStatement::Create(lookup.new_name(name)?, text.clone()),
            DomainStatement::Alter(name, change) => {
                DomainStatement::Alter(lookup.existing(NameKind::Type, name)?, change.clone())
            }
            DomainStatement::Drop(dropped) => DomainStatement::Drop(dropped.qualified(lookup)?),
        })
    }

    /// Catalog rows that decide what becomes of it, beside those of the names in `all`, which it adds.
    pub(super) fn mentioned<'s>(&'s self, all: &mut Vec<&'s String>, keys: &mut Vec<Key>) {
        match self {
            DomainStatement::Create(name, _) => all.push(name),
            DomainStatement::Alter(name, change) => {
                all.push(name);
                match change {
                    DomainAlteration::Rename(to) => all.push(to),
                    DomainAlteration::Move(to) => keys.push(CatalogEntry::namespace_key(to)),
                    _ => {}
                }
            }
            DomainStatement::Drop(dropped) => all.extend(&dropped.names),
        }
    }
}

/// Parses what stands behind CREATE DOMAIN, ALTER DOMAIN or DROP DOMAIN.
pub(super) fn parse(verb: &str, words: &mut Words) -> Result<DomainStatement> {
    if verb == "drop" {
        return Ok(DomainStatement::Drop(DroppedTypes::parse(words)?));
    }
    let before = words.rest;
    let name = relation(words)?;
    let written = slice(words.text, &before[..before.len() - words.rest.len()]);
    if verb == "alter" {
        return Ok(DomainStatement::Alter(name, alteration(written, words)?));
    }
    words.skip(&["as"]);
    let text = DomainText { name: written.to_owned(), definition: definition(words)? };
    Ok(DomainStatement::Create(name, text))
}

fn alteration(domain: &str, words: &mut Words) -> Result<DomainAlteration> {
    let before = words.rest;
    let word = words.keyword().ok_or_else(|| words.error())?;
    Ok(match word.as_str() {
        "set" if words.peek_is("default") => {
            let definition = format!("integer {}", definition(words)?);
            DomainAlteration::SetDefault(DomainText { name: domain.to_owned(), definition })
        }
        "drop" if words.skip(&["default"]) => DomainAlteration::DropDefault,
        "set" | "drop" if words.skip(&["not"]) => {
            words.expect("null")?;
            DomainAlteration::NotNull(word == "set")
        }
        "add" => {
            let not_valid = ends_in_not_valid(words);
            if not_valid {
                words.rest = &words.rest[..words.rest.len() - 2];
            }
            if words.skip(&["constraint"]) {
                words.name()?;
            }
            if !["check", "unique", "primary", "foreign", "exclude"].iter().any(|word| words.peek_is(word)) {
                return Err(words.error());
            }
            if words.peek_is("foreign") || words.peek_is("exclude") {
                let what = if words.peek_is("foreign") { "foreign key" } else { "exclusion" };
                return Err(not_possible(what));
            }
            words.rest = &before[1..before.len() - if not_valid { 2 } else { 0 }];
            let definition = format!("integer {}", definition(words)?);
            DomainAlteration::Add(DomainText { name: domain.to_owned(), definition }, !not_valid)
        }
        "drop" if words.skip(&["constraint"]) => {
            let if_exists = words.skip(&["if"]);
            if if_exists {
                words.expect("exists")?;
            }
            let name = words.name()?;
            // Nothing depends on a condition.
            let _ = words.skip(&["cascade", "restrict"]);
            DomainAlteration::DropConstraint { name, if_exists }
        }
        "rename" if words.skip(&["constraint"]) => {
            let old = words.name()?;
            words.expect("to")?;
            DomainAlteration::RenameConstraint(old, words.name()?)
        }
        "rename" => {
            words.expect("to")?;
            DomainAlteration::Rename(words.name()?)
        }
        "validate" => {
            words.expect("constraint")?;
            DomainAlteration::Validate(words.name()?)
        }
        "owner" => {
            words.expect("to")?;
            DomainAlteration::Give(named(words)?)
        }
        "set" if words.skip(&["schema"]) => DomainAlteration::Move(words.name()?),
        "set" | "drop" => return Err(words.error()),
        _ => return Err(SqlError::syntax(word)),
    })
}

/// All that is left, which is to stand between parentheses of another text. Errors: 42601 for a parenthesis that it would close or leave open there.
fn definition(words: &mut Words) -> Result<String> {
    let text = words.remaining_text()?.to_string();
    let mut open = 0_usize;
    while let Some(token) = words.peek() {
        match token {
            Token::LParen => open += 1,
            Token::RParen if open == 0 => return Err(words.error()),
            Token::RParen => open -= 1,
            _ => {}
        }
        words.advance();
    }
    if open == 0 { Ok(text) } else { Err(words.error()) }
}

fn ends_in_not_valid(words: &Words) -> bool {
    let is = |token: &Token, wanted: &str| matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted));
    matches!(words.rest, [.., not, valid] if is(&not.token, "not") && is(&valid.token, "valid"))
}

/// 42601
pub(super) fn not_possible(what: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::SYNTAX_ERROR, format!("{what} constraints not possible for domains"))
}

impl DroppedTypes {
    /// What stands behind DROP TYPE or DROP DOMAIN.
    pub(super) fn parse(words: &mut Words) -> Result<DroppedTypes> {
        let if_exists = words.skip(&["if"]);
        if if_exists {
            words.expect("exists")?;
        }
        let names = comma_separated(words, relation)?;
        let cascade = words.skip(&["cascade"]);
        if !cascade {
            words.skip(&["restrict"]);
        }
        Ok(DroppedTypes { names, if_exists, cascade })
    }
}
