//! Digests of byte strings, and PostgreSQL's hash functions.
//!
//! The hashes are those of PostgreSQL 15's `common/hashfn.c`, after R. Jenkins, "lookup3.c, for hash table lookup" (2006): applications divide keys by them, and
//! take advisory locks on them. So they are the same on every machine: those of a little-endian one.

use crate::call::{CallArguments, FunctionResult, Implementation};
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use values::Value;

/// What every state begins with, beside the length.
const BEGINNING: u32 = 0x9e37_79b9_u32.wrapping_add(3_923_095);

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("sha224_bytea", |call| Ok(Value::bytea(Sha224::digest(call.bytes(0)).to_vec()))),
    ("sha256_bytea", |call| Ok(Value::bytea(Sha256::digest(call.bytes(0)).to_vec()))),
    ("sha384_bytea", |call| Ok(Value::bytea(Sha384::digest(call.bytes(0)).to_vec()))),
    ("sha512_bytea", |call| Ok(Value::bytea(Sha512::digest(call.bytes(0)).to_vec()))),
    ("hashtext", |call| hashed(of_bytes(&text(call)))),
    ("hashtextextended", |call| extended(of_bytes_with(&text(call), seed(call)))),
    ("hashname", |call| hashed(of_bytes(&text(call)))),
    ("hashnameextended", |call| extended(of_bytes_with(&text(call), seed(call)))),
    ("hashbpchar", |call| hashed(of_bytes(&text(call)))),
    ("hashbpcharextended", |call| extended(of_bytes_with(&text(call), seed(call)))),
    ("hashvarlena", |call| hashed(of_bytes(call.bytes(0)))),
    ("hashvarlenaextended", |call| extended(of_bytes_with(call.bytes(0), seed(call)))),
    ("hashint2", |call| hashed(of_word(call.integer(0) as u32))),
    ("hashint2extended", |call| extended(of_word_with(call.integer(0) as u32, seed(call)))),
    ("hashint4", |call| hashed(of_word(call.integer(0) as u32))),
    ("hashint4extended", |call| extended(of_word_with(call.integer(0) as u32, seed(call)))),
    ("hashint8", |call| hashed(of_word(folded(call.integer(0))))),
    ("hashint8extended", |call| extended(of_word_with(folded(call.integer(0)), seed(call)))),
    ("hashfloat4", |call| hashed(of_double(call.double(0)))),
    ("hashfloat8", |call| hashed(of_double(call.double(0)))),
    ("timestamp_hash", |call| hashed(of_word(folded(call.instant(0))))),
    ("timestamp_hash_extended", |call| extended(of_word_with(folded(call.instant(0)), seed(call)))),
    ("time_hash", |call| hashed(of_word(folded(call.instant(0))))),
    ("time_hash_extended", |call| extended(of_word_with(folded(call.instant(0)), seed(call)))),
    ("uuid_hash", |call| hashed(uuid(call).map_or(0, |bytes| of_bytes(&bytes)))),
    ("uuid_hash_extended", |call| extended(uuid(call).map_or(0, |bytes| of_bytes_with(&bytes, seed(call))))),
];

pub(super) fn hashed(hash: u32) -> FunctionResult {
    Ok(Value::Integer(hash as i32))
}

pub(super) fn extended(hash: u64) -> FunctionResult {
    Ok(Value::BigInt(hash as i64))
}

pub(super) fn seed(call: &CallArguments<'_, '_>) -> u64 {
    call.integer(1) as u64
}

/// A string's bytes; of `character(n)` those before the blanks at its end.
fn text(call: &CallArguments<'_, '_>) -> Vec<u8> {
    let text = call.text(0);
    let is_padded = call.types[0].id == analyzer::types::BPCHAR;
    let text = if is_padded { text.trim_end_matches(' ') } else { text };
    text.as_bytes().to_vec()
}

fn uuid(call: &CallArguments<'_, '_>) -> Option<[u8; 16]> {
    match call.value(0) {
        Value::Uuid(bytes) => Some(*bytes),
        _ => None,
    }
}

/// The hash of an integer of any width, of a day or of an instant.
pub(super) fn of_long(number: i64) -> u32 {
    of_word(folded(number))
}

/// As [`of_long`].
pub(super) fn of_long_with(number: i64, seed: u64) -> u64 {
    of_word_with(folded(number), seed)
}

/// The word of a long integer: that of an `int4` with the same value.
fn folded(number: i64) -> u32 {
    let (low, high) = (number as u32, (number >> 32) as u32);
    low ^ if number >= 0 { high } else { !high }
}

fn of_double(number: f64) -> u32 {
    match number {
        // Minus zero is equal to it.
        0.0 => 0,
        number if number.is_nan() => of_bytes(&f64::NAN.to_le_bytes()),
        number => of_bytes(&number.to_le_bytes()),
    }
}

/// The three words of a hash.
#[derive(Clone, Copy)]
struct HashWords(u32, u32, u32);

impl HashWords {
    fn new(length: usize, seed: u64) -> HashWords {
        let word = BEGINNING.wrapping_add(length as u32);
        let mut state = HashWords(word, word, word);
        if seed != 0 {
            state.0 = state.0.wrapping_add((seed >> 32) as u32);
            state.1 = state.1.wrapping_add(seed as u32);
            state.mix();
        }
        state
    }

    fn mix(&mut self) {
        let HashWords(mut a, mut b, mut c) = *self;
        let step = |word: u32, with: u32, by: u32| word.wrapping_sub(with) ^ with.rotate_left(by);
        (a, c) = (step(a, c, 4), c.wrapping_add(b));
        (b, a) = (step(b, a, 6), a.wrapping_add(c));
        (c, b) = (step(c, b, 8), b.wrapping_add(a));
        (a, c) = (step(a, c, 16), c.wrapping_add(b));
        (b, a) = (step(b, a, 19), a.wrapping_add(c));
        (c, b) = (step(c, b, 4), b.wrapping_add(a));
        *self = HashWords(a, b, c);
    }

    fn finish(self) -> HashWords {
        let HashWords(mut a, mut b, mut c) = self;
        let step = |word: u32, with: u32, by: u32| (word ^ with).wrapping_sub(with.rotate_left(by));
        c = step(c, b, 14);
        a = step(a, c, 11);
        b = step(b, a, 25);
        c = step(c, b, 16);
        a = step(a, c, 4);
        b = step(b, a, 14);
        c = step(c, b, 24);
        HashWords(a, b, c)
    }

    /// Twelve bytes, or the fewer at the end.
    fn take(&mut self, bytes: &[u8]) {
        let word = |place: usize| {
            let part = bytes.get(place..).unwrap_or_default();
            part.iter().take(4).rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
        };
        self.0 = self.0.wrapping_add(word(0));
        self.1 = self.1.wrapping_add(word(4));
        // A last part of less than twelve bytes leaves the lowest byte to the length.
        let last = if bytes.len() < 12 { word(8) << 8 } else { word(8) };
        self.2 = self.2.wrapping_add(last);
    }
}

fn state_of(bytes: &[u8], seed: u64) -> HashWords {
    let mut state = HashWords::new(bytes.len(), seed);
    let (whole, rest) = bytes.split_at(bytes.len() - bytes.len() % 12);
    for part in whole.chunks(12) {
        state.take(part);
        state.mix();
    }
    state.take(rest);
    state.finish()
}

pub(super) fn of_bytes(bytes: &[u8]) -> u32 {
    state_of(bytes, 0).2
}

pub(super) fn of_bytes_with(bytes: &[u8], seed: u64) -> u64 {
    let HashWords(_, b, c) = state_of(bytes, seed);
    u64::from(b) << 32 | u64::from(c)
}

pub(super) fn of_word(word: u32) -> u32 {
    let mut state = HashWords::new(4, 0);
    state.0 = state.0.wrapping_add(word);
    state.finish().2
}

pub(super) fn of_word_with(word: u32, seed: u64) -> u64 {
    let mut state = HashWords::new(4, seed);
    state.0 = state.0.wrapping_add(word);
    let HashWords(_, b, c) = state.finish();
    u64::from(b) << 32 | u64::from(c)
}
