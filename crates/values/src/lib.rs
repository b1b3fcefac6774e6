//! SQL types and values: codecs of rows and keys, text and binary formats, operators and functions.
//!
//! A pure library. It knows PostgreSQL's types and how they compare, print, parse and compute; it knows no table, no
//! transaction and no socket. What depends on the session's time zone is given a [`Zone`], in functions whose names end in `_in`; those without it are for
//! what no zone can change, and take UTC. The other settings are fixed: `DateStyle` ISO, `IntervalStyle` postgres, `extra_float_digits` 1, collation C,
//! encoding UTF-8.
//!
//! Two representations need care. A `char(n)` is held **without** its trailing blanks, which no operator sees, and is
//! padded only when it is printed as a column of type `char(n)`. A `numeric` carries its display scale in the scale
//! of its [`BigDecimal`](bigdecimal::BigDecimal): 1.0 and 1.00 are equal but print differently; the values `NaN` and
//! `Infinity` of `numeric` and of the date types are refused with SQLSTATE 0A000.
//!
//! Reading order: [`types`], [`value`], [`error`], [`zone`], [`compare`]; [`row`] and [`key`] for stored bytes;
//! [`enumeration`] for users' types; [`network`] and [`hardware`] for addresses; [`ranges`]; [`bits`], [`zoned_time`] and [`money`]; [`text`] and [`binary`] for clients, `array` for both; [`json`]; [`operators`],
//! [`cast`] and [`functions`] to compute, [`extensions`] of functions, [`addition`] to add to stored numbers.

pub mod addition;
mod arithmetic;
mod array;
mod array_literal;
mod array_message;
pub mod binary;
pub mod bits;
pub mod calendar;
pub mod cast;
pub mod compare;
mod datetime;
pub mod enumeration;
pub mod error;
pub mod extensions;
mod float;
pub mod functions;
#[cfg(test)]
mod generate;
pub mod hardware;
mod interval;
pub mod json;
pub mod key;
mod key_parts;
pub mod limits;
mod modifier;
pub mod money;
pub mod network;
pub mod numeric;
pub mod operators;
mod pattern;
pub mod precision;
mod range_literal;
mod range_message;
mod range_points;
pub mod ranges;
pub mod row;
mod temporal;
pub mod text;
pub mod types;
pub mod value;
mod varint;
pub mod zone;
pub mod zoned_time;

pub use addition::Addend;
pub use array::Array;
pub use bits::BitString;
pub use enumeration::{EnumDefinition, EnumType, EnumValue};
pub use error::ValueError;
pub use json::Jsonb;
pub use modifier::Strictness;
pub use network::InetAddress;
pub use precision::IntervalModifier;
pub use range_points::inclusions;
pub use ranges::{MultirangeValue, RangeKind, RangeValue};
pub use types::{Element, Type};
pub use value::{Interval, Value};
pub use zone::Zone;
pub use zoned_time::ZonedTime;

/// What every fallible operation of this crate returns.
pub type Result<T> = std::result::Result<T, ValueError>;
