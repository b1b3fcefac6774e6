//! Arrays in binary: `array_recv` and `array_send` of PostgreSQL 15.

use crate::array::{Array, numbered_otherwise, several_dimensions, too_large};
use crate::binary;
use crate::error::{ValueError, sqlstate};
use crate::limits::{ARRAY_DIMENSIONS_MAX, ARRAY_ELEMENTS_MAX};
use crate::types::Type;
use crate::value::Value;

/// Appends the elements behind a header: the number of dimensions, whether there are NULLs, the elements' type, and of the dimension its size and its
/// first number. An array without elements has no dimension.
pub(crate) fn write_binary(array: &Array, element: Type, out: &mut Vec<u8>) {
    let dimensions = i32::from(!array.values().is_empty());
    let has_nulls = i32::from(array.values().iter().any(Value::is_null));
    out.extend_from_slice(&dimensions.to_be_bytes());
    out.extend_from_slice(&has_nulls.to_be_bytes());
    out.extend_from_slice(&element.oid().to_be_bytes());
    if array.values().is_empty() {
        return;
    }
    out.extend_from_slice(&(array.values().len() as i32).to_be_bytes());
    out.extend_from_slice(&1i32.to_be_bytes());
    for value in array.values() {
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
        /// A client must not be able to stop a site, not with a believable header either.
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

    /// A driver tells its user by these codes what is wrong.
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
