//! Commit-locks: what transactions that are being prepared at this site hold or wait for, whatever the method (rule 3).
//!
//! Wait-die: the older waits, the younger dies. Invariants:
//!
//! * a transaction has commit-locks on its whole history or on nothing of it;
//! * no two that hold conflict;
//! * no two that wait conflict: of two, the younger dies, whichever comes last;
//! * one that waits is older than each that it waits for.
//!
//! So all waits at all sites lead from older to younger transactions and close no circle; what one waits for is fixed when
//! it comes and only shrinks; and the oldest that waits is overtaken by nobody.
//!
//! Who is alone is not listed: its history says what it locks, should somebody come who has to be compared with it.

use crate::lock_table::{LockPlace, LockTable, Mode, Placing};
use messages::planted::Planted;
use messages::{Age, Conflict, ConflictKind, History, Timestamp, TransactionId};
use messages::{planted, reached};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

#[derive(Debug, Serialize, Deserialize)]
struct CommitLock {
    age: Age,
    history: Arc<History>,
    /// Younger ones that hold something it wants. Empty: it holds everything.
    waits_for: BTreeSet<TransactionId>,
    /// Those that wait for it.
    awaited_by: Vec<TransactionId>,
    /// The proposal, once voted for.
    voted: Option<Timestamp>,
    /// Snapshot accesses that wait for its outcome.
    readers: Vec<u64>,
}

impl CommitLock {
    fn new(age: Age, history: Arc<History>) -> CommitLock {
        let (waits_for, awaited_by, readers) = (BTreeSet::new(), Vec::new(), Vec::new());
        CommitLock { age, history, waits_for, awaited_by, voted: None, readers }
    }
}

/// What became of a request for commit-locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitLockVerdict {
    /// It holds everything.
    Locked,
    /// It waits; a later `finish` grants it, or a later `lock` kills it.
    Waits,
    /// It holds nothing and is not known any more.
    Dies(Conflict),
}

/// One that waited and was killed by an older one.
#[derive(Debug)]
pub struct Killed {
    /// Who.
    pub transaction: TransactionId,
    /// By whom, on what.
    pub conflict: Conflict,
    /// What it waited with.
    pub history: Arc<History>,
}

/// What the end of a transaction brings about.
#[derive(Debug)]
pub struct Finished {
    /// What it had locked.
    pub history: Arc<History>,
    /// Those that hold everything now, oldest first.
    pub granted: Vec<TransactionId>,
    /// Snapshot accesses that may go on, in the order in which they came.
    pub readers: Vec<u64>,
}

/// All commit-locks of a site.
#[derive(Debug, Serialize, Deserialize)]
pub struct CommitLocks {
    /// Of those that hold and those that wait, but for `alone`.
    table: LockTable,
    /// The only transaction there is, as long as nobody has looked for its locks.
    alone: Option<TransactionId>,
    transactions: FxHashMap<TransactionId, CommitLock>,
    /// Snapshot accesses that wait, and the outcomes they wait for.
    readers: FxHashMap<u64, BTreeSet<TransactionId>>,
    placing: Placing,
}

impl CommitLocks {
    /// Nothing is locked.
    pub fn new(placing: Placing) -> CommitLocks {
        CommitLocks {
            table: LockTable::default(),
            alone: None,
            transactions: FxHashMap::default(),
            readers: FxHashMap::default(),
            placing,
        }
    }

    /// Which clause the simulator leaves out.
    pub fn planted(&self) -> Planted {
        self.placing.planted
    }

    /// Whether nothing is locked and nobody waits, readers included.
    pub fn is_empty(&self) -> bool {
        self.transactions.is_empty() && self.table.is_empty() && self.readers.is_empty()
    }

    /// Whether it holds its commit-locks; `None`: it is not known here.
    pub fn holds(&self, transaction: TransactionId) -> Option<bool> {
        self.transactions.get(&transaction).map(|lock| lock.waits_for.is_empty())
    }

    /// All commit-locks, in their table.
    fn listed(&mut self) -> &LockTable {
        if planted!(self.placing.planted, AloneUnlisted) {
            return &self.table;
        }
        if let Some(alone) = self.alone.take() {
            for (place, mode) in self.placing.places(&self.transactions[&alone].history) {
                self.table.add(place, alone, mode);
            }
        }
        &self.table
    }

    /// Somebody else whose commit-lock, held or waited for, an access conflicts with.
    pub fn conflict(&mut self, place: LockPlace<'_>, own: TransactionId, mode: Mode) -> Option<TransactionId> {
        let mut found = None;
        let _ = self.listed().conflicts(place, own, mode, |holder| {
            found = Some(holder.transaction);
            ControlFlow::Break(())
        });
        found
    }

    /// Asks for everything in the history at once. The transaction is not known yet.
    pub fn lock(
        &mut self,
        transaction: TransactionId,
        age: Age,
        history: Arc<History>,
    ) -> (CommitLockVerdict, Vec<Killed>) {
        assert!(self.holds(transaction).is_none(), "commit-locks are asked for once: {transaction}");
        if self.transactions.is_empty() {
            self.transactions.insert(transaction, CommitLock::new(age, history));
            self.alone = Some(transaction);
            return (CommitLockVerdict::Locked, Vec::new());
        }
        let conflicts = self.conflicts_with(transaction, &history);
        let overtakes = planted!(self.placing.planted, WaiterOvertaken);
        let mut waits_for = BTreeSet::new();
        let mut waiting = Vec::new();
        for (other, place) in conflicts {
            let lock = &self.transactions[&other];
            let holds = lock.waits_for.is_empty();
            if !holds && overtakes {
                waiting.push((other, place));
            } else if (lock.age, other) < (age, transaction) {
                reached!("younger-dies");
                return (CommitLockVerdict::Dies(younger_dies(place, other)), Vec::new());
            } else if holds {
                waits_for.insert(other);
            } else {
                waiting.push((other, place));
            }
        }
        let mut lock = CommitLock { waits_for, ..CommitLock::new(age, history.clone()) };
        let mut killed = Vec::new();
        for (other, place) in waiting {
            if overtakes {
                self.transactions.get_mut(&other).expect("it waits").waits_for.insert(transaction);
                lock.awaited_by.push(other);
            } else {
                let conflict = younger_dies(place, transaction);
                reached!("younger-waiter-killed");
                let history = self.kill(other);
                killed.push(Killed { transaction: other, conflict, history });
            }
        }
        for other in &lock.waits_for {
            self.transactions.get_mut(other).expect("it holds").awaited_by.push(transaction);
        }
        for (place, mode) in self.placing.places(&history) {
            self.table.add(place, transaction, mode);
        }
        let verdict = if lock.waits_for.is_empty() { CommitLockVerdict::Locked } else { CommitLockVerdict::Waits };
        self.transactions.insert(transaction, lock);
        (verdict, killed)
    }

    /// Those that a history conflicts with, and one place where.
    fn conflicts_with<'a>(
        &mut self,
        own: TransactionId,
        history: &'a History,
    ) -> BTreeMap<TransactionId, LockPlace<'a>> {
        let mut conflicts = BTreeMap::new();
        let placing = self.placing;
        let table = self.listed();
        for (place, mode) in placing.places(history) {
            let _ = table.conflicts(place, own, mode, |holder| {
                conflicts.entry(holder.transaction).or_insert(place);
                ControlFlow::Continue(())
            });
        }
        conflicts
    }

    /// Removes one that waits and that nobody waits for.
    fn kill(&mut self, transaction: TransactionId) -> Arc<History> {
        let lock = self.remove(transaction).expect("who is killed waits");
        assert!(lock.awaited_by.is_empty(), "nobody waits for one that waits: {transaction}");
        lock.history
    }

    /// Removes all trace of it but what its own entry lists.
    fn remove(&mut self, transaction: TransactionId) -> Option<CommitLock> {
        let lock = self.transactions.remove(&transaction)?;
        for other in &lock.waits_for {
            let other = self.transactions.get_mut(other).expect("who is waited for is known");
            other.awaited_by.retain(|waiting| *waiting != transaction);
        }
        if self.alone.take_if(|alone| *alone == transaction).is_some() {
            return Some(lock);
        }
        for (place, mode) in self.placing.places(&lock.history) {
            self.table.remove(place, transaction, mode);
        }
        Some(lock)
    }

    /// The site has voted yes for it, with this proposal.
    pub fn voted(&mut self, transaction: TransactionId, proposal: Timestamp) {
        if let Some(lock) = self.transactions.get_mut(&transaction) {
            lock.voted = Some(proposal);
        }
    }

    /// It is decided, or never will be voted for here. `None`: it has no commit-locks.
    pub fn finish(&mut self, transaction: TransactionId) -> Option<Finished> {
        let lock = self.remove(transaction)?;
        let mut granted = Vec::new();
        for waiting in lock.awaited_by {
            let other = self.transactions.get_mut(&waiting).expect("who waits is known");
            other.waits_for.remove(&transaction);
            if other.waits_for.is_empty() {
                granted.push((other.age, waiting));
            }
        }
        granted.sort_unstable();
        let granted = granted.into_iter().map(|(_, waiting)| waiting).collect();
        let readers = lock.readers.into_iter().filter(|tag| self.decided_for(*tag, transaction)).collect();
        Some(Finished { history: lock.history, granted, readers })
    }

    /// Whether this was the last outcome that the snapshot access waited for.
    fn decided_for(&mut self, tag: u64, transaction: TransactionId) -> bool {
        let Some(undecided) = self.readers.get_mut(&tag) else { return false };
        let last = undecided.remove(&transaction) && undecided.is_empty();
        if last {
            self.readers.remove(&tag);
        }
        last
    }

    /// A reader at this snapshot: true when it may read at once, otherwise once a `finish` names its tag. It waits for what holds a
    /// commit-lock now that changes it, and was voted for at or below the snapshot; nothing else can commit there any more.
    pub fn snapshot_access(&mut self, tag: u64, place: LockPlace<'_>, snapshot: Timestamp) -> bool {
        let mut undecided = BTreeSet::new();
        self.listed();
        let transactions = &self.transactions;
        let _ = self.table.conflicts(place, TransactionId::ZERO, Mode::Shared, |holder| {
            if transactions[&holder.transaction].voted.is_some_and(|proposal| proposal <= snapshot) {
                undecided.insert(holder.transaction);
            }
            ControlFlow::Continue(())
        });
        for transaction in &undecided {
            self.transactions.get_mut(transaction).expect("it holds a lock").readers.push(tag);
        }
        let at_once = undecided.is_empty();
        if !at_once {
            self.readers.insert(tag, undecided);
        }
        at_once
    }

    /// The reader no longer waits.
    pub fn forget_snapshot(&mut self, tag: u64) {
        for transaction in self.readers.remove(&tag).unwrap_or_default() {
            if let Some(lock) = self.transactions.get_mut(&transaction) {
                lock.readers.retain(|other| *other != tag);
            }
        }
    }
}

fn younger_dies(place: LockPlace<'_>, other: TransactionId) -> Conflict {
    Conflict::on(place.item(), ConflictKind::YoungerDies, Some(other))
}
