//! Who wants which answer of the site's other servers.
//!
//! Invariant: a tag or a transaction is known here as long as an answer to it is wanted; every other answer is dropped unread.

use crate::snapshots::SnapshotsInUse;
use messages::commit::CommitRequest;
use messages::planted::Planted;
use messages::{Message, Now, Outbox, ServerKind, SessionId, TransactionId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Who wants an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Owner {
    /// A session.
    Session(SessionId),
    /// The cleaner of storages left behind.
    Cleaner,
    /// Who looks for what earlier lives have left behind.
    Leftovers,
    /// Who drops temporary schemas.
    TemporarySchemas,
}

/// The answers that are wanted.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct AwaitedAnswers {
    tags: FxHashMap<u64, Owner>,
    transactions: FxHashMap<TransactionId, Owner>,
    last_tag: u64,
}

impl AwaitedAnswers {
    /// A new tag, whose answer goes to `owner`.
    pub fn new_tag(&mut self, owner: Owner) -> u64 {
        self.last_tag += 1;
        self.tags.insert(self.last_tag, owner);
        self.last_tag
    }

    /// Who wants the answer to this tag, which has come or is no longer wanted: it comes once.
    pub fn take(&mut self, tag: u64) -> Option<Owner> {
        self.tags.remove(&tag)
    }

    /// As [`AwaitedAnswers::take`], if it is this one who wants it. Whether it is.
    pub fn take_for(&mut self, tag: u64, owner: Owner) -> bool {
        let is_wanted = self.tags.get(&tag) == Some(&owner);
        if is_wanted {
            self.tags.remove(&tag);
        }
        is_wanted
    }

    /// `owner` hears of the transaction from now on.
    pub fn follow(&mut self, transaction: TransactionId, owner: Owner) {
        self.transactions.insert(transaction, owner);
    }

    /// Nobody hears of the transaction any more.
    pub fn unfollow(&mut self, transaction: TransactionId) {
        self.transactions.remove(&transaction);
    }

    /// Who hears of the transaction.
    pub fn follower(&self, transaction: TransactionId) -> Option<Owner> {
        self.transactions.get(&transaction).copied()
    }
}

/// What the machines that are no sessions work with: `cleaner`, `leftovers`, `temporary_schemas`.
pub struct Surroundings<'a> {
    /// What time it is.
    pub now: Now,
    /// Where messages go.
    pub outbox: &'a mut Outbox,
    /// Who wants which answer.
    pub answers: &'a mut AwaitedAnswers,
    /// Snapshots in use.
    pub snapshots: &'a mut SnapshotsInUse,
    /// Which clause the simulator leaves out.
    pub planted: Planted,
}

impl Surroundings<'_> {
    /// To the atomicity controller.
    pub fn commit(&mut self, request: CommitRequest) {
        self.outbox.local(ServerKind::AtomicityController, Message::CommitRequest(request));
    }
}
