//! What a concurrency-control method is: the trait that each of them satisfies, one file per method.

use crate::executing::{Executing, LockRequest};
use crate::lock_table::{Holder, Mode};
use messages::concurrency::Method;
use messages::{Age, Conflict, TransactionId};
use std::ops::ControlFlow;

/// What a method says of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It may go on.
    Go,
    /// It waits for those that [`Sequencer::blockers`] visits.
    Wait,
    /// Its transaction must abort.
    Refuse(Conflict),
}

/// Which requests a method wants to see; a later one includes those before. The others are granted without a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judges {
    /// Those of which somebody else has, or waits for, something that conflicts.
    Contested,
    /// All that the transaction has not been granted before.
    Uncovered,
    /// All.
    Everything,
}

/// Which of the waiting requests are judged again when something has ended; a later one includes those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wakes {
    /// Those for places that have become free.
    Places,
    /// All.
    All,
    /// All; and they may have come to wait for more, so that circles are looked for.
    Anew,
}

/// An executing transaction that has what contradicts a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breaker {
    /// Who.
    pub transaction: TransactionId,
    /// What contradicts.
    pub conflict: Conflict,
}

/// How a method orders transactions that execute at this site. All else is common to the methods: commit-locks, the versions that
/// every participant checks, and the table of accesses, which so survives a switch from one method to another.
///
/// The contract, which the conformance suite runs on every implementation:
///
/// 1. Every access is answered exactly once, unless `Finish` or `CommitLock` of its transaction comes first. One that waits is said
///    to be busy before; one that would wait and may not is said to be busy instead. What is wanted only if nobody else has it is never granted while
///    another executing transaction has a conflicting access, or a commit-lock is on it.
/// 2. When an access is granted, no other transaction has a conflicting commit-lock, held or waited for.
/// 3. Whoever loses an access to a commit-lock is told once that it is doomed, and is granted nothing afterwards.
/// 4. No wait closes a circle: once all transactions that wait for nobody have finished, somebody goes on.
/// 5. What comes out depends on what went in alone.
/// 6. A method has a *property* ([`Sequencer::holds`]), which every grant keeps; and every switch to it ends with the property true.
///
/// Keeping the first three, the fourth given [`Sequencer::blockers`], and the last but one are the work of [`Executing`]. A method is data: its
/// whole state is moved with its server. No server relies on a method: every vote checks versions whatever it is.
pub trait Sequencer {
    /// Which method it is.
    fn method(&self) -> Method;

    /// Which requests it wants to judge.
    fn judges(&self) -> Judges {
        Judges::Contested
    }

    /// A request has come, and is judged next.
    fn asks(&mut self, _: &LockRequest) {}

    /// Why the transaction must abort rather than wait, if it must.
    fn refuses(&self, _: &Executing, _: &LockRequest) -> Option<Conflict> {
        None
    }

    /// Visits every executing transaction that this request must wait for, until told to stop. One may come more than once.
    ///
    /// A request that waits may come to wait for fewer by itself. For more it may come to wait only by what is granted, as that waits for nobody,
    /// and by a request that has just come, from which circles are searched; or [`Sequencer::wakes`] says so.
    fn blockers(
        &self,
        executing: &Executing,
        request: &LockRequest,
        visit: &mut dyn FnMut(TransactionId) -> ControlFlow<()>,
    ) -> ControlFlow<()>;

    /// What becomes of a request.
    fn judge(&self, executing: &Executing, request: &LockRequest) -> Judgement {
        if let Some(conflict) = self.refuses(executing, request) {
            return Judgement::Refuse(conflict);
        }
        match self.blockers(executing, request, &mut |_| ControlFlow::Break(())) {
            ControlFlow::Break(()) => Judgement::Wait,
            ControlFlow::Continue(()) => Judgement::Go,
        }
    }

    /// A request has been granted, at this time (boot clock).
    fn granted(&mut self, _: &LockRequest, _: u64) {}

    /// A request has been refused by this method.
    fn refused(&mut self, _: TransactionId) {}

    /// A transaction executes no more, or is about to be forgotten: what it has been granted is still known. May be said twice.
    fn ended(&mut self, _: &Executing, _: TransactionId) {}

    /// What the first has been granted belongs to the second from now on, and the first has ended.
    fn handed_over(&mut self, _: TransactionId, _: TransactionId) {}

    /// Which waiting requests to judge again now that something has ended.
    fn wakes(&mut self) -> Wakes {
        Wakes::Places
    }

    /// Time has passed (boot clock). Whether waiting requests are to be judged again.
    fn passes(&mut self, _: &Executing, _: u64) -> bool {
        false
    }

    /// Whether who is to wait waits for a turn, and not for what it wants alone.
    fn gives_turns(&self) -> bool {
        false
    }

    /// Whether an access is worth nothing once another transaction has a commit-lock on it in this mode.
    fn loses(&self, accessed: Holder, commit_locked: Mode) -> bool;

    /// It comes into force among transactions that have executed under another method.
    fn begins(&mut self, _: &Executing) {}

    /// It comes into force with its property true: takes over what these transactions, oldest first, have accessed, and names those of them that
    /// must be doomed for that.
    fn adopt(&mut self, executing: &Executing, who: &[(Age, TransactionId)]) -> Vec<Breaker>;

    /// Whether its property is true of what executing transactions have been granted.
    fn holds(&self, executing: &Executing) -> bool;

    /// The place of a transaction in the order that the method keeps, if it keeps one.
    fn stamp_of(&self, _: TransactionId) -> Option<u64> {
        None
    }
}
