//! Names in texts such as `'public.item'::regclass`, resolved to object identifiers and back.

use super::definitions::DEFINITIONS;
use super::{Found, INFORMATION_SCHEMA_OID, PG_CATALOG_OID, SystemCatalog};
use crate::error::QueryError;
use messages::namespace;
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
        let system = |schema: &str| DEFINITIONS.find(schema, name).map(|relation| relation.oid);
        let found = match schema {
            // An argument of a function, in which a statement's names were settled.
            None if namespace::is_marked(name) => self.oid_in(namespace::of(name), namespace::bare(name)),
            None => system("pg_catalog").or_else(|| self.path().iter().find_map(|schema| self.oid_in(*schema, name))),
            Some(namespace::OWN_TEMPORARY) => self.own_temporary().and_then(|own| self.oid_in(own, name)),
            Some(schema) => match self.catalog().namespace(schema) {
                Some(known) => self.oid_in(known.oid, name),
                None => system(schema),
            },
        };
        found.ok_or_else(|| QueryError::undefined_table(text))
    }

    /// The identifier of a relation or index in a schema.
    fn oid_in(&self, schema: u32, name: &str) -> Option<u32> {
        let is_it = |relation: &Found| relation.name() == name && namespace::of(&relation.table().name) == schema;
        self.relations().find(is_it).map(|relation| relation.oid())
    }

    /// The name of a relation, with its schema where it would not be found without.
    pub fn relation_name(&self, oid: u32) -> Option<String> {
        if let Some(relation) = self.find(oid) {
            return Some(self.name_in_path(&namespace::beside(&relation.table().name, relation.name())));
        }
        DEFINITIONS.relations().find(|relation| relation.oid == oid).map(|relation| match relation.schema_name {
            "pg_catalog" => relation.name.to_owned(),
            schema => format!("{schema}.{}", relation.name),
        })
    }

    /// Whether a relation is found without naming its schema.
    pub fn is_visible(&self, oid: u32) -> Option<bool> {
        if let Some(relation) = self.find(oid) {
            let mut path = self.path().iter();
            let found = path.find_map(|schema| self.oid_in(*schema, relation.name()));
            return Some(found == Some(oid));
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
        if let Some(known) = self.user_type_oid(text) {
            return Ok(known);
        }
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
            "information_schema" => Ok(INFORMATION_SCHEMA_OID),
            _ => match self.catalog().namespace(text) {
                Some(schema) => Ok(schema.oid),
                None => Err(QueryError::new("3F000", format!("schema \"{text}\" does not exist"))),
            },
        }
    }

    /// The name of a schema.
    pub fn namespace_name(&self, oid: u32) -> Option<String> {
        match oid {
            PG_CATALOG_OID => Some("pg_catalog".to_owned()),
            INFORMATION_SCHEMA_OID => Some("information_schema".to_owned()),
            _ => self.catalog().namespace_numbered(oid).map(|schema| schema.name.clone()),
        }
    }

    /// What `format_type` prints; `???` for a number that is no type.
    pub fn type_text(&self, oid: u32, modifier: Option<i32>) -> String {
        if oid == 0 {
            return "-".to_owned();
        }
        if let Some(known) = self.user_type_text(oid) {
            return known;
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
