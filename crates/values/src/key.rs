//! The memcomparable key codec: comparing encoded keys bytewise compares the tuples as SQL does.
//!
//! Invariants, for tuples of the same types:
//! * order: `encode(a) < encode(b)` iff a sorts before b, NULLs last, text bytewise (collation C), NaN greatest;
//! * equality: values that SQL calls equal encode alike (1.0 and 1.00, -0 and 0, `1 mon` and `30 days`, an integer and the
//!   same bigint, an `inet` and the same `cidr`), so decoding yields an equal value that may print differently;
//! * prefix: the encoding of the first columns is a byte prefix of the whole, and no encoded value is a prefix of another.
//!
//! Each value starts with a marker below that of NULL, so [`prefix_end`] of any non-empty key exists.

use crate::enumeration::{EnumOrder, EnumValue};
use crate::error::ValueError;
use crate::json;
use crate::key_parts::{
    END, INTEGER_ZERO, PRESENT, append_bits, append_integer, append_network, append_numeric, append_string,
    append_zoned_time, bits, integer, narrow, network, numeric, string, take, unknown_marker, zoned_time,
};
use crate::limits::{DAYS_PER_MONTH, MICROSECONDS_PER_DAY};
use crate::network::InetAddress;
use crate::ranges::stored as stored_ranges;
use crate::types::Type;
use crate::value::{Interval, Value};
use std::sync::Arc;
use text_search::{SearchQuery, SearchVector};

/// Marker of `true`; `false` is [`PRESENT`] alone.
const TRUE: u8 = 0x02;
/// Marker of NULL, above every other: NULLs last.
const NULL: u8 = 0xf0;

const _: () = assert!(INTEGER_ZERO as usize + size_of::<i64>() < NULL as usize);

/// Appends the encoding of a tuple.
pub fn encode_key(values: &[Value], out: &mut Vec<u8>) {
    for value in values {
        append(value, out);
    }
}

/// Appends one more column to a key.
pub fn append(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(NULL),
        Value::Boolean(truth) => out.push(if *truth { TRUE } else { PRESENT }),
        Value::SmallInt(number) => append_integer(i64::from(*number), out),
        Value::Integer(number) => append_integer(i64::from(*number), out),
        Value::BigInt(number) | Value::Time(number) | Value::Timestamp(number) | Value::TimestampTz(number) => {
            append_integer(*number, out);
        }
        Value::Date(days) => append_integer(i64::from(*days), out),
        Value::Oid(number) => append_integer(i64::from(*number), out),
        Value::Real(number) => {
            out.push(PRESENT);
            out.extend_from_slice(&ordered_real(*number).to_be_bytes());
        }
        Value::Double(number) => {
            out.push(PRESENT);
            out.extend_from_slice(&ordered_double(*number).to_be_bytes());
        }
        Value::Numeric(number) => append_numeric(number, out),
        Value::Text(text) => append_string(text.as_bytes(), out),
        Value::Bytea(bytes) => append_string(bytes, out),
        // No index orders these, but tuples of any types have keys.
        Value::Json(text) => append_string(text.as_bytes(), out),
        Value::Jsonb(tree) => {
            out.push(PRESENT);
            json::append_key(tree, out);
        }
        Value::Interval(interval) => {
            out.push(PRESENT);
            out.extend_from_slice(&((interval.span_us() as u128) ^ (1 << 127)).to_be_bytes());
        }
        Value::Uuid(bytes) => {
            out.push(PRESENT);
            out.extend_from_slice(bytes);
        }
        Value::Inet(network) | Value::Cidr(network) => append_network(network, out),
        Value::MacAddr(bytes) => {
            out.push(PRESENT);
            out.extend_from_slice(bytes);
        }
        Value::MacAddr8(bytes) => {
            out.push(PRESENT);
            out.extend_from_slice(bytes);
        }
        Value::Bits(string) => append_bits(string, out),
        Value::TimeTz(zoned) => append_zoned_time(zoned, out),
        Value::Money(amount) => append_integer(*amount, out),
        Value::TsVector(vector) => {
            out.push(PRESENT);
            vector.append_key(out);
        }
        Value::TsQuery(query) => {
            out.push(PRESENT);
            query.append_key(out);
        }
        Value::Range(range) => stored_ranges::append_range_key(range, out),
        Value::Multirange(multirange) => stored_ranges::append_multirange_key(multirange, out),
        // The label says nothing new of the order: it lets a key be read without the type's definition.
        Value::Enum(value) => {
            append_string(value.order().as_bytes(), out);
            append_string(value.label().as_bytes(), out);
        }
        Value::Array(array) => {
            out.push(PRESENT);
            encode_key(array.values(), out);
            out.push(END);
        }
    }
}

/// The least byte string above all keys that start with `prefix`: the exclusive end of a range scan. `None` for the
/// empty prefix, above which there is nothing.
pub fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

/// Decodes a whole key of columns of these types. Errors: XX001 if the bytes are no such key.
pub fn decode_key(bytes: &[u8], types: &[Type]) -> Result<Vec<Value>, ValueError> {
    let (values, rest) = decode_prefix(bytes, types)?;
    if rest.is_empty() { Ok(values) } else { Err(ValueError::corrupt("bytes follow a key")) }
}

/// Decodes the first columns of a key and returns the bytes behind them. Errors: XX001 if the bytes are no such key.
pub fn decode_prefix<'a>(bytes: &'a [u8], types: &[Type]) -> Result<(Vec<Value>, &'a [u8]), ValueError> {
    let mut rest = bytes;
    let mut values = Vec::with_capacity(types.len());
    for data_type in types {
        values.push(decode_value(&mut rest, *data_type)?);
    }
    Ok((values, rest))
}

fn decode_value(rest: &mut &[u8], data_type: Type) -> Result<Value, ValueError> {
    let marker = take::<1>(rest)?[0];
    if marker == NULL {
        return Ok(Value::Null);
    }
    Ok(match data_type {
        Type::Boolean => match marker {
            PRESENT => Value::Boolean(false),
            TRUE => Value::Boolean(true),
            _ => return Err(unknown_marker()),
        },
        Type::SmallInt => Value::SmallInt(narrow(integer(marker, rest)?)?),
        Type::Integer => Value::Integer(narrow(integer(marker, rest)?)?),
        Type::BigInt => Value::BigInt(integer(marker, rest)?),
        Type::Date => Value::Date(narrow(integer(marker, rest)?)?),
        Type::Oid => Value::Oid(narrow(integer(marker, rest)?)?),
        Type::Time(_) => Value::Time(integer(marker, rest)?),
        Type::Timestamp(_) => Value::Timestamp(integer(marker, rest)?),
        Type::TimestampTz(_) => Value::TimestampTz(integer(marker, rest)?),
        Type::Money => Value::Money(integer(marker, rest)?),
        Type::TimeTz(_) => Value::TimeTz(zoned_time(marker, rest)?),
        Type::Numeric(modifier) => {
            let number = numeric(marker, rest)?;
            match modifier {
                // A column with a scale has all its values at that scale, unless damage made one longer.
                Some((_, scale)) if number.fractional_digit_count() < i64::from(scale) => {
                    Value::numeric(number.with_scale(i64::from(scale)))
                }
                _ => Value::numeric(number),
            }
        }
        _ if marker != PRESENT => return Err(unknown_marker()),
        Type::Real => Value::Real(real_from_ordered(u32::from_be_bytes(take(rest)?))),
        Type::Double => Value::Double(double_from_ordered(u64::from_be_bytes(take(rest)?))),
        Type::Text | Type::Varchar(_) | Type::Char(_) => {
            let text =
                String::from_utf8(string(rest)?).map_err(|_| ValueError::corrupt("text in a key is not UTF-8"))?;
            Value::Text(Arc::from(text))
        }
        Type::Bytea => Value::Bytea(Arc::from(string(rest)?)),
        Type::Json => {
            let text =
                String::from_utf8(string(rest)?).map_err(|_| ValueError::corrupt("json in a key is not UTF-8"))?;
            Value::Json(Arc::from(text))
        }
        Type::Jsonb => Value::Jsonb(Arc::new(json::decode_key(rest)?)),
        Type::Interval(_) => Value::Interval(interval((u128::from_be_bytes(take(rest)?) ^ (1 << 127)) as i128)?),
        Type::Uuid => Value::Uuid(take(rest)?),
        Type::Inet => Value::Inet(network(rest)?),
        Type::Cidr => {
            let whole = Some(network(rest)?).filter(InetAddress::is_whole);
            Value::Cidr(whole.ok_or_else(|| ValueError::corrupt("bits to the right of a mask in a key"))?)
        }
        Type::MacAddr => Value::MacAddr(take(rest)?),
        Type::MacAddr8 => Value::MacAddr8(take(rest)?),
        Type::Bit(_) | Type::VarBit(_) => Value::Bits(bits(rest)?),
        Type::TsVector => Value::ts_vector(SearchVector::of_key(rest).ok_or_else(damaged_search)?),
        Type::TsQuery => Value::ts_query(SearchQuery::of_key(rest).ok_or_else(damaged_search)?),
        Type::Range(kind) => Value::range(stored_ranges::range_of_key(kind, rest)?),
        Type::Multirange(kind) => Value::multirange(stored_ranges::multirange_of_key(kind, rest)?),
        Type::Enum(labels) => {
            let order = EnumOrder::of_bytes(&string(rest)?)?;
            if take::<1>(rest)?[0] != PRESENT {
                return Err(unknown_marker());
            }
            let label = String::from_utf8(string(rest)?)
                .map_err(|_| ValueError::corrupt("the label of an enum in a key is not UTF-8"))?;
            Value::Enum(Arc::new(EnumValue::new(labels.oid(), order, &label)))
        }
        Type::Array(element) => {
            let element = element.data_type();
            let mut values = Vec::new();
            while rest.first() != Some(&END) {
                values.push(decode_value(rest, element)?);
            }
            *rest = &rest[1..];
            Value::array(element, values)
        }
        Type::Void => return Err(ValueError::corrupt("a key of type void")),
    })
}

#[cold]
fn damaged_search() -> ValueError {
    ValueError::corrupt("a vector or a query of text search in a key")
}

/// Bits whose unsigned order is the order of the floats: negatives inverted, others above them.
fn ordered_real(number: f32) -> u32 {
    let bits = if number.is_nan() { f32::NAN.to_bits() & (u32::MAX >> 1) } else { (number + 0.0).to_bits() };
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

fn real_from_ordered(bits: u32) -> f32 {
    f32::from_bits(if bits >> 31 == 1 { bits & (u32::MAX >> 1) } else { !bits })
}

/// As [`ordered_real`].
fn ordered_double(number: f64) -> u64 {
    let bits = if number.is_nan() { f64::NAN.to_bits() & (u64::MAX >> 1) } else { (number + 0.0).to_bits() };
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn double_from_ordered(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 { bits & (u64::MAX >> 1) } else { !bits })
}

/// The interval of days and microseconds with this span; months are not told apart from 30 days.
fn interval(span_us: i128) -> Result<Interval, ValueError> {
    let day = i128::from(MICROSECONDS_PER_DAY);
    let days = span_us.div_euclid(day);
    let microseconds = span_us.rem_euclid(day) as i64;
    if let Ok(days) = i32::try_from(days) {
        return Ok(Interval { months: 0, days, microseconds });
    }
    let months = days.div_euclid(i128::from(DAYS_PER_MONTH));
    let days = days.rem_euclid(i128::from(DAYS_PER_MONTH)) as i32;
    match i32::try_from(months) {
        Ok(months) => Ok(Interval { months, days, microseconds }),
        Err(_) => wide_interval(span_us),
    }
}

/// As [`interval`], for spans that need all three fields near their bounds.
fn wide_interval(span_us: i128) -> Result<Interval, ValueError> {
    let day = i128::from(MICROSECONDS_PER_DAY);
    let months = if span_us < 0 { i32::MIN } else { i32::MAX };
    let rest = span_us - i128::from(months) * i128::from(DAYS_PER_MONTH) * day;
    let days = (rest / day).clamp(i128::from(i32::MIN), i128::from(i32::MAX)) as i32;
    let microseconds = i64::try_from(rest - i128::from(days) * day)
        .map_err(|_| ValueError::corrupt("the span of an interval in a key"))?;
    Ok(Interval { months, days, microseconds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::compare as compare_values;
    use crate::generate;
    use proptest::prelude::*;
    use std::cmp::Ordering;

    fn encode(values: &[Value]) -> Vec<u8> {
        let mut key = Vec::new();
        encode_key(values, &mut key);
        key
    }

    fn compare(left: &[Value], right: &[Value]) -> Ordering {
        left.iter()
            .zip(right)
            .map(|(left, right)| compare_values(left, right))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    proptest! {
        /// Otherwise an index scan would return rows in the wrong order or miss some.
        #[test]
        fn bytes_order_as_values((_, left, right) in generate::two_tuples()) {
            prop_assert_eq!(encode(&left).cmp(&encode(&right)), compare(&left, &right));
        }

        /// Otherwise a covering index would return other values than the table.
        #[test]
        fn keys_come_back((types, values, _) in generate::two_tuples()) {
            let key = encode(&values);
            let decoded = decode_key(&key, &types).unwrap();
            prop_assert_eq!(compare(&decoded, &values), Ordering::Equal);
            prop_assert_eq!(encode(&decoded), key);
            for (data_type, (decoded, value)) in types.iter().zip(decoded.iter().zip(&values)) {
                prop_assert_eq!(decoded.data_type(), value.data_type(), "{}", data_type);
            }
        }

        /// Otherwise a range scan on the first columns would miss rows or run into its neighbours.
        #[test]
        fn prefixes_bound_their_keys((_, values, others) in generate::two_tuples(), take in any::<prop::sample::Index>()) {
            let length = take.index(values.len()) + 1;
            let prefix = encode(&values[..length]);
            let end = prefix_end(&prefix).unwrap();
            for key in [encode(&values), encode(&others)] {
                let inside = prefix <= key && key < end;
                prop_assert_eq!(inside, key.starts_with(&prefix));
            }
            prop_assert!(encode(&values).starts_with(&prefix));
            prop_assert_eq!(encode(&others).starts_with(&prefix), compare(&values[..length], &others[..length]).is_eq());
        }

        /// A damaged disk must not stop a site.
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>, types in generate::types()) {
            let _ = decode_key(&bytes, &types);
        }

        /// As above, closer to what is really stored.
        #[test]
        fn damaged_keys_do_not_panic((types, values, _) in generate::two_tuples(), at in any::<prop::sample::Index>(), byte: u8) {
            let mut key = encode(&values);
            let position = at.index(key.len());
            key[position] = byte;
            let _ = decode_key(&key, &types);
        }
    }

    /// Unique indexes rely on these being one key each.
    #[test]
    fn equal_values_have_one_key() {
        let numeric = |text: &str| Value::numeric(text.parse().unwrap());
        let days = |months, days| Value::Interval(Interval { months, days, microseconds: 0 });
        let pairs = [
            (numeric("1.0"), numeric("1.00")),
            (numeric("0.00"), numeric("-0")),
            (numeric("100"), numeric("1e2")),
            (Value::Double(0.0), Value::Double(-0.0)),
            (Value::Double(f64::NAN), Value::Double(-f64::NAN)),
            (Value::Real(0.0), Value::Real(-0.0)),
            (days(1, 0), days(0, 30)),
            (Value::SmallInt(-5), Value::BigInt(-5)),
        ];
        for (left, right) in pairs {
            assert_eq!(encode(std::slice::from_ref(&left)), encode(std::slice::from_ref(&right)), "{left:?} {right:?}");
        }
    }

    /// A column of type numeric(10,2) prints two decimals, from the index as well as from the table.
    #[test]
    fn the_declared_scale_comes_back() {
        let key = encode(&[Value::numeric("5.00".parse().unwrap())]);
        let decoded = decode_key(&key, &[Type::Numeric(Some((10, 2)))]).unwrap();
        assert_eq!(decoded, [Value::numeric("5.00".parse().unwrap())]);
    }

    /// The bounds of a range scan over everything.
    #[test]
    fn the_empty_prefix_has_no_end() {
        assert_eq!(prefix_end(&[]), None);
        assert_eq!(prefix_end(&[1, 0xff]), Some(vec![2]));
    }
}
