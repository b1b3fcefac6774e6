//! Functions that make JSON of values.

use super::conversion::{LineEnds, append, append_string, json, key, tree};
use super::invalid;
use crate::call::{CallArguments, FunctionResult, Implementation};
use crate::functions::texts::within_bounds;
use values::error::sqlstate;
use values::json::JsonbObject;
use values::{Jsonb, Value, ValueError};

pub(in crate::functions) const TABLE: &[(&str, Implementation)] = &[
    ("to_json", |call| converted(call, LineEnds::None)),
    ("array_to_json", |call| converted(call, LineEnds::None)),
    ("array_to_json_pretty", |call| converted(call, line_ends(call, 1))),
    ("row_to_json", |call| converted(call, LineEnds::None)),
    // The row has been written with its line ends before.
    ("row_to_json_pretty", |call| converted(call, LineEnds::None)),
    ("to_jsonb", |call| Value::jsonb(tree(call.value(0), call.held(0)?, call.zone())?)),
    ("json_build_array", build_array),
    ("json_build_array_noargs", |_| Ok(json("[]".into()))),
    ("json_build_object", build_object),
    ("json_build_object_noargs", |_| Ok(json("{}".into()))),
    ("jsonb_build_array", |call| {
        let elements = (0..call.arguments.len()).map(|index| tree(call.value(index), call.held(index)?, call.zone()));
        Value::jsonb(Jsonb::Array(elements.collect::<Result<_, _>>()?))
    }),
    ("jsonb_build_array_noargs", |_| Value::jsonb(Jsonb::Array(Vec::new()))),
    ("jsonb_build_object", build_tree_of_pairs),
    ("jsonb_build_object_noargs", |_| Value::jsonb(Jsonb::Object(JsonbObject::default()))),
    ("json_object", |call| object_text(&alternating(call)?)),
    ("json_object_two_arg", |call| object_text(&parallel(call)?)),
    ("jsonb_object", |call| object_tree(&alternating(call)?)),
    ("jsonb_object_two_arg", |call| object_tree(&parallel(call)?)),
];

fn line_ends(call: &CallArguments<'_, '_>, index: usize) -> LineEnds {
    if call.boolean(index) { LineEnds::BetweenParts } else { LineEnds::None }
}

fn converted(call: &mut CallArguments<'_, '_>, ends: LineEnds) -> FunctionResult {
    let mut text = String::new();
    append(call.value(0), call.held(0)?, call.zone(), ends, &mut text)?;
    Ok(json(text))
}

fn build_array(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let mut text = String::from("[");
    for index in 0..call.arguments.len() {
        if index > 0 {
            text.push_str(", ");
        }
        append(call.value(index), call.held(index)?, call.zone(), LineEnds::None, &mut text)?;
    }
    text.push(']');
    Ok(json(text))
}

/// Errors: 22023 for a key without a value.
fn in_pairs(call: &CallArguments<'_, '_>) -> Result<(), ValueError> {
    if call.arguments.len().is_multiple_of(2) {
        Ok(())
    } else {
        Err(invalid("argument list must have even number of elements"))
    }
}

fn build_object(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    in_pairs(call)?;
    let mut text = String::from("{");
    for index in (0..call.arguments.len()).step_by(2) {
        if index > 0 {
            text.push_str(", ");
        }
        if call.value(index).is_null() {
            return Err(invalid(format!("argument {} cannot be null", index + 1)));
        }
        append_string(&key(call.value(index), call.held(index)?, call.zone())?, &mut text);
        text.push_str(" : ");
        append(call.value(index + 1), call.held(index + 1)?, call.zone(), LineEnds::None, &mut text)?;
    }
    text.push('}');
    Ok(json(text))
}

fn build_tree_of_pairs(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    in_pairs(call)?;
    let mut pairs = Vec::with_capacity(call.arguments.len() / 2);
    for index in (0..call.arguments.len()).step_by(2) {
        if call.value(index).is_null() {
            return Err(invalid(format!("argument {}: key must not be null", index + 1)));
        }
        let key = key(call.value(index), call.held(index)?, call.zone())?;
        pairs.push((key.into(), tree(call.value(index + 1), call.held(index + 1)?, call.zone())?));
    }
    Value::jsonb(Jsonb::Object(JsonbObject::new(pairs)))
}

type TextPairs<'a> = Vec<(&'a str, Option<&'a str>)>;

fn text_key(value: &Value) -> Result<&str, ValueError> {
    value
        .as_text()
        .ok_or_else(|| ValueError::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "null value not allowed for object key"))
}

/// Pairs of an array of keys and values in turn.
fn alternating<'a>(call: &CallArguments<'a, '_>) -> Result<TextPairs<'a>, ValueError> {
    let elements = call.elements(0);
    if elements.len() % 2 == 1 {
        return Err(ValueError::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, "array must have even number of elements"));
    }
    elements.chunks(2).map(|pair| Ok((text_key(&pair[0])?, pair[1].as_text()))).collect()
}

/// Pairs of an array of keys and one of values.
fn parallel<'a>(call: &CallArguments<'a, '_>) -> Result<TextPairs<'a>, ValueError> {
    let (keys, values) = (call.elements(0), call.elements(1));
    if keys.len() != values.len() {
        return Err(ValueError::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, "mismatched array dimensions"));
    }
    keys.iter().zip(values).map(|(key, value)| Ok((text_key(key)?, value.as_text()))).collect()
}

fn object_text(pairs: &TextPairs<'_>) -> FunctionResult {
    let mut text = String::from("{");
    for (index, (key, value)) in pairs.iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        append_string(key, &mut text);
        text.push_str(" : ");
        match value {
            Some(value) => append_string(value, &mut text),
            None => text.push_str("null"),
        }
        within_bounds(text.len())?;
    }
    text.push('}');
    Ok(json(text))
}

fn object_tree(pairs: &TextPairs<'_>) -> FunctionResult {
    let value = |value: &Option<&str>| value.map_or(Jsonb::Null, Jsonb::string);
    let pairs = pairs.iter().map(|(key, text)| (Box::from(*key), value(text)));
    Value::jsonb(Jsonb::Object(JsonbObject::new(pairs.collect())))
}
