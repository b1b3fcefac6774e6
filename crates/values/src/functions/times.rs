//! Functions of dates and times, and those that need the environment.

use super::{Environment, FunctionBody, FunctionEntry, FunctionVolatility, entry, text_of};
use crate::calendar::split_timestamp;
use crate::temporal;
use crate::types::Type::{self, Date, Double, Text, Time, Timestamp, TimestampTz};
use crate::value::Value;

const NUMERIC: Type = Type::Numeric(None);
const INTERVAL: Type = Type::Interval;

pub(super) const TABLE: &[FunctionEntry] = &[
    stable("now", TimestampTz, NOW),
    stable("current_timestamp", TimestampTz, NOW),
    stable("transaction_timestamp", TimestampTz, NOW),
    stable("statement_timestamp", TimestampTz, NOW),
    stable("localtimestamp", Timestamp, |_, environment| Ok(Value::Timestamp(local_time(environment)))),
    stable("current_date", Date, |_, environment| Ok(Value::Date(split_timestamp(local_time(environment)).0 as i32))),
    stable("localtime", Time, |_, environment| Ok(Value::Time(split_timestamp(local_time(environment)).1))),
    entry("extract", &[Text, Timestamp], NUMERIC, EXTRACT),
    of_zone("extract", &[Text, TimestampTz], NUMERIC, EXTRACT),
    entry("extract", &[Text, Date], NUMERIC, EXTRACT),
    entry("extract", &[Text, Time], NUMERIC, EXTRACT),
    entry("extract", &[Text, INTERVAL], NUMERIC, EXTRACT),
    entry("date_part", &[Text, Timestamp], Double, DATE_PART),
    of_zone("date_part", &[Text, TimestampTz], Double, DATE_PART),
    entry("date_part", &[Text, Time], Double, DATE_PART),
    entry("date_part", &[Text, INTERVAL], Double, DATE_PART),
    // A date becomes a timestamptz here, the preferred type of its family.
    of_zone("date_trunc", &[Text, TimestampTz], TimestampTz, DATE_TRUNC),
    entry("date_trunc", &[Text, Timestamp], Timestamp, DATE_TRUNC),
    entry("date_trunc", &[Text, INTERVAL], INTERVAL, DATE_TRUNC),
    entry("date_bin", &[INTERVAL, Timestamp, Timestamp], Timestamp, DATE_BIN),
    entry("date_bin", &[INTERVAL, TimestampTz, TimestampTz], TimestampTz, DATE_BIN),
];

/// A function of the statement's time.
const fn stable(name: &'static str, result: Type, body: FunctionBody) -> FunctionEntry {
    FunctionEntry { name, parameters: &[], result, volatility: FunctionVolatility::Stable, body }
}

/// A function that depends on the time zone.
const fn of_zone(name: &'static str, parameters: &'static [Type], result: Type, body: FunctionBody) -> FunctionEntry {
    FunctionEntry { name, parameters, result, volatility: FunctionVolatility::Stable, body }
}

/// What a clock on the wall shows.
fn local_time(environment: &Environment<'_>) -> i64 {
    environment.zone.local(environment.statement_time)
}

const NOW: FunctionBody = |_, environment| Ok(Value::TimestampTz(environment.statement_time));
const EXTRACT: FunctionBody = |arguments, environment| {
    temporal::extract(text_of(&arguments[0]), &arguments[1], environment.zone).map(Value::numeric)
};
const DATE_PART: FunctionBody = |arguments, environment| {
    temporal::extract_double(text_of(&arguments[0]), &arguments[1], environment.zone).map(Value::Double)
};
const DATE_BIN: FunctionBody = |arguments, _| temporal::bin(&arguments[0], &arguments[1], &arguments[2]);
const DATE_TRUNC: FunctionBody =
    |arguments, environment| temporal::truncate(text_of(&arguments[0]), &arguments[1], environment.zone);
