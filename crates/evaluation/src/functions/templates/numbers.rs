//! `to_char` of numbers: how digits are laid into a template.

use super::number_patterns::{NumberField, NumberPart, NumberShape, NumberTemplate, SignPlace};
use super::ordinal;
use crate::call::{CallArguments, FunctionResult};
use crate::functions::texts::within_bounds;
use bigdecimal::num_bigint::BigInt;
use bigdecimal::{BigDecimal, Signed, ToPrimitive, Zero};
use values::error::sqlstate;
use values::limits::NUMERIC_FRACTION_DIGITS_MAX;
use values::operators::{BinaryOperator, binary};
use values::{Value, ValueError, numeric};

/// Digits that a real and a double hold for sure.
const REAL_DIGITS: usize = 6;
const DOUBLE_DIGITS: usize = 15;
/// The longest Roman numeral, 3888.
const ROMAN_LENGTH: usize = 15;
/// The largest number that has a Roman numeral.
const ROMAN_MAX: i64 = 3999;
/// A number as digits and its sign: what is laid into a template.
struct ShownNumber {
    digits: String,
    is_negative: bool,
    /// How many places of the template stay empty before it.
    blanks: usize,
}

impl ShownNumber {
    /// Of a text with an optional minus. Too many digits before the point make it signs of number.
    fn of(text: &str, shape: &NumberShape) -> ShownNumber {
        let (is_negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let before = digits.find('.').unwrap_or(digits.len());
        let digits = match before > shape.before {
            true => format!("{}.{}", "#".repeat(shape.before), "#".repeat(shape.behind)),
            false => digits.to_owned(),
        };
        ShownNumber { digits, is_negative, blanks: shape.before.saturating_sub(before) }
    }
}

/// The shape of the second argument; `None` for an empty one.
fn shape_of(call: &CallArguments<'_, '_>) -> Result<Option<NumberShape>, ValueError> {
    match call.text(1) {
        "" => Ok(None),
        template => NumberShape::of(template).map(Some),
    }
}

/// Lays a number into the template of the second argument.
fn laid(call: &CallArguments<'_, '_>, shape: NumberShape, number: ShownNumber) -> FunctionResult {
    NumberLayout::new(shape, number).run(call.text(1)).map(Value::text)
}

/// A number in Roman numerals, or too many signs of number.
fn roman(call: &CallArguments<'_, '_>, shape: NumberShape, number: i64) -> FunctionResult {
    const NUMERALS: [(i64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut digits = String::new();
    if (1..=ROMAN_MAX).contains(&number) {
        let mut rest = number;
        for (value, numeral) in NUMERALS {
            while rest >= value {
                digits.push_str(numeral);
                rest -= value;
            }
        }
    } else {
        digits = "#".repeat(ROMAN_LENGTH);
    }
    let shape = NumberShape { is_roman: true, fills: shape.fills, ..NumberShape::default() };
    laid(call, shape, ShownNumber { digits, is_negative: false, blanks: 0 })
}

fn integer_out_of_range(name: &str) -> ValueError {
    ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range"))
}

/// `to_char(integer, text)`.
pub(super) fn integer(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let Some(mut shape) = shape_of(call)? else { return Ok(Value::text("")) };
    let number = call.integer(0);
    if shape.is_roman {
        return roman(call, shape, number);
    }
    if shape.has_exponent {
        return Ok(Value::text(scientific(number as f64, shape.behind)));
    }
    let mut text = number.to_string();
    if shape.is_shifted {
        // What is too large wraps, there as here.
        let factor = u32::try_from(shape.shifted).ok().and_then(|digits| 10_i32.checked_pow(digits));
        text = (number as i32).wrapping_mul(factor.unwrap_or(i32::MIN)).to_string();
        shape.before += shape.shifted;
    }
    of_whole(call, shape, text)
}

/// `to_char(bigint, text)`.
pub(super) fn bigint(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let Some(mut shape) = shape_of(call)? else { return Ok(Value::text("")) };
    let number = call.integer(0);
    if shape.is_roman {
        let number = i32::try_from(number).map_err(|_| integer_out_of_range("integer"))?;
        return roman(call, shape, i64::from(number));
    }
    if shape.has_exponent {
        return Ok(Value::text(exact_scientific(&BigDecimal::from(number), shape.behind)));
    }
    let mut text = number.to_string();
    if shape.is_shifted {
        let factor = u32::try_from(shape.shifted).ok().and_then(|digits| 10_i64.checked_pow(digits));
        let factor = factor.ok_or_else(|| integer_out_of_range("bigint"))?;
        text = number.checked_mul(factor).ok_or_else(|| integer_out_of_range("bigint"))?.to_string();
        shape.before += shape.shifted;
    }
    of_whole(call, shape, text)
}

/// A whole number, with zeros behind a point if there is one.
fn of_whole(call: &CallArguments<'_, '_>, shape: NumberShape, mut text: String) -> FunctionResult {
    if shape.behind > 0 {
        text.push('.');
        text.push_str(&"0".repeat(shape.behind));
    }
    let number = ShownNumber::of(&text, &shape);
    laid(call, shape, number)
}

/// `to_char(numeric, text)`.
pub(super) fn numeric(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let Some(mut shape) = shape_of(call)? else { return Ok(Value::text("")) };
    let number = call.numeric(0);
    if shape.is_roman {
        let whole = numeric::round(number, 0).to_i32().ok_or_else(|| integer_out_of_range("integer"))?;
        return roman(call, shape, i64::from(whole));
    }
    if shape.has_exponent {
        return Ok(Value::text(exact_scientific(number, shape.behind)));
    }
    let shifted;
    let mut number = number;
    if shape.is_shifted {
        let factor = BigDecimal::new(BigInt::from(10).pow(shape.shifted as u32), 0);
        match binary(BinaryOperator::Multiply, call.value(0), &Value::numeric(factor))? {
            Value::Numeric(product) => shifted = product,
            _ => return Ok(Value::Null),
        }
        number = &shifted;
        shape.before += shape.shifted;
    }
    // No number has more decimals, whatever the template says.
    let decimals = (shape.behind as i64).min(NUMERIC_FRACTION_DIGITS_MAX);
    let text = numeric::round(number, decimals).to_plain_string();
    let number = ShownNumber::of(&text, &shape);
    laid(call, shape, number)
}

/// `to_char(real, text)`.
pub(super) fn real(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    float(call, REAL_DIGITS)
}

/// `to_char(double precision, text)`.
pub(super) fn double(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    float(call, DOUBLE_DIGITS)
}

fn float(call: &mut CallArguments<'_, '_>, digits: usize) -> FunctionResult {
    let Some(mut shape) = shape_of(call)? else { return Ok(Value::text("")) };
    let mut number = call.double(0);
    if shape.is_roman {
        return roman(call, shape, i64::from(number.round_ties_even() as i32));
    }
    if shape.has_exponent {
        return Ok(Value::text(match number.is_finite() {
            true => scientific(number, shape.behind),
            false => {
                let behind = "#".repeat(shape.behind + 4);
                format!(" {}.{behind}", "#".repeat(shape.before))
            }
        }));
    }
    if shape.is_shifted {
        number *= 10_f64.powi(shape.shifted as i32);
        if digits == REAL_DIGITS {
            number = f64::from(number as f32);
        }
        shape.before += shape.shifted;
    }
    let named = |number: f64, decimals: usize| match number {
        number if number.is_nan() => "NaN".to_owned(),
        number if number.is_infinite() => if number < 0.0 { "-Infinity" } else { "Infinity" }.to_owned(),
        number => format!("{number:.decimals$}"),
    };
    // Digits that the number does not hold are not shown.
    let whole = named(number.abs(), 0).len();
    shape.behind = shape.behind.min(digits.saturating_sub(whole));
    let text = named(number, shape.behind);
    let number = ShownNumber::of(&text, &shape);
    laid(call, shape, number)
}

/// A double in the way of C's `%+.*e`, with a blank for a plus.
fn scientific(number: f64, decimals: usize) -> String {
    let written = format!("{number:.decimals$e}");
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let blank = if number.is_sign_negative() { "" } else { " " };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{blank}{digits}e{sign}{:02}", exponent.abs())
}

/// An exact number with one digit before its point.
fn exact_scientific(number: &BigDecimal, decimals: usize) -> String {
    let (unscaled, scale) = number.as_bigint_and_scale();
    let digits = unscaled.magnitude().to_string().len() as i64;
    let exponent = if number.is_zero() { 0 } else { digits - scale - 1 };
    let fraction = BigDecimal::new(unscaled.into_owned(), scale + exponent);
    let shown = numeric::round(&fraction, decimals as i64).to_plain_string();
    let blank = if number.is_negative() { "" } else { " " };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{blank}{shown}e{sign}{:02}", exponent.abs())
}

/// Digits while they are laid into a template.
struct NumberLayout {
    shape: NumberShape,
    digits: Vec<u8>,
    is_negative: bool,
    blanks: usize,
    /// The next digit.
    next: usize,
    /// The place of the template's next digit.
    place: usize,
    /// How many places there are.
    places: usize,
    /// The last digit that FM shows.
    last_shown: Option<usize>,
    /// Whether a digit has been written.
    has_begun: bool,
    has_sign: bool,
    out: String,
}

impl NumberLayout {
    fn new(mut shape: NumberShape, number: ShownNumber) -> NumberLayout {
        let ShownNumber { digits, is_negative, blanks } = number;
        let digits = digits.into_bytes();
        let mut has_sign = false;
        if shape.has_plus || shape.has_minus {
            // MI and SG write the sign themselves.
            has_sign = shape.has_minus;
        } else {
            if !is_negative && shape.fills {
                shape.has_bracket = false;
                has_sign = !shape.has_sign;
            }
            if shape.sign == SignPlace::Before && shape.before == shape.digits_before_sign {
                shape.sign = SignPlace::Behind;
            }
        }
        let mut places = (shape.before + shape.behind).wrapping_sub(1);
        let mut last_shown = None;
        if shape.fills && shape.has_point {
            last_shown = digits.iter().position(|digit| *digit == b'.').map(|point| {
                let last = digits.iter().rposition(|digit| *digit != b'0' && *digit != b'.').unwrap_or(0);
                let last = if last > point { last } else { point };
                match shape.zero_end > blanks {
                    true => last.max((digits.len() - 1).min(shape.zero_end - blanks)),
                    false => last,
                }
            });
        }
        if !has_sign && blanks == 0 {
            places = places.wrapping_add(1);
        }
        NumberLayout {
            shape,
            digits,
            is_negative,
            blanks,
            next: 0,
            place: 0,
            places,
            last_shown,
            has_begun: false,
            has_sign,
            out: String::new(),
        }
    }

    fn run(mut self, template: &str) -> Result<String, ValueError> {
        if self.shape.has_exponent {
            return Ok(String::from_utf8_lossy(&self.digits).into_owned());
        }
        for part in NumberTemplate::new(template) {
            match part {
                NumberPart::Character(found) => self.out.push(found),
                NumberPart::Pattern(field) => self.field(field)?,
            }
            within_bounds(self.out.len())?;
        }
        // Where a number has fewer digits than the template, all ends there.
        if let Some(end) = self.out.find('\0') {
            self.out.truncate(end);
        }
        Ok(self.out)
    }

    fn field(&mut self, field: NumberField) -> Result<(), ValueError> {
        let fills = self.shape.fills;
        let or_blank = |shown: Option<char>| shown.or((!fills).then_some(' '));
        let shown = match field {
            NumberField::Nine | NumberField::Zero | NumberField::Point | NumberField::LocalePoint => {
                self.digit(field == NumberField::Zero);
                None
            }
            NumberField::Comma | NumberField::Group => or_blank(self.has_begun.then_some(',')),
            NumberField::Currency => Some(' '),
            NumberField::Roman { is_upper } => {
                let digits = String::from_utf8_lossy(&self.digits);
                let digits = if is_upper { digits.to_string() } else { digits.to_ascii_lowercase() };
                let width = if fills { 0 } else { ROMAN_LENGTH };
                self.out.push_str(&format!("{digits:>width$}"));
                None
            }
            NumberField::Ordinal { is_upper } => {
                let is_ordinal = !self.shape.is_roman && self.digits.first() != Some(&b'#');
                if is_ordinal && !self.is_negative && !self.shape.has_point {
                    let digits = String::from_utf8_lossy(&self.digits);
                    if !digits.ends_with(|last: char| last.is_ascii_digit()) {
                        let message = format!("\"{digits}\" is not a number");
                        return Err(ValueError::new(sqlstate::INVALID_TEXT_REPRESENTATION, message));
                    }
                    self.out.push_str(ordinal(&digits, is_upper));
                }
                None
            }
            NumberField::Minus => or_blank(self.is_negative.then_some('-')),
            NumberField::Plus => or_blank((!self.is_negative && !self.shape.is_roman).then_some('+')),
            NumberField::AnySign if self.shape.is_roman => Some('\0'),
            NumberField::AnySign => Some(self.sign()),
            _ => None,
        };
        self.out.extend(shown);
        Ok(())
    }

    /// Whether a zero before the point is not shown.
    fn hides_zero(&self) -> bool {
        !self.shape.has_zero && self.next == 0 && self.digits.first() == Some(&b'0') && self.shape.behind != 0
    }

    /// Whether FM shows nothing behind the point.
    fn ends_at_point(&self) -> bool {
        self.last_shown.is_some_and(|last| self.digits.get(last) == Some(&b'.'))
    }

    fn sign(&self) -> char {
        if self.is_negative { '-' } else { '+' }
    }

    fn digit(&mut self, is_zero: bool) {
        if self.shape.is_roman {
            return;
        }
        self.has_begun = false;
        let shows_zero = self.shape.has_zero && self.shape.zero_start <= self.place;
        let begins = self.place >= self.blanks || (self.shape.has_zero && self.shape.zero_start == self.place);
        if !self.has_sign && begins && (!self.hides_zero() || self.ends_at_point()) {
            self.sign_before();
        }
        if self.place < self.blanks && !shows_zero {
            if !self.shape.fills {
                self.out.push(' ');
            }
        } else if self.place < self.blanks {
            self.out.push('0');
            self.has_begun = true;
        } else {
            self.own_digit(is_zero);
        }
        let mut end =
            self.places.wrapping_add(usize::from(self.blanks > 0)).wrapping_add(usize::from(self.shape.has_point));
        if self.last_shown == Some(self.next) {
            end = self.place;
        }
        if self.place + 1 == end {
            if self.has_sign && self.shape.has_bracket {
                self.out.push(if self.is_negative { '>' } else { ' ' });
            } else if self.shape.has_sign && self.shape.sign == SignPlace::Behind {
                self.out.push(self.sign());
            }
        }
        self.place += 1;
    }

    fn sign_before(&mut self) {
        let shown = if self.shape.has_sign {
            if self.shape.sign != SignPlace::Before {
                return;
            }
            Some(self.sign())
        } else if self.shape.has_bracket {
            Some(if self.is_negative { '<' } else { ' ' })
        } else if self.is_negative {
            Some('-')
        } else {
            (!self.shape.fills).then_some(' ')
        };
        self.out.extend(shown);
        self.has_sign = true;
    }

    /// A digit of the number, or its point.
    fn own_digit(&mut self, is_zero: bool) {
        let digit = self.digits.get(self.next).copied();
        if digit == Some(b'.') {
            if !self.ends_at_point() || self.shape.fills {
                self.out.push('.');
            }
        } else if self.last_shown.is_some_and(|last| self.next > last) && !is_zero {
            // FM leaves zeros at the end out.
        } else if self.hides_zero() {
            if !self.shape.fills {
                self.out.push(' ');
            } else if self.ends_at_point() {
                self.out.push('0');
            }
        } else {
            self.out.push(digit.map_or('\0', char::from));
            self.has_begun = true;
        }
        if digit.is_some() {
            self.next += 1;
        }
    }
}
