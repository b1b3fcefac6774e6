//! Hardware addresses: `macaddr` of 6 bytes and `macaddr8` of 8, as PostgreSQL 15's `mac.c` and `mac8.c` read and print them.

use crate::error::{ValueError, sqlstate};
use crate::float::is_space;
use std::io::Write;

/// What stands in the middle of an address of 8 bytes that was one of 6.
const MIDDLE: [u8; 2] = [0xff, 0xfe];

/// A `macaddr`.
pub type MacAddress = [u8; 6];
/// A `macaddr8`.
pub type MacAddress8 = [u8; 8];

/// Appends the bytes with colons between.
pub fn write(bytes: &[u8], out: &mut Vec<u8>) {
    for (place, byte) in bytes.iter().enumerate() {
        if place > 0 {
            out.push(b':');
        }
        // Writing to a vector cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
}

/// The forms of a `macaddr`, in the order in which they are tried: digits of a byte at most, and what stands behind each byte but the last.
const FORMS: [(Option<usize>, [&str; 5]); 7] = [
    (None, [":", ":", ":", ":", ":"]),
    (None, ["-", "-", "-", "-", "-"]),
    (Some(2), ["", "", ":", "", ""]),
    (Some(2), ["", "", "-", "", ""]),
    (Some(2), ["", ".", "", ".", ""]),
    (Some(2), ["", "-", "", "-", ""]),
    (Some(2), ["", "", "", "", ""]),
];

/// Reads a `macaddr` in one of seven forms. Errors: 22P02, 22003 for what is more than a byte.
pub fn parse(input: &str) -> Result<MacAddress, ValueError> {
    let found = FORMS.iter().find_map(|(width, between)| scanned(input, *width, between));
    let numbers = found.ok_or_else(|| ValueError::syntax("macaddr", input))?;
    let mut bytes = [0; 6];
    for (byte, number) in bytes.iter_mut().zip(numbers) {
        *byte = u8::try_from(number).map_err(|_| {
            let message = format!("invalid octet value in \"macaddr\" value: \"{input}\"");
            ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message)
        })?;
    }
    Ok(bytes)
}

/// Six numbers with this between them, and nothing but space behind: what C's `sscanf` finds.
fn scanned(input: &str, width: Option<usize>, between: &[&str; 5]) -> Option<[u32; 6]> {
    let mut rest = input;
    let mut numbers = [0; 6];
    for (place, number) in numbers.iter_mut().enumerate() {
        *number = hexadecimal(&mut rest, width)?;
        if let Some(separator) = between.get(place) {
            rest = rest.strip_prefix(separator)?;
        }
    }
    rest.trim_start_matches(is_space).is_empty().then_some(numbers)
}

/// What C's `%x` reads: space, a sign, `0x`, digits; of a number that is too large the last 32 bits.
fn hexadecimal(rest: &mut &str, width: Option<usize>) -> Option<u32> {
    let text = rest.trim_start_matches(is_space);
    let bytes = text.as_bytes();
    let bytes = &bytes[..bytes.len().min(width.unwrap_or(usize::MAX))];
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let prefix = match &bytes[sign..] {
        [b'0', b'x' | b'X', ..] => 2,
        _ => 0,
    };
    let digits = &bytes[sign + prefix..];
    let count = digits.iter().take_while(|digit| digit.is_ascii_hexdigit()).count();
    if count == 0 {
        return None;
    }
    let mut number = Some(0_u64);
    for digit in &digits[..count] {
        let digit = char::from(*digit).to_digit(16)?;
        number = number.and_then(|number| number.checked_mul(16)).map(|number| number + u64::from(digit));
    }
    *rest = &text[sign + prefix + count..];
    Some(match (number, bytes[0]) {
        (None, _) => u32::MAX,
        (Some(number), b'-') => number.wrapping_neg() as u32,
        (Some(number), _) => number as u32,
    })
}

/// Reads a `macaddr8`: pairs of digits, with one kind of separator between some of them; six bytes become eight. Errors: 22P02.
pub fn parse8(input: &str) -> Result<MacAddress8, ValueError> {
    pairs(input.as_bytes()).ok_or_else(|| ValueError::syntax("macaddr8", input))
}

fn pairs(input: &[u8]) -> Option<MacAddress8> {
    let space = |byte: &u8| is_space(char::from(*byte));
    let leading = input.iter().take_while(|byte| space(byte)).count();
    let mut rest = &input[leading..];
    let mut bytes = Vec::with_capacity(8);
    let mut separator = None;
    // PostgreSQL does not look at a single character at the end.
    while let [high, low, behind @ ..] = rest {
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        if bytes.len() == 8 {
            return None;
        }
        bytes.push((digit(high)? << 4 | digit(low)?) as u8);
        rest = behind;
        if let [found @ (b':' | b'-' | b'.'), behind @ ..] = rest {
            if *separator.get_or_insert(*found) != *found {
                return None;
            }
            rest = behind;
        }
        if matches!(bytes.len(), 6 | 8) && rest.first().is_some_and(space) {
            rest = &rest[rest.iter().take_while(|byte| space(byte)).count()..];
            if !rest.is_empty() {
                return None;
            }
        }
    }
    match <MacAddress>::try_from(bytes.as_slice()) {
        Ok(address) => Some(widened(address)),
        Err(_) => bytes.try_into().ok(),
    }
}

/// A `macaddr` as a `macaddr8`.
pub fn widened([a, b, c, d, e, f]: MacAddress) -> MacAddress8 {
    [a, b, c, MIDDLE[0], MIDDLE[1], d, e, f]
}

/// A `macaddr8` as the `macaddr` that it was made of. Errors: 22003 if it was made of none.
pub fn narrowed([a, b, c, d, e, f, g, h]: MacAddress8) -> Result<MacAddress, ValueError> {
    if [d, e] == MIDDLE {
        return Ok([a, b, c, f, g, h]);
    }
    let message = "macaddr8 data out of range to convert to macaddr";
    Err(ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message))
}

/// Reads the bytes of a `macaddr8` in binary, which may be those of a `macaddr`.
pub(crate) fn of_binary8(bytes: &[u8]) -> Option<MacAddress8> {
    match <MacAddress>::try_from(bytes) {
        Ok(address) => Some(widened(address)),
        Err(_) => bytes.try_into().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        write(bytes, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// The seven forms of PostgreSQL's manual, 8.9.3.
    #[test]
    fn all_forms_are_read() {
        let forms = [
            "08:00:2b:01:02:03",
            "08-00-2b-01-02-03",
            "08002b:010203",
            "08002b-010203",
            "0800.2b01.0203",
            "0800-2b01-0203",
            "08002b010203",
            " 8:0:2B:1:2:3 ",
        ];
        for form in forms {
            assert_eq!(parse(form).map(|bytes| written(&bytes)).as_deref(), Ok("08:00:2b:01:02:03"), "{form}");
        }
        for form in ["08:00:2b:01:02:03:04:05", "08-00-2b-01-02-03-04-05", "08002b:0102030405", "08002b0102030405 "] {
            assert_eq!(parse8(form).map(|bytes| written(&bytes)).as_deref(), Ok("08:00:2b:01:02:03:04:05"), "{form}");
        }
        assert_eq!(parse8("08:00:2b:01:02:03").map(narrowed), Ok(parse("08:00:2b:01:02:03")));
    }

    /// What PostgreSQL refuses must not be stored.
    #[test]
    fn other_forms_are_refused() {
        for (form, code) in [
            ("", "22P02"),
            ("08:00:2b:01:02", "22P02"),
            ("08:00:2b:01:02:03:04", "22P02"),
            ("08:00:2b:01:02:0g", "22P02"),
            ("08:00-2b:01:02:03", "22P02"),
            ("108:00:2b:01:02:03", "22003"),
            ("-8:00:2b:01:02:03", "22003"),
        ] {
            assert_eq!(parse(form).map_err(|error| error.sqlstate), Err(code), "{form}");
        }
        for form in
            ["", "08:00", "08:00:2b:01:02:03:04", "08:00-2b:01:02:03", "0g:00:2b:01:02:03", "08:00:2b:01:02:03 04"]
        {
            assert_eq!(parse8(form).map_err(|error| error.sqlstate), Err("22P02"), "{form}");
        }
    }
}
