//! What a session has: how often for itself, and what of it only until its transaction ends, or a savepoint is returned to.
//!
//! Invariant: a lock is listed exactly as long as the session or its transaction has it; whatever takes the last of it says so, and it is given back.

use crate::limits::ADVISORY_LOCKS_MAX;
use messages::advisory::{AdvisoryKey, AdvisoryMode};
use std::collections::BTreeMap;

/// A lock in a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldLock {
    /// Which lock.
    pub key: AdvisoryKey,
    /// How.
    pub mode: AdvisoryMode,
}

/// A lock of a table, to be taken before a program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLock {
    /// Which, and how.
    pub lock: HeldLock,
    /// Whether it is waited for.
    pub waits: bool,
    /// The table, as messages name it.
    pub name: String,
}

/// For how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockScope {
    /// Until it is given back as often as it was taken, or the session ends.
    Session,
    /// Until the transaction ends.
    Transaction,
}

/// What came of giving back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenBack {
    /// The session had not taken it.
    NotHeld,
    /// It still has it.
    StillHeld,
    /// It has it no more.
    Gone,
}

#[derive(Debug, Default)]
struct LockCount {
    /// How often the session has taken it.
    session: u64,
    /// Whether its transaction has, too: how often makes no difference, for all of that ends together.
    in_transaction: bool,
}

/// What a session has.
#[derive(Debug, Default)]
pub struct HeldLocks {
    counts: BTreeMap<HeldLock, LockCount>,
    /// What the transaction has taken, in order.
    taken: Vec<HeldLock>,
    /// By savepoint, the outermost first: how many of these there were.
    marks: Vec<usize>,
}

impl HeldLocks {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Whether no more can be kept.
    pub fn is_full(&self) -> bool {
        self.counts.len() >= ADVISORY_LOCKS_MAX
    }

    /// Whether it has this.
    pub fn has(&self, lock: HeldLock) -> bool {
        self.counts.contains_key(&lock)
    }

    /// It has been given this, or takes it once more.
    pub fn note(&mut self, lock: HeldLock, scope: LockScope) {
        let count = self.counts.entry(lock).or_default();
        match scope {
            LockScope::Session => count.session += 1,
            LockScope::Transaction if count.in_transaction => {}
            LockScope::Transaction => {
                count.in_transaction = true;
                self.taken.push(lock);
            }
        }
    }

    /// The session gives back what it has taken for itself, once.
    pub fn give_back(&mut self, lock: HeldLock) -> GivenBack {
        let Some(count) = self.counts.get_mut(&lock).filter(|count| count.session > 0) else {
            return GivenBack::NotHeld;
        };
        count.session -= 1;
        if count.session > 0 || count.in_transaction {
            return GivenBack::StillHeld;
        }
        self.counts.remove(&lock);
        GivenBack::Gone
    }

    /// The session gives back all that it has taken for itself. What it has no more.
    pub fn give_back_all(&mut self) -> Vec<HeldLock> {
        let gone = self.counts.extract_if(.., |_, count| {
            count.session = 0;
            !count.in_transaction
        });
        gone.map(|(lock, _)| lock).collect()
    }

    /// A savepoint is set.
    pub fn mark(&mut self) {
        self.marks.push(self.taken.len());
    }

    /// The savepoint at this place, and those set since, are released.
    pub fn release(&mut self, place: usize) {
        self.marks.truncate(place);
    }

    /// Back to the savepoint at this place, which remains. What the session has no more.
    pub fn roll_back_to(&mut self, place: usize) -> Vec<HeldLock> {
        self.marks.truncate(place + 1);
        self.fail()
    }

    /// A statement has failed: what has been taken since the last savepoint goes. What the session has no more.
    pub fn fail(&mut self) -> Vec<HeldLock> {
        let left = self.marks.last().copied().unwrap_or(0);
        self.forget_from(left)
    }

    /// The transaction is over. What the session has no more.
    pub fn end_transaction(&mut self) -> Vec<HeldLock> {
        self.marks.clear();
        self.forget_from(0)
    }

    /// The session ends. What it has no more.
    pub fn take_all(&mut self) -> Vec<HeldLock> {
        std::mem::take(self).counts.into_keys().collect()
    }

    fn forget_from(&mut self, left: usize) -> Vec<HeldLock> {
        let mut gone = Vec::new();
        for lock in self.taken.drain(left..) {
            let count = self.counts.get_mut(&lock).expect("what a transaction has taken is listed");
            count.in_transaction = false;
            if count.session == 0 {
                self.counts.remove(&lock);
                gone.push(lock);
            }
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LockScope::{Session, Transaction};

    fn lock(number: i64) -> HeldLock {
        HeldLock { key: AdvisoryKey::of_number(number), mode: AdvisoryMode::Exclusive }
    }

    /// If this fails, a lock that was taken twice is gone after one unlock, or stays after two.
    #[test]
    fn a_session_counts() {
        let mut held = HeldLocks::default();
        assert_eq!(held.give_back(lock(1)), GivenBack::NotHeld);
        held.note(lock(1), Session);
        held.note(lock(1), Session);
        assert_eq!(held.give_back(lock(1)), GivenBack::StillHeld);
        let shared = HeldLock { mode: AdvisoryMode::Share, ..lock(1) };
        assert_eq!(held.give_back(shared), GivenBack::NotHeld, "another mode is counted apart");
        assert_eq!(held.give_back(lock(1)), GivenBack::Gone);
        assert!(held.is_empty());
    }

    /// If this fails, a rollback takes what a session keeps, or a transaction leaves behind what was its own.
    #[test]
    fn transactions_and_savepoints_end_what_is_theirs() {
        let mut held = HeldLocks::default();
        held.note(lock(1), Session);
        held.note(lock(1), Transaction);
        held.note(lock(2), Transaction);
        held.mark();
        held.note(lock(3), Transaction);
        held.note(lock(2), Transaction);
        held.note(lock(4), Session);
        assert_eq!(held.give_back(lock(1)), GivenBack::StillHeld, "the transaction has it");
        assert_eq!(held.give_back(lock(2)), GivenBack::NotHeld, "only the transaction has it");
        held.mark();
        held.note(lock(5), Transaction);
        assert_eq!(held.fail(), [lock(5)]);
        assert_eq!(held.roll_back_to(0), [lock(3)], "what was taken before stays");
        held.note(lock(6), Transaction);
        held.release(0);
        assert_eq!(held.end_transaction(), [lock(1), lock(2), lock(6)]);
        assert_eq!(held.give_back_all(), [lock(4)]);
        assert!(held.is_empty());
    }

    /// If this fails, a lock that was given back while the transaction had it is lost sight of.
    #[test]
    fn all_that_is_left_is_known() {
        let mut held = HeldLocks::default();
        held.note(lock(1), Session);
        held.note(lock(2), Session);
        held.note(lock(2), Transaction);
        assert_eq!(held.give_back_all(), [lock(1)]);
        assert_eq!(held.take_all(), [lock(2)]);
    }
}
