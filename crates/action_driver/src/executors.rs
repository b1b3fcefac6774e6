//! The executors, a file for each kind of action, and the one that runs.

mod catalog;
mod check;
mod delete;
mod gather;
mod insert;
mod lock_table;
mod notify;
mod rebuild;
mod select;
mod sequence;
mod update;

use crate::failure;
use crate::need::{Access, ExecutorEvent};
use crate::scene::{ExecutorStep, Scene};
use catalog::CatalogRun;
use check::CheckRun;
use delete::DeleteRun;
use gather::GatherRun;
use insert::InsertRun;
use messages::program::Action;
use messages::session::Failure;
use rebuild::RebuildRun;
use select::SelectRun;
use sequence::SequenceRun;
use serde::{Deserialize, Serialize};
use update::UpdateRun;

/// An action that has begun.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum RunningAction {
    Select(SelectRun),
    Gather(GatherRun),
    LockTable,
    Insert(InsertRun),
    Update(UpdateRun),
    Delete(DeleteRun),
    Catalog(CatalogRun),
    Rebuild(RebuildRun),
    Sequence(SequenceRun),
    Check(CheckRun),
    /// Nothing is left to do: what follows looks at what was put off.
    Defer,
    Notify,
    /// Nothing is left to do: what follows does what a statement's edge is for.
    Statement,
}

impl RunningAction {
    /// Begins an action.
    pub(crate) fn begin(action: &Action, scene: &mut Scene) -> Result<RunningAction, Failure> {
        Ok(match action {
            Action::Bind { .. } => {
                return Err(failure::statement(
                    sqlstate::INTERNAL_ERROR,
                    "parameters are bound in the middle of a program",
                ));
            }
            Action::Select { .. } => RunningAction::Select(SelectRun::begin(action, scene)?),
            Action::Gather { selection, .. } => RunningAction::Gather(GatherRun::begin(selection, scene)?),
            Action::LockTable { .. } => RunningAction::LockTable,
            Action::Insert { .. } => RunningAction::Insert(InsertRun::default()),
            Action::Update { .. } => RunningAction::Update(UpdateRun::begin(action, scene)?),
            Action::Delete { .. } => RunningAction::Delete(DeleteRun::begin(action, scene)?),
            Action::Catalog { .. } => RunningAction::Catalog(CatalogRun::default()),
            Action::Rebuild { from, .. } => RunningAction::Rebuild(RebuildRun::begin(from)),
            Action::SetSequence { .. } => RunningAction::Sequence(SequenceRun),
            Action::CheckReferences { table } | Action::CheckDomain { table, .. } => {
                RunningAction::Check(CheckRun::begin(table))
            }
            Action::Defer(_) => RunningAction::Defer,
            Action::Notify { .. } => RunningAction::Notify,
            Action::Statement(_) => RunningAction::Statement,
        })
    }

    /// Begins an action that may have others before it, and adds what it accesses. `None`: it has to wait for its turn.
    pub(crate) fn begin_ahead(
        action: &Action,
        scene: &mut Scene,
        accesses: &mut Vec<Access>,
    ) -> Result<Option<RunningAction>, Failure> {
        let is_of_rows = matches!(
            action,
            Action::Select { .. } | Action::Insert { .. } | Action::Update { .. } | Action::Delete { .. }
        );
        if !is_of_rows {
            return Ok(None);
        }
        let mut running = RunningAction::begin(action, scene)?;
        match &mut running {
            RunningAction::Select(run) => accesses.extend(run.access(action)),
            RunningAction::Insert(run) => accesses.extend(run.begin_ahead(action, scene)?),
            RunningAction::Update(run) => accesses.extend(run.access(action)),
            RunningAction::Delete(run) => accesses.extend(run.access(action)),
            RunningAction::Catalog(_)
            | RunningAction::Gather(_)
            | RunningAction::LockTable
            | RunningAction::Rebuild(_)
            | RunningAction::Sequence(_)
            | RunningAction::Check(_)
            | RunningAction::Defer => {}
            RunningAction::Notify | RunningAction::Statement => {}
        }
        Ok(Some(running))
    }

    /// Goes on until something is needed or all is done.
    pub(crate) fn resume(
        &mut self,
        action: &Action,
        scene: &mut Scene,
        event: ExecutorEvent,
    ) -> Result<ExecutorStep, Failure> {
        match self {
            RunningAction::Select(run) => run.resume(action, scene, event),
            RunningAction::Gather(run) => run.resume(action, scene, event),
            RunningAction::LockTable => lock_table::run(action, event),
            RunningAction::Insert(run) => run.resume(action, scene, event),
            RunningAction::Update(run) => run.resume(action, scene, event),
            RunningAction::Delete(run) => run.resume(action, scene, event),
            RunningAction::Catalog(run) => run.resume(action, scene, event),
            RunningAction::Rebuild(run) => run.resume(action, scene, event),
            RunningAction::Sequence(run) => run.resume(action, scene, event),
            RunningAction::Check(run) => run.resume(action, scene, event),
            RunningAction::Defer | RunningAction::Statement => Ok(ExecutorStep::Done),
            RunningAction::Notify => notify::run(action, scene),
        }
    }
}
