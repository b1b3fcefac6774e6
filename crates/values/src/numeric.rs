//! `numeric`: reading, printing, rounding and computing with PostgreSQL's display scales.
//!
//! Invariant: every result has a scale in `0..=NUMERIC_FRACTION_DIGITS_MAX` and at most `NUMERIC_INTEGER_DIGITS_MAX`
//! digits before the decimal point, so a few bytes from a client never expand into an unbounded number.

use crate::error::{ValueError, sqlstate};
use crate::float::is_space;
use crate::limits::{
    NUMERIC_FRACTION_DIGITS_MAX, NUMERIC_INTEGER_DIGITS_MAX, NUMERIC_SCALE_MAX, NUMERIC_TEXT_BYTES_MAX,
};
use bigdecimal::num_bigint::{BigInt, Sign};
use bigdecimal::{BigDecimal, RoundingMode, Signed, ToPrimitive, Zero};

/// Decimal digits in one digit of PostgreSQL's base 10,000.
const GROUP_DIGITS: i64 = 4;
/// Significant digits that a quotient has at least (`NUMERIC_MIN_SIG_DIGITS`).
const QUOTIENT_DIGITS_MIN: i64 = 16;

/// The largest number whose factorial is a numeric.
const FACTORIAL_MAX: i64 = 32_177;

/// `value overflows numeric format`, 22003.
#[cold]
fn overflow() -> ValueError {
    ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
}

/// Reads a numeric; its decimals become its display scale. Errors: 22P02, 22003, and 0A000 for NaN and infinities.
pub fn parse(input: &str) -> Result<BigDecimal, ValueError> {
    let syntax = || ValueError::syntax("numeric", input);
    let text = input.trim_matches(is_space);
    if text.len() > NUMERIC_TEXT_BYTES_MAX {
        return Err(overflow());
    }
    let (negative, unsigned) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    refuse_special(unsigned)?;
    let mut digits = Vec::with_capacity(unsigned.len());
    let mut fraction_digits = None;
    let mut position = 0;
    for &byte in unsigned {
        match byte {
            b'0'..=b'9' => {
                digits.push(byte);
                fraction_digits = fraction_digits.map(|count: i64| count + 1);
            }
            b'.' if fraction_digits.is_none() => fraction_digits = Some(0),
            _ => break,
        }
        position += 1;
    }
    if digits.is_empty() {
        return Err(syntax());
    }
    let exponent = match &unsigned[position..] {
        [] => 0,
        [b'e' | b'E', exponent @ ..] => parse_exponent(exponent).ok_or_else(syntax)??,
        _ => return Err(syntax()),
    };
    let scale = fraction_digits.unwrap_or(0) - exponent;
    let leading_zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    let significant = (digits.len() - leading_zeros) as i64;
    if scale > NUMERIC_FRACTION_DIGITS_MAX || (significant > 0 && significant - scale > NUMERIC_INTEGER_DIGITS_MAX) {
        return Err(overflow());
    }
    let unscaled = BigInt::parse_bytes(&digits, 10).ok_or_else(syntax)?;
    let unscaled = if negative { -unscaled } else { unscaled };
    Ok(match (unscaled.is_zero(), scale < 0) {
        (true, true) => BigDecimal::zero(),
        (false, true) => BigDecimal::new(unscaled, scale).with_scale(0),
        _ => BigDecimal::new(unscaled, scale),
    })
}

/// The exponent behind the `e`: `None` is a syntax error, an inner error an overflow.
fn parse_exponent(text: &[u8]) -> Option<Result<i64, ValueError>> {
    let digits = text.strip_prefix(b"+").or(text.strip_prefix(b"-")).unwrap_or(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let magnitude =
        digits.iter().fold(0i64, |sum, digit| (sum * 10 + i64::from(digit - b'0')).min(i64::from(i32::MAX)));
    if magnitude >= i64::from(i32::MAX) / 2 {
        return Some(Err(overflow()));
    }
    Some(Ok(if text.starts_with(b"-") { -magnitude } else { magnitude }))
}

fn refuse_special(unsigned: &[u8]) -> Result<(), ValueError> {
    if ["nan", "inf", "infinity"].iter().any(|name| unsigned.eq_ignore_ascii_case(name.as_bytes())) {
        return Err(ValueError::unsupported("NaN and infinity are not supported in type numeric"));
    }
    Ok(())
}

/// Appends all digits and as many decimals as the number has scale.
pub(crate) fn write(number: &BigDecimal, out: &mut Vec<u8>) {
    let (unscaled, scale) = number.as_bigint_and_scale();
    if unscaled.is_negative() {
        out.push(b'-');
    }
    let digits = unscaled.magnitude().to_str_radix(10).into_bytes();
    if scale <= 0 {
        out.extend_from_slice(&digits);
        if !unscaled.is_zero() {
            out.resize(out.len() + scale.unsigned_abs() as usize, b'0');
        }
        return;
    }
    let scale = scale as usize;
    match digits.len().checked_sub(scale).filter(|whole| *whole > 0) {
        Some(whole) => {
            out.extend_from_slice(&digits[..whole]);
            out.push(b'.');
            out.extend_from_slice(&digits[whole..]);
        }
        None => {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + scale - digits.len(), b'0');
            out.extend_from_slice(&digits);
        }
    }
}

/// Rounds half away from zero to `scale` decimals; a negative scale rounds before the decimal point.
pub fn round(number: &BigDecimal, scale: i64) -> BigDecimal {
    let rounded = number.with_scale_round(scale, RoundingMode::HalfUp);
    if scale < 0 { rounded.with_scale(0) } else { rounded }
}

/// Cuts to `scale` decimals, toward zero; a negative scale cuts before the decimal point.
pub fn truncate(number: &BigDecimal, scale: i64) -> BigDecimal {
    let cut = number.with_scale_round(scale, RoundingMode::Down);
    if scale < 0 { cut.with_scale(0) } else { cut }
}

/// Rounds to the scale of a `numeric(precision, scale)` column. Errors: 22003 if the number has too many digits.
pub(crate) fn fit(number: &BigDecimal, precision: u16, scale: i16) -> Result<BigDecimal, ValueError> {
    let rounded = round(number, i64::from(scale));
    let whole_digits = i64::from(precision) - i64::from(scale);
    let fits = rounded.is_zero() || leading_position(&rounded) <= whole_digits;
    if fits {
        return Ok(rounded);
    }
    let bound = if whole_digits == 0 { "1".to_string() } else { format!("10^{whole_digits}") };
    Err(ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").with_detail(format!(
        "A field with precision {precision}, scale {scale} must round to an absolute value less than {bound}."
    )))
}

/// The number of digits before the decimal point; negative for zeros behind it.
fn leading_position(number: &BigDecimal) -> i64 {
    number.digits() as i64 - number.fractional_digit_count()
}

/// Checks a result against the bounds of every numeric. Errors: 22003.
pub fn bounded(number: BigDecimal) -> Result<BigDecimal, ValueError> {
    if !number.is_zero() && leading_position(&number) > NUMERIC_INTEGER_DIGITS_MAX {
        return Err(overflow());
    }
    let scale = number.fractional_digit_count();
    Ok(if scale < 0 {
        number.with_scale(0)
    } else if scale > NUMERIC_FRACTION_DIGITS_MAX {
        round(&number, NUMERIC_FRACTION_DIGITS_MAX)
    } else {
        number
    })
}

/// The sum, at the larger scale of the two.
pub(crate) fn add(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal, ValueError> {
    let scale = left.fractional_digit_count().max(right.fractional_digit_count());
    bounded((left + right).with_scale(scale))
}

/// The difference, at the larger scale of the two.
pub(crate) fn subtract(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal, ValueError> {
    let scale = left.fractional_digit_count().max(right.fractional_digit_count());
    bounded((left - right).with_scale(scale))
}

/// The product, at the sum of the scales.
pub(crate) fn multiply(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal, ValueError> {
    let scale = left.fractional_digit_count() + right.fractional_digit_count();
    bounded((left * right).with_scale(scale))
}

/// The quotient, rounded at the scale that PostgreSQL's `select_div_scale` chooses: at least 16 significant digits and
/// no fewer decimals than either operand. Errors: 22012.
pub fn divide(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal, ValueError> {
    if right.is_zero() {
        return Err(ValueError::division_by_zero());
    }
    let (left_weight, left_first) = leading_group(left);
    let (right_weight, right_first) = leading_group(right);
    let weight = left_weight - right_weight - i64::from(left_first <= right_first);
    let scale = (QUOTIENT_DIGITS_MIN - weight * GROUP_DIGITS)
        .max(left.fractional_digit_count())
        .max(right.fractional_digit_count())
        .clamp(0, i64::from(NUMERIC_SCALE_MAX));
    bounded(divide_at(left, right, scale))
}

/// The quotient rounded half away from zero at `scale` decimals.
fn divide_at(left: &BigDecimal, right: &BigDecimal, scale: i64) -> BigDecimal {
    let (dividend, dividend_scale) = left.as_bigint_and_scale();
    let (divisor, divisor_scale) = right.as_bigint_and_scale();
    // left / right * 10^scale = dividend / divisor * 10^shift
    let shift = scale - dividend_scale + divisor_scale;
    let power = BigInt::from(10).pow(shift.unsigned_abs() as u32);
    let (dividend, divisor) = if shift >= 0 {
        (dividend.as_ref() * power, divisor.into_owned())
    } else {
        (dividend.into_owned(), divisor.as_ref() * power)
    };
    let quotient = &dividend / &divisor;
    let remainder = &dividend % &divisor;
    let rounded = if remainder.abs() * 2 >= divisor.abs() {
        let away = if dividend.is_negative() == divisor.is_negative() { 1 } else { -1 };
        quotient + away
    } else {
        quotient
    };
    BigDecimal::new(rounded, scale)
}

/// The square root, rounded at `scale` decimals (`sqrt_var`). Of a negative number: zero.
pub fn root(number: &BigDecimal, scale: i64) -> BigDecimal {
    if !number.is_positive() {
        return BigDecimal::new(BigInt::from(0), scale);
    }
    // Two more digits than twice the scale hold the square of the half that decides.
    let (unscaled, _) = number.with_scale_round(2 * scale + 2, RoundingMode::Down).into_bigint_and_scale();
    let tenths = unscaled.sqrt();
    BigDecimal::new((tenths + 5) / 10, scale)
}

/// The square root at the scale that PostgreSQL chooses (`numeric_sqrt`): at least 16 significant digits and no fewer decimals than the number.
pub(crate) fn square_root(number: &BigDecimal) -> BigDecimal {
    let (weight, _) = leading_group(number);
    let whole_digits = weight * GROUP_DIGITS / 2 + 1;
    let scale = (QUOTIENT_DIGITS_MIN - whole_digits)
        .max(number.fractional_digit_count())
        .clamp(0, i64::from(NUMERIC_SCALE_MAX));
    root(number, scale)
}

/// Position and value of the first base-10,000 digit: (0, 12) for 12.5, (-1, 500) for 0.05; (0, 0) for zero.
fn leading_group(number: &BigDecimal) -> (i64, u32) {
    if number.is_zero() {
        return (0, 0);
    }
    let digits = number.as_bigint_and_scale().0.magnitude().to_str_radix(10).into_bytes();
    let position = digits.len() as i64 - number.fractional_digit_count();
    let weight = (position - 1).div_euclid(GROUP_DIGITS);
    let count = (position - weight * GROUP_DIGITS) as usize;
    let first =
        (0..count).fold(0, |sum, index| sum * 10 + digits.get(index).map_or(0, |digit| u32::from(digit - b'0')));
    (weight, first)
}

/// The remainder of the quotient truncated toward zero, at the larger scale of the two. Errors: 22012.
pub(crate) fn remainder(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal, ValueError> {
    if right.is_zero() {
        return Err(ValueError::division_by_zero());
    }
    let scale = left.fractional_digit_count().max(right.fractional_digit_count()).max(0);
    let (left, _) = left.with_scale(scale).into_bigint_and_scale();
    let (right, _) = right.with_scale(scale).into_bigint_and_scale();
    Ok(BigDecimal::new(left % right, scale))
}

/// The product of the numbers up to this one. Errors: 22003 for one below zero, or whose factorial has too many digits.
pub(crate) fn factorial(number: i64) -> Result<BigDecimal, ValueError> {
    if number < 0 {
        let message = "factorial of a negative number is undefined";
        return Err(ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message));
    }
    if number > FACTORIAL_MAX {
        return Err(overflow());
    }
    let product = (2..=number).fold(BigInt::from(1), |product, factor| product * factor);
    Ok(BigDecimal::new(product, 0))
}

/// Both numbers as integers at the larger scale of the two, and that scale.
fn at_one_scale(left: &BigDecimal, right: &BigDecimal) -> (BigInt, BigInt, i64) {
    let scale = left.fractional_digit_count().max(right.fractional_digit_count()).max(0);
    let whole = |number: &BigDecimal| number.with_scale(scale).into_bigint_and_scale().0;
    (whole(left), whole(right), scale)
}

fn divisor_of(mut left: BigInt, mut right: BigInt) -> BigInt {
    while !right.is_zero() {
        let rest = left % &right;
        (left, right) = (right, rest);
    }
    left.abs()
}

/// The greatest common divisor, never negative, at the larger scale of the two.
pub fn greatest_divisor(left: &BigDecimal, right: &BigDecimal) -> BigDecimal {
    let (left, right, scale) = at_one_scale(left, right);
    BigDecimal::new(divisor_of(left, right), scale)
}

/// The least common multiple, never negative, at the larger scale of the two. Errors: 22003.
pub(crate) fn least_multiple(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal, ValueError> {
    let (left, right, scale) = at_one_scale(left, right);
    if left.is_zero() || right.is_zero() {
        return Ok(BigDecimal::new(BigInt::from(0), scale));
    }
    let divisor = divisor_of(left.clone(), right.clone());
    bounded(BigDecimal::new((left / divisor * right).abs(), scale))
}

/// A double as a numeric of 15 significant digits. Errors: 0A000 for NaN and infinities.
pub(crate) fn from_double(number: f64) -> Result<BigDecimal, ValueError> {
    from_float(number, 15)
}

/// A real as a numeric of 6 significant digits. Errors: 0A000 for NaN and infinities.
pub(crate) fn from_real(number: f32) -> Result<BigDecimal, ValueError> {
    from_float(f64::from(number), 6)
}

fn from_float(number: f64, digits: usize) -> Result<BigDecimal, ValueError> {
    if !number.is_finite() {
        return Err(ValueError::unsupported("NaN and infinity are not supported in type numeric"));
    }
    let decimals = digits - 1;
    let parsed = parse(&format!("{number:.decimals$e}"))?.normalized();
    bounded(parsed)
}

/// Rounds to an integer, half away from zero; `None` when it exceeds a bigint.
pub(crate) fn to_bigint(number: &BigDecimal) -> Option<i64> {
    round(number, 0).to_i64()
}

/// Sign, position of the first group, display scale and base-10,000 digits: the parts of the binary format.
pub(crate) struct Groups {
    /// True below zero.
    pub(crate) negative: bool,
    /// Power of 10,000 of the first group.
    pub(crate) weight: i64,
    /// Decimals printed.
    pub(crate) scale: i64,
    /// Most significant first, without zeros at either end.
    pub(crate) groups: Vec<u16>,
}

/// Takes a number apart for the binary format.
pub(crate) fn to_groups(number: &BigDecimal) -> Groups {
    let (unscaled, scale) = number.as_bigint_and_scale();
    let negative = unscaled.is_negative();
    let mut groups = Vec::new();
    let mut weight = 0;
    if !unscaled.is_zero() {
        let digits = unscaled.magnitude().to_str_radix(10).into_bytes();
        let position = digits.len() as i64 - scale;
        weight = (position - 1).div_euclid(GROUP_DIGITS);
        let first = (position - weight * GROUP_DIGITS) as usize;
        let group_at = |start: usize, end: usize| {
            (start..end)
                .fold(0u16, |sum, index| sum * 10 + digits.get(index).map_or(0, |digit| u16::from(digit - b'0')))
        };
        groups.push(group_at(0, first));
        let mut start = first;
        while start < digits.len() {
            groups.push(group_at(start, start + GROUP_DIGITS as usize));
            start += GROUP_DIGITS as usize;
        }
        while groups.last() == Some(&0) {
            groups.pop();
        }
    }
    Groups { negative, weight, scale: scale.max(0), groups }
}

/// Puts a number together; digits beyond the display scale are cut off as PostgreSQL does. Errors: 22P03 for a group of
/// 10,000 or more, 22003.
pub(crate) fn from_groups(parts: &Groups) -> Result<BigDecimal, ValueError> {
    let mut digits = Vec::with_capacity(parts.groups.len() * GROUP_DIGITS as usize);
    for &group in &parts.groups {
        if group > 9999 {
            return Err(ValueError::new(
                sqlstate::INVALID_BINARY_REPRESENTATION,
                "invalid digit in external \"numeric\" value",
            ));
        }
        let group = [group / 1000, group / 100 % 10, group / 10 % 10, group % 10];
        digits.extend(group.map(|digit| digit as u8));
    }
    let first_scale = -parts.weight * GROUP_DIGITS;
    let own_scale = first_scale + (parts.groups.len() as i64 - 1) * GROUP_DIGITS;
    let sign = if parts.negative { Sign::Minus } else { Sign::Plus };
    let unscaled = BigInt::from_radix_be(sign, &digits, 10).unwrap_or_default();
    if unscaled.is_zero() {
        return Ok(BigDecimal::new(unscaled, parts.scale));
    }
    if (parts.weight + 1) * GROUP_DIGITS > NUMERIC_INTEGER_DIGITS_MAX + GROUP_DIGITS {
        return Err(overflow());
    }
    bounded(truncate(&BigDecimal::new(unscaled, own_scale), parts.scale))
}
