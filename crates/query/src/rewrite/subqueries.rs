//! Subqueries in forms that DataFusion can plan.
//!
//! * A subquery used as a value becomes an aggregate of itself: `single_value` keeps PostgreSQL's error when there are
//!   several rows, `first_value` stands for `LIMIT 1`. DataFusion can then turn correlated ones into joins.
//! * A select whose source is a system catalog that never has rows here becomes an empty select, whatever else it says.

use super::build::{call, last_part, native_cast, null, object_name, ordered_aggregate};
use super::names;
use crate::system_catalog;
use datafusion::sql::sqlparser::ast::{
    DataType, Expr, GroupByExpr, JoinOperator, LimitClause, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr,
    TableFactor, Value, ValueWithSpan, Visit, Visitor,
};
use std::ops::ControlFlow;

/// Makes a subquery that is used as a value return exactly one row.
pub fn make_single(query: &mut Query) {
    let limits_to_one = limits_to_one(query);
    let has_limit = query.limit_clause.is_some() || query.fetch.is_some();
    if query.with.is_some() || (has_limit && !limits_to_one) {
        return;
    }
    let order_by = match query.order_by.take() {
        None => vec![],
        Some(OrderBy { kind: OrderByKind::Expressions(expressions), .. }) => expressions,
        other => {
            query.order_by = other;
            return;
        }
    };
    let SetExpr::Select(select) = query.body.as_mut() else {
        restore_order(query, order_by);
        return;
    };
    let by_position = order_by.iter().any(|item| matches!(item.expr, Expr::Value(_)));
    if !is_plain(select) || by_position || select.projection.len() != 1 {
        restore_order(query, order_by);
        return;
    }
    let (expression, alias) = match &mut select.projection[0] {
        SelectItem::UnnamedExpr(expression) => (std::mem::replace(expression, null()), None),
        SelectItem::ExprWithAlias { expr, alias } => (std::mem::replace(expr, null()), Some(alias.clone())),
        _ => {
            restore_order(query, order_by);
            return;
        }
    };
    let name = alias.unwrap_or_else(|| super::build::quoted(names::of_expression(&expression)));
    let aggregate = if limits_to_one {
        ordered_aggregate("first_value", expression, order_by)
    } else {
        call("single_value", vec![expression])
    };
    select.projection[0] = SelectItem::ExprWithAlias { expr: aggregate, alias: name };
    query.limit_clause = None;
    query.fetch = None;
}

fn restore_order(query: &mut Query, expressions: Vec<datafusion::sql::sqlparser::ast::OrderByExpr>) {
    if !expressions.is_empty() {
        query.order_by = Some(OrderBy { kind: OrderByKind::Expressions(expressions), interpolate: None });
    }
}

/// Makes `ARRAY(subquery)` a subquery that returns one list.
pub fn make_array(query: &mut Query) -> bool {
    if query.limit_clause.is_some() || query.with.is_some() {
        return false;
    }
    // A position in ORDER BY is the one column there is.
    let order_by = match query.order_by.take() {
        Some(OrderBy { kind: OrderByKind::Expressions(expressions), .. }) => expressions,
        _ => vec![],
    };
    let SetExpr::Select(select) = query.body.as_mut() else { return false };
    if !is_plain(select) || select.projection.len() != 1 {
        return false;
    }
    let (SelectItem::UnnamedExpr(expression) | SelectItem::ExprWithAlias { expr: expression, .. }) =
        &mut select.projection[0]
    else {
        return false;
    };
    let expression = std::mem::replace(expression, null());
    let order_by = order_by
        .into_iter()
        .map(|mut item| {
            if matches!(item.expr, Expr::Value(_)) {
                item.expr = expression.clone();
            }
            item
        })
        .collect();
    select.projection[0] = SelectItem::ExprWithAlias {
        expr: ordered_aggregate("array_agg", expression, order_by),
        alias: super::build::quoted("array"),
    };
    true
}

/// No grouping, no aggregate, no DISTINCT: as many rows out as pass the filter.
fn is_plain(select: &Select) -> bool {
    select.distinct.is_none() && !is_grouped(select) && select.having.is_none() && !has_aggregate(select)
}

fn is_grouped(select: &Select) -> bool {
    !matches!(&select.group_by, GroupByExpr::Expressions(expressions, modifiers) if expressions.is_empty() && modifiers.is_empty())
}

fn limits_to_one(query: &Query) -> bool {
    matches!(
        &query.limit_clause,
        Some(LimitClause::LimitOffset {
            limit: Some(Expr::Value(ValueWithSpan { value: Value::Number(number, _), .. })),
            offset: None,
            limit_by,
        }) if number == "1" && limit_by.is_empty()
    )
}

/// Names of aggregate functions, built-in and ours. Whatever else DataFusion has is not PostgreSQL's.
const AGGREGATES: [&str; 31] = [
    "array_agg",
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "covar_pop",
    "covar_samp",
    "every",
    "first_value",
    "max",
    "median",
    "min",
    "percentile_cont",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "single_value",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "string_agg",
    "sum",
    "var_pop",
    "var_samp",
];

/// Whether the select list calls an aggregate function (not as a window function) outside a subquery.
fn has_aggregate(select: &Select) -> bool {
    struct Finder {
        depth: usize,
    }
    impl Visitor for Finder {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth += 1;
            ControlFlow::Continue(())
        }
        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth -= 1;
            ControlFlow::Continue(())
        }
        fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
            match expression {
                Expr::Function(function)
                    if self.depth == 0
                        && function.over.is_none()
                        && (AGGREGATES.contains(&last_part(&function.name).as_str())
                            || last_part(&function.name) == "variance") =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    select.projection.iter().any(|item| item.visit(&mut Finder { depth: 0 }).is_break())
}

/// Whether the select reads, by inner joins, a system catalog that never has rows.
fn reads_empty_catalog(select: &Select) -> bool {
    let is_empty = |factor: &TableFactor| match factor {
        TableFactor::Table { name, args: None, .. } => {
            let in_catalog =
                name.0.len() == 1 || name.0[0].as_ident().is_some_and(|schema| schema.value == "pg_catalog");
            in_catalog && system_catalog::is_always_empty(&last_part(name))
        }
        _ => false,
    };
    select.from.iter().any(|source| {
        let inner = |operator: &JoinOperator| {
            matches!(operator, JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_))
        };
        let left_is_kept = source.joins.iter().all(|join| {
            inner(&join.join_operator)
                || matches!(join.join_operator, JoinOperator::Left(_) | JoinOperator::LeftOuter(_))
        });
        let inner_only = source.joins.iter().all(|join| inner(&join.join_operator));
        (left_is_kept && is_empty(&source.relation))
            || (inner_only && source.joins.iter().any(|join| is_empty(&join.relation)))
    })
}

/// Makes the selects of a query that can have no rows empty. What the rows would have been is not planned, so it may say
/// things that cannot be.
pub fn empty_selects(query: &mut Query) {
    if let SetExpr::Select(select) = query.body.as_mut() {
        if empty_select(select) {
            query.order_by = None;
        }
    } else {
        empty_operands(&mut query.body);
    }
}

fn empty_operands(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            empty_select(select);
        }
        SetExpr::SetOperation { left, right, .. } => {
            empty_operands(left);
            empty_operands(right);
        }
        _ => {}
    }
}

fn empty_select(select: &mut Select) -> bool {
    let named = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expression) => Some(names::of_expression(expression)),
        SelectItem::ExprWithAlias { alias, .. } => Some(super::build::folded(alias)),
        _ => None,
    };
    let names: Option<Vec<String>> = select.projection.iter().map(named).collect();
    let (Some(names), true, false) = (names, reads_empty_catalog(select), has_aggregate(select)) else {
        return false;
    };
    select.projection = names
        .into_iter()
        .map(|name| SelectItem::ExprWithAlias {
            expr: native_cast(null(), DataType::Text),
            alias: super::build::quoted(name),
        })
        .collect();
    select.from = vec![];
    select.selection = Some(Expr::Value(Value::Boolean(false).into()));
    select.group_by = GroupByExpr::Expressions(vec![], vec![]);
    select.having = None;
    select.distinct = None;
    true
}

/// A table factor that is a subquery.
pub fn derived(query: Query, alias: Option<datafusion::sql::sqlparser::ast::TableAlias>) -> TableFactor {
    TableFactor::Derived { lateral: false, subquery: Box::new(query), alias, sample: None }
}

/// A name in FROM.
pub fn table(name: &str) -> TableFactor {
    TableFactor::Table {
        name: object_name(name),
        alias: None,
        args: None,
        with_hints: vec![],
        version: None,
        with_ordinality: false,
        partitions: vec![],
        json_path: None,
        sample: None,
        index_hints: vec![],
    }
}
