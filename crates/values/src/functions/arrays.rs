//! How many elements an array has, and their numbers. An array without elements has no dimension, so no bounds.

use crate::types::Type;
use crate::value::Value;

type ArrayFunctionBody = fn(&[Value]) -> Value;

/// The function of this name of an array, followed by arguments of these types: its own name, and its body, whose arguments are not NULL.
pub(super) fn lookup(name: &str, rest: &[Type]) -> Option<(&'static str, ArrayFunctionBody)> {
    let of_dimension = |name, body| matches!(rest, [Type::SmallInt | Type::Integer]).then_some((name, body));
    match name {
        "cardinality" if rest.is_empty() => Some(("cardinality", |arguments| Value::Integer(size(arguments)))),
        "array_length" => of_dimension("array_length", upper as ArrayFunctionBody),
        "array_upper" => of_dimension("array_upper", upper),
        "array_lower" => of_dimension("array_lower", |arguments| bound(arguments, 1)),
        _ => None,
    }
}

fn size(arguments: &[Value]) -> i32 {
    arguments.first().and_then(Value::as_array).map_or(0, |values| values.len() as i32)
}

fn upper(arguments: &[Value]) -> Value {
    bound(arguments, size(arguments))
}

/// The bound of the first dimension; there is no other.
fn bound(arguments: &[Value], of_first: i32) -> Value {
    let is_first = arguments.get(1).and_then(Value::as_integer) == Some(1);
    if is_first && size(arguments) > 0 { Value::Integer(of_first) } else { Value::Null }
}
