//! Numbers and parameters. A number that is no `integer` keeps its digits as they are written.

use super::{Scanner, is_name_part, is_name_start};
use crate::error::SyntaxError;
use crate::tables::symbols as g;

impl Scanner<'_> {
    pub(super) fn number(&mut self, at: usize) -> Result<(), SyntaxError> {
        let mut is_integer = true;
        self.digits();
        // `1..2` is a range.
        if self.byte(0) == b'.' && !(self.byte(1) == b'.' && self.position > at) {
            is_integer = false;
            self.position += 1;
            self.digits();
        }
        if matches!(self.byte(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
            if self.byte(1 + sign).is_ascii_digit() {
                is_integer = false;
                self.position += 1 + sign;
                self.digits();
            } else if sign == 1 {
                self.position += 2;
                return Err(self.junk("trailing junk after numeric literal", at));
            }
        }
        if is_name_start(self.byte(0)) {
            self.name_parts();
            return Err(self.junk("trailing junk after numeric literal", at));
        }
        let text = &self.text[at..self.position];
        match text.parse::<i32>() {
            Ok(value) if is_integer => self.push(g::ICONST, at, value as u32),
            _ => {
                let text = text.to_string();
                self.push_text(g::FCONST, at, text);
            }
        }
        Ok(())
    }

    /// `$1`. PostgreSQL keeps the low 32 bits of the number.
    pub(super) fn parameter(&mut self, at: usize) -> Result<(), SyntaxError> {
        self.position += 1;
        self.digits();
        if is_name_start(self.byte(0)) {
            self.name_parts();
            return Err(self.junk("trailing junk after parameter", at));
        }
        let number = self.text[at + 1..self.position].parse::<i64>().unwrap_or(i64::MAX);
        self.push(g::PARAM, at, number as u32);
        Ok(())
    }

    fn digits(&mut self) {
        while self.byte(0).is_ascii_digit() {
            self.position += 1;
        }
    }

    fn name_parts(&mut self) {
        while is_name_part(self.byte(0)) {
            self.position += 1;
        }
    }

    fn junk(&self, message: &str, at: usize) -> SyntaxError {
        SyntaxError::near(message, self.text, at, self.position)
    }
}
