//! Hash tables whose keys are values of clients.
//!
//! Invariant: where a key lies depends on the seed of the execution, which no client knows: nobody can choose values
//! that all lie in one place.

#![expect(deprecated, reason = "the hasher of the standard library with keys has no other name")]
#![expect(clippy::disallowed_types, reason = "the hasher has a seed, and nobody asks for the order of the keys")]

use std::collections::HashMap;
use std::hash::{BuildHasher, SipHasher};

/// A table by the keys of values.
pub type KeyMap<V> = HashMap<Vec<u8>, V, KeyHashing>;

/// How the keys of one execution are hashed.
#[derive(Clone, Copy, Debug)]
pub struct KeyHashing(u64);

/// What the second half of the hasher's key differs in from the first.
const OTHER_HALF: u64 = 0x9e37_79b9_7f4a_7c15;

impl KeyHashing {
    pub fn of_seed(seed: u64) -> KeyHashing {
        KeyHashing(seed)
    }

    /// An empty table.
    pub fn map<V>(self) -> KeyMap<V> {
        KeyMap::with_hasher(self)
    }
}

impl BuildHasher for KeyHashing {
    type Hasher = SipHasher;

    fn build_hasher(&self) -> SipHasher {
        SipHasher::new_with_keys(self.0, self.0.rotate_left(32) ^ OTHER_HALF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that a client has chosen would all lie in one place, and each be compared with all others.
    #[test]
    fn where_keys_lie_depends_on_the_seed() {
        // With a hash that anybody can compute, what begins with these bytes hashes alike.
        let begin = [0x44, 0x73, 0x70, 0x03, 0x2e, 0x8a, 0x19, 0x13];
        let keys: Vec<Vec<u8>> = (0..1_000_u64).map(|number| [begin, number.to_be_bytes()].concat()).collect();
        let places =
            |seed: u64| keys.iter().map(move |key| KeyHashing::of_seed(seed).hash_one(key)).collect::<Vec<u64>>();
        for seed in [0, 7] {
            let mut different = places(seed);
            different.sort_unstable();
            different.dedup();
            assert_eq!(different.len(), keys.len());
        }
        assert_ne!(places(0), places(7));
    }
}
