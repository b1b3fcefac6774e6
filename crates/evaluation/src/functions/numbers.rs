//! Whole numbers: arithmetic, bits, divisors.

use super::library;
use crate::call::{CallArguments, FunctionResult, Implementation};
use values::Type::{BigInt, Integer, SmallInt};
use values::error::sqlstate;
use values::operators::{BinaryOperator, UnaryOperator, binary, binary_in, unary};
use values::{Value, ValueError};

macro_rules! arithmetic {
    ($name:ident, $operator:ident) => {
        pub(super) fn $name(call: &mut CallArguments<'_, '_>) -> FunctionResult {
            binary_in(BinaryOperator::$operator, call.value(0), call.value(1), call.zone())
        }
    };
}

arithmetic!(add, Add);
arithmetic!(subtract, Subtract);
arithmetic!(multiply, Multiply);
arithmetic!(divide, Divide);
arithmetic!(modulo, Modulo);
arithmetic!(bit_and, BitAnd);
arithmetic!(bit_or, BitOr);
arithmetic!(bit_xor, BitXor);

pub(super) fn negate(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    unary(UnaryOperator::Negate, call.value(0))
}

/// The argument as it is.
pub(super) fn same(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    Ok(call.value(0).clone())
}

fn bit_not(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    Ok(match call.value(0) {
        Value::SmallInt(number) => Value::SmallInt(!number),
        Value::Integer(number) => Value::Integer(!number),
        _ => Value::BigInt(!call.integer(0)),
    })
}

/// Shifts as C does on the processors that PostgreSQL runs on: by the distance modulo the width, at least 32.
fn shift(call: &mut CallArguments<'_, '_>, left: bool) -> FunctionResult {
    let distance = call.integer(1) as u32;
    Ok(match call.value(0) {
        Value::SmallInt(number) => {
            let number = i32::from(*number);
            Value::SmallInt(if left { number.wrapping_shl(distance) } else { number.wrapping_shr(distance) } as i16)
        }
        Value::Integer(number) => {
            Value::Integer(if left { number.wrapping_shl(distance) } else { number.wrapping_shr(distance) })
        }
        _ => {
            let number = call.integer(0);
            Value::BigInt(if left { number.wrapping_shl(distance) } else { number.wrapping_shr(distance) })
        }
    })
}

fn shift_left(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    shift(call, true)
}

fn shift_right(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    shift(call, false)
}

macro_rules! operators {
    ([$($six:literal),*], [$($cross:literal),*]) => {
        &[
            $(
                (concat!($six, "pl"), add as Implementation),
                (concat!($six, "mi"), subtract),
                (concat!($six, "mul"), multiply),
                (concat!($six, "div"), divide),
                (concat!($six, "mod"), modulo),
                (concat!($six, "and"), bit_and),
                (concat!($six, "or"), bit_or),
                (concat!($six, "xor"), bit_xor),
                (concat!($six, "not"), bit_not),
                (concat!($six, "shl"), shift_left),
                (concat!($six, "shr"), shift_right),
                (concat!($six, "um"), negate),
                (concat!($six, "up"), same),
            )*
            $(
                (concat!($cross, "pl"), add as Implementation),
                (concat!($cross, "mi"), subtract),
                (concat!($cross, "mul"), multiply),
                (concat!($cross, "div"), divide),
            )*
            ("int2abs", library!("abs", [SmallInt])),
            ("int4abs", library!("abs", [Integer])),
            ("int8abs", library!("abs", [BigInt])),
            ("int4gcd", library!("gcd", [Integer, Integer])),
            ("int8gcd", library!("gcd", [BigInt, BigInt])),
            ("int4lcm", library!("lcm", [Integer, Integer])),
            ("int8lcm", library!("lcm", [BigInt, BigInt])),
            ("int4inc", increment),
            ("int8inc", increment),
            ("int8dec", decrement),
            ("booland_statefunc", |call| Ok(Value::Boolean(call.boolean(0) && call.boolean(1)))),
            ("boolor_statefunc", |call| Ok(Value::Boolean(call.boolean(0) || call.boolean(1)))),
            ("to_hex32", |call| Ok(Value::text(format!("{:x}", call.integer(0) as i32)))),
            ("to_hex64", |call| Ok(Value::text(format!("{:x}", call.integer(0))))),
            ("pg_num_nulls", |call| count(call, Value::is_null)),
            ("pg_num_nonnulls", |call| count(call, |value| !value.is_null())),
        ]
    };
}

pub(super) const TABLE: &[(&str, Implementation)] =
    operators!(["int2", "int4", "int8"], ["int24", "int42", "int28", "int82", "int48", "int84"]);

fn increment(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    binary(BinaryOperator::Add, call.value(0), &Value::SmallInt(1))
}

fn decrement(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    binary(BinaryOperator::Subtract, call.value(0), &Value::SmallInt(1))
}

/// How many arguments are such; the only one, with VARIADIC, may be an array of them.
fn count(call: &mut CallArguments<'_, '_>, wanted: fn(&Value) -> bool) -> FunctionResult {
    let found = call.arguments.iter().filter(|value| wanted(value)).count();
    i32::try_from(found)
        .map(Value::Integer)
        .map_err(|_| ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range"))
}
