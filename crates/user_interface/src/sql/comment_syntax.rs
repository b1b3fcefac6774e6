//! COMMENT ON, from tokens to what it asks for.
//!
//! Invariant: a text without letters is none, as in PostgreSQL.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::grants::{arguments, object_name};
use crate::sql::lookup::{NameKind, NameLookup};
use crate::sql::names;
use crate::sql::sequence_options::relation;
use crate::sql::words::Words;
use messages::Key;
use messages::schema::CatalogEntry;
use sqlparser::tokenizer::Token;
use values::Type;

/// COMMENT ON an object IS a text; `None`: what was said of it is forgotten.
#[derive(Clone, Debug)]
pub struct CommentStatement {
    pub(super) object: Commented,
    pub(super) text: Option<String>,
}

/// What a comment is about.
#[derive(Clone, Debug)]
pub(super) enum Commented {
    /// A relation: `table`, `view`, `sequence` or `index`, and its name.
    Relation(&'static str, String),
    /// A column of a table or view.
    Column(String, String),
    /// A constraint of a table.
    Constraint(String, String),
    /// A policy of a table.
    Policy(String, String),
    /// A procedure; what it was called, its name, the types of its arguments if they were given.
    Procedure(&'static str, String, Option<Vec<Type>>),
    /// A user's type.
    Type(String),
    Domain(String),
    /// A condition of a domain: the domain, and its name.
    DomainConstraint(String, String),
    Extension(String),
    Schema(String),
    Database(String),
    Role(String),
}

/// Parses what stands behind COMMENT.
pub(super) fn parse(words: &mut Words) -> Result<CommentStatement> {
    words.expect("on")?;
    let word = words.keyword().ok_or_else(|| words.error())?;
    let object = match word.as_str() {
        "table" => Commented::Relation("table", relation(words)?),
        "view" => Commented::Relation("view", relation(words)?),
        "materialized" => {
            words.expect("view")?;
            Commented::Relation("materialized view", relation(words)?)
        }
        "sequence" => Commented::Relation("sequence", relation(words)?),
        "index" => Commented::Relation("index", relation(words)?),
        "column" => column(words)?,
        "constraint" => {
            let name = words.name()?;
            words.expect("on")?;
            match words.skip(&["domain"]) {
                true => Commented::DomainConstraint(relation(words)?, name),
                false => Commented::Constraint(relation(words)?, name),
            }
        }
        "policy" => {
            let name = words.name()?;
            words.expect("on")?;
            Commented::Policy(relation(words)?, name)
        }
        "procedure" => Commented::Procedure("procedure", object_name(words)?, arguments(words)?),
        "function" => Commented::Procedure("function", object_name(words)?, arguments(words)?),
        "routine" => Commented::Procedure("routine", object_name(words)?, arguments(words)?),
        "type" => Commented::Type(relation(words)?),
        "domain" => Commented::Domain(relation(words)?),
        "extension" => Commented::Extension(words.name()?),
        "schema" => Commented::Schema(words.name()?),
        "database" => Commented::Database(words.name()?),
        "role" => Commented::Role(words.name()?),
        other => return Err(SqlError::unsupported(format!("COMMENT ON {}", other.to_uppercase()))),
    };
    words.expect("is")?;
    let text = if words.skip(&["null"]) { None } else { Some(words.string()?).filter(|text| !text.is_empty()) };
    Ok(CommentStatement { object, text })
}

/// `[schema.]table.column`.
fn column(words: &mut Words) -> Result<Commented> {
    let mut parts = vec![words.name()?];
    while words.skip_token(&Token::Period) {
        parts.push(words.name()?);
    }
    match <[String; 3]>::try_from(parts) {
        Ok([schema, table, column]) => Ok(Commented::Column(names::written(&schema, &table), column)),
        Err(parts) => match <[String; 2]>::try_from(parts) {
            Ok([table, column]) => Ok(Commented::Column(table, column)),
            Err(_) => Err(SqlError::new(sqlstate::SYNTAX_ERROR, "column name must be qualified")),
        },
    }
}

impl CommentStatement {
    /// With the catalog's names in the place of those that were written. Errors: 3F000, 42501.
    pub(super) fn qualified(&self, lookup: &NameLookup) -> Result<CommentStatement> {
        let known = |name: &String| lookup.existing(NameKind::Relation, name);
        let object = match &self.object {
            Commented::Relation(word, name) => Commented::Relation(word, known(name)?),
            Commented::Column(table, column) => Commented::Column(known(table)?, column.clone()),
            Commented::Constraint(table, name) => Commented::Constraint(known(table)?, name.clone()),
            Commented::Policy(table, name) => Commented::Policy(known(table)?, name.clone()),
            Commented::Type(name) => Commented::Type(lookup.existing(NameKind::Type, name)?),
            Commented::Domain(name) => Commented::Domain(lookup.existing(NameKind::Type, name)?),
            Commented::DomainConstraint(domain, name) => {
                Commented::DomainConstraint(lookup.existing(NameKind::Type, domain)?, name.clone())
            }
            Commented::Procedure(word, name, types) => {
                Commented::Procedure(word, lookup.existing(NameKind::Procedure, name)?, types.clone())
            }
            other => other.clone(),
        };
        Ok(CommentStatement { object, text: self.text.clone() })
    }

    /// Catalog rows that decide what becomes of it.
    pub(super) fn mentioned(&self, lookup: &NameLookup) -> Vec<Key> {
        match &self.object {
            Commented::Relation(_, name)
            | Commented::Column(name, _)
            | Commented::Constraint(name, _)
            | Commented::Policy(name, _) => lookup.keys(NameKind::Relation, name),
            Commented::Procedure(_, name, _) => lookup.keys(NameKind::Procedure, name),
            Commented::Type(name) | Commented::Domain(name) | Commented::DomainConstraint(name, _) => {
                lookup.keys(NameKind::Type, name)
            }
            Commented::Extension(name) => vec![CatalogEntry::extension_key(name)],
            Commented::Schema(name) => vec![CatalogEntry::namespace_key(name)],
            Commented::Role(name) => vec![CatalogEntry::role_key(name)],
            Commented::Database(name) => vec![CatalogEntry::database_key(name)],
        }
    }
}
