//! Names of configurations, dictionaries and the parser: all of them are in the schema `pg_catalog`.

use crate::configuration::{SearchConfiguration, SearchDictionary};
use crate::error::TextSearchError;
use crate::vector::LexemeWeight;
use sqlstate::{
    FEATURE_NOT_SUPPORTED, INTERNAL_ERROR, INVALID_NAME, INVALID_SCHEMA_NAME, SYNTAX_ERROR, UNDEFINED_OBJECT,
};

/// Where they are.
const SCHEMA: &str = "pg_catalog";

/// The languages that PostgreSQL has beside English.
const OTHER_LANGUAGES: [&str; 27] = [
    "arabic",
    "armenian",
    "basque",
    "catalan",
    "danish",
    "dutch",
    "finnish",
    "french",
    "german",
    "greek",
    "hindi",
    "hungarian",
    "indonesian",
    "irish",
    "italian",
    "lithuanian",
    "nepali",
    "norwegian",
    "portuguese",
    "romanian",
    "russian",
    "serbian",
    "spanish",
    "swedish",
    "tamil",
    "turkish",
    "yiddish",
];

impl SearchConfiguration {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::English => "english",
        }
    }

    /// That of a name, with or without its schema. Errors: 42704, 3F000, 42602, 42601 as PostgreSQL; 0A000 for a
    /// language that is not here.
    pub fn named(text: &str) -> Result<Self, TextSearchError> {
        match text {
            "english" | "pg_catalog.english" => return Ok(Self::English),
            "simple" | "pg_catalog.simple" => return Ok(Self::Simple),
            _ => {}
        }
        let what = "text search configuration";
        match own_name(text, what)?.as_str() {
            "simple" => Ok(Self::Simple),
            "english" => Ok(Self::English),
            other if OTHER_LANGUAGES.contains(&other) => Err(not_here(what, other)),
            _ => Err(missing(what, text)),
        }
    }
}

impl SearchDictionary {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::EnglishStem => "english_stem",
        }
    }

    /// That of a name. Errors: as [`SearchConfiguration::named`].
    pub fn named(text: &str) -> Result<Self, TextSearchError> {
        let what = "text search dictionary";
        let name = own_name(text, what)?;
        let language = name.strip_suffix("_stem");
        match name.as_str() {
            "simple" => Ok(Self::Simple),
            "english_stem" => Ok(Self::EnglishStem),
            other if language.is_some_and(|language| OTHER_LANGUAGES.contains(&language)) => Err(not_here(what, other)),
            _ => Err(missing(what, text)),
        }
    }
}

impl LexemeWeight {
    /// That of a value of type `"char"`. Errors: XX000 as PostgreSQL.
    pub fn of_char(text: &str) -> Result<Self, TextSearchError> {
        let letter = text.bytes().next().unwrap_or(0);
        Self::of_letter(letter).ok_or_else(|| {
            TextSearchError::new(INTERNAL_ERROR, format!("unrecognized weight: {}", i32::from(letter as i8)))
        })
    }
}

/// Errors: 42704 for a parser that is not the only one, and those of names.
pub fn check_parser(text: &str) -> Result<(), TextSearchError> {
    let what = "text search parser";
    match own_name(text, what)?.as_str() {
        "default" => Ok(()),
        _ => Err(missing(what, text)),
    }
}

/// Whether a name has its schema before it. Errors: 42602.
pub fn has_schema(text: &str) -> Result<bool, TextSearchError> {
    parts(text).map(|parts| parts.len() > 1)
}

/// A name without its schema, which is that of the system.
fn own_name(text: &str, what: &str) -> Result<String, TextSearchError> {
    let mut parts = parts(text)?;
    match parts.len() {
        1 => {}
        2 if parts[0] == SCHEMA => {}
        2 if parts[0] == "public" => return Err(missing(what, text)),
        2 => return Err(TextSearchError::new(INVALID_SCHEMA_NAME, format!("schema \"{}\" does not exist", parts[0]))),
        3 => {
            let message = format!("cross-database references are not implemented: {}", parts.join("."));
            return Err(TextSearchError::new(FEATURE_NOT_SUPPORTED, message));
        }
        _ => {
            let message = format!("improper qualified name (too many dotted names): {}", parts.join("."));
            return Err(TextSearchError::new(SYNTAX_ERROR, message));
        }
    }
    Ok(parts.pop().unwrap_or_default())
}

/// The names between dots: in small letters unless they are quoted (`SplitIdentifierString`). Errors: 42602.
fn parts(text: &str) -> Result<Vec<String>, TextSearchError> {
    let wrong = || TextSearchError::new(INVALID_NAME, "invalid name syntax");
    let mut parts = Vec::new();
    let mut rest = text.trim_start();
    loop {
        let mut part = String::new();
        if let Some(quoted) = rest.strip_prefix('"') {
            rest = quoted;
            loop {
                let end = rest.find('"').ok_or_else(wrong)?;
                part.push_str(&rest[..end]);
                rest = &rest[end + 1..];
                match rest.strip_prefix('"') {
                    Some(more) => (part.push('"'), rest = more).0,
                    None => break,
                }
            }
        } else {
            let end = rest.find(|letter: char| letter == '.' || letter.is_ascii_whitespace()).unwrap_or(rest.len());
            part = rest[..end].to_ascii_lowercase();
            rest = &rest[end..];
            if part.is_empty() {
                return Err(wrong());
            }
        }
        parts.push(part);
        rest = rest.trim_start();
        match rest.strip_prefix('.') {
            Some(more) => rest = more.trim_start(),
            None if rest.is_empty() => return Ok(parts),
            None => return Err(wrong()),
        }
    }
}

#[cold]
fn missing(what: &str, text: &str) -> TextSearchError {
    let shown = parts(text).map(|parts| parts.join(".")).unwrap_or_else(|_| text.to_owned());
    TextSearchError::new(UNDEFINED_OBJECT, format!("{what} \"{shown}\" does not exist"))
}

#[cold]
fn not_here(what: &str, name: &str) -> TextSearchError {
    TextSearchError::new(FEATURE_NOT_SUPPORTED, format!("{what} \"{name}\" is not supported"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that PostgreSQL knows would be refused, or one that it does not know be taken.
    #[test]
    fn names_are_read_as_postgresql_reads_them() {
        let named = |text: &str| SearchConfiguration::named(text).map_err(|error| error.message);
        assert_eq!(named("PG_catalog . English"), Ok(SearchConfiguration::English));
        assert_eq!(named("\"simple\""), Ok(SearchConfiguration::Simple));
        assert_eq!(named("NoSuch").unwrap_err(), "text search configuration \"nosuch\" does not exist");
        assert_eq!(named("\"English\"").unwrap_err(), "text search configuration \"English\" does not exist");
        assert_eq!(named("foo.english").unwrap_err(), "schema \"foo\" does not exist");
        assert_eq!(named("a.b.c.d").unwrap_err(), "improper qualified name (too many dotted names): a.b.c.d");
        for wrong in ["", "a b", "\"a", "a.", ".a"] {
            assert_eq!(named(wrong).unwrap_err(), "invalid name syntax", "{wrong}");
        }
        assert_eq!(SearchConfiguration::named("french").unwrap_err().sqlstate, FEATURE_NOT_SUPPORTED);
        assert_eq!(SearchDictionary::named("english_stem"), Ok(SearchDictionary::EnglishStem));
        assert_eq!(SearchDictionary::named("nosuch").unwrap_err().sqlstate, UNDEFINED_OBJECT);
        assert_eq!(has_schema("english"), Ok(false));
        assert_eq!(check_parser("pg_catalog.default"), Ok(()));
    }
}
