//! Exchanges: request and reply over a channel that loses, duplicates, delays and reorders.
//!
//! The message transaction of the V kernel, as a pure machine: no channel, no clock. A [`Client`] sends a request again
//! until its reply comes or it gives up; a [`Server`] executes a request at most once and keeps the reply until the
//! client says, in a later request, that it needs it no more.
//!
//! Invariants, for each client, life of that client, and server:
//! * a request is executed at most once, and its reply is taken at most once;
//! * `finished_below` <= every outstanding sequence number < `finished_below` + [`WINDOW`](crate::limits::WINDOW);
//! * a server keeps replies only for sequence numbers >= the largest `finished_below` it has seen.
//!
//! Sources: "The V distributed system" (Cheriton, 1988) for exchanges and reply-pending; RFC 6298 and Karn's rule for how
//! long to wait for a reply.

mod client;
mod server;
#[cfg(test)]
mod tests;

pub use client::{Client, RequestError, RequestId};
pub use server::{Call, Ignored, Received, Server};

use serde::{Deserialize, Serialize};

/// From a client to a server: execute this and reply. If it is lost or its reply is, the client sends it again; if it
/// comes twice, the server answers the second one from its memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request<Q> {
    /// Which life of the client: larger in every later one.
    pub life: u64,
    /// Counted from 1 by the client, for each server.
    pub sequence: u64,
    /// The client needs no reply to requests below this, and never sends them again.
    pub finished_below: u64,
    /// What is asked.
    pub payload: Q,
}

/// From a server to a client: about one request. If it is lost, the client asks again; a second one is ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer<R> {
    /// The life of the client that asked.
    pub life: u64,
    /// The request that is answered.
    pub sequence: u64,
    /// The answer.
    pub body: AnswerBody<R>,
}

/// What a server says about a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnswerBody<R> {
    /// It has been executed.
    Reply(R),
    /// It is being executed: keep waiting. Answers a request that came again.
    Pending,
}
