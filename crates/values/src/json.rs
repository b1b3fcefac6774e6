//! `json` and `jsonb`: what their values are.
//!
//! A `json` is the text that the client gave, of which only the syntax is known. A `jsonb` is a [`Jsonb`]: a tree with exact numbers.
//!
//! Invariants of a tree: the keys of an object differ and stand in PostgreSQL's order (the shorter first, then bytewise), and nothing lies deeper than
//! [`JSON_DEPTH_MAX`], so that whoever walks a tree may call himself. [`Value::jsonb`](crate::Value::jsonb) sees to the depth of what a function has made.
//!
//! Reading order: this file; `lexer` and `parser` for texts, [`mod@write`] for what is printed, `order`, `stored` for bytes on disk.

mod lexer;
mod order;
mod parser;
pub(crate) mod stored;
pub mod write;

pub use order::compare;
pub(crate) use order::{append_key, decode_key};
pub(crate) use parser::validate;
pub use parser::{Escapes, JsonBuilder, parse, parse_tree};

use crate::error::{ValueError, sqlstate};
use crate::limits::JSON_DEPTH_MAX;
use bigdecimal::BigDecimal;

/// A value of `jsonb`, or what lies within one.
#[derive(Clone, Debug)]
pub enum Jsonb {
    /// `null`, which is a value: no NULL of SQL.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A number, whose scale is the number of decimals that it prints.
    Number(BigDecimal),
    /// A string without its escapes.
    String(Box<str>),
    /// An array.
    Array(Vec<Jsonb>),
    /// An object.
    Object(JsonbObject),
}

/// The pairs of an object, in the order of their keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonbObject(Vec<(Box<str>, Jsonb)>);

impl Jsonb {
    /// A string.
    pub fn string(text: impl Into<Box<str>>) -> Jsonb {
        Jsonb::String(text.into())
    }

    /// Whether it is neither an array nor an object.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Jsonb::Array(_) | Jsonb::Object(_))
    }

    /// The elements of an array.
    pub fn as_array(&self) -> Option<&[Jsonb]> {
        match self {
            Jsonb::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The pairs of an object.
    pub fn as_object(&self) -> Option<&JsonbObject> {
        match self {
            Jsonb::Object(object) => Some(object),
            _ => None,
        }
    }

    /// What `jsonb_typeof` calls it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Jsonb::Null => "null",
            Jsonb::Boolean(_) => "boolean",
            Jsonb::Number(_) => "number",
            Jsonb::String(_) => "string",
            Jsonb::Array(_) => "array",
            Jsonb::Object(_) => "object",
        }
    }

    /// Bytes in memory beside its own, roughly.
    pub fn size_in_memory(&self) -> usize {
        match self {
            Jsonb::Null | Jsonb::Boolean(_) => 0,
            Jsonb::Number(number) => number.as_bigint_and_scale().0.bits() as usize / 8,
            Jsonb::String(text) => text.len(),
            Jsonb::Array(elements) => elements.iter().map(|one| size_of::<Jsonb>() + one.size_in_memory()).sum(),
            Jsonb::Object(object) => object
                .iter()
                .map(|(key, value)| size_of::<(Box<str>, Jsonb)>() + key.len() + value.size_in_memory())
                .sum(),
        }
    }

    /// Errors: 54001 if something lies deeper than what a tree may have.
    pub(crate) fn check_depth(&self) -> Result<(), ValueError> {
        if self.fits_within(JSON_DEPTH_MAX) { Ok(()) } else { Err(too_deep()) }
    }

    fn fits_within(&self, levels: usize) -> bool {
        match self {
            Jsonb::Array(_) | Jsonb::Object(_) if levels == 0 => false,
            Jsonb::Array(elements) => elements.iter().all(|element| element.fits_within(levels - 1)),
            Jsonb::Object(object) => object.iter().all(|(_, value)| value.fits_within(levels - 1)),
            _ => true,
        }
    }
}

/// Whether two are represented alike: 1.0 differs from 1.00. What SQL calls equal is [`compare`]'s business.
impl PartialEq for Jsonb {
    fn eq(&self, other: &Jsonb) -> bool {
        match (self, other) {
            (Jsonb::Null, Jsonb::Null) => true,
            (Jsonb::Boolean(left), Jsonb::Boolean(right)) => left == right,
            (Jsonb::Number(left), Jsonb::Number(right)) => left.as_bigint_and_scale() == right.as_bigint_and_scale(),
            (Jsonb::String(left), Jsonb::String(right)) => left == right,
            (Jsonb::Array(left), Jsonb::Array(right)) => left == right,
            (Jsonb::Object(left), Jsonb::Object(right)) => left == right,
            _ => false,
        }
    }
}

impl JsonbObject {
    /// An object of these pairs; of those with one key the last counts.
    pub fn new(mut pairs: Vec<(Box<str>, Jsonb)>) -> JsonbObject {
        pairs.sort_by(|(left, _), (right, _)| order::compare_keys(left, right));
        pairs.reverse();
        // The last of equal keys is now the first.
        pairs.dedup_by(|later, earlier| later.0 == earlier.0);
        pairs.reverse();
        JsonbObject(pairs)
    }

    /// Pairs that stand in order already; `None` if they do not.
    pub(crate) fn in_order(pairs: Vec<(Box<str>, Jsonb)>) -> Option<JsonbObject> {
        let is_sorted = pairs.windows(2).all(|two| order::compare_keys(&two[0].0, &two[1].0).is_lt());
        is_sorted.then_some(JsonbObject(pairs))
    }

    fn place(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| order::compare_keys(known, key))
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Jsonb> {
        self.place(key).ok().map(|place| &self.0[place].1)
    }

    /// The value of a key, to change.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Jsonb> {
        self.place(key).ok().map(|place| &mut self.0[place].1)
    }

    /// Gives a key a value, in place of the one that it has.
    pub fn insert(&mut self, key: &str, value: Jsonb) {
        match self.place(key) {
            Ok(place) => self.0[place].1 = value,
            Err(place) => self.0.insert(place, (Box::from(key), value)),
        }
    }

    /// Takes a key away, if it is there.
    pub fn remove(&mut self, key: &str) {
        if let Ok(place) = self.place(key) {
            self.0.remove(place);
        }
    }

    /// The pairs in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Jsonb)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    /// The pairs themselves.
    pub fn into_pairs(self) -> Vec<(Box<str>, Jsonb)> {
        self.0
    }

    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// 54001, PostgreSQL's words where its stack ends.
#[cold]
pub(crate) fn too_deep() -> ValueError {
    ValueError::new(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
}

#[cfg(test)]
mod tests;
