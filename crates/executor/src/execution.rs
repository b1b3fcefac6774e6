//! One execution of a plan.

use crate::access::{ExecutionStep, RowNeed, ScanId};
use crate::error::{ExecutionError, Interruption};
use crate::operators::build;
use crate::plan::QueryPlan;
use crate::run::{ExecutionLimits, ExecutionState, RowOperator, RunState};
use std::sync::Arc;
use values::Value;

/// How many rows are handed out at once at most.
const BATCH_ROWS_MAX: usize = 1_024;

/// A plan that runs. It does nothing by itself: whoever has it resumes it and answers its needs.
pub struct PlanExecution {
    plan: Arc<QueryPlan>,
    root: Box<dyn RowOperator>,
    state: ExecutionState,
    ended: bool,
}

impl PlanExecution {
    /// A new one, with the values of `$1` and so on. The seed is one that no client knows: values are hashed with it.
    pub fn new(plan: Arc<QueryPlan>, parameters: Vec<Value>, limits: ExecutionLimits, seed: u64) -> PlanExecution {
        let root = build(plan.root());
        let state = ExecutionState::new(parameters, limits, &plan, build, seed);
        PlanExecution { plan, root, state, ended: false }
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.state.memory_used
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<QueryPlan> {
        &self.plan
    }

    /// Goes on until rows are there, something is needed, the budget of rows worked on is spent, or the end.
    ///
    /// # Errors
    /// What PostgreSQL says; afterwards the execution is at its end.
    pub fn resume(
        &mut self,
        environment: &mut evaluation::CallEnvironment<'_>,
        budget: usize,
    ) -> Result<ExecutionStep, ExecutionError> {
        if let Some(need) = self.state.next_need() {
            return Ok(ExecutionStep::Need(need));
        }
        if self.ended {
            return Ok(ExecutionStep::Done);
        }
        self.state.made.resume();
        let mut run = RunState { state: &mut self.state, environment, budget: budget.max(1) };
        let polled = self.root.next(&mut run, BATCH_ROWS_MAX);
        match polled {
            Ok(Some(rows)) => Ok(ExecutionStep::Rows(rows)),
            Ok(None) => {
                self.ended = true;
                self.state.close_all();
                Ok(self.state.next_need().map_or(ExecutionStep::Done, ExecutionStep::Need))
            }
            Err(Interruption::Yield) => Ok(ExecutionStep::Yield),
            Err(Interruption::Wait) => match self.state.next_need() {
                Some(need) => Ok(ExecutionStep::Need(need)),
                None => Ok(ExecutionStep::Yield),
            },
            Err(Interruption::Failed(error)) => {
                self.ended = true;
                self.state.close_all();
                Err(*error)
            }
        }
    }

    /// The next rows of a scan that has asked for them: each has the order's columns, in their order.
    pub fn answer(&mut self, scan: ScanId, rows: Vec<Vec<Value>>, last: bool) {
        self.state.answer(scan, rows, last);
    }
}

/// Only an order of needs that whoever runs an execution may rely on: what is open is closed at the end.
const _: fn(ScanId) -> RowNeed = RowNeed::Close;
