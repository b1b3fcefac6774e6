//! One outcome per transaction: whatever logs say an epoch has decided of it, they say the same.
//!
//! An outcome that a site logged before it was evicted may be void: its successors may have found otherwise, as long as nobody was
//! told. So outcomes are compared for each epoch that made them, timestamps included.

use commit_log::{Log, Position};
use messages::commit::Outcome;
use messages::log_record::LogRecord;
use messages::{EpochNumber, TransactionId};
use std::collections::BTreeMap;

/// What all logs have said so far.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    decided: BTreeMap<(TransactionId, EpochNumber), (Outcome, usize)>,
    wrong: Option<String>,
}

impl Outcomes {
    /// Reads a log from this position on. Errors: it cannot be read.
    pub fn look(&mut self, site: usize, log: &dyn Log, from: Position) -> Result<(), String> {
        for entry in log.read_from(from) {
            let (position, bytes) = entry.map_err(|error| format!("the log of site {site}: {error}"))?;
            let record = LogRecord::decode(&bytes)
                .map_err(|error| format!("the log record of site {site} at {position}: {error}"))?;
            if let LogRecord::Decided { transaction, outcome, by } = record {
                self.note(site, transaction, outcome, by);
            }
        }
        Ok(())
    }

    fn note(&mut self, site: usize, transaction: TransactionId, outcome: Outcome, by: EpochNumber) {
        let (known, first) = *self.decided.entry((transaction, by)).or_insert((outcome, site));
        if known != outcome {
            self.wrong.get_or_insert(format!(
                "{by} decided transaction {transaction} twice: {known:?} at site {first}, {outcome:?} at site {site}"
            ));
        }
    }

    /// What was found.
    pub fn check(&self) -> Result<(), String> {
        self.wrong.clone().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, sites that decide differently in one epoch go unnoticed.
    #[test]
    fn two_outcomes_of_one_epoch_are_wrong() {
        let transaction = TransactionId::ZERO;
        let commit = Outcome::Commit(messages::Timestamp::snapshot(EpochNumber(2), 7));
        let mut outcomes = Outcomes::default();
        outcomes.note(1, transaction, Outcome::Abort, EpochNumber(1));
        outcomes.note(2, transaction, commit, EpochNumber(2));
        assert_eq!(outcomes.check(), Ok(()), "a void outcome of an earlier epoch is no harm");
        outcomes.note(3, transaction, Outcome::Abort, EpochNumber(2));
        assert!(outcomes.check().is_err());
    }
}
