//! Long queries let others have their turn: all queries of a site share a thread, and a cancelled one ends when it next pauses.
//!
//! Invariant: whatever makes many batches of one consumes its task's budget for each, so that a task pauses after a bounded number of
//! batches. The library takes care of what reads rows; a join can go on for hours with what it has read.

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use std::sync::Arc;

/// Puts a pause behind every operator that makes more of what it reads.
#[derive(Debug)]
pub struct PauseJoins;

impl PhysicalOptimizerRule for PauseJoins {
    fn name(&self) -> &str {
        "pause_joins"
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let paused = plan.transform_up(|plan| {
            if plan.children().len() < 2 && plan.name() != "UnnestExec" {
                return Ok(Transformed::no(plan));
            }
            Ok(Transformed::yes(Arc::new(CooperativeExec::new(plan)) as Arc<dyn ExecutionPlan>))
        });
        Ok(paused?.data)
    }

    fn schema_check(&self) -> bool {
        true
    }
}
