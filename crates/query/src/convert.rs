//! Values to Arrow arrays and back.
//!
//! Times count from 2000 in values and from 1970 in Arrow; the shift is made here and nowhere else. What Arrow cannot hold
//! (an interval of more than 292 years of microseconds) is an error, never rounded away.
//!
//! A numeric that keeps its own scale is the bytes of its key, which are equal for equal numbers and in their order, and behind them its scale.

use crate::error::{QueryError, of_value};
use crate::types::EXACT;
use bigdecimal::num_bigint::BigInt;
use bigdecimal::{BigDecimal, RoundingMode};
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryBuilder, BooleanBuilder, Decimal128Builder, Decimal256Builder,
    FixedSizeBinaryBuilder, LargeBinaryBuilder, ListArray, NullArray, PrimitiveBuilder, StringBuilder, new_empty_array,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, FieldRef, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, Time64MicrosecondType, TimeUnit,
    TimestampMicrosecondType, UInt32Type, i256,
};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use std::sync::Arc;
use values::{Interval, Type, Value, ValueError};

/// Days from 1970-01-01 to 2000-01-01.
const EPOCH_DAYS: i32 = 10_957;
/// Microseconds from 1970-01-01 to 2000-01-01.
pub const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

/// Builds one array out of values of one type.
pub enum ColumnBuilder {
    /// `boolean`.
    Boolean(BooleanBuilder),
    /// `smallint`.
    SmallInt(PrimitiveBuilder<Int16Type>),
    /// `integer`.
    Integer(PrimitiveBuilder<Int32Type>),
    /// `bigint`.
    BigInt(PrimitiveBuilder<Int64Type>),
    /// `real`.
    Real(PrimitiveBuilder<Float32Type>),
    /// `double precision`.
    Double(PrimitiveBuilder<Float64Type>),
    /// `numeric` of up to 38 digits: builder, precision, scale.
    Numeric(Decimal128Builder, u8, i8),
    /// `numeric` of up to 76 digits: builder, precision, scale.
    LargeNumeric(Decimal256Builder, u8, i8),
    /// `numeric` of any size and scale.
    Exact(LargeBinaryBuilder),
    /// `text`, `varchar`, `char`.
    Text(StringBuilder),
    /// `bytea`.
    Bytea(BinaryBuilder),
    /// `date`.
    Date(PrimitiveBuilder<Date32Type>),
    /// `time`.
    Time(PrimitiveBuilder<Time64MicrosecondType>),
    /// `timestamp` and `timestamptz`: builder, whether with time zone.
    Timestamp(PrimitiveBuilder<TimestampMicrosecondType>, bool),
    /// `interval`.
    Interval(PrimitiveBuilder<IntervalMonthDayNanoType>),
    /// `uuid`.
    Uuid(FixedSizeBinaryBuilder),
    /// `oid`.
    Oid(PrimitiveBuilder<UInt32Type>),
    /// Arrays.
    List(Box<ListBuilder>),
    /// Nothing but NULLs, of no type.
    Null(usize),
}

/// Builds one array of lists.
pub struct ListBuilder {
    field: FieldRef,
    items: ColumnBuilder,
    lengths: Vec<usize>,
    present: Vec<bool>,
}

impl ListBuilder {
    fn append(&mut self, values: Option<&[Value]>) -> Result<()> {
        values.unwrap_or_default().iter().try_for_each(|value| self.items.append(value))?;
        self.lengths.push(values.map_or(0, <[Value]>::len));
        self.present.push(values.is_some());
        Ok(())
    }

    fn finish(&mut self) -> ListArray {
        let offsets = OffsetBuffer::from_lengths(std::mem::take(&mut self.lengths));
        let present = NullBuffer::from(std::mem::take(&mut self.present));
        ListArray::new(Arc::clone(&self.field), offsets, self.items.finish(), Some(present))
    }
}

impl ColumnBuilder {
    /// A builder of arrays of this type, one of those that `types::to_arrow` gives or `Null`.
    pub fn new(data_type: &DataType, capacity: usize) -> Result<ColumnBuilder> {
        Ok(match data_type {
            DataType::Boolean => Self::Boolean(BooleanBuilder::with_capacity(capacity)),
            DataType::Int16 => Self::SmallInt(PrimitiveBuilder::with_capacity(capacity)),
            DataType::Int32 => Self::Integer(PrimitiveBuilder::with_capacity(capacity)),
            DataType::Int64 => Self::BigInt(PrimitiveBuilder::with_capacity(capacity)),
            DataType::Float32 => Self::Real(PrimitiveBuilder::with_capacity(capacity)),
            DataType::Float64 => Self::Double(PrimitiveBuilder::with_capacity(capacity)),
            DataType::Decimal128(precision, scale) => Self::Numeric(
                Decimal128Builder::with_capacity(capacity).with_precision_and_scale(*precision, *scale)?,
                *precision,
                *scale,
            ),
            DataType::Decimal256(precision, scale) => Self::LargeNumeric(
                Decimal256Builder::with_capacity(capacity).with_precision_and_scale(*precision, *scale)?,
                *precision,
                *scale,
            ),
            DataType::LargeBinary => Self::Exact(LargeBinaryBuilder::with_capacity(capacity, capacity * 16)),
            DataType::Utf8 => Self::Text(StringBuilder::with_capacity(capacity, capacity * 16)),
            DataType::Binary => Self::Bytea(BinaryBuilder::with_capacity(capacity, capacity * 16)),
            DataType::Date32 => Self::Date(PrimitiveBuilder::with_capacity(capacity)),
            DataType::Time64(TimeUnit::Microsecond) => Self::Time(PrimitiveBuilder::with_capacity(capacity)),
            DataType::Timestamp(TimeUnit::Microsecond, zone) => {
                Self::Timestamp(PrimitiveBuilder::with_capacity(capacity), zone.is_some())
            }
            DataType::Interval(IntervalUnit::MonthDayNano) => Self::Interval(PrimitiveBuilder::with_capacity(capacity)),
            DataType::FixedSizeBinary(16) => Self::Uuid(FixedSizeBinaryBuilder::with_capacity(capacity, 16)),
            DataType::UInt32 => Self::Oid(PrimitiveBuilder::with_capacity(capacity)),
            DataType::List(field) => Self::List(Box::new(ListBuilder {
                field: Arc::clone(field),
                items: ColumnBuilder::new(field.data_type(), capacity)?,
                lengths: Vec::with_capacity(capacity),
                present: Vec::with_capacity(capacity),
            })),
            DataType::Null => Self::Null(0),
            other => return Err(unsupported_type(other)),
        })
    }

    /// Appends a value. A value of another type is an error: the bytes it came from do not belong to this column.
    pub fn append(&mut self, value: &Value) -> Result<()> {
        match (self, value) {
            (Self::Boolean(builder), Value::Boolean(truth)) => builder.append_value(*truth),
            (Self::SmallInt(builder), Value::SmallInt(number)) => builder.append_value(*number),
            (Self::Integer(builder), Value::Integer(number)) => builder.append_value(*number),
            (Self::BigInt(builder), Value::BigInt(number)) => builder.append_value(*number),
            (Self::Real(builder), Value::Real(number)) => builder.append_value(*number),
            (Self::Double(builder), Value::Double(number)) => builder.append_value(*number),
            (Self::Numeric(builder, precision, scale), Value::Numeric(number)) => {
                builder.append_value(unscaled_128(number, *precision, *scale)?);
            }
            (Self::LargeNumeric(builder, precision, scale), Value::Numeric(number)) => {
                builder.append_value(unscaled_256(number, *precision, *scale)?);
            }
            (Self::Exact(builder), Value::Numeric(number)) => builder.append_value(exact(number)?),
            (Self::Text(builder), Value::Text(text)) => builder.append_value(text),
            (Self::Bytea(builder), Value::Bytea(bytes)) => builder.append_value(bytes),
            (Self::Date(builder), Value::Date(days)) => {
                builder.append_value(days.checked_add(EPOCH_DAYS).ok_or_else(|| out_of_range("date"))?);
            }
            (Self::Time(builder), Value::Time(micros)) => builder.append_value(*micros),
            (Self::Timestamp(builder, false), Value::Timestamp(micros))
            | (Self::Timestamp(builder, true), Value::TimestampTz(micros)) => {
                builder.append_value(micros.checked_add(EPOCH_MICROS).ok_or_else(|| out_of_range("timestamp"))?);
            }
            (Self::Interval(builder), Value::Interval(interval)) => {
                let nanoseconds = interval.microseconds.checked_mul(1_000).ok_or_else(|| out_of_range("interval"))?;
                builder.append_value(IntervalMonthDayNano::new(interval.months, interval.days, nanoseconds));
            }
            (Self::Uuid(builder), Value::Uuid(bytes)) => builder.append_value(bytes)?,
            (Self::Oid(builder), Value::Oid(number)) => builder.append_value(*number),
            (Self::List(builder), Value::Array(array)) => builder.append(Some(array.values()))?,
            (builder, Value::Null) => builder.append_null()?,
            (_, other) => {
                let found = other.data_type().map_or("NULL", |found| found.base_name());
                return Err(QueryError::new("XX001", format!("a row holds {found} where its table has another type"))
                    .into_datafusion());
            }
        }
        Ok(())
    }

    fn append_null(&mut self) -> Result<()> {
        match self {
            Self::Boolean(builder) => builder.append_null(),
            Self::SmallInt(builder) => builder.append_null(),
            Self::Integer(builder) => builder.append_null(),
            Self::BigInt(builder) => builder.append_null(),
            Self::Real(builder) => builder.append_null(),
            Self::Double(builder) => builder.append_null(),
            Self::Numeric(builder, ..) => builder.append_null(),
            Self::LargeNumeric(builder, ..) => builder.append_null(),
            Self::Exact(builder) => builder.append_null(),
            Self::Text(builder) => builder.append_null(),
            Self::Bytea(builder) => builder.append_null(),
            Self::Date(builder) => builder.append_null(),
            Self::Time(builder) => builder.append_null(),
            Self::Timestamp(builder, _) => builder.append_null(),
            Self::Interval(builder) => builder.append_null(),
            Self::Uuid(builder) => builder.append_null(),
            Self::Oid(builder) => builder.append_null(),
            Self::List(builder) => builder.append(None)?,
            Self::Null(count) => *count += 1,
        }
        Ok(())
    }

    /// The array of what was appended; the builder is empty again.
    pub fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Boolean(builder) => Arc::new(builder.finish()),
            Self::SmallInt(builder) => Arc::new(builder.finish()),
            Self::Integer(builder) => Arc::new(builder.finish()),
            Self::BigInt(builder) => Arc::new(builder.finish()),
            Self::Real(builder) => Arc::new(builder.finish()),
            Self::Double(builder) => Arc::new(builder.finish()),
            Self::Numeric(builder, ..) => Arc::new(builder.finish()),
            Self::LargeNumeric(builder, ..) => Arc::new(builder.finish()),
            Self::Exact(builder) => Arc::new(builder.finish()),
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Bytea(builder) => Arc::new(builder.finish()),
            Self::Date(builder) => Arc::new(builder.finish()),
            Self::Time(builder) => Arc::new(builder.finish()),
            Self::Timestamp(builder, false) => Arc::new(builder.finish()),
            Self::Timestamp(builder, true) => Arc::new(builder.finish().with_timezone("UTC")),
            Self::Interval(builder) => Arc::new(builder.finish()),
            Self::Uuid(builder) => Arc::new(builder.finish()),
            Self::Oid(builder) => Arc::new(builder.finish()),
            Self::List(builder) => Arc::new(builder.finish()),
            Self::Null(count) => Arc::new(NullArray::new(std::mem::take(count))),
        }
    }
}

/// An array of these values.
pub fn array_of(values: &[Value], data_type: &DataType) -> Result<ArrayRef> {
    let mut builder = ColumnBuilder::new(data_type, values.len())?;
    values.iter().try_for_each(|value| builder.append(value))?;
    Ok(builder.finish())
}

/// One value as DataFusion's literals hold it.
pub fn scalar_of(value: &Value, data_type: &DataType) -> Result<ScalarValue> {
    ScalarValue::try_from_array(&array_of(std::slice::from_ref(value), data_type)?, 0)
}

/// The values of an array, each handed to `each` in order.
pub fn for_each_value(array: &ArrayRef, mut each: impl FnMut(Value)) -> Result<()> {
    let array = &canonical(array)?;
    match array.data_type() {
        DataType::Null => (0..array.len()).for_each(|_| each(Value::Null)),
        DataType::Boolean => array.as_boolean().iter().for_each(|item| each(item.map_or(Value::Null, Value::Boolean))),
        DataType::Int16 => primitive::<Int16Type>(array, Value::SmallInt, each),
        DataType::Int32 => primitive::<Int32Type>(array, Value::Integer, each),
        DataType::Int64 => primitive::<Int64Type>(array, Value::BigInt, each),
        DataType::UInt32 => primitive::<UInt32Type>(array, Value::Oid, each),
        DataType::Float32 => primitive::<Float32Type>(array, Value::Real, each),
        DataType::Float64 => primitive::<Float64Type>(array, Value::Double, each),
        DataType::Decimal128(_, scale) => {
            let scale = *scale;
            primitive::<Decimal128Type>(array, |number| numeric(BigInt::from(number), scale), each);
        }
        DataType::Decimal256(_, scale) => {
            let scale = *scale;
            let big = |number: i256| BigInt::from_signed_bytes_le(&number.to_le_bytes());
            primitive::<Decimal256Type>(array, |number| numeric(big(number), scale), each);
        }
        DataType::LargeBinary => exact_numbers(array, each)?,
        DataType::Utf8 => {
            array
                .as_string::<i32>()
                .iter()
                .for_each(|item| each(item.map_or(Value::Null, |text| Value::Text(text.into()))));
        }
        DataType::Binary => {
            array
                .as_binary::<i32>()
                .iter()
                .for_each(|item| each(item.map_or(Value::Null, |bytes| Value::Bytea(bytes.into()))));
        }
        DataType::Date32 => primitive::<Date32Type>(array, |days| Value::Date(days.saturating_sub(EPOCH_DAYS)), each),
        DataType::Time64(_) => primitive::<Time64MicrosecondType>(array, Value::Time, each),
        DataType::Timestamp(_, None) => primitive::<TimestampMicrosecondType>(
            array,
            |micros| Value::Timestamp(micros.saturating_sub(EPOCH_MICROS)),
            each,
        ),
        DataType::Timestamp(_, Some(_)) => primitive::<TimestampMicrosecondType>(
            array,
            |micros| Value::TimestampTz(micros.saturating_sub(EPOCH_MICROS)),
            each,
        ),
        DataType::Interval(_) => primitive::<IntervalMonthDayNanoType>(
            array,
            |span| {
                let microseconds = span.nanoseconds / 1_000;
                Value::Interval(Interval { months: span.months, days: span.days, microseconds })
            },
            each,
        ),
        DataType::FixedSizeBinary(16) => array.as_fixed_size_binary().iter().for_each(|item| {
            each(item.and_then(|bytes| bytes.try_into().ok()).map_or(Value::Null, Value::Uuid));
        }),
        DataType::List(item) => lists(array, item.data_type(), each)?,
        other => return Err(unsupported_type(other)),
    }
    Ok(())
}

fn exact_numbers(array: &ArrayRef, mut each: impl FnMut(Value)) -> Result<()> {
    for item in array.as_binary::<i64>().iter() {
        each(item.map_or(Ok(Value::Null), |bytes| of_exact(bytes).map(Value::numeric))?);
    }
    Ok(())
}

fn lists(array: &ArrayRef, item: &DataType, mut each: impl FnMut(Value)) -> Result<()> {
    let element = crate::types::from_arrow(item).filter(|element| element.element().is_none());
    for list in array.as_list::<i32>().iter() {
        let elements = list.as_ref().map(values_of).transpose()?;
        each(match (elements, element) {
            (None, _) => Value::Null,
            (Some(elements), Some(element)) => Value::array(element, elements),
            (Some(elements), None) => Value::text(nested_text(&elements)),
        });
    }
    Ok(())
}

/// A list of lists as PostgreSQL prints arrays of several dimensions (`array_out`).
fn nested_text(lists: &[Value]) -> String {
    let texts: Vec<String> =
        lists.iter().map(|list| values::text::to_string(list).unwrap_or_else(|| "NULL".to_owned())).collect();
    format!("{{{}}}", texts.join(","))
}

/// The values of an array.
pub fn values_of(array: &ArrayRef) -> Result<Vec<Value>> {
    let mut values = Vec::with_capacity(array.len());
    for_each_value(array, |value| values.push(value))?;
    Ok(values)
}

fn primitive<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    convert: impl Fn(T::Native) -> Value,
    mut each: impl FnMut(Value),
) {
    array.as_primitive::<T>().iter().for_each(|item| each(item.map_or(Value::Null, &convert)));
}

/// The same values in the Arrow type that `types::to_arrow` gives for their SQL type, so that the readers above are few.
fn canonical(array: &ArrayRef) -> Result<ArrayRef> {
    let target = match array.data_type() {
        DataType::Int8 | DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt64 => DataType::Int64,
        DataType::Float16 => DataType::Float32,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Date64 => DataType::Date32,
        DataType::Time32(_) | DataType::Time64(TimeUnit::Nanosecond) => DataType::Time64(TimeUnit::Microsecond),
        DataType::Timestamp(unit, zone) if *unit != TimeUnit::Microsecond => {
            DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
        }
        DataType::Interval(unit) if *unit != IntervalUnit::MonthDayNano => {
            DataType::Interval(IntervalUnit::MonthDayNano)
        }
        DataType::Duration(_) => DataType::Interval(IntervalUnit::MonthDayNano),
        DataType::Dictionary(_, of) => of.as_ref().clone(),
        DataType::LargeList(item) | DataType::FixedSizeList(item, _) => DataType::List(Arc::clone(item)),
        _ => return Ok(Arc::clone(array)),
    };
    // What does not fit is an error, not NULL.
    Ok(cast_with_options(array, &target, &CastOptions { safe: false, ..CastOptions::default() })?)
}

/// A numeric that keeps its scale, as bytes.
pub fn exact(number: &BigDecimal) -> Result<Vec<u8>> {
    let scale = u16::try_from(number.fractional_digit_count().max(0)).map_err(|_| out_of_range("numeric"))?;
    let mut bytes = equal_bytes(&Value::numeric(number.clone()));
    bytes.extend_from_slice(&scale.to_be_bytes());
    Ok(bytes)
}

/// The same back. Errors: XX001 for bytes that are no such numeric.
pub fn of_exact(bytes: &[u8]) -> Result<BigDecimal> {
    let (found, rest) = values::key::decode_prefix(bytes, &[Type::Numeric(None)]).map_err(of_value)?;
    match (found.as_slice(), <[u8; 2]>::try_from(rest)) {
        ([Value::Numeric(number)], Ok(scale))
            if number.fractional_digit_count() <= i64::from(u16::from_be_bytes(scale)) =>
        {
            Ok(number.with_scale(i64::from(u16::from_be_bytes(scale))))
        }
        _ => Err(QueryError::new("XX001", "a numeric within a query is no numeric").into_datafusion()),
    }
}

/// The same bytes for all values that are equal to this one, in the order of values.
pub fn equal_bytes(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    values::key::append(value, &mut bytes);
    bytes
}

fn numeric(unscaled: BigInt, scale: i8) -> Value {
    Value::numeric(BigDecimal::new(unscaled, i64::from(scale)))
}

fn rounded(number: &BigDecimal, scale: i8) -> BigInt {
    let scale = i64::from(scale);
    let (unscaled, exponent) = number.as_bigint_and_exponent();
    if exponent == scale {
        return unscaled;
    }
    number.with_scale_round(scale, RoundingMode::HalfUp).into_bigint_and_exponent().0
}

fn unscaled_128(number: &BigDecimal, precision: u8, scale: i8) -> Result<i128> {
    i128::try_from(rounded(number, scale))
        .ok()
        .filter(|unscaled| unscaled.unsigned_abs() < 10_u128.pow(u32::from(precision)))
        .ok_or_else(|| out_of_range("numeric"))
}

fn unscaled_256(number: &BigDecimal, precision: u8, scale: i8) -> Result<i256> {
    let unscaled = rounded(number, scale);
    let bytes = unscaled.to_signed_bytes_le();
    if bytes.len() > 32 || unscaled.magnitude().to_string().len() > usize::from(precision) {
        return Err(out_of_range("numeric"));
    }
    let sign = if unscaled.sign() == bigdecimal::num_bigint::Sign::Minus { 0xff } else { 0 };
    let mut wide = [sign; 32];
    wide[..bytes.len()].copy_from_slice(&bytes);
    Ok(i256::from_le_bytes(wide))
}

fn out_of_range(what: &str) -> DataFusionError {
    QueryError::new("22003", format!("{what} is out of the range that queries can compute with")).into_datafusion()
}

fn unsupported_type(data_type: &DataType) -> DataFusionError {
    QueryError::unsupported(format!("a result of type {} is not supported", describe(data_type))).into_datafusion()
}

/// An Arrow type in SQL's words.
pub fn describe(data_type: &DataType) -> String {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            format!("{}[]", describe(item.data_type()))
        }
        DataType::Struct(_) => "record".to_owned(),
        other => match crate::types::from_arrow(other) {
            Some(known) => known.base_name().to_owned(),
            None => other.to_string(),
        },
    }
}

/// Parses the text of a literal as a value of an Arrow type: what PostgreSQL does with a quoted literal whose type the
/// context gives. `None` when the type is not one of ours.
pub fn parse_literal(text: &str, data_type: &DataType) -> Option<Result<ScalarValue>> {
    let column_type = crate::types::from_arrow(data_type)?;
    let parsed = values::text::parse(text, column_type).map_err(|error: ValueError| of_value(error));
    Some(parsed.and_then(|value| {
        let target = match &value {
            Value::Numeric(number) => decimal_type(number),
            _ => crate::types::to_arrow(column_type),
        };
        scalar_of(&value, &target)
    }))
}

/// The narrowest decimal type that holds the number as it is.
fn decimal_type(number: &BigDecimal) -> DataType {
    let scale = number.fractional_digit_count();
    let digits = i64::try_from(number.digits()).unwrap_or(i64::MAX).max(scale);
    match (u8::try_from(digits), i8::try_from(scale)) {
        (Ok(digits @ ..=38), Ok(scale @ 0..)) => DataType::Decimal128(digits.max(1), scale),
        _ => EXACT,
    }
}

/// An array without rows.
pub fn empty(data_type: &DataType) -> ArrayRef {
    new_empty_array(data_type)
}
