//! Sums, averages and variances of exact numbers with all their digits, at PostgreSQL's scales; the least and the greatest interval.

use crate::convert::{array_of, equal_bytes, exact, for_each_value, of_exact, scalar_of};
use crate::error::{QueryError, of_value};
use crate::types::EXACT;
use bigdecimal::{BigDecimal, Zero};
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use std::collections::BTreeMap;
use std::sync::Arc;
use values::Value;
use values::operators::{BinaryOperator, binary};

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `sum`.
    Sum,
    /// `avg`.
    Average,
    /// `var_samp`, `var_pop`, `stddev_samp`, `stddev_pop`.
    Variance {
        /// Of a sample, else of all.
        sample: bool,
        /// Its square root.
        root: bool,
    },
}

/// The fields of an accumulator's state: its numbers as bytes.
pub fn state_fields() -> Vec<FieldRef> {
    vec![Arc::new(Field::new("numbers", DataType::Binary, true))]
}

/// An accumulator of one kind.
pub fn accumulator(kind: Kind, is_distinct: bool) -> Box<dyn Accumulator> {
    let seen = is_distinct.then(BTreeMap::new);
    Box::new(Numbers {
        kind,
        count: 0,
        sum: BigDecimal::zero(),
        squares: BigDecimal::zero(),
        scales: BTreeMap::new(),
        seen,
    })
}

#[derive(Debug)]
struct Numbers {
    kind: Kind,
    count: i64,
    sum: BigDecimal,
    /// Of variances only.
    squares: BigDecimal,
    /// How many numbers have each scale: the result has the greatest of those that are in it.
    scales: BTreeMap<i64, i64>,
    /// DISTINCT: the numbers by their keys.
    seen: Option<BTreeMap<Vec<u8>, BigDecimal>>,
}

impl Numbers {
    fn add(&mut self, number: BigDecimal, times: i64) {
        if let Some(seen) = &mut self.seen {
            let key = equal_bytes(&Value::numeric(number.clone()));
            if seen.insert(key, number.clone()).is_some() {
                return;
            }
        }
        self.count += times;
        let of_scale = self.scales.entry(number.fractional_digit_count().max(0)).or_default();
        *of_scale += times;
        if *of_scale == 0 {
            self.scales.remove(&number.fractional_digit_count().max(0));
        }
        if matches!(self.kind, Kind::Variance { .. }) {
            self.squares += &number * &number * BigDecimal::from(times);
        }
        self.sum += number * BigDecimal::from(times);
    }

    fn each(&mut self, array: &ArrayRef, times: i64) -> Result<()> {
        let mut numbers = Vec::with_capacity(array.len());
        for_each_value(array, |value| match &value {
            Value::Null => {}
            Value::Numeric(number) => numbers.push(number.as_ref().clone()),
            other => numbers.extend(other.as_integer().map(BigDecimal::from)),
        })?;
        numbers.into_iter().for_each(|number| self.add(number, times));
        Ok(())
    }

    fn scale(&self) -> i64 {
        self.scales.last_key_value().map_or(0, |(scale, _)| *scale)
    }

    fn result(&self) -> Result<Value> {
        let sum = Value::numeric(self.sum.with_scale(self.scale()));
        let apply = |operator, left: &Value, right: &Value| binary(operator, left, right).map_err(of_value);
        match self.kind {
            _ if self.count == 0 => Ok(Value::Null),
            // A sum with too many digits is found out as any other.
            Kind::Sum => apply(BinaryOperator::Add, &sum, &Value::Integer(0)),
            Kind::Average => apply(BinaryOperator::Divide, &sum, &Value::numeric(BigDecimal::from(self.count))),
            Kind::Variance { sample: true, .. } if self.count == 1 => Ok(Value::Null),
            Kind::Variance { sample, root } => {
                // As `numeric_stddev_internal` does it.
                let count = BigDecimal::from(self.count);
                let squares = (&count * &self.squares).with_scale(2 * self.scale());
                let square = (&self.sum * &self.sum).with_scale(2 * self.scale());
                let above = squares - square;
                if above <= BigDecimal::zero() {
                    return Ok(Value::numeric(BigDecimal::zero()));
                }
                let below =
                    BigDecimal::from(if sample { self.count * (self.count - 1) } else { self.count * self.count });
                let variance = apply(BinaryOperator::Divide, &Value::numeric(above), &Value::numeric(below))?;
                match (variance, root) {
                    (Value::Numeric(variance), true) => {
                        let scale = variance.fractional_digit_count();
                        Ok(Value::numeric(values::numeric::root(&variance, scale)))
                    }
                    (variance, _) => Ok(variance),
                }
            }
        }
    }
}

impl Accumulator for Numbers {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.each(&values[0], 1)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.each(&values[0], -1)
    }

    fn supports_retract_batch(&self) -> bool {
        self.seen.is_none()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        scalar_of(&self.result()?, &EXACT)
    }

    fn size(&self) -> usize {
        let seen = self.seen.iter().flatten().map(|(key, _)| 2 * key.len() + 96).sum::<usize>();
        size_of::<Self>() + 32 * self.scales.len() + self.sum.digits() as usize + seen
    }

    /// The numbers that are distinct; or count, sum and sum of squares, and how many have each scale.
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let mut numbers: Vec<BigDecimal> = Vec::new();
        match &self.seen {
            Some(seen) => numbers.extend(seen.values().cloned()),
            None => {
                numbers.extend([BigDecimal::from(self.count), self.sum.clone(), self.squares.clone()]);
                numbers.extend(
                    self.scales.iter().flat_map(|(scale, count)| [BigDecimal::from(*scale), BigDecimal::from(*count)]),
                );
            }
        }
        let mut bytes = Vec::new();
        for number in &numbers {
            let number = exact(number)?;
            bytes.extend_from_slice(&(number.len() as u32).to_be_bytes());
            bytes.extend_from_slice(&number);
        }
        Ok(vec![ScalarValue::Binary(Some(bytes))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for state in states[0].as_binary::<i32>().iter().flatten() {
            let numbers = numbers_of(state)?;
            if self.seen.is_some() {
                numbers.into_iter().for_each(|number| self.add(number, 1));
                continue;
            }
            let [count, sum, squares, scales @ ..] = numbers.as_slice() else { return Err(broken_state()) };
            self.count += whole(count)?;
            self.sum += sum;
            self.squares += squares;
            for pair in scales.chunks_exact(2) {
                *self.scales.entry(whole(&pair[0])?).or_default() += whole(&pair[1])?;
            }
        }
        Ok(())
    }
}

fn broken_state() -> datafusion::error::DataFusionError {
    QueryError::new("XX000", "the state of an aggregate is broken").into_datafusion()
}

fn whole(number: &BigDecimal) -> Result<i64> {
    number.to_string().parse().map_err(|_| broken_state())
}

fn numbers_of(mut state: &[u8]) -> Result<Vec<BigDecimal>> {
    let mut numbers = Vec::new();
    while let Some((length, rest)) = state.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let (number, rest) = rest.split_at_checked(length).ok_or_else(broken_state)?;
        numbers.push(of_exact(number)?);
        state = rest;
    }
    Ok(numbers)
}

/// `min` or `max` of intervals, which order by how long they are.
pub fn extreme_interval(greatest: bool) -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::new_from_impl(Extreme { greatest, signature: Signature::any(1, Volatility::Immutable) }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Extreme {
    greatest: bool,
    signature: Signature,
}

impl AggregateUDFImpl for Extreme {
    fn name(&self) -> &str {
        if self.greatest { "max" } else { "min" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments[0].clone())
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let data_type = args.return_field.data_type().clone();
        Ok(Box::new(ExtremeOf { greatest: self.greatest, data_type, found: None }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new("extreme", args.return_field.data_type().clone(), true))])
    }
}

#[derive(Debug)]
struct ExtremeOf {
    greatest: bool,
    data_type: DataType,
    /// Its key, and itself.
    found: Option<(Vec<u8>, Value)>,
}

impl Accumulator for ExtremeOf {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for_each_value(&values[0], |value| {
            let key = equal_bytes(&value);
            let is_better =
                self.found.as_ref().is_none_or(|(found, _)| if self.greatest { key > *found } else { key < *found });
            if !value.is_null() && is_better {
                self.found = Some((key, value));
            }
        })
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let found = self.found.as_ref().map_or(Value::Null, |(_, value)| value.clone());
        ScalarValue::try_from_array(&array_of(&[found], &self.data_type)?, 0)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + 128
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}
