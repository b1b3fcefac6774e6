//! Quoted strings and names. A string goes on after a line's end: `'a'`, a new line, `'b'` is `'ab'`.

use super::{Scanner, is_name_start};
use crate::error::SyntaxError;
use crate::tables::symbols as g;

impl Scanner<'_> {
    fn unterminated(&self, message: &str, at: usize) -> SyntaxError {
        SyntaxError::near(message, self.text, at, self.bytes.len())
    }

    /// Everything up to the next of `stops`, which is not taken.
    pub(super) fn until(&mut self, stops: &[u8]) -> &str {
        let start = self.position;
        let length = self.bytes[start..].iter().position(|byte| stops.contains(byte));
        self.position = length.map_or(self.bytes.len(), |length| start + length);
        &self.text[start..self.position]
    }

    /// Behind a closing quote: goes on behind the opening quote of the string's next piece, if there is one on a later line.
    pub(super) fn continues(&mut self) -> bool {
        let (mut position, mut is_new_line) = (self.position, false);
        while let Some(byte) = self.bytes.get(position) {
            match byte {
                b' ' | b'\t' | b'\x0c' => position += 1,
                b'\n' | b'\r' => {
                    is_new_line = true;
                    position += 1;
                }
                b'-' if self.bytes.get(position + 1) == Some(&b'-') => {
                    let line = self.bytes[position..].iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                    position = line.map_or(self.bytes.len(), |length| position + length);
                }
                b'\'' if is_new_line => {
                    self.position = position + 1;
                    return true;
                }
                _ => return false,
            }
        }
        false
    }

    /// What stands between quotes where two of them stand for one.
    fn doubled(&mut self, at: usize) -> Result<String, SyntaxError> {
        let mut content = String::new();
        loop {
            let piece = self.until(b"'");
            content.push_str(piece);
            if self.is_at_end() {
                return Err(self.unterminated("unterminated quoted string", at));
            }
            self.position += 1;
            if self.byte(0) == b'\'' {
                content.push('\'');
                self.position += 1;
            } else if !self.continues() {
                return Ok(content);
            }
        }
    }

    pub(super) fn plain_string(&mut self, at: usize) -> Result<(), SyntaxError> {
        self.position += 1;
        let content = self.doubled(at)?;
        self.push_text(g::SCONST, at, content);
        Ok(())
    }

    /// `U&'..'`: the filter reads its escapes, when it knows which character begins them.
    pub(super) fn unicode_string(&mut self, at: usize) -> Result<(), SyntaxError> {
        self.position += 3;
        let content = self.doubled(at)?;
        self.push_text(g::USCONST, at, content);
        Ok(())
    }

    /// `B'..'` and `X'..'`: what may stand in them is for the type to say.
    pub(super) fn bits(&mut self, at: usize, kind: u16, unterminated: &str) -> Result<(), SyntaxError> {
        self.position += 2;
        let mut content = String::new();
        loop {
            let piece = self.until(b"'");
            content.push_str(piece);
            if self.is_at_end() {
                return Err(self.unterminated(unterminated, at));
            }
            self.position += 1;
            if !self.continues() {
                self.push_text(kind, at, content);
                return Ok(());
            }
        }
    }

    pub(super) fn quoted_name(&mut self, at: usize, prefix: usize, kind: u16) -> Result<(), SyntaxError> {
        self.position += prefix;
        let mut name = String::new();
        loop {
            let piece = self.until(b"\"");
            name.push_str(piece);
            if self.is_at_end() {
                return Err(self.unterminated("unterminated quoted identifier", at));
            }
            self.position += 1;
            if self.byte(0) != b'"' {
                break;
            }
            name.push('"');
            self.position += 1;
        }
        if name.is_empty() {
            return Err(SyntaxError::near("zero-length delimited identifier", self.text, at, self.position));
        }
        // One with escapes is cut when they have been read.
        let name = if kind == g::IDENT { self.cut(name) } else { name };
        self.push_text(kind, at, name);
        Ok(())
    }

    /// `$tag$..$tag$`, or a dollar that means nothing.
    pub(super) fn dollar(&mut self, at: usize) -> Result<(), SyntaxError> {
        let tag = self.bytes[at + 1..].iter().take_while(|byte| is_name_start(**byte) || byte.is_ascii_digit()).count();
        if self.byte(1 + tag) != b'$' {
            return self.mark(super::UNKNOWN, at, 1);
        }
        let delimiter = &self.text[at..at + tag + 2];
        let start = at + delimiter.len();
        let Some(length) = self.text[start..].find(delimiter) else {
            return Err(self.unterminated("unterminated dollar-quoted string", at));
        };
        let content = self.text[start..start + length].to_string();
        self.position = start + length + delimiter.len();
        self.push_text(g::SCONST, at, content);
        Ok(())
    }
}
