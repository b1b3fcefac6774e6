//! One experiment of the list.

use crate::communication::laboratory::Laboratory;
use laboratory_harness::report::Table;
use laboratory_harness::{Failure, Outcome};

/// One experiment.
pub trait Experiment: Sync {
    /// As the command line calls it.
    fn name(&self) -> &'static str;

    /// What it measures, and which figure or table it stands beside.
    fn about(&self) -> &'static str;

    /// Carries it out.
    ///
    /// # Errors
    /// Nothing could be measured, or somebody asked for an end. What fails alone is noted in the table.
    fn run(&self, laboratory: &Laboratory) -> Outcome<Vec<Table>>;

    /// Does the part of one of its processes.
    ///
    /// # Errors
    /// The part fails, or the experiment has none.
    fn perform(&self, part: serde_json::Value) -> Outcome<()> {
        Err(Failure::Wrong(format!("`{}` has no parts, and so not {part}", self.name())))
    }
}
