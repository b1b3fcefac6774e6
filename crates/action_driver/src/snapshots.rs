//! Snapshots in use, and what the access manager may forget because of them.
//!
//! Invariant: a reported timestamp lies at or below every snapshot in use or still to be given out. The site's clock only
//! goes up, and a snapshot is the clock at the moment it is given out; so any clock heard of earlier, in the same epoch or one
//! before, lies at or below it.

use crate::limits::OLDEST_SNAPSHOT_PERIOD;
use messages::access::AccessRequest;
use messages::{Message, Now, Outbox, ServerKind, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Snapshots in use.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Snapshots {
    in_use: BTreeMap<Timestamp, usize>,
    heard: Timestamp,
    reported: Timestamp,
    reported_at: u64,
}

impl Snapshots {
    /// A clock of this site was heard of.
    pub fn hear(&mut self, clock: Timestamp) {
        self.heard = self.heard.max(clock);
    }

    /// A reader begins to use a snapshot.
    pub fn enter(&mut self, snapshot: Timestamp) {
        self.hear(snapshot);
        *self.in_use.entry(snapshot).or_insert(0) += 1;
    }

    /// A reader no longer uses a snapshot that it has entered.
    pub fn leave(&mut self, snapshot: Timestamp) {
        let readers = self.in_use.get_mut(&snapshot).expect("the snapshot was entered");
        *readers -= 1;
        if *readers == 0 {
            self.in_use.remove(&snapshot);
        }
    }

    /// Reports now and then.
    pub fn tick(&mut self, now: Now, outbox: &mut Outbox) {
        if now.boot < self.reported_at.saturating_add(OLDEST_SNAPSHOT_PERIOD) {
            return;
        }
        let oldest = match self.in_use.keys().next() {
            Some(oldest) => self.heard.min(*oldest),
            None => self.heard,
        };
        if oldest > self.reported {
            self.reported = oldest;
            self.reported_at = now.boot;
            let request = AccessRequest::OldestSnapshot { snapshot: oldest };
            outbox.local(ServerKind::AccessManager, Message::Access(request));
        }
    }
}
