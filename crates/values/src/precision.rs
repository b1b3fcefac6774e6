//! Precision of seconds, and the fields of intervals (PostgreSQL's `AdjustTimestampForTypmod` and `AdjustIntervalForTypmod`).
//!
//! Invariant: a value that was rounded stays what it is when it is rounded again.

use crate::limits::MICROSECONDS_PER_SECOND;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Digits of a second that are kept at most.
pub const SECOND_DIGITS_MAX: u8 = 6;

/// All fields of an interval.
const ALL_FIELDS: u16 = 0x7fff;

/// All digits of its seconds, in a modifier.
const ALL_DIGITS: i32 = 0xffff;

/// The fields, in order, with their bits.
const FIELDS: [(u16, &str); 6] =
    [(1 << 2, "year"), (1 << 1, "month"), (1 << 3, "day"), (1 << 10, "hour"), (1 << 11, "minute"), (1 << 12, "second")];

/// The modifier of `interval`: the fields that it keeps, and digits of its seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct IntervalModifier {
    fields: u16,
    digits: Option<u8>,
}

impl IntervalModifier {
    /// All fields, with so many digits of a second.
    pub fn of_digits(digits: u8) -> Self {
        Self { fields: ALL_FIELDS, digits: Some(digits.min(SECOND_DIGITS_MAX)) }
    }

    /// As in `pg_attribute.atttypmod`: fields in the upper half, a bit each, digits in the lower one. `None`: no modifier.
    pub fn of_typmod(typmod: i32) -> Option<Self> {
        let digits = (typmod & ALL_DIGITS != ALL_DIGITS).then_some((typmod & ALL_DIGITS).min(6) as u8);
        (typmod >= 0).then_some(Self { fields: (typmod >> 16) as u16 & ALL_FIELDS, digits })
    }

    /// The same backwards.
    pub fn typmod(self) -> i32 {
        i32::from(self.fields) << 16 | self.digits.map_or(ALL_DIGITS, i32::from)
    }

    /// From the first field to the last one, which may be the same: `day`, `second`. `None`: the standard has no such interval.
    pub fn of_fields(first: &str, last: &str, digits: Option<u8>) -> Option<Self> {
        let place = |name: &str| FIELDS.iter().position(|(_, field)| *field == name);
        let (first, last) = (place(first)?, place(last)?);
        // Months are not of days.
        let is_one = first <= last && (first >= 2 || last < 2);
        let fields = FIELDS.get(first..=last).filter(|_| is_one)?.iter().fold(0, |all, (bit, _)| all | bit);
        (digits.is_none() || last == FIELDS.len() - 1).then_some(Self { fields, digits })
    }

    /// Digits of its seconds; `None`: all of them, or it has none.
    pub fn digits(self) -> Option<u8> {
        self.digits
    }

    /// Its fields, with the digits behind them: `day to second(3)`; `None`: all fields.
    pub fn fields(self) -> Option<String> {
        (self.fields != ALL_FIELDS).then(|| self.to_string().trim_start().to_owned())
    }

    fn has(self, name: &str) -> bool {
        FIELDS.iter().any(|(bit, field)| *field == name && self.fields & bit != 0)
    }

    /// Months, days and microseconds without what is in no field, with rounded seconds.
    pub fn fit(self, (mut months, mut days, mut microseconds): (i32, i32, i64)) -> (i32, i32, i64) {
        if self.fields != ALL_FIELDS {
            let unit = match () {
                () if self.has("second") => 1,
                () if self.has("minute") => 60 * MICROSECONDS_PER_SECOND,
                () if self.has("hour") => 3600 * MICROSECONDS_PER_SECOND,
                () => i64::MAX,
            };
            if !["day", "hour", "minute", "second"].iter().any(|field| self.has(field)) {
                days = 0;
                if !self.has("month") {
                    months = months / 12 * 12;
                }
            }
            microseconds = microseconds / unit * unit;
        }
        (months, days, rounded(microseconds, self.digits))
    }
}

/// Prints it as behind `interval`: ` day to second(3)`.
impl fmt::Display for IntervalModifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.fields != ALL_FIELDS {
            let mut fields = FIELDS.iter().filter(|(bit, _)| self.fields & bit != 0).map(|(_, name)| *name);
            if let Some(first) = fields.next() {
                write!(formatter, " {first}")?;
                if let Some(last) = fields.next_back() {
                    write!(formatter, " to {last}")?;
                }
            }
        }
        match self.digits {
            Some(digits) => write!(formatter, "({digits})"),
            None => Ok(()),
        }
    }
}

/// Microseconds rounded to a number of digits of a second, halves away from zero.
pub fn rounded(microseconds: i64, digits: Option<u8>) -> i64 {
    let Some(digits) = digits.filter(|digits| *digits < SECOND_DIGITS_MAX) else { return microseconds };
    let unit = 10_i128.pow(u32::from(SECOND_DIGITS_MAX - digits));
    let magnitude = (i128::from(microseconds).abs() + unit / 2) / unit * unit;
    let magnitude = i64::try_from(magnitude).unwrap_or(i64::MAX / unit as i64 * unit as i64);
    if microseconds < 0 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields of an interval that are not asked for would stay, or others go.
    #[test]
    fn fields_are_kept_as_postgresql_keeps_them() {
        let span = (14, 3, 4 * 3_600_000_000 + 5 * 60_000_000 + 6_789_567);
        let fitted =
            |first: &str, last: &str, digits| IntervalModifier::of_fields(first, last, digits).unwrap().fit(span);
        assert_eq!(fitted("year", "year", None), (12, 0, 0));
        assert_eq!(fitted("year", "month", None), (14, 0, 0));
        assert_eq!(fitted("day", "day", None), (14, 3, 0));
        assert_eq!(fitted("hour", "hour", None).2, 4 * 3_600_000_000);
        assert_eq!(fitted("day", "second", Some(1)).2, 4 * 3_600_000_000 + 5 * 60_000_000 + 6_800_000);
        assert_eq!(IntervalModifier::of_fields("month", "day", None), None);
        assert_eq!(IntervalModifier::of_fields("day", "hour", Some(2)), None);
    }

    /// A modifier would come back from the catalog as another one.
    #[test]
    fn modifiers_are_written_as_in_pg_attribute() {
        for (typmod, shown) in
            [(0x7fff_0003, "(3)"), (0x1c08_ffff, " day to second"), (0x0004_ffff, " year"), (0x1000_0002, " second(2)")]
        {
            let modifier = IntervalModifier::of_typmod(typmod).unwrap();
            assert_eq!((modifier.typmod(), modifier.to_string().as_str()), (typmod, shown));
        }
        assert_eq!(IntervalModifier::of_typmod(-1), None);
        assert_eq!(IntervalModifier::of_digits(3).typmod(), 0x7fff_0003);
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        assert_eq!(rounded(1_500_000, Some(0)), 2_000_000);
        assert_eq!(rounded(-1_500_000, Some(0)), -2_000_000);
        assert_eq!(rounded(1_234_567, Some(3)), 1_235_000);
        assert_eq!(rounded(1_234_567, Some(6)), 1_234_567);
        assert_eq!(rounded(1_234_567, None), 1_234_567);
    }
}
