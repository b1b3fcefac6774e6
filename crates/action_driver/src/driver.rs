//! The action driver as a server: brings each message to the session that waits for it.
//!
//! Invariant: a message for which nobody waits changes nothing. The driver writes no log: what it knows dies with its process,
//! and a transaction not yet prepared dies with it.

use crate::exchange::{Exchange, Owner, Shared};
use crate::session::Session;
use messages::access::AccessReply;
use messages::commit::CommitReply;
use messages::concurrency::ConcurrencyReply;
use messages::log_record::LogRecord;
use messages::planted::Planted;
use messages::replication::ServiceReply;
use messages::session::SessionRequest;
use messages::{Envelope, Message, Now, Outbox, Server, ServerKind, SessionId, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Executes action programs for sessions over the local copy.
#[derive(Debug, Serialize, Deserialize)]
pub struct ActionDriver {
    sessions: BTreeMap<SessionId, Session>,
    shared: Shared,
}

impl ActionDriver {
    /// A driver without sessions. `seed` feeds `random()`, `gen_random_uuid()` and the jitter of retries; it should differ from
    /// life to life. `planted` is [`Planted::none`] outside the simulator.
    pub fn new(planted: Planted, seed: u64) -> ActionDriver {
        ActionDriver { sessions: BTreeMap::new(), shared: Shared::new(planted, seed) }
    }

    fn request(
        &mut self,
        now: Now,
        from: ServerKind,
        session: SessionId,
        request: SessionRequest,
        outbox: &mut Outbox,
    ) {
        if matches!(request, SessionRequest::Close) {
            if let Some(mut closed) = self.sessions.remove(&session) {
                closed.close(&mut Exchange { now, outbox, shared: &mut self.shared, session });
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
        handle: impl FnOnce(&mut Session, &mut Exchange),
    ) {
        if let Some(state) = self.sessions.get_mut(&session) {
            let shared = &mut self.shared;
            let mut exchange = Exchange { now, outbox, shared, session };
            handle(state, &mut exchange);
            state.begin_queued(&mut exchange);
        }
    }

    /// Hands the answer to a tag to the session that wants it.
    fn answer(&mut self, tag: u64, now: Now, outbox: &mut Outbox, handle: impl FnOnce(&mut Session, &mut Exchange)) {
        if let Some(Owner::Session(session)) = self.shared.tags.remove(&tag) {
            self.with(session, now, outbox, handle);
        }
    }

    /// Hands what is said about a transaction to the session that runs it.
    fn about(
        &mut self,
        transaction: TransactionId,
        now: Now,
        outbox: &mut Outbox,
        handle: impl FnOnce(&mut Session, &mut Exchange),
    ) {
        if let Some(Owner::Session(session)) = self.shared.transactions.get(&transaction).copied() {
            self.with(session, now, outbox, handle);
        }
    }

    fn concurrency_reply(&mut self, now: Now, reply: ConcurrencyReply, outbox: &mut Outbox) {
        match reply {
            ConcurrencyReply::AccessReply { transaction, conflict } => {
                self.about(transaction, now, outbox, |session, exchange| session.granted(conflict, exchange));
            }
            ConcurrencyReply::Doomed { transaction, conflict } => {
                self.about(transaction, now, outbox, |session, exchange| {
                    session.doomed(transaction, conflict, exchange);
                });
            }
            ConcurrencyReply::SnapshotReply { tag } => {
                self.answer(tag, now, outbox, |session, exchange| session.granted(None, exchange));
            }
            ConcurrencyReply::CommitLockReply { .. } => {}
        }
    }

    fn commit_reply(&mut self, now: Now, reply: CommitReply, outbox: &mut Outbox) {
        match reply {
            CommitReply::Begun { tag, transaction, age } => {
                if self.shared.tags.get(&tag) == Some(&Owner::Cleaner) {
                    self.shared.tags.remove(&tag);
                    return self.shared.cleaner_begun(tag, transaction, age, outbox);
                }
                self.answer(tag, now, outbox, |session, exchange| session.begun(transaction, age, exchange));
            }
            CommitReply::Clock { clock } => self.shared.snapshots.hear(clock),
            CommitReply::SnapshotBegun { tag, snapshot } => {
                self.shared.snapshots.hear(snapshot);
                self.answer(tag, now, outbox, |session, exchange| session.snapshot_begun(snapshot, exchange));
            }
            CommitReply::Committed { transaction, receipt, .. } => {
                if self.shared.transactions.get(&transaction) == Some(&Owner::Cleaner) {
                    return self.shared.cleaner_decided(transaction, true, now);
                }
                self.about(transaction, now, outbox, |session, exchange| {
                    session.committed(transaction, receipt, exchange);
                });
            }
            CommitReply::Aborted { transaction, conflict } => {
                if self.shared.transactions.get(&transaction) == Some(&Owner::Cleaner) {
                    return self.shared.cleaner_decided(transaction, false, now);
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
                if let Some(tag) = tag_of(&reply) {
                    self.answer(tag, now, outbox, |session, exchange| session.fetched(reply, exchange));
                }
            }
            Message::ConcurrencyReply(reply) => self.concurrency_reply(now, reply, outbox),
            Message::CommitReply(reply) => self.commit_reply(now, reply, outbox),
            Message::ServiceReply(ServiceReply::ServiceReply { tag, verdict }) => {
                self.answer(tag, now, outbox, |session, exchange| session.serviced(verdict, exchange));
            }
            Message::ServiceReply(ServiceReply::RefreshReply { tag, failure }) => {
                self.answer(tag, now, outbox, |session, exchange| session.refreshed(failure, exchange));
            }
            _ => {}
        }
    }

    fn tick(&mut self, now: Now, outbox: &mut Outbox) {
        while let Some(session) = self.shared.due(now) {
            self.with(session, now, outbox, Session::woken);
        }
        self.shared.cleaner_tick(now, outbox);
        self.shared.snapshots.tick(now, outbox);
    }

    /// Nothing of the action driver's is in the log.
    fn replay(&mut self, _record: &LogRecord, _outbox: &mut Outbox) {}
}

/// The tag of an answer to a read.
fn tag_of(reply: &AccessReply) -> Option<u64> {
    match reply {
        AccessReply::ReadReply { tag, .. }
        | AccessReply::ScanReply { tag, .. }
        | AccessReply::Stale { tag, .. }
        | AccessReply::SnapshotGone { tag, .. } => Some(*tag),
        _ => None,
    }
}
