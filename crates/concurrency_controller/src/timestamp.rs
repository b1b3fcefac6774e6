//! Strict timestamp ordering.
//!
//! A transaction gets a *stamp* at its first read or write: larger than all before, and a new one at each try. Conflicting accesses are granted in the
//! order of stamps. Who comes after one with a larger stamp is too late and refused (`LateAccess`); behind one with a smaller stamp, that executes
//! or waits, it waits. So waits lead from larger stamps to smaller ones and close no circle. Ended transactions stay as ghosts while one with a
//! smaller stamp executes.
//!
//! **Who has no stamp follows the rule of locks**, towards whoever: what is only added to, and neither read nor written besides; who goes on with what
//! another was granted; who has been refused `REFUSALS_MAX` times, so that nobody is refused for ever; who executed before the method came into force;
//! and the oldest, when there are too many ghosts. A stamp is no age: ages are kept over retries, and order transactions of several sites.
//!
//! Source: Bernstein, Hadzilacos, Goodman, "Concurrency Control and Recovery in Database Systems", chapter 4. Without Thomas's rule: a write
//! that comes too late is not skipped.

use crate::breakers::{breaker, conflicts_of};
use crate::executing::{Executing, LockRequest};
use crate::ghosts::Ghosts;
use crate::limits::{GHOSTS_MAX, REFUSALS_MAX, REFUSED_MAX};
use crate::lock_table::{Holder, LockPlace, LockStanding, Mode};
use crate::locking::waits_before;
use crate::sequencer::{Breaker, Judges, Sequencer, Wakes};
use messages::concurrency::{AccessTarget, Method};
use messages::planted::{Bug, Planted};
use messages::{Age, Conflict, ConflictKind, Item, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

#[derive(Debug, Serialize, Deserialize)]
struct Stamped {
    stamp: u64,
    age: Age,
    is_refused: bool,
}

/// Strict timestamp ordering.
#[derive(Debug, Serialize, Deserialize)]
pub struct TimestampOrdering {
    /// The largest stamp so far.
    last: u64,
    stamps: BTreeMap<TransactionId, Stamped>,
    by_stamp: BTreeMap<u64, TransactionId>,
    /// Who executes and gets no stamp.
    unstamped: BTreeSet<TransactionId>,
    /// How often tries of this age have been refused without another end in between.
    refusals: BTreeMap<Age, u8>,
    ghosts: Ghosts,
    /// Somebody has lost its stamp since waiting requests were judged.
    is_reordered: bool,
    /// Stamps of earlier tries, for those to keep that must not.
    kept: BTreeMap<Age, u64>,
    planted: Planted,
}

impl TimestampOrdering {
    /// Nobody has a stamp.
    pub fn new(planted: Planted) -> TimestampOrdering {
        TimestampOrdering {
            last: 0,
            stamps: BTreeMap::new(),
            by_stamp: BTreeMap::new(),
            unstamped: BTreeSet::new(),
            refusals: BTreeMap::new(),
            ghosts: Ghosts::default(),
            is_reordered: false,
            kept: BTreeMap::new(),
            planted,
        }
    }

    fn stamp(&mut self, transaction: TransactionId, age: Age) {
        self.last += 1;
        let stamp = match self.planted.is(Bug::StampKeptOnRetry) {
            true => *self.kept.entry(age).or_insert(self.last),
            false => self.last,
        };
        self.stamps.insert(transaction, Stamped { stamp, age, is_refused: false });
        self.by_stamp.insert(stamp, transaction);
    }

    fn unstamp(&mut self, transaction: TransactionId) -> Option<Stamped> {
        let stamped = self.stamps.remove(&transaction)?;
        self.by_stamp.remove(&stamped.stamp);
        Some(stamped)
    }

    fn is_ordered(&self, mode: Mode) -> bool {
        mode != Mode::Increment || self.planted.is(Bug::IncrementStamped)
    }

    /// The stamp by which an access is ordered, if it is.
    fn stamp_for(&self, transaction: TransactionId, mode: Mode) -> Option<u64> {
        self.stamp_of(transaction).filter(|_| self.is_ordered(mode))
    }

    fn forget_ghosts(&mut self) {
        self.ghosts.forget_below(self.by_stamp.keys().next().copied());
    }

    /// Too many ghosts: the oldest, for which most of them are kept, has no stamp any more.
    fn bound_ghosts(&mut self) {
        self.forget_ghosts();
        while self.ghosts.accesses() > GHOSTS_MAX
            && let Some((_, oldest)) = self.by_stamp.pop_first()
        {
            self.stamps.remove(&oldest);
            self.unstamped.insert(oldest);
            self.is_reordered = true;
            self.forget_ghosts();
        }
    }

    fn count_refusal(&mut self, age: Age, is_refused: bool) {
        if !is_refused {
            self.refusals.remove(&age);
            return;
        }
        *self.refusals.entry(age).or_default() += 1;
        if self.refusals.len() > REFUSED_MAX {
            self.refusals.pop_last();
        }
    }
}

/// What a request comes to: who adds to what it has read, or reads what it has added to, changes what it knows.
fn joined_mode(executing: &Executing, request: &LockRequest) -> Mode {
    let is_item = matches!(request.target, AccessTarget::Item(_));
    let has = |mode| executing.held().standing(request.transaction, request.place(), mode) == LockStanding::Covered;
    match request.mode {
        Mode::Increment if has(Mode::Shared) => Mode::Exclusive,
        Mode::Shared if is_item && has(Mode::Increment) => Mode::Exclusive,
        mode => mode,
    }
}

impl Sequencer for TimestampOrdering {
    fn method(&self) -> Method {
        Method::Timestamp
    }

    /// The table knows nothing of ghosts.
    fn judges(&self) -> Judges {
        Judges::Uncovered
    }

    fn asks(&mut self, request: &LockRequest) {
        let transaction = request.transaction;
        let is_settled = self.stamps.contains_key(&transaction) || self.unstamped.contains(&transaction);
        if !self.is_ordered(request.mode) || is_settled {
            return;
        }
        if self.refusals.get(&request.age).is_some_and(|refusals| *refusals >= REFUSALS_MAX) {
            self.unstamped.insert(transaction);
        } else {
            self.stamp(transaction, request.age);
        }
    }

    fn refuses(&self, executing: &Executing, request: &LockRequest) -> Option<Conflict> {
        let (own, place, mode) = (request.transaction, request.place(), joined_mode(executing, request));
        let stamp = self.stamp_for(own, mode)?;
        let mut later = None;
        let _ = executing.held().conflicts(place, own, mode, |holder| {
            if self.stamp_for(holder.transaction, holder.mode).is_none_or(|other| other < stamp) {
                return ControlFlow::Continue(());
            }
            later = Some(holder.transaction);
            ControlFlow::Break(())
        });
        let later = later.or_else(|| self.ghosts.later_than(stamp, place, own, mode))?;
        Some(Conflict::on(place.item(), ConflictKind::LateAccess, Some(later)))
    }

    fn blockers(
        &self,
        executing: &Executing,
        request: &LockRequest,
        visit: &mut dyn FnMut(TransactionId) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (own, place, mode) = (request.transaction, request.place(), joined_mode(executing, request));
        executing.held().conflicts(place, own, mode, |holder| visit(holder.transaction))?;
        let stamp = self.stamp_for(own, mode);
        executing.waiting().conflicts(place, own, mode, |holder| {
            let goes_before = match (stamp, self.stamp_for(holder.transaction, holder.mode)) {
                (Some(stamp), Some(other)) => other < stamp,
                _ => waits_before(executing, holder, request, None),
            };
            if goes_before { visit(holder.transaction) } else { ControlFlow::Continue(()) }
        })
    }

    fn refused(&mut self, transaction: TransactionId) {
        if let Some(stamped) = self.stamps.get_mut(&transaction) {
            stamped.is_refused = true;
        }
    }

    fn ended(&mut self, executing: &Executing, transaction: TransactionId) {
        self.unstamped.remove(&transaction);
        if executing.doomed(transaction).is_some() {
            // It has been a ghost since its group's prepare. Now nothing of it remains.
            self.ghosts.forget(transaction);
        }
        let Some(Stamped { stamp, age, is_refused }) = self.unstamp(transaction) else {
            return self.forget_ghosts();
        };
        if executing.doomed(transaction).is_none() {
            self.count_refusal(age, is_refused);
        }
        let is_needed = self.by_stamp.keys().next().is_some_and(|smallest| *smallest < stamp);
        if is_needed && !self.planted.is(Bug::GhostDropped) {
            self.ghosts.add(transaction, stamp, executing.holds_of(transaction));
        }
        self.bound_ghosts();
    }

    /// The heir has accessed things under two stamps: it has none from now on.
    fn handed_over(&mut self, from: TransactionId, to: TransactionId) {
        self.unstamped.remove(&from);
        self.unstamp(from);
        self.unstamp(to);
        self.unstamped.insert(to);
        self.forget_ghosts();
    }

    fn wakes(&mut self) -> Wakes {
        if std::mem::take(&mut self.is_reordered) { Wakes::Anew } else { Wakes::Places }
    }

    /// Those that execute together conflict as little as under locking.
    fn loses(&self, accessed: Holder, commit_locked: Mode) -> bool {
        accessed.mode != Mode::Increment && accessed.mode.conflicts(commit_locked)
    }

    fn begins(&mut self, executing: &Executing) {
        self.unstamped = executing.known().collect();
    }

    /// Who has read what another writes comes before it. Of a circle the youngest has to go.
    fn adopt(&mut self, executing: &Executing, who: &[(Age, TransactionId)]) -> Vec<Breaker> {
        let mut before = Precedence::of(executing, who);
        let mut left = who.to_vec();
        let mut breakers = Vec::new();
        while !left.is_empty() {
            match left.iter().position(|(_, one)| before.is_first(*one)) {
                Some(first) => {
                    let (age, first) = left.remove(first);
                    before.remove(first);
                    self.stamp(first, age);
                }
                None => {
                    let (youngest, (other, item)) = before.youngest_of_a_circle(&left);
                    left.retain(|(_, one)| *one != youngest);
                    before.remove(youngest);
                    breakers.push(breaker(youngest, item, other));
                }
            }
        }
        for request in executing.requests() {
            self.asks(request);
        }
        breakers
    }

    fn holds(&self, executing: &Executing) -> bool {
        let who: BTreeSet<TransactionId> = executing.under_way().into_iter().map(|(_, one)| one).collect();
        let in_order = |one: TransactionId| {
            conflicts_of(executing, one, None, &mut |_, mode, other| {
                let stamps = (self.stamp_for(one, mode), self.stamp_for(other.transaction, other.mode));
                let in_order = match (stamps, mode, other.mode) {
                    ((Some(own), Some(other)), Mode::Shared, Mode::Exclusive) => own < other,
                    ((Some(own), Some(other)), Mode::Exclusive, Mode::Shared) => other < own,
                    _ => false,
                };
                let counts = who.contains(&other.transaction);
                if counts && !in_order { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
        };
        who.iter().all(|one| in_order(*one).is_continue())
    }

    fn stamp_of(&self, transaction: TransactionId) -> Option<u64> {
        self.stamps.get(&transaction).map(|stamped| stamped.stamp)
    }
}

/// Who has to come before whom, and by what.
struct Precedence(BTreeMap<TransactionId, BTreeMap<TransactionId, Item>>);

impl Precedence {
    /// By what these transactions have accessed. What both have written, or one has only added to, has no order: each comes before the other.
    fn of(executing: &Executing, who: &[(Age, TransactionId)]) -> Precedence {
        let mut before: BTreeMap<TransactionId, BTreeMap<TransactionId, Item>> =
            who.iter().map(|(_, one)| (*one, BTreeMap::new())).collect();
        for (_, one) in who {
            let _ = conflicts_of(executing, *one, None, &mut |target, mode, other| {
                let is_after = mode != Mode::Shared || other.mode != Mode::Exclusive;
                if is_after && before.contains_key(&other.transaction) {
                    let own = before.get_mut(one).expect("listed above");
                    own.entry(other.transaction).or_insert_with(|| LockPlace::from(target).item());
                }
                ControlFlow::Continue(())
            });
        }
        Precedence(before)
    }

    fn is_first(&self, one: TransactionId) -> bool {
        self.0[&one].is_empty()
    }

    fn remove(&mut self, one: TransactionId) {
        self.0.remove(&one);
        self.0.values_mut().for_each(|before| {
            before.remove(&one);
        });
    }

    /// None of these is first: the youngest of some circle among them, who comes before it, and by what.
    fn youngest_of_a_circle(&self, left: &[(Age, TransactionId)]) -> (TransactionId, (TransactionId, Item)) {
        let step = |one: TransactionId| *self.0[&one].keys().next().expect("none is first");
        let mut seen = BTreeSet::new();
        let mut start = left[0].1;
        while seen.insert(start) {
            start = step(start);
        }
        let circle: BTreeSet<TransactionId> =
            std::iter::successors(Some(step(start)), |one| (*one != start).then(|| step(*one))).collect();
        let (_, youngest) = left.iter().rev().find(|(_, one)| circle.contains(one)).expect("a circle has members");
        let (other, item) = self.0[youngest].iter().next().expect("none is first");
        (*youngest, (*other, item.clone()))
    }
}
