//! What NOTIFY says: part of its transaction's history, so it travels with the prepare and is logged with it.
//!
//! The atomicity controller of every site hands on what has committed, in the order of the timestamps. Invariant: within one life of a site each
//! notification of a committed transaction is handed on once, and none of another.

use crate::database_id::DatabaseId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Bytes that a payload has to stay below (PostgreSQL's `NOTIFY_PAYLOAD_MAX_LENGTH`, `BLCKSZ - NAMEDATALEN - 128`).
pub const PAYLOAD_BYTES_END: usize = 8_000;
/// Bytes that a channel's name has to stay below (PostgreSQL's `NAMEDATALEN`).
pub const CHANNEL_BYTES_END: usize = 64;

/// One message to everybody who listens on a channel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Notification {
    /// The channel.
    pub channel: Arc<str>,
    /// What is said on it.
    pub payload: Arc<str>,
    /// The database whose sessions hear it.
    pub database: DatabaseId,
    /// The process id of the session that has said it, as its client knows it.
    pub process: i32,
}

impl Notification {
    /// Bytes that it takes: more than on its way, so that what is bounded by them fits into a message however short the texts are.
    pub fn bytes(&self) -> usize {
        self.channel.len() + self.payload.len() + size_of::<Notification>()
    }
}
