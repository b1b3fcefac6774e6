//! Exact numbers of any size.

use super::library;
use super::numbers::{add, divide, modulo, multiply, negate, same, subtract};
use crate::call::{CallArguments, FunctionResult, Implementation};
use bigdecimal::{BigDecimal, Zero};
use values::compare::compare;
use values::error::sqlstate;
use values::operators::{BinaryOperator, binary};
use values::{Type, Value, ValueError, numeric};

const NUMERIC: Type = Type::Numeric(None);

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("numeric_add", add),
    ("numeric_sub", subtract),
    ("numeric_mul", multiply),
    ("numeric_div", divide),
    ("numeric_mod", modulo),
    ("numeric_uminus", negate),
    ("numeric_uplus", same),
    ("numeric_abs", library!("abs", [NUMERIC])),
    ("numeric_ceil", library!("ceil", [NUMERIC])),
    ("numeric_floor", library!("floor", [NUMERIC])),
    ("numeric_round", library!("round", [NUMERIC, Type::Integer])),
    ("numeric_trunc", library!("trunc", [NUMERIC, Type::Integer])),
    ("numeric_sign", library!("sign", [NUMERIC])),
    ("numeric_sqrt", library!("sqrt", [NUMERIC])),
    ("numeric_gcd", library!("gcd", [NUMERIC, NUMERIC])),
    ("numeric_lcm", library!("lcm", [NUMERIC, NUMERIC])),
    ("numeric_fac", library!("factorial", [Type::BigInt])),
    ("numeric_inc", |call| binary(BinaryOperator::Add, call.value(0), &Value::SmallInt(1))),
    ("numeric_div_trunc", divide_truncated),
    ("numeric_scale", |call| Ok(Value::Integer(call.numeric(0).fractional_digit_count().max(0) as i32))),
    ("numeric_min_scale", |call| Ok(Value::Integer(least_scale(call.numeric(0)) as i32))),
    ("numeric_trim_scale", |call| {
        let number = call.numeric(0);
        Ok(Value::numeric(number.with_scale(least_scale(number))))
    }),
    ("width_bucket_numeric", bucket),
    ("width_bucket_float8", bucket_of_double),
    ("width_bucket_array", bucket_of_bounds),
];

pub(super) const BY_NUMBER: &[(u32, Implementation)] =
    &[(1708, library!("round", [NUMERIC])), (1710, library!("trunc", [NUMERIC]))];

fn least_scale(number: &BigDecimal) -> i64 {
    if number.is_zero() { 0 } else { number.normalized().fractional_digit_count().max(0) }
}

fn divide_truncated(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (left, right) = (call.numeric(0), call.numeric(1));
    if right.is_zero() {
        return Err(ValueError::new(sqlstate::DIVISION_BY_ZERO, "division by zero"));
    }
    let scale = left.fractional_digit_count().max(right.fractional_digit_count());
    let whole = |number: &BigDecimal| number.with_scale(scale).into_bigint_and_scale().0;
    numeric::bounded(BigDecimal::new(whole(left) / whole(right), 0)).map(Value::numeric)
}

fn buckets_error(message: &str) -> ValueError {
    ValueError::new(sqlstate::INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION, message)
}

/// The bucket behind the last one.
fn behind(count: i64) -> FunctionResult {
    i32::try_from(count + 1)
        .map(Value::Integer)
        .map_err(|_| ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range"))
}

fn bucket(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (operand, low, high, count) = (call.numeric(0), call.numeric(1), call.numeric(2), call.integer(3));
    if count <= 0 {
        return Err(buckets_error("count must be greater than zero"));
    }
    if low == high {
        return Err(buckets_error("lower bound cannot equal upper bound"));
    }
    let is_rising = low < high;
    let (is_before, is_behind) =
        if is_rising { (operand < low, operand >= high) } else { (operand > low, operand <= high) };
    if is_before {
        return Ok(Value::Integer(0));
    }
    if is_behind {
        return behind(count);
    }
    let scale = [operand, low, high].map(BigDecimal::fractional_digit_count).into_iter().fold(0, i64::max);
    let whole = |number: BigDecimal| number.with_scale(scale).into_bigint_and_scale().0;
    let bucket = whole((operand - low) * BigDecimal::from(count)) / whole(high - low) + 1;
    let bucket = i64::try_from(bucket).unwrap_or(count).min(count);
    behind(bucket - 1)
}

/// How many of the sorted bounds are not above the operand. Errors: 22004.
fn bucket_of_bounds(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let bounds = call.elements(1);
    if bounds.iter().any(Value::is_null) {
        let message = "thresholds array must not contain NULLs";
        return Err(ValueError::new(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
    }
    let below = bounds.partition_point(|bound| compare(bound, call.value(0)).is_le());
    behind(below as i64 - 1)
}

fn bucket_of_double(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (operand, low, high, count) = (call.double(0), call.double(1), call.double(2), call.integer(3));
    if count <= 0 {
        return Err(buckets_error("count must be greater than zero"));
    }
    if [operand, low, high].iter().any(|number| number.is_nan()) {
        return Err(buckets_error("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(buckets_error("lower and upper bounds must be finite"));
    }
    if low == high {
        return Err(buckets_error("lower bound cannot equal upper bound"));
    }
    let (is_before, is_behind) =
        if low < high { (operand < low, operand >= high) } else { (operand > low, operand <= high) };
    if is_before {
        return Ok(Value::Integer(0));
    }
    if is_behind {
        return behind(count);
    }
    let width = high - low;
    let part = if width.is_infinite() {
        (operand / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0)
    } else {
        (operand - low) / width
    };
    behind(((count as f64 * part) as i64).min(count - 1))
}
