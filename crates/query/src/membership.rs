//! IN and NOT IN over subqueries with SQL's three truth values, and EXISTS over what has a row in any case.
//!
//! The library plans IN as a join, whose rows match or do not: enough where only truth counts, in a filter and not below NOT. There NOT IN becomes
//! NOT EXISTS of a row for which equality is not false; elsewhere IN becomes what it means, out of counts of rows. A NOT IN of a column over a
//! subquery of its own stays: the library has a join for it.
//!
//! Invariant: each expression has the same value, NULL included. What cannot be told apart is refused with 0A000.

use crate::error::QueryError;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{ExprSchema, Result, ScalarValue};
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{
    BinaryExpr, Expr, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, SkipType, lit, not, when,
};
use std::sync::Arc;

/// The plan with such expressions as the library plans them rightly.
pub(crate) fn with_three_values(plan: LogicalPlan) -> Result<LogicalPlan> {
    let told = plan.transform_up_with_subqueries(|node| {
        let node = match node {
            LogicalPlan::Filter(mut filter) => {
                let schema = Arc::clone(filter.input.schema());
                filter.predicate = Place { schema: &schema }.filtering(filter.predicate, true)?;
                if is_ungrouped(&filter.input) {
                    // Kept in one piece: a part without columns would be asked of the rows that are counted.
                    filter.predicate = Expr::IsTrue(Box::new(filter.predicate));
                }
                LogicalPlan::Filter(filter)
            }
            LogicalPlan::Join(mut join) if matches!(join.join_type, JoinType::Inner) => {
                let schema = Arc::clone(&join.schema);
                join.filter = join.filter.map(|on| Place { schema: &schema }.filtering(on, true)).transpose()?;
                LogicalPlan::Join(join)
            }
            other => {
                let inputs: Vec<_> = other.inputs().iter().map(|input| Arc::clone(input.schema())).collect();
                let names = datafusion::logical_expr::expr_rewriter::NamePreserver::new(&other);
                other
                    .map_expressions(|expression| {
                        let name = names.save(&expression);
                        let value = match inputs.first() {
                            Some(schema) => Place { schema }.value(expression)?,
                            None => expression,
                        };
                        Ok(Transformed::yes(name.restore(value)))
                    })?
                    .data
            }
        };
        Ok(Transformed::yes(node))
    });
    Ok(told?.data)
}

/// Where an expression stands.
struct Place<'a> {
    schema: &'a datafusion::common::DFSchema,
}

impl Place<'_> {
    /// A condition of which only the truth counts. `alone`: nothing but AND is above it.
    fn filtering(&self, condition: Expr, alone: bool) -> Result<Expr> {
        Ok(match condition {
            Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
                let alone = alone && op == Operator::And;
                let (left, right) = (self.filtering(*left, alone)?, self.filtering(*right, alone)?);
                Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
            }
            Expr::Not(inner) => match *inner {
                Expr::Not(inner) => self.filtering(*inner, alone)?,
                Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                    self.filtering(Expr::InSubquery(InSubquery { expr, subquery, negated: !negated }), alone)?
                }
                Expr::Exists(Exists { subquery, negated }) => {
                    self.filtering(Expr::Exists(Exists { subquery, negated: !negated }), alone)?
                }
                Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
                    let op = if op == Operator::And { Operator::Or } else { Operator::And };
                    let parts = BinaryExpr::new(Box::new(not(*left)), op, Box::new(not(*right)));
                    self.filtering(Expr::BinaryExpr(parts), alone)?
                }
                other => not(self.value(other)?),
            },
            Expr::InSubquery(among) if !among.negated => Expr::InSubquery(among),
            Expr::InSubquery(among) => {
                let is_plain = matches!(*among.expr, Expr::Column(_)) && among.subquery.outer_ref_columns.is_empty();
                match alone && is_plain {
                    true => Expr::InSubquery(among),
                    false => self.none_matches(among)?,
                }
            }
            Expr::Exists(exists) => existing(exists)?,
            other => self.value(other)?,
        })
    }

    /// NOT IN: there is no row that is equal, or might be.
    fn none_matches(&self, among: InSubquery) -> Result<Expr> {
        let (column, expression) = (column_of(&among.subquery)?, self.outside(*among.expr)?);
        let matches = Expr::IsNotFalse(Box::new(expression.0.eq(column)));
        Ok(Expr::Exists(Exists { subquery: filtered(&among.subquery, matches, expression.1)?, negated: true }))
    }

    /// An expression of which the value counts.
    fn value(&self, expression: Expr) -> Result<Expr> {
        let valued = expression.transform_up(|part| {
            Ok(match part {
                Expr::InSubquery(among) => Transformed::yes(self.membership(among)?),
                Expr::Exists(exists) => Transformed::yes(existing(exists)?),
                other => Transformed::no(other),
            })
        });
        Ok(valued?.data)
    }

    /// IN, out of how many rows there are, are equal, and are NULL.
    fn membership(&self, among: InSubquery) -> Result<Expr> {
        let InSubquery { expr, subquery, negated } = among;
        let column = column_of(&subquery)?;
        let (outside, outer) = self.outside((*expr).clone())?;
        let some = |condition: Option<Expr>, outer: Vec<Expr>| -> Result<Expr> {
            let rows = match condition {
                Some(condition) => filtered(&subquery, condition, outer)?,
                None => subquery.clone(),
            };
            Ok(counted(rows)?.gt(lit(0_i64)))
        };
        let unknown = Expr::Literal(ScalarValue::Boolean(None), None);
        let is_among = when(not(some(None, vec![])?), lit(false))
            .when((*expr).is_null(), unknown.clone())
            .when(some(Some(outside.eq(column.clone())), outer)?, lit(true))
            .when(some(Some(column.is_null()), vec![])?, unknown)
            .otherwise(lit(false))?;
        Ok(if negated { not(is_among) } else { is_among })
    }

    /// An expression of the row around a subquery as the subquery names it, and the columns in it.
    fn outside(&self, expression: Expr) -> Result<(Expr, Vec<Expr>)> {
        let mut columns = Vec::new();
        let named = expression.transform_up(|part| match part {
            Expr::Column(column) => {
                let field = self.schema.field_from_column(&column)?;
                let outer = Expr::OuterReferenceColumn(Arc::clone(field), column);
                columns.push(outer.clone());
                Ok(Transformed::yes(outer))
            }
            Expr::OuterReferenceColumn(..) | Expr::ScalarSubquery(_) => Err(QueryError::unsupported(
                "NOT IN of a value from two levels above, or from another subquery, is not supported",
            )
            .into_datafusion()),
            other => Ok(Transformed::no(other)),
        });
        Ok((named?.data, columns))
    }
}

/// The one column of a subquery.
fn column_of(subquery: &Subquery) -> Result<Expr> {
    match subquery.subquery.schema().columns().as_slice() {
        [column] => Ok(Expr::Column(column.clone())),
        _ => Err(QueryError::new("42601", "subquery has too many columns").into_datafusion()),
    }
}

/// The rows of a subquery that pass a condition, which has these columns of the row around it.
fn filtered(subquery: &Subquery, condition: Expr, outer: Vec<Expr>) -> Result<Subquery> {
    let mut filtered = subquery.clone();
    filtered.subquery =
        Arc::new(LogicalPlanBuilder::from(LogicalPlan::clone(&subquery.subquery)).filter(condition)?.build()?);
    filtered.outer_ref_columns.extend(outer);
    Ok(filtered)
}

/// How many rows a subquery has.
fn counted(mut subquery: Subquery) -> Result<Expr> {
    let count = count_udaf().call(vec![lit(1_i64)]).alias("count");
    let counted = LogicalPlanBuilder::from(LogicalPlan::clone(&subquery.subquery))
        .aggregate(Vec::<Expr>::new(), [count])?
        .build()?;
    subquery.subquery = Arc::new(counted);
    Ok(Expr::ScalarSubquery(subquery))
}

/// EXISTS, of which the library forgets OFFSET, and the row that an aggregate without groups always has, when it depends on the row around it.
fn existing(exists: Exists) -> Result<Expr> {
    if exists.subquery.outer_ref_columns.is_empty() {
        return Ok(Expr::Exists(exists));
    }
    let mut plan = &exists.subquery.subquery;
    loop {
        plan = match plan.as_ref() {
            LogicalPlan::Projection(projection) => &projection.input,
            LogicalPlan::Sort(sort) => &sort.input,
            LogicalPlan::SubqueryAlias(alias) => &alias.input,
            LogicalPlan::Limit(limit) => match limit.get_skip_type()? {
                SkipType::Literal(0) => &limit.input,
                _ => {
                    let message = "OFFSET in EXISTS that depends on the row around it is not supported";
                    return Err(QueryError::unsupported(message).into_datafusion());
                }
            },
            LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => {
                return Ok(lit(!exists.negated));
            }
            LogicalPlan::Filter(filter) if is_ungrouped(&filter.input) => {
                let message = "EXISTS over HAVING without GROUP BY that depends on the row around it is not supported";
                return Err(QueryError::unsupported(message).into_datafusion());
            }
            _ => return Ok(Expr::Exists(exists)),
        };
    }
}

/// Whether this is an aggregate without groups, which has one row in any case.
fn is_ungrouped(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::Projection(projection) => is_ungrouped(&projection.input),
        _ => false,
    }
}
