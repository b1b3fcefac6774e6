//! Dates, times, timestamps and intervals, in the session's time zone and in others.

use super::library;
use super::numbers::{add, divide, multiply, negate, subtract};
use crate::call::{CallArguments, FunctionResult, Implementation};
use std::cmp::Ordering;
use values::Type::{Date, Text};
use values::calendar::{Civil, checked_date, checked_timestamp, civil, day_number, days_in_month, split_timestamp};
use values::error::sqlstate;
use values::limits::{DAYS_PER_MONTH, MICROSECONDS_PER_DAY, MICROSECONDS_PER_SECOND};
use values::operators::{BinaryOperator, binary_in};
use values::{Interval, Type, Value, ValueError, Zone};

const TIME: Type = Type::Time(None);
const TIMESTAMP: Type = Type::Timestamp(None);
const TIMESTAMPTZ: Type = Type::TimestampTz(None);
const SPAN: Type = Type::Interval(None);
/// Microseconds from 1970-01-01 to 2000-01-01.
const UNIX_EPOCH: f64 = 946_684_800.0;

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("date_pli", add),
    ("date_mii", subtract),
    ("date_mi", subtract),
    ("date_pl_interval", add),
    ("date_mi_interval", subtract),
    ("datetime_timestamp", add),
    ("timestamp_pl_interval", add),
    ("timestamp_mi_interval", subtract),
    ("timestamp_mi", subtract),
    ("timestamptz_pl_interval", add),
    ("timestamptz_mi_interval", subtract),
    ("time_pl_interval", add),
    ("time_mi_interval", subtract),
    ("time_mi_time", subtract),
    ("interval_pl", add),
    ("interval_mi", subtract),
    ("interval_mul", multiply),
    ("interval_div", divide),
    ("mul_d_interval", multiply),
    ("interval_um", negate),
    ("now", now),
    ("statement_timestamp", statement_time),
    ("extract_date", library!("extract", [Text, Date])),
    ("extract_time", library!("extract", [Text, TIME])),
    ("extract_timestamp", library!("extract", [Text, TIMESTAMP])),
    ("extract_timestamptz", library!("extract", [Text, TIMESTAMPTZ])),
    ("extract_interval", library!("extract", [Text, SPAN])),
    ("time_part", library!("date_part", [Text, TIME])),
    ("timestamp_part", library!("date_part", [Text, TIMESTAMP])),
    ("timestamptz_part", library!("date_part", [Text, TIMESTAMPTZ])),
    ("interval_part", library!("date_part", [Text, SPAN])),
    ("timestamp_trunc", library!("date_trunc", [Text, TIMESTAMP])),
    ("timestamptz_trunc", library!("date_trunc", [Text, TIMESTAMPTZ])),
    ("timestamptz_trunc_zone", super::zones::truncated),
    ("interval_trunc", library!("date_trunc", [Text, SPAN])),
    ("timestamp_bin", library!("date_bin", [SPAN, TIMESTAMP, TIMESTAMP])),
    ("timestamptz_bin", library!("date_bin", [SPAN, TIMESTAMPTZ, TIMESTAMPTZ])),
    ("timestamp_age", age),
    ("timestamptz_age", local_age),
    ("date_finite", |_| Ok(Value::Boolean(true))),
    ("timestamp_finite", |_| Ok(Value::Boolean(true))),
    ("interval_finite", |_| Ok(Value::Boolean(true))),
    ("interval_justify_hours", |call| Ok(Value::Interval(justify_hours(call.interval(0))?))),
    ("interval_justify_days", |call| Ok(Value::Interval(justify_days(call.interval(0))?))),
    ("interval_justify_interval", |call| Ok(Value::Interval(justify_both(call.interval(0))?))),
    ("make_date", |call| Ok(Value::Date(date_of(call)?))),
    ("make_time", |call| Ok(Value::Time(time_of(call, 0)?))),
    ("make_timestamp", |call| Ok(Value::Timestamp(timestamp_of(call)?))),
    ("make_timestamptz", |call| instant_of(timestamp_of(call)?, call.zone())),
    ("make_timestamptz_at_timezone", |call| {
        let local = timestamp_of(call)?;
        super::zones::made_in(call.text(6), local)
    }),
    ("make_interval", make_interval),
    ("float8_timestamptz", of_seconds),
    ("overlaps_time", overlaps),
    ("overlaps_timestamp", overlaps),
];

pub(super) const BY_NUMBER: &[(u32, Implementation)] = &[
    (2550, add),
    (2546, add),
    (1848, add),
    (2548, add),
    (2549, add),
    (1296, add),
    (1176, |call| {
        let at = i128::from(call.instant(0)) + i128::from(call.instant(1));
        instant_of(checked_timestamp(at)?, call.zone())
    }),
    (1384, |call| {
        let at = [call.value(0).clone(), Value::Timestamp(call.instant(1))];
        let part = values::functions::lookup("date_part", &[Text, TIMESTAMP]);
        let mut environment = values::functions::Environment { statement_time: 0, zone: &Zone::UTC, random: &mut || 0 };
        part.map_or(Ok(Value::Null), |part| part.call(&at, &mut environment))
    }),
    (2059, age_today),
    (1386, age_today),
    (1310, overlaps),
    (1311, overlaps),
    (1309, overlaps),
    (2043, overlaps),
    (2044, overlaps),
    (2042, overlaps),
    (1306, overlaps),
    (1307, overlaps),
    (1305, overlaps),
];

fn now(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    Ok(Value::TimestampTz(call.environment.transaction_time))
}

fn statement_time(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    Ok(Value::TimestampTz(call.environment.statement_time))
}

#[cold]
fn overflow(message: impl Into<String>) -> ValueError {
    ValueError::new(sqlstate::DATETIME_FIELD_OVERFLOW, message)
}

fn age(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    Ok(Value::Interval(between(call.instant(0), call.instant(1))))
}

/// Of instants, what lies between their local times, whatever their offsets.
fn local_age(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let zone = call.zone();
    Ok(Value::Interval(between(zone.local(call.instant(0)), zone.local(call.instant(1)))))
}

fn age_today(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let zone = call.zone();
    let (today, _) = split_timestamp(zone.local(call.environment.transaction_time));
    let since = match call.value(0) {
        Value::TimestampTz(at) => zone.local(*at),
        _ => call.instant(0),
    };
    Ok(Value::Interval(between(today * MICROSECONDS_PER_DAY, since)))
}

/// The instant of a local time in a zone. Errors: 22008.
fn instant_of(local: i64, zone: &Zone) -> FunctionResult {
    checked_timestamp(zone.instant(local)).map(Value::TimestampTz)
}

/// Years, months, days and the rest from one instant to another (`timestamp_age`): days that lack are those of the earlier month.
fn between(later: i64, earlier: i64) -> Interval {
    let is_negative = later < earlier;
    let parts = |at: i64| {
        let (days, time) = split_timestamp(at);
        (civil(days), time)
    };
    let ((end, end_time), (start, start_time)) =
        if is_negative { (parts(earlier), parts(later)) } else { (parts(later), parts(earlier)) };
    let mut months = (end.year - start.year) * 12 + i64::from(end.month) - i64::from(start.month);
    let mut days = i64::from(end.day) - i64::from(start.day);
    let mut time = end_time - start_time;
    if time < 0 {
        time += MICROSECONDS_PER_DAY;
        days -= 1;
    }
    if days < 0 {
        days += i64::from(days_in_month(start.year, start.month));
        months -= 1;
    }
    let sign = if is_negative { -1 } else { 1 };
    Interval { months: (sign * months) as i32, days: (sign * days) as i32, microseconds: sign * time }
}

/// Adds to a number of days or months. Errors: 22008.
fn more(number: i32, added: i64) -> Result<i32, ValueError> {
    i32::try_from(i64::from(number) + added).map_err(|_| overflow("interval out of range"))
}

fn justify_hours(span: Interval) -> Result<Interval, ValueError> {
    let mut days = more(span.days, span.microseconds / MICROSECONDS_PER_DAY)?;
    let mut time = span.microseconds % MICROSECONDS_PER_DAY;
    if days > 0 && time < 0 {
        time += MICROSECONDS_PER_DAY;
        days -= 1;
    } else if days < 0 && time > 0 {
        time -= MICROSECONDS_PER_DAY;
        days += 1;
    }
    Ok(Interval { days, microseconds: time, ..span })
}

fn justify_days(span: Interval) -> Result<Interval, ValueError> {
    let month = DAYS_PER_MONTH as i32;
    let mut months = more(span.months, i64::from(span.days / month))?;
    let mut days = span.days % month;
    if months > 0 && days < 0 {
        days += month;
        months -= 1;
    } else if months < 0 && days > 0 {
        days -= month;
        months += 1;
    }
    Ok(Interval { months, days, ..span })
}

/// Days from hours, months from days, and one sign for all (`interval_justify_interval`).
fn justify_both(span: Interval) -> Result<Interval, ValueError> {
    let month = DAYS_PER_MONTH as i32;
    let days = more(span.days, span.microseconds / MICROSECONDS_PER_DAY)?;
    let mut time = span.microseconds % MICROSECONDS_PER_DAY;
    let mut months = more(span.months, i64::from(days / month))?;
    let mut days = days % month;
    if months > 0 && (days < 0 || (days == 0 && time < 0)) {
        days += month;
        months -= 1;
    } else if months < 0 && (days > 0 || (days == 0 && time > 0)) {
        days -= month;
        months += 1;
    }
    if days > 0 && time < 0 {
        time += MICROSECONDS_PER_DAY;
        days -= 1;
    } else if days < 0 && time > 0 {
        time -= MICROSECONDS_PER_DAY;
        days += 1;
    }
    Ok(Interval { months, days, microseconds: time })
}

/// A date of year, month and day; a negative year is before Christ.
fn date_of(call: &CallArguments<'_, '_>) -> Result<i32, ValueError> {
    let (year, month, day) = (call.integer(0), call.integer(1), call.integer(2));
    let wrong = || overflow(format!("date field value out of range: {year}-{month:02}-{day:02}"));
    let astronomical = if year < 0 { year + 1 } else { year };
    let month = u32::try_from(month).ok().filter(|month| (1..=12).contains(month)).ok_or_else(wrong)?;
    let last = days_in_month(astronomical, month);
    let day = u32::try_from(day).ok().filter(|day| (1..=last).contains(day)).ok_or_else(wrong)?;
    if year == 0 {
        return Err(wrong());
    }
    let out_of_range = |_| overflow(format!("date out of range: {year}-{month:02}-{day:02}"));
    checked_date(day_number(Civil { year: astronomical, month, day })).map_err(out_of_range)
}

/// Microseconds since midnight of hours, minutes and seconds, the first of which is argument `first`.
fn time_of(call: &CallArguments<'_, '_>, first: usize) -> Result<i64, ValueError> {
    let (hour, minute, second) = (call.integer(first), call.integer(first + 1), call.double(first + 2));
    let wrong = || overflow(format!("time field value out of range: {hour}:{minute:02}:{second:02}"));
    let is_time = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60.0).contains(&second);
    if !is_time {
        return Err(wrong());
    }
    let seconds = (second * MICROSECONDS_PER_SECOND as f64).round_ties_even() as i64;
    let time = (hour * 60 + minute) * 60 * MICROSECONDS_PER_SECOND + seconds;
    if time > MICROSECONDS_PER_DAY { Err(wrong()) } else { Ok(time) }
}

fn timestamp_of(call: &CallArguments<'_, '_>) -> Result<i64, ValueError> {
    let days = date_of(call)?;
    let at = i128::from(days) * i128::from(MICROSECONDS_PER_DAY) + i128::from(time_of(call, 3)?);
    checked_timestamp(at).map_err(|_| overflow("timestamp out of range"))
}

/// Of years, months, weeks, days, hours, minutes and seconds.
fn make_interval(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let wrong = || overflow("interval out of range");
    let whole = |high: i64, times: i64, low: i64| i32::try_from(high * times + low).map_err(|_| wrong());
    let seconds = call.double(6);
    if !seconds.is_finite() {
        return Err(wrong());
    }
    let minutes = call.integer(4) * 60 + call.integer(5);
    let fraction = (seconds * MICROSECONDS_PER_SECOND as f64).round_ties_even();
    let time = i128::from(minutes) * 60 * i128::from(MICROSECONDS_PER_SECOND) + fraction as i128;
    Ok(Value::Interval(Interval {
        months: whole(call.integer(0), 12, call.integer(1))?,
        days: whole(call.integer(2), 7, call.integer(3))?,
        microseconds: i64::try_from(time).map_err(|_| wrong())?,
    }))
}

/// `to_timestamp` of seconds since 1970. Errors: 22008, and 0A000 for infinities, which timestamps do not have here.
fn of_seconds(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let seconds = call.double(0);
    if seconds.is_nan() {
        return Err(overflow("timestamp cannot be NaN"));
    }
    if seconds.is_infinite() {
        let message = "infinite timestamps are not supported";
        return Err(ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    let wrong = || overflow(format!("timestamp out of range: \"{seconds}\""));
    let at = ((seconds - UNIX_EPOCH) * MICROSECONDS_PER_SECOND as f64).round_ties_even();
    checked_timestamp(at as i128).map(Value::TimestampTz).map_err(|_| wrong())
}

/// Whether two periods overlap, each from a beginning to an end, or for an interval; NULL where an end decides that is not known.
pub(super) fn overlaps(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let period = |first: usize| -> Result<(Value, Value), ValueError> {
        let (start, end) = (call.value(first).clone(), call.value(first + 1).clone());
        let end = match &end {
            Value::Interval(_) => binary_in(BinaryOperator::Add, &start, &end, call.zone())?,
            _ => end,
        };
        // The known one is the beginning, and the earlier one of two.
        Ok(match (start.is_null(), end.is_null()) {
            (true, _) => (end, start),
            (false, false) if values::compare::compare(&start, &end).is_gt() => (end, start),
            _ => (start, end),
        })
    };
    let (first, second) = (period(0)?, period(2)?);
    if first.0.is_null() || second.0.is_null() {
        return Ok(Value::Null);
    }
    let (earlier, later) = match values::compare::compare(&first.0, &second.0) {
        Ordering::Greater => (&second, &first),
        Ordering::Less => (&first, &second),
        Ordering::Equal => {
            // They share their beginning, which is in both unless an end is not known.
            let is_known = !first.1.is_null() && !second.1.is_null();
            return Ok(if is_known { Value::Boolean(true) } else { Value::Null });
        }
    };
    if earlier.1.is_null() {
        return Ok(Value::Null);
    }
    if values::compare::compare(&later.0, &earlier.1).is_lt() {
        return Ok(Value::Boolean(true));
    }
    Ok(if later.1.is_null() { Value::Null } else { Value::Boolean(false) })
}
