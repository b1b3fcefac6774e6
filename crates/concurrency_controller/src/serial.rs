//! Serial execution: one transaction executes at a time, in the order in which they ask.
//!
//! Whoever is granted something has the *turn*, until it is prepared or has ended. A client that thinks would stop all others: so who has
//! the turn and has asked for nothing for `SERIAL_IDLE` is *parked*. Others go on, and it waits for a turn with its next access. That
//! aborts nobody, and is safe because what the parked one has read is checked when it commits, as all is. At most one executes that is not parked.
//!
//! For a few hot rows, or short programs without a client in between: nothing is decided twice, and nobody is aborted here.

use crate::executing::{Executing, LockRequest};
use crate::limits::SERIAL_IDLE;
use crate::lock_table::{Holder, Mode};
use crate::sequencer::{Breaker, Judges, Sequencer, Wakes};
use messages::concurrency::Method;
use messages::planted::{Bug, Planted};
use messages::{Age, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// One executes at a time.
#[derive(Debug, Serialize, Deserialize)]
pub struct Serial {
    turn: Option<TransactionId>,
    /// When who has the turn was last granted something (boot clock).
    since: u64,
    /// Who has left its turn, or has had none when the method came into force, until its next one.
    parked: BTreeSet<TransactionId>,
    planted: Planted,
}

impl Serial {
    /// Nobody has the turn.
    pub fn new(planted: Planted) -> Serial {
        Serial { turn: None, since: 0, parked: BTreeSet::new(), planted }
    }
}

impl Sequencer for Serial {
    fn method(&self) -> Method {
        Method::Serial
    }

    /// What a parked one has been granted before it may not use again without the turn.
    fn judges(&self) -> Judges {
        Judges::Everything
    }

    /// Who has the turn; if nobody has, who has waited longest. That one may wait for a commit-lock.
    fn blockers(
        &self,
        executing: &Executing,
        request: &LockRequest,
        visit: &mut dyn FnMut(TransactionId) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let own = request.transaction;
        match (self.turn, executing.first_waiting()) {
            (Some(turn), _) if turn != own => visit(turn),
            (None, Some((order, first))) if first != own && order < request.order => visit(first),
            _ => ControlFlow::Continue(()),
        }
    }

    fn granted(&mut self, request: &LockRequest, now: u64) {
        self.parked.remove(&request.transaction);
        (self.turn, self.since) = (Some(request.transaction), now);
    }

    fn ended(&mut self, _: &Executing, transaction: TransactionId) {
        self.parked.remove(&transaction);
        if !self.planted.is(Bug::SerialTurnLost) {
            self.turn.take_if(|turn| *turn == transaction);
        }
    }

    fn handed_over(&mut self, from: TransactionId, to: TransactionId) {
        if self.turn == Some(from) {
            self.turn = Some(to);
            self.parked.remove(&to);
        }
        self.parked.remove(&from);
    }

    /// Nobody waits for a place.
    fn wakes(&mut self) -> Wakes {
        Wakes::All
    }

    fn gives_turns(&self) -> bool {
        true
    }

    fn passes(&mut self, executing: &Executing, now: u64) -> bool {
        let idle = |turn: &mut TransactionId| executing.request_of(*turn).is_none();
        if now < self.since + SERIAL_IDLE {
            return false;
        }
        let Some(turn) = self.turn.take_if(idle) else { return false };
        self.parked.insert(turn);
        true
    }

    /// Several may have accessed what they cannot have together: only what has been read and has changed is lost.
    fn loses(&self, accessed: Holder, commit_locked: Mode) -> bool {
        let unchecked = self.planted.is(Bug::ParkedNotChecked) && self.parked.contains(&accessed.transaction);
        accessed.mode != Mode::Increment && commit_locked != Mode::Shared && !unchecked
    }

    /// The oldest has the turn. Nobody has to go.
    fn adopt(&mut self, _: &Executing, who: &[(Age, TransactionId)]) -> Vec<Breaker> {
        let mut who = who.iter().map(|(_, transaction)| *transaction);
        self.turn = who.next();
        self.parked = who.collect();
        Vec::new()
    }

    fn holds(&self, executing: &Executing) -> bool {
        let is_parked = |(_, transaction): &(Age, TransactionId)| self.parked.contains(transaction);
        executing.under_way().iter().filter(|one| !is_parked(one)).count() <= 1
    }
}
