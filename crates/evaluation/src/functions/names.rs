//! Characters by their numbers, normal forms, names of SQL and of encodings: `unistr`, `normalize`, `parse_ident` (PostgreSQL's documentation, sections 9.4 and 9.26).

use super::texts::bounded;
use crate::call::{CallArguments, FunctionResult, Implementation};
use unicode_normalization::UnicodeNormalization;
use values::error::sqlstate;
use values::{Type, Value, ValueError};

/// PostgreSQL's encodings by their numbers, with the bytes that a character has at most.
const ENCODINGS: [(&str, i32); 42] = [
    ("SQL_ASCII", 1),
    ("EUC_JP", 3),
    ("EUC_CN", 3),
    ("EUC_KR", 3),
    ("EUC_TW", 4),
    ("EUC_JIS_2004", 3),
    ("UTF8", 4),
    ("MULE_INTERNAL", 4),
    ("LATIN1", 1),
    ("LATIN2", 1),
    ("LATIN3", 1),
    ("LATIN4", 1),
    ("LATIN5", 1),
    ("LATIN6", 1),
    ("LATIN7", 1),
    ("LATIN8", 1),
    ("LATIN9", 1),
    ("LATIN10", 1),
    ("WIN1256", 1),
    ("WIN1258", 1),
    ("WIN866", 1),
    ("WIN874", 1),
    ("KOI8R", 1),
    ("WIN1251", 1),
    ("WIN1252", 1),
    ("ISO_8859_5", 1),
    ("ISO_8859_6", 1),
    ("ISO_8859_7", 1),
    ("ISO_8859_8", 1),
    ("WIN1250", 1),
    ("WIN1253", 1),
    ("WIN1254", 1),
    ("WIN1255", 1),
    ("WIN1257", 1),
    ("KOI8U", 1),
    ("SJIS", 2),
    ("BIG5", 2),
    ("GBK", 2),
    ("UHC", 2),
    ("GB18030", 4),
    ("JOHAB", 3),
    ("SHIFT_JIS_2004", 2),
];

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("unistr", unistr),
    ("unicode_normalize_func", |call| bounded(normalized(call)?)),
    ("unicode_is_normalized", |call| Ok(Value::Boolean(normalized(call)? == call.text(0)))),
    ("parse_ident", parse_identifier),
    ("to_ascii_default", |_| {
        let message = "encoding conversion from UTF8 to ASCII not supported";
        Err(ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, message))
    }),
    ("PG_encoding_to_char", |call| Ok(Value::text(encoding(call.integer(0)).map_or("", |(name, _)| name)))),
    ("pg_encoding_max_length_sql", |call| {
        Ok(encoding(call.integer(0)).map_or(Value::Null, |(_, bytes)| Value::Integer(bytes)))
    }),
];

fn encoding(number: i64) -> Option<(&'static str, i32)> {
    usize::try_from(number).ok().and_then(|number| ENCODINGS.get(number).copied())
}

/// How many hexadecimal digits stand behind a backslash and one of these.
fn digits_of_escape(text: &str) -> Option<(&str, usize)> {
    match text.chars().next()? {
        '+' => Some((&text[1..], 6)),
        'u' => Some((&text[1..], 4)),
        'U' => Some((&text[1..], 8)),
        _ => Some((text, 4)),
    }
}

/// Errors: 42601 for escapes that are none and half pairs, 22023 for numbers without a character.
fn unistr(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let wrong = |message: &str| ValueError::new(sqlstate::SYNTAX_ERROR, message);
    let mut result = String::new();
    let mut first_half = None;
    let mut rest = call.text(0);
    while let Some(character) = rest.chars().next() {
        let behind = &rest[character.len_utf8()..];
        if character != '\\' || behind.starts_with('\\') {
            if first_half.is_some() {
                return Err(wrong("invalid Unicode surrogate pair"));
            }
            result.push(character);
            rest = if character == '\\' { &behind[1..] } else { behind };
            continue;
        }
        let invalid = || wrong("invalid Unicode escape");
        let (digits, count) = digits_of_escape(behind).ok_or_else(invalid)?;
        let code = digits.get(..count).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let code = code.and_then(|code| u32::from_str_radix(code, 16).ok()).ok_or_else(invalid)?;
        rest = &digits[count..];
        let is_second = (0xdc00..0xe000).contains(&code);
        let code = match first_half.take() {
            Some(first) if is_second => 0x10000_u32 + ((first & 0x3ff) << 10) + (code & 0x3ff),
            None if !is_second => code,
            _ => return Err(wrong("invalid Unicode surrogate pair")),
        };
        if (0xd800..0xdc00).contains(&code) {
            first_half = Some(code);
            continue;
        }
        let found = char::from_u32(code).filter(|found| *found != '\0');
        result.push(found.ok_or_else(|| {
            let message = format!("invalid Unicode code point: {code:04X}");
            ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, message)
        })?);
    }
    match first_half {
        Some(_) => Err(wrong("invalid Unicode surrogate pair")),
        None => bounded(result),
    }
}

/// Errors: 22023 for a form that is none.
fn normalized(call: &CallArguments<'_, '_>) -> Result<String, ValueError> {
    let (text, form) = (call.text(0), call.text(1));
    Ok(match form.to_ascii_uppercase().as_str() {
        "NFC" => text.nfc().collect(),
        "NFD" => text.nfd().collect(),
        "NFKC" => text.nfkc().collect(),
        "NFKD" => text.nfkd().collect(),
        _ => {
            let message = format!("invalid normalization form: {form}");
            return Err(ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
    })
}

/// The parts of a qualified name. Errors: 22023.
fn parse_identifier(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (source, is_strict) = (call.text(0), call.boolean(1));
    let invalid = || {
        let message = format!("string is not a valid identifier: \"{source}\"");
        ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, message)
    };
    let is_blank = |found: char| matches!(found, ' ' | '\t' | '\n' | '\r' | '\x0c');
    let mut parts = Vec::new();
    let mut rest = source.trim_start_matches(is_blank);
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut part = String::new();
            rest = quoted;
            loop {
                let (text, behind) = rest.split_once('"').ok_or_else(invalid)?;
                part.push_str(text);
                rest = behind;
                match rest.strip_prefix('"') {
                    Some(behind) => rest = behind,
                    None => break,
                }
                part.push('"');
            }
            if part.is_empty() {
                return Err(invalid());
            }
            parts.push(Value::text(part));
        } else {
            let begins = |found: char| found == '_' || found.is_ascii_alphabetic() || !found.is_ascii();
            let goes_on = |found: char| begins(found) || found.is_ascii_digit() || found == '$';
            if !rest.starts_with(begins) {
                return Err(invalid());
            }
            let end = rest.find(|found| !goes_on(found)).unwrap_or(rest.len());
            parts.push(Value::text(rest[..end].to_ascii_lowercase()));
            rest = &rest[end..];
        }
        rest = rest.trim_start_matches(is_blank);
        match rest.strip_prefix('.') {
            Some(behind) => rest = behind.trim_start_matches(is_blank),
            None if rest.is_empty() || !is_strict => break,
            None => return Err(invalid()),
        }
    }
    Ok(Value::array(Type::Text, parts))
}
