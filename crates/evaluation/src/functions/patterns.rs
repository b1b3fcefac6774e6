//! LIKE and ILIKE. Letters compare without their case as in the locale C: only those of ASCII do.

use crate::call::{CallArguments, FunctionResult, Implementation};
use values::operators::{BinaryOperator, binary};
use values::{Value, ValueError};

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("textlike", like),
    ("textnlike", not_like),
    ("namelike", like),
    ("namenlike", not_like),
    ("texticlike", like_folded),
    ("texticnlike", not_like_folded),
    ("nameiclike", like_folded),
    ("nameicnlike", not_like_folded),
    ("like_escape", like_escape),
];

/// A `char(n)` is matched with its blanks.
fn subject(call: &CallArguments<'_, '_>) -> Result<Value, ValueError> {
    super::texts::output(call, 0).map(Value::text)
}

fn like(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    binary(BinaryOperator::Like, &subject(call)?, call.value(1))
}

fn not_like(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    binary(BinaryOperator::NotLike, &subject(call)?, call.value(1))
}

fn folded(call: &CallArguments<'_, '_>, operator: BinaryOperator) -> FunctionResult {
    let fold = |text: &str| Value::text(text.to_ascii_lowercase());
    binary(operator, &fold(&super::texts::output(call, 0)?), &fold(call.text(1)))
}

fn like_folded(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    folded(call, BinaryOperator::Like)
}

fn not_like_folded(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    folded(call, BinaryOperator::NotLike)
}

/// The pattern with backslashes for another escape character.
fn like_escape(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (pattern, escape) = (call.text(0), call.text(1));
    let mut of_escape = escape.chars();
    let escape = of_escape.next();
    if of_escape.next().is_some() {
        let error = ValueError::new(sqlstate::INVALID_ESCAPE_SEQUENCE, "invalid escape string");
        return Err(error);
    }
    if escape == Some('\\') {
        return Ok(call.value(0).clone());
    }
    let mut result = String::with_capacity(pattern.len() + 8);
    let mut is_escaped = false;
    for character in pattern.chars() {
        if Some(character) == escape && !is_escaped {
            result.push('\\');
            is_escaped = true;
            continue;
        }
        // A backslash was already written before it if it is escaped.
        if character == '\\' && !is_escaped {
            result.push('\\');
        }
        result.push(character);
        is_escaped = false;
    }
    Ok(Value::text(result))
}
