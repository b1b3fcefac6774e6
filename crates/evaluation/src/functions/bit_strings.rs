//! Bit strings: `bit` and `bit varying`. Places within them count from 1 on the left, but for single bits, which count from 0.

use crate::call::{CallArguments, FunctionResult, Implementation};
use values::error::sqlstate;
use values::{BitString, Type, Value, ValueError, cast};

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("bit_and", |call| Ok(Value::Bits(and(call.bits(0), call.bits(1))?))),
    ("bit_or", |call| Ok(Value::Bits(or(call.bits(0), call.bits(1))?))),
    ("bitxor", |call| Ok(Value::Bits(xor(call.bits(0), call.bits(1))?))),
    ("bitnot", |call| Ok(Value::Bits(call.bits(0).complement()))),
    ("bitshiftleft", |call| Ok(Value::Bits(call.bits(0).shifted(call.integer(1))))),
    ("bitshiftright", |call| Ok(Value::Bits(call.bits(0).shifted(-call.integer(1))))),
    ("bitcat", |call| Ok(Value::Bits(call.bits(0).joined(call.bits(1))?))),
    ("bitlength", |call| Ok(Value::Integer(call.bits(0).length() as i32))),
    ("bitoctetlength", |call| Ok(Value::Integer(call.bits(0).bytes().len() as i32))),
    ("bitsubstr", substring),
    ("bitsubstr_no_len", substring),
    ("bitoverlay", overlay),
    ("bitoverlay_no_len", overlay),
    ("bitposition", |call| Ok(Value::Integer(call.bits(0).position(call.bits(1)) as i32))),
    ("bitgetbit", |call| Ok(Value::Integer(i32::from(call.bits(0).bit(place(call)?))))),
    ("bitsetbit", set_bit),
    ("bit_bit_count", |call| Ok(Value::BigInt(call.bits(0).ones()))),
    ("bit", |call| fit(call, Type::Bit(0))),
    ("varbit", |call| fit(call, Type::VarBit(None))),
    ("bitfromint4", of_integer),
    ("bitfromint8", of_integer),
    ("bittoint4", |call| cast::explicit(call.value(0), Type::Integer)),
    ("bittoint8", |call| cast::explicit(call.value(0), Type::BigInt)),
];

/// `bit_length`, which PostgreSQL writes in SQL.
pub(super) const BY_NUMBER: &[(u32, Implementation)] =
    &[(1812, |call| Ok(Value::Integer(call.bits(0).length() as i32)))];

/// Errors of this and the next two: 22026 for other lengths.
pub(crate) fn and(left: &BitString, right: &BitString) -> Result<BitString, ValueError> {
    left.combined(right, "AND", |one, other| one & other)
}

pub(crate) fn or(left: &BitString, right: &BitString) -> Result<BitString, ValueError> {
    left.combined(right, "OR", |one, other| one | other)
}

pub(crate) fn xor(left: &BitString, right: &BitString) -> Result<BitString, ValueError> {
    left.combined(right, "XOR", |one, other| one ^ other)
}

fn negative_length() -> ValueError {
    ValueError::new(sqlstate::SUBSTRING_ERROR, "negative substring length not allowed")
}

/// The bits from a position, which may lie before the first, to before another.
fn slice(bits: &BitString, from: i64, end: i64) -> BitString {
    let index = |position: i64| u32::try_from((position - 1).max(0)).unwrap_or(u32::MAX);
    bits.slice(index(from), index(end))
}

fn substring(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let from = call.integer(1);
    let end = match call.arguments.get(2).and_then(Value::as_integer) {
        Some(..0) => return Err(negative_length()),
        Some(count) => from + count,
        None => i64::MAX,
    };
    Ok(Value::Bits(slice(call.bits(0), from, end)))
}

fn overlay(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (bits, new, from) = (call.bits(0), call.bits(1), call.integer(2));
    let count = call.arguments.get(3).and_then(Value::as_integer).unwrap_or(i64::from(new.length()));
    if from <= 0 {
        return Err(negative_length());
    }
    if i32::try_from(from + count).is_err() {
        return Err(ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range"));
    }
    let before = slice(bits, 1, from).joined(new)?;
    Ok(Value::Bits(before.joined(&slice(bits, from + count, i64::MAX))?))
}

/// The place of a single bit. Errors: 2202E.
fn place(call: &CallArguments<'_, '_>) -> Result<u32, ValueError> {
    let (length, place) = (call.bits(0).length(), call.integer(1));
    u32::try_from(place).ok().filter(|place| *place < length).ok_or_else(|| {
        let last = i64::from(length) - 1;
        let message = format!("bit index {place} out of valid range (0..{last})");
        ValueError::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, message)
    })
}

fn set_bit(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let place = place(call)?;
    match call.integer(2) {
        new @ 0..=1 => Ok(Value::Bits(call.bits(0).with_bit(place, new == 1))),
        _ => Err(ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, "new bit must be 0 or 1")),
    }
}

/// `bit(value, length, explicit)` and the same of `varbit`.
fn fit(call: &mut CallArguments<'_, '_>, unmodified: Type) -> FunctionResult {
    let data_type = Type::from_oid_and_typmod(unmodified.oid(), call.integer(1) as i32).unwrap_or(unmodified);
    match call.boolean(2) {
        true => cast::explicit(call.value(0), data_type),
        false => cast::assign(call.value(0), data_type),
    }
}

/// So many of an integer's lowest bits; one, if no number is said.
fn of_integer(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let length = u32::try_from(call.integer(1)).unwrap_or(0);
    cast::explicit(call.value(0), Type::Bit(length))
}
