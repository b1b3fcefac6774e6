//! How a value looks between processes: two encodings of whatever serde describes.
//!
//! Invariant: what a codec has written it reads as the same value; other bytes are a value or an error, never a panic, and nothing is left over.

pub mod external;

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// Why bytes are no value, or a value has no bytes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CodecError {
    /// In the compact encoding.
    #[error("compact: {0}")]
    Compact(#[from] postcard::Error),
    /// In the external data representation.
    #[error("external data representation: {0}")]
    External(#[from] external::ExternalError),
}

/// An encoding. Both sides of a channel have the same.
pub trait Codec {
    /// Appends a value.
    ///
    /// # Errors
    /// It has no form in this encoding. What was appended before that stays.
    fn append(value: &impl Serialize, bytes: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Reads a value, which is all of the bytes.
    ///
    /// # Errors
    /// They are no such value, or more than one.
    fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError>;
}

/// Postcard's: few bytes, a number as long as it must be. Between sites of one version.
#[derive(Clone, Copy, Debug)]
pub struct Compact;

impl Codec for Compact {
    fn append(value: &impl Serialize, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        postcard::to_io(value, bytes).map(drop).map_err(CodecError::from)
    }

    fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
        match postcard::take_from_bytes(bytes)? {
            (value, []) => Ok(value),
            _ => Err(postcard::Error::DeserializeBadEncoding.into()),
        }
    }
}

/// The external data representation ([`mod@external`]): a standard that programs of others read, and Raidcomm V.1 used.
#[derive(Clone, Copy, Debug)]
pub struct External;

impl Codec for External {
    fn append(value: &impl Serialize, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        external::append(value, bytes).map_err(CodecError::from)
    }

    fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
        external::read(bytes).map_err(CodecError::from)
    }
}
