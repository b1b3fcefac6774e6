//! Arithmetic on numbers by Arrow's checked kernels: what DataFusion's own operators would let wrap around or make infinite
//! is an error here, as in PostgreSQL.

use crate::convert::empty;
use crate::error::{QueryError, division_by_zero};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Datum};
use datafusion::arrow::compute::kernels::numeric::{add, div, mul, rem, sub};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use values::operators::BinaryOperator;

#[derive(Debug, PartialEq, Eq, Hash)]
struct Arithmetic {
    operator: BinaryOperator,
    signature: Signature,
}

/// The operator applied to two expressions of one type, or of two decimal types of one width.
pub fn apply(operator: BinaryOperator, left: Expr, right: Expr) -> Expr {
    let signature = Signature::any(2, Volatility::Immutable);
    ScalarUDF::new_from_impl(Arithmetic { operator, signature }).call(vec![left, right])
}

/// Which operator a call applies, if it is made here.
pub fn operator_of(call: &ScalarFunction) -> Option<BinaryOperator> {
    call.func.inner().downcast_ref::<Arithmetic>().map(|arithmetic| arithmetic.operator)
}

impl Arithmetic {
    fn compute(&self, left: &dyn Datum, right: &dyn Datum) -> std::result::Result<ArrayRef, ArrowError> {
        match self.operator {
            BinaryOperator::Add => add(left, right),
            BinaryOperator::Subtract => sub(left, right),
            BinaryOperator::Multiply => mul(left, right),
            BinaryOperator::Divide => div(left, right),
            BinaryOperator::Modulo => rem(left, right),
            other => panic!("{other} is not arithmetic"),
        }
    }

    /// Dividing a float by zero is an error; so is a result that is infinite though no operand is.
    fn check_floats(&self, left: &ArrayRef, right: &ArrayRef, result: &ArrayRef) -> Result<()> {
        let divides = matches!(self.operator, BinaryOperator::Divide | BinaryOperator::Modulo);
        if divides && any_float(right, |number| number == 0.0) && result.null_count() < result.len() {
            return Err(division_by_zero().into_datafusion());
        }
        let infinite = |array: &ArrayRef| any_float(array, f64::is_infinite);
        if infinite(result) && !infinite(left) && !infinite(right) {
            return Err(QueryError::new("22003", "value out of range: overflow").into_datafusion());
        }
        Ok(())
    }
}

fn any_float(array: &ArrayRef, test: impl Fn(f64) -> bool) -> bool {
    match array.data_type() {
        DataType::Float32 => array.as_primitive::<Float32Type>().iter().flatten().any(|number| test(f64::from(number))),
        DataType::Float64 => array.as_primitive::<Float64Type>().iter().flatten().any(test),
        _ => false,
    }
}

fn out_of_range(data_type: &DataType) -> QueryError {
    let what = crate::types::from_arrow(data_type).map_or("value", |known| known.base_name());
    match what {
        "numeric" => QueryError::new("22003", "value overflows numeric format"),
        _ => QueryError::new("22003", format!("{what} out of range")),
    }
}

impl ScalarUDFImpl for Arithmetic {
    fn name(&self) -> &str {
        self.operator.symbol()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(self.compute(&empty(&arguments[0]), &empty(&arguments[1]))?.data_type().clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays: Vec<ArrayRef> = args
            .args
            .iter()
            .map(|argument| match argument {
                ColumnarValue::Array(array) => Ok(ArrayRef::clone(array)),
                ColumnarValue::Scalar(scalar) => scalar.to_array(),
            })
            .collect::<Result<_>>()?;
        let is_scalar = |place: usize| matches!(args.args[place], ColumnarValue::Scalar(_));
        let result = match (is_scalar(0), is_scalar(1)) {
            (true, false) => self.compute(&datafusion::arrow::array::Scalar::new(&arrays[0]), &arrays[1]),
            (false, true) => self.compute(&arrays[0], &datafusion::arrow::array::Scalar::new(&arrays[1])),
            _ => self.compute(&arrays[0], &arrays[1]),
        };
        let result = result.map_err(|error| match error {
            ArrowError::ArithmeticOverflow(_) => out_of_range(args.return_field.data_type()).into_datafusion(),
            other => DataFusionError::from(other),
        })?;
        if result.data_type().is_floating() {
            self.check_floats(&arrays[0], &arrays[1], &result)?;
        }
        if is_scalar(0) && is_scalar(1) {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?));
        }
        Ok(ColumnarValue::Array(result))
    }
}
