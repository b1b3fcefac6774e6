//! What stands in a template of dates and times, and in which order it is looked for.

use super::first_word;

/// What a pattern stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DateField {
    EraDotted,
    Era,
    HalfDayDotted,
    HalfDay,
    Century,
    DayName,
    DayOfYear,
    Day,
    DayShort,
    DayOfWeek,
    /// So many digits of a second.
    Fraction(u32),
    Exact,
    Hour24,
    Hour12,
    IsoDayOfYear,
    IsoDay,
    IsoWeek,
    /// The last digits of the year, so many.
    IsoYear(u32),
    Julian,
    Minute,
    Month,
    MonthName,
    MonthShort,
    Milliseconds,
    Offset,
    Quarter,
    Roman,
    SecondsOfDay,
    Second,
    ZoneHours,
    ZoneMinutes,
    ZoneName,
    Microseconds,
    WeekOfYear,
    WeekOfMonth,
    YearWithComma,
    /// The last digits of the year, so many.
    Year(u32),
}

/// Which calendar a pattern belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Convention {
    Gregorian,
    IsoWeek,
}

/// The patterns in capitals, a longer one before what it begins with. Those in small letters are the same, and names may begin with a capital.
const PATTERNS: &[(&str, DateField)] = &[
    ("A.D.", DateField::EraDotted),
    ("A.M.", DateField::HalfDayDotted),
    ("AD", DateField::Era),
    ("AM", DateField::HalfDay),
    ("B.C.", DateField::EraDotted),
    ("BC", DateField::Era),
    ("CC", DateField::Century),
    ("DAY", DateField::DayName),
    ("DDD", DateField::DayOfYear),
    ("DD", DateField::Day),
    ("DY", DateField::DayShort),
    ("D", DateField::DayOfWeek),
    ("FF1", DateField::Fraction(1)),
    ("FF2", DateField::Fraction(2)),
    ("FF3", DateField::Fraction(3)),
    ("FF4", DateField::Fraction(4)),
    ("FF5", DateField::Fraction(5)),
    ("FF6", DateField::Fraction(6)),
    ("FX", DateField::Exact),
    ("HH24", DateField::Hour24),
    ("HH12", DateField::Hour12),
    ("HH", DateField::Hour12),
    ("IDDD", DateField::IsoDayOfYear),
    ("ID", DateField::IsoDay),
    ("IW", DateField::IsoWeek),
    ("IYYY", DateField::IsoYear(4)),
    ("IYY", DateField::IsoYear(3)),
    ("IY", DateField::IsoYear(2)),
    ("I", DateField::IsoYear(1)),
    ("J", DateField::Julian),
    ("MI", DateField::Minute),
    ("MM", DateField::Month),
    ("MONTH", DateField::MonthName),
    ("MON", DateField::MonthShort),
    ("MS", DateField::Milliseconds),
    ("OF", DateField::Offset),
    ("P.M.", DateField::HalfDayDotted),
    ("PM", DateField::HalfDay),
    ("Q", DateField::Quarter),
    ("RM", DateField::Roman),
    ("SSSSS", DateField::SecondsOfDay),
    ("SSSS", DateField::SecondsOfDay),
    ("SS", DateField::Second),
    ("TZH", DateField::ZoneHours),
    ("TZM", DateField::ZoneMinutes),
    ("TZ", DateField::ZoneName),
    ("US", DateField::Microseconds),
    ("WW", DateField::WeekOfYear),
    ("W", DateField::WeekOfMonth),
    ("Y,YYY", DateField::YearWithComma),
    ("YYYY", DateField::Year(4)),
    ("YYY", DateField::Year(3)),
    ("YY", DateField::Year(2)),
    ("Y", DateField::Year(1)),
];

/// Names that begin with a capital.
const CAPITALIZED: &[(&str, DateField)] = &[
    ("Day", DateField::DayName),
    ("Dy", DateField::DayShort),
    ("Month", DateField::MonthName),
    ("Mon", DateField::MonthShort),
];

impl DateField {
    /// Whether it is read as digits.
    fn is_digits(self) -> bool {
        !matches!(
            self,
            DateField::EraDotted
                | DateField::Era
                | DateField::HalfDayDotted
                | DateField::HalfDay
                | DateField::DayName
                | DateField::DayShort
                | DateField::Exact
                | DateField::MonthName
                | DateField::MonthShort
                | DateField::Offset
                | DateField::Roman
                | DateField::ZoneHours
                | DateField::ZoneName
        )
    }

    /// Which calendar it belongs to, if to one only.
    pub(super) fn convention(self) -> Option<Convention> {
        Some(match self {
            DateField::IsoDayOfYear | DateField::IsoDay | DateField::IsoWeek | DateField::IsoYear(_) => {
                Convention::IsoWeek
            }
            DateField::DayOfYear | DateField::Day | DateField::DayOfWeek => Convention::Gregorian,
            DateField::Month | DateField::MonthName | DateField::MonthShort | DateField::Roman => Convention::Gregorian,
            DateField::WeekOfYear | DateField::WeekOfMonth => Convention::Gregorian,
            DateField::YearWithComma | DateField::Year(_) => Convention::Gregorian,
            _ => return None,
        })
    }
}

/// A part of a template.
#[derive(Clone, Copy, Debug)]
pub(super) enum DatePart<'a> {
    Pattern(DatePattern<'a>),
    /// What is neither a letter nor a digit, outside of quotes.
    Separator(char),
    Space(char),
    Other(char),
}

/// A pattern with what stands before and behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct DatePattern<'a> {
    pub field: DateField,
    /// As it is written.
    pub name: &'a str,
    /// FM: no blanks and zeros before it.
    pub fill: bool,
    /// TM: names of the locale.
    pub translated: bool,
    /// TH: letters of an ordinal number, and whether they are capitals.
    pub ordinal: Option<bool>,
    /// Whether what comes next is no digit: then digits end where there are no more.
    pub is_open: bool,
}

/// The parts of a template, one behind the other.
#[derive(Clone)]
pub(super) struct DateTemplate<'a> {
    rest: &'a str,
    is_quoted: bool,
}

impl<'a> DateTemplate<'a> {
    pub(super) fn new(template: &'a str) -> DateTemplate<'a> {
        DateTemplate { rest: template, is_quoted: false }
    }

    /// Takes what a template begins with.
    fn take(&mut self, words: &[&'static str]) -> Option<&'static str> {
        let found = first_word(words.iter().copied(), self.rest)?;
        self.rest = &self.rest[found.len()..];
        Some(found)
    }

    fn character(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let found = characters.next()?;
        self.rest = characters.as_str();
        Some(found)
    }

    /// Within quotes a backslash takes the next one as it is; `None` behind the last one.
    fn quoted(&mut self) -> Option<DatePart<'a>> {
        match self.character()? {
            '"' => {
                self.is_quoted = false;
                None
            }
            '\\' => Some(DatePart::Other(self.character().unwrap_or('\\'))),
            other => Some(DatePart::Other(other)),
        }
    }

    fn pattern(&mut self) -> Option<DatePattern<'a>> {
        let prefix = self.take(&["FM", "fm", "TM", "tm"]);
        let (name, field) = pattern_of(self.rest)?;
        self.rest = &self.rest[name.len()..];
        let ordinal = match self.take(&["TH", "th", "SP"]) {
            Some("TH") => Some(true),
            Some("th") => Some(false),
            _ => None,
        };
        let is_prefix = |wanted: &str| prefix.is_some_and(|found| found.eq_ignore_ascii_case(wanted));
        let (fill, translated) = (is_prefix("FM"), is_prefix("TM"));
        let is_open = fill || ordinal.is_some() || self.clone().begins_openly();
        Some(DatePattern { field, name, fill, translated, ordinal, is_open })
    }

    /// Whether what comes next is no digit.
    fn begins_openly(mut self) -> bool {
        match self.next_plainly() {
            None => true,
            Some(Ok(field)) => !field.is_digits(),
            Some(Err(character)) => !character.is_ascii_digit(),
        }
    }

    /// The next part without what comes behind it.
    fn next_plainly(&mut self) -> Option<Result<DateField, char>> {
        if !self.is_quoted {
            let _ = self.take(&["FM", "fm", "TM", "tm"]);
            if let Some((_, field)) = pattern_of(self.rest) {
                return Some(Ok(field));
            }
        }
        match self.next()? {
            DatePart::Pattern(pattern) => Some(Ok(pattern.field)),
            DatePart::Separator(found) | DatePart::Space(found) | DatePart::Other(found) => Some(Err(found)),
        }
    }

    /// What is no pattern; `None` for the beginning of quotes.
    fn plain(&mut self) -> Option<DatePart<'a>> {
        Some(match self.character()? {
            '"' => {
                self.is_quoted = true;
                return None;
            }
            // It is special only before a quote.
            '\\' if self.rest.starts_with('"') => {
                self.character();
                DatePart::Separator('"')
            }
            found if is_separator(found) => DatePart::Separator(found),
            found if is_blank(found) => DatePart::Space(found),
            found => DatePart::Other(found),
        })
    }
}

/// The pattern that a text begins with.
fn pattern_of(text: &str) -> Option<(&str, DateField)> {
    let first = text.bytes().next()?;
    let all = || PATTERNS.iter().filter(|(name, _)| name.as_bytes()[0] == first.to_ascii_uppercase());
    let found = if first.is_ascii_lowercase() {
        let begins = |name: &str| {
            text.as_bytes().get(..name.len()).is_some_and(|head| {
                head.iter().zip(name.bytes()).all(|(own, known)| *own == known.to_ascii_lowercase())
            })
        };
        all().find(|(name, _)| begins(name))
    } else {
        // The single D comes last.
        let of_capitals = all().find(|(name, _)| text.starts_with(name));
        let named = CAPITALIZED.iter().find(|(name, _)| text.starts_with(name));
        if of_capitals.is_some_and(|(name, _)| name.len() > 1) { of_capitals } else { named.or(of_capitals) }
    };
    found.map(|(name, field)| (&text[..name.len()], *field))
}

impl<'a> Iterator for DateTemplate<'a> {
    type Item = DatePart<'a>;

    fn next(&mut self) -> Option<DatePart<'a>> {
        while !self.rest.is_empty() {
            let found = match self.is_quoted {
                true => self.quoted(),
                false => self.pattern().map(DatePart::Pattern).or_else(|| self.plain()),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// Whether a character of a template or of a text separates.
pub(super) fn is_separator(character: char) -> bool {
    character.is_ascii_graphic() && !character.is_ascii_alphanumeric()
}

/// What C's `isspace` takes for a blank.
pub(super) fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}
