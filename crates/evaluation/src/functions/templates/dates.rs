//! Names and numbers of the calendar that templates have beyond `values::calendar`.

use values::calendar::{Civil, day_number, day_of_week};

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(super) const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Letters of a short name.
pub(super) const SHORT_NAME: usize = 3;

/// The months in Roman numerals, the last one first.
pub(super) const ROMAN_MONTHS: [&str; 12] = ["XII", "XI", "X", "IX", "VIII", "VII", "VI", "V", "IV", "III", "II", "I"];

/// The Monday of a week of a year of ISO 8601, in days since 2000-01-01.
pub(super) fn iso_week_begin(year: i64, week: i64) -> i64 {
    // The 4th of January is in the first week.
    let fourth = day_number(Civil { year, month: 1, day: 4 });
    fourth - (day_of_week(fourth) + 6) % 7 + (week - 1) * 7
}
