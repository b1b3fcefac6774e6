//! The bounds of ranges as values, and the reverse.

use crate::error::{ValueError, sqlstate};
use crate::ranges::{RangeCut, RangeKind, RangePoint, RangeValue};
use crate::types::Type;
use crate::value::Value;

impl RangeKind {
    /// The type of the bounds.
    pub fn subtype(self) -> Type {
        match self {
            Self::Integer => Type::Integer,
            Self::BigInt => Type::BigInt,
            Self::Numeric => Type::Numeric(None),
            Self::Timestamp => Type::Timestamp(None),
            Self::TimestampTz => Type::TimestampTz(None),
            Self::Date => Type::Date,
        }
    }

    /// The bound that a value of its type is; `None` for NULL and other values.
    pub fn point(self, value: &Value) -> Option<RangePoint> {
        Some(match (self, value) {
            (Self::Integer, Value::Integer(number)) => RangePoint::Whole(i64::from(*number)),
            (Self::BigInt, Value::BigInt(number)) => RangePoint::Whole(*number),
            (Self::Numeric, Value::Numeric(number)) => RangePoint::Exact(number.clone()),
            (Self::Timestamp, Value::Timestamp(microseconds))
            | (Self::TimestampTz, Value::TimestampTz(microseconds)) => RangePoint::Whole(*microseconds),
            (Self::Date, Value::Date(days)) => RangePoint::Whole(i64::from(*days)),
            _ => return None,
        })
    }

    /// The value of a bound; `None` for one that its type cannot have.
    pub fn value(self, point: &RangePoint) -> Option<Value> {
        Some(match (self, point) {
            (Self::Integer, RangePoint::Whole(number)) => Value::Integer(i32::try_from(*number).ok()?),
            (Self::BigInt, RangePoint::Whole(number)) => Value::BigInt(*number),
            (Self::Numeric, RangePoint::Exact(number)) => Value::Numeric(number.clone()),
            (Self::Timestamp, RangePoint::Whole(microseconds)) => Value::Timestamp(*microseconds),
            (Self::TimestampTz, RangePoint::Whole(microseconds)) => Value::TimestampTz(*microseconds),
            (Self::Date, RangePoint::Whole(days)) => Value::Date(i32::try_from(*days).ok()?),
            _ => return None,
        })
    }
}

impl RangeValue {
    /// The range of this type between two values, NULL being none, with bounds that are included or not. Errors: as [`RangeValue::new`].
    pub fn of_values(
        kind: RangeKind,
        (lower, includes_lower): (&Value, bool),
        (upper, includes_upper): (&Value, bool),
    ) -> Result<Self, ValueError> {
        let lower = match kind.point(lower) {
            None => RangeCut::Least,
            Some(point) if includes_lower => RangeCut::Before(point),
            Some(point) => RangeCut::Behind(point),
        };
        let upper = match kind.point(upper) {
            None => RangeCut::Greatest,
            Some(point) if includes_upper => RangeCut::Behind(point),
            Some(point) => RangeCut::Before(point),
        };
        Self::new(kind, lower, upper)
    }
}

/// Whether bounds are included, of PostgreSQL's four flags. Errors: 42601 for anything else.
pub fn inclusions(flags: &str) -> Result<(bool, bool), ValueError> {
    Ok(match flags {
        "[]" => (true, true),
        "[)" => (true, false),
        "(]" => (false, true),
        "()" => (false, false),
        _ => return Err(ValueError::new(sqlstate::SYNTAX_ERROR, "invalid range bound flags")),
    })
}
