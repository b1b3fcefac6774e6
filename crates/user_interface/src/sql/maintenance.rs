//! VACUUM, ANALYZE, REINDEX and CLUSTER: there is nothing to do, but what they name has to be there.
//!
//! Invariant: a statement that PostgreSQL refuses is refused; one that asks for something that shows (another tablespace) is, too.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::denials::not_owner;
use crate::sql::lookup::{NameKind, NameLookup, no_schema};
use crate::sql::names;
use crate::sql::sequence_options::relation;
use crate::sql::settings::Facts;
use crate::sql::words::Words;
use messages::namespace;
use messages::schema::{Catalog, Place};
use privileges::Standing;
use sqlparser::tokenizer::Token;

/// What such a statement asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maintenance {
    /// The command tag.
    pub tag: &'static str,
    /// What it is called, if it runs outside of transaction blocks only.
    pub outside_blocks: Option<&'static str>,
    targets: Vec<Target>,
}

/// Something that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    /// A table with columns, or an index where VACUUM and ANALYZE pass over it.
    Relation(String, Vec<String>),
    Table(String),
    Index(String),
    IndexOf(String, String),
    Schema(String),
    Database(String),
}

const VACUUM_OPTIONS: [&str; 11] = [
    "full",
    "freeze",
    "verbose",
    "analyze",
    "analyse",
    "disable_page_skipping",
    "skip_locked",
    "index_cleanup",
    "process_toast",
    "truncate",
    "parallel",
];
const ANALYZE_OPTIONS: [&str; 2] = ["verbose", "skip_locked"];
const REINDEX_OPTIONS: [&str; 3] = ["concurrently", "tablespace", "verbose"];

/// Parses what stands behind the first word; `None`: this word begins no such statement.
pub(super) fn parse(first: &str, words: &mut Words) -> Result<Option<Maintenance>> {
    Ok(Some(match first {
        "vacuum" => vacuum(words)?,
        "analyze" | "analyse" => {
            options(words, "ANALYZE", &ANALYZE_OPTIONS)?;
            words.skip(&["verbose"]);
            Maintenance { tag: "ANALYZE", outside_blocks: None, targets: relations(words)? }
        }
        "reindex" => reindex(words)?,
        "cluster" => cluster(words)?,
        _ => return Ok(None),
    }))
}

fn vacuum(words: &mut Words) -> Result<Maintenance> {
    let mut given = options(words, "VACUUM", &VACUUM_OPTIONS)?;
    if given.is_empty() {
        for word in ["full", "freeze", "verbose", "analyze", "analyse"] {
            if words.skip(&[word]) {
                given.push(word.to_string());
            }
        }
    }
    let targets = relations(words)?;
    let analyzes = given.iter().any(|word| word == "analyze" || word == "analyse");
    if !analyzes && targets.iter().any(|target| matches!(target, Target::Relation(_, columns) if !columns.is_empty())) {
        return Err(refused("ANALYZE option must be specified when a column list is provided"));
    }
    Ok(Maintenance { tag: "VACUUM", outside_blocks: Some("VACUUM"), targets })
}

/// `(option value, ...)`: the options' names. Errors: 42601 for one that there is not.
fn options(words: &mut Words, command: &str, known: &[&str]) -> Result<Vec<String>> {
    let mut given = Vec::new();
    if !words.skip_token(&Token::LParen) {
        return Ok(given);
    }
    loop {
        let name = words.name()?;
        if !known.contains(&name.as_str()) {
            return Err(SqlError::new(sqlstate::SYNTAX_ERROR, format!("unrecognized {command} option \"{name}\"")));
        }
        given.push(name);
        while words.peek().is_some_and(|token| !matches!(token, Token::Comma | Token::RParen)) {
            if !matches!(words.peek(), Some(Token::Word(_) | Token::Number(..) | Token::SingleQuotedString(_))) {
                return Err(words.error());
            }
            words.advance();
        }
        if !words.skip_token(&Token::Comma) {
            words.expect_token(&Token::RParen)?;
            return Ok(given);
        }
    }
}

fn relations(words: &mut Words) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    while words.peek().is_some() {
        let name = relation(words)?;
        let mut columns = Vec::new();
        if words.skip_token(&Token::LParen) {
            columns.push(words.name()?);
            while words.skip_token(&Token::Comma) {
                columns.push(words.name()?);
            }
            words.expect_token(&Token::RParen)?;
        }
        targets.push(Target::Relation(name, columns));
        if words.peek().is_some() {
            words.expect_token(&Token::Comma)?;
            if words.peek().is_none() {
                return Err(words.error());
            }
        }
    }
    Ok(targets)
}

fn reindex(words: &mut Words) -> Result<Maintenance> {
    let given = options(words, "REINDEX", &REINDEX_OPTIONS)?;
    if given.iter().any(|option| option == "tablespace") {
        return Err(SqlError::unsupported("REINDEX into a tablespace"));
    }
    let kind = words.name()?;
    let concurrently = words.skip(&["concurrently"]) || given.iter().any(|option| option == "concurrently");
    let name = relation(words)?;
    let (target, alone) = match kind.as_str() {
        "table" => (Target::Table(name), None),
        "index" => (Target::Index(name), None),
        "schema" => (Target::Schema(name), Some("REINDEX SCHEMA")),
        "database" => (Target::Database(name), Some("REINDEX DATABASE")),
        "system" if concurrently => {
            return Err(refused("cannot reindex system catalogs concurrently"));
        }
        "system" => (Target::Database(name), Some("REINDEX SYSTEM")),
        other => return Err(SqlError::syntax(other)),
    };
    let of_system = matches!(&target, Target::Table(name) | Target::Index(name) if is_of_system(name));
    if concurrently && of_system {
        return Err(refused("cannot reindex system catalogs concurrently"));
    }
    let outside_blocks = alone.or(concurrently.then_some("REINDEX CONCURRENTLY"));
    Ok(Maintenance { tag: "REINDEX", outside_blocks, targets: vec![target] })
}

/// Rows always lie in the order of their primary key, so that CLUSTER changes nothing that shows.
fn cluster(words: &mut Words) -> Result<Maintenance> {
    options(words, "CLUSTER", &["verbose"])?;
    words.skip(&["verbose"]);
    if words.peek().is_none() {
        return Ok(Maintenance { tag: "CLUSTER", outside_blocks: Some("CLUSTER"), targets: Vec::new() });
    }
    let name = relation(words)?;
    let target = if words.skip(&["using"]) {
        Target::IndexOf(words.name()?, name)
    } else if words.skip(&["on"]) {
        Target::IndexOf(name, relation(words)?)
    } else {
        return Err(SqlError::unsupported("CLUSTER of a table without USING"));
    };
    Ok(Maintenance { tag: "CLUSTER", outside_blocks: None, targets: vec![target] })
}

fn is_of_system(name: &str) -> bool {
    if names::parts(name).0.is_some_and(names::is_system_schema) {
        return true;
    }
    name.starts_with("pg_") || name.starts_with("information_schema.")
}

impl Maintenance {
    /// With the catalog's names in the place of those that were written. Errors: 3F000, 42501.
    pub fn qualified(&self, lookup: &NameLookup) -> Result<Maintenance> {
        let known = |name: &String| lookup.existing(NameKind::Relation, name);
        let target = |target: &Target| {
            Ok(match target {
                Target::Relation(name, columns) => Target::Relation(known(name)?, columns.clone()),
                Target::Table(name) => Target::Table(known(name)?),
                Target::Index(name) => Target::Index(known(name)?),
                Target::IndexOf(index, table) => {
                    let table = known(table)?;
                    Target::IndexOf(namespace::beside(&table, index), table)
                }
                Target::Schema(_) | Target::Database(_) => target.clone(),
            })
        };
        Ok(Maintenance { targets: self.targets.iter().map(target).collect::<Result<_>>()?, ..self.clone() })
    }

    /// Names of the relations that it depends on.
    pub fn relations(&self) -> Vec<String> {
        let names = self.targets.iter().filter_map(|target| match target {
            Target::Relation(name, _) | Target::Table(name) | Target::Index(name) => Some(name.clone()),
            Target::IndexOf(index, _) => Some(index.clone()),
            Target::Schema(_) | Target::Database(_) => None,
        });
        names.collect()
    }

    /// Errors: 42P01, 42703, 42704, 42809, 3F000 for what is not there, or is something else.
    pub fn check(&self, catalog: &Catalog, facts: &Facts) -> Result<()> {
        self.targets.iter().try_for_each(|target| match target {
            Target::Relation(name, columns) => check_relation(catalog, name, columns),
            Target::Table(name) if is_of_system(name) || catalog.tables.contains_key(name) => Ok(()),
            Target::Table(name) if catalog.index_names.contains_key(name) => {
                Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a table")))
            }
            Target::Index(name) if is_of_system(name) || catalog.index_names.contains_key(name) => Ok(()),
            Target::Index(name) if catalog.tables.contains_key(name) => {
                Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not an index")))
            }
            Target::Table(name) | Target::Index(name) => Err(missing(name)),
            Target::IndexOf(index, table) => match catalog.index_names.get(index) {
                _ if !catalog.tables.contains_key(table) && !is_of_system(table) => Err(missing(table)),
                Some((of, _)) if of == table => Ok(()),
                Some(_) => {
                    let message = format!("\"{index}\" is not an index for table \"{table}\"");
                    Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message))
                }
                None => {
                    let message = format!("index \"{index}\" for table \"{table}\" does not exist");
                    Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, message))
                }
            },
            Target::Schema(name) if names::is_system_schema(name) || catalog.namespace(name).is_some() => Ok(()),
            Target::Schema(name) => Err(no_schema(name)),
            Target::Database(name) if *name == facts.database => Ok(()),
            Target::Database(_) => Err(refused("can only reindex the currently open database")),
        })
    }
}

impl Maintenance {
    /// What is passed over because it is another role's: warnings. Errors: 42501 where nothing can be passed over.
    pub fn check_owner(&self, catalog: &Catalog, facts: &Facts) -> Result<Vec<String>> {
        let standing = Standing::of(catalog, facts.role);
        let owns = |table: &str| catalog.tables.get(table).is_none_or(|known| standing.has(known.table.rights.owner));
        let owns_index = |index: &str| catalog.index_names.get(index).is_none_or(|(table, _)| owns(table));
        let owns_database = standing.has(catalog.rights(Place::Database).owner);
        let mut skipped = Vec::new();
        for target in &self.targets {
            match target {
                Target::Relation(name, _) if !(owns_database || owns(name) && owns_index(name)) => {
                    let verb = self.tag.to_ascii_lowercase();
                    skipped.push(format!("skipping \"{name}\" --- only table or database owner can {verb} it"));
                }
                Target::Table(name) if !owns(name) => return Err(not_owner("table", name)),
                Target::IndexOf(_, name) if !owns(name) => return Err(not_owner("table", name)),
                Target::Index(name) if !owns_index(name) => return Err(not_owner("index", name)),
                Target::Schema(name)
                    if catalog.namespace(name).is_some_and(|known| !standing.has(known.rights.owner)) =>
                {
                    return Err(not_owner("schema", name));
                }
                Target::Database(name) if !owns_database => return Err(not_owner("database", name)),
                _ => {}
            }
        }
        Ok(skipped)
    }
}

/// 0A000 in PostgreSQL's words.
fn refused(message: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message)
}

fn missing(name: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
}

fn check_relation(catalog: &Catalog, name: &str, columns: &[String]) -> Result<()> {
    if is_of_system(name) || catalog.index_names.contains_key(name) {
        return Ok(());
    }
    let table = &catalog.tables.get(name).ok_or_else(|| missing(name))?.table;
    match columns.iter().find(|column| table.column(column).is_none()) {
        None => Ok(()),
        Some(column) => Err(SqlError::new(
            sqlstate::UNDEFINED_COLUMN,
            format!("column \"{column}\" of relation \"{name}\" does not exist"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::sql::parse;

    /// A misspelt option or table would seem to have been done.
    #[test]
    fn what_is_no_statement_is_refused() {
        let code = |sql: &str| parse::statements(sql).err().map(|error| error.sqlstate.into_owned());
        for sql in [
            "VACUUM (FULL, ANALYZE true) t (a), u",
            "VACUUM FULL VERBOSE t",
            "ANALYZE (VERBOSE) s.t",
            "REINDEX (VERBOSE) TABLE CONCURRENTLY t",
            "CLUSTER t USING i",
            "VACUUM",
        ] {
            assert_eq!(code(sql), None, "{sql}");
        }
        for sql in ["VACUUM (FUL) t", "ANALYZE (a-b) t", "VACUUM t,", "REINDEX t", "CLUSTER (x) t USING i"] {
            assert_eq!(code(sql).as_deref(), Some("42601"), "{sql}");
        }
        for sql in ["VACUUM t (a)", "REINDEX (TABLESPACE x) TABLE t", "REINDEX SYSTEM CONCURRENTLY d", "CLUSTER t"] {
            assert_eq!(code(sql).as_deref(), Some("0A000"), "{sql}");
        }
    }
}
