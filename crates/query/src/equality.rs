//! What is equal is the same wherever a plan compares, groups, joins or sorts; and numbers that stand beside each other keep their digits.
//!
//! The library goes by the bytes of values, and several of one type may be equal: 1.5 and 1.50, 24 hours and a day, zero and minus zero. So it is given
//! their keys ([`equal`]), and shown one of the values again behind a grouping. Operators have been planned so (`operators`); here is the rest.
//!
//! Invariant: the plan has the same columns at the same places, under the same names.

use crate::convert::{describe, parse_literal};
use crate::error::QueryError;
use crate::functions::{self, cast, choice, equal, exact};
use crate::hidden_names::hidden;
use crate::operators;
use crate::types;
use crate::vectors;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, DataFusionError, JoinConstraint, NullEquality, Result, ScalarValue};
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::expr::{
    AggregateFunction, Case, GroupingSet, InList, InSubquery, ScalarFunction, Sort, WindowFunction,
};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Distinct, DistinctOn, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, Union,
    when,
};
use std::sync::Arc;
use values::Type;

/// The plan with keys in all places that compare.
pub(crate) fn by_value(plan: LogicalPlan) -> Result<LogicalPlan> {
    let keyed = plan.transform_up_with_subqueries(|node| {
        let node = node.recompute_schema()?;
        let schema = merge_schema(&node.inputs());
        let names = NamePreserver::new(&node);
        let node = node.map_expressions(|expression| {
            let name = names.save(&expression);
            let changed = expression.transform_up(|part| Ok(Transformed::yes(expressed(part, &schema)?)))?;
            Ok(Transformed::yes(name.restore(changed.data)))
        })?;
        Ok(Transformed::yes(placed(node.data.recompute_schema()?, &schema)?))
    });
    Ok(keyed?.data)
}

/// A node whose expressions are done.
fn placed(node: LogicalPlan, schema: &DFSchema) -> Result<LogicalPlan> {
    let before = node.schema().columns();
    let node = match node {
        LogicalPlan::Sort(mut sort) => {
            sort.expr = sorted(sort.expr, schema)?;
            LogicalPlan::Sort(sort)
        }
        LogicalPlan::Aggregate(aggregate) => return grouped(aggregate),
        LogicalPlan::Distinct(Distinct::All(input)) => {
            let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
            let differ = input.schema().fields().iter().any(|field| types::has_equals(field.data_type()));
            match differ {
                true => return grouped(Aggregate::try_new(input, columns, vec![])?),
                false => LogicalPlan::Distinct(Distinct::All(input)),
            }
        }
        LogicalPlan::Distinct(Distinct::On(DistinctOn { on_expr, select_expr, sort_expr, input, .. })) => {
            let on = on_expr.into_iter().map(|on| keyed(on, schema)).collect::<Result<Vec<_>>>()?;
            let sort = sort_expr.map(|sort| sorted(sort, schema)).transpose()?;
            LogicalPlan::Distinct(Distinct::On(DistinctOn::try_new(on, select_expr, sort, input)?))
        }
        LogicalPlan::Join(mut join) => {
            let (left, right) = (Arc::clone(join.left.schema()), Arc::clone(join.right.schema()));
            let is_set_operation = join.null_equality == NullEquality::NullEqualsNull;
            let alike = |(one, other): (Expr, Expr)| {
                let found = [one.get_type(&left)?, other.get_type(&right)?];
                if is_set_operation && beside_text(&found).is_some() {
                    return Err(mismatch("set operation", &found));
                }
                alike(one, &left, other, &right)
            };
            join.on = join.on.into_iter().map(alike).collect::<Result<_>>()?;
            // Only columns can be used; what their merging means has been resolved by now.
            if !join.on.iter().all(|pair| matches!(pair, (Expr::Column(_), Expr::Column(_)))) {
                join.join_constraint = JoinConstraint::On;
            }
            LogicalPlan::Join(join)
        }
        LogicalPlan::Union(union) => united(union)?,
        other => other,
    };
    renamed(node, before)
}

/// The node with its columns under these names.
fn renamed(node: LogicalPlan, before: Vec<Column>) -> Result<LogicalPlan> {
    let after = node.schema().columns();
    if before == after || before.len() != after.len() {
        return Ok(node);
    }
    let named = before.into_iter().zip(after).map(|(before, after)| match before == after {
        true => Expr::Column(after),
        false => Expr::Column(after).alias_qualified(before.relation, before.name),
    });
    let named: Vec<Expr> = named.collect();
    LogicalPlanBuilder::from(node).project(named)?.build()
}

/// The key of an expression whose values may be equal though they differ; else itself.
fn keyed(expression: Expr, schema: &DFSchema) -> Result<Expr> {
    // An alias is the name of a column, not of its key.
    if let Expr::Alias(alias) = expression {
        let inner = keyed((*alias.expr).clone(), schema)?;
        return Ok(inner.alias_qualified(alias.relation, alias.name));
    }
    Ok(if types::has_equals(&expression.get_type(schema)?) { equal::key(expression) } else { expression })
}

fn sorted(order: Vec<Sort>, schema: &DFSchema) -> Result<Vec<Sort>> {
    order.into_iter().map(|sort| Ok(Sort { expr: keyed(sort.expr, schema)?, ..sort })).collect()
}

/// Two operands that are compared, in one type and by their keys.
fn alike(left: Expr, left_schema: &DFSchema, right: Expr, right_schema: &DFSchema) -> Result<(Expr, Expr)> {
    let (left_type, right_type) = (left.get_type(left_schema)?, right.get_type(right_schema)?);
    let are_numbers = types::is_number(&left_type) && types::is_number(&right_type);
    let common = if are_numbers { operators::common(&left_type, &right_type) } else { None };
    let side = |side: Expr, found: &DataType| {
        let held = common.map_or_else(|| found.clone(), types::to_arrow);
        let side = if held == *found { side } else { cast::to(side, common.unwrap_or(Type::Numeric(None))) };
        if types::has_equals(&held) { equal::key(side) } else { side }
    };
    Ok((side(left, &left_type), side(right, &right_type)))
}

/// An expression whose parts are done.
fn expressed(expression: Expr, schema: &DFSchema) -> Result<Expr> {
    Ok(match expression {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(op) => {
            let (left, right) = alike(*left, schema, *right, schema)?;
            Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
        }
        Expr::Case(case) => Expr::Case(of_one_type(case, schema)?),
        Expr::InList(list) => Expr::InList(listed(list, schema)?),
        Expr::InSubquery(among) => Expr::InSubquery(among_rows(among, schema)?),
        Expr::ScalarFunction(call) if call.func.name() == "make_array" => with_digits(call, schema)?,
        Expr::ScalarFunction(call) => {
            let first = call.args.first().and_then(|argument| argument.get_type(schema).ok());
            functions::check_texts(call.func.name(), first.as_ref()).map_err(QueryError::into_datafusion)?;
            if let Some(printed) = vectors::cast_to_text(&call, schema) {
                return Ok(printed);
            }
            match choice::native(&call, schema)? {
                Some(native) => native,
                None => operators::of_types(call, schema)?,
            }
        }
        Expr::AggregateFunction(call) => Expr::AggregateFunction(aggregated(call, schema)?),
        Expr::WindowFunction(call) => Expr::WindowFunction(Box::new(windowed(*call, schema)?)),
        other => other,
    })
}

/// An array whose elements keep their digits.
fn with_digits(mut array: ScalarFunction, schema: &DFSchema) -> Result<Expr> {
    let found = array.args.iter().map(|element| element.get_type(schema)).collect::<Result<Vec<_>>>()?;
    if let Some(common) = choice::common(&found) {
        array.args = array.args.into_iter().map(|element| cast::to(element, common)).collect();
    }
    Ok(Expr::ScalarFunction(array))
}

fn compares(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

fn of_one_type(case: Case, schema: &DFSchema) -> Result<Case> {
    let results = case.when_then_expr.iter().map(|(_, result)| result).chain(&case.else_expr);
    let found = results.map(|result| result.get_type(schema)).collect::<Result<Vec<_>>>()?;
    let list = beside_text(&found).filter(|other| types::is_list(other));
    let common = choice::common(&found);
    if common.is_none() && list.is_none() {
        return Ok(case);
    }
    let to = |result: Box<Expr>| -> Result<Box<Expr>> {
        Ok(Box::new(match (common, list, *result) {
            (Some(common), _, result) => cast::to(result, common),
            // A quoted literal beside lists is one of them.
            (None, Some(list), Expr::Literal(ScalarValue::Utf8(Some(text)), metadata)) => {
                let literal = parse_literal(&text, list).ok_or_else(|| mismatch("CASE", &found))?;
                Expr::Literal(literal?, metadata)
            }
            (None, _, result) => result,
        }))
    };
    let branch = |(condition, result)| Ok((condition, to(result)?));
    Ok(Case {
        expr: case.expr,
        when_then_expr: case.when_then_expr.into_iter().map(branch).collect::<Result<_>>()?,
        else_expr: case.else_expr.map(to).transpose()?,
    })
}

fn listed(list: InList, schema: &DFSchema) -> Result<InList> {
    let InList { expr, list, negated } = list;
    let mut found = vec![expr.get_type(schema)?];
    for item in &list {
        found.push(item.get_type(schema)?);
    }
    let common = choice::common(&found).filter(|common| {
        // Decimals of several scales are compared by the library as they are.
        *common == Type::Double || found.contains(&types::EXACT)
    });
    let side = |side: Expr| -> Result<Expr> {
        let side = match common {
            Some(common) => cast::to(side, common),
            None => side,
        };
        keyed(side, schema)
    };
    let list = list.into_iter().map(side).collect::<Result<_>>()?;
    Ok(InList { expr: Box::new(side(*expr)?), list, negated })
}

fn among_rows(among: InSubquery, schema: &DFSchema) -> Result<InSubquery> {
    let InSubquery { expr, mut subquery, negated } = among;
    let rows = Arc::clone(subquery.subquery.schema());
    let [column]: [Column; 1] = rows
        .columns()
        .try_into()
        .map_err(|_| QueryError::new("42601", "subquery has too many columns").into_datafusion())?;
    let (left, right) = alike(*expr, schema, Expr::Column(column.clone()), &rows)?;
    if right != Expr::Column(column.clone()) {
        let named = right.alias_qualified(column.relation, column.name);
        let keyed = LogicalPlanBuilder::from(LogicalPlan::clone(&subquery.subquery)).project([named])?.build()?;
        subquery.subquery = Arc::new(keyed);
    }
    Ok(InSubquery { expr: Box::new(left), subquery, negated })
}

fn aggregated(mut call: AggregateFunction, schema: &DFSchema) -> Result<AggregateFunction> {
    call.params.order_by = sorted(call.params.order_by, schema)?;
    let first = call.params.args.first().map(|argument| argument.get_type(schema)).transpose()?;
    let Some(first) = first else { return Ok(call) };
    match call.func.name() {
        "count" if call.params.distinct => {
            let keys = call.params.args.into_iter().map(|argument| keyed(argument, schema));
            call.params.args = keys.collect::<Result<_>>()?;
        }
        name @ ("min" | "max") if matches!(first, DataType::Interval(_)) => {
            call.func = exact::extreme_interval(name == "max");
        }
        "sum" | "avg" | "min" | "max" => {}
        name if call.params.distinct && types::has_equals(&first) => {
            let message = format!("{name}(DISTINCT) of this type is not supported");
            return Err(QueryError::unsupported(message).into_datafusion());
        }
        _ => {}
    }
    Ok(call)
}

fn windowed(mut call: WindowFunction, schema: &DFSchema) -> Result<WindowFunction> {
    let keys = call.params.partition_by.into_iter().map(|partition| keyed(partition, schema));
    call.params.partition_by = keys.collect::<Result<_>>()?;
    call.params.order_by = sorted(call.params.order_by, schema)?;
    let shifts = matches!(call.fun.name(), "lag" | "lead");
    if let (true, [first, _, otherwise]) = (shifts, call.params.args.as_slice()) {
        let (first, otherwise) = (first.get_type(schema)?, otherwise.get_type(schema)?);
        let widens = || match (types::from_arrow(&first), types::from_arrow(&otherwise)) {
            (Some(first), Some(otherwise)) => values::functions::common_type(&[first, otherwise]) != Some(first),
            _ => true,
        };
        if first != otherwise && !otherwise.is_null() && !types::is_text(&otherwise) && widens() {
            let message = "a default of lag or lead has to be of the type of what is shown: cast one of them";
            return Err(QueryError::unsupported(message).into_datafusion());
        }
    }
    Ok(call)
}

/// A grouping by keys, and one value of each group shown.
fn grouped(aggregate: Aggregate) -> Result<LogicalPlan> {
    let Aggregate { input, group_expr, mut aggr_expr, schema: before, .. } = aggregate;
    let schema = Arc::clone(input.schema());
    let mut shown: Vec<Expr> = Vec::new();
    for group in &group_expr {
        let parts: Vec<Expr> = match group {
            Expr::GroupingSet(sets) => sets.distinct_expr().into_iter().cloned().collect(),
            other => vec![other.clone()],
        };
        shown.extend(parts.into_iter().filter(|part| !shown.contains(part)).collect::<Vec<_>>());
    }
    let mut first_of = Vec::new();
    for (place, part) in shown.iter().enumerate() {
        let differs = types::has_equals(&part.get_type(&schema)?);
        first_of.push(differs.then(|| hidden("first", place)));
        if let Some(Some(name)) = first_of.last() {
            aggr_expr.push(first_value_udaf().call(vec![part.clone().unalias()]).alias(name.as_str()));
        }
    }
    if first_of.iter().all(Option::is_none) {
        let columns = before.columns();
        return renamed(LogicalPlan::Aggregate(Aggregate::try_new(input, group_expr, aggr_expr)?), columns);
    }
    let keys =
        |parts: Vec<Expr>| parts.into_iter().map(|part| keyed(part.unalias(), &schema)).collect::<Result<Vec<_>>>();
    let sets = |sets: Vec<Vec<Expr>>| sets.into_iter().map(keys).collect::<Result<Vec<_>>>();
    let group_expr = group_expr.into_iter().map(|group| {
        Ok(match group {
            Expr::GroupingSet(GroupingSet::Rollup(parts)) => Expr::GroupingSet(GroupingSet::Rollup(keys(parts)?)),
            Expr::GroupingSet(GroupingSet::Cube(parts)) => Expr::GroupingSet(GroupingSet::Cube(keys(parts)?)),
            Expr::GroupingSet(GroupingSet::GroupingSets(all)) => {
                Expr::GroupingSet(GroupingSet::GroupingSets(sets(all)?))
            }
            other => keyed(other.unalias(), &schema)?,
        })
    });
    let group_expr = group_expr.collect::<Result<Vec<_>>>()?;
    let keyed = LogicalPlan::Aggregate(Aggregate::try_new(input, group_expr, aggr_expr)?);
    let columns = keyed.schema().columns();
    let named = before.columns().into_iter().enumerate().map(|(place, name)| {
        let column = Expr::Column(columns[place].clone());
        let value = match first_of.get(place) {
            // Where a grouping set leaves the column out, its key is NULL.
            Some(Some(first)) => {
                let first = Expr::Column(Column::new_unqualified(first.as_str()));
                when(column.is_not_null(), first).otherwise(Expr::Literal(ScalarValue::Null, None))?
            }
            _ => column,
        };
        Ok(value.alias_qualified(name.relation, name.name))
    });
    let named = named.collect::<Result<Vec<_>>>()?;
    LogicalPlanBuilder::from(keyed).project(named)?.build()
}

/// The type that texts stand beside in a column, if any.
fn beside_text(found: &[DataType]) -> Option<&DataType> {
    let other = found.iter().find(|data_type| !types::is_text(data_type) && !data_type.is_null())?;
    found.iter().any(types::is_text).then_some(other)
}

fn mismatch(what: &str, found: &[DataType]) -> DataFusionError {
    let names: Vec<String> = found.iter().map(describe).collect();
    QueryError::new("42804", format!("{what} types {} cannot be matched", names.join(" and "))).into_datafusion()
}

/// A term whose quoted literal at this place has the type of what stands beside it. Errors: 42804 if it is no literal.
fn with_literal(
    term: &Arc<LogicalPlan>,
    place: usize,
    wanted: &DataType,
    found: &[DataType],
) -> Result<Arc<LogicalPlan>> {
    let LogicalPlan::Projection(projection) = term.as_ref() else { return Err(mismatch("UNION", found)) };
    let mut expressions = projection.expr.clone();
    let Expr::Literal(ScalarValue::Utf8(Some(text)), metadata) = expressions[place].clone().unalias() else {
        return Err(mismatch("UNION", found));
    };
    let Some(literal) = parse_literal(&text, wanted) else { return Err(mismatch("UNION", found)) };
    let name = term.schema().columns().swap_remove(place);
    expressions[place] = Expr::Literal(literal?, metadata).alias_qualified(name.relation, name.name);
    let input = LogicalPlan::clone(&projection.input);
    Ok(Arc::new(LogicalPlanBuilder::from(input).project(expressions)?.build()?))
}

/// The terms of a union in common types. Errors: 42804.
fn united(mut union: Union) -> Result<LogicalPlan> {
    let columns = union.schema.fields().len();
    let types_at = |union: &Union, place: usize| -> Vec<DataType> {
        union.inputs.iter().map(|input| input.schema().field(place).data_type().clone()).collect()
    };
    for place in 0..columns {
        let found = types_at(&union, place);
        let Some(wanted) = beside_text(&found) else { continue };
        for (term, own) in union.inputs.iter_mut().zip(&found) {
            if types::is_text(own) {
                *term = with_literal(term, place, wanted, &found)?;
            }
        }
        union = Union::try_new_with_loose_types(union.inputs)?;
    }
    let mut common = Vec::with_capacity(columns);
    for place in 0..columns {
        common.push(choice::common(&types_at(&union, place)).or_else(|| common_text(&union, place)));
    }
    if common.iter().all(Option::is_none) {
        return Ok(LogicalPlan::Union(union));
    }
    let inputs = union.inputs.into_iter().map(|input| {
        let columns = input.schema().columns().into_iter().zip(&common).map(|(column, common)| match common {
            Some(common) => {
                let value = Expr::Column(column.clone());
                let value = if common.is_string() { cast::staying(value, *common) } else { cast::to(value, *common) };
                value.alias_qualified(column.relation, column.name)
            }
            None => Expr::Column(column),
        });
        let columns: Vec<Expr> = columns.collect();
        Ok(Arc::new(LogicalPlanBuilder::from(LogicalPlan::clone(&input)).project(columns)?.build()?))
    });
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    Ok(LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?))
}

/// The type that texts of several types share in a column. A literal takes the type of what stands beside it.
fn common_text(union: &Union, place: usize) -> Option<Type> {
    let is_literal = |input: &LogicalPlan| match input {
        LogicalPlan::Projection(projection) => {
            matches!(projection.expr[place].clone().unalias(), Expr::Literal(ScalarValue::Utf8(_), _))
        }
        _ => false,
    };
    let inputs = union.inputs.iter().filter(|input| !is_literal(input));
    let found: Vec<Type> = inputs.map(|input| types::of_field(input.schema().field(place))).collect::<Option<_>>()?;
    let differ = found.iter().all(Type::is_string) && found.iter().any(|one| *one != found[0]);
    if differ { values::functions::common_type(&found) } else { None }
}

/// The analyzed plan with our casts where the library would turn values into the bytes that numerics are carried as. Errors: 42804 for what is no
/// number.
pub(crate) fn without_raw_bytes(plan: LogicalPlan) -> Result<LogicalPlan> {
    let typed = plan.transform_up_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        node.map_expressions(|expression| {
            expression.transform_up(|part| {
                let Expr::Cast(native) = &part else { return Ok(Transformed::no(part)) };
                if *native.field.data_type() != types::EXACT {
                    return Ok(Transformed::no(part));
                }
                let from = native.expr.get_type(&schema)?;
                if from == types::EXACT || from.is_null() {
                    return Ok(Transformed::no(part));
                }
                if !types::is_number(&from) {
                    let message = format!("numeric cannot be matched with {}", describe(&from));
                    return Err(QueryError::new("42804", message).into_datafusion());
                }
                Ok(Transformed::yes(cast::to((*native.expr).clone(), Type::Numeric(None))))
            })
        })
    });
    Ok(typed?.data)
}
