//! Optimistic validation: executing transactions never wait for each other.
//!
//! Conflicts show at the end, when every participant compares the versions read: the first to prepare wins. To save the rest of a
//! lost transaction, and the round of messages that its abort would cost, whoever has read what another changes, or wants
//! to overwrite it, is doomed when that one prepares (forward validation). That is early by one outcome: should the other abort, the
//! doomed one could have lived. What has only been read by the other costs a writer nothing yet.
//!
//! Source: Kung, Robinson, "On Optimistic Methods for Concurrency Control" (1981); Härder, "Observations on Optimistic
//! Concurrency Control Schemes" (1984).

use crate::executing::{Executing, Request};
use crate::lock_table::Mode;
use crate::sequencer::Sequencer;
use messages::TransactionId;
use messages::epoch::Method;
use std::ops::ControlFlow;

/// Optimistic validation.
pub struct Optimistic;

impl Sequencer for Optimistic {
    fn method(&self) -> Method {
        Method::Optimistic
    }

    fn blockers(
        &self,
        _: &Executing,
        _: &Request,
        _: &mut dyn FnMut(TransactionId) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn loses(&self, accessed: Mode, commit_locked: Mode) -> bool {
        accessed != Mode::Increment && commit_locked != Mode::Shared
    }
}
