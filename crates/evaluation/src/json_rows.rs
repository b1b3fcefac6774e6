//! What a row becomes in a function of JSON and JSON as rows, and subscripts of `jsonb`: bodies that no function of PostgreSQL's has alone.
//!
//! A row's body gets the names of its fields and their values in turn.

use crate::call::{CallArguments, FunctionResult, SetRows};
use crate::functions::json::conversion::{LineEnds, append, append_string, json, tree};
use crate::functions::json::parts::{JsonContent, JsonPart, parts};
use crate::functions::json::{as_text, invalid, part, subscripted};
use values::error::sqlstate;
use values::json::JsonbObject;
use values::{Jsonb, Type, Value, ValueError, Zone, cast};

/// A row as `row_to_json` has it.
pub fn text(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    written(call, LineEnds::None)
}

/// The same with each field in a line.
pub fn pretty_text(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    written(call, LineEnds::BetweenParts)
}

fn written(call: &CallArguments<'_, '_>, ends: LineEnds) -> FunctionResult {
    let mut text = String::from("{");
    for index in (0..call.arguments.len()).step_by(2) {
        if index > 0 {
            text.push_str(ends.separator());
        }
        append_string(call.text(index), &mut text);
        text.push(':');
        append(call.value(index + 1), call.held(index + 1)?, call.zone(), LineEnds::None, &mut text)?;
    }
    text.push('}');
    Ok(json(text))
}

/// A row as a tree.
pub fn row_tree(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let pairs = (0..call.arguments.len()).step_by(2);
    let pairs = pairs.map(|at| Ok((call.text(at).into(), tree(call.value(at + 1), call.held(at + 1)?, call.zone())?)));
    Value::jsonb(Jsonb::Object(JsonbObject::new(pairs.collect::<Result<_, ValueError>>()?)))
}

/// A `jsonb` and its subscripts, none of them NULL.
pub fn subscript(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    subscripted(call.jsonb(0), &call.arguments[1..])
}

/// Whether a text is a path. Errors: 42601, and 0A000 for one that cannot be followed.
pub fn check_path(text: &str) -> Result<(), ValueError> {
    crate::functions::json::path::parse(text).map(drop)
}

/// Something within JSON: of a `json` with the whole text.
enum JsonSource<'a> {
    Tree(&'a Jsonb),
    Part(&'a JsonPart, &'a str),
}

/// `json_to_recordset` and its like: the first argument is JSON, and behind it come the names of the columns, whose types stand at their places.
/// NULL has no rows.
pub fn record_set(call: &mut CallArguments<'_, '_>) -> Result<SetRows, ValueError> {
    let text_parts;
    let (whole, prefix) = match call.value(0) {
        Value::Json(text) => {
            text_parts = parts(text)?;
            (JsonSource::Part(&text_parts, text), "json")
        }
        Value::Jsonb(tree) => (JsonSource::Tree(tree), "jsonb"),
        _ => return Ok(Box::new(std::iter::empty())),
    };
    let Some(elements) = whole.elements() else {
        return Err(invalid(format!("cannot call {prefix}_to_recordset on a non-array")));
    };
    let mut rows = Vec::with_capacity(elements.len());
    for element in elements {
        if !element.is_object() {
            return Err(invalid(format!("argument of {prefix}_to_recordset must be an array of objects")));
        }
        let field = |index: usize| match element.field(call.text(index)) {
            Some(found) => found.value(call.held(index)?, call.zone()),
            None => Ok(Value::Null),
        };
        rows.push((1..call.arguments.len()).map(field).collect::<Result<Vec<_>, _>>()?);
    }
    Ok(Box::new(rows.into_iter().map(Ok)))
}

impl<'a> JsonSource<'a> {
    fn elements(&self) -> Option<Vec<JsonSource<'a>>> {
        match *self {
            JsonSource::Tree(Jsonb::Array(elements)) => Some(elements.iter().map(JsonSource::Tree).collect()),
            JsonSource::Part(JsonPart { content: JsonContent::Array(elements), .. }, text) => {
                Some(elements.iter().map(|part| JsonSource::Part(part, text)).collect())
            }
            _ => None,
        }
    }

    fn is_object(&self) -> bool {
        match self {
            JsonSource::Tree(tree) => tree.as_object().is_some(),
            JsonSource::Part(part, _) => matches!(part.content, JsonContent::Object(_)),
        }
    }

    fn field(&self, key: &str) -> Option<JsonSource<'a>> {
        match *self {
            JsonSource::Tree(tree) => tree.as_object()?.get(key).map(JsonSource::Tree),
            JsonSource::Part(part, text) => part.at(&[key]).map(|part| JsonSource::Part(part, text)),
        }
    }

    fn is_string(&self) -> bool {
        match self {
            JsonSource::Tree(tree) => matches!(tree, Jsonb::String(_)),
            JsonSource::Part(part, _) => matches!(part.content, JsonContent::String(_)),
        }
    }

    /// It as a value of a type: the elements of an array as those of one, all else as the type reads its text.
    fn value(&self, data_type: Type, zone: &Zone) -> Result<Value, ValueError> {
        let (own, text) = match self {
            JsonSource::Tree(tree) => (part(tree), as_text(tree)),
            JsonSource::Part(part, text) => (part.json(text), part.text(text)),
        };
        if let Type::Json | Type::Jsonb = data_type {
            return cast::explicit(&own, data_type);
        }
        let Some(text) = text.as_text() else { return Ok(Value::Null) };
        match (data_type, self.elements()) {
            (Type::Array(element), Some(elements)) => {
                let element = element.data_type();
                let values = elements.iter().map(|source| source.value(element, zone)).collect::<Result<_, _>>()?;
                Ok(Value::array(element, values))
            }
            (Type::Array(_), None) if !self.is_string() => {
                Err(ValueError::new(sqlstate::INVALID_TEXT_REPRESENTATION, "expected JSON array"))
            }
            _ => values::text::parse_in(text, data_type, zone),
        }
    }
}
