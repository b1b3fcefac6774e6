//! What a restart takes from the log of transactions.
//!
//! Invariant: after a replay this site reports what it would have reported before it stopped, and nothing of epochs that were over.

use super::{Participants, Participation, VoteStage};
use crate::AtomicityController;
use messages::commit::{Outcome, TransactionReport, TransactionState};
use messages::log_record::LogRecord;
use messages::{Age, Conflict, EpochNumber, Outbox, TransactionId};
use std::sync::Arc;

impl Participants {
    /// The log says that this site voted in an epoch: then that was active, and nothing of earlier ones was open anywhere.
    fn replay_vote_in(&mut self, epoch: EpochNumber) {
        if epoch > self.replayed.0 {
            self.forget_all();
            self.replayed.0 = epoch;
        }
    }
}

impl AtomicityController {
    pub(crate) fn replay_record(&mut self, record: &LogRecord, outbox: &mut Outbox) {
        match record {
            LogRecord::Prepared { transaction, age, epoch, order, finished_below, clock, participants, history } => {
                self.clock.merge(*clock);
                self.participants.replay_vote_in(*epoch);
                self.participants.finished_below(transaction.home, transaction.incarnation, *finished_below);
                if self.participants.all.contains_key(transaction) {
                    return;
                }
                let vote_number = self.participants.votes + 1;
                self.participants.votes = vote_number;
                self.participants.undecided.insert(vote_number, *transaction);
                let participation = Participation {
                    epoch: *epoch,
                    order: *order,
                    age: *age,
                    participants: participants.clone(),
                    history: history.clone(),
                    stage: VoteStage::Prepared { vote_number, inquire_at: 0 },
                    voted: Some(*clock),
                    unsaid: false,
                };
                self.participants.insert(*transaction, participation);
            }
            LogRecord::Refused { transaction, order, epoch } => {
                self.participants.replay_vote_in(*epoch);
                let participation = Participation {
                    epoch: *epoch,
                    order: *order,
                    age: Age { clock: 0, first: *transaction },
                    participants: Vec::new(),
                    history: Arc::default(),
                    stage: VoteStage::Refused(Conflict::of(messages::ConflictKind::Refused)),
                    voted: None,
                    unsaid: false,
                };
                self.participants.insert(*transaction, participation);
            }
            LogRecord::Decided { transaction, outcome, by } => {
                self.replay_decision(*transaction, *outcome, *by, outbox);
            }
            LogRecord::Transactions { report } => {
                self.clock.merge(report.clock);
                self.participants.forget_all();
                for (transaction, known) in &report.transactions {
                    self.participants.replayed.0 = self.participants.replayed.0.max(known.epoch);
                    self.replay_reported(*transaction, known);
                }
            }
            LogRecord::EpochLogged { epoch, incarnation, .. } => {
                // Another life that is up carries on; one that is not has joined.
                let up = epoch.up().any(|site| site == self.site);
                let same_life = self.participants.replayed.1.replace(*incarnation) == Some(*incarnation);
                if !up && !same_life {
                    // The copy joined: what it knew of transactions counted for nothing.
                    self.participants.forget_all();
                }
            }
            _ => {}
        }
    }

    fn replay_decision(&mut self, transaction: TransactionId, outcome: Outcome, by: EpochNumber, outbox: &mut Outbox) {
        let Some(participation) = self.participants.all.get_mut(&transaction) else {
            return;
        };
        if matches!(participation.stage, VoteStage::Decided(..)) {
            return;
        }
        let stage = std::mem::replace(&mut participation.stage, VoteStage::Decided(outcome, by));
        let history = std::mem::take(&mut participation.history);
        if let VoteStage::Prepared { vote_number, .. } = stage {
            self.participants.undecided.remove(&vote_number);
        }
        if let Outcome::Commit(timestamp) = outcome {
            self.clock.merge(timestamp.clock);
            self.install(timestamp, history, false, outbox);
        }
    }

    fn replay_reported(&mut self, transaction: TransactionId, known: &TransactionReport) {
        let stage = match known.state {
            // Its history follows in a record of its own.
            TransactionState::Prepared => return,
            TransactionState::Refused => VoteStage::Refused(Conflict::of(messages::ConflictKind::Refused)),
            TransactionState::Decided(outcome, by) => VoteStage::Decided(outcome, by),
        };
        let participation = Participation {
            epoch: known.epoch,
            order: known.order,
            age: Age { clock: 0, first: transaction },
            participants: known.participants.clone(),
            history: Arc::default(),
            stage,
            voted: None,
            unsaid: false,
        };
        self.participants.insert(transaction, participation);
    }
}
