//! What the controller shows of itself.

use messages::{Epoch, SiteId};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What `raid status` shows of replication at a site.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReplicationStatus {
    /// The highest epoch known.
    pub epoch: Option<Arc<Epoch>>,
    /// In words.
    pub state: Cow<'static, str>,
    /// Fail-locked items of every other site, as this one keeps them.
    pub fail_locks: BTreeMap<SiteId, u64>,
    /// Whether nothing of the own copy is stale in this epoch, and that is on disk.
    pub is_current: bool,
    /// Stale items of the own copy, at the last look.
    pub stale: u64,
    /// Bytes that copiers brought since the start.
    pub copied_bytes: u64,
    /// Commits that some member has not synced yet: at risk if all sites lose power at once.
    pub unsynced_commits: u64,
    /// How long requests for a lease take until another member has granted them, smoothed, in nanoseconds.
    pub round_trips: BTreeMap<SiteId, u64>,
    /// The copy was put back from an older one, and is not current again yet.
    pub set_back: bool,
}
