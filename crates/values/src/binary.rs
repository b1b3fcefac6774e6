//! PostgreSQL's binary format of every type, as in the `send` and `recv` functions of PostgreSQL 15.
//!
//! Invariant: decoding checks lengths, bounds and UTF-8: any bytes from a client yield a value of the type or an error.

use crate::array_message::{parse_binary, write_binary};
use crate::bits;
use crate::calendar::{checked_date, checked_timestamp};
use crate::error::{ValueError, sqlstate};
use crate::hardware;
use crate::limits::MICROSECONDS_PER_DAY;
use crate::modifier::{self, Strictness};
use crate::network;
use crate::numeric::{self, Groups};
use crate::range_message;
use crate::text;
use crate::types::Type;
use crate::value::{Interval, Value};
use crate::zoned_time;
use text_search::{SearchQuery, SearchVector};

const NUMERIC_NEGATIVE: u16 = 0x4000;
const NUMERIC_POSITIVE: u16 = 0x0000;
/// What stands before the text of a `jsonb`.
const JSONB_VERSION: u8 = 1;
/// NaN and the infinities.
const NUMERIC_SPECIAL: u16 = 0xc000;

/// Appends a value of a column of type `data_type`, which pads `char(n)`, says what an array's elements are, and is otherwise
/// ignored; nothing for NULL, which has no bytes.
pub fn write(value: &Value, data_type: Type, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Boolean(truth) => out.push(u8::from(*truth)),
        Value::SmallInt(number) => out.extend_from_slice(&number.to_be_bytes()),
        Value::Integer(number) | Value::Date(number) => out.extend_from_slice(&number.to_be_bytes()),
        Value::BigInt(number) | Value::Time(number) | Value::Timestamp(number) | Value::TimestampTz(number) => {
            out.extend_from_slice(&number.to_be_bytes());
        }
        Value::Real(number) => out.extend_from_slice(&number.to_be_bytes()),
        Value::Oid(number) => out.extend_from_slice(&number.to_be_bytes()),
        Value::Double(number) => out.extend_from_slice(&number.to_be_bytes()),
        Value::Numeric(number) => {
            let parts = numeric::to_groups(number);
            // The bounds of numeric keep the four counts within 16 bits.
            out.extend_from_slice(&(parts.groups.len() as u16).to_be_bytes());
            out.extend_from_slice(&(parts.weight as i16).to_be_bytes());
            let sign = if parts.negative { NUMERIC_NEGATIVE } else { NUMERIC_POSITIVE };
            out.extend_from_slice(&sign.to_be_bytes());
            out.extend_from_slice(&(parts.scale as u16).to_be_bytes());
            for group in parts.groups {
                out.extend_from_slice(&group.to_be_bytes());
            }
        }
        Value::Text(text) => text::write_string(text, data_type, out),
        Value::Bytea(bytes) => out.extend_from_slice(bytes),
        Value::Json(_) | Value::Enum(_) => text::write(value, data_type, out),
        Value::Jsonb(_) => {
            out.push(JSONB_VERSION);
            text::write(value, data_type, out);
        }
        Value::Interval(interval) => {
            out.extend_from_slice(&interval.microseconds.to_be_bytes());
            out.extend_from_slice(&interval.days.to_be_bytes());
            out.extend_from_slice(&interval.months.to_be_bytes());
        }
        Value::Uuid(bytes) => out.extend_from_slice(bytes),
        Value::Inet(network) => network::write_binary(network, false, out),
        Value::Cidr(network) => network::write_binary(network, true, out),
        Value::MacAddr(bytes) => out.extend_from_slice(bytes),
        Value::MacAddr8(bytes) => out.extend_from_slice(bytes),
        Value::TsVector(vector) => vector.write_binary(out),
        Value::TsQuery(query) => query.write_binary(out),
        Value::Range(range) => range_message::write_range(range, out),
        Value::Multirange(multirange) => range_message::write_multirange(multirange, out),
        Value::Bits(string) => bits::write_binary(string, out),
        Value::TimeTz(zoned) => zoned_time::write_binary(zoned, out),
        Value::Money(amount) => out.extend_from_slice(&amount.to_be_bytes()),
        Value::Array(array) => write_binary(array, data_type.element().unwrap_or_else(|| array.element()), out),
    }
}

/// Reads a value of a type, its modifier enforced as in an assignment. Errors: 22P03 for bytes that are no such value,
/// 08P01 and 42804 for arrays that are none, 22008 and 22003 for values out of range, 0A000 for infinities, 22021 for strings that are not UTF-8, 22001.
pub fn parse(bytes: &[u8], data_type: Type) -> Result<Value, ValueError> {
    let value = match data_type {
        Type::Boolean => Value::Boolean(array::<1>(bytes)? != [0]),
        Type::SmallInt => Value::SmallInt(i16::from_be_bytes(array(bytes)?)),
        Type::Integer => Value::Integer(i32::from_be_bytes(array(bytes)?)),
        Type::BigInt => Value::BigInt(i64::from_be_bytes(array(bytes)?)),
        Type::Real => Value::Real(f32::from_be_bytes(array(bytes)?)),
        Type::Double => Value::Double(f64::from_be_bytes(array(bytes)?)),
        Type::Numeric(_) => parse_numeric(bytes)?,
        Type::Text | Type::Varchar(_) | Type::Char(_) => return text::parse_bytes(bytes, data_type),
        Type::Bytea => Value::bytea(bytes),
        Type::Json | Type::Enum(_) => return text::parse_bytes(bytes, data_type),
        Type::Jsonb => match bytes.split_first() {
            Some((&JSONB_VERSION, tree)) => return text::parse_bytes(tree, data_type),
            Some((version, _)) => {
                let message = format!("unsupported jsonb version number {version}");
                return Err(ValueError::new(sqlstate::INTERNAL_ERROR, message));
            }
            None => return Err(no_data_left()),
        },
        Type::Date => {
            let days = i32::from_be_bytes(array(bytes)?);
            refuse_infinity(i64::from(days), i64::from(i32::MIN), i64::from(i32::MAX), data_type)?;
            Value::Date(checked_date(i64::from(days))?)
        }
        Type::Time(_) => {
            let microseconds = i64::from_be_bytes(array(bytes)?);
            if !(0..=MICROSECONDS_PER_DAY).contains(&microseconds) {
                return Err(ValueError::datetime_out_of_range("time"));
            }
            Value::Time(microseconds)
        }
        Type::Timestamp(_) => Value::Timestamp(parse_timestamp(bytes, data_type)?),
        Type::TimestampTz(_) => Value::TimestampTz(parse_timestamp(bytes, data_type)?),
        Type::Interval(_) => {
            let (microseconds, rest) = bytes.split_first_chunk::<8>().ok_or_else(malformed)?;
            let (days, months) = rest.split_first_chunk::<4>().ok_or_else(malformed)?;
            Value::Interval(Interval {
                months: i32::from_be_bytes(array(months)?),
                days: i32::from_be_bytes(*days),
                microseconds: i64::from_be_bytes(*microseconds),
            })
        }
        Type::Uuid => Value::Uuid(array(bytes)?),
        Type::Inet => Value::Inet(network::from_binary(bytes, false)?),
        Type::Cidr => Value::Cidr(network::from_binary(bytes, true)?),
        Type::MacAddr => Value::MacAddr(array(bytes)?),
        Type::MacAddr8 => Value::MacAddr8(hardware::of_binary8(bytes).ok_or_else(malformed)?),
        Type::TsVector => Value::ts_vector(SearchVector::of_binary(bytes).map_err(ValueError::of_search)?),
        Type::TsQuery => Value::ts_query(SearchQuery::of_binary(bytes).map_err(ValueError::of_search)?),
        Type::Range(kind) => Value::range(range_message::parse_range(bytes, kind)?),
        Type::Multirange(kind) => Value::multirange(range_message::parse_multirange(bytes, kind)?),
        Type::Bit(_) | Type::VarBit(_) => Value::Bits(bits::from_binary(bytes)?),
        Type::TimeTz(_) => Value::TimeTz(zoned_time::from_binary(bytes)?),
        Type::Money => Value::Money(i64::from_be_bytes(array(bytes)?)),
        Type::Oid => Value::Oid(u32::from_be_bytes(array(bytes)?)),
        Type::Array(element) => return parse_binary(bytes, element.data_type()),
        Type::Void => return Err(text::no_input()),
    };
    modifier::fit(value, data_type, Strictness::Assignment)
}

/// 08P01: the bytes end before the value does.
#[cold]
fn no_data_left() -> ValueError {
    ValueError::new(sqlstate::PROTOCOL_VIOLATION, "no data left in message")
}

#[cold]
fn malformed() -> ValueError {
    ValueError::new(sqlstate::INVALID_BINARY_REPRESENTATION, "incorrect binary data format")
}

fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N], ValueError> {
    bytes.try_into().map_err(|_| malformed())
}

fn parse_timestamp(bytes: &[u8], data_type: Type) -> Result<i64, ValueError> {
    let microseconds = i64::from_be_bytes(array(bytes)?);
    refuse_infinity(microseconds, i64::MIN, i64::MAX, data_type)?;
    checked_timestamp(i128::from(microseconds))
}

fn refuse_infinity(number: i64, negative: i64, positive: i64, data_type: Type) -> Result<(), ValueError> {
    if number == negative || number == positive {
        return Err(ValueError::unsupported(format!("infinity is not supported in type {data_type}")));
    }
    Ok(())
}

fn parse_numeric(bytes: &[u8]) -> Result<Value, ValueError> {
    let (header, digits) = bytes.split_first_chunk::<8>().ok_or_else(malformed)?;
    let [count, weight, sign, scale] =
        [0, 2, 4, 6].map(|offset| u16::from_be_bytes([header[offset], header[offset + 1]]));
    if sign & NUMERIC_SPECIAL == NUMERIC_SPECIAL {
        return Err(ValueError::unsupported("NaN and infinity are not supported in type numeric"));
    }
    let invalid = |what: &str| {
        Err(ValueError::new(
            sqlstate::INVALID_BINARY_REPRESENTATION,
            format!("invalid {what} in external \"numeric\" value"),
        ))
    };
    if sign != NUMERIC_POSITIVE && sign != NUMERIC_NEGATIVE {
        return invalid("sign");
    }
    if i64::from(scale) > crate::limits::NUMERIC_FRACTION_DIGITS_MAX {
        return invalid("scale");
    }
    if digits.len() != 2 * usize::from(count) {
        return Err(malformed());
    }
    let parts = Groups {
        negative: sign == NUMERIC_NEGATIVE,
        weight: i64::from(weight as i16),
        scale: i64::from(scale),
        groups: digits.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect(),
    };
    numeric::from_groups(&parts).map(Value::numeric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;
    use proptest::prelude::*;

    proptest! {
        /// Otherwise a driver that speaks binary would read what nobody wrote.
        #[test]
        fn bytes_come_back((data_type, value) in generate::data_type().prop_flat_map(|t| (Just(t), generate::value_of(t)))) {
            let mut bytes = Vec::new();
            write(&value, data_type, &mut bytes);
            prop_assert_eq!(parse(&bytes, data_type), Ok(value));
        }

        /// A client must not be able to stop a site.
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>, data_type in generate::data_type()) {
            if let Ok(value) = parse(&bytes, data_type) {
                let mut out = Vec::new();
                write(&value, data_type, &mut out);
                text::write(&value, data_type, &mut out);
            }
        }

        /// As above, with a believable header.
        #[test]
        fn arbitrary_numerics_do_not_panic(
            count in 0u16..6, weight: i16, negative: bool, scale in 0u16..20_000, groups in prop::collection::vec(0u16..12_000, 6),
        ) {
            let sign = if negative { NUMERIC_NEGATIVE } else { NUMERIC_POSITIVE };
            let mut bytes = Vec::new();
            for part in [count, weight as u16, sign, scale].iter().chain(&groups[..usize::from(count)]) {
                bytes.extend_from_slice(&part.to_be_bytes());
            }
            if let Ok(value) = parse(&bytes, Type::Numeric(None)) {
                prop_assert!(text::to_string(&value).is_some());
            }
        }
    }
}
