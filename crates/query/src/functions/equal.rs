//! What is equal made the same: numerics of other scales, intervals of other units, and minus zero differ in their bytes, by which the library
//! compares, groups, joins and sorts.

use crate::convert::{equal_bytes, for_each_value};
use crate::error::QueryError;
use datafusion::arrow::array::{ArrayRef, AsArray, StringBuilder};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use std::sync::{Arc, LazyLock};
use values::{Type, Value};

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    signature: Signature,
}

static KEY: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(Key { signature: Signature::any(1, Volatility::Immutable) })));

/// The key of an expression: the same for all values that are equal, and in their order. Of a float a float, else a text: windows take no bytes.
pub fn key(expression: Expr) -> Expr {
    if of_key(&expression).is_some() { expression } else { KEY.call(vec![expression]) }
}

/// What an expression is the key of, if it is one.
pub fn of_key(expression: &Expr) -> Option<&Expr> {
    match expression {
        Expr::ScalarFunction(call) if call.func.inner().downcast_ref::<Key>().is_some() => call.args.first(),
        _ => None,
    }
}

/// The same of an expression of a physical plan.
pub fn of_physical_key(expression: &Arc<dyn PhysicalExpr>) -> Option<&Arc<dyn PhysicalExpr>> {
    let call = expression.downcast_ref::<ScalarFunctionExpr>()?;
    call.fun().inner().downcast_ref::<Key>()?;
    call.args().first()
}

impl ScalarUDFImpl for Key {
    fn name(&self) -> &str {
        "equal_key"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(match arguments {
            [float] if float.is_floating() => float.clone(),
            _ => DataType::Utf8,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [ColumnarValue::Array(array)] => Ok(ColumnarValue::Array(keys(array)?)),
            [ColumnarValue::Scalar(scalar)] => {
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&keys(&scalar.to_array()?)?, 0)?))
            }
            _ => Err(QueryError::undefined_function("equal_key").into_datafusion()),
        }
    }
}

/// Bytes as a text in the same order.
fn digits_of(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect()
}

/// The value that such a text is the key of. `None` if it is none.
pub fn of_digits(text: &str, data_type: Type) -> Option<Value> {
    let digits: Option<Vec<u8>> = text.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
    let bytes: Vec<u8> = digits?.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    values::key::decode_key(&bytes, &[data_type]).ok()?.pop()
}

fn keys(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        // Of the two zeros the sum is the positive one.
        DataType::Float32 => {
            Ok(Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(|item| item + 0.0)))
        }
        DataType::Float64 => {
            Ok(Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(|item| item + 0.0)))
        }
        _ => {
            let mut keys = StringBuilder::new();
            for_each_value(array, |value| match value {
                Value::Null => keys.append_null(),
                value => keys.append_value(digits_of(&equal_bytes(&value))),
            })?;
            Ok(Arc::new(keys.finish()))
        }
    }
}
