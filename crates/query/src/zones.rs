//! Queries that the library computes, of sessions whose time zone is not UTC.
//!
//! The library knows no zone. Invariant: what it computes in such a session does not depend on the zone. It may hand instants through, count them, compare them
//! with each other, and take the least or the greatest; whatever else has an instant beside it, or yields one, is refused.

use crate::error::QueryError;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator};
use values::Zone;

/// Refuses a plan that depends on a time zone, the session's or that of its constants, unless both are UTC. Errors: 0A000.
pub(crate) fn check(plan: &LogicalPlan, zones: [&Zone; 2]) -> std::result::Result<(), QueryError> {
    let Some(zone) = zones.into_iter().find(|zone| !zone.is_utc()) else { return Ok(()) };
    let mut depends = false;
    plan.apply_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        node.apply_expressions(|expression| {
            expression.apply(|part| {
                depends |= depends_on_zone(part, &schema)?;
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    if depends {
        let message = format!("this query in the time zone {} is not supported", zone.name());
        return Err(QueryError::unsupported(message));
    }
    Ok(())
}

/// Whether an expression computes with instants, its parts left aside.
fn depends_on_zone(expression: &Expr, schema: &DFSchema) -> Result<bool> {
    let is_instant = |part: &Expr| part.get_type(schema).is_ok_and(|found| has_instant(&found));
    let mut takes_any = false;
    let mut takes_others = false;
    expression.apply_children(|part| {
        let is_one = is_instant(part);
        takes_any |= is_one;
        takes_others |= !is_one;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(match expression {
        Expr::Column(_) | Expr::OuterReferenceColumn(..) | Expr::Placeholder(_) | Expr::Alias(_) => false,
        Expr::IsNull(_) | Expr::IsNotNull(_) => false,
        Expr::Literal(value, _) => !value.is_null() && has_instant(&value.data_type()),
        Expr::BinaryExpr(binary) if compares(binary.op) => takes_any && takes_others,
        Expr::AggregateFunction(call) if matches!(call.func.name(), "count" | "min" | "max" | "first_value") => false,
        Expr::ScalarSubquery(_) | Expr::Exists(_) => false,
        _ => takes_any || is_instant(expression),
    })
}

fn compares(operator: Operator) -> bool {
    matches!(operator, Operator::Eq | Operator::NotEq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq)
}

/// Whether values of a type are instants, or hold them.
fn has_instant(data_type: &DataType) -> bool {
    match data_type {
        DataType::Timestamp(_, zone) => zone.is_some(),
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            has_instant(field.data_type())
        }
        _ => false,
    }
}
