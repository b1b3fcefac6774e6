//! Arithmetic of dates, times, timestamps and intervals in a time zone.
//!
//! Invariant: results lie within their type's bounds or are errors (22008); a time of day wraps at midnight.

use crate::calendar::{
    Civil, add_months, checked_date, checked_timestamp, civil, day_number, day_of_week, iso_week, split_timestamp,
};
use crate::compare::as_double;
use crate::error::{ValueError, sqlstate};
use crate::interval;
use crate::limits::{MICROSECONDS_PER_DAY, MICROSECONDS_PER_SECOND};
use crate::operators::BinaryOperator::{self, Add, Divide, Multiply, Subtract};
use crate::types::Type;
use crate::value::{Interval, Value};
use crate::zone::Zone;
use crate::zoned_time::ZonedTime;
use bigdecimal::{BigDecimal, ToPrimitive};

/// The type of the result, `None` if the operator does not take operands of these types.
pub(crate) fn binary_type(operator: BinaryOperator, left: Type, right: Type) -> Option<Type> {
    let (time, instant, local) = (Type::Time(None), Type::TimestampTz(None), Type::Timestamp(None));
    let (span, small) = (Type::Interval(None), |data_type| matches!(data_type, Type::SmallInt | Type::Integer));
    use Type::{Date, Interval, Time, Timestamp, TimestampTz};
    Some(match (operator, left, right) {
        (Add, Date, number) | (Add, number, Date) | (Subtract, Date, number) if small(number) => Date,
        (Subtract, Date, Date) => Type::Integer,
        (Add, Date, Time(_)) | (Add, Time(_), Date) => local,
        (Add | Subtract, Date, Interval(_)) | (Add, Interval(_), Date) => local,
        (Add | Subtract, Timestamp(_), Interval(_)) | (Add, Interval(_), Timestamp(_)) => local,
        (Add | Subtract, TimestampTz(_), Interval(_)) | (Add, Interval(_), TimestampTz(_)) => instant,
        (Add | Subtract, Time(_), Interval(_)) | (Add, Interval(_), Time(_)) => time,
        (Subtract, Date | Timestamp(_) | TimestampTz(_), Date | Timestamp(_) | TimestampTz(_)) => span,
        (Subtract, Time(_), Time(_)) => span,
        (Add | Subtract, Interval(_), Interval(_)) => span,
        (Multiply | Divide, Interval(_), number) if number.is_number() => span,
        (Multiply, number, Interval(_)) if number.is_number() => span,
        _ => return None,
    })
}

/// Applies an operator; `None` if it does not take such operands.
pub(crate) fn binary(
    operator: BinaryOperator,
    left: &Value,
    right: &Value,
    zone: &Zone,
) -> Result<Option<Value>, ValueError> {
    use Value::{Date, Time, Timestamp, TimestampTz};
    let value = match (operator, left, right) {
        (Add, Value::Interval(_), Date(_) | Time(_) | Timestamp(_) | TimestampTz(_))
        | (Add, Time(_), Date(_))
        | (Add, Value::SmallInt(_) | Value::Integer(_), Date(_)) => return binary(operator, right, left, zone),
        (Add | Subtract, Date(days), Value::SmallInt(_) | Value::Integer(_)) => {
            let more = right.as_integer().unwrap_or(0);
            let more = if operator == Subtract { -more } else { more };
            Date(checked_date(i64::from(*days) + more)?)
        }
        (Subtract, Date(left), Date(right)) => Value::Integer(
            i32::try_from(i64::from(*left) - i64::from(*right)).map_err(|_| ValueError::out_of_range("integer"))?,
        ),
        (Add, Date(days), Time(time)) => {
            Timestamp(checked_timestamp(i128::from(midnight(*days)?) + i128::from(*time))?)
        }
        (Add | Subtract, Date(days), Value::Interval(span)) => {
            Timestamp(shift(midnight(*days)?, &signed(operator, span)?)?)
        }
        (Add | Subtract, Timestamp(instant), Value::Interval(span)) => {
            Timestamp(shift(*instant, &signed(operator, span)?)?)
        }
        (Add | Subtract, TimestampTz(instant), Value::Interval(span)) => {
            TimestampTz(shift_in(*instant, &signed(operator, span)?, zone)?)
        }
        (Add | Subtract, Time(time), Value::Interval(span)) => {
            let span = i128::from(span.microseconds);
            let moved = i128::from(*time) + if operator == Subtract { -span } else { span };
            Time(moved.rem_euclid(i128::from(MICROSECONDS_PER_DAY)) as i64)
        }
        (Subtract, Time(left), Time(right)) => {
            let microseconds = left.checked_sub(*right).ok_or_else(|| ValueError::datetime_out_of_range("interval"))?;
            Value::Interval(Interval { microseconds, ..Interval::ZERO })
        }
        (Subtract, Date(_) | Timestamp(_) | TimestampTz(_), Date(_) | Timestamp(_) | TimestampTz(_)) => {
            Value::Interval(difference(instant(left)?, instant(right)?)?)
        }
        (Add | Subtract, Value::Interval(left), Value::Interval(right)) => {
            Value::Interval(interval::add(left, &signed(operator, right)?)?)
        }
        (Multiply, number, Value::Interval(span)) | (Multiply | Divide, Value::Interval(span), number) => {
            let Some(factor) = as_double(number) else {
                return Ok(None);
            };
            Value::Interval(match operator {
                Multiply => interval::multiply(span, factor)?,
                _ => interval::divide(span, factor)?,
            })
        }
        _ => return Ok(None),
    };
    Ok(Some(value))
}

fn signed(operator: BinaryOperator, span: &Interval) -> Result<Interval, ValueError> {
    if operator == Subtract { interval::negate(span) } else { Ok(*span) }
}

/// A date's midnight as a timestamp. Errors: 22008 for a date that no timestamp can name.
pub(crate) fn midnight(days: i32) -> Result<i64, ValueError> {
    checked_timestamp(i128::from(days) * i128::from(MICROSECONDS_PER_DAY))
        .map_err(|_| ValueError::new(sqlstate::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp"))
}

/// The instant of a date's midnight, or of a timestamp, in a zone. Errors: 22008.
pub(crate) fn instant_in(value: &Value, zone: &Zone) -> Result<i64, ValueError> {
    let of_local = |local: i64| checked_timestamp(zone.instant(local));
    match value {
        Value::Date(days) => of_local(midnight(*days)?)
            .map_err(|_| ValueError::new(sqlstate::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp")),
        Value::Timestamp(local) => of_local(*local),
        other => instant(other),
    }
}

/// Operands of which one is an instant and the other a local time, both as instants; `None` for others. Comparing takes what is out of range for the
/// earliest, or the latest, as PostgreSQL does. Errors: 22008.
pub(crate) fn one_side_moved(
    operator: BinaryOperator,
    left: &Value,
    right: &Value,
    zone: &Zone,
) -> Result<Option<(Value, Value)>, ValueError> {
    let moved = |value: &Value| {
        if !operator.is_comparison() {
            return instant_in(value, zone).map(Value::TimestampTz);
        }
        let local = match value {
            Value::Date(days) => i128::from(*days) * i128::from(MICROSECONDS_PER_DAY),
            Value::Timestamp(local) => i128::from(*local),
            other => return Ok(other.clone()),
        };
        let bounds = i128::from(i64::MIN)..=i128::from(i64::MAX);
        let instant = i64::try_from(local).map_or(local, |local| zone.instant(local));
        Ok(Value::TimestampTz(instant.clamp(*bounds.start(), *bounds.end()) as i64))
    };
    Ok(match (left, right) {
        (Value::TimestampTz(_), Value::Date(_) | Value::Timestamp(_)) => Some((left.clone(), moved(right)?)),
        (Value::Date(_) | Value::Timestamp(_), Value::TimestampTz(_)) => Some((moved(left)?, right.clone())),
        _ => None,
    })
}

fn instant(value: &Value) -> Result<i64, ValueError> {
    match value {
        Value::Date(days) => midnight(*days),
        Value::Timestamp(microseconds) | Value::TimestampTz(microseconds) => Ok(*microseconds),
        other => panic!("{other:?} is no instant"),
    }
}

/// Adds months, then days, then microseconds.
pub(crate) fn shift(timestamp: i64, span: &Interval) -> Result<i64, ValueError> {
    let (days, time) = split_timestamp(timestamp);
    let moved = add_months(civil(days), i64::from(span.months));
    let days = i128::from(day_number(moved)) + i128::from(span.days);
    let midnight = days * i128::from(MICROSECONDS_PER_DAY);
    // PostgreSQL checks after each unit.
    let before_time = checked_timestamp(midnight + i128::from(time))?;
    checked_timestamp(i128::from(before_time) + i128::from(span.microseconds))
}

/// The same of an instant: months and days are those of local time, so that they keep the time of the day where the clock changes.
pub(crate) fn shift_in(instant: i64, span: &Interval, zone: &Zone) -> Result<i64, ValueError> {
    if zone.is_utc() {
        return shift(instant, span);
    }
    let mut instant = instant;
    if span.months != 0 {
        let (days, time) = split_timestamp(zone.local(instant));
        let days = day_number(add_months(civil(days), i64::from(span.months)));
        instant = checked_timestamp(zone.instant(checked_timestamp(of_day(days, time))?))?;
    }
    if span.days != 0 {
        let (days, time) = split_timestamp(zone.local(instant));
        let days = days + i64::from(span.days);
        instant = checked_timestamp(zone.instant(checked_timestamp(of_day(days, time))?))?;
    }
    checked_timestamp(i128::from(instant) + i128::from(span.microseconds))
}

fn of_day(days: i64, time: i64) -> i128 {
    i128::from(days) * i128::from(MICROSECONDS_PER_DAY) + i128::from(time)
}

/// Whole days and the rest, both of the same sign.
fn difference(left: i64, right: i64) -> Result<Interval, ValueError> {
    let span = i128::from(left) - i128::from(right);
    let day = i128::from(MICROSECONDS_PER_DAY);
    let days = i32::try_from(span / day).map_err(|_| ValueError::datetime_out_of_range("interval"))?;
    Ok(Interval { months: 0, days, microseconds: (span % day) as i64 })
}

/// The beginning of the interval of this width, counted from an origin, in which an instant lies (`timestamp_bin`). Errors: 0A000 for months, 22008.
pub(crate) fn bin(width: &Value, source: &Value, origin: &Value) -> Result<Value, ValueError> {
    let Value::Interval(width) = width else { panic!("{width:?} is no interval") };
    if width.months != 0 {
        return Err(ValueError::unsupported("timestamps cannot be binned into intervals containing months or years"));
    }
    let width = i128::from(width.days) * i128::from(MICROSECONDS_PER_DAY) + i128::from(width.microseconds);
    if i64::try_from(width).is_err() {
        return Err(ValueError::datetime_out_of_range("interval"));
    }
    if width <= 0 {
        return Err(ValueError::new(sqlstate::DATETIME_FIELD_OVERFLOW, "stride must be greater than zero"));
    }
    let (at, origin) = (i128::from(instant(source)?), i128::from(instant(origin)?));
    if i64::try_from(at - origin).is_err() {
        return Err(ValueError::datetime_out_of_range("interval"));
    }
    let begin = checked_timestamp(at - (at - origin).rem_euclid(width))?;
    Ok(if matches!(source, Value::TimestampTz(_)) { Value::TimestampTz(begin) } else { Value::Timestamp(begin) })
}

/// A field such as `year` or `epoch` of a date, time, timestamp or interval, as `extract` returns it. Errors: 22023 for
/// fields that do not exist, 0A000 for those that the type does not have.
pub(crate) fn extract(field: &str, source: &Value, zone: &Zone) -> Result<BigDecimal, ValueError> {
    let lower = field.to_ascii_lowercase();
    let field = canonical(&lower).ok_or_else(|| unit_error(&lower, false, source))?;
    let found = match source {
        Value::Date(days) => extract_day(field, i64::from(*days)),
        Value::Time(time) => extract_time(field, *time),
        Value::TimeTz(zoned) => extract_zoned(field, zoned),
        Value::Timestamp(microseconds) => extract_timestamp(field, *microseconds),
        Value::TimestampTz(microseconds) => match field {
            "timezone" => Some(whole(i64::from(zone.at(*microseconds).seconds))),
            "timezone_hour" => Some(whole(i64::from(zone.at(*microseconds).seconds / 3600))),
            "timezone_minute" => Some(whole(i64::from(zone.at(*microseconds).seconds / 60 % 60))),
            "epoch" => extract_timestamp(field, *microseconds),
            _ => extract_timestamp(field, zone.local(*microseconds)),
        },
        Value::Interval(span) => extract_interval(field, span),
        _ => None,
    };
    found.ok_or_else(|| unit_error(&lower, true, source))
}

/// A field as `date_part` returns it: computed in doubles, in PostgreSQL's order. Errors: as [`extract`].
pub(crate) fn extract_double(field: &str, source: &Value, zone: &Zone) -> Result<f64, ValueError> {
    let exact = extract(field, source, zone)?;
    let million = MICROSECONDS_PER_SECOND as f64;
    Ok(match (canonical(&field.to_ascii_lowercase()), source) {
        (Some("epoch"), Value::Interval(span)) => {
            let with_years = span.microseconds as f64 / million + 365.25 * 86_400.0 * f64::from(span.months / 12);
            with_years + 30.0 * 86_400.0 * f64::from(span.months % 12) + 86_400.0 * f64::from(span.days)
        }
        (Some("second"), _) => {
            let seconds = exact.with_scale(0);
            let fraction = (&exact - &seconds).with_scale(6).into_bigint_and_scale().0;
            seconds.to_f64().unwrap_or(0.0) + fraction.to_f64().unwrap_or(0.0) / million
        }
        _ => as_double(&Value::numeric(exact)).unwrap_or(f64::NAN),
    })
}

/// The name of a field that all its aliases stand for; `None` if there is no such field.
fn canonical(field: &str) -> Option<&'static str> {
    Some(match field {
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" | "microsecond" | "microseconds" => {
            "microseconds"
        }
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" | "millisecond" | "milliseconds" => {
            "milliseconds"
        }
        "s" | "sec" | "secs" | "second" | "seconds" => "second",
        "m" | "min" | "mins" | "minute" | "minutes" => "minute",
        "h" | "hr" | "hrs" | "hour" | "hours" => "hour",
        "d" | "day" | "days" => "day",
        "w" | "week" | "weeks" => "week",
        "mon" | "mons" | "month" | "months" => "month",
        "qtr" | "quarter" => "quarter",
        "y" | "yr" | "yrs" | "year" | "years" => "year",
        "dec" | "decs" | "decade" | "decades" => "decade",
        "c" | "cent" | "century" | "centuries" => "century",
        "mil" | "mils" | "millennium" | "millennia" => "millennium",
        "j" | "jd" | "julian" => "julian",
        "timezone" => "timezone",
        "timezone_h" | "timezone_hour" => "timezone_hour",
        "timezone_m" | "timezone_minute" => "timezone_minute",
        "epoch" => "epoch",
        "dow" => "dow",
        "isodow" => "isodow",
        "doy" => "doy",
        "isoyear" => "isoyear",
        _ => return None,
    })
}

#[cold]
fn unit_error(unit: &str, is_known: bool, source: &Value) -> ValueError {
    let name = source.data_type().map_or("unknown", |data_type| data_type.base_name());
    if is_known {
        ValueError::unsupported(format!("unit \"{unit}\" not supported for type {name}"))
    } else {
        ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, format!("unit \"{unit}\" not recognized for type {name}"))
    }
}

fn whole(number: i64) -> BigDecimal {
    BigDecimal::from(number)
}

/// Microseconds as a number of units of 10^-`scale` microseconds.
fn scaled(microseconds: i128, scale: i64) -> BigDecimal {
    BigDecimal::new(microseconds.into(), scale)
}

fn extract_day(field: &str, days: i64) -> Option<BigDecimal> {
    let Civil { year, month, day } = civil(days);
    // Years before Christ count -1, -2, ...; astronomical year 0 is 1 BC.
    let printed_year = if year > 0 { year } else { year - 1 };
    let round_away = |size: i64| {
        if year > 0 { (year + size - 1) / size } else { -((size - 1 - (year - 1)) / size) }
    };
    Some(whole(match field {
        "day" => i64::from(day),
        "month" => i64::from(month),
        "quarter" => i64::from(month - 1) / 3 + 1,
        "year" => printed_year,
        "decade" => year.div_euclid(10),
        "century" => round_away(100),
        "millennium" => round_away(1000),
        "week" => iso_week(days).1,
        "isoyear" => {
            let (iso_year, _) = iso_week(days);
            if iso_year > 0 { iso_year } else { iso_year - 1 }
        }
        "dow" => day_of_week(days),
        "isodow" => (day_of_week(days) + 6) % 7 + 1,
        "doy" => days - day_number(Civil { year, month: 1, day: 1 }) + 1,
        "julian" => days + crate::calendar::JULIAN_EPOCH,
        "epoch" => (days + crate::calendar::UNIX_EPOCH_DAYS) * 86_400,
        _ => return None,
    }))
}

/// Fields of a time of day; of an interval too, whose hours exceed 23 and may be negative.
fn extract_clock(field: &str, microseconds: i64) -> Option<BigDecimal> {
    let minute = 60 * MICROSECONDS_PER_SECOND;
    Some(match field {
        "hour" => whole(microseconds / (60 * minute)),
        "minute" => whole(microseconds / minute % 60),
        "second" => scaled(i128::from(microseconds % minute), 6),
        "milliseconds" => scaled(i128::from(microseconds % minute), 3),
        "microseconds" => whole(microseconds % minute),
        _ => return None,
    })
}

fn extract_time(field: &str, time: i64) -> Option<BigDecimal> {
    if field == "epoch" { Some(scaled(i128::from(time), 6)) } else { extract_clock(field, time) }
}

fn extract_zoned(field: &str, zoned: &ZonedTime) -> Option<BigDecimal> {
    match field {
        "timezone" => Some(whole(i64::from(zoned.offset))),
        "timezone_hour" => Some(whole(i64::from(zoned.offset / 3600))),
        "timezone_minute" => Some(whole(i64::from(zoned.offset / 60 % 60))),
        "epoch" => Some(scaled(i128::from(zoned.universal()), 6)),
        _ => extract_clock(field, zoned.time),
    }
}

fn extract_timestamp(field: &str, microseconds: i64) -> Option<BigDecimal> {
    let (days, time) = split_timestamp(microseconds);
    match field {
        "epoch" => {
            let unix = i128::from(crate::calendar::UNIX_EPOCH_DAYS) * i128::from(MICROSECONDS_PER_DAY);
            Some(scaled(i128::from(microseconds) + unix, 6))
        }
        "julian" => {
            let day = BigDecimal::from(MICROSECONDS_PER_DAY);
            let fraction = crate::numeric::divide(&BigDecimal::from(time), &day).ok()?;
            Some(whole(days + crate::calendar::JULIAN_EPOCH) + fraction)
        }
        _ => extract_day(field, days).or_else(|| extract_clock(field, time)),
    }
}

fn extract_interval(field: &str, span: &Interval) -> Option<BigDecimal> {
    let (years, months) = (i64::from(span.months / 12), i64::from(span.months % 12));
    Some(match field {
        "year" => whole(years),
        "month" => whole(months),
        "quarter" => whole(months / 3 + 1),
        "decade" => whole(years / 10),
        "century" => whole(years / 100),
        "millennium" => whole(years / 1000),
        "day" => whole(i64::from(span.days)),
        "epoch" => {
            // A year counts 365.25 days here, a month 30.
            let quarter_days = i128::from(years) * 1461 + (i128::from(months) * 30 + i128::from(span.days)) * 4;
            scaled(quarter_days * i128::from(MICROSECONDS_PER_DAY / 4) + i128::from(span.microseconds), 6)
        }
        other => return extract_clock(other, span.microseconds),
    })
}

/// `date_trunc` in a time zone: sets all smaller fields to their start. Errors: 22023 and 0A000 as [`extract`], 22008.
pub(crate) fn truncate(field: &str, source: &Value, zone: &Zone) -> Result<Value, ValueError> {
    let lower = field.to_ascii_lowercase();
    // These can be extracted only.
    let only_extracted = |field: &&str| matches!(*field, "epoch" | "julian" | "dow" | "isodow" | "doy" | "isoyear");
    let field =
        canonical(&lower).filter(|field| !only_extracted(field)).ok_or_else(|| unit_error(&lower, false, source))?;
    let unknown = || unit_error(&lower, true, source);
    let truncate_at = |microseconds: i64| {
        let (days, time) = split_timestamp(microseconds);
        checked_timestamp(truncate_instant(field, days, time).ok_or_else(unknown)?)
    };
    Ok(match source {
        Value::Timestamp(microseconds) => Value::Timestamp(truncate_at(*microseconds)?),
        Value::TimestampTz(instant) => {
            let offset = i64::from(zone.at(*instant).seconds) * MICROSECONDS_PER_SECOND;
            let (days, time) = split_timestamp(*instant + offset);
            let begin = truncate_instant(field, days, time).ok_or_else(unknown)?;
            // Parts of a day keep the offset; the midnight of a day may have another.
            Value::TimestampTz(checked_timestamp(match clock_unit(field) {
                Some(_) => begin - i128::from(offset),
                None => i64::try_from(begin).map_or(begin, |begin| zone.instant(begin)),
            })?)
        }
        Value::Interval(span) => Value::Interval(truncate_interval(field, span).ok_or_else(unknown)?),
        _ => return Err(unknown()),
    })
}

/// Microseconds that a field of a time of day lasts.
fn clock_unit(field: &str) -> Option<i64> {
    Some(match field {
        "microseconds" => 1,
        "milliseconds" => 1000,
        "second" => MICROSECONDS_PER_SECOND,
        "minute" => 60 * MICROSECONDS_PER_SECOND,
        "hour" => 3600 * MICROSECONDS_PER_SECOND,
        _ => return None,
    })
}

fn truncate_instant(field: &str, days: i64, time: i64) -> Option<i128> {
    let day_us = i128::from(MICROSECONDS_PER_DAY);
    if let Some(unit) = clock_unit(field) {
        return Some(i128::from(days) * day_us + i128::from(time - time % unit));
    }
    let Civil { year, month, .. } = civil(days);
    // Centuries and millennia start with the year 1; before Christ, with the year that ends in 00 or 000.
    let start_of = |size: i64| {
        if year > 0 { (year - 1) / size * size + 1 } else { -((size - 1 - (year - 1)) / size) * size + 1 }
    };
    let first = |year, month| day_number(Civil { year, month, day: 1 });
    let start = match field {
        "day" => days,
        "week" => days - (day_of_week(days) + 6) % 7,
        "month" => first(year, month),
        "quarter" => first(year, (month - 1) / 3 * 3 + 1),
        "year" => first(year, 1),
        "decade" => first(year.div_euclid(10) * 10, 1),
        "century" => first(start_of(100), 1),
        "millennium" => first(start_of(1000), 1),
        _ => return None,
    };
    Some(i128::from(start) * day_us)
}

fn truncate_interval(field: &str, span: &Interval) -> Option<Interval> {
    if let Some(unit) = clock_unit(field) {
        return Some(Interval { microseconds: span.microseconds / unit * unit, ..*span });
    }
    let months = |unit: i32| Interval { months: span.months / unit * unit, ..Interval::ZERO };
    Some(match field {
        "day" => Interval { microseconds: 0, ..*span },
        "month" => months(1),
        "quarter" => months(3),
        "year" => months(12),
        "decade" => months(120),
        "century" => months(1200),
        "millennium" => months(12_000),
        _ => return None,
    })
}
