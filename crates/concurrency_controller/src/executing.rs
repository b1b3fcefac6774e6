//! Transactions that execute at this site: what they have accessed, what they wait for, and who of them is doomed. Common to all
//! methods.
//!
//! Invariants: a transaction has at most one request waiting; a doomed one has neither accesses nor a request; no access that
//! the method holds dear ([`Sequencer::loses`]) conflicts with a commit-lock; whatever waits, waits for somebody: an executing
//! transaction or a commit-lock. A commit-lock waits for no executing transaction, so a circle of waits lies among the
//! executing ones alone.
//!
//! Prepared beats executing, so a stream of prepares from other sites could keep an access waiting for ever. Who has waited for
//! `ACCESS_PATIENCE` is *owed*: younger transactions of other sites die instead of passing it, until it has been granted and
//! `OWED_TIME` is over. Nobody waits for it, so no circle closes. What takes long and has lost before (an index of a table that others write) may be
//! asked for with *precedence*: it is owed at once, also by transactions of its own site, until its transaction ends.
//!
//! What a transaction has been granted that executes alone is in its own list and not in the table: most calls of procedures come and go so.

mod waits;

use crate::commit_locks::CommitLocks;
use crate::limits::{ACCESS_PATIENCE, ALONE_MAX, OWED_TIME, PRECEDENCE_TIME};
use crate::lock_table::{Holder, LockPlace, LockStanding, LockTable, Mode, Placing};
use crate::sequencer::{Judgement, Judges, Sequencer};
use messages::concurrency::{AccessTarget, AccessWait};
use messages::planted;
use messages::planted::Planted;
use messages::{Age, Conflict, ConflictKind, History, Item, TransactionId};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// An access that is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LockRequest {
    /// Who asks.
    pub transaction: TransactionId,
    /// What it wants.
    pub target: AccessTarget,
    /// How.
    pub mode: Mode,
    /// Counted up: the order in which requests came.
    pub order: u64,
    /// The age of who asks.
    pub age: Age,
    /// When it began to wait (boot clock).
    pub since: u64,
    /// Whether it waits for what it wants.
    pub wait: AccessWait,
    /// Whether younger ones let it go first at once, and for as long as it executes.
    pub precedence: bool,
}

/// A transaction with its age, which decides who goes first.
#[derive(Clone, Copy, Debug)]
pub struct LockOwner {
    /// Which.
    pub transaction: TransactionId,
    /// Its age.
    pub age: Age,
}

/// A transaction that takes its commit-locks.
#[derive(Clone, Copy)]
pub struct Committing<'a> {
    /// Which, and its age.
    pub owner: LockOwner,
    /// The transactions that it consists of, if it is a group commit.
    pub gathered: &'a [TransactionId],
    /// What is locked.
    pub history: &'a History,
    /// Which locks a history needs.
    pub placing: Placing,
}

/// How something is asked for.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// For what use.
    pub mode: Mode,
    /// Whether it may wait.
    pub wait: AccessWait,
    /// See [`LockRequest::precedence`].
    pub precedence: bool,
}

impl LockRequest {
    /// What it wants, borrowed.
    pub fn place(&self) -> LockPlace<'_> {
        LockPlace::from(&self.target)
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct LockingTransaction {
    /// What it has been granted: what to remove from the table of accesses.
    holds: Vec<(AccessTarget, Mode)>,
    /// Of that, the items for which it has been granted more since than `holds` says.
    upgraded: Vec<AccessTarget>,
    request: Option<LockRequest>,
    doomed: Option<Conflict>,
    /// Its age, from its first access on.
    age: Option<Age>,
    /// Its prepare has been sent with those of others: it executes no more.
    is_gathered: bool,
    /// What younger ones owe it.
    owed: Option<Owed>,
}

/// An executing transaction that younger ones let be.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Owed {
    /// Its age.
    age: Age,
    /// Until when (boot clock).
    until: u64,
    /// Those of its own site, too.
    by_all: bool,
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockReply {
    /// Go on.
    Granted,
    /// A later answer follows.
    Waits,
    /// It would wait, and may not.
    Busy,
    /// Somebody else has what it wants only if nobody has it.
    Taken,
    /// The transaction must abort.
    Refused(Conflict),
}

/// A transaction that has lost an access to a commit-lock.
#[derive(Debug)]
pub struct Doomed {
    /// Who.
    pub transaction: TransactionId,
    /// To whom, on what.
    pub conflict: Conflict,
    /// Its request that waited is refused by this, too.
    pub waited: bool,
}

/// What was accessed or waited for and is so no more: who waits behind it may go on. Nothing if nobody waits at all.
pub type Freed = Vec<AccessTarget>;

/// Requests that waited, and what became of them.
pub type WaiterReplies = Vec<(TransactionId, LockReply)>;

/// All executing transactions of a site.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Executing {
    /// What has been granted, but for `alone`.
    held: LockTable,
    /// The only transaction that executes, as long as it is that and its own list suffices.
    alone: Option<TransactionId>,
    waiting: LockTable,
    transactions: FxHashMap<TransactionId, LockingTransaction>,
    /// Who waits, in the order in which they asked.
    queue: BTreeMap<u64, TransactionId>,
    requests: u64,
    /// When the last who is owed something will be so no more (boot clock).
    owed_until: u64,
}

impl LockingTransaction {
    /// Whether it needs no lock for this, as far as its list tells.
    fn has(&self, target: &AccessTarget, mode: Mode) -> bool {
        self.holds.iter().any(|(held, how)| held == target && how.covers(mode))
    }

    /// Lists what it has been granted; an item once.
    fn take(&mut self, target: AccessTarget, mode: Mode) {
        match self.holds.iter_mut().find(|(held, _)| *held == target && matches!(held, AccessTarget::Item(_))) {
            Some((_, how)) => *how = how.join(mode),
            None => self.holds.push((target, mode)),
        }
    }
}

impl Executing {
    /// Whether nobody executes.
    pub fn is_empty(&self) -> bool {
        self.transactions.is_empty() && self.held.is_empty() && self.waiting.is_empty()
    }

    /// Granted accesses, but those of a transaction that executes alone.
    pub fn held(&self) -> &LockTable {
        &self.held
    }

    /// Requests that wait.
    pub fn waiting(&self) -> &LockTable {
        &self.waiting
    }

    /// What this transaction waits for.
    pub fn request_of(&self, transaction: TransactionId) -> Option<&LockRequest> {
        self.transactions.get(&transaction)?.request.as_ref()
    }

    /// Why this transaction must abort, if it must.
    pub fn doomed(&self, transaction: TransactionId) -> Option<&Conflict> {
        self.transactions.get(&transaction)?.doomed.as_ref()
    }

    /// Who has waited longest, and the order of its request.
    pub fn first_waiting(&self) -> Option<(u64, TransactionId)> {
        self.queue.first_key_value().map(|(order, transaction)| (*order, *transaction))
    }

    /// What waits, in the order in which it came.
    pub fn requests(&self) -> impl Iterator<Item = &LockRequest> {
        self.queue.values().map(|transaction| self.request_of(*transaction).expect("who is queued has a request"))
    }

    /// What this transaction has been granted.
    pub fn holds_of(&self, transaction: TransactionId) -> impl Iterator<Item = (&AccessTarget, Mode)> {
        let known = self.transactions.get(&transaction).into_iter();
        known.flat_map(|known| {
            known.holds.iter().map(|(target, mode)| match known.upgraded.contains(target) {
                true => (target, Mode::Exclusive),
                false => (target, *mode),
            })
        })
    }

    /// All that are known here, in no order.
    pub fn known(&self) -> impl Iterator<Item = TransactionId> {
        self.transactions.keys().copied()
    }

    /// Whether it has been granted something and goes on with it: it is neither doomed nor being prepared with others.
    pub fn is_under_way(&self, transaction: TransactionId) -> bool {
        let goes_on =
            |known: &LockingTransaction| known.doomed.is_none() && !known.is_gathered && !known.holds.is_empty();
        self.transactions.get(&transaction).is_some_and(goes_on)
    }

    /// Those that have been granted something and go on with it, oldest first.
    pub fn under_way(&self) -> Vec<(Age, TransactionId)> {
        let of_age = |(transaction, known): (&TransactionId, &LockingTransaction)| {
            let age = known.age.unwrap_or(Age { clock: 0, first: *transaction });
            self.is_under_way(*transaction).then_some((age, *transaction))
        };
        let mut under_way: Vec<_> = self.transactions.iter().filter_map(of_age).collect();
        under_way.sort_unstable();
        under_way
    }

    /// Those that are being prepared with others, oldest first: no switch of the method may doom them.
    pub fn gathered(&self) -> Vec<(Age, TransactionId)> {
        let gathered = self.transactions.iter().filter(|(_, known)| known.is_gathered && !known.holds.is_empty());
        let mut gathered: Vec<_> = gathered.filter_map(|(one, known)| Some((known.age?, *one))).collect();
        gathered.sort_unstable();
        gathered
    }

    /// A transaction wants to access something. It has no request waiting.
    pub fn access(
        &mut self,
        LockOwner { transaction, age }: LockOwner,
        target: AccessTarget,
        How { mode, wait, precedence }: How,
        now: u64,
        commit_locks: &mut CommitLocks,
        sequencer: &mut dyn Sequencer,
    ) -> LockReply {
        let known = self.transactions.entry(transaction).or_default();
        assert!(known.request.is_none(), "a transaction has one access under way at most: {transaction}");
        if let Some(conflict) = &known.doomed {
            return LockReply::Refused(conflict.clone());
        }
        (known.age, known.is_gathered) = (Some(age), false);
        let standing = match self.is_alone(transaction) {
            true if self.transactions[&transaction].has(&target, mode) => LockStanding::Covered,
            true => LockStanding::Free,
            false => self.held.standing(transaction, LockPlace::from(&target), mode),
        };
        let judges = sequencer.judges();
        if standing == LockStanding::Covered && judges < Judges::Everything {
            return LockReply::Granted;
        }
        self.requests += 1;
        let request =
            LockRequest { transaction, target, mode, order: self.requests, age, since: now, wait, precedence };
        sequencer.asks(&request);
        if standing == LockStanding::Contested && self.is_taken(&request, commit_locks.planted()) {
            return LockReply::Taken;
        }
        let uncontested = standing == LockStanding::Free && self.waiting.is_empty() && judges == Judges::Contested;
        let judgement = match standing != LockStanding::Covered && is_commit_locked(&request, commit_locks) {
            true => Judgement::Wait,
            false if uncontested => Judgement::Go,
            false => sequencer.judge(self, &request),
        };
        match judgement {
            Judgement::Go if standing == LockStanding::Covered => {
                sequencer.granted(&request, now);
                return LockReply::Granted;
            }
            Judgement::Go => {
                self.grant(request, now, sequencer);
                return LockReply::Granted;
            }
            Judgement::Refuse(conflict) => {
                sequencer.refused(transaction);
                return LockReply::Refused(conflict);
            }
            Judgement::Wait if wait == AccessWait::Never => return LockReply::Busy,
            Judgement::Wait if !may_wait_for(&request, commit_locks, sequencer) => return LockReply::Taken,
            Judgement::Wait => self.wait(request),
        }
        match self.refused_for_a_circle(transaction, sequencer) {
            Some(conflict) => LockReply::Refused(conflict),
            None => LockReply::Waits,
        }
    }

    /// Whether nobody executes beside this transaction, and it has been granted so little that its list does for a table. If not, all is in the table
    /// from now on.
    fn is_alone(&mut self, transaction: TransactionId) -> bool {
        let is_first = self.transactions.len() == 1 && self.held.is_empty();
        if is_first && self.transactions[&transaction].holds.len() < ALONE_MAX {
            self.alone = Some(transaction);
            return true;
        }
        self.list();
        false
    }

    /// Puts everything that has been granted into the table.
    fn list(&mut self) {
        if let Some(alone) = self.alone.take() {
            for (target, mode) in &self.transactions[&alone].holds {
                self.held.add(LockPlace::from(target), alone, *mode);
            }
        }
    }

    /// Whether a request wants something only if nobody else has it, and somebody has. It may be that a method lets both have it.
    fn is_taken(&self, request: &LockRequest, planted: Planted) -> bool {
        let found = |_: Holder| ControlFlow::Break(());
        request.wait == AccessWait::UnlessTaken
            && !planted!(planted, TakenRowsGranted)
            && self.held.conflicts(request.place(), request.transaction, request.mode, found).is_break()
    }

    fn wait(&mut self, request: LockRequest) {
        let transaction = request.transaction;
        self.waiting.add(request.place(), transaction, request.mode);
        self.queue.insert(request.order, transaction);
        self.transactions.get_mut(&transaction).expect("who asks is known").request = Some(request);
    }

    fn grant(&mut self, request: LockRequest, now: u64, sequencer: &mut dyn Sequencer) {
        sequencer.granted(&request, now);
        let time = match request.precedence {
            true => PRECEDENCE_TIME,
            false if now >= request.since + ACCESS_PATIENCE => OWED_TIME,
            false => 0,
        };
        let known = self.transactions.get_mut(&request.transaction).expect("who asks is known");
        let until = now + time;
        if time > 0 && known.owed.is_none_or(|owed| owed.until < until) {
            known.owed = Some(Owed { age: request.age, until, by_all: request.precedence });
            self.owed_until = self.owed_until.max(until);
        }
        if self.alone.is_some() {
            let known = self.transactions.get_mut(&request.transaction).expect("who asks is known");
            known.take(request.target, request.mode);
        } else if self.held.add(request.place(), request.transaction, request.mode) {
            let known = self.transactions.get_mut(&request.transaction).expect("who asks is known");
            known.holds.push((request.target, request.mode));
        } else if matches!(request.target, AccessTarget::Item(_)) {
            // Two modes of which neither covers the other have been joined.
            let known = self.transactions.get_mut(&request.transaction).expect("who asks is known");
            if !known.has(&request.target, request.mode) && !known.upgraded.contains(&request.target) {
                known.upgraded.push(request.target);
            }
        }
    }

    fn withdraw(&mut self, transaction: TransactionId) -> Option<LockRequest> {
        let request = self.transactions.get_mut(&transaction)?.request.take()?;
        self.queue.remove(&request.order);
        self.waiting.remove(request.place(), transaction, request.mode);
        Some(request)
    }

    /// A transaction that may add to these items gives that up: what it has not seen needs no protection. Where it may do more, nothing changes.
    pub fn give_up(&mut self, transaction: TransactionId, items: &[Item]) -> Freed {
        let Some(known) = self.transactions.get_mut(&transaction) else { return Freed::new() };
        let is_alone = self.alone == Some(transaction);
        let items: FxHashSet<&Item> = items.iter().collect();
        let mut freed = Freed::new();
        known.holds.retain(|(target, mode)| {
            let AccessTarget::Item(item) = target else { return true };
            let gives_up = items.contains(item)
                && match is_alone {
                    true => *mode == Mode::Increment,
                    false => self.held.remove_increment(item, transaction),
                };
            if gives_up {
                freed.push(target.clone());
            }
            !gives_up
        });
        freed
    }

    /// A transaction ends, and what it has been granted belongs to another one, which waits for nothing: so no circle closes.
    pub fn hand_over(&mut self, transaction: TransactionId, to: TransactionId, sequencer: &mut dyn Sequencer) -> Freed {
        self.list();
        if self.transactions.contains_key(&transaction) {
            sequencer.handed_over(transaction, to);
        }
        let freed = self.withdraw(transaction).map(|request| request.target);
        let Some(ended) = self.transactions.remove(&transaction) else { return Freed::new() };
        let heir = self.transactions.entry(to).or_default();
        heir.age = heir.age.or(ended.age);
        let is_doomed = heir.doomed.is_some();
        if !is_doomed {
            heir.upgraded.extend(ended.upgraded);
        }
        let mut freed: Freed = freed.into_iter().collect();
        for (target, mode) in ended.holds {
            self.held.remove(LockPlace::from(&target), transaction, mode);
            if is_doomed {
                freed.push(target);
            } else if self.held.add(LockPlace::from(&target), to, mode) {
                let heir = self.transactions.get_mut(&to).expect("entered above");
                heir.holds.push((target, mode));
            }
        }
        freed
    }

    /// Forgets a transaction: it has ended, or is committing and now has commit-locks in place of its accesses.
    pub fn forget(&mut self, transaction: TransactionId, sequencer: &mut dyn Sequencer) -> Freed {
        if self.transactions.contains_key(&transaction) {
            sequencer.ended(self, transaction);
        }
        let Some(known) = self.transactions.remove(&transaction) else { return Freed::new() };
        if known.owed.is_some_and(|owed| owed.until >= self.owed_until) {
            let others = self.transactions.values().filter_map(|known| known.owed);
            self.owed_until = others.map(|owed| owed.until).max().unwrap_or(0);
        }
        self.free(transaction, known.request, known.holds)
    }

    /// A transaction is being prepared together with others: it executes no more.
    pub fn gather(&mut self, transaction: TransactionId, sequencer: &mut dyn Sequencer) {
        if let Some(known) = self.transactions.get_mut(&transaction) {
            known.is_gathered = true;
            sequencer.ended(self, transaction);
        }
    }

    /// A transaction no longer waits for this, and no longer holds that.
    fn free(
        &mut self,
        transaction: TransactionId,
        request: Option<LockRequest>,
        holds: Vec<(AccessTarget, Mode)>,
    ) -> Freed {
        if let Some(request) = &request {
            self.queue.remove(&request.order);
            self.waiting.remove(request.place(), transaction, request.mode);
        }
        if self.alone.take_if(|alone| *alone == transaction).is_none() {
            for (target, mode) in &holds {
                self.held.remove(LockPlace::from(target), transaction, *mode);
            }
        }
        if self.waiting.is_empty() {
            return Freed::new();
        }
        request.map(|request| request.target).into_iter().chain(holds.into_iter().map(|(target, _)| target)).collect()
    }

    /// An older transaction of this site that has waited long for something, or takes precedence, and which another, which is about to take that, has
    /// to let go first. It is none of those that the other consists of.
    pub fn goes_first(&mut self, now: u64, committing: Committing, sequencer: &dyn Sequencer) -> Option<Conflict> {
        let Committing { owner: LockOwner { transaction: other, age }, gathered, history, placing } = committing;
        if self.waiting.is_empty() && now >= self.owed_until {
            return None;
        }
        self.list();
        let owed = |holder: TransactionId| {
            let known = &self.transactions[&holder];
            let is_owed = |request: &&LockRequest| request.precedence || now >= request.since + ACCESS_PATIENCE;
            let waits = known.request.as_ref().filter(is_owed).map(|request| (request.age, request.precedence));
            let granted = known.owed.filter(|owed| now < owed.until).map(|owed| (owed.age, owed.by_all));
            [waits, granted].into_iter().flatten().any(|(own_age, by_all)| {
                let by_this = holder.home != other.home || by_all && holder != other && !gathered.contains(&holder);
                by_this && (own_age, holder) < (age, other)
            })
        };
        for (place, mode) in placing.places(history) {
            let mut first = None;
            let mut look = |holder: Holder| match owed(holder.transaction) {
                true => {
                    first = Some(holder.transaction);
                    ControlFlow::Break(())
                }
                false => ControlFlow::Continue(()),
            };
            let _ = self.waiting.conflicts(place, other, mode, &mut look);
            // What has been granted needs it only where it would be doomed.
            let _ = self.held.conflicts(place, other, mode, |holder| match sequencer.loses(holder, mode) {
                true => look(holder),
                false => ControlFlow::Continue(()),
            });
            if first.is_some() {
                return Some(Conflict::on(place.item(), ConflictKind::OlderWaits, first));
            }
        }
        None
    }

    /// Dooms whoever loses an access to the commit-locks of this transaction, in the order of their identifiers, but for those that it consists
    /// of.
    pub fn doom(&mut self, committing: Committing, sequencer: &mut dyn Sequencer) -> (Vec<Doomed>, Freed) {
        let Committing { owner: LockOwner { transaction: prepared, .. }, gathered, history, placing } = committing;
        self.list();
        let mut losers = BTreeMap::new();
        if !self.held.is_empty() {
            for (place, mode) in placing.places(history) {
                let _ = self.held.conflicts(place, prepared, mode, |holder| {
                    if sequencer.loses(holder, mode) && !gathered.contains(&holder.transaction) {
                        losers.entry(holder.transaction).or_insert(place);
                    }
                    ControlFlow::Continue(())
                });
            }
        }
        let mut freed = Freed::new();
        let mut doomed = Vec::new();
        for (transaction, place) in losers {
            let kind = match transaction.home == prepared.home {
                true => ConflictKind::StaleRead,
                false => ConflictKind::PreparedElsewhere,
            };
            let conflict = Conflict::on(place.item(), kind, Some(prepared));
            let (loser, more) = self.doom_one(transaction, conflict, sequencer);
            freed.extend(more);
            doomed.push(loser);
        }
        (doomed, freed)
    }

    /// Dooms a transaction that is known here.
    pub fn doom_one(
        &mut self,
        transaction: TransactionId,
        conflict: Conflict,
        sequencer: &mut dyn Sequencer,
    ) -> (Doomed, Freed) {
        let known = self.transactions.get_mut(&transaction).expect("who is doomed is known");
        known.doomed = Some(conflict.clone());
        let (request, holds) = (known.request.take(), std::mem::take(&mut known.holds));
        known.upgraded.clear();
        let waited = request.is_some();
        let freed = self.free(transaction, request, holds);
        sequencer.ended(self, transaction);
        (Doomed { transaction, conflict, waited }, freed)
    }
}

/// Whether a request may wait: one that wants nothing that is taken waits for its turn alone.
fn may_wait_for(request: &LockRequest, commit_locks: &mut CommitLocks, sequencer: &dyn Sequencer) -> bool {
    request.wait == AccessWait::Waits || sequencer.gives_turns() && !is_commit_locked(request, commit_locks)
}

fn is_commit_locked(request: &LockRequest, commit_locks: &mut CommitLocks) -> bool {
    commit_locks.conflict(request.place(), request.transaction, request.mode).is_some()
}
