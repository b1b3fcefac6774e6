//! A query that is read in batches, as the query processor reads: the members of a range, a few at a time.

use crate::history::{Observation, WriteToken};
use crate::programs::{MEMBERS, token_of};
use messages::limits::MILLISECOND;
use messages::session::SessionRequest;
use messages::{Key, KeyRange, Row};
use std::sync::Arc;
use values::Value;

/// Rows of a batch, at most.
const BATCH_ROWS: u32 = 2;
/// How long a client thinks before it takes the next batch.
pub(super) const BETWEEN_BATCHES: u64 = 5 * MILLISECOND;

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
    left: Vec<KeyRange>,
}

impl Batches {
    /// The first batch of the members of a range.
    pub(super) fn begin(&mut self, low: u64, high: u64, reverse: bool) -> SessionRequest {
        let queries = self.queries + 1;
        *self = Batches { queries, range: (low, high), reverse, ..Batches::default() };
        let key = |member: u64| {
            let mut bytes = Vec::new();
            values::key::append(&Value::BigInt(member as i64), &mut bytes);
            Key::new(&bytes)
        };
        self.left = vec![KeyRange { table: MEMBERS, low: key(low), high: Some(key(high)) }];
        self.next()
    }

    /// The next batch.
    pub(super) fn next(&mut self) -> SessionRequest {
        SessionRequest::Scan {
            ranges: std::mem::take(&mut self.left),
            through: None,
            reverse: self.reverse,
            limit: BATCH_ROWS,
            relies_on: Arc::default(),
            query: Some(self.queries),
        }
    }

    /// A batch came. Once all have: what they have shown, and when the first was asked for. Errors: rows that nobody wrote.
    pub(super) fn take(
        &mut self,
        rows: Vec<(Key, Row)>,
        left: Vec<KeyRange>,
        asked: u64,
    ) -> Result<Option<(Observation, u64)>, String> {
        let asked = *self.asked.get_or_insert(asked);
        for (_, row) in rows {
            let row = values::row::decode_row(&row, 2).map_err(|error| format!("a damaged row: {error:?}"))?;
            let member = row[0].as_integer().ok_or("a key that is no number")? as u64;
            self.present.push((member, token_of(&row[1])?));
        }
        self.left = left;
        if !self.left.is_empty() {
            return Ok(None);
        }
        let mut present = std::mem::take(&mut self.present);
        // Whoever looks wants it in order.
        present.sort_unstable();
        let (low, high) = self.range;
        Ok(Some((Observation::Members { low, high, present }, asked)))
    }
}
