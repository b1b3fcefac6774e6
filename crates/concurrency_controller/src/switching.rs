//! From one method to another while transactions execute, in three ways. They differ in how soon the new method's property holds, and who pays.
//!
//! * *Generic*: another judge over the same tables. What waits is judged again, in order; nobody aborts. The property holds when the last
//!   transaction from before has ended.
//! * *Converting*: the new method takes over what has been accessed, and dooms whoever contradicts it. The property holds at once.
//! * *Suffix-sufficient*: [`Both`] judge until no transaction goes on that has accessed something before; after `SWITCH_PATIENCE` the rest is doomed.
//!   The papers' second condition, that nothing active depends on what came before, is met by the versions that every vote checks.
//!
//! Invariants: one switch at a time, which a newer one ends generically; commit-locks, votes and snapshots notice nothing; whoever has sent its
//! prepare, a member of a group included, is not doomed; a request is answered once.

use crate::both::Both;
use crate::limits::SWITCH_PATIENCE;
use crate::methods::Ruling;
use crate::sequencer::Breaker;
use crate::{CommitLocks, ConcurrencyController, tell_doomed};
use messages::concurrency::{Method, SwitchStrategy};
use messages::method::{Switch, SwitchedBy};
use messages::planted::Bug;
use messages::{Conflict, ConflictKind, Now, Outbox, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A switch of the method of which something is still under way.
#[derive(Debug, Serialize, Deserialize)]
pub struct Switching {
    /// Which way it is done.
    pub way: SwitchStrategy,
    /// Since when (boot clock).
    pub since: u64,
    /// Who had accessed something then and goes on with it. Some of them may have ended just now.
    before: BTreeSet<TransactionId>,
}

impl ConcurrencyController {
    /// Goes over to another method. Nothing stops. The one to which it goes over already is gone on with.
    pub fn switch(&mut self, now: Now, method: Method, way: SwitchStrategy, outbox: &mut Outbox) {
        self.switch_for((SwitchedBy::Setting, String::new()), now, method, way, outbox);
    }

    /// The same, by somebody and for a reason.
    pub(crate) fn switch_for(
        &mut self,
        (by, because): (SwitchedBy, String),
        now: Now,
        method: Method,
        way: SwitchStrategy,
        outbox: &mut Outbox,
    ) {
        if method == self.method() {
            return;
        }
        self.end_switch(now);
        let from = self.method();
        let at_micros = now.wall_micros;
        self.setting.switches(Switch { at_micros, from, to: method, way, took: None, doomed: 0, by, because });
        let planted = self.placing.planted;
        let before = self.executing.under_way();
        let mut ruling = Ruling::new(method, planted);
        let mut breakers = Vec::new();
        match way {
            SwitchStrategy::Generic => ruling.sequencer_mut().begins(&self.executing),
            SwitchStrategy::Converting => {
                let mut who = before.clone();
                if planted.is(Bug::ConversionDoomsPrepared) {
                    who.extend(self.executing.gathered());
                    who.sort_unstable();
                }
                breakers = ruling.sequencer_mut().adopt(&self.executing, &who);
            }
            SwitchStrategy::SuffixSufficient => {
                ruling.sequencer_mut().begins(&self.executing);
                let old = std::mem::replace(&mut self.ruling, Ruling::new(method, planted));
                ruling = Ruling::Both(Both::new(old, ruling));
            }
        }
        self.ruling = ruling;
        let before = before.into_iter().map(|(_, transaction)| transaction).collect();
        self.switching = Some(Switching { way, since: now.boot, before });
        if planted.is(Bug::SwitchDropsCommitLocks) {
            self.commit_locks = CommitLocks::new(self.placing);
        }
        if !planted.is(Bug::ConversionKeepsBreaker) {
            self.doom_for_switch(breakers, outbox);
        }
        let misses_circles = way == SwitchStrategy::SuffixSufficient && planted.is(Bug::UnionCircleMissed);
        self.judge_for_switch(!misses_circles, now, outbox);
        self.ends_switch(now, outbox);
    }

    /// The switch of which something is still under way.
    pub fn switching(&self) -> Option<&Switching> {
        self.switching.as_ref()
    }

    /// Transactions that go on and had accessed something before the last switch.
    pub fn executing_from_before(&self) -> usize {
        self.switching
            .iter()
            .flat_map(|switching| &switching.before)
            .filter(|one| self.executing.is_under_way(**one))
            .count()
    }

    /// Whether the property of the method in force is true of what executes.
    pub fn property_holds(&self) -> bool {
        self.ruling.sequencer().holds(&self.executing)
    }

    /// The place of a transaction in the order that the method in force keeps, if it keeps one.
    pub fn stamp_of(&self, transaction: TransactionId) -> Option<u64> {
        self.ruling.sequencer().stamp_of(transaction)
    }

    /// What one transaction has accessed before a switch, another goes on with.
    pub(crate) fn inherits(&mut self, transaction: TransactionId, to: TransactionId) {
        if let Some(switching) = &mut self.switching
            && switching.before.remove(&transaction)
        {
            switching.before.insert(to);
        }
    }

    /// Something may have ended: whether it was the last from before the switch.
    pub(crate) fn ends_switch(&mut self, now: Now, outbox: &mut Outbox) {
        let Some(switching) = &mut self.switching else { return };
        let (is_both, planted) = (matches!(self.ruling, Ruling::Both(_)), self.placing.planted);
        let count = switching.before.len();
        switching.before.retain(|one| self.executing.is_under_way(*one));
        let is_over = match is_both {
            true if planted.is(Bug::SuffixNeverEnds) => false,
            true if planted.is(Bug::SuffixEndsEarly) => switching.before.len() < count || count == 0,
            _ => switching.before.is_empty(),
        };
        if is_over {
            self.end_switch(now);
            if is_both {
                self.judge_for_switch(true, now, outbox);
            }
        }
    }

    /// A switch that has lasted for too long dooms those for which it waits.
    pub(crate) fn loses_patience(&mut self, now: Now, outbox: &mut Outbox) {
        let is_both = matches!(self.ruling, Ruling::Both(_));
        let Some(switching) = self.switching.as_ref().filter(|_| is_both) else { return };
        if now.boot < switching.since + SWITCH_PATIENCE || self.placing.planted.is(Bug::SuffixNeverEnds) {
            return;
        }
        let rest = switching.before.iter().filter(|one| self.executing.is_under_way(**one));
        let conflict = || Conflict::of(ConflictKind::LateAccess);
        let rest = rest.map(|one| Breaker { transaction: *one, conflict: conflict() }).collect();
        self.doom_for_switch(rest, outbox);
        self.ends_switch(now, outbox);
    }

    /// The new method rules alone.
    fn end_switch(&mut self, now: Now) {
        if let Some(switching) = self.switching.take() {
            self.setting.switched(now.boot.saturating_sub(switching.since));
        }
        let method = self.method();
        let ruling = std::mem::replace(&mut self.ruling, Ruling::new(method, self.placing.planted));
        self.ruling = match ruling {
            Ruling::Both(both) => both.into_new(),
            alone => alone,
        };
    }

    fn doom_for_switch(&mut self, breakers: Vec<Breaker>, outbox: &mut Outbox) {
        for Breaker { transaction, conflict } in breakers {
            self.counters.doomed_by_switches += 1;
            self.setting.dooms();
            let (loser, _) = self.executing.doom_one(transaction, conflict, self.ruling.sequencer_mut());
            tell_doomed(loser, outbox);
        }
    }

    /// All that waits is judged by who judges now.
    fn judge_for_switch(&mut self, look_for_circles: bool, now: Now, outbox: &mut Outbox) {
        if self.placing.planted.is(Bug::SwitchForgetsWaiter) {
            return;
        }
        let (locks, sequencer) = (&mut self.commit_locks, self.ruling.sequencer_mut());
        let answers = self.executing.judge_anew(look_for_circles, now.boot, locks, sequencer);
        if self.placing.planted.is(Bug::SwitchAnswersTwice) {
            self.answer(now, answers.clone(), outbox);
        }
        self.answer(now, answers, outbox);
    }
}
