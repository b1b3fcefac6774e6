//! One SQL value.
//!
//! Invariant: `char(n)` is held without trailing blanks, and a `numeric` made by this crate has a scale in
//! `0..=NUMERIC_FRACTION_DIGITS_MAX`, which is the number of decimals it prints.

use crate::array::Array;
use crate::bits::BitString;
use crate::enumeration::{EnumType, EnumValue};
use crate::error::ValueError;
use crate::hardware::{MacAddress, MacAddress8};
use crate::json::Jsonb;
use crate::network::InetAddress;
use crate::precision::IntervalModifier;
use crate::ranges::{MultirangeValue, RangeValue};
use crate::types::Type;
use crate::zoned_time::ZonedTime;
use bigdecimal::BigDecimal;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use text_search::{SearchQuery, SearchVector};

/// One SQL value. `varchar`, `char` and `text` share [`Value::Text`]; the column's type knows the difference.
///
/// `==` tells whether two values are represented alike (NULL equals NULL, NaN equals NaN, 1.0 differs from 1.00, an
/// integer differs from a bigint). What SQL calls equal is [`compare`](crate::compare)'s business.
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
    Numeric(#[serde(with = "numeric_parts")] Arc<BigDecimal>),
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
    /// `oid`.
    Oid(u32),
    /// An array of any of these but arrays.
    Array(#[serde(with = "array_bytes")] Arc<Array>),
    /// `json`: a text of which the syntax has been looked at.
    Json(Arc<str>),
    /// `jsonb`.
    Jsonb(#[serde(with = "jsonb_bytes")] Arc<Jsonb>),
    /// A label of an enum type.
    Enum(Arc<EnumValue>),
    /// `inet`.
    Inet(InetAddress),
    /// `cidr`.
    Cidr(InetAddress),
    /// `macaddr`.
    MacAddr(MacAddress),
    /// `macaddr8`.
    MacAddr8(MacAddress8),
    /// A range.
    Range(#[serde(with = "range_bytes")] Arc<RangeValue>),
    /// A multirange.
    Multirange(#[serde(with = "multirange_bytes")] Arc<MultirangeValue>),
    /// `bit(n)`, `bit varying(n)`.
    Bits(BitString),
    /// `time with time zone`.
    TimeTz(ZonedTime),
    /// `money`: hundredths.
    Money(i64),
    /// `tsvector`.
    TsVector(#[serde(with = "vector_bytes")] Arc<SearchVector>),
    /// `tsquery`.
    TsQuery(#[serde(with = "query_bytes")] Arc<SearchQuery>),
}

impl Value {
    /// A `text` value.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// A `bytea` value.
    pub fn bytea(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::Bytea(bytes.into())
    }

    /// A `numeric` value that prints as many decimals as `number` has scale.
    pub fn numeric(number: BigDecimal) -> Self {
        Self::Numeric(Arc::new(number))
    }

    /// An array of elements of this type.
    ///
    /// # Panics
    /// As [`Array::new`].
    pub fn array(element: Type, values: Vec<Self>) -> Self {
        Self::Array(Arc::new(Array::new(element, values)))
    }

    /// A `jsonb` value. Errors: 54001 for a tree that is too deep.
    pub fn jsonb(json: Jsonb) -> Result<Self, ValueError> {
        json.check_depth()?;
        Ok(Self::Jsonb(Arc::new(json)))
    }

    /// A range.
    pub fn range(range: RangeValue) -> Self {
        Self::Range(Arc::new(range))
    }

    /// A multirange.
    pub fn multirange(multirange: MultirangeValue) -> Self {
        Self::Multirange(Arc::new(multirange))
    }

    /// A `tsvector`.
    pub fn ts_vector(vector: SearchVector) -> Self {
        Self::TsVector(Arc::new(vector))
    }

    /// A `tsquery`.
    pub fn ts_query(query: SearchQuery) -> Self {
        Self::TsQuery(Arc::new(query))
    }

    /// True for NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The type without modifier; `None` for NULL, which is of any type. Every string is `text`, every bit string `bit`. An enum type is known by its number only.
    pub fn data_type(&self) -> Option<Type> {
        Some(match self {
            Self::Null => return None,
            Self::Boolean(_) => Type::Boolean,
            Self::SmallInt(_) => Type::SmallInt,
            Self::Integer(_) => Type::Integer,
            Self::BigInt(_) => Type::BigInt,
            Self::Real(_) => Type::Real,
            Self::Double(_) => Type::Double,
            Self::Numeric(_) => Type::Numeric(None),
            Self::Text(_) => Type::Text,
            Self::Bytea(_) => Type::Bytea,
            Self::Date(_) => Type::Date,
            Self::Time(_) => Type::Time(None),
            Self::Timestamp(_) => Type::Timestamp(None),
            Self::TimestampTz(_) => Type::TimestampTz(None),
            Self::Interval(_) => Type::Interval(None),
            Self::Uuid(_) => Type::Uuid,
            Self::Oid(_) => Type::Oid,
            Self::Array(array) => array.element().array(),
            Self::Json(_) => Type::Json,
            Self::Jsonb(_) => Type::Jsonb,
            Self::Enum(value) => Type::Enum(EnumType::numbered(value.type_oid())),
            Self::Inet(_) => Type::Inet,
            Self::Cidr(_) => Type::Cidr,
            Self::MacAddr(_) => Type::MacAddr,
            Self::MacAddr8(_) => Type::MacAddr8,
            Self::Range(range) => Type::Range(range.kind()),
            Self::Multirange(multirange) => Type::Multirange(multirange.kind()),
            Self::Bits(_) => Type::Bit(0),
            Self::TimeTz(_) => Type::TimeTz(None),
            Self::Money(_) => Type::Money,
            Self::TsVector(_) => Type::TsVector,
            Self::TsQuery(_) => Type::TsQuery,
        })
    }

    /// The elements of an array.
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(array) => Some(array.values()),
            _ => None,
        }
    }

    /// The number in a value of one of the three integer types, or of `oid`.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Self::SmallInt(number) => Some(i64::from(*number)),
            Self::Integer(number) => Some(i64::from(*number)),
            Self::BigInt(number) => Some(*number),
            Self::Oid(number) => Some(i64::from(*number)),
            _ => None,
        }
    }

    /// The address in an `inet` or a `cidr`.
    pub fn as_network(&self) -> Option<&InetAddress> {
        match self {
            Self::Inet(network) | Self::Cidr(network) => Some(network),
            _ => None,
        }
    }

    /// The bytes of a hardware address.
    pub fn as_hardware(&self) -> Option<&[u8]> {
        match self {
            Self::MacAddr(bytes) => Some(bytes),
            Self::MacAddr8(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The characters of a string.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value: `None` for NULL and for what is no boolean.
    pub fn as_boolean(&self) -> Option<bool> {
        match self {
            Self::Boolean(truth) => Some(*truth),
            _ => None,
        }
    }

    /// Bytes this value occupies in memory, roughly; for bounding caches and differential files.
    pub fn size_in_memory(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Text(text) | Self::Json(text) => text.len(),
                Self::Jsonb(json) => size_of::<Jsonb>() + json.size_in_memory(),
                Self::Bytea(bytes) => bytes.len(),
                Self::Numeric(number) => size_of::<BigDecimal>() + number.as_bigint_and_scale().0.bits() as usize / 8,
                Self::Enum(value) => size_of::<EnumValue>() + value.order().as_bytes().len() + value.label().len(),
                Self::Array(array) => array.values().iter().map(Self::size_in_memory).sum(),
                Self::Range(range) => range.size_in_memory(),
                Self::Multirange(multirange) => multirange.size_in_memory(),
                Self::Bits(bits) => bits.bytes().len(),
                Self::TsVector(vector) => vector.size_in_memory(),
                Self::TsQuery(query) => query.size_in_memory(),
                _ => 0,
            }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Boolean(left), Self::Boolean(right)) => left == right,
            (Self::SmallInt(left), Self::SmallInt(right)) => left == right,
            (Self::Integer(left), Self::Integer(right)) => left == right,
            (Self::BigInt(left), Self::BigInt(right)) => left == right,
            (Self::Real(left), Self::Real(right)) => {
                left.to_bits() == right.to_bits() || (left.is_nan() && right.is_nan())
            }
            (Self::Double(left), Self::Double(right)) => {
                left.to_bits() == right.to_bits() || (left.is_nan() && right.is_nan())
            }
            (Self::Numeric(left), Self::Numeric(right)) => left.as_bigint_and_scale() == right.as_bigint_and_scale(),
            (Self::Text(left), Self::Text(right)) => left == right,
            (Self::Bytea(left), Self::Bytea(right)) => left == right,
            (Self::Date(left), Self::Date(right)) => left == right,
            (Self::Time(left), Self::Time(right))
            | (Self::Timestamp(left), Self::Timestamp(right))
            | (Self::TimestampTz(left), Self::TimestampTz(right)) => left == right,
            (Self::Interval(left), Self::Interval(right)) => left == right,
            (Self::Uuid(left), Self::Uuid(right)) => left == right,
            (Self::Oid(left), Self::Oid(right)) => left == right,
            (Self::Array(left), Self::Array(right)) => left == right,
            (Self::Json(left), Self::Json(right)) => left == right,
            (Self::Jsonb(left), Self::Jsonb(right)) => left == right,
            (Self::Enum(left), Self::Enum(right)) => left == right,
            (Self::Inet(left), Self::Inet(right)) | (Self::Cidr(left), Self::Cidr(right)) => left == right,
            (Self::MacAddr(left), Self::MacAddr(right)) => left == right,
            (Self::MacAddr8(left), Self::MacAddr8(right)) => left == right,
            (Self::Range(left), Self::Range(right)) => left == right,
            (Self::Multirange(left), Self::Multirange(right)) => left == right,
            (Self::Bits(left), Self::Bits(right)) => left == right,
            (Self::TimeTz(left), Self::TimeTz(right)) => left == right,
            (Self::Money(left), Self::Money(right)) => left == right,
            (Self::TsVector(left), Self::TsVector(right)) => left == right,
            (Self::TsQuery(left), Self::TsQuery(right)) => left == right,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Boolean(truth)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self::Integer(number)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::BigInt(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Double(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// A numeric in a message: its scale and the two's complement little-endian bytes of the unscaled number.
mod numeric_parts {
    use crate::limits::{NUMERIC_FRACTION_DIGITS_MAX, NUMERIC_INTEGER_DIGITS_MAX};
    use bigdecimal::BigDecimal;
    use bigdecimal::num_bigint::BigInt;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;

    pub(super) fn serialize<S: Serializer>(number: &Arc<BigDecimal>, serializer: S) -> Result<S::Ok, S::Error> {
        let (unscaled, scale) = number.as_bigint_and_scale();
        (scale, unscaled.to_signed_bytes_le()).serialize(serializer)
    }

    /// The scale is bounded, because printing takes memory in proportion to it.
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<BigDecimal>, D::Error> {
        let (scale, unscaled) = <(i64, Vec<u8>)>::deserialize(deserializer)?;
        if !(-NUMERIC_INTEGER_DIGITS_MAX..=NUMERIC_FRACTION_DIGITS_MAX).contains(&scale) {
            return Err(D::Error::custom("the scale of a numeric is out of range"));
        }
        Ok(Arc::new(BigDecimal::new(BigInt::from_signed_bytes_le(&unscaled), scale)))
    }
}

/// An array in a message: as the only column of a row, whose decoder bounds how deep it goes.
mod array_bytes {
    use crate::array::Array;
    use crate::row;
    use crate::value::Value;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;

    pub(super) fn serialize<S: Serializer>(array: &Arc<Array>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        row::encode_row(&[Value::Array(Arc::clone(array))], &mut bytes);
        bytes.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Array>, D::Error> {
        match row::column(&Vec::<u8>::deserialize(deserializer)?, 0) {
            Ok(Value::Array(array)) => Ok(array),
            _ => Err(D::Error::custom("the bytes of an array are damaged")),
        }
    }
}

/// A `jsonb` in a message: as the only column of a row, too.
mod jsonb_bytes {
    use crate::json::Jsonb;
    use crate::row;
    use crate::value::Value;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;

    pub(super) fn serialize<S: Serializer>(json: &Arc<Jsonb>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        row::encode_row(&[Value::Jsonb(Arc::clone(json))], &mut bytes);
        bytes.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Jsonb>, D::Error> {
        match row::column(&Vec::<u8>::deserialize(deserializer)?, 0) {
            Ok(Value::Jsonb(json)) => Ok(json),
            _ => Err(D::Error::custom("the bytes of a jsonb are damaged")),
        }
    }
}

/// A range in a message: the bytes that it has in a row.
mod range_bytes {
    use crate::ranges::{RangeValue, stored};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;

    pub(super) fn serialize<S: Serializer>(range: &Arc<RangeValue>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        stored::encode_range(range, &mut bytes);
        bytes.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<RangeValue>, D::Error> {
        stored::decode_range(&Vec::<u8>::deserialize(deserializer)?).map(Arc::new).map_err(D::Error::custom)
    }
}

/// A multirange in a message, too.
mod multirange_bytes {
    use crate::ranges::{MultirangeValue, stored};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;

    pub(super) fn serialize<S: Serializer>(all: &Arc<MultirangeValue>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        stored::encode_multirange(all, &mut bytes);
        bytes.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<MultirangeValue>, D::Error> {
        stored::decode_multirange(&Vec::<u8>::deserialize(deserializer)?).map(Arc::new).map_err(D::Error::custom)
    }
}

/// A `tsvector` in a message: the bytes of the binary format.
mod vector_bytes {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;
    use text_search::SearchVector;

    pub(super) fn serialize<S: Serializer>(vector: &Arc<SearchVector>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        vector.write_binary(&mut bytes);
        bytes.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<SearchVector>, D::Error> {
        let bytes = Vec::<u8>::deserialize(deserializer)?;
        SearchVector::of_binary(&bytes).map(Arc::new).map_err(|error| D::Error::custom(error.message))
    }
}

/// A `tsquery` in a message, too.
mod query_bytes {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;
    use text_search::SearchQuery;

    pub(super) fn serialize<S: Serializer>(query: &Arc<SearchQuery>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        query.write_binary(&mut bytes);
        bytes.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<SearchQuery>, D::Error> {
        let bytes = Vec::<u8>::deserialize(deserializer)?;
        SearchQuery::of_binary(&bytes).map(Arc::new).map_err(|error| D::Error::custom(error.message))
    }
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

impl Interval {
    /// No time at all.
    pub const ZERO: Self = Self { months: 0, days: 0, microseconds: 0 };

    /// With the fields and digits of a type.
    pub fn fitted(self, modifier: IntervalModifier) -> Self {
        let (months, days, microseconds) = modifier.fit((self.months, self.days, self.microseconds));
        Self { months, days, microseconds }
    }

    /// The span in microseconds by which intervals are compared: a month counts 30 days, a day 24 hours.
    pub fn span_us(&self) -> i128 {
        let days = i64::from(self.months) * crate::limits::DAYS_PER_MONTH + i64::from(self.days);
        i128::from(days) * i128::from(crate::limits::MICROSECONDS_PER_DAY) + i128::from(self.microseconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;
    use proptest::prelude::*;

    proptest! {
        /// Otherwise a copy at another site would differ from the one that was written.
        #[test]
        fn values_come_back_from_messages(values in generate::row()) {
            let bytes = postcard::to_stdvec(&values).unwrap();
            prop_assert_eq!(postcard::from_bytes::<Vec<Value>>(&bytes).unwrap(), values);
        }

        /// A damaged message must not stop a site, nor make it print a number of any length.
        #[test]
        fn arbitrary_messages_do_not_panic(bytes: Vec<u8>) {
            if let Ok(values) = postcard::from_bytes::<Vec<Value>>(&bytes) {
                let mut out = Vec::new();
                values.iter().for_each(|value| crate::text::write(value, Type::Text, &mut out));
            }
        }
    }
}
