//! Functions that yield the pairs or elements of JSON, one a row.

use super::parts::{JsonContent, JsonPart, parts, shape};
use super::reading::part;
use super::{as_text, invalid};
use crate::call::{CallArguments, SetBody, SetRows};
use values::{Jsonb, Value, ValueError};

pub(crate) const TABLE: &[(&str, SetBody)] = &[
    ("json_each", |call| each(call, JsonPart::json)),
    ("json_each_text", |call| each(call, JsonPart::text)),
    ("json_array_elements", |call| elements(call, "json_array_elements", JsonPart::json)),
    ("json_array_elements_text", |call| elements(call, "json_array_elements_text", JsonPart::text)),
    ("json_object_keys", keys),
    ("jsonb_each", |call| each_of_tree(call, "jsonb_each", part)),
    ("jsonb_each_text", |call| each_of_tree(call, "jsonb_each_text", as_text)),
    ("jsonb_array_elements", |call| elements_of_tree(call, part)),
    ("jsonb_array_elements_text", |call| elements_of_tree(call, as_text)),
    ("jsonb_object_keys", keys_of_tree),
];

type FoundRows = Result<SetRows, ValueError>;

fn rows(rows: Vec<Vec<Value>>) -> FoundRows {
    Ok(Box::new(rows.into_iter().map(Ok)))
}

fn each(call: &mut CallArguments<'_, '_>, value: fn(&JsonPart, &str) -> Value) -> FoundRows {
    let text = call.json(0);
    match parts(text)?.content {
        JsonContent::Object(pairs) => {
            rows(pairs.iter().map(|(key, part)| vec![Value::text(&**key), value(part, text)]).collect())
        }
        JsonContent::Array(_) => Err(invalid("cannot deconstruct an array as an object")),
        _ => Err(invalid("cannot deconstruct a scalar")),
    }
}

fn elements(call: &mut CallArguments<'_, '_>, name: &str, value: fn(&JsonPart, &str) -> Value) -> FoundRows {
    let text = call.json(0);
    let whole = if name.ends_with("_text") { parts(text)? } else { shape(text)? };
    match whole.content {
        JsonContent::Array(elements) => rows(elements.iter().map(|part| vec![value(part, text)]).collect()),
        JsonContent::Object(_) => Err(invalid(format!("cannot call {name} on a non-array"))),
        _ => Err(invalid(format!("cannot call {name} on a scalar"))),
    }
}

fn keys(call: &mut CallArguments<'_, '_>) -> FoundRows {
    match parts(call.json(0))?.content {
        JsonContent::Object(pairs) => rows(pairs.iter().map(|(key, _)| vec![Value::text(&**key)]).collect()),
        JsonContent::Array(_) => Err(invalid("cannot call json_object_keys on an array")),
        _ => Err(invalid("cannot call json_object_keys on a scalar")),
    }
}

fn each_of_tree(call: &mut CallArguments<'_, '_>, name: &str, value: fn(&Jsonb) -> Value) -> FoundRows {
    match call.jsonb(0) {
        Jsonb::Object(object) => rows(object.iter().map(|(key, json)| vec![Value::text(key), value(json)]).collect()),
        _ => Err(invalid(format!("cannot call {name} on a non-object"))),
    }
}

fn elements_of_tree(call: &mut CallArguments<'_, '_>, value: fn(&Jsonb) -> Value) -> FoundRows {
    match call.jsonb(0) {
        Jsonb::Array(elements) => rows(elements.iter().map(|json| vec![value(json)]).collect()),
        Jsonb::Object(_) => Err(invalid("cannot extract elements from an object")),
        _ => Err(invalid("cannot extract elements from a scalar")),
    }
}

fn keys_of_tree(call: &mut CallArguments<'_, '_>) -> FoundRows {
    match call.jsonb(0) {
        Jsonb::Object(object) => rows(object.iter().map(|(key, _)| vec![Value::text(key)]).collect()),
        Jsonb::Array(_) => Err(invalid("cannot call jsonb_object_keys on an array")),
        _ => Err(invalid("cannot call jsonb_object_keys on a scalar")),
    }
}
