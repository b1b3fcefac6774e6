//! Executes `Action::Select`.
//!
//! A row that others may have locked, and that is then left out, is looked at first, without a lock. One that passes is locked by itself and read again, and
//! has to pass again: another transaction may have changed it in between.
//!
//! Invariant: only the columns that filter, order and output use are decoded, and no more rows are read than LIMIT can return, unless they are sorted.

use crate::cursor::{CursorStep, FoundRow, SourceCursor};
use crate::expression::ExpressionScope;
use crate::failure;
use crate::limits::COLLECTED_BYTES_MAX;
use crate::need::{Access, ExecutorEvent, ExecutorNeed};
use crate::rows::{self, ColumnSet};
use crate::scene::{ExecutorStep, Scene};
use messages::concurrency::AccessKind;
use messages::program::{Action, Expression, RowLockStrength, RowLockWait, RowSortKey, RowSource};
use messages::session::Failure;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::VecDeque;
use values::Value;
use values::compare::compare;

/// A selection under way.
#[derive(Debug, Serialize, Deserialize)]
pub struct SelectRun {
    /// `None`: one row without columns.
    cursor: Option<SourceCursor>,
    columns: ColumnSet,
    skip: u64,
    left: Option<u64>,
    row: Vec<Value>,
    /// Rows found, with what they are sorted by, if they are; until all are, in no order.
    sorted: Vec<SortedRow>,
    collected_bytes: usize,
    /// All are found: the rest of them, sorted.
    left_sorted: Option<VecDeque<FoundRow>>,
    /// The row that is being locked by itself.
    locking: Option<FoundRow>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SortedRow {
    by: Vec<Value>,
    found: FoundRow,
}

/// The parts of the action.
struct SelectAction<'a> {
    source: &'a RowSource,
    filter: Option<&'a Expression>,
    output: &'a [Expression],
    order: &'a [RowSortKey],
}

impl SelectRun {
    /// Evaluates bounds, offset and limit. Errors: 2201W, 2201X, and those of the expressions.
    pub fn begin(action: &Action, scene: &Scene) -> Result<SelectRun, Failure> {
        let Action::Select { source, filter, output, offset, limit, lock, order } = action else {
            unreachable!("begun for a selection")
        };
        let skip = count(offset.as_ref(), &scene.scope, sqlstate::INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE, "OFFSET")?
            .unwrap_or(0);
        let left = count(limit.as_ref(), &scene.scope, sqlstate::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE, "LIMIT")?;
        let kind = lock.map_or(AccessKind::Read, |lock| kind_of(lock.strength));
        let wait = lock.map_or(RowLockWait::Wait, |lock| lock.wait);
        let returns_all = filter.is_none() && order.is_empty();
        let hint = left.filter(|_| returns_all).map(|left| left.saturating_add(skip));
        let cursor = source.as_ref().map(|source| SourceCursor::new(source, kind, hint, &scene.scope)).transpose()?;
        let cursor = cursor.map(|cursor| cursor.waiting(wait));
        let mut columns = ColumnSet::default();
        columns.add_all(output.iter().chain(filter).chain(order.iter().map(|key| &key.expression)));
        Ok(SelectRun {
            cursor,
            columns,
            skip,
            left,
            row: Vec::new(),
            sorted: Vec::new(),
            collected_bytes: 0,
            left_sorted: None,
            locking: None,
        })
    }

    /// What it will ask for, if that is one row known by its key.
    pub fn access(&self, action: &Action) -> Option<Access> {
        let Action::Select { source, .. } = action else { unreachable!("begun for a selection") };
        self.cursor.as_ref()?.access(source.as_ref()?)
    }

    /// Goes on. Errors: those of the expressions, 55P03, and 54000.
    pub fn resume(
        &mut self,
        action: &Action,
        scene: &mut Scene,
        event: ExecutorEvent,
    ) -> Result<ExecutorStep, Failure> {
        let Action::Select { source, filter, output, lock, order, .. } = action else {
            unreachable!("begun for a selection")
        };
        let (Some(_), Some(source)) = (&self.cursor, source) else {
            if self.left != Some(0) && scene.scope.passes(filter.as_ref(), &[])? && self.skip == 0 {
                scene.results.push(scene.scope.evaluate_all(output, &[])?)?;
                scene.results.affected = 1;
            }
            return Ok(ExecutorStep::Done);
        };
        let by_itself = lock.filter(|lock| lock.wait == RowLockWait::Skip).map(|lock| kind_of(lock.strength));
        let select = SelectAction { source, filter: filter.as_ref(), output, order };
        if event == ExecutorEvent::Taken && by_itself.is_none() {
            return Err(failure::row_is_locked(&source.table));
        }
        let mut event = event;
        while self.left != Some(0) {
            if let Some(found) = self.locking.take() {
                // It has gone, or somebody has it, or it is as it is now.
                if let ExecutorEvent::Item(Some(row)) = std::mem::replace(&mut event, ExecutorEvent::Go)
                    && self.passes(&select, scene, &FoundRow { row, ..found })?
                {
                    self.give(&select, scene)?;
                }
                continue;
            }
            let found = match self.find(&select, scene, std::mem::replace(&mut event, ExecutorEvent::Go))? {
                CursorStep::Need(need) => return Ok(ExecutorStep::Need(need)),
                CursorStep::End => break,
                CursorStep::Row(found) => found,
            };
            match by_itself {
                Some(kind) => {
                    let item = rows::table_item(&source.table, found.key.clone());
                    self.locking = Some(found);
                    return Ok(ExecutorStep::Need(ExecutorNeed::ItemUnlessTaken(item, kind)));
                }
                None => self.give(&select, scene)?,
            }
        }
        Ok(ExecutorStep::Done)
    }

    /// The next row that passes the filter, in order. Its columns are in `row`.
    fn find(&mut self, select: &SelectAction, scene: &mut Scene, event: ExecutorEvent) -> Result<CursorStep, Failure> {
        let mut event = event;
        while self.left_sorted.is_none() {
            let cursor = self.cursor.as_mut().expect("it has a source");
            let found =
                match cursor.next(select.source, scene.supplied, std::mem::replace(&mut event, ExecutorEvent::Go))? {
                    CursorStep::Row(found) => found,
                    CursorStep::End if !select.order.is_empty() => {
                        let mut all = std::mem::take(&mut self.sorted);
                        all.sort_by(|left, right| in_order(select.order, &left.by, &right.by));
                        self.left_sorted = Some(all.into_iter().map(|sorted| sorted.found).collect());
                        break;
                    }
                    step => return Ok(step),
                };
            if !self.passes(select, scene, &found)? {
                continue;
            }
            if select.order.is_empty() {
                return Ok(CursorStep::Row(found));
            }
            let keys =
                select.order.iter().map(|key| Ok(scene.scope.evaluate(&key.expression, &self.row)?.into_owned()));
            let by = keys.collect::<Result<Vec<_>, Failure>>()?;
            let of_key = by.iter().map(Value::size_in_memory).sum::<usize>();
            self.collected_bytes += found.key.as_bytes().len() + found.row.len() + of_key;
            if self.collected_bytes > COLLECTED_BYTES_MAX {
                return Err(failure::too_large("statement sorts too many rows"));
            }
            self.sorted.push(SortedRow { by, found });
        }
        let Some(found) = self.left_sorted.as_mut().and_then(VecDeque::pop_front) else { return Ok(CursorStep::End) };
        self.decode(select, scene, &found)?;
        Ok(CursorStep::Row(found))
    }

    fn decode(&mut self, select: &SelectAction, scene: &Scene, found: &FoundRow) -> Result<(), Failure> {
        rows::decode_into(&select.source.table, self.columns, &found.key, &found.row, &mut self.row)?;
        if let Some(number) = found.supplied {
            self.row.extend_from_slice(&scene.supplied[number][1..]);
        }
        Ok(())
    }

    fn passes(&mut self, select: &SelectAction, scene: &Scene, found: &FoundRow) -> Result<bool, Failure> {
        self.decode(select, scene, found)?;
        scene.scope.passes(select.filter, &self.row)
    }

    /// Returns the row at hand, or skips it.
    fn give(&mut self, select: &SelectAction, scene: &mut Scene) -> Result<(), Failure> {
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(());
        }
        self.left = self.left.map(|left| left - 1);
        scene.results.push(scene.scope.evaluate_all(select.output, &self.row)?)?;
        scene.results.affected += 1;
        Ok(())
    }
}

fn kind_of(strength: RowLockStrength) -> AccessKind {
    match strength {
        RowLockStrength::Update => AccessKind::Write,
        RowLockStrength::Share => AccessKind::Read,
    }
}

/// The order of two rows that are sorted.
fn in_order(order: &[RowSortKey], left: &[Value], right: &[Value]) -> Ordering {
    let keys = order.iter().zip(left.iter().zip(right));
    let orders = keys.map(|(key, (left, right))| match (left.is_null(), right.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) if key.nulls_first => Ordering::Less,
        (true, false) => Ordering::Greater,
        (false, true) if key.nulls_first => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) if key.descending => compare(right, left),
        (false, false) => compare(left, right),
    });
    orders.fold(Ordering::Equal, Ordering::then)
}

/// The number of OFFSET or LIMIT; NULL means none.
fn count(
    expression: Option<&Expression>,
    scope: &ExpressionScope,
    sqlstate: &str,
    name: &str,
) -> Result<Option<u64>, Failure> {
    let Some(expression) = expression else { return Ok(None) };
    let value = scope.evaluate(expression, &[])?;
    let Some(number) = value.as_integer() else { return Ok(None) };
    match u64::try_from(number) {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(failure::statement(sqlstate, format!("{name} must not be negative"))),
    }
}
