//! Functions whose answers are in the definition of an enum type: `enum_first`, `enum_last`, `enum_range`.
//!
//! Invariant: the last argument of a call has all labels of the type, in their order. Whoever plans the call puts it there, because arguments of these functions only
//! say, by their type, which enum is meant.

use crate::call::{CallArguments, FunctionResult, Implementation};
use analyzer::types::FunctionId;
use values::compare::compare;
use values::error::sqlstate;
use values::{Value, ValueError};

/// `enum_first`
const FIRST: FunctionId = FunctionId(3528);
/// `enum_last`
const LAST: FunctionId = FunctionId(3529);
/// `enum_range` with bounds.
const RANGE: FunctionId = FunctionId(3530);
/// `enum_range` of all labels.
const ALL: FunctionId = FunctionId(3531);

/// Whether a function is one of these.
pub fn asks_for_labels(function: FunctionId) -> bool {
    body(function).is_some()
}

/// What computes one of these functions.
pub fn body(function: FunctionId) -> Option<Implementation> {
    Some(match function {
        FIRST => |call| labels(call).first().cloned().ok_or_else(|| empty(call)),
        LAST => |call| labels(call).last().cloned().ok_or_else(|| empty(call)),
        RANGE => range,
        ALL => |call| Ok(call.arguments[call.arguments.len() - 1].clone()),
        _ => return None,
    })
}

fn labels<'a>(call: &CallArguments<'a, '_>) -> &'a [Value] {
    call.elements(call.arguments.len() - 1)
}

/// 55000.
#[cold]
fn empty(call: &CallArguments<'_, '_>) -> ValueError {
    let message = match call.value(call.arguments.len() - 1) {
        Value::Array(array) => format!("enum {} contains no values", array.element().base_name()),
        _ => "the enum contains no values".to_owned(),
    };
    ValueError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

/// The labels from one to another; a NULL bounds nothing.
fn range(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (low, high) = (call.value(0), call.value(1));
    let is_within = |label: &&Value| {
        (low.is_null() || compare(label, low).is_ge()) && (high.is_null() || compare(label, high).is_le())
    };
    let Value::Array(all) = call.value(2) else { return Ok(Value::Null) };
    Ok(Value::array(all.element(), all.values().iter().filter(is_within).cloned().collect()))
}
