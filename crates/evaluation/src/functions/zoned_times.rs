//! `time with time zone`.

use super::digests::{extended, hashed, of_long, of_long_with, of_word, of_word_with, seed};
use super::library;
use super::zones::{NamedZone, interval_offset};
use crate::call::{CallArguments, FunctionResult, Implementation};
use values::Type::Text;
use values::calendar::{checked_timestamp, split_timestamp};
use values::error::sqlstate;
use values::limits::MICROSECONDS_PER_DAY;
use values::precision::rounded;
use values::{Type, Value, ValueError, ZonedTime, cast};

const TIMETZ: Type = Type::TimeTz(None);

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("timetz_pl_interval", |call| Ok(Value::TimeTz(call.zoned_time(0).plus(call.interval(1).microseconds)))),
    ("timetz_mi_interval", earlier),
    ("extract_timetz", library!("extract", [Text, TIMETZ])),
    ("timetz_part", library!("date_part", [Text, TIMETZ])),
    ("timetz_time", |call| Ok(Value::Time(call.zoned_time(0).time))),
    ("time_timetz", of_today),
    ("timestamptz_timetz", |call| cast::explicit_in(call.value(0), TIMETZ, call.zone())),
    ("timetz_scale", |call| {
        let (zoned, digits) = (call.zoned_time(0), u8::try_from(call.integer(1)).ok());
        Ok(Value::TimeTz(ZonedTime { time: rounded(zoned.time, digits), ..zoned }))
    }),
    ("datetimetz_timestamptz", |call| instant(call, 0, 1)),
    ("timetz_zone", |call| {
        let offset = NamedZone::of(call.text(0))?.offset_at(call.environment.transaction_time);
        Ok(Value::TimeTz(call.zoned_time(1).at_offset(offset)))
    }),
    ("timetz_izone", |call| {
        let offset = interval_offset(call)? as i32;
        Ok(Value::TimeTz(call.zoned_time(1).at_offset(offset)))
    }),
    ("overlaps_timetz", super::times::overlaps),
    ("timetz_hash", |call| {
        let zoned = call.zoned_time(0);
        hashed(of_long(zoned.time) ^ of_word(zoned.offset.wrapping_neg() as u32))
    }),
    ("timetz_hash_extended", |call| {
        let (zoned, seed) = (call.zoned_time(0), seed(call));
        extended(of_long_with(zoned.time, seed) ^ of_word_with(zoned.offset.wrapping_neg() as u32, seed))
    }),
];

/// What PostgreSQL writes in SQL, with its arguments in the other order.
pub(super) const BY_NUMBER: &[(u32, Implementation)] = &[
    (1298, |call| instant(call, 1, 0)),
    (2547, |call| Ok(Value::TimeTz(call.zoned_time(1).plus(call.interval(0).microseconds)))),
];

fn earlier(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    // The whole days of a span do not move a clock, so its sign can be turned within one.
    let span = call.interval(1).microseconds % MICROSECONDS_PER_DAY;
    Ok(Value::TimeTz(call.zoned_time(0).plus(-span)))
}

/// A time of day in the session's zone, with the offset that it has today.
fn of_today(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let (zone, time) = (call.zone(), call.instant(0));
    let (today, _) = split_timestamp(zone.local(call.environment.transaction_time));
    let offset = zone.offset_of_local(today * MICROSECONDS_PER_DAY + time);
    Ok(Value::TimeTz(ZonedTime { time, offset }))
}

/// A date and a time with its zone as an instant. Errors: 22008.
fn instant(call: &CallArguments<'_, '_>, date: usize, time: usize) -> FunctionResult {
    let at = i128::from(call.instant(date)) + i128::from(call.zoned_time(time).universal());
    let out_of_range = |_| ValueError::new(sqlstate::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp");
    checked_timestamp(at).map(Value::TimestampTz).map_err(out_of_range)
}
