//! Forgetting: what is in the store too leaves memory when memory is short, and deletions leave it when nobody can miss them any more.
//!
//! What has old versions is left to `old_versions`: what that does must not depend on what is forgotten here, so that a site whose servers
//! are moved does the same as one whose are not.
//!
//! Invariant: nothing is forgotten that the store does not have, or that a snapshot which may be read would then see otherwise.

use crate::chain::{Batch, Chain};
use crate::limits::{BURY_PER_TICK, FREE_PER_TICK, TOMBSTONE_RETENTION};
use crate::local::Local;
use messages::planted;
use messages::{Key, TableId, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

/// The eviction sweep: a clock whose hand goes round all items in key order and gives each a second chance.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Sweeper {
    bytes_max: usize,
    /// The item looked at last.
    hand: (TableId, Option<Key>),
}

impl Sweeper {
    pub(crate) fn new(bytes_max: usize) -> Sweeper {
        Sweeper { bytes_max, hand: (TableId(0), None) }
    }

    /// Looks at up to `items` items while memory is short.
    pub(crate) fn sweep(&mut self, local: &mut Local, items: usize) {
        let mut left = items;
        let mut wrapped = false;
        while left > 0 && local.tally.all > self.bytes_max {
            let Some(table) = local.storages.range(self.hand.0..).next().map(|(table, _)| *table) else {
                if wrapped {
                    return;
                }
                wrapped = true;
                self.hand = (TableId(0), None);
                continue;
            };
            if table != self.hand.0 {
                self.hand = (table, None);
            }
            let looked = self.step(local, table, left);
            left = left.saturating_sub(looked.max(1));
            if looked == 0 {
                self.hand = (TableId(table.0.saturating_add(1)), None);
            }
        }
    }

    /// Looks at items of one storage behind the hand. Returns how many there were.
    fn step(&mut self, local: &mut Local, table: TableId, items: usize) -> usize {
        let Some(storage) = local.storages.get_mut(&table) else {
            return 0;
        };
        let stored = if planted!(local.planted, EvictedUnwritten) { Batch::MAX } else { local.stored };
        let from = self.hand.1.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut looked = 0;
        let mut evicted: Vec<Key> = Vec::new();
        let mut last = None;
        for (key, chain) in storage.chains.range_mut::<Key, _>((from, Bound::Unbounded)).take(items) {
            looked += 1;
            last = Some(key);
            if std::mem::take(&mut chain.referenced) {
                continue;
            }
            if !chain.queued && chain.is_evictable(&local.snapshots, stored) {
                evicted.push(key.clone());
            }
        }
        if let Some(last) = last.cloned() {
            self.hand.1 = Some(last);
        }
        if let (Some(first), Some(last)) = (evicted.first(), evicted.last()) {
            // One hole for all of them: the survivors in between are still found one by one.
            storage.resident.remove(first, Some(&last.successor()));
        }
        for key in &evicted {
            let chain = storage.chains.remove(key).expect("found in this step");
            local.tally.all -= key.as_bytes().len();
            local.tally.subtract(&chain);
        }
        looked
    }
}

/// Deletions that are in the store and wait to be forgotten.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Graveyard {
    /// When they were posted (boot clock), in that order, and their versions.
    deletions: VecDeque<(u64, TableId, Key, Timestamp)>,
}

impl Graveyard {
    /// A deletion has reached the store.
    pub(crate) fn bring(&mut self, boot: u64, table: TableId, key: Key, timestamp: Timestamp) {
        self.deletions.push_back((boot, table, key, timestamp));
    }

    /// Forgets those whose time has come.
    pub(crate) fn bury(&mut self, boot: u64, local: &mut Local) {
        let posting = local.posting;
        for _ in 0..BURY_PER_TICK {
            let due = self.deletions.pop_front_if(|(posted, ..)| *posted + TOMBSTONE_RETENTION <= boot);
            let Some((_, table, key, timestamp)) = due else { return };
            let Some(storage) = local.storages.get_mut(&table) else {
                continue;
            };
            let Some(chain) = storage.chains.get_mut(&key) else {
                continue;
            };
            // It has been written again. If it was deleted again, that has its own time.
            if chain.dirty || chain.newest().timestamp != timestamp {
                continue;
            }
            local.tally.subtract(chain);
            chain.trim(&local.snapshots, posting);
            if !chain.queued && chain.is_buried(&local.snapshots, local.stored) {
                local.tally.all -= key.as_bytes().len();
                storage.chains.remove(&key);
            } else {
                local.tally.add(chain);
                self.deletions.push_back((boot, table, key, timestamp));
            }
        }
    }
}

/// Items of removed storages, freed bit by bit.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Garbage {
    storages: Vec<BTreeMap<Key, Chain>>,
}

impl Garbage {
    /// Takes over the items of a removed storage.
    pub(crate) fn take(&mut self, chains: BTreeMap<Key, Chain>) {
        if !chains.is_empty() {
            self.storages.push(chains);
        }
    }

    /// Frees some.
    pub(crate) fn free(&mut self, local: &mut Local) {
        for _ in 0..FREE_PER_TICK {
            let Some(chains) = self.storages.last_mut() else { return };
            match chains.pop_first() {
                Some((key, chain)) => {
                    local.tally.all -= key.as_bytes().len();
                    local.tally.subtract(&chain);
                }
                None => {
                    self.storages.pop();
                }
            }
        }
    }
}
