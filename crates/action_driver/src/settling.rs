//! What is left to be asked for before a transaction goes on, and what is left to be committed when its statements have run.

use crate::need::ExecutorNeed;
use messages::concurrency::AccessKind;
use messages::{History, Item};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

/// Items that are added to, and have to be read and written instead; or that are asked for once more, so that all are asked for in one order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SettlingItems {
    /// What is left to be asked for, in the order in which the transaction came to it: whose programs do not wait for each other in a circle when
    /// they write the same rows do not when they commit.
    pub(crate) left: VecDeque<ExecutorNeed>,
    pub(crate) then: Then,
}

/// What goes on when nothing of a [`SettlingItems`] is left.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Then {
    /// The executor needs this.
    Need(ExecutorNeed),
    /// A commit is tried again: what it uses is locked as it was before.
    Commit,
    /// The transaction commits as it is.
    Send,
}

/// What is left to be committed when all statements of a transaction have been answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ToCommit {
    pub(crate) history: Arc<History>,
    /// What was locked for it, and how, in that order: whoever has locked it meanwhile is waited for, not doomed.
    pub(crate) locks: Arc<[(Item, AccessKind)]>,
}

impl SettlingItems {
    /// What is to be committed is locked once more.
    pub(crate) fn lock_again(to_commit: &ToCommit) -> SettlingItems {
        let lock = |(item, kind): &(Item, AccessKind)| match kind {
            AccessKind::Read => ExecutorNeed::Item(item.clone(), AccessKind::Read),
            AccessKind::Write => ExecutorNeed::Lock(item.clone()),
            AccessKind::Increment => ExecutorNeed::Presence(item.clone()),
        };
        SettlingItems { left: to_commit.locks.iter().map(lock).collect(), then: Then::Commit }
    }

    /// What is needed next. Errors: nothing is left, and this goes on.
    pub(crate) fn next(mut self, settling: &mut Option<SettlingItems>) -> Result<ExecutorNeed, Then> {
        let Some(need) = self.left.pop_front() else { return Err(self.then) };
        *settling = Some(self);
        Ok(need)
    }
}
