//! Floats: arithmetic with PostgreSQL's checks, and functions of real numbers.

use super::library;
use super::numbers::{add, divide, multiply, negate, same, subtract};
use crate::call::{CallArguments, FunctionResult, Implementation};
use values::Type::{Double, Real};
use values::error::sqlstate;
use values::{Value, ValueError};

/// Radians of a degree, as PostgreSQL has them (`RADIANS_PER_DEGREE`).
pub(super) const RADIANS_PER_DEGREE: f64 = 0.017_453_292_519_943_295;

macro_rules! of_number {
    ($compute:expr) => {
        |call| Ok(Value::Double(($compute)(call.double(0))))
    };
}

macro_rules! checked {
    ($compute:expr) => {
        |call| ($compute)(call.double(0)).map(Value::Double)
    };
}

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("float4pl", add),
    ("float4mi", subtract),
    ("float4mul", multiply),
    ("float4div", divide),
    ("float8pl", add),
    ("float8mi", subtract),
    ("float8mul", multiply),
    ("float8div", divide),
    ("float48pl", add),
    ("float48mi", subtract),
    ("float48mul", multiply),
    ("float48div", divide),
    ("float84pl", add),
    ("float84mi", subtract),
    ("float84mul", multiply),
    ("float84div", divide),
    ("float4um", negate),
    ("float8um", negate),
    ("float4up", same),
    ("float8up", same),
    ("float4abs", library!("abs", [Real])),
    ("float8abs", of_number!(f64::abs)),
    ("dceil", of_number!(f64::ceil)),
    ("dfloor", of_number!(f64::floor)),
    ("dround", of_number!(f64::round_ties_even)),
    ("dtrunc", of_number!(f64::trunc)),
    ("dsign", library!("sign", [Double])),
    ("dsqrt", library!("sqrt", [Double])),
    ("dpow", library!("power", [Double, Double])),
    ("dcbrt", of_number!(f64::cbrt)),
    ("dexp", checked!(exponential)),
    ("dlog1", checked!(|number| logarithm(number, f64::ln))),
    ("dlog10", checked!(|number| logarithm(number, f64::log10))),
    ("dsin", checked!(|number| of_angle(number, f64::sin))),
    ("dcos", checked!(|number| of_angle(number, f64::cos))),
    ("dtan", checked!(|number| of_angle(number, f64::tan))),
    ("dcot", checked!(|number| of_angle(number, |angle| 1.0 / angle.tan()))),
    ("dasin", checked!(|number| within(number, f64::asin))),
    ("dacos", checked!(|number| within(number, f64::acos))),
    ("datan", of_number!(f64::atan)),
    ("datan2", |call| Ok(Value::Double(call.double(0).atan2(call.double(1))))),
    ("dsinh", of_number!(f64::sinh)),
    ("dcosh", of_number!(f64::cosh)),
    ("dtanh", of_number!(f64::tanh)),
    ("dasinh", of_number!(f64::asinh)),
    (
        "dacosh",
        checked!(|number: f64| if number < 1.0 {
            Err(out_of_range("input is out of range"))
        } else {
            Ok(number.acosh())
        }),
    ),
    ("datanh", checked!(|number| within(number, f64::atanh))),
    ("dpi", |_| Ok(Value::Double(std::f64::consts::PI))),
    ("degrees", |call| checked_range(call.double(0), call.double(0) / RADIANS_PER_DEGREE)),
    ("radians", |call| checked_range(call.double(0), call.double(0) * RADIANS_PER_DEGREE)),
    ("drandom", random),
];

fn out_of_range(message: &str) -> ValueError {
    ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message)
}

/// A result that became infinite or zero is an error.
fn checked_range(number: f64, result: f64) -> FunctionResult {
    if result.is_infinite() && number.is_finite() {
        Err(out_of_range("value out of range: overflow"))
    } else if result == 0.0 && number != 0.0 {
        Err(out_of_range("value out of range: underflow"))
    } else {
        Ok(Value::Double(result))
    }
}

fn exponential(number: f64) -> Result<f64, ValueError> {
    let result = number.exp();
    match number.is_finite() {
        true if result.is_infinite() => Err(out_of_range("value out of range: overflow")),
        true if result == 0.0 => Err(out_of_range("value out of range: underflow")),
        _ => Ok(result),
    }
}

fn logarithm(number: f64, compute: fn(f64) -> f64) -> Result<f64, ValueError> {
    let refused = |message: &str| Err(ValueError::new(sqlstate::INVALID_ARGUMENT_FOR_LOGARITHM, message));
    if number == 0.0 {
        refused("cannot take logarithm of zero")
    } else if number < 0.0 {
        refused("cannot take logarithm of a negative number")
    } else {
        Ok(compute(number))
    }
}

fn of_angle(number: f64, compute: impl Fn(f64) -> f64) -> Result<f64, ValueError> {
    match number.is_infinite() {
        true => Err(out_of_range("input is out of range")),
        false => Ok(compute(number)),
    }
}

/// Of a number from -1 to 1.
pub(super) fn within(number: f64, compute: fn(f64) -> f64) -> Result<f64, ValueError> {
    match number.abs() > 1.0 {
        true => Err(out_of_range("input is out of range")),
        false => Ok(compute(number)),
    }
}

/// 53 bits, as many as a double holds: every multiple of 2^-53 below 1.
fn random(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    Ok(Value::Double(((call.environment.random)() >> 11) as f64 / (1u64 << 53) as f64))
}
