//! `TABLE t`, which the parser knows in some places only, as the `SELECT * FROM t` that it stands for.
//!
//! Invariant: a TABLE that begins no query is left where it is.

use crate::errors::Result;
use crate::sql::places::unexpected;
use crate::sql::words::is;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What may stand behind the name.
const BEHIND: [&str; 11] =
    ["union", "except", "intersect", "order", "limit", "offset", "fetch", "for", "on", "returning", "with"];

fn is_any(token: Option<&TokenWithSpan>, words: &[&str]) -> bool {
    words.iter().any(|word| is(token, word))
}

/// Has the parser read them as selections. Errors: 42601 for what PostgreSQL has not behind the name.
pub(super) fn as_selections(text: &str, tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    let mut found = Vec::new();
    let mut insert = None;
    for at in 0..tokens.len() {
        if is(tokens.get(at), "table")
            && begins_query(tokens, at, insert.as_ref())
            && let Some(end) = name_end(tokens, at + 1)
        {
            if let Some(wrong) = tokens.get(end).filter(|token| token.token != Token::RParen)
                && !is_any(Some(wrong), &BEHIND)
            {
                return Err(unexpected(wrong, text));
            }
            found.push(at);
        }
        if is(tokens.get(at), "insert") {
            insert = Some(OpenInsert { at, depth: 0, is_over: false });
        } else if let Some(insert) = &mut insert {
            insert.pass(&tokens[at].token);
        }
    }
    let mut found = found.into_iter().peekable();
    if found.peek().is_none() {
        return Ok(());
    }
    let all = std::mem::take(tokens);
    let mut last = None;
    for (at, token) in all.into_iter().enumerate() {
        if found.next_if_eq(&at).is_none() {
            // No table inherits from another.
            if last.is_none_or(|last| last + 1 != at) || !is(Some(&token), "only") {
                tokens.push(token);
            }
            continue;
        }
        last = Some(at);
        let words = [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")];
        tokens.extend(words.map(|word| TokenWithSpan { token: word, span: token.span }));
    }
    Ok(())
}

/// The last INSERT before a place.
struct OpenInsert {
    at: usize,
    /// Parentheses that have been opened since.
    depth: usize,
    /// What it stood in has been closed.
    is_over: bool,
}

impl OpenInsert {
    fn pass(&mut self, token: &Token) {
        match token {
            Token::LParen => self.depth += 1,
            Token::RParen if self.depth == 0 => self.is_over = true,
            Token::RParen => self.depth -= 1,
            _ => {}
        }
    }
}

/// Whether a query may begin at this place.
fn begins_query(tokens: &[TokenWithSpan], at: usize, insert: Option<&OpenInsert>) -> bool {
    let Some(before) = at.checked_sub(1) else { return true };
    let previous = tokens.get(before);
    let is_behind_set = is_any(previous, &["union", "except", "intersect"])
        || is_any(previous, &["all", "distinct"])
            && is_any(before.checked_sub(1).and_then(|before| tokens.get(before)), &["union", "except", "intersect"]);
    let is_behind_with = is(tokens.first(), "with") && previous.is_some_and(|token| token.token == Token::RParen);
    is_behind_set
        || is_behind_with
        || previous.is_some_and(|token| token.token == Token::LParen)
        || is_any(previous, &["as", "explain", "verbose"])
        || is(tokens.first(), "declare") && is(previous, "for")
        || insert.is_some_and(|insert| is_behind_target(tokens, at, insert))
}

/// Whether `INSERT INTO name` or `INSERT INTO name (columns)` ends there.
fn is_behind_target(tokens: &[TokenWithSpan], at: usize, insert: &OpenInsert) -> bool {
    is(tokens.get(insert.at + 1), "into")
        && at > insert.at + 2
        && insert.depth == 0
        && !insert.is_over
        && !is_any(tokens.get(at - 1), &["on", "into"])
}

/// Where the name ends that begins at this place.
fn name_end(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let is_word = |at: usize| matches!(tokens.get(at).map(|token| &token.token), Some(Token::Word(_)));
    let mut end = at + usize::from(is(tokens.get(at), "only"));
    if !is_word(end) {
        return None;
    }
    end += 1;
    while tokens.get(end).is_some_and(|token| token.token == Token::Period) && is_word(end + 1) {
        end += 2;
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let mut tokens = sql_syntax::tokenize(text).expect(text);
        if let Err(error) = as_selections(text, &mut tokens) {
            return error.message;
        }
        tokens.iter().map(|token| token.token.to_string()).collect::<Vec<_>>().join(" ")
    }

    /// A TABLE that makes, changes or names one would be read as a query, or a query would be refused.
    #[test]
    fn only_queries_become_selections() {
        for (text, wanted) in [
            ("table t", "SELECT * FROM t"),
            ("table only s.t", "SELECT * FROM s . t"),
            ("table t order by 1", "SELECT * FROM t order by 1"),
            ("(table t) union all table u", "( SELECT * FROM t ) union all SELECT * FROM u"),
            ("with w as (table t) table w", "with w as ( SELECT * FROM t ) SELECT * FROM w"),
            ("insert into t table u", "insert into t SELECT * FROM u"),
            ("insert into s.t (a, b) table u returning a", "insert into s . t ( a , b ) SELECT * FROM u returning a"),
            ("create table a as table t", "create table a as SELECT * FROM t"),
            ("table t where a = 1", "syntax error at or near \"where\""),
            ("table t, u", "syntax error at or near \",\""),
            ("create publication p for table t, u", "create publication p for table t , u"),
            ("declare c cursor for table t", "declare c cursor for SELECT * FROM t"),
            ("create table t (a int)", "create table t ( a int )"),
            ("drop table t", "drop table t"),
            ("grant select on table t to r", "grant select on table t to r"),
            ("truncate table t", "truncate table t"),
            ("select 1 into table t from u", "select 1 into table t from u"),
        ] {
            assert_eq!(read(text), wanted, "{text}");
        }
    }
}
