//! Arrays of one dimension, whose elements are numbered from 1. An array without elements has no dimension.

use super::texts::{printed, within_bounds};
use crate::call::{CallArguments, FunctionResult, Implementation};
use crate::storage::storage;
use values::compare::compare;
use values::error::sqlstate;
use values::limits::{ARRAY_ELEMENTS_MAX, VALUE_BYTES_MAX};
use values::{Type, Value, ValueError};

/// How many elements an array has at most: as a value it is no larger than any other. PostgreSQL, whose elements are
/// smaller, has the same error for more.
const ELEMENTS_MAX: usize = VALUE_BYTES_MAX / size_of::<Value>();

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("array_cat", concatenate),
    ("array_append", append),
    ("array_prepend", prepend),
    ("arraycontains", |call| Ok(Value::Boolean(contains(call.elements(0), call.elements(1))))),
    ("arraycontained", |call| Ok(Value::Boolean(contains(call.elements(1), call.elements(0))))),
    ("arrayoverlap", |call| Ok(Value::Boolean(call.elements(1).iter().any(|element| has(call.elements(0), element))))),
    ("array_cardinality", |call| Ok(Value::Integer(call.elements(0).len() as i32))),
    ("array_ndims", |call| Ok(if call.elements(0).is_empty() { Value::Null } else { Value::Integer(1) })),
    ("array_length", |call| Ok(of_first_dimension(call, call.elements(0).len() as i32))),
    ("array_lower", |call| Ok(of_first_dimension(call, 1))),
    ("array_upper", |call| Ok(of_first_dimension(call, call.elements(0).len() as i32))),
    ("array_dims", |call| match call.elements(0).len() {
        0 => Ok(Value::Null),
        length => Ok(Value::text(format!("[1:{length}]"))),
    }),
    ("array_position", position),
    ("array_position_start", position),
    ("array_positions", positions),
    ("array_remove", remove),
    ("array_replace", replace),
    ("array_fill", fill),
    ("array_fill_with_lower_bounds", fill_from),
    ("trim_array", trim),
    ("array_to_text", to_text),
    ("array_to_text_null", to_text),
    ("text_to_array", |call| Ok(parts(call).map_or(Value::Null, |parts| Value::array(Type::Text, parts)))),
    ("text_to_array_null", |call| Ok(parts(call).map_or(Value::Null, |parts| Value::array(Type::Text, parts)))),
];

/// An array of the type of the result. Errors: 0A000, 54000.
fn result(call: &CallArguments<'_, '_>, elements: Vec<Value>) -> FunctionResult {
    if elements.len() > ELEMENTS_MAX {
        let message = format!("array size exceeds the maximum allowed ({ARRAY_ELEMENTS_MAX})");
        return Err(ValueError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
    }
    match storage(call.result).and_then(|held| held.element()) {
        Some(element) => Ok(Value::array(element, elements)),
        None => Err(ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, "arrays of this type are not supported")),
    }
}

fn concatenate(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    match (call.value(0), call.value(1)) {
        (Value::Null, other) | (other, Value::Null) => Ok(other.clone()),
        (left, right) if left.as_array().is_some_and(<[Value]>::is_empty) => Ok(right.clone()),
        _ => result(call, [call.elements(0), call.elements(1)].concat()),
    }
}

fn append(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let mut elements = call.value(0).as_array().unwrap_or_default().to_vec();
    elements.push(call.value(1).clone());
    result(call, elements)
}

fn prepend(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let mut elements = vec![call.value(0).clone()];
    elements.extend_from_slice(call.value(1).as_array().unwrap_or_default());
    result(call, elements)
}

/// Whether an element that is not NULL is there.
fn has(elements: &[Value], sought: &Value) -> bool {
    !sought.is_null() && elements.iter().any(|element| !element.is_null() && compare(element, sought).is_eq())
}

fn contains(elements: &[Value], others: &[Value]) -> bool {
    others.iter().all(|other| has(elements, other))
}

/// NULL is like NULL.
fn is_same(left: &Value, right: &Value) -> bool {
    match (left.is_null(), right.is_null()) {
        (false, false) => compare(left, right).is_eq(),
        (left, right) => left == right,
    }
}

fn of_first_dimension(call: &CallArguments<'_, '_>, number: i32) -> Value {
    if call.elements(0).is_empty() || call.integer(1) != 1 { Value::Null } else { Value::Integer(number) }
}

fn position(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let Some(elements) = call.value(0).as_array() else { return Ok(Value::Null) };
    let first = match call.arguments.get(2) {
        None => 1,
        Some(Value::Null) => {
            return Err(ValueError::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "initial position must not be null"));
        }
        Some(_) => call.integer(2),
    };
    let mut places = elements.iter().zip(1..).filter(|(_, place)| i64::from(*place) >= first);
    let found = places.find(|(element, _)| is_same(element, call.value(1)));
    Ok(found.map_or(Value::Null, |(_, place)| Value::Integer(place)))
}

fn positions(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let Some(elements) = call.value(0).as_array() else { return Ok(Value::Null) };
    let places = elements.iter().zip(1..).filter(|(element, _)| is_same(element, call.value(1)));
    Ok(Value::array(Type::Integer, places.map(|(_, place)| Value::Integer(place)).collect()))
}

fn remove(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let Some(elements) = call.value(0).as_array() else { return Ok(Value::Null) };
    result(call, elements.iter().filter(|element| !is_same(element, call.value(1))).cloned().collect())
}

fn replace(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let Some(elements) = call.value(0).as_array() else { return Ok(Value::Null) };
    let changed =
        elements.iter().map(|element| if is_same(element, call.value(1)) { call.value(2) } else { element }.clone());
    result(call, changed.collect())
}

fn fill(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let Some(lengths) = call.value(1).as_array() else {
        return Err(ValueError::new(
            sqlstate::NULL_VALUE_NOT_ALLOWED,
            "dimension array or low bound array cannot be null",
        ));
    };
    match lengths {
        [] => result(call, Vec::new()),
        [length] => {
            let Some(length) = length.as_integer() else {
                return Err(ValueError::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "dimension values cannot be null"));
            };
            match usize::try_from(length) {
                Ok(length) if length <= ELEMENTS_MAX => result(call, vec![call.value(0).clone(); length]),
                _ => {
                    let message = format!("array size exceeds the maximum allowed ({ARRAY_ELEMENTS_MAX})");
                    Err(ValueError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message))
                }
            }
        }
        _ => Err(ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, "arrays of several dimensions are not supported")),
    }
}

/// `array_fill(value, lengths, first subscripts)`, which are 1 in all arrays here. Errors: 22004, 2202E, 0A000 for others.
fn fill_from(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let null = |what: &str| ValueError::new(sqlstate::NULL_VALUE_NOT_ALLOWED, what);
    let (Some(lengths), Some(first)) = (call.value(1).as_array(), call.value(2).as_array()) else {
        return Err(null("dimension array or low bound array cannot be null"));
    };
    if lengths.len() != first.len() {
        return Err(ValueError::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts"));
    }
    if lengths.iter().chain(first).any(Value::is_null) {
        return Err(null("dimension values cannot be null"));
    }
    if first.iter().any(|first| first.as_integer() != Some(1)) {
        let message = "arrays whose first subscript is not 1 are not supported";
        return Err(ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    fill(call)
}

fn trim(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (elements, count) = (call.elements(0), call.integer(1));
    let kept = usize::try_from(count).ok().and_then(|count| elements.len().checked_sub(count));
    match kept {
        Some(kept) => result(call, elements[..kept].to_vec()),
        None => {
            let message = format!("number of elements to trim must be between 0 and {}", elements.len());
            Err(ValueError::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, message))
        }
    }
}

/// Elements as text with a delimiter between them; NULLs are left out unless there is a text for them.
fn to_text(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    if call.value(0).is_null() || call.value(1).is_null() {
        return Ok(Value::Null);
    }
    let for_null = call.arguments.get(2).and_then(Value::as_text);
    let element_type = call.held(0)?.element();
    let texts = call.elements(0).iter().filter_map(|element| match (element, element.data_type()) {
        (Value::Null, _) | (_, None) => for_null.map(str::to_string),
        (_, Some(own)) => Some(printed(element, element_type.unwrap_or(own), call.zone())),
    });
    let (mut joined, mut is_first) = (String::new(), true);
    for text in texts {
        if !is_first {
            joined.push_str(call.text(1));
        }
        joined.push_str(&text);
        is_first = false;
        within_bounds(joined.len())?;
    }
    Ok(Value::text(joined))
}

/// The parts of a text between delimiters, those that equal a third argument as NULL; without a delimiter its characters. `None` for NULL.
pub(crate) fn parts(call: &CallArguments<'_, '_>) -> Option<Vec<Value>> {
    let source = call.value(0).as_text()?;
    let for_null = call.arguments.get(2).and_then(Value::as_text);
    let part = |part: &str| if for_null == Some(part) { Value::Null } else { Value::text(part) };
    Some(match call.value(1).as_text() {
        _ if source.is_empty() => Vec::new(),
        None => source.chars().map(|character| part(character.encode_utf8(&mut [0; 4]))).collect(),
        Some("") => vec![part(source)],
        Some(delimiter) => source.split(delimiter).map(part).collect(),
    })
}
