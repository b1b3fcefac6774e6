//! PostgreSQL's text format of every type.
//!
//! Invariant: what [`write_in`] prints, [`parse_in`] reads as an equal value of the same type, in the same time zone.

use crate::array_literal;
use crate::bits;
use crate::calendar;
use crate::datetime;
use crate::error::{ValueError, sqlstate};
use crate::float::{self, is_space};
use crate::hardware;
use crate::interval;
use crate::json;
use crate::limits::MICROSECONDS_PER_SECOND;
use crate::modifier::{self, Strictness};
use crate::money;
use crate::network;
use crate::numeric;
use crate::range_literal;
use crate::types::Type;
use crate::value::Value;
use crate::zone::Zone;
use crate::zoned_time;
use std::io::Write;
use std::sync::Arc;

/// As [`parse_in`], in UTC.
pub fn parse(input: &str, data_type: Type) -> Result<Value, ValueError> {
    parse_in(input, data_type, &Zone::UTC)
}

/// Reads a value of a type, its modifier enforced as in an assignment; local times that name no zone are of this one. Errors: PostgreSQL's, mostly
/// 22P02, 22003, 22007, 22008, 22001.
pub fn parse_in(input: &str, data_type: Type, zone: &Zone) -> Result<Value, ValueError> {
    let value = match data_type {
        Type::Boolean => Value::Boolean(parse_boolean(input)?),
        Type::SmallInt => Value::SmallInt(parse_integer(input, data_type)?),
        Type::Integer => Value::Integer(parse_integer(input, data_type)?),
        Type::BigInt => Value::BigInt(parse_integer(input, data_type)?),
        Type::Real => Value::Real(float::parse_real(input)?),
        Type::Double => Value::Double(float::parse_double(input)?),
        Type::Numeric(_) => Value::numeric(numeric::parse(input)?),
        Type::Text | Type::Varchar(_) | Type::Char(_) => {
            refuse_zero_byte(input)?;
            Value::text(input)
        }
        Type::Bytea => Value::bytea(parse_bytea(input)?),
        Type::Date | Type::Time(_) | Type::TimeTz(_) | Type::Timestamp(_) | Type::TimestampTz(_) => {
            datetime::parse(input, data_type, zone)?
        }
        Type::Interval(_) => Value::Interval(interval::parse(input)?),
        Type::Uuid => Value::Uuid(parse_uuid(input)?),
        Type::Oid => Value::Oid(parse_oid(input)?),
        Type::Json => {
            refuse_zero_byte(input)?;
            json::validate(input)?;
            Value::Json(input.into())
        }
        Type::Jsonb => Value::Jsonb(Arc::new(json::parse_tree(input)?)),
        Type::Inet => Value::Inet(network::parse_inet(input)?),
        Type::Cidr => Value::Cidr(network::parse_cidr(input)?),
        Type::MacAddr => Value::MacAddr(hardware::parse(input)?),
        Type::MacAddr8 => Value::MacAddr8(hardware::parse8(input)?),
        Type::TsVector => Value::ts_vector(input.parse().map_err(ValueError::of_search)?),
        Type::TsQuery => Value::ts_query(input.parse().map_err(ValueError::of_search)?),
        Type::Range(kind) => Value::range(range_literal::parse_range(input, kind, zone)?),
        Type::Multirange(kind) => Value::multirange(range_literal::parse_multirange(input, kind, zone)?),
        Type::Bit(_) | Type::VarBit(_) => Value::Bits(bits::parse(input)?),
        Type::Money => Value::Money(money::parse(input)?),
        Type::Enum(labels) => return Ok(Value::Enum(labels.parse(input)?)),
        Type::Array(element) => return array_literal::parse_text(input, element.data_type(), zone),
        Type::Void => return Err(no_input()),
    };
    modifier::fit(value, data_type, Strictness::Assignment)
}

/// 0A000: no client has a value of this type.
pub(crate) fn no_input() -> ValueError {
    ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, "cannot accept a value of type void")
}

/// As [`parse_bytes_in`], in UTC.
pub fn parse_bytes(input: &[u8], data_type: Type) -> Result<Value, ValueError> {
    parse_bytes_in(input, data_type, &Zone::UTC)
}

/// As [`parse_in`], for bytes from a client. Errors: also 22021 for bytes that are not UTF-8.
pub fn parse_bytes_in(input: &[u8], data_type: Type, zone: &Zone) -> Result<Value, ValueError> {
    let text = std::str::from_utf8(input).map_err(|error| {
        let wrong = &input[error.valid_up_to()..];
        let length = error.error_len().unwrap_or(wrong.len()).min(wrong.len());
        let bytes: Vec<String> = wrong[..length].iter().map(|byte| format!("0x{byte:02x}")).collect();
        invalid_encoding(&bytes.join(" "))
    })?;
    parse_in(text, data_type, zone)
}

#[cold]
fn invalid_encoding(bytes: &str) -> ValueError {
    ValueError::new(
        sqlstate::CHARACTER_NOT_IN_REPERTOIRE,
        format!("invalid byte sequence for encoding \"UTF8\": {bytes}"),
    )
}

/// PostgreSQL's strings hold no zero byte. Errors: 22021.
pub(crate) fn refuse_zero_byte(text: &str) -> Result<(), ValueError> {
    if text.as_bytes().contains(&0) { Err(invalid_encoding("0x00")) } else { Ok(()) }
}

/// As [`write_in`], in UTC.
pub fn write(value: &Value, data_type: Type, out: &mut Vec<u8>) {
    write_in(value, data_type, &Zone::UTC, out);
}

/// Appends a value of a column of type `data_type`, which pads `char(n)`, in arrays too, and is otherwise ignored; nothing for
/// NULL, which has no text. Instants are shown in the time zone.
pub fn write_in(value: &Value, data_type: Type, zone: &Zone, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Boolean(truth) => out.push(if *truth { b't' } else { b'f' }),
        Value::SmallInt(number) => write_integer(i64::from(*number), out),
        Value::Integer(number) => write_integer(i64::from(*number), out),
        Value::BigInt(number) => write_integer(*number, out),
        Value::Oid(number) => write_integer(i64::from(*number), out),
        Value::Real(number) => float::write_real(*number, out),
        Value::Double(number) => float::write_double(*number, out),
        Value::Numeric(number) => numeric::write(number, out),
        Value::Text(text) => write_string(text, data_type, out),
        Value::Json(text) => out.extend_from_slice(text.as_bytes()),
        Value::Jsonb(tree) => json::write::write(tree, out),
        Value::Enum(value) => out.extend_from_slice(value.label().as_bytes()),
        Value::Inet(network) => network::write_inet(network, out),
        Value::Cidr(network) => network::write_cidr(network, out),
        Value::MacAddr(bytes) => hardware::write(bytes, out),
        Value::MacAddr8(bytes) => hardware::write(bytes, out),
        Value::TsVector(vector) => out.extend_from_slice(vector.to_string().as_bytes()),
        Value::TsQuery(query) => out.extend_from_slice(query.to_string().as_bytes()),
        Value::Range(range) => range_literal::write_range(range, zone, out),
        Value::Multirange(multirange) => range_literal::write_multirange(multirange, zone, out),
        Value::Bits(string) => bits::write(string, out),
        Value::TimeTz(zoned) => zoned_time::write(zoned, out),
        Value::Money(amount) => money::write(*amount, out),
        Value::Bytea(bytes) => {
            out.reserve(2 + 2 * bytes.len());
            out.extend_from_slice(b"\\x");
            write_hexadecimal(bytes, out);
        }
        Value::Date(days) => calendar::write_date(i64::from(*days), out),
        Value::Time(microseconds) => calendar::write_time(*microseconds, out),
        Value::Timestamp(microseconds) => calendar::write_timestamp(*microseconds, None, out),
        Value::TimestampTz(microseconds) => {
            let offset = zone.at(*microseconds).seconds;
            let local = *microseconds + i64::from(offset) * MICROSECONDS_PER_SECOND;
            calendar::write_timestamp(local, Some(offset), out);
        }
        Value::Interval(interval) => interval::write(interval, out),
        Value::Uuid(bytes) => {
            for (index, part) in
                [&bytes[..4], &bytes[4..6], &bytes[6..8], &bytes[8..10], &bytes[10..]].iter().enumerate()
            {
                if index > 0 {
                    out.push(b'-');
                }
                write_hexadecimal(part, out);
            }
        }
        Value::Array(array) => {
            array_literal::write_text(array, data_type.element().unwrap_or_else(|| array.element()), zone, out);
        }
    }
}

/// As [`to_string_in`], in UTC.
pub fn to_string(value: &Value) -> Option<String> {
    to_string_in(value, &Zone::UTC)
}

/// The text of a value as its own type prints it; `None` for NULL.
pub fn to_string_in(value: &Value, zone: &Zone) -> Option<String> {
    let data_type = value.data_type()?;
    let mut out = Vec::new();
    write_in(value, data_type, zone, &mut out);
    Some(into_string(out))
}

/// Every format prints UTF-8.
fn into_string(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("all formats print UTF-8")
}

/// Appends a string, padded with blanks if the column is a `char(n)`.
pub(crate) fn write_string(text: &str, data_type: Type, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    if let Type::Char(length) = data_type {
        let missing = (length as usize).saturating_sub(text.chars().count());
        out.resize(out.len() + missing, b' ');
    }
}

fn write_integer(number: i64, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "{number}");
}

pub(crate) fn write_hexadecimal(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

/// Unique prefixes of true, false, yes, no, on, off, and 1 and 0.
fn parse_boolean(input: &str) -> Result<bool, ValueError> {
    let text = input.trim_matches(is_space).to_ascii_lowercase();
    let abbreviates = |name: &str, least: usize| text.len() >= least && name.starts_with(&text);
    if abbreviates("true", 1) || abbreviates("yes", 1) || abbreviates("on", 2) || text == "1" {
        Ok(true)
    } else if abbreviates("false", 1) || abbreviates("no", 1) || abbreviates("off", 2) || text == "0" {
        Ok(false)
    } else {
        Err(ValueError::syntax("boolean", input))
    }
}

fn parse_integer<N: std::str::FromStr>(input: &str, data_type: Type) -> Result<N, ValueError> {
    let text = input.trim_matches(is_space);
    text.parse().map_err(|_| {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            ValueError::text_out_of_range(data_type.base_name(), input)
        } else {
            ValueError::syntax(data_type.base_name(), input)
        }
    })
}

/// Negative numbers, too, if they fit 32 bits: as `oidin` has it.
fn parse_oid(input: &str) -> Result<u32, ValueError> {
    let number: i64 = parse_integer(input, Type::Oid)?;
    let wrapped = i32::try_from(number).map(|negative| negative as u32);
    u32::try_from(number).or(wrapped).map_err(|_| ValueError::text_out_of_range(Type::Oid.base_name(), input))
}

fn hexadecimal_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// The hex format `\x...` and the older escape format.
fn parse_bytea(input: &str) -> Result<Vec<u8>, ValueError> {
    match input.strip_prefix("\\x") {
        Some(digits) => parse_hexadecimal(digits),
        None => parse_escaped(input.as_bytes()).ok_or_else(|| {
            ValueError::new(sqlstate::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea")
        }),
    }
}

/// Pairs of digits, with white space between pairs.
pub(crate) fn parse_hexadecimal(digits: &str) -> Result<Vec<u8>, ValueError> {
    let invalid = |message: String| ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, message);
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    let mut characters = digits.chars();
    while let Some(character) = characters.next() {
        if matches!(character, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let digit = |character: char| {
            u8::try_from(character)
                .ok()
                .and_then(hexadecimal_digit)
                .ok_or_else(|| invalid(format!("invalid hexadecimal digit: \"{character}\"")))
        };
        let high = digit(character)?;
        let low = characters.next().ok_or_else(|| invalid("invalid hexadecimal data: odd number of digits".into()))?;
        bytes.push(high << 4 | digit(low)?);
    }
    Ok(bytes)
}

/// `\\` for a backslash, `\nnn` for a byte in octal.
fn parse_escaped(input: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(input.len());
    let mut rest = input;
    loop {
        rest = match rest {
            [] => return Some(bytes),
            [b'\\', b'\\', rest @ ..] => {
                bytes.push(b'\\');
                rest
            }
            [b'\\', high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', rest @ ..] => {
                bytes.push((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'));
                rest
            }
            [b'\\', ..] => return None,
            [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        };
    }
}

/// 32 hexadecimal digits, braces around them and hyphens after any group of four allowed.
fn parse_uuid(input: &str) -> Result<[u8; 16], ValueError> {
    let parsed = || {
        let text = input.as_bytes();
        let mut rest = match text.strip_prefix(b"{") {
            Some(inner) => inner.strip_suffix(b"}")?,
            None => text,
        };
        let mut bytes = [0; 16];
        for (index, byte) in bytes.iter_mut().enumerate() {
            let [high, low, after @ ..] = rest else { return None };
            *byte = hexadecimal_digit(*high)? << 4 | hexadecimal_digit(*low)?;
            rest = after;
            if index % 2 == 1 && index < 15 {
                rest = rest.strip_prefix(b"-").unwrap_or(rest);
            }
        }
        rest.is_empty().then_some(bytes)
    };
    parsed().ok_or_else(|| ValueError::syntax("uuid", input))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;
    use proptest::prelude::*;

    proptest! {
        /// Otherwise a dump could not be restored.
        #[test]
        fn texts_come_back((data_type, value) in generate::data_type().prop_flat_map(|t| (Just(t), generate::value_of(t)))) {
            let mut text = Vec::new();
            write(&value, data_type, &mut text);
            let parsed = parse_bytes(&text, data_type);
            prop_assert_eq!(parsed.as_ref(), Ok(&value), "{}", String::from_utf8_lossy(&text));
        }

        /// A client must not be able to stop a site.
        #[test]
        fn arbitrary_texts_do_not_panic(input in "\\PC{0,24}|[-+0-9a-zA-Z:./ ,@]{0,24}", data_type in generate::data_type()) {
            let _ = parse(&input, data_type);
        }

        /// As above, with pieces that mean something.
        #[test]
        fn arbitrary_dates_do_not_panic(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "2024", "-", "12", "31", ":", ".", "T", "Z", "+", "99", "0", " ", "jan", "BC", "J", "pm", "days", "P",
                    "1e9", "mons", "999999999999", "year", "ago", "infinity", "@",
                ]),
                0..9,
            ),
            data_type in generate::data_type(),
        ) {
            let _ = parse(&pieces.concat(), data_type);
        }
    }
}
