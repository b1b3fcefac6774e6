//! Rows of a query as a Parquet file.
//!
//! After the Apache Parquet format specification, "Logical Types". What Parquet has no type for is written as PostgreSQL's text. Every column may be null.
//! Rows are kept until a row group is full, then written column by column.

use crate::method::told;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{FromSql, ToSql, Type};
use postgres::{Row, Transaction};
use std::error::Error;
use std::io::Write;
use std::sync::Arc;

/// Bytes of values in a row group, beyond which another one begins: what the format's documents advise for readers of one group at a time.
const GROUP_BYTES: usize = 64 << 20;
/// Bytes beside those of its text or number that a value takes while its row group is filled, at most.
const VALUE_BYTES: usize = 64;
/// Days from 1970 to 2000, where PostgreSQL's dates count from.
const DAYS_TO_2000: i32 = 10_957;
/// The same in microseconds.
const MICROS_TO_2000: i64 = 946_684_800_000_000;
/// Digits that fit an INT64.
const LONG_DIGITS: i32 = 18;
/// Digits that fit 16 bytes.
const DIGITS_MAX: i32 = 38;
/// PostgreSQL adds this to the precision and scale of a numeric's type modifier.
const MODIFIER_HEADER: i32 = 4;

/// What becomes of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExportedKind {
    Boolean,
    SmallInt,
    Integer,
    BigInt,
    Real,
    Double,
    Date,
    Time,
    Timestamp {
        utc: bool,
    },
    Uuid,
    Json {
        binary: bool,
    },
    Bytes,
    Text,
    /// Digits in all, and behind the point.
    Decimal {
        precision: i32,
        scale: i32,
    },
    /// PostgreSQL's text.
    Shown,
}

impl ExportedKind {
    fn of(column: &Type, modifier: i32) -> ExportedKind {
        match *column {
            Type::BOOL => ExportedKind::Boolean,
            Type::INT2 => ExportedKind::SmallInt,
            Type::INT4 => ExportedKind::Integer,
            Type::INT8 => ExportedKind::BigInt,
            Type::FLOAT4 => ExportedKind::Real,
            Type::FLOAT8 => ExportedKind::Double,
            Type::DATE => ExportedKind::Date,
            Type::TIME => ExportedKind::Time,
            Type::TIMESTAMP => ExportedKind::Timestamp { utc: false },
            Type::TIMESTAMPTZ => ExportedKind::Timestamp { utc: true },
            Type::UUID => ExportedKind::Uuid,
            Type::JSON => ExportedKind::Json { binary: false },
            Type::JSONB => ExportedKind::Json { binary: true },
            Type::BYTEA => ExportedKind::Bytes,
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME => ExportedKind::Text,
            Type::NUMERIC if modifier >= MODIFIER_HEADER => {
                let given = modifier - MODIFIER_HEADER;
                let (precision, scale) = (given >> 16, given & 0xffff);
                match (1..=DIGITS_MAX).contains(&precision) && scale <= precision {
                    true => ExportedKind::Decimal { precision, scale },
                    false => ExportedKind::Shown,
                }
            }
            _ => ExportedKind::Shown,
        }
    }

    /// Whether the site is asked for its text.
    fn is_asked_as_text(self) -> bool {
        matches!(self, ExportedKind::Decimal { .. } | ExportedKind::Shown)
    }

    fn physical(self) -> Physical {
        match self {
            ExportedKind::Boolean => Physical::BOOLEAN,
            ExportedKind::SmallInt | ExportedKind::Integer | ExportedKind::Date => Physical::INT32,
            ExportedKind::BigInt | ExportedKind::Time | ExportedKind::Timestamp { .. } => Physical::INT64,
            ExportedKind::Decimal { precision, .. } if precision <= LONG_DIGITS => Physical::INT64,
            ExportedKind::Real => Physical::FLOAT,
            ExportedKind::Double => Physical::DOUBLE,
            ExportedKind::Uuid | ExportedKind::Decimal { .. } => Physical::FIXED_LEN_BYTE_ARRAY,
            ExportedKind::Json { .. } | ExportedKind::Bytes | ExportedKind::Text | ExportedKind::Shown => {
                Physical::BYTE_ARRAY
            }
        }
    }

    fn logical(self) -> Option<LogicalType> {
        match self {
            ExportedKind::SmallInt => Some(LogicalType::integer(16, true)),
            ExportedKind::Date => Some(LogicalType::Date),
            ExportedKind::Time => Some(LogicalType::time(false, TimeUnit::MICROS)),
            ExportedKind::Timestamp { utc } => Some(LogicalType::timestamp(utc, TimeUnit::MICROS)),
            ExportedKind::Uuid => Some(LogicalType::Uuid),
            ExportedKind::Json { .. } => Some(LogicalType::Json),
            ExportedKind::Text | ExportedKind::Shown => Some(LogicalType::String),
            ExportedKind::Decimal { precision, scale } => Some(LogicalType::decimal(scale, precision)),
            ExportedKind::Boolean
            | ExportedKind::Integer
            | ExportedKind::BigInt
            | ExportedKind::Real
            | ExportedKind::Double
            | ExportedKind::Bytes => None,
        }
    }

    fn field(self, name: &str) -> Result<types::Type, ParquetError> {
        let builder = types::Type::primitive_type_builder(name, self.physical())
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(self.logical());
        match self {
            ExportedKind::Uuid => builder.with_length(16).build(),
            ExportedKind::Decimal { precision, scale } => {
                let length = if precision <= LONG_DIGITS { -1 } else { 16 };
                builder.with_length(length).with_precision(precision).with_scale(scale).build()
            }
            _ => builder.build(),
        }
    }

    fn values(self) -> ExportedValues {
        match self.physical() {
            Physical::BOOLEAN => ExportedValues::Boolean(Vec::new()),
            Physical::INT32 => ExportedValues::Int(Vec::new()),
            Physical::INT64 | Physical::INT96 => ExportedValues::Long(Vec::new()),
            Physical::FLOAT => ExportedValues::Float(Vec::new()),
            Physical::DOUBLE => ExportedValues::Double(Vec::new()),
            Physical::BYTE_ARRAY => ExportedValues::Bytes(Vec::new()),
            Physical::FIXED_LEN_BYTE_ARRAY => ExportedValues::Fixed(Vec::new()),
        }
    }
}

/// The values of a column in a row group that are not null.
enum ExportedValues {
    Boolean(Vec<bool>),
    Int(Vec<i32>),
    Long(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

struct ExportedColumn {
    name: String,
    kind: ExportedKind,
    values: ExportedValues,
    /// For each row: 1 for a value, 0 for null.
    levels: Vec<i16>,
}

/// A value as it came: in PostgreSQL's binary format.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Raw<'a>, Box<dyn Error + Sync + Send>> {
        Ok(Raw(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn fixed<const N: usize>(raw: &[u8]) -> Result<[u8; N], String> {
    raw.try_into().map_err(|_| format!("a value of {N} bytes came with {}", raw.len()))
}

/// A moment of PostgreSQL counts from 2000, one of Parquet from 1970; it has no infinity.
fn since_1970(micros: i64) -> Result<i64, String> {
    let is_finite = micros != i64::MAX && micros != i64::MIN;
    micros.checked_add(MICROS_TO_2000).filter(|_| is_finite).ok_or_else(|| no_moment("timestamp"))
}

fn days_since_1970(days: i32) -> Result<i32, String> {
    let is_finite = days != i32::MAX && days != i32::MIN;
    days.checked_add(DAYS_TO_2000).filter(|_| is_finite).ok_or_else(|| no_moment("date"))
}

fn no_moment(what: &str) -> String {
    format!("Parquet has no infinite {what}: export a query that casts it to text")
}

/// The digits of a number, without its point.
fn unscaled(text: &str, scale: i32) -> Result<i128, String> {
    let wrong = || format!("{text} is no number that Parquet has: export a query that casts it to text");
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > scale as usize {
        return Err(wrong());
    }
    let digits = format!("{whole}{fraction:0<width$}", width = scale as usize);
    digits.parse().map_err(|_| wrong())
}

impl ExportedColumn {
    /// Takes a value. Says how many bytes it needs.
    fn take(&mut self, raw: Option<Raw<'_>>) -> Result<usize, String> {
        let Some(Raw(raw)) = raw else {
            self.levels.push(0);
            return Ok(size_of::<i16>());
        };
        self.levels.push(1);
        match (&mut self.values, self.kind) {
            (ExportedValues::Boolean(values), _) => values.push(raw != [0]),
            (ExportedValues::Int(values), ExportedKind::SmallInt) => {
                values.push(i16::from_be_bytes(fixed(raw)?).into())
            }
            (ExportedValues::Int(values), ExportedKind::Date) => {
                values.push(days_since_1970(i32::from_be_bytes(fixed(raw)?))?)
            }
            (ExportedValues::Int(values), _) => values.push(i32::from_be_bytes(fixed(raw)?)),
            (ExportedValues::Long(values), ExportedKind::Timestamp { .. }) => {
                values.push(since_1970(i64::from_be_bytes(fixed(raw)?))?);
            }
            (ExportedValues::Long(values), ExportedKind::Decimal { scale, .. }) => {
                let number = unscaled(&String::from_utf8_lossy(raw), scale)?;
                values.push(i64::try_from(number).map_err(|error| error.to_string())?);
            }
            (ExportedValues::Long(values), _) => values.push(i64::from_be_bytes(fixed(raw)?)),
            (ExportedValues::Float(values), _) => values.push(f32::from_be_bytes(fixed(raw)?)),
            (ExportedValues::Double(values), _) => values.push(f64::from_be_bytes(fixed(raw)?)),
            (ExportedValues::Bytes(values), ExportedKind::Json { binary: true }) => {
                // The first byte is the version of the format, and text follows.
                values.push(raw.get(1..).unwrap_or_default().to_vec().into());
            }
            (ExportedValues::Bytes(values), _) => values.push(raw.to_vec().into()),
            (ExportedValues::Fixed(values), ExportedKind::Decimal { scale, .. }) => {
                let number = unscaled(&String::from_utf8_lossy(raw), scale)?;
                values.push(number.to_be_bytes().to_vec().into());
            }
            (ExportedValues::Fixed(values), _) => values.push(fixed::<16>(raw)?.to_vec().into()),
        }
        Ok(raw.len() + VALUE_BYTES)
    }

    /// Writes what was taken, and forgets it.
    fn write(&mut self, writer: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = Some(&*self.levels);
        match (writer, &self.values) {
            (ColumnWriter::BoolColumnWriter(writer), ExportedValues::Boolean(values)) => {
                writer.write_batch(values, levels, None)?
            }
            (ColumnWriter::Int32ColumnWriter(writer), ExportedValues::Int(values)) => {
                writer.write_batch(values, levels, None)?
            }
            (ColumnWriter::Int64ColumnWriter(writer), ExportedValues::Long(values)) => {
                writer.write_batch(values, levels, None)?
            }
            (ColumnWriter::FloatColumnWriter(writer), ExportedValues::Float(values)) => {
                writer.write_batch(values, levels, None)?
            }
            (ColumnWriter::DoubleColumnWriter(writer), ExportedValues::Double(values)) => {
                writer.write_batch(values, levels, None)?
            }
            (ColumnWriter::ByteArrayColumnWriter(writer), ExportedValues::Bytes(values)) => {
                writer.write_batch(values, levels, None)?
            }
            (ColumnWriter::FixedLenByteArrayColumnWriter(writer), ExportedValues::Fixed(values)) => {
                writer.write_batch(values, levels, None)?
            }
            _ => return Err(ParquetError::General(format!("column {} has another type than its values", self.name))),
        };
        (self.values, self.levels) = (self.kind.values(), Vec::new());
        Ok(())
    }
}

/// Writes the rows of a query. Says how many there were.
///
/// # Errors
/// What the site says; a value that Parquet has no place for; a file.
pub fn write<W: Write + Send>(transaction: &mut Transaction<'_>, query: &str, out: W) -> Result<u64, String> {
    let described = transaction.prepare(query).map_err(|error| told(&error))?;
    let mut columns: Vec<ExportedColumn> = described
        .columns()
        .iter()
        .map(|column| {
            let kind = ExportedKind::of(column.type_(), column.type_modifier());
            ExportedColumn { name: column.name().to_owned(), kind, values: kind.values(), levels: Vec::new() }
        })
        .collect();
    let fields = columns.iter().map(|column| column.kind.field(&column.name).map(Arc::new));
    let fields = fields.collect::<Result<Vec<_>, _>>().map_err(text)?;
    let schema = types::Type::group_type_builder("schema").with_fields(fields).build().map_err(text)?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(text)?;
    let statement = transaction.prepare(&asked(query, &columns)).map_err(|error| told(&error))?;
    let none: [&(dyn ToSql + Sync); 0] = [];
    let mut rows = transaction.query_raw(&statement, none).map_err(|error| told(&error))?;
    let (mut count, mut bytes) = (0, 0);
    while let Some(row) = rows.next().map_err(|error| told(&error))? {
        bytes += take_row(&mut columns, &row)?;
        count += 1;
        if bytes >= GROUP_BYTES {
            write_group(&mut file, &mut columns).map_err(text)?;
            bytes = 0;
        }
    }
    if bytes > 0 {
        write_group(&mut file, &mut columns).map_err(text)?;
    }
    file.close().map_err(text)?;
    Ok(count)
}

/// The query, with texts where they are wanted. Its columns are numbered: two may have one name.
fn asked(query: &str, columns: &[ExportedColumn]) -> String {
    let names: Vec<String> = (1..=columns.len()).map(|number| format!("c{number}")).collect();
    let asked = names.iter().zip(columns).map(|(name, column)| match column.kind.is_asked_as_text() {
        true => format!("{name}::text"),
        false => name.clone(),
    });
    let asked: Vec<String> = asked.collect();
    // What ends with a comment ends with its line.
    format!("SELECT {} FROM ({query}\n) AS exported({})", asked.join(", "), names.join(", "))
}

fn take_row(columns: &mut [ExportedColumn], row: &Row) -> Result<usize, String> {
    let mut bytes = 0;
    for (place, column) in columns.iter_mut().enumerate() {
        let raw: Option<Raw<'_>> = row.try_get(place).map_err(text)?;
        bytes += column.take(raw).map_err(|error| format!("column {}: {error}", column.name))?;
    }
    Ok(bytes.max(1))
}

fn write_group<W: Write + Send>(
    file: &mut SerializedFileWriter<W>,
    columns: &mut [ExportedColumn],
) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    for column in columns {
        let mut writer = group
            .next_column()?
            .ok_or_else(|| ParquetError::General("the schema has fewer columns than the query".to_owned()))?;
        column.write(writer.untyped())?;
        writer.close()?;
    }
    group.close().map(drop)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another number would be read back than the table has.
    #[test]
    fn decimals_keep_their_digits() {
        assert_eq!(unscaled("12.5", 2), Ok(1250));
        assert_eq!(unscaled("-0.05", 2), Ok(-5));
        assert_eq!(unscaled("7", 0), Ok(7));
        assert_eq!(
            unscaled("99999999999999999999.999999999999999999", 18),
            Ok(99_999_999_999_999_999_999_999_999_999_999_999_999)
        );
        assert!(unscaled("NaN", 2).is_err());
        assert!(unscaled("1.234", 2).is_err());
    }

    /// A date would be another one, or infinity a day.
    #[test]
    fn moments_count_from_1970() {
        assert_eq!(days_since_1970(0), Ok(10_957));
        assert_eq!(since_1970(-MICROS_TO_2000), Ok(0));
        assert!(days_since_1970(i32::MAX).is_err() && since_1970(i64::MIN).is_err());
    }

    /// A numeric without a precision has no decimal type, one with more digits than fit neither.
    #[test]
    fn numerics_are_decimals_where_they_fit() {
        let modifier = |precision: i32, scale: i32| (precision << 16 | scale) + MODIFIER_HEADER;
        assert_eq!(
            ExportedKind::of(&Type::NUMERIC, modifier(12, 2)),
            ExportedKind::Decimal { precision: 12, scale: 2 }
        );
        assert_eq!(ExportedKind::of(&Type::NUMERIC, modifier(39, 2)), ExportedKind::Shown);
        assert_eq!(ExportedKind::of(&Type::NUMERIC, -1), ExportedKind::Shown);
        assert_eq!(ExportedKind::of(&Type::INT4_ARRAY, -1), ExportedKind::Shown);
    }
}
