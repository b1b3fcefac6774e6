//! `CREATE TABLE ... AS`, `SELECT ... INTO`, `CREATE VIEW` and materialized views: what has the columns of a query (PostgreSQL's `createas.c`, `view.c`, `matview.c`).
//!
//! The table is made first, then the query's rows are put into it, both in one transaction. REFRESH empties it first. Invariant: the query never sees the table that it fills.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::lookup::NameLookup;
use crate::sql::sequence_options::relation;
use crate::sql::temporary_syntax::{only_on_temporary, skip_temporary};
use crate::sql::words::{Words, is, slice};
use messages::schema::ViewCheckOption;
use messages::schema::{AtCommit, TablePersistence};
use sqlparser::tokenizer::{Token, TokenWithSpan};
use std::sync::Arc;

/// The command tag of a table where no row was to be stored.
const TABLE_TAG: &str = "CREATE TABLE AS";

/// What is made of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Makes {
    /// A table with its rows.
    FilledTable,
    /// A table without them.
    EmptyTable,
    /// A view.
    View,
    /// A view, also in the place of one.
    ReplacedView,
    /// A materialized view with its rows.
    FilledView,
    /// One that is filled later.
    EmptyView,
    /// REFRESH: rows anew for one that there is.
    Refreshed,
    /// REFRESH ... WITH NO DATA: no rows for one that there is.
    Emptied,
}

/// REFRESH MATERIALIZED VIEW.
#[derive(Clone, Debug)]
pub struct Refresh {
    /// The view.
    pub name: String,
    /// CONCURRENTLY. Readers go on with the old rows in either case.
    pub concurrently: bool,
    /// Not WITH NO DATA.
    pub with_data: bool,
}

/// A table or view that a query gives its columns.
#[derive(Clone, Debug)]
pub struct QueriedTable {
    /// Its name.
    pub name: String,
    /// Names of its first columns; the others have the query's.
    pub columns: Vec<String>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// What it is.
    pub makes: Makes,
    /// The query's text.
    pub query: Arc<str>,
    /// How long it is to last; what is made in a temporary schema is temporary.
    pub persistence: TablePersistence,
    /// It is a view that is temporary because of what it reads.
    pub becomes_temporary: bool,
    /// What a view asks of rows that are written through it.
    pub check_option: Option<ViewCheckOption>,
}

impl QueriedTable {
    /// What is made of a query under a name, and nothing more is said of.
    pub(super) fn new(name: String, makes: Makes, query: Arc<str>) -> QueriedTable {
        QueriedTable {
            name,
            columns: Vec::new(),
            if_not_exists: false,
            makes,
            query,
            persistence: TablePersistence::Permanent,
            becomes_temporary: false,
            check_option: None,
        }
    }

    /// Whether it gets the query's rows.
    pub fn is_filled(&self) -> bool {
        matches!(self.makes, Makes::FilledTable | Makes::FilledView | Makes::Refreshed)
    }

    /// Whether the catalog keeps the query.
    pub fn keeps_query(&self) -> bool {
        self.is_view() || self.is_materialized()
    }

    /// Whether a materialized view is made.
    pub fn is_materialized(&self) -> bool {
        matches!(self.makes, Makes::FilledView | Makes::EmptyView)
    }

    /// Whether a materialized view that there is gets other rows.
    pub fn is_refresh(&self) -> bool {
        matches!(self.makes, Makes::Refreshed | Makes::Emptied)
    }

    /// Whether it is a view.
    pub fn is_view(&self) -> bool {
        matches!(self.makes, Makes::View | Makes::ReplacedView)
    }

    /// With the name that the catalog will know it by. A view of what is temporary is temporary. Errors: those of its schema; 0A000 for a materialized view of
    /// what is temporary.
    pub(super) fn named(self, lookup: &NameLookup, reads_temporary: impl FnOnce() -> bool) -> Result<QueriedTable> {
        if self.is_materialized() {
            if reads_temporary() {
                let message = "materialized views must not use temporary tables or views";
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
            }
            return Ok(QueriedTable { name: lookup.new_name(&self.name)?, ..self });
        }
        let becomes_temporary = self.is_view() && !self.persistence.is_temporary() && reads_temporary();
        let name = match self.persistence.is_temporary() || becomes_temporary {
            true => lookup.new_temporary_name(&self.name)?,
            false => lookup.new_name(&self.name)?,
        };
        Ok(QueriedTable { name, becomes_temporary, ..self })
    }

    /// Whether the end of its transaction does something to it.
    pub fn acts_at_commit(&self) -> bool {
        matches!(self.persistence, TablePersistence::Temporary(AtCommit::Empty | AtCommit::Drop))
    }

    /// The command tag, unless rows are stored.
    pub fn tag(&self) -> &'static str {
        match self.makes {
            Makes::FilledTable | Makes::EmptyTable => TABLE_TAG,
            Makes::View | Makes::ReplacedView => "CREATE VIEW",
            Makes::FilledView | Makes::EmptyView => "CREATE MATERIALIZED VIEW",
            Makes::Refreshed | Makes::Emptied => "REFRESH MATERIALIZED VIEW",
        }
    }
}

/// Takes the table out of `CREATE TABLE ... AS query` and `SELECT ... INTO table ...`, so that the query is left; `None`: it is something else.
pub(super) fn take(text: &str, tokens: &mut Vec<TokenWithSpan>) -> Result<Option<QueriedTable>> {
    let words = Words { text, rest: tokens };
    if words.peek_is("create") {
        let found = if begins_view(words.rest) { Some(created_view(words)?) } else { created(words)? };
        return Ok(found.map(|(table, query)| {
            tokens.drain(query.end..);
            tokens.drain(..query.start);
            table
        }));
    }
    let Some(at) = into(tokens) else { return Ok(None) };
    let mut words = Words { text, rest: &tokens[at + 1..] };
    let persistence = persistence(&mut words)?;
    words.skip(&["table"]);
    let name = relation(&mut words)?;
    let end = tokens.len() - words.rest.len();
    let query: Arc<str> = Arc::from(match (tokens.get(end), tokens.last()) {
        (Some(_), Some(_)) => format!("{} {}", slice(text, &tokens[..at]), slice(text, &tokens[end..])),
        _ => slice(text, &tokens[..at]).to_owned(),
    });
    tokens.drain(at..end);
    Ok(Some(QueriedTable { persistence, ..QueriedTable::new(name, Makes::FilledTable, query) }))
}

/// TEMPORARY and UNLOGGED, whichever there is. Errors: 42601.
fn persistence(words: &mut Words) -> Result<TablePersistence> {
    Ok(match skip_temporary(words)? {
        true => TablePersistence::Temporary(AtCommit::Preserve),
        false if words.skip(&["unlogged"]) => TablePersistence::Unlogged,
        false => TablePersistence::Permanent,
    })
}

/// ON COMMIT, if it is next. Errors: 42601; 42P16 for a table that is not temporary.
fn at_commit(words: &mut Words, persistence: TablePersistence) -> Result<TablePersistence> {
    if !words.skip(&["on"]) {
        return Ok(persistence);
    }
    words.expect("commit")?;
    let at_commit = match () {
        () if words.skip(&["drop"]) => AtCommit::Drop,
        () if words.skip(&["delete"]) => AtCommit::Empty,
        () => {
            words.expect("preserve")?;
            AtCommit::Preserve
        }
    };
    if at_commit != AtCommit::Drop {
        words.expect("rows")?;
    }
    match persistence.is_temporary() {
        true => Ok(TablePersistence::Temporary(at_commit)),
        false => Err(only_on_temporary()),
    }
}

/// The table of `CREATE TABLE ... AS`, and which tokens are the query.
fn created(mut words: Words) -> Result<Option<(QueriedTable, std::ops::Range<usize>)>> {
    let all = words.rest;
    words.advance();
    let mut ahead = Words { text: words.text, rest: words.rest };
    ahead.skip(&["global", "local"]);
    let is_replacing = ahead.skip(&["or"]) && ahead.skip(&["replace"]);
    let is_unlogged = ahead.peek_is("unlogged");
    let is_lasting = !ahead.skip(&["temp", "temporary"]);
    ahead.skip(&["unlogged"]);
    if ahead.peek_is("materialized") && (is_replacing || !is_lasting) {
        return Err(ahead.error());
    }
    if is_replacing {
        return Ok(None);
    }
    let is_materialized = is_lasting && ahead.peek_is("materialized");
    if !(ahead.skip(&["table"]) || is_materialized) || !has_as(ahead.rest) {
        return Ok(None);
    }
    let persistence = persistence(&mut words)?;
    if is_materialized {
        words.expect("materialized")?;
        words.expect("view")?;
        if is_unlogged {
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, "materialized views cannot be unlogged"));
        }
    } else {
        words.expect("table")?;
    }
    let if_not_exists = words.skip(&["if"]);
    if if_not_exists {
        words.expect("not")?;
        words.expect("exists")?;
    }
    let name = relation(&mut words)?;
    let columns = column_names(&mut words)?;
    let persistence = if is_materialized { persistence } else { at_commit(&mut words, persistence)? };
    if !words.skip(&["as"]) {
        let what = if is_materialized { "a materialized view" } else { "CREATE TABLE AS" };
        return Err(SqlError::unsupported(format!("an option of {what}")));
    }
    if words.peek_is("execute") {
        return Err(SqlError::unsupported("CREATE TABLE AS EXECUTE"));
    }
    let start = all.len() - words.rest.len();
    let (end, with_data) = data(all);
    let makes = match (is_materialized, with_data) {
        (false, true) => Makes::FilledTable,
        (false, false) => Makes::EmptyTable,
        (true, true) => Makes::FilledView,
        (true, false) => Makes::EmptyView,
    };
    if end <= start {
        return Err(SqlError::new(sqlstate::SYNTAX_ERROR, "syntax error at end of input"));
    }
    let query = Arc::from(slice(words.text, &all[start..end]));
    let table = QueriedTable { columns, if_not_exists, persistence, ..QueriedTable::new(name, makes, query) };
    Ok(Some((table, start..end)))
}

/// Names in parentheses, if there are any.
fn column_names(words: &mut Words) -> Result<Vec<String>> {
    let mut columns = Vec::new();
    if words.skip_token(&Token::LParen) {
        columns.push(words.name()?);
        while words.skip_token(&Token::Comma) {
            columns.push(words.name()?);
        }
        words.expect_token(&Token::RParen)?;
    }
    Ok(columns)
}

/// Parses what stands behind REFRESH. Errors: 42601.
pub(super) fn refresh(words: &mut Words) -> Result<Refresh> {
    words.expect("materialized")?;
    words.expect("view")?;
    let concurrently = words.skip(&["concurrently"]);
    let name = relation(words)?;
    let mut with_data = true;
    if words.skip(&["with"]) {
        with_data = !words.skip(&["no"]);
        words.expect("data")?;
    }
    if concurrently && !with_data {
        let message = "CONCURRENTLY and WITH NO DATA options cannot be used together";
        return Err(SqlError::new(sqlstate::SYNTAX_ERROR, message));
    }
    Ok(Refresh { name, concurrently, with_data })
}

/// Whether a view is made: VIEW stands behind words that only say what kind of one.
fn begins_view(tokens: &[TokenWithSpan]) -> bool {
    let before = ["create", "or", "replace", "temp", "temporary", "global", "local", "recursive"];
    let first = (0..tokens.len()).find(|at| !before.iter().any(|word| is(tokens.get(*at), word)));
    first.is_some_and(|at| is(tokens.get(at), "view"))
}

/// A view, and which tokens are its query.
fn created_view(mut words: Words) -> Result<(QueriedTable, std::ops::Range<usize>)> {
    let all = words.rest;
    words.advance();
    let replaces = words.skip(&["or"]);
    if replaces {
        words.expect("replace")?;
    }
    let persistence = match skip_temporary(&mut words)? {
        true => TablePersistence::Temporary(AtCommit::Preserve),
        false => TablePersistence::Permanent,
    };
    if words.peek_is("recursive") {
        return Err(SqlError::unsupported("CREATE RECURSIVE VIEW"));
    }
    words.expect("view")?;
    let name = relation(&mut words)?;
    let columns = column_names(&mut words)?;
    let given = if words.peek_is("with") { Some(view_options(&mut words)?) } else { None };
    words.expect("as")?;
    let start = all.len() - words.rest.len();
    let (end, check_option) = checked_view(all);
    if end <= start {
        return Err(SqlError::new(sqlstate::SYNTAX_ERROR, "syntax error at end of input"));
    }
    let query = Arc::from(slice(words.text, &all[start..end]));
    let makes = if replaces { Makes::ReplacedView } else { Makes::View };
    let check_option = check_option.or(given.flatten());
    let view = QueriedTable { columns, persistence, check_option, ..QueriedTable::new(name, makes, query) };
    Ok((view, start..end))
}

/// `WITH (check_option = local)`. Errors: 22023 for another value, 0A000 for other options, 22023 for what is none.
fn view_options(words: &mut Words) -> Result<Option<ViewCheckOption>> {
    words.expect("with")?;
    words.expect_token(&Token::LParen)?;
    let mut check_option = view_option(words)?;
    while words.skip_token(&Token::Comma) {
        check_option = view_option(words)?;
    }
    words.expect_token(&Token::RParen)?;
    Ok(Some(check_option))
}

/// Errors: see [`view_options`].
fn view_option(words: &mut Words) -> Result<ViewCheckOption> {
    match words.name()?.as_str() {
        "check_option" => {
            words.expect_token(&Token::Eq)?;
            let value = words.value()?;
            match value.to_ascii_lowercase().as_str() {
                "local" => Ok(ViewCheckOption::Local),
                "cascaded" => Ok(ViewCheckOption::Cascaded),
                _ => {
                    let message = format!("invalid value for enum option \"check_option\": {value}");
                    Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message)
                        .with_detail("Valid values are \"local\" and \"cascaded\"."))
                }
            }
        }
        name @ ("security_barrier" | "security_invoker") => {
            Err(SqlError::unsupported(format!("the option {name} of a view")))
        }
        name => Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, format!("unrecognized parameter \"{name}\""))),
    }
}

/// Where the query of a view ends, and the check option behind it.
fn checked_view(all: &[TokenWithSpan]) -> (usize, Option<ViewCheckOption>) {
    let back = |count: usize| all.len().checked_sub(count).and_then(|at| all.get(at));
    if !is(back(1), "option") || !is(back(2), "check") {
        return (all.len(), None);
    }
    match () {
        () if is(back(3), "with") => (all.len() - 3, Some(ViewCheckOption::Cascaded)),
        () if is(back(4), "with") && is(back(3), "cascaded") => (all.len() - 4, Some(ViewCheckOption::Cascaded)),
        () if is(back(4), "with") && is(back(3), "local") => (all.len() - 4, Some(ViewCheckOption::Local)),
        () => (all.len(), None),
    }
}

/// Whether AS stands outside of parentheses: columns with types have it in expressions only.
fn has_as(tokens: &[TokenWithSpan]) -> bool {
    outside(tokens).any(|at| is(tokens.get(at), "as"))
}

/// Places of the tokens that stand outside of parentheses.
fn outside(tokens: &[TokenWithSpan]) -> impl Iterator<Item = usize> {
    let mut depth = 0;
    tokens.iter().enumerate().filter_map(move |(at, token)| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

/// Where the query ends, and whether its rows are wanted.
fn data(tokens: &[TokenWithSpan]) -> (usize, bool) {
    let from_end = |back: usize| tokens.len().checked_sub(back).and_then(|at| tokens.get(at));
    if !is(from_end(1), "data") {
        return (tokens.len(), true);
    }
    if is(from_end(2), "with") {
        return (tokens.len() - 2, true);
    }
    match is(from_end(2), "no") && is(from_end(3), "with") {
        true => (tokens.len() - 3, false),
        false => (tokens.len(), true),
    }
}

/// Where INTO stands in a SELECT that stores its rows.
fn into(tokens: &[TokenWithSpan]) -> Option<usize> {
    if !is(tokens.first(), "select") && !is(tokens.first(), "with") {
        return None;
    }
    let verbs = ["insert", "update", "delete", "merge", "from"];
    for at in outside(tokens) {
        if is(tokens.get(at), "into") {
            return Some(at);
        }
        if verbs.iter().any(|verb| is(tokens.get(at), verb)) {
            return None;
        }
    }
    None
}
