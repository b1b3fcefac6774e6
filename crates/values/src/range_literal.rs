//! Ranges and multiranges as text: `range_in`, `range_out` and those of multiranges of PostgreSQL 15.

use crate::error::{ValueError, sqlstate};
use crate::float::is_space;
use crate::ranges::{MultirangeValue, RangeCut, RangeKind, RangePoint, RangeSpan, RangeValue};
use crate::text;
use crate::zone::Zone;

/// Appends `empty`, or the bounds in brackets.
pub(crate) fn write_range(range: &RangeValue, zone: &Zone, out: &mut Vec<u8>) {
    match range.span() {
        None => out.extend_from_slice(b"empty"),
        Some(span) => write_span(range.kind(), span, zone, out),
    }
}

/// Appends the ranges in braces.
pub(crate) fn write_multirange(multirange: &MultirangeValue, zone: &Zone, out: &mut Vec<u8>) {
    out.push(b'{');
    for (index, span) in multirange.spans().iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_span(multirange.kind(), span, zone, out);
    }
    out.push(b'}');
}

fn write_span(kind: RangeKind, span: &RangeSpan, zone: &Zone, out: &mut Vec<u8>) {
    out.push(if matches!(span.lower(), RangeCut::Before(_)) { b'[' } else { b'(' });
    span.lower().point().into_iter().for_each(|point| write_point(kind, point, zone, out));
    out.push(b',');
    span.upper().point().into_iter().for_each(|point| write_point(kind, point, zone, out));
    out.push(if matches!(span.upper(), RangeCut::Behind(_)) { b']' } else { b')' });
}

/// In quotation marks if it has a blank. No bound has another letter that would need them.
fn write_point(kind: RangeKind, point: &RangePoint, zone: &Zone, out: &mut Vec<u8>) {
    let mut written = Vec::new();
    kind.value(point).into_iter().for_each(|value| text::write_in(&value, kind.subtype(), zone, &mut written));
    let quoted = written.iter().any(|byte| is_space(char::from(*byte)));
    if quoted {
        out.push(b'"');
    }
    out.append(&mut written);
    if quoted {
        out.push(b'"');
    }
}

/// What an empty range is called, in any case of letters.
const EMPTY: &str = "empty";

fn after_empty(text: &str) -> Option<&str> {
    let (word, behind) = text.split_at_checked(EMPTY.len())?;
    word.eq_ignore_ascii_case(EMPTY).then_some(behind)
}

fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// Reads a range; local times are of the zone. Errors: 22P02, those of its bounds, and of [`RangeSpan::new`].
pub(crate) fn parse_range(input: &str, kind: RangeKind, zone: &Zone) -> Result<RangeValue, ValueError> {
    let malformed = |detail: &str| {
        let message = format!("malformed range literal: \"{input}\"");
        ValueError::new(sqlstate::INVALID_TEXT_REPRESENTATION, message).with_detail(detail)
    };
    let text = trim_start(input);
    if let Some(behind) = after_empty(text) {
        return match trim_start(behind) {
            "" => Ok(RangeValue::empty(kind)),
            _ => Err(malformed("Junk after \"empty\" key word.")),
        };
    }
    let (includes_lower, rest) = match (text.strip_prefix('['), text.strip_prefix('(')) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => return Err(malformed("Missing left parenthesis or bracket.")),
    };
    let cut_off = || malformed("Unexpected end of input.");
    let (lower, rest) = parse_bound(rest).ok_or_else(cut_off)?;
    let rest = rest.strip_prefix(',').ok_or_else(|| malformed("Missing comma after lower bound."))?;
    let (upper, rest) = parse_bound(rest).ok_or_else(cut_off)?;
    let (includes_upper, rest) = match (rest.strip_prefix(']'), rest.strip_prefix(')')) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => return Err(malformed("Too many commas.")),
    };
    if !trim_start(rest).is_empty() {
        return Err(malformed("Junk after right parenthesis or bracket."));
    }
    let point = |text: Option<String>| -> Result<_, ValueError> {
        Ok(match text {
            Some(text) => kind.point(&text::parse_in(&text, kind.subtype(), zone)?),
            None => None,
        })
    };
    let lower = match point(lower)? {
        None => RangeCut::Least,
        Some(point) if includes_lower => RangeCut::Before(point),
        Some(point) => RangeCut::Behind(point),
    };
    let upper = match point(upper)? {
        None => RangeCut::Greatest,
        Some(point) if includes_upper => RangeCut::Behind(point),
        Some(point) => RangeCut::Before(point),
    };
    RangeValue::new(kind, lower, upper)
}

/// A bound's text, `None` for an infinite one, and what follows: a comma, parenthesis or bracket. `None` if the text ends before.
fn parse_bound(text: &str) -> Option<(Option<String>, &str)> {
    if text.starts_with([',', ')', ']']) {
        return Some((None, text));
    }
    let mut bound = String::new();
    let mut is_quoted = false;
    let mut letters = text.chars();
    loop {
        let rest = letters.as_str();
        match letters.next()? {
            ',' | ')' | ']' if !is_quoted => return Some((Some(bound), rest)),
            '\\' => bound.push(letters.next()?),
            '"' if is_quoted && letters.as_str().starts_with('"') => bound.extend(letters.next()),
            '"' => is_quoted = !is_quoted,
            letter => bound.push(letter),
        }
    }
}

/// Reads a multirange. Errors: as [`parse_range`].
pub(crate) fn parse_multirange(input: &str, kind: RangeKind, zone: &Zone) -> Result<MultirangeValue, ValueError> {
    let malformed = |detail: &str| {
        let message = format!("malformed multirange literal: \"{input}\"");
        ValueError::new(sqlstate::INVALID_TEXT_REPRESENTATION, message).with_detail(detail)
    };
    let cut_off = || malformed("Unexpected end of input.");
    let mut rest = trim_start(input).strip_prefix('{').ok_or_else(|| malformed("Missing left brace."))?;
    let mut spans: Vec<RangeSpan> = Vec::new();
    let mut is_first = true;
    loop {
        rest = trim_start(rest);
        match rest.chars().next().ok_or_else(cut_off)? {
            '}' if is_first => break,
            '[' | '(' => {
                let end = range_end(rest).ok_or_else(cut_off)?;
                spans.extend(parse_range(&rest[..end], kind, zone)?.span().cloned());
                rest = &rest[end..];
            }
            _ => rest = after_empty(rest).ok_or_else(|| malformed("Expected range start."))?,
        }
        is_first = false;
        rest = trim_start(rest);
        match rest.chars().next().ok_or_else(cut_off)? {
            ',' => rest = &rest[1..],
            '}' => break,
            _ => return Err(malformed("Expected comma or end of multirange.")),
        }
    }
    match trim_start(&rest[1..]) {
        "" => Ok(MultirangeValue::new(kind, spans)),
        _ => Err(malformed("Junk after closing right brace.")),
    }
}

/// Where the range at the begin of a text ends, its parenthesis or bracket included; `None` if it does not.
fn range_end(text: &str) -> Option<usize> {
    let mut is_quoted = false;
    let mut letters = text.char_indices();
    loop {
        match letters.next()? {
            (place, ')' | ']') if !is_quoted => return Some(place + 1),
            (_, '\\') => drop(letters.next()?),
            (_, '"') => is_quoted = !is_quoted,
            _ => {}
        }
    }
}
