//! What the planner would take for something else than PostgreSQL does, seen before anything is rewritten.

use super::build::{folded, last_part, plain_arguments};
use super::{patterns, types};
use crate::error::QueryError;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Distinct, Expr, Function, FunctionArguments, GroupByExpr, Query, Select, SelectItem,
    SetExpr, Statement, TableFactor, TypedString, Value, ValueWithSpan, Visit, Visitor,
};
use std::ops::ControlFlow;

/// Functions that return rows.
const SET_RETURNING: [&str; 7] = [
    "generate_series",
    "generate_subscripts",
    "json_array_elements",
    "regexp_matches",
    "regexp_split_to_table",
    "string_to_table",
    "unnest",
];

/// Functions whose results are numbers of objects that are printed as names.
const OF_NAMES: [&str; 7] =
    ["to_regclass", "to_regnamespace", "to_regoper", "to_regproc", "to_regprocedure", "to_regrole", "to_regtype"];

/// Errors: 0A000 for what would be done otherwise, and PostgreSQL's for what it does not do.
pub(super) fn check(statement: &Statement) -> Result<(), QueryError> {
    if let Statement::Query(query) = statement {
        outputs(&query.body)?;
    }
    match statement.visit(&mut Refusals) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Errors: 0A000 for result columns of types that have no column here.
fn outputs(body: &SetExpr) -> Result<(), QueryError> {
    match body {
        SetExpr::Select(select) => select.projection.iter().try_for_each(|item| match item {
            SelectItem::UnnamedExpr(expression) | SelectItem::ExprWithAlias { expr: expression, .. } => {
                output(expression)
            }
            _ => Ok(()),
        }),
        SetExpr::Query(query) => outputs(&query.body),
        SetExpr::SetOperation { left, right, .. } => outputs(left).and_then(|()| outputs(right)),
        SetExpr::Values(values) => values.rows.iter().flat_map(|row| &row.content).try_for_each(output),
        _ => Ok(()),
    }
}

fn output(expression: &Expr) -> Result<(), QueryError> {
    let refused = |what: &str| {
        let message = format!("a result of type {what} is not supported; cast it to text or to another type");
        Err(QueryError::unsupported(message))
    };
    match expression {
        Expr::Nested(inner) => output(inner),
        Expr::Cast { data_type, .. } | Expr::TypedString(TypedString { data_type, .. }) => {
            match types::without_column(data_type) {
                Some(name) => refused(&name),
                None => Ok(()),
            }
        }
        Expr::Function(function) if OF_NAMES.contains(&last_part(&function.name).as_str()) => {
            refused(last_part(&function.name).trim_start_matches("to_"))
        }
        _ => Ok(()),
    }
}

struct Refusals;

impl Visitor for Refusals {
    type Break = QueryError;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<QueryError> {
        broken(operands(&query.body))
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<QueryError> {
        if matches!(select.distinct, Some(Distinct::Distinct | Distinct::On(_))) && select.projection.is_empty() {
            return ControlFlow::Break(QueryError::new("42601", "syntax error: DISTINCT needs columns"));
        }
        broken(groupings(select))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<QueryError> {
        match factor {
            TableFactor::Derived { sample: Some(_), .. } => {
                ControlFlow::Break(QueryError::new("42601", "syntax error at or near \"TABLESAMPLE\""))
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<QueryError> {
        broken(match expression {
            Expr::Case { operand, conditions, else_result, .. } => {
                let results = conditions.iter().map(|when| &when.result).chain(else_result.as_deref());
                refuse_sets(results, "CASE").and_then(|()| {
                    let tests = conditions.iter().map(|when| &when.condition);
                    let varies = operand.as_deref().is_some_and(has_column);
                    folded_divisions(tests.map(|test| varies || has_column(test)), results_of(expression))
                })
            }
            Expr::Function(function) => call(function),
            Expr::BinaryOp { op, right, .. } if matches_pattern(op) => {
                types::string_literal(right).map_or(Ok(()), patterns::check)
            }
            Expr::BinaryOp { left, op, right } if orders(op) => match numbered(left).or_else(|| numbered(right)) {
                Some(name) => Err(QueryError::new("42883", format!("operator does not exist: {name} {op} {name}"))),
                None => Ok(()),
            },
            _ => Ok(()),
        })
    }
}

fn broken(result: Result<(), QueryError>) -> ControlFlow<QueryError> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

/// Errors: 0A000 for a set operation over rows without columns.
fn operands(body: &SetExpr) -> Result<(), QueryError> {
    let SetExpr::SetOperation { left, right, .. } = body else { return Ok(()) };
    for side in [left, right] {
        if matches!(side.as_ref(), SetExpr::Select(select) if select.projection.is_empty()) {
            return Err(QueryError::unsupported("a set operation of rows without columns is not supported"));
        }
        operands(side)?;
    }
    Ok(())
}

/// Errors: 0A000 where one column is grouped by, and in a grouping set: the planner takes both for the same.
fn groupings(select: &Select) -> Result<(), QueryError> {
    let GroupByExpr::Expressions(expressions, _) = &select.group_by else { return Ok(()) };
    let meant = |expression: &Expr| -> Expr {
        let Expr::Identifier(name) = expression else { return expression.clone() };
        let of_alias = select.projection.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } if folded(alias) == folded(name) => Some(expr.clone()),
            _ => None,
        });
        of_alias.unwrap_or_else(|| expression.clone())
    };
    let is_set = |expression: &&Expr| matches!(expression, Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_));
    let plain: Vec<Expr> = expressions.iter().filter(|expression| !is_set(expression)).map(meant).collect();
    for set in expressions.iter().filter(is_set) {
        let (Expr::Rollup(parts) | Expr::Cube(parts) | Expr::GroupingSets(parts)) = set else { continue };
        if parts.iter().flatten().any(|part| plain.contains(&meant(part))) {
            return Err(QueryError::unsupported("a column both in GROUP BY and in a grouping set is not supported"));
        }
    }
    Ok(())
}

fn call(function: &Function) -> Result<(), QueryError> {
    let name = last_part(&function.name);
    let arguments = plain_arguments(&function.args);
    let number_at = |place: usize| -> Option<&str> {
        match *arguments.as_ref()?.get(place)? {
            Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => Some(digits),
            _ => None,
        }
    };
    let constant = |what: &str| Err(QueryError::unsupported(format!("{name} with {what} that is no literal")));
    match (name.as_str(), function.over.is_some()) {
        ("regexp_match" | "regexp_replace", _) => {
            let pattern = arguments.as_ref().and_then(|arguments| types::string_literal(arguments.get(1)?));
            pattern.map_or(Ok(()), patterns::check_match)
        }
        ("coalesce", _) => refuse_sets(arguments.into_iter().flatten(), "COALESCE"),
        ("count", _) if matches!(&function.args, FunctionArguments::List(list) if list.args.is_empty()) => {
            Err(QueryError::new("42809", "count(*) must be used to call a parameterless aggregate function"))
        }
        ("ntile", true) => match number_at(0) {
            None => constant("a number of parts"),
            Some(digits) if digits.parse() == Ok(0) => {
                Err(QueryError::new("22014", "argument of ntile must be greater than zero"))
            }
            Some(_) => Ok(()),
        },
        ("nth_value", true) => match number_at(1) {
            None => constant("a position"),
            Some(digits) if digits.parse() == Ok(0) => {
                Err(QueryError::new("22016", "argument of nth_value must be greater than zero"))
            }
            Some(_) => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Errors: 0A000 where one of these returns rows.
fn refuse_sets<'e>(results: impl Iterator<Item = &'e Expr>, place: &str) -> Result<(), QueryError> {
    let returns_set = |part: &Expr| matches!(part, Expr::Function(function) if function.over.is_none() && SET_RETURNING.contains(&last_part(&function.name).as_str()));
    for result in results {
        if has(result, &returns_set) {
            let message = format!("set-returning functions are not allowed in {place}");
            return Err(QueryError::unsupported(message));
        }
    }
    Ok(())
}

fn results_of(case: &Expr) -> Vec<&Expr> {
    match case {
        Expr::Case { conditions, else_result, .. } => {
            conditions.iter().map(|when| &when.result).chain(else_result.as_deref()).collect()
        }
        _ => vec![],
    }
}

/// A division of one literal by another is done while planning, if only a row tells whether it is needed. Errors: 22012.
fn folded_divisions(mut varies: impl Iterator<Item = bool>, results: Vec<&Expr>) -> Result<(), QueryError> {
    let is_zero = |part: &Expr| number(part).is_some_and(|digits| digits.bytes().all(|digit| digit == b'0'));
    let divides = |part: &Expr| {
        matches!(part, Expr::BinaryOp { left, op: BinaryOperator::Divide | BinaryOperator::Modulo, right }
            if number(left).is_some() && is_zero(right))
    };
    match varies.all(|varies| varies) && results.into_iter().any(|result| has(result, &divides)) {
        true => Err(crate::error::division_by_zero()),
        false => Ok(()),
    }
}

fn number(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => Some(digits),
        Expr::Nested(inner) => number(inner),
        _ => None,
    }
}

fn has_column(expression: &Expr) -> bool {
    has(expression, &|part| matches!(part, Expr::Identifier(_) | Expr::CompoundIdentifier(_)))
}

/// Whether a part of the expression is wanted that is in no subquery and no other CASE.
fn has(expression: &Expr, is_wanted: &dyn Fn(&Expr) -> bool) -> bool {
    struct Finder<'a> {
        is_wanted: &'a dyn Fn(&Expr) -> bool,
        depth: usize,
    }
    impl Visitor for Finder<'_> {
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
            self.depth += usize::from(matches!(expression, Expr::Case { .. }));
            let found = self.depth == 0 && (self.is_wanted)(expression);
            if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
        fn post_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
            self.depth -= usize::from(matches!(expression, Expr::Case { .. }));
            ControlFlow::Continue(())
        }
    }
    expression.visit(&mut Finder { is_wanted, depth: 0 }).is_break()
}

fn matches_pattern(op: &BinaryOperator) -> bool {
    use BinaryOperator::{PGRegexIMatch, PGRegexMatch, PGRegexNotIMatch, PGRegexNotMatch};
    matches!(op, PGRegexMatch | PGRegexIMatch | PGRegexNotMatch | PGRegexNotIMatch)
}

fn orders(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::Lt | BinaryOperator::LtEq | BinaryOperator::Gt | BinaryOperator::GtEq)
}

/// The type's name of a number of a transaction, which has no order.
fn numbered(expression: &Expr) -> Option<&'static str> {
    let of_type = |data_type: &DataType| match data_type.to_string().to_lowercase().as_str() {
        "xid" | "pg_catalog.xid" => Some("xid"),
        "cid" | "pg_catalog.cid" => Some("cid"),
        _ => None,
    };
    match expression {
        Expr::Nested(inner) => numbered(inner),
        Expr::Cast { data_type, .. } | Expr::TypedString(TypedString { data_type, .. }) => of_type(data_type),
        _ => None,
    }
}
