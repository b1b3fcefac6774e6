//! Casts between types: explicit, and on assignment to a column.
//!
//! Invariant: the result is NULL or has the representation of the target type and obeys its modifier. Which casts exist,
//! and which of them need `CAST`, is PostgreSQL's `pg_cast`; every type casts to and from the strings, and arrays cast as their elements do.

use crate::array::held;
use crate::bits::BitString;
use crate::calendar::{checked_date, checked_timestamp, split_timestamp};
use crate::error::{ValueError, sqlstate};
use crate::hardware;
use crate::json::{self, Jsonb};
use crate::limits::MICROSECONDS_PER_DAY;
use crate::modifier;
use crate::money;
use crate::numeric;
use crate::operators::cast_text;
use crate::ranges::MultirangeValue;
use crate::temporal::{instant_in, midnight};
use crate::text;
use crate::types::Type;
use crate::value::{Interval, Value};
use crate::zone::Zone;
use crate::zoned_time::ZonedTime;
use bigdecimal::{BigDecimal, ToPrimitive};

pub use crate::modifier::Strictness;

/// How freely a cast applies (`pg_cast.castcontext`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Context {
    /// Anywhere, without being asked for.
    Implicit,
    /// When a value is stored into a column.
    Assignment,
    /// Only when written as a cast.
    Explicit,
}

/// Where a cast from one type to another applies; `None` if there is none.
pub fn context(from: Type, to: Type) -> Option<Context> {
    use Context::{Assignment, Explicit, Implicit};
    use Type::{BigInt, Boolean, Date, Integer, Money, Oid, SmallInt, Time, TimeTz, Timestamp, TimestampTz};
    if from.unmodified() == to.unmodified() {
        return Some(Implicit);
    }
    let width = |data_type: Type| match data_type {
        Type::SmallInt => 1,
        Type::Integer => 2,
        Type::BigInt => 3,
        Type::Numeric(_) => 4,
        Type::Real => 5,
        _ => 6,
    };
    if let (Some(from), Some(to)) = (from.element(), to.element()) {
        return context(from, to);
    }
    Some(match (from, to) {
        _ if from.is_string() && to.is_string() => Implicit,
        _ if from.is_number() && to.is_number() => {
            if width(from) < width(to) {
                Implicit
            } else {
                Assignment
            }
        }
        (_, to) if to.is_string() => Assignment,
        (from, _) if from.is_string() => Explicit,
        (Boolean, Integer) | (Integer, Boolean) => Explicit,
        (Type::Json, Type::Jsonb) | (Type::Jsonb, Type::Json) => Assignment,
        (Type::Jsonb, to) if to.is_number() || to == Boolean => Explicit,
        (Type::Cidr, Type::Inet) | (Type::MacAddr, Type::MacAddr8) | (Type::MacAddr8, Type::MacAddr) => Implicit,
        (Type::Inet, Type::Cidr) => Assignment,
        (Type::Range(of), Type::Multirange(all)) if of == all => Explicit,
        (Type::Bit(_), Type::VarBit(_)) | (Type::VarBit(_), Type::Bit(_)) | (Time(_), TimeTz(_)) => Implicit,
        (Integer | BigInt, Type::Bit(_)) | (Type::Bit(_), Integer | BigInt) => Explicit,
        (TimestampTz(_), TimeTz(_)) | (TimeTz(_), Time(_)) => Assignment,
        (Integer | BigInt | Type::Numeric(_), Money) | (Money, Type::Numeric(_)) => Assignment,
        (SmallInt | Integer | BigInt, Oid) => Implicit,
        (Oid, Integer | BigInt) => Assignment,
        (Date, Timestamp(_) | TimestampTz(_)) | (Timestamp(_), TimestampTz(_)) | (Time(_), Type::Interval(_)) => {
            Implicit
        }
        (Timestamp(_), Date | Time(_)) | (TimestampTz(_), Date | Time(_) | Timestamp(_)) => Assignment,
        (Type::Interval(_), Time(_)) => Assignment,
        _ => return None,
    })
}

/// As [`explicit_in`], in UTC.
pub fn explicit(value: &Value, target: Type) -> Result<Value, ValueError> {
    explicit_in(value, target, &Zone::UTC)
}

/// As [`assign_in`], in UTC.
pub fn assign(value: &Value, target: Type) -> Result<Value, ValueError> {
    assign_in(value, target, &Zone::UTC)
}

/// `CAST(value AS target)` in a time zone: strings are cut to length, numbers rounded. Errors: 42846 if there is no such cast, 22003,
/// 22008, and those of [`text::parse_in`].
pub fn explicit_in(value: &Value, target: Type, zone: &Zone) -> Result<Value, ValueError> {
    modifier::fit(convert(value, target, zone)?, target, Strictness::Explicit)
}

/// Converts a value that is stored into a column. Errors: as [`explicit_in`]; 42804 for a cast that has to be written;
/// 22001 for a string that is too long. A literal of unknown type is read by [`text::parse_in`] instead.
pub fn assign_in(value: &Value, target: Type, zone: &Zone) -> Result<Value, ValueError> {
    if let Some(from) = value.data_type()
        && context(from, target).is_none_or(|context| context > Context::Assignment)
    {
        return Err(ValueError::new(
            sqlstate::DATATYPE_MISMATCH,
            format!("column is of type {} but expression is of type {}", target.base_name(), from.base_name()),
        ));
    }
    modifier::fit(convert(value, target, zone)?, target, Strictness::Assignment)
}

/// Changes the representation, whatever the context.
fn convert(value: &Value, target: Type, zone: &Zone) -> Result<Value, ValueError> {
    let Some(from) = value.data_type() else {
        return Ok(Value::Null);
    };
    if from == held(target) {
        return Ok(relabelled(value, target));
    }
    if let (Value::Array(array), Some(element)) = (value, target.element())
        && context(array.element(), element).is_some()
    {
        return array.map(element, |value| convert(value, element, zone));
    }
    if let Value::Text(text) = value {
        return text::parse_in(text, target.unmodified(), zone);
    }
    if target.is_string() {
        return Ok(cast_text(value, zone).map_or(Value::Null, Value::text));
    }
    let converted =
        if from.is_number() && target.is_number() { Some(number(value, target)?) } else { other(value, target, zone)? };
    converted.ok_or_else(|| {
        ValueError::new(
            sqlstate::CANNOT_COERCE,
            format!("cannot cast type {} to {}", from.base_name(), target.base_name()),
        )
    })
}

/// A value of a type as that is now: the label in a place may have got another name.
fn relabelled(value: &Value, target: Type) -> Value {
    match (value, target) {
        (Value::Enum(label), Type::Enum(labels)) => Value::Enum(labels.relabelled(label)),
        (Value::Array(array), Type::Array(element)) if target.has_labels() => {
            let element = element.data_type();
            Value::array(element, array.values().iter().map(|value| relabelled(value, element)).collect())
        }
        _ => value.clone(),
    }
}

fn number(value: &Value, target: Type) -> Result<Value, ValueError> {
    match target {
        Type::SmallInt => {
            let number = rounded(value, target)?;
            i16::try_from(number).map(Value::SmallInt).map_err(|_| ValueError::out_of_range(target.base_name()))
        }
        Type::Integer => {
            let number = rounded(value, target)?;
            i32::try_from(number).map(Value::Integer).map_err(|_| ValueError::out_of_range(target.base_name()))
        }
        Type::BigInt => rounded(value, target).map(Value::BigInt),
        Type::Real => to_real(value).map(Value::Real),
        Type::Double => to_double(value).map(Value::Double),
        _ => to_numeric(value).map(Value::numeric),
    }
}

/// Rounds floats half to even, numerics half away from zero. Errors: 22003.
fn rounded(value: &Value, target: Type) -> Result<i64, ValueError> {
    let out_of_range = || ValueError::out_of_range(target.base_name());
    let float = |number: f64| {
        let rounded = number.round_ties_even();
        // 2^63 itself does not fit; NaN fails every comparison.
        if rounded >= i64::MIN as f64 && rounded < -(i64::MIN as f64) {
            Ok(rounded as i64)
        } else {
            Err(out_of_range())
        }
    };
    match value {
        Value::Real(number) => float(f64::from(*number)),
        Value::Double(number) => float(*number),
        Value::Numeric(number) => numeric::to_bigint(number).ok_or_else(out_of_range),
        other => other.as_integer().ok_or_else(out_of_range),
    }
}

fn to_numeric(value: &Value) -> Result<BigDecimal, ValueError> {
    match value {
        Value::Real(number) => numeric::from_real(*number),
        Value::Double(number) => numeric::from_double(*number),
        Value::Numeric(number) => Ok(BigDecimal::clone(number)),
        other => Ok(BigDecimal::from(other.as_integer().unwrap_or(0))),
    }
}

/// Errors: 22003 for a numeric beyond the doubles.
fn to_double(value: &Value) -> Result<f64, ValueError> {
    match value {
        Value::Real(number) => Ok(f64::from(*number)),
        Value::Double(number) => Ok(*number),
        Value::Numeric(_) => crate::float::parse_double(&text::to_string(value).unwrap_or_default()),
        other => Ok(other.as_integer().unwrap_or(0) as f64),
    }
}

/// Errors: 22003 for what becomes infinite or zero.
fn to_real(value: &Value) -> Result<f32, ValueError> {
    match value {
        Value::Real(number) => Ok(*number),
        Value::Double(number) => {
            let real = *number as f32;
            let message = if real.is_infinite() && number.is_finite() {
                "value out of range: overflow"
            } else if real == 0.0 && *number != 0.0 {
                "value out of range: underflow"
            } else {
                return Ok(real);
            };
            Err(ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message))
        }
        Value::Numeric(_) => crate::float::parse_real(&text::to_string(value).unwrap_or_default()),
        other => Ok(other.as_integer().and_then(|number| number.to_f32()).unwrap_or(0.0)),
    }
}

/// Casts among the types that are neither numbers nor strings; `None` if there is no such cast.
fn other(value: &Value, target: Type, zone: &Zone) -> Result<Option<Value>, ValueError> {
    Ok(Some(match (value, target) {
        (Value::Boolean(truth), Type::Integer) => Value::Integer(i32::from(*truth)),
        (Value::Integer(number), Type::Boolean) => Value::Boolean(*number != 0),
        // The same 32 bits: a negative number is a large identifier.
        (Value::SmallInt(number), Type::Oid) => Value::Oid(i32::from(*number) as u32),
        (Value::Integer(number), Type::Oid) => Value::Oid(*number as u32),
        (Value::BigInt(number), Type::Oid) => {
            let out_of_range = || ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "OID out of range");
            Value::Oid(u32::try_from(*number).map_err(|_| out_of_range())?)
        }
        (Value::Oid(number), Type::Integer) => Value::Integer(*number as i32),
        (Value::Oid(number), Type::BigInt) => Value::BigInt(i64::from(*number)),
        (Value::Date(days), Type::Timestamp(_)) => Value::Timestamp(midnight(*days)?),
        (Value::Date(_) | Value::Timestamp(_), Type::TimestampTz(_)) => Value::TimestampTz(instant_in(value, zone)?),
        (Value::TimestampTz(instant), Type::Timestamp(_)) => {
            Value::Timestamp(checked_timestamp(i128::from(zone.local(*instant)))?)
        }
        // Every day of a timestamp is a date: the bounds of the types say so.
        (Value::Timestamp(local), Type::Date) => Value::Date(split_timestamp(*local).0 as i32),
        (Value::TimestampTz(instant), Type::Date) => {
            Value::Date(checked_date(split_timestamp(zone.local(*instant)).0)?)
        }
        (Value::Timestamp(local), Type::Time(_)) => Value::Time(split_timestamp(*local).1),
        (Value::TimestampTz(instant), Type::Time(_)) => Value::Time(split_timestamp(zone.local(*instant)).1),
        (Value::Cidr(network), Type::Inet) => Value::Inet(*network),
        (Value::Inet(network), Type::Cidr) => Value::Cidr(network.network()),
        (Value::Range(range), Type::Multirange(kind)) if range.kind() == kind => {
            Value::multirange(MultirangeValue::of(range))
        }
        (Value::MacAddr(bytes), Type::MacAddr8) => Value::MacAddr8(hardware::widened(*bytes)),
        (Value::MacAddr8(bytes), Type::MacAddr) => Value::MacAddr(hardware::narrowed(*bytes)?),
        (Value::Bits(_), Type::Integer | Type::BigInt) | (_, Type::Bit(_)) => return of_bits(value, target),
        (Value::Money(_), Type::Numeric(_)) | (_, Type::Money) => return of_money(value, target),
        (Value::TimeTz(zoned), Type::Time(_)) => Value::Time(zoned.time),
        (Value::Time(time), Type::TimeTz(_)) => {
            let offset = zone.fixed_offset().ok_or_else(|| {
                let name = zone.name();
                ValueError::unsupported(format!("the offset of a time without a day in the time zone {name}"))
            })?;
            Value::TimeTz(ZonedTime { time: *time, offset })
        }
        (Value::TimestampTz(instant), Type::TimeTz(_)) => {
            let offset = zone.at(*instant).seconds;
            Value::TimeTz(ZonedTime { time: split_timestamp(zone.local(*instant)).1, offset })
        }
        (Value::Json(text), Type::Jsonb) => text::parse(text, target)?,
        (Value::Jsonb(tree), Type::Json) => Value::Json(json::write::to_string(tree).into()),
        (Value::Jsonb(tree), Type::Boolean) => match **tree {
            Jsonb::Boolean(truth) => Value::Boolean(truth),
            _ => return Err(no_such_scalar(tree, target)),
        },
        (Value::Jsonb(tree), _) if target.is_number() => match &**tree {
            Jsonb::Number(exact) => number(&Value::numeric(exact.clone()), target)?,
            _ => return Err(no_such_scalar(tree, target)),
        },
        (Value::Time(time), Type::Interval(_)) => Value::Interval(Interval { microseconds: *time, ..Interval::ZERO }),
        (Value::Interval(span), Type::Time(_)) => Value::Time(span.microseconds.rem_euclid(MICROSECONDS_PER_DAY)),
        _ => return Ok(None),
    }))
}

/// Bits as a number, or a number as bits; `None` if there is no such cast. Errors: 22003 for too many of them.
fn of_bits(value: &Value, target: Type) -> Result<Option<Value>, ValueError> {
    let out_of_range = || ValueError::out_of_range(target.base_name());
    Ok(Some(match (value, target) {
        (Value::Bits(bits), Type::Integer) if bits.length() > i32::BITS => return Err(out_of_range()),
        (Value::Bits(bits), Type::Integer) => Value::Integer(bits.to_integer().ok_or_else(out_of_range)? as i32),
        (Value::Bits(bits), Type::BigInt) => Value::BigInt(bits.to_integer().ok_or_else(out_of_range)? as i64),
        (Value::Integer(_) | Value::BigInt(_), Type::Bit(length)) => {
            Value::Bits(BitString::of_integer(value.as_integer().unwrap_or(0), length.max(1)))
        }
        _ => return Ok(None),
    }))
}

/// An amount as a number, or a number as an amount; `None` if there is no such cast. Errors: 22003.
fn of_money(value: &Value, target: Type) -> Result<Option<Value>, ValueError> {
    Ok(Some(match (value, target) {
        (Value::Money(amount), Type::Numeric(_)) => Value::numeric(money::to_numeric(*amount)),
        (Value::Integer(_) | Value::BigInt(_), Type::Money) => {
            Value::Money(money::of_integer(value.as_integer().unwrap_or(0))?)
        }
        (Value::Numeric(number), Type::Money) => Value::Money(money::of_numeric(number)?),
        _ => return Ok(None),
    }))
}

/// 22023: a `jsonb` that holds something else than what the type asks for.
#[cold]
fn no_such_scalar(json: &Jsonb, target: Type) -> ValueError {
    let kind = if let Jsonb::Number(_) = json { "numeric" } else { json.type_name() };
    ValueError::new(
        sqlstate::INVALID_PARAMETER_VALUE,
        format!("cannot cast jsonb {kind} to type {}", target.base_name()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// A column must never hold a value of another type, and no cast may stop a site.
        #[test]
        fn casts_yield_the_target_type(
            (from, value) in generate::data_type().prop_flat_map(|t| (Just(t), generate::nullable(t))),
            to in generate::data_type(),
        ) {
            for result in [explicit(&value, to), assign(&value, to)] {
                match result {
                    Ok(Value::Null) => prop_assert!(value.is_null()),
                    Ok(converted) => {
                        prop_assert_eq!(converted.data_type(), Some(held(to)));
                        // A bit string casts as `bit`, whichever of the two types it is of.
                        prop_assert!(context(held(from), to).is_some(), "{} to {}", from, to);
                    }
                    Err(error) if error.sqlstate == sqlstate::CANNOT_COERCE => {
                        prop_assert!(context(from, to).is_none(), "{} to {}", from, to);
                    }
                    Err(_) => {}
                }
            }
        }
    }
}
