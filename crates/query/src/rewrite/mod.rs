//! PostgreSQL's syntax trees to those that DataFusion plans with PostgreSQL's meaning.
//!
//! Invariant: the rewritten query has the same columns, with PostgreSQL's names, and the same rows. What cannot be had is
//! refused here with 0A000 where DataFusion would silently do something else. In reading order: `refusals` and `patterns`, [`names`] of columns, `aliases` of sources, `table_numbers`,
//! [`types`] and casts, [`expressions`], [`functions`], [`sources`], [`lateral`] subqueries and [`merged`] columns in FROM, [`subqueries`], `windows`; [`build`] constructs trees.

mod aliases;
mod build;
mod expressions;
mod functions;
mod lateral;
mod merged;
pub mod names;
mod patterns;
mod refusals;
mod sources;
mod subqueries;
mod table_numbers;
pub mod types;
mod windows;

use crate::error::QueryError;
use crate::limits::{COPIED_NODES_MAX, PARAMETERS_MAX};
use crate::system_catalog::SystemCatalog;
use ::values::Type;
use datafusion::sql::sqlparser::ast::{
    Cte, DataType, Distinct, ExactNumberInfo, Expr, GroupByExpr, Ident, LimitClause, ObjectName, Offset, OffsetRows,
    OrderByKind, Query, Select, SetExpr, SetOperator, SetQuantifier, Statement, TableFactor, Value, ValueWithSpan,
    Values, Visit, VisitMut, Visitor, VisitorMut,
};
use sql_syntax::TooDeep;
use std::ops::ControlFlow;

/// A query ready to be planned.
pub struct Rewritten {
    /// The query.
    pub statement: Statement,
    /// Types of `$1..` as far as the syntax tells: those that are cast, and LIMIT's.
    pub parameters: Vec<Option<Type>>,
    /// Whether it calls functions of chance.
    pub is_random: bool,
}

/// The parameters that follow the statement's own: what only an execution knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionParameter {
    /// When the transaction began, `timestamptz`.
    Now,
    /// Seed of random functions, `bigint`.
    Seed,
    /// What `pg_backend_pid()` says, `integer`.
    BackendPid,
}

impl ExecutionParameter {
    /// In the order in which they follow the statement's parameters.
    pub const ALL: [ExecutionParameter; 3] =
        [ExecutionParameter::Now, ExecutionParameter::Seed, ExecutionParameter::BackendPid];

    /// The parameter's type.
    pub fn parameter_type(self) -> Type {
        match self {
            ExecutionParameter::Now => Type::TimestampTz(None),
            ExecutionParameter::Seed => Type::BigInt,
            ExecutionParameter::BackendPid => Type::Integer,
        }
    }
}

/// Rewrites a query. Errors: 0A000 for anything that is not a query or not offered, 42P02 and others for bad parameters,
/// 42704 for unknown types.
pub fn rewrite(statement: &Statement, catalog: &SystemCatalog) -> Result<Rewritten, QueryError> {
    if !matches!(statement, Statement::Query(_)) {
        return Err(QueryError::unsupported("only queries can be planned as queries"));
    }
    let mut parameters = Parameters::default();
    if let ControlFlow::Break(error) = statement.visit(&mut parameters) {
        return Err(error);
    }
    refusals::check(statement)?;
    let mut statement = statement.clone();
    let relations = merged::Relations::of(&statement, catalog);
    aliases::tell_from_columns(&mut statement, &relations);
    let mut rewriter = Rewriter { catalog, relations, parameters: parameters.types.len(), random_calls: 0, copied: 0 };
    match VisitMut::visit(&mut statement, &mut rewriter) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => {
            let is_random = rewriter.random_calls > 0;
            // Lists of rows have become chains.
            sql_syntax::balance(&mut statement);
            Ok(Rewritten { statement, parameters: parameters.types, is_random })
        }
    }
}

/// Counts the parameters and gathers what casts and LIMIT say of their types.
#[derive(Default)]
struct Parameters {
    types: Vec<Option<Type>>,
}

impl Parameters {
    fn note(&mut self, expression: &Expr, known: Option<Type>) -> ControlFlow<QueryError> {
        let Expr::Value(ValueWithSpan { value: Value::Placeholder(name), .. }) = expression else {
            return ControlFlow::Continue(());
        };
        let number = name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
        let Some(number @ 1..=PARAMETERS_MAX) = number else {
            return ControlFlow::Break(QueryError::new("42P02", format!("there is no parameter {name}")));
        };
        if self.types.len() < number {
            self.types.resize(number, None);
        }
        let slot = &mut self.types[number - 1];
        *slot = slot.or(known);
        ControlFlow::Continue(())
    }
}

impl Visitor for Parameters {
    type Break = QueryError;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<QueryError> {
        match &query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                for bound in limit.iter().chain(offset.iter().map(|offset| &offset.value)) {
                    self.note(bound, Some(Type::BigInt))?;
                }
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<QueryError> {
        match expression {
            Expr::Cast { expr, data_type, .. } => self.note(expr, types::parameter_type(data_type)),
            other => self.note(other, None),
        }
    }
}

/// Walks the tree; children are rewritten before their parents, columns are named before anything else changes.
struct Rewriter<'a> {
    catalog: &'a SystemCatalog,
    relations: merged::Relations<'a>,
    /// How many parameters the statement has.
    parameters: usize,
    /// Calls of random functions so far: each is a sequence of its own.
    random_calls: usize,
    /// Nodes copied so far.
    copied: usize,
}

impl Rewriter<'_> {
    /// Notes that an expression will stand in so many places. Errors: 54001 where that makes the statement too large.
    fn copy(&mut self, expression: &Expr, places: usize) -> Result<(), QueryError> {
        struct Nodes(usize);
        impl Visitor for Nodes {
            type Break = ();

            fn pre_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
                self.0 += 1;
                if self.0 > COPIED_NODES_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
        }
        let mut nodes = Nodes(0);
        let _ = expression.visit(&mut nodes);
        self.copied = self.copied.saturating_add(nodes.0.saturating_mul(places.saturating_sub(1)));
        if self.copied > COPIED_NODES_MAX { Err(TooDeep.into()) } else { Ok(()) }
    }

    /// The placeholder of something that only an execution knows.
    fn execution_parameter(&self, parameter: ExecutionParameter) -> Expr {
        let place = ExecutionParameter::ALL.iter().position(|candidate| *candidate == parameter).unwrap_or_default();
        build::placeholder(self.parameters + 1 + place)
    }
}

fn check(result: Result<(), QueryError>) -> ControlFlow<QueryError> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

impl VisitorMut for Rewriter<'_> {
    type Break = QueryError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<QueryError> {
        check(prepare_query(query))?;
        check(merged::name_sources(query, &self.relations))?;
        subqueries::empty_selects(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<QueryError> {
        if let Some(order_by) = &mut query.order_by
            && let OrderByKind::Expressions(expressions) = &mut order_by.kind
        {
            expressions.iter_mut().for_each(|item| expressions::untype_number(&mut item.expr));
        }
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &mut query.limit_clause {
            // `LIMIT NULL` is no limit.
            if matches!(limit, Some(Expr::Value(ValueWithSpan { value: Value::Null, .. }))) {
                *limit = None;
            }
            limit.iter_mut().for_each(expressions::untype_number);
            offset.iter_mut().for_each(|offset| expressions::untype_number(&mut offset.value));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<QueryError> {
        if select.into.is_some() {
            return ControlFlow::Break(QueryError::unsupported(
                "SELECT INTO is not supported; make the table, then INSERT ... SELECT",
            ));
        }
        if select.qualify.is_some() || select.top.is_some() || !select.lateral_views.is_empty() {
            return ControlFlow::Break(QueryError::new("42601", "syntax error: not part of PostgreSQL's SELECT"));
        }
        check(windows::write_out(select))?;
        lateral::inline(select);
        table_numbers::write_out(select);
        names::name_columns(select);
        subqueries::drop_cases_of_domains(select);
        subqueries::count_existing(select);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<QueryError> {
        if let GroupByExpr::Expressions(grouping, _) = &mut select.group_by {
            grouping.iter_mut().for_each(expressions::untype_number);
        }
        if let Some(Distinct::On(distinct)) = &mut select.distinct {
            distinct.iter_mut().for_each(expressions::untype_number);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<QueryError> {
        // Before the columns of the subquery are named and typed.
        subqueries::any_as_in(expression);
        match expression {
            Expr::Subquery(query) => {
                subqueries::empty_selects(query);
                let condition = subqueries::take_outer_condition(query);
                subqueries::make_single(query);
                if let Some((condition, otherwise)) = condition {
                    let value = std::mem::replace(expression, build::null());
                    *expression = build::when(condition, value, otherwise);
                }
            }
            Expr::Function(function) => functions::array_of_subquery(function),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<QueryError> {
        check(self.rewrite_expression(expression))
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<QueryError> {
        check(sources::rewrite_source(factor))
    }
}

/// Refuses what DataFusion would ignore, and writes `FETCH FIRST` as `LIMIT`.
fn prepare_query(query: &mut Query) -> Result<(), QueryError> {
    if !query.locks.is_empty() {
        return Err(QueryError::unsupported(
            "FOR UPDATE and FOR SHARE are supported for a single table without grouping only",
        ));
    }
    if !query.pipe_operators.is_empty() || query.format_clause.is_some() || query.settings.is_some() {
        return Err(QueryError::new("42601", "syntax error: not part of PostgreSQL's SELECT"));
    }
    if matches!(query.body.as_ref(), SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_)) {
        return Err(QueryError::unsupported("a statement that changes data cannot be part of a query"));
    }
    if let Some(with) = &query.with
        && with.cte_tables.iter().any(|table| {
            matches!(
                table.query.body.as_ref(),
                SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_)
            )
        })
    {
        return Err(QueryError::unsupported("a statement that changes data cannot be part of WITH"));
    }
    if let SetExpr::Values(values) = query.body.as_mut() {
        keep_digits(values);
    }
    refuse_counting(&query.body)?;
    if let Some(with) = query.with.as_ref().filter(|with| with.recursive) {
        with.cte_tables.iter().try_for_each(check_recursion)?;
    }
    if let Some(fetch) = query.fetch.take() {
        if fetch.with_ties || fetch.percent {
            return Err(QueryError::unsupported("FETCH with WITH TIES or PERCENT is not supported"));
        }
        let quantity = fetch.quantity.unwrap_or_else(|| build::number(1));
        match &mut query.limit_clause {
            None => {
                let limit = Some(quantity);
                query.limit_clause = Some(LimitClause::LimitOffset { limit, offset: None, limit_by: vec![] });
            }
            Some(LimitClause::LimitOffset { limit: limit @ None, .. }) => *limit = Some(quantity),
            Some(_) => return Err(QueryError::new("42601", "LIMIT and FETCH cannot both be given")),
        }
    }
    if let Some(LimitClause::OffsetCommaLimit { .. }) = &query.limit_clause {
        return Err(QueryError::new("42601", "LIMIT #,# syntax is not supported"));
    }
    if let Some(LimitClause::LimitOffset { offset: Some(Offset { rows, .. }), .. }) = &mut query.limit_clause {
        *rows = OffsetRows::None;
    }
    Ok(())
}

/// Errors: 0A000 for set operations that count duplicates, which the library does not.
fn refuse_counting(body: &SetExpr) -> Result<(), QueryError> {
    let SetExpr::SetOperation { op, set_quantifier, left, right } = body else { return Ok(()) };
    let counts = matches!(set_quantifier, SetQuantifier::All | SetQuantifier::AllByName);
    if counts && matches!(op, SetOperator::Except | SetOperator::Intersect) {
        return Err(QueryError::unsupported(format!("{op} ALL is not supported")));
    }
    refuse_counting(left)?;
    refuse_counting(right)
}

/// Gives the numbers in a column of VALUES the type numeric where they have several scales, so that each keeps its own.
fn keep_digits(values: &mut Values) {
    fn digits(item: &Expr) -> Option<&str> {
        match item {
            Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => Some(digits),
            Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => digits(inner),
            _ => None,
        }
    }
    let is_null = |item: &Expr| matches!(item, Expr::Value(ValueWithSpan { value: Value::Null, .. }));
    fn is_numeric(item: &Expr) -> bool {
        match item {
            Expr::Cast { data_type, .. } => types::parameter_type(data_type) == Some(Type::Numeric(None)),
            Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => is_numeric(inner),
            _ => false,
        }
    }
    let scale = |digits: &str| digits.split_once('.').map_or(0, |(_, behind)| behind.len() + 1);
    let columns = values.rows.iter().map(|row| row.content.len()).min().unwrap_or_default();
    for place in 0..columns {
        let mut items = values.rows.iter().map(|row| &row.content[place]);
        let known = items.clone().all(|item| digits(item).is_some() || is_null(item) || is_numeric(item));
        let scales: std::collections::BTreeSet<usize> = items.clone().filter_map(digits).map(scale).collect();
        let differ = items.any(is_numeric) || (scales.len() > 1 && scales.last() > Some(&0));
        if !known || !differ {
            continue;
        }
        for row in &mut values.rows {
            let item = &mut row.content[place];
            if digits(item).is_some() {
                let number = std::mem::replace(item, build::null());
                *item = build::native_cast(number, DataType::Numeric(ExactNumberInfo::None));
            }
        }
    }
}

/// Errors: 42P19 and 0A000 for what PostgreSQL does not have in a query that reads itself.
fn check_recursion(table: &Cte) -> Result<(), QueryError> {
    let SetExpr::SetOperation { right, .. } = table.query.body.as_ref() else { return Ok(()) };
    if mentions(&table.query.order_by, &table.alias.name) {
        return Err(QueryError::unsupported("ORDER BY in a recursive query is not supported"));
    }
    if !mentions(right, &table.alias.name) {
        return Ok(());
    }
    let limited = table.query.limit_clause.is_some() || table.query.fetch.is_some();
    if limited || table.query.order_by.is_some() {
        let what = if limited { "LIMIT" } else { "ORDER BY" };
        return Err(QueryError::unsupported(format!("{what} in a recursive query is not supported")));
    }
    match right.as_ref() {
        SetExpr::Select(select) if subqueries::has_aggregate(select) => {
            let message = "aggregate functions are not allowed in a recursive query's recursive term";
            Err(QueryError::new("42P19", message))
        }
        SetExpr::Query(inner) if inner.limit_clause.is_some() || inner.fetch.is_some() => {
            Err(QueryError::unsupported("LIMIT in a recursive query is not supported"))
        }
        _ => Ok(()),
    }
}

fn mentions(part: &impl Visit, table: &Ident) -> bool {
    let mut mentions = Mentions { name: build::folded(table), found: false };
    // The visitor never breaks.
    let _ = Visit::visit(part, &mut mentions);
    mentions.found
}

/// Whether a relation is named.
struct Mentions {
    name: String,
    found: bool,
}

impl Visitor for Mentions {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        self.found |= relation.0.len() == 1 && build::last_part(relation) == self.name;
        ControlFlow::Continue(())
    }
}

/// The integer type of a literal without point: the smallest of integer, bigint that holds it.
fn integer_type(digits: &str) -> Option<DataType> {
    digits.parse::<i32>().is_ok().then_some(DataType::Int4(None))
}
