//! Tags, comments and entities of XML.

use super::{FoundToken, SearchTokens, is_alphanumeric, is_ascii_letter, is_digit, is_space};
use crate::token::TokenKind;

/// What begins and ends a part of a page in which nothing is a word.
const SCRIPTS: [(&[u8], bool); 4] = [(b"<script", true), (b"<style", true), (b"</script", false), (b"</style", false)];

impl SearchTokens<'_> {
    /// A tag or a comment that starts here.
    pub(super) fn tag(&self, at: usize) -> Option<FoundToken> {
        let end = match self.byte(at + 1)? {
            b'/' if self.is(at + 2, is_ascii_letter) => self.name_of_tag(at, at + 3),
            b'!' => match self.byte(at + 2)? {
                b'-' if self.byte(at + 3) == Some(b'-') => self.comment(at + 4),
                b'D' | b'd' => self.inside_tag(at, at + 3),
                _ => None,
            },
            b'?' if self.byte(at + 2) == Some(b'x') => self.inside_tag(at, at + 3),
            b':' | b'_' => self.name_of_tag(at, at + 2),
            first if first.is_ascii_alphabetic() => self.name_of_tag(at, at + 2),
            _ => None,
        };
        end.map(|end| FoundToken::new(TokenKind::Tag, end))
    }

    /// Remembers whether a script begins or ends with what stands before here.
    fn note_script(&self, start: usize, at: usize) {
        let name = &self.bytes[start..at];
        if let Some((_, ignores)) = SCRIPTS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            self.ignores.set(*ignores);
        }
    }

    fn name_of_tag(&self, start: usize, mut at: usize) -> Option<usize> {
        loop {
            match self.byte(at)? {
                b'/' => return (self.byte(at + 1) == Some(b'>')).then_some(at + 2),
                b'>' => {
                    self.note_script(start, at);
                    return Some(at + 1);
                }
                byte if is_space(byte) => {
                    self.note_script(start, at);
                    return self.inside_tag(start, at + 1);
                }
                b':' | b'_' | b'.' | b'-' => at += 1,
                byte if is_alphanumeric(byte) => at += 1,
                _ => return None,
            }
        }
    }

    fn inside_tag(&self, start: usize, mut at: usize) -> Option<usize> {
        loop {
            match self.byte(at)? {
                b'>' => {
                    self.note_script(start, at);
                    return Some(at + 1);
                }
                quote @ (b'\'' | b'"') => at = self.behind_quoted(quote, at + 1)?,
                byte if is_space(byte) => {
                    self.note_script(start, at);
                    at += 1;
                }
                b'=' | b'-' | b'_' | b'#' | b'/' | b':' | b'.' | b'&' | b'?' | b'%' | b'~' => at += 1,
                byte if byte.is_ascii_alphanumeric() => at += 1,
                _ => return None,
            }
        }
    }

    fn behind_quoted(&self, quote: u8, mut at: usize) -> Option<usize> {
        loop {
            match self.byte(at)? {
                b'\\' => at += 2,
                byte if byte == quote => return Some(at + 1),
                _ => at += 1,
            }
        }
    }

    fn comment(&self, mut at: usize) -> Option<usize> {
        loop {
            match (self.byte(at)?, self.byte(at + 1)?) {
                (b'-', b'-') => {
                    at = self.behind(at + 2, |byte| byte == b'-');
                    if self.byte(at)? == b'>' {
                        return Some(at + 1);
                    }
                    at += 1;
                }
                (b'-', _) => at += 2,
                _ => at += 1,
            }
        }
    }

    /// `&name;`, `&#12;` or `&#x1f;`.
    pub(super) fn entity(&self, at: usize) -> Option<FoundToken> {
        let end = match self.byte(at + 1)? {
            b'#' if matches!(self.byte(at + 2), Some(b'x' | b'X')) => {
                let digits = self.behind(at + 3, |byte| byte.is_ascii_hexdigit());
                (digits > at + 3).then_some(digits)?
            }
            b'#' => {
                let digits = self.behind(at + 2, is_digit);
                (digits > at + 2).then_some(digits)?
            }
            first if first.is_ascii_alphabetic() || matches!(first, b':' | b'_') => {
                self.behind(at + 2, |byte| is_alphanumeric(byte) || matches!(byte, b':' | b'_' | b'.' | b'-'))
            }
            _ => return None,
        };
        (self.byte(end) == Some(b';')).then(|| FoundToken::new(TokenKind::Entity, end + 1))
    }
}
