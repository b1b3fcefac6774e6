//! The rows of a source, one after the other, whichever way they are found.
//!
//! Invariant: each row is handed out at most once, with the permission that the statement needs. Rows of a key range are
//! permitted with their range; rows that an index leads to are permitted one by one. Rows that others may have locked and that are then left out are handed
//! out without permission, as they were found: who wants one asks for it.

use crate::expression::ExpressionScope;
use crate::limits::{SCAN_ROWS_FIRST, SCAN_ROWS_MAX};
use crate::need::{Access, ExecutorEvent, ExecutorNeed, RangeAccess, RangeNeed};
use crate::ranges;
use crate::rows;
use messages::concurrency::AccessKind;
use messages::program::{AccessPath, RowLockWait, RowSource};
use messages::remaining;
use messages::session::Failure;
use messages::{Key, KeyRange, Row};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::VecDeque;
use values::Value;

/// A source being read.
#[derive(Debug, Serialize, Deserialize)]
pub struct SourceCursor {
    kind: AccessKind,
    wait: RowLockWait,
    way: CursorPath,
    /// A row whose item is being read.
    pending: Option<(Key, Option<usize>)>,
}

#[derive(Debug, Serialize, Deserialize)]
enum CursorPath {
    /// By key.
    Keys(#[serde(with = "remaining")] smallvec::IntoIter<[Key; 1]>),
    /// By the keys supplied with the execution, from this one on.
    Supplied(usize),
    /// By ranges, of an index at this position or of the table.
    Ranges(RangeCursor, Option<usize>),
}

/// Ranges without overlap being read in batches, one after the other.
#[derive(Debug, Serialize, Deserialize)]
pub struct RangeCursor {
    left: VecDeque<KeyRange>,
    #[serde(with = "remaining")]
    batch: std::vec::IntoIter<(Key, Row)>,
    limit: u32,
    reverse: bool,
}

/// A row found.
#[derive(Debug, Serialize, Deserialize)]
pub struct FoundRow {
    /// Its key.
    pub key: Key,
    /// Its bytes.
    pub row: Row,
    /// The supplied row that led to it.
    pub supplied: Option<usize>,
}

/// What a cursor comes up with.
#[derive(Debug)]
pub enum CursorStep {
    /// Something is needed first.
    Need(ExecutorNeed),
    /// A row.
    Row(FoundRow),
    /// There are no more.
    End,
}

impl SourceCursor {
    /// Reads the source; `hint` rows will be enough, if given.
    pub fn new(
        source: &RowSource,
        kind: AccessKind,
        hint: Option<u64>,
        scope: &ExpressionScope,
    ) -> Result<SourceCursor, Failure> {
        let range = |range: Option<KeyRange>| RangeCursor::new(range, hint, source.reverse);
        let way = match &source.path {
            AccessPath::Point(columns) => {
                let keys: SmallVec<[Key; 1]> = ranges::point(columns, scope)?.into_iter().collect();
                CursorPath::Keys(keys.into_iter())
            }
            AccessPath::OneOf(one_of) => {
                let mut prefixes = ranges::one_of(one_of, scope)?;
                if source.reverse {
                    prefixes.reverse();
                }
                let table = &source.table;
                let storage = one_of.index.map_or(table.storage, |index| table.indexes[index].storage);
                if one_of.index.is_none() && one_of.equal.len() + 1 == table.primary_key.len() {
                    CursorPath::Keys(prefixes.iter().map(|key| Key::new(key)).collect::<SmallVec<_>>().into_iter())
                } else {
                    let ranges = prefixes.iter().map(|prefix| ranges::prefixed(storage, prefix));
                    CursorPath::Ranges(RangeCursor::new(ranges, hint, source.reverse), one_of.index)
                }
            }
            AccessPath::KeyRange(bounds) => {
                CursorPath::Ranges(range(ranges::range(source.table.storage, bounds, scope)?), None)
            }
            AccessPath::IndexRange(index, bounds) => {
                let storage = source.table.indexes[*index].storage;
                CursorPath::Ranges(range(ranges::range(storage, bounds, scope)?), Some(*index))
            }
            AccessPath::Supplied => CursorPath::Supplied(0),
        };
        let pending = None;
        Ok(SourceCursor { kind, wait: RowLockWait::Wait, way, pending })
    }

    /// The same, for a statement that does this about rows that are locked.
    pub fn waiting(self, wait: RowLockWait) -> SourceCursor {
        SourceCursor { wait, ..self }
    }

    /// The key of the row, at the beginning, when it is found by that alone.
    pub fn only_key(&self) -> Option<&Key> {
        match &self.way {
            CursorPath::Keys(keys) => keys.as_slice().first().filter(|_| keys.len() == 1),
            _ => None,
        }
    }

    /// The one row that it will ask for, if that is known by its key.
    pub fn access(&self, source: &RowSource) -> Option<Access> {
        if self.wait != RowLockWait::Wait {
            return None;
        }
        let item = rows::table_item(&source.table, self.only_key()?.clone());
        Some(Access { item, kind: self.kind, reads: true })
    }

    /// The next row. `event` answers the last need, or is [`ExecutorEvent::Go`].
    pub fn next(
        &mut self,
        source: &RowSource,
        supplied: &[Vec<Value>],
        event: ExecutorEvent,
    ) -> Result<CursorStep, Failure> {
        let table = &source.table;
        match event {
            ExecutorEvent::Item(row) => {
                let (key, supplied) = self.pending.take().expect("an item was asked for");
                if let Some(row) = row {
                    return Ok(CursorStep::Row(FoundRow { key, row, supplied }));
                }
            }
            ExecutorEvent::Batch(mut rows, _) if self.pending.is_some() => {
                let (key, supplied) = self.pending.take().expect("looked at just above");
                if let Some((_, row)) = rows.pop() {
                    return Ok(CursorStep::Row(FoundRow { key, row, supplied }));
                }
            }
            ExecutorEvent::Batch(rows, left) => {
                if let CursorPath::Ranges(range, _) = &mut self.way {
                    range.take(rows, left);
                }
            }
            _ => {}
        }
        let (key, number) = match &mut self.way {
            CursorPath::Keys(keys) => match keys.next() {
                Some(key) => (key, None),
                None => return Ok(CursorStep::End),
            },
            CursorPath::Supplied(next) => match supplied.get(*next) {
                Some(values) => {
                    *next += 1;
                    (rows::supplied_key(values)?, Some(*next - 1))
                }
                None => return Ok(CursorStep::End),
            },
            CursorPath::Ranges(range, index) => match range.next(self.kind, self.wait) {
                Err(need) => return Ok(need.map_or(CursorStep::End, CursorStep::Need)),
                Ok((key, row)) => match index {
                    None => {
                        return Ok(CursorStep::Row(FoundRow { key, row, supplied: None }));
                    }
                    Some(index) => (rows::indexed_key(table, &table.indexes[*index], &key, &row)?, None),
                },
            },
        };
        self.pending = Some((key.clone(), number));
        let item = rows::table_item(table, key);
        Ok(CursorStep::Need(match self.wait {
            RowLockWait::Wait => ExecutorNeed::Item(item, self.kind),
            RowLockWait::Error => ExecutorNeed::ItemUnlessTaken(item, self.kind),
            RowLockWait::Skip => {
                let range = KeyRange::point(item.table, item.key);
                ExecutorNeed::Range(RangeNeed {
                    range,
                    kind: self.kind,
                    limit: 1,
                    reverse: false,
                    access: RangeAccess::Peeks,
                })
            }
        }))
    }
}

impl RangeCursor {
    /// Reads these ranges; `hint` rows will be enough, if given.
    pub fn new(ranges: impl IntoIterator<Item = KeyRange>, hint: Option<u64>, reverse: bool) -> RangeCursor {
        let enough = hint.map(|rows| rows.clamp(1, u64::from(SCAN_ROWS_MAX)) as u32);
        RangeCursor {
            left: ranges.into_iter().collect(),
            batch: Vec::new().into_iter(),
            limit: enough.unwrap_or(SCAN_ROWS_FIRST),
            reverse,
        }
    }

    /// A batch has come.
    pub fn take(&mut self, rows: Vec<(Key, Row)>, left: Option<KeyRange>) {
        self.batch = rows.into_iter();
        // The rest of this range comes before the next one.
        left.into_iter().for_each(|left| self.left.push_front(left));
        self.limit = SCAN_ROWS_MAX;
    }

    /// The next row; or what is needed first, nothing at the end.
    pub fn next(&mut self, kind: AccessKind, wait: RowLockWait) -> Result<(Key, Row), Option<ExecutorNeed>> {
        self.batch.next().ok_or_else(|| {
            let range = self.left.pop_front()?;
            let access = match wait {
                RowLockWait::Wait => RangeAccess::Waits,
                RowLockWait::Error => RangeAccess::UnlessTaken,
                RowLockWait::Skip => RangeAccess::Peeks,
            };
            Some(ExecutorNeed::Range(RangeNeed { range, kind, limit: self.limit, reverse: self.reverse, access }))
        })
    }
}
