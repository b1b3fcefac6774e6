//! Functions that compute one row after the other on values: the frame they share.
//!
//! Slower than a kernel over arrays, and exactly what the `values` crate (and so PostgreSQL) says.

use crate::convert::{array_of, values_of};
use crate::error::QueryError;
use crate::limits::{CONSTANT_BYTES_MAX, FUNCTION_BYTES_MAX};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use values::{Type, Value};

/// What a function does with a row.
pub trait RowImplementation: Debug + Eq + Hash + Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &str;

    /// The type of its result for arguments of these types (`None`: an untyped NULL, or a list). Errors: 42883.
    fn result(&self, arguments: &[Option<Type>]) -> std::result::Result<Type, QueryError>;

    /// How the result is held, given the arguments that are literals.
    fn data_type(&self, result: Type, _scalars: &[Option<&ScalarValue>]) -> DataType {
        crate::types::to_arrow(result)
    }

    /// Whether a NULL among the arguments makes the result NULL without a call.
    fn is_strict(&self) -> bool;

    /// Computes the result.
    fn call(&self, arguments: &[Value]) -> std::result::Result<Value, QueryError>;
}

/// A row function as DataFusion's function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct RowFunction<I> {
    implementation: I,
    signature: Signature,
}

/// Makes a function of an implementation.
pub fn function<I: RowImplementation>(implementation: I) -> ScalarUDF {
    ScalarUDF::new_from_impl(RowFunction { implementation, signature: any_arguments(Volatility::Immutable) })
}

/// Any number of arguments of any types.
pub fn any_arguments(volatility: Volatility) -> Signature {
    Signature::one_of(vec![TypeSignature::Nullary, TypeSignature::VariadicAny], volatility)
}

/// The SQL type of an argument, `None` for an untyped NULL and for lists.
pub fn argument_type(field: &Field) -> Option<Type> {
    match field.data_type() {
        DataType::Null => None,
        _ => crate::types::of_field(field),
    }
}

impl<I: RowImplementation> ScalarUDFImpl for RowFunction<I> {
    fn name(&self) -> &str {
        self.implementation.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        let types: Vec<Option<Type>> =
            arguments.iter().map(|argument| argument_type(&Field::new("", argument.clone(), true))).collect();
        let result = self.implementation.result(&types).map_err(QueryError::into_datafusion)?;
        Ok(crate::types::to_arrow(result))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<Option<Type>> = args.arg_fields.iter().map(|field| argument_type(field)).collect();
        let result = self.implementation.result(&types).map_err(QueryError::into_datafusion)?;
        let data_type = self.implementation.data_type(result, args.scalar_arguments);
        Ok(Arc::new(Field::new(self.name(), data_type, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let all_scalar = args.args.iter().all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        let rows = if all_scalar { 1 } else { args.number_rows };
        let mut columns = Vec::with_capacity(args.args.len());
        for argument in &args.args {
            columns.push(match argument {
                ColumnarValue::Array(array) => Column::Many(values_of(array)?),
                ColumnarValue::Scalar(scalar) => {
                    Column::One(values_of(&scalar.to_array()?)?.pop().unwrap_or(Value::Null))
                }
            });
        }
        let mut results = Vec::with_capacity(rows);
        let bytes_max = if all_scalar { CONSTANT_BYTES_MAX } else { FUNCTION_BYTES_MAX };
        let mut bytes = 0;
        let mut row = Vec::with_capacity(columns.len());
        for number in 0..rows {
            row.clear();
            row.extend(columns.iter().map(|column| column.at(number)));
            let is_null = self.implementation.is_strict() && row.iter().any(Value::is_null);
            let result = if is_null { Ok(Value::Null) } else { self.implementation.call(&row) };
            let result = result.map_err(QueryError::into_datafusion)?;
            bytes += result.size_in_memory();
            if bytes > bytes_max {
                let message = format!("{}() makes more than {bytes_max} bytes at a time", self.name());
                return Err(QueryError::new("54000", message).into_datafusion());
            }
            results.push(result);
        }
        let array = array_of(&results, args.return_field.data_type())?;
        if all_scalar {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?));
        }
        Ok(ColumnarValue::Array(array))
    }
}

/// The values of one argument.
enum Column {
    Many(Vec<Value>),
    One(Value),
}

impl Column {
    fn at(&self, row: usize) -> Value {
        match self {
            Column::Many(values) => values[row].clone(),
            Column::One(value) => value.clone(),
        }
    }
}
