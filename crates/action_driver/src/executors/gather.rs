//! Executes `Action::Gather`.
//!
//! Invariant: what it selects is returned to nobody; actions behind it refer to it as a value.

use crate::executors::select::SelectRun;
use crate::failure;
use crate::need::ExecutorEvent;
use crate::scene::{ExecutorStep, Results, Scene};
use messages::program::Action;
use messages::session::Failure;
use serde::{Deserialize, Serialize};
use values::Value;

/// Values being gathered.
#[derive(Debug, Serialize, Deserialize)]
pub struct GatherRun {
    selection: SelectRun,
    found: Results,
}

impl GatherRun {
    /// Begins the selection. Errors: those of its bounds.
    pub fn begin(selection: &Action, scene: &Scene) -> Result<GatherRun, Failure> {
        Ok(GatherRun { selection: SelectRun::begin(selection, scene)?, found: Results::default() })
    }

    /// Goes on. Errors: 21000, and those of the selection.
    pub fn resume(
        &mut self,
        action: &Action,
        scene: &mut Scene,
        event: ExecutorEvent,
    ) -> Result<ExecutorStep, Failure> {
        let Action::Gather { selection, array, .. } = action else { unreachable!("begun for what is gathered") };
        std::mem::swap(scene.results, &mut self.found);
        let step = self.selection.resume(selection, scene, event);
        std::mem::swap(scene.results, &mut self.found);
        match step? {
            ExecutorStep::Done if array.is_none() && self.found.rows.len() > 1 => Err(failure::several_values()),
            ExecutorStep::Done => Ok(ExecutorStep::Gathered),
            step => Ok(step),
        }
    }

    /// Keeps what was found in its place.
    pub fn keep(self, action: &Action, gathered: &mut Vec<Value>) {
        let Action::Gather { place, array, .. } = action else { unreachable!("begun for what is gathered") };
        let mut found = self.found.rows.into_iter().filter_map(|row| row.into_iter().next());
        let value = match array {
            Some(element) => Value::array(*element, found.collect()),
            None => found.next().unwrap_or(Value::Null),
        };
        let place = usize::from(*place);
        if gathered.len() <= place {
            gathered.resize(place + 1, Value::Null);
        }
        gathered[place] = value;
    }
}
