//! Bringing to memory, bit by bit, what a large transaction touches, before it is checked.
//!
//! Invariant: no check, and no installation of what was checked lately, visits the store for more rows than `touched_max`: a site that is busy with
//! one transaction for longer than a lease is taken for dead. The asker holds commit-locks meanwhile, so it does not matter when it is answered.

use crate::limits::{WARMED_LOOKS_PER_TICK, WARMED_PER_TICK};
use crate::local::Local;
use crate::store::StoreError;
use messages::{History, Key, ServerKind, TableId, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

/// A check that is to come.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Waiting {
    pub(crate) asker: ServerKind,
    pub(crate) transaction: TransactionId,
    pub(crate) history: Arc<History>,
    /// How much of what it touches is in memory.
    warmed: usize,
}

/// Checks of large transactions, one after the other.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Warming {
    touched_max: usize,
    waiting: VecDeque<Waiting>,
}

impl Warming {
    pub(crate) fn new(touched_max: usize) -> Warming {
        Warming { touched_max, waiting: VecDeque::new() }
    }

    /// Whether so much is touched that the check has to wait.
    pub(crate) fn is_for(&self, history: &History) -> bool {
        history.reads.len() + history.writes.len() + history.increments.len() > self.touched_max
    }

    pub(crate) fn enqueue(&mut self, asker: ServerKind, transaction: TransactionId, history: Arc<History>) {
        self.waiting.push_back(Waiting { asker, transaction, history, warmed: 0 });
    }

    /// A transaction is given up.
    pub(crate) fn abandon(&mut self, transaction: TransactionId) {
        self.waiting.retain(|waiting| waiting.transaction != transaction);
    }

    /// Nothing is asked any more.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Goes on for as long as a tick may take. Returns the transaction that can be checked now, if there is one.
    pub(crate) fn step(&mut self, local: &mut Local) -> Result<Option<Waiting>, StoreError> {
        let Some(waiting) = self.waiting.front_mut() else { return Ok(None) };
        let mut cost = 0;
        for _ in 0..WARMED_LOOKS_PER_TICK {
            let Some((table, key)) = touched(&waiting.history, waiting.warmed) else {
                return Ok(self.waiting.pop_front());
            };
            cost += local.warm(table, key)?;
            waiting.warmed += 1;
            if cost >= WARMED_PER_TICK {
                break;
            }
        }
        Ok(None)
    }
}

/// The items that a history touches, by number.
fn touched(history: &History, number: usize) -> Option<(TableId, &Key)> {
    let History { reads, writes, increments, .. } = history;
    let read = reads.get(number).map(|read| (read.table, &read.key));
    let number = number.checked_sub(reads.len());
    let write = number.and_then(|number| writes.get(number)).map(|write| (write.table, &write.key));
    let number = number.and_then(|number| number.checked_sub(writes.len()));
    let increment = number.and_then(|number| increments.get(number)).map(|added| (added.table, &added.key));
    read.or(write).or(increment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::{Increment, ItemRead, Timestamp, Write};

    /// An item that is passed over would be looked up in the store after all.
    #[test]
    fn everything_is_touched_once() {
        let table = TableId(20);
        let key = |number: u8| Key::new(&[number]);
        let history = History {
            reads: vec![ItemRead { table, key: key(0), seen: Timestamp::ZERO }],
            writes: (1..=2).map(|number| Write { table, key: key(number), row: None }).collect(),
            increments: vec![Increment { table, key: key(3), addends: smallvec::SmallVec::new() }],
            ..History::default()
        };
        let all: Vec<&Key> = (0..).map_while(|number| touched(&history, number)).map(|(_, key)| key).collect();
        assert_eq!(all, [&key(0), &key(1), &key(2), &key(3)]);
    }
}
