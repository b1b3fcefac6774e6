//! What is done with rows. Each operator yields rows when it is asked, at most as many as are wanted, and keeps its
//! state in itself: after a stop it is asked again and goes on where it was.

mod aggregate;
mod functions;
mod join;
mod keyed;
mod lateral;
mod limit;
mod routines;
mod rows;
mod scan;
mod sets;
mod shared;
mod sort;
mod sorter;
mod window;

pub use window::is_window_function;

use crate::plan::PlanNode;
use crate::run::RowOperator;
use std::sync::Arc;

/// An operator of a plan at its beginning.
pub fn build(node: &Arc<PlanNode>) -> Box<dyn RowOperator> {
    let plan = Arc::clone(node);
    match &**node {
        PlanNode::OneRow | PlanNode::Values(_) => Box::new(rows::GivenRows::new(plan)),
        PlanNode::Scan(_) => Box::new(scan::ScanOperator::new(plan)),
        PlanNode::Filter { input, .. } => Box::new(rows::Filter::new(build(input), plan)),
        PlanNode::Project { input, .. } => Box::new(rows::Project::new(build(input), plan)),
        PlanNode::ProjectSet { input, .. } => Box::new(functions::ProjectSet::new(build(input), plan)),
        PlanNode::Called(_) => Box::new(routines::CalledRows::new(plan)),
        PlanNode::Routine(scan) => Box::new(routines::RoutineReader::new(build(&scan.body), plan)),
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
