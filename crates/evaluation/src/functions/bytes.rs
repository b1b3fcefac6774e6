//! Byte strings.

use super::library;
use crate::call::{CallArguments, FunctionResult, Implementation};
use values::Type::Bytea;
use values::error::sqlstate;
use values::limits::VALUE_BYTES_MAX;
use values::operators::{BinaryOperator, binary};
use values::{Value, ValueError};

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("byteacat", |call| binary(BinaryOperator::Concatenate, call.value(0), call.value(1))),
    ("byteaoctetlen", library!("length", [Bytea])),
    ("bytea_substr", substring),
    ("bytea_substr_no_len", substring),
    ("byteapos", position),
    ("byteatrim", |call| Ok(trim(call, true, true))),
    ("bytealtrim", |call| Ok(trim(call, true, false))),
    ("byteartrim", |call| Ok(trim(call, false, true))),
    ("byteaGetByte", get_byte),
    ("byteaSetByte", set_byte),
    ("byteaGetBit", get_bit),
    ("byteaSetBit", set_bit),
    ("bytealike", |call| like(call).map(Value::Boolean)),
    ("byteanlike", |call| like(call).map(|found| Value::Boolean(!found))),
    ("like_escape_bytea", like_escape),
    ("bytea_bit_count", |call| Ok(Value::BigInt(call.bytes(0).iter().map(|byte| i64::from(byte.count_ones())).sum()))),
    ("byteaoverlay", overlay),
    ("byteaoverlay_no_len", overlay),
];

/// From a position, which may lie before the first byte, to an end.
fn slice(bytes: &[u8], from: i64, end: i64) -> &[u8] {
    let index = |position: i64| usize::try_from(position - 1).unwrap_or(0).min(bytes.len());
    bytes.get(index(from)..index(end)).unwrap_or(&[])
}

fn substring(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let from = call.integer(1);
    let end = match call.arguments.len() {
        3 => {
            let count = call.integer(2);
            if count < 0 {
                return Err(ValueError::new(sqlstate::SUBSTRING_ERROR, "negative substring length not allowed"));
            }
            from + count
        }
        _ => i64::MAX,
    };
    Ok(Value::bytea(slice(call.bytes(0), from, end)))
}

fn position(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (bytes, part) = (call.bytes(0), call.bytes(1));
    let found = if part.is_empty() { Some(0) } else { bytes.windows(part.len()).position(|window| window == part) };
    Ok(Value::Integer(found.map_or(0, |place| place as i32 + 1)))
}

fn trim(call: &mut CallArguments<'_, '_>, start: bool, end: bool) -> Value {
    let (mut bytes, set) = (call.bytes(0), call.bytes(1));
    while let [first, rest @ ..] = bytes {
        if !start || !set.contains(first) {
            break;
        }
        bytes = rest;
    }
    while let [rest @ .., last] = bytes {
        if !end || !set.contains(last) {
            break;
        }
        bytes = rest;
    }
    Value::bytea(bytes)
}

fn place(call: &CallArguments<'_, '_>) -> Result<usize, ValueError> {
    let (length, at) = (call.bytes(0).len(), call.integer(1));
    let place = usize::try_from(at).ok().filter(|place| *place < length);
    let last = length as i64 - 1;
    place.ok_or_else(|| {
        ValueError::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, format!("index {at} out of valid range, 0..{last}"))
    })
}

fn get_byte(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    Ok(Value::Integer(i32::from(call.bytes(0)[place(call)?])))
}

fn set_byte(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let mut bytes = call.bytes(0).to_vec();
    bytes[place(call)?] = call.integer(2) as u8;
    Ok(Value::bytea(bytes))
}

fn overlay(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (bytes, new, from) = (call.bytes(0), call.bytes(1), call.integer(2));
    let count = if call.arguments.len() == 4 { call.integer(3) } else { new.len() as i64 };
    if from <= 0 {
        return Err(ValueError::new(sqlstate::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    let joined = [slice(bytes, 1, from), new, slice(bytes, from + count, i64::MAX)].concat();
    match joined.len() > VALUE_BYTES_MAX {
        true => Err(ValueError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, "requested length too large")),
        false => Ok(Value::bytea(joined)),
    }
}

/// The byte of a bit, counted from the lowest of the first byte, and the bit within it. Errors: 2202E.
fn place_of_bit(bytes: &[u8], number: i64) -> Result<(usize, u32), ValueError> {
    let count = bytes.len() as i64 * 8;
    if !(0..count).contains(&number) {
        let message = format!("index {number} out of valid range, 0..{}", count - 1);
        return Err(ValueError::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, message));
    }
    Ok(((number / 8) as usize, (number % 8) as u32))
}

fn get_bit(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let bytes = call.bytes(0);
    let (byte, bit) = place_of_bit(bytes, call.integer(1))?;
    Ok(Value::Integer(i32::from(bytes[byte] >> bit & 1)))
}

fn set_bit(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let mut bytes = call.bytes(0).to_vec();
    let (byte, bit) = place_of_bit(&bytes, call.integer(1))?;
    match call.integer(2) {
        0 => bytes[byte] &= !(1 << bit),
        1 => bytes[byte] |= 1 << bit,
        _ => return Err(ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, "new bit must be 0 or 1")),
    }
    Ok(Value::bytea(bytes))
}

/// LIKE of byte strings, with a backslash before what stands for itself. Errors: 22025.
fn like(call: &mut CallArguments<'_, '_>) -> Result<bool, ValueError> {
    let (text, pattern) = (call.bytes(0), call.bytes(1));
    let (mut at, mut place) = (0, 0);
    // Where the last % stands, and up to where it has matched.
    let mut last: Option<(usize, usize)> = None;
    let mut steps = 0_usize;
    while at < text.len() || place < pattern.len() {
        steps += 1;
        let matched = match pattern.get(place) {
            Some(b'%') => {
                last = Some((place, at));
                place += 1;
                continue;
            }
            Some(b'\\') => {
                let message = "LIKE pattern must not end with escape character";
                let literal = pattern
                    .get(place + 1)
                    .ok_or_else(|| ValueError::new(sqlstate::INVALID_ESCAPE_SEQUENCE, message))?;
                (text.get(at) == Some(literal)).then_some(2)
            }
            Some(b'_') => (at < text.len()).then_some(1),
            Some(literal) => (text.get(at) == Some(literal)).then_some(1),
            None => None,
        };
        match (matched, last) {
            (Some(taken), _) => {
                place += taken;
                at += 1;
            }
            (None, Some((percent, matched))) if matched < text.len() => {
                last = Some((percent, matched + 1));
                (place, at) = (percent + 1, matched + 1);
            }
            _ => {
                call.environment.patterns.note_work(steps / 1024);
                return Ok(false);
            }
        }
    }
    call.environment.patterns.note_work(steps / 1024);
    Ok(true)
}

/// A pattern with another escape, with a backslash in its place. Errors: 22025.
fn like_escape(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (pattern, escape) = (call.bytes(0), call.bytes(1));
    let own = match escape {
        [] => None,
        [own] => Some(*own),
        _ => return Err(ValueError::new(sqlstate::INVALID_ESCAPE_SEQUENCE, "invalid escape string")),
    };
    let mut result = Vec::with_capacity(pattern.len());
    let mut is_escaped = false;
    for &byte in pattern {
        if Some(byte) == own && !is_escaped {
            result.push(b'\\');
            is_escaped = true;
            continue;
        }
        if byte == b'\\' && !is_escaped {
            result.push(b'\\');
        }
        result.push(byte);
        is_escaped = false;
    }
    Ok(Value::bytea(result))
}
