//! Functions that make another `jsonb` of one: `||`, `-`, `#-`, `jsonb_set`, `jsonb_insert`.

use super::{index_of, invalid, place_of};
use crate::call::{CallArguments, FunctionResult, Implementation};
use values::error::sqlstate;
use values::{Jsonb, Value, ValueError};

pub(in crate::functions) const TABLE: &[(&str, Implementation)] = &[
    ("jsonb_concat", concatenate),
    ("jsonb_delete", |call| {
        let key = call.text(1);
        delete_keys(call, &[key])
    }),
    ("jsonb_delete_array", |call| {
        let keys: Vec<&str> = call.elements(1).iter().filter_map(Value::as_text).collect();
        delete_keys(call, &keys)
    }),
    ("jsonb_delete_idx", delete_element),
    ("jsonb_delete_path", delete_path),
    ("jsonb_set", |call| set(call, call.jsonb(2).clone())),
    ("jsonb_set_lax", set_or_otherwise),
    ("jsonb_insert", |call| {
        let change = if call.boolean(3) { PathChange::InsertAfter } else { PathChange::InsertBefore };
        changed(call, change, Some(call.jsonb(2).clone()), "cannot set path in scalar")
    }),
];

/// What happens where a path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathChange {
    /// What is there is taken away.
    Delete,
    /// What is there is replaced.
    Replace,
    /// The same; what is not there yet is added.
    Create,
    /// An element comes before the one that is there; a new pair is added.
    InsertBefore,
    /// An element comes behind it.
    InsertAfter,
}

impl PathChange {
    fn adds(self) -> bool {
        matches!(self, PathChange::Create | PathChange::InsertBefore | PathChange::InsertAfter)
    }
}

/// A path and what is done at its end.
struct ChangedPath<'a> {
    /// NULL is only wrong where somebody comes to it.
    steps: &'a [Value],
    change: PathChange,
    /// None for what is deleted.
    value: Option<Jsonb>,
}

fn concatenate(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (left, right) = (call.jsonb(0), call.jsonb(1));
    if let (Jsonb::Object(left), Jsonb::Object(right)) = (left, right) {
        let mut both = left.clone();
        right.iter().for_each(|(key, value)| both.insert(key, value.clone()));
        return Value::jsonb(Jsonb::Object(both));
    }
    let elements = |json: &Jsonb| match json {
        Jsonb::Array(elements) => elements.clone(),
        other => vec![other.clone()],
    };
    Value::jsonb(Jsonb::Array([elements(left), elements(right)].concat()))
}

/// Without pairs of these keys, or elements that are these strings.
fn delete_keys(call: &CallArguments<'_, '_>, keys: &[&str]) -> FunctionResult {
    let mut json = call.jsonb(0).clone();
    match &mut json {
        Jsonb::Object(object) => keys.iter().for_each(|key| object.remove(key)),
        Jsonb::Array(elements) => {
            elements.retain(|element| !matches!(element, Jsonb::String(text) if keys.contains(&&**text)));
        }
        _ => return Err(invalid("cannot delete from scalar")),
    }
    Value::jsonb(json)
}

fn delete_element(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    match call.jsonb(0) {
        Jsonb::Object(_) => Err(invalid("cannot delete from object using integer index")),
        Jsonb::Array(elements) => {
            let mut elements = elements.clone();
            if let Some(place) = place_of(call.integer(1) as i32, elements.len()) {
                elements.remove(place);
            }
            Value::jsonb(Jsonb::Array(elements))
        }
        _ => Err(invalid("cannot delete from scalar")),
    }
}

fn delete_path(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    changed(call, PathChange::Delete, None, "cannot delete path in scalar")
}

fn set(call: &CallArguments<'_, '_>, value: Jsonb) -> FunctionResult {
    let change = if call.boolean(3) { PathChange::Create } else { PathChange::Replace };
    changed(call, change, Some(value), "cannot set path in scalar")
}

/// `jsonb_set_lax`, which says what NULL as the new value means.
fn set_or_otherwise(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    if [0, 1, 3].into_iter().any(|index| call.value(index).is_null()) {
        return Ok(Value::Null);
    }
    const TREATMENTS: &str = "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \
                              \"raise_exception\"";
    if call.value(4).is_null() {
        return Err(invalid(TREATMENTS));
    }
    if let Value::Jsonb(value) = call.value(2) {
        return set(call, Jsonb::clone(value));
    }
    match call.text(4) {
        "raise_exception" => {
            let detail = "Exception was raised because null_value_treatment is \"raise_exception\".";
            Err(ValueError::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "JSON value must not be null").with_detail(detail))
        }
        "use_json_null" => set(call, Jsonb::Null),
        "delete_key" => delete_path(call),
        "return_target" => Ok(call.value(0).clone()),
        _ => Err(invalid(TREATMENTS)),
    }
}

fn changed(call: &CallArguments<'_, '_>, change: PathChange, value: Option<Jsonb>, in_scalar: &str) -> FunctionResult {
    let mut json = call.jsonb(0).clone();
    if json.is_scalar() {
        return Err(invalid(in_scalar));
    }
    let steps = call.elements(1);
    let is_empty = matches!(&json, Jsonb::Array(elements) if elements.is_empty())
        || json.as_object().is_some_and(|object| object.is_empty());
    if steps.is_empty() || (is_empty && !change.adds()) {
        return Ok(call.value(0).clone());
    }
    change_at(&mut json, &ChangedPath { steps, change, value }, 0)?;
    Value::jsonb(json)
}

fn change_at(json: &mut Jsonb, path: &ChangedPath<'_>, level: usize) -> Result<(), ValueError> {
    let Some(step) = path.steps[level].as_text() else {
        return Err(ValueError::new(
            sqlstate::NULL_VALUE_NOT_ALLOWED,
            format!("path element at position {} is null", level + 1),
        ));
    };
    let is_last = level + 1 == path.steps.len();
    match json {
        Jsonb::Object(object) => {
            let Some(found) = object.get_mut(step) else {
                if is_last && path.change.adds() {
                    path.value.iter().for_each(|value| object.insert(step, value.clone()));
                }
                return Ok(());
            };
            match (is_last, path.change, &path.value) {
                (false, _, _) => return change_at(found, path, level + 1),
                (true, PathChange::InsertBefore | PathChange::InsertAfter, _) => {
                    return Err(invalid("cannot replace existing key"));
                }
                (true, _, Some(value)) => *found = value.clone(),
                (true, _, None) => object.remove(step),
            }
        }
        Jsonb::Array(elements) => {
            let Some(index) = index_of(step) else {
                let message = format!("path element at position {} is not an integer: \"{step}\"", level + 1);
                return Err(ValueError::new(sqlstate::INVALID_TEXT_REPRESENTATION, message));
            };
            let place = place_of(index, elements.len());
            match place {
                Some(place) if !is_last => return change_at(&mut elements[place], path, level + 1),
                _ if !is_last => {}
                Some(place) => change_element(elements, place, path),
                // Beyond either end.
                None if path.change.adds() => {
                    let place = if index < 0 { 0 } else { elements.len() };
                    path.value.iter().for_each(|value| elements.insert(place, value.clone()));
                }
                None => {}
            }
        }
        _ => {}
    }
    Ok(())
}

fn change_element(elements: &mut Vec<Jsonb>, place: usize, path: &ChangedPath<'_>) {
    match (&path.value, path.change) {
        (None, _) | (_, PathChange::Delete) => {
            elements.remove(place);
        }
        (Some(value), PathChange::Replace | PathChange::Create) => elements[place] = value.clone(),
        (Some(value), PathChange::InsertBefore) => elements.insert(place, value.clone()),
        (Some(value), PathChange::InsertAfter) => elements.insert(place + 1, value.clone()),
    }
}
