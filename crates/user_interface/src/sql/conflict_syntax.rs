//! Expressions and the predicate in the target of ON CONFLICT, which the parser takes for a list of names.
//!
//! Invariant: what is no name becomes one in brackets, which no name of SQL's is. The statement stays a tree of the parser's.

use crate::sql::places::Cursor;
use crate::sql::words::is;
use sqlparser::ast::Ident;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

/// The quote of what is no name.
const BRACKET: char = '[';

/// Before a predicate's text.
const WHERE: &str = "WHERE ";

/// A part of a target of ON CONFLICT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConflictPart<'a> {
    /// A column.
    Name(&'a Ident),
    /// What is computed, perhaps with a collation or an operator class behind it.
    Text(&'a str),
    /// Which rows it is about.
    Predicate(&'a str),
}

/// What a name in the parsed target stands for.
pub(super) fn part(name: &Ident) -> ConflictPart<'_> {
    match (name.quote_style, name.value.strip_prefix(WHERE)) {
        (Some(BRACKET), Some(predicate)) => ConflictPart::Predicate(predicate),
        (Some(BRACKET), None) => ConflictPart::Text(&name.value),
        _ => ConflictPart::Name(name),
    }
}

/// How much deeper in parentheses the next token is.
fn deeper(token: &Token) -> i32 {
    match token {
        Token::LParen | Token::LBracket => 1,
        Token::RParen | Token::RBracket => -1,
        _ => 0,
    }
}

/// Has the parser read what is no name in a target as one. What is no target either is left for the parser to refuse.
pub(super) fn as_names(text: &str, tokens: &mut Vec<TokenWithSpan>) {
    // Elsewhere it may be a function's call behind a join.
    let Some(mut at) = tokens.iter().position(|token| is(Some(token), "insert")) else { return };
    while at + 2 < tokens.len() {
        let begins = is(tokens.get(at), "on") && is(tokens.get(at + 1), "conflict");
        if begins && let Some(select) = selection_without_from(&tokens[..at]) {
            let parenthesis = |token, place: usize| TokenWithSpan { token, span: tokens[place].span };
            let (open, close) = (parenthesis(Token::LParen, select), parenthesis(Token::RParen, at));
            tokens.insert(at, close);
            tokens.insert(select, open);
            at += 2;
        }
        if begins && tokens[at + 2].token == Token::LParen {
            target(text, tokens, at + 2);
        }
        at += 1;
    }
}

/// Where the selection begins that an insertion ends with, if it has no FROM: the parser takes ON for the name of its last column, unless it stands in parentheses.
fn selection_without_from(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0;
    let mut select = None;
    for (place, token) in tokens.iter().enumerate().rev() {
        depth -= deeper(&token.token);
        if depth < 0 || depth == 0 && is(Some(token), "insert") {
            break;
        }
        if depth > 0 {
            continue;
        }
        if select.is_none() && is(Some(token), "from") {
            return None;
        }
        if is(Some(token), "select") {
            select = Some(place);
        }
    }
    select
}

/// The target whose parenthesis is at this place.
fn target(text: &str, tokens: &mut Vec<TokenWithSpan>, open: usize) {
    let mut depth = 0;
    let mut starts = vec![open + 1];
    let close = tokens[open..].iter().position(|token| {
        depth += deeper(&token.token);
        depth == 0
    });
    let Some(close) = close.map(|after| open + after) else { return };
    depth = 0;
    for (place, token) in tokens.iter().enumerate().take(close).skip(open) {
        depth += deeper(&token.token);
        if depth == 1 && token.token == Token::Comma {
            starts.push(place + 1);
        }
    }
    let mut made = Vec::new();
    for (number, start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).map_or(close, |next| next - 1);
        match &tokens[*start..end] {
            [] => return,
            [one @ TokenWithSpan { token: Token::Word(_), .. }] => made.push(one.clone()),
            several => made.push(as_name(several, text, "")),
        }
    }
    let mut behind = close + 1;
    if is(tokens.get(behind), "where") {
        let Some(end) = predicate_end(tokens, behind + 1) else { return };
        made.push(as_name(&tokens[behind + 1..end], text, WHERE));
        behind = end;
    }
    let comma = tokens[close].clone();
    let mut target = Vec::with_capacity(2 * made.len() + 1);
    target.push(tokens[open].clone());
    for (number, name) in made.into_iter().enumerate() {
        if number > 0 {
            target.push(TokenWithSpan { token: Token::Comma, span: comma.span });
        }
        target.push(name);
    }
    target.push(tokens[close].clone());
    tokens.splice(open..behind, target);
}

/// Where a predicate ends that begins at this place: before DO.
fn predicate_end(tokens: &[TokenWithSpan], start: usize) -> Option<usize> {
    let mut depth = 0;
    let end = tokens.iter().enumerate().skip(start).find(|(place, token)| {
        depth += deeper(&token.token);
        depth == 0
            && is(Some(token), "do")
            && (is(tokens.get(place + 1), "nothing") || is(tokens.get(place + 1), "update"))
    });
    end.map(|(place, _)| place).filter(|end| *end > start)
}

fn as_name(tokens: &[TokenWithSpan], text: &str, before: &str) -> TokenWithSpan {
    let (first, last) = (&tokens[0], &tokens[tokens.len() - 1]);
    let mut cursor = Cursor::new(text);
    let start = cursor.offset(first.span.start);
    let end = cursor.offset(last.span.end);
    let value = format!("{before}{}", &text[start..end]);
    let word = Word { value, quote_style: Some(BRACKET), keyword: sqlparser::keywords::Keyword::NoKeyword };
    TokenWithSpan { token: Token::Word(word), span: Span { start: first.span.start, end: last.span.end } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::parse::{self, Statement};
    use sqlparser::ast;

    fn parts(sql: &str) -> Vec<String> {
        let parsed = parse::statement(sql).expect(sql).expect("a statement");
        let Statement::Sql(tree) = parsed.statement else { panic!("{sql}") };
        let ast::Statement::Insert(insert) = &*tree else { panic!("{sql}") };
        let Some(ast::OnInsert::OnConflict(on)) = &insert.on else { panic!("{sql}") };
        let Some(ast::ConflictTarget::Columns(names)) = &on.conflict_target else { panic!("{sql}") };
        let show = |name: &Ident| match part(name) {
            ConflictPart::Name(name) => name.value.clone(),
            ConflictPart::Text(text) => format!("<{text}>"),
            ConflictPart::Predicate(text) => format!("where <{text}>"),
        };
        names.iter().map(show).collect()
    }

    /// An upsert would meet another key than the one that it names, or be refused.
    #[test]
    fn targets_are_read_in_parts() {
        assert_eq!(parts("insert into t values (1) on conflict (a, b) do nothing"), ["a", "b"]);
        assert_eq!(
            parts(
                "INSERT INTO t VALUES (1) ON CONFLICT (lower( name ), (a + b), \"Q\") DO UPDATE SET a = 1 WHERE t.a > 1"
            ),
            ["<lower( name )>", "<(a + b)>", "Q"]
        );
        assert_eq!(
            parts("insert into t values ('do') on conflict (a text_ops) where b and (c in (1, 2)) do update set a = 1"),
            ["<a text_ops>", "where <b and (c in (1, 2))>"]
        );
        let join = parse::statement("select 1 from a join b on conflict (a.x + b.x, 1)").expect("a join");
        let Some(Statement::Sql(tree)) = join.map(|parsed| parsed.statement) else { panic!("no statement") };
        assert!(tree.to_string().contains("conflict(a.x + b.x, 1)"), "{}", *tree);
        for wrong in [
            "insert into t values (1) on conflict () do nothing",
            "insert into t values (1) on conflict (a,) do nothing",
            "insert into t values (1) on conflict (a where b do nothing",
            "insert into t values (1) on conflict (a) where do nothing",
            "insert into t values (1) on conflict (a) where b",
        ] {
            assert_eq!(
                parse::statement(wrong).err().map(|error| error.sqlstate.into_owned()).as_deref(),
                Some("42601")
            );
        }
    }
}
