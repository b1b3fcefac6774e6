//! Encoded keys of rows.
//!
//! Rows are found by comparing keys, several dozen times for each access, so two keys are told apart by a number made of their first bytes
//! wherever those differ, and by numbers made of the others where they do not. Invariant: a key of up to `INLINE_BYTES_MAX` bytes is inline,
//! padded with zeros, and a longer one is not; so keys are equal if and only if their fields are.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// An encoded key (`values::key`): byte order is key order. Short keys need no allocation.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Content);

/// Bytes of a key that needs no allocation: with its length and its kind they are half a cache line.
const INLINE_BYTES_MAX: usize = 30;
const _: () = assert!(size_of::<Key>() == 32);

#[derive(Clone, PartialEq, Eq)]
enum Content {
    Inline { length: u8, bytes: [u8; INLINE_BYTES_MAX] },
    Allocated(Box<[u8]>),
}

impl Key {
    /// A key of these bytes.
    pub fn new(bytes: &[u8]) -> Key {
        if bytes.len() > INLINE_BYTES_MAX {
            return Key(Content::Allocated(bytes.into()));
        }
        let mut inline = [0; INLINE_BYTES_MAX];
        inline[..bytes.len()].copy_from_slice(bytes);
        Key(Content::Inline { length: bytes.len() as u8, bytes: inline })
    }

    /// The smallest key.
    pub fn lowest() -> Key {
        Key::new(&[])
    }

    /// Its bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Content::Inline { length, bytes } => &bytes[..usize::from(*length)],
            Content::Allocated(bytes) => bytes,
        }
    }

    /// The smallest key above this one: the same bytes and a zero.
    pub fn successor(&self) -> Key {
        match &self.0 {
            // The zero is there already.
            Content::Inline { length, bytes } if usize::from(*length) < INLINE_BYTES_MAX => {
                Key(Content::Inline { length: length + 1, bytes: *bytes })
            }
            _ => Key::new(&[self.as_bytes(), &[0]].concat()),
        }
    }

    /// The first bytes as a number, zeros where there are none: of two keys with different numbers the one with the smaller number is the smaller.
    #[inline]
    pub fn prefix(&self) -> u64 {
        let first = match &self.0 {
            Content::Inline { bytes, .. } => bytes.first_chunk(),
            Content::Allocated(bytes) => bytes.first_chunk(),
        };
        first.map_or(0, |first| u64::from_be_bytes(*first))
    }
}

/// The bytes of an inline key behind its prefix as numbers, zeros where there are none. (The last two share bytes.)
#[inline]
fn behind_prefix(bytes: &[u8; INLINE_BYTES_MAX]) -> [u64; 3] {
    [8, 16, INLINE_BYTES_MAX - 8].map(|from| {
        let bytes = bytes[from..].first_chunk().expect("eight bytes at least lie behind each of these");
        u64::from_be_bytes(*bytes)
    })
}

impl Default for Key {
    fn default() -> Key {
        Key::lowest()
    }
}

impl Ord for Key {
    #[inline]
    fn cmp(&self, other: &Key) -> Ordering {
        self.prefix().cmp(&other.prefix()).then_with(|| match (&self.0, &other.0) {
            // Where there is a zero in one and nothing in the other, the shorter one is the smaller.
            (Content::Inline { length, bytes }, Content::Inline { length: others, bytes: with }) => {
                behind_prefix(bytes).cmp(&behind_prefix(with)).then(length.cmp(others))
            }
            _ => self.as_bytes().cmp(other.as_bytes()),
        })
    }
}

impl PartialOrd for Key {
    #[inline]
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Key {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.prefix());
        let bytes = self.as_bytes();
        if let Some(behind) = bytes.get(8..) {
            state.write(behind);
        }
        state.write_usize(bytes.len());
    }
}

impl From<&[u8]> for Key {
    fn from(bytes: &[u8]) -> Key {
        Key::new(bytes)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.as_bytes())
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Key;
            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("key bytes")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Key, E> {
                Ok(Key::new(bytes))
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys on both sides of every length that is treated in its own way, which differ at their beginning, at their end, and by zeros alone.
    fn keys() -> Vec<Vec<u8>> {
        let mut keys = vec![Vec::new()];
        for length in [1, 2, 7, 8, 9, 16, 29, 30, 31, 40] {
            for first in [0, 1, 0x7f, 0x80, 0xff] {
                for last in [0, 1, 0xff] {
                    let mut key = vec![0; length];
                    key[length - 1] = last;
                    key[0] = first;
                    keys.push(key);
                }
            }
        }
        keys
    }

    /// If this fails, rows are lost in the tree that has them, and a scan returns them in another order than PostgreSQL.
    #[test]
    fn order_and_equality_are_those_of_the_bytes() {
        for one in keys() {
            for other in keys() {
                let (key, with) = (Key::new(&one), Key::new(&other));
                assert_eq!(key.cmp(&with), one.cmp(&other), "{one:?} {other:?}");
                assert_eq!(key == with, one == other, "{one:?} {other:?}");
            }
        }
    }

    /// If this fails, a range ends before the key that it is to end with, or a key does not come back from the log.
    #[test]
    fn bytes_come_back() {
        for bytes in keys() {
            let key = Key::new(&bytes);
            assert_eq!(key.as_bytes(), bytes);
            assert_eq!(key.clone(), key);
            assert_eq!(key.successor().as_bytes(), [&bytes[..], &[0]].concat());
            let encoded = postcard::to_stdvec(&key).expect("bytes");
            assert_eq!(postcard::from_bytes::<Key>(&encoded), Ok(key));
        }
    }
}
