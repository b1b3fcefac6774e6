//! What a transaction forgets where the simulator leaves a clause out.

use super::ExecutingTransaction;
use messages::{Item, TableId};

impl ExecutingTransaction {
    /// The item counts as never read.
    pub fn forget_item_read(&mut self, item: &Item) {
        if let Some(state) = self.items.get_mut(item) {
            state.seen = None;
        }
    }

    /// Nothing counts as read as a range of these storages.
    pub fn forget_ranges_read(&mut self, storages: &[TableId]) {
        self.ranges.retain(|read| !storages.contains(&read.range.table));
    }
}
