//! Random bits for functions whose answers nobody may guess: `gen_random_bytes` makes keys of them.
//!
//! Invariant: who knows some of the bits, and not the key, knows nothing of the others. They are SHA-256 of the key and of a counter (NIST SP 800-90A has more of
//! its kind). The same key gives the same bits.

use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// What bits are made of.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct RandomKey {
    secret: [u8; 32],
    number: u64,
}

/// Gives each execution a key of its own: a secret that the operating system drew once, and a number.
#[derive(Debug)]
pub struct RandomKeys {
    secret: RandomKey,
    drawn: AtomicU64,
}

impl RandomKeys {
    /// Keys of a secret that nobody guesses.
    pub fn new(secret: [u8; 32]) -> RandomKeys {
        RandomKeys { secret: RandomKey { secret, number: 0 }, drawn: AtomicU64::new(0) }
    }

    /// The next key.
    pub fn draw(&self) -> RandomKey {
        RandomKey { number: self.drawn.fetch_add(1, Ordering::Relaxed), ..self.secret }
    }
}

/// A key is shown to nobody.
impl fmt::Debug for RandomKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RandomKey")
    }
}

/// Random bits of one execution.
#[derive(Clone, Debug)]
pub struct RandomBits {
    key: RandomKey,
    drawn: u64,
    /// Those of one digest that were not given out yet, the next one last.
    left: Vec<u64>,
}

impl RandomBits {
    /// The bits of a key.
    pub fn new(key: RandomKey) -> RandomBits {
        RandomBits { key, drawn: 0, left: Vec::new() }
    }

    /// The next 64.
    pub fn draw(&mut self) -> u64 {
        loop {
            if let Some(bits) = self.left.pop() {
                return bits;
            }
            self.drawn += 1;
            let mut digest = Sha256::new();
            digest.update(self.key.secret);
            digest.update(self.key.number.to_be_bytes());
            digest.update(self.drawn.to_be_bytes());
            let digest = digest.finalize();
            let (words, _) = digest.as_chunks::<8>();
            self.left.extend(words.iter().map(|word| u64::from_be_bytes(*word)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A simulation would not be the same twice, or two executions would make the same keys.
    #[test]
    fn bits_depend_on_the_key_alone() {
        let draw = |secret: u8, executions: usize| -> Vec<u64> {
            let keys = RandomKeys::new([secret; 32]);
            let bits = (0..executions).map(|_| RandomBits::new(keys.draw()));
            bits.flat_map(|mut bits| [(); 9].map(|()| bits.draw())).collect()
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        let all: std::collections::BTreeSet<u64> = draw(1, 2).into_iter().chain(draw(2, 2)).collect();
        assert_eq!(all.len(), 36);
    }
}
