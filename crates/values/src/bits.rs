//! Bit strings: `bit(n)` and `bit varying(n)`, whose values are alike.
//!
//! Invariant: there are as many bytes as the length needs, the first bit is the highest of the first byte, and what a last byte has behind the last bit is
//! zero. So the order of the bytes, and then that of the lengths, is the order bit by bit.

use crate::error::{ValueError, sqlstate};
use crate::limits::BITS_MAX;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::sync::Arc;

/// Bits of a byte.
const BYTE: usize = 8;

/// A bit string.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "(u32, Vec<u8>)", into = "(u32, Vec<u8>)")]
pub struct BitString {
    length: u32,
    bytes: Arc<[u8]>,
}

impl BitString {
    /// The first bits of these bytes, with zeros behind them where there are fewer.
    pub fn new(length: u32, mut bytes: Vec<u8>) -> BitString {
        bytes.resize((length as usize).div_ceil(BYTE), 0);
        let unused = bytes.len() * BYTE - length as usize;
        if let Some(last) = bytes.last_mut() {
            *last &= u8::MAX << unused;
        }
        BitString { length, bytes: bytes.into() }
    }

    /// Of bytes that are exactly these bits; `None` if they are not.
    pub fn of_bytes(length: u32, bytes: &[u8]) -> Option<BitString> {
        let is_whole = length <= BITS_MAX && bytes.len() == (length as usize).div_ceil(BYTE);
        let exact = is_whole.then(|| BitString::new(length, bytes.to_vec()))?;
        (*exact.bytes == *bytes).then_some(exact)
    }

    /// How many bits there are.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// The bits, eight to a byte.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bit at a place that is counted from 0 on the left; false behind the end.
    pub fn bit(&self, place: u32) -> bool {
        let place = place as usize;
        self.bytes.get(place / BYTE).is_some_and(|byte| byte << (place % BYTE) & 0x80 != 0)
    }

    /// With another bit at a place within it.
    pub fn with_bit(&self, place: u32, bit: bool) -> BitString {
        let mut bytes = self.bytes.to_vec();
        let mask = 0x80 >> (place as usize % BYTE);
        if let Some(byte) = bytes.get_mut(place as usize / BYTE) {
            *byte = if bit { *byte | mask } else { *byte & !mask };
        }
        BitString::new(self.length, bytes)
    }

    /// As many bits as this, cut off or with zeros behind them.
    pub fn resized(&self, length: u32) -> BitString {
        BitString::new(length, self.bytes.to_vec())
    }

    /// The bits from one place to before another.
    pub fn slice(&self, from: u32, end: u32) -> BitString {
        let end = end.min(self.length);
        let length = end.saturating_sub(from);
        let places = (0..(length as usize).div_ceil(BYTE)).map(|byte| self.byte_at(from as usize + byte * BYTE));
        BitString::new(length, places.collect())
    }

    /// Eight bits from a place on, with zeros behind the end.
    fn byte_at(&self, place: usize) -> u8 {
        let (byte, shift) = (place / BYTE, place % BYTE);
        let part = |byte: usize| u16::from(self.bytes.get(byte).copied().unwrap_or(0));
        ((part(byte) << BYTE | part(byte + 1)) >> (BYTE - shift)) as u8
    }

    /// One behind the other. Errors: 54000.
    pub fn joined(&self, other: &BitString) -> Result<BitString, ValueError> {
        let length = self.length.checked_add(other.length).filter(|length| *length <= BITS_MAX);
        let length = length.ok_or_else(too_long)?;
        let shift = self.length as usize % BYTE;
        let mut bytes = self.bytes.to_vec();
        for byte in other.bytes() {
            match bytes.last_mut().filter(|_| shift > 0) {
                Some(last) => {
                    *last |= byte >> shift;
                    bytes.push(byte << (BYTE - shift));
                }
                None => bytes.push(*byte),
            }
        }
        Ok(BitString::new(length, bytes))
    }

    /// Bit by bit with another one of this length. Errors: 22026, which says what was to be done.
    pub fn combined(
        &self,
        other: &BitString,
        operation: &str,
        combine: fn(u8, u8) -> u8,
    ) -> Result<BitString, ValueError> {
        if self.length != other.length {
            let message = format!("cannot {operation} bit strings of different sizes");
            return Err(ValueError::new(sqlstate::STRING_DATA_LENGTH_MISMATCH, message));
        }
        let bytes = self.bytes.iter().zip(other.bytes()).map(|(one, other)| combine(*one, *other));
        Ok(BitString::new(self.length, bytes.collect()))
    }

    /// Each bit the other one.
    pub fn complement(&self) -> BitString {
        BitString::new(self.length, self.bytes.iter().map(|byte| !byte).collect())
    }

    /// Shifted to the left, or for a negative number to the right, in its length.
    pub fn shifted(&self, by: i64) -> BitString {
        let places = u32::try_from(by.unsigned_abs()).unwrap_or(u32::MAX).min(self.length);
        if by >= 0 {
            return self.slice(places, self.length).resized(self.length);
        }
        let zeros = BitString::new(places, Vec::new());
        let kept = self.slice(0, self.length - places);
        zeros.joined(&kept).unwrap_or_else(|_| self.clone())
    }

    /// How many bits are set.
    pub fn ones(&self) -> i64 {
        self.bytes.iter().map(|byte| i64::from(byte.count_ones())).sum()
    }

    /// Where another one begins in this one, counted from 1; 0 if it does not.
    pub fn position(&self, part: &BitString) -> u32 {
        if self.length == 0 || part.length > self.length {
            return 0;
        }
        let begins = |from: &u32| {
            part.bytes.iter().enumerate().all(|(index, byte)| {
                let used = (part.length as usize - index * BYTE).min(BYTE);
                let mask = u8::MAX << (BYTE - used);
                self.byte_at(*from as usize + index * BYTE) & mask == *byte
            })
        };
        (0..=self.length - part.length).find(begins).map_or(0, |from| from + 1)
    }

    /// The lowest bits of an integer, with those of its sign before them where there are more.
    pub fn of_integer(number: i64, length: u32) -> BitString {
        let size = (length as usize).div_ceil(BYTE);
        let mut bytes = vec![if number < 0 { u8::MAX } else { 0 }; size];
        // The last bit of the string is the lowest of the number.
        let unused = size * BYTE - length as usize;
        let shifted = i128::from(number) << unused;
        for (byte, source) in bytes.iter_mut().rev().zip(shifted.to_le_bytes()) {
            *byte = source;
        }
        BitString::new(length, bytes)
    }

    /// The number that it is without a sign; `None` for more than 64 bits.
    pub fn to_integer(&self) -> Option<u64> {
        let unused = self.bytes.len() * BYTE - self.length as usize;
        let number = self.bytes.iter().take(9).fold(0_u128, |number, byte| number << BYTE | u128::from(*byte));
        (self.length <= u64::BITS).then_some((number >> unused) as u64)
    }
}

impl Ord for BitString {
    fn cmp(&self, other: &Self) -> Ordering {
        let shared = self.bytes.len().min(other.bytes.len());
        self.bytes[..shared].cmp(&other.bytes[..shared]).then(self.length.cmp(&other.length))
    }
}

impl PartialOrd for BitString {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<BitString> for (u32, Vec<u8>) {
    fn from(bits: BitString) -> Self {
        (bits.length, bits.bytes.to_vec())
    }
}

impl TryFrom<(u32, Vec<u8>)> for BitString {
    type Error = &'static str;

    fn try_from((length, bytes): (u32, Vec<u8>)) -> Result<Self, Self::Error> {
        BitString::of_bytes(length, &bytes).ok_or("the bytes of a bit string are damaged")
    }
}

#[cold]
fn too_long() -> ValueError {
    ValueError::new(
        sqlstate::PROGRAM_LIMIT_EXCEEDED,
        format!("bit string length exceeds the maximum allowed ({BITS_MAX})"),
    )
}

/// Reads binary digits, also behind `b`, or hexadecimal ones behind `x`. Errors: 22P02, 54000.
pub fn parse(input: &str) -> Result<BitString, ValueError> {
    let (digits, width, name) = match input.as_bytes().first() {
        Some(b'x' | b'X') => (&input[1..], 4, "hexadecimal"),
        Some(b'b' | b'B') => (&input[1..], 1, "binary"),
        _ => (input, 1, "binary"),
    };
    let length = u32::try_from(digits.len()).ok().and_then(|count| count.checked_mul(width));
    let length = length.filter(|length| *length <= BITS_MAX).ok_or_else(too_long)?;
    let mut bytes = Vec::with_capacity((length as usize).div_ceil(BYTE));
    let (mut byte, mut used) = (0_u8, 0);
    for digit in digits.chars() {
        let value = digit.to_digit(1 << width).ok_or_else(|| {
            ValueError::new(sqlstate::INVALID_TEXT_REPRESENTATION, format!("\"{digit}\" is not a valid {name} digit"))
        })?;
        byte = byte << width | value as u8;
        used += width as usize;
        if used == BYTE {
            bytes.push(byte);
            (byte, used) = (0, 0);
        }
    }
    if used > 0 {
        bytes.push(byte << (BYTE - used));
    }
    Ok(BitString::new(length, bytes))
}

/// Appends its binary digits.
pub fn write(bits: &BitString, out: &mut Vec<u8>) {
    out.extend((0..bits.length).map(|place| if bits.bit(place) { b'1' } else { b'0' }));
}

/// Appends the length in bits, and the bits (`varbit_send`).
pub(crate) fn write_binary(bits: &BitString, out: &mut Vec<u8>) {
    out.extend_from_slice(&bits.length.to_be_bytes());
    out.extend_from_slice(bits.bytes());
}

/// Reads what [`write_binary`] appends; what a last byte has behind the last bit does not count. Errors: 22P03, 08P01.
pub(crate) fn from_binary(bytes: &[u8]) -> Result<BitString, ValueError> {
    let cut_off = || ValueError::new(sqlstate::PROTOCOL_VIOLATION, "insufficient data left in message");
    let invalid = |message: &str| ValueError::new(sqlstate::INVALID_BINARY_REPRESENTATION, message);
    let (length, bits) = bytes.split_first_chunk::<4>().ok_or_else(cut_off)?;
    let length = u32::from_be_bytes(*length);
    if length > BITS_MAX {
        return Err(invalid("invalid length in external bit string"));
    }
    match bits.len().cmp(&(length as usize).div_ceil(BYTE)) {
        Ordering::Less => Err(cut_off()),
        Ordering::Equal => Ok(BitString::new(length, bits.to_vec())),
        Ordering::Greater => Err(invalid("incorrect binary data format")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bits(digits: &str) -> BitString {
        parse(digits).unwrap()
    }

    fn digits(bits: &BitString) -> String {
        let mut out = Vec::new();
        write(bits, &mut out);
        String::from_utf8(out).unwrap()
    }

    proptest! {
        /// Bytes would mean something else than the bits that are printed.
        #[test]
        fn bytes_do_what_digits_do(one in "[01]{0,20}", other in "[01]{0,20}", from in 0_u32..22, end in 0_u32..22) {
            let (left, right) = (bits(&one), bits(&other));
            prop_assert_eq!(digits(&left.joined(&right).unwrap()), format!("{one}{other}"));
            prop_assert_eq!(left.cmp(&right), one.cmp(&other));
            let within = one.get(from as usize..(end as usize).min(one.len())).unwrap_or("");
            prop_assert_eq!(digits(&left.slice(from, end)), within);
            let found = if one.is_empty() { None } else { one.find(&other) };
            prop_assert_eq!(left.position(&right), found.map_or(0, |place| place as u32 + 1));
            let shown = format!("{:0<width$}", one.get(from as usize..).unwrap_or(""), width = one.len());
            prop_assert_eq!(digits(&left.shifted(i64::from(from))), shown);
            let kept = one.len() - one.len().min(from as usize);
            let shown = format!("{:0>width$}", &one[..kept], width = one.len());
            prop_assert_eq!(digits(&left.shifted(-i64::from(from))), shown);
        }

        /// A cast there and back would change the number.
        #[test]
        fn integers_come_back(number: i64, length in 1_u32..130) {
            let made = BitString::of_integer(number, length);
            let shown = format!("{:0128b}", i128::from(number));
            let wide = format!("{}{shown}", if number < 0 { "11" } else { "00" });
            prop_assert_eq!(digits(&made), &wide[130 - length as usize..]);
            if length == 64 {
                prop_assert_eq!(made.to_integer(), Some(number as u64));
            }
        }
    }

    #[test]
    fn digits_are_read_as_postgresql_reads_them() {
        assert_eq!(bits("x1F"), bits("b00011111"));
        assert_eq!(bits(""), BitString::new(0, Vec::new()));
        assert_eq!(parse("102").unwrap_err().message, "\"2\" is not a valid binary digit");
        assert_eq!(parse("x1G").unwrap_err().message, "\"G\" is not a valid hexadecimal digit");
        assert_eq!(parse(" 1").unwrap_err().sqlstate, "22P02");
    }
}
