//! Long queries let others have their turn: a cancelled one ends when it next pauses.
//!
//! Invariant: whatever makes many batches of one consumes its task's budget for each, so that a task pauses after a bounded number of
//! batches. The library takes care of what reads rows; a join can go on for hours with what it has read.
//!
//! Second invariant: nothing above a join counts on an order of its rows. The library says that they come in the order of one side and then
//! of the other, which is so only where no two rows of the first are alike in what is left of its order. So the plan is told of no order here, and sorts.
//! An order that a sort has made is never hidden: what needs it has been given that sort.
//!
//! Third invariant: what a join looks for reaches the column that it means, never another of the same name.

use datafusion::arrow::datatypes::Schema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::execution_plan::{
    CardinalityEffect, ReplaceChildrenOptions, SchedulingType, replace_children_if_necessary,
};
use datafusion::physical_plan::filter_pushdown::{
    ChildFilterDescription, ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Puts a pause behind every operator that makes more of what it reads, or hands filters to the wrong column.
#[derive(Debug)]
pub struct PauseJoins;

impl PhysicalOptimizerRule for PauseJoins {
    fn name(&self) -> &str {
        "pause_joins"
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let below = plan.transform_up(|plan| {
            if plan.downcast_ref::<Pause>().is_some() || !plan.children().into_iter().any(needs_pause) {
                return Ok(Transformed::no(plan));
            }
            let children = plan.children().into_iter().map(paused);
            let children = children.collect();
            Ok(Transformed::yes(replace_children_if_necessary(plan, children)?))
        });
        Ok(paused(&below?.data))
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn paused(plan: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    if needs_pause(plan) { Arc::new(Pause::new(Arc::clone(plan))) } else { Arc::clone(plan) }
}

fn needs_pause(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let is_source = plan.children().is_empty() || plan.downcast_ref::<Pause>().is_some();
    !is_source && (makes_more(plan) || !hands_filters_on(plan))
}

/// Whether it makes more rows than it reads, and may claim an order of them that is not theirs.
fn makes_more(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.children().len() > 1 || plan.name() == "UnnestExec"
}

/// Whether filters from above reach the columns that they mean: operators find them in their inputs by name. Of joins that show one side only
/// the library takes a column of the other side for the same that has its name.
fn hands_filters_on(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if !plan.children().into_iter().all(|child| has_unique_names(&child.schema())) {
        return false;
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return matches!(join.join_type(), JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full);
    }
    if plan.downcast_ref::<ProjectionExec>().is_some() {
        return has_unique_names(&plan.schema());
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        let below = aggregate.input().schema();
        return aggregate.group_expr().expr().iter().all(|(group, name)| {
            group.downcast_ref::<Column>().is_some_and(|column| column.name() == name) || below.index_of(name).is_err()
        });
    }
    plan.children().len() < 2
}

fn has_unique_names(schema: &Schema) -> bool {
    let names: BTreeSet<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    names.len() == schema.fields().len()
}

/// Hands on the rows of an operator; of those of a join, no order is known.
#[derive(Clone, Debug)]
struct Pause {
    input: Arc<dyn ExecutionPlan>,
    /// Whether this was put behind a join. It stays so whatever comes in between, since what is above has been planned without an order.
    hides_order: bool,
    properties: Arc<PlanProperties>,
}

impl Pause {
    fn new(input: Arc<dyn ExecutionPlan>) -> Pause {
        let hides_order = makes_more(&input);
        Pause::behind(input, hides_order)
    }

    fn behind(input: Arc<dyn ExecutionPlan>, hides_order: bool) -> Pause {
        let mut properties =
            PlanProperties::clone(input.properties()).with_scheduling_type(SchedulingType::Cooperative);
        if hides_order {
            properties = properties.with_eq_properties(EquivalenceProperties::new(input.schema()));
        }
        Pause { input, hides_order, properties: Arc::new(properties) }
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
        vec![!self.hides_order]
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
        Ok(Arc::new(Pause::behind(children.swap_remove(0), self.hides_order)))
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Pause::behind(children.swap_remove(0), self.hides_order)))
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

    /// What joins look for is told to the scans below, if the operator behind this can be trusted with it.
    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        let hands_on = hands_filters_on(&self.input) && has_unique_names(&self.schema());
        Ok(FilterDescription::new().with_child(match hands_on {
            true => ChildFilterDescription::from_child(&parent_filters, &self.input)?,
            false => ChildFilterDescription::all_unsupported(&parent_filters),
        }))
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
