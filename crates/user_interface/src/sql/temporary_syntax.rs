//! TEMPORARY, UNLOGGED and ON COMMIT, from tokens and trees to what they ask for.
//!
//! Invariant: what PostgreSQL's parser refuses is refused.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::names;
use crate::sql::places::unexpected;
use crate::sql::words::Words;
use messages::namespace::OWN_TEMPORARY;
use messages::schema::{AtCommit, TablePersistence};
use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// 42P16.
pub(super) fn invalid(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(sqlstate::INVALID_TABLE_DEFINITION, message)
}

/// 42P16.
pub(super) fn in_lasting_schema() -> Box<SqlError> {
    invalid("cannot create temporary relation in non-temporary schema")
}

/// 42P16.
pub(super) fn in_others_schema() -> Box<SqlError> {
    invalid("cannot create relations in temporary schemas of other sessions")
}

/// 42P16.
pub(super) fn only_on_temporary() -> Box<SqlError> {
    invalid("ON COMMIT can only be used on temporary tables")
}

/// Passes over TEMPORARY, with LOCAL or GLOBAL before it. Whether it was there. Errors: 42601 for one of these alone.
pub(super) fn skip_temporary(words: &mut Words) -> Result<bool> {
    let is_scoped = words.skip(&["global", "local"]);
    match words.skip(&["temp", "temporary"]) {
        false if is_scoped => Err(words.error()),
        found => Ok(found),
    }
}

fn is(token: Option<&TokenWithSpan>, words: &[&str]) -> bool {
    match token.map(|token| &token.token) {
        Some(Token::Word(found)) if found.quote_style.is_none() => {
            words.iter().any(|word| found.value.eq_ignore_ascii_case(word))
        }
        _ => false,
    }
}

/// Refuses words before TABLE that PostgreSQL's parser does not know there. Errors: 42601.
pub(super) fn check_scope(tokens: &[TokenWithSpan], text: &str) -> Result<()> {
    if !is(tokens.first(), &["create"]) {
        return Ok(());
    }
    let wrong = match tokens.get(1) {
        word if is(word, &["transient"]) => word,
        word if is(word, &["local", "global"]) => tokens.get(2).filter(|word| !is(Some(word), &["temp", "temporary"])),
        _ => None,
    };
    wrong.map_or(Ok(()), |token| Err(unexpected(token, text)))
}

/// Has the parser read UNLOGGED as TRANSIENT, which it knows, and which is refused otherwise.
pub(super) fn unlogged_as_transient(tokens: &mut [TokenWithSpan]) {
    if let [create, unlogged, table, ..] = tokens
        && is(Some(create), &["create"])
        && is(Some(unlogged), &["unlogged"])
        && is(Some(table), &["table"])
    {
        unlogged.token = Token::make_keyword("TRANSIENT");
    }
}

/// The name of something temporary as it would be written with its schema. Errors: 42P16 for another schema.
pub(super) fn in_own_temporary(name: &str) -> Result<String> {
    match names::parts(name) {
        (None | Some(OWN_TEMPORARY), name) => Ok(names::written(OWN_TEMPORARY, name)),
        (Some(_), _) => Err(in_lasting_schema()),
    }
}

/// How long a table is to last, as its statement says.
pub(super) fn asked_persistence(create: &ast::CreateTable) -> AskedPersistence {
    let at_commit = create.on_commit.as_ref().map(|on_commit| match on_commit {
        ast::OnCommit::PreserveRows => AtCommit::Preserve,
        ast::OnCommit::DeleteRows => AtCommit::Empty,
        ast::OnCommit::Drop => AtCommit::Drop,
    });
    AskedPersistence { is_unlogged: create.transient, at_commit }
}

/// What a statement says of how long something lasts, beside its schema.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AskedPersistence {
    pub(super) is_unlogged: bool,
    pub(super) at_commit: Option<AtCommit>,
}

impl From<TablePersistence> for AskedPersistence {
    fn from(asked: TablePersistence) -> AskedPersistence {
        let at_commit = match asked {
            TablePersistence::Temporary(at_commit) => Some(at_commit),
            _ => None,
        };
        AskedPersistence { is_unlogged: asked == TablePersistence::Unlogged, at_commit }
    }
}
