//! CREATE, ALTER and DROP EXTENSION, from tokens to what they ask for.
//!
//! Invariant: what is no such statement is left as it was.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::grants::comma_separated;
use crate::sql::words::Words;
use messages::Key;
use messages::schema::CatalogEntry;
use sqlparser::tokenizer::Token;

/// A statement about extensions.
#[derive(Clone, Debug)]
pub enum ExtensionStatement {
    /// CREATE EXTENSION.
    Create(NewExtension),
    /// ALTER EXTENSION.
    Alter(String, ExtensionAlteration),
    /// DROP EXTENSION.
    Drop(DroppedExtensions),
}

/// An extension to be created.
#[derive(Clone, Debug)]
pub struct NewExtension {
    pub(super) name: String,
    pub(super) if_not_exists: bool,
    pub(super) schema: Option<String>,
    pub(super) version: Option<String>,
}

/// What ALTER EXTENSION does.
#[derive(Clone, Debug)]
pub enum ExtensionAlteration {
    /// UPDATE, to this version; `None`: to the newest.
    Update(Option<String>),
    /// SET SCHEMA.
    Move(String),
}

/// Extensions to be dropped.
#[derive(Clone, Debug)]
pub struct DroppedExtensions {
    pub(super) names: Vec<String>,
    pub(super) if_exists: bool,
    pub(super) cascade: bool,
}

impl ExtensionStatement {
    /// The command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            ExtensionStatement::Create(_) => "CREATE EXTENSION",
            ExtensionStatement::Alter(..) => "ALTER EXTENSION",
            ExtensionStatement::Drop(_) => "DROP EXTENSION",
        }
    }

    /// Catalog rows that decide what becomes of it.
    pub(super) fn mentioned(&self) -> Vec<Key> {
        let (names, schema) = match self {
            ExtensionStatement::Create(new) => (vec![&new.name], new.schema.as_ref()),
            ExtensionStatement::Alter(name, ExtensionAlteration::Move(to)) => (vec![name], Some(to)),
            ExtensionStatement::Alter(name, ExtensionAlteration::Update(_)) => (vec![name], None),
            ExtensionStatement::Drop(dropped) => (dropped.names.iter().collect(), None),
        };
        let names = names.into_iter().map(|name| CatalogEntry::extension_key(name));
        names.chain(schema.map(|name| CatalogEntry::namespace_key(name))).collect()
    }
}

/// Parses what stands behind CREATE, ALTER or DROP; `None`: it is about something else.
pub(super) fn parse(verb: &str, words: &mut Words) -> Result<Option<ExtensionStatement>> {
    if !matches!(verb, "create" | "alter" | "drop") || !words.skip(&["extension"]) {
        return Ok(None);
    }
    Ok(Some(match verb {
        "create" => ExtensionStatement::Create(created(words)?),
        "alter" => {
            let name = words.name()?;
            ExtensionStatement::Alter(name, alteration(words)?)
        }
        _ => ExtensionStatement::Drop(dropped(words)?),
    }))
}

fn created(words: &mut Words) -> Result<NewExtension> {
    let if_not_exists = words.skip(&["if"]);
    if if_not_exists {
        words.expect("not")?;
        words.expect("exists")?;
    }
    let mut new = NewExtension { name: words.name()?, if_not_exists, schema: None, version: None };
    words.skip(&["with"]);
    let mut cascades = false;
    while let Some(word) = words.peek_keyword() {
        let is_again = match word.as_str() {
            "schema" => new.schema.is_some(),
            "version" => new.version.is_some(),
            "cascade" => cascades,
            "from" => {
                let message = "CREATE EXTENSION ... FROM is no longer supported";
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
            }
            _ => return Err(words.error()),
        };
        if is_again {
            return Err(SqlError::new(sqlstate::SYNTAX_ERROR, "conflicting or redundant options"));
        }
        words.advance();
        match word.as_str() {
            "schema" => new.schema = Some(words.name()?),
            "version" => new.version = Some(version(words)?),
            // None of those that there are needs another.
            _ => cascades = true,
        }
    }
    Ok(new)
}

/// A version: a text, or a name.
fn version(words: &mut Words) -> Result<String> {
    match words.peek() {
        Some(Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_)) => words.string(),
        _ => words.name(),
    }
}

fn alteration(words: &mut Words) -> Result<ExtensionAlteration> {
    let word = words.peek_keyword().ok_or_else(|| words.error())?;
    if !matches!(word.as_str(), "update" | "set" | "add" | "drop") {
        return Err(words.error());
    }
    words.advance();
    Ok(match word.as_str() {
        "update" => ExtensionAlteration::Update(if words.skip(&["to"]) { Some(version(words)?) } else { None }),
        "set" => {
            words.expect("schema")?;
            ExtensionAlteration::Move(words.name()?)
        }
        other => return Err(SqlError::unsupported(format!("ALTER EXTENSION ... {}", other.to_ascii_uppercase()))),
    })
}

fn dropped(words: &mut Words) -> Result<DroppedExtensions> {
    let if_exists = words.skip(&["if"]);
    if if_exists {
        words.expect("exists")?;
    }
    let names = comma_separated(words, |words| words.name())?;
    let cascade = words.skip(&["cascade"]);
    if !cascade {
        words.skip(&["restrict"]);
    }
    Ok(DroppedExtensions { names, if_exists, cascade })
}
