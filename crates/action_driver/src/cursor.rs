//! The rows of a source, one after the other, whichever way they are found.
//!
//! Invariant: each row is handed out at most once, with the permission that the statement needs. Rows of a key range are
//! permitted with their range; rows that an index leads to are permitted one by one.

use crate::expression::Scope;
use crate::limits::{SCAN_ROWS_FIRST, SCAN_ROWS_MAX};
use crate::ranges;
use crate::reads::{Event, Need, RangeNeed};
use crate::rows;
use messages::concurrency::AccessKind;
use messages::program::{AccessPath, Source};
use messages::remaining;
use messages::session::Failure;
use messages::{Key, KeyRange, Row};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use values::Value;

/// A source being read.
#[derive(Debug, Serialize, Deserialize)]
pub struct Cursor {
    kind: AccessKind,
    way: Way,
    /// A row whose item is being read.
    pending: Option<(Key, Option<usize>)>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Way {
    /// By key.
    Keys(#[serde(with = "remaining")] smallvec::IntoIter<[Key; 1]>),
    /// By the keys supplied with the execution, from this one on.
    Supplied(usize),
    /// By a range, of an index at this position or of the table.
    Range(RangeCursor, Option<usize>),
}

/// A range being read in batches.
#[derive(Debug, Serialize, Deserialize)]
pub struct RangeCursor {
    left: Option<KeyRange>,
    #[serde(with = "remaining")]
    batch: std::vec::IntoIter<(Key, Row)>,
    limit: u32,
    reverse: bool,
}

/// A row found.
#[derive(Debug)]
pub struct Found {
    /// Its key.
    pub key: Key,
    /// Its bytes.
    pub row: Row,
    /// The supplied row that led to it.
    pub supplied: Option<usize>,
}

/// What a cursor comes up with.
#[derive(Debug)]
pub enum Next {
    /// Something is needed first.
    Need(Need),
    /// A row.
    Row(Found),
    /// There are no more.
    End,
}

impl Cursor {
    /// Reads the source; `hint` rows will be enough, if given.
    pub fn new(source: &Source, kind: AccessKind, hint: Option<u64>, scope: &Scope) -> Result<Cursor, Failure> {
        let range = |range: Option<KeyRange>| RangeCursor::new(range, hint, source.reverse);
        let way = match &source.path {
            AccessPath::Point(columns) => {
                let keys: SmallVec<[Key; 1]> = ranges::point(columns, scope)?.into_iter().collect();
                Way::Keys(keys.into_iter())
            }
            AccessPath::Points(points) => {
                let mut keys = SmallVec::with_capacity(points.len());
                for columns in points {
                    keys.extend(ranges::point(columns, scope)?);
                }
                keys.sort_unstable();
                keys.dedup();
                if source.reverse {
                    keys.reverse();
                }
                Way::Keys(keys.into_iter())
            }
            AccessPath::KeyRange(bounds) => {
                Way::Range(range(ranges::range(source.table.storage, bounds, scope)?), None)
            }
            AccessPath::IndexRange(index, bounds) => {
                let storage = source.table.indexes[*index].storage;
                Way::Range(range(ranges::range(storage, bounds, scope)?), Some(*index))
            }
            AccessPath::Supplied => Way::Supplied(0),
        };
        let pending = None;
        Ok(Cursor { kind, way, pending })
    }

    /// The key of the row, at the beginning, when it is found by that alone.
    pub fn only_key(&self) -> Option<&Key> {
        match &self.way {
            Way::Keys(keys) => keys.as_slice().first().filter(|_| keys.len() == 1),
            _ => None,
        }
    }

    /// The next row. `event` answers the last need, or is [`Event::Go`].
    pub fn next(&mut self, source: &Source, supplied: &[Vec<Value>], event: Event) -> Result<Next, Failure> {
        let table = &source.table;
        match event {
            Event::Item(row) => {
                let (key, supplied) = self.pending.take().expect("an item was asked for");
                if let Some(row) = row {
                    return Ok(Next::Row(Found { key, row, supplied }));
                }
            }
            Event::Batch(rows, left) => {
                if let Way::Range(range, _) = &mut self.way {
                    range.take(rows, left);
                }
            }
            _ => {}
        }
        let (key, number) = match &mut self.way {
            Way::Keys(keys) => match keys.next() {
                Some(key) => (key, None),
                None => return Ok(Next::End),
            },
            Way::Supplied(next) => match supplied.get(*next) {
                Some(values) => {
                    *next += 1;
                    (rows::supplied_key(values)?, Some(*next - 1))
                }
                None => return Ok(Next::End),
            },
            Way::Range(range, index) => match range.next(self.kind) {
                Err(need) => return Ok(need.map_or(Next::End, Next::Need)),
                Ok((key, row)) => match index {
                    None => {
                        return Ok(Next::Row(Found { key, row, supplied: None }));
                    }
                    Some(index) => (rows::indexed_key(table, &table.indexes[*index], &key, &row)?, None),
                },
            },
        };
        self.pending = Some((key.clone(), number));
        Ok(Next::Need(Need::Item(rows::table_item(table, key), self.kind)))
    }
}

impl RangeCursor {
    /// Reads a range, if any; `hint` rows will be enough, if given.
    pub fn new(range: Option<KeyRange>, hint: Option<u64>, reverse: bool) -> RangeCursor {
        let enough = hint.map(|rows| rows.clamp(1, u64::from(SCAN_ROWS_MAX)) as u32);
        RangeCursor { left: range, batch: Vec::new().into_iter(), limit: enough.unwrap_or(SCAN_ROWS_FIRST), reverse }
    }

    /// A batch has come.
    pub fn take(&mut self, rows: Vec<(Key, Row)>, left: Option<KeyRange>) {
        self.batch = rows.into_iter();
        self.left = left;
        self.limit = SCAN_ROWS_MAX;
    }

    /// The next row; or what is needed first, nothing at the end.
    pub fn next(&mut self, kind: AccessKind) -> Result<(Key, Row), Option<Need>> {
        self.batch.next().ok_or_else(|| {
            let range = self.left.take()?;
            Some(Need::Range(RangeNeed { range, kind, limit: self.limit, reverse: self.reverse }))
        })
    }
}
