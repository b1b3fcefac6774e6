//! The check that catalog rows are those that a program was compiled with, before anything else is done.

use crate::need::{ExecutorEvent, ExecutorNeed};
use crate::transaction::ExecutingTransaction;
use messages::schema::CatalogVersions;
use messages::session::Failure;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How far the check has come.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Reliance {
    checked: usize,
    /// They were asked for together, and one of them has changed or is not known here.
    one_by_one: bool,
}

impl Reliance {
    /// What to read of the catalog next; `None` when all is as relied on. `confirms`: once all is decided there, whatever was found before. Takes the
    /// event, if it answers the last need. Errors: the schema has changed, a lost conflict, 54000.
    pub fn resume(
        &mut self,
        relies_on: &CatalogVersions,
        confirms: bool,
        transaction: &mut ExecutingTransaction,
        event: &mut ExecutorEvent,
    ) -> Result<Option<ExecutorNeed>, Failure> {
        while let Some((key, relied)) = relies_on.get(self.checked) {
            let found = match std::mem::replace(event, ExecutorEvent::Go) {
                ExecutorEvent::Unchanged(true, _) => {
                    transaction.note_unchanged(relies_on)?;
                    transaction.relied_on(key)
                }
                ExecutorEvent::Unchanged(false, _) => {
                    self.one_by_one = true;
                    None
                }
                ExecutorEvent::Relied(version) => {
                    transaction.note_relied_on(key.clone(), version);
                    Some(version)
                }
                _ if confirms => None,
                _ => transaction.relied_on(key),
            };
            match found {
                None if confirms => return Ok(Some(ExecutorNeed::Confirmed(key.clone()))),
                None if self.one_by_one || transaction.reads_snapshot() => {
                    return Ok(Some(ExecutorNeed::Relied(key.clone())));
                }
                None => return Ok(Some(ExecutorNeed::Unchanged(Arc::clone(relies_on), Vec::new()))),
                Some(version) if version == *relied => self.checked += 1,
                Some(_) if !confirms => {
                    transaction.check_definition(key, *relied)?;
                    return Err(Failure::SchemaChanged { key: key.clone() });
                }
                Some(_) => return Err(Failure::SchemaChanged { key: key.clone() }),
            }
        }
        Ok(None)
    }
}
