//! Columns of subqueries that depend on the row around them, told apart by more than their names.
//!
//! The library turns such a subquery into a join, puts all its columns under one alias, and finds them by their names alone: of two tables with a
//! column of one name it takes the one for the other. So every column of every source in such a subquery gets a name that nothing else has.
//!
//! Invariant: the plan has the same columns at the same places, under the same names at its top.

use crate::hidden_names::{hidden, shown};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, SubqueryAlias};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What columns are called now.
type Renames = BTreeMap<Column, Column>;

/// The plan with the columns of its dependent subqueries told apart.
pub(crate) fn tell_apart(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut names = Names(0);
    let told = plan.transform_up_with_subqueries(|node| {
        if let LogicalPlan::Subquery(subquery) = node {
            return Ok(Transformed::yes(LogicalPlan::Subquery(names.subquery(subquery)?)));
        }
        node.map_expressions(|expression| {
            expression.transform_up(|mut part| {
                let Some(subquery) = subquery_mut(&mut part) else { return Ok(Transformed::no(part)) };
                if subquery.outer_ref_columns.is_empty() {
                    return Ok(Transformed::no(part));
                }
                *subquery = names.subquery(subquery.clone())?;
                Ok(Transformed::yes(part))
            })
        })
    });
    Ok(told?.data)
}

/// How many names were given.
struct Names(usize);

impl Names {
    fn subquery(&mut self, mut subquery: Subquery) -> Result<Subquery> {
        subquery.subquery = Arc::new(self.top(LogicalPlan::clone(&subquery.subquery))?);
        Ok(subquery)
    }

    /// The whole of a subquery, whose own columns keep their names.
    fn top(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let before = plan.schema().columns();
        let (plan, _) = self.inside(plan)?;
        let after = plan.schema().columns();
        if before == after {
            return Ok(plan);
        }
        let named = |expression: Expr, before: Column, after: &Column| match before == *after {
            true => expression,
            false => expression.alias_qualified(before.relation, before.name),
        };
        let pairs = before.into_iter().zip(&after);
        if let LogicalPlan::Projection(projection) = &plan {
            let expressions = projection.expr.iter().cloned().zip(pairs);
            let expressions = expressions.map(|(expression, (before, after))| named(expression, before, after));
            return LogicalPlanBuilder::from(LogicalPlan::clone(&projection.input)).project(expressions)?.build();
        }
        let expressions: Vec<Expr> =
            pairs.map(|(before, after)| named(Expr::Column(after.clone()), before, after)).collect();
        LogicalPlanBuilder::from(plan).project(expressions)?.build()
    }

    /// A part of a subquery, and what its columns are called now.
    fn inside(&mut self, plan: LogicalPlan) -> Result<(LogicalPlan, Renames)> {
        let before = plan.schema().columns();
        let plan = match plan {
            LogicalPlan::TableScan(_) => self.renamed(plan)?,
            LogicalPlan::SubqueryAlias(SubqueryAlias { input, alias, .. }) => {
                let (input, _) = self.inside(LogicalPlan::clone(&input))?;
                self.renamed(LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(input), alias)?))?
            }
            // Their columns are not told by expressions; what they are part of has an alias.
            LogicalPlan::Unnest(_) | LogicalPlan::RecursiveQuery(_) | LogicalPlan::Subquery(_) => plan,
            other => self.rebuilt(other)?,
        };
        let after = plan.schema().columns();
        let renames = before.into_iter().zip(after).filter(|(before, after)| before != after).collect();
        Ok((plan, renames))
    }

    /// A node over inputs with other names.
    fn rebuilt(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let mut renames = Renames::new();
        let mut inputs = Vec::new();
        for input in plan.inputs() {
            // A lateral subquery depends on the inputs before it.
            let input = with_outer_renamed(input.clone(), &renames)?;
            let (input, found) = self.inside(input)?;
            renames.extend(found);
            inputs.push(input);
        }
        if inputs.is_empty() {
            return Ok(plan);
        }
        let expressions = plan.expressions().into_iter().map(|expression| with_renamed(expression, &renames));
        let expressions = expressions.collect::<Result<Vec<_>>>()?;
        plan.with_new_exprs(expressions, inputs)
    }

    /// The columns of a source under names that nothing else has.
    fn renamed(&mut self, source: LogicalPlan) -> Result<LogicalPlan> {
        let columns = source.schema().columns().into_iter().map(|column| {
            self.0 += 1;
            let name = hidden(shown(&column.name), self.0);
            let relation = column.relation.clone();
            Expr::Column(column).alias_qualified(relation, name)
        });
        let columns: Vec<Expr> = columns.collect();
        LogicalPlanBuilder::from(source).project(columns)?.build()
    }
}

fn subquery_mut(expression: &mut Expr) -> Option<&mut Subquery> {
    match expression {
        Expr::Exists(exists) => Some(&mut exists.subquery),
        Expr::InSubquery(among) => Some(&mut among.subquery),
        Expr::SetComparison(comparison) => Some(&mut comparison.subquery),
        Expr::ScalarSubquery(subquery) => Some(subquery),
        _ => None,
    }
}

/// An expression over renamed columns, subqueries in it that depend on them included.
fn with_renamed(expression: Expr, renames: &Renames) -> Result<Expr> {
    let renamed = expression.transform_up(|mut part| {
        if let Some(subquery) = subquery_mut(&mut part) {
            *subquery = outer_renamed(subquery.clone(), renames)?;
            return Ok(Transformed::yes(part));
        }
        Ok(match &part {
            Expr::Column(column) if let Some(name) = renames.get(column) => {
                Transformed::yes(Expr::Column(name.clone()))
            }
            _ => Transformed::no(part),
        })
    });
    Ok(renamed?.data)
}

fn outer_renamed(mut subquery: Subquery, renames: &Renames) -> Result<Subquery> {
    let names = subquery.outer_ref_columns.into_iter().map(|column| with_outer(column, renames));
    subquery.outer_ref_columns = names.collect::<Result<_>>()?;
    subquery.subquery = Arc::new(with_outer_renamed(LogicalPlan::clone(&subquery.subquery), renames)?);
    Ok(subquery)
}

/// A plan whose references to the row around it follow that row's columns.
fn with_outer_renamed(plan: LogicalPlan, renames: &Renames) -> Result<LogicalPlan> {
    if renames.is_empty() {
        return Ok(plan);
    }
    let renamed = plan.transform_down(|node| {
        if let LogicalPlan::Subquery(subquery) = node {
            let renamed = LogicalPlan::Subquery(outer_renamed(subquery, renames)?);
            return Ok(Transformed::new(renamed, true, TreeNodeRecursion::Jump));
        }
        node.map_expressions(|expression| Ok(Transformed::yes(with_outer(expression, renames)?)))
    });
    Ok(renamed?.data)
}

fn with_outer(expression: Expr, renames: &Renames) -> Result<Expr> {
    let renamed = expression.transform_up(|mut part| {
        if let Some(subquery) = subquery_mut(&mut part) {
            *subquery = outer_renamed(subquery.clone(), renames)?;
            return Ok(Transformed::yes(part));
        }
        Ok(match part {
            Expr::OuterReferenceColumn(field, column) if let Some(name) = renames.get(&column) => {
                Transformed::yes(Expr::OuterReferenceColumn(field, name.clone()))
            }
            other => Transformed::no(other),
        })
    });
    Ok(renamed?.data)
}
