//! Installing what has committed: writes, increments and drops, on what is stale as well.
//!
//! Invariant: twice is once for writes and drops, and a version that this copy had before an item became stale tells nothing of what came later.

use crate::manager::AccessManager;
use crate::store::StoreError;
use messages::access::AccessReply;
use messages::concurrency::ConcurrencyRequest;
use messages::schema::CatalogEntry;
use messages::{History, Increment, Item, Key, Message, Outbox, Row, ServerKind, TableId, Timestamp, Write};
use messages::{planted, reached};
use std::ops::Range;

impl AccessManager {
    /// Installs these of the items that a transaction has changed: its writes, then its increments.
    pub(crate) fn install_part(
        &mut self,
        timestamp: Timestamp,
        history: &History,
        part: Range<usize>,
        outbox: &mut Outbox,
    ) -> Result<(), StoreError> {
        let of_writes = |number: usize| number.min(history.writes.len());
        let of_increments = |number: usize| number - of_writes(number);
        self.install_writes(timestamp, &history.writes[of_writes(part.start)..of_writes(part.end)], outbox)?;
        self.install_increments(timestamp, &history.increments[of_increments(part.start)..of_increments(part.end)])
    }

    fn install_writes(
        &mut self,
        timestamp: Timestamp,
        writes: &[Write],
        outbox: &mut Outbox,
    ) -> Result<(), StoreError> {
        let (mut items, mut storages) = (Vec::new(), Vec::new());
        let mut catalog = Vec::new();
        for write in writes {
            let (table, key) = (write.table, &write.key);
            let newest = if self.stale.contains(table, key) {
                self.local.catch_up()?;
                // A repetition of a write that this copy had before it became stale tells nothing of what came later.
                let known = match self.replaying {
                    true => self.local.replayed(table, key)?,
                    false => self.local.version(table, key, false)?.map(|known| known.timestamp),
                };
                let newer = known.is_none_or(|known| known < timestamp);
                if newer {
                    self.local.replace(table, key, timestamp, write.row.clone());
                    if self.stale.refresh(table, key, Some(&key.successor())) {
                        storages.push(table);
                    }
                    items.push(Item { table, key: key.clone() });
                }
                newer
            } else if self.replaying {
                self.local.reinstall(table, key, timestamp, write.row.clone())?;
                // Who begins asks for all rows of the catalog; a replay does not know those that came as copies.
                false
            } else {
                self.local.install(table, key, timestamp, write.row.clone())?
            };
            if newest && table == TableId::CATALOG && !self.replaying {
                catalog.push((key.clone(), timestamp, write.row.clone()));
            }
        }
        tell(items, storages, catalog, outbox);
        Ok(())
    }

    fn install_increments(&mut self, timestamp: Timestamp, increments: &[Increment]) -> Result<(), StoreError> {
        for Increment { table, key, addends } in increments {
            if planted!(self.planted, IncrementsNotRebased) || planted!(self.planted, IncrementsReplayedTwice) {
                self.look_before_increment()?;
            }
            if planted!(self.planted, IncrementsNotRebased) && self.is_older(*table, key, timestamp)? {
                continue;
            }
            match (self.stale.contains(*table, key), self.replaying) {
                (true, true) if planted!(self.planted, IncrementsToStaleSkipped) => {}
                // The log names whole storages as stale of which only parts were: what this copy has voted to add to was not.
                (_, true) if !planted!(self.planted, IncrementsReplayedTwice) => {
                    reached!("readded-in-replay");
                    self.local.readd(*table, key, timestamp, addends)?;
                }
                // A copy is to come, of a member that has it.
                (true, _) => reached!("increment-to-stale"),
                (false, _) => self.local.add(*table, key, timestamp, addends)?,
            }
        }
        Ok(())
    }

    /// What comes after its items.
    pub(crate) fn install_rest(&mut self, timestamp: Timestamp, history: &History, outbox: &mut Outbox) {
        self.escrow.leave(timestamp.transaction, history);
        let mut storages = Vec::new();
        for table in &history.drops {
            self.poster.drop_storage(timestamp, *table, self.local.generation);
            // What the others have of it they may drop any moment.
            if self.stale.first_in(*table, &Key::lowest(), None).is_some() {
                self.local.forget_past(*table, timestamp);
                if self.stale.refresh(*table, &Key::lowest(), None) {
                    storages.push(*table);
                }
            }
        }
        self.local.as_of = self.local.as_of.max(timestamp);
        tell(Vec::new(), storages, Vec::new(), outbox);
    }
}

/// Tells those who want to know what has changed.
pub(crate) fn tell(
    items: Vec<Item>,
    storages: Vec<TableId>,
    catalog: Vec<(Key, Timestamp, Option<Row>)>,
    outbox: &mut Outbox,
) {
    if !items.is_empty() || !storages.is_empty() {
        let refreshed = AccessReply::Refreshed { items, storages };
        outbox.local(ServerKind::ReplicationController, Message::AccessReply(refreshed));
    }
    let settings = catalog.iter().filter(|(key, ..)| CatalogEntry::setting_of(key).is_some());
    let settings: Vec<_> = settings.map(|(key, _, row)| (key.clone(), row.clone())).collect();
    if !settings.is_empty() {
        let settings = ConcurrencyRequest::Settings { rows: settings, begins: false };
        outbox.local(ServerKind::ConcurrencyController, Message::Concurrency(settings));
    }
    if !catalog.is_empty() {
        let rows = AccessReply::CatalogRows { rows: catalog };
        outbox.local(ServerKind::UserInterface, Message::AccessReply(rows));
    }
}
