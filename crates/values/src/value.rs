//! One SQL value.

use bigdecimal::BigDecimal;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One SQL value. `varchar`, `char` and `text` share [`Value::Text`]; the column's type knows the difference.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Value {
    /// The absent value.
    Null,
    /// `boolean`.
    Boolean(bool),
    /// `smallint`.
    SmallInt(i16),
    /// `integer`.
    Integer(i32),
    /// `bigint`.
    BigInt(i64),
    /// `real`.
    Real(f32),
    /// `double precision`.
    Double(f64),
    /// `numeric`.
    Numeric(Arc<BigDecimal>),
    /// `text`, `varchar(n)`, `char(n)`.
    Text(Arc<str>),
    /// `bytea`.
    Bytea(Arc<[u8]>),
    /// `date`: days since 2000-01-01.
    Date(i32),
    /// `time`: microseconds since midnight, 0 to 86,400,000,000.
    Time(i64),
    /// `timestamp`: microseconds since 2000-01-01 00:00.
    Timestamp(i64),
    /// `timestamptz`: microseconds since 2000-01-01 00:00 UTC.
    TimestampTz(i64),
    /// `interval`.
    Interval(Interval),
    /// `uuid`.
    Uuid([u8; 16]),
}

/// A span of time in PostgreSQL's three separate units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Months.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub microseconds: i64,
}
