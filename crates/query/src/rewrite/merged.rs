//! Columns that `JOIN ... USING` and NATURAL JOIN merge: where one is named without its source, it is that of the side which has a value.
//!
//! DataFusion knows of merged columns only where it needs no type of an expression. So they get the name of their source here: PostgreSQL's
//! (section 7.2.1.1 of its manual), the left side's, of a RIGHT JOIN the right side's, of a FULL JOIN the first that is not NULL.

use super::build::{call, folded, last_part, quoted};
use crate::system_catalog::SystemCatalog;
use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, GroupByExpr, JoinConstraint, JoinOperator, OrderByKind, Query, Select, SelectItem, SetExpr,
    TableFactor, VisitMut, VisitorMut,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Gives the merged columns in ORDER BY their sources. A column alone is one of the select list, if there is one of that name.
pub(super) fn name_sources_in_order(query: &mut Query, catalog: &SystemCatalog) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    let Some(order_by) = &mut query.order_by else { return };
    let OrderByKind::Expressions(items) = &mut order_by.kind else { return };
    let mut merged = Merged::of(select, catalog);
    for item in items.iter_mut().filter(|item| !matches!(item.expr, Expr::Identifier(_))) {
        merged.name_sources(&mut item.expr);
    }
}

/// Gives the merged columns of a select their sources, and keeps their names as those of results.
pub(super) fn name_sources(select: &mut Select, catalog: &SystemCatalog) {
    let mut merged = Merged::of(select, catalog);
    if merged.columns.is_empty() {
        return;
    }
    for item in &mut select.projection {
        match item {
            SelectItem::UnnamedExpr(Expr::Identifier(column)) => {
                if let Some(source) = merged.columns.get(&folded(column)) {
                    let (expr, alias) = (source.clone(), quoted(folded(column)));
                    *item = SelectItem::ExprWithAlias { expr, alias };
                }
            }
            SelectItem::UnnamedExpr(expression) | SelectItem::ExprWithAlias { expr: expression, .. } => {
                merged.name_sources(expression);
            }
            _ => {}
        }
    }
    if let GroupByExpr::Expressions(expressions, _) = &mut select.group_by {
        expressions.iter_mut().for_each(|expression| merged.name_sources(expression));
    }
    if let Some(Distinct::On(expressions)) = &mut select.distinct {
        expressions.iter_mut().for_each(|expression| merged.name_sources(expression));
    }
    select.selection.iter_mut().chain(&mut select.having).for_each(|condition| merged.name_sources(condition));
}

/// The merged columns of a select, and what each of them is.
struct Merged {
    columns: BTreeMap<String, Expr>,
    /// Of the subquery that is being visited. What is named there may be its own.
    depth: usize,
}

/// A source in FROM.
struct Source {
    name: String,
    /// As far as they are known.
    columns: Option<BTreeSet<String>>,
}

impl Merged {
    fn of(select: &Select, catalog: &SystemCatalog) -> Merged {
        let mut merged = Merged { columns: BTreeMap::new(), depth: 0 };
        for chain in &select.from {
            let mut left: Vec<Source> = Source::of(&chain.relation, catalog).into_iter().collect();
            let mut in_chain = BTreeMap::new();
            for join in &chain.joins {
                let Some(right) = Source::of(&join.relation, catalog) else { break };
                for column in columns_merged(&join.join_operator, &left, &right) {
                    let of_left = in_chain.get(&column).cloned().or_else(|| owner(&left, &column));
                    let Some(of_left) = of_left else { continue };
                    let value = match &join.join_operator {
                        JoinOperator::Right(_) | JoinOperator::RightOuter(_) => right.column(&column),
                        JoinOperator::FullOuter(_) => call("coalesce", vec![of_left, right.column(&column)]),
                        _ => of_left,
                    };
                    in_chain.insert(column, value);
                }
                left.push(right);
            }
            merged.columns.extend(in_chain);
        }
        merged
    }

    fn name_sources(&mut self, expression: &mut Expr) {
        // The visitor never breaks.
        let _ = expression.visit(self);
    }
}

impl VisitorMut for Merged {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0
            && let Expr::Identifier(column) = expression
            && let Some(source) = self.columns.get(&folded(column))
        {
            *expression = source.clone();
        }
        ControlFlow::Continue(())
    }
}

impl Source {
    /// `None` for what has no name.
    fn of(factor: &TableFactor, catalog: &SystemCatalog) -> Option<Source> {
        let (alias, own_name, columns) = match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let name = last_part(name);
                let columns = catalog.columns_of(&name);
                (alias, Some(name), columns)
            }
            TableFactor::Table { name, alias, .. } => (alias, Some(last_part(name)), None),
            TableFactor::Derived { subquery, alias, .. } => (alias, None, columns_selected(subquery)),
            _ => return None,
        };
        let renamed = alias.as_ref().is_some_and(|alias| !alias.columns.is_empty());
        let name = alias.as_ref().map(|alias| folded(&alias.name)).or(own_name)?;
        Some(Source { name, columns: columns.filter(|_| !renamed) })
    }

    fn column(&self, column: &str) -> Expr {
        Expr::CompoundIdentifier(vec![quoted(self.name.clone()), quoted(column)])
    }
}

/// The names of the columns of a subquery; `None` if it does not say them itself.
fn columns_selected(query: &Query) -> Option<BTreeSet<String>> {
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let name = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expression) => Some(super::names::of_expression(expression)),
        SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
        _ => None,
    };
    select.projection.iter().map(name).collect()
}

/// The columns that a join merges. What NATURAL means depends on what both sides have.
fn columns_merged(operator: &JoinOperator, left: &[Source], right: &Source) -> Vec<String> {
    match constraint(operator) {
        Some(JoinConstraint::Using(names)) => names.iter().map(last_part).collect(),
        Some(JoinConstraint::Natural) => {
            let of_left: Option<Vec<_>> = left.iter().map(|source| source.columns.as_ref()).collect();
            let (Some(of_left), Some(of_right)) = (of_left, &right.columns) else { return Vec::new() };
            of_right.iter().filter(|column| of_left.iter().any(|has| has.contains(*column))).cloned().collect()
        }
        _ => Vec::new(),
    }
}

fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => Some(constraint),
        _ => None,
    }
}

/// The column of the only source that has it.
fn owner(sources: &[Source], column: &str) -> Option<Expr> {
    if let [only] = sources {
        return Some(only.column(column));
    }
    let has = |source: &&Source| source.columns.as_ref().is_some_and(|columns| columns.contains(column));
    let mut owners = sources.iter().filter(has);
    owners.next().filter(|_| owners.next().is_none()).map(|source| source.column(column))
}
