//! One execution of a plan.

use crate::access::{Need, ScanId, Step};
use crate::error::{ExecutionError, Stop};
use crate::operators::{Operator, build};
use crate::plan::Plan;
use crate::run::{Run, State};
use std::sync::Arc;
use values::Value;

/// How many rows are handed out at once at most.
const BATCH_ROWS_MAX: usize = 1_024;

/// What an execution may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of rows that are held at a time.
    pub memory_bytes: usize,
}

/// A plan that runs. It does nothing by itself: whoever has it resumes it and answers its needs.
pub struct Execution {
    plan: Arc<Plan>,
    root: Box<dyn Operator>,
    state: State,
    ended: bool,
}

impl Execution {
    /// A new one, with the values of `$1` and so on.
    pub fn new(plan: Arc<Plan>, parameters: Vec<Value>, limits: Limits) -> Execution {
        let root = build(plan.root());
        let state = State::new(parameters, limits, &plan);
        Execution { plan, root, state, ended: false }
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.state.memory_used
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Goes on until rows are there, something is needed, the budget of rows worked on is spent, or the end.
    ///
    /// # Errors
    /// What PostgreSQL says; afterwards the execution is at its end.
    pub fn resume(
        &mut self,
        environment: &mut evaluation::Environment<'_>,
        budget: usize,
    ) -> Result<Step, ExecutionError> {
        if let Some(need) = self.state.next_need() {
            return Ok(Step::Need(need));
        }
        if self.ended {
            return Ok(Step::Done);
        }
        let mut run = Run { state: &mut self.state, environment, budget: budget.max(1) };
        let polled = self.root.next(&mut run, BATCH_ROWS_MAX);
        match polled {
            Ok(Some(rows)) => Ok(Step::Rows(rows)),
            Ok(None) => {
                self.ended = true;
                self.state.close_all();
                Ok(self.state.next_need().map_or(Step::Done, Step::Need))
            }
            Err(Stop::Yield) => Ok(Step::Yield),
            Err(Stop::Wait) => match self.state.next_need() {
                Some(need) => Ok(Step::Need(need)),
                None => Ok(Step::Yield),
            },
            Err(Stop::Failed(error)) => {
                self.ended = true;
                self.state.close_all();
                Err(*error)
            }
        }
    }

    /// The next rows of a scan that has asked for them: each of the relation's full width, dropped columns included.
    pub fn answer(&mut self, scan: ScanId, rows: Vec<Vec<Value>>, last: bool) {
        self.state.answer(scan, rows, last);
    }
}

/// Only an order of needs that whoever runs an execution may rely on: what is open is closed at the end.
const _: fn(ScanId) -> Need = Need::Close;
