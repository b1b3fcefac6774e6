//! The action driver as a server: brings each message to the session that waits for it.
//!
//! Invariant: a message for which nobody waits changes nothing. The driver writes no log: what it knows dies with its process,
//! and a transaction not yet prepared dies with it.

use crate::answers::Owner;
use crate::companions::{CompanionCounters, Errand};
use crate::counts::WorkCounts;
use crate::exchange::{DriverShared, SessionExchange};
use crate::left_behind::LeftBehind;
use crate::session::DriverSession;
use crate::transaction::ExecutingTransaction;
use messages::access::AccessReply;
use messages::commit::{CommitReply, CommitRequest};
use messages::concurrency::{ConcurrencyReply, ConcurrencyRequest};
use messages::last_words::{LastWords, LeftSession};
use messages::log_record::LogRecord;
use messages::planted::Planted;
use messages::replication::ServiceReply;
use messages::session::{SessionReply, SessionRequest};
use messages::{Envelope, Message, Now, Outbox, Server, ServerKind, SessionId, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Executes action programs for sessions over the local copy.
#[derive(Debug, Serialize, Deserialize)]
pub struct ActionDriver {
    sessions: BTreeMap<SessionId, DriverSession>,
    shared: DriverShared,
    left_behind: LeftBehind,
}

impl ActionDriver {
    /// A driver without sessions. `seed` feeds `random()`, `gen_random_uuid()` and the jitter of retries; it should differ from
    /// life to life. `planted` is [`Planted::none`] outside the simulator.
    pub fn new(planted: Planted, seed: u64) -> ActionDriver {
        ActionDriver {
            sessions: BTreeMap::new(),
            shared: DriverShared::new(planted, seed),
            left_behind: LeftBehind::default(),
        }
    }

    /// So many rows are committed ahead at a time into a storage that its transaction made itself, instead of
    /// [`messages::limits::PRIVATE_CHUNK_ROWS`]. At least one.
    #[must_use]
    pub fn with_chunks_of(mut self, rows: usize) -> ActionDriver {
        assert!(rows > 0, "a chunk without rows would be committed for ever");
        self.shared.rules.chunk_rows = rows;
        self
    }

    /// What earlier lives of the site have left open. Before anything is asked.
    pub fn take_over(&mut self, words: LastWords) {
        self.left_behind.take_over(words);
    }

    /// What this life leaves of its sessions, and what it still has of earlier lives. How commits were sent the atomicity controller knows.
    pub fn left_behind(&self) -> (BTreeMap<SessionId, LeftSession>, LastWords) {
        let left = self.sessions.iter().map(|(session, state)| (*session, state.left()));
        (left.collect(), self.left_behind.words().clone())
    }

    /// How long commits took, and what transactions have lost conflicts on.
    pub fn work_counts(&self) -> WorkCounts {
        self.shared.counts.clone()
    }

    /// Programs that have committed in the transaction of another.
    pub fn companions(&self) -> CompanionCounters {
        self.shared.companions.counters
    }

    fn request(
        &mut self,
        now: Now,
        from: ServerKind,
        session: SessionId,
        request: SessionRequest,
        outbox: &mut Outbox,
    ) {
        if let SessionRequest::Resume { life, asked } = request {
            let reply = self.left_behind.resume(now, session, life, asked);
            return answer_left(reply.map(|reply| (session, reply)), outbox);
        }
        if let SessionRequest::ForsakeTemporary { owner } = request {
            let (schemas, mut around) = self.shared.temporary_schemas(now, outbox);
            return schemas.forsake(owner, &mut around);
        }
        if !self.left_behind.is_empty() {
            match request {
                SessionRequest::Cancel => {
                    let reply = self.left_behind.cancel(session);
                    answer_left(reply.map(|reply| (session, reply)), outbox);
                }
                _ => self.left_behind.forget(session),
            }
        }
        if matches!(request, SessionRequest::Close) {
            if let Some(mut closed) = self.sessions.remove(&session) {
                closed.close(&mut SessionExchange { now, outbox, shared: &mut self.shared, session });
            }
            return;
        }
        self.sessions.entry(session).or_default();
        self.with(session, now, outbox, |state, exchange| state.request(from, request, exchange));
    }

    /// Lets a session handle an event, and then what it has put off.
    fn with(
        &mut self,
        session: SessionId,
        now: Now,
        outbox: &mut Outbox,
        handle: impl FnOnce(&mut DriverSession, &mut SessionExchange),
    ) {
        if let Some(state) = self.sessions.get_mut(&session) {
            let shared = &mut self.shared;
            let mut exchange = SessionExchange { now, outbox, shared, session };
            handle(state, &mut exchange);
            state.begin_queued(&mut exchange);
        }
    }

    /// What sessions have left to others in this step.
    fn run_errands(&mut self, now: Now, outbox: &mut Outbox) {
        while let Some(errand) = self.shared.companions.errands.pop_front() {
            match errand {
                Errand::Join(session, transaction) => {
                    match self.sessions.get(&session).is_some_and(DriverSession::is_listed) {
                        true => {
                            self.with(session, now, outbox, |session, exchange| session.join(*transaction, exchange))
                        }
                        false => self.take_back(*transaction, now, outbox),
                    }
                }
                Errand::TakeBack(transaction) => self.take_back(*transaction, now, outbox),
                Errand::Over(session, transaction, outcome) => {
                    self.with(session, now, outbox, |session, exchange| {
                        if session.is_companion_in(transaction) {
                            session.companion_over(outcome, exchange);
                        }
                    });
                }
            }
        }
    }

    /// A guest has left this transaction: the last companion that is still there goes on with it.
    fn take_back(&mut self, mut transaction: ExecutingTransaction, now: Now, outbox: &mut Outbox) {
        let (id, _) = transaction.identity.expect("it has begun");
        while let Some(companion) = transaction.companions.pop() {
            let waits = self.sessions.get(&companion.session).is_some_and(|session| session.is_companion_in(id));
            if waits {
                let go_on = |session: &mut DriverSession, exchange: &mut SessionExchange| {
                    session.take_back(transaction, exchange)
                };
                return self.with(companion.session, now, outbox, go_on);
            }
        }
        // Nobody is left to be told of it.
        let finish = Message::Concurrency(ConcurrencyRequest::Finish { transaction: id, committed: false });
        outbox.local(ServerKind::ConcurrencyController, finish);
    }

    /// Hands the answer to a tag to the session that wants it.
    fn answer(
        &mut self,
        tag: u64,
        now: Now,
        outbox: &mut Outbox,
        handle: impl FnOnce(&mut DriverSession, &mut SessionExchange),
    ) {
        if let Some(Owner::Session(session)) = self.shared.answers.take(tag) {
            self.with(session, now, outbox, handle);
        }
    }

    /// Hands what is said about a transaction to the session that runs it.
    fn about(
        &mut self,
        transaction: TransactionId,
        now: Now,
        outbox: &mut Outbox,
        handle: impl FnOnce(&mut DriverSession, &mut SessionExchange),
    ) {
        if let Some(Owner::Session(session)) = self.shared.answers.follower(transaction) {
            self.with(session, now, outbox, handle);
        }
    }

    fn concurrency_reply(&mut self, now: Now, reply: ConcurrencyReply, outbox: &mut Outbox) {
        match reply {
            ConcurrencyReply::LockReply { transaction, conflict } => {
                self.about(transaction, now, outbox, |session, exchange| session.granted(conflict, exchange));
            }
            ConcurrencyReply::LockPrefetchReply { transaction, granted } => {
                self.about(transaction, now, outbox, |session, exchange| session.granted_ahead(granted, exchange));
            }
            ConcurrencyReply::LockBusy { transaction } => {
                self.about(transaction, now, outbox, |session, exchange| session.access_is_busy(exchange));
            }
            ConcurrencyReply::LockTaken { transaction } => {
                self.about(transaction, now, outbox, |session, exchange| session.access_is_taken(exchange));
            }
            ConcurrencyReply::Doomed { transaction, conflict } => {
                if self.shared.answers.follower(transaction).is_none() {
                    // Its session has gone, and it may not have been sent yet.
                    let withdraw = CommitRequest::Withdraw { transaction, conflict };
                    return outbox.local(ServerKind::AtomicityController, Message::CommitRequest(withdraw));
                }
                self.about(transaction, now, outbox, |session, exchange| {
                    session.doomed(transaction, conflict, exchange);
                });
            }
            ConcurrencyReply::SnapshotReply { tag } if self.is_of_leftovers(tag) => {
                let (leftovers, mut around) = self.shared.leftovers(now, outbox);
                leftovers.settled(tag, &mut around);
            }
            ConcurrencyReply::SnapshotReply { tag } if self.is_of_temporary(tag) => {
                let (schemas, mut around) = self.shared.temporary_schemas(now, outbox);
                schemas.settled(tag, &mut around);
            }
            ConcurrencyReply::SnapshotReply { tag } => {
                self.answer(tag, now, outbox, |session, exchange| session.granted(None, exchange));
            }
            ConcurrencyReply::MethodReply { tag, report } => {
                self.answer(tag, now, outbox, |session, exchange| session.told_method(report, exchange));
            }
            ConcurrencyReply::CommitLockReply { .. } => {}
        }
    }

    /// Whether the answer to a tag is for who looks for storages left behind. It comes once.
    fn is_of_leftovers(&mut self, tag: u64) -> bool {
        self.shared.answers.take_for(tag, Owner::Leftovers)
    }

    /// Whether the answer to a tag is for who drops temporary schemas. It comes once.
    fn is_of_temporary(&mut self, tag: u64) -> bool {
        self.shared.answers.take_for(tag, Owner::TemporarySchemas)
    }

    /// What a transaction that is no session's has come to. Whether it was one.
    fn decided(&mut self, transaction: TransactionId, committed: bool, now: Now, outbox: &mut Outbox) -> bool {
        match self.shared.answers.follower(transaction) {
            Some(Owner::Cleaner) => {
                let (cleaner, mut around) = self.shared.cleaner(now, outbox);
                cleaner.decided(transaction, committed, &mut around);
            }
            Some(Owner::Leftovers) => {
                let (leftovers, mut around) = self.shared.leftovers(now, outbox);
                leftovers.decided(transaction, committed, &mut around);
            }
            Some(Owner::TemporarySchemas) => {
                let (schemas, mut around) = self.shared.temporary_schemas(now, outbox);
                schemas.decided(transaction, committed, &mut around);
            }
            Some(Owner::Session(_)) | None => return false,
        }
        true
    }

    fn commit_reply(&mut self, now: Now, reply: CommitReply, outbox: &mut Outbox) {
        self.shared.companions.decided(&reply);
        match reply {
            CommitReply::Begun { tag, transaction, age } => {
                if self.shared.answers.take_for(tag, Owner::Cleaner) {
                    let (cleaner, mut around) = self.shared.cleaner(now, outbox);
                    return cleaner.begun(tag, transaction, age, &mut around);
                }
                if self.is_of_leftovers(tag) {
                    let (leftovers, mut around) = self.shared.leftovers(now, outbox);
                    return leftovers.begun(tag, transaction, age, &mut around);
                }
                if self.is_of_temporary(tag) {
                    let (schemas, mut around) = self.shared.temporary_schemas(now, outbox);
                    return schemas.begun(tag, transaction, age, &mut around);
                }
                self.answer(tag, now, outbox, |session, exchange| session.begun(transaction, age, exchange));
            }
            CommitReply::Clock { clock } => self.shared.snapshots.hear(clock),
            CommitReply::SnapshotBegun { tag, snapshot } => {
                self.shared.snapshots.hear(snapshot);
                if self.is_of_leftovers(tag) {
                    let (leftovers, mut around) = self.shared.leftovers(now, outbox);
                    return leftovers.pinned(tag, snapshot, &mut around);
                }
                if self.is_of_temporary(tag) {
                    let (schemas, mut around) = self.shared.temporary_schemas(now, outbox);
                    return schemas.pinned(tag, snapshot, &mut around);
                }
                self.answer(tag, now, outbox, |session, exchange| session.snapshot_begun(snapshot, exchange));
            }
            CommitReply::Committed { transaction, timestamp, receipt } => {
                if self.decided(transaction, true, now, outbox) {
                    return;
                }
                self.about(transaction, now, outbox, |session, exchange| {
                    session.committed(transaction, timestamp, receipt, exchange);
                });
            }
            CommitReply::Aborted { transaction, conflict } => {
                if self.decided(transaction, false, now, outbox) {
                    return;
                }
                self.about(transaction, now, outbox, |session, exchange| {
                    session.aborted(transaction, conflict, exchange);
                });
            }
        }
    }
}

impl Server for ActionDriver {
    fn handle(&mut self, now: Now, envelope: Envelope, outbox: &mut Outbox) {
        if envelope.from_site != envelope.to_site {
            return;
        }
        match envelope.message {
            Message::SessionRequest(session, request) => self.request(now, envelope.from, session, request, outbox),
            Message::AccessReply(AccessReply::SnapshotsGivenUp { through }) => self.shared.snapshots.give_up(through),
            Message::AccessReply(reply) => {
                let Some(tag) = tag_of(&reply) else { return };
                if self.is_of_leftovers(tag) {
                    let (leftovers, mut around) = self.shared.leftovers(now, outbox);
                    leftovers.read(tag, reply, &mut around);
                } else if self.is_of_temporary(tag) {
                    let (schemas, mut around) = self.shared.temporary_schemas(now, outbox);
                    schemas.read(tag, reply, &mut around);
                } else {
                    self.answer(tag, now, outbox, |session, exchange| session.fetched(reply, exchange));
                }
            }
            Message::ConcurrencyReply(reply) => self.concurrency_reply(now, reply, outbox),
            Message::CommitReply(reply) => self.commit_reply(now, reply, outbox),
            Message::ServiceReply(ServiceReply::ServiceReply { tag, verdict }) => {
                self.answer(tag, now, outbox, |session, exchange| session.serviced(verdict, exchange));
            }
            Message::ServiceReply(ServiceReply::Lacking { tag, lacking }) => {
                self.answer(tag, now, outbox, |session, exchange| session.lacks(lacking, exchange));
            }
            Message::ServiceReply(ServiceReply::RefreshReply { tag, failure }) => {
                self.answer(tag, now, outbox, |session, exchange| session.refreshed(failure, exchange));
            }
            Message::ServiceReply(ServiceReply::Outcomes { tables }) => {
                answer_left(self.left_behind.outcomes(&tables, self.shared.planted), outbox);
            }
            Message::ServiceReply(ServiceReply::DropLeftovers { epoch }) => {
                let (schemas, _) = self.shared.temporary_schemas(now, outbox);
                schemas.begin(Arc::clone(&epoch));
                let (leftovers, mut around) = self.shared.leftovers(now, outbox);
                leftovers.begin(epoch, &mut around);
            }
            _ => {}
        }
        self.run_errands(now, outbox);
    }

    fn tick(&mut self, now: Now, outbox: &mut Outbox) {
        while let Some(session) = self.shared.due(now) {
            self.with(session, now, outbox, DriverSession::woken);
        }
        self.run_errands(now, outbox);
        answer_left(self.left_behind.tick(now), outbox);
        let (cleaner, mut around) = self.shared.cleaner(now, outbox);
        cleaner.tick(&mut around);
        let (leftovers, mut around) = self.shared.leftovers(now, outbox);
        leftovers.tick(&mut around);
        let (schemas, mut around) = self.shared.temporary_schemas(now, outbox);
        schemas.tick(&mut around);
        self.shared.snapshots.tick(now, outbox);
    }

    /// Nothing of the action driver's is in the log.
    fn replay(&mut self, _record: &LogRecord, _outbox: &mut Outbox) {}
}

/// What became of requests to earlier lives.
fn answer_left(replies: impl IntoIterator<Item = (SessionId, SessionReply)>, outbox: &mut Outbox) {
    for (session, reply) in replies {
        outbox.local(ServerKind::UserInterface, Message::SessionReply(session, reply));
    }
}

/// The tag of an answer to a read.
fn tag_of(reply: &AccessReply) -> Option<u64> {
    match reply {
        AccessReply::ReadReply { tag, .. }
        | AccessReply::ScanReply { tag, .. }
        | AccessReply::Compared { tag, .. }
        | AccessReply::Stale { tag, .. }
        | AccessReply::Copies { tag, .. }
        | AccessReply::SnapshotGone { tag, .. } => Some(*tag),
        _ => None,
    }
}
