//! Executes `Action::Catalog`: schema changes are ordinary writes of catalog rows.
//!
//! Invariants: a catalog row is written only where it still has the version that the new definition was made from; numbers of storages are taken by a
//! commit of their own, before the first row is committed ahead into one of them. So no two transactions ever fill the same storage, and what
//! becomes of a storage whose transaction does not commit is nobody else's concern.

use crate::need::{ExecutorEvent, ExecutorNeed};
use crate::scene::{ExecutorStep, Scene};
use messages::concurrency::AccessKind;
use messages::planted;
use messages::program::Action;
use messages::schema::CatalogEntry;
use messages::session::Failure;
use messages::{Item, Key, Row, TableId, Timestamp};
use serde::{Deserialize, Serialize};

/// A schema change under way.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct CatalogRun {
    at: usize,
}

impl CatalogRun {
    /// Goes on. Errors: the schema has changed; 54000.
    pub fn resume(
        &mut self,
        action: &Action,
        scene: &mut Scene,
        event: ExecutorEvent,
    ) -> Result<ExecutorStep, Failure> {
        let Action::Catalog { writes, drops, makes } = action else { unreachable!("begun for a schema change") };
        let mut event = event;
        while let Some((key, expected, row)) = writes.get(self.at) {
            if *key == CatalogEntry::next_key() && !planted!(scene.rules.planted, NumbersNotClaimed) {
                let event = std::mem::replace(&mut event, ExecutorEvent::Go);
                // A program that is tried again has its numbers.
                let claimed = event == ExecutorEvent::ChunkCommitted || *scene.has_numbers;
                match row {
                    Some(row) if !claimed => {
                        return claim(key, expected.or(scene.transaction.claimed()), row, &event)
                            .map(ExecutorStep::Need);
                    }
                    _ => {}
                }
                *scene.has_numbers = true;
                self.at += 1;
                continue;
            }
            let item = Item { table: TableId::CATALOG, key: key.clone() };
            match std::mem::replace(&mut event, ExecutorEvent::Go) {
                ExecutorEvent::Item(found) => {
                    // A row of the transaction's own has no version yet: nobody else can have changed it since.
                    let stands = match (expected, scene.transaction.version_seen(&item)) {
                        (Some(Timestamp::ZERO), _) => found.is_none(),
                        (Some(expected), Some(seen)) => *expected == seen,
                        (Some(_), None) | (None, _) => true,
                    };
                    if !stands && !planted!(scene.rules.planted, SchemaUnchecked) {
                        return Err(Failure::SchemaChanged { key: key.clone() });
                    }
                }
                ExecutorEvent::Locked => {}
                _ if expected.is_some() => return Ok(ExecutorStep::Need(ExecutorNeed::Item(item, AccessKind::Write))),
                _ => return Ok(ExecutorStep::Need(ExecutorNeed::Lock(item))),
            }
            scene.transaction.write(item, row.clone())?;
            self.at += 1;
        }
        scene.transaction.change_storages(drops, makes);
        Ok(ExecutorStep::Done)
    }
}

/// What it takes to take numbers. The row that a commit ahead is made from is read like any other: sites whose copy of it is stale take the word of
/// whoever has read it. Errors: it has another version than this one.
fn claim(key: &Key, made_from: Option<Timestamp>, row: &Row, event: &ExecutorEvent) -> Result<ExecutorNeed, Failure> {
    match (event, made_from) {
        (ExecutorEvent::Relied(found), Some(made_from)) if *found == made_from => {
            Ok(ExecutorNeed::Claim(made_from, row.clone()))
        }
        (ExecutorEvent::Relied(_), _) | (_, None) => Err(Failure::SchemaChanged { key: key.clone() }),
        _ => Ok(ExecutorNeed::Numbers),
    }
}
