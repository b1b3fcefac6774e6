//! `to_number` of texts.

use super::number_patterns::{NumberField, NumberPart, NumberShape, NumberTemplate};
use crate::call::{CallArguments, FunctionResult};
use bigdecimal::num_bigint::BigInt;
use bigdecimal::{BigDecimal, Zero};
use values::error::sqlstate;
use values::operators::{BinaryOperator, binary};
use values::{Type, Value, ValueError, numeric, text};

/// Decimals of a power of ten with a whole exponent.
const POWER_DECIMALS: i64 = 16;

/// A text while a number is read from it.
struct NumberReader<'a> {
    shape: NumberShape,
    text: &'a [u8],
    next: usize,
    sign: Option<u8>,
    digits: String,
    /// Digits read before the point and behind it.
    before: usize,
    behind: usize,
    has_point: bool,
}

/// `to_number(text, text)`. Errors: 42601, 22P02, 22003, and 0A000 for Roman numerals and exponents.
pub(super) fn number(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (source, template) = (call.text(0), call.text(1));
    if template.is_empty() {
        return Ok(Value::Null);
    }
    let shape = NumberShape::of(template)?;
    let unsupported = |name: &str| {
        let message = format!("\"{name}\" not supported for input");
        Err(ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, message))
    };
    if shape.has_exponent {
        return unsupported("EEEE");
    }
    if shape.is_roman {
        return unsupported("RN");
    }
    let (before, shifted, is_shifted) = (shape.before, shape.shifted, shape.is_shifted);
    let mut reader = NumberReader {
        shape,
        text: source.as_bytes(),
        next: 0,
        sign: None,
        digits: String::new(),
        before: 0,
        behind: 0,
        has_point: false,
    };
    for part in NumberTemplate::new(template) {
        if reader.is_at_end() {
            break;
        }
        reader.part(part);
    }
    let behind = reader.behind;
    let sign = reader.sign.map_or(' ', char::from);
    let digits = reader.digits.strip_suffix('.').unwrap_or(&reader.digits);
    let read = text::parse(&format!("{sign}{digits}"), Type::Numeric(None))?;
    let Value::Numeric(read) = read else { return Ok(Value::Null) };
    let fitted = numeric::round(&read, behind as i64);
    let (unscaled, scale) = fitted.as_bigint_and_scale();
    let digits = if unscaled.is_zero() { 0 } else { unscaled.magnitude().to_string().len() as i64 - scale };
    if digits > (before + shifted) as i64 {
        return Err(ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow"));
    }
    if !is_shifted {
        return Ok(Value::numeric(fitted));
    }
    // Multiplied with a power of ten, which has as many decimals as powers have.
    let places = (POWER_DECIMALS as usize).checked_sub(shifted);
    let factor = places.map_or(BigInt::zero(), |places| BigInt::from(10).pow(places as u32));
    binary(BinaryOperator::Multiply, &Value::numeric(fitted), &Value::numeric(BigDecimal::new(factor, POWER_DECIMALS)))
}

impl NumberReader<'_> {
    fn is_at_end(&self) -> bool {
        self.next >= self.text.len()
    }

    fn byte(&self) -> Option<u8> {
        self.text.get(self.next).copied()
    }

    /// Passes over a character.
    fn skip(&mut self) {
        self.next += 1;
        while self.byte().is_some_and(|byte| byte & 0xc0 == 0x80) {
            self.next += 1;
        }
    }

    /// Passes over so many characters that are no part of a number.
    fn skip_others(&mut self, count: usize) {
        for _ in 0..count {
            if self.byte().is_none_or(|byte| b"0123456789.,+-".contains(&byte)) {
                return;
            }
            self.skip();
        }
    }

    fn part(&mut self, part: NumberPart) {
        let NumberPart::Pattern(field) = part else { return self.skip() };
        match field {
            NumberField::Nine | NumberField::Zero => self.digit(true),
            NumberField::Point | NumberField::LocalePoint => self.digit(false),
            NumberField::Comma | NumberField::Group if !self.shape.fills && self.byte() == Some(b',') => self.next += 1,
            NumberField::Currency => self.skip_others(1),
            NumberField::Ordinal { .. } if !self.shape.has_point => self.skip_others(2),
            NumberField::Minus => self.own_sign(b"-"),
            NumberField::Plus => self.own_sign(b"+"),
            NumberField::AnySign => self.own_sign(b"-+"),
            _ => {}
        }
    }

    fn own_sign(&mut self, signs: &[u8]) {
        match self.byte().filter(|byte| signs.contains(byte)) {
            Some(sign) => {
                self.sign = Some(sign);
                self.next += 1;
            }
            None => self.skip_others(1),
        }
    }

    /// A digit or a point, with the sign before the first or behind the last.
    fn digit(&mut self, is_digit: bool) {
        if self.byte() == Some(b' ') {
            self.next += 1;
        }
        if self.sign.is_none() && is_digit && self.before + self.behind == 0 {
            self.sign_before();
        }
        let Some(byte) = self.byte() else { return };
        let mut is_read = false;
        if byte.is_ascii_digit() {
            if self.has_point && self.behind == self.shape.behind {
                self.next += 1;
                return;
            }
            self.digits.push(char::from(byte));
            *(if self.has_point { &mut self.behind } else { &mut self.before }) += 1;
            is_read = true;
        } else if self.shape.has_point && !self.has_point && byte == b'.' {
            self.digits.push('.');
            self.has_point = true;
            is_read = true;
        }
        if self.sign.is_none() && self.before + self.behind > 0 {
            self.sign_behind(is_read);
        }
        self.next += 1;
    }

    fn sign_before(&mut self) {
        let found = match self.byte() {
            Some(sign @ (b'-' | b'+')) => sign,
            Some(b'<') if self.shape.has_bracket => b'-',
            _ => return,
        };
        self.sign = Some(found);
        self.next += 1;
    }

    fn sign_behind(&mut self, is_read: bool) {
        let behind = self.text.get(self.next + 1).copied();
        if self.shape.has_sign {
            if is_read && let Some(sign @ (b'-' | b'+')) = behind {
                self.sign = Some(sign);
                self.next += 1;
            }
        } else if !is_read && (self.shape.has_plus || self.shape.has_minus) {
            self.sign = self.byte().filter(|byte| matches!(byte, b'-' | b'+')).or(self.sign);
        }
    }
}
