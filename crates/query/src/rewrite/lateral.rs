//! `CROSS JOIN LATERAL (SELECT expression) AS o(n)`: a subquery without a source is a name for an expression over the row, and
//! `o.n` becomes that expression.

use super::build::{folded, nested};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, JoinOperator, Select, SelectItem, SetExpr, TableFactor, VisitMut, VisitorMut,
};
use std::ops::ControlFlow;

/// Puts the expressions of such subqueries where they are named. A subquery of any other form stays.
pub(super) fn inline(select: &mut Select) {
    let mut named = Vec::new();
    for source in &mut select.from {
        source.joins.retain(|join| {
            let is_cross = matches!(join.join_operator, JoinOperator::CrossJoin(_));
            let expressions = if is_cross { expressions_of(&join.relation) } else { None };
            let keep = expressions.is_none();
            named.extend(expressions.into_iter().flatten());
            keep
        });
    }
    if named.is_empty() {
        return;
    }
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) = item
            && let Some(expression) = replacement(parts, &named)
            && let Some(alias) = parts.last().cloned()
        {
            *item = SelectItem::ExprWithAlias { expr: expression.clone(), alias };
        }
    }
    // The visitor never breaks.
    let _ = select.visit(&mut Replacer { named });
}

/// An expression under the names of its source and its column.
struct Named {
    source: String,
    column: String,
    expression: Expr,
}

/// The expressions of a lateral subquery without a source; `None` for anything else.
fn expressions_of(factor: &TableFactor) -> Option<Vec<Named>> {
    let TableFactor::Derived { lateral: true, subquery, alias: Some(alias), .. } = factor else { return None };
    let SetExpr::Select(select) = subquery.body.as_ref() else { return None };
    let is_bare = subquery.with.is_none() && subquery.limit_clause.is_none() && subquery.fetch.is_none();
    if !is_bare || !select.from.is_empty() || select.selection.is_some() || !super::subqueries::is_plain(select) {
        return None;
    }
    let mut named = Vec::new();
    for (place, item) in select.projection.iter().enumerate() {
        let (expression, own_name) = match item {
            SelectItem::UnnamedExpr(expression) => (expression, super::names::of_expression(expression)),
            SelectItem::ExprWithAlias { expr, alias } => (expr, folded(alias)),
            _ => return None,
        };
        let column = alias.columns.get(place).map_or(own_name, |column| folded(&column.name));
        named.push(Named { source: folded(&alias.name), column, expression: nested(expression.clone()) });
    }
    Some(named)
}

fn replacement<'a>(parts: &[Ident], named: &'a [Named]) -> Option<&'a Expr> {
    let [source, column] = parts else { return None };
    let (source, column) = (folded(source), folded(column));
    named.iter().find(|known| known.source == source && known.column == column).map(|known| &known.expression)
}

struct Replacer {
    named: Vec<Named>,
}

impl VisitorMut for Replacer {
    type Break = ();

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expression
            && let Some(replacement) = replacement(parts, &self.named)
        {
            *expression = replacement.clone();
        }
        ControlFlow::Continue(())
    }
}
