//! The column types: PostgreSQL's names, type modifiers and object identifiers.

use serde::{Deserialize, Serialize};

/// A column type with its modifier, as in PostgreSQL 15, chapter 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Type {
    /// `boolean`.
    Boolean,
    /// `smallint`, 2 bytes.
    SmallInt,
    /// `integer`, 4 bytes.
    Integer,
    /// `bigint`, 8 bytes.
    BigInt,
    /// `real`, IEEE 754 single precision.
    Real,
    /// `double precision`, IEEE 754 double precision.
    Double,
    /// `numeric(precision, scale)`; `None` means unconstrained.
    Numeric(Option<(u16, i16)>),
    /// `text`.
    Text,
    /// `varchar(n)`, n in characters; `None` means unconstrained.
    Varchar(Option<u32>),
    /// `char(n)`, n in characters, padded with blanks.
    Char(u32),
    /// `bytea`.
    Bytea,
    /// `date`.
    Date,
    /// `time` without time zone.
    Time,
    /// `timestamp` without time zone.
    Timestamp,
    /// `timestamp with time zone`; stored as an instant.
    TimestampTz,
    /// `interval`.
    Interval,
    /// `uuid`.
    Uuid,
}
