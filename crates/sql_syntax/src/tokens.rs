//! What is seen of a text before it is parsed.

use crate::limits::{CHAIN_MAX, DIMENSIONS_MAX, NAME_PARTS_MAX};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, TokenizerError, Word};

/// Why tokens are not parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Their tree would be too deep: SQLSTATE 54001.
    TooDeep,
    /// They are no SQL, as this token shows.
    Near(String),
}

/// The tokens, blanks and comments left out.
pub fn tokenize(text: &str) -> Result<Vec<TokenWithSpan>, TokenizerError> {
    let mut tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location()?;
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF));
    Ok(tokens)
}

/// An upper bound of how deep the tree of these tokens, as it is parsed, can be. Between two commas of one pair of parentheses an operator adds a level;
/// what encloses them adds its own, and each parenthesis one.
pub fn bound(tokens: &[TokenWithSpan]) -> Result<usize, Refused> {
    let mut open: Vec<usize> = Vec::new();
    let (mut outside, mut here, mut deepest) = (0usize, 0usize, 0usize);
    let (mut parts, mut dimensions) = (0, 0);
    let mut before: Option<&Token> = None;
    for token in tokens {
        let token = &token.token;
        match token {
            Token::LParen | Token::LBracket => {
                open.push(here);
                outside += here + 1;
                here = 0;
            }
            Token::RParen | Token::RBracket => {
                if let Some(enclosing) = open.pop() {
                    here = enclosing;
                    outside -= here + 1;
                }
            }
            Token::Comma => here = 0,
            Token::SemiColon => {
                open.clear();
                (outside, here) = (0, 0);
            }
            Token::Number(..) | Token::SingleQuotedString(_) | Token::Placeholder(_) | Token::Period => {}
            Token::Word(word) if !is_connective(word) => {}
            _ => here += 1,
        }
        // The parser follows INTERVAL into what is behind it without counting how deep it is.
        if is_interval(token) && before.is_some_and(is_interval) {
            return Err(Refused::Near(token.to_string()));
        }
        parts = match token {
            Token::Period => parts + 1,
            Token::Word(_) if before == Some(&Token::Period) => parts,
            Token::LBracket | Token::RBracket | Token::LParen | Token::RParen | Token::Number(..) => parts,
            _ => 0,
        };
        if parts >= NAME_PARTS_MAX {
            return Err(Refused::Near(".".to_owned()));
        }
        dimensions = match token {
            Token::RBracket if before == Some(&Token::LBracket) => dimensions + 1,
            Token::LBracket | Token::RBracket | Token::Number(..) => dimensions,
            _ => 0,
        };
        deepest = deepest.max(outside + here);
        if deepest > CHAIN_MAX || dimensions > DIMENSIONS_MAX {
            return Err(Refused::TooDeep);
        }
        before = Some(token);
    }
    Ok(deepest)
}

fn is_interval(token: &Token) -> bool {
    matches!(token, Token::Word(word) if word.keyword == Keyword::INTERVAL)
}

/// Words that make a syntax tree deeper without a parenthesis.
fn is_connective(word: &Word) -> bool {
    use Keyword::*;
    matches!(
        word.keyword,
        AND | OR
            | NOT
            | IS
            | NOTNULL
            | LIKE
            | ILIKE
            | SIMILAR
            | BETWEEN
            | IN
            | UNION
            | EXCEPT
            | INTERSECT
            | JOIN
            | COLLATE
            | CASE
            | AT
            | OPERATOR
            | EXPLAIN
    )
}

/// Leaves out pairs of parentheses that stand directly within another pair and directly around a third: they mean nothing anywhere. A single pair and
/// a pair of pairs may: `VALUES ((1, 2))` has one column, `VALUES (1, 2)` two.
pub(crate) fn without_idle_parentheses(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut open: Vec<usize> = Vec::new();
    // Where the parenthesis that is opened here is closed; itself for everything else.
    let mut partner: Vec<usize> = (0..tokens.len()).collect();
    for (place, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen => open.push(place),
            Token::RParen => {
                if let Some(opened) = open.pop() {
                    partner[opened] = place;
                }
            }
            _ => {}
        }
    }
    let encloses = |outer: usize, inner: usize| {
        partner[outer] > outer && partner[inner] > inner && partner[outer] == partner[inner] + 1
    };
    let mut is_idle = vec![false; tokens.len()];
    for place in 1..tokens.len().saturating_sub(1) {
        if encloses(place - 1, place) && encloses(place, place + 1) {
            is_idle[place] = true;
            is_idle[partner[place]] = true;
        }
    }
    let mut place = 0;
    tokens.retain(|_| {
        place += 1;
        !is_idle[place - 1]
    });
    tokens
}
