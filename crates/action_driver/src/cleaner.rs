//! Drops storages whose transaction did not commit after rows had been committed ahead into them.
//!
//! Invariant: a storage is dropped only after every chunk for it is decided, and for no other reason than that the
//! transaction that made it can no longer commit. The list is in memory: what a stopped process leaves behind, others find (`leftovers.rs`).

use crate::exchange::{Owner, Shared};
use crate::limits::DROP_RETRY;
use messages::commit::CommitRequest;
use messages::planted::Bug;
use messages::{Age, History, Message, Now, Outbox, ServerKind, TableId, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Storages to drop.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Cleaner {
    jobs: Vec<Job>,
    waiting: BTreeMap<TransactionId, Waiting>,
}

/// A commit whose session no longer waits for it.
#[derive(Debug, Serialize, Deserialize)]
struct Waiting {
    storages: Vec<TableId>,
    /// Whether a commit, too, leaves the storages unreachable: it was a chunk's.
    chunk: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Job {
    storages: Vec<TableId>,
    stage: Stage,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    Waiting { until: u64 },
    Beginning { tag: u64 },
    Committing { transaction: TransactionId },
}

impl Shared {
    /// These storages are unreachable: drop them, soon.
    pub fn drop_storages(&mut self, storages: impl IntoIterator<Item = TableId>) {
        let storages: Vec<TableId> = storages.into_iter().collect();
        if !storages.is_empty() {
            let stage = Stage::Waiting { until: 0 };
            self.cleaner.jobs.push(Job { storages, stage });
        }
    }

    /// Drops these storages should this commit, which nobody waits for any more, turn out an abort; or, when it is a chunk's,
    /// whatever it turns out.
    pub fn drop_after(&mut self, transaction: TransactionId, storages: impl IntoIterator<Item = TableId>, chunk: bool) {
        let storages: Vec<TableId> = storages.into_iter().collect();
        if storages.is_empty() || self.planted.is(Bug::CleanerHurries) {
            self.transactions.remove(&transaction);
            self.drop_storages(storages);
        } else {
            self.transactions.insert(transaction, Owner::Cleaner);
            self.cleaner.waiting.insert(transaction, Waiting { storages, chunk });
        }
    }

    /// A transaction of the cleaner may begin.
    pub fn cleaner_begun(&mut self, tag: u64, transaction: TransactionId, age: Age, outbox: &mut Outbox) {
        let jobs = &mut self.cleaner.jobs;
        let Some(job) = jobs.iter_mut().find(|job| job.stage == Stage::Beginning { tag }) else {
            return;
        };
        job.stage = Stage::Committing { transaction };
        self.transactions.insert(transaction, Owner::Cleaner);
        let history = Arc::new(History { drops: job.storages.clone(), ..History::default() });
        let request = CommitRequest::Commit { transaction, age, history, logged_everywhere: false };
        outbox.local(ServerKind::AtomicityController, Message::CommitRequest(request));
    }

    /// A transaction of the cleaner is decided.
    pub fn cleaner_decided(&mut self, transaction: TransactionId, committed: bool, now: Now) {
        self.transactions.remove(&transaction);
        if let Some(waiting) = self.cleaner.waiting.remove(&transaction) {
            if waiting.chunk || !committed {
                self.drop_storages(waiting.storages);
            }
            return;
        }
        let jobs = &mut self.cleaner.jobs;
        let position = jobs.iter().position(|job| job.stage == Stage::Committing { transaction });
        let Some(position) = position else { return };
        if committed {
            jobs.remove(position);
        } else {
            jobs[position].stage = Stage::Waiting { until: now.boot + DROP_RETRY };
        }
    }

    /// Begins what is due.
    pub fn cleaner_tick(&mut self, now: Now, outbox: &mut Outbox) {
        for position in 0..self.cleaner.jobs.len() {
            if matches!(self.cleaner.jobs[position].stage, Stage::Waiting { until } if until <= now.boot) {
                let tag = self.new_tag(Owner::Cleaner);
                self.cleaner.jobs[position].stage = Stage::Beginning { tag };
                let request = CommitRequest::Begin { tag };
                outbox.local(ServerKind::AtomicityController, Message::CommitRequest(request));
            }
        }
    }
}
