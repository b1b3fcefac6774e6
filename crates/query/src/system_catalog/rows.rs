//! Rows of system relations, written down by column name; a column that is not named is NULL.

use super::definitions::Relation;
use crate::convert::array_of;
use crate::error::QueryError;
use datafusion::arrow::array::{
    ArrayRef, ListBuilder, PrimitiveBuilder, RecordBatch, RecordBatchOptions, StringBuilder,
};
use datafusion::arrow::datatypes::{DataType, Int16Type, UInt32Type};
use datafusion::catalog::MemTable;
use datafusion::error::Result;
use std::sync::Arc;
use values::{Interval, Type, Value};

/// From 1970 to 2000, in microseconds.
const MICROS_TO_2000: i64 = 946_684_800_000_000;

/// What stands in one place of a row.
#[derive(Clone, Debug)]
pub enum Cell {
    Null,
    Boolean(bool),
    Number(i64),
    Real(f32),
    Text(String),
    Bytes(Vec<u8>),
    Numbers(Vec<i64>),
    Texts(Vec<String>),
}

impl From<bool> for Cell {
    fn from(truth: bool) -> Cell {
        Cell::Boolean(truth)
    }
}

macro_rules! number_cells {
    ($($number:ty),*) => {$(
        impl From<$number> for Cell {
            fn from(number: $number) -> Cell {
                Cell::Number(i64::from(number))
            }
        }
    )*};
}
number_cells!(i16, i32, i64, u32);

impl From<f32> for Cell {
    fn from(number: f32) -> Cell {
        Cell::Real(number)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<Vec<u8>> for Cell {
    fn from(bytes: Vec<u8>) -> Cell {
        Cell::Bytes(bytes)
    }
}

impl From<Vec<i64>> for Cell {
    fn from(numbers: Vec<i64>) -> Cell {
        Cell::Numbers(numbers)
    }
}

impl From<Vec<String>> for Cell {
    fn from(texts: Vec<String>) -> Cell {
        Cell::Texts(texts)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(cell: Option<T>) -> Cell {
        cell.map_or(Cell::Null, Into::into)
    }
}

/// One row.
pub type Row = Vec<(&'static str, Cell)>;

/// A row from names and values.
macro_rules! row {
    ($($column:ident: $cell:expr),* $(,)?) => {
        vec![$((stringify!($column), $crate::system_catalog::rows::Cell::from($cell))),*]
    };
}
pub(super) use row;

/// The relation with these rows.
pub fn table(relation: &Relation, rows: &[Row]) -> std::result::Result<MemTable, QueryError> {
    let batch = batch(relation, rows).map_err(QueryError::from)?;
    MemTable::try_new(Arc::clone(&relation.schema), vec![vec![batch]]).map_err(QueryError::from)
}

/// The same as values, in the order of the columns.
pub fn values(relation: &Relation, rows: &[Row]) -> Vec<Vec<Value>> {
    let fields = relation.schema.fields();
    let of_row = |row: &Row| {
        let cell = |name: &str| row.iter().find(|(known, _)| *known == name).map_or(&Cell::Null, |(_, cell)| cell);
        fields.iter().map(|field| held(cell(field.name()), field.data_type())).collect()
    };
    rows.iter().map(of_row).collect()
}

/// A cell as a value, which may be an array.
fn held(cell: &Cell, data_type: &DataType) -> Value {
    let DataType::List(element) = data_type else { return value(cell, data_type) };
    let whole = |numbers: &[i64], of: Type, each: fn(i64) -> Value| {
        Value::array(of, numbers.iter().map(|number| each(*number)).collect())
    };
    match (cell, element.data_type()) {
        (Cell::Numbers(numbers), DataType::Int16) => {
            whole(numbers, Type::SmallInt, |number| Value::SmallInt(number as i16))
        }
        (Cell::Numbers(numbers), DataType::UInt32) => whole(numbers, Type::Oid, |number| Value::Oid(number as u32)),
        (Cell::Texts(texts), _) => {
            Value::array(Type::Text, texts.iter().map(|text| Value::text(text.as_str())).collect())
        }
        _ => Value::Null,
    }
}

fn batch(relation: &Relation, rows: &[Row]) -> Result<RecordBatch> {
    for (name, _) in rows.first().into_iter().flatten() {
        assert!(relation.schema.field_with_name(name).is_ok(), "{} has no column {name}", relation.name);
    }
    let mut columns = Vec::with_capacity(relation.columns.len());
    for field in relation.schema.fields() {
        let cells = rows
            .iter()
            .map(|row| row.iter().find(|(name, _)| name == field.name()).map_or(&Cell::Null, |(_, cell)| cell));
        columns.push(column(field.data_type(), cells)?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(&relation.schema), columns, &options)?)
}

fn column<'a>(data_type: &DataType, cells: impl Iterator<Item = &'a Cell>) -> Result<ArrayRef> {
    let DataType::List(element) = data_type else {
        let values: Vec<Value> = cells.map(|cell| value(cell, data_type)).collect();
        return array_of(&values, data_type);
    };
    Ok(match element.data_type() {
        DataType::Int16 => {
            let mut builder = ListBuilder::new(PrimitiveBuilder::<Int16Type>::new());
            cells.for_each(|cell| {
                builder.append_option(numbers(cell).map(|all| all.iter().map(|item| Some(*item as i16))))
            });
            Arc::new(builder.finish())
        }
        DataType::UInt32 => {
            let mut builder = ListBuilder::new(PrimitiveBuilder::<UInt32Type>::new());
            cells.for_each(|cell| {
                builder.append_option(numbers(cell).map(|all| all.iter().map(|item| Some(*item as u32))))
            });
            Arc::new(builder.finish())
        }
        _ => {
            let mut builder = ListBuilder::new(StringBuilder::new());
            for cell in cells {
                match cell {
                    Cell::Texts(texts) => builder.append_value(texts.iter().map(Some)),
                    _ => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
    })
}

fn numbers(cell: &Cell) -> Option<&[i64]> {
    match cell {
        Cell::Numbers(numbers) => Some(numbers),
        _ => None,
    }
}

fn value(cell: &Cell, data_type: &DataType) -> Value {
    match (cell, data_type) {
        (Cell::Boolean(truth), DataType::Boolean) => Value::Boolean(*truth),
        (Cell::Number(number), DataType::Int16) => Value::SmallInt(*number as i16),
        (Cell::Number(number), DataType::Int32) => Value::Integer(*number as i32),
        (Cell::Number(number), DataType::Int64) => Value::BigInt(*number),
        (Cell::Number(number), DataType::UInt32) => Value::Oid(*number as u32),
        (Cell::Number(number), DataType::Float32) => Value::Real(*number as f32),
        (Cell::Real(number), DataType::Float32) => Value::Real(*number),
        // Microseconds since 1970, as Arrow counts them.
        (Cell::Number(number), DataType::Timestamp(..)) => Value::TimestampTz(number - MICROS_TO_2000),
        (Cell::Number(microseconds), DataType::Interval(_)) => {
            Value::Interval(Interval { microseconds: *microseconds, ..Interval::ZERO })
        }
        (Cell::Text(text), DataType::Utf8) => Value::text(text.as_str()),
        (Cell::Bytes(bytes), DataType::Binary) => Value::Bytea(bytes.as_slice().into()),
        (Cell::Null, _) => Value::Null,
        (other, _) => panic!("a system catalog has {other:?} in a column of type {data_type}"),
    }
}
