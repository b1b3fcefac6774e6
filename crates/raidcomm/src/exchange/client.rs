//! The asking side of exchanges: outstanding requests and when to send them again.
//!
//! Invariant: every request ends exactly once: by its reply, by being given up, or by being cancelled.

use super::{Answer, AnswerBody, Request};
use crate::address::Address;
use crate::limits::{PLACES_MAX, RETRANSMISSIONS_MAX, RETRANSMIT_FIRST, RETRANSMIT_MAX, RETRANSMIT_MIN, WINDOW};
use std::collections::BTreeMap;
use thiserror::Error;

/// A request of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId {
    /// The server that was asked.
    pub to: Address,
    /// The request's number among those to that server.
    pub sequence: u64,
}

/// Why a request cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RequestError {
    /// Retry when the oldest request has ended.
    #[error("too many requests wait for their replies")]
    WindowFull,
    /// A client that asks more than [`PLACES_MAX`] servers is broken.
    #[error("too many servers have been asked")]
    TooManyServers,
}

/// How long replies of one server take. RFC 6298, without its floor of a second.
#[derive(Clone, Copy, Debug, Default)]
struct RoundTrip {
    /// Smoothed time and smoothed deviation from it, once measured.
    measured: Option<(u64, u64)>,
}

impl RoundTrip {
    fn sample(&mut self, time: u64) {
        self.measured = Some(match self.measured {
            None => (time, time / 2),
            Some((smoothed, deviation)) => ((7 * smoothed + time) / 8, (3 * deviation + smoothed.abs_diff(time)) / 4),
        });
    }

    /// How long to wait for a reply to a request that was sent again so many times.
    fn wait(&self, retransmissions: u32) -> u64 {
        let once = match self.measured {
            None => RETRANSMIT_FIRST,
            Some((smoothed, deviation)) => smoothed.saturating_add(4 * deviation).max(RETRANSMIT_MIN),
        };
        once.saturating_mul(1 << retransmissions.min(16)).min(RETRANSMIT_MAX)
    }
}

#[derive(Debug)]
struct Outstanding<Q> {
    payload: Q,
    sent_first: u64,
    due: u64,
    /// Times that it was sent again.
    retransmissions: u32,
    /// Times that it was sent again since the last sign of life from the server.
    unanswered: u32,
}

/// Requests to one server.
#[derive(Debug)]
struct Lane<Q> {
    next: u64,
    outstanding: BTreeMap<u64, Outstanding<Q>>,
    round_trip: RoundTrip,
}

impl<Q> Lane<Q> {
    fn finished_below(&self) -> u64 {
        self.outstanding.first_key_value().map_or(self.next, |(&sequence, _)| sequence)
    }
}

/// A client of any number of servers.
///
/// Times are nanoseconds of a clock that never goes back.
#[derive(Debug)]
pub struct Client<Q> {
    life: u64,
    lanes: BTreeMap<Address, Lane<Q>>,
}

impl<Q: Clone> Client<Q> {
    /// A client in the given life, which must be larger than in its earlier ones.
    pub fn new(life: u64) -> Client<Q> {
        Client { life, lanes: BTreeMap::new() }
    }

    /// Begins an exchange. The returned request is to be sent to `to`.
    ///
    /// # Errors
    /// Too many requests to that server, or too many servers.
    pub fn request(&mut self, now: u64, to: Address, payload: Q) -> Result<(RequestId, Request<Q>), RequestError> {
        if self.lanes.len() >= PLACES_MAX && !self.lanes.contains_key(&to) {
            return Err(RequestError::TooManyServers);
        }
        let lane = self.lanes.entry(to).or_insert_with(|| Lane {
            next: 1,
            outstanding: BTreeMap::new(),
            round_trip: RoundTrip::default(),
        });
        let sequence = lane.next;
        let finished_below = lane.finished_below();
        if sequence - finished_below >= WINDOW {
            return Err(RequestError::WindowFull);
        }
        lane.next += 1;
        let due = now.saturating_add(lane.round_trip.wait(0));
        let outstanding =
            Outstanding { payload: payload.clone(), sent_first: now, due, retransmissions: 0, unanswered: 0 };
        lane.outstanding.insert(sequence, outstanding);
        Ok((RequestId { to, sequence }, Request { life: self.life, sequence, finished_below, payload }))
    }

    /// Takes an answer from a server. The reply, if it is one that is waited for: late, repeated and foreign answers
    /// are ignored.
    pub fn receive<R>(&mut self, now: u64, from: Address, answer: Answer<R>) -> Option<(RequestId, R)> {
        let lane = self.lanes.get_mut(&from).filter(|_| answer.life == self.life)?;
        match answer.body {
            AnswerBody::Pending => {
                let outstanding = lane.outstanding.get_mut(&answer.sequence)?;
                outstanding.unanswered = 0;
                outstanding.due = now.saturating_add(lane.round_trip.wait(outstanding.retransmissions));
                None
            }
            AnswerBody::Reply(reply) => {
                let outstanding = lane.outstanding.remove(&answer.sequence)?;
                // Karn's rule: of a request that was sent twice, nobody knows which one was answered.
                if outstanding.retransmissions == 0 {
                    lane.round_trip.sample(now.saturating_sub(outstanding.sent_first));
                }
                Some((RequestId { to: from, sequence: answer.sequence }, reply))
            }
        }
    }

    /// Appends what must be sent again to `again`, and what is given up to `given_up`: the server gave no sign of life;
    /// it may have executed the request all the same.
    pub fn tick(&mut self, now: u64, again: &mut Vec<(Address, Request<Q>)>, given_up: &mut Vec<RequestId>) {
        for (&to, lane) in &mut self.lanes {
            let exhausted =
                |outstanding: &Outstanding<Q>| outstanding.due <= now && outstanding.unanswered >= RETRANSMISSIONS_MAX;
            lane.outstanding.retain(|&sequence, outstanding| {
                let exhausted = exhausted(outstanding);
                if exhausted {
                    given_up.push(RequestId { to, sequence });
                }
                !exhausted
            });
            let finished_below = lane.finished_below();
            for (&sequence, outstanding) in &mut lane.outstanding {
                if outstanding.due <= now {
                    outstanding.retransmissions = outstanding.retransmissions.saturating_add(1);
                    outstanding.unanswered += 1;
                    outstanding.due = now.saturating_add(lane.round_trip.wait(outstanding.retransmissions));
                    let payload = outstanding.payload.clone();
                    again.push((to, Request { life: self.life, sequence, finished_below, payload }));
                }
            }
        }
    }

    /// Ends an exchange whose reply is not wanted any more, and says whether it was under way. The server may execute
    /// the request all the same.
    pub fn cancel(&mut self, request: RequestId) -> bool {
        self.lanes.get_mut(&request.to).is_some_and(|lane| lane.outstanding.remove(&request.sequence).is_some())
    }

    /// How many requests wait for their replies.
    pub fn outstanding(&self) -> usize {
        self.lanes.values().map(|lane| lane.outstanding.len()).sum()
    }

    /// When tick must be called next.
    pub fn next_deadline(&self) -> Option<u64> {
        self.lanes.values().flat_map(|lane| lane.outstanding.values()).map(|outstanding| outstanding.due).min()
    }
}
