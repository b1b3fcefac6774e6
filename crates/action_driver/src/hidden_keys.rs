//! Hidden keys: numbers for the rows of tables without a primary key.
//!
//! Invariant: a site never gives out a number twice, restarts included, and asks nobody and logs nothing for it. A number has
//! 48 bits. Each life of the site counts up from a start of its own: its incarnation with the order of its bits reversed, so
//! that any number of lives share the space evenly. The starts of the first 2^n lives lie 2^(48 - n) apart: with
//! [`HIDDEN_KEYS_PER_LIFE_MAX`] = 2^36 keys a life, 2^12 lives that each use all of theirs do not meet, nor do 2^24 lives of 2^24 keys.

use crate::limits::{HIDDEN_COUNTER_BITS, HIDDEN_KEYS_PER_LIFE_MAX};
use messages::schema::hidden_key;
use messages::session::Failure;
use messages::{Incarnation, SiteId, TransactionId};
use serde::{Deserialize, Serialize};
use values::Value;

/// The hidden keys of one life of a site.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct HiddenKeys {
    given: u64,
}

impl HiddenKeys {
    /// The next number. `life` is any transaction of this life. Errors: 54000 when the life has given out all of its numbers.
    pub fn next(&mut self, life: TransactionId) -> Result<Value, Failure> {
        if self.given == HIDDEN_KEYS_PER_LIFE_MAX {
            return Err(crate::failure::statement(
                sqlstate::PROGRAM_LIMIT_EXCEEDED,
                "this site has given out all hidden row keys of its present life: restart it",
            ));
        }
        let key = nth(life.home, life.incarnation, self.given);
        self.given += 1;
        Ok(key)
    }
}

fn nth(site: SiteId, incarnation: Incarnation, number: u64) -> Value {
    let start = u64::from(incarnation.0).reverse_bits() >> (u64::BITS - HIDDEN_COUNTER_BITS);
    hidden_key(site, start.wrapping_add(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of an earlier life would be overwritten without a trace if two lives shared a number.
    #[test]
    fn lives_keep_apart() {
        let mut starts: Vec<i64> =
            (0..4096).map(|life| nth(SiteId(3), Incarnation(life), 0).as_integer().unwrap()).collect();
        starts.sort_unstable();
        for pair in starts.windows(2) {
            assert!(pair[1] - pair[0] >= HIDDEN_KEYS_PER_LIFE_MAX as i64);
        }
        assert!(starts.iter().all(|start| start >> 48 == 3));
    }
}
