//! Places in a statement's text: lines and columns, as the parser tells them, to bytes and characters.

use crate::errors::SqlError;
use sqlparser::tokenizer::{Location, TokenWithSpan};

/// `syntax error at or near` a token.
pub fn unexpected(token: &TokenWithSpan, text: &str) -> Box<SqlError> {
    SqlError::syntax(&token.token).at(position(text, token.span.start))
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
pub(super) struct Cursor<'a> {
    text: &'a str,
    rest: std::str::Chars<'a>,
    at: Location,
}

impl<'a> Cursor<'a> {
    /// At the beginning of a text.
    pub(super) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, rest: text.chars(), at: Location::new(1, 1) }
    }

    /// The byte at which this place begins.
    pub(super) fn offset(&mut self, to: Location) -> usize {
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
