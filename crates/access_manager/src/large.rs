//! Large transactions, a step at a time: what one touches comes to memory, then it is checked; what one has written is installed.
//!
//! Invariants:
//!
//! * no message visits the store for more rows than a step has: a site that is busy with one transaction keeps everybody else waiting;
//! * between two steps other requests are served, as if what is under way had not begun: the asker holds commit-locks on all of it, for which
//!   readers wait, those of snapshots above it too, so nobody looks at a part;
//! * a request that looks at this copy without locks (copies, a new epoch) finds all of it installed ([`AccessManager::finish_installs`]), and a post
//!   begins only then, because the log of what it covers goes.

use crate::limits::{PREFETCH_LOOKS_PER_STEP, PREFETCHES_PER_STEP, STEP_ROWS};
use crate::local::Local;
use crate::manager::AccessManager;
use crate::store::StoreError;
use messages::access::{AccessReply, AccessRequest};
use messages::planted;
use messages::planted::Planted;
use messages::{Conflict, History, Key, Message, Outbox, ServerKind, TableId, Timestamp, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

/// How far a check has come.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct CheckProgress {
    /// How many of the items that it touches have been brought to memory.
    prefetched: usize,
    /// How many of its reads are validated.
    validated: usize,
}

/// What is done in steps.
#[derive(Debug, Serialize, Deserialize)]
enum LargeJob {
    /// A check that is to be answered.
    Check { asker: ServerKind, transaction: TransactionId, history: Arc<History>, progress: CheckProgress },
    /// A commit whose locks wait for it.
    Install {
        asker: ServerKind,
        timestamp: Timestamp,
        history: Arc<History>,
        /// How many of the items that it changes are installed.
        installed: usize,
    },
    /// A post that covers the installations before it.
    Post { asker: ServerKind, tag: u64 },
}

/// What is under way, one after the other.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Large {
    touched_max: usize,
    jobs: VecDeque<LargeJob>,
    /// The next step has been asked for.
    goes_on: bool,
    planted: Planted,
}

impl Large {
    pub(crate) fn new(touched_max: usize, planted: Planted) -> Large {
        Large { touched_max, jobs: VecDeque::new(), goes_on: false, planted }
    }

    /// Whether so much is touched that the check is done in steps.
    pub(crate) fn is_for(&self, history: &History) -> bool {
        history.reads.len() + history.writes.len() + history.increments.len() > self.touched_max
    }

    /// Whether a post has to wait.
    pub(crate) fn keeps_posts(&self) -> bool {
        !planted!(self.planted, PostPassesInstall)
            && self.jobs.iter().any(|job| matches!(job, LargeJob::Install { .. }))
    }

    pub(crate) fn check(&mut self, asker: ServerKind, transaction: TransactionId, history: Arc<History>) {
        self.jobs.push_back(LargeJob::Check { asker, transaction, history, progress: CheckProgress::default() });
    }

    pub(crate) fn install(&mut self, asker: ServerKind, timestamp: Timestamp, history: Arc<History>) {
        self.jobs.push_back(LargeJob::Install { asker, timestamp, history, installed: 0 });
    }

    pub(crate) fn post(&mut self, asker: ServerKind, tag: u64) {
        self.jobs.push_back(LargeJob::Post { asker, tag });
    }

    /// A transaction is given up.
    pub(crate) fn abandon(&mut self, given_up: TransactionId) {
        self.jobs.retain(|job| !matches!(job, LargeJob::Check { transaction, .. } if *transaction == given_up));
    }

    /// Nobody waits for a check any more.
    pub(crate) fn forget_checks(&mut self) {
        self.jobs.retain(|job| !matches!(job, LargeJob::Check { .. }));
    }

    /// Has the next step asked for, if there is one.
    pub(crate) fn go_on(&mut self, outbox: &mut Outbox) {
        if !self.jobs.is_empty() && !self.goes_on {
            self.goes_on = true;
            outbox.local(ServerKind::AccessManager, Message::Access(AccessRequest::NextStep));
        }
    }

    /// Rows of a step.
    fn step_rows(&self) -> usize {
        self.touched_max.clamp(1, STEP_ROWS)
    }
}

impl AccessManager {
    /// The next step of what is under way.
    pub(crate) fn next_step(&mut self, outbox: &mut Outbox) -> Result<(), StoreError> {
        self.large.goes_on = false;
        let rows = self.large.step_rows();
        let left = match self.large.jobs.pop_front() {
            None => None,
            Some(LargeJob::Check { asker, transaction, history, progress }) => {
                match self.check_step(transaction, &history, progress, rows)? {
                    CheckStep::Left(progress) => Some(LargeJob::Check { asker, transaction, history, progress }),
                    CheckStep::Done(conflict) => {
                        let reply = AccessReply::CheckReply { transaction, conflict };
                        outbox.local(asker, Message::AccessReply(reply));
                        None
                    }
                }
            }
            Some(LargeJob::Install { asker, timestamp, history, installed }) => {
                let end = changed(&history).min(installed + rows);
                self.install_part(timestamp, &history, installed..end, outbox)?;
                self.trim_old_versions(end - installed, outbox);
                if end < changed(&history) {
                    Some(LargeJob::Install { asker, timestamp, history, installed: end })
                } else {
                    self.end_install(asker, timestamp, &history, outbox);
                    None
                }
            }
            Some(LargeJob::Post { asker, tag }) => {
                self.begin_post(asker, tag, outbox)?;
                None
            }
        };
        if let Some(job) = left {
            self.large.jobs.push_front(job);
        }
        Ok(())
    }

    /// What comes to memory is read from the store; so much of it that the next step may be one of comparing.
    fn check_step(
        &mut self,
        transaction: TransactionId,
        history: &Arc<History>,
        CheckProgress { prefetched, validated }: CheckProgress,
        rows: usize,
    ) -> Result<CheckStep, StoreError> {
        if let Some(prefetched) = prefetch(&mut self.local, history, prefetched)? {
            return Ok(CheckStep::Left(CheckProgress { prefetched, validated }));
        }
        let touched = history.reads.len() + history.writes.len() + history.increments.len();
        let end = history.reads.len().min(validated + rows);
        let conflict = self.check_items(&history.reads[validated..end])?;
        if conflict.is_some() {
            return Ok(CheckStep::Done(conflict));
        }
        if end < history.reads.len() {
            return Ok(CheckStep::Left(CheckProgress { prefetched: touched, validated: end }));
        }
        Ok(CheckStep::Done(self.check_rest(transaction, history)?))
    }

    /// Everything of a large commit is there.
    fn end_install(&mut self, asker: ServerKind, timestamp: Timestamp, history: &History, outbox: &mut Outbox) {
        self.install_rest(timestamp, history, outbox);
        let installed = AccessReply::Installed { transaction: timestamp.transaction };
        outbox.local(asker, Message::AccessReply(installed));
    }

    /// Installs all that is under way: somebody looks at this copy who holds no locks and has no snapshot.
    pub(crate) fn finish_installs(&mut self, outbox: &mut Outbox) -> Result<(), StoreError> {
        if planted!(self.planted, EpochPassesInstall) {
            return Ok(());
        }
        for job in std::mem::take(&mut self.large.jobs) {
            let LargeJob::Install { asker, timestamp, history, installed } = job else {
                self.large.jobs.push_back(job);
                continue;
            };
            self.install_part(timestamp, &history, installed..changed(&history), outbox)?;
            self.end_install(asker, timestamp, &history, outbox);
        }
        Ok(())
    }
}

/// What a step of a check has come to.
enum CheckStep {
    /// There is more to do.
    Left(CheckProgress),
    Done(Option<Conflict>),
}

/// How many items it changes.
pub(crate) fn changed(history: &History) -> usize {
    history.writes.len() + history.increments.len()
}

/// Brings more of what a history touches to memory, for as long as a step may take. Returns how much is there; `None`: all was there already.
fn prefetch(local: &mut Local, history: &History, mut prefetched: usize) -> Result<Option<usize>, StoreError> {
    let (first, mut cost) = (prefetched, 0);
    while prefetched < first + PREFETCH_LOOKS_PER_STEP && cost < PREFETCHES_PER_STEP {
        let Some((table, key)) = touched(history, prefetched) else { break };
        cost += local.prefetch(table, key)?;
        prefetched += 1;
    }
    Ok((prefetched > first).then_some(prefetched))
}

/// The items that a history touches, by number.
fn touched(history: &History, number: usize) -> Option<(TableId, &Key)> {
    let History { reads, writes, increments, .. } = history;
    let read = reads.get(number).map(|read| (read.table, &read.key));
    let number = number.checked_sub(reads.len());
    let write = number.and_then(|number| writes.get(number)).map(|write| (write.table, &write.key));
    let number = number.and_then(|number| number.checked_sub(writes.len()));
    let increment = number.and_then(|number| increments.get(number)).map(|added| (added.table, &added.key));
    read.or(write).or(increment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::{Increment, ItemRead, Write};

    /// An item that is passed over would be looked up in the store after all.
    #[test]
    fn everything_is_touched_once() {
        let table = TableId(20);
        let key = |number: u8| Key::new(&[number]);
        let history = History {
            reads: vec![ItemRead { table, key: key(0), seen: Timestamp::ZERO }],
            writes: (1..=2).map(|number| Write { table, key: key(number), row: None }).collect(),
            increments: vec![Increment { table, key: key(3), addends: smallvec::SmallVec::new() }],
            ..History::default()
        };
        let all: Vec<&Key> = (0..).map_while(|number| touched(&history, number)).map(|(_, key)| key).collect();
        assert_eq!(all, [&key(0), &key(1), &key(2), &key(3)]);
    }
}
