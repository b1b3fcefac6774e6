//! What a session's texts are in: SQL, or QUEL, which becomes SQL before anything else sees it.
//!
//! Invariant: a statement keeps the SQL that it has become, and is compiled again from that, whatever the session speaks or has declared by then. A
//! position that a client is told is one of the text that it has sent.

use crate::errors::{Result, SqlError};
use crate::session::state::TextLanguage;
use crate::session::turn::Turn;
use crate::sql::lookup::{NameKind, NameLookup};
use crate::sql::names;
use crate::sql::parse::{self, Parsed, QuelOrigin, Statement};
use crate::sql::prepared::Prepared;
use crate::sql::statement_form::StatementForm;
use crate::sql::utility::Utility;
use quel::translate::QuelColumn;
use quel::{
    QuelError, QuelPlaces, QuelRelations, RangeDeclaration, RangedRelation, StatementMeaning, TranslatedStatement, Verb,
};
use std::sync::Arc;
use values::Type;

/// What QUEL asks of the catalog.
struct CatalogRelations<'a> {
    lookup: NameLookup<'a>,
    database: &'a str,
}

impl QuelRelations for CatalogRelations<'_> {
    fn columns(&self, relation: &RangedRelation) -> Option<Vec<QuelColumn>> {
        let text = match relation.schema.as_deref() {
            Some(schema) => names::written(schema, &relation.name),
            None => relation.name.clone(),
        };
        let known = self.lookup.existing(NameKind::Relation, &text).ok()?;
        let table = self.lookup.catalog().tables.get(&known)?;
        let columns = table.table.columns.iter().filter(|column| !column.dropped);
        Some(
            columns
                .map(|column| QuelColumn {
                    name: column.name.clone(),
                    is_text: matches!(column.column_type, Type::Text | Type::Varchar(_) | Type::Char(_)),
                })
                .collect(),
        )
    }

    fn database(&self) -> &str {
        self.database
    }
}

impl From<QuelError> for Box<SqlError> {
    fn from(error: QuelError) -> Box<SqlError> {
        let told = SqlError::new(error.sqlstate, error.message).at(Some(error.at));
        match error.hint {
            Some(hint) => told.with_hint(hint),
            None => told,
        }
    }
}

impl TextLanguage {
    /// SQL with nothing special about it.
    pub const PLAIN: TextLanguage = TextLanguage::Sql { form: StatementForm::Plain };

    /// That of a statement's text.
    pub fn of(prepared: &Prepared) -> TextLanguage {
        TextLanguage::Sql { form: prepared.form }
    }
}

impl Turn<'_> {
    /// The statements of a client's text.
    pub fn read(&mut self, text: &str) -> Result<Vec<Parsed>> {
        if !self.session.settings.now.speaks_quel() {
            parse::check_names(text)?;
            return parse::statements(text);
        }
        self.translated(text)?.into_iter().filter_map(|one| of_quel(one).transpose()).collect()
    }

    /// The only statement of a text. Errors: 42601 for several.
    pub fn read_one(&mut self, text: &str, language: TextLanguage) -> Result<Option<Parsed>> {
        match language {
            TextLanguage::Session => {
                let mut all = self.read(text)?;
                if all.len() > 1 { Err(parse::several()) } else { Ok(all.pop()) }
            }
            TextLanguage::Sql { form } => {
                if form != StatementForm::RowChange {
                    parse::check_names(text)?;
                }
                let mut parsed = parse::statement(text)?;
                match (form, &mut parsed) {
                    (StatementForm::Replace, Some(parsed)) => {
                        let verb = Verb::Replace;
                        parsed.quel = Some(Arc::new(QuelOrigin { places: QuelPlaces::default(), verb }));
                    }
                    (StatementForm::RowChange, Some(parsed)) => parsed.is_row_change = true,
                    _ => {}
                }
                Ok(parsed)
            }
        }
    }

    /// A text of QUEL compiled, from the cache if it can be.
    pub fn prepare_quel(&mut self, text: &str, declared: Vec<Option<Type>>) -> Result<Option<Arc<Prepared>>> {
        self.session.places = None;
        let mut all = self.translated(text)?;
        if all.len() > 1 {
            return Err(parse::several());
        }
        let Some(translated) = all.pop() else { return Ok(None) };
        if let StatementMeaning::Sql { sql, verb, .. } = &translated.meaning {
            let form = if *verb == Verb::Replace { StatementForm::Replace } else { StatementForm::Plain };
            let language = TextLanguage::Sql { form };
            if let Some(found) = self.cached(sql, language, &declared) {
                return Ok(Some(found));
            }
        }
        let Some(parsed) = of_quel(translated)? else { return Ok(None) };
        self.session.places = parsed.quel.clone();
        let sql = parsed.text.clone();
        let prepared = self.compile(&parsed, &sql, declared, None)?;
        Ok(Some(self.keep(&sql, prepared)))
    }

    fn translated(&mut self, text: &str) -> Result<Vec<TranslatedStatement>> {
        parse::check_length(text)?;
        let catalog = self.seen_catalog();
        self.with_facts(|facts| {
            let relations =
                CatalogRelations { lookup: NameLookup::new(&catalog, facts), database: &self.session.database };
            Ok(quel::statements(text, &self.session.ranges, &relations)?)
        })
    }

    /// `range of`.
    pub fn declare_ranges(&mut self, declarations: &[RangeDeclaration]) -> Result<()> {
        Ok(self.session.ranges.declare(declarations)?)
    }

    /// What runs now was parsed earlier: what its places refer to is not at hand.
    pub fn forget_places(&mut self) {
        let nowhere = || Arc::new(QuelOrigin { places: QuelPlaces::default(), verb: Verb::Other });
        self.session.places = self.session.settings.now.speaks_quel().then(nowhere);
    }

    /// An error whose position is one of what the client has sent, QUEL or constants; `None`: it is as it should be.
    pub fn as_sent(&self, error: &SqlError) -> Option<Box<SqlError>> {
        if let Some(position) = error.position.and_then(|position| self.position_as_written(position)) {
            return Some(Box::new(SqlError { position: Some(position), ..error.clone() }));
        }
        let (origin, position) = (self.session.places.as_ref()?, error.position?);
        Some(Box::new(SqlError { position: origin.places.quel(position), ..error.clone() }))
    }
}

/// A statement of QUEL as one of SQL.
fn of_quel(translated: TranslatedStatement) -> Result<Option<Parsed>> {
    let (sql, origin) = match translated.meaning {
        StatementMeaning::Range(declarations) => {
            let statement = Statement::Utility(Box::new(Utility::Range(Arc::from(declarations))));
            return Ok(Some(Parsed {
                text: translated.quel,
                statement,
                concurrently: None,
                overriding: None,
                into: None,
                cursor: None,
                quel: None,
                altered: None,
                likes: Vec::new(),
                is_row_change: false,
            }));
        }
        StatementMeaning::Sql { sql, places, verb } => (sql, QuelOrigin { places, verb }),
    };
    let read = parse::check_names(&sql).and_then(|()| parse::statement(&sql));
    let parsed = read.map_err(|mut error| {
        error.position = error.position.and_then(|position| origin.places.quel(position));
        error
    })?;
    Ok(parsed.map(|parsed| Parsed { quel: Some(Arc::new(origin)), ..parsed }))
}
