//! CREATE, ALTER and DROP SCHEMA, SET SCHEMA and COMMENT ON, and where extensions and databases are told, from tokens to what they ask for.
//!
//! Invariant: what is no such statement is left as it was.

use crate::errors::{Result, SqlError};
use crate::sql::comment_syntax::{self, CommentStatement};
use crate::sql::database_syntax::{self, DatabaseStatement};
use crate::sql::extension_syntax::{self, ExtensionStatement};
use crate::sql::grants::comma_separated;
use crate::sql::lookup::{NameKind, NameLookup};
use crate::sql::role_syntax::{Named, named};
use crate::sql::sequence_options::relation;
use crate::sql::words::Words;
use messages::Key;
use messages::schema::CatalogEntry;
use sqlparser::tokenizer::Token;

/// A statement about a schema, an extension, or about what is said of objects.
#[derive(Clone, Debug)]
pub enum SchemaStatement {
    /// COMMENT ON.
    Comment(CommentStatement),
    /// CREATE SCHEMA.
    Create(NewSchema),
    /// ALTER SCHEMA ... RENAME TO.
    Rename(String, String),
    /// DROP SCHEMA.
    Drop(DroppedSchemas),
    /// ALTER TABLE, VIEW, MATERIALIZED VIEW or SEQUENCE ... SET SCHEMA.
    Move(MovedRelation),
    /// ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION.
    DropExpression(DroppedExpression),
    /// CREATE, ALTER or DROP EXTENSION.
    Extension(ExtensionStatement),
    /// CREATE, ALTER or DROP DATABASE.
    Database(DatabaseStatement),
}

/// A schema to be made.
#[derive(Clone, Debug)]
pub struct NewSchema {
    /// Its name; `None`: that of its owner.
    pub(super) name: Option<String>,
    /// IF NOT EXISTS.
    pub(super) if_not_exists: bool,
    /// AUTHORIZATION; `None`: the session's role.
    pub(super) owner: Option<Named>,
}

/// Schemas to be dropped.
#[derive(Clone, Debug)]
pub struct DroppedSchemas {
    pub(super) names: Vec<String>,
    pub(super) if_exists: bool,
    pub(super) cascade: bool,
}

/// A generated column that is to be one as others are.
#[derive(Clone, Debug)]
pub struct DroppedExpression {
    pub(super) table: String,
    pub(super) table_if_exists: bool,
    pub(super) column: String,
    pub(super) if_exists: bool,
}

/// A relation that gets another schema.
#[derive(Clone, Debug)]
pub struct MovedRelation {
    /// `table`, `view`, `materialized view` or `sequence`.
    pub(super) word: &'static str,
    pub(super) if_exists: bool,
    pub(super) name: String,
    pub(super) to: String,
}

impl SchemaStatement {
    /// The command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            SchemaStatement::Comment(_) => "COMMENT",
            SchemaStatement::Create(_) => "CREATE SCHEMA",
            SchemaStatement::Rename(..) => "ALTER SCHEMA",
            SchemaStatement::Drop(_) => "DROP SCHEMA",
            SchemaStatement::Move(MovedRelation { word: "view", .. }) => "ALTER VIEW",
            SchemaStatement::Move(MovedRelation { word: "materialized view", .. }) => "ALTER MATERIALIZED VIEW",
            SchemaStatement::Move(MovedRelation { word: "sequence", .. }) => "ALTER SEQUENCE",
            SchemaStatement::Move(_) | SchemaStatement::DropExpression(_) => "ALTER TABLE",
            SchemaStatement::Extension(statement) => statement.tag(),
            SchemaStatement::Database(statement) => statement.tag(),
        }
    }

    /// With the catalog's names in the place of those that were written. Errors: 3F000, 42501.
    pub fn qualified(&self, lookup: &NameLookup) -> Result<SchemaStatement> {
        Ok(match self {
            SchemaStatement::Move(moved) => {
                let name = lookup.existing(NameKind::Relation, &moved.name)?;
                SchemaStatement::Move(MovedRelation { name, ..moved.clone() })
            }
            SchemaStatement::DropExpression(dropped) => {
                let table = lookup.existing(NameKind::Relation, &dropped.table)?;
                SchemaStatement::DropExpression(DroppedExpression { table, ..dropped.clone() })
            }
            SchemaStatement::Comment(comment) => SchemaStatement::Comment(comment.qualified(lookup)?),
            other => other.clone(),
        })
    }

    /// Catalog rows that decide what becomes of it.
    pub fn mentioned(&self, lookup: &NameLookup) -> Vec<Key> {
        let schemas = match self {
            SchemaStatement::Comment(comment) => return comment.mentioned(lookup),
            SchemaStatement::Extension(statement) => return statement.mentioned(),
            SchemaStatement::Database(statement) => return statement.mentioned(),
            SchemaStatement::Create(NewSchema { name, .. }) => name.iter().collect(),
            SchemaStatement::Rename(name, to) => vec![name, to],
            SchemaStatement::Drop(dropped) => dropped.names.iter().collect(),
            SchemaStatement::Move(moved) => {
                let schema = CatalogEntry::namespace_key(&moved.to);
                return lookup.keys(NameKind::Relation, &moved.name).into_iter().chain([schema]).collect();
            }
            SchemaStatement::DropExpression(dropped) => return lookup.keys(NameKind::Relation, &dropped.table),
        };
        schemas.into_iter().map(|name| CatalogEntry::namespace_key(name)).collect()
    }
}

/// Parses what stands behind CREATE, ALTER, DROP or COMMENT; `None`: it is about something else.
pub(super) fn parse(verb: &str, words: &mut Words) -> Result<Option<SchemaStatement>> {
    if let Some(statement) = extension_syntax::parse(verb, words)? {
        return Ok(Some(SchemaStatement::Extension(statement)));
    }
    if let Some(statement) = database_syntax::parse(verb, words)? {
        return Ok(Some(SchemaStatement::Database(statement)));
    }
    let mut ahead = Words { text: words.text, rest: words.rest };
    let parsed = match verb {
        "comment" => SchemaStatement::Comment(comment_syntax::parse(&mut ahead)?),
        "create" if ahead.skip(&["schema"]) => created(&mut ahead)?,
        "drop" if ahead.skip(&["schema"]) => dropped(&mut ahead)?,
        "alter" if ahead.skip(&["schema"]) => {
            let name = ahead.name()?;
            if !ahead.skip(&["rename"]) {
                return Ok(None);
            }
            ahead.expect("to")?;
            SchemaStatement::Rename(name, ahead.name()?)
        }
        "alter" => match dropped_expression(&mut Words { text: words.text, rest: words.rest }) {
            Some((dropped, left)) => {
                ahead.rest = &ahead.rest[ahead.rest.len() - left..];
                SchemaStatement::DropExpression(dropped)
            }
            None => match moved(&mut ahead) {
                Some(moved) => SchemaStatement::Move(moved),
                None => return Ok(None),
            },
        },
        _ => return Ok(None),
    };
    *words = ahead;
    Ok(Some(parsed))
}

fn created(words: &mut Words) -> Result<SchemaStatement> {
    let if_not_exists = words.skip(&["if"]);
    if if_not_exists {
        words.expect("not")?;
        words.expect("exists")?;
    }
    let name = if words.peek_is("authorization") { None } else { Some(words.name()?) };
    let owner = if words.skip(&["authorization"]) { Some(named(words)?) } else { None };
    if name.is_none() && owner.is_none() {
        return Err(words.error());
    }
    if words.peek_is("create") || words.peek_is("grant") {
        return Err(SqlError::unsupported("CREATE SCHEMA with what is to be in it"));
    }
    Ok(SchemaStatement::Create(NewSchema { name, if_not_exists, owner }))
}

fn dropped(words: &mut Words) -> Result<SchemaStatement> {
    let if_exists = words.skip(&["if"]);
    if if_exists {
        words.expect("exists")?;
    }
    let names = comma_separated(words, |words| words.name())?;
    let cascade = words.skip(&["cascade"]);
    if !cascade {
        words.skip(&["restrict"]);
    }
    Ok(SchemaStatement::Drop(DroppedSchemas { names, if_exists, cascade }))
}

/// The statement and how many tokens are left; `None`: it is another one.
fn dropped_expression(words: &mut Words) -> Option<(DroppedExpression, usize)> {
    words.skip(&["table"]).then_some(())?;
    let table_if_exists = skip_if_exists(words)?;
    words.skip(&["only"]);
    let table = relation(words).ok()?;
    words.skip_token(&Token::Mul);
    words.skip(&["alter"]).then_some(())?;
    words.skip(&["column"]);
    let column = words.name().ok()?;
    (words.skip(&["drop"]) && words.skip(&["expression"])).then_some(())?;
    let if_exists = skip_if_exists(words)?;
    Some((DroppedExpression { table, table_if_exists, column, if_exists }, words.rest.len()))
}

/// Whether IF EXISTS is next; `None`: half of it.
fn skip_if_exists(words: &mut Words) -> Option<bool> {
    match words.skip(&["if"]) {
        true => words.expect("exists").ok().map(|()| true),
        false => Some(false),
    }
}

fn moved(words: &mut Words) -> Option<MovedRelation> {
    let is_materialized = words.skip(&["materialized"]);
    let word = ["table", "view", "sequence"].into_iter().find(|word| words.skip(&[word]))?;
    let word = match (is_materialized, word) {
        (false, word) => word,
        (true, "view") => "materialized view",
        (true, _) => return None,
    };
    let if_exists = words.skip(&["if"]);
    if if_exists {
        words.expect("exists").ok()?;
    }
    if word == "table" {
        words.skip(&["only"]);
    }
    let name = relation(words).ok()?;
    if word == "table" {
        words.skip_token(&Token::Mul);
    }
    if !(words.skip(&["set"]) && words.skip(&["schema"])) {
        return None;
    }
    Some(MovedRelation { word, if_exists, name, to: words.name().ok()? })
}
