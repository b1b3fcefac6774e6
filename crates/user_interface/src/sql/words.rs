//! The tokens of a statement, read from the front.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::names;
use crate::sql::places::{offset, unexpected};
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use std::sync::Arc;

/// Tokens of a statement, read from the front.
pub(super) struct Words<'a> {
    pub(super) text: &'a str,
    pub(super) rest: &'a [TokenWithSpan],
}

impl Words<'_> {
    pub(super) fn peek(&self) -> Option<&Token> {
        self.rest.first().map(|token| &token.token)
    }

    /// The next token as an unquoted word, lower-case, if it is one.
    pub(super) fn peek_keyword(&self) -> Option<String> {
        match self.peek() {
            Some(Token::Word(Word { value, quote_style: None, .. })) => Some(value.to_ascii_lowercase()),
            _ => None,
        }
    }

    pub(super) fn peek_is(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(Word { value, quote_style: None, .. })) if value.eq_ignore_ascii_case(word))
    }

    pub(super) fn peek_is_quoted(&self) -> bool {
        matches!(self.peek(), Some(Token::Word(word)) if word.quote_style.is_some())
    }

    pub(super) fn advance(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or(&[]);
    }

    pub(super) fn keyword(&mut self) -> Option<String> {
        let word = self.peek_keyword()?;
        self.advance();
        Some(word)
    }

    /// Passes over one of these words, if it is next.
    pub(super) fn skip(&mut self, any: &[&str]) -> bool {
        let found = any.iter().any(|word| self.peek_is(word));
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn skip_token(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn error(&self) -> Box<SqlError> {
        match self.rest.first() {
            Some(token) => unexpected(token, self.text),
            None => SqlError::new(sqlstate::SYNTAX_ERROR, "syntax error at end of input"),
        }
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<()> {
        if self.skip(&[word]) { Ok(()) } else { Err(self.error()) }
    }

    pub(super) fn expect_token(&mut self, token: &Token) -> Result<()> {
        if self.skip_token(token) { Ok(()) } else { Err(self.error()) }
    }

    /// An identifier, folded.
    pub(super) fn name(&mut self) -> Result<String> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let name = names::fold(&word.value, word.quote_style.is_some());
                self.advance();
                Ok(name)
            }
            _ => Err(self.error()),
        }
    }

    /// A text: `'...'`.
    pub(super) fn string(&mut self) -> Result<String> {
        match self.peek() {
            Some(Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text)) => {
                let text = text.clone();
                self.advance();
                Ok(text)
            }
            _ => Err(self.error()),
        }
    }

    /// A text, between quotes or dollars.
    pub(super) fn quoted_text(&mut self) -> Result<String> {
        match self.peek() {
            Some(Token::DollarQuotedString(quoted)) => {
                let text = quoted.value.clone();
                self.advance();
                Ok(text)
            }
            _ => self.string(),
        }
    }

    /// The text from the next token to the statement's end.
    pub(super) fn remaining_text(&self) -> Result<Arc<str>> {
        match (self.rest.first(), self.rest.last()) {
            (Some(first), Some(last)) => {
                let (start, end) = (offset(self.text, first.span.start), offset(self.text, last.span.end));
                Ok(Arc::from(self.text[start..end].trim_end()))
            }
            _ => Err(self.error()),
        }
    }
}

/// Whether a token is this word, unquoted.
pub(super) fn is(token: Option<&TokenWithSpan>, word: &str) -> bool {
    match token.map(|token| &token.token) {
        Some(Token::Word(found)) => found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word),
        _ => false,
    }
}

/// What stands from the first of these tokens to the last.
pub(super) fn slice<'t>(text: &'t str, tokens: &[TokenWithSpan]) -> &'t str {
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => text[offset(text, first.span.start)..offset(text, last.span.end)].trim_end(),
        _ => "",
    }
}
