//! Optimistic validation: executing transactions never wait for each other.
//!
//! Conflicts show at the end, when every participant compares the versions read: the first to prepare wins. To save the rest of a
//! lost transaction, and the round of messages that its abort would cost, whoever has read what another changes, or wants
//! to overwrite it, is doomed when that one prepares (forward validation). That is early by one outcome: should the other abort, the
//! doomed one could have lived. What has only been read by the other costs a writer nothing yet.
//!
//! Source: Kung, Robinson, "On Optimistic Methods for Concurrency Control" (1981); Härder, "Observations on Optimistic
//! Concurrency Control Schemes" (1984).

use crate::executing::{Executing, LockRequest};
use crate::lock_table::{Holder, Mode};
use crate::sequencer::{Breaker, Sequencer};
use messages::concurrency::Method;
use messages::{Age, TransactionId};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Optimistic validation.
#[derive(Debug, Serialize, Deserialize)]
pub struct Optimistic;

impl Sequencer for Optimistic {
    fn method(&self) -> Method {
        Method::Optimistic
    }

    fn blockers(
        &self,
        _: &Executing,
        _: &LockRequest,
        _: &mut dyn FnMut(TransactionId) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn loses(&self, accessed: Holder, commit_locked: Mode) -> bool {
        accessed.mode != Mode::Increment && commit_locked != Mode::Shared
    }

    /// What any other method lets be granted it lets be granted, too.
    fn adopt(&mut self, _: &Executing, _: &[(Age, TransactionId)]) -> Vec<Breaker> {
        Vec::new()
    }

    /// That nobody waits for one that executes: nobody does from the moment at which what waits has been judged by it.
    fn holds(&self, _: &Executing) -> bool {
        true
    }
}
