//! Functions of dates and times, and those that need the environment.

use super::{Environment, FunctionBody, FunctionEntry, FunctionVolatility, entry, text_of};
use crate::calendar::split_timestamp;
use crate::temporal;
use crate::types::Type::{self, Date, Double, Text};
use crate::value::Value;

const TIME: Type = Type::Time(None);
const TIMETZ: Type = Type::TimeTz(None);
const TIMESTAMP: Type = Type::Timestamp(None);
const TIMESTAMPTZ: Type = Type::TimestampTz(None);
const NUMERIC: Type = Type::Numeric(None);
const INTERVAL: Type = Type::Interval(None);

pub(super) const TABLE: &[FunctionEntry] = &[
    stable("now", TIMESTAMPTZ, NOW),
    stable("current_timestamp", TIMESTAMPTZ, NOW),
    stable("transaction_timestamp", TIMESTAMPTZ, NOW),
    stable("statement_timestamp", TIMESTAMPTZ, NOW),
    stable("localtimestamp", TIMESTAMP, |_, environment| Ok(Value::Timestamp(local_time(environment)))),
    stable("current_date", Date, |_, environment| Ok(Value::Date(split_timestamp(local_time(environment)).0 as i32))),
    stable("localtime", TIME, |_, environment| Ok(Value::Time(split_timestamp(local_time(environment)).1))),
    entry("extract", &[Text, TIMESTAMP], NUMERIC, EXTRACT),
    of_zone("extract", &[Text, TIMESTAMPTZ], NUMERIC, EXTRACT),
    entry("extract", &[Text, Date], NUMERIC, EXTRACT),
    entry("extract", &[Text, TIME], NUMERIC, EXTRACT),
    entry("extract", &[Text, TIMETZ], NUMERIC, EXTRACT),
    entry("extract", &[Text, INTERVAL], NUMERIC, EXTRACT),
    entry("date_part", &[Text, TIMESTAMP], Double, DATE_PART),
    of_zone("date_part", &[Text, TIMESTAMPTZ], Double, DATE_PART),
    entry("date_part", &[Text, TIME], Double, DATE_PART),
    entry("date_part", &[Text, TIMETZ], Double, DATE_PART),
    entry("date_part", &[Text, INTERVAL], Double, DATE_PART),
    // A date becomes a timestamptz here, the preferred type of its family.
    of_zone("date_trunc", &[Text, TIMESTAMPTZ], TIMESTAMPTZ, DATE_TRUNC),
    entry("date_trunc", &[Text, TIMESTAMP], TIMESTAMP, DATE_TRUNC),
    entry("date_trunc", &[Text, INTERVAL], INTERVAL, DATE_TRUNC),
    entry("date_bin", &[INTERVAL, TIMESTAMP, TIMESTAMP], TIMESTAMP, DATE_BIN),
    entry("date_bin", &[INTERVAL, TIMESTAMPTZ, TIMESTAMPTZ], TIMESTAMPTZ, DATE_BIN),
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
