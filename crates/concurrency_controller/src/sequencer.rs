//! What a concurrency-control method is: the trait that each of them satisfies, one file per method.

use crate::executing::{Executing, Request};
use crate::lock_table::Mode;
use messages::TransactionId;
use messages::epoch::Method;
use std::ops::ControlFlow;

/// How a method orders transactions that execute at this site. All else is common to the methods: commit-locks, the versions that
/// every participant checks, and the table of accesses, which so survives a switch from one method to another.
///
/// The contract, which the conformance suite runs on every implementation:
///
/// 1. Every access is answered exactly once, unless `Finish` or `CommitLock` of its transaction comes first. One that waits is said
///    to be busy before; one that would wait and may not is said to be busy instead.
/// 2. When an access is granted, no other transaction has a conflicting commit-lock, held or waited for.
/// 3. Whoever loses an access to a commit-lock is told once that it is doomed, and is granted nothing afterwards.
/// 4. No wait closes a circle: once all transactions that wait for nobody have finished, somebody goes on.
/// 5. What comes out depends on what went in alone.
///
/// Keeping the first three, the fourth given [`Sequencer::blockers`], and the last are the work of [`Executing`].
pub trait Sequencer {
    /// Which method it is.
    fn method(&self) -> Method;

    /// Visits every executing transaction that this request must wait for, until told to stop. One may come more than once. Only those
    /// with a conflicting access, granted or waited for, may block.
    ///
    /// A request that waits may come to wait for fewer, never for more: only a new request can close a circle.
    fn blockers(
        &self,
        executing: &Executing,
        request: &Request,
        visit: &mut dyn FnMut(TransactionId) -> ControlFlow<()>,
    ) -> ControlFlow<()>;

    /// Whether an access in the first mode is worth nothing once another transaction has a commit-lock on it in the second mode.
    fn loses(&self, accessed: Mode, commit_locked: Mode) -> bool;
}
