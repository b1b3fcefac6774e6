//! Executes `Action::Select`.
//!
//! Invariant: only the columns that filter and output use are decoded, and no more rows are read than LIMIT can return.

use crate::cursor::{CursorStep, SourceCursor};
use crate::expression::ExpressionScope;
use crate::failure;
use crate::need::{Access, ExecutorEvent};
use crate::rows::{self, ColumnSet};
use crate::scene::{ExecutorStep, Scene};
use messages::concurrency::AccessKind;
use messages::program::{Action, Expression, RowLockStrength};
use messages::session::Failure;
use serde::{Deserialize, Serialize};
use values::Value;

/// A selection under way.
#[derive(Debug, Serialize, Deserialize)]
pub struct SelectRun {
    /// `None`: one row without columns.
    cursor: Option<SourceCursor>,
    columns: ColumnSet,
    skip: u64,
    left: Option<u64>,
    row: Vec<Value>,
}

impl SelectRun {
    /// Evaluates bounds, offset and limit. Errors: 2201W, 2201X, and those of the expressions.
    pub fn begin(action: &Action, scene: &Scene) -> Result<SelectRun, Failure> {
        let Action::Select { source, filter, output, offset, limit, lock } = action else {
            unreachable!("begun for a selection")
        };
        let skip = count(offset.as_ref(), &scene.scope, sqlstate::INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE, "OFFSET")?
            .unwrap_or(0);
        let left = count(limit.as_ref(), &scene.scope, sqlstate::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE, "LIMIT")?;
        let kind = match lock {
            Some(RowLockStrength::Update) => AccessKind::Write,
            Some(RowLockStrength::Share) | None => AccessKind::Read,
        };
        let hint = left.filter(|_| filter.is_none()).map(|left| left.saturating_add(skip));
        let cursor = source.as_ref().map(|source| SourceCursor::new(source, kind, hint, &scene.scope)).transpose()?;
        let mut columns = ColumnSet::default();
        columns.add_all(output.iter().chain(filter));
        Ok(SelectRun { cursor, columns, skip, left, row: Vec::new() })
    }

    /// What it will ask for, if that is one row known by its key.
    pub fn access(&self, action: &Action) -> Option<Access> {
        let Action::Select { source, .. } = action else { unreachable!("begun for a selection") };
        self.cursor.as_ref()?.access(source.as_ref()?)
    }

    /// Goes on. Errors: those of the expressions, and 54000.
    pub fn resume(
        &mut self,
        action: &Action,
        scene: &mut Scene,
        event: ExecutorEvent,
    ) -> Result<ExecutorStep, Failure> {
        let Action::Select { source, filter, output, .. } = action else { unreachable!("begun for a selection") };
        let (Some(cursor), Some(source)) = (&mut self.cursor, source) else {
            if self.left != Some(0) && scene.scope.passes(filter.as_ref(), &[])? && self.skip == 0 {
                scene.results.push(scene.scope.evaluate_all(output, &[])?)?;
                scene.results.affected = 1;
            }
            return Ok(ExecutorStep::Done);
        };
        let mut event = event;
        while self.left != Some(0) {
            let found = match cursor.next(source, scene.supplied, event)? {
                CursorStep::Need(need) => return Ok(ExecutorStep::Need(need)),
                CursorStep::End => break,
                CursorStep::Row(found) => found,
            };
            event = ExecutorEvent::Go;
            rows::decode_into(&source.table, self.columns, &found.key, &found.row, &mut self.row)?;
            if let Some(number) = found.supplied {
                self.row.extend_from_slice(&scene.supplied[number][1..]);
            }
            if !scene.scope.passes(filter.as_ref(), &self.row)? {
                continue;
            }
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            self.left = self.left.map(|left| left - 1);
            scene.results.push(scene.scope.evaluate_all(output, &self.row)?)?;
            scene.results.affected += 1;
        }
        Ok(ExecutorStep::Done)
    }
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
