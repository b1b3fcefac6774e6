//! Numbers and versions.

use super::addresses::HostPlace;
use super::{FoundToken, SearchTokens, TokenStart, is_digit, is_letter};
use crate::token::TokenKind;

impl SearchTokens<'_> {
    /// What begins with a digit.
    pub(super) fn number(&self, at: usize) -> FoundToken {
        let end = self.behind(at, is_digit);
        let Some(byte) = self.byte(end) else { return FoundToken::new(TokenKind::UnsignedInt, end) };
        let found = match byte {
            b'.' => self.host(HostPlace::DomainFirst, end + 1).or_else(|| self.fraction(end + 1)),
            b'e' | b'E' => self.exponent(end + 1).or_else(|| self.host(HostPlace::Label, end + 1)),
            b'-' | b'_' => self.host(HostPlace::LabelFirst, end + 1),
            b'@' => self.email(end + 1),
            b'/' => self.file_behind_slash(end + 1),
            byte if byte.is_ascii_alphabetic() => self.host(HostPlace::Label, end + 1),
            _ => None,
        };
        match found {
            Some(found) => found,
            None if is_letter(byte) => self.num_word(end),
            None => FoundToken::new(TokenKind::UnsignedInt, end),
        }
    }

    /// The digits behind the dot of a number without a sign; more dots make a version of it.
    fn fraction(&self, at: usize) -> Option<FoundToken> {
        if !self.is(at, is_digit) {
            return None;
        }
        let mut end = self.behind(at, is_digit);
        if matches!(self.byte(end), Some(b'e' | b'E')) {
            return Some(self.exponent(end + 1).unwrap_or(FoundToken::new(TokenKind::Float, end)));
        }
        let mut kind = TokenKind::Float;
        while self.byte(end) == Some(b'.') && self.is(end + 1, is_digit) {
            kind = TokenKind::Version;
            end = self.behind(end + 1, is_digit);
        }
        Some(FoundToken::new(kind, end))
    }

    /// Digits behind an `e`, perhaps with a sign.
    fn exponent(&self, at: usize) -> Option<FoundToken> {
        let digits = if matches!(self.byte(at), Some(b'+' | b'-')) { at + 1 } else { at };
        self.is(digits, is_digit).then(|| FoundToken::new(TokenKind::ScientificFloat, self.behind(digits, is_digit)))
    }

    /// What begins with a sign and a digit. The sign before a version is none.
    pub(super) fn signed_number(&self, at: usize) -> Option<FoundToken> {
        if !self.is(at + 1, is_digit) {
            return None;
        }
        let mut end = self.behind(at + 1, is_digit);
        let mut kind = TokenKind::Int;
        if self.byte(end) == Some(b'.') && self.is(end + 1, is_digit) {
            end = self.behind(end + 1, is_digit);
            kind = TokenKind::Float;
            if self.byte(end) == Some(b'.') && self.is(end + 1, is_digit) {
                return Some(FoundToken { next: TokenStart::Number, ..FoundToken::new(TokenKind::Blank, at + 1) });
            }
        }
        if matches!(self.byte(end), Some(b'e' | b'E'))
            && let Some(found) = self.exponent(end + 1)
        {
            return Some(found);
        }
        Some(FoundToken::new(kind, end))
    }
}
