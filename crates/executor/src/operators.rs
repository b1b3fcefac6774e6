//! What is done with rows. Each operator yields rows when it is asked, at most as many as are wanted, and keeps its
//! state in itself: after a stop it is asked again and goes on where it was.

mod aggregate;
mod functions;
mod join;
mod keyed;
mod lateral;
mod limit;
mod rows;
mod scan;
mod sets;
mod shared;
mod sort;
mod sorter;
mod window;

pub use window::is_window_function;

use crate::error::Interruption;
use crate::plan::PlanNode;
use crate::run::{ExecutionState, HeldBytes, RowValues, RunState};
use std::sync::Arc;

/// An operator of an execution.
pub trait RowOperator: Send {
    /// The next rows, one at least and `want` at most; none at the end.
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption>;
    /// Those it reads from.
    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        Vec::new()
    }
    /// What it counts its memory with.
    fn memory(&mut self) -> Option<&mut HeldBytes> {
        None
    }
    /// Ends what is open below it, and gives back what it holds. It is not asked again.
    fn close(&mut self, state: &mut ExecutionState) {
        if let Some(memory) = self.memory() {
            memory.release_all(state);
        }
        self.inputs().into_iter().for_each(|input| input.close(state));
    }
}

/// How many rows are asked for where all are needed.
pub const MANY: usize = 1_024;

/// An operator of a plan at its beginning.
pub fn build(node: &Arc<PlanNode>) -> Box<dyn RowOperator> {
    let plan = Arc::clone(node);
    match &**node {
        PlanNode::OneRow | PlanNode::Values(_) => Box::new(rows::GivenRows::new(plan)),
        PlanNode::Scan(_) => Box::new(scan::ScanOperator::new(plan)),
        PlanNode::Filter { input, .. } => Box::new(rows::Filter::new(build(input), plan)),
        PlanNode::Project { input, .. } => Box::new(rows::Project::new(build(input), plan)),
        PlanNode::ProjectSet { input, .. } => Box::new(functions::ProjectSet::new(build(input), plan)),
        PlanNode::Functions { .. } => Box::new(functions::FunctionScan::new(plan)),
        PlanNode::Join { left, right, by_key, .. } => {
            let right = (!by_key).then(|| build(right));
            Box::new(join::Join::new(build(left), right, plan))
        }
        PlanNode::Lateral { left, .. } => Box::new(lateral::Lateral::new(build(left), plan)),
        PlanNode::Aggregate { input, .. } => Box::new(aggregate::AggregateOperator::new(build(input), plan)),
        PlanNode::Window { input, .. } => Box::new(window::WindowOperator::new(build(input), plan)),
        PlanNode::Sort { input, .. } => Box::new(sort::Sort::new(build(input), plan)),
        PlanNode::Distinct { input, .. } => Box::new(rows::DistinctOperator::new(build(input), plan)),
        PlanNode::Limit { input, .. } => Box::new(limit::Limit::new(build(input), plan)),
        PlanNode::SetOperation { left, right, .. } => {
            Box::new(sets::SetOperation::new(build(left), build(right), plan))
        }
        PlanNode::Shared { .. } => Box::new(shared::SharedReader::new(plan)),
        PlanNode::Keyed { .. } => Box::new(keyed::KeyedReader::new(plan)),
        PlanNode::Working { .. } => Box::new(shared::WorkingReader::new(plan)),
        PlanNode::Recursive { base, .. } => Box::new(shared::Recursive::new(build(base), plan)),
    }
}
