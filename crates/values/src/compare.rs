//! How values order: one total order for sorting, the basis of SQL's comparisons.
//!
//! Invariant: among values of one type this is a total order that [`key`](crate::key) encodes: NULL last, NaN greatest,
//! -0 equal to 0, text bytewise, labels in their type's order, empty ranges first and others by their bounds, intervals by span, arrays by the first element that differs. Values of different numeric types, of integers and
//! `oid`, of `inet` and `cidr`, or of different types of dates, compare after promotion as PostgreSQL does; other mixtures order by type, so that sorting never fails.

use crate::json;
use crate::limits::MICROSECONDS_PER_DAY;
use crate::text;
use crate::types::Type;
use crate::value::Value;
use bigdecimal::BigDecimal;
use std::cmp::Ordering;

/// Compares for sorting; NULLs are equal to each other and after everything else.
pub fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Greater,
        (_, Value::Null) => Ordering::Less,
        // SQL has no order of these, but sorting must not fail.
        (Value::Json(left), Value::Json(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Value::Array(left), Value::Array(right)) if left.element() == right.element() => {
            compare_elements(left.values(), right.values())
        }
        _ => compare_present(left, right).unwrap_or_else(|| rank(left).cmp(&rank(right))),
    }
}

/// Compares two values that are not NULL; `None` when SQL has no comparison of their types.
pub(crate) fn compare_present(left: &Value, right: &Value) -> Option<Ordering> {
    Some(match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => left.cmp(right),
        (Value::BigInt(left), Value::BigInt(right)) => left.cmp(right),
        (Value::Text(left), Value::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Value::Boolean(left), Value::Boolean(right)) => left.cmp(right),
        (Value::Bytea(left), Value::Bytea(right)) => left.cmp(right),
        (Value::Time(left), Value::Time(right)) => left.cmp(right),
        (Value::Interval(left), Value::Interval(right)) => left.span_us().cmp(&right.span_us()),
        (Value::Uuid(left), Value::Uuid(right)) => left.cmp(right),
        (Value::MacAddr(left), Value::MacAddr(right)) => left.cmp(right),
        (Value::MacAddr8(left), Value::MacAddr8(right)) => left.cmp(right),
        (Value::Numeric(left), Value::Numeric(right)) => left.cmp(right),
        (Value::Bits(left), Value::Bits(right)) => left.cmp(right),
        (Value::TimeTz(left), Value::TimeTz(right)) => left.cmp(right),
        (Value::Money(left), Value::Money(right)) => left.cmp(right),
        (Value::TsVector(left), Value::TsVector(right)) => left.cmp(right),
        (Value::TsQuery(left), Value::TsQuery(right)) => text_search::compare_queries(left, right),
        (Value::Range(left), Value::Range(right)) if left.kind() == right.kind() => left.order(right),
        (Value::Multirange(left), Value::Multirange(right)) if left.kind() == right.kind() => left.order(right),
        (Value::Jsonb(left), Value::Jsonb(right)) => json::compare(left, right),
        (Value::Enum(left), Value::Enum(right)) if left.type_oid() == right.type_oid() => {
            left.order().cmp(right.order())
        }
        (Value::Array(left), Value::Array(right))
            if left.element() == right.element() && left.element() != Type::Json =>
        {
            compare_elements(left.values(), right.values())
        }
        _ => {
            if let (Some(left), Some(right)) = (left.as_integer(), right.as_integer()) {
                left.cmp(&right)
            } else if let (Some(left), Some(right)) = (left.as_network(), right.as_network()) {
                left.cmp(right)
            } else if let (Some(left), Some(right)) = (instant(left), instant(right)) {
                left.cmp(&right)
            } else if is_float(left) || is_float(right) {
                compare_floats(as_double(left)?, as_double(right)?)
            } else {
                as_numeric(left)?.cmp(&as_numeric(right)?)
            }
        }
    })
}

/// By the first elements that differ, else the shorter array first.
fn compare_elements(left: &[Value], right: &[Value]) -> Ordering {
    let differing = left.iter().zip(right).map(|(left, right)| compare(left, right)).find(|ordering| ordering.is_ne());
    differing.unwrap_or_else(|| left.len().cmp(&right.len()))
}

/// Compares as PostgreSQL does: NaN equals NaN and is above all else.
pub(crate) fn compare_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

fn is_float(value: &Value) -> bool {
    matches!(value, Value::Real(_) | Value::Double(_))
}

/// Any number as a double, rounded to the nearest.
pub(crate) fn as_double(value: &Value) -> Option<f64> {
    match value {
        Value::Real(number) => Some(f64::from(*number)),
        Value::Double(number) => Some(*number),
        // Reading its text rounds once and correctly; numerics beyond the doubles become infinite.
        Value::Numeric(_) => text::to_string(value)?.parse().ok(),
        Value::Oid(_) => None,
        other => other.as_integer().map(|number| number as f64),
    }
}

/// An exact number as a numeric.
pub(crate) fn as_numeric(value: &Value) -> Option<BigDecimal> {
    match value {
        Value::Numeric(number) => Some(BigDecimal::clone(number)),
        Value::Oid(_) => None,
        other => other.as_integer().map(BigDecimal::from),
    }
}

/// The instant of a date (its midnight), timestamp or timestamptz in microseconds since 2000-01-01.
fn instant(value: &Value) -> Option<i128> {
    match value {
        Value::Date(days) => Some(i128::from(*days) * i128::from(MICROSECONDS_PER_DAY)),
        Value::Timestamp(microseconds) | Value::TimestampTz(microseconds) => Some(i128::from(*microseconds)),
        _ => None,
    }
}

/// Orders types that do not compare; the numbers are one family, the dates another.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Boolean(_) => 0,
        Value::SmallInt(_)
        | Value::Integer(_)
        | Value::BigInt(_)
        | Value::Real(_)
        | Value::Double(_)
        | Value::Numeric(_)
        | Value::Oid(_) => 1,
        Value::Text(_) => 2,
        Value::Bytea(_) => 3,
        Value::Date(_) | Value::Timestamp(_) | Value::TimestampTz(_) => 4,
        Value::Time(_) => 5,
        Value::Interval(_) => 6,
        Value::Uuid(_) => 7,
        Value::Array(_) => 8,
        Value::Json(_) => 9,
        Value::Jsonb(_) => 10,
        Value::Enum(_) => 11,
        Value::Inet(_) | Value::Cidr(_) => 12,
        Value::MacAddr(_) => 13,
        Value::MacAddr8(_) => 14,
        Value::Range(_) => 15,
        Value::Multirange(_) => 16,
        Value::Bits(_) => 19,
        Value::TimeTz(_) => 20,
        Value::Money(_) => 21,
        Value::Null => 22,
        Value::TsVector(_) => 17,
        Value::TsQuery(_) => 18,
    }
}
