//! What ended transactions have accessed, as long as one with a smaller stamp executes: it must not come too late unnoticed.
//!
//! Invariant: every ghost has a larger stamp than the smallest for which [`Ghosts::forget_below`] was called.

use crate::lock_table::{LockPlace, LockTable, Mode};
use messages::TransactionId;
use messages::concurrency::AccessTarget;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

#[derive(Debug, Serialize, Deserialize)]
struct Ghost {
    stamp: u64,
    accesses: Vec<(AccessTarget, Mode)>,
}

/// Accesses of ended transactions.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Ghosts {
    table: LockTable,
    by_transaction: BTreeMap<TransactionId, Ghost>,
    by_stamp: BTreeMap<u64, TransactionId>,
    accesses: usize,
}

impl Ghosts {
    /// So many accesses are remembered.
    pub fn accesses(&self) -> usize {
        self.accesses
    }

    /// Remembers what a transaction has accessed that has ended. What it has only added to has no place in the order.
    pub fn add<'a>(
        &mut self,
        transaction: TransactionId,
        stamp: u64,
        accesses: impl Iterator<Item = (&'a AccessTarget, Mode)>,
    ) {
        // It may have been one before, if its group came to nothing and it has gone on.
        self.forget(transaction);
        let mut kept = Vec::new();
        for (target, mode) in accesses.filter(|(_, mode)| *mode != Mode::Increment) {
            if self.table.add(LockPlace::from(target), transaction, mode) {
                kept.push((target.clone(), mode));
            }
        }
        self.accesses += kept.len();
        self.by_stamp.insert(stamp, transaction);
        self.by_transaction.insert(transaction, Ghost { stamp, accesses: kept });
    }

    /// Forgets those with smaller stamps than the smallest of all that execute; without one, all.
    pub fn forget_below(&mut self, smallest: Option<u64>) {
        while let Some((&stamp, &transaction)) = self.by_stamp.first_key_value()
            && smallest.is_none_or(|smallest| stamp < smallest)
        {
            self.forget(transaction);
        }
    }

    /// Forgets one, if it is remembered.
    pub fn forget(&mut self, transaction: TransactionId) {
        let Some(ghost) = self.by_transaction.remove(&transaction) else { return };
        self.by_stamp.remove(&ghost.stamp);
        self.accesses -= ghost.accesses.len();
        for (target, mode) in ghost.accesses {
            self.table.remove(LockPlace::from(&target), transaction, mode);
        }
    }

    /// One with a larger stamp that has accessed this in a conflicting way.
    pub fn later_than(
        &self,
        stamp: u64,
        place: LockPlace<'_>,
        own: TransactionId,
        mode: Mode,
    ) -> Option<TransactionId> {
        let mut found = None;
        let _ = self.table.conflicts(place, own, mode, |holder| {
            if self.by_transaction[&holder.transaction].stamp < stamp {
                return ControlFlow::Continue(());
            }
            found = Some(holder.transaction);
            ControlFlow::Break(())
        });
        found
    }
}
