//! Strings. Positions and lengths count characters, from 1; letters change their case as in the locale C, so only those of ASCII do.

use super::library;
use crate::call::{CallArguments, FunctionResult, Implementation};
use analyzer::facts::Facts;
use rustc_hash::FxHashMap;
use values::Type::{Integer, Text};
use values::error::sqlstate;
use values::limits::VALUE_BYTES_MAX;
use values::operators::{BinaryOperator, binary};
use values::{Type, Value, ValueError, Zone, cast, text};

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("textcat", |call| binary(BinaryOperator::Concatenate, call.value(0), call.value(1))),
    ("textlen", library!("length", [Text])),
    ("bpcharlen", library!("length", [Text])),
    ("textoctetlen", library!("octet_length", [Text])),
    ("bpcharoctetlen", |call| Ok(Value::Integer(output(call, 0)?.len() as i32))),
    ("lower", |call| Ok(Value::text(call.text(0).to_ascii_lowercase()))),
    ("upper", |call| Ok(Value::text(call.text(0).to_ascii_uppercase()))),
    ("initcap", capitalize),
    ("text_substr", library!("substring", [Text, Integer, Integer])),
    ("text_substr_no_len", library!("substring", [Text, Integer])),
    ("textpos", library!("strpos", [Text, Text])),
    ("btrim", library!("btrim", [Text, Text])),
    ("btrim1", library!("btrim", [Text])),
    ("ltrim", library!("ltrim", [Text, Text])),
    ("ltrim1", library!("ltrim", [Text])),
    ("rtrim", library!("rtrim", [Text, Text])),
    ("rtrim1", library!("rtrim", [Text])),
    ("lpad", library!("lpad", [Text, Integer, Text])),
    ("rpad", library!("rpad", [Text, Integer, Text])),
    ("replace_text", library!("replace", [Text, Text, Text])),
    ("translate", translate),
    ("split_part", library!("split_part", [Text, Text, Integer])),
    ("repeat", library!("repeat", [Text, Integer])),
    ("text_reverse", library!("reverse", [Text])),
    ("text_left", library!("left", [Text, Integer])),
    ("text_right", library!("right", [Text, Integer])),
    ("text_starts_with", library!("starts_with", [Text, Text])),
    ("ascii", library!("ascii", [Text])),
    ("chr", library!("chr", [Integer])),
    ("textoverlay", overlay),
    ("textoverlay_no_len", overlay),
    ("text_concat", |call| concatenate(call, 0, "")),
    ("text_concat_ws", |call| match call.value(0) {
        Value::Null => Ok(Value::Null),
        _ => concatenate(call, 1, call.text(0)),
    }),
    ("quote_ident", |call| Ok(Value::text(quoted_identifier(call.text(0))))),
    ("quote_literal", |call| Ok(Value::text(quoted_literal(call.text(0))))),
    ("quote_nullable", quote_nullable),
    ("nameconcatoid", |call| {
        let number = format!("_{}", call.integer(1) as u32);
        let name = call.text(0);
        let kept = name.floor_char_boundary(name.len().min(63 - number.len()));
        Ok(Value::text(name[..kept].to_string() + &number))
    }),
];

pub(super) const BY_NUMBER: &[(u32, Implementation)] = &[
    (879, library!("lpad", [Text, Integer])),
    (880, library!("rpad", [Text, Integer])),
    (1810, |call| Ok(Value::Integer(8 * call.bytes(0).len() as i32))),
    (1811, |call| Ok(Value::Integer(8 * call.text(0).len() as i32))),
    (2003, |call| joined(call.text(0), &cast_text(call, 1)?)),
    (2004, |call| joined(&cast_text(call, 0)?, call.text(1))),
    (1285, |call| Ok(Value::text(quoted_literal(&cast_text(call, 0)?)))),
    (1290, |call| match call.value(0) {
        Value::Null => Ok(Value::text("NULL")),
        _ => Ok(Value::text(quoted_literal(&cast_text(call, 0)?))),
    }),
];

/// An argument, which is not NULL, as its type prints it: a `char(n)` with its blanks.
pub(super) fn output(call: &CallArguments<'_, '_>, index: usize) -> Result<String, ValueError> {
    Ok(printed(call.value(index), call.held(index)?, call.zone()))
}

/// A value as a type prints it in a time zone.
pub(super) fn printed(value: &Value, data_type: Type, zone: &Zone) -> String {
    let mut bytes = Vec::new();
    text::write_in(value, data_type, zone, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An argument as a cast to `text` has it: booleans are spelled out, and a `char(n)` loses its blanks.
fn cast_text(call: &CallArguments<'_, '_>, index: usize) -> Result<String, ValueError> {
    Ok(match call.value(index) {
        Value::Boolean(truth) => truth.to_string(),
        Value::Text(text) => text.to_string(),
        value @ Value::Inet(_) => cast::explicit_in(value, Text, call.zone())?.as_text().unwrap_or_default().to_owned(),
        _ => output(call, index)?,
    })
}

/// Whether a text of so many bytes is within the bounds of a value: asked before what is made of many parts grows on.
/// Errors: 54000.
pub(super) fn within_bounds(bytes: usize) -> Result<(), ValueError> {
    match bytes > VALUE_BYTES_MAX {
        true => Err(ValueError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, "requested length too large")),
        false => Ok(()),
    }
}

/// A text within the bounds of a value. Errors: 54000.
pub(super) fn bounded(text: String) -> FunctionResult {
    within_bounds(text.len())?;
    Ok(Value::text(text))
}

fn joined(left: &str, right: &str) -> FunctionResult {
    bounded([left, right].concat())
}

fn concatenate(call: &CallArguments<'_, '_>, first: usize, separator: &str) -> FunctionResult {
    let mut result = String::new();
    let mut is_first = true;
    for index in first..call.arguments.len() {
        if !call.value(index).is_null() {
            if !is_first {
                result.push_str(separator);
            }
            result.push_str(&output(call, index)?);
            is_first = false;
            within_bounds(result.len())?;
        }
    }
    bounded(result)
}

fn capitalize(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let mut is_inside = false;
    let changed = call.text(0).chars().map(|character| {
        let changed = if is_inside { character.to_ascii_lowercase() } else { character.to_ascii_uppercase() };
        is_inside = character.is_ascii_alphanumeric();
        changed
    });
    Ok(Value::text(changed.collect::<String>()))
}

fn translate(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    // Looked up, so that long lists take no longer with each character.
    let mut replaced: FxHashMap<char, Option<char>> = FxHashMap::default();
    let mut to = call.text(2).chars();
    for from in call.text(1).chars() {
        let new = to.next();
        replaced.entry(from).or_insert(new);
    }
    let changed =
        call.text(0).chars().filter_map(|character| replaced.get(&character).copied().unwrap_or(Some(character)));
    bounded(changed.collect())
}

/// The characters from a position, which may lie before the first, to an end.
fn slice(text: &str, from: i64, end: i64) -> &str {
    let offset = |position: i64| {
        let index = usize::try_from(position - 1).unwrap_or(0);
        text.char_indices().nth(index).map_or(text.len(), |(offset, _)| offset)
    };
    text.get(offset(from)..offset(end)).unwrap_or("")
}

fn overlay(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (source, new, from) = (call.text(0), call.text(1), call.integer(2));
    let count = if call.arguments.len() == 4 { call.integer(3) } else { new.chars().count() as i64 };
    if from <= 0 {
        return Err(ValueError::new(sqlstate::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    if i32::try_from(from + count).is_err() {
        return Err(ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range"));
    }
    bounded([slice(source, 1, from), new, slice(source, from + count, i64::MAX)].concat())
}

/// An identifier as SQL must write it (`quote_identifier`): in quotes if it is no plain name, or a word that the grammar keeps for itself.
pub(super) fn quoted_identifier(name: &str) -> String {
    let is_plain = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name.chars().all(|other| other.is_ascii_lowercase() || other.is_ascii_digit() || other == '_');
    let is_free = || Facts::postgresql15().keywords.get(name).is_none_or(|keyword| keyword.category == 'U');
    if is_plain && is_free() { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// A literal as SQL must write it.
pub(super) fn quoted_literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    match doubled.contains('\\') {
        true => format!("E'{}'", doubled.replace('\\', "\\\\")),
        false => format!("'{doubled}'"),
    }
}

fn quote_nullable(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    Ok(Value::text(match call.value(0) {
        Value::Null => "NULL".to_string(),
        _ => quoted_literal(call.text(0)),
    }))
}
