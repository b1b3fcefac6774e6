//! Subqueries in forms that DataFusion can plan.
//!
//! * A subquery used as a value becomes an aggregate of itself: `single_value` keeps PostgreSQL's error when there are
//!   several rows, `first_value` stands for `LIMIT 1`. DataFusion can then turn correlated ones into joins.
//! * A select whose source is a system catalog that never has rows here becomes an empty select, whatever else it says.

use super::build::{binary, call, last_part, native_cast, null, number, ordered_aggregate};
use super::names;
use crate::system_catalog;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident, JoinOperator,
    LimitClause, ObjectName, ObjectNamePart, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor,
    Value, ValueWithSpan, Visit, VisitMut, Visitor, VisitorMut,
};
use std::ops::ControlFlow;

/// Takes the conditions out of a subquery that are about the row around it only: without them the rest may be a join.
/// Returned with the value that the subquery has where they do not hold: NULL, or an aggregate of nothing.
pub fn take_outer_condition(query: &mut Query) -> Option<(Expr, Expr)> {
    let of_nothing = match query.body.as_ref() {
        SetExpr::Select(select) if query.with.is_none() && is_plain(select) => null(),
        SetExpr::Select(select) if query.with.is_none() && !is_grouped(select) && select.having.is_none() => {
            let mut nothing = query.clone();
            if let SetExpr::Select(select) = nothing.body.as_mut() {
                select.selection = Some(Expr::Value(Value::Boolean(false).into()));
            }
            Expr::Subquery(Box::new(nothing))
        }
        _ => return None,
    };
    let SetExpr::Select(select) = query.body.as_mut() else { return None };
    let own = own_names(select)?;
    let mut kept = None;
    let mut taken = None;
    for condition in conjuncts(select.selection.take()) {
        let side = if is_outer_only(&condition, &own) { &mut taken } else { &mut kept };
        *side = Some(match side.take() {
            None => condition,
            Some(before) => binary(before, BinaryOperator::And, condition),
        });
    }
    select.selection = kept;
    taken.map(|condition| (condition, of_nothing))
}

/// The names of the sources in FROM; `None` when one has no name of its own.
fn own_names(select: &Select) -> Option<Vec<String>> {
    let factors = select
        .from
        .iter()
        .flat_map(|source| std::iter::once(&source.relation).chain(source.joins.iter().map(|join| &join.relation)));
    factors
        .map(|factor| match factor {
            TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
                Some(super::build::folded(&alias.name))
            }
            TableFactor::Table { name, alias: None, .. } => Some(last_part(name)),
            _ => None,
        })
        .collect()
}

fn conjuncts(condition: Option<Expr>) -> Vec<Expr> {
    match condition {
        Some(Expr::BinaryOp { left, op: BinaryOperator::And, right }) => {
            let mut all = conjuncts(Some(*left));
            all.extend(conjuncts(Some(*right)));
            all
        }
        Some(Expr::Nested(inner)) if matches!(*inner, Expr::BinaryOp { op: BinaryOperator::And, .. }) => {
            conjuncts(Some(*inner))
        }
        Some(other) => vec![other],
        None => vec![],
    }
}

/// Whether an expression names columns, and only such as say that they are of other sources.
fn is_outer_only(expression: &Expr, own: &[String]) -> bool {
    struct Finder<'a> {
        own: &'a [String],
        names_outer: bool,
    }
    impl Visitor for Finder<'_> {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
        fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
            match expression {
                Expr::Identifier(_) => ControlFlow::Break(()),
                Expr::CompoundIdentifier(parts) => {
                    let source = parts.len().checked_sub(2).map(|place| super::build::folded(&parts[place]));
                    if source.is_none_or(|source| self.own.contains(&source)) {
                        return ControlFlow::Break(());
                    }
                    self.names_outer = true;
                    ControlFlow::Continue(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    let mut finder = Finder { own, names_outer: false };
    expression.visit(&mut finder).is_continue() && finder.names_outer
}

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

/// Changes each expression in a part of a query that is in no subquery of it, parts before wholes.
pub fn outside_subqueries(part: &mut impl VisitMut, change: impl FnMut(&mut Expr)) {
    struct Outside<F> {
        change: F,
        depth: usize,
    }
    impl<F: FnMut(&mut Expr)> VisitorMut for Outside<F> {
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
            if self.depth == 0 {
                (self.change)(expression);
            }
            ControlFlow::Continue(())
        }
    }
    // The visitor never breaks.
    let _ = part.visit(&mut Outside { change, depth: 0 });
}

/// Makes each EXISTS in a select list a count: DataFusion plans EXISTS as a join, and so in filters only.
pub fn count_existing(select: &mut Select) {
    for item in &mut select.projection {
        outside_subqueries(item, |expression| {
            if let Expr::Exists { subquery, negated } = expression
                && let Some(count) = counted(subquery)
            {
                let op = if *negated { BinaryOperator::Eq } else { BinaryOperator::Gt };
                *expression = super::build::nested(binary(Expr::Subquery(count), op, number(0)));
            }
        });
    }
}

/// Takes `WHEN t.typtype = 'd' THEN ...` out of a select list over `pg_type AS t`: no type here is a domain, and what drivers ask of those
/// cannot be planned.
pub fn drop_cases_of_domains(select: &mut Select) {
    let name_of_types = |factor: &TableFactor| match factor {
        TableFactor::Table { name, alias, .. } if last_part(name) == "pg_type" => {
            Some(alias.as_ref().map_or_else(|| "pg_type".to_owned(), |alias| super::build::folded(&alias.name)))
        }
        _ => None,
    };
    let Some(types) = select.from.iter().find_map(|source| name_of_types(&source.relation)) else { return };
    let asks_for_domain = |condition: &Expr| match condition {
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => match left.as_ref() {
            Expr::CompoundIdentifier(parts) => {
                let parts: Vec<String> = parts.iter().map(super::build::folded).collect();
                parts == [types.as_str(), "typtype"] && super::types::string_literal(right) == Some("d")
            }
            _ => false,
        },
        _ => false,
    };
    for item in &mut select.projection {
        let (SelectItem::UnnamedExpr(expression) | SelectItem::ExprWithAlias { expr: expression, .. }) = item else {
            continue;
        };
        let mut inside = &mut *expression;
        while let Expr::Nested(inner) = inside {
            inside = inner;
        }
        if let Expr::Case { operand: None, conditions, else_result, .. } = inside {
            conditions.retain(|when| !asks_for_domain(&when.condition));
            if conditions.is_empty() {
                *inside = else_result.take().map_or_else(null, |otherwise| *otherwise);
            }
        }
    }
}

/// The query with a count of its rows in place of them, if it is of a form where that is so easily done.
fn counted(query: &Query) -> Option<Box<Query>> {
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    if query.limit_clause.is_some()
        || query.fetch.is_some()
        || is_grouped(select)
        || select.having.is_some()
        || has_aggregate(select)
    {
        return None;
    }
    let mut counting = query.clone();
    counting.order_by = None;
    if let SetExpr::Select(select) = counting.body.as_mut() {
        let mut count = super::build::function("count", vec![]);
        if let FunctionArguments::List(list) = &mut count.args {
            list.args.push(FunctionArg::Unnamed(FunctionArgExpr::Wildcard));
        }
        select.distinct = None;
        select.projection =
            vec![SelectItem::ExprWithAlias { expr: Expr::Function(count), alias: super::build::quoted("count") }];
    }
    Some(Box::new(counting))
}

/// `x = ANY (subquery)` is `x IN`, `x <> ALL (subquery)` is `x NOT IN`.
pub fn any_as_in(expression: &mut Expr) {
    let (left, op, right, all) = match expression {
        Expr::AnyOp { left, compare_op, right, .. } => (left, compare_op, right, false),
        Expr::AllOp { left, compare_op, right } => (left, compare_op, right, true),
        _ => return,
    };
    let wanted = if all { BinaryOperator::NotEq } else { BinaryOperator::Eq };
    let mut inside = right.as_mut();
    while let Expr::Nested(inner) = inside {
        inside = inner;
    }
    if *op == wanted
        && let Expr::Subquery(subquery) = inside
    {
        let expr = std::mem::replace(left.as_mut(), null());
        *expression = Expr::InSubquery { expr: Box::new(expr), subquery: subquery.clone(), negated: all };
    }
}

/// No grouping, no aggregate, no DISTINCT: as many rows out as pass the filter.
pub fn is_plain(select: &Select) -> bool {
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
pub(super) fn has_aggregate(select: &Select) -> bool {
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
    let reads_collations = select.from.iter().any(|source| match &source.relation {
        TableFactor::Table { name, .. } => last_part(name) == "pg_collation",
        _ => false,
    });
    let asks = || reads_collations && select.selection.as_ref().is_some_and(asks_for_other_collation);
    if is_of_toast_options(select) || asks() {
        return true;
    }
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

/// Whether a condition wants a column's collation to be another than its type's, which none is here. (psql asks so for each column.)
fn asks_for_other_collation(condition: &Expr) -> bool {
    let is_named = |side: &Expr, name: &str| match side {
        Expr::CompoundIdentifier(parts) => parts.last().is_some_and(|part| part.value == name),
        _ => false,
    };
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            asks_for_other_collation(left) || asks_for_other_collation(right)
        }
        Expr::BinaryOp { left, op: BinaryOperator::NotEq, right } => {
            is_named(left, "attcollation") && is_named(right, "typcollation")
        }
        _ => false,
    }
}

/// Whether this is psql's list of the options of a table's TOAST table, of which there are none here.
fn is_of_toast_options(select: &Select) -> bool {
    let [source] = select.from.as_slice() else { return false };
    let TableFactor::Table { name, args: Some(arguments), .. } = &source.relation else { return false };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::CompoundIdentifier(column)))] = arguments.args.as_slice()
    else {
        return false;
    };
    let of_options = column.last().is_some_and(|column| column.value == "reloptions");
    of_options
        && last_part(name) == "unnest"
        && matches!(select.projection.as_slice(), [SelectItem::UnnamedExpr(Expr::BinaryOp { left, .. })]
            if super::types::string_literal(left) == Some("toast."))
}

/// Makes the selects of a query that can have no rows empty. What the rows would have been is not planned, so it may say
/// things that cannot be.
pub fn empty_selects(query: &mut Query) {
    if let SetExpr::Select(select) = query.body.as_mut() {
        if empty_select(select, native_cast(null(), DataType::Text)) {
            query.order_by = None;
        }
    } else {
        empty_operands(&mut query.body);
    }
}

fn empty_operands(body: &mut SetExpr) {
    match body {
        // The other operands say what types the columns have.
        SetExpr::Select(select) => {
            empty_select(select, null());
        }
        SetExpr::SetOperation { left, right, .. } => {
            empty_operands(left);
            empty_operands(right);
        }
        _ => {}
    }
}

/// `column`: what stands for each column of no rows.
fn empty_select(select: &mut Select, column: Expr) -> bool {
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
        .map(|name| SelectItem::ExprWithAlias { expr: column.clone(), alias: super::build::quoted(name) })
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
        // DataFusion looks table functions up by the name as written, quotes included.
        name: ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))]),
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
