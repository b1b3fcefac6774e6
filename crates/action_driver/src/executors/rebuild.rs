//! Executes `Action::Rebuild`: copies the rows of a table into another layout.
//!
//! Invariant: everything is read under one lock on the whole table and as one range, so that a row which changes meanwhile
//! makes the transaction lose.

use crate::cursor::RangeCursor;
use crate::failure;
use crate::need::{ExecutorEvent, ExecutorNeed};
use crate::row_write::{self, Image, RowWrite, RowWriteProgress, WritePart};
use crate::rows::{self, ColumnSet};
use crate::scene::{ExecutorStep, Scene};
use messages::concurrency::AccessKind;
use messages::program::{Action, ConflictKey, Expression, RowLockWait};
use messages::schema::{Column, TableSchema};
use messages::session::Failure;
use messages::{Key, KeyRange, Row};
use serde::{Deserialize, Serialize};
use values::Value;

/// A copy under way.
#[derive(Debug, Serialize, Deserialize)]
pub struct RebuildRun {
    cursor: RangeCursor,
    values: Vec<Value>,
    /// The row at hand being written.
    write: Option<RowWrite>,
}

/// The parts of the action.
struct TableRebuild<'a> {
    from: &'a TableSchema,
    to: &'a TableSchema,
    index: Option<usize>,
    fill: &'a [(usize, Expression)],
}

impl RebuildRun {
    /// Reads all of a table.
    pub fn begin(from: &TableSchema) -> RebuildRun {
        RebuildRun {
            cursor: RangeCursor::new(Some(KeyRange::whole(from.storage)), None, false),
            values: Vec::new(),
            write: None,
        }
    }

    /// Goes on. Errors: 23505, 23502, 54000.
    pub fn resume(
        &mut self,
        action: &Action,
        scene: &mut Scene,
        event: ExecutorEvent,
    ) -> Result<ExecutorStep, Failure> {
        let Action::Rebuild { from, to, index, fill } = action else { unreachable!("begun for a copy") };
        let mut event = match event {
            ExecutorEvent::Batch(rows, left) => {
                self.cursor.take(rows, left);
                ExecutorEvent::Go
            }
            other => other,
        };
        loop {
            if let Some(write) = &mut self.write {
                match write.resume(event, scene.transaction)? {
                    RowWriteProgress::Need(need) => return Ok(ExecutorStep::Need(need)),
                    RowWriteProgress::Exists(target, _) => return Err(duplicate(to, target, &self.values, scene)),
                    RowWriteProgress::Done => self.write = None,
                }
                if scene.transaction.is_chunk_due(scene.rules.chunk_rows) {
                    return Ok(ExecutorStep::Need(ExecutorNeed::Chunk));
                }
            }
            event = ExecutorEvent::Go;
            match self.cursor.next(AccessKind::Read, RowLockWait::Wait) {
                Err(Some(need)) => return Ok(ExecutorStep::Need(need)),
                Err(None) => return Ok(ExecutorStep::Done),
                Ok((key, row)) => {
                    self.write = Some(self.plan(&TableRebuild { from, to, index: *index, fill }, scene, &key, &row)?)
                }
            }
        }
    }

    fn plan(&mut self, copy: &TableRebuild, scene: &mut Scene, key: &Key, row: &Row) -> Result<RowWrite, Failure> {
        let TableRebuild { from, to, index, fill } = *copy;
        rows::decode_into(from, ColumnSet::ALL, key, row, &mut self.values)?;
        let mut filled: Vec<(usize, Value)> = Vec::with_capacity(fill.len());
        for (column, computed) in fill {
            filled.push((*column, scene.scope.evaluate(computed, &self.values)?.into_owned()));
        }
        for (column, (old, new)) in from.columns.iter().zip(&to.columns).enumerate() {
            let value = &mut self.values[column];
            if let Some((_, computed)) = filled.iter().find(|(filled, _)| *filled == column) {
                value.clone_from(computed);
                continue;
            }
            if (old.column_type != new.column_type || new.column_type.has_labels()) && !new.dropped {
                *value =
                    values::cast::assign_in(value, new.column_type, scene.scope.zone).map_err(failure::of_value)?;
            }
        }
        if index.is_none() {
            rows::generate(to, &mut self.values, &scene.scope)?;
        }
        let is_wrong = |(new, value): (&Column, &Value)| new.not_null && value.is_null();
        if let Some(column) = to.columns.iter().zip(&self.values).position(is_wrong) {
            return Err(failure::contains_null(to, column));
        }
        if index.is_none()
            && let Some(check) =
                rows::violated(to.checks.iter().filter(|check| check.is_valid), &self.values, &scene.scope)?
        {
            return Err(failure::check_violated_before(to, &check.name));
        }
        if to.has_hidden_key() && !from.has_hidden_key() {
            let (life, _) = scene.transaction.identity.expect("a transaction that writes has begun");
            self.values.push(scene.hidden_keys.next(life)?);
        }
        let key = rows::table_key(to, &self.values);
        let new = Image { key: &key, values: &self.values };
        Ok(match index {
            None => RowWrite::plan(to, None, Some(new), WritePart::Both, &scene.scope)?,
            Some(position) => RowWrite::plan_index(to, position, new, &scene.scope)?,
        })
    }
}

/// PostgreSQL's words for a duplicate found while an index is built.
fn duplicate(table: &TableSchema, target: ConflictKey, values: &[Value], scene: &Scene) -> Failure {
    let mut failure = row_write::exists(table, target, values, &scene.scope);
    if let Failure::Statement(wrong) = &mut failure
        && let Some(name) = &wrong.constraint
    {
        wrong.message = format!("could not create unique index \"{name}\"");
        wrong.detail = wrong.detail.take().map(|text| text.replace(") already exists.", ") is duplicated."));
    }
    failure
}
