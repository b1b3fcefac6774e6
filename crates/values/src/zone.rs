//! Time zones: what a local time is in universal time, and the reverse.
//!
//! A zone is found by its name in the time zone database that is bundled, or by a rule of POSIX (`EST5EDT`, `<+02>-02`), as PostgreSQL's `pg_tzset` does.
//! Nothing of the host is read. Invariant: a zone is known by its name alone, so that two servers of one version mean the same by it.
//!
//! Local times that a change of the clock leaves out, or has twice, are resolved as PostgreSQL does (`DetermineTimeZoneOffset`): in a gap the offset before it
//! holds, in an overlap the one behind it.

mod abbreviations;
mod database;
mod posix;

pub use abbreviations::{Abbreviation, all as abbreviations};

use crate::calendar::clock_of;
use crate::limits::{MICROSECONDS_PER_SECOND, ZONE_NAME_BYTES_MAX, ZONE_OFFSET_HOURS_MAX};
use crate::value::Interval;
use database::{LocalKind, ZoneRules};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Seconds from 1970-01-01 to 2000-01-01, from which values count.
const UNIX_EPOCH_SECONDS: i64 = crate::calendar::UNIX_EPOCH_DAYS * 86_400;
const SECONDS_PER_DAY: i64 = 86_400;

/// A time zone. The default is UTC.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Zone(Option<Arc<ZoneRules>>);

/// What a clock shows beside the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalOffset<'a> {
    /// Seconds east of Greenwich.
    pub seconds: i32,
    /// Whether daylight saving time is kept.
    pub is_daylight: bool,
    /// What the zone is called then, such as `CEST`.
    pub abbreviation: &'a str,
}

impl Zone {
    /// Universal time.
    pub const UTC: Zone = Zone(None);

    /// The zone of a name in any case, or of a rule of POSIX; `None` if it is neither.
    pub fn of_name(name: &str) -> Option<Zone> {
        if name.len() > ZONE_NAME_BYTES_MAX {
            return None;
        }
        if name.eq_ignore_ascii_case("utc") {
            return Some(Zone::UTC);
        }
        let rules = database::find(name).or_else(|| posix::zone(&name.to_ascii_uppercase()).map(Arc::new))?;
        Some(Zone(Some(rules)))
    }

    /// The zone so many seconds east of Greenwich, named as PostgreSQL does (`<+02>-02`); `None` beyond a week.
    pub fn of_offset(east: i64) -> Option<Zone> {
        if east.unsigned_abs() > ZONE_OFFSET_HOURS_MAX as u64 * 3600 {
            return None;
        }
        let clock = clock_of(east.abs());
        let (shown, written) = if east < 0 { ('-', '+') } else { ('+', '-') };
        Zone::of_name(&format!("<{shown}{clock}>{written}{clock}"))
    }

    /// The zone that a setting names: an interval (`INTERVAL '-08:00'`), a number of hours, a name or a rule. The error is a detail, where PostgreSQL has one.
    pub fn of_setting(text: &str) -> Result<Zone, Option<&'static str>> {
        let beyond = Some("UTC timezone offset is out of range.");
        if text.get(..8).is_some_and(|word| word.eq_ignore_ascii_case("interval")) {
            let quoted = text[8..].trim_start_matches(crate::float::is_space).strip_prefix('\'');
            let quoted = quoted.and_then(|quoted| quoted.strip_suffix('\'')).ok_or(None)?;
            let span = crate::interval::parse(quoted).map_err(|_| None)?;
            if span.months != 0 {
                return Err(Some("Cannot specify months in time zone interval."));
            }
            if span.days != 0 {
                return Err(Some("Cannot specify days in time zone interval."));
            }
            return Zone::of_offset(span.microseconds / MICROSECONDS_PER_SECOND).ok_or(beyond);
        }
        let number = text.trim_start_matches(crate::float::is_space);
        let is_number = number.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
        match number.parse::<f64>().ok().filter(|hours| is_number && hours.is_finite()) {
            Some(hours) => Zone::of_offset((hours * 3600.0) as i64).ok_or(beyond),
            None => Zone::of_name(text).ok_or(None),
        }
    }

    /// The offset that an interval beside AT TIME ZONE names, in seconds east of Greenwich; `None` if it has months or days.
    pub fn interval_offset(span: &Interval) -> Option<i64> {
        (span.months == 0 && span.days == 0).then_some(span.microseconds / MICROSECONDS_PER_SECOND)
    }

    /// Its name, as SHOW prints it.
    pub fn name(&self) -> &str {
        self.0.as_ref().map_or("UTC", |rules| &rules.name)
    }

    /// Whether it is UTC by that name.
    pub fn is_utc(&self) -> bool {
        self.0.is_none()
    }

    /// What holds at an instant, in microseconds since 2000-01-01 00:00 UTC.
    pub fn at(&self, instant: i64) -> LocalOffset<'_> {
        self.kind_at(unix_seconds(instant)).map_or(UNIVERSAL, LocalKind::shown)
    }

    /// The local time at an instant, both in microseconds since 2000-01-01. It may lie beyond the bounds of `timestamp`, by less than a week.
    pub fn local(&self, instant: i64) -> i64 {
        instant + i64::from(self.at(instant).seconds) * MICROSECONDS_PER_SECOND
    }

    /// The offset at a local time, in seconds east of Greenwich.
    pub fn offset_of_local(&self, local: i64) -> i32 {
        self.0.as_ref().map_or(0, |rules| rules.offset_of_local(unix_seconds(local)))
    }

    /// The offset that it has at all times, in seconds east of Greenwich; `None` if it has several (`pg_get_timezone_offset`).
    pub fn fixed_offset(&self) -> Option<i32> {
        let Some(rules) = &self.0 else { return Some(0) };
        let first = rules.kinds.first()?.seconds;
        rules.kinds.iter().all(|kind| kind.seconds == first).then_some(first)
    }

    /// The instant of a local time. It may lie beyond the bounds of `timestamptz`.
    pub fn instant(&self, local: i64) -> i128 {
        i128::from(local) - i128::from(self.offset_of_local(local)) * i128::from(MICROSECONDS_PER_SECOND)
    }

    fn kind_at(&self, seconds: i64) -> Option<&LocalKind> {
        self.0.as_ref().map(|rules| rules.kind_at(seconds))
    }

    /// All zones of the database, in the order of their names.
    pub fn all() -> impl Iterator<Item = Zone> {
        database::names().filter_map(Zone::of_name)
    }
}

const UNIVERSAL: LocalOffset<'static> = LocalOffset { seconds: 0, is_daylight: false, abbreviation: "UTC" };

/// Microseconds since 2000 as whole seconds since 1970.
fn unix_seconds(microseconds: i64) -> i64 {
    microseconds.div_euclid(MICROSECONDS_PER_SECOND) + UNIX_EPOCH_SECONDS
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Zone {}

impl Hash for Zone {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Zone({})", self.name())
    }
}

impl TryFrom<String> for Zone {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Zone, Self::Error> {
        Zone::of_name(&name).ok_or("a time zone that is not known")
    }
}

impl From<Zone> for String {
    fn from(zone: Zone) -> String {
        zone.name().to_owned()
    }
}

#[cfg(test)]
mod tests;
