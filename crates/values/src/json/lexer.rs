//! Tokens of a JSON text, and PostgreSQL 15's errors about them.
//!
//! Invariant: a token lies where whole characters begin and end, also one that is wrong.

use crate::error::{ValueError, sqlstate};
use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonToken {
    String,
    Number,
    True,
    False,
    Null,
    ObjectStart,
    ObjectEnd,
    ArrayStart,
    ArrayEnd,
    Comma,
    Colon,
    End,
}

/// What is done with the escapes of strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escapes {
    /// They become the characters that they stand for.
    Decoded,
    /// Only their form is looked at, as of a `json` that is stored: strings are empty.
    Kept,
}

/// Reads tokens one after the other. The token at hand is `token`, at `place`.
pub(super) struct Lexer<'t> {
    text: &'t str,
    escapes: Escapes,
    pub(super) token: JsonToken,
    pub(super) place: Range<usize>,
    /// The characters of the string at hand.
    pub(super) string: String,
}

impl<'t> Lexer<'t> {
    /// At the first token.
    pub(super) fn new(text: &'t str, escapes: Escapes) -> Result<Self, ValueError> {
        let mut lexer = Lexer { text, escapes, token: JsonToken::End, place: 0..0, string: String::new() };
        lexer.advance()?;
        Ok(lexer)
    }

    /// Goes to the next token.
    pub(super) fn advance(&mut self) -> Result<(), ValueError> {
        let bytes = self.text.as_bytes();
        let blanks = bytes[self.place.end..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        let start = self.place.end + blanks.count();
        self.place = start..start;
        let Some(first) = bytes.get(start) else {
            self.token = JsonToken::End;
            return Ok(());
        };
        self.token = match first {
            b'{' => self.single(JsonToken::ObjectStart),
            b'}' => self.single(JsonToken::ObjectEnd),
            b'[' => self.single(JsonToken::ArrayStart),
            b']' => self.single(JsonToken::ArrayEnd),
            b',' => self.single(JsonToken::Comma),
            b':' => self.single(JsonToken::Colon),
            b'"' => return self.string(),
            b'-' | b'0'..=b'9' => return self.number(),
            _ => return self.word(),
        };
        Ok(())
    }

    fn single(&mut self, token: JsonToken) -> JsonToken {
        self.place.end = self.place.start + 1;
        token
    }

    /// `true`, `false` or `null`; what else is written in letters is one wrong token.
    fn word(&mut self) -> Result<(), ValueError> {
        let rest = &self.text[self.place.start..];
        let length = rest.bytes().take_while(|byte| is_of_word(*byte)).count();
        let length = if length == 0 { rest.chars().next().map_or(0, char::len_utf8) } else { length };
        self.place.end = self.place.start + length;
        self.token = match &rest[..length] {
            "true" => JsonToken::True,
            "false" => JsonToken::False,
            "null" => JsonToken::Null,
            _ => return Err(self.invalid_token()),
        };
        Ok(())
    }

    fn number(&mut self) -> Result<(), ValueError> {
        let rest = &self.text.as_bytes()[self.place.start..];
        let mut length = usize::from(rest[0] == b'-');
        let digits = |from: usize| rest[from.min(rest.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut is_valid = true;
        match rest.get(length) {
            Some(b'0') => length += 1,
            Some(b'1'..=b'9') => length += digits(length),
            _ => is_valid = false,
        }
        if rest.get(length) == Some(&b'.') {
            let decimals = digits(length + 1);
            is_valid &= decimals > 0;
            length += 1 + decimals;
        }
        if let Some(b'e' | b'E') = rest.get(length) {
            length += 1 + usize::from(matches!(rest.get(length + 1), Some(b'+' | b'-')));
            let exponent = digits(length);
            is_valid &= exponent > 0;
            length += exponent;
        }
        let garbage = rest[length..].iter().take_while(|byte| is_of_word(**byte)).count();
        self.place.end = self.place.start + length + garbage;
        self.token = JsonToken::Number;
        if is_valid && garbage == 0 { Ok(()) } else { Err(self.invalid_token()) }
    }

    fn string(&mut self) -> Result<(), ValueError> {
        self.token = JsonToken::String;
        self.string.clear();
        let bytes = self.text.as_bytes();
        let mut at = self.place.start + 1;
        // The first half of a character beyond 16 bits.
        let mut high: Option<u32> = None;
        loop {
            let plain = bytes[at..].iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..=31)).count();
            if plain > 0 {
                self.no_half(high)?;
                if self.escapes == Escapes::Decoded {
                    self.string.push_str(&self.text[at..at + plain]);
                }
                at += plain;
            }
            match bytes.get(at) {
                None => {
                    self.place.end = at;
                    return Err(self.invalid_token());
                }
                Some(b'"') => break,
                Some(b'\\') => at = self.escape(at + 1, &mut high)?,
                Some(control) => {
                    self.place.end = at;
                    return Err(syntax(format!("Character with value 0x{control:02x} must be escaped.")));
                }
            }
        }
        self.no_half(high)?;
        self.place.end = at + 1;
        Ok(())
    }

    /// What follows a backslash; returns where it ends.
    fn escape(&mut self, at: usize, high: &mut Option<u32>) -> Result<usize, ValueError> {
        let Some(letter) = self.text[at..].chars().next() else {
            self.place.end = at;
            return Err(self.invalid_token());
        };
        if letter == 'u' {
            return self.unicode_escape(at + 1, high);
        }
        self.no_half(*high)?;
        let character = match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            _ => {
                self.place = at..at + letter.len_utf8();
                return Err(syntax(format!("Escape sequence \"\\{letter}\" is invalid.")));
            }
        };
        if self.escapes == Escapes::Decoded {
            self.string.push(character);
        }
        Ok(at + 1)
    }

    /// Four hexadecimal digits.
    fn unicode_escape(&mut self, at: usize, high: &mut Option<u32>) -> Result<usize, ValueError> {
        let mut code = 0;
        for digit in at..at + 4 {
            let Some(character) = self.text[digit..].chars().next() else {
                self.place.end = digit;
                return Err(self.invalid_token());
            };
            let Some(value) = character.to_digit(16) else {
                self.place.end = digit + character.len_utf8();
                return Err(syntax("\"\\u\" must be followed by four hexadecimal digits."));
            };
            code = code << 4 | value;
        }
        if self.escapes == Escapes::Kept {
            return Ok(at + 4);
        }
        match (code, *high) {
            (0xd800..=0xdbff, None) => *high = Some(code),
            (0xd800..=0xdbff, Some(_)) => {
                return Err(syntax("Unicode high surrogate must not follow a high surrogate."));
            }
            (0xdc00..=0xdfff, Some(first)) => {
                *high = None;
                let whole = 0x10000 + ((first & 0x3ff) << 10 | code & 0x3ff);
                self.string.extend(char::from_u32(whole));
            }
            (0xdc00..=0xdfff, None) | (_, Some(_)) => return Err(lone_low_surrogate()),
            (0, None) => {
                let error = ValueError::new(sqlstate::UNTRANSLATABLE_CHARACTER, "unsupported Unicode escape sequence");
                return Err(error.with_detail("\\u0000 cannot be converted to text."));
            }
            (_, None) => self.string.extend(char::from_u32(code)),
        }
        Ok(at + 4)
    }

    fn no_half(&self, high: Option<u32>) -> Result<(), ValueError> {
        if high.is_some() { Err(lone_low_surrogate()) } else { Ok(()) }
    }

    /// The text of the token at hand.
    pub(super) fn written(&self) -> &'t str {
        &self.text[self.place.clone()]
    }

    fn invalid_token(&self) -> ValueError {
        syntax(format!("Token \"{}\" is invalid.", self.written()))
    }

    /// Another token than the one that had to be there.
    #[cold]
    pub(super) fn expected(&self, what: &str) -> ValueError {
        match self.token {
            JsonToken::End => syntax("The input string ended unexpectedly."),
            _ => syntax(format!("Expected {what}, but found \"{}\".", self.written())),
        }
    }
}

/// What belongs to a word, or makes a number wrong that it follows.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

#[cold]
fn lone_low_surrogate() -> ValueError {
    syntax("Unicode low surrogate must follow a high surrogate.")
}

/// 22P02 with what is wrong.
#[cold]
fn syntax(detail: impl Into<Box<str>>) -> ValueError {
    ValueError::new(sqlstate::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json").with_detail(detail)
}
