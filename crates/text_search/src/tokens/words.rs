//! Words, with hyphens and without.

use super::addresses::HostPlace;
use super::{
    FoundToken, SearchTokens, TokenStart, is_alphanumeric, is_ascii_alphanumeric, is_ascii_letter, is_digit, is_letter,
};
use crate::token::TokenKind;

impl SearchTokens<'_> {
    /// What begins with a letter of ASCII.
    pub(super) fn ascii_word(&self, at: usize) -> FoundToken {
        let end = self.behind(at, is_ascii_letter);
        let Some(byte) = self.byte(end) else { return FoundToken::new(TokenKind::AsciiWord, end) };
        let behind = end + 1;
        let found = match byte {
            b'.' => self.host(HostPlace::DomainFirst, behind).or_else(|| self.file_behind_dot(behind)),
            b'-' => {
                let host = self.host(HostPlace::LabelFirst, behind);
                host.or_else(|| self.hyphen_word(TokenKind::AsciiHyphenWord, behind))
            }
            b'_' => self.host(HostPlace::LabelFirst, behind),
            b'@' => self.email(behind),
            b':' if self.bytes[behind..].starts_with(b"//") => Some(FoundToken::new(TokenKind::Protocol, behind + 2)),
            b'/' => self.file_behind_slash(behind),
            byte if byte.is_ascii_digit() => self.host(HostPlace::Label, behind),
            _ => None,
        };
        match found {
            Some(found) => found,
            None if byte.is_ascii_digit() => self.num_word(end),
            None if is_letter(byte) => self.word(end),
            None => FoundToken::new(TokenKind::AsciiWord, end),
        }
    }

    /// A word of letters that goes on here.
    pub(super) fn word(&self, at: usize) -> FoundToken {
        let end = self.behind(at, is_letter);
        match self.byte(end) {
            Some(byte) if byte.is_ascii_digit() => self.num_word(end),
            Some(b'-') => {
                self.hyphen_word(TokenKind::HyphenWord, end + 1).unwrap_or(FoundToken::new(TokenKind::Word, end))
            }
            _ => FoundToken::new(TokenKind::Word, end),
        }
    }

    /// A word with digits that goes on here.
    pub(super) fn num_word(&self, at: usize) -> FoundToken {
        let end = self.behind(at, is_alphanumeric);
        let found = match self.byte(end) {
            Some(b'@') => self.email(end + 1),
            Some(b'/') => self.file_behind_slash(end + 1),
            Some(b'.') => self.file_behind_dot(end + 1),
            Some(b'-') => self.hyphen_word(TokenKind::NumHyphenWord, end + 1),
            _ => None,
        };
        found.unwrap_or(FoundToken::new(TokenKind::NumWord, end))
    }

    /// The rest of a word behind its first hyphen; `kind` is what it is so far.
    fn hyphen_word(&self, mut kind: TokenKind, mut at: usize) -> Option<FoundToken> {
        let mut complete = None;
        // Each turn reads a part behind a hyphen.
        loop {
            if self.is(at, is_digit) {
                // Digits alone are no part.
                let behind = self.behind(at, is_digit);
                if !self.is(behind, is_letter) {
                    break;
                }
                kind = TokenKind::NumHyphenWord;
            } else if !self.is(at, is_letter) {
                break;
            }
            let end = self.behind(at, is_alphanumeric);
            let part = &self.bytes[at..end];
            if part.iter().any(|byte| byte.is_ascii_digit()) {
                kind = TokenKind::NumHyphenWord;
            } else if kind == TokenKind::AsciiHyphenWord && !part.is_ascii() {
                kind = TokenKind::HyphenWord;
            }
            complete =
                Some(FoundToken { next: TokenStart::PartOfHyphenWord, again: true, ..FoundToken::new(kind, end) });
            if self.byte(end) != Some(b'-') {
                break;
            }
            at = end + 1;
        }
        complete
    }

    /// A part of a word with hyphens that was read as a whole, or a hyphen of it.
    pub(super) fn part_of_hyphen_word(&self, at: usize) -> Option<FoundToken> {
        let part = |kind, end| Some(FoundToken { next: TokenStart::PartOfHyphenWord, ..FoundToken::new(kind, end) });
        let first = self.byte(at)?;
        if first == b'-' {
            return if self.is(at + 1, is_alphanumeric) { part(TokenKind::Blank, at + 1) } else { None };
        }
        if !is_alphanumeric(first) || !self.is(self.behind(at, is_digit), is_letter) {
            return None;
        }
        let end = self.behind(at, is_alphanumeric);
        let bytes = &self.bytes[at..end];
        let kind = match () {
            () if bytes.iter().any(|byte| byte.is_ascii_digit()) => TokenKind::HyphenNumPart,
            () if bytes.iter().copied().all(is_ascii_alphanumeric) => TokenKind::HyphenAsciiPart,
            () => TokenKind::HyphenPart,
        };
        part(kind, end)
    }
}
