//! Sessions, as whoever serves clients keeps them: they outlive the lives of their site, as long as its process does.
//!
//! A request that a life has not answered is asked about in the next one, if it may have committed. What is told to be undone is asked again, where the
//! client has been told nothing of its transaction; else it has lost.
//!
//! Invariant: a client's request is done at most once, and a transaction that was told to have failed is nowhere; the checkers see to that.

use super::World;
use crate::event::SimulatedEvent;
use messages::session::{Failure, SessionReply, SessionRequest};
use messages::{Conflict, ConflictKind, Envelope, Incarnation, Message, ServerKind, SessionId};

fn lost() -> SessionReply {
    SessionReply::Failed(Failure::Conflict { conflict: Conflict::of(ConflictKind::EpochChanged) })
}

impl World {
    /// A client's request has come to whoever serves it.
    pub(super) fn request(&mut self, site: usize, session: SessionId, request: SessionRequest) {
        let serves = self.look(site).domain().is_some();
        let Some(seat) = self.machine(site).sessions.get_mut(&session) else { return };
        let life = seat.life;
        match request {
            SessionRequest::Close => drop(self.machine(site).sessions.remove(&session)),
            SessionRequest::Cancel | SessionRequest::ForgetSequences | SessionRequest::ForsakeTemporary { .. } => {}
            ref request if seat.lost => {
                let (ends, reply) = match request {
                    SessionRequest::Rollback => (true, SessionReply::RolledBack),
                    SessionRequest::Commit => (true, lost()),
                    _ => (false, lost()),
                };
                seat.lost = !ends;
                return self.answer(self.now, site, session, reply);
            }
            ref request if !serves => {
                let reason = "the site has no servers now".to_owned();
                seat.open &= !matches!(request, SessionRequest::Commit | SessionRequest::Rollback);
                let reply = match request {
                    SessionRequest::Rollback => SessionReply::RolledBack,
                    _ => SessionReply::Failed(Failure::Unavailable { reason }),
                };
                return self.answer(self.now, site, session, reply);
            }
            ref request => {
                seat.asked += 1;
                seat.waiting = Some(request.clone());
            }
        }
        self.ask_driver(site, session, life, request);
    }

    fn ask_driver(&mut self, site: usize, session: SessionId, life: Incarnation, request: SessionRequest) {
        let message = Message::SessionRequest(session, request);
        let inside = self.look(site).inside(ServerKind::UserInterface, ServerKind::ActionDriver, message);
        let envelope = Envelope { incarnation: life, ..inside };
        let (turn, at) = (self.profile.turn, self.now);
        if turn == 0 || self.look(site).domain().is_none() {
            return self.act(site, |domain, clock| domain.deliver(clock, envelope));
        }
        let machine = self.machine(site);
        machine.asked.push(envelope);
        if machine.asked.len() == 1 {
            self.agenda.plan(at + turn, SimulatedEvent::Turn { site });
        }
    }

    /// The servers of a site have answered a session.
    pub(super) fn answered_inside(&mut self, at: u64, site: usize, session: SessionId, reply: SessionReply) {
        let Some(seat) = self.machine(site).sessions.get_mut(&session) else { return };
        if seat.parked.is_some() {
            let what = match &reply {
                SessionReply::Undone => "outcomes told: undone",
                SessionReply::Failed(_) => "outcomes told: unknown",
                _ => "outcomes told: committed",
            };
            *self.statistics.other.entry(what).or_insert(0) += 1;
            self.say(|| format!("{session} of site {site} is told what has become of its request: {reply:?}"));
        }
        match reply {
            SessionReply::Undone => self.undone(at, site, session),
            reply => self.answer(at, site, session, reply),
        }
    }

    /// Nothing of what a session has asked is anywhere.
    fn undone(&mut self, at: u64, site: usize, session: SessionId) {
        let Some(seat) = self.machine(site).sessions.get_mut(&session) else { return };
        seat.parked = None;
        let client = seat.client;
        let (open, waiting) = (std::mem::take(&mut seat.open), seat.waiting.take());
        // A program that makes storages is compiled anew.
        let makes = self.clients[client].changed().has_made;
        match waiting {
            Some(SessionRequest::Rollback) => self.answer(at, site, session, SessionReply::RolledBack),
            // Of a block that has been told nothing yet nothing is lost.
            Some(request @ SessionRequest::Begin { .. }) => {
                self.agenda.plan(at, SimulatedEvent::Request { site, session, request });
            }
            Some(request @ SessionRequest::Execute { .. }) if !open && !makes => {
                *self.statistics.other.entry("requests run again in a new life").or_insert(0) += 1;
                self.agenda.plan(at, SimulatedEvent::Request { site, session, request });
            }
            Some(SessionRequest::Commit) => self.answer(at, site, session, lost()),
            Some(_) => {
                if let Some(seat) = self.machine(site).sessions.get_mut(&session) {
                    seat.lost = open;
                }
                self.answer(at, site, session, lost());
            }
            None => {}
        }
    }

    /// A site answers a session.
    fn answer(&mut self, at: u64, site: usize, session: SessionId, reply: SessionReply) {
        if let Some(seat) = self.machine(site).sessions.get_mut(&session) {
            seat.answered(&reply);
            let client = seat.client;
            let at = at + self.way();
            self.agenda.plan(at, SimulatedEvent::Reply { client, session, reply });
        }
    }

    /// These sessions hear, perhaps late, that a life is over, and which the next one is.
    pub(super) fn life_over(&mut self, site: usize, sessions: &[SessionId]) {
        if self.look(site).domain().is_none() {
            // Another life is on its way, and they will hear of that.
            return;
        }
        let life = self.look(site).incarnation;
        for session in sessions {
            let Some(seat) = self.machine(site).sessions.get_mut(session) else { continue };
            if seat.life == life {
                continue;
            }
            let asked = std::mem::take(&mut seat.asked);
            let before = std::mem::replace(&mut seat.life, life);
            if seat.waiting.is_none() {
                seat.lost |= std::mem::take(&mut seat.open);
            } else if seat.may_have_committed() {
                let (of, asked) = *seat.parked.get_or_insert((before, asked));
                *self.statistics.other.entry("sessions parked").or_insert(0) += 1;
                self.say(|| {
                    format!("{session} of site {site} asks what has become of its request {asked} to life {}", of.0)
                });
                self.ask_driver(site, *session, life, SessionRequest::Resume { life: of, asked });
            } else {
                self.undone(self.now, site, *session);
            }
        }
    }
}
