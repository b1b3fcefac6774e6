//! Exponentials, logarithms and powers of exact numbers (PostgreSQL's documentation, table 9.5), with the decimals that PostgreSQL gives a result: at least 16 significant
//! digits, no fewer decimals than an argument has, at most 1000.
//!
//! Invariant: a result is what the real number rounds to, halves away from zero. Numbers are computed with binary digits behind the point, `GUARD_BITS` more than what is shown needs.

use crate::call::{CallArguments, FunctionResult, Implementation};
use bigdecimal::num_bigint::BigInt;
use bigdecimal::{BigDecimal, One, Signed, ToPrimitive, Zero};
use std::f64::consts::{LN_10, LOG2_10, LOG10_E};
use values::error::sqlstate;
use values::{Value, ValueError, numeric};

/// Significant digits that a result has at least (`NUMERIC_MIN_SIG_DIGITS`).
const SIGNIFICANT_DIGITS_MIN: i64 = 16;
/// Decimals that a result has at most (`NUMERIC_MAX_DISPLAY_SCALE`).
const SCALE_MAX: i64 = 1000;
/// From here on an exponential overflows, or is zero (thrice `NUMERIC_MAX_RESULT_SCALE`).
const EXPONENT_MAX: f64 = 6000.0;
/// Digits before the point beyond which a power is not even tried.
const POWER_DIGITS_MAX: f64 = 3.0 * 4.0 * 32_767.0;
/// Binary digits beyond what a result shows.
const GUARD_BITS: u64 = 96;
/// How often a logarithm's argument is made smaller by a root before the series begins.
const ROOTS_MAX: u64 = 10;
/// An exponential's argument is made smaller by so many binary digits before the series begins.
const HALVINGS: u64 = 16;
/// So many steps of the processor's words take as long as a row that is worked on.
const STEPS_OF_A_ROW: u64 = 1 << 12;

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("numeric_exp", exponential),
    ("numeric_ln", natural),
    ("numeric_log", |call| {
        let (base, number) = (call.numeric(0).clone(), call.numeric(1).clone());
        logarithm_to(call, &base, &number)
    }),
    ("numeric_power", power),
];

/// `log` of one number, and `log10`.
pub(super) const BY_NUMBER: &[(u32, Implementation)] = &[(1481, common), (1741, common)];

fn common(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let number = call.numeric(0).clone();
    logarithm_to(call, &BigDecimal::from(10), &number)
}

#[cold]
fn overflow() -> ValueError {
    ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
}

/// The decimals of a result whose first digit has this weight, of arguments with these scales.
fn scale(weight: i64, arguments: &[&BigDecimal]) -> i64 {
    let own = arguments.iter().map(|number| number.fractional_digit_count());
    own.fold(SIGNIFICANT_DIGITS_MIN - weight, i64::max).clamp(0, SCALE_MAX)
}

/// Zero with decimals.
fn zero(scale: i64) -> FunctionResult {
    Ok(Value::numeric(BigDecimal::new(BigInt::zero(), scale)))
}

/// Binary digits that hold so many decimal ones.
fn bits_of(digits: i64) -> u64 {
    (digits.max(0) as f64 * LOG2_10) as u64 + GUARD_BITS
}

/// Notes what multiplications of numbers of so many bits take.
fn note_work(call: &mut CallArguments<'_, '_>, bits: u64, multiplications: u64) {
    let words = bits / 64 + 1;
    let rows = words.saturating_mul(words).saturating_mul(multiplications) / STEPS_OF_A_ROW;
    call.environment.patterns.note_work(rows as usize);
}

/// A positive number as a fraction of 0.5 to 2 and a power of 2, the fraction with so many bits behind the point.
fn split(number: &BigDecimal, bits: u64) -> (BigInt, i64) {
    let (unscaled, scale) = number.as_bigint_and_scale();
    let mut dividend = unscaled.into_owned();
    let mut divisor = BigInt::one();
    match u32::try_from(scale) {
        Ok(scale) => divisor = BigInt::from(10).pow(scale),
        Err(_) => dividend *= BigInt::from(10).pow(scale.unsigned_abs() as u32),
    }
    let exponent = dividend.bits() as i64 - divisor.bits() as i64;
    let fraction = shifted(dividend, bits as i64 - exponent) / divisor;
    (fraction, exponent)
}

/// A number times a power of 2.
fn shifted(number: BigInt, by: i64) -> BigInt {
    if by >= 0 { number << by as u64 } else { number >> by.unsigned_abs() }
}

/// 2 times the inverse hyperbolic tangent, by its series: all with so many bits behind the point.
fn twice_inverse_tangent(tangent: BigInt, bits: u64) -> BigInt {
    let square = (&tangent * &tangent) >> bits;
    let (mut power, mut sum, mut place) = (tangent, BigInt::zero(), 1u32);
    // What is negative never becomes zero by shifting.
    while power.bits() > 1 {
        sum += &power / place;
        power = (power * &square) >> bits;
        place += 2;
    }
    sum << 1
}

/// The natural logarithm of 2.
fn logarithm_of_two(bits: u64) -> BigInt {
    let one: BigInt = BigInt::one() << bits;
    let mut power: BigInt = one / 3;
    let (mut sum, mut place) = (BigInt::zero(), 1u32);
    while !power.is_zero() {
        sum += &power / place;
        power /= 9;
        place += 2;
    }
    sum << 1
}

/// The natural logarithm of a positive number, with so many bits behind the point.
fn logarithm(number: &BigDecimal, bits: u64) -> BigInt {
    let inner = bits + 32;
    let one = BigInt::one() << inner;
    let (mut fraction, mut exponent) = split(number, inner);
    if fraction > &one + (&one >> 1) {
        fraction >>= 1;
        exponent += 1;
    } else if fraction < &one - (&one >> 2) {
        fraction <<= 1;
        exponent -= 1;
    }
    // As many roots as bring it near to 1, if it is not near already.
    let distance = inner.saturating_sub((&fraction - &one).bits());
    let roots = ROOTS_MAX.saturating_sub(distance);
    for _ in 0..roots {
        fraction = (fraction << inner).sqrt();
    }
    let tangent = ((&fraction - &one) << inner) / (&fraction + &one);
    let sum = (twice_inverse_tangent(tangent, inner) << roots) + logarithm_of_two(inner) * exponent;
    sum >> (inner - bits)
}

/// The exponential of a number with so many bits behind the point: a fraction of 1 to 2 with as many, and a power of 2.
fn exponential_parts(number: &BigInt, bits: u64) -> (BigInt, i64) {
    let two = logarithm_of_two(bits);
    let mut exponent = (number / &two).to_i64().unwrap_or_default();
    if number.is_negative() {
        exponent -= 1;
    }
    let rest = number - &two * exponent;
    let inner = bits + HALVINGS;
    // Divided by 2 so often, which more bits behind the point are.
    let small: BigInt = rest;
    let one = BigInt::one() << inner;
    let (mut power, mut sum, mut place) = (one.clone(), one, 1u32);
    loop {
        power = (power * &small) >> inner;
        power /= place;
        if power.is_zero() {
            break;
        }
        sum += &power;
        place += 1;
    }
    for _ in 0..HALVINGS {
        sum = (&sum * &sum) >> inner;
    }
    (sum >> HALVINGS, exponent)
}

/// A number with so many bits behind the point, times a power of 2, at a scale.
fn rounded(number: BigInt, bits: u64, exponent: i64, scale: i64) -> BigDecimal {
    let is_negative = number.is_negative();
    let scaled = number.abs() * BigInt::from(10).pow(scale as u32);
    let twice = shifted(scaled, exponent - bits as i64 + 1);
    let unscaled: BigInt = (twice + 1) >> 1;
    BigDecimal::new(if is_negative { -unscaled } else { unscaled }, scale)
}

fn exponential(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let number = call.numeric(0);
    let estimate = number.to_f64().unwrap_or(f64::INFINITY);
    let weight = (estimate * LOG10_E).clamp(-2000.0, 2000.0) as i64;
    let scale = scale(weight, &[number]);
    exponential_of(call, estimate, scale, |bits| {
        let (unscaled, own) = number.as_bigint_and_scale();
        (unscaled.into_owned() << bits) / BigInt::from(10).pow(own.max(0) as u32)
    })
}

/// The exponential of a number, which is about so large, at a scale. Errors: 22003.
fn exponential_of(
    call: &mut CallArguments<'_, '_>,
    estimate: f64,
    scale: i64,
    number: impl FnOnce(u64) -> BigInt,
) -> FunctionResult {
    if estimate.abs() >= EXPONENT_MAX {
        return if estimate > 0.0 { Err(overflow()) } else { zero(scale) };
    }
    let bits = bits_of(scale + (estimate.max(0.0) * LOG10_E) as i64 + 1);
    note_work(call, bits, bits / HALVINGS + HALVINGS);
    let (fraction, exponent) = exponential_parts(&number(bits), bits);
    numeric::bounded(rounded(fraction, bits, exponent, scale)).map(Value::numeric)
}

/// Refuses what has no logarithm. Errors: 2201E.
fn check_positive(number: &BigDecimal) -> Result<(), ValueError> {
    let refused = |message: &str| Err(ValueError::new(sqlstate::INVALID_ARGUMENT_FOR_LOGARITHM, message));
    if number.is_zero() {
        refused("cannot take logarithm of zero")
    } else if number.is_negative() {
        refused("cannot take logarithm of a negative number")
    } else {
        Ok(())
    }
}

/// The first digits of a number that is not zero, as groups of four from the point have them, and the weight of the last of them.
fn leading(number: &BigDecimal, groups: i64) -> (f64, i64) {
    let (unscaled, scale) = number.as_bigint_and_scale();
    let digits = unscaled.magnitude().to_string();
    let weight = (digits.len() as i64 - scale - 1).div_euclid(4) * 4;
    // From the first digit to the end of the last group.
    let last = weight - 4 * (groups - 1);
    let count = digits.len() as i64 - scale - last;
    let shown = &digits[..digits.len().min(count.max(0) as usize)];
    let missing = count - shown.len() as i64;
    (shown.parse::<f64>().unwrap_or(0.0) * 10f64.powi(missing as i32), last)
}

/// The weight of a logarithm's first digit, roughly (`estimate_ln_dweight`).
fn logarithm_weight(number: &BigDecimal) -> i64 {
    let tenths = number * BigDecimal::from(10);
    let is_near = BigDecimal::from(9)..=BigDecimal::from(11);
    if is_near.contains(&tenths) {
        let distance = number - BigDecimal::one();
        if distance.is_zero() {
            return 0;
        }
        let (digits, weight) = leading(&distance, 1);
        return weight + digits.log10() as i64;
    }
    let (digits, weight) = leading(number, 2);
    let estimate = digits.ln() + weight as f64 * LN_10;
    estimate.abs().log10() as i64
}

/// Multiplications that a logarithm takes.
fn logarithm_steps(bits: u64) -> u64 {
    bits / (2 * ROOTS_MAX) + 16 * ROOTS_MAX
}

fn natural(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let number = call.numeric(0);
    check_positive(number)?;
    let weight = logarithm_weight(number);
    let scale = scale(weight, &[number]);
    let bits = bits_of(scale + weight.max(0));
    note_work(call, bits, logarithm_steps(bits));
    Ok(Value::numeric(rounded(logarithm(number, bits), bits, 0, scale)))
}

/// A logarithm to a base. Errors: 2201E, 22012.
fn logarithm_to(call: &mut CallArguments<'_, '_>, base: &BigDecimal, number: &BigDecimal) -> FunctionResult {
    check_positive(base)?;
    check_positive(number)?;
    let (weight_base, weight_number) = (logarithm_weight(base), logarithm_weight(number));
    let weight = weight_number - weight_base;
    let scale = scale(weight, &[base, number]);
    if base.is_one() {
        return Err(ValueError::new(sqlstate::DIVISION_BY_ZERO, "division by zero"));
    }
    // As many significant digits of both as the result has.
    let digits = (scale + weight).max(0) + 8 - weight_base.min(weight_number).min(0);
    let bits = bits_of(digits);
    note_work(call, bits, 2 * logarithm_steps(bits));
    let quotient = (logarithm(number, bits) << bits) / logarithm(base, bits);
    numeric::bounded(rounded(quotient, bits, 0, scale)).map(Value::numeric)
}

/// Errors: 2201F for roots of negative numbers and what divides by zero, 22003.
fn power(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (base, exponent) = (call.numeric(0), call.numeric(1));
    let refused = |message: &str| Err(ValueError::new(sqlstate::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message));
    if base.is_zero() && exponent.is_negative() {
        return refused("zero raised to a negative power is undefined");
    }
    let whole = exponent.is_integer();
    if base.is_negative() && !whole {
        return refused("a negative number raised to a non-integer power yields a complex result");
    }
    if let Some(exponent) = exponent.to_i32().filter(|_| whole) {
        return whole_power(call, base, exponent);
    }
    if base.is_zero() {
        return zero(SIGNIFICANT_DIGITS_MIN);
    }
    let is_odd = whole && exponent.with_scale(0).into_bigint_and_scale().0.bit(0);
    let is_negative = base.is_negative() && is_odd;
    let base = base.abs();
    if base.is_one() {
        let one = rounded(BigInt::one(), 0, 0, scale(0, &[&base, exponent]));
        return Ok(Value::numeric(if is_negative { -one } else { one }));
    }
    // How large it becomes, from the first eight digits of the logarithm.
    let rough_scale = (8 - logarithm_weight(&base)).max(0);
    let rough_bits = bits_of(rough_scale);
    let rough = rounded(logarithm(&base, rough_bits), rough_bits, 0, rough_scale);
    let estimate = numeric::round(&(rough * exponent), rough_scale).to_f64().unwrap_or(f64::INFINITY);
    if estimate.abs() > EXPONENT_MAX * 1.003_333 {
        return if estimate > 0.0 { Err(overflow()) } else { zero(SCALE_MAX) };
    }
    let times = |logarithm: BigInt| -> BigInt {
        let (unscaled, own) = exponent.as_bigint_and_scale();
        logarithm * unscaled.as_ref() / BigInt::from(10).pow(own.max(0) as u32)
    };
    let scale = scale((estimate * LOG10_E) as i64, &[&base, exponent]);
    let result = exponential_of(call, estimate, scale, |bits| {
        // The exponent multiplies what is missing behind the last bit.
        let more = exponent.as_bigint_and_scale().0.bits();
        times(logarithm(&base, bits + more)) >> more
    })?;
    match result {
        Value::Numeric(number) if is_negative => Ok(Value::numeric(-number.as_ref())),
        other => Ok(other),
    }
}

/// A power with a whole exponent, whose decimals do not depend on its size. Errors: 22003.
fn whole_power(call: &mut CallArguments<'_, '_>, base: &BigDecimal, exponent: i32) -> FunctionResult {
    let scale = scale(0, &[base]);
    let shown = |number: BigDecimal| numeric::bounded(number).map(Value::numeric);
    if exponent == 0 {
        return shown(BigDecimal::from(1).with_scale(scale));
    }
    if base.is_zero() {
        return zero(scale);
    }
    let (first, last) = leading(base, 4);
    let weight = f64::from(exponent) * (first.log10() + last as f64);
    if weight > POWER_DIGITS_MAX {
        return Err(overflow());
    }
    if weight + 1.0 < -(scale as f64) {
        return zero(scale);
    }
    let times = exponent.unsigned_abs();
    let (unscaled, own) = base.as_bigint_and_scale();
    let bits = bits_of(scale + weight.max(0.0) as i64 + 1) + 32;
    note_work(call, bits, u64::from(times.ilog2()) + 1);
    let result = if unscaled.bits() * u64::from(times) <= 4 * bits {
        let exact = unscaled.pow(times);
        let ten = BigInt::from(10).pow((own.max(0) as u32).saturating_mul(times));
        let (dividend, divisor) = if exponent > 0 { (exact, ten) } else { (ten, exact) };
        rounded_quotient(&dividend, &divisor, scale)
    } else {
        let (fraction, two) = split(&base.abs(), bits);
        let (mut fraction, mut two) = float_power((fraction, two), times, bits);
        if exponent < 0 {
            fraction = (BigInt::one() << (2 * bits)) / fraction;
            two = -two;
        }
        // What overflows is not written out first.
        if two as f64 / LOG2_10 > POWER_DIGITS_MAX {
            return Err(overflow());
        }
        let result = rounded(fraction, bits, two, scale);
        if base.is_negative() && times % 2 == 1 { -result } else { result }
    };
    shown(result)
}

/// A quotient, halves away from zero.
fn rounded_quotient(dividend: &BigInt, divisor: &BigInt, scale: i64) -> BigDecimal {
    let is_negative = dividend.is_negative() != divisor.is_negative();
    let (dividend, divisor) = (dividend.abs() * BigInt::from(10).pow(scale as u32), divisor.abs());
    let unscaled: BigInt = (dividend * 2 + &divisor) / (divisor * 2);
    BigDecimal::new(if is_negative { -unscaled } else { unscaled }, scale)
}

/// A fraction with so many bits behind the point times a power of 2, multiplied with itself so often.
fn float_power(base: (BigInt, i64), times: u32, bits: u64) -> (BigInt, i64) {
    let multiply = |left: &(BigInt, i64), right: &(BigInt, i64)| {
        let product = &left.0 * &right.0;
        // As many bits as a number from 1 to 2 has.
        let more = product.bits() as i64 - 1 - bits as i64;
        (shifted(product, -more), left.1 + right.1 + more - bits as i64)
    };
    let mut result = base.clone();
    for place in (0..times.ilog2()).rev() {
        result = multiply(&result, &result);
        if times >> place & 1 == 1 {
            result = multiply(&result, &base);
        }
    }
    result
}
