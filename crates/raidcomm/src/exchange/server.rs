//! The answering side of exchanges: which requests have been seen, and the replies to them.
//!
//! Invariant: for each client, in its newest life seen, a sequence number is executed at most once, because it is noted
//! before it is executed, kept until the client has finished with it, and refused below `finished_below`.

use super::{Answer, AnswerBody, Request};
use crate::address::Address;
use crate::limits::{SESSION_IDLE, SESSIONS_MAX, WINDOW};
use std::collections::BTreeMap;

/// A request that is to be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// Who asked, and gets the reply.
    pub from: Address,
    /// In which life.
    pub life: u64,
    /// The request's number.
    pub sequence: u64,
    /// Counted by the server, so that a client that repeats its numbers cannot mix up two executions.
    execution: u64,
}

/// Why a request needs no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// It comes from an earlier life of its client.
    OldLife,
    /// Its client has its reply, or has given it up.
    Finished,
    /// Its numbers are not those of a client that keeps to the window.
    OutsideWindow,
    /// There are too many clients; this one will ask again.
    Crowded,
}

/// What to do about a request that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received<Q, R> {
    /// Execute it, and give the result to [`Server::reply`]; it is given to nobody twice.
    Execute(Call, Q),
    /// It came before: send this to its client.
    Answer(Answer<R>),
    /// Nothing.
    Ignore(Ignored),
}

#[derive(Debug)]
struct Progress<R> {
    execution: u64,
    /// None while it is being executed.
    reply: Option<R>,
}

#[derive(Debug)]
struct Session<R> {
    life: u64,
    finished_below: u64,
    requests: BTreeMap<u64, Progress<R>>,
    heard: u64,
}

/// A server of any number of clients.
///
/// Times are nanoseconds of a clock that never goes back.
#[derive(Debug)]
pub struct Server<R> {
    sessions: BTreeMap<Address, Session<R>>,
    executions: u64,
}

impl<R> Default for Server<R> {
    fn default() -> Server<R> {
        Server { sessions: BTreeMap::new(), executions: 0 }
    }
}

impl<R: Clone> Server<R> {
    /// Takes a request from a client.
    pub fn receive<Q>(&mut self, now: u64, from: Address, request: Request<Q>) -> Received<Q, R> {
        let Request { life, sequence, finished_below, payload } = request;
        if sequence < finished_below || sequence - finished_below >= WINDOW {
            return Received::Ignore(Ignored::OutsideWindow);
        }
        if !self.sessions.contains_key(&from) {
            if self.sessions.len() >= SESSIONS_MAX {
                self.expire(now);
            }
            if self.sessions.len() >= SESSIONS_MAX {
                return Received::Ignore(Ignored::Crowded);
            }
        }
        let fresh = || Session { life, finished_below, requests: BTreeMap::new(), heard: now };
        let session = self.sessions.entry(from).or_insert_with(fresh);
        if life < session.life {
            return Received::Ignore(Ignored::OldLife);
        }
        if life > session.life {
            *session = fresh();
        }
        session.heard = session.heard.max(now);
        if finished_below > session.finished_below {
            session.finished_below = finished_below;
            session.requests = session.requests.split_off(&finished_below);
        }
        if sequence < session.finished_below {
            return Received::Ignore(Ignored::Finished);
        }
        let answer = |body| Received::Answer(Answer { life, sequence, body });
        match session.requests.get(&sequence) {
            Some(Progress { reply: Some(reply), .. }) => answer(AnswerBody::Reply(reply.clone())),
            Some(Progress { reply: None, .. }) => answer(AnswerBody::Pending),
            None => {
                self.executions += 1;
                let execution = self.executions;
                session.requests.insert(sequence, Progress { execution, reply: None });
                assert!(session.requests.len() as u64 <= WINDOW, "the window bounds what is kept");
                Received::Execute(Call { from, life, sequence, execution }, payload)
            }
        }
    }

    /// Ends the execution of a request. The returned answer is to be sent to `call.from`; there is none if that client
    /// has given up, begun another life, or been forgotten.
    ///
    /// # Panics
    /// If this call has been replied to before.
    pub fn reply(&mut self, call: Call, reply: R) -> Option<Answer<R>> {
        let session = self.sessions.get_mut(&call.from).filter(|session| session.life == call.life)?;
        let progress =
            session.requests.get_mut(&call.sequence).filter(|progress| progress.execution == call.execution)?;
        assert!(progress.reply.is_none(), "a call is replied to once");
        progress.reply = Some(reply.clone());
        Some(Answer { life: call.life, sequence: call.sequence, body: AnswerBody::Reply(reply) })
    }

    /// Forgets clients that were silent for [`SESSION_IDLE`].
    pub fn expire(&mut self, now: u64) {
        self.sessions.retain(|_, session| now.saturating_sub(session.heard) < SESSION_IDLE);
    }

    /// Requests that are remembered, executing or replied to.
    pub fn remembered(&self) -> usize {
        self.sessions.values().map(|session| session.requests.len()).sum()
    }
}
