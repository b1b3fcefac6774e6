//! Executes `Action::LockTable`.
//!
//! Invariant: once it is done, whoever has changed the table since, at whatever site, and commits before this transaction, is this one's loss.

use crate::failure;
use crate::need::{ExecutorEvent, ExecutorNeed, RangeAccess, RangeNeed};
use crate::scene::ExecutorStep;
use messages::KeyRange;
use messages::concurrency::AccessKind;
use messages::program::{Action, RowLockStrength, RowLockWait};
use messages::session::Failure;

/// Goes on. Errors: 55P03.
pub fn run(action: &Action, event: ExecutorEvent) -> Result<ExecutorStep, Failure> {
    let Action::LockTable { table, lock } = action else { unreachable!("run for a lock of a table") };
    let Some(lock) = lock else { return Ok(ExecutorStep::Done) };
    match event {
        ExecutorEvent::Taken => Err(failure::table_is_locked(table)),
        ExecutorEvent::Batch(..) => Ok(ExecutorStep::Done),
        _ => Ok(ExecutorStep::Need(ExecutorNeed::Range(RangeNeed {
            range: KeyRange::whole(table.storage),
            kind: match lock.strength {
                RowLockStrength::Share => AccessKind::Read,
                RowLockStrength::Update => AccessKind::Write,
            },
            limit: 1,
            reverse: false,
            access: RangeAccess::Whole { unless_taken: lock.wait == RowLockWait::Error },
        }))),
    }
}
