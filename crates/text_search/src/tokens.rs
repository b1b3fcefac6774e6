//! Takes a text apart into tokens, as PostgreSQL's default parser does with a database whose character type is C: every
//! character beyond ASCII is a letter there.
//!
//! A reader stands at the start of a token and tries what may begin there, the longest kinds first. What does not lead
//! to
//! a token is forgotten, and the next kind is tried. Compound tokens (a URL, a word with hyphens) are read once as a
//! whole,
//! and once more in parts.
//!
//! Invariant: the bytes of all tokens that are no compound ones are the text.

mod addresses;
mod marks;
mod numbers;
mod paths;
mod words;

use crate::token::TokenKind;
use std::cell::Cell;

/// One piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchToken<'a> {
    /// What it is.
    pub kind: TokenKind,
    /// Its characters.
    pub text: &'a str,
}

/// How the next token starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenStart {
    Anything,
    PartOfHyphenWord,
    PathOfUrl,
    Number,
}

/// A token that was found: where it ends, and how reading goes on.
#[derive(Clone, Copy, Debug)]
struct FoundToken {
    kind: TokenKind,
    end: usize,
    next: TokenStart,
    /// Whether its parts follow: reading goes on where the token started.
    again: bool,
}

impl FoundToken {
    fn new(kind: TokenKind, end: usize) -> Self {
        Self { kind, end, next: TokenStart::Anything, again: false }
    }
}

/// Reads tokens one after the other.
pub struct SearchTokens<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    start: TokenStart,
    /// A host ends before its path; no address of mail is wanted.
    wants_host: Cell<bool>,
    /// Within a script or a style, where all but tags is blank.
    ignores: Cell<bool>,
    /// How many readers wait for this one.
    depth: usize,
}

impl<'a> SearchTokens<'a> {
    /// Reads this text.
    pub fn new(text: &'a str) -> Self {
        let start = TokenStart::Anything;
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            start,
            wants_host: Cell::new(false),
            ignores: Cell::new(false),
            depth: 0,
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    fn is(&self, at: usize, test: fn(u8) -> bool) -> bool {
        self.byte(at).is_some_and(test)
    }

    /// The first place from here on where the test fails.
    fn behind(&self, at: usize, test: fn(u8) -> bool) -> usize {
        self.bytes[at..].iter().position(|byte| !test(*byte)).map_or(self.bytes.len(), |count| at + count)
    }

    fn found(&self, start: TokenStart, at: usize) -> Option<FoundToken> {
        match start {
            TokenStart::PathOfUrl => Some(FoundToken::new(TokenKind::UrlPath, self.behind(self.after(at), is_of_url))),
            TokenStart::Number => Some(self.number(at)),
            TokenStart::PartOfHyphenWord => {
                self.part_of_hyphen_word(at).or_else(|| self.found(TokenStart::Anything, at))
            }
            TokenStart::Anything => {
                let first = self.byte(at)?;
                if first == b'<' {
                    return Some(self.tag(at).unwrap_or_else(|| self.blank(at)));
                }
                if self.ignores.get() {
                    return Some(self.blank(at));
                }
                let found = match first {
                    _ if first.is_ascii_alphabetic() => Some(self.ascii_word(at)),
                    _ if is_letter(first) => Some(self.word(at)),
                    _ if first.is_ascii_digit() => Some(self.number(at)),
                    b'-' | b'+' => self.signed_number(at),
                    b'&' => self.entity(at),
                    b'~' | b'/' | b'.' => self.path(at),
                    _ => None,
                };
                Some(found.unwrap_or_else(|| self.blank(at)))
            }
        }
    }

    /// The place behind the character here.
    fn after(&self, at: usize) -> usize {
        at + self.text[at..].chars().next().map_or(0, char::len_utf8)
    }

    /// What is nothing else, up to where something may begin.
    fn blank(&self, at: usize) -> FoundToken {
        let mut end = at + 1;
        while let Some(byte) = self.byte(end) {
            let goes_on = match byte {
                b'<' => false,
                _ if self.ignores.get() => true,
                b'-' | b'+' | b'&' | b'/' => false,
                byte => !is_alphanumeric(byte),
            };
            if !goes_on {
                break;
            }
            end += 1;
        }
        // Only within a script can it start or end amid a character.
        while !self.text.is_char_boundary(end) {
            end += 1;
        }
        FoundToken::new(TokenKind::Blank, end)
    }
}

impl<'a> Iterator for SearchTokens<'a> {
    type Item = SearchToken<'a>;

    fn next(&mut self) -> Option<SearchToken<'a>> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let found = self.found(self.start, self.at)?;
        let token = SearchToken { kind: found.kind, text: &self.text[self.at..found.end] };
        self.start = found.next;
        if !found.again {
            self.at = found.end;
        }
        Some(token)
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || !byte.is_ascii()
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

fn is_ascii_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic()
}

fn is_ascii_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

/// What may begin a part of a path.
fn is_of_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// What RFC 3986 lets stand in a URL, and some more.
fn is_of_url(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}')
}

/// White space in the locale C.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}
