//! What a program accesses by key, as far as its parameters tell: it is asked for before the first action runs, in one message to each server instead of
//! two for each row.
//!
//! Invariants: what was granted ahead is held like all else that was granted, whether an action comes to it or not; a row that was read ahead is handed
//! out once, and only where the transaction holds its item in the way that is asked for; what the transaction has written itself is looked at first.

use crate::need::{Ahead, ExecutorEvent, ExecutorNeed};
use crate::reads;
use crate::transaction::ExecutingTransaction;
use messages::concurrency::AccessKind;
use messages::session::Failure;

impl Ahead {
    /// Answers a need with a row that was read ahead. Errors: a lost conflict, or a transaction that has become too large.
    pub fn answer(
        &mut self,
        need: &ExecutorNeed,
        transaction: &mut ExecutingTransaction,
    ) -> Result<Option<ExecutorEvent>, Failure> {
        let (item, kind) = match need {
            ExecutorNeed::Item(item, kind) => (item, *kind),
            ExecutorNeed::Presence(item) => (item, AccessKind::Increment),
            _ => return Ok(None),
        };
        let Some(place) = self.0.iter().position(|(ahead, ..)| ahead == item) else { return Ok(None) };
        if !transaction.holds(item, kind) {
            return Ok(None);
        }
        let (_, version, row) = self.0.remove(place);
        reads::item_read(need, version, row, transaction).map(Some)
    }
}
