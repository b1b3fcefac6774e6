//! Who has run in a transaction that goes on.

use messages::{Age, SessionId};
use serde::{Deserialize, Serialize};

/// A session whose program has run in a transaction that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Companion {
    /// Which session.
    pub session: SessionId,
    /// Its own age: the transaction is as old as the oldest.
    pub age: Age,
}
