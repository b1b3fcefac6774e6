//! Aggregates that have a row even where nothing is left to aggregate: a condition that stands above one stays there.
//!
//! The library moves conditions that name no column of the aggregate below it, a constant one too, and one whose columns are constants of a derived table.
//! Below, `WHERE false` leaves the aggregate nothing, but its row; above, no row (SQL:2016, 7.10). A limit that takes nothing away keeps them apart.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr::GroupingSet;
use datafusion::logical_expr::{Aggregate, Expr, Limit, LogicalPlan, lit};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Puts a limit above every such aggregate. Before conditions are pushed down, after subqueries were made joins, which know aggregates as they are.
#[derive(Debug)]
pub(crate) struct KeepRows;

impl OptimizerRule for KeepRows {
    fn name(&self) -> &'static str {
        "keep_rows"
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        plan.transform_down(|node| match node {
            LogicalPlan::Limit(_) => Ok(Transformed::no(node)),
            node => node.map_children(|child| {
                Ok(match rows_of_nothing(&child) {
                    None => Transformed::no(child),
                    Some(rows) => {
                        let (fetch, input) = (Some(Box::new(lit(rows))), Arc::new(child));
                        Transformed::yes(LogicalPlan::Limit(Limit { skip: None, fetch, input }))
                    }
                })
            }),
        })
    }
}

/// How many rows, at most, an aggregate has that has one where its input has none.
fn rows_of_nothing(plan: &LogicalPlan) -> Option<i64> {
    let LogicalPlan::Aggregate(Aggregate { group_expr, .. }) = plan else { return None };
    let has_empty = |group: &Expr| match group {
        Expr::GroupingSet(GroupingSet::GroupingSets(sets)) => sets.iter().any(Vec::is_empty),
        Expr::GroupingSet(GroupingSet::Cube(_) | GroupingSet::Rollup(_)) => true,
        _ => false,
    };
    match group_expr.as_slice() {
        [] => Some(1),
        groups => groups.iter().any(has_empty).then_some(i64::MAX),
    }
}
