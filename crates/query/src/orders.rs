//! Sorting that a scan does by the way: rows come in the order of a key, or of an index, forwards or backwards.
//!
//! Invariant: a sort goes only where what stands in its place has the same order. Another index than that of the filters is taken only
//! for the first few rows of all: looking up most of a table row by row takes longer than sorting it.

use crate::scan::Scan;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use std::sync::Arc;

/// Lets scans sort.
#[derive(Debug)]
pub struct OrderScans;

impl PhysicalOptimizerRule for OrderScans {
    fn name(&self) -> &str {
        "order_scans"
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let ordered = plan.transform_down(|plan| {
            let Some(sort) = plan.downcast_ref::<SortExec>() else { return Ok(Transformed::no(plan)) };
            let fetch = sort.fetch();
            let Some(input) = in_order(sort.input(), sort.expr(), fetch.is_some())? else {
                return Ok(Transformed::no(plan));
            };
            let Some(fetch) = fetch else { return Ok(Transformed::yes(input)) };
            Ok(Transformed::yes(match limited(&input, fetch)? {
                Some(limited) => limited,
                None => Arc::new(GlobalLimitExec::new(input, 0, Some(fetch))),
            }))
        });
        Ok(ordered?.data)
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan with its rows in this order, if its scan has a way to it.
fn in_order(plan: &Arc<dyn ExecutionPlan>, order: &LexOrdering, few: bool) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<Scan>() {
        return Ok(scan.in_order(order, few)?.map(|scan| Arc::new(scan) as Arc<dyn ExecutionPlan>));
    }
    let [input] = plan.children()[..] else { return Ok(None) };
    let Some(below) = below(plan, input, order) else { return Ok(None) };
    match in_order(input, &below, few)? {
        Some(input) => Ok(Some(replace_children_if_necessary(Arc::clone(plan), vec![input])?)),
        None => Ok(None),
    }
}

/// The plan with no more rows than that, if its scan can see to it: each row that it reads is one that is wanted.
fn limited(plan: &Arc<dyn ExecutionPlan>, rows: usize) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if plan.downcast_ref::<Scan>().is_some() {
        return Ok(plan.with_fetch(Some(rows)));
    }
    let keeps_rows =
        plan.downcast_ref::<ProjectionExec>().is_some() || plan.downcast_ref::<CooperativeExec>().is_some();
    let (true, [input]) = (keeps_rows, &plan.children()[..]) else { return Ok(None) };
    match limited(input, rows)? {
        Some(input) => Ok(Some(replace_children_if_necessary(Arc::clone(plan), vec![input])?)),
        None => Ok(None),
    }
}

/// What the order is in the columns of its input, of an operator that hands rows on as they come; none where it computes one of the columns.
fn below(plan: &Arc<dyn ExecutionPlan>, input: &Arc<dyn ExecutionPlan>, order: &LexOrdering) -> Option<LexOrdering> {
    let projection = plan.downcast_ref::<ProjectionExec>();
    let filter = plan.downcast_ref::<FilterExec>().filter(|filter| filter.fetch().is_none());
    if projection.is_none() && filter.is_none() && plan.downcast_ref::<CooperativeExec>().is_none() {
        return None;
    }
    let place_below = |place: usize| match (projection, filter.map(FilterExec::projection)) {
        (Some(projection), _) => projection.expr().get(place)?.expr.downcast_ref::<Column>().map(Column::index),
        (None, Some(Some(kept))) => kept.get(place).copied(),
        (None, _) => Some(place),
    };
    let below = order.iter().map(|sort| {
        let place = place_below(sort.expr.downcast_ref::<Column>()?.index())?;
        let column = Column::new(input.schema().field(place).name(), place);
        Some(PhysicalSortExpr::new(Arc::new(column), sort.options))
    });
    LexOrdering::new(below.collect::<Option<Vec<_>>>()?)
}
