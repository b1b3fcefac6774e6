//! Arithmetic of numbers: promotion, overflow, division.
//!
//! Invariant: a result that its type cannot hold is an error (22003), never wrapped, and a float result is infinite only
//! if an operand was.

use crate::compare::{as_double, as_numeric};
use crate::error::{ValueError, sqlstate};
use crate::interval;
use crate::numeric;
use crate::operators::{BinaryOperator, undefined_unary};
use crate::types::Type;
use crate::value::Value;

/// The type in which PostgreSQL computes with two numbers: the wider integer; `numeric` above the integers; `real` only
/// with itself; else `double precision`. `None` for other types.
pub(crate) fn promoted(left: Type, right: Type) -> Option<Type> {
    if !left.is_number() || !right.is_number() {
        return None;
    }
    let has = |data_type: Type| left.unmodified() == data_type || right.unmodified() == data_type;
    Some(if left == Type::Real && right == Type::Real {
        Type::Real
    } else if has(Type::Real) || has(Type::Double) {
        Type::Double
    } else if has(Type::Numeric(None)) {
        Type::Numeric(None)
    } else if has(Type::BigInt) {
        Type::BigInt
    } else if has(Type::Integer) {
        Type::Integer
    } else {
        Type::SmallInt
    })
}

/// Applies an operator to two numbers; `None` if they are no numbers or the operator does not take them.
pub(crate) fn binary(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Option<Value>, ValueError> {
    // The commonest case needs no search for a common type.
    if let (Value::Integer(left), Value::Integer(right)) = (left, right)
        && let Some(result) = integers(operator, i64::from(*left), i64::from(*right))?
    {
        return narrow(Type::Integer, result).map(Some);
    }
    let Some(common) = left.data_type().zip(right.data_type()).and_then(|(left, right)| promoted(left, right)) else {
        return Ok(None);
    };
    if operator == BinaryOperator::Power {
        return match (common, as_double(left).zip(as_double(right))) {
            (Type::Numeric(_), _) | (_, None) => Ok(None),
            (_, Some((left, right))) => power(left, right).map(|number| Some(Value::Double(number))),
        };
    }
    if let (Some(left), Some(right)) = (left.as_integer(), right.as_integer()) {
        return integers(operator, left, right)?.map(|result| narrow(common, result)).transpose();
    }
    match common {
        Type::Numeric(_) => {
            let (Some(left), Some(right)) = (as_numeric(left), as_numeric(right)) else {
                return Ok(None);
            };
            let result = match operator {
                BinaryOperator::Add => numeric::add(&left, &right),
                BinaryOperator::Subtract => numeric::subtract(&left, &right),
                BinaryOperator::Multiply => numeric::multiply(&left, &right),
                BinaryOperator::Divide => numeric::divide(&left, &right),
                BinaryOperator::Modulo => numeric::remainder(&left, &right),
                _ => return Ok(None),
            };
            result.map(|number| Some(Value::numeric(number)))
        }
        _ => {
            let (Some(left), Some(right)) = (as_double(left), as_double(right)) else {
                return Ok(None);
            };
            let Some(result) = floats(operator, left, right)? else {
                return Ok(None);
            };
            if common == Type::Real {
                // Two reals' exact result rounds to the same real through a double.
                checked_real(result, left, right).map(|number| Some(Value::Real(number)))
            } else {
                Ok(Some(Value::Double(result)))
            }
        }
    }
}

/// Computes in 128 bits, which no operator overflows; `None` if the operator does not take integers.
fn integers(operator: BinaryOperator, left: i64, right: i64) -> Result<Option<i128>, ValueError> {
    let (left, right) = (i128::from(left), i128::from(right));
    if right == 0 && matches!(operator, BinaryOperator::Divide | BinaryOperator::Modulo) {
        return Err(ValueError::division_by_zero());
    }
    Ok(Some(match operator {
        BinaryOperator::Add => left + right,
        BinaryOperator::Subtract => left - right,
        BinaryOperator::Multiply => left * right,
        BinaryOperator::Divide => left / right,
        BinaryOperator::Modulo => left % right,
        BinaryOperator::BitAnd => left & right,
        BinaryOperator::BitOr => left | right,
        BinaryOperator::BitXor => left ^ right,
        _ => return Ok(None),
    }))
}

/// An integer of this type. Errors: 22003.
fn narrow(data_type: Type, number: i128) -> Result<Value, ValueError> {
    let value = match data_type {
        Type::SmallInt => i16::try_from(number).ok().map(Value::SmallInt),
        Type::Integer => i32::try_from(number).ok().map(Value::Integer),
        _ => i64::try_from(number).ok().map(Value::BigInt),
    };
    value.ok_or_else(|| ValueError::out_of_range(data_type.base_name()))
}

#[cold]
fn float_overflow() -> ValueError {
    ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

#[cold]
fn float_underflow() -> ValueError {
    ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow")
}

/// Computes in doubles with PostgreSQL's checks; `None` if the operator does not take floats.
fn floats(operator: BinaryOperator, left: f64, right: f64) -> Result<Option<f64>, ValueError> {
    let result = match operator {
        BinaryOperator::Add => left + right,
        BinaryOperator::Subtract => left - right,
        BinaryOperator::Multiply => left * right,
        BinaryOperator::Divide if right == 0.0 && !left.is_nan() => return Err(ValueError::division_by_zero()),
        BinaryOperator::Divide => left / right,
        _ => return Ok(None),
    };
    if result.is_infinite() && left.is_finite() && right.is_finite() {
        return Err(float_overflow());
    }
    let underflows = match operator {
        BinaryOperator::Multiply => left != 0.0 && right != 0.0,
        BinaryOperator::Divide => left != 0.0 && right.is_finite(),
        _ => false,
    };
    if result == 0.0 && underflows { Err(float_underflow()) } else { Ok(Some(result)) }
}

fn checked_real(result: f64, left: f64, right: f64) -> Result<f32, ValueError> {
    let real = result as f32;
    if real.is_infinite() && left.is_finite() && right.is_finite() {
        Err(float_overflow())
    } else if real == 0.0 && result != 0.0 {
        Err(float_underflow())
    } else {
        Ok(real)
    }
}

/// `dpow`. Errors: 2201F for roots of negative numbers, 22003.
pub(crate) fn power(base: f64, exponent: f64) -> Result<f64, ValueError> {
    let invalid = |message: &str| Err(ValueError::new(sqlstate::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message));
    if base == 0.0 && exponent < 0.0 {
        return invalid("zero raised to a negative power is undefined");
    }
    if base < 0.0 && exponent.is_finite() && exponent.fract() != 0.0 {
        return invalid("a negative number raised to a non-integer power yields a complex result");
    }
    let result = base.powf(exponent);
    if base.is_finite() && exponent.is_finite() {
        if result.is_infinite() {
            return Err(float_overflow());
        }
        if result == 0.0 && base != 0.0 {
            return Err(float_underflow());
        }
    }
    Ok(result)
}

/// The number or interval with the other sign. Errors: 22003, 22008, 42883.
pub(crate) fn negate(operand: &Value) -> Result<Value, ValueError> {
    Ok(match operand {
        Value::SmallInt(number) => narrow(Type::SmallInt, -i128::from(*number))?,
        Value::Integer(number) => narrow(Type::Integer, -i128::from(*number))?,
        Value::BigInt(number) => narrow(Type::BigInt, -i128::from(*number))?,
        Value::Real(number) => Value::Real(-number),
        Value::Double(number) => Value::Double(-number),
        Value::Numeric(number) => Value::numeric(-number.as_ref()),
        Value::Interval(interval) => Value::Interval(interval::negate(interval)?),
        other => return Err(undefined_unary("-", other)),
    })
}
