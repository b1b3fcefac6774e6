//! `generate_series` as an expression: a list, and so bounded. In FROM over constants it is a table without bound.

use crate::error::QueryError;
use crate::limits::SERIES_ELEMENTS_MAX;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, IntervalMonthDayNanoType};
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature};
use std::sync::Arc;

/// Microseconds of a day, and of the shortest month.
const DAY: i128 = 86_400_000_000;
const MONTH: i128 = 28 * DAY;

/// DataFusion's function behind a check of how long the list will be.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Series {
    inner: Arc<ScalarUDF>,
}

/// The bounded function.
pub fn bounded(inner: Arc<ScalarUDF>) -> ScalarUDF {
    ScalarUDF::new_from_impl(Series { inner })
}

impl ScalarUDFImpl for Series {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arguments)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        check(&arrays)?;
        self.inner.invoke_with_args(args)
    }
}

/// Errors: 54000 if the lists of one batch together are too long.
fn check(arguments: &[ArrayRef]) -> Result<()> {
    let (Some(start), Some(stop)) = (arguments.first(), arguments.get(1)) else { return Ok(()) };
    let (start, stop) = (positions(start)?, positions(stop)?);
    let steps = match arguments.get(2) {
        Some(steps) => widths(steps)?,
        None => vec![Some(1); start.len()],
    };
    let mut total: i128 = 0;
    for ((start, stop), step) in start.iter().zip(&stop).zip(&steps) {
        if let (Some(start), Some(stop), Some(step @ 1..)) = (start, stop, step) {
            total += (stop - start).abs() / step;
        }
    }
    if total > i128::from(SERIES_ELEMENTS_MAX) {
        let message =
            format!("a series of {total} elements is longer than {SERIES_ELEMENTS_MAX}; give constants in FROM");
        return Err(QueryError::new("54000", message).into_datafusion());
    }
    Ok(())
}

/// Integers, or microseconds.
fn positions(array: &ArrayRef) -> Result<Vec<Option<i128>>> {
    let numbers = match array.data_type() {
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => {
            let micros = DataType::Timestamp(datafusion::arrow::datatypes::TimeUnit::Microsecond, None);
            cast(&cast(array, &micros)?, &DataType::Int64)?
        }
        _ => cast(array, &DataType::Int64)?,
    };
    Ok(numbers.as_primitive::<Int64Type>().iter().map(|number| number.map(i128::from)).collect())
}

/// Steps, as numbers above zero; a step of zero is the function's own error.
fn widths(array: &ArrayRef) -> Result<Vec<Option<i128>>> {
    if let Some(intervals) = array.as_primitive_opt::<IntervalMonthDayNanoType>() {
        let width = |months: i32, days: i32, nanoseconds: i64| {
            (i128::from(months) * MONTH + i128::from(days) * DAY + i128::from(nanoseconds) / 1_000).abs().max(1)
        };
        let widths = intervals.iter().map(|span| span.map(|span| width(span.months, span.days, span.nanoseconds)));
        return Ok(widths.collect());
    }
    let numbers = cast(array, &DataType::Int64)?;
    Ok(numbers.as_primitive::<Int64Type>().iter().map(|number| number.map(|number| i128::from(number).abs())).collect())
}
