//! Tokens of a body, by the rules of SQL's scanner: what PL/pgSQL has of its own are a few marks.
//!
//! Invariant: tokens follow each other in the text, and none is empty but the last.

use crate::error::{PlpgsqlResult, RoutineError};
use crate::limits::NAME_BYTES_MAX;

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyTokenKind {
    /// A word, folded to lower case; true: it was quoted, and is what it was.
    Word(String, bool),
    /// A number.
    Number,
    /// A string, what it says.
    Text(String),
    /// `$1`.
    Parameter(u32),
    /// A mark of one character, or of several: `:=`, `..`, `<<`, `>>`, `::`, `=>`.
    Mark(&'static str),
    /// Any other character, or a run of characters of operators.
    Other,
    /// The end of the text.
    End,
}

/// A token and its place in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyToken {
    /// What it is.
    pub kind: BodyTokenKind,
    /// Where it begins.
    pub start: usize,
    /// Where it has ended.
    pub end: usize,
}

impl BodyToken {
    /// Whether it is this word, unquoted.
    pub fn is(&self, word: &str) -> bool {
        matches!(&self.kind, BodyTokenKind::Word(found, false) if found == word)
    }

    /// Whether it is this mark.
    pub fn is_mark(&self, mark: &str) -> bool {
        matches!(self.kind, BodyTokenKind::Mark(found) if found == mark)
    }
}

/// Longer ones before those that they begin with.
const MARKS: &[&str] =
    &[":=", "..", "<<", ">>", "::", "=>", "(", ")", "[", "]", ",", ".", ";", ":", "=", "#", "%", "<", ">"];
/// Of which operators of SQL are made.
const OPERATOR: &str = "+-*/<>=~!@#%^&|`?";

/// All tokens of a body.
pub fn tokens(text: &str) -> PlpgsqlResult<Vec<BodyToken>> {
    let mut all = Vec::with_capacity(text.len() / 5 + 1);
    let mut at = 0;
    loop {
        let token = token(text, at)?;
        at = token.end;
        let is_last = token.kind == BodyTokenKind::End;
        all.push(token);
        if is_last {
            return Ok(all);
        }
    }
}

/// The token at or behind `from`, blanks and comments passed over.
pub fn token(text: &str, from: usize) -> PlpgsqlResult<BodyToken> {
    let start = skip_blanks(text, from)?;
    let rest = &text[start..];
    let token = |kind, length: usize| Ok(BodyToken { kind, start, end: start + length });
    let mut characters = rest.chars();
    let Some(first) = characters.next() else { return token(BodyTokenKind::End, 0) };
    let second = characters.next();
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    if matches!(first, 'e' | 'E' | 'b' | 'B' | 'x' | 'X' | 'n' | 'N') && second == Some('\'') {
        let (said, length) = quoted(text, start + 1, matches!(first, 'e' | 'E'))?;
        return token(BodyTokenKind::Text(said), 1 + length);
    }
    if matches!(first, 'u' | 'U') && rest.get(1..3).is_some_and(|two| two == "&'" || two == "&\"") {
        let (said, length) = match rest.get(2..3) {
            Some("'") => quoted(text, start + 2, false)?,
            _ => quoted_name(text, start + 2)?,
        };
        return token(BodyTokenKind::Text(said), 2 + length);
    }
    if is_name_start(first) {
        let length = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        let folded: String = rest[..length].chars().map(|c| c.to_ascii_lowercase()).collect();
        return token(BodyTokenKind::Word(cut(&folded), false), length);
    }
    if first == '"' {
        let (said, length) = quoted_name(text, start)?;
        return token(BodyTokenKind::Word(cut(&said), true), length);
    }
    if first == '\'' {
        let (said, length) = quoted(text, start, false)?;
        return token(BodyTokenKind::Text(said), length);
    }
    if first == '$' {
        if is_digit(second) {
            let length = 1 + rest[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - 1);
            return token(BodyTokenKind::Parameter(rest[1..length].parse().unwrap_or(0)), length);
        }
        return match dollar_quoted(rest) {
            Some(Ok((said, length))) => token(BodyTokenKind::Text(said), length),
            Some(Err(())) => Err(unterminated("dollar-quoted string", rest, start)),
            None => token(BodyTokenKind::Other, 1),
        };
    }
    if first.is_ascii_digit() || (first == '.' && is_digit(second)) {
        return token(BodyTokenKind::Number, number(rest));
    }
    let run = operator(rest);
    let mark = MARKS.iter().find(|mark| rest.starts_with(**mark));
    match mark {
        Some(mark) if run <= mark.len() => token(BodyTokenKind::Mark(mark), mark.len()),
        _ => token(BodyTokenKind::Other, run.max(first.len_utf8())),
    }
}

fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}

fn is_name(c: char) -> bool {
    is_name_start(c) || c.is_ascii_digit() || c == '$'
}

fn cut(name: &str) -> String {
    name[..name.floor_char_boundary(name.len().min(NAME_BYTES_MAX))].to_owned()
}

/// Bytes of an operator; comments end it.
fn operator(rest: &str) -> usize {
    let run = rest.find(|c: char| !OPERATOR.contains(c)).unwrap_or(rest.len());
    let comment = ["--", "/*"].iter().filter_map(|begin| rest[..run].find(begin)).min();
    let run = comment.unwrap_or(run);
    // A minus or plus at the end belongs to what follows, unless the operator has characters that SQL's own do not.
    let own = |c: char| "~!@#%^&|`?".contains(c);
    match rest[..run].contains(own) {
        true => run,
        false => {
            let trimmed = rest[..run].trim_end_matches(['+', '-']).len();
            if trimmed == 0 && run > 0 { 1 } else { trimmed }
        }
    }
}

/// Bytes of a number. Two points behind digits are a range.
fn number(rest: &str) -> usize {
    let digits =
        |from: usize| rest[from..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |found| from + found);
    let mut end = digits(0);
    if rest[end..].starts_with('.') && !rest[end..].starts_with("..") {
        end = digits(end + 1);
    }
    if rest[end..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

fn unterminated(what: &str, rest: &str, at: usize) -> Box<RoutineError> {
    RoutineError::syntax(format!("unterminated {what} at or near \"{rest}\""), at)
}

/// What a string at this quote says, and its bytes.
fn quoted(text: &str, at: usize, has_escapes: bool) -> PlpgsqlResult<(String, usize)> {
    let rest = &text[at..];
    let mut said = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((place, c)) = characters.next() {
        match c {
            '\'' if characters.peek().is_some_and(|(_, next)| *next == '\'') => {
                characters.next();
                said.push('\'');
            }
            '\'' => return Ok((said, place + 1)),
            '\\' if has_escapes => match characters.next() {
                Some((_, 'n')) => said.push('\n'),
                Some((_, 't')) => said.push('\t'),
                Some((_, 'r')) => said.push('\r'),
                Some((_, other)) => said.push(other),
                None => break,
            },
            other => said.push(other),
        }
    }
    Err(unterminated("quoted string", rest, at))
}

fn quoted_name(text: &str, at: usize) -> PlpgsqlResult<(String, usize)> {
    let rest = &text[at..];
    let mut said = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((place, c)) = characters.next() {
        match c {
            '"' if characters.peek().is_some_and(|(_, next)| *next == '"') => {
                characters.next();
                said.push('"');
            }
            '"' if said.is_empty() => {
                return Err(RoutineError::syntax("zero-length delimited identifier at or near \"\"\"\"", at));
            }
            '"' => return Ok((said, place + 1)),
            other => said.push(other),
        }
    }
    Err(unterminated("quoted identifier", rest, at))
}

/// What a string between dollars says, and its bytes; an error if it does not end, `None` if it is none.
fn dollar_quoted(rest: &str) -> Option<Result<(String, usize), ()>> {
    let tag = rest[1..].find('$')?;
    let name = &rest[1..=tag];
    let is_tag = name.is_empty() || (name.starts_with(is_name_start) && name.chars().all(|c| is_name(c) && c != '$'));
    if !is_tag {
        return None;
    }
    let quote = &rest[..tag + 2];
    let inner = &rest[quote.len()..];
    Some(inner.find(quote).map(|end| (inner[..end].to_owned(), 2 * quote.len() + end)).ok_or(()))
}

fn skip_blanks(text: &str, from: usize) -> PlpgsqlResult<usize> {
    let mut at = from;
    loop {
        let rest = &text[at..];
        let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0c', '\x0b']);
        at += rest.len() - trimmed.len();
        if trimmed.starts_with("--") {
            at += trimmed.find(['\n', '\r']).unwrap_or(trimmed.len());
        } else if trimmed.starts_with("/*") {
            at += comment(trimmed).ok_or_else(|| unterminated("/* comment", trimmed, at))?;
        } else {
            return Ok(at);
        }
    }
}

/// Bytes of a comment; others may lie in it.
fn comment(rest: &str) -> Option<usize> {
    let (mut depth, mut at) = (0, 0);
    loop {
        let open = rest[at..].find("/*").map(|found| at + found);
        let close = at + rest[at..].find("*/")?;
        match open {
            Some(open) if open < close => (depth, at) = (depth + 1, open + 2),
            _ => (depth, at) = (depth - 1, close + 2),
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// The line of a place, from 1, as PL/pgSQL counts: a body that begins with a line's end counts from behind it.
pub fn line(text: &str, at: usize) -> u32 {
    let ends = text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count();
    ends as u32 + 1
}
