//! `to_char` of timestamps, by templates of the usual numbers of a date, a time and a zone. Other patterns are refused with 0A000.

use crate::call::{CallArguments, FunctionResult, Implementation};
use values::calendar::{civil, split_timestamp};
use values::error::sqlstate;
use values::limits::MICROSECONDS_PER_SECOND;
use values::zone::LocalOffset;
use values::{Value, ValueError};

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("timestamp_to_char", |call| to_text(call, NO_ZONE)),
    ("timestamptz_to_char", |call| {
        let shown = call.zone().at(call.instant(0));
        to_text(call, shown)
    }),
];

/// What a time without a zone shows of one.
const NO_ZONE: LocalOffset<'static> = LocalOffset { seconds: 0, is_daylight: false, abbreviation: "" };

/// Patterns, a longer one before what it begins with.
const PATTERNS: [&str; 14] =
    ["HH24", "HH12", "YYYY", "TZH", "TZM", "HH", "MI", "MM", "DD", "SS", "MS", "US", "TZ", "OF"];

fn unsupported() -> ValueError {
    ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, "this template of to_char is not supported yet")
}

fn to_text(call: &CallArguments<'_, '_>, zone: LocalOffset<'_>) -> FunctionResult {
    let at = call.instant(0) + i64::from(zone.seconds) * MICROSECONDS_PER_SECOND;
    let mut rest = call.text(1);
    if rest.is_empty() {
        return Ok(Value::Null);
    }
    let mut result = String::new();
    while let Some(first) = rest.chars().next() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (text, behind) =
                quoted.split_once('"').filter(|(text, _)| !text.contains('\\')).ok_or_else(unsupported)?;
            result.push_str(text);
            rest = behind;
            continue;
        }
        let begins = |pattern: &&&str| rest.get(..pattern.len()).is_some_and(|head| head.eq_ignore_ascii_case(pattern));
        if let Some(pattern) = PATTERNS.iter().find(begins) {
            let (written, behind) = rest.split_at(pattern.len());
            result.push_str(&match zone_field(written, zone) {
                Some(field) => field,
                None => field(pattern, at)?,
            });
            rest = behind;
        } else if first.is_alphanumeric() || first == '\\' {
            return Err(unsupported());
        } else {
            result.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    super::texts::bounded(result)
}

/// What a pattern of the zone stands for, written so; `None` for any other.
fn zone_field(written: &str, zone: LocalOffset<'_>) -> Option<String> {
    let sign = if zone.seconds < 0 { '-' } else { '+' };
    let minutes = zone.seconds.abs() / 60;
    let (hours, minutes) = (minutes / 60, minutes % 60);
    Some(match written {
        "TZ" => zone.abbreviation.to_owned(),
        "tz" => zone.abbreviation.to_lowercase(),
        "TZH" | "tzh" => format!("{sign}{hours:02}"),
        "TZM" | "tzm" => format!("{minutes:02}"),
        "OF" | "of" if minutes == 0 => format!("{sign}{hours:02}"),
        "OF" | "of" => format!("{sign}{hours:02}:{minutes:02}"),
        _ => return None,
    })
}

/// What a pattern stands for.
fn field(pattern: &str, at: i64) -> Result<String, ValueError> {
    let (days, time) = split_timestamp(at);
    let date = civil(days);
    let seconds = time / MICROSECONDS_PER_SECOND;
    let fraction = time % MICROSECONDS_PER_SECOND;
    let hour = seconds / 3600;
    Ok(match pattern {
        "YYYY" if date.year > 0 => format!("{:04}", date.year),
        "MM" => format!("{:02}", date.month),
        "DD" => format!("{:02}", date.day),
        "HH24" => format!("{hour:02}"),
        "HH12" | "HH" => format!("{:02}", if hour % 12 == 0 { 12 } else { hour % 12 }),
        "MI" => format!("{:02}", seconds / 60 % 60),
        "SS" => format!("{:02}", seconds % 60),
        "MS" => format!("{:03}", fraction / 1000),
        "US" => format!("{fraction:06}"),
        _ => return Err(unsupported()),
    })
}
