//! Actions of MERGE that the parser does not know, as ones that it does.
//!
//! `DO NOTHING` becomes an action on a column in brackets, which no name of SQL's is, and `INSERT DEFAULT VALUES` an insertion into one. Invariant: the statement
//! stays a tree of the parser's.

use crate::errors::Result;
use crate::sql::places::unexpected;
use crate::sql::words::is;
use sqlparser::ast::{Assignment, AssignmentTarget, Ident, ObjectName, ObjectNamePart};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The quote of what is no name.
const BRACKET: char = '[';
/// The column of an action that does nothing.
const NOTHING: &str = "do nothing";
/// The column of an insertion of nothing but defaults.
const DEFAULTS: &str = "default values";

fn is_called(name: &Ident, called: &str) -> bool {
    name.quote_style == Some(BRACKET) && name.value == called
}

/// Whether a column stands for an action that does nothing.
pub(super) fn is_nothing(name: &Ident) -> bool {
    is_called(name, NOTHING)
}

/// Whether a column stands for an insertion of nothing but defaults.
pub(super) fn is_defaults(name: &Ident) -> bool {
    is_called(name, DEFAULTS)
}

/// Whether these are one column of this kind.
pub(super) fn is_named(columns: &[ObjectName], is: fn(&Ident) -> bool) -> bool {
    matches!(columns, [name] if name.0.last().and_then(ObjectNamePart::as_ident).is_some_and(is))
}

/// Whether an action that sets this does nothing.
pub(super) fn does_nothing(assignments: &[Assignment]) -> bool {
    match assignments {
        [Assignment { target: AssignmentTarget::ColumnName(name), .. }] => {
            is_named(std::slice::from_ref(name), is_nothing)
        }
        _ => false,
    }
}

fn column(name: &str) -> Token {
    Token::Word(Word { value: name.to_owned(), quote_style: Some(BRACKET), keyword: Keyword::NoKeyword })
}

/// `INSERT ([name]) VALUES (NULL)`.
fn insertion(name: &str) -> Vec<Token> {
    vec![
        Token::make_keyword("INSERT"),
        Token::LParen,
        column(name),
        Token::RParen,
        Token::make_keyword("VALUES"),
        Token::LParen,
        Token::make_keyword("NULL"),
        Token::RParen,
    ]
}

/// `UPDATE SET [name] = NULL`.
fn update(name: &str) -> Vec<Token> {
    vec![
        Token::make_keyword("UPDATE"),
        Token::make_keyword("SET"),
        column(name),
        Token::Eq,
        Token::make_keyword("NULL"),
    ]
}

/// Has the parser read them so. Errors: 42601 for an action that its clause has not.
pub(super) fn plain_actions(text: &str, tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    if !is(tokens.first(), "merge") && !is(tokens.first(), "with") {
        return Ok(());
    }
    let mut is_matched = true;
    let mut all: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let word = |after: usize, word: &str| is(tokens.get(at + after), word);
        if word(0, "when") && (word(1, "matched") || word(1, "not") && word(2, "matched")) {
            is_matched = word(1, "matched");
        }
        let ends = tokens.get(at + 2).is_none() || word(2, "when");
        let is_wrong = match is_matched {
            true => word(1, "insert") && !ends,
            false => word(1, "update") && word(2, "set") || word(1, "delete") && ends,
        };
        if word(0, "then") && is_wrong {
            return Err(unexpected(&tokens[at + 1], text));
        }
        let made = if !word(0, "then") {
            None
        } else if word(1, "do") && word(2, "nothing") {
            Some((2, if is_matched { update(NOTHING) } else { insertion(NOTHING) }))
        } else if word(1, "insert") && word(2, "default") && word(3, "values") {
            Some((3, insertion(DEFAULTS)))
        } else {
            None
        };
        all.push(tokens[at].clone());
        at += 1;
        if let Some((count, made)) = made {
            let span = tokens[at].span;
            all.extend(made.into_iter().map(|token| TokenWithSpan { token, span }));
            at += count;
        }
    }
    *tokens = all;
    Ok(())
}
