//! Tokens, one at a time: what follows a statement of the session's own is not QUEL, and is not looked at.

use crate::error::{QuelError, QuelResult, sqlstate};
use crate::limits::NAME_BYTES_MAX;
use crate::patterns::TextLiteral;

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuelTokenKind {
    /// A word in lower case, cut to [`NAME_BYTES_MAX`].
    Word(String),
    /// Digits, with a point or an exponent or without.
    Number(String),
    /// A string between double quotes.
    Text(TextLiteral),
    /// `$n`.
    Parameter(u32),
    /// Punctuation.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// A token and its place in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuelToken {
    /// What it is.
    pub kind: QuelTokenKind,
    /// Where it begins.
    pub start: usize,
    /// Where it has ended.
    pub end: usize,
}

/// Longer ones before those that they begin with.
const SYMBOLS: &[&str] = &["**", "!=", "<=", ">=", "(", ")", ",", ".", ":", ";", "=", "<", ">", "+", "-", "*", "/"];

/// The token that begins at or behind `from`, blanks and comments passed over.
pub fn token(text: &str, from: usize) -> QuelResult<QuelToken> {
    let start = skip_blanks(text, from)?;
    let rest = &text[start..];
    let Some(first) = rest.chars().next() else {
        return Ok(QuelToken { kind: QuelTokenKind::End, start, end: start });
    };
    let second_is_digit = rest[first.len_utf8()..].starts_with(|c: char| c.is_ascii_digit());
    if first.is_alphabetic() || first == '_' {
        let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len());
        return Ok(QuelToken {
            kind: QuelTokenKind::Word(
                rest[..rest.floor_char_boundary(length.min(NAME_BYTES_MAX))].to_ascii_lowercase(),
            ),
            start,
            end: start + length,
        });
    }
    if first.is_ascii_digit() || (first == '.' && second_is_digit) {
        let length = number(rest);
        return Ok(QuelToken { kind: QuelTokenKind::Number(rest[..length].to_owned()), start, end: start + length });
    }
    if first == '$' && second_is_digit {
        let digits = rest[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - 1);
        let number = rest[1..=digits].parse().map_err(|_| QuelError::syntax(&rest[..=digits], start))?;
        return Ok(QuelToken { kind: QuelTokenKind::Parameter(number), start, end: start + 1 + digits });
    }
    if first == '"' {
        let (literal, length) = TextLiteral::read(rest)
            .ok_or_else(|| QuelError::new(sqlstate::SYNTAX_ERROR, "unterminated quoted string", start))?;
        return Ok(QuelToken { kind: QuelTokenKind::Text(literal), start, end: start + length });
    }
    match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        Some(symbol) => Ok(QuelToken { kind: QuelTokenKind::Symbol(symbol), start, end: start + symbol.len() }),
        None => Err(QuelError::syntax(&first.to_string(), start)),
    }
}

/// Behind blanks and comments. Errors: 42601 for a comment that does not end.
fn skip_blanks(text: &str, from: usize) -> QuelResult<usize> {
    let mut at = from;
    loop {
        let rest = &text[at..];
        at += rest.len() - rest.trim_start().len();
        if !text[at..].starts_with("/*") {
            return Ok(at);
        }
        match text[at + 2..].find("*/") {
            Some(length) => at += length + 4,
            None => return Err(QuelError::new(sqlstate::SYNTAX_ERROR, "unterminated /* comment", at)),
        }
    }
}

/// Bytes of the number that a text begins with.
fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

/// Where a statement of the session's own ends: at a semicolon outside of its strings and comments, or with the text.
pub fn session_statement_end(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            b';' => return at,
            quote @ (b'\'' | b'"') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote {
                    at += 1;
                }
            }
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = text[at + 2..].find("*/").map_or(bytes.len(), |length| at + length + 4);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}
