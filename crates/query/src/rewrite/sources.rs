//! Functions in FROM.
//!
//! `generate_series` over literals is a source of rows that never are in memory at once; over parameters it is a list that is
//! unnested. A scalar function is a subquery of one row.

use super::build::{call, function, last_part, native_cast, plain_arguments, quoted};
use super::types::{CAST_FUNCTION, string_literal};
use super::{functions, subqueries};
use crate::error::QueryError;
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    DataType, Expr, FunctionArguments, GroupByExpr, Ident, Query, Select, SelectFlavor, SelectItem, SetExpr,
    TableAlias, TableAliasColumnDef, TableFactor, TableFunctionArgs, TableWithJoins, Value, ValueWithSpan, Visit,
    Visitor,
};
use std::ops::ControlFlow;

/// Rewrites a function in FROM; anything else stays.
pub(super) fn rewrite_source(factor: &mut TableFactor) -> Result<(), QueryError> {
    let (name, arguments, alias, ordinality) = match factor {
        TableFactor::Table { name, args: Some(args), alias, with_ordinality, .. } => {
            (&*name, args.args.as_slice(), &*alias, *with_ordinality)
        }
        TableFactor::Function { name, args, alias, with_ordinality, .. } => {
            (&*name, args.as_slice(), &*alias, *with_ordinality)
        }
        TableFactor::Table { sample: Some(_), .. } => {
            return Err(QueryError::unsupported("TABLESAMPLE is not supported"));
        }
        _ => return Ok(()),
    };
    if ordinality {
        return Err(QueryError::unsupported("WITH ORDINALITY is not supported"));
    }
    let Some((name, arguments)) = functions::source_call(name, arguments) else {
        return Err(QueryError::unsupported("a function in FROM takes plain arguments only"));
    };
    let column = alias.as_ref().map_or_else(|| quoted(&name), |alias| alias.name.clone());
    let alias = aliased(alias.as_ref(), &column);
    let query = if name == "generate_series" {
        series(arguments, &column)
    } else {
        select(call(&name, arguments), column, None)
    };
    *factor = subqueries::derived(query, Some(alias));
    Ok(())
}

/// The alias under which the source is known: its one column has its name unless another is given.
fn aliased(alias: Option<&TableAlias>, column: &Ident) -> TableAlias {
    match alias {
        Some(alias) if !alias.columns.is_empty() => alias.clone(),
        _ => TableAlias {
            explicit: true,
            name: column.clone(),
            columns: vec![TableAliasColumnDef { name: column.clone(), data_type: None }],
            at: None,
        },
    }
}

fn series(arguments: Vec<Expr>, column: &Ident) -> Query {
    if arguments.iter().any(|argument| !is_constant(argument)) {
        let integers = arguments.iter().all(is_integer);
        let unnested = call("unnest", vec![call("generate_series", arguments)]);
        let typed = if integers { native_cast(unnested, DataType::Int4(None)) } else { unnested };
        return select(typed, column.clone(), None);
    }
    let integers = arguments.iter().all(is_integer);
    let mut source = subqueries::table("generate_series");
    if let TableFactor::Table { args, .. } = &mut source
        && let FunctionArguments::List(list) = function("generate_series", arguments).args
    {
        *args = Some(TableFunctionArgs { args: list.args, settings: None });
    }
    let value = Expr::Identifier(quoted("value"));
    let value = if integers { native_cast(value, DataType::Int4(None)) } else { value };
    select(value, column.clone(), Some(source))
}

/// What was given the type integer, or its negation.
pub(super) fn is_integer(expression: &Expr) -> bool {
    match expression {
        Expr::Function(function) if last_part(&function.name) == CAST_FUNCTION => {
            let arguments = plain_arguments(&function.args).unwrap_or_default();
            arguments.get(1).is_some_and(|target| string_literal(target) == Some("integer"))
        }
        Expr::Cast { data_type: DataType::Int4(None), .. } => true,
        Expr::UnaryOp { expr, .. } | Expr::Nested(expr) => is_integer(expr),
        _ => false,
    }
}

/// No column, no parameter, no subquery.
fn is_constant(expression: &Expr) -> bool {
    struct Finder;
    impl Visitor for Finder {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
        fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
            match expression {
                Expr::Identifier(_)
                | Expr::CompoundIdentifier(_)
                | Expr::Value(ValueWithSpan { value: Value::Placeholder(_), .. }) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expression.visit(&mut Finder).is_continue()
}

/// `SELECT expression AS alias FROM source`.
fn select(expression: Expr, alias: Ident, source: Option<TableFactor>) -> Query {
    let from = source.map(|relation| TableWithJoins { relation, joins: vec![] }).into_iter().collect();
    let select = Select {
        select_token: AttachedToken::empty(),
        optimizer_hints: vec![],
        distinct: None,
        select_modifiers: None,
        top: None,
        top_before_distinct: false,
        projection: vec![SelectItem::ExprWithAlias { expr: expression, alias }],
        exclude: None,
        into: None,
        from,
        lateral_views: vec![],
        prewhere: None,
        selection: None,
        connect_by: vec![],
        group_by: GroupByExpr::Expressions(vec![], vec![]),
        cluster_by: vec![],
        distribute_by: vec![],
        sort_by: vec![],
        having: None,
        named_window: vec![],
        qualify: None,
        window_before_qualify: false,
        value_table_mode: None,
        flavor: SelectFlavor::Standard,
    };
    Query {
        with: None,
        body: Box::new(SetExpr::Select(Box::new(select))),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: vec![],
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: vec![],
    }
}
