//! Two-phase read/write locking with range locks.
//!
//! Granted accesses never conflict, and are held until the transaction is committing or has ended; so what executes at one site
//! is serializable, range reads included, and a version check can only fail because of another site. Requests are served in
//! the order in which they came: no reader overtakes a writer that waits. The one exception: nobody waits for those who wait
//! for him already. (So who reads an item and now writes it goes before those that wait for his read lock.)
//!
//! Source: Bernstein, Hadzilacos, Goodman, "Concurrency Control and Recovery in Database Systems", chapter 3.

use crate::breakers::younger_of_pairs;
use crate::executing::{Executing, LockRequest};
use crate::lock_table::{Holder, Mode};
use crate::sequencer::{Breaker, Sequencer};
use messages::concurrency::Method;
use messages::{Age, TransactionId};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Two-phase read/write locking.
#[derive(Debug, Serialize, Deserialize)]
pub struct Locking;

/// Visits whoever a request waits for by the rule of locks: who has something that conflicts, and who has asked for it earlier. With a mode, as
/// if everything were locked in that mode.
pub(crate) fn lock_blockers(
    executing: &Executing,
    request: &LockRequest,
    all_in: Option<Mode>,
    visit: &mut dyn FnMut(TransactionId) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let (place, own, mode) = (request.place(), request.transaction, all_in.unwrap_or(request.mode));
    executing.held().conflicts(place, own, mode, |holder| visit(holder.transaction))?;
    executing.waiting().conflicts(place, own, mode, |holder| match waits_before(executing, holder, request, all_in) {
        true => visit(holder.transaction),
        false => ControlFlow::Continue(()),
    })
}

/// Whether one that waits for something that conflicts goes before a request by the rule of locks.
pub(crate) fn waits_before(
    executing: &Executing,
    waiting: Holder,
    request: &LockRequest,
    all_in: Option<Mode>,
) -> bool {
    let earlier = executing.request_of(waiting.transaction).expect("who is listed as waiting has a request");
    let mode = all_in.unwrap_or(earlier.mode);
    let waits_for_own = || executing.held().stands_in_the_way(request.transaction, earlier.place(), mode);
    earlier.order < request.order && !waits_for_own()
}

impl Sequencer for Locking {
    fn method(&self) -> Method {
        Method::Locking
    }

    fn blockers(
        &self,
        executing: &Executing,
        request: &LockRequest,
        visit: &mut dyn FnMut(TransactionId) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        lock_blockers(executing, request, None, visit)
    }

    /// Who only adds loses nothing: it has not seen what the other writes.
    fn loses(&self, accessed: Holder, commit_locked: Mode) -> bool {
        accessed.mode != Mode::Increment && accessed.mode.conflicts(commit_locked)
    }

    fn adopt(&mut self, executing: &Executing, who: &[(Age, TransactionId)]) -> Vec<Breaker> {
        younger_of_pairs(executing, who, None)
    }

    fn holds(&self, executing: &Executing) -> bool {
        younger_of_pairs(executing, &executing.under_way(), None).is_empty()
    }
}
