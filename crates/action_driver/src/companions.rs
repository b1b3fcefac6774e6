//! Programs that commit together: those that wait for a row that another one has just written run in its transaction, one after the
//! other, before it is committed. So a hot row costs a round of messages for all who want it, not one for each.
//!
//! The transaction goes from session to session. Whoever has run in it waits for its outcome, as a *companion*; whoever runs in it
//! as a *guest* leaves it at once if it would have to wait, has failed or takes long, and starts over by itself; and so does everybody when the
//! transaction is lost: who has lost together too often goes on alone.
//!
//! Invariants: only programs that are transactions of their own are companions, because nothing of them is told before the outcome;
//! no schema changes among them; a transaction that goes on waits for no lock; what a guest that leaves has written is undone, or the transaction is
//! lost (what it has read and locked stays with the transaction); the outcome reaches every companion that is still there.

use crate::companion::Companion;
use crate::transaction::ExecutingTransaction;
use messages::commit::CommitReply;
use messages::session::CommitReceipt;
use messages::{Age, Conflict, Item, SessionId, TransactionId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Programs that have committed in the transaction of another, in this life of the site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompanionCounters {
    /// All of them.
    pub committed: u64,
    /// Of them, those whose transaction was durable in memory.
    pub in_memory: u64,
}

/// What one session leaves to be done by another, within the same step.
#[derive(Debug, Serialize, Deserialize)]
pub enum Errand {
    /// Runs its program in this transaction, if it still waits for what that has written.
    Join(SessionId, Box<ExecutingTransaction>),
    /// A guest has left: one of the companions goes on with it.
    TakeBack(Box<ExecutingTransaction>),
    /// The transaction that it was a companion of is over.
    Over(SessionId, TransactionId, Result<CommitReceipt, Conflict>),
}

/// Programs that wait for an item, and the companions of what is being committed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Companions {
    /// By item, in the order in which they began to wait.
    waiting: FxHashMap<Item, VecDeque<(u64, SessionId)>>,
    waits: u64,
    /// Who waits for the outcome of a transaction, apart from the session that sent it.
    committing: FxHashMap<TransactionId, Vec<Companion>>,
    /// What is left to be done in this step.
    pub errands: VecDeque<Errand>,
    /// What has committed so.
    pub counters: CompanionCounters,
}

impl Companions {
    /// A session's program waits for an item.
    pub fn waits(&mut self, item: Item, session: SessionId) {
        self.waits += 1;
        self.waiting.entry(item).or_default().push_back((self.waits, session));
    }

    /// It waits no more.
    pub fn waits_no_more(&mut self, item: &Item, session: SessionId) {
        let Some(waiting) = self.waiting.get_mut(item) else { return };
        waiting.retain(|(_, other)| *other != session);
        if waiting.is_empty() {
            self.waiting.remove(item);
        }
    }

    /// Whether any program waits for an item.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Who has waited longest for something that the transaction has written.
    pub fn next_for(&self, transaction: &ExecutingTransaction) -> Option<SessionId> {
        let waiting = transaction.file().items().filter_map(|item| self.waiting.get(item)?.front());
        waiting.min().map(|(_, session)| *session)
    }

    /// The transaction is over: whoever waits for that is told within this step.
    pub fn decided(&mut self, reply: &CommitReply) {
        if self.committing.is_empty() {
            return;
        }
        let (transaction, outcome) = match reply {
            CommitReply::Committed { transaction, receipt, .. } => (*transaction, Ok(*receipt)),
            CommitReply::Aborted { transaction, conflict } => (*transaction, Err(conflict.clone())),
            _ => return,
        };
        let companions = self.committing.remove(&transaction).unwrap_or_default();
        if let Ok(receipt) = outcome {
            self.counters.committed += companions.len() as u64;
            let in_memory = matches!(receipt, CommitReceipt::Memory { .. });
            self.counters.in_memory += if in_memory { companions.len() as u64 } else { 0 };
        }
        self.tell(companions, transaction, &outcome);
    }

    fn tell(
        &mut self,
        companions: Vec<Companion>,
        transaction: TransactionId,
        outcome: &Result<CommitReceipt, Conflict>,
    ) {
        let over = |companion: Companion| Errand::Over(companion.session, transaction, outcome.clone());
        self.errands.extend(companions.into_iter().map(over));
    }

    /// The transaction is sent to be committed: who waits for it besides its sender, and how old it is with them.
    pub fn commit(&mut self, transaction: TransactionId, age: Age, companions: Vec<Companion>) -> Age {
        let oldest = companions.iter().map(|companion| companion.age).fold(age, Age::min);
        if !companions.is_empty() {
            self.committing.insert(transaction, companions);
        }
        oldest
    }

    /// The transaction has lost a conflict before it was sent: so have all of its companions.
    pub fn lost(&mut self, transaction: &mut ExecutingTransaction, conflict: &Conflict) {
        let companions = std::mem::take(&mut transaction.companions);
        if let Some((id, _)) = transaction.identity {
            self.tell(companions, id, &Err(conflict.clone()));
        }
    }
}
