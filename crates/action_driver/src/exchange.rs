//! What all sessions share, and how they speak to the other servers of the site.
//!
//! Invariant: a tag or a transaction is known here as long as an answer to it is wanted; every other answer is dropped unread.

use crate::cleaner::Cleaner;
use crate::companions::Companions;
use crate::contention::Contention;
use crate::execution::Rules;
use crate::generator::Generator;
use crate::hidden_keys::HiddenKeys;
use crate::leftovers::Leftovers;
use crate::snapshots::Snapshots;
use crate::sums::Sums;
use messages::access::AccessRequest;
use messages::commit::CommitRequest;
use messages::concurrency::ConcurrencyRequest;
use messages::limits::PRIVATE_CHUNK_ROWS;
use messages::planted::Planted;
use messages::replication::ServiceRequest;
use messages::session::SessionReply;
use messages::{Message, Now, Outbox, ServerKind, SessionId, TransactionId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Who wants an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Owner {
    /// A session.
    Session(SessionId),
    /// The cleaner of storages left behind.
    Cleaner,
    /// Who looks for what earlier lives have left behind.
    Leftovers,
}

/// What all sessions share.
#[derive(Debug, Serialize, Deserialize)]
pub struct Shared {
    /// Which clause the simulator leaves out.
    pub planted: Planted,
    /// What is the same for all programs.
    pub rules: Rules,
    /// Who wants the answer to a tag.
    pub tags: FxHashMap<u64, Owner>,
    /// Who wants to hear of a transaction.
    pub transactions: FxHashMap<TransactionId, Owner>,
    /// The source of random numbers.
    pub generator: Generator,
    /// Keys for rows without a primary key.
    pub hidden_keys: HiddenKeys,
    /// Where rows are added to without being read.
    pub sums: Sums,
    /// What transactions lose conflicts on and wait for.
    pub contention: Contention,
    /// Programs that commit together.
    pub companions: Companions,
    /// Snapshots in use.
    pub snapshots: Snapshots,
    /// Drops storages left behind.
    pub cleaner: Cleaner,
    /// Drops what lives that are over have left behind.
    pub leftovers: Leftovers,
    last_tag: u64,
    /// When which session wants to be woken.
    delayed: BTreeSet<(u64, SessionId)>,
}

impl Shared {
    /// Nothing is known yet.
    pub fn new(planted: Planted, seed: u64) -> Shared {
        Shared {
            planted,
            rules: Rules { chunk_rows: PRIVATE_CHUNK_ROWS, planted },
            tags: FxHashMap::default(),
            transactions: FxHashMap::default(),
            generator: Generator::new(seed),
            hidden_keys: HiddenKeys::default(),
            sums: Sums::default(),
            contention: Contention::default(),
            companions: Companions::default(),
            snapshots: Snapshots::default(),
            cleaner: Cleaner::default(),
            leftovers: Leftovers::default(),
            last_tag: 0,
            delayed: BTreeSet::new(),
        }
    }

    /// A new tag, whose answer goes to `owner`.
    pub fn new_tag(&mut self, owner: Owner) -> u64 {
        self.last_tag += 1;
        self.tags.insert(self.last_tag, owner);
        self.last_tag
    }

    /// The next session whose moment has come.
    pub fn due(&mut self, now: Now) -> Option<SessionId> {
        let (until, session) = *self.delayed.first()?;
        if until > now.boot {
            return None;
        }
        self.delayed.pop_first();
        Some(session)
    }
}

/// One message's worth of dealing with the world on behalf of a session.
pub struct Exchange<'a> {
    /// What time it is.
    pub now: Now,
    /// Where messages go.
    pub outbox: &'a mut Outbox,
    /// What all sessions share.
    pub shared: &'a mut Shared,
    /// On whose behalf.
    pub session: SessionId,
}

impl Exchange<'_> {
    /// A new tag, whose answer goes to this session.
    pub fn tag(&mut self) -> u64 {
        self.shared.new_tag(Owner::Session(self.session))
    }

    /// The answer to this tag is no longer wanted.
    pub fn forget_tag(&mut self, tag: u64) {
        self.shared.tags.remove(&tag);
    }

    /// This session is woken by the first tick at or after this moment (boot clock).
    pub fn wake_at(&mut self, until: u64) {
        self.shared.delayed.insert((until, self.session));
    }

    /// This session hears of the transaction from now on.
    pub fn follow(&mut self, transaction: TransactionId) {
        self.shared.transactions.insert(transaction, Owner::Session(self.session));
    }

    /// This session no longer hears of the transaction.
    pub fn unfollow(&mut self, transaction: TransactionId) {
        self.shared.transactions.remove(&transaction);
    }

    /// To the access manager.
    pub fn access(&mut self, request: AccessRequest) {
        self.outbox.local(ServerKind::AccessManager, Message::Access(request));
    }

    /// To the concurrency controller.
    pub fn concurrency(&mut self, request: ConcurrencyRequest) {
        self.outbox.local(ServerKind::ConcurrencyController, Message::Concurrency(request));
    }

    /// To the atomicity controller.
    pub fn commit(&mut self, request: CommitRequest) {
        self.outbox.local(ServerKind::AtomicityController, Message::CommitRequest(request));
    }

    /// To the replication controller.
    pub fn service(&mut self, request: ServiceRequest) {
        self.outbox.local(ServerKind::ReplicationController, Message::Service(request));
    }

    /// To whoever asked on behalf of the session.
    pub fn reply(&mut self, to: ServerKind, reply: SessionReply) {
        self.outbox.local(to, Message::SessionReply(self.session, reply));
    }
}
