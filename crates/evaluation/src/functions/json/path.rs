//! JSON paths (PostgreSQL 15, section 9.16.2): `@?`, `@@`, `jsonb_path_query` and their like.
//!
//! A `jsonpath` is its text, which each call reads. Missing, and refused: `.datetime()`, `.keyvalue()`, flags of `like_regex` but i.
//! Reading order: `tree` is what a path is, `lexer` and `parser` read it, `execution` and `predicates` follow it.

mod execution;
mod lexer;
mod parser;
mod predicates;
mod tree;

use super::invalid;
use super::reading::part;
use crate::call::{CallArguments, FunctionResult, Implementation, SetBody, SetRows};
use execution::{PathExecution, PathFailure, PathFlow};
use values::{Jsonb, Value, ValueError};

pub(crate) use parser::parse;

pub(in crate::functions) const TABLE: &[(&str, Implementation)] = &[
    ("jsonb_path_exists", |call| exists(call, None)),
    ("jsonb_path_exists_tz", |call| exists(call, None)),
    ("jsonb_path_exists_opr", |call| exists(call, Some(true))),
    ("jsonb_path_match", |call| matches(call, None)),
    ("jsonb_path_match_tz", |call| matches(call, None)),
    ("jsonb_path_match_opr", |call| matches(call, Some(true))),
    ("jsonb_path_query_array", |call| Value::jsonb(Jsonb::Array(found(call)?))),
    ("jsonb_path_query_array_tz", |call| Value::jsonb(Jsonb::Array(found(call)?))),
    ("jsonb_path_query_first", |call| Ok(found(call)?.first().map_or(Value::Null, part))),
    ("jsonb_path_query_first_tz", |call| Ok(found(call)?.first().map_or(Value::Null, part))),
];

pub(crate) const SETS: &[(&str, SetBody)] = &[("jsonb_path_query", query), ("jsonb_path_query_tz", query)];

fn query(call: &mut CallArguments<'_, '_>) -> Result<SetRows, ValueError> {
    let rows: Vec<Value> = found(call)?.iter().map(part).collect();
    Ok(Box::new(rows.into_iter().map(|value| Ok(vec![value]))))
}

/// What a path is followed with: the value, the variables, and whether its errors are none.
struct PathCall<'a> {
    target: &'a Jsonb,
    variables: Option<&'a Jsonb>,
    is_silent: bool,
}

fn path_call<'a>(call: &CallArguments<'a, '_>, silent: Option<bool>) -> Result<PathCall<'a>, ValueError> {
    let variables = (call.arguments.len() > 2).then(|| call.jsonb(2));
    if variables.is_some_and(|variables| variables.as_object().is_none()) {
        let detail = "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.";
        return Err(invalid("\"vars\" argument is not an object").with_detail(detail));
    }
    let is_silent = silent.unwrap_or_else(|| call.arguments.len() > 3 && call.boolean(3));
    Ok(PathCall { target: call.jsonb(0), variables, is_silent })
}

/// Follows a path; whether an error was passed over. What was found before one stays found.
fn follow(
    call: &mut CallArguments<'_, '_>,
    silent: Option<bool>,
    each: &mut dyn FnMut(&Jsonb) -> PathFlow,
) -> Result<bool, ValueError> {
    let path = parse(call.text(1))?;
    let of = path_call(call, silent)?;
    let mut execution = PathExecution::new(&path, of.target, of.variables, call.environment.patterns);
    match execution.run(each) {
        Ok(_) => Ok(false),
        Err(PathFailure::Suppressible(_)) if of.is_silent => Ok(true),
        Err(PathFailure::Suppressible(error) | PathFailure::Final(error)) => Err(*error),
    }
}

fn found(call: &mut CallArguments<'_, '_>) -> Result<Vec<Jsonb>, ValueError> {
    let mut all = Vec::new();
    follow(call, None, &mut |json| {
        all.push(json.clone());
        PathFlow::On
    })?;
    Ok(all)
}

fn exists(call: &mut CallArguments<'_, '_>, silent: Option<bool>) -> FunctionResult {
    // A strict path is followed to its end: there may be an error.
    let is_strict = parse(call.text(1))?.is_strict;
    let mut is_found = false;
    let failed = follow(call, silent, &mut |_| {
        is_found = true;
        if is_strict { PathFlow::On } else { PathFlow::Enough }
    })?;
    Ok(if failed { Value::Null } else { Value::Boolean(is_found) })
}

fn matches(call: &mut CallArguments<'_, '_>, silent: Option<bool>) -> FunctionResult {
    let mut all = Vec::new();
    follow(call, silent, &mut |json| {
        all.push(json.clone());
        PathFlow::On
    })?;
    match all.as_slice() {
        [Jsonb::Boolean(truth)] => Ok(Value::Boolean(*truth)),
        [Jsonb::Null] => Ok(Value::Null),
        _ if path_call(call, silent)?.is_silent => Ok(Value::Null),
        _ => Err(ValueError::new("22038", "single boolean result is expected")),
    }
}
