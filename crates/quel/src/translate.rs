//! All of a text: its statements as SQL, each with what a session has to know of it.

use crate::definitions;
use crate::error::{QuelError, QuelResult, sqlstate};
use crate::limits::STATEMENTS_MAX;
use crate::parser::{ParsedQuel, QuelParser};
use crate::ranges::{RangeDeclaration, RangedRelation, Ranges};
use crate::scopes::{KnownRelations, Lowering};
use crate::sql_text::{CharacterPlaces, QuelPlaces, SqlText};
use crate::syntax::{QuelName, QuelStatement, of_itself};
use std::sync::Arc;

/// What is asked of the catalog.
pub trait QuelRelations {
    /// The columns of a relation; `None`: it does not exist.
    fn columns(&self, relation: &RangedRelation) -> Option<Vec<QuelColumn>>;
    /// The session's database.
    fn database(&self) -> &str;
}

/// A column, as far as QUEL has to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuelColumn {
    /// Its name.
    pub name: String,
    /// Whether its values are texts, which `+` joins.
    pub is_text: bool,
}

/// A statement of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslatedStatement {
    /// What it is.
    pub meaning: StatementMeaning,
    /// Its own text.
    pub quel: Arc<str>,
}

/// What a statement is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementMeaning {
    /// A statement of SQL.
    Sql {
        /// Its text.
        sql: Arc<str>,
        /// Where its parts come from.
        places: QuelPlaces,
        /// What a session treats otherwise than SQL's.
        verb: Verb,
    },
    /// Variables to be declared when it is executed.
    Range(Vec<RangeDeclaration>),
}

/// What a session treats otherwise than SQL's statements of the same text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// `replace`: no row may get two values.
    Replace,
    /// Nothing.
    Other,
}

/// Translates a text. `declared`: the session's variables; those that the text declares count for what follows. Errors have their places in
/// characters from 1.
pub fn statements(
    text: &str,
    declared: &Ranges,
    relations: &dyn QuelRelations,
) -> QuelResult<Vec<TranslatedStatement>> {
    translated(text, declared, relations).map_err(|mut error| {
        error.at = text.get(..error.at).unwrap_or(text).chars().count() + 1;
        error
    })
}

fn translated(text: &str, declared: &Ranges, relations: &dyn QuelRelations) -> QuelResult<Vec<TranslatedStatement>> {
    let relations = KnownRelations::new(relations);
    let places = CharacterPlaces::new(text);
    let mut ranges = declared.clone();
    let mut all = Vec::new();
    let mut parser = QuelParser::new(text)?;
    while let Some(parsed) = parser.statement()? {
        let quel: Arc<str> = Arc::from(&text[parsed.start..parser.position()]);
        if all.len() >= STATEMENTS_MAX {
            return Err(many_statements(parsed.start));
        }
        if let QuelStatement::Range(declarations) = &parsed.statement {
            if !parsed.prefix.is_empty() {
                return Err(QuelError::unsupported("EXPLAIN or PREPARE of range", parsed.start));
            }
            ranges.declare(declarations)?;
            all.push(TranslatedStatement { meaning: StatementMeaning::Range(declarations.clone()), quel });
            continue;
        }
        check_databases(&parsed.databases, &relations)?;
        let verb = if matches!(parsed.statement, QuelStatement::Replace(_)) { Verb::Replace } else { Verb::Other };
        let written = written(&parsed, &ranges, &relations)?;
        if all.len() + written.len() > STATEMENTS_MAX {
            return Err(many_statements(parsed.start));
        }
        for sql in written {
            let mut whole = SqlText::default();
            if !parsed.prefix.is_empty() {
                whole.mark(parsed.start);
                whole.push(&parsed.prefix);
                whole.push(" ");
            }
            whole.append(&sql);
            let (sql, places) = whole.finish(&places);
            all.push(TranslatedStatement { meaning: StatementMeaning::Sql { sql, places, verb }, quel: quel.clone() });
        }
    }
    Ok(all)
}

/// The statements of SQL that one of QUEL becomes.
fn written(parsed: &ParsedQuel, ranges: &Ranges, relations: &KnownRelations) -> QuelResult<Vec<SqlText>> {
    let mut lowering = Lowering { ranges, relations, derived: 0 };
    Ok(vec![match &parsed.statement {
        QuelStatement::Retrieve(retrieve) => lowering.retrieve(retrieve)?,
        QuelStatement::Append(append) => lowering.append(append)?,
        QuelStatement::Replace(replace) => lowering.replace(replace)?,
        QuelStatement::Delete(delete) => lowering.delete(delete)?,
        QuelStatement::Create(create) => definitions::created(create),
        QuelStatement::Destroy(names) => definitions::destroyed(names),
        QuelStatement::Index(index) => definitions::indexed(index),
        QuelStatement::Print(names) if parsed.prefix.is_empty() => {
            return Ok(names.iter().map(definitions::printed).collect());
        }
        QuelStatement::Print(names) => match names.as_slice() {
            [name] => definitions::printed(name),
            _ => {
                let what = "EXPLAIN or PREPARE of print with several relations";
                return Err(QuelError::unsupported(what, parsed.start));
            }
        },
        QuelStatement::Help(name) => definitions::helped(name.as_ref()),
        QuelStatement::Session(text) => {
            let mut sql = SqlText::default();
            sql.mark(parsed.start);
            sql.push(text);
            sql
        }
        QuelStatement::Range(_) => unreachable!("it is no SQL"),
    }])
}

/// 54000.
fn many_statements(at: usize) -> QuelError {
    QuelError::too_many(format!("a text has at most {STATEMENTS_MAX} statements"), at)
}

/// The databases of the papers' form are relations, or the session's own. Errors: 3D000.
fn check_databases(names: &[QuelName], relations: &KnownRelations) -> QuelResult<()> {
    for name in names {
        let exists =
            name.text == relations.catalog.database() || relations.columns(&of_itself(&name.text, name.at)).is_some();
        if !exists {
            let message = format!("database \"{}\" does not exist", name.text);
            return Err(QuelError::new(sqlstate::INVALID_CATALOG_NAME, message, name.at));
        }
    }
    Ok(())
}
