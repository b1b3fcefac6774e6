//! The bytes of a `jsonb` in a row: a tag for each value, as docs/formats.md has it.
//!
//! Invariant: as of rows. Encoding is canonical; decoding checks everything, the order of keys and the depth too, and allocates no more than the bytes at
//! hand speak for.

use super::{Jsonb, JsonbObject};
use crate::error::ValueError;
use crate::limits::{JSON_DEPTH_MAX, NUMERIC_FRACTION_DIGITS_MAX, NUMERIC_INTEGER_DIGITS_MAX};
use crate::varint;
use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::BigInt;

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
/// Scale and unscaled number as zigzag varints.
const NUMBER: u8 = 3;
/// The unscaled number does not fit 64 bits: scale, length, two's complement little-endian bytes.
const LARGE_NUMBER: u8 = 4;
/// Length and bytes.
const STRING: u8 = 5;
/// Count and elements.
const ARRAY: u8 = 6;
/// Count, and for each pair the key, as a string without its tag, and the value.
const OBJECT: u8 = 7;

/// Appends a value.
pub(crate) fn encode(json: &Jsonb, out: &mut Vec<u8>) {
    match json {
        Jsonb::Null => out.push(NULL),
        Jsonb::Boolean(truth) => out.push(if *truth { TRUE } else { FALSE }),
        Jsonb::Number(number) => encode_number(number, out),
        Jsonb::String(text) => {
            out.push(STRING);
            encode_string(text, out);
        }
        Jsonb::Array(elements) => {
            out.push(ARRAY);
            varint::write(elements.len() as u64, out);
            elements.iter().for_each(|element| encode(element, out));
        }
        Jsonb::Object(object) => {
            out.push(OBJECT);
            varint::write(object.len() as u64, out);
            for (key, value) in object.iter() {
                encode_string(key, out);
                encode(value, out);
            }
        }
    }
}

fn encode_number(number: &BigDecimal, out: &mut Vec<u8>) {
    let (unscaled, scale) = number.as_bigint_and_scale();
    let small = i64::try_from(unscaled.as_ref());
    out.push(if small.is_ok() { NUMBER } else { LARGE_NUMBER });
    varint::write(varint::zigzag(scale), out);
    match small {
        Ok(small) => varint::write(varint::zigzag(small), out),
        Err(_) => {
            let bytes = unscaled.to_signed_bytes_le();
            varint::write(bytes.len() as u64, out);
            out.extend_from_slice(&bytes);
        }
    }
}

fn encode_string(text: &str, out: &mut Vec<u8>) {
    varint::write(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

/// The value that these bytes are. Errors: XX001.
pub(crate) fn decode(mut bytes: &[u8]) -> Result<Jsonb, ValueError> {
    let json = value(&mut bytes, JSON_DEPTH_MAX)?;
    if bytes.is_empty() { Ok(json) } else { Err(ValueError::corrupt("bytes follow a jsonb")) }
}

fn value(rest: &mut &[u8], levels: usize) -> Result<Jsonb, ValueError> {
    let Some((tag, after)) = rest.split_first() else {
        return Err(ValueError::corrupt("a jsonb ends within a value"));
    };
    *rest = after;
    if matches!(*tag, ARRAY | OBJECT) && levels == 0 {
        return Err(ValueError::corrupt("a jsonb is too deep"));
    }
    Ok(match *tag {
        NULL => Jsonb::Null,
        FALSE => Jsonb::Boolean(false),
        TRUE => Jsonb::Boolean(true),
        NUMBER => {
            let scale = scale(rest)?;
            Jsonb::Number(BigDecimal::new(BigInt::from(varint::unzigzag(varint::read(rest)?)), scale))
        }
        LARGE_NUMBER => {
            let scale = scale(rest)?;
            let unscaled = BigInt::from_signed_bytes_le(bytes(rest)?);
            if i64::try_from(&unscaled).is_ok() {
                return Err(ValueError::corrupt("a number of a jsonb is not in its shortest form"));
            }
            Jsonb::Number(BigDecimal::new(unscaled, scale))
        }
        STRING => Jsonb::String(string(rest)?),
        ARRAY => {
            let elements = (0..count(rest)?).map(|_| value(rest, levels - 1));
            Jsonb::Array(elements.collect::<Result<_, _>>()?)
        }
        OBJECT => {
            let pairs = (0..count(rest)?).map(|_| Ok((string(rest)?, value(rest, levels - 1)?)));
            let pairs = pairs.collect::<Result<Vec<_>, ValueError>>()?;
            Jsonb::Object(JsonbObject::in_order(pairs).ok_or_else(|| ValueError::corrupt("the order of jsonb keys"))?)
        }
        _ => return Err(ValueError::corrupt("a jsonb has an unknown tag")),
    })
}

/// Printing takes memory in proportion to the scale.
fn scale(rest: &mut &[u8]) -> Result<i64, ValueError> {
    let scale = varint::unzigzag(varint::read(rest)?);
    if (-NUMERIC_INTEGER_DIGITS_MAX..=NUMERIC_FRACTION_DIGITS_MAX).contains(&scale) {
        Ok(scale)
    } else {
        Err(ValueError::corrupt("the scale of a number of a jsonb"))
    }
}

/// How many parts follow, each of which takes a byte at least.
fn count(rest: &mut &[u8]) -> Result<usize, ValueError> {
    let count = varint::read(rest)?;
    if count <= rest.len() as u64 { Ok(count as usize) } else { Err(ValueError::corrupt("the size of a jsonb")) }
}

fn bytes<'b>(rest: &mut &'b [u8]) -> Result<&'b [u8], ValueError> {
    let length = count(rest)?;
    let (bytes, after) = rest.split_at(length);
    *rest = after;
    Ok(bytes)
}

fn string(rest: &mut &[u8]) -> Result<Box<str>, ValueError> {
    let text = std::str::from_utf8(bytes(rest)?);
    text.map(Box::from).map_err(|_| ValueError::corrupt("a string of a jsonb is not UTF-8"))
}
