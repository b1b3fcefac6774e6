//! Two-phase locking of which every lock is exclusive, be it of an item or of a range.
//!
//! No item has two holders, readers and those that only add included. Nothing is cheaper to decide, and who reads and then writes never
//! meets another that does the same: it has waited before its read. For loads in which nearly everything read is written.
//!
//! Source: Bhargava, Riedl, "The Raid Distributed Database System" (1989), whose simplest method this is.

use crate::breakers::younger_of_pairs;
use crate::executing::{Executing, LockRequest};
use crate::lock_table::{Holder, Mode};
use crate::locking::lock_blockers;
use crate::sequencer::{Breaker, Judges, Sequencer};
use messages::concurrency::Method;
use messages::{Age, TransactionId};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Two-phase locking with exclusive locks alone.
#[derive(Debug, Serialize, Deserialize)]
pub struct SimpleLocking;

impl Sequencer for SimpleLocking {
    fn method(&self) -> Method {
        Method::SimpleLocking
    }

    /// The table knows how something is used, and so takes two readers for no conflict.
    fn judges(&self) -> Judges {
        Judges::Uncovered
    }

    fn blockers(
        &self,
        executing: &Executing,
        request: &LockRequest,
        visit: &mut dyn FnMut(TransactionId) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        lock_blockers(executing, request, Some(Mode::Exclusive), visit)
    }

    /// A lock is exclusive towards those that execute here. Towards who is prepared elsewhere it is what it is used for.
    fn loses(&self, accessed: Holder, commit_locked: Mode) -> bool {
        accessed.mode != Mode::Increment && accessed.mode.conflicts(commit_locked)
    }

    fn adopt(&mut self, executing: &Executing, who: &[(Age, TransactionId)]) -> Vec<Breaker> {
        younger_of_pairs(executing, who, Some(Mode::Exclusive))
    }

    fn holds(&self, executing: &Executing) -> bool {
        younger_of_pairs(executing, &executing.under_way(), Some(Mode::Exclusive)).is_empty()
    }
}
