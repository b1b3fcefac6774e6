//! Two methods at once, while a site goes over from one to the other (suffix-sufficient).
//!
//! A request goes on if both let it, waits for whoever either makes it wait for, and is refused if either refuses. So what is granted meanwhile has
//! the properties of both. Circles of waits are searched in the union, since waits of two methods may close one that neither has alone. It needs nothing
//! of the methods but their judgements: a new method gets it for nothing.
//!
//! Source: Bhargava, Riedl, "A Model for Adaptable Systems for Transaction Processing" (1989).

use crate::executing::{Executing, LockRequest};
use crate::lock_table::{Holder, Mode};
use crate::methods::Ruling;
use crate::sequencer::{Breaker, Judges, Sequencer, Wakes};
use messages::concurrency::Method;
use messages::{Age, Conflict, TransactionId};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Two methods, both of which judge.
#[derive(Debug, Serialize, Deserialize)]
pub struct Both {
    old: Box<Ruling>,
    new: Box<Ruling>,
}

impl Both {
    /// Goes over from one method to another.
    pub fn new(old: Ruling, new: Ruling) -> Both {
        Both { old: Box::new(old), new: Box::new(new) }
    }

    /// The new method rules alone.
    pub fn into_new(self) -> Ruling {
        *self.new
    }

    fn old(&self) -> &dyn Sequencer {
        self.old.sequencer()
    }

    fn new_one(&self) -> &dyn Sequencer {
        self.new.sequencer()
    }

    fn each(&mut self) -> [&mut dyn Sequencer; 2] {
        [self.old.sequencer_mut(), self.new.sequencer_mut()]
    }
}

impl Sequencer for Both {
    /// The one that it goes over to.
    fn method(&self) -> Method {
        self.new_one().method()
    }

    fn judges(&self) -> Judges {
        self.old().judges().max(self.new_one().judges())
    }

    fn asks(&mut self, request: &LockRequest) {
        self.each().into_iter().for_each(|one| one.asks(request));
    }

    fn refuses(&self, executing: &Executing, request: &LockRequest) -> Option<Conflict> {
        self.old().refuses(executing, request).or_else(|| self.new_one().refuses(executing, request))
    }

    fn blockers(
        &self,
        executing: &Executing,
        request: &LockRequest,
        visit: &mut dyn FnMut(TransactionId) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.old().blockers(executing, request, visit)?;
        self.new_one().blockers(executing, request, visit)
    }

    fn granted(&mut self, request: &LockRequest, now: u64) {
        self.each().into_iter().for_each(|one| one.granted(request, now));
    }

    fn refused(&mut self, transaction: TransactionId) {
        self.each().into_iter().for_each(|one| one.refused(transaction));
    }

    fn ended(&mut self, executing: &Executing, transaction: TransactionId) {
        self.each().into_iter().for_each(|one| one.ended(executing, transaction));
    }

    fn handed_over(&mut self, from: TransactionId, to: TransactionId) {
        self.each().into_iter().for_each(|one| one.handed_over(from, to));
    }

    /// A turn that passes makes those wait for another one that stay: under the other method that may close a circle.
    fn wakes(&mut self) -> Wakes {
        match self.each().map(|one| one.wakes()) {
            [Wakes::Places, Wakes::Places] => Wakes::Places,
            _ => Wakes::Anew,
        }
    }

    fn passes(&mut self, executing: &Executing, now: u64) -> bool {
        let [old, new] = self.each().map(|one| one.passes(executing, now));
        old || new
    }

    fn loses(&self, accessed: Holder, commit_locked: Mode) -> bool {
        self.old().loses(accessed, commit_locked) || self.new_one().loses(accessed, commit_locked)
    }

    fn adopt(&mut self, executing: &Executing, who: &[(Age, TransactionId)]) -> Vec<Breaker> {
        self.new.sequencer_mut().adopt(executing, who)
    }

    fn holds(&self, executing: &Executing) -> bool {
        self.new_one().holds(executing)
    }

    fn stamp_of(&self, transaction: TransactionId) -> Option<u64> {
        self.new_one().stamp_of(transaction).or_else(|| self.old().stamp_of(transaction))
    }
}
