//! `interval`: reading PostgreSQL's and ISO 8601's forms, printing in `IntervalStyle` postgres, and computing.
//!
//! Invariant: the three units stay apart; a fraction of a larger unit spills into smaller ones only where PostgreSQL
//! spills it (a month counts 30 days, a day 24 hours).

use crate::calendar::write_fraction;
use crate::error::{ValueError, sqlstate};
use crate::float::is_space;
use crate::limits::{DAYS_PER_MONTH, MICROSECONDS_PER_DAY, MICROSECONDS_PER_SECOND};
use crate::value::Interval;
use std::io::Write;

/// Longest text that is read as an interval, in bytes.
const TEXT_BYTES_MAX: usize = 256;

/// What a unit counts: months, days, or microseconds, each times a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IntervalUnit {
    Months(i64),
    Days(i64),
    Microseconds(i64),
}

const MICROSECOND: IntervalUnit = IntervalUnit::Microseconds(1);
const MILLISECOND: IntervalUnit = IntervalUnit::Microseconds(1000);
const SECOND: IntervalUnit = IntervalUnit::Microseconds(MICROSECONDS_PER_SECOND);
const MINUTE: IntervalUnit = IntervalUnit::Microseconds(60 * MICROSECONDS_PER_SECOND);
const HOUR: IntervalUnit = IntervalUnit::Microseconds(3600 * MICROSECONDS_PER_SECOND);
const DAY: IntervalUnit = IntervalUnit::Days(1);
const MONTH: IntervalUnit = IntervalUnit::Months(1);
const YEAR: IntervalUnit = IntervalUnit::Months(12);

fn unit(word: &str) -> Option<IntervalUnit> {
    Some(match word.to_ascii_lowercase().as_str() {
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecond" | "microseconds" | "microsecon" => MICROSECOND,
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecond" | "milliseconds" | "millisecon" => MILLISECOND,
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND,
        "m" | "min" | "mins" | "minute" | "minutes" => MINUTE,
        "h" | "hr" | "hrs" | "hour" | "hours" => HOUR,
        "d" | "day" | "days" => DAY,
        "w" | "week" | "weeks" => IntervalUnit::Days(7),
        "mon" | "mons" | "month" | "months" => MONTH,
        "y" | "yr" | "yrs" | "year" | "years" => YEAR,
        "dec" | "decs" | "decade" | "decades" => IntervalUnit::Months(120),
        "c" | "cent" | "century" | "centuries" => IntervalUnit::Months(1200),
        "mil" | "mils" | "millennia" | "millennium" => IntervalUnit::Months(12_000),
        _ => return None,
    })
}

/// Sums wide enough that only the result needs a check.
#[derive(Default)]
struct IntervalSum {
    /// Units that have been given: each may come once.
    seen: Vec<IntervalUnit>,
    /// A field exceeded its bounds before anything was summed up.
    overflow: bool,
    months: i128,
    days: i128,
    microseconds: i128,
}

impl IntervalSum {
    /// Adds a whole number and a fraction, both of the same sign, of a unit.
    fn add(&mut self, whole: i64, fraction: f64, unit: IntervalUnit) -> Option<()> {
        // A fraction of a second stands for the smaller units too.
        if unit == SECOND && fraction != 0.0 {
            self.claim(&[SECOND, MILLISECOND, MICROSECOND])?;
        } else {
            self.claim(&[unit])?;
        }
        self.add_claimed(whole, fraction, unit);
        Some(())
    }

    /// Notes that units have been given; `None` if one of them was before.
    fn claim(&mut self, units: &[IntervalUnit]) -> Option<()> {
        if units.iter().any(|unit| self.seen.contains(unit)) {
            return None;
        }
        self.seen.extend_from_slice(units);
        Some(())
    }

    fn add_claimed(&mut self, whole: i64, fraction: f64, unit: IntervalUnit) {
        let is_clock = matches!(unit, IntervalUnit::Microseconds(_));
        self.overflow |= !is_clock && i32::try_from(whole).is_err();
        match unit {
            IntervalUnit::Months(factor) => {
                self.months += i128::from(whole) * i128::from(factor);
                if factor == 1 {
                    self.add_days(fraction * DAYS_PER_MONTH as f64);
                } else {
                    self.months += (fraction * factor as f64).round_ties_even() as i128;
                }
            }
            IntervalUnit::Days(factor) => {
                self.days += i128::from(whole) * i128::from(factor);
                self.add_days(fraction * factor as f64);
            }
            IntervalUnit::Microseconds(factor) => {
                self.microseconds += i128::from(whole) * i128::from(factor);
                self.microseconds += (fraction * factor as f64).round_ties_even() as i128;
            }
        }
    }

    /// Adds a number of days with a fraction, which becomes microseconds.
    fn add_days(&mut self, days: f64) {
        let whole = days.trunc();
        self.days += whole as i128;
        self.microseconds += ((days - whole) * MICROSECONDS_PER_DAY as f64).round_ties_even() as i128;
    }

    fn negate(self) -> Self {
        Self { months: -self.months, days: -self.days, microseconds: -self.microseconds, ..self }
    }

    /// Checks the bounds. Errors: 22015 for a field, 22008 for the whole; `input` completes the message.
    fn finish(&self, input: &str) -> Result<Interval, ValueError> {
        let days = i32::try_from(self.days).ok().filter(|_| !self.overflow);
        let Some((days, microseconds)) = days.zip(i64::try_from(self.microseconds).ok()) else {
            return Err(ValueError::new(
                sqlstate::INTERVAL_FIELD_OVERFLOW,
                format!("interval field value out of range: \"{input}\""),
            ));
        };
        let months = i32::try_from(self.months).map_err(|_| out_of_range())?;
        Ok(Interval { months, days, microseconds })
    }
}

/// Reads an interval. Errors: 22007 for the syntax, 22015 for a field beyond its bounds.
pub(crate) fn parse(input: &str) -> Result<Interval, ValueError> {
    let text = input.trim_matches(is_space);
    let sum = if text.len() > TEXT_BYTES_MAX || !text.is_ascii() {
        None
    } else if let Some(rest) = text.strip_prefix('P') {
        parse_iso(rest)
    } else {
        parse_words(text)
    };
    let sum = sum.ok_or_else(|| {
        ValueError::new(
            sqlstate::INVALID_DATETIME_FORMAT,
            format!("invalid input syntax for type interval: \"{input}\""),
        )
    })?;
    sum.finish(input)
}

/// A number with an optional sign and decimals: whole part and fraction, both signed.
fn number(text: &str) -> Option<(i64, f64)> {
    let negative = text.starts_with('-');
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction: f64 = if fraction.is_empty() { 0.0 } else { format!("0.{fraction}").parse().ok()? };
    Some(if negative { (-whole, -fraction) } else { (whole, fraction) })
}

/// `1 year 2 mons 3 days 04:05:06.7`, `@ 1 hour ago`, `1-2`, `3 4:05`, `1.5h`.
fn parse_words(text: &str) -> Option<IntervalSum> {
    let mut sum = IntervalSum::default();
    let mut pending: Option<(i64, f64)> = None;
    let mut ago = false;
    let mut fields = 0;
    let text = text.strip_prefix('@').unwrap_or(text);
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        if ago {
            return None;
        }
        let alphabetic = rest.starts_with(|character: char| character.is_ascii_alphabetic());
        let end = rest
            .find(|character: char| is_space(character) || character.is_ascii_alphabetic() != alphabetic)
            .unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        rest = after.trim_start_matches(|character| is_space(character) || character == ',');
        if alphabetic {
            if token.eq_ignore_ascii_case("ago") && pending.is_none() && fields > 0 {
                ago = true;
            } else {
                let (whole, fraction) = pending.take()?;
                sum.add(whole, fraction, unit(token)?)?;
            }
        } else if token.contains(':') {
            // A number before a time of day counts days.
            if let Some((whole, fraction)) = pending.take() {
                sum.add(whole, fraction, DAY)?;
            }
            add_time(token, &mut sum)?;
        } else if let Some(months) = years_and_months(token) {
            if pending.is_some() {
                return None;
            }
            sum.months += i128::from(months);
        } else {
            if pending.is_some() {
                return None;
            }
            pending = Some(number(token)?);
        }
        fields += 1;
    }
    if let Some((whole, fraction)) = pending {
        sum.add(whole, fraction, SECOND)?;
    }
    if fields == 0 {
        return None;
    }
    Some(if ago { sum.negate() } else { sum })
}

/// `1-2`: one year and two months.
fn years_and_months(token: &str) -> Option<i64> {
    let negative = token.starts_with('-');
    let (years, months) = token.strip_prefix(['-', '+']).unwrap_or(token).split_once('-')?;
    let (years, months) = (years.parse::<u32>().ok()?, months.parse::<u32>().ok()?);
    if months >= 12 {
        return None;
    }
    let total = i64::from(years) * 12 + i64::from(months);
    Some(if negative { -total } else { total })
}

/// `[-]hours:minutes[:seconds[.fraction]]`, or `minutes:seconds.fraction`.
fn add_time(token: &str, sum: &mut IntervalSum) -> Option<()> {
    let negative = token.starts_with('-');
    let digits = token.strip_prefix(['-', '+']).unwrap_or(token);
    let parts: Vec<&str> = digits.split(':').collect();
    let (hours, minutes, seconds) = match *parts.as_slice() {
        [minutes, seconds] if seconds.contains('.') => ("0", minutes, seconds),
        [hours, minutes] => (hours, minutes, "0"),
        [hours, minutes, seconds] => (hours, minutes, seconds),
        _ => return None,
    };
    let unsigned = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<i64>().ok())?;
    let (hours, minutes) = (unsigned(hours)?, unsigned(minutes)?);
    let (seconds, fraction) = number(seconds).filter(|(whole, fraction)| *whole >= 0 && *fraction >= 0.0)?;
    sum.overflow |= minutes > 59 || seconds > 60;
    let sign = if negative { -1 } else { 1 };
    sum.claim(&[HOUR, MINUTE, SECOND, MILLISECOND, MICROSECOND])?;
    sum.add_claimed(sign * hours, 0.0, HOUR);
    sum.add_claimed(sign * minutes, 0.0, MINUTE);
    sum.add_claimed(sign * seconds, sign as f64 * fraction, SECOND);
    Some(())
}

/// ISO 8601 behind its `P`: `1Y2M3DT4H5M6.7S`, `2W`.
fn parse_iso(text: &str) -> Option<IntervalSum> {
    let mut sum = IntervalSum::default();
    let mut in_time = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first == 'T' && !in_time {
            in_time = true;
            rest = &rest[1..];
            continue;
        }
        let end = rest.find(|character: char| character.is_ascii_alphabetic())?;
        let (whole, fraction) = number(&rest[..end])?;
        let unit = match (rest.as_bytes()[end], in_time) {
            (b'Y', false) => YEAR,
            (b'M', false) => MONTH,
            (b'W', false) => IntervalUnit::Days(7),
            (b'D', false) => DAY,
            (b'H', true) => HOUR,
            (b'M', true) => MINUTE,
            (b'S', true) => SECOND,
            _ => return None,
        };
        sum.add(whole, fraction, unit)?;
        rest = &rest[end + 1..];
    }
    (!text.is_empty()).then_some(sum)
}

/// Appends `1 year 2 mons -3 days +04:05:06.7`; `00:00:00` for nothing.
pub(crate) fn write(interval: &Interval, out: &mut Vec<u8>) {
    let start = out.len();
    let mut before_negative = false;
    let parts = [(interval.months / 12, "year"), (interval.months % 12, "mon"), (interval.days, "day")];
    for (count, name) in parts {
        if count == 0 {
            continue;
        }
        let space = if out.len() > start { " " } else { "" };
        let plus = if before_negative && count > 0 { "+" } else { "" };
        let plural = if count == 1 { "" } else { "s" };
        // Writing to a vector cannot fail.
        let _ = write!(out, "{space}{plus}{count} {name}{plural}");
        before_negative = count < 0;
    }
    if interval.microseconds != 0 || out.len() == start {
        let space = if out.len() > start { " " } else { "" };
        let sign = match (interval.microseconds < 0, before_negative) {
            (true, _) => "-",
            (false, true) => "+",
            (false, false) => "",
        };
        let microseconds = interval.microseconds.unsigned_abs();
        let seconds = microseconds / MICROSECONDS_PER_SECOND as u64;
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let _ = write!(out, "{space}{sign}{hours:02}:{minutes:02}:{seconds:02}");
        write_fraction((microseconds % MICROSECONDS_PER_SECOND as u64) as i64, out);
    }
}

fn out_of_range() -> ValueError {
    ValueError::datetime_out_of_range("interval")
}

/// The sum, unit by unit. Errors: 22008.
pub(crate) fn add(left: &Interval, right: &Interval) -> Result<Interval, ValueError> {
    let sum = || {
        Some(Interval {
            months: left.months.checked_add(right.months)?,
            days: left.days.checked_add(right.days)?,
            microseconds: left.microseconds.checked_add(right.microseconds)?,
        })
    };
    sum().ok_or_else(out_of_range)
}

/// The interval with all units negated. Errors: 22008.
pub(crate) fn negate(interval: &Interval) -> Result<Interval, ValueError> {
    let negated = || {
        Some(Interval {
            months: interval.months.checked_neg()?,
            days: interval.days.checked_neg()?,
            microseconds: interval.microseconds.checked_neg()?,
        })
    };
    negated().ok_or_else(out_of_range)
}

/// Multiplies each unit; fractions of months become days, of days microseconds. Errors: 22008.
pub(crate) fn multiply(interval: &Interval, factor: f64) -> Result<Interval, ValueError> {
    scale(interval, |number| number * factor)
}

/// Divides each unit; as [`multiply`]. Errors: 22008, 22012.
pub(crate) fn divide(interval: &Interval, divisor: f64) -> Result<Interval, ValueError> {
    if divisor == 0.0 {
        return Err(ValueError::division_by_zero());
    }
    scale(interval, |number| number / divisor)
}

/// `interval_mul` and `interval_div`: cascades the fractions down, rounding days at a microsecond (`TSROUND`).
fn scale(interval: &Interval, apply: impl Fn(f64) -> f64) -> Result<Interval, ValueError> {
    let round =
        |number: f64| (number * MICROSECONDS_PER_SECOND as f64).round_ties_even() / MICROSECONDS_PER_SECOND as f64;
    let bounded = |number: f64| {
        let inside = number.is_finite() && number >= f64::from(i32::MIN) && number <= f64::from(i32::MAX);
        if inside { Ok(number.trunc() as i32) } else { Err(out_of_range()) }
    };
    const SECONDS_PER_DAY: f64 = 86_400.0;
    let exact_months = apply(f64::from(interval.months));
    let months = bounded(exact_months)?;
    let exact_days = apply(f64::from(interval.days));
    let days = bounded(exact_days)?;
    let days_of_months = round((exact_months - f64::from(months)) * DAYS_PER_MONTH as f64);
    let whole_days_of_months = days_of_months.trunc();
    let mut seconds = round((exact_days - f64::from(days) + days_of_months - whole_days_of_months) * SECONDS_PER_DAY);
    let mut extra_days = whole_days_of_months;
    if seconds.abs() >= SECONDS_PER_DAY {
        extra_days += (seconds / SECONDS_PER_DAY).trunc();
        seconds -= (seconds / SECONDS_PER_DAY).trunc() * SECONDS_PER_DAY;
    }
    let days = bounded(f64::from(days) + extra_days)?;
    let microseconds =
        (apply(interval.microseconds as f64) + seconds * MICROSECONDS_PER_SECOND as f64).round_ties_even();
    // 2^63 itself does not fit.
    if !(microseconds >= i64::MIN as f64 && microseconds < i64::MAX as f64) {
        return Err(out_of_range());
    }
    Ok(Interval { months, days, microseconds: microseconds as i64 })
}
