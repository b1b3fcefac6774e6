//! `format`, and byte strings as text: hexadecimal, base64, escapes.

use super::texts::{bounded, output, quoted_identifier, quoted_literal, within_bounds};
use crate::call::{CallArguments, FunctionResult, Implementation};
use values::error::sqlstate;
use values::{Value, ValueError};

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Characters of a line of base64.
const BASE64_LINE: usize = 76;

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("text_format", format),
    ("text_format_nv", format),
    ("binary_encode", encode),
    ("binary_decode", decode),
    ("pg_convert_from", convert_from),
    ("pg_convert_to", convert_to),
    ("array_send", send),
    ("int2send", send),
    ("int4send", send),
    ("int8send", send),
    ("byteasend", send),
    ("textsend", send),
    ("unknownsend", send),
    ("oidsend", send),
    ("namesend", send),
    ("float4send", send),
    ("float8send", send),
    ("bpcharsend", send),
    ("varcharsend", send),
    ("charsend", send),
    ("boolsend", send),
    ("numeric_send", send),
    ("date_send", send),
    ("time_send", send),
    ("timestamp_send", send),
    ("timestamptz_send", send),
    ("interval_send", send),
    ("uuid_send", send),
    ("inet_send", send),
    ("cidr_send", send),
    ("macaddr_send", send),
    ("macaddr8_send", send),
    ("bit_send", send),
    ("varbit_send", send),
    ("timetz_send", send),
    ("cash_send", send),
    ("tsvectorsend", send),
    ("tsquerysend", send),
    ("range_send", send),
    ("multirange_send", send),
    ("json_send", send),
    ("jsonb_send", send),
    ("md5_text", |call| Ok(digest(call.text(0).as_bytes()))),
    ("md5_bytea", |call| Ok(digest(call.bytes(0)))),
];

/// The MD5 sum in hexadecimal.
fn digest(bytes: &[u8]) -> Value {
    use md5::Digest;
    Value::text(md5::Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn invalid(message: impl Into<String>) -> ValueError {
    ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// `%[position$][-][width]type`.
#[derive(Default)]
struct Specifier {
    position: Option<usize>,
    left: bool,
    width: Option<usize>,
    /// A width that is an argument: the next one, or that of a number.
    width_of: Option<Option<usize>>,
    kind: char,
}

/// The width that an argument says, and whether it is negative. Errors: 22023, 22P02.
fn width(call: &CallArguments<'_, '_>, index: usize) -> Result<(usize, bool), ValueError> {
    if index >= call.arguments.len() {
        return Err(invalid("too few arguments for format()"));
    }
    let width = match call.value(index) {
        Value::Null => 0,
        found => match found.as_integer() {
            Some(width) => width,
            None => {
                let parsed = values::text::parse(&output(call, index)?, values::Type::Integer)?;
                parsed.as_integer().unwrap_or_default()
            }
        },
    };
    let width = i32::try_from(width).ok().filter(|width| *width != i32::MIN);
    let width = width.ok_or_else(|| ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range"))?;
    Ok((width.unsigned_abs() as usize, width < 0))
}

/// Reads a specifier behind its `%`; what is left of the format.
fn specifier(format: &str) -> Result<(Specifier, &str), ValueError> {
    let mut found = Specifier::default();
    let number = |text: &str| {
        let end = text.find(|other: char| !other.is_ascii_digit()).unwrap_or(text.len());
        (text[..end].to_string(), end)
    };
    let parsed = |digits: &str| {
        digits
            .parse::<i32>()
            .map_err(|_| ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range"))
    };
    let mut rest = format;
    let (digits, end) = number(rest);
    if !digits.is_empty() && rest[end..].starts_with('$') {
        let position = parsed(&digits)? as usize;
        if position == 0 {
            return Err(invalid("format specifies argument 0, but arguments are numbered from 1"));
        }
        found.position = Some(position);
        rest = &rest[end + 1..];
    }
    while let Some(behind) = rest.strip_prefix('-') {
        found.left = true;
        rest = behind;
    }
    if let Some(behind) = rest.strip_prefix('*') {
        let (digits, end) = number(behind);
        rest = behind;
        found.width_of = Some(None);
        if !digits.is_empty() {
            let position = parsed(&digits)? as usize;
            rest = behind[end..]
                .strip_prefix('$')
                .ok_or_else(|| invalid("width argument position must be ended by \"$\""))?;
            if position == 0 {
                return Err(invalid("format specifies argument 0, but arguments are numbered from 1"));
            }
            found.width_of = Some(Some(position));
        }
    }
    let (digits, end) = number(rest);
    if !digits.is_empty() && found.width_of.is_none() {
        found.width = Some(parsed(&digits)? as usize);
        rest = &rest[end..];
    }
    let Some(kind) = rest.chars().next() else {
        return Err(invalid("unterminated format() type specifier"));
    };
    if !matches!(kind, 's' | 'I' | 'L' | '%') {
        return Err(invalid(format!("unrecognized format() type specifier \"{kind}\"")));
    }
    found.kind = kind;
    Ok((found, &rest[kind.len_utf8()..]))
}

fn format(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    if call.value(0).is_null() {
        return Ok(Value::Null);
    }
    let mut result = String::new();
    let mut rest = call.text(0);
    let mut last = 0;
    while let Some(place) = rest.find('%') {
        result.push_str(&rest[..place]);
        rest = &rest[place + 1..];
        if let Some(behind) = rest.strip_prefix('%') {
            result.push('%');
            rest = behind;
            continue;
        }
        let (mut found, behind) = specifier(rest)?;
        rest = behind;
        if let Some(place) = found.width_of {
            last = place.unwrap_or(last + 1);
            let (wide, is_negative) = width(call, last)?;
            found.width = Some(wide);
            found.left |= is_negative;
        }
        last = found.position.unwrap_or(last + 1);
        if last >= call.arguments.len() {
            return Err(invalid("too few arguments for format()"));
        }
        let is_null = call.value(last).is_null();
        let text = match found.kind {
            '%' => "%".to_string(),
            'I' if is_null => {
                return Err(ValueError::new(
                    sqlstate::NULL_VALUE_NOT_ALLOWED,
                    "null values cannot be formatted as an SQL identifier",
                ));
            }
            'L' if is_null => "NULL".to_string(),
            _ if is_null => String::new(),
            'I' => quoted_identifier(&output(call, last)?),
            'L' => quoted_literal(&output(call, last)?),
            _ => output(call, last)?,
        };
        let missing = found.width.unwrap_or(0).saturating_sub(text.chars().count());
        within_bounds(result.len() + text.len() + missing)?;
        let blanks = " ".repeat(missing);
        result.push_str(&if found.left { text + &blanks } else { blanks + &text });
    }
    result.push_str(rest);
    bounded(result)
}

fn unknown_encoding(name: &str) -> ValueError {
    invalid(format!("unrecognized encoding: \"{name}\""))
}

fn encode(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let bytes = call.bytes(0);
    let name = call.text(1);
    bounded(match name.to_ascii_lowercase().as_str() {
        "hex" => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        "base64" => encode_base64(bytes),
        "escape" => bytes.iter().map(|byte| escaped(*byte)).collect(),
        _ => return Err(unknown_encoding(name)),
    })
}

fn escaped(byte: u8) -> String {
    match byte {
        0 | 128.. => format!("\\{byte:03o}"),
        b'\\' => "\\\\".into(),
        _ => char::from(byte).to_string(),
    }
}

fn encode_base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut line = 0;
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = (group >> (18 - 6 * place) & 63) as usize;
            text.push(if place <= chunk.len() { char::from(BASE64[digit]) } else { '=' });
        }
        line += 4;
        if line >= BASE64_LINE {
            text.push('\n');
            line = 0;
        }
    }
    text
}

fn decode(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (source, name) = (call.text(0), call.text(1));
    match name.to_ascii_lowercase().as_str() {
        "hex" => values::text::parse(&format!("\\x{source}"), values::Type::Bytea),
        "escape" if !source.starts_with("\\x") => values::text::parse(source, values::Type::Bytea),
        "escape" => Err(invalid("invalid input syntax for type bytea")),
        "base64" => decode_base64(source).map(Value::bytea),
        _ => Err(unknown_encoding(name)),
    }
}

fn decode_base64(source: &str) -> Result<Vec<u8>, ValueError> {
    let mut bytes = Vec::with_capacity(source.len() / 4 * 3);
    let (mut group, mut held, mut padding) = (0u32, 0, 0);
    for character in source.chars().filter(|other| !matches!(other, ' ' | '\t' | '\n' | '\r')) {
        let digit = match character {
            '=' if padding == 0 && held < 2 => {
                return Err(invalid("unexpected \"=\" while decoding base64 sequence"));
            }
            '=' => {
                padding += 1;
                0
            }
            _ => match u8::try_from(character).ok().and_then(|byte| BASE64.iter().position(|known| *known == byte)) {
                Some(digit) if padding == 0 => digit as u32,
                _ => {
                    let message = format!("invalid symbol \"{character}\" found while decoding base64 sequence");
                    return Err(invalid(message));
                }
            },
        };
        group = group << 6 | digit;
        held += 1;
        if held == 4 {
            bytes.extend_from_slice(&group.to_be_bytes()[1..4 - padding.min(2)]);
            (group, held) = (0, 0);
        }
    }
    match held {
        0 => Ok(bytes),
        _ => Err(invalid("invalid base64 end sequence")),
    }
}

/// A value as clients get it in the binary format.
fn send(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let mut bytes = Vec::new();
    values::binary::write(call.value(0), call.held(0)?, &mut bytes);
    Ok(Value::bytea(bytes))
}

fn is_utf8(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    plain.eq_ignore_ascii_case("utf8") || plain.eq_ignore_ascii_case("unicode")
}

fn other_encoding() -> ValueError {
    ValueError::new(
        sqlstate::FEATURE_NOT_SUPPORTED,
        "conversion from and to encodings other than UTF8 is not supported",
    )
}

fn convert_from(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    match is_utf8(call.text(1)) {
        true => values::text::parse_bytes(call.bytes(0), values::Type::Text),
        false => Err(other_encoding()),
    }
}

fn convert_to(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    match is_utf8(call.text(1)) {
        true => Ok(Value::bytea(call.text(0).as_bytes())),
        false => Err(other_encoding()),
    }
}
