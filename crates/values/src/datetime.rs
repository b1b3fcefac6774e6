//! Reads dates, times and timestamps in the forms PostgreSQL takes, with `DateStyle` ISO, MDY.
//!
//! Invariant: the result is a real day and a time within the type's bounds, or an error with PostgreSQL's message. Words
//! that need a clock (`now`, `today`) and infinities are refused with 0A000.

use crate::calendar::{Civil, JULIAN_EPOCH, UNIX_EPOCH_DAYS, day_number, days_in_month};
use crate::calendar::{checked_date, checked_timestamp};
use crate::error::{ValueError, sqlstate};
use crate::float::is_space;
use crate::limits::{DATE_MAX, MICROSECONDS_PER_DAY, MICROSECONDS_PER_SECOND, ZONE_HOURS_END};
use crate::types::Type;
use crate::value::Value;
use crate::zone::{Abbreviation, Zone};
use crate::zoned_time::ZonedTime;

/// Longest text that is read as a date or time, in bytes (`MAXDATELEN`).
const TEXT_BYTES_MAX: usize = 128;
/// Two-digit years below this are of the 21st century.
const CENTURY_PIVOT: i64 = 70;

/// The English month names; any abbreviation of three letters or more counts.
pub(crate) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// The English names of the days, from Sunday on.
pub(crate) const WEEKDAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// One field of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DateToken<'a> {
    /// Digits, with decimals if there are any.
    Number(&'a str),
    /// Digits with colons.
    Time(&'a str),
    /// Digits or letters with `-`, `/` or `.` between them.
    Date(&'a str),
    /// A sign and an offset.
    Zone(&'a str),
    /// A zone's name that has more than letters in it, or a rule.
    Name(&'a str),
    /// Letters.
    Word(&'a str),
}

/// What has been read so far.
#[derive(Default)]
struct DateFields {
    year: Option<i64>,
    /// The year was written with one or two digits.
    short_year: bool,
    month: Option<u32>,
    day: Option<u32>,
    /// A day given by its number alone (`epoch`, `J2451545`).
    day_number: Option<i64>,
    time_us: Option<i64>,
    zone: Option<WrittenZone>,
    before_christ: bool,
    /// `am` is false, `pm` true.
    afternoon: Option<bool>,
}

/// A zone within the text.
#[derive(Debug, PartialEq)]
enum WrittenZone {
    /// Microseconds east of Greenwich.
    Offset(i64),
    Abbreviation(Abbreviation),
    Named(Zone),
}

impl WrittenZone {
    /// The instant of a local time.
    fn instant(&self, local: i64) -> i128 {
        match self {
            WrittenZone::Offset(offset) => i128::from(local) - i128::from(*offset),
            WrittenZone::Abbreviation(abbreviation) => {
                let seconds = abbreviation.offset_of_local(local);
                i128::from(local) - i128::from(seconds) * i128::from(MICROSECONDS_PER_SECOND)
            }
            WrittenZone::Named(zone) => zone.instant(local),
        }
    }
}

impl DateFields {
    /// Whether the day is known, but perhaps for its year.
    fn has_day(&self) -> bool {
        self.day_number.is_some() || (self.day.is_some() && self.month.is_some())
    }
}

/// Why a text is no date; the input and the type's name complete the message.
enum DateFault {
    Syntax,
    Field,
    Zone,
    /// No zone has this name.
    ZoneName(String),
    Unsupported,
}

/// Reads a text as `date`, `time`, `timetz`, `timestamp` or `timestamptz`; what names no zone is of this one.
pub(crate) fn parse(input: &str, data_type: Type, zone: &Zone) -> Result<Value, ValueError> {
    let text = input.trim_matches(is_space);
    let value = if text.len() > TEXT_BYTES_MAX || !text.is_ascii() {
        Err(DateFault::Syntax)
    } else {
        read_fields(text, data_type).and_then(|fields| assemble(&fields, data_type, zone))
    };
    match value {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(_)) => {
            let what = if data_type == Type::Date { "date" } else { "timestamp" };
            Err(ValueError::new(sqlstate::DATETIME_FIELD_OVERFLOW, format!("{what} out of range: \"{input}\"")))
        }
        Err(fault) => Err(fault_error(fault, input, data_type)),
    }
}

#[cold]
fn fault_error(fault: DateFault, input: &str, data_type: Type) -> ValueError {
    let name = match data_type {
        // PostgreSQL's messages of input use the short names of these types.
        Type::Time(_) => "time",
        Type::Timestamp(_) => "timestamp",
        other => other.base_name(),
    };
    match fault {
        DateFault::Syntax => ValueError::new(
            sqlstate::INVALID_DATETIME_FORMAT,
            format!("invalid input syntax for type {name}: \"{input}\""),
        ),
        DateFault::Field => ValueError::new(
            sqlstate::DATETIME_FIELD_OVERFLOW,
            format!("date/time field value out of range: \"{input}\""),
        ),
        DateFault::Zone => ValueError::new(
            sqlstate::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
            format!("time zone displacement out of range: \"{input}\""),
        ),
        DateFault::ZoneName(zone) => {
            ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, format!("time zone \"{zone}\" not recognized"))
        }
        DateFault::Unsupported => {
            ValueError::unsupported(format!("date/time value \"{input}\" is not supported in type {name}"))
        }
    }
}

/// Cuts the text into tokens as `ParseDateTime` does.
fn tokens(text: &str) -> Result<Vec<DateToken<'_>>, DateFault> {
    let bytes = text.as_bytes();
    let run = |from: usize, accept: &dyn Fn(u8) -> bool| {
        bytes[from..].iter().position(|&byte| !accept(byte)).map_or(bytes.len(), |length| from + length)
    };
    let digit = |byte: u8| byte.is_ascii_digit();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        match byte {
            b'0'..=b'9' => {
                at = run(start, &digit);
                let token: fn(&str) -> DateToken<'_> = match bytes.get(at) {
                    Some(b':') => {
                        at = run(at, &|byte| digit(byte) || byte == b':' || byte == b'.');
                        |text| DateToken::Time(text)
                    }
                    Some(&separator @ (b'-' | b'/' | b'.')) => {
                        let letters = bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic);
                        at = if letters {
                            let word_end = run(at + 1, &|byte| byte.is_ascii_alphabetic());
                            run(word_end, &|byte| digit(byte) || byte == separator)
                        } else {
                            run(at, &|byte| digit(byte) || byte == separator)
                        };
                        let dots_only =
                            separator == b'.' && bytes[start..at].iter().filter(|b| **b == b'.').count() == 1;
                        if dots_only { |text| DateToken::Number(text) } else { |text| DateToken::Date(text) }
                    }
                    _ => |text| DateToken::Number(text),
                };
                found.push(token(&text[start..at]));
            }
            b'a'..=b'z' | b'A'..=b'Z' => {
                at = run(start, &|byte| byte.is_ascii_alphabetic());
                let is_date = bytes.get(at).is_some_and(|byte| matches!(byte, b'-' | b'/' | b'.'))
                    && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
                    && month(&text[start..at]).is_some();
                if is_date {
                    let separator = bytes[at];
                    at = run(at, &|byte| digit(byte) || byte == separator);
                    found.push(DateToken::Date(&text[start..at]));
                } else if goes_on_as_zone(&text[start..at], bytes.get(at)) {
                    at = run(at, &|byte| byte.is_ascii_alphanumeric() || b"+-/_.:".contains(&byte));
                    found.push(DateToken::Name(&text[start..at]));
                } else {
                    found.push(DateToken::Word(&text[start..at]));
                }
            }
            b'+' | b'-' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                at = run(start + 1, &|byte| digit(byte) || byte == b':');
                found.push(DateToken::Zone(&text[start..at]));
            }
            // `infinity` may carry a sign.
            b'+' | b'-' if bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic) => at += 1,
            b' ' | b'\t' | b'\n' | b'\r' | b'\x0b' | b'\x0c' | b',' => at += 1,
            _ => return Err(DateFault::Syntax),
        }
    }
    Ok(found)
}

/// Whether a word is the begin of a zone's name, by the byte behind it: `Asia/Tokyo`, `EST5EDT`, `UTC-3`.
fn goes_on_as_zone(word: &str, next: Option<&u8>) -> bool {
    match next {
        Some(b'/' | b'-') => true,
        Some(b'+' | b'0'..=b'9') => {
            let word = word.to_ascii_lowercase();
            let is_field = matches!(
                word.as_str(),
                "t" | "j" | "am" | "pm" | "ad" | "bc" | "at" | "on" | "dst" | "epoch" | "allballs"
            );
            !is_field && month(&word).is_none() && !is_weekday(&word)
        }
        _ => false,
    }
}

fn is_weekday(word: &str) -> bool {
    WEEKDAYS.iter().any(|name| *name == word || (word.len() >= 3 && name.starts_with(word)))
}

fn read_fields(text: &str, data_type: Type) -> Result<DateFields, DateFault> {
    let mut fields = DateFields::default();
    let tokens = tokens(text)?;
    if tokens.is_empty() {
        return Err(DateFault::Syntax);
    }
    for (index, token) in tokens.iter().enumerate() {
        match *token {
            DateToken::Time(time) => set(&mut fields.time_us, read_time(time)?)?,
            DateToken::Date(date) if fields.has_day() && date.starts_with(|first: char| first.is_ascii_digit()) => {
                // A time without colons and an offset, as in `20240229 130506-08`.
                let (time, _) = date.split_once('-').ok_or(DateFault::Syntax)?;
                read_number(time, data_type, &mut fields)?;
                set(&mut fields.zone, WrittenZone::Offset(read_zone(&date[time.len()..])?))?;
            }
            DateToken::Date(date) => read_date(date, &mut fields)?,
            DateToken::Zone(zone) => {
                if fields.time_us.is_none() && !fields.has_day() {
                    return Err(DateFault::Syntax);
                }
                set(&mut fields.zone, WrittenZone::Offset(read_zone(zone)?))?;
            }
            DateToken::Name(name) => {
                if !fields.has_day() && !matches!(data_type, Type::TimeTz(_)) {
                    return Err(DateFault::Syntax);
                }
                let zone = Zone::of_name(name).ok_or_else(|| DateFault::ZoneName(name.to_ascii_lowercase()))?;
                set(&mut fields.zone, WrittenZone::Named(zone))?;
            }
            DateToken::Number(number) => {
                let julian =
                    index > 0 && matches!(tokens[index - 1], DateToken::Word(word) if word.eq_ignore_ascii_case("j"));
                if julian {
                    let julian: i64 = number.parse().map_err(|_| DateFault::Syntax)?;
                    set(&mut fields.day_number, julian - JULIAN_EPOCH)?;
                } else {
                    read_number(number, data_type, &mut fields)?;
                }
            }
            DateToken::Word(word) => {
                let before_digits = matches!(tokens.get(index + 1), Some(DateToken::Number(_) | DateToken::Time(_)));
                read_word(word, before_digits, &mut fields)?;
            }
        }
    }
    Ok(fields)
}

/// Sets a field that may come once.
fn set<T>(field: &mut Option<T>, value: T) -> Result<(), DateFault> {
    if field.replace(value).is_none() { Ok(()) } else { Err(DateFault::Syntax) }
}

/// The number of the month with this name or abbreviation.
fn month(word: &str) -> Option<u32> {
    let word = word.to_ascii_lowercase();
    MONTHS
        .iter()
        .position(|name| {
            *name == word || (word.len() == 3 && name.starts_with(&word)) || (word == "sept" && *name == "september")
        })
        .map(|index| index as u32 + 1)
}

fn read_word(word: &str, before_digits: bool, fields: &mut DateFields) -> Result<(), DateFault> {
    if let Some(abbreviation) = Abbreviation::of(word) {
        return set(&mut fields.zone, WrittenZone::Abbreviation(abbreviation));
    }
    if let Some(number) = month(word) {
        return set(&mut fields.month, number);
    }
    let word = word.to_ascii_lowercase();
    match word.as_str() {
        "am" => set(&mut fields.afternoon, false),
        "pm" => set(&mut fields.afternoon, true),
        "ad" => Ok(()),
        "bc" => {
            fields.before_christ = true;
            Ok(())
        }
        // `MET DST` is an hour ahead of `MET`.
        "dst" => match &mut fields.zone {
            Some(WrittenZone::Abbreviation(Abbreviation::Fixed { seconds, .. })) => {
                *seconds += 3600;
                Ok(())
            }
            _ => Err(DateFault::Syntax),
        },
        "t" | "j" if before_digits => Ok(()),
        "on" | "at" => Ok(()),
        "epoch" => {
            set(&mut fields.day_number, -UNIX_EPOCH_DAYS)?;
            set(&mut fields.time_us, 0)?;
            set(&mut fields.zone, WrittenZone::Offset(0))
        }
        "allballs" => {
            set(&mut fields.time_us, 0)?;
            set(&mut fields.zone, WrittenZone::Offset(0))
        }
        "infinity" | "now" | "today" | "tomorrow" | "yesterday" => Err(DateFault::Unsupported),
        _ if is_weekday(&word) => Ok(()),
        _ => {
            let zone = Zone::of_name(&word).ok_or(DateFault::Syntax)?;
            set(&mut fields.zone, WrittenZone::Named(zone))
        }
    }
}

/// Digits without separators: `20240229`, `130506`, or a part of `Feb 29 2024`.
fn read_number(text: &str, data_type: Type, fields: &mut DateFields) -> Result<(), DateFault> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let has_date = fields.day_number.is_some() || (fields.day.is_some() && fields.year.is_some());
    if fields.time_us.is_none()
        && (has_date || matches!(data_type, Type::Time(_) | Type::TimeTz(_)))
        && matches!(whole.len(), 4 | 6)
    {
        let digits = |range: std::ops::Range<usize>| whole.get(range).map_or(Ok(0), digits_of);
        let (hours, minutes, seconds) = (digits(0..2)?, digits(2..4)?, digits(4..6)?);
        fields.time_us = Some(time_us(hours, minutes, seconds, fraction_us(fraction)?)?);
        return Ok(());
    }
    let nothing_yet = fields.month.is_none() && fields.day.is_none() && fields.year.is_none();
    if text.contains('.') {
        // A year and the day of the year.
        return if nothing_yet && fraction.len() == 3 { read_date(text, fields) } else { Err(DateFault::Syntax) };
    }
    if whole.len() >= 8 && nothing_yet {
        let (year, rest) = whole.split_at(whole.len() - 4);
        set_year(year, fields)?;
        fields.month = Some(digits_of(&rest[..2])? as u32);
        fields.day = Some(digits_of(&rest[2..])? as u32);
        return Ok(());
    }
    if whole.len() >= 3 || fields.day.is_some() {
        return set_year(whole, fields);
    }
    set(&mut fields.day, digits_of(whole)? as u32)
}

fn set_year(text: &str, fields: &mut DateFields) -> Result<(), DateFault> {
    fields.short_year = text.len() <= 2;
    set(&mut fields.year, digits_of(text)?)
}

fn digits_of(text: &str) -> Result<i64, DateFault> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(DateFault::Syntax);
    }
    if text.len() > 9 { Err(DateFault::Field) } else { text.parse().map_err(|_| DateFault::Syntax) }
}

/// Three parts with separators; the order is year first if it has more than two digits, else month, day, year.
fn read_date(text: &str, fields: &mut DateFields) -> Result<(), DateFault> {
    let parts: Vec<&str> = text.split(['-', '/', '.']).collect();
    let names = parts.iter().map(|part| month(part)).collect::<Vec<_>>();
    let (year, month_number, day) = match (parts.as_slice(), names.as_slice()) {
        ([day, _, year], [None, Some(name), None]) if day.len() <= 2 => (*year, *name, *day),
        ([year, _, day], [None, Some(name), None]) => (*year, *name, *day),
        ([_, day, year], [Some(name), None, None]) => (*year, *name, *day),
        ([year, month, day], _) if year.len() > 2 => (*year, digits_of(month)? as u32, *day),
        ([month, day, year], _) => (*year, digits_of(month)? as u32, *day),
        // A year and the day of the year, as in 2024.060 or 2024-060.
        ([year, day_of_year], _) if year.len() > 2 && day_of_year.len() == 3 => {
            set_year(year, fields)?;
            let first = day_number(Civil { year: digits_of(year)?, month: 1, day: 1 });
            let date = crate::calendar::civil(first + digits_of(day_of_year)? - 1);
            set(&mut fields.month, date.month)?;
            return set(&mut fields.day, date.day);
        }
        _ => return Err(DateFault::Syntax),
    };
    set_year(year, fields)?;
    set(&mut fields.month, month_number)?;
    set(&mut fields.day, digits_of(day)? as u32)
}

/// `13:05`, `13:05:06` or `13:05:06.789` as microseconds since midnight.
fn read_time(text: &str) -> Result<i64, DateFault> {
    let mut parts = text.split(':');
    let hours = digits_of(parts.next().unwrap_or_default())?;
    let minutes = digits_of(parts.next().unwrap_or_default())?;
    let (seconds, fraction) = match parts.next() {
        None => (0, 0),
        Some(text) => {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            (digits_of(whole)?, fraction_us(fraction)?)
        }
    };
    if parts.next().is_some() {
        return Err(DateFault::Syntax);
    }
    time_us(hours, minutes, seconds, fraction)
}

fn time_us(hours: i64, minutes: i64, seconds: i64, fraction_us: i64) -> Result<i64, DateFault> {
    let total = (hours * 3600 + minutes * 60 + seconds) * MICROSECONDS_PER_SECOND + fraction_us;
    if minutes > 59 || seconds > 60 || total > MICROSECONDS_PER_DAY { Err(DateFault::Field) } else { Ok(total) }
}

/// The digits behind the point of seconds, rounded to microseconds.
fn fraction_us(digits: &str) -> Result<i64, DateFault> {
    if digits.is_empty() {
        return Ok(0);
    }
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(DateFault::Syntax);
    }
    let fraction: f64 = format!("0.{digits}").parse().map_err(|_| DateFault::Syntax)?;
    Ok((fraction * MICROSECONDS_PER_SECOND as f64).round_ties_even() as i64)
}

/// `+05`, `-0530`, `+05:30`, `+05:30:15` as microseconds east of Greenwich.
fn read_zone(text: &str) -> Result<i64, DateFault> {
    let digits = &text[1..];
    let parts: Vec<&str> = match digits.split(':').collect::<Vec<_>>().as_slice() {
        [only] if matches!(only.len(), 3 | 4) => {
            let (hours, minutes) = only.split_at(only.len() - 2);
            vec![hours, minutes]
        }
        [only] if only.len() == 6 => vec![&only[..2], &only[2..4], &only[4..]],
        parts @ ([_] | [_, _] | [_, _, _]) => parts.to_vec(),
        _ => return Err(DateFault::Syntax),
    };
    let part = |index: usize| parts.get(index).map_or(Ok(0), |part| digits_of(part));
    let (hours, minutes, seconds) = (part(0)?, part(1)?, part(2)?);
    if hours >= ZONE_HOURS_END || minutes > 59 || seconds > 59 {
        return Err(DateFault::Zone);
    }
    let offset = (hours * 3600 + minutes * 60 + seconds) * MICROSECONDS_PER_SECOND;
    Ok(if text.starts_with('-') { -offset } else { offset })
}

/// Applies `am` and `pm`.
fn time_of(fields: &DateFields) -> Result<Option<i64>, DateFault> {
    let Some(afternoon) = fields.afternoon else {
        return Ok(fields.time_us);
    };
    let half_day = MICROSECONDS_PER_DAY / 2;
    let time = fields.time_us.ok_or(DateFault::Syntax)?;
    if time >= half_day + 3600 * MICROSECONDS_PER_SECOND {
        return Err(DateFault::Field);
    }
    Ok(Some(time % half_day + if afternoon { half_day } else { 0 }))
}

/// The day number; `None` if no date was given.
fn day_of(fields: &DateFields) -> Result<Option<i64>, DateFault> {
    if fields.day_number.is_some() {
        return Ok(fields.day_number);
    }
    let (year, month, day) = match (fields.year, fields.month, fields.day) {
        (None, None, None) => return Ok(None),
        (Some(year), Some(month), Some(day)) => (year, month, day),
        _ => return Err(DateFault::Syntax),
    };
    let year = match year {
        0 if !fields.short_year => return Err(DateFault::Field),
        year if fields.before_christ && year > 0 => 1 - year,
        _ if fields.before_christ => return Err(DateFault::Field),
        year if fields.short_year && year < CENTURY_PIVOT => year + 2000,
        year if fields.short_year => year + 1900,
        year => year,
    };
    if !(1..=12).contains(&month) || day == 0 || day > days_in_month(year, month) {
        return Err(DateFault::Field);
    }
    Ok(Some(day_number(Civil { year, month, day })))
}

/// Makes a time with the offset of its zone. Where that is not the same on all days, only a day tells it: of a zone by its full name without one there is an error, of any other
/// PostgreSQL would take today, which is not known here.
fn assemble_zoned(fields: &DateFields, zone: &Zone) -> Result<ZonedTime, DateFault> {
    // That has a time of its own, but is none of day.
    if fields.day_number == Some(-UNIX_EPOCH_DAYS) {
        return Err(DateFault::Syntax);
    }
    let time = time_of(fields)?.ok_or(DateFault::Syntax)?;
    let local = day_of(fields)?.map(|days| days.saturating_mul(MICROSECONDS_PER_DAY).saturating_add(time));
    let of_zone = |zone: &Zone| zone.fixed_offset().or_else(|| local.map(|local| zone.offset_of_local(local)));
    let offset = match &fields.zone {
        Some(WrittenZone::Offset(offset)) => (offset / MICROSECONDS_PER_SECOND) as i32,
        Some(WrittenZone::Named(zone)) => of_zone(zone).ok_or(DateFault::Syntax)?,
        Some(WrittenZone::Abbreviation(Abbreviation::Fixed { seconds, .. })) => *seconds,
        Some(WrittenZone::Abbreviation(abbreviation)) => {
            abbreviation.offset_of_local(local.ok_or(DateFault::Unsupported)?)
        }
        None => of_zone(zone).ok_or(DateFault::Unsupported)?,
    };
    Ok(ZonedTime { time, offset })
}

/// Makes the value; the inner error is a value beyond the bounds of its type.
fn assemble(fields: &DateFields, data_type: Type, zone: &Zone) -> Result<Result<Value, ValueError>, DateFault> {
    if matches!(data_type, Type::TimeTz(_)) {
        return assemble_zoned(fields, zone).map(|zoned| Ok(Value::TimeTz(zoned)));
    }
    let time = time_of(fields)?;
    if matches!(data_type, Type::Time(_)) {
        let time = time.ok_or(DateFault::Syntax)?;
        let is_zone_known = !matches!(fields.zone, Some(WrittenZone::Named(_)));
        // What the offset of a zone is, only a day tells.
        if day_of(fields)?.is_none() && !is_zone_known {
            return Err(DateFault::Syntax);
        }
        return Ok(Ok(Value::Time(time)));
    }
    let days = day_of(fields)?.ok_or(DateFault::Syntax)?;
    if data_type == Type::Date {
        return Ok(checked_date(days).map(Value::Date));
    }
    if days > i64::from(DATE_MAX) {
        return Ok(Err(ValueError::datetime_out_of_range("timestamp")));
    }
    let local = i128::from(days) * i128::from(MICROSECONDS_PER_DAY) + i128::from(time.unwrap_or(0));
    if matches!(data_type, Type::Timestamp(_)) {
        return Ok(checked_timestamp(local).map(Value::Timestamp));
    }
    let Ok(local) = i64::try_from(local) else {
        return Ok(Err(ValueError::datetime_out_of_range("timestamp")));
    };
    let instant = fields.zone.as_ref().map_or_else(|| zone.instant(local), |written| written.instant(local));
    Ok(checked_timestamp(instant).map(Value::TimestampTz))
}
