//! Functions of numbers.

use super::{Body, Entry, Environment, Volatility, double_of, entry, integer_of, numeric_of};
use crate::arithmetic;
use crate::error::{ValueError, sqlstate};
use crate::numeric;
use crate::operators::{BinaryOperator, binary};
use crate::types::Type::{self, BigInt, Double, Integer, Real, SmallInt};
use crate::value::Value;
use bigdecimal::{BigDecimal, RoundingMode, Signed, Zero};

const NUMERIC: Type = Type::Numeric(None);

/// Largest number of decimals that `round` and `trunc` produce (`NUMERIC_MAX_RESULT_SCALE`).
const RESULT_SCALE_MAX: i64 = 2000;

/// Doubles come first among overloads that need a cast, as they are PostgreSQL's preferred type.
pub(super) const TABLE: &[Entry] = &[
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
        Ok(Value::numeric(numeric::round(numeric_of(&arguments[0]), decimals(&arguments[1]))))
    }),
    entry("trunc", &[Double], Double, |arguments, _| Ok(Value::Double(double_of(&arguments[0]).trunc()))),
    entry("trunc", &[NUMERIC], NUMERIC, |arguments, _| {
        Ok(Value::numeric(numeric::truncate(numeric_of(&arguments[0]), 0)))
    }),
    entry("trunc", &[NUMERIC, Integer], NUMERIC, |arguments, _| {
        Ok(Value::numeric(numeric::truncate(numeric_of(&arguments[0]), decimals(&arguments[1]))))
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
                sqlstate::INVALID_ARGUMENT_FOR_POWER,
                "cannot take square root of a negative number",
            ));
        }
        Ok(Value::Double(number.sqrt()))
    }),
    entry("sqrt", &[NUMERIC], NUMERIC, |arguments, _| {
        let number = numeric_of(&arguments[0]);
        if number.is_negative() {
            return Err(ValueError::new(
                sqlstate::INVALID_ARGUMENT_FOR_POWER,
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
    Entry {
        name: "random",
        parameters: &[],
        result: Double,
        volatility: Volatility::Volatile,
        body: |_, environment| {
            // 53 bits, as many as a double holds, give every multiple of 2^-53 below 1.
            Ok(Value::Double(((environment.random)() >> 11) as f64 / (1u64 << 53) as f64))
        },
    },
];

const CEILING_DOUBLE: Body = |arguments, _| Ok(Value::Double(double_of(&arguments[0]).ceil()));
const CEILING_NUMERIC: Body =
    |arguments, _| Ok(Value::numeric(numeric_of(&arguments[0]).with_scale_round(0, RoundingMode::Ceiling)));
const POWER: Body =
    |arguments, _| arithmetic::power(double_of(&arguments[0]), double_of(&arguments[1])).map(Value::Double);
const MODULO: Body = |arguments, _| binary(BinaryOperator::Modulo, &arguments[0], &arguments[1]);

/// Integers negate with a check for overflow; a real just loses its sign.
fn absolute(arguments: &[Value], _: &mut Environment<'_>) -> Result<Value, ValueError> {
    match &arguments[0] {
        Value::Real(number) => Ok(Value::Real(number.abs())),
        number if integer_of(number) < 0 => arithmetic::negate(number),
        number => Ok(number.clone()),
    }
}

/// The second argument of `round` and `trunc`.
fn decimals(argument: &Value) -> i64 {
    integer_of(argument).clamp(-RESULT_SCALE_MAX, RESULT_SCALE_MAX)
}
