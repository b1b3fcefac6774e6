//! Functions that look into JSON: fields, elements, paths, what contains what.

use super::conversion::{append_string, json};
use super::parts::{JsonContent, JsonPart, parts, shape};
use super::{as_text, index_of, invalid, path_of, place_of};
use crate::call::{CallArguments, FunctionResult, Implementation};
use std::sync::Arc;
use values::json::{JsonbObject, compare, write};
use values::{Jsonb, Value, ValueError};

pub(in crate::functions) const TABLE: &[(&str, Implementation)] = &[
    ("json_object_field", |call| with_parts(call, |call, whole| whole.at_key(call.text(1)), JsonPart::json)),
    ("json_object_field_text", |call| with_parts(call, |call, whole| whole.at_key(call.text(1)), JsonPart::text)),
    ("json_array_element", |call| {
        with_parts(call, |call, whole| whole.element(call.integer(1) as i32), JsonPart::json)
    }),
    ("json_array_element_text", |call| {
        with_parts(call, |call, whole| whole.element(call.integer(1) as i32), JsonPart::text)
    }),
    ("json_extract_path", |call| with_parts(call, |call, whole| whole.at(&path_of(call.elements(1))?), JsonPart::json)),
    ("json_extract_path_text", |call| {
        with_parts(call, |call, whole| whole.at(&path_of(call.elements(1))?), JsonPart::text)
    }),
    ("json_array_length", |call| match shape(call.json(0))?.content {
        JsonContent::Array(elements) => Ok(Value::Integer(elements.len() as i32)),
        JsonContent::Object(_) => Err(invalid("cannot get array length of a non-array")),
        _ => Err(invalid("cannot get array length of a scalar")),
    }),
    ("json_typeof", |call| {
        Ok(Value::text(match call.json(0).trim_start().as_bytes().first() {
            Some(b'{') => "object",
            Some(b'[') => "array",
            Some(b'"') => "string",
            Some(b't' | b'f') => "boolean",
            Some(b'n') => "null",
            _ => "number",
        }))
    }),
    ("json_strip_nulls", |call| {
        let mut text = String::new();
        append_without_nulls(&parts(call.json(0))?, call.json(0), &mut text);
        Ok(json(text))
    }),
    ("jsonb_object_field", |call| Ok(found(field(call), part))),
    ("jsonb_object_field_text", |call| Ok(found(field(call), as_text))),
    ("jsonb_array_element", |call| Ok(found(element(call), part))),
    ("jsonb_array_element_text", |call| Ok(found(element(call), as_text))),
    ("jsonb_extract_path", |call| Ok(found(at_path(call), part))),
    ("jsonb_extract_path_text", |call| Ok(found(at_path(call), as_text))),
    ("jsonb_array_length", |call| match call.jsonb(0) {
        Jsonb::Array(elements) => Ok(Value::Integer(elements.len() as i32)),
        Jsonb::Object(_) => Err(invalid("cannot get array length of a non-array")),
        _ => Err(invalid("cannot get array length of a scalar")),
    }),
    ("jsonb_typeof", |call| Ok(Value::text(call.jsonb(0).type_name()))),
    ("jsonb_strip_nulls", |call| Value::jsonb(without_nulls(call.jsonb(0)))),
    ("jsonb_pretty", |call| Ok(Value::text(write::pretty(call.jsonb(0))))),
    ("jsonb_exists", |call| Ok(Value::Boolean(has(call.jsonb(0), call.text(1))))),
    ("jsonb_exists_any", |call| {
        let keys = call.elements(1).iter().filter_map(Value::as_text);
        Ok(Value::Boolean(keys.into_iter().any(|key| has(call.jsonb(0), key))))
    }),
    ("jsonb_exists_all", |call| {
        let keys = call.elements(1).iter().filter_map(Value::as_text);
        Ok(Value::Boolean(keys.into_iter().all(|key| has(call.jsonb(0), key))))
    }),
    ("jsonb_contains", |call| Ok(Value::Boolean(contains(call.jsonb(0), call.jsonb(1))))),
    ("jsonb_contained", |call| Ok(Value::Boolean(contains(call.jsonb(1), call.jsonb(0))))),
];

/// A part of a `json`, if there is one.
fn with_parts(
    call: &mut CallArguments<'_, '_>,
    find: for<'p> fn(&CallArguments<'_, '_>, &'p JsonPart) -> Option<&'p JsonPart>,
    value: fn(&JsonPart, &str) -> Value,
) -> FunctionResult {
    let whole = parts(call.json(0))?;
    Ok(find(call, &whole).map_or(Value::Null, |part| value(part, call.json(0))))
}

impl JsonPart {
    /// The last value of a key.
    fn at_key(&self, sought: &str) -> Option<&JsonPart> {
        match &self.content {
            JsonContent::Object(pairs) => pairs.iter().rev().find(|(key, _)| **key == *sought).map(|(_, value)| value),
            _ => None,
        }
    }
}

fn append_without_nulls(part: &JsonPart, text: &str, out: &mut String) {
    match &part.content {
        JsonContent::String(string) => append_string(string, out),
        JsonContent::Array(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                append_without_nulls(element, text, out);
            }
            out.push(']');
        }
        JsonContent::Object(pairs) => {
            out.push('{');
            let present = pairs.iter().filter(|(_, value)| !matches!(value.content, JsonContent::Null));
            for (index, (key, value)) in present.enumerate() {
                if index > 0 {
                    out.push(',');
                }
                append_string(key, out);
                out.push(':');
                append_without_nulls(value, text, out);
            }
            out.push('}');
        }
        _ => out.push_str(&text[part.place.clone()]),
    }
}

fn without_nulls(json: &Jsonb) -> Jsonb {
    match json {
        Jsonb::Array(elements) => Jsonb::Array(elements.iter().map(without_nulls).collect()),
        Jsonb::Object(object) => {
            let present = object.iter().filter(|(_, value)| !matches!(value, Jsonb::Null));
            Jsonb::Object(JsonbObject::new(present.map(|(key, value)| (key.into(), without_nulls(value))).collect()))
        }
        scalar => scalar.clone(),
    }
}

fn found(json: Option<&Jsonb>, value: fn(&Jsonb) -> Value) -> Value {
    json.map_or(Value::Null, value)
}

/// A part of a tree, which is no deeper than the tree.
pub(crate) fn part(json: &Jsonb) -> Value {
    Value::Jsonb(Arc::new(json.clone()))
}

fn field<'a>(call: &CallArguments<'a, '_>) -> Option<&'a Jsonb> {
    call.jsonb(0).as_object()?.get(call.text(1))
}

fn element<'a>(call: &CallArguments<'a, '_>) -> Option<&'a Jsonb> {
    let (json, index) = (call.jsonb(0), call.integer(1) as i32);
    match json {
        Jsonb::Array(elements) => elements.get(place_of(index, elements.len())?),
        Jsonb::Object(_) => None,
        // PostgreSQL keeps a scalar as the only element of an array.
        scalar => place_of(index, 1).map(|_| scalar),
    }
}

fn at_path<'a>(call: &CallArguments<'a, '_>) -> Option<&'a Jsonb> {
    reached(call.jsonb(0), &path_of(call.elements(1))?)
}

/// What a path leads to.
pub(crate) fn reached<'a>(json: &'a Jsonb, path: &[&str]) -> Option<&'a Jsonb> {
    path.iter().try_fold(json, |json, step| match json {
        Jsonb::Array(elements) => elements.get(place_of(index_of(step)?, elements.len())?),
        Jsonb::Object(object) => object.get(step),
        _ => None,
    })
}

/// Whether a string is a key, an element, or all there is.
fn has(json: &Jsonb, sought: &str) -> bool {
    let is_sought = |json: &Jsonb| matches!(json, Jsonb::String(text) if **text == *sought);
    match json {
        Jsonb::Object(object) => object.get(sought).is_some(),
        Jsonb::Array(elements) => elements.iter().any(is_sought),
        scalar => is_sought(scalar),
    }
}

/// Whether the second is within the first: a scalar may be an element of an array.
fn contains(whole: &Jsonb, sought: &Jsonb) -> bool {
    match (whole, sought) {
        (Jsonb::Array(elements), scalar) if scalar.is_scalar() => has_element(elements, scalar),
        _ => contains_part(whole, sought),
    }
}

fn contains_part(whole: &Jsonb, sought: &Jsonb) -> bool {
    match (whole, sought) {
        (Jsonb::Object(whole), Jsonb::Object(sought)) => {
            sought.len() <= whole.len()
                && sought.iter().all(|(key, sought)| whole.get(key).is_some_and(|whole| contains_part(whole, sought)))
        }
        (Jsonb::Array(whole), Jsonb::Array(sought)) => sought.iter().all(|sought| has_element(whole, sought)),
        (whole, sought) => whole.is_scalar() && sought.is_scalar() && compare(whole, sought).is_eq(),
    }
}

fn has_element(elements: &[Jsonb], sought: &Jsonb) -> bool {
    elements.iter().any(|element| contains_part(element, sought))
}

/// A part of a `jsonb` by its subscripts. `None` if there is none.
pub(crate) fn subscripted(json: &Jsonb, subscripts: &[Value]) -> Result<Value, ValueError> {
    let steps: Option<Vec<String>> = subscripts.iter().map(values::text::to_string).collect();
    let Some(steps) = steps else { return Ok(Value::Null) };
    let path: Vec<&str> = steps.iter().map(String::as_str).collect();
    Ok(found(reached(json, &path), part))
}
