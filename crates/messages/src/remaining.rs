//! What an iterator over owned values has left, as serde's `with` wants it: for the states of servers that are moved.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An iterator over the values of a collection, which shows those that are left.
pub trait Remaining: Sized {
    /// One of them.
    type Item;

    /// Those that are left.
    fn left(&self) -> &[Self::Item];

    /// An iterator over these.
    fn over(items: Vec<Self::Item>) -> Self;
}

impl<T> Remaining for std::vec::IntoIter<T> {
    type Item = T;

    fn left(&self) -> &[T] {
        self.as_slice()
    }

    fn over(items: Vec<T>) -> Self {
        items.into_iter()
    }
}

impl<T, const N: usize> Remaining for smallvec::IntoIter<[T; N]> {
    type Item = T;

    fn left(&self) -> &[T] {
        self.as_slice()
    }

    fn over(items: Vec<T>) -> Self {
        smallvec::SmallVec::from_vec(items).into_iter()
    }
}

/// Writes what is left.
///
/// # Errors
/// The serializer's.
pub fn serialize<I: Remaining, S: Serializer>(remaining: &I, serializer: S) -> Result<S::Ok, S::Error>
where
    I::Item: Serialize,
{
    remaining.left().serialize(serializer)
}

/// An iterator over what was left.
///
/// # Errors
/// The deserializer's.
pub fn deserialize<'a, I: Remaining, D: Deserializer<'a>>(deserializer: D) -> Result<I, D::Error>
where
    I::Item: Deserialize<'a>,
{
    Vec::deserialize(deserializer).map(I::over)
}
