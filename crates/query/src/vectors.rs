//! System columns whose elements are numbered from 0: `int2vector` and `oidvector`, which print as `1 2`, and `name`, whose elements are bytes.
//!
//! Here they are lists and texts; what differs is told by their fields' metadata, which projections and aliases keep.

use crate::QueryError;
use crate::functions::rowwise::{self, RowImplementation};
use crate::rewrite::types::CAST_FUNCTION;
use crate::types;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{PlannerResult, RawFieldAccessExpr};
use datafusion::logical_expr::{
    Expr, ExprSchemable, GetFieldAccess, LogicalPlan, LogicalPlanBuilder, ScalarUDF, cast, lit,
};
use std::sync::{Arc, LazyLock};
use values::{Type, Value};

fn is_vector(field: &Field) -> bool {
    types::is_list(field.data_type()) && types::counts_from_zero(field)
}

/// Plans `vector[0]` and `name[0]`; any other subscript is left as it is.
pub(crate) fn subscripted(access: RawFieldAccessExpr, schema: &DFSchema) -> Result<PlannerResult<RawFieldAccessExpr>> {
    let RawFieldAccessExpr { expr, field_access } = access;
    let found = expr.to_field(schema).ok().map(|(_, field)| field).filter(|field| types::counts_from_zero(field));
    Ok(match (found, field_access) {
        (Some(field), GetFieldAccess::ListIndex { key }) => {
            let place = cast(*key, DataType::Int64) + lit(1_i64);
            match types::is_list(field.data_type()) {
                true => {
                    let field_access = GetFieldAccess::ListIndex { key: Box::new(place) };
                    PlannerResult::Original(RawFieldAccessExpr { expr, field_access })
                }
                false => {
                    let arguments = vec![expr, place, lit(1_i64)];
                    PlannerResult::Planned(Expr::ScalarFunction(ScalarFunction::new_udf(
                        datafusion::functions::unicode::substr(),
                        arguments,
                    )))
                }
            }
        }
        (_, field_access) => PlannerResult::Original(RawFieldAccessExpr { expr, field_access }),
    })
}

/// A vector's elements with blanks between them.
#[derive(Debug, PartialEq, Eq, Hash)]
struct VectorText;

static TEXT: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(rowwise::function(VectorText)));

impl RowImplementation for VectorText {
    fn name(&self) -> &str {
        "vector_text"
    }

    fn result(&self, _: &[Option<Type>]) -> std::result::Result<Type, QueryError> {
        Ok(Type::Text)
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn call(&self, arguments: &[Value]) -> std::result::Result<Value, QueryError> {
        let [Value::Array(vector)] = arguments else { return Ok(Value::Null) };
        let elements: Vec<String> = vector.values().iter().filter_map(values::text::to_string).collect();
        Ok(Value::text(elements.join(" ")))
    }
}

fn text(vector: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&TEXT), vec![vector]))
}

/// A cast of a vector to text; `None` for any other call.
pub(crate) fn cast_to_text(call: &ScalarFunction, schema: &DFSchema) -> Option<Expr> {
    let [inner, Expr::Literal(target, _)] = call.args.as_slice() else { return None };
    let is_cast = call.func.name() == CAST_FUNCTION && matches!(target.try_as_str(), Some(Some("text")));
    let (_, field) = inner.to_field(schema).ok()?;
    (is_cast && is_vector(&field)).then(|| text(inner.clone()))
}

/// The plan with vectors among its results as PostgreSQL prints them.
pub(crate) fn printed(plan: LogicalPlan) -> Result<LogicalPlan> {
    let vectors: Vec<bool> = plan.schema().fields().iter().map(|field| is_vector(field)).collect();
    if !vectors.contains(&true) {
        return Ok(plan);
    }
    let columns = plan.schema().columns();
    let outputs = columns.into_iter().zip(vectors).map(|(column, is_vector)| {
        let (relation, name) = (column.relation.clone(), column.name.clone());
        let column = Expr::Column(column);
        if is_vector { text(column).alias_qualified(relation, name) } else { column }
    });
    LogicalPlanBuilder::from(plan).project(outputs.collect::<Vec<_>>())?.build()
}
