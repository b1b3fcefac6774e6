//! The syntax of LOCK TABLE.
//!
//! Invariant: what PostgreSQL's grammar takes is taken, and nothing else.

use crate::errors::Result;
use crate::sql::lookup::{NameKind, NameLookup};
use crate::sql::names;
use crate::sql::words::Words;
use messages::advisory::AdvisoryMode;
use sqlparser::tokenizer::Token;

/// LOCK TABLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLocking {
    /// Their names.
    pub tables: Vec<String>,
    /// How.
    pub mode: AdvisoryMode,
    /// Whether it waits: not NOWAIT.
    pub waits: bool,
}

/// What stands behind LOCK.
pub(super) fn parse(words: &mut Words) -> Result<TableLocking> {
    words.skip(&["table"]);
    let mut tables = vec![relation(words)?];
    while words.skip_token(&Token::Comma) {
        tables.push(relation(words)?);
    }
    let mode = match words.skip(&["in"]) {
        true => mode(words)?,
        false => AdvisoryMode::AccessExclusive,
    };
    let waits = !words.skip(&["nowait"]);
    Ok(TableLocking { tables, mode, waits })
}

fn relation(words: &mut Words) -> Result<String> {
    let only = words.skip(&["only"]);
    let in_parentheses = only && words.skip_token(&Token::LParen);
    let first = words.name()?;
    let name = match words.skip_token(&Token::Period) {
        true => names::written(&first, &words.name()?),
        false => first,
    };
    if in_parentheses {
        words.expect_token(&Token::RParen)?;
    }
    // Nothing inherits from a table: with or without is the same.
    if !only {
        words.skip_token(&Token::Mul);
    }
    Ok(name)
}

fn mode(words: &mut Words) -> Result<AdvisoryMode> {
    let mode = match words.keyword().as_deref() {
        Some("access") if words.skip(&["share"]) => AdvisoryMode::AccessShare,
        Some("access") if words.skip(&["exclusive"]) => AdvisoryMode::AccessExclusive,
        Some("row") if words.skip(&["share"]) => AdvisoryMode::RowShare,
        Some("row") if words.skip(&["exclusive"]) => AdvisoryMode::RowExclusive,
        Some("share") if words.skip(&["update"]) => {
            words.expect("exclusive")?;
            AdvisoryMode::ShareUpdateExclusive
        }
        Some("share") if words.skip(&["row"]) => {
            words.expect("exclusive")?;
            AdvisoryMode::ShareRowExclusive
        }
        Some("share") => AdvisoryMode::Share,
        Some("exclusive") => AdvisoryMode::Exclusive,
        _ => return Err(words.error()),
    };
    words.expect("mode")?;
    Ok(mode)
}

impl TableLocking {
    /// With the catalog's names in the place of those that were written. Errors: 3F000, 42501.
    pub fn qualified(&self, lookup: &NameLookup) -> Result<TableLocking> {
        let tables = self.tables.iter().map(|name| lookup.existing(NameKind::Relation, name));
        Ok(TableLocking { tables: tables.collect::<Result<_>>()?, ..self.clone() })
    }
}
