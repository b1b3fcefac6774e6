//! Long queries let others have their turn: a cancelled one ends when it next pauses.
//!
//! Invariant: whatever makes many batches of one consumes its task's budget for each, so that a task pauses after a bounded number of
//! batches. The library takes care of what reads rows; a join can go on for hours with what it has read.
//!
//! Second invariant: nothing above a join counts on an order of its rows. The library says that they come in the order of one side and then
//! of the other, which is so only where no two rows of the first are alike in what is left of its order. So the plan is told of no order here, and sorts.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, ReplaceChildrenOptions, SchedulingType};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use std::fmt;
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
            Ok(Transformed::yes(Arc::new(Pause::new(plan)) as Arc<dyn ExecutionPlan>))
        });
        Ok(paused?.data)
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Hands on the rows of an operator, in no order that is known.
#[derive(Clone, Debug)]
struct Pause {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl Pause {
    fn new(input: Arc<dyn ExecutionPlan>) -> Pause {
        let unordered = EquivalenceProperties::new(input.schema());
        let properties = PlanProperties::clone(input.properties())
            .with_eq_properties(unordered)
            .with_scheduling_type(SchedulingType::Cooperative);
        Pause { input, properties: Arc::new(properties) }
    }
}

impl DisplayAs for Pause {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Pause")
    }
}

impl ExecutionPlan for Pause {
    fn name(&self) -> &str {
        "Pause"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Pause::new(children.swap_remove(0))))
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Pause::new(children.swap_remove(0))))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        Ok(make_cooperative(self.input.execute(partition, context)?))
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        Ok(Arc::clone(&inputs[0]))
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    /// What joins look for is told to the scans below.
    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        FilterDescription::from_children(parent_filters, &self.children())
    }

    fn handle_child_pushdown_result(
        &self,
        _: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        Ok(FilterPushdownPropagation::if_all(result))
    }
}
