//! `to_date` and `to_timestamp` of texts: the fields that a template finds, and the day and time that they make.

use super::dates::{DAYS, MONTHS, ROMAN_MONTHS, SHORT_NAME, iso_week_begin};
use super::patterns::{Convention, DateField, DatePart, DatePattern, DateTemplate, is_blank, is_separator};
use crate::call::{CallArguments, FunctionResult};
use values::calendar::{Civil, checked_date, checked_timestamp, civil, day_number, days_in_month};
use values::error::sqlstate;
use values::limits::{MICROSECONDS_PER_DAY, MICROSECONDS_PER_SECOND};
use values::precision::rounded;
use values::{Value, ValueError};

/// The last year that has a Julian day which is counted.
const YEAR_MAX: i64 = 5_874_898;

/// What was read. Nothing and zero are the same.
#[derive(Default)]
struct ReadFields {
    convention: Option<Convention>,
    hour: i64,
    is_afternoon: i64,
    minute: i64,
    second: i64,
    second_of_day: i64,
    /// 1 is Sunday.
    weekday: i64,
    day: i64,
    day_of_year: i64,
    month: i64,
    millisecond: i64,
    year: i64,
    is_before_christ: i64,
    week: i64,
    week_of_month: i64,
    century: i64,
    julian: i64,
    microsecond: i64,
    /// Digits of a second that the template shows; zero if it does not say.
    precision: i64,
    /// Digits of the year's pattern.
    year_digits: u32,
    has_twelve_hours: bool,
    /// Of the zone; zero without one.
    zone_sign: i64,
    zone_hours: i64,
    zone_minutes: i64,
}

/// A text while it is read.
struct TemplateReader<'a> {
    text: &'a str,
    rest: &'a str,
    /// FX: blanks count.
    is_exact: bool,
    /// Characters passed over that the template does not have.
    extra: i64,
    fields: ReadFields,
}

/// Days since 2000-01-01 and microseconds of the day, and the zone's offset in seconds.
struct ReadInstant {
    day: Civil,
    time: i64,
    zone: Option<i64>,
    /// Digits of a second that are kept; zero for all.
    precision: i64,
}

#[cold]
fn malformed(message: impl Into<String>) -> ValueError {
    ValueError::new(sqlstate::INVALID_DATETIME_FORMAT, message)
}

#[cold]
fn out_of_range(text: &str) -> ValueError {
    let message = format!("date/time field value out of range: \"{text}\"");
    ValueError::new(sqlstate::DATETIME_FIELD_OVERFLOW, message)
}

/// `to_date(text, text)`. Errors: 22007, 22008, 22009.
pub(super) fn date(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let text = call.text(0);
    let read = read(text, call.text(1))?;
    let beyond = || {
        let message = format!("date out of range: \"{text}\"");
        ValueError::new(sqlstate::DATETIME_FIELD_OVERFLOW, message)
    };
    if read.day.year.abs() > YEAR_MAX {
        return Err(beyond());
    }
    checked_date(day_number(read.day)).map(Value::Date).map_err(|_| beyond())
}

/// `to_timestamp(text, text)`. Errors: as above.
pub(super) fn timestamp(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let read = read(call.text(0), call.text(1))?;
    if read.day.year.abs() > YEAR_MAX {
        return checked_timestamp(i128::MAX).map(Value::TimestampTz);
    }
    let local = i128::from(day_number(read.day)) * i128::from(MICROSECONDS_PER_DAY) + i128::from(read.time);
    // A local time a little beyond the bounds may be an instant within.
    let near =
        i64::try_from(local).map_err(|_| checked_timestamp(i128::MAX).err().unwrap_or_else(|| out_of_range("")))?;
    let instant = match read.zone {
        Some(east) => local - i128::from(east) * i128::from(MICROSECONDS_PER_SECOND),
        None => call.zone().instant(near),
    };
    let instant = checked_timestamp(instant)?;
    let kept = if read.precision == 0 { instant } else { rounded(instant, u8::try_from(read.precision).ok()) };
    Ok(Value::TimestampTz(kept))
}

fn read(text: &str, template: &str) -> Result<ReadInstant, ValueError> {
    let mut reader = TemplateReader { text, rest: text, is_exact: false, extra: 0, fields: ReadFields::default() };
    let mut is_first = true;
    for part in DateTemplate::new(template) {
        if reader.rest.is_empty() {
            break;
        }
        reader.part(&part, is_first)?;
        is_first = false;
    }
    reader.instant()
}

/// Fits a year of less than four digits to the one nearest to 2020.
fn near_2020(year: i64) -> i64 {
    match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}

impl<'a> TemplateReader<'a> {
    fn first(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn skip(&mut self) {
        self.rest = self.rest.get(self.first().map_or(0, char::len_utf8)..).unwrap_or_default();
    }

    fn skip_blanks(&mut self) {
        while self.first().is_some_and(is_blank) {
            self.skip();
            self.extra += 1;
        }
    }

    fn part(&mut self, part: &DatePart<'_>, is_first: bool) -> Result<(), ValueError> {
        let pattern = match part {
            DatePart::Pattern(pattern) => Some(pattern),
            _ => None,
        };
        if !self.is_exact && pattern.map_or(is_first, |pattern| pattern.field != DateField::Exact) {
            self.skip_blanks();
        }
        match part {
            DatePart::Pattern(pattern) => {
                self.pattern(pattern)?;
                if !self.is_exact {
                    self.extra = 0;
                    self.skip_blanks();
                }
            }
            // One of the template passes over one of the text, or over nothing.
            DatePart::Separator(_) | DatePart::Space(_) if !self.is_exact => {
                self.extra -= 1;
                if self.first().is_some_and(|found| is_blank(found) || is_separator(found)) {
                    self.skip();
                    self.extra += 1;
                }
            }
            DatePart::Other(_) if !self.is_exact && self.extra > 0 => self.extra -= 1,
            _ => self.skip(),
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: &DatePattern<'_>) -> Result<(), ValueError> {
        if let Some(convention) = pattern.field.convention() {
            if self.fields.convention.is_some_and(|known| known != convention) {
                return Err(malformed("invalid combination of date conventions"));
            }
            self.fields.convention = Some(convention);
        }
        self.word(pattern)?;
        self.zone(pattern)?;
        self.number(pattern)
    }

    /// What is read as a word.
    fn word(&mut self, pattern: &DatePattern<'_>) -> Result<(), ValueError> {
        match pattern.field {
            DateField::Exact => self.is_exact = true,
            DateField::HalfDayDotted => self.half_day(&["A.M.", "P.M."], pattern)?,
            DateField::HalfDay => self.half_day(&["AM", "PM"], pattern)?,
            DateField::EraDotted => {
                let place = self.one_of(&["A.D.", "B.C."], pattern)?;
                self.keep(place, |fields| &mut fields.is_before_christ, pattern)?;
            }
            DateField::Era => {
                let place = self.one_of(&["AD", "BC"], pattern)?;
                self.keep(place, |fields| &mut fields.is_before_christ, pattern)?;
            }
            DateField::MonthName => {
                let place = self.one_of(&MONTHS, pattern)?;
                self.keep(place + 1, |fields| &mut fields.month, pattern)?;
            }
            DateField::MonthShort => {
                let place = self.one_of(&MONTHS.map(|name| &name[..SHORT_NAME]), pattern)?;
                self.keep(place + 1, |fields| &mut fields.month, pattern)?;
            }
            DateField::Roman => {
                let place = self.one_of(&ROMAN_MONTHS, pattern)?;
                self.keep(12 - place, |fields| &mut fields.month, pattern)?;
            }
            DateField::DayName => {
                let place = self.one_of(&DAYS, pattern)?;
                self.keep(place, |fields| &mut fields.weekday, pattern)?;
                self.fields.weekday += 1;
            }
            DateField::DayShort => {
                let place = self.one_of(&DAYS.map(|name| &name[..SHORT_NAME]), pattern)?;
                self.keep(place, |fields| &mut fields.weekday, pattern)?;
                self.fields.weekday += 1;
            }
            _ => {}
        }
        Ok(())
    }

    fn half_day(&mut self, words: &[&str], pattern: &DatePattern<'_>) -> Result<(), ValueError> {
        let place = self.one_of(words, pattern)?;
        self.keep(place, |fields| &mut fields.is_afternoon, pattern)?;
        self.fields.has_twelve_hours = true;
        Ok(())
    }

    fn zone(&mut self, pattern: &DatePattern<'_>) -> Result<(), ValueError> {
        match pattern.field {
            DateField::ZoneName | DateField::Offset => {
                let message = format!("formatting field \"{}\" is only supported in to_char", pattern.name);
                return Err(ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
            }
            DateField::ZoneHours => {
                self.fields.zone_sign = match self.first() {
                    Some(sign @ ('+' | '-' | ' ')) => {
                        self.skip();
                        if sign == '-' { -1 } else { 1 }
                    }
                    // A minus may have been taken for a separator.
                    _ => {
                        let before = &self.text[..self.text.len() - self.rest.len()];
                        if self.extra > 0 && before.ends_with('-') { -1 } else { 1 }
                    }
                };
                self.digits(2, |fields| &mut fields.zone_hours, pattern)?;
            }
            DateField::ZoneMinutes => {
                if self.fields.zone_sign == 0 {
                    self.fields.zone_sign = 1;
                }
                self.digits(2, |fields| &mut fields.zone_minutes, pattern)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// What is read as digits.
    fn number(&mut self, pattern: &DatePattern<'_>) -> Result<(), ValueError> {
        let length = pattern.name.len();
        match pattern.field {
            DateField::Hour12 => {
                self.digits(2, |fields| &mut fields.hour, pattern)?;
                self.fields.has_twelve_hours = true;
            }
            DateField::Hour24 => _ = self.digits(2, |fields| &mut fields.hour, pattern)?,
            DateField::Minute => _ = self.digits(length, |fields| &mut fields.minute, pattern)?,
            DateField::Second => _ = self.digits(length, |fields| &mut fields.second, pattern)?,
            DateField::SecondsOfDay => _ = self.digits(length, |fields| &mut fields.second_of_day, pattern)?,
            DateField::Milliseconds => {
                let read = self.digits(3, |fields| &mut fields.millisecond, pattern)?;
                self.fields.millisecond = self.fields.millisecond.saturating_mul(power_of_ten(3, read));
            }
            DateField::Microseconds => self.microseconds(6, pattern)?,
            DateField::Fraction(digits) => {
                self.fields.precision = i64::from(digits);
                self.microseconds(digits as usize, pattern)?;
            }
            DateField::Month => _ = self.digits(length, |fields| &mut fields.month, pattern)?,
            DateField::DayOfYear => _ = self.digits(length, |fields| &mut fields.day_of_year, pattern)?,
            DateField::IsoDayOfYear => _ = self.digits(3, |fields| &mut fields.day_of_year, pattern)?,
            DateField::Day => _ = self.digits(length, |fields| &mut fields.day, pattern)?,
            DateField::DayOfWeek => _ = self.digits(length, |fields| &mut fields.weekday, pattern)?,
            DateField::IsoDay => {
                self.digits(1, |fields| &mut fields.weekday, pattern)?;
                // Monday is 1 there.
                self.fields.weekday += 1;
                if self.fields.weekday > 7 {
                    self.fields.weekday = 1;
                }
            }
            DateField::WeekOfYear | DateField::IsoWeek => {
                self.digits(length, |fields| &mut fields.week, pattern)?;
            }
            DateField::WeekOfMonth => _ = self.digits(length, |fields| &mut fields.week_of_month, pattern)?,
            DateField::Quarter => _ = self.integer(length, pattern)?,
            DateField::Century => _ = self.digits(length, |fields| &mut fields.century, pattern)?,
            DateField::Julian => _ = self.digits(length, |fields| &mut fields.julian, pattern)?,
            DateField::YearWithComma => self.year_with_comma(pattern)?,
            DateField::Year(digits) | DateField::IsoYear(digits) => {
                let read = self.digits(length, |fields| &mut fields.year, pattern)?;
                if digits < 4 && read < 4 {
                    self.fields.year = near_2020(self.fields.year);
                }
                self.fields.year_digits = digits;
            }
            _ => return Ok(()),
        }
        if pattern.ordinal.is_some() {
            self.skip();
            self.skip();
        }
        Ok(())
    }

    fn microseconds(&mut self, digits: usize, pattern: &DatePattern<'_>) -> Result<(), ValueError> {
        let read = self.digits(digits, |fields| &mut fields.microsecond, pattern)?;
        self.fields.microsecond = self.fields.microsecond.saturating_mul(power_of_ten(6, read));
        Ok(())
    }

    /// Thousands, a comma, and the last three digits.
    fn year_with_comma(&mut self, pattern: &DatePattern<'_>) -> Result<(), ValueError> {
        let wrong = || malformed("invalid input string for \"Y,YYY\"");
        let (thousands, behind) = leading_integer(self.rest).ok_or_else(wrong)?;
        let behind = behind.strip_prefix(',').ok_or_else(wrong)?;
        let blank = behind.find(|found| !is_blank(found)).ok_or_else(wrong)?;
        // Three characters at most, a sign among them.
        let behind = &behind[blank..];
        let end = behind.char_indices().nth(3).map_or(behind.len(), |(place, _)| place);
        let (years, left) = leading_integer(&behind[..end]).ok_or_else(wrong)?;
        let year = i32::try_from(thousands.saturating_mul(1000).saturating_add(years)).map_err(|_| wrong())?;
        self.rest = &behind[end - left.len()..];
        self.keep(i64::from(year), |fields| &mut fields.year, pattern)?;
        self.fields.year_digits = 4;
        Ok(())
    }

    /// Keeps a field. Errors: 22007 if another value was read for it.
    fn keep(
        &mut self,
        value: i64,
        field: fn(&mut ReadFields) -> &mut i64,
        pattern: &DatePattern<'_>,
    ) -> Result<(), ValueError> {
        let kept = field(&mut self.fields);
        if *kept != 0 && *kept != value {
            let name = pattern.name;
            return Err(malformed(format!("conflicting values for \"{name}\" field in formatting string")));
        }
        *kept = value;
        Ok(())
    }

    /// Reads a number into a field; how many bytes it took.
    fn digits(
        &mut self,
        length: usize,
        field: fn(&mut ReadFields) -> &mut i64,
        pattern: &DatePattern<'_>,
    ) -> Result<usize, ValueError> {
        let (value, taken) = self.integer(length, pattern)?;
        self.keep(value, field, pattern)?;
        Ok(taken)
    }

    /// A number of so many digits, or of as many as there are if no digit follows; how many bytes it took.
    fn integer(&mut self, length: usize, pattern: &DatePattern<'_>) -> Result<(i64, usize), ValueError> {
        let name = pattern.name;
        let begin = self.rest;
        let text = begin.trim_start_matches(is_blank);
        let shown = &text[..text.floor_char_boundary(length.min(text.len()))];
        let invalid = || malformed(format!("invalid value \"{shown}\" for \"{name}\""));
        let value = if pattern.is_open {
            let (value, behind) = leading_integer(begin).ok_or_else(invalid)?;
            self.rest = behind;
            value
        } else {
            if text.len() < length {
                return Err(malformed(format!("source string too short for \"{name}\" formatting field")));
            }
            let (value, behind) = leading_integer(shown).ok_or_else(invalid)?;
            let used = shown.len() - behind.len();
            if used < length {
                return Err(invalid());
            }
            self.rest = &text[used..];
            value
        };
        if i32::try_from(value).is_err() {
            let message = format!("value for \"{name}\" in source string is out of range");
            return Err(ValueError::new(sqlstate::DATETIME_FIELD_OVERFLOW, message));
        }
        Ok((value, begin.len() - self.rest.len()))
    }

    /// The place of the word that comes next, whatever its case. Errors: 22007.
    fn one_of(&mut self, words: &[&str], pattern: &DatePattern<'_>) -> Result<i64, ValueError> {
        let begins = |word: &&str| self.rest.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
        let Some(place) = words.iter().position(begins) else {
            let shown = self.rest.split(is_blank).next().unwrap_or_default();
            return Err(malformed(format!("invalid value \"{shown}\" for \"{}\"", pattern.name)));
        };
        self.rest = &self.rest[words[place].len()..];
        Ok(place as i64)
    }
}

/// What a number of so many digits is multiplied by to have all of them.
fn power_of_ten(digits: usize, read: usize) -> i64 {
    10_i64.pow(digits.saturating_sub(read.max(1)) as u32)
}

/// The number that a text begins with, behind blanks, and what is behind it. What is too large stays too large.
fn leading_integer(text: &str) -> Option<(i64, &str)> {
    let text = text.trim_start_matches(is_blank);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.find(|found: char| !found.is_ascii_digit()).unwrap_or(unsigned.len());
    if end == 0 {
        return None;
    }
    let digits = unsigned[..end].bytes().map(|digit| i64::from(digit - b'0'));
    let value = digits.fold(0_i64, |sum, digit| sum.saturating_mul(10).saturating_add(digit));
    Some((if text.starts_with('-') { -value } else { value }, &unsigned[end..]))
}

impl TemplateReader<'_> {
    /// What the fields make together. Errors: 22007, 22008, 22009.
    fn instant(&mut self) -> Result<ReadInstant, ValueError> {
        let time = self.time()?;
        let (year, has_year) = self.year();
        let day = self.day(year, has_year)?;
        let fields = &self.fields;
        let microseconds = fields.millisecond.saturating_mul(1000).saturating_add(fields.microsecond);
        let [hour, minute, second] = time;
        let is_clock = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
        if !is_clock || !(0..MICROSECONDS_PER_SECOND).contains(&microseconds) {
            return Err(out_of_range(self.text));
        }
        let time = ((hour * 60 + minute) * 60 + second) * MICROSECONDS_PER_SECOND + microseconds;
        let zone = match fields.zone_sign {
            0 => None,
            _ if !(0..=15).contains(&fields.zone_hours) || !(0..60).contains(&fields.zone_minutes) => {
                let message = format!("time zone displacement out of range: \"{}\"", self.text);
                return Err(ValueError::new(sqlstate::INVALID_TIME_ZONE_DISPLACEMENT_VALUE, message));
            }
            sign => Some(sign * (fields.zone_hours * 60 + fields.zone_minutes) * 60),
        };
        Ok(ReadInstant { day, time, zone, precision: fields.precision })
    }

    /// Hour, minute and second, not yet looked at.
    fn time(&self) -> Result<[i64; 3], ValueError> {
        let fields = &self.fields;
        let of_day = fields.second_of_day;
        let given = |field: i64, other: i64| if field == 0 { other } else { field };
        let mut hour = given(fields.hour, of_day / 3600);
        let minute = given(fields.minute, of_day % 3600 / 60);
        let second = given(fields.second, of_day % 60);
        if fields.has_twelve_hours {
            if !(1..=12).contains(&hour) {
                return Err(malformed(format!("hour \"{hour}\" is invalid for the 12-hour clock")));
            }
            match (fields.is_afternoon != 0, hour) {
                (true, ..12) => hour += 12,
                (false, 12) => hour = 0,
                _ => {}
            }
        }
        Ok([hour, minute, second])
    }

    /// The astronomical year, and whether there is one.
    fn year(&self) -> (i64, bool) {
        let fields = &self.fields;
        let is_before_christ = fields.is_before_christ != 0;
        let century = if is_before_christ { -fields.century } else { fields.century };
        let year = match (fields.year, fields.century) {
            (0, 0) => return (0, false),
            (0, _) if century >= 0 => (century - 1) * 100 + 1,
            (0, _) => century * 100 + 1,
            (year, 1.. | ..=-1) if fields.year_digits <= 2 => match (year % 100, century) {
                (0, 0..) => century * 100,
                (0, _) => century * 100 + 1,
                (within, 0..) => within + (century - 1) * 100,
                (within, _) => (century + 1) * 100 - within + 1,
            },
            (year, _) => {
                let year = if is_before_christ { -year } else { year };
                if year < 0 { year + 1 } else { year }
            }
        };
        (year, true)
    }

    fn day(&mut self, year: i64, has_year: bool) -> Result<Civil, ValueError> {
        let fields = &self.fields;
        let is_iso = fields.convention == Some(Convention::IsoWeek);
        let (mut year, mut month, mut day) = (year, 1, 1);
        let (mut has_month, mut has_day, mut has_year) = (false, false, has_year);
        let mut day_of_year = fields.day_of_year;
        let mut whole = None;
        if fields.julian != 0 {
            whole = Some(civil(fields.julian - values::calendar::JULIAN_EPOCH));
        }
        if fields.week != 0 {
            if is_iso {
                let begin = iso_week_begin(whole.map_or(year, |known| known.year), fields.week);
                // Sunday is the last day of its week.
                let within = match fields.weekday {
                    0 => 0,
                    2.. => fields.weekday - 2,
                    _ => 6,
                };
                whole = Some(civil(begin + within));
            } else {
                day_of_year = (fields.week - 1) * 7 + 1;
            }
        }
        if let Some(known) = whole {
            (year, month, day) = (known.year, i64::from(known.month), i64::from(known.day));
            (has_year, has_month, has_day) = (true, true, true);
        }
        let of_month = if fields.week_of_month == 0 { fields.day } else { (fields.week_of_month - 1) * 7 + 1 };
        if of_month != 0 {
            (day, has_day) = (of_month, true);
        }
        if fields.month != 0 {
            (month, has_month) = (fields.month, true);
        }
        if day_of_year != 0 && (month <= 1 || day <= 1) {
            if year == 0 && fields.is_before_christ == 0 {
                return Err(malformed("cannot calculate day of year without year information"));
            }
            let begin = match is_iso {
                true => iso_week_begin(year, 1),
                false => day_number(Civil { year, month: 1, day: 1 }),
            };
            if is_iso {
                let found = civil(begin + day_of_year - 1);
                (year, month, day) = (found.year, i64::from(found.month), i64::from(found.day));
                has_year = true;
            } else {
                let (found_month, found_day) = month_of(year, day_of_year);
                month = if month <= 1 { found_month } else { month };
                day = if day <= 1 { found_day(found_month) } else { day };
            }
            (has_month, has_day) = (true, true);
        }
        let is_wrong = (has_month && !(1..=12).contains(&month))
            || (has_day && !(1..=31).contains(&day))
            || (has_year && has_month && has_day && day > i64::from(days_in_month(year, month as u32)));
        if is_wrong {
            return Err(out_of_range(self.text));
        }
        Ok(Civil { year, month: month as u32, day: day as u32 })
    }
}

/// The month of a day of a year, 13 behind the last one, and the day within a month.
fn month_of(year: i64, day_of_year: i64) -> (i64, impl Fn(i64) -> i64) {
    let before = move |month: i64| (1..month).map(|known| i64::from(days_in_month(year, known as u32))).sum::<i64>();
    let month = (1..=12).find(|month| day_of_year <= before(month + 1)).unwrap_or(13);
    (month, move |month: i64| day_of_year - before(month))
}
