//! A statement of several programs: what it began with, and what waits for its end.
//!
//! Invariants: while it is under way a query reads what there was before it, whatever its programs have written; a row that one of them has changed
//! is changed by no other (PostgreSQL's manual, 7.8.4).

use super::ExecutingTransaction;
use crate::differential_file::patched;
use crate::failure;
use crate::reference_keys::PendingReference;
use messages::limits::TRANSACTION_WRITES_MAX;
use messages::session::Failure;
use messages::{Item, Key, KeyRange, Row, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a statement began with.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct StatementView {
    /// What its programs have written, and what the transaction had written there before; the outer `None`: nothing.
    before: BTreeMap<Item, Option<Option<Row>>>,
    /// What foreign keys look at when it ends.
    pending: Vec<PendingReference>,
}

impl ExecutingTransaction {
    /// A statement of several programs begins.
    pub fn begin_view(&mut self) {
        self.view = Some(StatementView::default());
    }

    /// It ends. What foreign keys are to look at.
    pub fn end_view(&mut self) -> Vec<PendingReference> {
        self.view.take().map_or_else(Vec::new, |view| view.pending)
    }

    /// Leaves a key for the end of the statement; gives it back if none of several programs is under way. Errors: 54000.
    pub fn put_off(&mut self, pending: PendingReference) -> Result<Option<PendingReference>, Failure> {
        let Some(view) = &mut self.view else { return Ok(Some(pending)) };
        if view.pending.len() == TRANSACTION_WRITES_MAX {
            return Err(failure::too_large("statement changes too many rows that foreign keys concern"));
        }
        view.pending.push(pending);
        Ok(None)
    }

    /// Whether the statement under way has changed this item.
    pub fn has_changed(&self, item: &Item) -> bool {
        self.view.as_ref().is_some_and(|view| view.before.contains_key(item))
    }

    /// An item is about to be written.
    pub(super) fn remember(&mut self, item: &Item) {
        if let Some(view) = &mut self.view
            && !view.before.contains_key(item)
        {
            view.before.insert(item.clone(), self.file.get(item).cloned());
        }
    }

    /// The transaction's own row or deletion, as the request under way sees it; the outer `None`: what is stored.
    pub fn own(&self, item: &Item) -> Option<Option<Row>> {
        match self.seen_view().and_then(|view| view.before.get(item)) {
            Some(before) => before.clone(),
            None => self.file.get(item).cloned(),
        }
    }

    /// Lays the transaction's writes, as the request under way sees them, over all stored rows of a range.
    pub fn overlay(&self, range: &KeyRange, rows: Vec<(Key, Timestamp, Row)>, reverse: bool) -> Vec<(Key, Row)> {
        match self.seen_view() {
            Some(view) => patched(&self.file, &view.before, range, rows, reverse),
            None => self.file.overlay(range, rows, reverse),
        }
    }

    fn seen_view(&self) -> Option<&StatementView> {
        self.view.as_ref().filter(|_| self.sees_before)
    }
}
