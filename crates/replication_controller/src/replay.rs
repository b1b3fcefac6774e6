//! What a restart takes from the log: the last epoch, the tables, and what this copy may have that nobody else has.

use crate::{EpochContinuation, ReplicationController};
use messages::commit::Outcome;
use messages::log_record::LogRecord;
use messages::planted;
use messages::{EpochNumber, History, Outbox, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the log says was voted for and not decided, until the site takes part again. What was decided and others may have lost is among
/// the recent commits.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct LogTail {
    /// The last epoch in which this site voted: it was active, so nothing of earlier ones was open. An epoch that was merely logged
    /// may have failed.
    voted_in: EpochNumber,
    undecided: BTreeMap<TransactionId, Arc<History>>,
}

impl LogTail {
    pub(crate) fn clear(&mut self) {
        *self = LogTail::default();
    }

    fn voted(&mut self, epoch: EpochNumber) {
        if epoch > self.voted_in {
            *self = LogTail { voted_in: epoch, ..LogTail::default() };
        }
    }

    pub(crate) fn undecided(&self) -> impl Iterator<Item = Arc<History>> + '_ {
        self.undecided.values().cloned()
    }
}

impl ReplicationController {
    pub(crate) fn replay_record(&mut self, record: &LogRecord, _outbox: &mut Outbox) {
        match record {
            LogRecord::EpochSeen { epoch } => self.known = Some(epoch.clone()),
            LogRecord::Sealed { epoch } if !planted!(self.planted, SealOnlyInMemory) => {
                self.sealed_through = self.sealed_through.max(*epoch);
            }
            LogRecord::EpochLogged { epoch, incarnation, joined, chain, fail_locks, .. } => {
                self.joined = *joined;
                self.logged_by = Some(*incarnation);
                // An incarnation is given out once, so this is never so, unless a bug is planted.
                self.took_part = *incarnation == self.incarnation;
                self.logged = Some(epoch.clone());
                self.chain = chain.clone();
                self.fail_locks.accounted_for((epoch.number, 0));
                self.fail_locks.replay_tables(fail_locks);
                self.fail_locks.enter(epoch, self.site);
                if self.known.as_ref().is_none_or(|known| known.number < epoch.number) {
                    self.known = Some(epoch.clone());
                }
            }
            LogRecord::Prepared { transaction, epoch, history, .. } => {
                self.tail.voted(*epoch);
                self.tail.undecided.insert(*transaction, history.clone());
            }
            LogRecord::Decided { transaction, outcome, .. } => {
                let Some(history) = self.tail.undecided.remove(transaction) else { return };
                if let Outcome::Commit(timestamp) = outcome {
                    self.fail_locks.commit(*timestamp, history);
                }
            }
            LogRecord::Synced { complete_through, members } => {
                self.fail_locks.accounted_for(*complete_through);
                for (site, through) in members {
                    self.fail_locks.synced(*site, *through);
                }
            }
            LogRecord::Marked { mark } => self.marks.known.lineage.note(*mark),
            LogRecord::Marks { known } => self.marks.replay(known),
            LogRecord::Recent { complete_through, commits } => {
                self.fail_locks.accounted_for(*complete_through);
                self.fail_locks.merge_recent(commits);
            }
            _ => {}
        }
    }

    /// At a checkpoint: everything that a replay needs.
    pub(crate) fn checkpoint(&self, outbox: &mut Outbox) {
        if let Some(epoch) = &self.known {
            outbox.append(LogRecord::EpochSeen { epoch: epoch.clone() });
        }
        if self.sealed_through > EpochNumber(0) {
            outbox.append(LogRecord::Sealed { epoch: self.sealed_through });
        }
        outbox.append(self.marks.record());
        // An empty copy is logged from the start, though it counts only once that is synced.
        let empty = self.after_sync.values().find_map(|then| match then {
            EpochContinuation::Empty(epoch) => Some(epoch),
            _ => None,
        });
        if let Some(logged) = self.logged.as_ref().or(empty) {
            outbox.append(self.logged_record(logged, Arc::default()));
        }
        outbox.append(self.fail_locks.recent_record());
    }
}
