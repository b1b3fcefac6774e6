//! Casts that functions do, those that fit a value to a modifier among them.

use super::numbers::same;
use crate::call::{CallArguments, FunctionResult, Implementation};
use values::Type::{BigInt, Boolean, Date, Double, Integer, Oid, Real, SmallInt};
use values::error::sqlstate;
use values::precision::rounded;
use values::{IntervalModifier, Type, Value, ValueError, cast};

/// Bytes of a name, without the zero behind it (PostgreSQL's `NAMEDATALEN`).
const NAME_BYTES_MAX: usize = 63;

/// A body that casts to a type.
macro_rules! to {
    ($target:expr) => {
        |call| cast::explicit_in(call.value(0), $target, call.zone())
    };
}

const NUMERIC: Type = Type::Numeric(None);
const TIME: Type = Type::Time(None);
const TIMESTAMP: Type = Type::Timestamp(None);
const TIMESTAMPTZ: Type = Type::TimestampTz(None);

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("i2toi4", to!(Integer)),
    ("i4toi2", to!(SmallInt)),
    ("int28", to!(BigInt)),
    ("int48", to!(BigInt)),
    ("int82", to!(SmallInt)),
    ("int84", to!(Integer)),
    ("i2tof", to!(Real)),
    ("i4tof", to!(Real)),
    ("i8tof", to!(Real)),
    ("i2tod", to!(Double)),
    ("i4tod", to!(Double)),
    ("i8tod", to!(Double)),
    ("ftod", to!(Double)),
    ("dtof", to!(Real)),
    ("ftoi2", to!(SmallInt)),
    ("ftoi4", to!(Integer)),
    ("ftoi8", to!(BigInt)),
    ("dtoi2", to!(SmallInt)),
    ("dtoi4", to!(Integer)),
    ("dtoi8", to!(BigInt)),
    ("int2_numeric", to!(NUMERIC)),
    ("int4_numeric", to!(NUMERIC)),
    ("int8_numeric", to!(NUMERIC)),
    ("float4_numeric", to!(NUMERIC)),
    ("float8_numeric", to!(NUMERIC)),
    ("numeric_int2", to!(SmallInt)),
    ("numeric_int4", to!(Integer)),
    ("numeric_int8", to!(BigInt)),
    ("numeric_float4", to!(Real)),
    ("numeric_float8", to!(Double)),
    ("jsonb_bool", to!(Boolean)),
    ("jsonb_numeric", to!(NUMERIC)),
    ("jsonb_int2", to!(SmallInt)),
    ("jsonb_int4", to!(Integer)),
    ("jsonb_int8", to!(BigInt)),
    ("jsonb_float4", to!(Real)),
    ("jsonb_float8", to!(Double)),
    ("int4_bool", to!(Boolean)),
    ("bool_int4", to!(Integer)),
    ("booltext", |call| Ok(Value::text(if call.boolean(0) { "true" } else { "false" }))),
    ("i8tooid", to!(Oid)),
    ("oidtoi8", to!(BigInt)),
    ("date_timestamp", to!(TIMESTAMP)),
    ("date_timestamptz", to!(TIMESTAMPTZ)),
    ("timestamp_timestamptz", to!(TIMESTAMPTZ)),
    ("timestamptz_timestamp", to!(TIMESTAMP)),
    ("timestamp_date", to!(Date)),
    ("timestamptz_date", to!(Date)),
    ("timestamp_time", to!(TIME)),
    ("timestamptz_time", to!(TIME)),
    ("time_interval", to!(Type::Interval(None))),
    ("interval_time", to!(TIME)),
    ("chartoi4", |call| Ok(Value::Integer(i32::from(call.text(0).bytes().next().unwrap_or(0) as i8)))),
    ("i4tochar", integer_to_character),
    ("text_char", text_to_character),
    ("char_text", same),
    ("char_bpchar", character_to_padded),
    ("name_text", same),
    ("name_bpchar", character_to_padded),
    ("text_name", |call| Ok(Value::text(truncated_name(call.text(0))))),
    ("bpchar_name", |call| Ok(Value::text(truncated_name(call.text(0)).trim_end_matches(' ')))),
    ("numeric", fit_numeric),
    ("varchar", |call| fit_string(call, Type::Varchar(None))),
    ("bpchar", |call| fit_string(call, Type::Char(0))),
    ("timestamp_scale", |call| Ok(Value::Timestamp(rounded_time(call)))),
    ("timestamptz_scale", |call| Ok(Value::TimestampTz(rounded_time(call)))),
    ("time_scale", |call| Ok(Value::Time(rounded_time(call)))),
    ("interval_scale", fit_interval),
];

fn out_of_range() -> ValueError {
    ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "\"char\" out of range")
}

/// A text holds no zero byte, and a `"char"` of that prints as nothing.
fn integer_to_character(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let code = call.integer(0);
    match code {
        0 => Ok(Value::text("")),
        1..=127 => Ok(Value::text(char::from(code as u8).to_string())),
        -128..=-1 => Err(beyond_ascii()),
        _ => Err(out_of_range()),
    }
}

fn text_to_character(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let text = call.text(0);
    if let [b'\\', digits @ ..] = text.as_bytes()
        && let [high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7'] = digits
    {
        let code = (high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0');
        return match code {
            0 => Ok(Value::text("")),
            1..=127 => Ok(Value::text(char::from(code).to_string())),
            _ => Err(beyond_ascii()),
        };
    }
    match text.chars().next() {
        None => Ok(Value::text("")),
        Some(first) if first.is_ascii() => Ok(Value::text(first.to_string())),
        Some(_) => Err(beyond_ascii()),
    }
}

fn beyond_ascii() -> ValueError {
    ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, "values of type \"char\" beyond ASCII are not supported")
}

fn character_to_padded(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    Ok(Value::text(call.text(0).trim_end_matches(' ')))
}

/// As many whole characters as a name has room for.
pub(super) fn truncated_name(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_BYTES_MAX)]
}

/// `numeric(value, modifier)`.
fn fit_numeric(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let data_type = Type::from_oid_and_typmod(NUMERIC.oid(), call.integer(1) as i32).unwrap_or(NUMERIC);
    cast::explicit(call.value(0), data_type)
}

/// `varchar(value, modifier, explicit)` and the same of `bpchar`.
fn fit_string(call: &mut CallArguments<'_, '_>, unmodified: Type) -> FunctionResult {
    let data_type = Type::from_oid_and_typmod(unmodified.oid(), call.integer(1) as i32).unwrap_or(unmodified);
    match call.boolean(2) {
        true => cast::explicit(call.value(0), data_type),
        false => cast::assign(call.value(0), data_type),
    }
}

/// A time with as many digits of a second as its type says.
fn rounded_time(call: &CallArguments<'_, '_>) -> i64 {
    rounded(call.instant(0), u8::try_from(call.integer(1)).ok())
}

/// Cuts off what the fields of an interval's type do not name, and rounds its seconds.
fn fit_interval(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (span, modifier) = (call.interval(0), IntervalModifier::of_typmod(call.integer(1) as i32));
    Ok(Value::Interval(modifier.map_or(span, |modifier| span.fitted(modifier))))
}
