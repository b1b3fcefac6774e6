//! What JSON prints: the text of a `jsonb`, strings with their escapes, and `jsonb_pretty`.

use super::Jsonb;
use crate::numeric;

/// Columns that a level of `jsonb_pretty` is indented by.
const INDENTATION: usize = 4;

/// Appends the text of a `jsonb`, with a blank behind commas and colons.
pub fn write(json: &Jsonb, out: &mut Vec<u8>) {
    match json {
        Jsonb::Null => out.extend_from_slice(b"null"),
        Jsonb::Boolean(truth) => out.extend_from_slice(if *truth { b"true" } else { b"false" }),
        Jsonb::Number(number) => numeric::write(number, out),
        Jsonb::String(text) => write_string(text, out),
        Jsonb::Array(elements) => {
            out.push(b'[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.extend_from_slice(b", ");
                }
                write(element, out);
            }
            out.push(b']');
        }
        Jsonb::Object(object) => {
            out.push(b'{');
            for (index, (key, value)) in object.iter().enumerate() {
                if index > 0 {
                    out.extend_from_slice(b", ");
                }
                write_string(key, out);
                out.extend_from_slice(b": ");
                write(value, out);
            }
            out.push(b'}');
        }
    }
}

/// The text of a `jsonb`.
pub fn to_string(json: &Jsonb) -> String {
    let mut out = Vec::new();
    write(json, &mut out);
    printed(out)
}

/// As `jsonb_pretty` prints it: each element and pair in a line of its own.
pub fn pretty(json: &Jsonb) -> String {
    let mut out = Vec::new();
    write_indented(json, 0, &mut out);
    printed(out)
}

fn write_indented(json: &Jsonb, level: usize, out: &mut Vec<u8>) {
    let line = |level: usize, out: &mut Vec<u8>| {
        out.push(b'\n');
        out.resize(out.len() + level * INDENTATION, b' ');
    };
    match json {
        Jsonb::Array(elements) => {
            out.push(b'[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                line(level + 1, out);
                write_indented(element, level + 1, out);
            }
            line(level, out);
            out.push(b']');
        }
        Jsonb::Object(object) => {
            out.push(b'{');
            for (index, (key, value)) in object.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                line(level + 1, out);
                write_string(key, out);
                out.extend_from_slice(b": ");
                write_indented(value, level + 1, out);
            }
            line(level, out);
            out.push(b'}');
        }
        scalar => write(scalar, out),
    }
}

/// Appends a string between quotes, with those escapes that it needs.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut plain = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            8 => b"\\b",
            12 => b"\\f",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0..=31 => b"",
            _ => continue,
        };
        out.extend_from_slice(&bytes[plain..at]);
        plain = at + 1;
        out.extend_from_slice(escape);
        if escape.is_empty() {
            out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
        }
    }
    out.extend_from_slice(&bytes[plain..]);
    out.push(b'"');
}

fn printed(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("JSON prints UTF-8")
}
