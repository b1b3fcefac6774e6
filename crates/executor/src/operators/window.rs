//! Windows. (Placeholder for the order of work: a plan with windows is not made yet.)

use super::Operator;
use crate::error::Stop;
use crate::plan::Node;
use crate::run::{Row, Run};
use std::sync::Arc;

/// Calls of one window.
pub struct Window {
    input: Box<dyn Operator>,
}

impl Window {
    pub fn new(input: Box<dyn Operator>, _plan: Arc<Node>) -> Window {
        Window { input }
    }
}

impl Operator for Window {
    fn next(&mut self, run: &mut Run<'_, '_>, want: usize) -> Result<Option<Vec<Row>>, Stop> {
        self.input.next(run, want)
    }
}
