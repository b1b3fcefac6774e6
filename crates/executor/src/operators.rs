//! What is done with rows. Each operator yields rows when it is asked, at most as many as are wanted, and keeps its
//! state in itself: after a stop it is asked again and goes on where it was.

mod aggregate;
mod functions;
mod join;
mod lateral;
mod limit;
mod rows;
mod scan;
mod sets;
mod shared;
mod sort;
mod window;

pub use window::is_window_function;

use crate::error::Stop;
use crate::plan::Node;
use crate::run::{Row, Run, State};
use std::sync::Arc;

/// An operator of an execution.
pub trait Operator: Send {
    /// The next rows, one at least and `want` at most; none at the end.
    fn next(&mut self, run: &mut Run<'_, '_>, want: usize) -> Result<Option<Vec<Row>>, Stop>;
    /// Those it reads from.
    fn inputs(&mut self) -> Vec<&mut Box<dyn Operator>> {
        Vec::new()
    }
    /// Ends what is open below it.
    fn close(&mut self, state: &mut State) {
        self.inputs().into_iter().for_each(|input| input.close(state));
    }
}

/// How many rows are asked for where all are needed.
pub const MANY: usize = 1_024;

/// An operator of a plan at its beginning.
pub fn build(node: &Arc<Node>) -> Box<dyn Operator> {
    let plan = Arc::clone(node);
    match &**node {
        Node::OneRow | Node::Values(_) => Box::new(rows::GivenRows::new(plan)),
        Node::Scan(_) => Box::new(scan::Scan::new(plan)),
        Node::Filter { input, .. } => Box::new(rows::Filter::new(build(input), plan)),
        Node::Project { input, .. } => Box::new(rows::Project::new(build(input), plan)),
        Node::ProjectSet { input, .. } => Box::new(functions::ProjectSet::new(build(input), plan)),
        Node::Functions { .. } => Box::new(functions::FunctionScan::new(plan)),
        Node::Join { left, right, by_key, .. } => {
            let right = (!by_key).then(|| build(right));
            Box::new(join::Join::new(build(left), right, plan))
        }
        Node::Lateral { left, .. } => Box::new(lateral::Lateral::new(build(left), plan)),
        Node::Aggregate { input, .. } => Box::new(aggregate::Aggregate::new(build(input), plan)),
        Node::Window { input, .. } => Box::new(window::Window::new(build(input), plan)),
        Node::Sort { input, .. } => Box::new(sort::Sort::new(build(input), plan)),
        Node::Distinct { input, .. } => Box::new(rows::Distinct::new(build(input), plan)),
        Node::Limit { input, .. } => Box::new(limit::Limit::new(build(input), plan)),
        Node::SetOperation { left, right, .. } => Box::new(sets::SetOperation::new(build(left), build(right), plan)),
        Node::Shared { .. } => Box::new(shared::SharedReader::new(plan)),
        Node::Working { .. } => Box::new(shared::WorkingReader::new(plan)),
        Node::Recursive { base, .. } => Box::new(shared::Recursive::new(build(base), plan)),
    }
}
