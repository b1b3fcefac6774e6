//! Identifiers and names of relations.
//!
//! Invariant: a name is folded to lower case unless it was quoted, and never longer than [`NAME_BYTES_MAX`]. `pg_catalog`, `information_schema` and
//! `raid` are the query processor's. What a name means is settled by [`crate::sql::lookup`]; behind that, a name is what the catalog knows.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::NAME_BYTES_MAX;
use crate::sql::places::position;
use crate::sql::visits::visit_relations;
use messages::contention;
use messages::namespace::{PUBLIC, WRITTEN};
use sqlparser::ast::{self, Ident, ObjectName, ObjectNamePart};
use std::ops::ControlFlow;

/// A name as it is kept.
pub fn fold(name: &str, quoted: bool) -> String {
    let mut folded = if quoted { name.to_string() } else { name.to_ascii_lowercase() };
    let mut end = folded.len().min(NAME_BYTES_MAX);
    while !folded.is_char_boundary(end) {
        end -= 1;
    }
    folded.truncate(end);
    folded
}

/// An identifier as it is kept.
pub fn identifier(identifier: &Ident) -> String {
    fold(&identifier.value, identifier.quote_style.is_some())
}

/// Where an identifier stands in the text.
pub fn place(identifier: &Ident, text: &str) -> Option<usize> {
    position(text, identifier.span.start)
}

/// A relation's name with the schema that was written before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationName {
    /// The schema, if one was given.
    pub schema: Option<String>,
    /// The name.
    pub name: String,
}

impl RelationName {
    /// Whether it names a system catalog.
    pub fn is_system(&self) -> bool {
        match self.schema.as_deref() {
            Some(schema) => is_system_schema(schema),
            None => self.name.starts_with("pg_") && !self.name.starts_with("pg_temp"),
        }
    }
}

/// The parts of a name, folded. Errors: 0A000 for a name with a database in it, 42601 for what is no name.
pub fn relation(name: &ObjectName) -> Result<RelationName> {
    let parts: Vec<String> = name
        .0
        .iter()
        .map(|part| match part {
            ObjectNamePart::Identifier(ident) => Ok(identifier(ident)),
            ObjectNamePart::Function(_) => Err(SqlError::syntax(name)),
        })
        .collect::<Result<_>>()?;
    match <[String; 1]>::try_from(parts) {
        Ok([name]) => Ok(RelationName { schema: None, name }),
        Err(parts) => match <[String; 2]>::try_from(parts) {
            Ok([schema, name]) => Ok(RelationName { schema: Some(schema), name }),
            Err(_) => Err(SqlError::new(
                sqlstate::FEATURE_NOT_SUPPORTED,
                format!("cross-database references are not implemented: \"{name}\""),
            )),
        },
    }
}

/// A relation's name with its schema if one was written ([`written`]). Errors: as [`relation`].
pub fn written_relation(name: &ObjectName) -> Result<String> {
    let relation = relation(name)?;
    Ok(match &relation.schema {
        Some(schema) => written(schema, &relation.name),
        None => relation.name,
    })
}

/// A name that has one part, as that of a column that is assigned. Errors: 0A000.
pub fn own_column(name: &ObjectName) -> Result<String> {
    match name.0.as_slice() {
        [ast::ObjectNamePart::Identifier(name)] => Ok(identifier(name)),
        _ => Err(SqlError::unsupported("a name of several parts for a column")),
    }
}

/// The name of a relation of ours where names have been settled: what is in `public` has its name alone there. Errors: as [`relation`].
pub fn own_relation(name: &ObjectName) -> Result<String> {
    let relation = relation(name)?;
    Ok(match &relation.schema {
        Some(schema) if schema != PUBLIC => written(schema, &relation.name),
        _ => relation.name,
    })
}

/// A name with its schema as one text, until [`crate::sql::lookup`] has settled which one it means.
pub fn written(schema: &str, name: &str) -> String {
    format!("{schema}{WRITTEN}{name}")
}

/// The schema and the name of a text that [`written`] made; without a schema if it made none.
pub fn parts(text: &str) -> (Option<&str>, &str) {
    match text.split_once(WRITTEN) {
        Some((schema, name)) => (Some(schema), name),
        None => (None, text),
    }
}

/// Whether a schema is the system's: nothing of the user's is in it.
pub fn is_system_schema(name: &str) -> bool {
    matches!(name, "pg_catalog" | "information_schema" | "pg_toast") || name == contention::SCHEMA
}

/// The last part of a function's name, with `pg_catalog.` before it allowed; `None` for another schema.
pub fn function(name: &ObjectName) -> Option<String> {
    let relation = relation(name).ok()?;
    match relation.schema.as_deref() {
        None | Some("pg_catalog") => Some(relation.name),
        Some(_) => None,
    }
}

/// A name as SQL text, quoted where it must be.
pub fn quote(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let reserved = sqlparser::keywords::ALL_KEYWORDS.binary_search(&name.to_ascii_uppercase().as_str()).is_ok();
    if plain && !reserved { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// Whether a query mentions this relation.
pub fn mentions(query: &ast::Query, table: &str) -> bool {
    visit_relations(query, |name| match relation(name) {
        Ok(found) if found.name != table => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    })
    .is_break()
}
