//! Comparisons: six operators and a function of each pair of types, and the larger and smaller of two.

use crate::call::{CallArguments, FunctionResult, Implementation};
use std::cmp::Ordering;
use values::Value;
use values::operators::{BinaryOperator, binary_in, compare_in};

fn ordering(call: &CallArguments<'_, '_>) -> Ordering {
    compare_in(call.value(0), call.value(1), call.zone())
}

macro_rules! operator {
    ($name:ident, $operator:ident) => {
        fn $name(call: &mut CallArguments<'_, '_>) -> FunctionResult {
            binary_in(BinaryOperator::$operator, call.value(0), call.value(1), call.zone())
        }
    };
}

operator!(equal, Equal);
operator!(not_equal, NotEqual);
operator!(less, Less);
operator!(at_most, LessOrEqual);
operator!(greater, Greater);
operator!(at_least, GreaterOrEqual);

/// The sign of a comparison, as index support functions return it.
fn sign(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    Ok(Value::Integer(ordering(call) as i32))
}

/// Of two that are equal the second, which may print otherwise: 1.0 and 1.00.
fn larger(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    Ok(call.value(usize::from(!ordering(call).is_gt())).clone())
}

/// As [`larger`].
fn smaller(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    Ok(call.value(usize::from(!ordering(call).is_lt())).clone())
}

/// The three kinds of names: `int4eq`, `text_lt`, and `date_eq_timestamp` with something behind.
macro_rules! comparisons {
    (six: [$($six:literal),*], underscore: [$($underscore:literal),*], between: [$(($left:literal, $right:literal)),*], others: [$($other:expr),* $(,)?]) => {
        &[
            $(
                (concat!($six, "eq"), equal as Implementation),
                (concat!($six, "ne"), not_equal),
                (concat!($six, "lt"), less),
                (concat!($six, "le"), at_most),
                (concat!($six, "gt"), greater),
                (concat!($six, "ge"), at_least),
            )*
            $(
                (concat!($underscore, "_lt"), less as Implementation),
                (concat!($underscore, "_le"), at_most),
                (concat!($underscore, "_gt"), greater),
                (concat!($underscore, "_ge"), at_least),
            )*
            $(
                (concat!($left, "eq", $right), equal as Implementation),
                (concat!($left, "ne", $right), not_equal),
                (concat!($left, "lt", $right), less),
                (concat!($left, "le", $right), at_most),
                (concat!($left, "gt", $right), greater),
                (concat!($left, "ge", $right), at_least),
                (concat!($left, "cmp", $right), sign),
            )*
            $($other,)*
        ]
    };
}

pub(super) const TABLE: &[(&str, Implementation)] = comparisons!(
    six: [
        "bool", "enum_", "int2", "int4", "int8", "int24", "int42", "int28", "int82", "int48", "int84", "oid", "float4", "float8",
        "float48", "float84", "bpchar", "name", "char", "bytea", "bit"
    ],
    underscore: ["text", "text_pattern", "bpchar_pattern"],
    between: [
        ("numeric_", ""), ("date_", ""), ("time_", ""), ("timestamp_", ""), ("interval_", ""), ("uuid_", ""), ("jsonb_", ""),
        ("network_", ""), ("macaddr_", ""), ("macaddr8_", ""), ("range_", ""), ("multirange_", ""),
        ("timetz_", ""), ("cash_", ""),
        ("date_", "_timestamp"), ("date_", "_timestamptz"), ("timestamp_", "_date"), ("timestamp_", "_timestamptz"),
        ("timestamptz_", "_date"), ("timestamptz_", "_timestamp")
    ],
    others: [
        ("tsvector_eq", equal as Implementation), ("tsvector_ne", not_equal), ("tsvector_lt", less),
        ("tsvector_le", at_most), ("tsvector_gt", greater), ("tsvector_ge", at_least),
        ("tsquery_eq", equal), ("tsquery_ne", not_equal), ("tsquery_lt", less),
        ("tsquery_le", at_most), ("tsquery_gt", greater), ("tsquery_ge", at_least),
        ("texteq", equal), ("textne", not_equal),
        ("nameeqtext", equal), ("namenetext", not_equal), ("namelttext", less),
        ("nameletext", at_most), ("namegttext", greater), ("namegetext", at_least),
        ("texteqname", equal), ("textnename", not_equal), ("textltname", less),
        ("textlename", at_most), ("textgtname", greater), ("textgename", at_least),
        ("array_eq", equal), ("array_ne", not_equal), ("array_lt", less),
        ("array_le", at_most), ("array_gt", greater), ("array_ge", at_least),
        ("enum_cmp", sign), ("enum_larger", larger), ("enum_smaller", smaller),
        ("btboolcmp", sign), ("btint2cmp", sign), ("btint4cmp", sign), ("btint8cmp", sign), ("btint24cmp", sign), ("btint42cmp", sign),
        ("btint28cmp", sign), ("btint82cmp", sign), ("btint48cmp", sign), ("btint84cmp", sign), ("btoidcmp", sign), ("btfloat4cmp", sign),
        ("btfloat8cmp", sign), ("btfloat48cmp", sign), ("btfloat84cmp", sign), ("btcharcmp", sign), ("btnamecmp", sign),
        ("btnametextcmp", sign), ("bttextnamecmp", sign), ("bttextcmp", sign), ("bttext_pattern_cmp", sign), ("bpcharcmp", sign),
        ("btbpchar_pattern_cmp", sign), ("byteacmp", sign), ("bitcmp", sign), ("btarraycmp", sign),
        ("int2larger", larger), ("int4larger", larger), ("int8larger", larger), ("oidlarger", larger), ("float4larger", larger),
        ("float8larger", larger), ("numeric_larger", larger), ("text_larger", larger), ("bpchar_larger", larger), ("date_larger", larger),
        ("time_larger", larger), ("timestamp_larger", larger), ("interval_larger", larger), ("array_larger", larger),
        ("network_larger", larger), ("timetz_larger", larger), ("cashlarger", larger),
        ("int2smaller", smaller), ("int4smaller", smaller), ("int8smaller", smaller), ("oidsmaller", smaller), ("float4smaller", smaller),
        ("float8smaller", smaller), ("numeric_smaller", smaller), ("text_smaller", smaller), ("bpchar_smaller", smaller),
        ("date_smaller", smaller), ("time_smaller", smaller), ("timestamp_smaller", smaller), ("interval_smaller", smaller),
        ("array_smaller", smaller), ("network_smaller", smaller), ("timetz_smaller", smaller), ("cashsmaller", smaller),
    ]
);
