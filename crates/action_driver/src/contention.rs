//! What transactions of this site have lost conflicts on, and waited long for: the items that cost most, in a table of bounded size.
//!
//! Space-saving (Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams", 2005): when the table is
//! full, a newcomer takes the place of whoever has counted least, and goes on from its count. Invariant: a row has been met at most `count` and
//! at least `count - count_error_max` times; whatever is not in the table, no more often than the least count in it.

use crate::limits::CONTENTION_ROWS_MAX;
use messages::contention::{ContentionCause, ContentionRow};
use messages::{Conflict, ConflictKind, Item, Key, Now, Row};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct ContentionCount {
    count: u64,
    error_max: u64,
    waited: u64,
    last_micros: u64,
}

/// Causes of lost time, and how often each was met.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Contention {
    rows: BTreeMap<(ContentionCause, Option<Item>), ContentionCount>,
}

impl Contention {
    /// A transaction has lost a conflict, whether it is tried again or not.
    pub fn lost(&mut self, conflict: &Conflict, now: Now) {
        if conflict.kind != ConflictKind::Cancelled {
            self.note((ContentionCause::Lost(conflict.kind), conflict.item.as_deref().cloned()), 0, now);
        }
    }

    /// A transaction has waited for an item for so long, in nanoseconds.
    pub fn waited(&mut self, item: Item, time: u64, now: Now) {
        self.note((ContentionCause::Waited, Some(item)), time, now);
    }

    fn note(&mut self, met: (ContentionCause, Option<Item>), time: u64, now: Now) {
        let mut error_max = 0;
        if self.rows.len() >= CONTENTION_ROWS_MAX && !self.rows.contains_key(&met) {
            let least = self.rows.iter().min_by_key(|(_, count)| (count.count, count.last_micros));
            let (least, count) = least.map(|(met, count)| (met.clone(), count.count)).expect("a full table has rows");
            self.rows.remove(&least);
            error_max = count;
        }
        let row = self.rows.entry(met).or_insert(ContentionCount {
            count: error_max,
            error_max,
            ..ContentionCount::default()
        });
        row.count += 1;
        row.waited += time;
        row.last_micros = now.wall_micros;
    }

    /// The table, what was met most often first.
    pub fn rows(&self) -> Vec<(Key, Row)> {
        let mut rows: Vec<ContentionRow> = self
            .rows
            .iter()
            .map(|((cause, item), count)| ContentionRow {
                cause: *cause,
                item: item.clone(),
                count: count.count,
                count_error_max: count.error_max,
                waited: count.waited,
                last_micros: count.last_micros,
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.count));
        let keyed = |(place, row): (u64, ContentionRow)| (Key::new(&place.to_be_bytes()), row.encode());
        (0..).zip(rows).map(keyed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::TableId;
    use values::{Value, row};

    fn item(number: u64) -> Item {
        Item { table: TableId(20), key: Key::new(&number.to_be_bytes()) }
    }

    fn conflict(number: u64) -> Conflict {
        Conflict::on(item(number), ConflictKind::StaleRead, None)
    }

    fn at(wall_micros: u64) -> Now {
        Now { boot: 0, wall_micros }
    }

    /// The row that costs most would be pushed out by many that are met once, or memory would grow with each of them.
    #[test]
    fn what_is_met_often_stays() {
        let mut contention = Contention::default();
        for number in 0..10 * CONTENTION_ROWS_MAX as u64 {
            contention.lost(&conflict(1_000_000 + number), at(number));
            if number % 10 == 0 {
                contention.lost(&conflict(7), at(number));
            }
        }
        assert_eq!(contention.rows.len(), CONTENTION_ROWS_MAX);
        let count = contention.rows[&(ContentionCause::Lost(ConflictKind::StaleRead), Some(item(7)))];
        let met = CONTENTION_ROWS_MAX as u64;
        assert!(count.count - count.error_max <= met && met <= count.count, "{count:?}");
        let rows = contention.rows();
        let first = row::decode_row(&rows[0].1, 8).unwrap();
        assert_eq!(first[3], Value::Bytea(item(7).key.as_bytes().into()), "it comes first");
    }

    /// Who cancels has lost no conflict; who waited has not lost one either, and the time it took is what counts.
    #[test]
    fn waits_are_counted_apart() {
        let mut contention = Contention::default();
        contention.lost(&Conflict::of(ConflictKind::Cancelled), at(1));
        assert!(contention.rows().is_empty());
        contention.lost(&conflict(1), at(1));
        contention.waited(item(1), 3_000_000, at(2));
        contention.waited(item(1), 4_000_000, at(3));
        let rows = contention.rows();
        assert_eq!(rows.len(), 2);
        let waits = row::decode_row(&rows[0].1, 8).unwrap();
        assert_eq!(
            (&waits[0], &waits[4], &waits[6]),
            (&Value::text("long wait"), &Value::BigInt(2), &Value::BigInt(7))
        );
    }
}
