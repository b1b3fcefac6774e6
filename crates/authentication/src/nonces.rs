//! Numbers that nobody guesses, from a secret that comes in: HMAC of a counter.
//!
//! Invariant: no two numbers of one secret are the same, and whoever does not know the secret cannot tell them from chance.

use ring::hmac;
use std::fmt;

/// A source of unguessable numbers.
pub struct Nonces {
    key: hmac::Key,
    drawn: u64,
}

impl Nonces {
    /// From a secret that was drawn from the operating system for this source alone.
    pub fn new(secret: &[u8; 32]) -> Nonces {
        Nonces { key: hmac::Key::new(hmac::HMAC_SHA256, secret), drawn: 0 }
    }

    /// The next number.
    pub fn draw<const N: usize>(&mut self) -> [u8; N] {
        const { assert!(N <= 32, "a hash has 32 bytes") };
        self.drawn += 1;
        let hash = hmac::sign(&self.key, &self.drawn.to_be_bytes());
        let mut drawn = [0; N];
        drawn.copy_from_slice(&hash.as_ref()[..N]);
        drawn
    }
}

/// Without the secret.
impl fmt::Debug for Nonces {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "nonces, {} drawn", self.drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this failed, an exchange could be replayed.
    #[test]
    fn no_number_comes_twice() {
        let (mut one, mut other) = (Nonces::new(&[1; 32]), Nonces::new(&[2; 32]));
        let mut drawn: Vec<[u8; 18]> = (0..100).flat_map(|_| [one.draw(), other.draw()]).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 200);
    }
}
