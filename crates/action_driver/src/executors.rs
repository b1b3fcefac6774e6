//! The executors, a file for each kind of action, and the one that runs.

mod catalog;
mod check;
mod delete;
mod insert;
mod notify;
mod rebuild;
mod select;
mod sequence;
mod update;

use crate::failure;
use crate::need::{Access, Event};
use crate::scene::{Scene, Step};
use catalog::CatalogRun;
use check::CheckRun;
use delete::DeleteRun;
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
pub(crate) enum Running {
    Select(SelectRun),
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
}

impl Running {
    /// Begins an action.
    pub(crate) fn begin(action: &Action, scene: &mut Scene) -> Result<Running, Failure> {
        Ok(match action {
            Action::Bind { .. } => {
                return Err(failure::statement("XX000", "parameters are bound in the middle of a program"));
            }
            Action::Select { .. } => Running::Select(SelectRun::begin(action, scene)?),
            Action::Insert { .. } => Running::Insert(InsertRun::default()),
            Action::Update { .. } => Running::Update(UpdateRun::begin(action, scene)?),
            Action::Delete { .. } => Running::Delete(DeleteRun::begin(action, scene)?),
            Action::Catalog { .. } => Running::Catalog(CatalogRun::default()),
            Action::Rebuild { from, .. } => Running::Rebuild(RebuildRun::begin(from)),
            Action::SetSequence { .. } => Running::Sequence(SequenceRun),
            Action::CheckReferences { table } => Running::Check(CheckRun::begin(table)),
            Action::Defer(_) => Running::Defer,
            Action::Notify { .. } => Running::Notify,
        })
    }

    /// Begins an action that may have others before it, and adds what it accesses. `None`: it has to wait for its turn.
    pub(crate) fn begin_ahead(
        action: &Action,
        scene: &mut Scene,
        accesses: &mut Vec<Access>,
    ) -> Result<Option<Running>, Failure> {
        let is_of_rows = matches!(
            action,
            Action::Select { .. } | Action::Insert { .. } | Action::Update { .. } | Action::Delete { .. }
        );
        if !is_of_rows {
            return Ok(None);
        }
        let mut running = Running::begin(action, scene)?;
        match &mut running {
            Running::Select(run) => accesses.extend(run.access(action)),
            Running::Insert(run) => accesses.extend(run.begin_ahead(action, scene)?),
            Running::Update(run) => accesses.extend(run.access(action)),
            Running::Delete(run) => accesses.extend(run.access(action)),
            Running::Catalog(_) | Running::Rebuild(_) | Running::Sequence(_) | Running::Check(_) | Running::Defer => {}
            Running::Notify => {}
        }
        Ok(Some(running))
    }

    /// Goes on until something is needed or all is done.
    pub(crate) fn resume(&mut self, action: &Action, scene: &mut Scene, event: Event) -> Result<Step, Failure> {
        match self {
            Running::Select(run) => run.resume(action, scene, event),
            Running::Insert(run) => run.resume(action, scene, event),
            Running::Update(run) => run.resume(action, scene, event),
            Running::Delete(run) => run.resume(action, scene, event),
            Running::Catalog(run) => run.resume(action, scene, event),
            Running::Rebuild(run) => run.resume(action, scene, event),
            Running::Sequence(run) => run.resume(action, scene, event),
            Running::Check(run) => run.resume(action, scene, event),
            Running::Defer => Ok(Step::Done),
            Running::Notify => notify::run(action, scene),
        }
    }
}
