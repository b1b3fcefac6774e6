//! The rows of `pg_timezone_names` and `pg_timezone_abbrevs`, as they are at an instant, in microseconds since 2000-01-01 00:00 UTC.

use super::rows::{Row, row};
use values::Zone;
use values::limits::MICROSECONDS_PER_SECOND;

/// All zones.
pub(super) fn names(now: i64) -> Vec<Row> {
    let row_of = |zone: Zone| {
        let shown = zone.at(now);
        let offset = i64::from(shown.seconds) * MICROSECONDS_PER_SECOND;
        row! { name: zone.name(), abbrev: shown.abbreviation, utc_offset: offset, is_dst: shown.is_daylight }
    };
    Zone::all().map(row_of).collect()
}

/// All abbreviations, with what they mean then.
pub(super) fn abbreviations(now: i64) -> Vec<Row> {
    let all = values::zone::abbreviations();
    all.map(|(name, abbreviation)| {
        let (seconds, is_daylight) = abbreviation.at(now);
        row! { abbrev: name, utc_offset: i64::from(seconds) * MICROSECONDS_PER_SECOND, is_dst: is_daylight }
    })
    .collect()
}
