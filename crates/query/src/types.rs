//! SQL types as Arrow types and back.
//!
//! Every [`Type`] has one Arrow type. The way back loses `varchar(n)`, `char(n)` and the precision of `numeric`; where a
//! result column is a table's column, its field carries the type in its metadata and nothing is lost.
//!
//! A `numeric(p, s)` of up to 76 digits is a decimal of Arrow's, whose scale is that of the type. Any other numeric has a scale of its own in each row,
//! which Arrow has no type for: it is carried as bytes, [`EXACT`], that `convert` writes and reads.

use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Field, IntervalUnit, TimeUnit,
};
use std::sync::Arc;
use values::{Element, Type};

/// Field metadata: the exact type, as PostgreSQL writes it.
const TYPE_KEY: &str = "type";
/// Field metadata: object identifier of the table and number of the column.
const ORIGIN_KEY: &str = "origin";
/// Field metadata: the number of the first element.
const FIRST_KEY: &str = "first";

/// The type of numerics whose scale is not that of their type. Nothing else has it.
pub const EXACT: DataType = DataType::LargeBinary;

/// The Arrow type that carries values of this type.
pub fn to_arrow(column_type: Type) -> DataType {
    match column_type {
        Type::Boolean => DataType::Boolean,
        Type::SmallInt => DataType::Int16,
        Type::Integer => DataType::Int32,
        Type::BigInt => DataType::Int64,
        Type::Real => DataType::Float32,
        Type::Double => DataType::Float64,
        Type::Numeric(None) => EXACT,
        Type::Numeric(Some((precision, scale))) => decimal(precision, scale),
        Type::Text | Type::Varchar(_) | Type::Char(_) => DataType::Utf8,
        Type::Bytea => DataType::Binary,
        Type::Date => DataType::Date32,
        Type::Time(_) => DataType::Time64(TimeUnit::Microsecond),
        Type::Timestamp(_) => DataType::Timestamp(TimeUnit::Microsecond, None),
        Type::TimestampTz(_) => DataType::Timestamp(TimeUnit::Microsecond, Some(Arc::from("UTC"))),
        Type::Interval(_) => DataType::Interval(IntervalUnit::MonthDayNano),
        Type::Uuid => DataType::FixedSizeBinary(16),
        Type::Oid => DataType::UInt32,
        Type::Array(element) => DataType::new_list(to_arrow(element.data_type()), true),
        // Of no stored column, and of nothing that is computed here.
        Type::Void => DataType::Null,
        // No scan reads such columns.
        Type::Json | Type::Jsonb | Type::Enum(_) => DataType::Null,
        Type::Inet | Type::Cidr | Type::MacAddr | Type::MacAddr8 => DataType::Null,
        Type::Bit(_) | Type::VarBit(_) | Type::TimeTz(_) | Type::Money => DataType::Null,
        Type::Range(_) | Type::Multirange(_) | Type::TsVector | Type::TsQuery => DataType::Null,
    }
}

fn decimal(precision: u16, scale: i16) -> DataType {
    // A negative scale only says that the last digits are zeros.
    let (digits, scale) =
        if scale < 0 { (precision + scale.unsigned_abs(), 0) } else { (precision.max(scale as u16), scale) };
    match (u8::try_from(digits), i8::try_from(scale)) {
        (Ok(digits), Ok(scale)) if digits <= DECIMAL128_MAX_PRECISION => DataType::Decimal128(digits, scale),
        (Ok(digits), Ok(scale)) if digits <= DECIMAL256_MAX_PRECISION => DataType::Decimal256(digits, scale),
        _ => EXACT,
    }
}

/// The SQL type of an Arrow type, or `None` when there is none (lists of lists, structs).
pub fn from_arrow(data_type: &DataType) -> Option<Type> {
    Some(match data_type {
        DataType::Boolean => Type::Boolean,
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => Type::SmallInt,
        DataType::UInt16 | DataType::Int32 => Type::Integer,
        DataType::UInt32 => Type::Oid,
        DataType::UInt64 | DataType::Int64 => Type::BigInt,
        DataType::Float16 | DataType::Float32 => Type::Real,
        DataType::Float64 => Type::Double,
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            Type::Numeric(None)
        }
        DataType::LargeBinary => Type::Numeric(None),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => Type::Text,
        DataType::Binary | DataType::BinaryView => Type::Bytea,
        DataType::Date32 | DataType::Date64 => Type::Date,
        DataType::Time32(_) | DataType::Time64(_) => Type::Time(None),
        DataType::Timestamp(_, None) => Type::Timestamp(None),
        DataType::Timestamp(_, Some(_)) => Type::TimestampTz(None),
        DataType::Interval(_) | DataType::Duration(_) => Type::Interval(None),
        DataType::FixedSizeBinary(16) => Type::Uuid,
        DataType::Dictionary(_, of) => return from_arrow(of),
        list if is_list(list) => Type::Array(Element::of(from_arrow(list_element(list)?)?)?),
        _ => return None,
    })
}

/// What a field remembers of users' types, which have no name that can be read without a catalog.
const USER_TYPE: &str = "enum";

fn remembered(column_type: Type) -> String {
    if column_type.has_labels() { USER_TYPE.to_owned() } else { column_type.to_string() }
}

/// A field that remembers the exact type.
pub fn field(name: &str, column_type: Type, nullable: bool) -> Field {
    let metadata = [(TYPE_KEY.to_owned(), remembered(column_type))];
    Field::new(name, to_arrow(column_type), nullable).with_metadata(metadata.into())
}

/// The field of a computed value: it remembers the type only where Arrow's does not tell it. (Rows of VALUES, and the terms of a recursive query, have
/// to be alike in what their fields remember.)
pub fn computed_field(name: &str, column_type: Type, nullable: bool) -> Field {
    let arrow = to_arrow(column_type);
    match from_arrow(&arrow) == Some(column_type) {
        true => Field::new(name, arrow, nullable),
        false => field(name, column_type, nullable),
    }
}

/// A field of a system relation whose elements are numbered from 0: `int2vector`, `oidvector`, and bytes of a `name`.
pub fn counted_from_zero(mut field: Field) -> Field {
    let metadata = field.metadata().iter().map(|(key, value)| (key.clone(), value.clone()));
    let metadata = metadata.chain([(FIRST_KEY.to_owned(), "0".to_owned())]).collect();
    field.set_metadata(metadata);
    field
}

/// Whether elements of a field are numbered from 0.
pub fn counts_from_zero(field: &Field) -> bool {
    (is_list(field.data_type()) || is_text(field.data_type())) && field.metadata().contains_key(FIRST_KEY)
}

/// A table's column as a field: type and origin.
pub fn table_field(column: &messages::schema::Column, table_oid: u32, number: i16) -> Field {
    let metadata = [
        (TYPE_KEY.to_owned(), remembered(column.column_type)),
        (ORIGIN_KEY.to_owned(), format!("{table_oid}:{number}")),
    ];
    Field::new(&column.name, to_arrow(column.column_type), !column.not_null).with_metadata(metadata.into())
}

/// The exact type of a field, from its metadata when that fits, else from its Arrow type.
pub fn of_field(field: &Field) -> Option<Type> {
    // A cast keeps the metadata of what it casts, so the two may disagree; the Arrow type is right then.
    let remembered = field.metadata().get(TYPE_KEY).and_then(|name| name.parse::<Type>().ok());
    match remembered {
        Some(exact) if to_arrow(exact) == *field.data_type() => Some(exact),
        _ => from_arrow(field.data_type()),
    }
}

/// The table and column number that a field comes from, or zeros.
pub fn origin_of_field(field: &Field) -> (u32, i16) {
    let parse = || {
        let (table, number) = field.metadata().get(ORIGIN_KEY)?.split_once(':')?;
        Some((table.parse().ok()?, number.parse().ok()?))
    };
    parse().unwrap_or((0, 0))
}

/// Whether this is a decimal type.
pub fn is_decimal(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..)
    )
}

/// Whether this is a type of numbers.
pub fn is_number(data_type: &DataType) -> bool {
    data_type.is_integer() || data_type.is_floating() || is_decimal(data_type) || *data_type == EXACT
}

/// Whether values of this type may be equal though they differ: numerics of other scales, `24 hours` and `1 day`, zero and minus zero.
pub fn has_equals(data_type: &DataType) -> bool {
    *data_type == EXACT || data_type.is_floating() || matches!(data_type, DataType::Interval(_))
}

/// Whether values of a field are JSON, which only the executor has.
pub fn is_json(field: &Field) -> bool {
    let remembered = field.metadata().get(TYPE_KEY).and_then(|name| name.parse::<Type>().ok());
    remembered.is_some_and(|known| matches!(known.element().unwrap_or(known), Type::Json | Type::Jsonb))
}

/// Whether values of a field are addresses, which only the executor has.
pub fn is_address(field: &Field) -> bool {
    let remembered = field.metadata().get(TYPE_KEY).and_then(|name| name.parse::<Type>().ok());
    remembered.is_some_and(|known| known.element().unwrap_or(known).is_address())
}

/// Whether values of a field are ranges, which only the executor has.
pub fn is_range(field: &Field) -> bool {
    let remembered = field.metadata().get(TYPE_KEY).and_then(|name| name.parse::<Type>().ok());
    remembered.is_some_and(|known| known.element().unwrap_or(known).is_range())
}

/// The type of a field's values if these are bit strings, money or times with a zone, which only the executor has.
pub fn of_queries(field: &Field) -> Option<Type> {
    let remembered = field.metadata().get(TYPE_KEY).and_then(|name| name.parse::<Type>().ok());
    remembered.filter(|known| known.element().unwrap_or(*known).is_of_queries())
}

/// Whether values of a field are of full text search, which only the executor has.
pub fn is_text_search(field: &Field) -> bool {
    let remembered = field.metadata().get(TYPE_KEY).and_then(|name| name.parse::<Type>().ok());
    remembered.is_some_and(|known| known.element().unwrap_or(known).is_text_search())
}

/// Whether values of a field are of a user's type, which only the executor has.
pub fn is_user_type(field: &Field) -> bool {
    field.metadata().get(TYPE_KEY).is_some_and(|name| name == USER_TYPE)
}

/// Whether this is a list.
pub fn is_list(data_type: &DataType) -> bool {
    list_element(data_type).is_some()
}

/// The type of a list's elements.
pub fn list_element(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => Some(item.data_type()),
        _ => None,
    }
}

/// Whether this is a text type.
pub fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}
