//! How an access manager is set up.

use crate::backlog::unposted_bytes_max;
use crate::limits::{MEMORY_BYTES, OLD_VERSIONS_SHARE, RECENT_WRITES_MAX, TOUCHED_MAX};
use messages::planted::Planted;

/// How an access manager is set up.
#[derive(Clone, Copy, Debug)]
pub struct StoreSettings {
    /// Bytes of versions kept in memory; what is not in the store yet stays beyond it.
    pub memory_bytes_max: usize,
    /// Bytes that may be installed and not in the store before the atomicity controller is told to hold what this site commits.
    pub unposted_bytes_max: usize,
    /// Bytes of old versions kept for snapshots; beyond that the oldest snapshot is given up.
    pub old_version_bytes_max: usize,
    /// Writes remembered per storage for checking ranges: a transaction that read a range longer ago is too old.
    pub recent_writes_max: usize,
    /// Rows that a transaction touches which is checked at once: of more, those that are not in memory are brought there bit by bit.
    pub touched_max: usize,
    /// The clause to leave out, in the simulator.
    pub planted: Planted,
}

impl Default for StoreSettings {
    fn default() -> StoreSettings {
        StoreSettings {
            memory_bytes_max: MEMORY_BYTES,
            unposted_bytes_max: unposted_bytes_max(MEMORY_BYTES),
            old_version_bytes_max: MEMORY_BYTES / OLD_VERSIONS_SHARE,
            recent_writes_max: RECENT_WRITES_MAX,
            touched_max: TOUCHED_MAX,
            planted: Planted::none(),
        }
    }
}
