//! Functions that yield sets: `generate_series`, `unnest` and their like.

use crate::call::CallArguments;
pub use crate::call::{SetBody, SetRows};
use crate::functions::catalogs::is_vector;
use crate::functions::{DEBUGS, SETS_OF_TEXT_SEARCH, json, matches_of, parts, parts_of, split};
use analyzer::facts::Facts;
use analyzer::types::FunctionId;
use bigdecimal::{BigDecimal, Zero};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;
use values::error::sqlstate;
use values::limits::MICROSECONDS_PER_SECOND;
use values::operators::{BinaryOperator, binary_in};
use values::{Interval, Value, ValueError, Zone};

/// Implementations by the names that `pg_proc.prosrc` has for them.
const TABLE: &[(&str, SetBody)] = &[
    ("generate_series_int4", |call| integers(call, |number| i32::try_from(number).ok().map(Value::Integer))),
    ("generate_series_step_int4", |call| integers(call, |number| i32::try_from(number).ok().map(Value::Integer))),
    ("generate_series_int8", |call| integers(call, |number| i64::try_from(number).ok().map(Value::BigInt))),
    ("generate_series_step_int8", |call| integers(call, |number| i64::try_from(number).ok().map(Value::BigInt))),
    ("generate_series_numeric", numerics),
    ("generate_series_step_numeric", numerics),
    ("generate_series_timestamp", instants),
    ("generate_series_timestamptz", instants),
    ("generate_subscripts", subscripts),
    ("generate_subscripts_nodir", subscripts),
    ("array_unnest", |call| Ok(single(call.elements(0).to_vec().into_iter()))),
    ("multirange_unnest", |call| {
        Ok(single(call.multirange(0).ranges().map(Value::range).collect::<Vec<_>>().into_iter()))
    }),
    ("regexp_split_to_table_no_flags", |call| Ok(single(split(call)?.into_iter()))),
    ("regexp_split_to_table", |call| Ok(single(parts_of(call, "regexp_split_to_table")?.into_iter()))),
    ("regexp_matches_no_flags", |call| Ok(single(matches_of(call)?.into_iter()))),
    ("regexp_matches", |call| Ok(single(matches_of(call)?.into_iter()))),
    ("pg_timezone_names", zones),
    ("pg_timezone_abbrevs", abbreviations),
    // No table is a partition.
    ("pg_partition_ancestors", |_| Ok(single(std::iter::empty()))),
    ("pg_partition_tree", |_| Ok(single(std::iter::empty()))),
    ("text_to_table", split_plainly),
    ("text_to_table_null", split_plainly),
];

static FUNCTIONS: LazyLock<FxHashMap<FunctionId, SetBody>> = LazyLock::new(|| {
    let by_source: FxHashMap<&str, SetBody> =
        TABLE.iter().chain(json::sets::TABLE).chain(json::path::SETS).chain(SETS_OF_TEXT_SEARCH).copied().collect();
    let internal = Facts::postgresql15().functions.iter().filter(|row| row.language == "internal");
    let found = internal.filter_map(|row| Some((row.id, *by_source.get(row.source.as_ref())?)));
    found.chain(DEBUGS.map(|(id, body)| (FunctionId(id), body))).collect()
});

/// What computes a function of PostgreSQL's that yields a set; `None` for one that is not implemented.
pub fn set_function(id: FunctionId) -> Option<SetBody> {
    FUNCTIONS.get(&id).copied()
}

/// The names by which functions are implemented, for tests.
pub fn sources() -> impl Iterator<Item = &'static str> {
    TABLE.iter().chain(json::sets::TABLE).chain(json::path::SETS).chain(SETS_OF_TEXT_SEARCH).map(|(name, _)| *name)
}

/// Rows of one column.
fn single(values: impl Iterator<Item = Value> + Send + 'static) -> SetRows {
    Box::new(values.map(|value| Ok(vec![value])))
}

fn zero_step() -> ValueError {
    ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, "step size cannot equal zero")
}

/// Counts until the end is passed, or the type's own bound.
fn integers(call: &CallArguments<'_, '_>, make: fn(i128) -> Option<Value>) -> Result<SetRows, ValueError> {
    let (start, end) = (i128::from(call.integer(0)), i128::from(call.integer(1)));
    let step = if call.arguments.len() > 2 { i128::from(call.integer(2)) } else { 1 };
    if step == 0 {
        return Err(zero_step());
    }
    let is_within = move |number: &i128| if step > 0 { *number <= end } else { *number >= end };
    let numbers = std::iter::successors(Some(start), move |number| Some(number + step)).take_while(is_within);
    Ok(single(numbers.map_while(make)))
}

fn numerics(call: &mut CallArguments<'_, '_>) -> Result<SetRows, ValueError> {
    let (start, end) = (call.numeric(0).clone(), call.numeric(1).clone());
    let step = if call.arguments.len() > 2 { call.numeric(2).clone() } else { BigDecimal::from(1) };
    if step.is_zero() {
        return Err(zero_step());
    }
    let is_rising = step > BigDecimal::zero();
    let next = move |number: &BigDecimal| Some(number + &step);
    let is_within = move |number: &BigDecimal| if is_rising { *number <= end } else { *number >= end };
    Ok(single(std::iter::successors(Some(start), next).take_while(is_within).map(Value::numeric)))
}

/// Adds an interval until the end is passed. A sum that is no timestamp any more is an error.
fn instants(call: &mut CallArguments<'_, '_>) -> Result<SetRows, ValueError> {
    let (start, end, step) = (call.value(0).clone(), call.instant(1), call.interval(2));
    let zone = call.zone().clone();
    let sign = step.span_us().cmp(&Interval::ZERO.span_us());
    if sign.is_eq() {
        return Err(zero_step());
    }
    let mut next = Some(Ok(start));
    Ok(Box::new(std::iter::from_fn(move || {
        let current = match next.take()? {
            Ok(current) => current,
            Err(error) => return Some(Err(error)),
        };
        let (Value::Timestamp(at) | Value::TimestampTz(at)) = &current else { return None };
        if if sign.is_gt() { *at > end } else { *at < end } {
            return None;
        }
        next = Some(binary_in(BinaryOperator::Add, &current, &Value::Interval(step), &zone));
        Some(Ok(vec![current]))
    })))
}

/// All zones, as they are now.
fn zones(call: &mut CallArguments<'_, '_>) -> Result<SetRows, ValueError> {
    let now = call.environment.transaction_time;
    Ok(Box::new(Zone::all().map(move |zone| {
        let shown = zone.at(now);
        let (name, abbreviation) = (Value::text(zone.name()), Value::text(shown.abbreviation));
        Ok(vec![name, abbreviation, offset(shown.seconds), Value::Boolean(shown.is_daylight)])
    })))
}

/// All abbreviations, with what they mean now.
fn abbreviations(call: &mut CallArguments<'_, '_>) -> Result<SetRows, ValueError> {
    let now = call.environment.transaction_time;
    Ok(Box::new(values::zone::abbreviations().map(move |(name, abbreviation)| {
        let (seconds, is_daylight) = abbreviation.at(now);
        Ok(vec![Value::text(name), offset(seconds), Value::Boolean(is_daylight)])
    })))
}

fn offset(seconds: i32) -> Value {
    Value::Interval(Interval { microseconds: i64::from(seconds) * MICROSECONDS_PER_SECOND, ..Interval::ZERO })
}

fn subscripts(call: &mut CallArguments<'_, '_>) -> Result<SetRows, ValueError> {
    let length = call.elements(0).len() as i32;
    if call.integer(1) != 1 {
        return Ok(single(std::iter::empty()));
    }
    let first = i32::from(!is_vector(call.types[0].id));
    let all = (0..length).map(move |place| Value::Integer(first + place));
    Ok(match call.arguments.len() > 2 && call.boolean(2) {
        true => single(all.rev()),
        false => single(all),
    })
}

fn split_plainly(call: &mut CallArguments<'_, '_>) -> Result<SetRows, ValueError> {
    Ok(single(parts(call).unwrap_or_default().into_iter()))
}
