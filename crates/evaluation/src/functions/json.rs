//! Functions of `json` and `jsonb`. Of a `json` they keep the text of each part, of a `jsonb` the value.
//!
//! Reading order: `parts` are what a `json` is made of; [`conversion`] makes JSON of SQL's values; `building`, `reading`, `changing`, `sets` and `path` are the functions.

mod building;
mod changing;
pub(crate) mod conversion;
pub(crate) mod parts;
pub(crate) mod path;
mod reading;
pub(crate) mod sets;

pub(super) use building::TABLE as BUILDING;
pub(super) use changing::TABLE as CHANGING;
pub(super) use path::TABLE as PATHS;
pub(super) use reading::TABLE as READING;
pub(crate) use reading::{part, subscripted};

use values::error::sqlstate;
use values::{Jsonb, Value, ValueError};

/// 22023.
#[cold]
pub(crate) fn invalid(message: impl Into<String>) -> ValueError {
    ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// The number in a step of a path, as C's `strtol` reads it: blanks and a sign may stand before it, nothing behind.
pub(crate) fn index_of(step: &str) -> Option<i32> {
    let is_blank = |character: char| matches!(character, ' ' | '\t'..='\r');
    let digits = step.trim_start_matches(is_blank);
    digits.strip_prefix('+').filter(|rest| !rest.starts_with(['+', '-'])).unwrap_or(digits).parse().ok()
}

/// The element of an array with so many at an index, which counts from the end if it is negative.
pub(crate) fn place_of(index: i32, length: usize) -> Option<usize> {
    let length = length as i64;
    let place = if index < 0 { length + i64::from(index) } else { i64::from(index) };
    (0..length).contains(&place).then_some(place as usize)
}

/// What `->>` makes of a value: the characters of a string, the text of all else, NULL of null.
pub(crate) fn as_text(json: &Jsonb) -> Value {
    match json {
        Jsonb::Null => Value::Null,
        Jsonb::String(text) => Value::text(&**text),
        other => Value::text(values::json::write::to_string(other)),
    }
}

/// The texts of a path. `None` if one is NULL.
pub(crate) fn path_of(elements: &[Value]) -> Option<Vec<&str>> {
    elements.iter().map(Value::as_text).collect()
}
