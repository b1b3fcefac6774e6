//! The methods that there are, as data: the one in force is moved with everything that it knows.

use crate::both::Both;
use crate::locking::Locking;
use crate::optimistic::Optimistic;
use crate::sequencer::Sequencer;
use crate::serial::Serial;
use crate::simple_locking::SimpleLocking;
use crate::timestamp::TimestampOrdering;
use messages::concurrency::Method;
use messages::planted::Planted;
use serde::{Deserialize, Serialize};

/// Every method: what the conformance suite runs on, each alone and each switched to and from every other.
pub const METHODS: [Method; 5] = Method::ALL;

/// The method in force, or two of them during a switch.
#[derive(Debug, Serialize, Deserialize)]
pub enum Ruling {
    /// See [`crate::serial`].
    Serial(Serial),
    /// See [`crate::simple_locking`].
    SimpleLocking(SimpleLocking),
    /// See [`crate::locking`].
    Locking(Locking),
    /// See [`crate::timestamp`].
    Timestamp(Box<TimestampOrdering>),
    /// See [`crate::optimistic`].
    Optimistic(Optimistic),
    /// See [`crate::both`].
    Both(Both),
}

impl Ruling {
    /// A method that has seen nothing yet.
    pub fn new(method: Method, planted: Planted) -> Ruling {
        match method {
            Method::Serial => Ruling::Serial(Serial::new(planted)),
            Method::SimpleLocking => Ruling::SimpleLocking(SimpleLocking),
            Method::Locking => Ruling::Locking(Locking),
            Method::Timestamp => Ruling::Timestamp(Box::new(TimestampOrdering::new(planted))),
            Method::Optimistic => Ruling::Optimistic(Optimistic),
        }
    }

    /// What it does.
    pub fn sequencer(&self) -> &dyn Sequencer {
        match self {
            Ruling::Serial(serial) => serial,
            Ruling::SimpleLocking(simple) => simple,
            Ruling::Locking(locking) => locking,
            Ruling::Timestamp(timestamp) => &**timestamp,
            Ruling::Optimistic(optimistic) => optimistic,
            Ruling::Both(both) => both,
        }
    }

    /// The same, to change its state.
    pub fn sequencer_mut(&mut self) -> &mut dyn Sequencer {
        match self {
            Ruling::Serial(serial) => serial,
            Ruling::SimpleLocking(simple) => simple,
            Ruling::Locking(locking) => locking,
            Ruling::Timestamp(timestamp) => &mut **timestamp,
            Ruling::Optimistic(optimistic) => optimistic,
            Ruling::Both(both) => both,
        }
    }
}
