//! Two-phase read/write locking with range locks.
//!
//! Granted accesses never conflict, and are held until the transaction is committing or has ended; so what executes at one site
//! is serializable, range reads included, and a version check can only fail because of another site. Requests are served in
//! the order in which they came: no reader overtakes a writer that waits. The one exception: nobody waits for those who wait
//! for him already. (So who reads an item and now writes it goes before those that wait for his read lock.)
//!
//! Source: Bernstein, Hadzilacos, Goodman, "Concurrency Control and Recovery in Database Systems", chapter 3.

use crate::executing::{Executing, Request};
use crate::lock_table::Mode;
use crate::sequencer::Sequencer;
use messages::TransactionId;
use messages::epoch::Method;
use std::ops::ControlFlow;

/// Two-phase read/write locking.
pub struct Locking;

impl Sequencer for Locking {
    fn method(&self) -> Method {
        Method::Locking
    }

    fn blockers(
        &self,
        executing: &Executing,
        request: &Request,
        visit: &mut dyn FnMut(TransactionId) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (place, own) = (request.place(), request.transaction);
        executing.held().conflicts(place, own, request.mode, |holder| visit(holder.transaction))?;
        executing.waiting().conflicts(place, own, request.mode, |holder| {
            let earlier = executing.request_of(holder.transaction).expect("who is listed as waiting has a request");
            let waits_for_own = || executing.held().stands_in_the_way(own, earlier.place(), earlier.mode);
            if earlier.order < request.order && !waits_for_own() {
                visit(holder.transaction)
            } else {
                ControlFlow::Continue(())
            }
        })
    }

    /// Who only adds loses nothing: it has not seen what the other writes.
    fn loses(&self, accessed: Mode, commit_locked: Mode) -> bool {
        accessed != Mode::Increment && accessed.conflicts(commit_locked)
    }
}
