//! Drops storages whose transaction did not commit after rows had been committed ahead into them.
//!
//! Invariant: a storage is dropped only after every chunk for it is decided, and for no other reason than that the
//! transaction that made it can no longer commit. The list is in memory: what a stopped process leaves behind, others find (`leftovers.rs`).

use crate::answers::{Owner, Surroundings};
use crate::limits::DROP_RETRY;
use messages::commit::CommitRequest;
use messages::planted;
use messages::{Age, History, TableId, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Storages to drop.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Cleaner {
    jobs: Vec<CleanupJob>,
    waiting: BTreeMap<TransactionId, AbandonedCommit>,
}

/// A commit whose session no longer waits for it.
#[derive(Debug, Serialize, Deserialize)]
struct AbandonedCommit {
    storages: Vec<TableId>,
    /// Whether a commit, too, leaves the storages unreachable: it was a chunk's.
    chunk: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct CleanupJob {
    storages: Vec<TableId>,
    stage: CleanupStage,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum CleanupStage {
    Waiting { until: u64 },
    Beginning { tag: u64 },
    Committing { transaction: TransactionId },
}

impl Cleaner {
    /// These storages are unreachable: drop them, soon.
    pub fn drop_storages(&mut self, storages: impl IntoIterator<Item = TableId>) {
        let storages: Vec<TableId> = storages.into_iter().collect();
        if !storages.is_empty() {
            let stage = CleanupStage::Waiting { until: 0 };
            self.jobs.push(CleanupJob { storages, stage });
        }
    }

    /// Drops these storages should this commit, which nobody waits for any more, turn out an abort; or, when it is a chunk's,
    /// whatever it turns out.
    pub fn drop_after(
        &mut self,
        transaction: TransactionId,
        storages: impl IntoIterator<Item = TableId>,
        chunk: bool,
        around: &mut Surroundings,
    ) {
        let storages: Vec<TableId> = storages.into_iter().collect();
        if storages.is_empty() || planted!(around.planted, CleanerHurries) {
            around.answers.unfollow(transaction);
            self.drop_storages(storages);
        } else {
            around.answers.follow(transaction, Owner::Cleaner);
            self.waiting.insert(transaction, AbandonedCommit { storages, chunk });
        }
    }

    /// The transaction of a job may begin.
    pub fn begun(&mut self, tag: u64, transaction: TransactionId, age: Age, around: &mut Surroundings) {
        let jobs = &mut self.jobs;
        let Some(job) = jobs.iter_mut().find(|job| job.stage == CleanupStage::Beginning { tag }) else {
            return;
        };
        job.stage = CleanupStage::Committing { transaction };
        around.answers.follow(transaction, Owner::Cleaner);
        let history = Arc::new(History { drops: job.storages.clone(), ..History::default() });
        let request = CommitRequest::Commit { transaction, age, history, logged_everywhere: false };
        around.commit(request);
    }

    /// A transaction is decided: a job's, or one that was waited for.
    pub fn decided(&mut self, transaction: TransactionId, committed: bool, around: &mut Surroundings) {
        around.answers.unfollow(transaction);
        if let Some(waiting) = self.waiting.remove(&transaction) {
            if waiting.chunk || !committed {
                self.drop_storages(waiting.storages);
            }
            return;
        }
        let jobs = &mut self.jobs;
        let position = jobs.iter().position(|job| job.stage == CleanupStage::Committing { transaction });
        let Some(position) = position else { return };
        if committed {
            jobs.remove(position);
        } else {
            jobs[position].stage = CleanupStage::Waiting { until: around.now.boot + DROP_RETRY };
        }
    }

    /// Begins what is due.
    pub fn tick(&mut self, around: &mut Surroundings) {
        for position in 0..self.jobs.len() {
            if matches!(self.jobs[position].stage, CleanupStage::Waiting { until } if until <= around.now.boot) {
                let tag = around.answers.new_tag(Owner::Cleaner);
                self.jobs[position].stage = CleanupStage::Beginning { tag };
                let request = CommitRequest::Begin { tag };
                around.commit(request);
            }
        }
    }
}
