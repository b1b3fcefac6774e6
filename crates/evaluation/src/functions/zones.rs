//! AT TIME ZONE, and what else names a zone of its own.
//!
//! Invariant: a zone is an abbreviation if there is one of that name, else a name or a rule of POSIX, as in PostgreSQL. An abbreviation means what it means at
//! the time that it stands beside.

use super::library;
use crate::call::{CallArguments, FunctionResult, Implementation};
use values::Type::Text;
use values::calendar::checked_timestamp;
use values::error::sqlstate;
use values::limits::MICROSECONDS_PER_SECOND;
use values::zone::Abbreviation;
use values::{Type, Value, ValueError, Zone, text};

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("timestamp_zone", |call| {
        let local = call.instant(1);
        instant_of(&NamedZone::of(call.text(0))?, local)
    }),
    ("timestamptz_zone", |call| {
        let at = call.instant(1);
        let seconds = NamedZone::of(call.text(0))?.offset_at(at);
        local_time(at, i64::from(seconds))
    }),
    ("timestamp_izone", |call| {
        let seconds = interval_offset(call)?;
        let at = i128::from(call.instant(1)) - i128::from(seconds) * i128::from(MICROSECONDS_PER_SECOND);
        checked_timestamp(at).map(Value::TimestampTz)
    }),
    ("timestamptz_izone", |call| {
        let seconds = interval_offset(call)?;
        local_time(call.instant(1), seconds)
    }),
];

/// What a name stands for.
pub(super) enum NamedZone {
    Abbreviation(Abbreviation),
    Zone(Zone),
}

impl NamedZone {
    /// Errors: 22023.
    pub(super) fn of(name: &str) -> Result<NamedZone, ValueError> {
        if let Some(abbreviation) = Abbreviation::of(name) {
            return Ok(NamedZone::Abbreviation(abbreviation));
        }
        let found = Zone::of_name(name).map(NamedZone::Zone);
        found.ok_or_else(|| invalid(format!("time zone \"{name}\" not recognized")))
    }

    /// Seconds east of Greenwich at an instant.
    pub(super) fn offset_at(&self, instant: i64) -> i32 {
        match self {
            NamedZone::Abbreviation(abbreviation) => abbreviation.at(instant).0,
            NamedZone::Zone(zone) => zone.at(instant).seconds,
        }
    }

    /// The same at a local time.
    fn offset_of_local(&self, local: i64) -> i32 {
        match self {
            NamedZone::Abbreviation(abbreviation) => abbreviation.offset_of_local(local),
            NamedZone::Zone(zone) => zone.offset_of_local(local),
        }
    }

    /// As a zone: one whose abbreviation it is, with all its offsets.
    fn zone(self) -> Zone {
        match self {
            NamedZone::Zone(zone) | NamedZone::Abbreviation(Abbreviation::InZone { zone, .. }) => zone,
            // No offset in the table is beyond a week.
            NamedZone::Abbreviation(Abbreviation::Fixed { seconds, .. }) => {
                Zone::of_offset(i64::from(seconds)).unwrap_or_default()
            }
        }
    }
}

#[cold]
fn invalid(message: String) -> ValueError {
    ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, message)
}

fn instant_of(zone: &NamedZone, local: i64) -> FunctionResult {
    let offset = i128::from(zone.offset_of_local(local)) * i128::from(MICROSECONDS_PER_SECOND);
    checked_timestamp(i128::from(local) - offset).map(Value::TimestampTz)
}

fn local_time(at: i64, seconds: i64) -> FunctionResult {
    checked_timestamp(i128::from(at) + i128::from(seconds) * i128::from(MICROSECONDS_PER_SECOND)).map(Value::Timestamp)
}

/// The first argument as an offset, in seconds. Errors: 22023 for an interval of months or days.
pub(super) fn interval_offset(call: &CallArguments<'_, '_>) -> Result<i64, ValueError> {
    let span = call.interval(0);
    Zone::interval_offset(&span).ok_or_else(|| {
        let shown = text::to_string(call.value(0)).unwrap_or_default();
        invalid(format!("interval time zone \"{shown}\" must not include months or days"))
    })
}

/// `date_trunc(field, instant, zone)`.
pub(super) fn truncated(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    const TRUNCATE: Implementation = library!("date_trunc", [Text, Type::TimestampTz(None)]);
    let zone = NamedZone::of(call.text(2))?.zone();
    let environment = &mut *call.environment;
    let mut within = crate::call::CallEnvironment {
        transaction_time: environment.transaction_time,
        statement_time: environment.statement_time,
        zone: &zone,
        random: &mut *environment.random,
        session: environment.session,
        patterns: &mut *environment.patterns,
    };
    TRUNCATE(&mut CallArguments {
        arguments: &call.arguments[..2],
        types: call.types,
        result: call.result,
        environment: &mut within,
    })
}

/// `make_timestamptz` with a zone, in which digits behind a sign count hours east of Greenwich. Errors: 22023.
pub(super) fn made_in(name: &str, local: i64) -> FunctionResult {
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        // PostgreSQL has a hint beside: numeric time zones must have "-" or "+" as first character.
        return Err(invalid(format!("invalid input syntax for type numeric time zone: \"{name}\"")));
    }
    if name.starts_with(['+', '-']) {
        // An offset as it stands behind a time.
        match text::parse(&format!("2000-01-01 00:00:00{name}"), Type::TimestampTz(None)) {
            Ok(Value::TimestampTz(midnight)) => {
                return checked_timestamp(i128::from(local) + i128::from(midnight)).map(Value::TimestampTz);
            }
            Err(error) if error.sqlstate == sqlstate::INVALID_TIME_ZONE_DISPLACEMENT_VALUE => {
                return Err(invalid(format!("numeric time zone \"{name}\" out of range")));
            }
            _ => {}
        }
    }
    instant_of(&NamedZone::of(name)?, local)
}
