//! Clients and their sessions.

use super::World;
use crate::client::ClientAction;
use crate::event::SimulatedEvent;
use crate::faults::Fault;
use crate::history::{ObservedTransaction, TransactionFate};
use crate::limits::MICROSECOND;
use crate::seat::Seat;
use messages::limits::{MILLISECOND, SECOND};
use messages::session::{Failure, SessionReply, SessionRequest};
use messages::{ConflictKind, SessionId};

/// How long a client waits for an answer before it goes elsewhere.
const PATIENCE: u64 = 20 * SECOND;

impl World {
    pub(super) fn way(&mut self) -> u64 {
        20 * MICROSECOND + self.random.around(60 * MICROSECOND)
    }

    /// A client does the next thing: begins a transaction, or goes on after thinking.
    pub(super) fn client(&mut self, client: usize, request: u64) {
        if self.clients[client].request != request || self.clients[client].waiting_since.is_some() {
            return;
        }
        if !self.clients[client].is_busy() {
            if !self.busy {
                return;
            }
            if !self.find_session(client) {
                let after = self.random.around(100 * MILLISECOND);
                self.agenda.plan(self.now + after, SimulatedEvent::Client { client, request });
                return;
            }
            let site = self.clients[client].site;
            let plan = self.workload.plan_at(site, &mut self.random);
            self.clients[client].begin(self.now, plan);
        }
        self.go_on(client);
    }

    /// Finds a session at a site that runs; mostly at the one it was at.
    fn find_session(&mut self, client: usize) -> bool {
        if self.clients[client].session.is_some() {
            return true;
        }
        let runs = |world: &World, site: usize| world.look(site).domain().is_some();
        let mut site = self.clients[client].site;
        if !runs(self, site) || self.random.one_in(8) {
            site = 1 + self.random.index(self.sites());
        }
        if !runs(self, site) {
            return false;
        }
        self.open_session(client, site);
        true
    }

    pub(super) fn open_session(&mut self, client: usize, site: usize) {
        let session = SessionId(self.next_session);
        self.next_session += 1;
        self.clients[client].site = site;
        self.clients[client].session = Some(session);
        let life = self.look(site).incarnation;
        self.machine(site).sessions.insert(session, Seat::new(client, life));
    }

    pub(super) fn go_on(&mut self, client: usize) {
        let World { clients, programs, workload, random, now, machines, .. } = self;
        let told = &machines[clients[client].site].as_ref().expect("sites are numbered from 1").catalog;
        let next = clients[client].go_on(*now, programs, told, workload, random);
        self.note_made(client);
        self.next(client, next);
    }

    fn next(&mut self, client: usize, next: ClientAction) {
        match next {
            ClientAction::Send(request) => self.ask(client, request),
            ClientAction::Think(time) => {
                let request = self.clients[client].request;
                self.agenda.plan(self.now + time, SimulatedEvent::Client { client, request });
            }
            ClientAction::Over(transaction) => self.over(client, transaction),
            ClientAction::Wrong(what) => self.fail(what),
        }
    }

    /// Sends a client's request to its site.
    fn ask(&mut self, client: usize, request: SessionRequest) {
        let (site, number) = (self.clients[client].site, self.clients[client].request);
        let session = self.clients[client].session.expect("a client that asks has a session");
        self.say(|| format!("client {client} asks site {site}: {request:?}"));
        let at = self.now + self.way();
        self.agenda.plan(at, SimulatedEvent::Request { site, session, request });
        if self.stormy {
            let impatience = Fault::Impatience { client, request: number, goes: true };
            self.agenda.plan(self.now + PATIENCE, SimulatedEvent::Fault(impatience));
            self.lose_patience_early(client, number);
        }
    }

    /// What has been asked since a turn of a site's process began is asked of its servers together: of those of a new life, if they have begun one meanwhile.
    pub(super) fn turn(&mut self, site: usize) {
        if self.look(site).asked.is_empty() {
            return;
        }
        if self.look(site).domain().is_none() {
            return self.agenda.plan(self.now + self.profile.turn, SimulatedEvent::Turn { site });
        }
        let asked = std::mem::take(&mut self.machine(site).asked);
        self.act(site, |domain, clock| domain.deliver_all(clock, asked));
    }

    pub(super) fn reply(&mut self, client: usize, session: SessionId, reply: SessionReply) {
        if self.clients[client].session != Some(session) {
            return;
        }
        if let SessionReply::Failed(Failure::Conflict { conflict }) = &reply
            && conflict.kind == ConflictKind::SnapshotGivenUp
        {
            *self.statistics.other.entry("snapshots given up").or_insert(0) += 1;
        }
        self.say(|| format!("client {client} is answered {reply:?}"));
        let next = self.clients[client].answered(self.now, reply, &mut self.workload);
        match next {
            Some(next) => self.next(client, next),
            None => self.go_on(client),
        }
    }

    fn over(&mut self, client: usize, transaction: ObservedTransaction) {
        let site = transaction.site;
        self.note_dropped(client, transaction.fate);
        self.record(transaction);
        let pause = self.random.around(self.workload.pause_at(site));
        let request = self.clients[client].request;
        self.agenda.plan(self.now + pause, SimulatedEvent::Client { client, request });
    }

    fn record(&mut self, mut transaction: ObservedTransaction) {
        let snapshots = std::mem::take(&mut transaction.snapshots);
        let name = match (transaction.fate, transaction.read_only) {
            (TransactionFate::Committed, true) => "read only",
            (TransactionFate::Committed, false) => "committed",
            (TransactionFate::Aborted, _) => "aborted",
            (TransactionFate::Unknown | TransactionFate::Open, _) => "unknown",
        };
        self.say(|| format!("{name}: {transaction:?}"));
        self.count_schema_changes(&transaction);
        *self.statistics.transactions.entry(name).or_insert(0) += 1;
        self.history.transactions.push(transaction);
        self.history.transactions.extend(snapshots);
    }

    /// The process of a site is gone, and its sessions with it.
    pub(super) fn lose_sessions(&mut self, site: usize) {
        for (session, seat) in std::mem::take(&mut self.machine(site).sessions) {
            if self.clients[seat.client].session == Some(session) {
                self.leave(seat.client);
            }
        }
    }

    /// A client has no session any more.
    fn leave(&mut self, client: usize) {
        if let Some(transaction) = self.clients[client].lost(self.now) {
            self.record(transaction);
        }
        let pause = self.random.around(self.workload.mix.pause) + MILLISECOND;
        let request = self.clients[client].request;
        self.agenda.plan(self.now + pause, SimulatedEvent::Client { client, request });
    }

    /// A client loses its patience: cancels, or goes.
    pub(super) fn impatient(&mut self, client: usize, request: u64, goes: bool) {
        let state = &self.clients[client];
        let (site, Some(session)) = (state.site, state.session) else { return };
        if state.request != request || state.waiting_since.is_none() {
            return;
        }
        let at = self.now + self.way();
        if goes {
            self.agenda.plan(at, SimulatedEvent::Request { site, session, request: SessionRequest::Close });
            self.leave(client);
        } else {
            self.agenda.plan(at, SimulatedEvent::Request { site, session, request: SessionRequest::Cancel });
        }
    }
}
