//! Users' functions: in FROM, where the query of one runs with the arguments as the innermost row around; and those that are run elsewhere.

use crate::access::{CallOrder, ScanId};
use crate::error::Interruption;
use crate::plan::{PlanNode, RoutineScan};
use crate::run::{ExecutionState, RowOperator, RowValues, RunState};
use std::sync::Arc;
use values::Value;

/// A call under way.
pub struct RoutineReader {
    body: Box<dyn RowOperator>,
    plan: Arc<PlanNode>,
    /// Once they are computed.
    arguments: Option<RowValues>,
    is_over: bool,
}

impl RoutineReader {
    pub fn new(body: Box<dyn RowOperator>, plan: Arc<PlanNode>) -> RoutineReader {
        RoutineReader { body, plan, arguments: None, is_over: false }
    }

    /// What there is if the query has no row, or is not run.
    fn nothing(&mut self, scan: &RoutineScan) -> Option<Vec<RowValues>> {
        self.is_over = true;
        (!scan.returns_set).then(|| vec![vec![Value::Null; scan.width]])
    }
}

impl RowOperator for RoutineReader {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Routine(scan) = &*plan else { return Ok(None) };
        if self.is_over {
            return Ok(None);
        }
        run.spend()?;
        let arguments = match &self.arguments {
            Some(arguments) => arguments.clone(),
            None => run.settled(|run| {
                scan.arguments.iter().map(|value| value.evaluate(&[], run)).collect::<Result<RowValues, _>>()
            })?,
        };
        if scan.strict && arguments.iter().any(Value::is_null) {
            return Ok(self.nothing(scan));
        }
        self.arguments = Some(arguments.clone());
        run.state.frames.push(arguments);
        let polled = self.body.next(run, if scan.returns_set { want } else { 1 });
        run.state.frames.pop();
        match polled? {
            Some(rows) => {
                self.is_over = !scan.returns_set;
                Ok(Some(rows))
            }
            None => Ok(self.nothing(scan)),
        }
    }

    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        vec![&mut self.body]
    }

    fn close(&mut self, state: &mut ExecutionState) {
        self.body.close(state);
    }
}

/// A function that whoever runs the execution runs. Its arguments are the innermost row around.
pub struct CalledRows {
    plan: Arc<PlanNode>,
    /// Once it has begun.
    call: Option<ScanId>,
}

impl CalledRows {
    pub fn new(plan: Arc<PlanNode>) -> CalledRows {
        CalledRows { plan, call: None }
    }
}

impl RowOperator for CalledRows {
    fn next(&mut self, run: &mut RunState<'_, '_>, _want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        let PlanNode::Called(called) = &*self.plan else { return Ok(None) };
        let call = match self.call {
            Some(call) => call,
            None => {
                let arguments = run.state.frames.last().cloned().unwrap_or_default();
                *self.call.insert(run.state.call(CallOrder { function: called.function, arguments }))
            }
        };
        run.state.fetch(call)
    }

    fn close(&mut self, state: &mut ExecutionState) {
        if let Some(call) = self.call.take() {
            state.close(call);
        }
    }
}
