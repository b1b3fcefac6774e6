//! Executes `Action::Delete`.
//!
//! Invariant: a row goes with all its index entries. Rows are deleted as they are found: a deletion brings nothing into view.

use crate::cursor::{CursorStep, SourceCursor};
use crate::need::{Access, ExecutorEvent};
use crate::row_write::{Image, RowWrite, RowWriteProgress, WritePart};
use crate::rows::{self, ColumnSet};
use crate::scene::{ExecutorStep, Scene};
use messages::concurrency::AccessKind;
use messages::program::{Action, Expression, RowSource};
use messages::schema::IndexSchema;
use messages::session::Failure;
use serde::{Deserialize, Serialize};
use values::Value;

/// A deletion under way.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeleteRun {
    cursor: SourceCursor,
    columns: ColumnSet,
    row: Vec<Value>,
    /// The row at hand being deleted.
    write: Option<RowWrite>,
}

impl DeleteRun {
    /// Evaluates bounds. Errors: those of the expressions.
    pub fn begin(action: &Action, scene: &Scene) -> Result<DeleteRun, Failure> {
        let Action::Delete { source, filter, returning, guard } = action else { unreachable!("begun for a deletion") };
        let table = &source.table;
        let mut columns = ColumnSet::default();
        columns.add_all(returning.iter().chain(filter));
        if guard.is_some() || scene.references.iter().any(|reference| reference.parent.oid == table.oid) {
            columns = ColumnSet::ALL;
        } else if !table.indexes.is_empty() {
            let indexed = table.indexes.iter().flat_map(IndexSchema::columns_used);
            for column in indexed.chain(table.primary_key.iter().copied()) {
                columns.add_column(column);
            }
            columns.add_column(table.columns.len());
        }
        Ok(DeleteRun {
            cursor: SourceCursor::new(source, AccessKind::Write, None, &scene.scope)?,
            columns,
            row: Vec::new(),
            write: None,
        })
    }

    /// What it will ask for, if that is one row known by its key.
    pub fn access(&self, action: &Action) -> Option<Access> {
        let Action::Delete { source, .. } = action else { unreachable!("begun for a deletion") };
        self.cursor.access(source)
    }

    /// Goes on. Errors: 54000, and those of the expressions.
    pub fn resume(
        &mut self,
        action: &Action,
        scene: &mut Scene,
        event: ExecutorEvent,
    ) -> Result<ExecutorStep, Failure> {
        let Action::Delete { source, filter, returning, guard } = action else { unreachable!("begun for a deletion") };
        let mut event = event;
        loop {
            if let Some(write) = &mut self.write {
                match write.resume(event, scene.transaction)? {
                    RowWriteProgress::Need(need) => return Ok(ExecutorStep::Need(need)),
                    RowWriteProgress::Exists(..) => unreachable!("a deletion claims no key"),
                    RowWriteProgress::Done => {}
                }
                self.write = None;
                self.finish_row(source, returning, scene)?;
                event = ExecutorEvent::Go;
            }
            let found = match self.cursor.next(source, scene.supplied, event)? {
                CursorStep::Need(need) => return Ok(ExecutorStep::Need(need)),
                CursorStep::End => return Ok(ExecutorStep::Done),
                CursorStep::Row(found) => found,
            };
            event = ExecutorEvent::Go;
            if scene.transaction.has_changed(&rows::table_item(&source.table, found.key.clone())) {
                continue;
            }
            rows::decode_into(&source.table, self.columns, &found.key, &found.row, &mut self.row)?;
            if let Some(number) = found.supplied {
                self.row.extend_from_slice(&scene.supplied[number][1..]);
            }
            if scene.scope.passes(filter.as_ref(), &self.row)? {
                if let Some(guard) = guard {
                    rows::check_guard(&guard.old, &self.row, &scene.scope)?;
                }
                let old = Image { key: &found.key, values: &self.row };
                self.write = Some(RowWrite::plan(&source.table, Some(old), None, WritePart::Both, &scene.scope)?);
            }
        }
    }

    fn finish_row(&self, source: &RowSource, returning: &[Expression], scene: &mut Scene) -> Result<(), Failure> {
        scene.results.affected += 1;
        scene.note_change(&source.table, Some(&self.row), None)?;
        if !returning.is_empty() {
            scene.results.push(scene.scope.evaluate_all(returning, &self.row)?)?;
        }
        Ok(())
    }
}
