//! CREATE, ALTER and DROP TYPE, from tokens to what they ask for.
//!
//! Invariant: what is no such statement is left as it was.

use crate::errors::{Result, SqlError};
use crate::sql::domain_syntax::{self, DomainStatement};
use crate::sql::grants::comma_separated;
use crate::sql::lookup::{NameKind, NameLookup};
use crate::sql::names;
use crate::sql::role_syntax::{Named, named};
use crate::sql::sequence_options::relation;
use crate::sql::words::Words;
use messages::Key;
use messages::namespace::{self, NOWHERE};
use messages::schema::CatalogEntry;
use sqlparser::tokenizer::Token;

/// A statement about a user's type.
#[derive(Clone, Debug)]
pub enum TypeStatement {
    /// CREATE TYPE ... AS ENUM: its name and labels.
    Create(String, Vec<String>),
    /// ALTER TYPE.
    Alter(String, TypeAlteration),
    /// DROP TYPE.
    Drop(DroppedTypes),
    /// A statement about a domain.
    Domain(DomainStatement),
}

/// What ALTER TYPE does.
#[derive(Clone, Debug)]
pub enum TypeAlteration {
    /// ADD VALUE.
    Add(NewLabel),
    /// RENAME VALUE: the old label and the new one.
    RenameLabel(String, String),
    /// RENAME TO.
    Rename(String),
    /// SET SCHEMA.
    Move(String),
    /// OWNER TO.
    Give(Named),
}

/// A label to be added.
#[derive(Clone, Debug)]
pub struct NewLabel {
    pub(super) label: String,
    pub(super) if_not_exists: bool,
    pub(super) place: LabelPlace,
}

/// Where a label is added.
#[derive(Clone, Debug)]
pub enum LabelPlace {
    /// Behind all others.
    Last,
    /// BEFORE this one.
    Before(String),
    /// AFTER this one.
    After(String),
}

/// Types to be dropped.
#[derive(Clone, Debug)]
pub struct DroppedTypes {
    pub(super) names: Vec<String>,
    pub(super) if_exists: bool,
    pub(super) cascade: bool,
}

impl DroppedTypes {
    /// With the catalog's names in the place of those that were written. Errors: 3F000, 42501.
    pub(super) fn qualified(&self, lookup: &NameLookup) -> Result<DroppedTypes> {
        let is_away = |name: &String| {
            names::parts(name)
                .0
                .is_some_and(|schema| !names::is_system_schema(schema) && lookup.catalog().namespace(schema).is_none())
        };
        let known = |name: &String| match self.if_exists && is_away(name) {
            true => Ok(namespace::within(names::parts(name).1, NOWHERE)),
            false => lookup.existing(NameKind::Type, name),
        };
        let names = self.names.iter().map(known).collect::<Result<_>>()?;
        Ok(DroppedTypes { names, ..self.clone() })
    }
}

impl TypeStatement {
    /// The command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            TypeStatement::Create(..) => "CREATE TYPE",
            TypeStatement::Alter(..) => "ALTER TYPE",
            TypeStatement::Drop(_) => "DROP TYPE",
            TypeStatement::Domain(statement) => statement.tag(),
        }
    }

    /// With the catalog's names in the place of those that were written. Errors: 3F000, 42501.
    pub fn qualified(&self, lookup: &NameLookup) -> Result<TypeStatement> {
        Ok(match self {
            TypeStatement::Create(name, labels) => TypeStatement::Create(lookup.new_name(name)?, labels.clone()),
            TypeStatement::Alter(name, change) => {
                TypeStatement::Alter(lookup.existing(NameKind::Type, name)?, change.clone())
            }
            TypeStatement::Drop(dropped) => TypeStatement::Drop(dropped.qualified(lookup)?),
            TypeStatement::Domain(statement) => TypeStatement::Domain(statement.qualified(lookup)?),
        })
    }

    /// Catalog rows that decide what becomes of it.
    pub fn mentioned(&self, lookup: &NameLookup) -> Vec<Key> {
        let mut all: Vec<&String> = Vec::new();
        let mut keys = Vec::new();
        match self {
            TypeStatement::Create(name, _) => all.push(name),
            TypeStatement::Alter(name, change) => {
                all.push(name);
                match change {
                    TypeAlteration::Rename(to) => all.push(to),
                    TypeAlteration::Move(to) => keys.push(CatalogEntry::namespace_key(to)),
                    _ => {}
                }
            }
            TypeStatement::Drop(dropped) => all.extend(&dropped.names),
            TypeStatement::Domain(statement) => statement.mentioned(&mut all, &mut keys),
        }
        // Tables and types are in each other's way.
        for kind in [NameKind::Type, NameKind::Relation] {
            keys.extend(all.iter().flat_map(|name| lookup.keys(kind, name)));
        }
        keys
    }
}

/// Parses what stands behind CREATE, ALTER or DROP; `None`: it is about something else.
pub(super) fn parse(verb: &str, words: &mut Words) -> Result<Option<TypeStatement>> {
    if !matches!(verb, "create" | "alter" | "drop") {
        return Ok(None);
    }
    if words.skip(&["domain"]) {
        return domain_syntax::parse(verb, words).map(|statement| Some(TypeStatement::Domain(statement)));
    }
    if !words.skip(&["type"]) {
        return Ok(None);
    }
    Ok(Some(match verb {
        "create" => created(words)?,
        "alter" => TypeStatement::Alter(relation(words)?, alteration(words)?),
        _ => TypeStatement::Drop(DroppedTypes::parse(words)?),
    }))
}

fn created(words: &mut Words) -> Result<TypeStatement> {
    let name = relation(words)?;
    if words.peek().is_none() {
        return Err(SqlError::unsupported("CREATE TYPE without a definition"));
    }
    if words.peek() == Some(&Token::LParen) {
        return Err(SqlError::unsupported("CREATE TYPE of a base type"));
    }
    words.expect("as")?;
    if words.peek_is("range") {
        return Err(SqlError::unsupported("CREATE TYPE ... AS RANGE"));
    }
    if words.peek() == Some(&Token::LParen) {
        return Err(SqlError::unsupported("CREATE TYPE ... AS of several columns"));
    }
    words.expect("enum")?;
    words.expect_token(&Token::LParen)?;
    if words.skip_token(&Token::RParen) {
        return Ok(TypeStatement::Create(name, Vec::new()));
    }
    let labels = comma_separated(words, |words| words.string())?;
    words.expect_token(&Token::RParen)?;
    Ok(TypeStatement::Create(name, labels))
}

fn alteration(words: &mut Words) -> Result<TypeAlteration> {
    let word = words.keyword().ok_or_else(|| words.error())?;
    Ok(match word.as_str() {
        "add" if words.skip(&["value"]) => {
            let if_not_exists = words.skip(&["if"]);
            if if_not_exists {
                words.expect("not")?;
                words.expect("exists")?;
            }
            let label = words.string()?;
            let place = match (words.skip(&["before"]), words.skip(&["after"])) {
                (true, _) => LabelPlace::Before(words.string()?),
                (_, true) => LabelPlace::After(words.string()?),
                _ => LabelPlace::Last,
            };
            TypeAlteration::Add(NewLabel { label, if_not_exists, place })
        }
        "rename" if words.skip(&["value"]) => {
            let old = words.string()?;
            words.expect("to")?;
            TypeAlteration::RenameLabel(old, words.string()?)
        }
        "rename" if words.skip(&["to"]) => TypeAlteration::Rename(words.name()?),
        "owner" => {
            words.expect("to")?;
            TypeAlteration::Give(named(words)?)
        }
        "set" if words.skip(&["schema"]) => TypeAlteration::Move(words.name()?),
        "add" | "rename" | "drop" | "alter" | "set" => {
            let shown = word.to_ascii_uppercase();
            return Err(SqlError::unsupported(format!(
                "ALTER TYPE ... {shown} of anything but a label, name or schema"
            )));
        }
        _ => return Err(SqlError::syntax(word)),
    })
}
