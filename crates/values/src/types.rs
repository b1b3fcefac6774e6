//! The column types: PostgreSQL's names, type modifiers and object identifiers.
//!
//! Invariant: an array's elements are of any type that is no array itself. As in PostgreSQL, the number of dimensions is no part of a type; arrays
//! here have one.

mod names;

use crate::enumeration::EnumType;
use crate::precision::{IntervalModifier, SECOND_DIGITS_MAX};
use crate::ranges::RangeKind;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A column type with its modifier, as in PostgreSQL 15, chapter 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Type {
    /// `boolean`.
    Boolean,
    /// `smallint`, 2 bytes.
    SmallInt,
    /// `integer`, 4 bytes.
    Integer,
    /// `bigint`, 8 bytes.
    BigInt,
    /// `real`, IEEE 754 single precision.
    Real,
    /// `double precision`, IEEE 754 double precision.
    Double,
    /// `numeric(precision, scale)`; `None` means unconstrained.
    Numeric(Option<(u16, i16)>),
    /// `text`.
    Text,
    /// `varchar(n)`, n in characters; `None` means unconstrained.
    Varchar(Option<u32>),
    /// `char(n)`, n in characters, padded with blanks; 0 means unconstrained, PostgreSQL's `bpchar`.
    Char(u32),
    /// `bytea`.
    Bytea,
    /// `date`.
    Date,
    /// `time(p)` without time zone, p in digits of a second; `None` means all six.
    Time(Option<u8>),
    /// `timestamp(p)` without time zone.
    Timestamp(Option<u8>),
    /// `timestamp(p) with time zone`; stored as an instant.
    TimestampTz(Option<u8>),
    /// `interval` with fields and digits of its seconds; `None` means all of them.
    Interval(Option<IntervalModifier>),
    /// `uuid`.
    Uuid,
    /// `oid`, an object identifier, 4 bytes without sign.
    Oid,
    /// An array of elements of another type.
    Array(Element),
    /// `void`, what a function returns that returns nothing: the type of a result's column, of no stored one. Its only value besides NULL is an empty text.
    Void,
    /// `json`: text in the syntax of JSON.
    Json,
    /// `jsonb`: a tree of JSON.
    Jsonb,
    /// A type of labels that a user has defined.
    Enum(EnumType),
    /// `inet`: an address of IP, of a host or of a network.
    Inet,
    /// `cidr`: the address of a network of IP.
    Cidr,
    /// `macaddr`, 6 bytes.
    MacAddr,
    /// `macaddr8`, 8 bytes.
    MacAddr8,
    /// A range of values of another type.
    Range(RangeKind),
    /// A multirange: ranges with gaps between them.
    Multirange(RangeKind),
    /// `bit(n)`; 0 means unconstrained, which is written `"bit"`.
    Bit(u32),
    /// `bit varying(n)`; `None` means unconstrained.
    VarBit(Option<u32>),
    /// `time(p) with time zone`.
    TimeTz(Option<u8>),
    /// `money`, 8 bytes.
    Money,
    /// `tsvector`: a document as its lexemes.
    TsVector,
    /// `tsquery`: a question to a document.
    TsQuery,
}

/// The type of an array's elements: one of [`ALL`] with its modifier, or an enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Element {
    /// In [`ALL`], or [`ENUM_PLACE`].
    place: u8,
    /// As in `pg_attribute.atttypmod`.
    typmod: i32,
    /// Set if the place says that it is an enum.
    labels: Option<EnumType>,
}

/// The place of what is an enum. As long as no element is one, it is written as it was before there were enums.
const ENUM_PLACE: u8 = u8::MAX;
const _: () = assert!(ALL.len() < ENUM_PLACE as usize);

impl Element {
    /// For elements of this type; `None` if it is an array itself.
    pub fn of(data_type: Type) -> Option<Self> {
        if let Type::Enum(labels) = data_type {
            return Some(Self { place: ENUM_PLACE, typmod: -1, labels: Some(labels) });
        }
        let unmodified = data_type.unmodified();
        let place = ALL.iter().position(|known| *known == unmodified)?;
        Some(Self { place: place as u8, typmod: data_type.typmod(), labels: None })
    }

    /// The elements' type.
    pub fn data_type(&self) -> Type {
        match self.labels {
            Some(labels) => Type::Enum(labels),
            None => ALL[usize::from(self.place)].with_typmod(self.typmod),
        }
    }

    /// Identifier and names of the arrays of such elements.
    fn arrays(&self) -> (u32, &'static str, &'static str) {
        match self.labels {
            Some(labels) => (labels.array_oid(), labels.array_name(), labels.array_catalog_name()),
            None => ARRAYS[usize::from(self.place)],
        }
    }
}

impl Serialize for Element {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.labels {
            Some(labels) => (self.place, self.typmod, labels).serialize(serializer),
            None => (self.place, self.typmod).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(3, ElementParts)
    }
}

/// Reads what an [`Element`] writes: two parts or three.
struct ElementParts;

impl<'de> Visitor<'de> for ElementParts {
    type Value = Element;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the type of an array's elements")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Element, A::Error> {
        let missing = || A::Error::custom("the type of an array's elements is cut off");
        let place: u8 = parts.next_element()?.ok_or_else(missing)?;
        let typmod = parts.next_element()?.ok_or_else(missing)?;
        match place {
            ENUM_PLACE => Ok(Element { place, typmod, labels: Some(parts.next_element()?.ok_or_else(missing)?) }),
            _ if usize::from(place) < ALL.len() => Ok(Element { place, typmod, labels: None }),
            _ => Err(A::Error::custom("an array of no known type")),
        }
    }
}

/// Every type of PostgreSQL's that is no array, without modifiers, in the order of the enum. Stored arrays name their elements' type by its place: new ones come last.
pub const ALL: [Type; 42] = [
    Type::Boolean,
    Type::SmallInt,
    Type::Integer,
    Type::BigInt,
    Type::Real,
    Type::Double,
    Type::Numeric(None),
    Type::Text,
    Type::Varchar(None),
    Type::Char(0),
    Type::Bytea,
    Type::Date,
    Type::Time(None),
    Type::Timestamp(None),
    Type::TimestampTz(None),
    Type::Interval(None),
    Type::Uuid,
    Type::Oid,
    Type::Json,
    Type::Jsonb,
    Type::Inet,
    Type::Cidr,
    Type::MacAddr,
    Type::MacAddr8,
    Type::Range(RangeKind::Integer),
    Type::Range(RangeKind::BigInt),
    Type::Range(RangeKind::Numeric),
    Type::Range(RangeKind::Timestamp),
    Type::Range(RangeKind::TimestampTz),
    Type::Range(RangeKind::Date),
    Type::Multirange(RangeKind::Integer),
    Type::Multirange(RangeKind::BigInt),
    Type::Multirange(RangeKind::Numeric),
    Type::Multirange(RangeKind::Timestamp),
    Type::Multirange(RangeKind::TimestampTz),
    Type::Multirange(RangeKind::Date),
    Type::Bit(0),
    Type::VarBit(None),
    Type::TimeTz(None),
    Type::Money,
    Type::TsVector,
    Type::TsQuery,
];

/// Object identifier, name, and name in `pg_type` of the arrays of each of [`ALL`].
const ARRAYS: [(u32, &str, &str); ALL.len()] = [
    (1000, "boolean[]", "_bool"),
    (1005, "smallint[]", "_int2"),
    (1007, "integer[]", "_int4"),
    (1016, "bigint[]", "_int8"),
    (1021, "real[]", "_float4"),
    (1022, "double precision[]", "_float8"),
    (1231, "numeric[]", "_numeric"),
    (1009, "text[]", "_text"),
    (1015, "character varying[]", "_varchar"),
    (1014, "character[]", "_bpchar"),
    (1001, "bytea[]", "_bytea"),
    (1182, "date[]", "_date"),
    (1183, "time without time zone[]", "_time"),
    (1115, "timestamp without time zone[]", "_timestamp"),
    (1185, "timestamp with time zone[]", "_timestamptz"),
    (1187, "interval[]", "_interval"),
    (2951, "uuid[]", "_uuid"),
    (1028, "oid[]", "_oid"),
    (199, "json[]", "_json"),
    (3807, "jsonb[]", "_jsonb"),
    (1041, "inet[]", "_inet"),
    (651, "cidr[]", "_cidr"),
    (1040, "macaddr[]", "_macaddr"),
    (775, "macaddr8[]", "_macaddr8"),
    (3905, "int4range[]", "_int4range"),
    (3927, "int8range[]", "_int8range"),
    (3907, "numrange[]", "_numrange"),
    (3909, "tsrange[]", "_tsrange"),
    (3911, "tstzrange[]", "_tstzrange"),
    (3913, "daterange[]", "_daterange"),
    (6150, "int4multirange[]", "_int4multirange"),
    (6157, "int8multirange[]", "_int8multirange"),
    (6151, "nummultirange[]", "_nummultirange"),
    (6152, "tsmultirange[]", "_tsmultirange"),
    (6153, "tstzmultirange[]", "_tstzmultirange"),
    (6155, "datemultirange[]", "_datemultirange"),
    (1561, "bit[]", "_bit"),
    (1563, "bit varying[]", "_varbit"),
    (1270, "time with time zone[]", "_timetz"),
    (791, "money[]", "_money"),
    (3643, "tsvector[]", "_tsvector"),
    (3645, "tsquery[]", "_tsquery"),
];

/// Object identifier and name of a range type, and of its multirange type.
fn range_names(kind: RangeKind) -> (u32, &'static str, u32, &'static str) {
    match kind {
        RangeKind::Integer => (3904, "int4range", 4451, "int4multirange"),
        RangeKind::BigInt => (3926, "int8range", 4536, "int8multirange"),
        RangeKind::Numeric => (3906, "numrange", 4532, "nummultirange"),
        RangeKind::Timestamp => (3908, "tsrange", 4533, "tsmultirange"),
        RangeKind::TimestampTz => (3910, "tstzrange", 4534, "tstzmultirange"),
        RangeKind::Date => (3912, "daterange", 4535, "datemultirange"),
    }
}

/// Bytes that a modifier counts beside the declared length (`VARHDRSZ`).
const MODIFIER_HEADER: i32 = 4;

impl Type {
    /// The object identifier in `pg_type`.
    pub fn oid(&self) -> u32 {
        match self {
            Self::Boolean => 16,
            Self::Bytea => 17,
            Self::BigInt => 20,
            Self::SmallInt => 21,
            Self::Integer => 23,
            Self::Text => 25,
            Self::Oid => 26,
            Self::Json => 114,
            Self::Cidr => 650,
            Self::Real => 700,
            Self::Double => 701,
            Self::MacAddr8 => 774,
            Self::MacAddr => 829,
            Self::Inet => 869,
            Self::Char(_) => 1042,
            Self::Varchar(_) => 1043,
            Self::Date => 1082,
            Self::Time(_) => 1083,
            Self::Timestamp(_) => 1114,
            Self::TimestampTz(_) => 1184,
            Self::Interval(_) => 1186,
            Self::Numeric(_) => 1700,
            Self::Uuid => 2950,
            Self::Array(element) => element.arrays().0,
            Self::Void => 2278,
            Self::Jsonb => 3802,
            Self::Enum(labels) => labels.oid(),
            Self::Range(kind) => range_names(*kind).0,
            Self::Multirange(kind) => range_names(*kind).2,
            Self::Bit(_) => 1560,
            Self::VarBit(_) => 1562,
            Self::TimeTz(_) => 1266,
            Self::Money => 790,
            Self::TsVector => 3614,
            Self::TsQuery => 3615,
        }
    }

    /// The type of arrays of this one; of an array, itself: PostgreSQL's `int[][]` is `int[]`.
    pub fn array(self) -> Self {
        Element::of(self).map_or(self, Self::Array)
    }

    /// The type of an array's elements; `None` for any other type.
    pub fn element(&self) -> Option<Self> {
        match self {
            Self::Array(element) => Some(element.data_type()),
            _ => None,
        }
    }

    /// The type with this object identifier, without modifier; `None` for any that is not supported.
    pub fn from_oid(oid: u32) -> Option<Self> {
        let arrays = || ALL.into_iter().map(Self::array);
        ALL.into_iter().chain(arrays()).find(|data_type| data_type.oid() == oid)
    }

    /// The type with this object identifier and `atttypmod`; a modifier that the type cannot have is ignored.
    pub fn from_oid_and_typmod(oid: u32, typmod: i32) -> Option<Self> {
        Some(Self::from_oid(oid)?.with_typmod(typmod))
    }

    /// This type, which has no modifier, with this one; an array's is that of its elements.
    fn with_typmod(self, typmod: i32) -> Self {
        let digits = (typmod >= 0).then_some(typmod.min(i32::from(SECOND_DIGITS_MAX)) as u8);
        match self {
            Self::Time(_) => return Self::Time(digits),
            Self::Timestamp(_) => return Self::Timestamp(digits),
            Self::TimestampTz(_) => return Self::TimestampTz(digits),
            Self::Interval(_) => return Self::Interval(IntervalModifier::of_typmod(typmod)),
            Self::TimeTz(_) => return Self::TimeTz(digits),
            Self::Bit(_) if typmod > 0 => return Self::Bit(typmod as u32),
            Self::VarBit(_) if typmod > 0 => return Self::VarBit(Some(typmod as u32)),
            Self::Array(element) => return element.data_type().with_typmod(typmod).array(),
            _ => {}
        }
        let Some(modifier) = typmod.checked_sub(MODIFIER_HEADER).filter(|modifier| *modifier >= 0) else {
            return self;
        };
        match self {
            Self::Varchar(_) if modifier > 0 => Self::Varchar(Some(modifier as u32)),
            Self::Char(_) => Self::Char(modifier as u32),
            Self::Numeric(_) => {
                let scale = ((modifier & 0x7ff) ^ 0x400) - 0x400;
                Self::Numeric(Some(((modifier >> 16) as u16, scale as i16)))
            }
            other => other,
        }
    }

    /// The modifier as in `pg_attribute.atttypmod`; -1 without one.
    pub fn typmod(&self) -> i32 {
        match *self {
            Self::Varchar(Some(length)) => length as i32 + MODIFIER_HEADER,
            Self::Char(length) if length > 0 => length as i32 + MODIFIER_HEADER,
            Self::Numeric(Some((precision, scale))) => {
                ((i32::from(precision) << 16) | (i32::from(scale) & 0x7ff)) + MODIFIER_HEADER
            }
            Self::Time(Some(digits)) | Self::Timestamp(Some(digits)) | Self::TimestampTz(Some(digits)) => digits.into(),
            Self::Interval(Some(modifier)) => modifier.typmod(),
            Self::TimeTz(Some(digits)) => digits.into(),
            Self::Bit(length) if length > 0 => length as i32,
            Self::VarBit(Some(length)) => length as i32,
            Self::Array(element) => element.typmod,
            _ => -1,
        }
    }

    /// The length as in `pg_type.typlen`: bytes, or -1 when it varies.
    pub fn size(&self) -> i16 {
        match self {
            Self::Boolean => 1,
            Self::SmallInt => 2,
            Self::Void => 4,
            Self::Integer | Self::Real | Self::Date | Self::Oid | Self::Enum(_) => 4,
            Self::BigInt
            | Self::Double
            | Self::Time(_)
            | Self::Timestamp(_)
            | Self::TimestampTz(_)
            | Self::MacAddr8 => 8,
            Self::Interval(_) | Self::Uuid => 16,
            Self::Numeric(_) | Self::Text | Self::Varchar(_) | Self::Char(_) | Self::Bytea | Self::Array(_) => -1,
            Self::Json | Self::Jsonb | Self::Inet | Self::Cidr | Self::Range(_) | Self::Multirange(_) => -1,
            Self::TsVector | Self::TsQuery => -1,
            Self::MacAddr => 6,
            Self::Bit(_) | Self::VarBit(_) => -1,
            Self::TimeTz(_) => 12,
            Self::Money => 8,
        }
    }

    /// The name without modifier, as PostgreSQL's messages print it.
    pub fn base_name(&self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::SmallInt => "smallint",
            Self::Integer => "integer",
            Self::BigInt => "bigint",
            Self::Real => "real",
            Self::Double => "double precision",
            Self::Numeric(_) => "numeric",
            Self::Text => "text",
            Self::Varchar(_) => "character varying",
            Self::Char(_) => "character",
            Self::Bytea => "bytea",
            Self::Date => "date",
            Self::Time(_) => "time without time zone",
            Self::Timestamp(_) => "timestamp without time zone",
            Self::TimestampTz(_) => "timestamp with time zone",
            Self::Interval(_) => "interval",
            Self::Uuid => "uuid",
            Self::Oid => "oid",
            Self::Array(element) => element.arrays().1,
            Self::Void => "void",
            Self::Json => "json",
            Self::Jsonb => "jsonb",
            Self::Enum(labels) => labels.name(),
            Self::Inet => "inet",
            Self::Cidr => "cidr",
            Self::MacAddr => "macaddr",
            Self::MacAddr8 => "macaddr8",
            Self::Range(kind) => range_names(*kind).1,
            Self::Multirange(kind) => range_names(*kind).3,
            Self::Bit(_) => "bit",
            Self::VarBit(_) => "bit varying",
            Self::TimeTz(_) => "time with time zone",
            Self::Money => "money",
            Self::TsVector => "tsvector",
            Self::TsQuery => "tsquery",
        }
    }

    /// The name in `pg_type.typname`, such as `int4`.
    pub fn catalog_name(&self) -> &'static str {
        match self {
            Self::Boolean => "bool",
            Self::SmallInt => "int2",
            Self::Integer => "int4",
            Self::BigInt => "int8",
            Self::Real => "float4",
            Self::Double => "float8",
            Self::Varchar(_) => "varchar",
            Self::Char(_) => "bpchar",
            Self::Time(_) => "time",
            Self::Timestamp(_) => "timestamp",
            Self::TimestampTz(_) => "timestamptz",
            Self::Array(element) => element.arrays().2,
            Self::Enum(labels) => labels.catalog_name(),
            Self::VarBit(_) => "varbit",
            Self::TimeTz(_) => "timetz",
            other => other.base_name(),
        }
    }

    /// The type without its modifier.
    pub fn unmodified(&self) -> Self {
        match self {
            Self::Numeric(_) => Self::Numeric(None),
            Self::Varchar(_) => Self::Varchar(None),
            Self::Char(_) => Self::Char(0),
            Self::Time(_) => Self::Time(None),
            Self::Timestamp(_) => Self::Timestamp(None),
            Self::TimestampTz(_) => Self::TimestampTz(None),
            Self::Interval(_) => Self::Interval(None),
            Self::Bit(_) => Self::Bit(0),
            Self::VarBit(_) => Self::VarBit(None),
            Self::TimeTz(_) => Self::TimeTz(None),
            Self::Array(element) => Self::Array(Element { typmod: -1, ..*element }),
            other => *other,
        }
    }

    /// True for enums and arrays of them, whose stored values have labels that another name may be given to.
    pub fn has_labels(&self) -> bool {
        matches!(self.element().unwrap_or(*self), Self::Enum(_))
    }

    /// True for the types that compute: integers, floats, numeric.
    pub fn is_number(&self) -> bool {
        matches!(self, Self::SmallInt | Self::Integer | Self::BigInt | Self::Real | Self::Double | Self::Numeric(_))
    }

    /// True for smallint, integer and bigint.
    pub fn is_integer(&self) -> bool {
        matches!(self, Self::SmallInt | Self::Integer | Self::BigInt)
    }

    /// True for the integers and oid, which compare with each other.
    pub fn is_whole(&self) -> bool {
        self.is_integer() || *self == Self::Oid
    }

    /// True for the types of addresses, of IP and of hardware.
    pub fn is_address(&self) -> bool {
        matches!(self, Self::Inet | Self::Cidr | Self::MacAddr | Self::MacAddr8)
    }

    /// True for inet and cidr, which compare with each other.
    pub fn is_network(&self) -> bool {
        matches!(self, Self::Inet | Self::Cidr)
    }

    /// True for ranges and multiranges.
    pub fn is_range(&self) -> bool {
        matches!(self, Self::Range(_) | Self::Multirange(_))
    }

    /// True for bit and bit varying, which share their values.
    pub fn is_bits(&self) -> bool {
        matches!(self, Self::Bit(_) | Self::VarBit(_))
    }

    /// True for the types whose operators and functions are no programs', but computed by queries only: bit strings, money, and times with a zone.
    pub fn is_of_queries(&self) -> bool {
        self.is_bits() || matches!(self, Self::TimeTz(_) | Self::Money)
    }

    /// True for tsvector and tsquery.
    pub fn is_text_search(&self) -> bool {
        matches!(self, Self::TsVector | Self::TsQuery)
    }

    /// True for text, varchar and char.
    pub fn is_string(&self) -> bool {
        matches!(self, Self::Text | Self::Varchar(_) | Self::Char(_))
    }
}

/// Prints the name as PostgreSQL's `format_type(oid, typmod)` does.
impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numeric(Some((precision, scale))) => write!(formatter, "numeric({precision},{scale})"),
            Self::Varchar(Some(length)) => write!(formatter, "character varying({length})"),
            Self::Char(0) => formatter.write_str("bpchar"),
            Self::Char(length) => write!(formatter, "character({length})"),
            Self::Time(Some(digits)) => write!(formatter, "time({digits}) without time zone"),
            Self::Timestamp(Some(digits)) => write!(formatter, "timestamp({digits}) without time zone"),
            Self::TimestampTz(Some(digits)) => write!(formatter, "timestamp({digits}) with time zone"),
            Self::Interval(Some(modifier)) => write!(formatter, "interval{modifier}"),
            // Without quotes it is one bit.
            Self::Bit(0) => formatter.write_str("\"bit\""),
            Self::Bit(length) => write!(formatter, "bit({length})"),
            Self::VarBit(Some(length)) => write!(formatter, "bit varying({length})"),
            Self::TimeTz(Some(digits)) => write!(formatter, "time({digits}) with time zone"),
            Self::Array(element) => write!(formatter, "{}[]", element.data_type()),
            other => formatter.write_str(other.base_name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drivers choose their decoders by these numbers: a wrong one breaks every client.
    #[test]
    fn object_identifiers_and_modifiers_come_back() {
        let modified = [
            Type::Varchar(Some(20)),
            Type::Char(3),
            Type::Numeric(Some((10, 2))),
            Type::Numeric(Some((3, -5))),
            Type::Numeric(Some((1000, 1000))),
            Type::Time(Some(0)),
            Type::Timestamp(Some(3)),
            Type::TimestampTz(Some(6)),
            Type::Interval(Some(IntervalModifier::of_digits(1))),
            Type::Interval(IntervalModifier::of_fields("day", "second", Some(2))),
            Type::Interval(IntervalModifier::of_fields("year", "year", None)),
            Type::Bit(1),
            Type::VarBit(Some(64)),
            Type::TimeTz(Some(0)),
        ];
        let scalars = || ALL.into_iter().chain(modified);
        for data_type in scalars().chain(scalars().map(Type::array)) {
            assert_eq!(Type::from_oid_and_typmod(data_type.oid(), data_type.typmod()), Some(data_type));
            assert_eq!(data_type.to_string().parse::<Type>(), Ok(data_type), "{data_type}");
            // The name in the catalog is that of one bit in SQL.
            if !matches!(data_type.unmodified(), Type::Bit(_)) {
                assert_eq!(data_type.unmodified().catalog_name().parse::<Type>(), Ok(data_type.unmodified()));
            }
        }
        assert_eq!(Type::Varchar(Some(20)).typmod(), 24);
        assert_eq!(Type::Numeric(Some((10, 2))).typmod(), 655_366);
        assert_eq!(Type::from_oid(1), None);
    }

    /// Schemas written for PostgreSQL use any of these names.
    #[test]
    fn aliases_are_read() {
        let aliases = [
            ("INT", "integer"),
            ("int8", "bigint"),
            ("decimal ( 10 , 2 )", "numeric(10,2)"),
            ("numeric(5)", "numeric(5,0)"),
            ("float(24)", "real"),
            ("float(25)", "double precision"),
            ("double  precision", "double precision"),
            ("char", "character(1)"),
            ("varchar(7)", "character varying(7)"),
            ("timestamptz", "timestamp with time zone"),
            ("timestamp (6) with time zone", "timestamp(6) with time zone"),
            ("timestamp(9)", "timestamp(6) without time zone"),
            ("interval (3)", "interval(3)"),
            ("INTERVAL day TO second(2)", "interval day to second(2)"),
            ("interval year", "interval year"),
            ("time", "time without time zone"),
            ("bit", "bit(1)"),
            ("BIT ( 8 )", "bit(8)"),
            ("bit varying", "bit varying"),
            ("varbit(5)", "bit varying(5)"),
            ("time (2) with time zone", "time(2) with time zone"),
            ("timetz", "time with time zone"),
            ("money[]", "money[]"),
            ("int[]", "integer[]"),
            ("INT4 [3]", "integer[]"),
            ("text[][]", "text[]"),
            ("numeric(5,2) []", "numeric(5,2)[]"),
            ("varchar (7) array", "character varying(7)[]"),
            ("_timestamptz", "timestamp with time zone[]"),
        ];
        for (alias, name) in aliases {
            assert_eq!(alias.parse::<Type>().map(|data_type| data_type.to_string()), Ok(name.to_string()));
        }
    }

    /// A modifier that is silently dropped would store values that the schema forbids.
    #[test]
    fn wrong_modifiers_are_refused() {
        let wrong = [
            ("serial", "42704"),
            ("varchar(0)", "22023"),
            ("char(10485761)", "22023"),
            ("numeric(0)", "22023"),
            ("numeric(1001)", "22023"),
            ("numeric(1,1001)", "22023"),
            ("integer(3)", "42601"),
            ("varchar(", "42601"),
            ("varchar(x)", "42601"),
            ("timestamp(-1)", "22023"),
            ("time(1,2)", "22023"),
            ("bit(0)", "22023"),
            ("varbit(83886081)", "22023"),
            ("bit(1,2)", "22023"),
            ("timetz(-1)", "22023"),
            ("money(2)", "42601"),
            ("interval second to day", "42601"),
            ("interval day(3)", "42601"),
            ("serial[]", "42704"),
            ("integer[x]", "42704"),
            ("varchar(0)[]", "22023"),
            ("array", "42704"),
            ("_nothing", "42704"),
        ];
        for (name, code) in wrong {
            assert_eq!(name.parse::<Type>().map_err(|error| error.sqlstate), Err(code), "{name}");
        }
    }
}
