//! Functions that look for the matches of a regular expression from a place on, and patterns of SIMILAR TO.

use super::expressions::expand;
use crate::call::{CallArguments, FunctionResult, Implementation};
use crate::pattern_cache::unsupported;
use regex::{Captures, Regex};
use values::error::sqlstate;
use values::{Type, Value, ValueError};

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("regexp_count_no_start", count),
    ("regexp_count_no_flags", count),
    ("regexp_count", count),
    ("regexp_instr_no_start", place),
    ("regexp_instr_no_n", place),
    ("regexp_instr_no_endoption", place),
    ("regexp_instr_no_flags", place),
    ("regexp_instr_no_subexpr", place),
    ("regexp_instr", place),
    ("regexp_like", is_like),
    ("regexp_substr_no_start", part),
    ("regexp_substr_no_n", part),
    ("regexp_substr_no_flags", part),
    ("regexp_substr_no_subexpr", part),
    ("regexp_substr", part),
    ("regexp_match", first_match),
    ("regexp_split_to_array", split),
    ("textregexreplace_extended_no_n", replace),
    ("textregexreplace_extended_no_flags", replace),
    ("textregexreplace_extended", replace),
    ("similar_to_escape_1", |call| similar(call.text(0), Some("\\"))),
    ("similar_to_escape_2", |call| similar(call.text(0), Some(call.text(1)))),
    ("similar_escape", |call| match (call.value(0), call.value(1)) {
        (Value::Null, _) => Ok(Value::Null),
        (_, Value::Null) => similar(call.text(0), Some("\\")),
        _ => similar(call.text(0), Some(call.text(1))),
    }),
];

fn invalid(message: String) -> ValueError {
    ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// An argument that may have been left out, not less than a bound.
fn bounded(
    call: &CallArguments<'_, '_>,
    index: usize,
    name: &str,
    default: i64,
    least: i64,
) -> Result<i64, ValueError> {
    let given = if index < call.arguments.len() { call.integer(index) } else { default };
    match given < least {
        true => Err(invalid(format!("invalid value for parameter \"{name}\": {given}"))),
        false => Ok(given),
    }
}

/// Flags: i and c are there. Errors: 22023 for g, where the function has no use for it, and for what is no flag; 0A000.
fn ignores_case(flags: &str, function: &str) -> Result<bool, ValueError> {
    let mut ignores = false;
    for flag in flags.chars() {
        match flag {
            'i' => ignores = true,
            'c' => ignores = false,
            'g' => return Err(invalid(format!("{function}() does not support the \"global\" option"))),
            'b' | 'e' | 'm' | 'n' | 'p' | 'q' | 's' | 't' | 'w' | 'x' => return Err(unsupported()),
            other => return Err(invalid(format!("invalid regular expression option: \"{other}\""))),
        }
    }
    Ok(ignores)
}

fn flags<'a>(call: &CallArguments<'a, '_>, index: usize) -> &'a str {
    if index < call.arguments.len() { call.text(index) } else { "" }
}

/// Where the character of this number begins; none: behind the end.
fn byte_of(text: &str, number: i64) -> Option<usize> {
    let before = usize::try_from(number - 1).ok()?;
    let places = text.char_indices().map(|(place, _)| place).chain([text.len()]);
    places.into_iter().nth(before)
}

/// The matches from a place on, each behind the one before it.
fn matches_from<'t>(regex: &'t Regex, text: &'t str, start: Option<usize>) -> impl Iterator<Item = Captures<'t>> + 't {
    let mut next = start;
    std::iter::from_fn(move || {
        let found = regex.captures_at(text, next?)?;
        let (begins, ends) = (found.get_match().start(), found.get_match().end());
        // An empty match is passed over by a character.
        next = match begins == ends {
            true => text[ends..].chars().next().map(|passed| ends + passed.len_utf8()),
            false => Some(ends),
        };
        Some(found)
    })
}

/// `regexp_count(string, pattern [, start [, flags]])`.
fn count(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let start = bounded(call, 2, "start", 1, 1)?;
    let ignore_case = ignores_case(flags(call, 3), "regexp_count")?;
    let (text, regex) = (call.text(0), call.environment.patterns.determined(call.text(1), ignore_case)?);
    Ok(Value::Integer(matches_from(&regex, text, byte_of(text, start)).count() as i32))
}

/// `regexp_instr(string, pattern [, start [, N [, endoption [, flags [, subexpr]]]]])`.
fn place(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let start = bounded(call, 2, "start", 1, 1)?;
    let number = bounded(call, 3, "n", 1, 1)?;
    let end = bounded(call, 4, "endoption", 0, 0)?;
    if end > 1 {
        return Err(invalid(format!("invalid value for parameter \"endoption\": {end}")));
    }
    let group = bounded(call, 6, "subexpr", 0, 0)?;
    let ignore_case = ignores_case(flags(call, 5), "regexp_instr")?;
    let (text, regex) = (call.text(0), call.environment.patterns.determined(call.text(1), ignore_case)?);
    let found = matches_from(&regex, text, byte_of(text, start)).nth(number as usize - 1);
    let group = found.and_then(|found| found.get(group as usize));
    let place = group.map_or(0, |group| {
        let at = if end == 1 { group.end() } else { group.start() };
        text[..at].chars().count() as i32 + 1
    });
    Ok(Value::Integer(place))
}

/// `regexp_like(string, pattern, flags)`.
fn is_like(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let ignore_case = ignores_case(flags(call, 2), "regexp_like")?;
    let (text, patterns) = (call.text(0), &mut call.environment.patterns);
    Ok(Value::Boolean(
        patterns.translated(call.arguments[1].as_text().unwrap_or(""), ignore_case)?.regex.is_match(text),
    ))
}

/// `regexp_substr(string, pattern [, start [, N [, flags [, subexpr]]]])`.
fn part(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let start = bounded(call, 2, "start", 1, 1)?;
    let number = bounded(call, 3, "n", 1, 1)?;
    let group = bounded(call, 5, "subexpr", 0, 0)?;
    let ignore_case = ignores_case(flags(call, 4), "regexp_substr")?;
    let (text, regex) = (call.text(0), call.environment.patterns.determined(call.text(1), ignore_case)?);
    let found = matches_from(&regex, text, byte_of(text, start)).nth(number as usize - 1);
    let group = found.and_then(|found| found.get(group as usize));
    Ok(group.map_or(Value::Null, |group| Value::text(group.as_str())))
}

/// `regexp_match(string, pattern, flags)`.
fn first_match(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let ignore_case = ignores_case(flags(call, 2), "regexp_match")?;
    let regex = call.environment.patterns.determined(call.text(1), ignore_case)?;
    let Some(found) = regex.captures(call.text(0)) else { return Ok(Value::Null) };
    let first = usize::from(found.len() > 1);
    let groups = found.iter().skip(first).map(|group| group.map_or(Value::Null, |group| Value::text(group.as_str())));
    Ok(Value::array(Type::Text, groups.collect()))
}

/// `regexp_split_to_array(string, pattern, flags)`.
fn split(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    parts_of(call, "regexp_split_to_array").map(|parts| Value::array(Type::Text, parts))
}

/// The parts of a text between matches, by flags.
pub(crate) fn parts_of(call: &mut CallArguments<'_, '_>, function: &str) -> Result<Vec<Value>, ValueError> {
    let ignore_case = ignores_case(flags(call, 2), function)?;
    let regex = call.environment.patterns.determined(call.text(1), ignore_case)?;
    if regex.is_match("") {
        return Err(unsupported());
    }
    Ok(regex.split(call.text(0)).map(Value::text).collect())
}

/// `regexp_matches(string, pattern [, flags])`: the groups of the first match, or with the flag g of all.
pub(crate) fn matches_of(call: &mut CallArguments<'_, '_>) -> Result<Vec<Value>, ValueError> {
    let flags = flags(call, 2);
    let ignore_case = ignores_case(&flags.replace('g', ""), "regexp_matches")?;
    let (text, regex) = (call.text(0), call.environment.patterns.determined(call.text(1), ignore_case)?);
    let count = if flags.contains('g') { usize::MAX } else { 1 };
    let found = matches_from(&regex, text, Some(0)).take(count).map(|found| {
        let first = usize::from(found.len() > 1);
        let groups = found.iter().skip(first);
        let groups = groups.map(|group| group.map_or(Value::Null, |group| Value::text(group.as_str())));
        Value::array(Type::Text, groups.collect())
    });
    Ok(found.collect())
}

/// `regexp_replace(string, pattern, replacement, start [, N [, flags]])`; N of 0: all.
fn replace(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let start = bounded(call, 3, "start", 1, 1)?;
    let number = bounded(call, 4, "n", 1, 0)?;
    let ignore_case = ignores_case(&flags(call, 5).replace('g', ""), "regexp_replace")?;
    let (text, replacement) = (call.text(0), call.text(2));
    let regex = call.environment.patterns.determined(call.text(1), ignore_case)?;
    if regex.is_match("") {
        return Err(unsupported());
    }
    let (mut result, mut end) = (String::new(), 0);
    for (place, found) in matches_from(&regex, text, byte_of(text, start)).enumerate() {
        if number > 0 && place as i64 + 1 < number {
            continue;
        }
        let whole = found.get_match();
        result.push_str(&text[end..whole.start()]);
        expand(replacement, &found, &mut result);
        super::texts::within_bounds(result.len())?;
        end = whole.end();
        if number > 0 {
            break;
        }
    }
    result.push_str(&text[end..]);
    super::texts::bounded(result)
}

/// A pattern of SIMILAR TO as a regular expression. Errors: 22025 for an escape of several characters, 2200C for a third separator.
fn similar(pattern: &str, escape: Option<&str>) -> FunctionResult {
    let mut escapes = escape.unwrap_or_default().chars();
    let (escape, rest) = (escapes.next(), escapes.next());
    if rest.is_some() {
        return Err(ValueError::new(sqlstate::INVALID_ESCAPE_SEQUENCE, "invalid escape string"));
    }
    let mut result = String::from("^(?:");
    let (mut is_escaped, mut in_class, mut separators) = (false, false, 0);
    for character in pattern.chars() {
        if is_escaped {
            is_escaped = false;
            match (character, separators) {
                ('"', 0) if !in_class => result.push_str("){1,1}?("),
                ('"', 1) if !in_class => result.push_str("){1,1}(?:"),
                ('"', _) if !in_class => {
                    return Err(ValueError::new(
                        sqlstate::INVALID_USE_OF_ESCAPE_CHARACTER,
                        "SQL regular expression may not contain more than two escape-double-quote separators",
                    ));
                }
                (other, _) => {
                    result.push('\\');
                    result.push(other);
                    continue;
                }
            }
            separators += 1;
            continue;
        }
        if Some(character) == escape {
            is_escaped = true;
            continue;
        }
        match character {
            '\\' if in_class => result.push_str("\\\\"),
            other if in_class => {
                result.push(other);
                in_class = other != ']';
            }
            '[' => {
                result.push('[');
                in_class = true;
            }
            '%' => result.push_str(".*"),
            '_' => result.push('.'),
            '(' => result.push_str("(?:"),
            '\\' | '.' | '^' | '$' => {
                result.push('\\');
                result.push(character);
            }
            other => result.push(other),
        }
    }
    result.push_str(")$");
    super::texts::bounded(result)
}
