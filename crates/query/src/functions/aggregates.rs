//! Aggregate functions whose result types or meaning differ from DataFusion's: sums, averages and variances of exact numbers do not
//! overflow and do not become floats ([`exact`]), `single_value` refuses a second row.

use super::exact::{self, Kind};
use crate::error::QueryError;
use crate::types::EXACT;
use crate::types::is_decimal;
use datafusion::arrow::array::{Array, ArrayRef, BooleanArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DECIMAL256_MAX_PRECISION, DataType, Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::functions_aggregate::average::avg_udaf;
use datafusion::functions_aggregate::stddev::{stddev_pop_udaf, stddev_udaf};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::functions_aggregate::variance::{var_pop_udaf, var_samp_udaf};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Our aggregate functions.
pub fn all() -> [Arc<AggregateUDF>; 7] {
    let variance = |native, sample, root| Arc::new(Exact::function(native, Kind::Variance { sample, root }));
    [
        Arc::new(Exact::function(sum_udaf(), Kind::Sum)),
        Arc::new(Exact::function(avg_udaf(), Kind::Average)),
        variance(var_samp_udaf(), true, false),
        variance(var_pop_udaf(), false, false),
        variance(stddev_udaf(), true, true),
        variance(stddev_pop_udaf(), false, true),
        Arc::new(AggregateUDF::new_from_impl(SingleValue { signature: Signature::any(1, Volatility::Immutable) })),
    ]
}

/// What the library's function is given for an argument of this type; `None` where it is not the library's that computes.
fn argument_of(kind: Kind, argument: &DataType) -> Option<DataType> {
    Some(match (kind, argument) {
        (_, DataType::Float32 | DataType::Float64) => DataType::Float64,
        (Kind::Sum, DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::UInt8 | DataType::UInt16) => {
            DataType::Int64
        }
        (Kind::Sum, DataType::Int64 | DataType::UInt32 | DataType::UInt64) => DataType::Decimal128(28, 0),
        (Kind::Sum, DataType::Decimal256(_, scale)) => DataType::Decimal256(DECIMAL256_MAX_PRECISION, *scale),
        (Kind::Sum, DataType::Decimal128(precision, scale)) if *precision > 28 => {
            DataType::Decimal256(DECIMAL256_MAX_PRECISION, *scale)
        }
        (Kind::Sum, DataType::Decimal128(precision, scale)) => DataType::Decimal128(*precision, *scale),
        (Kind::Sum, DataType::Duration(unit)) => DataType::Duration(*unit),
        _ => return None,
    })
}

/// DataFusion's function over an argument that is converted as it comes in.
///
/// The conversion is not a coercion in the plan, for those are applied again and again: bigint, to which an integer would
/// be converted, is itself converted to numeric.
#[derive(Debug)]
struct Exact {
    inner: Arc<AggregateUDF>,
    kind: Kind,
    signature: Signature,
}

impl PartialEq for Exact {
    fn eq(&self, other: &Exact) -> bool {
        self.inner == other.inner && self.kind == other.kind
    }
}

impl Eq for Exact {}

impl Hash for Exact {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl Exact {
    fn function(inner: Arc<AggregateUDF>, kind: Kind) -> AggregateUDF {
        let signature = Signature::user_defined(Volatility::Immutable);
        AggregateUDF::new_from_impl(Exact { inner, kind, signature })
    }

    /// What the library's function is given; `None`: it does not compute this. Errors: 42883.
    fn converted(&self, argument: &DataType) -> Result<Option<DataType>> {
        let native = argument_of(self.kind, argument);
        let is_exact = argument.is_integer() || is_decimal(argument) || *argument == EXACT || argument.is_null();
        if native.is_none() && !is_exact {
            let call = format!("{}({})", self.name(), crate::convert::describe(argument));
            return Err(QueryError::undefined_function(&call).into_datafusion());
        }
        Ok(native)
    }

    /// Calls `make` with the arguments that DataFusion's function sees.
    fn inside<T>(
        &self,
        args: AccumulatorArgs,
        make: impl FnOnce(AccumulatorArgs) -> Result<T>,
    ) -> Result<(T, DataType)> {
        let target = self.converted(args.expr_fields[0].data_type())?.unwrap_or(EXACT);
        let fields: [FieldRef; 1] = [Arc::new(args.expr_fields[0].as_ref().clone().with_data_type(target.clone()))];
        Ok((make(AccumulatorArgs { expr_fields: &fields, ..args })?, target))
    }

    fn own(&self, args: &AccumulatorArgs) -> Result<Option<Box<dyn Accumulator>>> {
        let is_native = self.converted(args.expr_fields[0].data_type())?.is_some();
        Ok((!is_native).then(|| exact::accumulator(self.kind, args.is_distinct)))
    }
}

impl AggregateUDFImpl for Exact {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let [argument] = arguments else {
            return Err(QueryError::undefined_function(&format!("{}()", self.name())).into_datafusion());
        };
        self.converted(argument)?;
        Ok(vec![if argument.is_null() { EXACT } else { argument.clone() }])
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match self.converted(&arguments[0])? {
            Some(native) => self.inner.inner().return_type(&[native]),
            None => Ok(EXACT),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if let Some(own) = self.own(&args)? {
            return Ok(own);
        }
        let (inner, target) = self.inside(args, |args| self.inner.inner().accumulator(args))?;
        Ok(Box::new(Converted { inner, target }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let Some(target) = self.converted(args.input_fields[0].data_type())? else { return Ok(exact::state_fields()) };
        let fields: [FieldRef; 1] = [Arc::new(args.input_fields[0].as_ref().clone().with_data_type(target))];
        self.inner.inner().state_fields(StateFieldsArgs { input_fields: &fields, ..args })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        let is_native = self.own(&args).is_ok_and(|own| own.is_none());
        is_native
            && self
                .inside(args, |args| Ok(self.inner.inner().groups_accumulator_supported(args)))
                .is_ok_and(|(supported, _)| supported)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        let (inner, target) = self.inside(args, |args| self.inner.inner().create_groups_accumulator(args))?;
        Ok(Box::new(ConvertedGroups { inner, target }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if let Some(own) = self.own(&args)? {
            return Ok(own);
        }
        let (inner, target) = self.inside(args, |args| self.inner.inner().create_sliding_accumulator(args))?;
        Ok(Box::new(Converted { inner, target }))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

fn convert(values: &[ArrayRef], target: &DataType) -> Result<Vec<ArrayRef>> {
    values.iter().map(|array| Ok(cast(array, target)?)).collect()
}

/// An accumulator whose input is converted.
#[derive(Debug)]
struct Converted {
    inner: Box<dyn Accumulator>,
    target: DataType,
}

impl Accumulator for Converted {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(&convert(values, &self.target)?)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(&convert(values, &self.target)?)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.inner.evaluate()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }
}

/// An accumulator of many groups whose input is converted.
struct ConvertedGroups {
    inner: Box<dyn GroupsAccumulator>,
    target: DataType,
}

impl GroupsAccumulator for ConvertedGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        groups_total: usize,
    ) -> Result<()> {
        self.inner.update_batch(&convert(values, &self.target)?, groups, filter, groups_total)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.inner.evaluate(emit_to)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit_to)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], groups_total: usize) -> Result<()> {
        self.inner.merge_batch(states, groups, groups_total)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(&convert(values, &self.target)?, filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

/// The value of a subquery's only row, NULL without a row, error 21000 with more.
#[derive(Debug, PartialEq, Eq, Hash)]
struct SingleValue {
    signature: Signature,
}

impl AggregateUDFImpl for SingleValue {
    fn name(&self) -> &str {
        "single_value"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments[0].clone())
    }

    fn return_field(&self, arguments: &[FieldRef]) -> Result<FieldRef> {
        Ok(Arc::new(arguments[0].as_ref().clone().with_nullable(true)))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(SingleValueAccumulator { value: ScalarValue::try_from(args.return_field.data_type())?, rows: 0 }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let value = Field::new("value", args.return_field.data_type().clone(), true);
        Ok(vec![Arc::new(value), Arc::new(Field::new("rows", DataType::UInt64, false))])
    }
}

#[derive(Debug)]
struct SingleValueAccumulator {
    value: ScalarValue,
    rows: u64,
}

impl SingleValueAccumulator {
    fn take(&mut self, values: &ArrayRef, rows: u64) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        self.rows += rows;
        if self.rows > 1 {
            return Err(QueryError::new("21000", "more than one row returned by a subquery used as an expression")
                .into_datafusion());
        }
        self.value = ScalarValue::try_from_array(values, 0)?;
        Ok(())
    }
}

impl Accumulator for SingleValueAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.take(&values[0], values[0].len() as u64)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.value.clone())
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.value.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.value.clone(), ScalarValue::UInt64(Some(self.rows))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for row in 0..states[0].len() {
            let ScalarValue::UInt64(Some(rows)) = ScalarValue::try_from_array(&states[1], row)? else { continue };
            self.take(&states[0].slice(row, 1), rows)?;
        }
        Ok(())
    }
}
