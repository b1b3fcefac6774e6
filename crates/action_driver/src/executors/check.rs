//! Executes `Action::CheckReferences`: a table that is there gets a foreign key.
//!
//! Invariant: everything is read under one lock on the whole table and as one range, as for a copy.

use crate::cursor::RangeCursor;
use crate::need::ExecutorEvent;
use crate::rows::{self, ColumnSet};
use crate::scene::{ExecutorStep, Scene};
use messages::KeyRange;
use messages::concurrency::AccessKind;
use messages::program::{Action, RowLockWait};
use messages::schema::TableSchema;
use messages::session::Failure;
use serde::{Deserialize, Serialize};

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
        let Action::CheckReferences { table } = action else { unreachable!("begun for a check") };
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
                    scene.note_change(table, None, Some(&values))?;
                }
            }
        }
    }
}
