//! Floats as PostgreSQL prints and reads them.
//!
//! Invariant: what is printed reads back as the same float, and no shorter text does, as with `extra_float_digits` 1.

use crate::error::{ValueError, sqlstate};
use bigdecimal::BigDecimal;
use std::io::Write;
use std::num::FpCategory;
use std::ops::RangeInclusive;

/// Exponents from which a double prints as `1e+15`; below, in full.
const DOUBLE_FULL_EXPONENT_END: i32 = 15;
/// As above, for real.
const REAL_FULL_EXPONENT_END: i32 = 6;
/// Doubles outside this range are never printed as the exact middle between two of them: below, the middle has more
/// digits than a double ever prints; above, so few that 5 to their power exceeds 54 bits.
const DOUBLE_MIDPOINTS: RangeInclusive<f64> = 4_503_599_627_370_496.0..=1e41;
/// As above, for real, with 25 bits.
const REAL_MIDPOINTS: RangeInclusive<f32> = 8_388_608.0..=1e21;
/// Exponents below which a float prints as `1e-05`.
const FULL_EXPONENT_MIN: i32 = -4;

/// Appends a double.
pub(crate) fn write_double(number: f64, out: &mut Vec<u8>) {
    if write_special(number, out) {
        return;
    }
    let shortest = format!("{number:e}");
    let decimals = decimals_of(&shortest);
    let round_to = |decimals: usize| {
        let rounded = format!("{number:.decimals$e}");
        // Below a power of two the floats are denser, and the closest text may read back as another one.
        if rounded.parse() == Ok(number) { rounded } else { shortest.clone() }
    };
    if DOUBLE_MIDPOINTS.contains(&number.abs()) {
        let bits = number.abs().to_bits();
        let exact = [bits - 1, bits, bits + 1].map(|bits| BigDecimal::try_from(f64::from_bits(bits)).ok());
        write_scientific(&avoiding_midpoints(decimals, round_to, exact), DOUBLE_FULL_EXPONENT_END, out);
    } else {
        write_scientific(&round_to(decimals), DOUBLE_FULL_EXPONENT_END, out);
    }
}

/// Appends a real.
pub(crate) fn write_real(number: f32, out: &mut Vec<u8>) {
    if write_special(f64::from(number), out) {
        return;
    }
    let shortest = format!("{number:e}");
    let decimals = decimals_of(&shortest);
    let round_to = |decimals: usize| {
        let rounded = format!("{number:.decimals$e}");
        // Below a power of two the floats are denser, and the closest text may read back as another one.
        if rounded.parse() == Ok(number) { rounded } else { shortest.clone() }
    };
    if REAL_MIDPOINTS.contains(&number.abs()) {
        let bits = number.abs().to_bits();
        let exact = [bits - 1, bits, bits + 1].map(|bits| BigDecimal::try_from(f32::from_bits(bits)).ok());
        write_scientific(&avoiding_midpoints(decimals, round_to, exact), REAL_FULL_EXPONENT_END, out);
    } else {
        write_scientific(&round_to(decimals), REAL_FULL_EXPONENT_END, out);
    }
}

/// Appends what has no significant digits: infinities, NaN and zeros; true if that is all.
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

/// Digits behind the point of the shortest text that reads back as the float, such as `9.5e22`. Rounding to as many
/// digits again, half to even, gives PostgreSQL's choice where two texts are equally short and close.
fn decimals_of(shortest: &str) -> usize {
    shortest.split('e').next().unwrap_or_default().bytes().filter(u8::is_ascii_digit).count() - 1
}

/// The float with the fewest digits, `decimals` or more, that are not exactly half-way between it and a neighbour:
/// PostgreSQL does not rely on how a reader breaks that tie. `exact` has the lower neighbour, the float and the upper one.
fn avoiding_midpoints(
    mut decimals: usize,
    round_to: impl Fn(usize) -> String,
    exact: [Option<BigDecimal>; 3],
) -> String {
    let [Some(below), Some(number), Some(above)] = exact else {
        return round_to(decimals);
    };
    let twice_middles = [&below + &number, &number + &above];
    loop {
        let text = round_to(decimals);
        let candidate: Option<BigDecimal> = text.trim_start_matches('-').parse().ok();
        if !candidate.is_some_and(|candidate| twice_middles.contains(&(&candidate + &candidate))) {
            return text;
        }
        decimals += 1;
    }
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
    let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    while digits.len() > 1 && digits.last() == Some(&b'0') {
        digits.pop();
    }
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
    if lost(trimmed, number.classify()) { Err(out_of_range(NAME, trimmed)) } else { Ok(number) }
}

/// Reads a real, rounding once. Errors as [`parse_double`].
pub(crate) fn parse_real(input: &str) -> Result<f32, ValueError> {
    const NAME: &str = "real";
    let trimmed = input.trim_matches(is_space);
    let number: f32 = trimmed.parse().map_err(|_| ValueError::syntax(NAME, input))?;
    if lost(trimmed, number.classify()) { Err(out_of_range(NAME, trimmed)) } else { Ok(number) }
}

/// True if reading lost the number: digits became infinity, or digits other than 0 became zero.
fn lost(text: &str, number: FpCategory) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    match number {
        FpCategory::Infinite => text.bytes().any(|byte| byte.is_ascii_digit()),
        FpCategory::Zero => mantissa.bytes().any(|byte| (b'1'..=b'9').contains(&byte)),
        _ => false,
    }
}

#[cold]
fn out_of_range(name: &str, text: &str) -> ValueError {
    ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("\"{text}\" is out of range for type {name}"))
}

/// What C's `isspace` takes for white space, which PostgreSQL ignores around numbers and dates.
pub(crate) fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}
