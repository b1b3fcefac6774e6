//! Variable-length integers of the row codec: LEB128, small magnitudes in few bytes.
//!
//! Invariant: a reader accepts exactly the shortest encoding of each number, so equal rows are equal bytes.

use crate::error::ValueError;

/// Appends `number` in 1 to 10 bytes, least significant seven bits first.
pub(crate) fn write(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Maps small magnitudes of either sign to small unsigned numbers.
pub(crate) fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// The inverse of [`zigzag`].
pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Takes one number off the front of `bytes`.
#[inline]
pub(crate) fn read(bytes: &mut &[u8]) -> Result<u64, ValueError> {
    match bytes.split_first() {
        Some((&number, rest)) if number < 0x80 => {
            *bytes = rest;
            Ok(u64::from(number))
        }
        _ => read_long(bytes),
    }
}

/// The same, of a number of several bytes.
fn read_long(bytes: &mut &[u8]) -> Result<u64, ValueError> {
    let mut number = 0u64;
    for (index, &byte) in bytes.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        if index == 9 && bits > 1 {
            return Err(ValueError::corrupt("a number has more than 64 bits"));
        }
        number |= bits << (7 * index);
        if byte & 0x80 == 0 {
            if index > 0 && byte == 0 {
                return Err(ValueError::corrupt("a number is not in its shortest form"));
            }
            *bytes = &bytes[index + 1..];
            return Ok(number);
        }
    }
    Err(ValueError::corrupt("a number does not end"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A number that came back different would silently change stored rows.
        #[test]
        fn numbers_come_back(number: i64) {
            let mut bytes = Vec::new();
            write(zigzag(number), &mut bytes);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(unzigzag(read(&mut rest).unwrap()), number);
            prop_assert!(rest.is_empty());
        }
    }

    /// Two encodings of one number would make equal rows differ in their bytes.
    #[test]
    fn longer_forms_are_refused() {
        assert!(read(&mut [0x80, 0x00].as_slice()).is_err());
        assert!(read(&mut [0xff; 10].as_slice()).is_err());
        assert!(read(&mut [0x80].as_slice()).is_err());
    }
}
