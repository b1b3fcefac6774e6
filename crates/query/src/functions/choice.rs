//! Functions that return one of their arguments: numbers of several types become one that keeps the digits of all, each with its own scale.
//!
//! They stand in a plan until all types in it are known, and then become the library's functions over casts ([`native`]).

use super::{cast, equal};
use crate::error::QueryError;
use crate::types;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, when,
};
use std::sync::Arc;
use values::Type;

/// Names of such functions.
const NAMES: [&str; 4] = ["coalesce", "greatest", "least", "nullif"];

#[derive(Debug, PartialEq, Eq, Hash)]
struct Choice {
    native: Arc<ScalarUDF>,
    signature: Signature,
}

/// The function of that name over the library's.
pub fn of_name(name: &str, native: Option<&Arc<ScalarUDF>>) -> Option<ScalarUDF> {
    let native = native.filter(|_| NAMES.contains(&name))?;
    let signature = super::rowwise::any_arguments(native.signature().volatility);
    Some(ScalarUDF::new_from_impl(Choice { native: Arc::clone(native), signature }))
}

/// The type in which numbers of these types stand beside each other, where the library would take one that rounds some, or shows zeros that others
/// do not have; `None` where it would not.
pub fn common(found: &[DataType]) -> Option<Type> {
    let mut found = found.iter().filter(|data_type| !data_type.is_null());
    let first = found.next()?;
    let rest: Vec<&DataType> = found.collect();
    let mut all = std::iter::once(first).chain(rest.iter().copied());
    let is_numeric = |data_type: &DataType| types::is_decimal(data_type) || *data_type == types::EXACT;
    let alike = rest.iter().all(|data_type| *data_type == first);
    if alike || !all.clone().all(types::is_number) || !all.clone().any(is_numeric) {
        return None;
    }
    Some(if all.any(DataType::is_floating) { Type::Double } else { Type::Numeric(None) })
}

/// The call over arguments of one type; `None` if it is of no such function.
pub fn native(call: &ScalarFunction, schema: &DFSchema) -> Result<Option<Expr>> {
    let Some(choice) = call.func.inner().downcast_ref::<Choice>() else { return Ok(None) };
    let found = call.args.iter().map(|argument| argument.get_type(schema)).collect::<Result<Vec<_>>>()?;
    let common = common(&found);
    let arguments: Vec<Expr> = call
        .args
        .iter()
        .map(|argument| match common {
            Some(common) => cast::to(argument.clone(), common),
            None => argument.clone(),
        })
        .collect();
    let held = |data_type: &DataType| match common {
        Some(common) => types::to_arrow(common),
        None => data_type.clone(),
    };
    let differs = found.iter().any(|data_type| types::has_equals(&held(data_type)));
    let orders = matches!(choice.name(), "greatest" | "least");
    let by_other = |data_type: &DataType| types::is_list(data_type) || matches!(data_type, DataType::Interval(_));
    if orders && found.iter().any(by_other) {
        let message = format!("{} of arrays or intervals is not supported", choice.name());
        return Err(QueryError::unsupported(message).into_datafusion());
    }
    if let ("nullif", true, [first, second]) = (choice.name(), differs, arguments.as_slice()) {
        let equal = equal::key(first.clone()).eq(equal::key(second.clone()));
        return Ok(Some(when(equal, Expr::Literal(ScalarValue::Null, None)).otherwise(first.clone())?));
    }
    Ok(Some(choice.native.call(arguments)))
}

impl ScalarUDFImpl for Choice {
    fn name(&self) -> &str {
        self.native.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Err(QueryError::undefined_function(self.name()).into_datafusion())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let found: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        if let Some(common) = common(&found) {
            return Ok(Arc::new(types::computed_field(self.name(), common, true)));
        }
        let arguments = fields_with_udf(args.arg_fields, self.native.as_ref())?;
        self.native.return_field_from_args(ReturnFieldArgs { arg_fields: &arguments, ..args })
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Err(QueryError::new("XX000", "a choice of arguments was left without a type").into_datafusion())
    }
}
