//! Functions in FROM.
//!
//! `generate_series` over literals is a source of rows that never are in memory at once; over parameters it is a list that is
//! unnested. Several arrays are unnested side by side. A scalar function is a subquery of one row.

use super::build::{call, folded, function, last_part, native_cast, null, number, plain_arguments, quoted};
use super::types::{CAST_FUNCTION, string_literal};
use super::{functions, subqueries};
use crate::error::QueryError;
use crate::hidden_names;
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
        TableFactor::UNNEST { array_exprs, alias, with_offset: false, with_ordinality, .. } => {
            if let Some(source) = unnested(array_exprs, alias.as_ref(), *with_ordinality) {
                *factor = source;
            } else if let Some(alias) = alias {
                *alias = aliased(Some(alias), &alias.name.clone());
            }
            return Ok(());
        }
        TableFactor::Function { name, args, alias, with_ordinality, .. } => {
            (&*name, args.as_slice(), &*alias, *with_ordinality)
        }
        TableFactor::Table { sample: Some(_), .. } => {
            return Err(QueryError::unsupported("TABLESAMPLE is not supported"));
        }
        _ => return Ok(()),
    };
    let Some((name, arguments)) = functions::source_call(name, arguments) else {
        return Err(QueryError::unsupported("a function in FROM takes plain arguments only"));
    };
    if name == "unnest"
        && let Some(source) = unnested(&arguments, alias.as_ref(), ordinality)
    {
        *factor = source;
        return Ok(());
    }
    if matches!(name.as_str(), "pg_partition_ancestors" | "pg_partition_tree") {
        *factor = no_partitions(&name, alias.as_ref());
        return Ok(());
    }
    if name == "pg_options_to_table" && arguments.iter().all(is_foreign_options) {
        *factor = no_rows(&name, &["option_name", "option_value"], DataType::Text, alias.as_ref());
        return Ok(());
    }
    if ordinality {
        return Err(QueryError::unsupported(
            "WITH ORDINALITY is supported for unnest of constants and parameters only",
        ));
    }
    let column = alias.as_ref().map_or_else(|| quoted(&name), |alias| alias.name.clone());
    let alias = aliased(alias.as_ref(), &column);
    let query = if name == "generate_series" {
        series(arguments, &column)
    } else {
        select(vec![(call(&name, arguments), column)], None)
    };
    *factor = subqueries::derived(query, Some(alias));
    Ok(())
}

/// The rows of a function that shows partitions, of which there are none: a table is no part of another.
fn no_partitions(name: &str, alias: Option<&TableAlias>) -> TableFactor {
    let columns: &[&str] = match name {
        "pg_partition_ancestors" => &["relid", "ordinality"],
        _ => &["relid", "parentrelid", "isleaf", "level", "ordinality"],
    };
    no_rows(name, columns, DataType::Int4(None), alias)
}

/// Options of what is foreign: NULL, as nothing is.
fn is_foreign_options(argument: &Expr) -> bool {
    let name = match argument {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(names) => names.last(),
        _ => None,
    };
    name.is_some_and(|name| {
        ["attfdwoptions", "fdwoptions", "srvoptions", "umoptions", "ftoptions"].contains(&&*folded(name))
    })
}

/// A source without rows, with columns of one type.
fn no_rows(name: &str, columns: &[&str], data_type: DataType, alias: Option<&TableAlias>) -> TableFactor {
    let given = alias.map_or(&[][..], |alias| alias.columns.as_slice());
    let named = columns.iter().enumerate().map(|(place, column)| match given.get(place) {
        Some(given) => given.name.clone(),
        None => quoted(*column),
    });
    let outputs = named.map(|column| (native_cast(null(), data_type.clone()), column)).collect();
    let mut query = select(outputs, None);
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.selection = Some(Expr::value(Value::Boolean(false)));
    }
    let name = alias.map_or_else(|| quoted(name), |alias| alias.name.clone());
    subqueries::derived(query, Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None }))
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
        return select(vec![(typed, column.clone())], None);
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
    select(vec![(value, column.clone())], Some(source))
}

/// Arrays side by side, the shorter ones filled up with NULLs, and the numbers of their rows; `None` if they depend on other sources.
fn unnested(arrays: &[Expr], alias: Option<&TableAlias>, ordinality: bool) -> Option<TableFactor> {
    let is_column = |part: &Expr| matches!(part, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
    if arrays.iter().any(|array| mentions(array, is_column)) {
        return None;
    }
    let mut outputs: Vec<(Expr, String)> = Vec::with_capacity(arrays.len() + 1);
    // One function alone gives its column the name of the source.
    let source = alias.map_or_else(|| "unnest".to_owned(), |alias| folded(&alias.name));
    let name = if arrays.len() == 1 { source.as_str() } else { "unnest" };
    for array in arrays {
        outputs.push((call("unnest", vec![array.clone()]), name.to_owned()));
    }
    if ordinality {
        let sizes = arrays.iter().map(|array| call("cardinality", vec![array.clone()])).collect();
        outputs.push((call("unnest", vec![numbers_up_to(call("greatest", sizes))]), "ordinality".to_owned()));
    }
    let named = alias.map_or(&[][..], |alias| alias.columns.as_slice()).iter().map(|column| column.name.clone());
    let named: Vec<Ident> = named.collect();
    let outputs = outputs.into_iter().enumerate().map(|(place, (expression, name))| {
        let unique = if place == 0 { name } else { hidden_names::hidden(&name, place) };
        (expression, named.get(place).cloned().unwrap_or_else(|| quoted(unique)))
    });
    let outputs: Vec<(Expr, Ident)> = outputs.collect();
    let columns = outputs.iter().map(|(_, name)| TableAliasColumnDef { name: name.clone(), data_type: None }).collect();
    let alias = TableAlias { explicit: true, name: quoted(source), columns, at: None };
    Some(subqueries::derived(select(outputs, None), Some(alias)))
}

/// The array of the numbers from 1.
pub(super) fn numbers_up_to(last: Expr) -> Expr {
    let bigint = |bound| native_cast(bound, DataType::BigInt(None));
    call("generate_series", vec![bigint(number(1)), bigint(last)])
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
    !mentions(expression, |part| {
        matches!(
            part,
            Expr::Identifier(_)
                | Expr::CompoundIdentifier(_)
                | Expr::Value(ValueWithSpan { value: Value::Placeholder(_), .. })
        )
    })
}

/// Whether a part of the expression is wanted, or it has a subquery.
fn mentions(expression: &Expr, is_wanted: fn(&Expr) -> bool) -> bool {
    struct Finder(fn(&Expr) -> bool);
    impl Visitor for Finder {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
        fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
            if (self.0)(expression) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    expression.visit(&mut Finder(is_wanted)).is_break()
}

/// `SELECT expression AS alias, ... FROM source`.
fn select(outputs: Vec<(Expr, Ident)>, source: Option<TableFactor>) -> Query {
    let from = source.map(|relation| TableWithJoins { relation, joins: vec![] }).into_iter().collect();
    let select = Select {
        select_token: AttachedToken::empty(),
        optimizer_hints: vec![],
        distinct: None,
        select_modifiers: None,
        top: None,
        top_before_distinct: false,
        projection: outputs.into_iter().map(|(expr, alias)| SelectItem::ExprWithAlias { expr, alias }).collect(),
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
