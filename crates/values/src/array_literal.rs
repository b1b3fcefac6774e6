//! Arrays as text: `array_in` and `array_out` of PostgreSQL 15.

use crate::array::{Array, numbered_otherwise, several_dimensions, too_large};
use crate::error::{ValueError, sqlstate};
use crate::limits::ARRAY_ELEMENTS_MAX;
use crate::text;
use crate::types::Type;
use crate::value::Value;
use crate::zone::Zone;

/// As the scanner of PostgreSQL has it (`array_isspace`).
fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t'..='\r')
}

fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// Appends `{1,NULL,"a b"}`. `element`: the type that the column's elements have, which pads `char(n)`.
pub(crate) fn write_text(array: &Array, element: Type, zone: &Zone, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut item = Vec::new();
    for (place, value) in array.values().iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        if value.is_null() {
            out.extend_from_slice(b"NULL");
            continue;
        }
        item.clear();
        text::write_in(value, element, zone, &mut item);
        let special = |byte: &u8| matches!(byte, b'{' | b'}' | b',' | b'"' | b'\\' | b' ' | b'\t'..=b'\r');
        if !item.is_empty() && !item.eq_ignore_ascii_case(b"null") && !item.iter().any(special) {
            out.extend_from_slice(&item);
            continue;
        }
        out.push(b'"');
        for byte in &item {
            if matches!(byte, b'"' | b'\\') {
                out.push(b'\\');
            }
            out.push(*byte);
        }
        out.push(b'"');
    }
    out.push(b'}');
}

/// Reads `{1, NULL, "a b"}`, also behind its dimensions, `[1:3]=`. Errors: 22P02, those of the elements, 0A000.
pub(crate) fn parse_text(input: &str, element: Type, zone: &Zone) -> Result<Value, ValueError> {
    let malformed = |detail: &str| {
        let message = format!("malformed array literal: \"{input}\"");
        let error = ValueError::new(sqlstate::INVALID_TEXT_REPRESENTATION, message);
        if detail.is_empty() { error } else { error.with_detail(detail) }
    };
    let start = trim_start(input);
    let (elements, contents) = match start.strip_prefix('[') {
        None => (None, start),
        Some(dimensions) => {
            let (elements, contents) = parse_dimensions(dimensions)?.ok_or_else(|| malformed(""))?;
            (Some(elements), contents)
        }
    };
    let mut rest = contents.strip_prefix('{').ok_or_else(|| {
        malformed(match elements {
            None => "Array value must start with \"{\" or dimension information.",
            Some(_) => "Array contents must start with \"{\".",
        })
    })?;
    let mut values = Vec::new();
    if let Some(behind) = trim_start(rest).strip_prefix('}') {
        rest = behind;
    } else {
        loop {
            let (item, behind) = parse_item(rest, &malformed)?;
            values.push(match item {
                None => Value::Null,
                Some(item) => text::parse_in(&item, element, zone)?,
            });
            if values.len() > ARRAY_ELEMENTS_MAX {
                return Err(too_large());
            }
            match behind.split_at(1) {
                (",", behind) => rest = behind,
                (_, behind) => {
                    rest = behind;
                    break;
                }
            }
        }
    }
    if !trim_start(rest).is_empty() {
        return Err(malformed("Junk after closing right brace."));
    }
    if elements.is_some_and(|elements| elements != values.len() as i64) {
        return Err(malformed("Specified array dimensions do not match array contents."));
    }
    Ok(Value::array(element, values))
}

/// The number of elements that `1:3]=` or `3]=` speaks of, and what follows; `None` if it is neither. Errors: 2202E, 0A000.
fn parse_dimensions(text: &str) -> Result<Option<(i64, &str)>, ValueError> {
    let parsed = || {
        let (bounds, behind) = text.split_once(']')?;
        let (low, high) = bounds.split_once(':').unwrap_or(("1", bounds));
        Some((low.parse::<i32>().ok()?, high.parse::<i32>().ok()?, trim_start(behind)))
    };
    let Some((low, high, behind)) = parsed() else { return Ok(None) };
    if high < low {
        let message = "upper bound cannot be less than lower bound";
        return Err(ValueError::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, message));
    }
    if behind.starts_with('[') {
        return Err(several_dimensions());
    }
    if low != 1 {
        return Err(numbered_otherwise(i64::from(low)));
    }
    Ok(behind.strip_prefix('=').map(|contents| (i64::from(high), trim_start(contents))))
}

/// An element's text, `None` for NULL, and what follows: a comma or a brace and the rest. Errors: those that `malformed` makes of a reason, 0A000.
fn parse_item<'a>(
    text: &'a str,
    malformed: &impl Fn(&str) -> ValueError,
) -> Result<(Option<String>, &'a str), ValueError> {
    let text = trim_start(text);
    let unexpected = |letter: char| malformed(&format!("Unexpected \"{letter}\" character."));
    let end = || malformed("Unexpected end of input.");
    match text.chars().next().ok_or_else(end)? {
        '"' => {
            let (item, behind) = quoted_item(&text[1..]).ok_or_else(end)?;
            let behind = trim_start(behind);
            match behind.chars().next().ok_or_else(end)? {
                ',' | '}' => Ok((Some(item), behind)),
                letter @ ('{' | '\\') => Err(unexpected(letter)),
                _ => Err(malformed("Unexpected array element.")),
            }
        }
        '{' => Err(several_dimensions()),
        letter @ (',' | '}') => Err(unexpected(letter)),
        _ => {
            let (item, behind) = plain_item(text).ok_or_else(end)?;
            match behind.chars().next().ok_or_else(end)? {
                ',' | '}' => Ok((item, behind)),
                '"' => Err(malformed("Unexpected array element.")),
                letter => Err(unexpected(letter)),
            }
        }
    }
}

/// The element up to a quotation mark, and what follows that; `None` if there is none.
fn quoted_item(text: &str) -> Option<(String, &str)> {
    let mut item = String::new();
    let mut letters = text.chars();
    loop {
        match letters.next()? {
            '"' => return Some((item, letters.as_str())),
            '\\' => item.push(letters.next()?),
            letter => item.push(letter),
        }
    }
}

/// The element without quotation marks, without blanks at its end unless they are escaped, NULL if it says so; and what ends it. `None` if it ends
/// with a backslash.
fn plain_item(text: &str) -> Option<(Option<String>, &str)> {
    let mut item = String::new();
    let mut kept = 0;
    let mut is_escaped = false;
    let mut letters = text.chars();
    loop {
        let rest = letters.as_str();
        match letters.next() {
            None | Some('"' | '{' | '}' | ',') => {
                item.truncate(kept);
                let is_null = !is_escaped && item.eq_ignore_ascii_case("null");
                return Some(((!is_null).then_some(item), rest));
            }
            Some('\\') => {
                item.push(letters.next()?);
                kept = item.len();
                is_escaped = true;
            }
            Some(letter) => {
                item.push(letter);
                if !is_space(letter) {
                    kept = item.len();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;
    use proptest::prelude::*;

    proptest! {
        /// A client must not be able to stop a site.
        #[test]
        fn arbitrary_literals_do_not_panic(
            pieces in prop::collection::vec(
                prop::sample::select(vec!["{", "}", ",", "\"", "\\", " ", "NULL", "1", "a b", "[", "]", ":", "=", "-2", "\u{e9}"]),
                0..12,
            ),
            element in generate::scalar_type(),
        ) {
            let literal = format!("{{{}", pieces.concat());
            for literal in [literal.as_str(), &literal[1..]] {
                if let Ok(Value::Array(array)) = parse_text(literal, element, &Zone::UTC) {
                    let mut out = Vec::new();
                    write_text(&array, element, &Zone::UTC, &mut out);
                    prop_assert_eq!(text::parse_bytes(&out, element.array()), Ok(Value::Array(array)));
                }
            }
        }
    }

    /// What PostgreSQL reads, and as what.
    #[test]
    fn literals_are_read_as_postgresql_reads_them() {
        let texts = |literal: &str| match parse_text(literal, Type::Text, &Zone::UTC).unwrap() {
            Value::Array(array) => {
                array.values().iter().map(|value| value.as_text().map(str::to_owned)).collect::<Vec<_>>()
            }
            other => panic!("{other:?} is no array"),
        };
        let some = |texts: &[&str]| texts.iter().map(|text| Some((*text).to_owned())).collect::<Vec<_>>();
        assert_eq!(texts("{}"), some(&[]));
        assert_eq!(texts(" { } "), some(&[]));
        assert_eq!(texts("{a, b c ,\td\n}"), some(&["a", "b c", "d"]));
        assert_eq!(texts(r#"{"a\"b","c\\d"," e ",""}"#), some(&["a\"b", "c\\d", " e ", ""]));
        assert_eq!(texts(r"{a\,b,c\ ,\null}"), some(&["a,b", "c ", "null"]));
        assert_eq!(texts(r#"{NULL,nUlL,"NULL"}"#), [None, None, Some("NULL".to_owned())]);
        assert_eq!(texts("[1:2]={a,b}"), some(&["a", "b"]));
        assert_eq!(texts("[2] = {a,b}"), some(&["a", "b"]));
    }

    /// A driver tells its user by these codes what is wrong.
    #[test]
    fn wrong_literals_are_refused() {
        let cases = [
            ("", "22P02"),
            ("1", "22P02"),
            ("{", "22P02"),
            ("{1", "22P02"),
            ("{1,}", "22P02"),
            ("{,1}", "22P02"),
            ("{1}}", "22P02"),
            ("{\"1", "22P02"),
            ("{\"1\"2}", "22P02"),
            ("{1\"2\"}", "22P02"),
            ("{1{2}}", "22P02"),
            ("{a}", "22P02"),
            ("{9999999999}", "22003"),
            ("[1:3]={1,2}", "22P02"),
            ("[x]={1}", "22P02"),
            ("[1:2]{1,2}", "22P02"),
            ("[2:1]={}", "2202E"),
            ("[2:3]={1,2}", "0A000"),
            ("[1:1][1:1]={{1}}", "0A000"),
            ("{{1},{2}}", "0A000"),
        ];
        for (literal, code) in cases {
            let found = parse_text(literal, Type::Integer, &Zone::UTC).map_err(|error| error.sqlstate);
            assert_eq!(found, Err(code), "{literal}");
        }
    }
}
