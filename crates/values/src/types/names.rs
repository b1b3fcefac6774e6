//! Names of types as statements write them, with their modifiers.

use super::{ALL, Type};
use crate::error::{ValueError, sqlstate};
use crate::limits::{BIT_LENGTH_MAX, CHARACTERS_MAX, NUMERIC_PRECISION_MAX, NUMERIC_SCALE_MAX};
use crate::precision::{IntervalModifier, SECOND_DIGITS_MAX};
use std::str::FromStr;

/// Reads a type's name or alias with its modifier, in any case and spacing: `INT4`, `decimal (10, 2)`,
/// `timestamp(6) with time zone`. Errors: 42704 for a name that is not known, 22023 for a modifier out of range,
/// 42601 for one that does not belong there.
impl FromStr for Type {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if let Some(element) = array_element(text) {
            return Ok(element.parse::<Self>()?.array());
        }
        let (name, modifiers) = split_modifiers(text)?;
        let unmodified = match name.as_str() {
            "boolean" | "bool" => Self::Boolean,
            "smallint" | "int2" => Self::SmallInt,
            "integer" | "int" | "int4" => Self::Integer,
            "bigint" | "int8" => Self::BigInt,
            "real" | "float4" => Self::Real,
            "double precision" | "float8" => Self::Double,
            "float" => return float_type(&modifiers),
            "numeric" | "decimal" | "dec" => return numeric_type(&modifiers),
            "text" => Self::Text,
            "character varying" | "char varying" | "varchar" => {
                return Ok(Self::Varchar(length_of("varchar", &modifiers)?));
            }
            "character" | "char" => return Ok(Self::Char(length_of("char", &modifiers)?.unwrap_or(1))),
            "bpchar" => return Ok(Self::Char(length_of("char", &modifiers)?.unwrap_or(0))),
            "bytea" => Self::Bytea,
            "date" => Self::Date,
            "time" | "time without time zone" => return seconds_type(Self::Time, "TIME", "", &modifiers),
            "timestamp" | "timestamp without time zone" => {
                return seconds_type(Self::Timestamp, "TIMESTAMP", "", &modifiers);
            }
            "timestamptz" | "timestamp with time zone" => {
                return seconds_type(Self::TimestampTz, "TIMESTAMP", " WITH TIME ZONE", &modifiers);
            }
            _ if name == "interval" || name.starts_with("interval ") => {
                return interval_type(name["interval".len()..].trim_start(), &modifiers);
            }
            "uuid" => Self::Uuid,
            "oid" => Self::Oid,
            "json" => Self::Json,
            "jsonb" => Self::Jsonb,
            "inet" => Self::Inet,
            "cidr" => Self::Cidr,
            "macaddr" => Self::MacAddr,
            "macaddr8" => Self::MacAddr8,
            "bit" => return Ok(Self::Bit(bits_of("bit", &modifiers)?.unwrap_or(1))),
            "\"bit\"" => return Ok(Self::Bit(bits_of("bit", &modifiers)?.unwrap_or(0))),
            "bit varying" | "varbit" => return Ok(Self::VarBit(bits_of("bit varying", &modifiers)?)),
            "timetz" | "time with time zone" => {
                return seconds_type(Self::TimeTz, "TIME", " WITH TIME ZONE", &modifiers);
            }
            "money" => Self::Money,
            "tsvector" => Self::TsVector,
            "tsquery" => Self::TsQuery,
            other => named_alike(other).ok_or_else(|| {
                ValueError::new(sqlstate::UNDEFINED_OBJECT, format!("type \"{}\" does not exist", text.trim()))
            })?,
        };
        if modifiers.is_empty() { Ok(unmodified) } else { Err(modifier_not_allowed(&name)) }
    }
}

/// The range, the multirange or the array of this name in `pg_type`.
fn named_alike(name: &str) -> Option<Type> {
    let ranges = ALL.into_iter().filter(Type::is_range);
    ranges.chain(ALL.into_iter().map(Type::array)).find(|known| known.catalog_name() == name)
}

/// The name before `[]`, `[3]` or `ARRAY`; `None` if the name is not that of an array. PostgreSQL enforces no length.
fn array_element(text: &str) -> Option<&str> {
    let text = text.trim_end();
    if let Some(before) = text.strip_suffix(']') {
        let (name, length) = before.rsplit_once('[')?;
        return length.bytes().all(|digit| digit.is_ascii_digit()).then_some(name);
    }
    let (name, word) = text.split_at_checked(text.len().checked_sub("array".len())?)?;
    (word.eq_ignore_ascii_case("array") && name.ends_with(|before: char| before.is_ascii_whitespace())).then_some(name)
}

/// Splits `name (a, b) more` into the lower-case `name more`, single-spaced, and the numbers in parentheses.
fn split_modifiers(text: &str) -> Result<(String, Vec<i64>), ValueError> {
    let syntax = || ValueError::new(sqlstate::SYNTAX_ERROR, format!("invalid type name \"{}\"", text.trim()));
    let (before, inside, after) = match text.split_once('(') {
        None => (text, None, ""),
        Some((before, rest)) => {
            let (inside, after) = rest.split_once(')').ok_or_else(syntax)?;
            (before, Some(inside), after)
        }
    };
    let words: Vec<&str> = before.split_ascii_whitespace().chain(after.split_ascii_whitespace()).collect();
    let modifiers = match inside {
        None => Vec::new(),
        Some(inside) => inside
            .split(',')
            .map(|number| number.trim().parse::<i64>().map_err(|_| syntax()))
            .collect::<Result<_, _>>()?,
    };
    Ok((words.join(" ").to_ascii_lowercase(), modifiers))
}

fn modifier_not_allowed(name: &str) -> ValueError {
    ValueError::new(sqlstate::SYNTAX_ERROR, format!("type modifier is not allowed for type \"{name}\""))
}

/// The n of `varchar(n)` and `char(n)`.
fn length_of(name: &str, modifiers: &[i64]) -> Result<Option<u32>, ValueError> {
    length_up_to(CHARACTERS_MAX, name, modifiers)
}

/// The n of `bit(n)` and `bit varying(n)`.
fn bits_of(name: &str, modifiers: &[i64]) -> Result<Option<u32>, ValueError> {
    length_up_to(BIT_LENGTH_MAX, name, modifiers)
}

fn length_up_to(most: u32, name: &str, modifiers: &[i64]) -> Result<Option<u32>, ValueError> {
    let invalid = |message: String| ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, message);
    match *modifiers {
        [] => Ok(None),
        [length] if length < 1 => Err(invalid(format!("length for type {name} must be at least 1"))),
        [length] if length > i64::from(most) => Err(invalid(format!("length for type {name} cannot exceed {most}"))),
        [length] => Ok(Some(length as u32)),
        _ => Err(invalid("invalid type modifier".into())),
    }
}

/// `numeric`, `numeric(precision)`, `numeric(precision, scale)`.
fn numeric_type(modifiers: &[i64]) -> Result<Type, ValueError> {
    let invalid = |message: String| Err(ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    let (precision, scale) = match *modifiers {
        [] => return Ok(Type::Numeric(None)),
        [precision] => (precision, 0),
        [precision, scale] => (precision, scale),
        _ => return invalid("invalid NUMERIC type modifier".into()),
    };
    if !(1..=i64::from(NUMERIC_PRECISION_MAX)).contains(&precision) {
        return invalid(format!("NUMERIC precision {precision} must be between 1 and {NUMERIC_PRECISION_MAX}"));
    }
    if !(-i64::from(NUMERIC_SCALE_MAX)..=i64::from(NUMERIC_SCALE_MAX)).contains(&scale) {
        return invalid(format!("NUMERIC scale {scale} must be between -{NUMERIC_SCALE_MAX} and {NUMERIC_SCALE_MAX}"));
    }
    Ok(Type::Numeric(Some((precision as u16, scale as i16))))
}

/// `float(p)`: p in bits chooses between the two float types.
fn float_type(modifiers: &[i64]) -> Result<Type, ValueError> {
    let invalid = |message: &str| Err(ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    match *modifiers {
        [] => Ok(Type::Double),
        [bits] if bits < 1 => invalid("precision for type float must be at least 1 bit"),
        [bits] if bits <= 24 => Ok(Type::Real),
        [bits] if bits <= 53 => Ok(Type::Double),
        [_] => invalid("precision for type float must be less than 54 bits"),
        _ => Err(modifier_not_allowed("float")),
    }
}

/// A type of time with so many digits of a second, six at most.
fn seconds_type(of: fn(Option<u8>) -> Type, word: &str, zone: &str, modifiers: &[i64]) -> Result<Type, ValueError> {
    let invalid = |message: String| Err(ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    match *modifiers {
        [] => Ok(of(None)),
        [digits] if digits < 0 => invalid(format!("{word}({digits}){zone} precision must not be negative")),
        [digits] => Ok(of(Some(digits.min(i64::from(SECOND_DIGITS_MAX)) as u8))),
        _ => invalid("invalid type modifier".to_owned()),
    }
}

/// `interval`, with digits of its seconds, and with the fields that are behind its name: `interval day to second(3)`.
fn interval_type(fields: &str, modifiers: &[i64]) -> Result<Type, ValueError> {
    let digits = match *modifiers {
        [] => None,
        [digits] if digits < 0 => {
            let message = format!("INTERVAL({digits}) precision must not be negative");
            return Err(ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        [digits] => Some(digits.min(i64::from(SECOND_DIGITS_MAX)) as u8),
        _ => return Err(modifier_not_allowed("interval")),
    };
    if fields.is_empty() {
        return Ok(Type::Interval(digits.map(IntervalModifier::of_digits)));
    }
    let (first, last) = fields.split_once(" to ").unwrap_or((fields, fields));
    match IntervalModifier::of_fields(first, last, digits) {
        Some(modifier) => Ok(Type::Interval(Some(modifier))),
        None => Err(ValueError::new(sqlstate::SYNTAX_ERROR, format!("invalid type name \"interval {fields}\""))),
    }
}
