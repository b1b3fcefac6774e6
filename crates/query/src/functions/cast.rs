//! Casts with PostgreSQL's meaning. Where an Arrow kernel does the same, it takes over when the plan is optimised.

use crate::convert::{array_of, values_of};
use crate::error::{QueryError, of_value};
use crate::rewrite::types::CAST_FUNCTION;
use crate::types;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility, cast,
};
use std::sync::{Arc, LazyLock};
use values::Type;

/// `cast_value(value, 'type')`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Cast {
    signature: Signature,
    /// It stays where it only says of which type a text is: a result column tells that.
    stays: bool,
}

static CAST: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| function(false));
static STAYING: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| function(true));

fn function(stays: bool) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Cast { signature: Signature::any(2, Volatility::Immutable), stays }))
}

/// The cast function under its name.
pub fn of_name(name: &str) -> Option<ScalarUDF> {
    (name == CAST_FUNCTION).then(|| CAST.as_ref().clone())
}

/// An expression that casts.
pub fn to(expression: Expr, target: Type) -> Expr {
    CAST.call(vec![expression, Expr::Literal(ScalarValue::Utf8(Some(target.to_string())), None)])
}

/// The same, which stays though nothing is to be converted.
pub fn staying(expression: Expr, target: Type) -> Expr {
    STAYING.call(vec![expression, Expr::Literal(ScalarValue::Utf8(Some(target.to_string())), None)])
}

/// What an expression casts, and to which type, if it is such a cast.
pub fn of_cast(expression: &Expr) -> Option<(&Expr, Type)> {
    let Expr::ScalarFunction(call) = expression else { return None };
    call.func.inner().downcast_ref::<Cast>()?;
    match call.args.as_slice() {
        [inner, Expr::Literal(target, _)] => Some((inner, target_of(Some(target)).ok()?)),
        _ => None,
    }
}

/// The type that the second argument names.
fn target_of(scalar: Option<&ScalarValue>) -> Result<Type> {
    let name = match scalar {
        Some(ScalarValue::Utf8(Some(name)) | ScalarValue::Utf8View(Some(name))) => name,
        _ => return Err(QueryError::new("42601", "a cast needs the name of a type").into_datafusion()),
    };
    name.parse::<Type>().map_err(of_value)
}

impl ScalarUDFImpl for Cast {
    fn name(&self) -> &str {
        CAST_FUNCTION
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Err(QueryError::new("42601", "a cast needs the name of a type").into_datafusion())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let target = target_of(args.scalar_arguments[1])?;
        let source = &args.arg_fields[0];
        if let Some(from) = super::rowwise::argument_type(source)
            && values::cast::context(from, target).is_none()
        {
            let message = format!("cannot cast type {} to {}", from.base_name(), target.base_name());
            return Err(QueryError::new("42846", message).into_datafusion());
        }
        Ok(Arc::new(types::computed_field(CAST_FUNCTION, target, source.is_nullable())))
    }

    fn simplify(&self, mut args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let target = match &args[1] {
            Expr::Literal(scalar, _) => target_of(Some(scalar))?,
            _ => return Ok(ExprSimplifyResult::Original(args)),
        };
        let from = args[0].get_type(info.schema())?;
        let to = types::to_arrow(target);
        if self.stays || !is_native(&from, &to, target) {
            return Ok(ExprSimplifyResult::Original(args));
        }
        let value = args.swap_remove(0);
        Ok(ExprSimplifyResult::Simplified(if from == to { value } else { cast(value, to) }))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let target = match &args.args[1] {
            ColumnarValue::Scalar(scalar) => target_of(Some(scalar))?,
            ColumnarValue::Array(_) => target_of(None)?,
        };
        let convert = |array| -> Result<_> {
            let mut values = values_of(&array)?;
            for value in &mut values {
                *value = values::cast::explicit(value, target).map_err(of_value)?;
            }
            array_of(&values, &types::to_arrow(target))
        };
        Ok(match &args.args[0] {
            ColumnarValue::Array(array) => ColumnarValue::Array(convert(Arc::clone(array))?),
            ColumnarValue::Scalar(scalar) => {
                ColumnarValue::Scalar(ScalarValue::try_from_array(&convert(scalar.to_array()?)?, 0)?)
            }
        })
    }
}

/// Whether Arrow's kernel casts as PostgreSQL does: nothing is rounded, cut or printed differently.
fn is_native(from: &DataType, to: &DataType, target: Type) -> bool {
    use DataType::{Date32, Float32, Float64, Int16, Int32, Int64, Null, Timestamp, UInt32, Utf8};
    let is_fitted =
        matches!(target, Type::Char(_)) || !matches!(target, Type::Numeric(_)) && target != target.unmodified();
    match (from, to) {
        _ if is_fitted => false,
        (Null, _) => true,
        (from, to) if from == to => true,
        (Int16, Int32 | Int64 | Float32 | Float64 | Utf8)
        | (Int32, Int64 | Float64 | Utf8)
        | (Int64, Float64 | Utf8)
        | (UInt32, Int64 | Utf8) => true,
        (Float32, Float64) | (Date32, Timestamp(..)) | (Timestamp(..), Timestamp(..)) => true,
        _ => false,
    }
}
