//! Functions of numbers.

use super::{Environment, FunctionBody, FunctionEntry, FunctionVolatility, double_of, entry, integer_of, numeric_of};
use crate::arithmetic;
use crate::error::{ValueError, sqlstate};
use crate::limits::{NUMERIC_FRACTION_DIGITS_MAX, NUMERIC_INTEGER_DIGITS_MAX};
use crate::numeric;
use crate::operators::{BinaryOperator, binary};
use crate::types::Type::{self, BigInt, Double, Integer, Real, SmallInt};
use crate::value::Value;
use bigdecimal::{BigDecimal, RoundingMode, Signed, Zero};

const NUMERIC: Type = Type::Numeric(None);

/// Doubles come first among overloads that need a cast, as they are PostgreSQL's preferred type.
pub(super) const TABLE: &[FunctionEntry] = &[
    entry("abs", &[Double], Double, |arguments, _| Ok(Value::Double(double_of(&arguments[0]).abs()))),
    entry("abs", &[SmallInt], SmallInt, absolute),
    entry("abs", &[Integer], Integer, absolute),
    entry("abs", &[BigInt], BigInt, absolute),
    entry("abs", &[NUMERIC], NUMERIC, |arguments, _| Ok(Value::numeric(numeric_of(&arguments[0]).abs()))),
    entry("abs", &[Real], Real, absolute),
    entry("ceil", &[Double], Double, CEILING_DOUBLE),
    entry("ceil", &[NUMERIC], NUMERIC, CEILING_NUMERIC),
    entry("ceiling", &[Double], Double, CEILING_DOUBLE),
    entry("ceiling", &[NUMERIC], NUMERIC, CEILING_NUMERIC),
    entry("floor", &[Double], Double, |arguments, _| Ok(Value::Double(double_of(&arguments[0]).floor()))),
    entry("floor", &[NUMERIC], NUMERIC, |arguments, _| {
        Ok(Value::numeric(numeric_of(&arguments[0]).with_scale_round(0, RoundingMode::Floor)))
    }),
    entry("round", &[Double], Double, |arguments, _| Ok(Value::Double(double_of(&arguments[0]).round_ties_even()))),
    entry("round", &[NUMERIC], NUMERIC, |arguments, _| {
        Ok(Value::numeric(numeric::round(numeric_of(&arguments[0]), 0)))
    }),
    entry("round", &[NUMERIC, Integer], NUMERIC, |arguments, _| {
        // A digit more than there can be before the point: what rounds up there is too large.
        let decimals = integer_of(&arguments[1]).clamp(-NUMERIC_INTEGER_DIGITS_MAX - 1, NUMERIC_FRACTION_DIGITS_MAX);
        numeric::bounded(numeric::round(numeric_of(&arguments[0]), decimals)).map(Value::numeric)
    }),
    entry("trunc", &[Double], Double, |arguments, _| Ok(Value::Double(double_of(&arguments[0]).trunc()))),
    entry("trunc", &[NUMERIC], NUMERIC, |arguments, _| {
        Ok(Value::numeric(numeric::truncate(numeric_of(&arguments[0]), 0)))
    }),
    entry("trunc", &[NUMERIC, Integer], NUMERIC, |arguments, _| {
        let decimals = integer_of(&arguments[1]).clamp(-NUMERIC_INTEGER_DIGITS_MAX, NUMERIC_FRACTION_DIGITS_MAX);
        Ok(Value::numeric(numeric::truncate(numeric_of(&arguments[0]), decimals)))
    }),
    entry("sign", &[Double], Double, |arguments, _| {
        let number = double_of(&arguments[0]);
        Ok(Value::Double(f64::from(i8::from(number > 0.0) - i8::from(number < 0.0))))
    }),
    entry("sign", &[NUMERIC], NUMERIC, |arguments, _| {
        let number = numeric_of(&arguments[0]);
        let sign = if number.is_zero() {
            0
        } else if number.is_negative() {
            -1
        } else {
            1
        };
        Ok(Value::numeric(BigDecimal::from(sign)))
    }),
    entry("sqrt", &[Double], Double, |arguments, _| {
        let number = double_of(&arguments[0]);
        if number < 0.0 {
            return Err(ValueError::new(
                sqlstate::INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                "cannot take square root of a negative number",
            ));
        }
        Ok(Value::Double(number.sqrt()))
    }),
    entry("sqrt", &[NUMERIC], NUMERIC, |arguments, _| {
        let number = numeric_of(&arguments[0]);
        if number.is_negative() {
            return Err(ValueError::new(
                sqlstate::INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                "cannot take square root of a negative number",
            ));
        }
        Ok(Value::numeric(numeric::square_root(number)))
    }),
    entry("power", &[Double, Double], Double, POWER),
    entry("pow", &[Double, Double], Double, POWER),
    entry("pi", &[], Double, |_, _| Ok(Value::Double(std::f64::consts::PI))),
    entry("mod", &[SmallInt, SmallInt], SmallInt, MODULO),
    entry("mod", &[Integer, Integer], Integer, MODULO),
    entry("mod", &[BigInt, BigInt], BigInt, MODULO),
    entry("mod", &[NUMERIC, NUMERIC], NUMERIC, MODULO),
    entry("factorial", &[BigInt], NUMERIC, |arguments, _| {
        numeric::factorial(integer_of(&arguments[0])).map(Value::numeric)
    }),
    entry("gcd", &[Integer, Integer], Integer, |arguments, _| as_integer(greatest_divisor(arguments))),
    entry("gcd", &[BigInt, BigInt], BigInt, |arguments, _| as_bigint(greatest_divisor(arguments))),
    entry("gcd", &[NUMERIC, NUMERIC], NUMERIC, |arguments, _| {
        Ok(Value::numeric(numeric::greatest_divisor(numeric_of(&arguments[0]), numeric_of(&arguments[1]))))
    }),
    entry("lcm", &[Integer, Integer], Integer, |arguments, _| as_integer(least_multiple(arguments))),
    entry("lcm", &[BigInt, BigInt], BigInt, |arguments, _| as_bigint(least_multiple(arguments))),
    entry("lcm", &[NUMERIC, NUMERIC], NUMERIC, |arguments, _| {
        numeric::least_multiple(numeric_of(&arguments[0]), numeric_of(&arguments[1])).map(Value::numeric)
    }),
    FunctionEntry {
        name: "random",
        parameters: &[],
        result: Double,
        volatility: FunctionVolatility::Volatile,
        body: |_, environment| {
            // 53 bits, as many as a double holds, give every multiple of 2^-53 below 1.
            Ok(Value::Double(((environment.random)() >> 11) as f64 / (1u64 << 53) as f64))
        },
    },
];

const CEILING_DOUBLE: FunctionBody = |arguments, _| Ok(Value::Double(double_of(&arguments[0]).ceil()));
const CEILING_NUMERIC: FunctionBody =
    |arguments, _| Ok(Value::numeric(numeric_of(&arguments[0]).with_scale_round(0, RoundingMode::Ceiling)));
const POWER: FunctionBody =
    |arguments, _| arithmetic::power(double_of(&arguments[0]), double_of(&arguments[1])).map(Value::Double);
const MODULO: FunctionBody = |arguments, _| binary(BinaryOperator::Modulo, &arguments[0], &arguments[1]);

/// Integers negate with a check for overflow; a real just loses its sign.
fn absolute(arguments: &[Value], _: &mut Environment<'_>) -> Result<Value, ValueError> {
    match &arguments[0] {
        Value::Real(number) => Ok(Value::Real(number.abs())),
        number if integer_of(number) < 0 => arithmetic::negate(number),
        number => Ok(number.clone()),
    }
}

/// The greatest common divisor of two integers, never negative.
fn greatest_divisor(arguments: &[Value]) -> i128 {
    let (mut left, mut right) = (i128::from(integer_of(&arguments[0])), i128::from(integer_of(&arguments[1])));
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left.abs()
}

/// The least common multiple, never negative; 0 if one of the two is.
fn least_multiple(arguments: &[Value]) -> i128 {
    let (left, right) = (i128::from(integer_of(&arguments[0])), i128::from(integer_of(&arguments[1])));
    if left == 0 || right == 0 { 0 } else { (left / greatest_divisor(arguments) * right).abs() }
}

fn as_integer(number: i128) -> Result<Value, ValueError> {
    i32::try_from(number).map(Value::Integer).map_err(|_| ValueError::out_of_range("integer"))
}

fn as_bigint(number: i128) -> Result<Value, ValueError> {
    i64::try_from(number).map(Value::BigInt).map_err(|_| ValueError::out_of_range("bigint"))
}
