//! One outcome per transaction: whatever logs say an epoch has decided of it, they say the same. And it is voted for in one epoch only:
//! the next one has resolved it, whatever prepares are still on their way.
//!
//! An outcome that a site logged before it was evicted may be void: its successors may have found otherwise, as long as nobody was
//! told. So outcomes are compared for each epoch that made them, timestamps included.

use commit_log::{MemoryLog, Position};
use messages::commit::Outcome;
use messages::log_record::LogRecord;
use messages::{EpochNumber, TransactionId};
use std::collections::BTreeMap;

/// What all logs have said so far.
#[derive(Clone, Debug, Default)]
pub struct LoggedOutcomes {
    decided: BTreeMap<(TransactionId, EpochNumber), (Outcome, usize)>,
    /// In which epoch each was voted for, and where.
    prepared: BTreeMap<TransactionId, (EpochNumber, usize)>,
    wrong: Option<String>,
}

impl LoggedOutcomes {
    /// Reads a log from this position on. Errors: an outcome in it cannot be read.
    pub fn look(&mut self, site: usize, log: &MemoryLog, from: Position) -> Result<(), String> {
        let decided = kind_of_decided();
        for (position, bytes) in log.records_from(from) {
            if let Some((transaction, epoch)) = LogRecord::prepared_in(bytes) {
                self.note_prepared(site, transaction, epoch);
                continue;
            }
            // Most records are something else, and decoding them is what costs.
            if bytes.first() != Some(&decided) {
                continue;
            }
            let record = LogRecord::decode(bytes)
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

    fn note_prepared(&mut self, site: usize, transaction: TransactionId, epoch: EpochNumber) {
        let (known, first) = *self.prepared.entry(transaction).or_insert((epoch, site));
        if known != epoch {
            self.wrong.get_or_insert(format!(
                "transaction {transaction} was voted for twice: in {known} at site {first}, in {epoch} at site {site}"
            ));
        }
    }

    /// What was found.
    pub fn check(&self) -> Result<(), String> {
        self.wrong.clone().map_or(Ok(()), Err)
    }
}

/// The first byte of an encoded outcome: encodings begin with the number of the variant.
fn kind_of_decided() -> u8 {
    let record =
        LogRecord::Decided { transaction: TransactionId::ZERO, outcome: Outcome::Abort, by: EpochNumber::default() };
    let mut bytes = Vec::new();
    record.encode_into(&mut bytes);
    bytes[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use commit_log::Log;

    /// If this fails, outcomes in logs are overlooked.
    #[test]
    fn outcomes_are_found_in_a_log() {
        let mut log = MemoryLog::new();
        let mut bytes = Vec::new();
        for by in [1, 2] {
            let by = EpochNumber(by);
            for record in [
                LogRecord::Sealed { epoch: by },
                LogRecord::Decided { transaction: TransactionId::ZERO, outcome: Outcome::Abort, by },
            ] {
                bytes.clear();
                record.encode_into(&mut bytes);
                log.append(&bytes).unwrap();
            }
        }
        let mut outcomes = LoggedOutcomes::default();
        outcomes.look(1, &log, log.first()).unwrap();
        assert_eq!(outcomes.decided.len(), 2);
    }

    /// If this fails, sites that decide differently in one epoch go unnoticed.
    #[test]
    fn two_outcomes_of_one_epoch_are_wrong() {
        let transaction = TransactionId::ZERO;
        let commit = Outcome::Commit(messages::Timestamp::snapshot(EpochNumber(2), 7));
        let mut outcomes = LoggedOutcomes::default();
        outcomes.note(1, transaction, Outcome::Abort, EpochNumber(1));
        outcomes.note(2, transaction, commit, EpochNumber(2));
        assert_eq!(outcomes.check(), Ok(()), "a void outcome of an earlier epoch is no harm");
        outcomes.note(3, transaction, Outcome::Abort, EpochNumber(2));
        assert!(outcomes.check().is_err());
    }

    /// If this fails, a late prepare that is voted for once more goes unnoticed.
    #[test]
    fn votes_in_two_epochs_are_wrong() {
        let mut outcomes = LoggedOutcomes::default();
        outcomes.note_prepared(1, TransactionId::ZERO, EpochNumber(1));
        outcomes.note_prepared(2, TransactionId::ZERO, EpochNumber(1));
        assert_eq!(outcomes.check(), Ok(()));
        outcomes.note_prepared(2, TransactionId::ZERO, EpochNumber(2));
        assert!(outcomes.check().is_err());
    }
}
