//! How `jsonb` orders (PostgreSQL 15, section 8.14.4, and `compareJsonbContainers`), and keys whose bytes have that order.
//!
//! Object > array > boolean > number > string > null; of two arrays or objects the one with more elements or pairs is greater, else the first element, key
//! or value that differs decides. An array without elements that is the whole value, though, is less than all scalars.
//!
//! A key is a marker, and behind it: the digits of a number, the bytes of a string as keys have them, or the count and the parts of an array or object.

use super::{Jsonb, JsonbObject};
use crate::error::ValueError;
use crate::key_parts as key;
use crate::limits::JSON_DEPTH_MAX;
use std::cmp::Ordering;

/// Markers of keys, in order.
const EMPTY_ARRAY: u8 = 0x01;
const NULL: u8 = 0x02;
const STRING: u8 = 0x03;
const NUMBER: u8 = 0x04;
const FALSE: u8 = 0x05;
const TRUE: u8 = 0x06;
const ARRAY: u8 = 0x07;
const OBJECT: u8 = 0x08;

/// The order of an object's keys: the shorter first, then bytewise.
pub(super) fn compare_keys(left: &str, right: &str) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.as_bytes().cmp(right.as_bytes()))
}

/// The order of two values of `jsonb`.
pub fn compare(left: &Jsonb, right: &Jsonb) -> Ordering {
    let is_empty = |json: &Jsonb| matches!(json, Jsonb::Array(elements) if elements.is_empty());
    match (is_empty(left), is_empty(right)) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => compare_within(left, right),
    }
}

fn compare_within(left: &Jsonb, right: &Jsonb) -> Ordering {
    match (left, right) {
        (Jsonb::Boolean(left), Jsonb::Boolean(right)) => left.cmp(right),
        (Jsonb::Number(left), Jsonb::Number(right)) => left.cmp(right),
        (Jsonb::String(left), Jsonb::String(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Jsonb::Array(left), Jsonb::Array(right)) => left.len().cmp(&right.len()).then_with(|| {
            let orders = left.iter().zip(right).map(|(left, right)| compare_within(left, right));
            first_difference(orders)
        }),
        (Jsonb::Object(left), Jsonb::Object(right)) => left.len().cmp(&right.len()).then_with(|| {
            let pairs = left.iter().zip(right.iter());
            first_difference(pairs.map(|((left_key, left), (right_key, right))| {
                left_key.as_bytes().cmp(right_key.as_bytes()).then_with(|| compare_within(left, right))
            }))
        }),
        _ => rank(left).cmp(&rank(right)),
    }
}

fn first_difference(mut orders: impl Iterator<Item = Ordering>) -> Ordering {
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn rank(json: &Jsonb) -> u8 {
    match json {
        Jsonb::Null => NULL,
        Jsonb::String(_) => STRING,
        Jsonb::Number(_) => NUMBER,
        Jsonb::Boolean(false) => FALSE,
        Jsonb::Boolean(true) => TRUE,
        Jsonb::Array(_) => ARRAY,
        Jsonb::Object(_) => OBJECT,
    }
}

/// Appends the key of a whole value.
pub(crate) fn append_key(json: &Jsonb, out: &mut Vec<u8>) {
    match json {
        Jsonb::Array(elements) if elements.is_empty() => out.push(EMPTY_ARRAY),
        _ => append_within(json, out),
    }
}

fn append_within(json: &Jsonb, out: &mut Vec<u8>) {
    out.push(rank(json));
    match json {
        Jsonb::Null | Jsonb::Boolean(_) => {}
        Jsonb::Number(number) => key::append_numeric(number, out),
        Jsonb::String(text) => key::append_string(text.as_bytes(), out),
        Jsonb::Array(elements) => {
            key::append_integer(elements.len() as i64, out);
            elements.iter().for_each(|element| append_within(element, out));
        }
        Jsonb::Object(object) => {
            key::append_integer(object.len() as i64, out);
            for (name, value) in object.iter() {
                key::append_string(name.as_bytes(), out);
                append_within(value, out);
            }
        }
    }
}

/// Takes a value off a key; it is equal to the one that the key was made of, but its numbers may print otherwise. Errors: XX001.
pub(crate) fn decode_key(rest: &mut &[u8]) -> Result<Jsonb, ValueError> {
    if rest.first() == Some(&EMPTY_ARRAY) {
        *rest = &rest[1..];
        return Ok(Jsonb::Array(Vec::new()));
    }
    decode_within(rest, JSON_DEPTH_MAX, true)
}

fn decode_within(rest: &mut &[u8], levels: usize, whole: bool) -> Result<Jsonb, ValueError> {
    let [marker] = key::take::<1>(rest)?;
    if matches!(marker, ARRAY | OBJECT) && levels == 0 {
        return Err(ValueError::corrupt("a jsonb in a key is too deep"));
    }
    Ok(match marker {
        NULL => Jsonb::Null,
        FALSE => Jsonb::Boolean(false),
        TRUE => Jsonb::Boolean(true),
        NUMBER => {
            let [marker] = key::take::<1>(rest)?;
            Jsonb::Number(key::numeric(marker, rest)?)
        }
        STRING => Jsonb::String(decode_string(rest)?),
        ARRAY => {
            let count = decode_count(rest)?;
            if whole && count == 0 {
                return Err(ValueError::corrupt("an empty jsonb array in a key"));
            }
            let elements = (0..count).map(|_| decode_within(rest, levels - 1, false));
            Jsonb::Array(elements.collect::<Result<_, _>>()?)
        }
        OBJECT => {
            let count = decode_count(rest)?;
            let pairs = (0..count).map(|_| Ok((decode_string(rest)?, decode_within(rest, levels - 1, false)?)));
            let pairs = pairs.collect::<Result<Vec<_>, ValueError>>()?;
            Jsonb::Object(JsonbObject::in_order(pairs).ok_or_else(|| ValueError::corrupt("the order of jsonb keys"))?)
        }
        _ => return Err(ValueError::corrupt("a jsonb in a key has an unknown marker")),
    })
}

/// How many parts follow, each of which takes a byte at least.
fn decode_count(rest: &mut &[u8]) -> Result<usize, ValueError> {
    let [marker] = key::take::<1>(rest)?;
    let count = usize::try_from(key::integer(marker, rest)?).ok().filter(|count| *count <= rest.len());
    count.ok_or_else(|| ValueError::corrupt("the size of a jsonb in a key"))
}

fn decode_string(rest: &mut &[u8]) -> Result<Box<str>, ValueError> {
    let [marker] = key::take::<1>(rest)?;
    let text = (marker == key::PRESENT)
        .then(|| key::string(rest))
        .transpose()?
        .and_then(|bytes| String::from_utf8(bytes).ok());
    text.map(String::into_boxed_str).ok_or_else(|| ValueError::corrupt("a string of a jsonb in a key"))
}
