//! What backslashes mean: in `E'..'` as in C, in `U&'..'` code points only.

use super::Scanner;
use crate::error::{SYNTAX_ERROR, SyntaxError};
use crate::tables::symbols as g;

const ESCAPES_HINT: &str = "Unicode escapes must be \\uXXXX or \\UXXXXXXXX.";
const UNICODE_ESCAPES_HINT: &str = "Unicode escapes must be \\XXXX or \\+XXXXXX.";
const INVALID_PAIR: &str = "invalid Unicode surrogate pair";

fn is_first_surrogate(code: u32) -> bool {
    (0xD800..0xDC00).contains(&code)
}

fn is_second_surrogate(code: u32) -> bool {
    (0xDC00..0xE000).contains(&code)
}

fn pair(first: u32, second: u32) -> u32 {
    ((first & 0x3FF) << 10) + 0x10000 + (second & 0x3FF)
}

/// PostgreSQL's strings hold no zero.
fn is_code_point(code: u32) -> bool {
    code > 0 && code <= 0x10FFFF
}

impl Scanner<'_> {
    /// `E'..'`. Escapes may make bytes that are no text: 22021.
    pub(super) fn escaped_string(&mut self, at: usize) -> Result<(), SyntaxError> {
        self.position += 2;
        let mut content: Vec<u8> = Vec::new();
        let mut first_surrogate = None;
        loop {
            if let Some(first) = first_surrogate.take() {
                let escape = self.position;
                let code = self.code_escape(INVALID_PAIR)?;
                if !is_second_surrogate(code) {
                    return Err(SyntaxError::near(INVALID_PAIR, self.text, escape, self.position));
                }
                push_code(&mut content, pair(first, code));
            }
            let piece = self.until(b"'\\").as_bytes().to_vec();
            content.extend(piece);
            if self.is_at_end() {
                return Err(SyntaxError::near("unterminated quoted string", self.text, at, self.bytes.len()));
            }
            if self.byte(0) == b'\\' {
                first_surrogate = self.escape(&mut content)?;
                continue;
            }
            self.position += 1;
            if self.byte(0) == b'\'' {
                content.push(b'\'');
                self.position += 1;
            } else if !self.continues() {
                break;
            }
        }
        let text = String::from_utf8(content).map_err(|error| invalid_bytes(error.as_bytes()))?;
        if text.contains('\0') {
            return Err(invalid_bytes(text.as_bytes()));
        }
        self.push_text(g::SCONST, at, text);
        Ok(())
    }

    /// One escape; the first half of a pair is given back.
    fn escape(&mut self, content: &mut Vec<u8>) -> Result<Option<u32>, SyntaxError> {
        let at = self.position;
        match self.byte(1) {
            b'u' | b'U' => {
                let code = self.code_escape(INVALID_PAIR)?;
                if is_first_surrogate(code) {
                    return Ok(Some(code));
                }
                if is_second_surrogate(code) {
                    return Err(SyntaxError::near(INVALID_PAIR, self.text, at, self.position));
                }
                if !is_code_point(code) {
                    return Err(SyntaxError::near("invalid Unicode escape value", self.text, at, self.position));
                }
                push_code(content, code);
            }
            b'0'..=b'7' => {
                let digits = (1..=3).take_while(|offset| matches!(self.byte(*offset), b'0'..=b'7')).count();
                content.push(self.digits_value(1, digits, 8) as u8);
                self.position += 1 + digits;
            }
            b'x' if self.byte(2).is_ascii_hexdigit() => {
                let digits = if self.byte(3).is_ascii_hexdigit() { 2 } else { 1 };
                content.push(self.digits_value(2, digits, 16) as u8);
                self.position += 2 + digits;
            }
            _ if at + 1 >= self.bytes.len() => self.position += 1,
            byte => {
                content.push(match byte {
                    b'b' => 8,
                    b'f' => 12,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => other,
                });
                self.position += 2;
                // The rest of a character of several bytes: what follows is cut between characters.
                while !self.text.is_char_boundary(self.position) {
                    content.push(self.byte(0));
                    self.position += 1;
                }
            }
        }
        Ok(None)
    }

    /// `\uXXXX` or `\UXXXXXXXX`; `message` is for what is neither.
    fn code_escape(&mut self, message: &str) -> Result<u32, SyntaxError> {
        let at = self.position;
        let wanted = match (self.byte(0), self.byte(1)) {
            (b'\\', b'u') => 4,
            (b'\\', b'U') => 8,
            _ => {
                let length = self.text[at..].chars().next().map_or(0, char::len_utf8);
                return Err(SyntaxError::near(message, self.text, at, at + length));
            }
        };
        if (2..2 + wanted).any(|offset| !self.byte(offset).is_ascii_hexdigit()) {
            return Err(SyntaxError::new(sqlstate::INVALID_ESCAPE_SEQUENCE, "invalid Unicode escape", at as u32)
                .with_hint(ESCAPES_HINT));
        }
        let code = self.digits_value(2, wanted, 16);
        self.position += 2 + wanted;
        Ok(code)
    }

    fn digits_value(&self, offset: usize, digits: usize, base: u32) -> u32 {
        let start = self.position + offset;
        u32::from_str_radix(&self.text[start..start + digits], base).unwrap_or(u32::MAX)
    }
}

fn push_code(content: &mut Vec<u8>, code: u32) {
    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    content.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// The bytes of what would be a character, as PostgreSQL prints them: as many as the first one announces.
fn invalid_bytes(bytes: &[u8]) -> SyntaxError {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text.find('\0').unwrap_or(0),
        Err(error) => {
            let valid = error.valid_up_to();
            bytes[..valid].iter().position(|byte| *byte == 0).unwrap_or(valid)
        }
    };
    let rest = &bytes[valid..];
    let length = match rest.first() {
        Some(0xC0..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xF7) => 4,
        _ => 1,
    };
    let shown: Vec<String> = rest.iter().take(length).map(|byte| format!("0x{byte:02x}")).collect();
    SyntaxError {
        at: None,
        ..SyntaxError::new(
            sqlstate::CHARACTER_NOT_IN_REPERTOIRE,
            format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" ")),
            0,
        )
    }
}

/// Reads the escapes of `U&'..'` or `U&".."`. `at` is where the token begins.
pub(super) fn unescape(content: &str, escape: char, at: u32) -> Result<String, SyntaxError> {
    let mut result = String::with_capacity(content.len());
    let mut first_surrogate: Option<u32> = None;
    let mut position = 0;
    // PostgreSQL counts from behind `U&'`, as if no quote were doubled.
    let error = |message: &str, position: usize| SyntaxError::new(SYNTAX_ERROR, message, at + 3 + position as u32);
    while let Some(character) = content[position..].chars().next() {
        let rest = &content[position + character.len_utf8()..];
        if character != escape {
            if first_surrogate.is_some() {
                return Err(error(INVALID_PAIR, position));
            }
            result.push(character);
            position += character.len_utf8();
            continue;
        }
        if rest.starts_with(escape) {
            if first_surrogate.is_some() {
                return Err(error(INVALID_PAIR, position));
            }
            result.push(escape);
            position += 2;
            continue;
        }
        let (digits, skipped) = if rest.starts_with('+') { (rest.get(1..7), 8) } else { (rest.get(..4), 5) };
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(digits) = digits else {
            return Err(error("invalid Unicode escape", position).with_hint(UNICODE_ESCAPES_HINT));
        };
        let code = u32::from_str_radix(digits, 16).unwrap_or(0);
        if !is_code_point(code) {
            return Err(error("invalid Unicode escape value", position));
        }
        let code = match first_surrogate.take() {
            Some(first) if is_second_surrogate(code) => pair(first, code),
            None if !is_second_surrogate(code) => code,
            _ => return Err(error(INVALID_PAIR, position)),
        };
        if is_first_surrogate(code) {
            first_surrogate = Some(code);
        } else {
            result.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        position += skipped;
    }
    match first_surrogate {
        Some(_) => Err(error(INVALID_PAIR, position)),
        None => Ok(result),
    }
}
