//! Functions of regular expressions: `pattern_cache` says which patterns there are.

use crate::call::{CallArguments, FunctionResult, Implementation};
use crate::pattern_cache::{PatternCache, unsupported};
use regex::Regex;
use values::error::sqlstate;
use values::{Type, Value, ValueError};

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("textregexeq", |call| matches(call, false).map(Value::Boolean)),
    ("textregexne", |call| matches(call, false).map(|found| Value::Boolean(!found))),
    ("texticregexeq", |call| matches(call, true).map(Value::Boolean)),
    ("texticregexne", |call| matches(call, true).map(|found| Value::Boolean(!found))),
    ("nameregexeq", |call| matches(call, false).map(Value::Boolean)),
    ("nameregexne", |call| matches(call, false).map(|found| Value::Boolean(!found))),
    ("nameicregexeq", |call| matches(call, true).map(Value::Boolean)),
    ("nameicregexne", |call| matches(call, true).map(|found| Value::Boolean(!found))),
    ("regexp_like_no_flags", |call| matches(call, false).map(Value::Boolean)),
    ("textregexreplace_noopt", replace),
    ("textregexreplace", replace),
    ("regexp_match_no_flags", first_match),
    ("textregexsubstr", substring),
    ("regexp_split_to_array_no_flags", |call| split(call).map(|parts| Value::array(Type::Text, parts))),
];

fn matches(call: &mut CallArguments<'_, '_>, ignore_case: bool) -> Result<bool, ValueError> {
    let text = super::texts::output(call, 0)?;
    Ok(call.environment.patterns.translated(call.text(1), ignore_case)?.regex.is_match(&text))
}

/// The pattern of a function, as it needs it. Errors: what the function fails with, whatever its text is.
pub(crate) fn check(
    source: &str,
    pattern: &str,
    flags: Option<&str>,
    patterns: &mut PatternCache,
) -> Result<(), ValueError> {
    match source {
        "textregexeq" | "textregexne" | "nameregexeq" | "nameregexne" | "regexp_like_no_flags" => {
            patterns.translated(pattern, false).map(drop)
        }
        "texticregexeq" | "texticregexne" | "nameicregexeq" | "nameicregexne" => {
            patterns.translated(pattern, true).map(drop)
        }
        "regexp_match_no_flags" | "textregexsubstr" => patterns.determined(pattern, false).map(drop),
        "regexp_split_to_array_no_flags" | "regexp_split_to_table_no_flags" => dividing(pattern, patterns).map(drop),
        "textregexreplace_noopt" => replaced(pattern, "", patterns).map(drop),
        "textregexreplace" => flags.map_or(Ok(()), |flags| replaced(pattern, flags, patterns).map(drop)),
        _ => Ok(()),
    }
}

/// What is to be replaced.
fn replaced(pattern: &str, flags: &str, patterns: &mut PatternCache) -> Result<Regex, ValueError> {
    if flags.starts_with(|first: char| first.is_ascii_digit()) {
        let message = format!("invalid regular expression option: \"{}\"", &flags[..1]);
        return Err(ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    if flags.chars().any(|flag| !matches!(flag, 'g' | 'i')) {
        return Err(unsupported());
    }
    let regex = patterns.determined(pattern, flags.contains('i'))?;
    if regex.is_match("") && flags.contains('g') {
        // Where empty matches follow others is another question.
        return Err(unsupported());
    }
    Ok(regex)
}

/// What stands between parts.
fn dividing(pattern: &str, patterns: &mut PatternCache) -> Result<Regex, ValueError> {
    let regex = patterns.determined(pattern, false)?;
    if regex.is_match("") { Err(unsupported()) } else { Ok(regex) }
}

/// `regexp_replace(source, pattern, replacement [, flags])`, of which the flags g and i are there.
fn replace(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (source, replacement) = (call.text(0), call.text(2));
    let flags = if call.arguments.len() > 3 { call.text(3) } else { "" };
    let regex = replaced(call.text(1), flags, call.environment.patterns)?;
    let mut result = String::new();
    let mut end = 0;
    for found in regex.captures_iter(source) {
        let whole = found.get_match();
        result.push_str(&source[end..whole.start()]);
        expand(replacement, &found, &mut result);
        super::texts::within_bounds(result.len())?;
        end = whole.end();
        if !flags.contains('g') {
            break;
        }
    }
    result.push_str(&source[end..]);
    super::texts::bounded(result)
}

/// Appends the replacement: `\1` to `\9` are groups, `\&` is the whole match, `\\` a backslash.
pub(super) fn expand(replacement: &str, found: &regex::Captures<'_>, result: &mut String) {
    let mut characters = replacement.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\\' {
            result.push(character);
            continue;
        }
        match characters.peek() {
            Some(digit @ '1'..='9') => {
                let group = *digit as usize - '0' as usize;
                result.push_str(found.get(group).map_or("", |group| group.as_str()));
                characters.next();
            }
            Some('&') => {
                result.push_str(found.get_match().as_str());
                characters.next();
            }
            Some('\\') => {
                result.push('\\');
                characters.next();
            }
            // A backslash before anything else stands for itself.
            _ => result.push('\\'),
        }
    }
}

/// The groups of the first match, or all of it if there are none.
fn first_match(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let regex = call.environment.patterns.determined(call.text(1), false)?;
    let Some(found) = regex.captures(call.text(0)) else { return Ok(Value::Null) };
    let first = usize::from(found.len() > 1);
    let groups = found.iter().skip(first).map(|group| group.map_or(Value::Null, |group| Value::text(group.as_str())));
    Ok(Value::array(Type::Text, groups.collect()))
}

/// What the first group of the first match is, or all of it.
fn substring(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let regex = call.environment.patterns.determined(call.text(1), false)?;
    let Some(found) = regex.captures(call.text(0)) else { return Ok(Value::Null) };
    let group = found.get(usize::from(found.len() > 1));
    Ok(group.map_or(Value::Null, |group| Value::text(group.as_str())))
}

/// The parts between matches.
pub(crate) fn split(call: &mut CallArguments<'_, '_>) -> Result<Vec<Value>, ValueError> {
    let regex = dividing(call.text(1), call.environment.patterns)?;
    Ok(regex.split(call.text(0)).map(Value::text).collect())
}
