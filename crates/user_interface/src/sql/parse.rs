//! SQL text to statements: split at semicolons, each parsed by `sqlparser` or, for what concerns the session, by [`utility`].
//!
//! Invariant: whatever the text, parsing ends in bounded time, memory and stack ([`sql_syntax`]). Only statements that read or change rows may be so deep
//! that they need a stack of their own; they are kept as [`Deep`] and compiled on such a stack.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::SQL_BYTES_MAX;
use crate::sql::conflict_syntax;
use crate::sql::cursor_syntax::{self, DeclaredCursor};
use crate::sql::known_forms;
use crate::sql::like_syntax::{self, LikeClause};
use crate::sql::locking_syntax;
use crate::sql::merge_syntax;
use crate::sql::names;
use crate::sql::places::{Cursor, position, unexpected};
use crate::sql::queried_table::{self, QueriedTable};
use crate::sql::statement_form::StatementForm;
use crate::sql::table_syntax;
use crate::sql::temporary_syntax;
use crate::sql::trigger_syntax;
use crate::sql::utility::{self, Utility};
use crate::sql::words::is;
use messages::namespace;
use messages::schema::TableSchemaKind;
use quel::QuelPlaces;
use sql_syntax::{Deep, Refused, TooDeep};
use sqlparser::ast;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};
use std::sync::Arc;

/// One statement of a text.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// Its own text, without the semicolon.
    pub text: Arc<str>,
    /// What it is.
    pub statement: Statement,
    /// Its name, if it says CONCURRENTLY: it runs outside of transaction blocks only.
    pub concurrently: Option<&'static str>,
    /// OVERRIDING of an INSERT.
    pub overriding: Option<Overriding>,
    /// The table that its rows go to: the statement is the query.
    pub into: Option<Arc<QueriedTable>>,
    /// The cursor that is declared for it: the statement is the query.
    pub cursor: Option<Arc<DeclaredCursor>>,
    /// What it was in QUEL.
    pub quel: Option<Arc<QuelOrigin>>,
    /// What it says that the relation is that it alters: the statement is ALTER TABLE.
    pub altered: Option<TableSchemaKind>,
    /// The LIKEs that stood among its columns, if it is CREATE TABLE.
    pub likes: Vec<LikeClause>,
    /// It is one of those that a statement with triggers is made of: its names are the catalog's.
    pub is_row_change: bool,
}

/// What a statement was before it became SQL.
#[derive(Debug)]
pub struct QuelOrigin {
    /// Where its parts come from.
    pub places: QuelPlaces,
    /// What is special about it.
    pub verb: quel::Verb,
}

impl Parsed {
    /// Whether it is `replace` of QUEL.
    pub fn is_replace(&self) -> bool {
        self.quel.as_ref().is_some_and(|origin| origin.verb == quel::Verb::Replace)
    }

    /// What is special about it.
    pub fn form(&self) -> StatementForm {
        match (self.is_row_change, self.is_replace()) {
            (true, _) => StatementForm::RowChange,
            (false, true) => StatementForm::Replace,
            (false, false) => StatementForm::Plain,
        }
    }
}

/// What an INSERT says of the values that it gives to identity columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overriding {
    /// They are taken.
    System,
    /// They are not: the sequence's are.
    User,
}

/// What a statement is.
#[derive(Clone, Debug)]
pub enum Statement {
    /// Data or schema.
    Sql(Deep<ast::Statement>),
    /// The session, its transactions, COPY.
    Utility(Box<Utility>),
    /// CREATE PROCEDURE, which has the syntax of a function that returns nothing.
    Procedure(Box<ast::CreateFunction>),
    /// CREATE FUNCTION.
    Function(Box<ast::CreateFunction>),
}

/// Errors: 54000 for a text that is too long.
pub fn check_length(text: &str) -> Result<()> {
    if text.len() <= SQL_BYTES_MAX {
        return Ok(());
    }
    let message = format!("a statement of {} bytes exceeds the limit of {SQL_BYTES_MAX}", text.len());
    Err(SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message))
}

/// 42601: a prepared statement is one.
pub fn several() -> Box<SqlError> {
    SqlError::new(sqlstate::SYNTAX_ERROR, "cannot insert multiple commands into a prepared statement")
}

/// Parses a text of any number of statements; empty ones are left out.
pub fn statements(text: &str) -> Result<Vec<Parsed>> {
    check_length(text)?;
    let tokens = tokenize(text)?;
    let depth = bound(&tokens)?;
    let mut parsed = Vec::new();
    let mut cursor = Cursor::new(text);
    let mut tokens = tokens.into_iter().peekable();
    while tokens.peek().is_some() {
        let statement: Vec<TokenWithSpan> =
            tokens.by_ref().take_while(|token| token.token != Token::SemiColon).collect();
        let (Some(first), Some(last)) = (statement.first(), statement.last()) else {
            continue;
        };
        let start = cursor.offset(first.span.start);
        let end = cursor.offset(last.span.end);
        let slice = text[start..end].trim_end();
        parsed.push(parse_one(text, slice, statement, depth)?);
    }
    Ok(parsed)
}

/// Parses a text of at most one statement. Errors: 42601 for several.
pub fn statement(text: &str) -> Result<Option<Parsed>> {
    let mut all = statements(text)?;
    if all.len() > 1 {
        return Err(several());
    }
    Ok(all.pop())
}

/// Checks the names in a text that a client has written: what marks the schema in a name of the catalog's is in none of them. Errors: 42602.
pub fn check_names(text: &str) -> Result<()> {
    if !namespace::has_control(text) {
        return Ok(());
    }
    // A text without tokens is refused where it is parsed.
    let tokens = sql_syntax::tokenize(text).unwrap_or_default();
    let wrong = tokens.iter().find(|token| match &token.token {
        Token::Word(word) => namespace::has_control(&word.value),
        _ => false,
    });
    match wrong {
        None => Ok(()),
        Some(token) => {
            let message = "a name has the control character U+001E or U+001F in it, which is reserved";
            Err(SqlError::new(sqlstate::INVALID_NAME, message).at(position(text, token.span.start)))
        }
    }
}

/// Parses an expression that the catalog keeps as text (a column's default).
pub fn expression(text: &str) -> Result<ast::Expr> {
    let tokens = tokenize(text)?;
    let depth = bound(&tokens)?;
    let expression = sql_syntax::parse(tokens, depth, |parser| {
        let expression = parser.parse_expr().map_err(|error| reword(&error, text))?;
        end_of(parser, text).map(|()| expression)
    })?;
    if expression.is_shallow() { Ok(*expression.into_inner()) } else { Err(TooDeep.into()) }
}

/// The relation that a text names, with its schema as it was written. Errors: 42602.
pub(super) fn relation_of(text: &str) -> Result<String> {
    let parts = expression(text).ok().and_then(|tree| match tree {
        ast::Expr::Identifier(name) => Some(vec![name]),
        ast::Expr::CompoundIdentifier(names) => Some(names),
        _ => None,
    });
    match parts.as_deref() {
        Some([name]) => Ok(names::identifier(name)),
        Some([schema, name]) => {
            let (schema, name) = (names::identifier(schema), names::identifier(name));
            Ok(names::written(&schema, &name))
        }
        _ => Err(SqlError::new(sqlstate::INVALID_NAME, "invalid name syntax")),
    }
}

fn parse_one(text: &str, slice: &str, tokens: Vec<TokenWithSpan>, depth: usize) -> Result<Parsed> {
    let mut tokens = tokens;
    temporary_syntax::check_scope(&tokens, text)?;
    let is_procedure = procedure_as_function(&mut tokens);
    drop_function_costs(&mut tokens);
    let overriding = take_overriding(&mut tokens);
    check_no_overriding(&tokens)?;
    trigger_syntax::check_referencing(&tokens)?;
    trigger_syntax::arguments_as_names(&mut tokens);
    conflict_syntax::as_names(text, &mut tokens);
    table_syntax::as_selections(text, &mut tokens)?;
    merge_syntax::plain_actions(text, &mut tokens)?;
    let likes = like_syntax::take(text, &mut tokens)?;
    let cursor = cursor_syntax::take(text, &mut tokens)?.map(Arc::new);
    let into = queried_table::take(text, &mut tokens)?.map(Arc::new);
    temporary_syntax::unlogged_as_transient(&mut tokens);
    let mut concurrently = drop_concurrently(&mut tokens).then_some("DROP INDEX CONCURRENTLY");
    let altered = alter_view_as_table(&mut tokens);
    let statement = match utility::parse(text, &tokens)? {
        Some(utility) => Statement::Utility(Box::new(utility)),
        None => {
            // Only now: texts within a statement are cut out by the places of its tokens.
            let tree = sql_syntax::parse(locking_syntax::plain(known_forms::known(tokens)), depth, |parser| {
                let statement = parser.parse_statement().map_err(|error| reword(&error, text))?;
                end_of(parser, text).map(|()| statement)
            })?;
            if !tree.is_shallow() && !is_of_rows(&tree) {
                return Err(TooDeep.into());
            }
            check_new_name(&tree, text)?;
            if matches!(&*tree, ast::Statement::CreateIndex(create) if create.concurrently) {
                concurrently = Some("CREATE INDEX CONCURRENTLY");
            }
            match &*tree {
                ast::Statement::CreateFunction(create) if is_procedure => {
                    Statement::Procedure(Box::new(create.clone()))
                }
                ast::Statement::CreateFunction(create) => Statement::Function(Box::new(create.clone())),
                _ => Statement::Sql(tree),
            }
        }
    };
    let (quel, is_row_change) = (None, false);
    let text = Arc::from(slice);
    Ok(Parsed { text, statement, concurrently, overriding, into, cursor, quel, altered, likes, is_row_change })
}

/// Takes CONCURRENTLY out of DROP INDEX, where the parser does not know it. Whether it was there.
fn drop_concurrently(tokens: &mut Vec<TokenWithSpan>) -> bool {
    let is = |at: usize, word: &str| is(tokens.get(at), word);
    let found = is(0, "drop") && is(1, "index") && is(2, "concurrently");
    if found {
        tokens.remove(2);
    }
    found
}

/// ALTER VIEW and ALTER MATERIALIZED VIEW that give another name or owner as ALTER TABLE, which can do that to views as well. What it says that it alters.
fn alter_view_as_table(tokens: &mut Vec<TokenWithSpan>) -> Option<TableSchemaKind> {
    let is_materialized = is(tokens.get(1), "materialized");
    let place = 1 + usize::from(is_materialized);
    let gives = |token: &TokenWithSpan| is(Some(token), "rename") || is(Some(token), "owner");
    if !is(tokens.first(), "alter") || !is(tokens.get(place), "view") || !tokens[place..].iter().any(gives) {
        return None;
    }
    tokens[place].token = Token::make_keyword("TABLE");
    tokens.drain(1..place);
    Some(if is_materialized { TableSchemaKind::MaterializedView } else { TableSchemaKind::View })
}

/// Takes OVERRIDING ... VALUE out of an INSERT, where the parser does not know it.
fn take_overriding(tokens: &mut Vec<TokenWithSpan>) -> Option<Overriding> {
    if !is(tokens.first(), "insert") {
        return None;
    }
    let at = (1..tokens.len()).find(|at| is(tokens.get(*at), "overriding") && is(tokens.get(at + 2), "value"))?;
    let overriding = match tokens.get(at + 1) {
        token if is(token, "system") => Overriding::System,
        token if is(token, "user") => Overriding::User,
        _ => return None,
    };
    tokens.drain(at..at + 3);
    Some(overriding)
}

/// Errors: 0A000 for OVERRIDING where it was not taken.
fn check_no_overriding(tokens: &[TokenWithSpan]) -> Result<()> {
    let is = |token: &TokenWithSpan, word: &str| matches!(&token.token, Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word));
    let stands = |three: &[TokenWithSpan]| match three {
        [overriding, what, value] => {
            is(overriding, "overriding") && (is(what, "system") || is(what, "user")) && is(value, "value")
        }
        _ => false,
    };
    match tokens.windows(3).any(stands) {
        true => Err(SqlError::unsupported("OVERRIDING in a WITH query, behind WITH, or in MERGE")),
        false => Ok(()),
    }
}

/// Whether it is compiled, and then dropped: what others become is kept in parts.
fn is_of_rows(statement: &ast::Statement) -> bool {
    use ast::Statement::{Delete, Insert, Merge, Query, Update};
    matches!(statement, Query(_) | Insert(_) | Update(_) | Delete(_) | Merge(_))
}

/// Has the parser read CREATE PROCEDURE as CREATE FUNCTION: it knows another system's procedures only.
fn procedure_as_function(tokens: &mut [TokenWithSpan]) -> bool {
    let is = |token: &TokenWithSpan, word: &str| matches!(&token.token, Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word));
    let place = match tokens {
        [create, or, replace, ..] if is(create, "create") && is(or, "or") && is(replace, "replace") => 3,
        [create, ..] if is(create, "create") => 1,
        _ => return false,
    };
    match tokens.get_mut(place) {
        Some(token) if is(token, "procedure") => {
            token.token = Token::make_keyword("FUNCTION");
            true
        }
        _ => false,
    }
}

/// Takes COST and ROWS out of CREATE FUNCTION, where the parser does not know them: they say how much a call is reckoned to cost, and nothing here asks for that.
fn drop_function_costs(tokens: &mut Vec<TokenWithSpan>) {
    let place = if is(tokens.get(1), "or") { 3 } else { 1 };
    if !is(tokens.first(), "create") || !is(tokens.get(place), "function") {
        return;
    }
    let mut depth = 0;
    let mut at = place;
    while at + 1 < tokens.len() {
        match &tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::Word(_)
                if depth == 0
                    && (is(tokens.get(at), "cost") || is(tokens.get(at), "rows"))
                    && matches!(tokens[at + 1].token, Token::Number(..)) =>
            {
                tokens.drain(at..at + 2);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
}

/// What an index or a table becomes beside another has no schema of its own. Errors: 42601.
fn check_new_name(statement: &ast::Statement, text: &str) -> Result<()> {
    use ast::RenameTableNameKind::{As, To};
    let renamed = |operation: &ast::AlterTableOperation| match operation {
        ast::AlterTableOperation::RenameTable { table_name: As(name) | To(name) } => Some(name.clone()),
        _ => None,
    };
    let new = match statement {
        ast::Statement::CreateIndex(create) => create.name.clone(),
        ast::Statement::AlterIndex { operation: ast::AlterIndexOperation::RenameIndex { index_name }, .. } => {
            Some(index_name.clone())
        }
        ast::Statement::AlterTable(alter) => alter.operations.iter().find_map(renamed),
        _ => None,
    };
    match new.as_ref().map(|name| name.0.as_slice()) {
        Some([_, ast::ObjectNamePart::Identifier(second), ..]) => {
            let behind = position(text, second.span.start);
            Err(SqlError::syntax(".").at(behind.map(|behind| behind - 1)))
        }
        _ => Ok(()),
    }
}

fn end_of(parser: &mut Parser, text: &str) -> Result<()> {
    match parser.peek_token() {
        TokenWithSpan { token: Token::EOF, .. } => Ok(()),
        token => Err(unexpected(&token, text)),
    }
}

/// The tokens, blanks and comments left out.
fn tokenize(text: &str) -> Result<Vec<TokenWithSpan>> {
    sql_syntax::tokenize(text).map_err(|error| {
        let message = match error.message.as_str() {
            "Unterminated string literal" => "unterminated quoted string".to_string(),
            "Unexpected EOF while in a multi-line comment" => "unterminated /* comment".to_string(),
            other => format!("syntax error: {other}"),
        };
        SqlError::new(sqlstate::SYNTAX_ERROR, message).at(position(text, error.location))
    })
}

fn bound(tokens: &[TokenWithSpan]) -> Result<usize> {
    sql_syntax::bound(tokens).map_err(|refused| match refused {
        Refused::TooDeep => TooDeep.into(),
        Refused::Near(near) => SqlError::syntax(near),
        Refused::Unsupported(message) => SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message),
    })
}

/// `sqlparser`'s complaint in PostgreSQL's words.
fn reword(error: &ParserError, text: &str) -> Box<SqlError> {
    let message = match error {
        ParserError::RecursionLimitExceeded => {
            return TooDeep.into();
        }
        ParserError::ParserError(message) | ParserError::TokenizerError(message) => message,
    };
    let (what, at) = match message.rsplit_once(" at Line: ") {
        Some((what, at)) => (what, location(at)),
        None => (message.as_str(), None),
    };
    let position = at.and_then(|at| position(text, at));
    match what.rsplit_once("found: ") {
        Some((_, "EOF")) => SqlError::new(sqlstate::SYNTAX_ERROR, "syntax error at end of input")
            .at(Some(text.trim_end().chars().count() + 1)),
        Some((_, near)) => SqlError::syntax(near).at(position),
        None => SqlError::new(sqlstate::SYNTAX_ERROR, format!("syntax error: {what}")).at(position),
    }
}

/// Reads `3, Column: 14`.
fn location(text: &str) -> Option<Location> {
    let (line, column) = text.split_once(", Column: ")?;
    Some(Location::new(line.parse().ok()?, column.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(text: &str) -> Vec<String> {
        let parsed = statements(text).expect("good text");
        parsed.iter().map(|parsed| parsed.text.to_string()).collect()
    }

    /// What PostgreSQL takes would be refused.
    #[test]
    fn statements_are_taken() {
        let texts = [
            "insert into t select a, b from s on conflict (lower(b)) do nothing",
            "insert into t select a, b from s on conflict (lower(b)) where a > 1 do update set b = excluded.b",
            "insert into t select 1, 'x' on conflict (lower(b)) do nothing",
            "insert into t select 1, 'x' on conflict do nothing",
            "insert into t select a, b from s where a > 1 on conflict (a, (b || 'x')) do nothing returning *",
            "insert into t select a, b from s join u using (a) on conflict (lower(b)) do nothing",
            "insert into t select a, b from s, u on conflict (lower(b)) do nothing",
            "insert into t select a, b from s group by a, b on conflict (lower(b)) do nothing",
            "insert into t (select a, b from s) on conflict (lower(b)) do nothing",
            "insert into t table s on conflict (lower(b)) do nothing",
            "with x as (insert into t select a, b from s on conflict (lower(b)) do nothing returning *) select * from x",
            "merge into t using s on t.a = s.a when matched then do nothing when not matched then insert default values",
            "with x as (delete from t returning *), y as (update t set a = 1) insert into s select * from x",
            "with x as (table t) merge into s using x on s.a = x.a when matched and x.b = 'c' then delete",
        ];
        let refused = |text: &&str| statement(text).err().map(|error| format!("{text}: {error}"));
        assert_eq!(texts.iter().filter_map(refused).collect::<Vec<_>>(), Vec::<String>::new());
    }

    /// A semicolon in a string or comment does not end a statement, and each statement keeps its own text.
    #[test]
    fn texts_are_split_at_semicolons() {
        assert_eq!(
            texts("select ';' ;; -- a; b\n select\n  2; /* ; */ commit"),
            ["select ';'", "select\n  2", "commit"]
        );
        assert_eq!(texts(" ;; -- nothing\n"), Vec::<String>::new());
        assert_eq!(texts("select 'größe' ; select 1"), ["select 'größe'", "select 1"]);
    }

    /// Clients show the place of a syntax error by its position.
    #[test]
    fn syntax_errors_read_like_postgresql() {
        for (text, message, position) in [
            ("selekt 1", "syntax error at or near \"selekt\"", Some(1)),
            ("select 1 from", "syntax error at end of input", Some(14)),
            ("select 1;\n select ö frm t", "syntax error at or near \"t\"", Some(25)),
            ("select 'abc", "unterminated quoted string", Some(8)),
            ("begin select", "syntax error at or near \"select\"", Some(7)),
        ] {
            let error = statements(text).expect_err(text);
            assert_eq!((error.sqlstate.as_ref(), error.message.as_str()), ("42601", message), "{text}");
            assert_eq!(error.position, position, "{text}");
        }
    }

    proptest! {
        /// A client that sends garbage must get an error, not bring the site down.
        #[test]
        fn arbitrary_text_does_not_panic(text in "(?s).{0,40}", tail in "[a-z0-9'\"$();,. *=<>:\\\\-]{0,40}") {
            let _ = statements(&text);
            let _ = statements(&format!("select {tail}"));
            let _ = statements(&format!("copy {tail}"));
            let _ = statements(&format!("set {tail}"));
        }
    }
}
