//! SQL text to statements: split at semicolons, each parsed by `sqlparser` or, for what concerns the session, by [`utility`].
//!
//! Invariant: whatever the text, parsing ends in bounded time, memory and stack: texts, chains of operators and nesting are
//! bounded before a tree is built, because a tree is dropped and walked by recursion.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{
    NAME_PARTS_MAX, OPERATOR_CHAIN_MAX, PARSER_COST_MIN, PARSER_COST_PER_TOKEN_MAX, PARSER_DEPTH_MAX, SQL_BYTES_MAX,
};
use crate::sql::utility::{self, Utility};
use sqlparser::ast;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Word};
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
}

/// What a statement is.
#[derive(Clone, Debug)]
pub enum Statement {
    /// Data or schema.
    Sql(Box<ast::Statement>),
    /// The session, its transactions, COPY.
    Utility(Box<Utility>),
    /// CREATE PROCEDURE, which has the syntax of a function that returns nothing.
    Procedure(Box<ast::CreateFunction>),
}

/// Parses a text of any number of statements; empty ones are left out.
pub fn statements(text: &str) -> Result<Vec<Parsed>> {
    if text.len() > SQL_BYTES_MAX {
        return Err(SqlError::new(
            sqlstate::PROGRAM_LIMIT_EXCEEDED,
            format!("a statement of {} bytes exceeds the limit of {SQL_BYTES_MAX}", text.len()),
        ));
    }
    let tokens = tokenize(text)?;
    bound_chains(&tokens)?;
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
        parsed.push(parse_one(text, slice, statement)?);
    }
    Ok(parsed)
}

/// Parses a text of at most one statement. Errors: 42601 for several.
pub fn statement(text: &str) -> Result<Option<Parsed>> {
    let mut all = statements(text)?;
    if all.len() > 1 {
        return Err(SqlError::new(sqlstate::SYNTAX_ERROR, "cannot insert multiple commands into a prepared statement"));
    }
    Ok(all.pop())
}

/// Parses an expression that the catalog keeps as text (a column's default).
pub fn expression(text: &str) -> Result<ast::Expr> {
    let tokens = tokenize(text)?;
    bound_chains(&tokens)?;
    let mut parser = parser(tokens);
    let expression = parser.parse_expr().map_err(|error| reword(&error, text))?;
    end_of(&mut parser, text)?;
    Ok(expression)
}

fn parse_one(text: &str, slice: &str, tokens: Vec<TokenWithSpan>) -> Result<Parsed> {
    let mut tokens = plain_locks(tokens);
    let is_procedure = procedure_as_function(&mut tokens);
    let mut concurrently = drop_concurrently(&mut tokens).then_some("DROP INDEX CONCURRENTLY");
    let statement = match utility::parse(text, &tokens)? {
        Some(utility) => Statement::Utility(Box::new(utility)),
        None => {
            let mut parser = parser(tokens);
            let statement = parser.parse_statement().map_err(|error| reword(&error, text))?;
            end_of(&mut parser, text)?;
            match statement {
                ast::Statement::CreateFunction(create) if is_procedure => Statement::Procedure(Box::new(create)),
                statement => {
                    if matches!(&statement, ast::Statement::CreateIndex(create) if create.concurrently) {
                        concurrently = Some("CREATE INDEX CONCURRENTLY");
                    }
                    Statement::Sql(Box::new(statement))
                }
            }
        }
    };
    Ok(Parsed { text: Arc::from(slice), statement, concurrently })
}

/// Takes CONCURRENTLY out of DROP INDEX, where the parser does not know it. Whether it was there.
fn drop_concurrently(tokens: &mut Vec<TokenWithSpan>) -> bool {
    let is = |at: usize, word: &str| matches!(tokens.get(at).map(|token| &token.token), Some(Token::Word(found)) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word));
    let found = is(0, "drop") && is(1, "index") && is(2, "concurrently");
    if found {
        tokens.remove(2);
    }
    found
}

/// `FOR NO KEY UPDATE` and `FOR KEY SHARE` as the stronger locks `FOR UPDATE` and `FOR SHARE`: a lock is one of a whole row.
fn plain_locks(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is = |token: Option<&TokenWithSpan>, word: &str| matches!(token.map(|token| &token.token), Some(Token::Word(found)) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word));
    let mut at = 0;
    while at < tokens.len() {
        if is(tokens.get(at), "for") {
            let after_no = at + 1 + usize::from(is(tokens.get(at + 1), "no"));
            let lock = if after_no > at + 1 { "update" } else { "share" };
            if is(tokens.get(after_no), "key") && is(tokens.get(after_no + 1), lock) {
                tokens.drain(at + 1..=after_no);
            }
        }
        at += 1;
    }
    tokens
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

fn parser(tokens: Vec<TokenWithSpan>) -> Parser<'static> {
    Parser::new(&PostgreSqlDialect {}).with_recursion_limit(PARSER_DEPTH_MAX).with_tokens_with_locations(tokens)
}

fn end_of(parser: &mut Parser, text: &str) -> Result<()> {
    match parser.peek_token() {
        TokenWithSpan { token: Token::EOF, .. } => Ok(()),
        token => Err(unexpected(&token, text)),
    }
}

/// `syntax error at or near` a token.
pub fn unexpected(token: &TokenWithSpan, text: &str) -> Box<SqlError> {
    SqlError::syntax(&token.token).at(position(text, token.span.start))
}

/// The tokens, blanks and comments left out.
fn tokenize(text: &str) -> Result<Vec<TokenWithSpan>> {
    let mut tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location().map_err(|error| {
        let message = match error.message.as_str() {
            "Unterminated string literal" => "unterminated quoted string".to_string(),
            "Unexpected EOF while in a multi-line comment" => "unterminated /* comment".to_string(),
            other => format!("syntax error: {other}"),
        };
        SqlError::new(sqlstate::SYNTAX_ERROR, message).at(position(text, error.location))
    })?;
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF));
    Ok(tokens)
}

/// Refuses expressions so long that their tree is too deep for the stack, and nesting that the parser would try in too many ways.
/// Between two commas of one pair of parentheses an operator adds a level; what encloses them adds its own.
fn bound_chains(tokens: &[TokenWithSpan]) -> Result<()> {
    let mut open: Vec<(usize, u32)> = Vec::new();
    let (mut outside, mut here) = (0usize, 0usize);
    let (mut doubling, mut cost) = (0u32, 0u64);
    let cost_max = PARSER_COST_MIN + PARSER_COST_PER_TOKEN_MAX * tokens.len() as u64;
    let mut parts = 0;
    let mut before: Option<&Token> = None;
    for token in tokens {
        match &token.token {
            Token::LParen | Token::LBracket => {
                let doubles = before.map_or(0, doublings_of_parenthesis);
                doubling += doubles;
                open.push((here, doubles));
                outside += here;
                here = 0;
            }
            Token::RParen | Token::RBracket => {
                let (enclosing, doubled) = open.pop().unwrap_or((0, 0));
                doubling -= doubled;
                here = enclosing;
                outside -= here;
            }
            Token::Comma => here = 0,
            Token::SemiColon => {
                open.clear();
                (outside, here, doubling) = (0, 0, 0);
            }
            Token::Number(..) | Token::SingleQuotedString(_) | Token::Placeholder(_) => {}
            Token::Word(word) if !is_connective(word) => {}
            _ => here += 1,
        }
        // The parser follows INTERVAL into what is behind it without counting how deep it is.
        if is_interval(&token.token) && before.is_some_and(is_interval) {
            return Err(SqlError::syntax(&token.token));
        }
        parts = match &token.token {
            Token::Period => parts + 1,
            Token::Word(_) if before == Some(&Token::Period) => parts,
            Token::LBracket | Token::RBracket | Token::LParen | Token::RParen | Token::Number(..) => parts,
            _ => 0,
        };
        if parts >= NAME_PARTS_MAX {
            return Err(SqlError::syntax("."));
        }
        cost = cost.saturating_add(1u64.checked_shl(doubling).unwrap_or(u64::MAX));
        if cost > cost_max {
            return Err(SqlError::new(sqlstate::STATEMENT_TOO_COMPLEX, "the statement is nested too deeply"));
        }
        if outside + here > OPERATOR_CHAIN_MAX {
            return Err(SqlError::new(
                sqlstate::STATEMENT_TOO_COMPLEX,
                format!("an expression has more than {OPERATOR_CHAIN_MAX} operators in a row"),
            )
            .with_hint("Use IN (...) or several statements."));
        }
        before = Some(&token.token);
    }
    Ok(())
}

fn is_interval(token: &Token) -> bool {
    matches!(token, Token::Word(word) if word.keyword == sqlparser::keywords::Keyword::INTERVAL)
}

/// How often the parser doubles its work within a parenthesis behind this token: what is there may be a subquery, a join, a list, an
/// expression or an argument with a computed name, which it finds out by trying. Words that are both constructs and names of functions,
/// such as POSITION, are tried as either, each in several ways.
fn doublings_of_parenthesis(before: &Token) -> u32 {
    use sqlparser::keywords::Keyword::*;
    match before {
        Token::LParen | Token::Comma => 1,
        Token::Word(word) => match word.keyword {
            NOT => 2,
            POSITION | SUBSTRING | SUBSTR | TRIM | OVERLAY | EXTRACT | CEIL | FLOOR | CAST | TRY_CAST | CONVERT
            | CASE | EXISTS | ARRAY | INTERVAL | STRUCT | GROUPING | CURRENT_DATE => 3,
            _ => 1,
        },
        _ => 0,
    }
}

/// Words that make a syntax tree deeper without a parenthesis.
fn is_connective(word: &Word) -> bool {
    use sqlparser::keywords::Keyword::*;
    matches!(
        word.keyword,
        AND | OR | NOT | IS | LIKE | ILIKE | BETWEEN | IN | UNION | EXCEPT | INTERSECT | JOIN | COLLATE | CASE | AT
    )
}

/// `sqlparser`'s complaint in PostgreSQL's words.
fn reword(error: &ParserError, text: &str) -> Box<SqlError> {
    let message = match error {
        ParserError::RecursionLimitExceeded => {
            return SqlError::new(sqlstate::STATEMENT_TOO_COMPLEX, "the statement is nested too deeply");
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

/// The position of a place in the text as errors give it: in characters from 1.
pub fn position(text: &str, at: Location) -> Option<usize> {
    if at.line == 0 {
        return None;
    }
    let offset = Cursor::new(text).offset(at);
    Some(text[..offset].chars().count() + 1)
}

/// The byte at which a place of the text begins.
pub fn offset(text: &str, at: Location) -> usize {
    Cursor::new(text).offset(at)
}

/// Turns lines and columns into byte offsets; places must come in order, so that a text is walked once.
struct Cursor<'a> {
    text: &'a str,
    rest: std::str::Chars<'a>,
    at: Location,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, rest: text.chars(), at: Location::new(1, 1) }
    }

    fn offset(&mut self, to: Location) -> usize {
        while (self.at.line, self.at.column) < (to.line, to.column) {
            match self.rest.next() {
                Some('\n') => self.at = Location::new(self.at.line + 1, 1),
                Some(_) => self.at.column += 1,
                None => break,
            }
        }
        self.text.len() - self.rest.as_str().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(text: &str) -> Vec<String> {
        let parsed = statements(text).expect("good text");
        parsed.iter().map(|parsed| parsed.text.to_string()).collect()
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

    /// A tree as deep as a text is long would overflow the stack when it is dropped.
    #[test]
    fn long_chains_are_refused() {
        for text in [
            format!("select {}1", "1+".repeat(100_000)),
            format!("select {}1", "-".repeat(3_000).replace('-', "- ")),
            format!("select {}1{}", "(".repeat(10_000), ")".repeat(10_000)),
            format!("select {}1{}", "(1 + ".repeat(3_000), ")".repeat(3_000)),
            format!("select 1 {}", "union select 1 ".repeat(10_000)),
            format!("select {} 1", "not ".repeat(10_000)),
            format!("select case {} end", "when 1=1 then 1 ".repeat(10_000)),
        ] {
            let error = statements(&text).expect_err("too deep");
            assert_eq!(error.sqlstate, "54001", "{} {error:?}", &text[..20]);
        }
        let many = format!("insert into t values {}(1)", "(1 + 1), ".repeat(10_000));
        assert_eq!(statements(&many).expect("wide, not deep").len(), 1);
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
