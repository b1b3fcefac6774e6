//! An ORDER BY within FROM holds for what takes rows one after the other: LIMIT, aggregates and window functions see them as they come, as in PostgreSQL.
//!
//! The library drops a sort that nothing above asks for; so [`InOrder`] asks for it.

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{LexOrdering, OrderingRequirements, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::{
    CardinalityEffect, ReplaceChildrenOptions, replace_children_if_necessary,
};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use std::fmt;
use std::sync::Arc;

/// Aggregates whose value depends on the order of rows.
const ORDERED: [&str; 5] = ["array_agg", "string_agg", "first_value", "last_value", "nth_value"];

/// Keeps the sorts of subqueries whose order shows.
#[derive(Debug)]
pub struct KeepOrders;

impl PhysicalOptimizerRule for KeepOrders {
    fn name(&self) -> &str {
        "keep_orders"
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        kept(plan, false)
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan with its sorts kept; `shows`: what is above sees the order of these rows.
fn kept(plan: Arc<dyn ExecutionPlan>, shows: bool) -> Result<Arc<dyn ExecutionPlan>> {
    let sort = plan.downcast_ref::<SortExec>().map(|sort| sort.expr().clone());
    let below = sort.is_none() && plan.children().len() < 2 && (shows || takes_in_order(&plan));
    let children: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
    let children = children.into_iter().map(|child| kept(child, below)).collect::<Result<Vec<_>>>()?;
    let plan = if children.is_empty() { plan } else { replace_children_if_necessary(plan, children)? };
    Ok(match sort.filter(|_| shows) {
        Some(order) => Arc::new(InOrder::new(plan, order)),
        None => plan,
    })
}

fn takes_in_order(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.downcast_ref::<GlobalLimitExec>().is_some()
        || plan.downcast_ref::<LocalLimitExec>().is_some()
        || plan
            .downcast_ref::<AggregateExec>()
            .is_some_and(|aggregate| aggregate.aggr_expr().iter().any(|one| ORDERED.contains(&one.fun().name())))
        || plan.downcast_ref::<WindowAggExec>().is_some()
        || plan.downcast_ref::<BoundedWindowAggExec>().is_some()
}

/// Hands rows on as they come, and asks for an order of them.
#[derive(Clone, Debug)]
struct InOrder {
    input: Arc<dyn ExecutionPlan>,
    order: LexOrdering,
    properties: Arc<PlanProperties>,
}

impl InOrder {
    fn new(input: Arc<dyn ExecutionPlan>, order: LexOrdering) -> InOrder {
        let properties = Arc::clone(input.properties());
        InOrder { input, order, properties }
    }
}

impl DisplayAs for InOrder {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "InOrder")
    }
}

impl ExecutionPlan for InOrder {
    fn name(&self) -> &str {
        "InOrder"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![Some(OrderingRequirements::from(self.order.clone()))]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        each: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for sort in self.order.iter() {
            if each(&sort.expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(InOrder::new(children.swap_remove(0), self.order.clone())))
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(InOrder::new(children.swap_remove(0), self.order.clone())))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
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
}
