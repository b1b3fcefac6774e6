//! Rules of POSIX for a zone (`TZ`; The Open Group Base Specifications, chapter 8.3): `CET-1CEST,M3.5.0,M10.5.0/3`.
//!
//! Invariant: what is read here is what PostgreSQL's `tzparse` reads. Without dates, daylight saving time is that of the United States.

use super::database::{LocalKind, ZoneRules};
use crate::calendar::{Civil, civil, day_number, day_of_week, days_in_month};
use crate::limits::ZONE_OFFSET_HOURS_MAX;
use std::ops::RangeInclusive;

/// When daylight saving time is kept where a rule does not say.
const DEFAULT_DATES: &str = ",M3.2.0,M11.1.0";

/// A rule that goes on for ever.
pub(super) struct Tail {
    standard: usize,
    daylight: Option<Daylight>,
}

struct Daylight {
    kind: usize,
    begin: YearlyRule,
    end: YearlyRule,
    /// Seconds east of Greenwich of both kinds.
    standard_seconds: i64,
    daylight_seconds: i64,
}

/// A moment of each year, in the local time before it.
struct YearlyRule {
    day: RuleDay,
    /// Seconds from that day's midnight; more than a day, and negative ones too.
    seconds: i64,
}

enum RuleDay {
    /// `Jn`: 1 to 365, without the 29th of February.
    CommonYear(i64),
    /// `n`: 0 to 365.
    Year(i64),
    /// `Mm.w.d`: the last one in week 5.
    WeekdayOfMonth { month: u32, week: i64, weekday: i64 },
}

impl YearlyRule {
    /// In seconds since 1970, as if the zone was Greenwich.
    fn local(&self, year: i64) -> i64 {
        let first = day_number(Civil { year, month: 1, day: 1 });
        let day = match self.day {
            RuleDay::CommonYear(day) => {
                let is_leap = days_in_month(year, 2) == 29;
                first + day - 1 + i64::from(is_leap && day >= 60)
            }
            RuleDay::Year(day) => first + day,
            RuleDay::WeekdayOfMonth { month, week, weekday } => {
                let first = day_number(Civil { year, month, day: 1 });
                let earliest = first + (weekday - day_of_week(first)).rem_euclid(7);
                let last = first + i64::from(days_in_month(year, month)) - 1;
                let wanted = earliest + 7 * (week - 1);
                if wanted > last { wanted - 7 } else { wanted }
            }
        };
        day * super::SECONDS_PER_DAY + super::UNIX_EPOCH_SECONDS + self.seconds
    }
}

impl Tail {
    /// Transitions of the years around an instant, in their order.
    pub(super) fn around(&self, at: i64) -> Vec<(i64, usize)> {
        let days = (at - super::UNIX_EPOCH_SECONDS).div_euclid(super::SECONDS_PER_DAY);
        let year = civil(days).year;
        self.of_years(year - 1..=year + 1)
    }

    /// Transitions of some years, in their order.
    pub(super) fn of_years(&self, years: RangeInclusive<i64>) -> Vec<(i64, usize)> {
        let Some(daylight) = &self.daylight else { return Vec::new() };
        let mut found: Vec<(i64, usize)> = years
            .flat_map(|year| {
                [
                    (daylight.begin.local(year) - daylight.standard_seconds, daylight.kind),
                    (daylight.end.local(year) - daylight.daylight_seconds, self.standard),
                ]
            })
            .collect();
        found.sort_unstable_by_key(|(begin, kind)| (*begin, *kind == self.standard));
        found
    }
}

/// The zone that a rule names.
pub(super) fn zone(text: &str) -> Option<ZoneRules> {
    let mut kinds = Vec::new();
    let tail = tail(text, &mut kinds)?;
    Some(ZoneRules { name: text.into(), kinds, transitions: Vec::new(), tail: Some(tail) })
}

/// Reads a rule. Its kinds of time are found among those that are known, or added.
pub(super) fn tail(text: &str, kinds: &mut Vec<LocalKind>) -> Option<Tail> {
    let mut place = |seconds: i64, is_daylight: bool, abbreviation: &str| {
        let kind = LocalKind { seconds: seconds as i32, is_daylight, abbreviation: abbreviation.into() };
        kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
            kinds.push(kind);
            kinds.len() - 1
        })
    };
    let mut reader = RuleReader(text);
    let name = reader.name()?;
    let standard_seconds = -reader.offset()?;
    let standard = place(standard_seconds, false, name);
    if reader.0.is_empty() {
        return Some(Tail { standard, daylight: None });
    }
    let name = reader.name().filter(|name| !name.is_empty())?;
    let daylight_seconds = match reader.0.starts_with([',', ';']) || reader.0.is_empty() {
        true => standard_seconds + 3600,
        false => -reader.offset()?,
    };
    if reader.0.is_empty() {
        reader.0 = DEFAULT_DATES;
    }
    let begin = reader.date()?;
    let end = reader.date()?;
    if !reader.0.is_empty() {
        return None;
    }
    let kind = place(daylight_seconds, true, name);
    let daylight = Daylight { kind, begin, end, standard_seconds, daylight_seconds };
    Some(Tail { standard, daylight: Some(daylight) })
}

/// The rest of a rule.
struct RuleReader<'a>(&'a str);

impl<'a> RuleReader<'a> {
    /// An abbreviation, which may be empty, or stand between `<` and `>`.
    fn name(&mut self) -> Option<&'a str> {
        if let Some(quoted) = self.0.strip_prefix('<') {
            let (name, rest) = quoted.split_once('>')?;
            self.0 = rest;
            return Some(name);
        }
        let end = self.0.find(|letter: char| letter.is_ascii_digit() || ",-+".contains(letter)).unwrap_or(self.0.len());
        let (name, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(name)
    }

    fn skip(&mut self, letter: char) -> bool {
        let rest = self.0.strip_prefix(letter);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn number(&mut self, least: i64, most: i64) -> Option<i64> {
        let end = self.0.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at(end);
        self.0 = rest;
        digits.parse().ok().filter(|number| (least..=most).contains(number))
    }

    /// `hh[:mm[:ss]]` with a sign or without, in seconds.
    fn offset(&mut self) -> Option<i64> {
        let is_negative = self.skip('-');
        if !is_negative {
            self.skip('+');
        }
        let mut seconds = self.number(0, ZONE_OFFSET_HOURS_MAX)? * 3600;
        if self.skip(':') {
            seconds += self.number(0, 59)? * 60;
            if self.skip(':') {
                seconds += self.number(0, 60)?;
            }
        }
        Some(if is_negative { -seconds } else { seconds })
    }

    /// `,date[/time]`.
    fn date(&mut self) -> Option<YearlyRule> {
        if !self.skip(',') && !self.skip(';') {
            return None;
        }
        let day = if self.skip('J') {
            RuleDay::CommonYear(self.number(1, 365)?)
        } else if self.skip('M') {
            let month = self.number(1, 12)? as u32;
            let week = self.skip('.').then(|| self.number(1, 5))??;
            let weekday = self.skip('.').then(|| self.number(0, 6))??;
            RuleDay::WeekdayOfMonth { month, week, weekday }
        } else {
            RuleDay::Year(self.number(0, 365)?)
        };
        let seconds = if self.skip('/') { self.offset()? } else { 2 * 3600 };
        Some(YearlyRule { day, seconds })
    }
}
