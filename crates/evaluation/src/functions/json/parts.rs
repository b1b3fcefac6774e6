//! The parts of a `json`, with the places of its text where they stand.

use super::{index_of, place_of};
use std::ops::Range;
use values::json::{Escapes, JsonBuilder, parse};
use values::{Value, ValueError};

/// A part.
pub(crate) struct JsonPart {
    pub place: Range<usize>,
    pub content: JsonContent,
}

/// What is there.
pub(crate) enum JsonContent {
    Null,
    Boolean,
    Number,
    /// Without its escapes.
    String(Box<str>),
    Array(Vec<JsonPart>),
    /// All pairs, also those of one key.
    Object(Vec<(Box<str>, JsonPart)>),
}

struct PartBuilder;

fn part(place: Range<usize>, content: JsonContent) -> JsonPart {
    JsonPart { place, content }
}

impl JsonBuilder for PartBuilder {
    type Node = JsonPart;
    fn null(&mut self, place: Range<usize>) -> JsonPart {
        part(place, JsonContent::Null)
    }
    fn boolean(&mut self, _: bool, place: Range<usize>) -> JsonPart {
        part(place, JsonContent::Boolean)
    }
    fn number(&mut self, _: &str, place: Range<usize>) -> Result<JsonPart, ValueError> {
        Ok(part(place, JsonContent::Number))
    }
    fn string(&mut self, string: &str, place: Range<usize>) -> JsonPart {
        part(place, JsonContent::String(string.into()))
    }
    fn array(&mut self, elements: Vec<JsonPart>, place: Range<usize>) -> JsonPart {
        part(place, JsonContent::Array(elements))
    }
    fn object(&mut self, pairs: Vec<(Box<str>, JsonPart)>, place: Range<usize>) -> JsonPart {
        part(place, JsonContent::Object(pairs))
    }
}

/// The parts of a text with their characters. Errors: 22P05 and 22P02 for escapes that are no character.
pub(crate) fn parts(text: &str) -> Result<JsonPart, ValueError> {
    parse(text, Escapes::Decoded, &mut PartBuilder)
}

/// The parts of a text whose strings do not matter.
pub(crate) fn shape(text: &str) -> Result<JsonPart, ValueError> {
    parse(text, Escapes::Kept, &mut PartBuilder)
}

impl JsonPart {
    /// It as a `json`.
    pub(crate) fn json(&self, text: &str) -> Value {
        Value::Json(text[self.place.clone()].into())
    }

    /// It as `->>` has it.
    pub(crate) fn text(&self, text: &str) -> Value {
        match &self.content {
            JsonContent::Null => Value::Null,
            JsonContent::String(string) => Value::text(&**string),
            _ => Value::text(&text[self.place.clone()]),
        }
    }

    /// The element at an index.
    pub(crate) fn element(&self, index: i32) -> Option<&JsonPart> {
        match &self.content {
            JsonContent::Array(elements) => elements.get(place_of(index, elements.len())?),
            _ => None,
        }
    }

    /// What a path leads to: of equal keys the last from where it goes on.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&JsonPart> {
        let Some((step, rest)) = path.split_first() else { return Some(self) };
        match &self.content {
            JsonContent::Array(_) => self.element(index_of(step)?)?.at(rest),
            JsonContent::Object(pairs) => {
                pairs.iter().rev().filter(|(key, _)| **key == **step).find_map(|(_, value)| value.at(rest))
            }
            _ => None,
        }
    }
}
