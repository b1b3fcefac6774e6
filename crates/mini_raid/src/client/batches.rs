//! A query that is read in batches, as the query processor reads: the members of a range, a few at a time.

use super::token_of;
use crate::history::{Observation, WriteToken};
use crate::programs::MEMBERS;
use messages::session::SessionRequest;
use messages::{Key, KeyRange, Row};
use std::sync::Arc;
use values::Value;

/// Rows of a batch, at most.
const BATCH_ROWS: u32 = 2;

/// The query under way.
#[derive(Debug, Default)]
pub(super) struct Batches {
    /// How many there were.
    queries: u64,
    range: (u64, u64),
    reverse: bool,
    /// When the first batch was asked for.
    asked: Option<u64>,
    present: Vec<(u64, WriteToken)>,
}

impl Batches {
    /// The first batch.
    pub(super) fn begin(&mut self, low: u64, high: u64, reverse: bool) -> SessionRequest {
        let queries = self.queries + 1;
        *self = Batches { queries, range: (low, high), reverse, ..Batches::default() };
        let key = |member: u64| {
            let mut bytes = Vec::new();
            values::key::append(&Value::BigInt(member as i64), &mut bytes);
            Key::new(&bytes)
        };
        self.next(vec![KeyRange { table: MEMBERS, low: key(low), high: Some(key(high)) }])
    }

    fn next(&self, ranges: Vec<KeyRange>) -> SessionRequest {
        SessionRequest::Scan {
            ranges,
            through: None,
            reverse: self.reverse,
            limit: BATCH_ROWS,
            relies_on: Arc::default(),
            query: Some(self.queries),
        }
    }

    /// A batch came; the next one, if there is one. Errors: rows that nobody wrote.
    pub(super) fn take(
        &mut self,
        rows: Vec<(Key, Row)>,
        left: Vec<KeyRange>,
        asked: u64,
    ) -> Result<Option<SessionRequest>, String> {
        self.asked.get_or_insert(asked);
        for (_, row) in rows {
            let row = values::row::decode_row(&row, 2).map_err(|error| format!("a damaged row: {error:?}"))?;
            let member = row[0].as_integer().ok_or("a key that is no number")? as u64;
            self.present.push((member, token_of(&row[1])?));
        }
        if left.is_empty() { Ok(None) } else { Ok(Some(self.next(left))) }
    }

    /// What all of it has shown, and when it was asked for. Whoever looks wants it in order.
    pub(super) fn end(&mut self) -> (Observation, u64) {
        let mut present = std::mem::take(&mut self.present);
        present.sort_unstable();
        let (low, high) = self.range;
        (Observation::Members { low, high, present }, self.asked.unwrap_or_default())
    }
}
