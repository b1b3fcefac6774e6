//! JSON of SQL's values, as `to_json` and `to_jsonb` make it.
//!
//! Booleans, numbers and arrays become those of JSON, NULL becomes null, dates and timestamps get the letter T; all else is a string of what its type prints. A row has been
//! made a `json` or `jsonb` before. Instants are shown in the session's time zone.

use super::invalid;
use crate::functions::texts::{printed, within_bounds};
use values::json::{parse_tree, write};
use values::{Jsonb, Type, Value, ValueError, Zone};

/// What the parts of arrays and rows have between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnds {
    /// Nothing but commas.
    None,
    /// The end of a line, too.
    BetweenParts,
}

impl LineEnds {
    pub(crate) fn separator(self) -> &'static str {
        match self {
            LineEnds::None => ",",
            LineEnds::BetweenParts => ",\n ",
        }
    }
}

/// How a value is written.
enum Written {
    /// As JSON already.
    Plain(String),
    /// The characters of a string.
    Quoted(String),
}

/// What a value that is no array prints: NULL is `null`.
fn written(value: &Value, data_type: Type, zone: &Zone) -> Written {
    match value {
        Value::Null => Written::Plain("null".into()),
        Value::Boolean(truth) => Written::Plain(truth.to_string()),
        Value::SmallInt(_)
        | Value::Integer(_)
        | Value::BigInt(_)
        | Value::Numeric(_)
        | Value::Json(_)
        | Value::Jsonb(_) => Written::Plain(printed(value, data_type, zone)),
        Value::Real(_) | Value::Double(_) => {
            let number = printed(value, data_type, zone);
            // NaN and the infinities.
            if number.contains(['N', 'y']) { Written::Quoted(number) } else { Written::Plain(number) }
        }
        Value::Timestamp(_) => Written::Quoted(printed(value, data_type, zone).replacen(' ', "T", 1)),
        Value::TimestampTz(_) => Written::Quoted(with_minutes(printed(value, data_type, zone).replacen(' ', "T", 1))),
        _ => Written::Quoted(printed(value, data_type, zone)),
    }
}

/// A time with a zone of whole hours, which PostgreSQL's JSON writes with minutes.
fn with_minutes(timestamp: String) -> String {
    let (time, era) = match timestamp.strip_suffix(" BC") {
        Some(time) => (time, " BC"),
        None => (timestamp.as_str(), ""),
    };
    match time.rfind(['+', '-']) {
        Some(sign) if time.len() - sign == 3 => format!("{time}:00{era}"),
        _ => timestamp,
    }
}

/// Appends a value as a `json`. Errors: 54000 for a text that is too long.
pub(crate) fn append(
    value: &Value,
    data_type: Type,
    zone: &Zone,
    ends: LineEnds,
    out: &mut String,
) -> Result<(), ValueError> {
    if let Value::Array(array) = value {
        let element = data_type.element().unwrap_or_else(|| array.element());
        out.push('[');
        for (index, value) in array.values().iter().enumerate() {
            if index > 0 {
                out.push_str(ends.separator());
            }
            append(value, element, zone, LineEnds::None, out)?;
        }
        out.push(']');
    } else {
        match written(value, data_type, zone) {
            Written::Plain(text) => out.push_str(&text),
            Written::Quoted(text) => append_string(&text, out),
        }
    }
    within_bounds(out.len())
}

/// Appends a string with its quotes.
pub(crate) fn append_string(text: &str, out: &mut String) {
    let mut bytes = Vec::new();
    write::write_string(text, &mut bytes);
    out.push_str(&String::from_utf8_lossy(&bytes));
}

/// A value as a tree. Errors: those of a `json` that is no `jsonb`.
pub(crate) fn tree(value: &Value, data_type: Type, zone: &Zone) -> Result<Jsonb, ValueError> {
    Ok(match value {
        Value::Null => Jsonb::Null,
        Value::Boolean(truth) => Jsonb::Boolean(*truth),
        Value::Jsonb(tree) => Jsonb::clone(tree),
        Value::Json(text) => parse_tree(text)?,
        Value::Array(array) => {
            let element = data_type.element().unwrap_or_else(|| array.element());
            let elements = array.values().iter().map(|value| tree(value, element, zone));
            Jsonb::Array(elements.collect::<Result<_, _>>()?)
        }
        _ => match written(value, data_type, zone) {
            Written::Plain(number) => parse_tree(&number)?,
            Written::Quoted(text) => Jsonb::string(text),
        },
    })
}

/// The characters of a value as a key. Errors: 22023 for what has parts. NULL is the caller's business.
pub(crate) fn key(value: &Value, data_type: Type, zone: &Zone) -> Result<String, ValueError> {
    match value {
        Value::Array(_) | Value::Json(_) | Value::Jsonb(_) => {
            Err(invalid("key value must be scalar, not array, composite, or json"))
        }
        _ => Ok(match written(value, data_type, zone) {
            Written::Plain(text) | Written::Quoted(text) => text,
        }),
    }
}

/// As a `json`.
pub(crate) fn json(text: String) -> Value {
    Value::Json(text.into())
}
