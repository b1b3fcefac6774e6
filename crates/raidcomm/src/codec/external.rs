//! The external data representation (XDR, RFC 4506): every item in a multiple of four bytes, the most significant first.
//!
//! Serde's types are the standard's:
//!
//! | serde | RFC 4506 |
//! |---|---|
//! | `i8`, `i16`, `i32` | integer (4.1) |
//! | `u8`, `u16`, `u32`, and `char` by its number | unsigned integer (4.2) |
//! | a variant without contents | enumeration (4.3), by the variant's place |
//! | `bool` | boolean (4.4) |
//! | `i64`, `u64` | hyper integer, unsigned hyper integer (4.5) |
//! | `f32`, `f64` | floating point, double-precision floating point (4.6, 4.7) |
//! | bytes | opaque data of any length (4.10) |
//! | `str` | string (4.11) |
//! | a tuple or an array | array of fixed length (4.12), structure (4.14) |
//! | a sequence; a map, as a sequence of pairs | array of any length (4.13) |
//! | a structure | structure (4.14): its fields in their order |
//! | a variant with contents | discriminated union (4.15), by the variant's place |
//! | `()` | void (4.16) |
//! | `Option` | optional data (4.19) |
//!
//! A `Vec<u8>` is an array for serde, of four bytes for each; what is opaque data says so by `serialize_bytes`, as [`Opaque`] and `bytes::Bytes` do. Integers of 128
//! bits have no form. The bytes do not tell what they are: a type that asks them cannot be read.
//!
//! The crates that there are do not fit: one is licensed otherwise, the others generate types from descriptions of their own instead of using serde's.
//!
//! Invariants: what is read was checked to be there; memory grows with what came, never with what a length claims; bytes that fill an item up are
//! zero (section 3), and booleans 0 or 1.

mod decoding;
mod encoding;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Bytes of the smallest item (section 3).
const UNIT: usize = 4;

/// Why a value has no form, or bytes are no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExternalError {
    /// The bytes end within an item.
    #[error("{0} bytes are missing")]
    Short(usize),
    /// The value ends before the bytes do.
    #[error("{0} bytes are left over")]
    LeftOver(usize),
    /// An item has a value that it cannot have.
    #[error("{what} cannot be {value:#x}")]
    Value {
        /// The item.
        what: &'static str,
        /// What it says.
        value: u32,
    },
    /// A string is not UTF-8.
    #[error("a string is not UTF-8")]
    Text,
    /// More elements or bytes than a length can tell.
    #[error("{0} elements, which a length of 32 bits does not tell")]
    Long(usize),
    /// The standard has no such type, or the bytes would have to tell what they are.
    #[error("there is no form for {0}")]
    NoForm(&'static str),
    /// The value's own type refuses it.
    #[error("{0}")]
    Refused(String),
}

impl serde::ser::Error for ExternalError {
    fn custom<T: std::fmt::Display>(message: T) -> ExternalError {
        ExternalError::Refused(message.to_string())
    }
}

impl serde::de::Error for ExternalError {
    fn custom<T: std::fmt::Display>(message: T) -> ExternalError {
        ExternalError::Refused(message.to_string())
    }
}

/// Opaque data (section 4.10), which for serde is bytes and no sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque<'a>(pub &'a [u8]);

impl Serialize for Opaque<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Opaque<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Opaque<'a>, D::Error> {
        <&[u8]>::deserialize(deserializer).map(Opaque)
    }
}

/// Appends a value.
///
/// # Errors
/// It has no form, or its type refuses. What was appended before that stays.
pub fn append<T: Serialize + ?Sized>(value: &T, bytes: &mut Vec<u8>) -> Result<(), ExternalError> {
    value.serialize(&mut encoding::ExternalEncoder { bytes })
}

/// Reads a value, which is all of the bytes. It may borrow strings and opaque data.
///
/// # Errors
/// They are no such value, or more than that.
pub fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ExternalError> {
    match take(bytes)? {
        (value, []) => Ok(value),
        (_, rest) => Err(ExternalError::LeftOver(rest.len())),
    }
}

/// Reads a value from the start of the bytes, and says what is behind it.
///
/// # Errors
/// They are no such value.
pub fn take<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<(T, &'a [u8]), ExternalError> {
    let mut decoder = decoding::ExternalDecoder { rest: bytes };
    Ok((T::deserialize(&mut decoder)?, decoder.rest))
}

/// Bytes that fill an item of so many up to the next unit.
fn filling(length: usize) -> usize {
    length.next_multiple_of(UNIT) - length
}
