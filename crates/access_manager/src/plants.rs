//! What planted bugs do instead of the clauses that they leave out, where that is more than a line. Only the simulator comes here.

use crate::manager::AccessManager;
use crate::store::StoreError;
#[cfg(doc)]
use messages::planted::Bug;
use messages::{History, Key, TableId, Timestamp};

impl AccessManager {
    /// [`Bug::ClearedAtPrepare`]: what is to be written is no longer stale.
    pub(crate) fn clear_at_prepare(&mut self, history: &History) {
        for write in &history.writes {
            self.stale.refresh(write.table, &write.key, Some(&write.key.successor()));
        }
    }

    /// [`Bug::IncrementsNotRebased`], [`Bug::IncrementsReplayedTwice`]: a replay looks at rows as they are.
    pub(crate) fn look_before_increment(&mut self) -> Result<(), StoreError> {
        if self.replaying { self.local.catch_up() } else { Ok(()) }
    }

    /// [`Bug::IncrementsNotRebased`]: an increment below the newest version counts for nothing.
    pub(crate) fn is_older(&mut self, table: TableId, key: &Key, timestamp: Timestamp) -> Result<bool, StoreError> {
        Ok(self.local.version(table, key, false)?.is_some_and(|newest| newest.timestamp > timestamp))
    }
}
