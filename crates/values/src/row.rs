//! The compact row codec: a number of columns, then one tagged value after the other.
//!
//! Invariant: encoding is canonical (values that are `==` have equal bytes) and decoding checks everything: bytes that
//! no encoder wrote yield SQLSTATE XX001, never a panic and never an allocation larger than the bytes at hand.
//!
//! Layout: columns as a varint; per value one tag byte, then zigzag varints for integers and times, little-endian bits
//! for floats, a varint length and the bytes for strings and arrays. Tags from 0x80 up are texts of up to 127 bytes whose
//! length is in the tag.

use crate::array::{Array, held};
use crate::bits::BitString;
use crate::enumeration::{EnumOrder, EnumType, EnumValue};
use crate::error::ValueError;
use crate::json::stored;
use crate::limits::{COLUMNS_MAX, NUMERIC_FRACTION_DIGITS_MAX, NUMERIC_INTEGER_DIGITS_MAX};
use crate::network::InetAddress;
use crate::ranges::stored as stored_ranges;
use crate::types::{ALL, Type};
use crate::value::{Interval, Value};
use crate::varint;
use crate::zoned_time::ZonedTime;
use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::BigInt;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use text_search::{SearchQuery, SearchVector};

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const SMALL_INT: u8 = 3;
const INTEGER: u8 = 4;
const BIG_INT: u8 = 5;
const REAL: u8 = 6;
const DOUBLE: u8 = 7;
/// Unscaled number fits 64 bits: scale and number as zigzag varints.
const NUMERIC: u8 = 8;
/// Unscaled number does not fit 64 bits: scale, length, two's complement little-endian bytes.
const LARGE_NUMERIC: u8 = 9;
const TEXT: u8 = 10;
const BYTEA: u8 = 11;
const DATE: u8 = 12;
const TIME: u8 = 13;
const TIMESTAMP: u8 = 14;
const TIMESTAMP_TZ: u8 = 15;
const INTERVAL: u8 = 16;
const UUID: u8 = 17;
const OID: u8 = 19;
/// Place of the elements' type in [`ALL`], length of the elements in bytes, their number, and they themselves.
const ARRAY: u8 = 18;
/// Length and text.
const JSON: u8 = 20;
/// Length and a tree, as [`json::stored`](crate::json::stored) has it.
const JSONB: u8 = 21;
/// Number of its type, and length and bytes of its place and of its label.
const ENUM: u8 = 22;
/// Number of the elements' type, then as an array.
const ENUM_ARRAY: u8 = 23;
/// Length of the mask, and the bytes of an address of IPv4.
const INET_4: u8 = 24;
/// The same of IPv6.
const INET_6: u8 = 25;
/// As [`INET_4`].
const CIDR_4: u8 = 26;
const CIDR_6: u8 = 27;
const MAC_ADDR: u8 = 28;
const MAC_ADDR_8: u8 = 29;
/// Length, and bytes of the type and of the span.
const RANGE: u8 = 30;
/// The same with any number of spans.
const MULTIRANGE: u8 = 31;
/// Length in bits, and the bits, eight to a byte.
const BITS: u8 = 34;
/// Microseconds and offset.
const TIME_TZ: u8 = 35;
const MONEY: u8 = 36;
/// Length, and the bytes of the binary format.
const TS_VECTOR: u8 = 32;
const TS_QUERY: u8 = 33;
/// First tag of the short texts; the low seven bits are the length in bytes.
const SHORT_TEXT: u8 = 0x80;
const SHORT_TEXT_BYTES_MAX: usize = 0x7f;
/// Bytes of a number, at most, unless it is a large numeric: its tag, scale and unscaled number.
const NUMBER_BYTES: usize = 1 + 2 * 10;

/// Appends a row to `out`.
///
/// # Panics
/// If there are more than [`COLUMNS_MAX`] values, which the table's definition has to prevent.
pub fn encode_row(values: &[Value], out: &mut Vec<u8>) {
    assert!(values.len() <= COLUMNS_MAX, "a row has at most {COLUMNS_MAX} columns");
    varint::write(values.len() as u64, out);
    for value in values {
        encode_value(value, out);
    }
}

/// Appends one value, tag included.
fn encode_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(NULL),
        Value::Boolean(truth) => out.push(if *truth { TRUE } else { FALSE }),
        Value::SmallInt(number) => tagged(SMALL_INT, i64::from(*number), out),
        Value::Integer(number) => tagged(INTEGER, i64::from(*number), out),
        Value::BigInt(number) => tagged(BIG_INT, *number, out),
        Value::Real(number) => {
            out.push(REAL);
            let bits = if number.is_nan() { f32::NAN } else { *number }.to_bits();
            out.extend_from_slice(&bits.to_le_bytes());
        }
        Value::Double(number) => {
            out.push(DOUBLE);
            let bits = if number.is_nan() { f64::NAN } else { *number }.to_bits();
            out.extend_from_slice(&bits.to_le_bytes());
        }
        Value::Numeric(number) => encode_numeric(number, out),
        Value::Text(text) => {
            if text.len() <= SHORT_TEXT_BYTES_MAX {
                out.push(SHORT_TEXT | text.len() as u8);
            } else {
                out.push(TEXT);
                varint::write(text.len() as u64, out);
            }
            out.extend_from_slice(text.as_bytes());
        }
        Value::Bytea(bytes) => tagged_bytes(BYTEA, bytes, out),
        Value::Date(days) => tagged(DATE, i64::from(*days), out),
        Value::Time(microseconds) => tagged(TIME, *microseconds, out),
        Value::Timestamp(microseconds) => tagged(TIMESTAMP, *microseconds, out),
        Value::TimestampTz(microseconds) => tagged(TIMESTAMP_TZ, *microseconds, out),
        Value::Interval(interval) => {
            tagged(INTERVAL, i64::from(interval.months), out);
            varint::write(varint::zigzag(i64::from(interval.days)), out);
            varint::write(varint::zigzag(interval.microseconds), out);
        }
        Value::Uuid(bytes) => {
            out.push(UUID);
            out.extend_from_slice(bytes);
        }
        Value::Oid(number) => tagged(OID, i64::from(*number), out),
        Value::Json(text) => tagged_bytes(JSON, text.as_bytes(), out),
        Value::Jsonb(json) => with_length(JSONB, out, |out| stored::encode(json, out)),
        Value::Enum(value) => {
            out.push(ENUM);
            varint::write(u64::from(value.type_oid()), out);
            for bytes in [value.order().as_bytes(), value.label().as_bytes()] {
                varint::write(bytes.len() as u64, out);
                out.extend_from_slice(bytes);
            }
        }
        Value::Array(array) => encode_array(array, out),
        Value::Range(range) => with_length(RANGE, out, |out| stored_ranges::encode_range(range, out)),
        Value::TsVector(vector) => with_length(TS_VECTOR, out, |out| vector.write_binary(out)),
        Value::TsQuery(query) => with_length(TS_QUERY, out, |out| query.write_binary(out)),
        Value::Multirange(all) => with_length(MULTIRANGE, out, |out| stored_ranges::encode_multirange(all, out)),
        Value::Bits(bits) => encode_bits(bits, out),
        Value::TimeTz(zoned) => {
            tagged(TIME_TZ, zoned.time, out);
            varint::write(varint::zigzag(i64::from(zoned.offset)), out);
        }
        Value::Money(amount) => tagged(MONEY, *amount, out),
        Value::Inet(_) | Value::Cidr(_) | Value::MacAddr(_) | Value::MacAddr8(_) => encode_address(value, out),
    }
}

/// Appends a tag, a length and the bytes that are written.
fn with_length(tag: u8, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = Vec::new();
    write(&mut bytes);
    out.push(tag);
    varint::write(bytes.len() as u64, out);
    out.extend_from_slice(&bytes);
}

/// Appends a bit string, tag included.
fn encode_bits(bits: &BitString, out: &mut Vec<u8>) {
    out.push(BITS);
    varint::write(u64::from(bits.length()), out);
    out.extend_from_slice(bits.bytes());
}

/// Appends an address, tag included.
fn encode_address(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Inet(network) => encode_network([INET_4, INET_6], network, out),
        Value::Cidr(network) => encode_network([CIDR_4, CIDR_6], network, out),
        Value::MacAddr(bytes) => {
            out.push(MAC_ADDR);
            out.extend_from_slice(bytes);
        }
        Value::MacAddr8(bytes) => {
            out.push(MAC_ADDR_8);
            out.extend_from_slice(bytes);
        }
        _ => unreachable!("only addresses are encoded here"),
    }
}

fn encode_network([tag_4, tag_6]: [u8; 2], network: &InetAddress, out: &mut Vec<u8>) {
    out.push(if network.address().is_ipv4() { tag_4 } else { tag_6 });
    out.push(network.bits());
    out.extend_from_slice(&network.octets());
}

fn encode_array(array: &Array, out: &mut Vec<u8>) {
    let mut elements = Vec::new();
    varint::write(array.values().len() as u64, &mut elements);
    array.values().iter().for_each(|value| encode_value(value, &mut elements));
    match array.element() {
        Type::Enum(labels) => {
            out.push(ENUM_ARRAY);
            varint::write(u64::from(labels.oid()), out);
        }
        element => {
            let place = ALL.iter().position(|known| *known == element).expect("an element is no array");
            out.extend_from_slice(&[ARRAY, place as u8]);
        }
    }
    varint::write(elements.len() as u64, out);
    out.extend_from_slice(&elements);
}

/// Appends a tag, a length and these bytes.
fn tagged_bytes(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    varint::write(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn tagged(tag: u8, number: i64, out: &mut Vec<u8>) {
    out.push(tag);
    varint::write(varint::zigzag(number), out);
}

fn encode_numeric(number: &BigDecimal, out: &mut Vec<u8>) {
    let (unscaled, scale) = number.as_bigint_and_scale();
    match i64::try_from(unscaled.as_ref()) {
        Ok(small) => {
            tagged(NUMERIC, scale, out);
            varint::write(varint::zigzag(small), out);
        }
        Err(_) => {
            tagged(LARGE_NUMERIC, scale, out);
            let bytes = unscaled.to_signed_bytes_le();
            varint::write(bytes.len() as u64, out);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Decodes a row of exactly `columns` columns. Errors: XX001 if the bytes are damaged or hold another number of
/// columns.
pub fn decode_row(bytes: &[u8], columns: usize) -> Result<Vec<Value>, ValueError> {
    let mut reader = RowReader::new(bytes)?;
    if reader.remaining() != columns {
        return Err(wrong_count(reader.remaining(), columns));
    }
    let mut values = Vec::with_capacity(columns);
    while let Some(value) = reader.next_value()? {
        values.push(value);
    }
    Ok(values)
}

#[cold]
fn wrong_count(found: usize, expected: usize) -> ValueError {
    ValueError::corrupt(&format!("a row has {found} columns, not {expected}"))
}

/// The value of column `index`, counted from 0, decoding no other. Errors: XX001 if the bytes up to it are damaged or
/// the row is too short.
pub fn column(bytes: &[u8], index: usize) -> Result<Value, ValueError> {
    let mut reader = RowReader::new(bytes)?;
    if index >= reader.remaining() {
        return Err(wrong_count(reader.remaining(), index + 1));
    }
    for _ in 0..index {
        reader.skip()?;
    }
    reader.next_value()?.ok_or_else(|| wrong_count(index, index + 1))
}

/// The row with a number where [`RowReader::value_at`] has found another one.
pub(crate) fn with_number(row: &[u8], place: Range<usize>, number: &Value) -> Vec<u8> {
    let mut changed = Vec::with_capacity(row.len() + NUMBER_BYTES);
    changed.extend_from_slice(&row[..place.start]);
    encode_value(number, &mut changed);
    changed.extend_from_slice(&row[place.end..]);
    changed.shrink_to_fit();
    changed
}

/// Reads a row's values in order, one at a time.
#[derive(Clone, Debug)]
pub struct RowReader<'a> {
    rest: &'a [u8],
    remaining: usize,
}

impl<'a> RowReader<'a> {
    /// Starts at the first column. Errors: XX001 if the number of columns is not believable.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ValueError> {
        let mut rest = bytes;
        let columns = varint::read(&mut rest)?;
        // Every value takes at least its tag.
        if columns > COLUMNS_MAX as u64 || columns > rest.len() as u64 {
            return Err(ValueError::corrupt("the number of columns"));
        }
        Ok(Self { rest, remaining: columns as usize })
    }

    /// The value of column `index`, counted from 0, and where it lies, tag included; `None` if the row ends before it. Errors: XX001 if the bytes
    /// up to it are damaged.
    pub(crate) fn value_at(bytes: &[u8], index: usize) -> Result<Option<(Value, Range<usize>)>, ValueError> {
        let mut reader = RowReader::new(bytes)?;
        for _ in 0..index {
            reader.skip()?;
        }
        let from = bytes.len() - reader.rest.len();
        let value = reader.next_value()?;
        Ok(value.map(|value| (value, from..bytes.len() - reader.rest.len())))
    }

    /// Columns not read yet.
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    /// The next column's value, `None` after the last. Errors: XX001 if the bytes are damaged, also if bytes follow the
    /// last value.
    pub fn next_value(&mut self) -> Result<Option<Value>, ValueError> {
        if !self.advance()? {
            return Ok(None);
        }
        match self.byte()? {
            ARRAY => {
                let element = ALL.get(usize::from(self.byte()?)).copied().filter(|element| held(*element) == *element);
                let wrong = || ValueError::corrupt("the elements of an array are of no type");
                self.elements(element.ok_or_else(wrong)?)
            }
            ENUM_ARRAY => {
                let element = Type::Enum(EnumType::numbered(self.oid()?));
                self.elements(element)
            }
            tag => self.scalar(tag),
        }
        .map(Some)
    }

    /// The elements of an array, of this type.
    fn elements(&mut self, element: Type) -> Result<Value, ValueError> {
        let length = self.length()?;
        let mut inside = Self { rest: self.take(length)?, remaining: 0 };
        let count = inside.length()?;
        // Every element takes at least its tag.
        if count > inside.rest.len() {
            return Err(ValueError::corrupt("the number of elements"));
        }
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            let tag = inside.byte()?;
            let value = inside.scalar(tag)?;
            if value.data_type().is_some_and(|found| found != element) {
                return Err(ValueError::corrupt("an element of an array has another type"));
            }
            values.push(value);
        }
        if inside.rest.is_empty() {
            Ok(Value::array(element, values))
        } else {
            Err(ValueError::corrupt("bytes follow the last element"))
        }
    }

    /// The value behind this tag, which is no array's.
    fn scalar(&mut self, tag: u8) -> Result<Value, ValueError> {
        Ok(match tag {
            SHORT_TEXT.. => return self.text(usize::from(tag & !SHORT_TEXT)),
            NULL => Value::Null,
            FALSE => Value::Boolean(false),
            TRUE => Value::Boolean(true),
            SMALL_INT => Value::SmallInt(self.narrow()?),
            INTEGER => Value::Integer(self.narrow()?),
            BIG_INT => Value::BigInt(self.number()?),
            REAL => Value::Real(f32::from_le_bytes(self.array()?)),
            DOUBLE => Value::Double(f64::from_le_bytes(self.array()?)),
            NUMERIC => {
                let scale = self.scale()?;
                Value::numeric(BigDecimal::new(BigInt::from(self.number()?), scale))
            }
            LARGE_NUMERIC => {
                let scale = self.scale()?;
                let length = self.length()?;
                Value::numeric(BigDecimal::new(BigInt::from_signed_bytes_le(self.take(length)?), scale))
            }
            TEXT => {
                let length = self.length()?;
                return self.text(length);
            }
            BYTEA => {
                let length = self.length()?;
                Value::Bytea(Arc::from(self.take(length)?))
            }
            DATE => Value::Date(self.narrow()?),
            TIME => Value::Time(self.number()?),
            TIMESTAMP => Value::Timestamp(self.number()?),
            TIMESTAMP_TZ => Value::TimestampTz(self.number()?),
            INTERVAL => {
                Value::Interval(Interval { months: self.narrow()?, days: self.narrow()?, microseconds: self.number()? })
            }
            UUID => Value::Uuid(self.array()?),
            INET_4 | INET_6 => Value::Inet(self.network(tag == INET_4)?),
            CIDR_4 | CIDR_6 => {
                let network = self.network(tag == CIDR_4)?;
                let whole = Some(network).filter(InetAddress::is_whole);
                Value::Cidr(whole.ok_or_else(|| ValueError::corrupt("bits to the right of a mask"))?)
            }
            MAC_ADDR => Value::MacAddr(self.array()?),
            MAC_ADDR_8 => Value::MacAddr8(self.array()?),
            OID => Value::Oid(self.narrow()?),
            JSON => {
                let length = self.length()?;
                match self.text(length)? {
                    Value::Text(text) => Value::Json(text),
                    other => other,
                }
            }
            JSONB => {
                let length = self.length()?;
                Value::Jsonb(Arc::new(stored::decode(self.take(length)?)?))
            }
            RANGE => {
                let length = self.length()?;
                Value::range(stored_ranges::decode_range(self.take(length)?)?)
            }
            TS_VECTOR => {
                let length = self.length()?;
                let damaged = |_| ValueError::corrupt("a vector of text search");
                Value::ts_vector(SearchVector::of_binary(self.take(length)?).map_err(damaged)?)
            }
            TS_QUERY => {
                let length = self.length()?;
                let damaged = |_| ValueError::corrupt("a query of text search");
                Value::ts_query(SearchQuery::of_binary(self.take(length)?).map_err(damaged)?)
            }
            MULTIRANGE => {
                let length = self.length()?;
                Value::multirange(stored_ranges::decode_multirange(self.take(length)?)?)
            }
            BITS => {
                let length = self.bits()?;
                let bytes = self.take((length as usize).div_ceil(8))?;
                let bits = BitString::of_bytes(length, bytes);
                Value::Bits(bits.ok_or_else(|| ValueError::corrupt("bits behind the end of a bit string"))?)
            }
            TIME_TZ => Value::TimeTz(ZonedTime { time: self.number()?, offset: self.narrow()? }),
            MONEY => Value::Money(self.number()?),
            ENUM => {
                let type_oid = self.oid()?;
                let length = self.length()?;
                let order = EnumOrder::of_bytes(self.take(length)?)?;
                let length = self.length()?;
                let label = std::str::from_utf8(self.take(length)?);
                let label = label.map_err(|_| ValueError::corrupt("the label of an enum is not UTF-8"))?;
                Value::Enum(Arc::new(EnumValue::new(type_oid, order, label)))
            }
            _ => return Err(ValueError::corrupt("a value has an unknown tag")),
        })
    }

    /// Passes over the next column, if there is one, without decoding it.
    pub fn skip(&mut self) -> Result<(), ValueError> {
        if !self.advance()? {
            return Ok(());
        }
        let tag = self.byte()?;
        let length = match tag {
            NULL | FALSE | TRUE => 0,
            SMALL_INT | INTEGER | BIG_INT | DATE | TIME | TIMESTAMP | TIMESTAMP_TZ | OID | MONEY => {
                self.number()?;
                0
            }
            REAL => size_of::<f32>(),
            DOUBLE => size_of::<f64>(),
            NUMERIC | TIME_TZ => {
                self.number()?;
                self.number()?;
                0
            }
            LARGE_NUMERIC => {
                self.number()?;
                self.length()?
            }
            TEXT | BYTEA | JSON | JSONB | RANGE | MULTIRANGE | TS_VECTOR | TS_QUERY => self.length()?,
            INTERVAL => {
                for _ in 0..3 {
                    self.number()?;
                }
                0
            }
            UUID => 16,
            BITS => (self.bits()? as usize).div_ceil(8),
            INET_4 | CIDR_4 => 1 + 4,
            INET_6 | CIDR_6 => 1 + 16,
            MAC_ADDR => 6,
            MAC_ADDR_8 => 8,
            ARRAY => {
                self.byte()?;
                self.length()?
            }
            ENUM => {
                self.oid()?;
                let order = self.length()?;
                self.take(order)?;
                self.length()?
            }
            ENUM_ARRAY => {
                self.oid()?;
                self.length()?
            }
            SHORT_TEXT.. => usize::from(tag & !SHORT_TEXT),
            _ => return Err(ValueError::corrupt("a value has an unknown tag")),
        };
        self.take(length)?;
        Ok(())
    }

    /// Counts one column off; false, after a check that nothing is left over, when all are read.
    fn advance(&mut self) -> Result<bool, ValueError> {
        if self.remaining > 0 {
            self.remaining -= 1;
            return Ok(true);
        }
        if self.rest.is_empty() { Ok(false) } else { Err(ValueError::corrupt("bytes follow the last column")) }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ValueError> {
        let (taken, rest) =
            self.rest.split_at_checked(length).ok_or_else(|| ValueError::corrupt("a row ends within a value"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ValueError> {
        let (taken, rest) =
            self.rest.split_first_chunk::<N>().ok_or_else(|| ValueError::corrupt("a row ends within a value"))?;
        self.rest = rest;
        Ok(*taken)
    }

    fn byte(&mut self) -> Result<u8, ValueError> {
        Ok(self.array::<1>()?[0])
    }

    fn number(&mut self) -> Result<i64, ValueError> {
        Ok(varint::unzigzag(varint::read(&mut self.rest)?))
    }

    fn narrow<N: TryFrom<i64>>(&mut self) -> Result<N, ValueError> {
        N::try_from(self.number()?).map_err(|_| ValueError::corrupt("a number exceeds its type"))
    }

    /// An address of IP behind its tag.
    fn network(&mut self, is_v4: bool) -> Result<InetAddress, ValueError> {
        let bits = self.byte()?;
        let address = if is_v4 { IpAddr::from(self.array::<4>()?) } else { IpAddr::from(self.array::<16>()?) };
        InetAddress::new(address, bits).ok_or_else(|| ValueError::corrupt("the length of a mask"))
    }

    /// The number of an enum type.
    fn oid(&mut self) -> Result<u32, ValueError> {
        u32::try_from(varint::read(&mut self.rest)?).map_err(|_| ValueError::corrupt("the number of a type"))
    }

    /// How many bits a bit string has.
    fn bits(&mut self) -> Result<u32, ValueError> {
        u32::try_from(varint::read(&mut self.rest)?).map_err(|_| ValueError::corrupt("the length of a bit string"))
    }

    fn length(&mut self) -> Result<usize, ValueError> {
        usize::try_from(varint::read(&mut self.rest)?).map_err(|_| ValueError::corrupt("a length"))
    }

    /// A scale; bounded, because printing takes memory in proportion to it.
    fn scale(&mut self) -> Result<i64, ValueError> {
        let scale = self.number()?;
        if (-NUMERIC_INTEGER_DIGITS_MAX..=NUMERIC_FRACTION_DIGITS_MAX).contains(&scale) {
            Ok(scale)
        } else {
            Err(ValueError::corrupt("the scale of a numeric"))
        }
    }

    fn text(&mut self, length: usize) -> Result<Value, ValueError> {
        let text = std::str::from_utf8(self.take(length)?).map_err(|_| ValueError::corrupt("a text is not UTF-8"))?;
        Ok(Value::Text(Arc::from(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;
    use proptest::prelude::*;

    proptest! {
        /// A row that came back different would be lost data.
        #[test]
        fn rows_come_back(values in generate::row()) {
            let mut bytes = Vec::new();
            encode_row(&values, &mut bytes);
            prop_assert_eq!(&decode_row(&bytes, values.len()).unwrap(), &values);
            for (index, value) in values.iter().enumerate() {
                prop_assert_eq!(&column(&bytes, index).unwrap(), value);
            }
            prop_assert!(column(&bytes, values.len()).is_err());
            prop_assert!(decode_row(&bytes, values.len() + 1).is_err());
        }

        /// A torn or overgrown row must be noticed, not served.
        #[test]
        fn cut_rows_are_refused(values in generate::row(), cut in any::<prop::sample::Index>()) {
            let mut bytes = Vec::new();
            encode_row(&values, &mut bytes);
            prop_assert!(decode_row(&bytes[..cut.index(bytes.len())], values.len()).is_err());
            bytes.push(0);
            prop_assert!(decode_row(&bytes, values.len()).is_err());
        }

        /// A damaged disk must not stop a site.
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>, index in 0usize..20) {
            let columns = RowReader::new(&bytes).map_or(3, |reader| reader.remaining());
            let _ = decode_row(&bytes, columns);
            let _ = column(&bytes, index);
        }

        /// Damage that still decodes must be a row like any other: a site that reads it may write it again.
        #[test]
        fn what_decodes_encodes_again(values in generate::row(), at in any::<prop::sample::Index>(), byte: u8) {
            let mut bytes = Vec::new();
            encode_row(&values, &mut bytes);
            let position = at.index(bytes.len());
            bytes[position] = byte;
            let columns = RowReader::new(&bytes).map_or(0, |reader| reader.remaining());
            if let Ok(decoded) = decode_row(&bytes, columns) {
                let mut again = Vec::new();
                encode_row(&decoded, &mut again);
                prop_assert_eq!(decode_row(&again, columns).unwrap(), decoded);
            }
        }
    }

    /// The sizes that a table's memory is planned with.
    #[test]
    fn rows_are_small() {
        let mut bytes = Vec::new();
        encode_row(&[Value::Integer(7), Value::Null, Value::text("abc"), Value::Boolean(true)], &mut bytes);
        assert_eq!(bytes, [4, INTEGER, 14, NULL, SHORT_TEXT | 3, b'a', b'b', b'c', TRUE]);
    }
}
