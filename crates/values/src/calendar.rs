//! The proleptic Gregorian calendar: days since 2000-01-01 to and from years, months and days, and how they print.
//!
//! Invariant: for every day in `DATE_MIN..=DATE_MAX`, `day_number(civil(day)) == Some(day)`. Years are astronomical: year
//! 0 is 1 BC.

use crate::error::ValueError;
use crate::limits::{DATE_MAX, DATE_MIN, MICROSECONDS_PER_DAY, MICROSECONDS_PER_SECOND, TIMESTAMP_END, TIMESTAMP_MIN};
use std::io::Write;

/// Days from 0000-03-01, where this calculation starts its years, to 2000-01-01.
const EPOCH_FROM_MARCH_OF_YEAR_0: i64 = 730_425;
/// Days in 400 years.
const DAYS_PER_ERA: i64 = 146_097;
/// Days from 1970-01-01 to 2000-01-01.
pub const UNIX_EPOCH_DAYS: i64 = 10_957;
/// Julian day of 2000-01-01.
pub const JULIAN_EPOCH: i64 = 2_451_545;

/// A day of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Astronomical year: 0 is 1 BC.
    pub year: i64,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
}

/// The calendar day of a day number.
pub fn civil(days: i64) -> Civil {
    let days = days + EPOCH_FROM_MARCH_OF_YEAR_0;
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 } as u32;
    Civil { year: year_of_era + era * 400 + i64::from(month <= 2), month, day }
}

/// The day number of a valid calendar day.
pub fn day_number(date: Civil) -> i64 {
    let year = date.year - i64::from(date.month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (i64::from(date.month) + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(date.day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - EPOCH_FROM_MARCH_OF_YEAR_0
}

/// The last day of a month.
pub fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Day of the week, 0 for Sunday.
pub fn day_of_week(days: i64) -> i64 {
    (days + 6).rem_euclid(7)
}

/// ISO 8601 year and week of a day.
pub fn iso_week(days: i64) -> (i64, i64) {
    // The week belongs to the year of its Thursday.
    let thursday = days - (day_of_week(days) + 6) % 7 + 3;
    let year = civil(thursday).year;
    let first = day_number(Civil { year, month: 1, day: 1 });
    (year, (thursday - first) / 7 + 1)
}

/// Adds months, keeping to the last day of a shorter month.
pub fn add_months(date: Civil, months: i64) -> Civil {
    let total = date.year * 12 + i64::from(date.month) - 1 + months;
    let (year, month) = (total.div_euclid(12), total.rem_euclid(12) as u32 + 1);
    Civil { year, month, day: date.day.min(days_in_month(year, month)) }
}

/// Checks the bounds of `date`. Errors: 22008.
pub fn checked_date(days: i64) -> Result<i32, ValueError> {
    i32::try_from(days)
        .ok()
        .filter(|days| (DATE_MIN..=DATE_MAX).contains(days))
        .ok_or_else(|| ValueError::datetime_out_of_range("date"))
}

/// Checks the bounds of `timestamp` and `timestamptz`. Errors: 22008.
pub fn checked_timestamp(microseconds: i128) -> Result<i64, ValueError> {
    i64::try_from(microseconds)
        .ok()
        .filter(|microseconds| (TIMESTAMP_MIN..TIMESTAMP_END).contains(microseconds))
        .ok_or_else(|| ValueError::datetime_out_of_range("timestamp"))
}

/// The day number and the microseconds within the day.
pub fn split_timestamp(microseconds: i64) -> (i64, i64) {
    (microseconds.div_euclid(MICROSECONDS_PER_DAY), microseconds.rem_euclid(MICROSECONDS_PER_DAY))
}

/// Appends `2024-02-29`, with ` BC` where due.
pub fn write_date(days: i64, out: &mut Vec<u8>) {
    let before_christ = write_day(days, out);
    if before_christ {
        out.extend_from_slice(b" BC");
    }
}

/// Appends the day without its era; true if it is before Christ.
fn write_day(days: i64, out: &mut Vec<u8>) -> bool {
    let Civil { year, month, day } = civil(days);
    let before_christ = year <= 0;
    let year = if before_christ { 1 - year } else { year };
    // Writing to a vector cannot fail.
    let _ = write!(out, "{year:04}-{month:02}-{day:02}");
    before_christ
}

/// Appends `13:05:06.5` for microseconds since midnight.
pub fn write_time(microseconds: i64, out: &mut Vec<u8>) {
    let seconds = microseconds / MICROSECONDS_PER_SECOND;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let _ = write!(out, "{hours:02}:{minutes:02}:{seconds:02}");
    write_fraction(microseconds % MICROSECONDS_PER_SECOND, out);
}

/// Appends a fraction of a second with its point and without final zeros; nothing for 0.
pub fn write_fraction(microseconds: i64, out: &mut Vec<u8>) {
    if microseconds != 0 {
        let _ = write!(out, ".{microseconds:06}");
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
}

/// `02`, `05:30`, `00:53:28`, for a number of seconds that is not negative.
pub(crate) fn clock_of(seconds: i64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (minutes, seconds) {
        (0, 0) => format!("{hours:02}"),
        (_, 0) => format!("{hours:02}:{minutes:02}"),
        _ => format!("{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// An offset as ISO 8601 has it behind a time: `+02`, `-03:30`, `+00:53:28`.
pub(crate) fn offset_text(seconds: i32) -> String {
    format!("{}{}", if seconds < 0 { '-' } else { '+' }, clock_of(i64::from(seconds).abs()))
}

/// Appends `2024-02-29 13:05:06.5`, a local time, with an offset in seconds if there is one, and ` BC` where due.
pub fn write_timestamp(local: i64, offset: Option<i32>, out: &mut Vec<u8>) {
    let (days, time) = split_timestamp(local);
    let before_christ = write_day(days, out);
    out.push(b' ');
    write_time(time, out);
    match offset {
        None => {}
        Some(0) => out.extend_from_slice(b"+00"),
        Some(seconds) => out.extend_from_slice(offset_text(seconds).as_bytes()),
    }
    if before_christ {
        out.extend_from_slice(b" BC");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Otherwise dates would move when they are printed and read.
        #[test]
        fn days_come_back(days in DATE_MIN..=DATE_MAX) {
            let date = civil(i64::from(days));
            prop_assert!((1..=12).contains(&date.month));
            prop_assert!((1..=days_in_month(date.year, date.month)).contains(&date.day));
            prop_assert_eq!(day_number(date), i64::from(days));
        }
    }

    /// The bounds of PostgreSQL's types are the days that they claim to be.
    #[test]
    fn bounds_are_the_documented_days() {
        assert_eq!(civil(i64::from(DATE_MIN)), Civil { year: -4713, month: 11, day: 24 });
        assert_eq!(civil(i64::from(DATE_MAX)), Civil { year: 5_874_897, month: 12, day: 31 });
        assert_eq!(civil(split_timestamp(TIMESTAMP_END).0), Civil { year: 294_277, month: 1, day: 1 });
        assert_eq!(civil(-UNIX_EPOCH_DAYS), Civil { year: 1970, month: 1, day: 1 });
        assert_eq!(day_number(civil(0)), 0);
        // 2000-01-01 was a Saturday, in the last week of 1999.
        assert_eq!(day_of_week(0), 6);
        assert_eq!(iso_week(0), (1999, 52));
    }
}
