//! Functions of angles in degrees (PostgreSQL's documentation, table 9.7). Multiples of 30 and 45 degrees have exact results: a sine or cosine is divided by that of such an angle.

use super::floats::within;
use crate::call::{CallArguments, FunctionResult, Implementation};
use values::error::sqlstate;
use values::{Value, ValueError};

const RADIANS: f64 = super::floats::RADIANS_PER_DEGREE;

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("dsind", |call| {
        of_angle(call, |angle| {
            let (angle, sign) = folded(angle);
            let is_beyond = angle > 180.0;
            let angle = if is_beyond { 360.0 - angle } else { angle };
            let sign = if is_beyond { -sign } else { sign };
            sign * sine(if angle > 90.0 { 180.0 - angle } else { angle })
        })
    }),
    ("dcosd", |call| {
        of_angle(call, |angle| {
            let angle = half_turn(angle);
            if angle > 90.0 { -cosine(180.0 - angle) } else { cosine(angle) }
        })
    }),
    ("dtand", |call| of_angle(call, |angle| ratio(angle, |angle| sine(angle) / cosine(angle)))),
    ("dcotd", |call| of_angle(call, |angle| ratio(angle, |angle| cosine(angle) / sine(angle)))),
    ("dasind", |call| {
        within(call.double(0), |number| if number >= 0.0 { inverse_sine(number) } else { -inverse_sine(-number) })
            .map(Value::Double)
    }),
    ("dacosd", |call| {
        within(
            call.double(0),
            |number| {
                if number >= 0.0 { inverse_cosine(number) } else { 90.0 + inverse_sine(-number) }
            },
        )
        .map(Value::Double)
    }),
    ("datand", |call| Ok(Value::Double(call.double(0).atan() / 1f64.atan() * 45.0))),
    ("datan2d", |call| Ok(Value::Double(call.double(0).atan2(call.double(1)) / 1f64.atan() * 45.0))),
];

/// Errors: 22003 for an infinite angle.
fn of_angle(call: &mut CallArguments<'_, '_>, compute: impl Fn(f64) -> f64) -> FunctionResult {
    let angle = call.double(0);
    match angle.is_infinite() {
        true => Err(ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")),
        false => Ok(Value::Double(if angle.is_nan() { angle } else { compute(angle) })),
    }
}

/// An angle from 0 to 360, and the sign that it had.
fn folded(angle: f64) -> (f64, f64) {
    let within = angle % 360.0;
    if within < 0.0 { (-within, -1.0) } else { (within, 1.0) }
}

/// The angle from 0 to 180 that has the same cosine.
fn half_turn(angle: f64) -> f64 {
    let (angle, _) = folded(angle);
    if angle > 180.0 { 360.0 - angle } else { angle }
}

/// A tangent or cotangent, which is 1 at 45 degrees.
fn ratio(angle: f64, compute: impl Fn(f64) -> f64) -> f64 {
    let (mut angle, mut sign) = folded(angle);
    if angle > 180.0 {
        angle = 360.0 - angle;
        sign = -sign;
    }
    if angle > 90.0 {
        angle = 180.0 - angle;
        sign = -sign;
    }
    let result = sign * (compute(angle) / compute(45.0));
    // Zero has no sign.
    if result == 0.0 { 0.0 } else { result }
}

fn small_sine(angle: f64) -> f64 {
    (angle * RADIANS).sin() / (30.0 * RADIANS).sin() / 2.0
}

fn small_cosine(angle: f64) -> f64 {
    1.0 - (1.0 - (angle * RADIANS).cos()) / (1.0 - (60.0 * RADIANS).cos()) / 2.0
}

/// Of an angle from 0 to 90.
fn sine(angle: f64) -> f64 {
    if angle <= 30.0 { small_sine(angle) } else { small_cosine(90.0 - angle) }
}

/// Of an angle from 0 to 90.
fn cosine(angle: f64) -> f64 {
    if angle <= 60.0 { small_cosine(angle) } else { small_sine(90.0 - angle) }
}

/// Of a number from 0 to 1.
fn inverse_sine(number: f64) -> f64 {
    if number <= 0.5 { number.asin() / 0.5f64.asin() * 30.0 } else { 90.0 - number.acos() / 0.5f64.acos() * 60.0 }
}

/// Of a number from 0 to 1.
fn inverse_cosine(number: f64) -> f64 {
    if number <= 0.5 { 90.0 - number.asin() / 0.5f64.asin() * 30.0 } else { number.acos() / 0.5f64.acos() * 60.0 }
}
