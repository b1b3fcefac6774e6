//! What all sessions share, and how they speak to the other servers of the site.
//!
//! Invariant: a session hears only answers that it wants (`answers`).

use crate::answers::{AwaitedAnswers, Owner, Surroundings};
use crate::cleaner::Cleaner;
use crate::companions::Companions;
use crate::contention::Contention;
use crate::generator::Generator;
use crate::hidden_keys::HiddenKeys;
use crate::leftovers::Leftovers;
use crate::scene::SiteRules;
use crate::sequences::Sequences;
use crate::snapshots::SnapshotsInUse;
use crate::sums::Sums;
use crate::temporary_schemas::TemporarySchemas;
use messages::access::AccessRequest;
use messages::commit::CommitRequest;
use messages::concurrency::ConcurrencyRequest;
use messages::limits::PRIVATE_CHUNK_ROWS;
use messages::planted::Planted;
use messages::replication::ServiceRequest;
use messages::session::SessionReply;
use messages::{Message, Now, Outbox, ServerKind, SessionId, TableId, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What all sessions share.
#[derive(Debug, Serialize, Deserialize)]
pub struct DriverShared {
    /// Which clause the simulator leaves out.
    pub planted: Planted,
    /// What is the same for all programs.
    pub rules: SiteRules,
    /// Who wants which answer.
    pub answers: AwaitedAnswers,
    /// The source of random numbers.
    pub generator: Generator,
    /// Keys for rows without a primary key.
    pub hidden_keys: HiddenKeys,
    /// Values of sequences.
    pub sequences: Sequences,
    /// Where rows are added to without being read.
    pub sums: Sums,
    /// What transactions lose conflicts on and wait for.
    pub contention: Contention,
    /// Programs that commit together.
    pub companions: Companions,
    /// Snapshots in use.
    pub snapshots: SnapshotsInUse,
    /// Drops storages left behind.
    cleaner: Cleaner,
    /// Drops what lives that are over have left behind.
    leftovers: Leftovers,
    /// Drops the temporary schemas of sessions that have gone.
    temporary_schemas: TemporarySchemas,
    /// When which session wants to be woken.
    delayed: BTreeSet<(u64, SessionId)>,
}

impl DriverShared {
    /// Nothing is known yet.
    pub fn new(planted: Planted, seed: u64) -> DriverShared {
        DriverShared {
            planted,
            rules: SiteRules { chunk_rows: PRIVATE_CHUNK_ROWS, planted },
            answers: AwaitedAnswers::default(),
            generator: Generator::new(seed),
            hidden_keys: HiddenKeys::default(),
            sequences: Sequences::default(),
            sums: Sums::default(),
            contention: Contention::default(),
            companions: Companions::default(),
            snapshots: SnapshotsInUse::default(),
            cleaner: Cleaner::default(),
            leftovers: Leftovers::default(),
            temporary_schemas: TemporarySchemas::default(),
            delayed: BTreeSet::new(),
        }
    }

    /// The cleaner, and what it works with.
    pub fn cleaner<'a>(&'a mut self, now: Now, outbox: &'a mut Outbox) -> (&'a mut Cleaner, Surroundings<'a>) {
        let DriverShared { cleaner, answers, snapshots, planted, .. } = self;
        (cleaner, Surroundings { now, outbox, answers, snapshots, planted: *planted })
    }

    /// Who looks for what earlier lives have left behind, and what that works with.
    pub fn leftovers<'a>(&'a mut self, now: Now, outbox: &'a mut Outbox) -> (&'a mut Leftovers, Surroundings<'a>) {
        let DriverShared { leftovers, answers, snapshots, planted, .. } = self;
        (leftovers, Surroundings { now, outbox, answers, snapshots, planted: *planted })
    }

    /// Who drops the temporary schemas of sessions that have gone, and what that works with.
    pub fn temporary_schemas<'a>(
        &'a mut self,
        now: Now,
        outbox: &'a mut Outbox,
    ) -> (&'a mut TemporarySchemas, Surroundings<'a>) {
        let DriverShared { temporary_schemas, answers, snapshots, planted, .. } = self;
        (temporary_schemas, Surroundings { now, outbox, answers, snapshots, planted: *planted })
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
pub struct SessionExchange<'a> {
    /// What time it is.
    pub now: Now,
    /// Where messages go.
    pub outbox: &'a mut Outbox,
    /// What all sessions share.
    pub shared: &'a mut DriverShared,
    /// On whose behalf.
    pub session: SessionId,
}

impl SessionExchange<'_> {
    /// A new tag, whose answer goes to this session.
    pub fn tag(&mut self) -> u64 {
        self.shared.answers.new_tag(Owner::Session(self.session))
    }

    /// The answer to this tag is no longer wanted.
    pub fn forget_tag(&mut self, tag: u64) {
        self.shared.answers.take(tag);
    }

    /// This session is woken by the first tick at or after this moment (boot clock).
    pub fn wake_at(&mut self, until: u64) {
        self.shared.delayed.insert((until, self.session));
    }

    /// This session hears of the transaction from now on.
    pub fn follow(&mut self, transaction: TransactionId) {
        self.shared.answers.follow(transaction, Owner::Session(self.session));
    }

    /// This session no longer hears of the transaction.
    pub fn unfollow(&mut self, transaction: TransactionId) {
        self.shared.answers.unfollow(transaction);
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

    /// These storages are unreachable: they are dropped, soon.
    pub fn drop_storages(&mut self, storages: impl IntoIterator<Item = TableId>) {
        self.shared.cleaner.drop_storages(storages);
    }

    /// Drops these storages should this commit, which nobody waits for any more, turn out an abort; or, when it is a chunk's,
    /// whatever it turns out.
    pub fn drop_after(&mut self, transaction: TransactionId, storages: impl IntoIterator<Item = TableId>, chunk: bool) {
        let (cleaner, mut around) = self.shared.cleaner(self.now, self.outbox);
        cleaner.drop_after(transaction, storages, chunk, &mut around);
    }

    /// To whoever asked on behalf of the session.
    pub fn reply(&mut self, to: ServerKind, reply: SessionReply) {
        self.outbox.local(to, Message::SessionReply(self.session, reply));
    }
}
