//! Functions of strings and byte strings. Positions and lengths count characters, from 1.

use super::{FunctionBody, FunctionEntry, entry, integer_of, text_of};
use crate::error::{ValueError, sqlstate};
use crate::limits::VALUE_BYTES_MAX;
use crate::text;
use crate::types::Type::{Boolean, Bytea, Integer, Text};
use crate::value::Value;
use crate::zone::Zone;

pub(super) const TABLE: &[FunctionEntry] = &[
    entry("lower", &[Text], Text, |arguments, _| Ok(Value::text(text_of(&arguments[0]).to_lowercase()))),
    entry("upper", &[Text], Text, |arguments, _| Ok(Value::text(text_of(&arguments[0]).to_uppercase()))),
    entry("length", &[Text], Integer, LENGTH),
    entry("length", &[Bytea], Integer, OCTETS),
    entry("char_length", &[Text], Integer, LENGTH),
    entry("character_length", &[Text], Integer, LENGTH),
    entry("octet_length", &[Text], Integer, OCTETS),
    entry("octet_length", &[Bytea], Integer, OCTETS),
    entry("substring", &[Text, Integer], Text, SUBSTRING_FROM),
    entry("substr", &[Text, Integer], Text, SUBSTRING_FROM),
    entry("substring", &[Text, Integer, Integer], Text, SUBSTRING),
    entry("substr", &[Text, Integer, Integer], Text, SUBSTRING),
    entry("btrim", &[Text], Text, |arguments, _| Ok(Value::text(text_of(&arguments[0]).trim_matches(' ')))),
    entry("ltrim", &[Text], Text, |arguments, _| Ok(Value::text(text_of(&arguments[0]).trim_start_matches(' ')))),
    entry("rtrim", &[Text], Text, |arguments, _| Ok(Value::text(text_of(&arguments[0]).trim_end_matches(' ')))),
    entry("btrim", &[Text, Text], Text, |arguments, _| {
        let set = text_of(&arguments[1]);
        Ok(Value::text(text_of(&arguments[0]).trim_matches(|character| set.contains(character))))
    }),
    entry("ltrim", &[Text, Text], Text, |arguments, _| {
        let set = text_of(&arguments[1]);
        Ok(Value::text(text_of(&arguments[0]).trim_start_matches(|character| set.contains(character))))
    }),
    entry("rtrim", &[Text, Text], Text, |arguments, _| {
        let set = text_of(&arguments[1]);
        Ok(Value::text(text_of(&arguments[0]).trim_end_matches(|character| set.contains(character))))
    }),
    entry("strpos", &[Text, Text], Integer, |arguments, _| {
        Ok(position(text_of(&arguments[0]), text_of(&arguments[1])))
    }),
    // `position(substring IN text)` takes its arguments in the order in which it is written.
    entry("position", &[Text, Text], Integer, |arguments, _| {
        Ok(position(text_of(&arguments[1]), text_of(&arguments[0])))
    }),
    entry("replace", &[Text, Text, Text], Text, |arguments, _| {
        let (source, from) = (text_of(&arguments[0]), text_of(&arguments[1]));
        if from.is_empty() {
            return Ok(arguments[0].clone());
        }
        let to = text_of(&arguments[2]);
        let count = source.matches(from).count();
        bounded(source.len().saturating_add(count.saturating_mul(to.len())))?;
        Ok(Value::text(source.replace(from, to)))
    }),
    entry("left", &[Text, Integer], Text, |arguments, _| {
        let source = text_of(&arguments[0]);
        Ok(Value::text(&source[..offset(source, kept(source, integer_of(&arguments[1])))]))
    }),
    entry("right", &[Text, Integer], Text, |arguments, _| {
        let source = text_of(&arguments[0]);
        let dropped = characters(source) - kept(source, integer_of(&arguments[1]));
        Ok(Value::text(&source[offset(source, dropped)..]))
    }),
    entry("reverse", &[Text], Text, |arguments, _| {
        Ok(Value::text(text_of(&arguments[0]).chars().rev().collect::<String>()))
    }),
    entry("repeat", &[Text, Integer], Text, |arguments, _| {
        let (source, times) = (text_of(&arguments[0]), integer_of(&arguments[1]).max(0) as usize);
        bounded(source.len().saturating_mul(times))?;
        Ok(Value::text(source.repeat(times)))
    }),
    entry("lpad", &[Text, Integer], Text, |arguments, _| pad(arguments, " ", true)),
    entry("rpad", &[Text, Integer], Text, |arguments, _| pad(arguments, " ", false)),
    entry("lpad", &[Text, Integer, Text], Text, |arguments, _| pad(arguments, text_of(&arguments[2]), true)),
    entry("rpad", &[Text, Integer, Text], Text, |arguments, _| pad(arguments, text_of(&arguments[2]), false)),
    entry("split_part", &[Text, Text, Integer], Text, |arguments, _| split_part(arguments)),
    entry("starts_with", &[Text, Text], Boolean, |arguments, _| {
        Ok(Value::Boolean(text_of(&arguments[0]).starts_with(text_of(&arguments[1]))))
    }),
    entry("ascii", &[Text], Integer, |arguments, _| {
        Ok(Value::Integer(text_of(&arguments[0]).chars().next().map_or(0, |character| character as i32)))
    }),
    entry("chr", &[Integer], Text, |arguments, _| character_of(integer_of(&arguments[0]))),
];

const LENGTH: FunctionBody = |arguments, _| Ok(Value::Integer(characters(text_of(&arguments[0])) as i32));
const OCTETS: FunctionBody = |arguments, _| {
    Ok(Value::Integer(match &arguments[0] {
        Value::Bytea(bytes) => bytes.len() as i32,
        text => text_of(text).len() as i32,
    }))
};
const SUBSTRING_FROM: FunctionBody =
    |arguments, _| Ok(Value::text(slice(text_of(&arguments[0]), integer_of(&arguments[1]), i64::MAX)));
const SUBSTRING: FunctionBody = |arguments, _| {
    let (from, count) = (integer_of(&arguments[1]), integer_of(&arguments[2]));
    if count < 0 {
        return Err(ValueError::new(sqlstate::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    Ok(Value::text(slice(text_of(&arguments[0]), from, from + count)))
};

/// The texts of all values that are not NULL, as their types print them in a time zone, with the separator between.
pub(super) fn concatenate(separator: &str, values: &[Value], zone: &Zone) -> String {
    let texts: Vec<String> = values.iter().filter_map(|value| text::to_string_in(value, zone)).collect();
    texts.join(separator)
}

/// Errors: 54000 for a result that no value holds.
fn bounded(bytes: usize) -> Result<(), ValueError> {
    if bytes > VALUE_BYTES_MAX {
        return Err(ValueError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, "requested length too large"));
    }
    Ok(())
}

fn characters(text: &str) -> usize {
    text.chars().count()
}

/// The byte at which the character with this index, counted from 0, starts; the end if there is none.
fn offset(text: &str, index: usize) -> usize {
    text.char_indices().nth(index).map_or(text.len(), |(offset, _)| offset)
}

/// The characters at positions `from..end`, counted from 1; positions outside the text are empty.
fn slice(text: &str, from: i64, end: i64) -> &str {
    let index = |position: i64| usize::try_from(position.saturating_sub(1)).unwrap_or(0);
    let (start, end) = (offset(text, index(from)), offset(text, index(end)));
    text.get(start..end).unwrap_or("")
}

/// How many characters `left` and `right` keep: the number asked for, or all but that many if it is negative.
fn kept(text: &str, count: i64) -> usize {
    let all = characters(text);
    match usize::try_from(count) {
        Ok(count) => count.min(all),
        Err(_) => all.saturating_sub(count.unsigned_abs() as usize),
    }
}

/// The position of the first occurrence, from 1, or 0.
fn position(text: &str, part: &str) -> Value {
    Value::Integer(text.find(part).map_or(0, |offset| characters(&text[..offset]) as i32 + 1))
}

/// `lpad` and `rpad`: fills, or cuts at the end, to the length of the second argument.
fn pad(arguments: &[Value], fill: &str, at_start: bool) -> Result<Value, ValueError> {
    let source = text_of(&arguments[0]);
    let length = integer_of(&arguments[1]).max(0) as usize;
    bounded(length.saturating_mul(4))?;
    let own = characters(source);
    if own >= length || fill.is_empty() {
        return Ok(Value::text(&source[..offset(source, length)]));
    }
    let filling: String = fill.chars().cycle().take(length - own).collect();
    Ok(Value::text(if at_start { filling + source } else { source.to_string() + &filling }))
}

/// The n-th part between delimiters; negative n counts from the end.
fn split_part(arguments: &[Value]) -> Result<Value, ValueError> {
    let (source, delimiter) = (text_of(&arguments[0]), text_of(&arguments[1]));
    let number = integer_of(&arguments[2]);
    if number == 0 {
        return Err(ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, "field position must not be zero"));
    }
    let index = number.unsigned_abs() as usize - 1;
    let part = if delimiter.is_empty() {
        (index == 0).then_some(source)
    } else if number > 0 {
        source.split(delimiter).nth(index)
    } else {
        source.rsplit(delimiter).nth(index)
    };
    Ok(Value::text(part.unwrap_or("")))
}

/// `chr`. Errors: 54000 for what is no character, and for the zero byte; 22023 for negative numbers.
fn character_of(code: i64) -> Result<Value, ValueError> {
    let limit = |message: String| ValueError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message);
    if code < 0 {
        return Err(ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, "character number must be positive"));
    }
    if code == 0 {
        return Err(limit("null character not permitted".into()));
    }
    if code > i64::from(u32::from(char::MAX)) {
        return Err(limit(format!("requested character too large for encoding: {code}")));
    }
    let character = u32::try_from(code).ok().and_then(char::from_u32);
    let character = character.ok_or_else(|| limit(format!("requested character not valid for encoding: {code}")))?;
    Ok(Value::text(character.to_string()))
}
