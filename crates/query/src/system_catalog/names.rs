//! Names in texts such as `'public.item'::regclass`, resolved to object identifiers and back.

use super::definitions::DEFINITIONS;
use super::{INFORMATION_SCHEMA_OID, PG_CATALOG_OID, PUBLIC_OID, SystemCatalog};
use crate::error::QueryError;
use values::Type;

impl SystemCatalog {
    /// The identifier that a text names a relation by: its name with or without schema, or a number. Errors: 42P01.
    pub fn relation_oid(&self, text: &str) -> Result<u32, QueryError> {
        if let Ok(oid) = text.trim().parse::<u32>() {
            return Ok(oid);
        }
        let parts = split_name(text)?;
        let (schema, name) = match parts.as_slice() {
            [name] => (None, name),
            [schema, name] => (Some(schema.as_str()), name),
            _ => return Err(QueryError::undefined_table(text)),
        };
        let user = || self.relations().find(|relation| relation.name() == name).map(|relation| relation.oid());
        let system = |schema: &str| DEFINITIONS.find(schema, name).map(|relation| relation.oid);
        let found = match schema {
            None => system("pg_catalog").or_else(user),
            Some("public") => user(),
            Some(schema) => system(schema),
        };
        found.ok_or_else(|| QueryError::undefined_table(text))
    }

    /// The name of a relation, with its schema where it would not be found without.
    pub fn relation_name(&self, oid: u32) -> Option<String> {
        if let Some(relation) = self.find(oid) {
            return Some(quoted(relation.name()));
        }
        DEFINITIONS.relations().find(|relation| relation.oid == oid).map(|relation| match relation.schema_name {
            "pg_catalog" => relation.name.to_owned(),
            schema => format!("{schema}.{}", relation.name),
        })
    }

    /// Whether a relation is found without naming its schema.
    pub fn is_visible(&self, oid: u32) -> Option<bool> {
        if self.find(oid).is_some() {
            return Some(true);
        }
        let relation = DEFINITIONS.relations().find(|relation| relation.oid == oid)?;
        Some(relation.schema_name == "pg_catalog")
    }

    /// The identifier of a type by name. Errors: 42704.
    pub fn type_oid(&self, text: &str) -> Result<u32, QueryError> {
        if let Ok(oid) = text.trim().parse::<u32>() {
            return Ok(oid);
        }
        let name = text.trim().trim_start_matches("pg_catalog.");
        if let Ok(known) = name.parse::<Type>() {
            return Ok(known.oid());
        }
        DEFINITIONS
            .type_named(name.trim_matches('"'))
            .map(|known| known.oid)
            .ok_or_else(|| QueryError::new("42704", format!("type \"{text}\" does not exist")))
    }

    /// The identifier of a schema. Errors: 3F000.
    pub fn namespace_oid(&self, text: &str) -> Result<u32, QueryError> {
        match text {
            "pg_catalog" => Ok(PG_CATALOG_OID),
            "public" => Ok(PUBLIC_OID),
            "information_schema" => Ok(INFORMATION_SCHEMA_OID),
            _ => Err(QueryError::new("3F000", format!("schema \"{text}\" does not exist"))),
        }
    }

    /// The name of a schema.
    pub fn namespace_name(&self, oid: u32) -> Option<&'static str> {
        match oid {
            PG_CATALOG_OID => Some("pg_catalog"),
            PUBLIC_OID => Some("public"),
            INFORMATION_SCHEMA_OID => Some("information_schema"),
            _ => None,
        }
    }

    /// What `format_type` prints; `???` for a number that is no type.
    pub fn type_text(&self, oid: u32, modifier: Option<i32>) -> String {
        if oid == 0 {
            return "-".to_owned();
        }
        let exact = Type::from_oid_and_typmod(oid, modifier.unwrap_or(-1)).or_else(|| Type::from_oid(oid));
        match (exact, DEFINITIONS.type_of_oid(oid)) {
            (Some(Type::Char(0)), _) if modifier.is_none() => "character".to_owned(),
            (Some(known), _) => known.to_string(),
            (None, Some(known)) if known.name == "char" => "\"char\"".to_owned(),
            (None, Some(known)) if known.name.starts_with('_') => {
                format!("{}[]", self.type_text(known.element, modifier))
            }
            (None, Some(known)) => known.name.to_owned(),
            (None, None) => "???".to_owned(),
        }
    }
}

/// A name as it must be written in SQL.
pub fn quoted(name: &str) -> String {
    let plain = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// Splits `a."B c".d` into its parts, folding those that are not quoted.
pub(super) fn split_name(text: &str) -> Result<Vec<String>, QueryError> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    let mut letters = text.trim().chars().peekable();
    while let Some(letter) = letters.next() {
        let part = parts.len() - 1;
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                parts[part].push('"');
            }
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            letter if quoted => parts[part].push(letter),
            letter => parts[part].extend(letter.to_lowercase()),
        }
    }
    if quoted || parts.iter().any(String::is_empty) {
        return Err(QueryError::new("42602", "invalid name syntax"));
    }
    Ok(parts)
}
