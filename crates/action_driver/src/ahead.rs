//! What a program accesses by key, as far as its parameters tell: it is asked for before the first action runs, in one message to each server instead of
//! two for each row.
//!
//! Invariants: what was granted ahead is held like all else that was granted, whether an action comes to it or not; a row that was read ahead is handed
//! out once, and only where the transaction holds its item in the way that is asked for; what the transaction has written itself is looked at first.

use crate::reads::{self, Event, Need};
use crate::transaction::Transaction;
use messages::concurrency::AccessKind;
use messages::session::Failure;
use messages::{Item, Row, Timestamp};
use serde::{Deserialize, Serialize};

/// An access that an action is going to ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Of what.
    pub item: Item,
    /// How.
    pub kind: AccessKind,
    /// Whether the row is wanted, too.
    pub reads: bool,
}

/// Rows that were read ahead.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ahead(Vec<(Item, Timestamp, Option<Row>)>);

impl Ahead {
    /// What was read of these accesses, in their order, as far as it goes.
    pub fn of(accesses: Vec<Access>, rows: Vec<(Timestamp, Option<Row>)>) -> Ahead {
        let items = accesses.into_iter().filter(|access| access.reads).map(|access| access.item);
        Ahead(items.zip(rows).map(|(item, (version, row))| (item, version, row)).collect())
    }

    /// Answers a need with a row that was read ahead. Errors: a lost conflict, or a transaction that has become too large.
    pub fn answer(&mut self, need: &Need, transaction: &mut Transaction) -> Result<Option<Event>, Failure> {
        let (item, kind) = match need {
            Need::Item(item, kind) => (item, *kind),
            Need::Presence(item) => (item, AccessKind::Increment),
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
