//! `to_char` of timestamps and intervals.

use super::dates::{DAYS, MONTHS, ROMAN_MONTHS, SHORT_NAME, iso_week_begin};
use super::ordinal;
use super::patterns::{DateField, DatePart, DatePattern, DateTemplate};
use crate::call::{CallArguments, FunctionResult};
use crate::functions::texts::within_bounds;
use values::calendar::{Civil, JULIAN_EPOCH, civil, day_number, day_of_week, iso_week, split_timestamp};
use values::error::sqlstate;
use values::limits::{DAYS_PER_MONTH, MICROSECONDS_PER_SECOND};
use values::zone::LocalOffset;
use values::{Value, ValueError};

/// What a time without a zone shows of one.
const NO_ZONE: LocalOffset<'static> = LocalOffset { seconds: 0, is_daylight: false, abbreviation: "" };

/// A time as its fields, or a span of time.
struct DateParts<'a> {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    microsecond: i64,
    day_of_year: i64,
    /// Days since 2000-01-01; none of an interval.
    date: Option<i64>,
    zone: LocalOffset<'a>,
}

/// `to_char(timestamp, text)`.
pub(super) fn timestamp(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    shown(call.text(1), &parts_of(call.instant(0), NO_ZONE))
}

/// `to_char(timestamptz, text)`.
pub(super) fn instant(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let zone = call.zone().at(call.instant(0));
    shown(call.text(1), &parts_of(call.instant(0), zone))
}

/// `to_char(interval, text)`: years, months, days and hours are as the interval has them.
pub(super) fn interval(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let span = call.interval(0);
    let (months, days) = (i64::from(span.months), i64::from(span.days));
    let seconds = span.microseconds / MICROSECONDS_PER_SECOND;
    let parts = DateParts {
        year: months / 12,
        month: months % 12,
        day: days,
        hour: seconds / 3600,
        minute: seconds / 60 % 60,
        second: seconds % 60,
        microsecond: span.microseconds % MICROSECONDS_PER_SECOND,
        day_of_year: months * DAYS_PER_MONTH + days,
        date: None,
        zone: NO_ZONE,
    };
    shown(call.text(1), &parts)
}

fn parts_of(at: i64, zone: LocalOffset<'_>) -> DateParts<'_> {
    let (date, time) = split_timestamp(at + i64::from(zone.seconds) * MICROSECONDS_PER_SECOND);
    let day = civil(date);
    let seconds = time / MICROSECONDS_PER_SECOND;
    DateParts {
        year: day.year,
        month: i64::from(day.month),
        day: i64::from(day.day),
        hour: seconds / 3600,
        minute: seconds / 60 % 60,
        second: seconds % 60,
        microsecond: time % MICROSECONDS_PER_SECOND,
        day_of_year: date - day_number(Civil { year: day.year, month: 1, day: 1 }) + 1,
        date: Some(date),
        zone,
    }
}

fn shown(template: &str, parts: &DateParts<'_>) -> FunctionResult {
    if template.is_empty() {
        return Ok(Value::Null);
    }
    let mut result = String::new();
    for part in DateTemplate::new(template) {
        match part {
            DatePart::Pattern(pattern) => field(&pattern, parts, &mut result)?,
            DatePart::Separator(found) | DatePart::Space(found) | DatePart::Other(found) => result.push(found),
        }
        within_bounds(result.len())?;
    }
    Ok(Value::text(result))
}

/// A word as its pattern is written: in capitals, with a capital, or in small letters.
fn spelled(word: &str, pattern: &str) -> String {
    let mut letters = pattern.bytes().filter(u8::is_ascii_alphabetic);
    let is_upper = |letter: Option<u8>| letter.is_some_and(|letter| letter.is_ascii_uppercase());
    match (is_upper(letters.next()), is_upper(letters.next())) {
        (true, true) => word.to_ascii_uppercase(),
        (true, false) => word.to_owned(),
        _ => word.to_ascii_lowercase(),
    }
}

/// A number of a width, which a minus makes wider.
fn padded(number: i64, width: usize, pattern: &DatePattern<'_>) -> String {
    let width = if pattern.fill { 0 } else { width + usize::from(number < 0) };
    format!("{number:0width$}")
}

/// The same with the width of another number's sign.
fn padded_beside(number: i64, signed: i64, width: usize, pattern: &DatePattern<'_>) -> String {
    let width = if pattern.fill { 0 } else { width + usize::from(signed < 0) };
    format!("{number:0width$}")
}

/// A name with blanks behind it.
fn name(word: &str, width: usize, pattern: &DatePattern<'_>) -> String {
    let width = if pattern.fill || pattern.translated { 0 } else { width };
    format!("{:width$}", spelled(word, pattern.name))
}

fn of_dates_only() -> ValueError {
    ValueError::new(sqlstate::INVALID_DATETIME_FORMAT, "invalid format specification for an interval value")
}

fn unsupported() -> ValueError {
    ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, "this template of to_char is not supported for intervals")
}

impl DateParts<'_> {
    /// A year as it is told: 1 before Christ is 0 here.
    fn told(&self, year: i64) -> i64 {
        if self.date.is_some() && year <= 0 { 1 - year } else { year }
    }

    fn is_interval(&self) -> bool {
        self.date.is_none()
    }
}

/// Appends what a pattern stands for.
fn field(pattern: &DatePattern<'_>, parts: &DateParts<'_>, result: &mut String) -> Result<(), ValueError> {
    if parts.is_interval() && is_of_dates(pattern.field) {
        return Err(of_dates_only());
    }
    if let Some(text) = word(pattern, parts) {
        result.push_str(&text);
        return Ok(());
    }
    let Some(digits) = number(pattern, parts)? else { return Ok(()) };
    result.push_str(&digits);
    if let Some(is_upper) = pattern.ordinal {
        result.push_str(ordinal(&digits, is_upper));
    }
    Ok(())
}

/// What no interval has.
fn is_of_dates(field: DateField) -> bool {
    matches!(
        field,
        DateField::EraDotted
            | DateField::Era
            | DateField::DayName
            | DateField::DayShort
            | DateField::DayOfWeek
            | DateField::IsoDay
            | DateField::MonthName
            | DateField::MonthShort
            | DateField::Offset
            | DateField::ZoneHours
            | DateField::ZoneMinutes
            | DateField::ZoneName
    )
}

/// What is no number, or takes no letters of ordinals; `None` for all else.
fn word(pattern: &DatePattern<'_>, parts: &DateParts<'_>) -> Option<String> {
    let chosen = |is_second: bool, words: [&'static str; 2]| spelled(words[usize::from(is_second)], pattern.name);
    let is_afternoon = parts.hour % 24 >= 12;
    let of_month = || parts.month.checked_sub(1).and_then(|place| MONTHS.get(usize::try_from(place).ok()?));
    let weekday = DAYS[day_of_week(parts.date.unwrap_or_default()) as usize];
    let (sign, offset) = (if parts.zone.seconds < 0 { '-' } else { '+' }, parts.zone.seconds.abs());
    let (hours, minutes) = (offset / 3600, offset % 3600 / 60);
    Some(match pattern.field {
        DateField::Exact => String::new(),
        DateField::HalfDayDotted => chosen(is_afternoon, ["A.M.", "P.M."]),
        DateField::HalfDay => chosen(is_afternoon, ["AM", "PM"]),
        DateField::EraDotted => chosen(parts.year <= 0, ["A.D.", "B.C."]),
        DateField::Era => chosen(parts.year <= 0, ["AD", "BC"]),
        DateField::MonthName => name(of_month()?, 9, pattern),
        DateField::MonthShort => spelled(&of_month()?[..SHORT_NAME], pattern.name),
        DateField::DayName => name(weekday, 9, pattern),
        DateField::DayShort => spelled(&weekday[..SHORT_NAME], pattern.name),
        DateField::Roman => match roman_month(parts) {
            Some(month) => format!("{:width$}", spelled(month, pattern.name), width = if pattern.fill { 0 } else { 4 }),
            None => String::new(),
        },
        DateField::ZoneName => match pattern.name.starts_with('t') {
            true => parts.zone.abbreviation.to_ascii_lowercase(),
            false => parts.zone.abbreviation.to_owned(),
        },
        DateField::ZoneHours => format!("{sign}{hours:02}"),
        DateField::ZoneMinutes => format!("{minutes:02}"),
        DateField::Offset => {
            let width = if pattern.fill { 0 } else { 2 };
            let behind = if offset % 3600 == 0 { String::new() } else { format!(":{minutes:02}") };
            format!("{sign}{hours:0width$}{behind}")
        }
        _ => return None,
    })
}

/// The month of a date or of an interval, which counts back if it is negative.
fn roman_month(parts: &DateParts<'_>) -> Option<&'static str> {
    let place = match parts.month {
        0 if parts.year == 0 => return None,
        0 if parts.year > 0 => 0,
        0 => 11,
        month if month < 0 => -month - 1,
        month => 12 - month,
    };
    ROMAN_MONTHS.get(usize::try_from(place).ok()?).copied()
}

/// The digits of a pattern; `None` where there is nothing to show.
fn number(pattern: &DatePattern<'_>, parts: &DateParts<'_>) -> Result<Option<String>, ValueError> {
    let of_iso = || parts.date.map(iso_week).ok_or_else(unsupported);
    Ok(Some(match pattern.field {
        DateField::Hour12 => {
            let hour = if parts.hour % 12 == 0 { 12 } else { parts.hour % 12 };
            padded_beside(hour, parts.hour, 2, pattern)
        }
        DateField::Hour24 => padded(parts.hour, 2, pattern),
        DateField::Minute => padded(parts.minute, 2, pattern),
        DateField::Second => padded(parts.second, 2, pattern),
        DateField::Fraction(digits) => {
            format!("{:0width$}", parts.microsecond / 10_i64.pow(6 - digits), width = digits as usize)
        }
        DateField::Milliseconds => format!("{:03}", parts.microsecond / 1000),
        DateField::Microseconds => format!("{:06}", parts.microsecond),
        DateField::SecondsOfDay => (parts.hour * 3600 + parts.minute * 60 + parts.second).to_string(),
        DateField::Month => padded(parts.month, 2, pattern),
        DateField::DayOfYear => padded_beside(parts.day_of_year, 0, 3, pattern),
        DateField::IsoDayOfYear => {
            let (year, _) = of_iso()?;
            let day = parts.date.unwrap_or_default() - iso_week_begin(year, 1) + 1;
            padded(day, 3, pattern)
        }
        DateField::Day => padded_beside(parts.day, 0, 2, pattern),
        DateField::DayOfWeek => (day_of_week(parts.date.unwrap_or_default()) + 1).to_string(),
        DateField::IsoDay => ((day_of_week(parts.date.unwrap_or_default()) + 6) % 7 + 1).to_string(),
        DateField::WeekOfYear => padded_beside((parts.day_of_year - 1) / 7 + 1, 0, 2, pattern),
        DateField::WeekOfMonth => ((parts.day - 1) / 7 + 1).to_string(),
        DateField::IsoWeek => padded(of_iso()?.1, 2, pattern),
        DateField::Quarter if parts.month == 0 => return Ok(None),
        DateField::Quarter => ((parts.month - 1) / 3 + 1).to_string(),
        DateField::Century => century(pattern, parts),
        DateField::YearWithComma => {
            let year = parts.told(parts.year);
            let thousands = year / 1000;
            format!("{thousands},{:03}", year - thousands * 1000)
        }
        DateField::Year(digits) => year(parts.told(parts.year), parts.told(parts.year), digits, pattern),
        DateField::IsoYear(digits) => {
            let own = of_iso()?.0;
            year(parts.told(own), parts.told(parts.year), digits, pattern)
        }
        DateField::Julian => (parts.date.ok_or_else(unsupported)? + JULIAN_EPOCH).to_string(),
        _ => return Ok(None),
    }))
}

/// The last digits of a year, as wide as another one's sign says.
fn year(year: i64, signed: i64, digits: u32, pattern: &DatePattern<'_>) -> String {
    match digits {
        4 => padded_beside(year, signed, 4, pattern),
        1 => (year % 10).to_string(),
        _ => padded_beside(year % 10_i64.pow(digits), signed, digits as usize, pattern),
    }
}

fn century(pattern: &DatePattern<'_>, parts: &DateParts<'_>) -> String {
    let century = match parts.year {
        year if parts.is_interval() => year / 100,
        year if year > 0 => (year - 1) / 100 + 1,
        year => year / 100 - 1,
    };
    if century.abs() <= 99 { padded(century, 2, pattern) } else { century.to_string() }
}
