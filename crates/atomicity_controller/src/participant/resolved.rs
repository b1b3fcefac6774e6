//! What a participant does with outcomes that an epoch change has found.
//!
//! Invariant: an outcome that contradicts this site's log is an error, never applied.

use super::VoteStage;
use crate::AtomicityController;
use messages::commit::Outcome;
use messages::planted;
use messages::{EpochNumber, Outbox, TransactionId};
use std::sync::Arc;

impl AtomicityController {
    /// Applies a resolved outcome, if it is new here. An error says how what other members report contradicts this site's log.
    pub(crate) fn apply_resolved(
        &mut self,
        transaction: TransactionId,
        outcome: Outcome,
        by: EpochNumber,
        outbox: &mut Outbox,
    ) -> Result<(), String> {
        // What is not known here is finished here, or this copy had lost it and is fail-locked for it.
        if let Some(participation) = self.participants.all.get_mut(&transaction)
            && planted!(self.planted, ResolvedNotNotified)
        {
            Arc::make_mut(&mut participation.history).notifications.clear();
        }
        let Some(participation) = self.participants.all.get(&transaction) else { return Ok(()) };
        match (&participation.stage, outcome) {
            (VoteStage::Decided(before, _), _) if *before == outcome => {}
            (VoteStage::Decided(before, _), _) => {
                return Err(format!(
                    "{transaction} ended as {before:?} here, and as {outcome:?} by what others report"
                ));
            }
            (VoteStage::Refused(_) | VoteStage::Locking | VoteStage::Checking, Outcome::Commit(_)) => {
                return Err(format!("{transaction} was refused here, and has committed by what others report"));
            }
            _ => self.apply(transaction, outcome, by, outbox),
        }
        Ok(())
    }

    /// This copy takes part from now on: what its log holds of transactions counts for nothing.
    pub(crate) fn forget_participations(&mut self, outbox: &mut Outbox) {
        for transaction in self.participants.all.keys() {
            self.finish_locks(*transaction, outbox);
        }
        self.participants.forget_all();
        self.notifications.forget();
    }
}
