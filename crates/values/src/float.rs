//! Floats as PostgreSQL prints and reads them.
//!
//! Invariant: what is printed reads back as the same float, and no shorter text does, as with `extra_float_digits` 1.

use crate::error::{ValueError, sqlstate};
use bigdecimal::BigDecimal;
use std::io::Write;

/// Exponents from which a double prints as `1e+15`; below, in full.
const DOUBLE_FULL_EXPONENT_END: i32 = 15;
/// As above, for real.
const REAL_FULL_EXPONENT_END: i32 = 6;
/// Exponents below which a float prints as `1e-05`.
const FULL_EXPONENT_MIN: i32 = -4;

/// Appends a double.
pub(crate) fn write_double(number: f64, out: &mut Vec<u8>) {
    if write_special(number, out) {
        return;
    }
    let shortest = format!("{number:e}");
    let exact = |bits: u64| BigDecimal::try_from(f64::from_bits(bits)).ok();
    let bits = number.abs().to_bits();
    if is_midpoint(
        &shortest,
        exact(bits),
        [bits.checked_sub(1).and_then(exact), exact(bits + 1)],
    ) {
        // The shortest text lies exactly between two floats; PostgreSQL does not rely on how a reader breaks the tie.
        write_scientific(
            &next_shortest(&shortest, |digits| format!("{number:.digits$e}")),
            DOUBLE_FULL_EXPONENT_END,
            out,
        );
    } else {
        write_scientific(&shortest, DOUBLE_FULL_EXPONENT_END, out);
    }
}

/// Appends a real.
pub(crate) fn write_real(number: f32, out: &mut Vec<u8>) {
    if write_special(f64::from(number), out) {
        return;
    }
    let shortest = format!("{number:e}");
    let exact = |bits: u32| BigDecimal::try_from(f32::from_bits(bits)).ok();
    let bits = number.abs().to_bits();
    if is_midpoint(
        &shortest,
        exact(bits),
        [bits.checked_sub(1).and_then(exact), exact(bits + 1)],
    ) {
        write_scientific(
            &next_shortest(&shortest, |digits| format!("{number:.digits$e}")),
            REAL_FULL_EXPONENT_END,
            out,
        );
    } else {
        write_scientific(&shortest, REAL_FULL_EXPONENT_END, out);
    }
}

/// Appends what has no digits: infinities and NaN. Zero too, whose neighbours have no digits in common with it.
fn write_special(number: f64, out: &mut Vec<u8>) -> bool {
    let text: &[u8] = if number.is_nan() {
        b"NaN"
    } else if number.is_infinite() {
        if number > 0.0 { b"Infinity" } else { b"-Infinity" }
    } else if number == 0.0 {
        if number.is_sign_negative() { b"-0" } else { b"0" }
    } else {
        return false;
    };
    out.extend_from_slice(text);
    true
}

/// True if the text, such as `9.5e-7`, is exactly half-way between the float and one of its neighbours. Only a text far
/// shorter than the float's exact expansion could be, so texts with as many digits as fit are not looked at closely.
fn is_midpoint(text: &str, exact: Option<BigDecimal>, neighbours: [Option<BigDecimal>; 2]) -> bool {
    let Some((exact, text)) = exact.zip(text.trim_start_matches('-').parse::<BigDecimal>().ok()) else {
        return false;
    };
    let twice = &text + &text;
    exact != text
        && neighbours
            .into_iter()
            .flatten()
            .any(|neighbour| neighbour + &exact == twice)
}

/// The float with one significant digit more than `shortest` has.
fn next_shortest(shortest: &str, with_decimals: impl Fn(usize) -> String) -> String {
    let mantissa = shortest.split('e').next().unwrap_or_default();
    with_decimals(mantissa.bytes().filter(u8::is_ascii_digit).count())
}

/// Appends Rust's scientific form, such as `-1.25e-7`, in PostgreSQL's form.
fn write_scientific(text: &str, full_exponent_end: i32, out: &mut Vec<u8>) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mantissa = match mantissa.strip_prefix('-') {
        Some(rest) => {
            out.push(b'-');
            rest
        }
        None => mantissa,
    };
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    if !(FULL_EXPONENT_MIN..full_exponent_end).contains(&exponent) {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        // Writing to a vector cannot fail.
        let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + exponent.unsigned_abs() as usize - 1, b'0');
        out.extend_from_slice(&digits);
    } else {
        let whole = exponent as usize + 1;
        if digits.len() <= whole {
            out.extend_from_slice(&digits);
            out.resize(out.len() + whole - digits.len(), b'0');
        } else {
            out.extend_from_slice(&digits[..whole]);
            out.push(b'.');
            out.extend_from_slice(&digits[whole..]);
        }
    }
}

/// Reads a double. Errors: 22P02, 22003 for what would round to infinity or to zero.
pub(crate) fn parse_double(input: &str) -> Result<f64, ValueError> {
    const NAME: &str = "double precision";
    let trimmed = input.trim_matches(is_space);
    let number: f64 = trimmed.parse().map_err(|_| ValueError::syntax(NAME, input))?;
    if lost(trimmed, number.is_infinite(), number == 0.0) {
        Err(out_of_range(NAME, trimmed))
    } else {
        Ok(number)
    }
}

/// Reads a real, rounding once. Errors as [`parse_double`].
pub(crate) fn parse_real(input: &str) -> Result<f32, ValueError> {
    const NAME: &str = "real";
    let trimmed = input.trim_matches(is_space);
    let number: f32 = trimmed.parse().map_err(|_| ValueError::syntax(NAME, input))?;
    if lost(trimmed, number.is_infinite(), number == 0.0) {
        Err(out_of_range(NAME, trimmed))
    } else {
        Ok(number)
    }
}

/// True if reading lost the number: digits became infinity, or digits other than 0 became zero.
fn lost(text: &str, is_infinite: bool, is_zero: bool) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    (is_infinite && text.bytes().any(|byte| byte.is_ascii_digit()))
        || (is_zero && mantissa.bytes().any(|byte| (b'1'..=b'9').contains(&byte)))
}

#[cold]
fn out_of_range(name: &str, text: &str) -> ValueError {
    ValueError::new(
        sqlstate::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("\"{text}\" is out of range for type {name}"),
    )
}

/// What C's `isspace` takes for white space, which PostgreSQL ignores around numbers and dates.
pub(crate) fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}
