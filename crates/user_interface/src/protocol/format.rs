//! Values in the protocol's text and binary formats.
//!
//! Invariant: a field's length word counts exactly the bytes that follow it, -1 stands for NULL alone.

use crate::errors::{Result, SqlError, sqlstate};
use crate::protocol::frontend::FormatCodes;
use bytes::{BufMut, BytesMut};
use std::io::Write;
use values::{Type, Value, Zone};

/// The formats of a result's columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Formats {
    /// All text.
    #[default]
    Text,
    /// All binary.
    Binary,
    /// One each; true: binary.
    Each(Box<[bool]>),
}

impl Formats {
    /// From a Bind message, for a result of so many columns. Errors: 08P01 for another number of codes, 22023 for a code that
    /// does not exist.
    pub fn of(codes: &FormatCodes, columns: usize) -> Result<Formats> {
        match codes.len() {
            0 => Ok(Formats::Text),
            1 => Ok(if codes.is_binary(0)? { Formats::Binary } else { Formats::Text }),
            count if columns > 0 && count != columns => Err(SqlError::new(
                sqlstate::PROTOCOL_VIOLATION,
                format!("bind message has {count} result formats but query has {columns} columns"),
            )),
            count => {
                let each: Vec<bool> = (0..count).map(|index| codes.is_binary(index)).collect::<Result<_>>()?;
                Ok(Formats::Each(each.into()))
            }
        }
    }

    /// Whether they are for a result of so many columns.
    pub fn fit(&self, columns: usize) -> bool {
        match self {
            Formats::Text | Formats::Binary => true,
            Formats::Each(each) => columns == 0 || each.len() == columns,
        }
    }

    /// Whether column `index` is binary.
    #[inline]
    pub fn is_binary(&self, index: usize) -> bool {
        match self {
            Formats::Text => false,
            Formats::Binary => true,
            Formats::Each(each) => each.get(index).copied().unwrap_or(false),
        }
    }
}

/// A parameter's value from its bytes; a text that names no zone is of the session's. Errors: those of its type's input.
pub fn parse_parameter(bytes: Option<&[u8]>, data_type: Type, binary: bool, zone: &Zone) -> Result<Value> {
    match bytes {
        None => Ok(Value::Null),
        Some(bytes) if binary => Ok(values::binary::parse(bytes, data_type)?),
        Some(bytes) => Ok(values::text::parse_bytes_in(bytes, data_type, zone)?),
    }
}

/// Appends one field of a DataRow: length and bytes. The commonest types are written without a detour.
pub fn put_field(out: &mut BytesMut, value: &Value, data_type: Type, binary: bool, zone: &Zone, scratch: &mut Vec<u8>) {
    match (value, binary, data_type) {
        (Value::Null, _, _) => out.put_i32(-1),
        (Value::Integer(number), true, Type::Integer) => {
            out.put_i32(4);
            out.put_i32(*number);
        }
        (Value::BigInt(number), true, Type::BigInt) => {
            out.put_i32(8);
            out.put_i64(*number);
        }
        (Value::Integer(number), false, _) => put_integer(out, i64::from(*number)),
        (Value::BigInt(number), false, _) => put_integer(out, *number),
        (Value::Text(text), _, Type::Text | Type::Varchar(_)) => put_bytes(out, text.as_bytes()),
        _ => {
            scratch.clear();
            if binary {
                values::binary::write(value, data_type, scratch);
            } else {
                values::text::write_in(value, data_type, zone, scratch);
            }
            put_bytes(out, scratch);
        }
    }
}

fn put_bytes(out: &mut BytesMut, bytes: &[u8]) {
    out.put_i32(bytes.len() as i32);
    out.extend_from_slice(bytes);
}

fn put_integer(out: &mut BytesMut, number: i64) {
    let mut digits = [0u8; 20];
    let mut rest = &mut digits[..];
    // 20 bytes hold every 64-bit integer with its sign, so the write cannot fail.
    let fits = write!(rest, "{number}").is_ok();
    assert!(fits, "an integer has at most 20 characters");
    let length = 20 - rest.len();
    put_bytes(out, &digits[..length]);
}

/// A value as an error message shows it.
pub fn display(value: &Value, data_type: Type) -> String {
    if value.is_null() {
        return "null".to_string();
    }
    let mut text = Vec::new();
    values::text::write(value, data_type, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The short cuts must print what the types' own writers print.
    #[test]
    fn short_cuts_agree_with_the_long_way() {
        let cases = [
            (Value::Integer(i32::MIN), Type::Integer),
            (Value::BigInt(i64::MIN), Type::BigInt),
            (Value::BigInt(0), Type::BigInt),
            (Value::text("größe"), Type::Varchar(Some(9))),
        ];
        for (value, data_type) in cases {
            for binary in [false, true] {
                let mut field = BytesMut::new();
                put_field(&mut field, &value, data_type, binary, &Zone::UTC, &mut Vec::new());
                let mut expected = Vec::new();
                if binary {
                    values::binary::write(&value, data_type, &mut expected);
                } else {
                    values::text::write(&value, data_type, &mut expected);
                }
                assert_eq!(&field[4..], &expected[..]);
                assert_eq!(i32::from_be_bytes([field[0], field[1], field[2], field[3]]) as usize, expected.len());
            }
        }
    }
}
