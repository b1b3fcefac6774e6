//! Who waits: circles of waits, and what goes on when something has ended or the method has changed.
//!
//! Invariant: what is granted here or refused is answered by the caller, once.

use super::{Executing, LockReply, WaiterReplies, is_commit_locked};
use crate::commit_locks::CommitLocks;
use crate::limits::HOLDS_ASKED_MAX;
use crate::lock_table::{LockPlace, Mode};
use crate::sequencer::{Judgement, Judges, Sequencer, Wakes};
use messages::concurrency::AccessWait;
use messages::reached;
use messages::{Conflict, ConflictKind, TransactionId};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

impl Executing {
    /// Takes back a request that closes a circle of waits: its transaction is the victim. What waited behind it came later or not at
    /// all, as it has only just come itself or the method has just changed.
    pub(super) fn refused_for_a_circle(
        &mut self,
        transaction: TransactionId,
        sequencer: &dyn Sequencer,
    ) -> Option<Conflict> {
        let before = self.closes_circle(transaction, sequencer)?;
        let request = self.withdraw(transaction).expect("who closes a circle waits");
        reached!("deadlock");
        Some(Conflict::on(request.place().item(), ConflictKind::Deadlock, Some(before)))
    }

    /// Whether this transaction waits for itself by way of others; then the one of them that waits for it directly.
    fn closes_circle(&self, transaction: TransactionId, sequencer: &dyn Sequencer) -> Option<TransactionId> {
        if sequencer.judges() == Judges::Contested && !self.may_be_waited_for(transaction) {
            return None;
        }
        let mut seen = FxHashSet::default();
        let mut open = vec![transaction];
        while let Some(next) = open.pop() {
            let Some(request) = self.request_of(next) else { continue };
            let closed = sequencer.blockers(self, request, &mut |blocker| {
                if blocker == transaction {
                    return ControlFlow::Break(());
                }
                if seen.insert(blocker) {
                    open.push(blocker);
                }
                ControlFlow::Continue(())
            });
            if closed.is_break() {
                return Some(next);
            }
        }
        None
    }

    /// A cheap question before the search: nobody waits for its request, which is the newest, so somebody must wait for what it
    /// holds.
    fn may_be_waited_for(&self, transaction: TransactionId) -> bool {
        let holds = &self.transactions[&transaction].holds;
        holds.len() > HOLDS_ASKED_MAX
            || holds.iter().any(|(target, _)| {
                let waited_for = |_| ControlFlow::Break(());
                self.waiting.conflicts(target.into(), transaction, Mode::Exclusive, waited_for).is_break()
            })
    }

    /// Places are no longer accessed, waited for or commit-locked, or somebody has ended: grants the requests that waited for that alone, in the order
    /// in which they came, and refuses those that now come too late.
    pub fn go_on<'a>(
        &mut self,
        freed: impl IntoIterator<Item = LockPlace<'a>>,
        now: u64,
        commit_locks: &mut CommitLocks,
        sequencer: &mut dyn Sequencer,
    ) -> WaiterReplies {
        let wakes = sequencer.wakes();
        let mut candidates = BTreeMap::new();
        if self.waiting.is_empty() {
            return Vec::new();
        }
        match wakes {
            Wakes::Places => freed.into_iter().for_each(|place| self.waiting_for(place, &mut candidates)),
            Wakes::All => candidates.clone_from(&self.queue),
            Wakes::Anew => return self.judge_anew(true, now, commit_locks, sequencer),
        }
        self.judge_again(candidates, now, commit_locks, sequencer)
    }

    /// Adds those that wait for something in this place.
    fn waiting_for(&self, place: LockPlace<'_>, candidates: &mut BTreeMap<u64, TransactionId>) {
        let _ = self.waiting.conflicts(place, TransactionId::ZERO, Mode::Exclusive, |waiting| {
            let request = self.request_of(waiting.transaction).expect("who is listed as waiting has a request");
            candidates.insert(request.order, waiting.transaction);
            ControlFlow::Continue(())
        });
    }

    /// Judges waiting requests, in the order in which they came. What one has stood in the way of that goes without a grant is judged again, too.
    fn judge_again(
        &mut self,
        mut candidates: BTreeMap<u64, TransactionId>,
        now: u64,
        commit_locks: &mut CommitLocks,
        sequencer: &mut dyn Sequencer,
    ) -> WaiterReplies {
        let mut answers = Vec::new();
        while let Some((_, transaction)) = candidates.pop_first() {
            let Some(request) = self.request_of(transaction) else { continue };
            let is_commit_locked = is_commit_locked(request, commit_locks);
            let is_unless_taken = request.wait == AccessWait::UnlessTaken;
            let judgement = match is_commit_locked {
                true => Judgement::Wait,
                false => sequencer.judge(self, request),
            };
            let is_in_vain = is_commit_locked || judgement == Judgement::Wait && !sequencer.gives_turns();
            let answer = match judgement {
                _ if is_unless_taken && (is_in_vain || self.is_taken(request, commit_locks.planted())) => {
                    LockReply::Taken
                }
                Judgement::Wait => continue,
                Judgement::Go => LockReply::Granted,
                Judgement::Refuse(conflict) => LockReply::Refused(conflict),
            };
            let request = self.withdraw(transaction).expect("a candidate waits");
            if answer == LockReply::Granted {
                self.grant(request, now, sequencer);
            } else {
                if matches!(answer, LockReply::Refused(_)) {
                    sequencer.refused(transaction);
                }
                match sequencer.wakes() {
                    Wakes::Places => self.waiting_for(request.place(), &mut candidates),
                    Wakes::All | Wakes::Anew => candidates.clone_from(&self.queue),
                }
            }
            answers.push((transaction, answer));
        }
        answers
    }

    /// The method has changed, or the order that it keeps: requests that now wait in a circle are refused, those that now wait for nobody are
    /// granted, all in the order in which they came. (Accesses that the old method let conflict stay: versions are checked at the end,
    /// whatever the method.)
    pub fn judge_anew(
        &mut self,
        look_for_circles: bool,
        now: u64,
        commit_locks: &mut CommitLocks,
        sequencer: &mut dyn Sequencer,
    ) -> WaiterReplies {
        let waiting = if look_for_circles { self.queue.clone() } else { BTreeMap::new() };
        let mut answers = Vec::new();
        for transaction in waiting.into_values() {
            if let Some(conflict) = self.refused_for_a_circle(transaction, sequencer) {
                answers.push((transaction, LockReply::Refused(conflict)));
            }
        }
        answers.extend(self.judge_again(self.queue.clone(), now, commit_locks, sequencer));
        answers
    }
}
