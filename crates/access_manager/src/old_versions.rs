//! Memory for old versions: what is kept for snapshots, and when there is too much of it.
//!
//! Invariant: every item that has old versions is in the queue, once. Passes over the queue trim what no snapshot needs any more. When a whole
//! pass has left more than old versions may take, and most of that is there for snapshots in use, the oldest of these is given up: a long
//! reader costs writers nothing but a bounded amount of memory for what they overwrite. (What is inserted above its snapshot has one version,
//! which is not old, and cannot be evicted before the reader has gone.)

use crate::chain::Chain;
use crate::limits::{OLD_VERSIONS_HASTE, OLD_VERSIONS_QUEUED_BYTES};
use crate::local::Local;
use messages::{Key, TableId, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Bytes of what is in memory.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Of all chains and their keys.
    pub all: usize,
    /// Of all versions but the newest ones.
    pub old: usize,
    /// Of items whose newest version is not in the store.
    pub unposted: usize,
}

impl Tally {
    /// A chain comes, or is as it is now.
    pub(crate) fn add(&mut self, chain: &Chain) {
        let bytes = chain.bytes();
        self.all += bytes;
        self.old += chain.old_bytes();
        self.unposted += if chain.dirty { bytes } else { 0 };
    }

    /// A chain goes, or is about to be changed.
    pub(crate) fn subtract(&mut self, chain: &Chain) {
        let bytes = chain.bytes();
        self.all -= bytes;
        self.old -= chain.old_bytes();
        self.unposted -= if chain.dirty { bytes } else { 0 };
    }
}

/// Items that have, or had, old versions.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OldVersions {
    bytes_max: usize,
    queue: VecDeque<(TableId, Key)>,
    pass: Option<Pass>,
    /// The changes of snapshots that the last pass began with.
    passed: u32,
}

/// A pass over the queue.
#[derive(Debug, Serialize, Deserialize)]
struct Pass {
    /// Items still to be looked at.
    left: usize,
    /// The oldest snapshot in use when it began.
    oldest: Option<Timestamp>,
    /// Bytes that only snapshots in use hold.
    held: usize,
}

impl OldVersions {
    pub(crate) fn new(bytes_max: usize) -> OldVersions {
        OldVersions { bytes_max, queue: VecDeque::new(), pass: None, passed: 0 }
    }

    /// Lists a chain that has got an old version.
    pub(crate) fn enqueue(&mut self, table: TableId, key: &Key, chain: &mut Chain) {
        if chain.has_past() && !chain.queued {
            chain.queued = true;
            self.queue.push_back((table, key.clone()));
        }
    }

    fn bytes(&self, tally: Tally) -> usize {
        tally.old + self.queue.len() * OLD_VERSIONS_QUEUED_BYTES
    }
}

impl Local {
    /// Goes on with a pass: looks at up to `items` items, and at more when old versions take much memory. Returns the snapshot that had to be
    /// given up.
    pub(crate) fn trim_old_versions(&mut self, mut items: usize) -> Option<Timestamp> {
        if self.old_versions.queue.is_empty() {
            return None;
        }
        let bytes = self.old_versions.bytes(self.tally);
        let mut pass = match self.old_versions.pass.take() {
            Some(pass) => pass,
            None => self.begin_pass(bytes)?,
        };
        if bytes > self.old_versions.bytes_max / 2 {
            items *= OLD_VERSIONS_HASTE;
        }
        for _ in 0..items {
            if pass.left == 0 {
                break;
            }
            pass.left -= 1;
            pass.held += self.trim_next();
        }
        let bytes = self.old_versions.bytes(self.tally);
        if pass.left > 0 {
            self.old_versions.pass = Some(pass);
            return None;
        }
        let in_use = pass.oldest.is_some() && pass.oldest == self.snapshots.oldest_in_use();
        let is_due = in_use && bytes > self.old_versions.bytes_max && 2 * pass.held >= bytes;
        is_due.then(|| self.snapshots.give_up_oldest())
    }

    /// A new pass, where it may find something to do.
    fn begin_pass(&mut self, bytes: usize) -> Option<Pass> {
        let oldest = self.snapshots.oldest_in_use();
        let old_versions = &mut self.old_versions;
        let blamed = bytes > old_versions.bytes_max && oldest.is_some();
        if old_versions.passed == self.snapshots.changes() && !blamed {
            return None;
        }
        old_versions.passed = self.snapshots.changes();
        Some(Pass { left: old_versions.queue.len(), oldest, held: 0 })
    }

    /// Trims the first item of the queue. Returns the bytes that only snapshots in use hold of it.
    fn trim_next(&mut self) -> usize {
        let Some((table, key)) = self.old_versions.queue.pop_front() else { return 0 };
        let storage = self.storages.get_mut(&table);
        let Some(chain) = storage.and_then(|storage| storage.chains.get_mut(&key)) else { return 0 };
        self.tally.subtract(chain);
        chain.trim(&self.snapshots, self.posting);
        self.tally.add(chain);
        chain.queued = chain.has_past();
        if !chain.queued {
            return 0;
        }
        let held = chain.held_bytes(&self.snapshots);
        self.old_versions.queue.push_back((table, key));
        held
    }
}
