//! Fits a value to its column type's modifier: lengths of strings, precision and scale of numerics, digits of seconds.
//!
//! Invariant: the result obeys the modifier, and a value of type `char` has no trailing blanks.

use crate::bits::BitString;
use crate::calendar::checked_timestamp;
use crate::error::{ValueError, sqlstate};
use crate::numeric;
use crate::precision::rounded;
use crate::types::Type;
use crate::value::Value;
use crate::zoned_time::ZonedTime;

/// How strictly a string is fitted to `varchar(n)` and `char(n)`, and bits to `bit(n)` and `bit varying(n)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Storing into a column: characters that are cut off must be blanks.
    Assignment,
    /// `CAST(... AS ...)` written by the user: cuts silently.
    Explicit,
}

/// Fits a value that already has the representation of `data_type`. Errors: 22001, 22003, 22008, 22026.
pub(crate) fn fit(value: Value, data_type: Type, strictness: Strictness) -> Result<Value, ValueError> {
    match (data_type, &value) {
        (Type::Varchar(Some(length)), Value::Text(text)) => Ok(match cut(text, length, data_type, strictness)? {
            Some(cut) => Value::text(cut),
            None => value,
        }),
        (Type::Char(length), Value::Text(text)) => {
            let kept = if length == 0 { None } else { cut(text, length, data_type, strictness)? };
            let trimmed = kept.unwrap_or(text).trim_end_matches(' ');
            Ok(if trimmed.len() == text.len() { value } else { Value::text(trimmed) })
        }
        (Type::Numeric(Some((precision, scale))), Value::Numeric(number)) => {
            numeric::fit(number, precision, scale).map(Value::numeric)
        }
        (Type::Time(Some(digits)), Value::Time(time)) => Ok(Value::Time(rounded(*time, Some(digits)))),
        (Type::Timestamp(Some(digits)), Value::Timestamp(local)) => {
            checked_timestamp(rounded(*local, Some(digits)).into()).map(Value::Timestamp)
        }
        (Type::TimestampTz(Some(digits)), Value::TimestampTz(instant)) => {
            checked_timestamp(rounded(*instant, Some(digits)).into()).map(Value::TimestampTz)
        }
        (Type::TimeTz(Some(digits)), Value::TimeTz(zoned)) => {
            Ok(Value::TimeTz(ZonedTime { time: rounded(zoned.time, Some(digits)), ..*zoned }))
        }
        (Type::Bit(_) | Type::VarBit(_), Value::Bits(bits)) => {
            Ok(fit_bits(bits, data_type, strictness)?.map_or(value, Value::Bits))
        }
        (Type::Interval(Some(modifier)), Value::Interval(span)) => Ok(Value::Interval(span.fitted(modifier))),
        (Type::Array(element), Value::Array(array)) => {
            let element = element.data_type();
            if element == element.unmodified() && !matches!(element, Type::Char(_)) {
                return Ok(value);
            }
            array.map(element, |value| fit(value.clone(), element, strictness))
        }
        _ => Ok(value),
    }
}

/// The bits that the type has room for; `None` if they are as many as these. Errors: 22026 and 22001 unless the user has written the cast.
fn fit_bits(bits: &BitString, data_type: Type, strictness: Strictness) -> Result<Option<BitString>, ValueError> {
    let found = bits.length();
    let (length, error) = match data_type {
        Type::Bit(length) if length > 0 && found != length => {
            let message = format!("bit string length {found} does not match type {data_type}");
            (length, ValueError::new(sqlstate::STRING_DATA_LENGTH_MISMATCH, message))
        }
        Type::VarBit(Some(length)) if found > length => {
            let message = format!("bit string too long for type {data_type}");
            (length, ValueError::new(sqlstate::STRING_DATA_RIGHT_TRUNCATION, message))
        }
        _ => return Ok(None),
    };
    match strictness {
        Strictness::Assignment => Err(error),
        Strictness::Explicit => Ok(Some(bits.resized(length))),
    }
}

/// The first `length` characters; `None` if there are no more than that.
fn cut(text: &str, length: u32, data_type: Type, strictness: Strictness) -> Result<Option<&str>, ValueError> {
    if text.len() <= length as usize {
        return Ok(None);
    }
    let Some((end, _)) = text.char_indices().nth(length as usize) else {
        return Ok(None);
    };
    if strictness == Strictness::Assignment && text[end..].bytes().any(|byte| byte != b' ') {
        return Err(ValueError::new(
            sqlstate::STRING_DATA_RIGHT_TRUNCATION,
            format!("value too long for type {data_type}"),
        ));
    }
    Ok(Some(&text[..end]))
}
