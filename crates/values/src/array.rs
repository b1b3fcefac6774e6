//! Arrays of one dimension, numbered from 1: PostgreSQL's text and binary formats of them, as `array_in`, `array_out`, `array_recv` and
//! `array_send` of PostgreSQL 15 have them.
//!
//! Invariant: an element is NULL or a value of the type that the array names, which is none of those that share the values of another, and no array.
//! Arrays of several dimensions, or numbered otherwise, are refused with 0A000.

use crate::error::{ValueError, sqlstate};
use crate::limits::{ARRAY_DIMENSIONS_MAX, ARRAY_ELEMENTS_MAX};
use crate::types::Type;
use crate::value::Value;
use crate::{binary, text};

/// An array: its elements, and their type, which it has without any of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    element: Type,
    values: Vec<Value>,
}

impl Array {
    /// An array of these elements of this type.
    ///
    /// # Panics
    /// If the type is that of an array, or an element has another type.
    pub fn new(element: Type, values: Vec<Value>) -> Self {
        let element = held(element);
        assert!(element.element().is_none(), "an array has one dimension");
        let fits = |value: &Value| value.data_type().is_none_or(|found| found == element);
        assert!(values.iter().all(fits), "every element is of type {element}");
        Self { element, values }
    }

    /// The type of the elements, as [`Value::data_type`] names it.
    pub fn element(&self) -> Type {
        self.element
    }

    /// The elements.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The array with each element, but NULLs, made anew as one of another type. Errors: those of `convert`.
    pub(crate) fn map(
        &self,
        element: Type,
        mut convert: impl FnMut(&Value) -> Result<Value, ValueError>,
    ) -> Result<Value, ValueError> {
        let convert = |value: &Value| if value.is_null() { Ok(Value::Null) } else { convert(value) };
        Ok(Value::array(element, self.values.iter().map(convert).collect::<Result<_, _>>()?))
    }
}

/// The type by which values of this one are held: every string is `text`.
pub(crate) fn held(data_type: Type) -> Type {
    match data_type.element() {
        Some(element) => held(element).array(),
        None if data_type.is_string() => Type::Text,
        None => data_type.unmodified(),
    }
}

#[cold]
fn several_dimensions() -> ValueError {
    ValueError::unsupported("arrays of several dimensions are not supported")
}

#[cold]
fn numbered_otherwise(first: i64) -> ValueError {
    ValueError::unsupported(format!("arrays whose first element has number {first} instead of 1 are not supported"))
}

#[cold]
fn too_large() -> ValueError {
    ValueError::new(
        sqlstate::PROGRAM_LIMIT_EXCEEDED,
        format!("array size exceeds the maximum allowed ({ARRAY_ELEMENTS_MAX})"),
    )
}

/// As the scanner of PostgreSQL has it (`array_isspace`).
fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t'..='\r')
}

fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// Appends `{1,NULL,"a b"}`. `element`: the type that the column's elements have, which pads `char(n)`.
pub(crate) fn write_text(array: &Array, element: Type, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut item = Vec::new();
    for (place, value) in array.values.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        if value.is_null() {
            out.extend_from_slice(b"NULL");
            continue;
        }
        item.clear();
        text::write(value, element, &mut item);
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
pub(crate) fn parse_text(input: &str, element: Type) -> Result<Value, ValueError> {
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
                Some(item) => text::parse(&item, element)?,
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

/// Appends the elements behind a header: the number of dimensions, whether there are NULLs, the elements' type, and of the dimension its size and its
/// first number. An array without elements has no dimension.
pub(crate) fn write_binary(array: &Array, element: Type, out: &mut Vec<u8>) {
    let dimensions = i32::from(!array.values.is_empty());
    let has_nulls = i32::from(array.values.iter().any(Value::is_null));
    out.extend_from_slice(&dimensions.to_be_bytes());
    out.extend_from_slice(&has_nulls.to_be_bytes());
    out.extend_from_slice(&element.oid().to_be_bytes());
    if array.values.is_empty() {
        return;
    }
    out.extend_from_slice(&(array.values.len() as i32).to_be_bytes());
    out.extend_from_slice(&1i32.to_be_bytes());
    for value in &array.values {
        let start = out.len();
        out.extend_from_slice(&(-1i32).to_be_bytes());
        if !value.is_null() {
            binary::write(value, element, out);
            let length = (out.len() - start - size_of::<i32>()) as i32;
            out[start..start + size_of::<i32>()].copy_from_slice(&length.to_be_bytes());
        }
    }
}

/// Reads what [`write_binary`] writes. Errors: 22P03, 08P01, 42804 for elements of another type, 54000, those of the elements, 0A000.
pub(crate) fn parse_binary(bytes: &[u8], element: Type) -> Result<Value, ValueError> {
    let invalid = |message: String| ValueError::new(sqlstate::INVALID_BINARY_REPRESENTATION, message);
    let mut rest = bytes;
    let dimensions = number(&mut rest)?;
    let flags = number(&mut rest)?;
    let oid = number(&mut rest)? as u32;
    if dimensions < 0 {
        return Err(invalid(format!("invalid number of dimensions: {dimensions}")));
    }
    if dimensions > ARRAY_DIMENSIONS_MAX {
        let message =
            format!("number of array dimensions ({dimensions}) exceeds the maximum allowed ({ARRAY_DIMENSIONS_MAX})");
        return Err(ValueError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
    }
    if flags != 0 && flags != 1 {
        return Err(invalid("invalid array flags".into()));
    }
    if oid != element.oid() {
        let found = Type::from_oid(oid).map_or("unknown", |found| found.base_name());
        let message = format!(
            "binary data has array element type {oid} ({found}) instead of expected {} ({})",
            element.oid(),
            element.base_name()
        );
        return Err(ValueError::new(sqlstate::DATATYPE_MISMATCH, message));
    }
    let mut sizes = Vec::with_capacity(dimensions as usize);
    for _ in 0..dimensions {
        sizes.push((number(&mut rest)?, number(&mut rest)?));
    }
    if sizes.iter().any(|(size, _)| usize::try_from(*size).map_or(true, |size| size > ARRAY_ELEMENTS_MAX)) {
        return Err(too_large());
    }
    let mut values = Vec::new();
    if sizes.iter().all(|(size, _)| *size > 0) {
        match *sizes.as_slice() {
            [] => {}
            [(size, 1)] => {
                for _ in 0..size {
                    values.push(parse_element(&mut rest, element)?);
                }
            }
            [(_, first)] => return Err(numbered_otherwise(i64::from(first))),
            _ => return Err(several_dimensions()),
        }
    }
    if !rest.is_empty() {
        return Err(invalid("incorrect binary data format".into()));
    }
    Ok(Value::array(element, values))
}

fn parse_element(rest: &mut &[u8], element: Type) -> Result<Value, ValueError> {
    let length = number(rest)?;
    if length == -1 {
        return Ok(Value::Null);
    }
    let split = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
    let (item, behind) = split
        .ok_or_else(|| ValueError::new(sqlstate::INVALID_BINARY_REPRESENTATION, "insufficient data left in message"))?;
    *rest = behind;
    binary::parse(item, element)
}

fn number(rest: &mut &[u8]) -> Result<i32, ValueError> {
    let (taken, behind) = rest
        .split_first_chunk::<4>()
        .ok_or_else(|| ValueError::new(sqlstate::PROTOCOL_VIOLATION, "insufficient data left in message"))?;
    *rest = behind;
    Ok(i32::from_be_bytes(*taken))
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
                if let Ok(Value::Array(array)) = parse_text(literal, element) {
                    let mut out = Vec::new();
                    write_text(&array, element, &mut out);
                    prop_assert_eq!(text::parse_bytes(&out, element.array()), Ok(Value::Array(array)));
                }
            }
        }

        /// As above, with a believable header.
        #[test]
        fn arbitrary_messages_do_not_panic(
            dimensions in 0i32..3, flags in 0i32..2, sizes in prop::collection::vec((0i32..4, 1i32..3), 2),
            lengths in prop::collection::vec(-1i32..9, 0..4), element in generate::scalar_type(),
        ) {
            let mut bytes = Vec::new();
            for number in [dimensions, flags, element.oid() as i32] {
                bytes.extend_from_slice(&number.to_be_bytes());
            }
            for (size, first) in &sizes[..dimensions as usize] {
                bytes.extend_from_slice(&size.to_be_bytes());
                bytes.extend_from_slice(&first.to_be_bytes());
            }
            for length in lengths {
                bytes.extend_from_slice(&length.to_be_bytes());
                bytes.resize(bytes.len() + length.max(0) as usize, b'1');
            }
            if let Ok(value) = parse_binary(&bytes, element) {
                let Value::Array(array) = &value else { panic!("an array") };
                let mut again = Vec::new();
                write_binary(array, element, &mut again);
                prop_assert_eq!(parse_binary(&again, element), Ok(value));
            }
        }
    }

    /// What PostgreSQL reads, and as what.
    #[test]
    fn literals_are_read_as_postgresql_reads_them() {
        let texts = |literal: &str| match parse_text(literal, Type::Text).unwrap() {
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
            assert_eq!(parse_text(literal, Type::Integer).map_err(|error| error.sqlstate), Err(code), "{literal}");
        }
    }

    /// As above, for drivers that speak binary.
    #[test]
    fn wrong_messages_are_refused() {
        let message = |numbers: &[i32]| -> Vec<u8> { numbers.iter().flat_map(|number| number.to_be_bytes()).collect() };
        let cases: [(&[i32], &str); 13] = [
            (&[], "08P01"),
            (&[1, 0, 23, 1], "08P01"),
            (&[-1, 0, 23], "22P03"),
            (&[7, 0, 23], "54000"),
            (&[1, 2, 23, 0, 1], "22P03"),
            (&[1, 0, 20, 0, 1], "42804"),
            (&[1, 0, 23, -1, 1], "54000"),
            (&[1, 0, 23, i32::MAX, 1], "54000"),
            (&[1, 0, 23, 1, 0, 4, 7], "0A000"),
            (&[2, 0, 23, 1, 1, 1, 1, 4, 7], "0A000"),
            (&[1, 0, 23, 1, 1, 8, 7], "22P03"),
            (&[1, 0, 23, 1, 1, 4, 7, 9], "22P03"),
            (&[1, 0, 23, 2, 1, 4, 7], "08P01"),
        ];
        for (numbers, code) in cases {
            let parsed = parse_binary(&message(numbers), Type::Integer);
            assert_eq!(parsed.map_err(|error| error.sqlstate), Err(code), "{numbers:?}");
        }
        let empty = Ok(Value::array(Type::Integer, vec![]));
        assert_eq!(parse_binary(&message(&[0, 0, 23]), Type::Integer), empty);
        assert_eq!(parse_binary(&message(&[2, 0, 23, 0, 1, 5, 1]), Type::Integer), empty);
    }
}
