//! What a row becomes in a function of JSON, and subscripts of `jsonb`: bodies that no function of PostgreSQL's has alone.
//!
//! A row's body gets the names of its fields and their values in turn.

use crate::call::{CallArguments, FunctionResult};
use crate::functions::json::conversion::{LineEnds, append, append_string, json, tree};
use crate::functions::json::subscripted;
use values::json::JsonbObject;
use values::{Jsonb, Value};

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
        append(call.value(index + 1), call.held(index + 1)?, LineEnds::None, &mut text)?;
    }
    text.push('}');
    Ok(json(text))
}

/// A row as a tree.
pub fn row_tree(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let pairs = (0..call.arguments.len()).step_by(2);
    let pairs = pairs.map(|at| Ok((call.text(at).into(), tree(call.value(at + 1), call.held(at + 1)?)?)));
    Value::jsonb(Jsonb::Object(JsonbObject::new(pairs.collect::<Result<_, values::ValueError>>()?)))
}

/// A `jsonb` and its subscripts, none of them NULL.
pub fn subscript(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    subscripted(call.jsonb(0), &call.arguments[1..])
}

/// Whether a text is a path. Errors: 42601, and 0A000 for one that cannot be followed.
pub fn check_path(text: &str) -> Result<(), values::ValueError> {
    crate::functions::json::path::parse(text).map(drop)
}
