//! Executes `Action::CheckReferences`: a table that is there gets a foreign key; and `Action::CheckDomain`: a domain that its columns have becomes stricter.
//!
//! Invariant: everything is read under one lock on the whole table and as one range, as for a copy.

use crate::cursor::RangeCursor;
use crate::failure;
use crate::need::ExecutorEvent;
use crate::rows::{self, ColumnSet};
use crate::scene::{ExecutorStep, Scene};
use messages::KeyRange;
use messages::concurrency::AccessKind;
use messages::program::{Action, Expression, RowLockWait};
use messages::schema::TableSchema;
use messages::session::Failure;
use serde::{Deserialize, Serialize};
use values::Value;

/// Keys noted before they are looked at.
const BATCH_CHECKED: usize = 1_000;

/// A check under way.
#[derive(Debug, Serialize, Deserialize)]
pub struct CheckRun {
    cursor: RangeCursor,
}

impl CheckRun {
    /// Reads all of a table.
    pub fn begin(table: &TableSchema) -> CheckRun {
        CheckRun { cursor: RangeCursor::new(Some(KeyRange::whole(table.storage)), None, false) }
    }

    /// Goes on.
    pub fn resume(
        &mut self,
        action: &Action,
        scene: &mut Scene,
        event: ExecutorEvent,
    ) -> Result<ExecutorStep, Failure> {
        let (Action::CheckReferences { table } | Action::CheckDomain { table, .. }) = action else {
            unreachable!("begun for a check")
        };
        if let ExecutorEvent::Batch(rows, left) = event {
            self.cursor.take(rows, left);
        }
        let mut values = Vec::new();
        loop {
            // One batch after the other: a table may have more rows than memory has room for what they name.
            if scene.changes.len() >= BATCH_CHECKED {
                return Ok(ExecutorStep::Check);
            }
            match self.cursor.next(AccessKind::Read, RowLockWait::Wait) {
                Err(Some(need)) => return Ok(ExecutorStep::Need(need)),
                Err(None) => return Ok(ExecutorStep::Done),
                Ok((key, row)) => {
                    rows::decode_into(table, ColumnSet::ALL, &key, &row, &mut values)?;
                    match action {
                        Action::CheckDomain { columns, condition, .. } => {
                            check_domain(table, columns, condition.as_ref(), &values, scene)?;
                        }
                        _ => scene.note_change(table, None, Some(&values))?,
                    }
                }
            }
        }
    }
}

/// Whether the columns of a row are as their domain wants them now. Errors: 23502, 23514, and those of the condition.
fn check_domain(
    table: &TableSchema,
    columns: &[usize],
    condition: Option<&Expression>,
    values: &[Value],
    scene: &Scene,
) -> Result<(), Failure> {
    for &column in columns {
        let value = std::slice::from_ref(&values[column]);
        match condition {
            None if value[0].is_null() => return Err(failure::null_in_domain(table, column)),
            Some(condition) if scene.scope.evaluate(condition, value)?.as_boolean() == Some(false) => {
                return Err(failure::violates_new_constraint(table, column));
            }
            _ => {}
        }
    }
    Ok(())
}
