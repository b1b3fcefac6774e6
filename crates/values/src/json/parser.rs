//! The grammar of JSON. What is made of a text, the builder says: nothing, a tree, or places in the text.
//!
//! Invariant: a text that nests deeper than [`JSON_DEPTH_MAX`] is refused before its depth takes a thread's stack.

use super::lexer::{JsonToken, Lexer};
use super::{Jsonb, JsonbObject, too_deep};
use crate::error::ValueError;
use crate::limits::JSON_DEPTH_MAX;
use crate::numeric;
use std::ops::Range;

pub use super::lexer::Escapes;

/// Makes something of the parts of a text.
pub trait JsonBuilder {
    /// What a value becomes.
    type Node;
    /// `null`, which stands at a place of the text, as all others do.
    fn null(&mut self, place: Range<usize>) -> Self::Node;
    /// `true` or `false`.
    fn boolean(&mut self, truth: bool, place: Range<usize>) -> Self::Node;
    /// A number as it is written. Errors: the builder's, for one that it cannot hold.
    fn number(&mut self, written: &str, place: Range<usize>) -> Result<Self::Node, ValueError>;
    /// A string; empty unless escapes are decoded.
    fn string(&mut self, string: &str, place: Range<usize>) -> Self::Node;
    /// An array of what its elements became.
    fn array(&mut self, elements: Vec<Self::Node>, place: Range<usize>) -> Self::Node;
    /// An object of its keys, and of what its values became, in the order of the text.
    fn object(&mut self, pairs: Vec<(Box<str>, Self::Node)>, place: Range<usize>) -> Self::Node;
}

/// Reads a whole text. Errors: 22P02, 22P05, 54001, and the builder's.
pub fn parse<Builder: JsonBuilder>(
    text: &str,
    escapes: Escapes,
    builder: &mut Builder,
) -> Result<Builder::Node, ValueError> {
    let mut lexer = Lexer::new(text, escapes)?;
    let node = value(&mut lexer, builder, JSON_DEPTH_MAX)?;
    if lexer.token == JsonToken::End { Ok(node) } else { Err(lexer.expected("end of input")) }
}

fn value<Builder: JsonBuilder>(
    lexer: &mut Lexer<'_>,
    builder: &mut Builder,
    levels: usize,
) -> Result<Builder::Node, ValueError> {
    let place = lexer.place.clone();
    let node = match lexer.token {
        JsonToken::ObjectStart | JsonToken::ArrayStart if levels == 0 => return Err(too_deep()),
        JsonToken::ObjectStart => return object(lexer, builder, levels - 1),
        JsonToken::ArrayStart => return array(lexer, builder, levels - 1),
        JsonToken::String => builder.string(&lexer.string, place),
        JsonToken::Number => builder.number(lexer.written(), place)?,
        JsonToken::True => builder.boolean(true, place),
        JsonToken::False => builder.boolean(false, place),
        JsonToken::Null => builder.null(place),
        _ => return Err(lexer.expected("JSON value")),
    };
    lexer.advance()?;
    Ok(node)
}

fn array<Builder: JsonBuilder>(
    lexer: &mut Lexer<'_>,
    builder: &mut Builder,
    levels: usize,
) -> Result<Builder::Node, ValueError> {
    let start = lexer.place.start;
    lexer.advance()?;
    let mut elements = Vec::new();
    if lexer.token != JsonToken::ArrayEnd {
        elements.push(value(lexer, builder, levels)?);
        while lexer.token == JsonToken::Comma {
            lexer.advance()?;
            elements.push(value(lexer, builder, levels)?);
        }
    }
    if lexer.token != JsonToken::ArrayEnd {
        return Err(lexer.expected("\",\" or \"]\""));
    }
    let place = start..lexer.place.end;
    lexer.advance()?;
    Ok(builder.array(elements, place))
}

fn object<Builder: JsonBuilder>(
    lexer: &mut Lexer<'_>,
    builder: &mut Builder,
    levels: usize,
) -> Result<Builder::Node, ValueError> {
    let start = lexer.place.start;
    lexer.advance()?;
    let mut pairs = Vec::new();
    match lexer.token {
        JsonToken::ObjectEnd => {}
        JsonToken::String => {
            pairs.push(pair(lexer, builder, levels)?);
            while lexer.token == JsonToken::Comma {
                lexer.advance()?;
                if lexer.token != JsonToken::String {
                    return Err(lexer.expected("string"));
                }
                pairs.push(pair(lexer, builder, levels)?);
            }
        }
        _ => return Err(lexer.expected("string or \"}\"")),
    }
    if lexer.token != JsonToken::ObjectEnd {
        return Err(lexer.expected("\",\" or \"}\""));
    }
    let place = start..lexer.place.end;
    lexer.advance()?;
    Ok(builder.object(pairs, place))
}

fn pair<Builder: JsonBuilder>(
    lexer: &mut Lexer<'_>,
    builder: &mut Builder,
    levels: usize,
) -> Result<(Box<str>, Builder::Node), ValueError> {
    let key = Box::from(lexer.string.as_str());
    lexer.advance()?;
    if lexer.token != JsonToken::Colon {
        return Err(lexer.expected("\":\""));
    }
    lexer.advance()?;
    Ok((key, value(lexer, builder, levels)?))
}

/// Makes nothing: the text is only looked at.
struct Validation;

impl JsonBuilder for Validation {
    type Node = ();
    fn null(&mut self, _: Range<usize>) {}
    fn boolean(&mut self, _: bool, _: Range<usize>) {}
    fn number(&mut self, _: &str, _: Range<usize>) -> Result<(), ValueError> {
        Ok(())
    }
    fn string(&mut self, _: &str, _: Range<usize>) {}
    fn array(&mut self, _: Vec<()>, _: Range<usize>) {}
    fn object(&mut self, _: Vec<(Box<str>, ())>, _: Range<usize>) {}
}

/// Errors: 22P02 or 54001 for what is no `json`.
pub(crate) fn validate(text: &str) -> Result<(), ValueError> {
    parse(text, Escapes::Kept, &mut Validation)
}

struct TreeBuilder;

impl JsonBuilder for TreeBuilder {
    type Node = Jsonb;
    fn null(&mut self, _: Range<usize>) -> Jsonb {
        Jsonb::Null
    }
    fn boolean(&mut self, truth: bool, _: Range<usize>) -> Jsonb {
        Jsonb::Boolean(truth)
    }
    fn number(&mut self, written: &str, _: Range<usize>) -> Result<Jsonb, ValueError> {
        numeric::parse(written).map(Jsonb::Number)
    }
    fn string(&mut self, string: &str, _: Range<usize>) -> Jsonb {
        Jsonb::string(string)
    }
    fn array(&mut self, elements: Vec<Jsonb>, _: Range<usize>) -> Jsonb {
        Jsonb::Array(elements)
    }
    fn object(&mut self, pairs: Vec<(Box<str>, Jsonb)>, _: Range<usize>) -> Jsonb {
        Jsonb::Object(JsonbObject::new(pairs))
    }
}

/// The text of a `jsonb`. Errors: 22P02, 22P05 for `\u0000`, 22003 for a number beyond `numeric`, 54001.
pub fn parse_tree(text: &str) -> Result<Jsonb, ValueError> {
    parse(text, Escapes::Decoded, &mut TreeBuilder)
}
