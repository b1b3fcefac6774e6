//! Snapshots in use, and what the access manager may forget because of them.
//!
//! Invariant: every snapshot that is read after a report is one of those that it names, or lies at or above its `from`. The site's clock
//! only goes up, and a snapshot is the clock at the moment it is given out; so any clock heard of earlier, in the same epoch or one
//! before, lies at or below it.

use crate::limits::SNAPSHOTS_PERIOD;
use messages::access::AccessRequest;
use messages::{Message, Now, Outbox, ServerKind, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Snapshots in use.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SnapshotsInUse {
    in_use: BTreeMap<Timestamp, usize>,
    heard: Timestamp,
    /// This one and those below it are not read any more, though their readers do not know it yet.
    given_up: Timestamp,
    reported: (Vec<Timestamp>, Timestamp),
    reported_at: u64,
}

impl SnapshotsInUse {
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

    /// The access manager has given up this snapshot and those below it.
    pub fn give_up(&mut self, through: Timestamp) {
        self.given_up = self.given_up.max(through);
    }

    /// Reports now and then.
    pub fn tick(&mut self, now: Now, outbox: &mut Outbox) {
        if now.boot < self.reported_at.saturating_add(SNAPSHOTS_PERIOD) {
            return;
        }
        let from = self.heard;
        let known = |snapshot: &&Timestamp| self.given_up < **snapshot && **snapshot < from;
        let in_use = || self.in_use.keys().filter(known).copied();
        if from != self.reported.1 || !in_use().eq(self.reported.0.iter().copied()) {
            let in_use: Vec<Timestamp> = in_use().collect();
            self.reported = (in_use.clone(), from);
            self.reported_at = now.boot;
            let request = AccessRequest::SnapshotsInUse { in_use, from };
            outbox.local(ServerKind::AccessManager, Message::Access(request));
        }
    }
}
