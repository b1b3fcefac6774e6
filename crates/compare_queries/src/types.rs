//! The types of SQL that statements use, and values of each: few and small ones, so that they meet each other, with the odd extreme.
//!
//! Invariant: values of one type that are equal read the same, but for those of `Type::Numeric` (`1.5` and `1.50`); sums of the
//! floats are exact, whatever their order.

use crate::random::Random;

/// A type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// smallint
    Int2,
    /// integer
    Int4,
    /// bigint
    Int8,
    /// numeric
    Numeric,
    /// double precision
    Float8,
    /// text
    Text,
    /// boolean
    Bool,
    /// date
    Date,
    /// timestamp without time zone
    Timestamp,
    /// timestamp with time zone
    Timestamptz,
    /// interval
    Interval,
    /// bytea
    Bytea,
    /// uuid
    Uuid,
    /// inet
    Inet,
    /// cidr
    Cidr,
    /// macaddr
    Macaddr,
    /// integer[]
    Int4Array,
    /// text[]
    TextArray,
}

impl Type {
    /// All of them.
    pub const ALL: [Type; 18] = [
        Type::Int2,
        Type::Int4,
        Type::Int8,
        Type::Numeric,
        Type::Float8,
        Type::Text,
        Type::Bool,
        Type::Date,
        Type::Timestamp,
        Type::Timestamptz,
        Type::Interval,
        Type::Bytea,
        Type::Uuid,
        Type::Inet,
        Type::Cidr,
        Type::Macaddr,
        Type::Int4Array,
        Type::TextArray,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Type::Int2 => "int2",
            Type::Int4 => "int4",
            Type::Int8 => "int8",
            Type::Numeric => "numeric",
            Type::Float8 => "float8",
            Type::Text => "text",
            Type::Bool => "bool",
            Type::Date => "date",
            Type::Timestamp => "timestamp",
            Type::Timestamptz => "timestamptz",
            Type::Interval => "interval",
            Type::Bytea => "bytea",
            Type::Uuid => "uuid",
            Type::Inet => "inet",
            Type::Cidr => "cidr",
            Type::Macaddr => "macaddr",
            Type::Int4Array => "int4[]",
            Type::TextArray => "text[]",
        }
    }

    /// A column's type that such expressions come from, with or without a length.
    pub fn declared(self, random: &mut Random) -> &'static str {
        const NUMERICS: [&str; 4] = ["numeric", "numeric", "numeric(10,2)", "numeric(12,4)"];
        const TEXTS: [&str; 5] = ["text", "text", "text", "varchar(20)", "varchar"];
        match self {
            Type::Numeric => NUMERICS[random.below(NUMERICS.len())],
            Type::Text => TEXTS[random.below(TEXTS.len())],
            _ => self.name(),
        }
    }

    /// Whether it is a number.
    pub fn is_number(self) -> bool {
        matches!(self, Type::Int2 | Type::Int4 | Type::Int8 | Type::Numeric | Type::Float8)
    }

    /// Whether `min` and `max` take it, and yield it.
    pub fn has_extremes(self) -> bool {
        !matches!(self, Type::Bool | Type::Bytea | Type::Uuid | Type::Cidr | Type::Macaddr)
    }

    /// Whether it can be a key or in an index, in both systems.
    pub fn can_be_key(self) -> bool {
        !matches!(self, Type::Int4Array | Type::TextArray | Type::Interval)
    }

    /// A type as they occur: the usual ones more often.
    pub fn draw(random: &mut Random) -> Type {
        const USUAL: [Type; 6] = [Type::Int4, Type::Text, Type::Int4, Type::Numeric, Type::Int8, Type::Bool];
        if random.percent(55) { *random.pick(&USUAL) } else { *random.pick(&Type::ALL) }
    }

    /// A value, as text without quotes.
    pub fn value(self, random: &mut Random) -> String {
        let values: &[&str] = match self {
            Type::Int2 => &["0", "1", "2", "3", "-1", "5", "7", "100"],
            Type::Int4 => &["0", "1", "2", "3", "4", "5", "-1", "-7", "10", "42", "1000"],
            Type::Int8 => &["0", "1", "2", "3", "-1", "10", "42", "5000000000", "-123456789012"],
            Type::Numeric => {
                &["0", "1", "2", "3", "-1", "0.5", "1.5", "2.25", "-3.75", "10", "99.99", "1.50", "12345.67"]
            }
            Type::Float8 => &["0", "1", "2", "0.5", "-1.5", "2.25", "-3.75", "1024", "1e10"],
            Type::Text => &["", "a", "b", "ab", "abc", "B", "A", "a b", "x%", "日本", "0", "1", "_"],
            Type::Bool => &["t", "f"],
            Type::Date => &["2024-02-29", "2000-01-01", "1999-12-31", "2024-03-01", "1970-01-01", "2023-07-04"],
            Type::Timestamp | Type::Timestamptz => &[
                "2024-02-29 12:30:00",
                "2000-01-01 00:00:00",
                "1999-12-31 23:59:59.5",
                "2024-03-01 00:00:00.000001",
                "1970-01-01 00:00:00",
            ],
            Type::Interval => {
                &["1 day", "2 days", "01:30:00", "-02:00:00", "1 mon", "1 year 3 days", "00:00:00.5", "00:00:00"]
            }
            Type::Bytea => &["\\x", "\\x00", "\\x01ff", "\\x616263", "\\xdeadbeef"],
            Type::Uuid => &[
                "00000000-0000-0000-0000-000000000000",
                "11111111-2222-3333-4444-555555555555",
                "ffffffff-ffff-ffff-ffff-ffffffffffff",
                "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            ],
            Type::Inet => {
                &["10.0.0.1", "10.0.0.1/8", "10.0.0.0/8", "192.168.1.5/24", "::1", "2001:db8::1/32", "0.0.0.0/0"]
            }
            Type::Cidr => &["10.0.0.0/8", "10.0.0.0/16", "192.168.1.0/24", "10.0.0.1/32", "::/0", "2001:db8::/32"],
            Type::Macaddr => &["00:00:00:00:00:00", "08:00:2b:01:02:03", "08:00:2b:01:02:04", "ff:ff:ff:ff:ff:ff"],
            Type::Int4Array => &["{}", "{1}", "{1,2,3}", "{NULL}", "{2,NULL,1}", "{0,0}"],
            Type::TextArray => &["{}", "{a}", "{a,b}", "{NULL}", "{\"\",x}", "{\"a b\",NULL}"],
        };
        (*random.pick(values)).to_string()
    }

    /// A value as SQL writes it.
    pub fn literal(self, random: &mut Random) -> String {
        let value = self.value(random);
        self.quote(&value)
    }

    /// A value's text as SQL writes it, of this very type.
    pub fn quote(self, value: &str) -> String {
        match self {
            Type::Bool if value == "t" => "true".to_string(),
            Type::Bool => "false".to_string(),
            Type::Int4 if !value.starts_with('-') => value.to_string(),
            _ => format!("'{}'::{}", value.replace('\'', "''"), self.name()),
        }
    }

    /// The simplest expressions of the type, the simplest last.
    pub fn simplest(self) -> &'static [&'static str] {
        match self {
            Type::Int2 => &["'1'::int2", "NULL::int2"],
            Type::Int4 => &["1", "NULL::int4"],
            Type::Int8 => &["'1'::int8", "NULL::int8"],
            Type::Numeric => &["1.5", "NULL::numeric"],
            Type::Float8 => &["'1'::float8", "NULL::float8"],
            Type::Text => &["'a'::text", "NULL::text"],
            Type::Bool => &["false", "true", "NULL::bool"],
            Type::Date => &["'2000-01-01'::date", "NULL::date"],
            Type::Timestamp => &["'2000-01-01'::timestamp", "NULL::timestamp"],
            Type::Timestamptz => &["'2000-01-01'::timestamptz", "NULL::timestamptz"],
            Type::Interval => &["'1 day'::interval", "NULL::interval"],
            Type::Bytea => &["'\\x00'::bytea", "NULL::bytea"],
            Type::Uuid => &["'00000000-0000-0000-0000-000000000000'::uuid", "NULL::uuid"],
            Type::Inet => &["'10.0.0.1'::inet", "NULL::inet"],
            Type::Cidr => &["'10.0.0.0/8'::cidr", "NULL::cidr"],
            Type::Macaddr => &["'08:00:2b:01:02:03'::macaddr", "NULL::macaddr"],
            Type::Int4Array => &["'{1}'::int4[]", "NULL::int4[]"],
            Type::TextArray => &["'{a}'::text[]", "NULL::text[]"],
        }
    }
}
