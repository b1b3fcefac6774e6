//! What stands in a template of digits, and what its patterns say together.

use super::first_word;
use values::ValueError;
use values::error::sqlstate;

/// Most digits of a template: as many as the standard library writes at a time.
const DIGITS_MAX: usize = 1 << 15;
const _: () = assert!(DIGITS_MAX < u16::MAX as usize);

/// What a pattern stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberField {
    Comma,
    Point,
    Zero,
    Nine,
    Blank,
    LocalePoint,
    Exponent,
    Fill,
    Group,
    Currency,
    Minus,
    Plus,
    Bracket,
    Roman {
        is_upper: bool,
    },
    AnySign,
    Ordinal {
        is_upper: bool,
    },
    Sign,
    Shift,
    /// A pattern without effect.
    Nothing,
}

/// Patterns in capitals, a longer one before what it begins with. Those in small letters are the same.
const PATTERNS: &[(&str, NumberField)] = &[
    (",", NumberField::Comma),
    (".", NumberField::Point),
    ("0", NumberField::Zero),
    ("9", NumberField::Nine),
    ("B", NumberField::Blank),
    ("C", NumberField::Nothing),
    ("D", NumberField::LocalePoint),
    ("EEEE", NumberField::Exponent),
    ("FM", NumberField::Fill),
    ("G", NumberField::Group),
    ("L", NumberField::Currency),
    ("MI", NumberField::Minus),
    ("PL", NumberField::Plus),
    ("PR", NumberField::Bracket),
    ("RN", NumberField::Roman { is_upper: true }),
    ("SG", NumberField::AnySign),
    ("SP", NumberField::Nothing),
    ("S", NumberField::Sign),
    ("TH", NumberField::Ordinal { is_upper: true }),
    ("V", NumberField::Shift),
    ("b", NumberField::Blank),
    ("c", NumberField::Nothing),
    ("d", NumberField::LocalePoint),
    ("eeee", NumberField::Exponent),
    ("fm", NumberField::Fill),
    ("g", NumberField::Group),
    ("l", NumberField::Currency),
    ("mi", NumberField::Minus),
    ("pl", NumberField::Plus),
    ("pr", NumberField::Bracket),
    ("rn", NumberField::Roman { is_upper: false }),
    ("sg", NumberField::AnySign),
    ("sp", NumberField::Nothing),
    ("s", NumberField::Sign),
    ("th", NumberField::Ordinal { is_upper: false }),
    ("v", NumberField::Shift),
];

/// A part of a template.
#[derive(Clone, Copy, Debug)]
pub(super) enum NumberPart {
    Pattern(NumberField),
    Character(char),
}

/// The parts of a template, one behind the other.
#[derive(Clone)]
pub(super) struct NumberTemplate<'a> {
    rest: &'a str,
    is_quoted: bool,
}

impl<'a> NumberTemplate<'a> {
    pub(super) fn new(template: &'a str) -> NumberTemplate<'a> {
        NumberTemplate { rest: template, is_quoted: false }
    }

    fn character(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let found = characters.next()?;
        self.rest = characters.as_str();
        Some(found)
    }
}

impl Iterator for NumberTemplate<'_> {
    type Item = NumberPart;

    fn next(&mut self) -> Option<NumberPart> {
        loop {
            if !self.is_quoted
                && let Some(name) = first_word(PATTERNS.iter().map(|(name, _)| *name), self.rest)
            {
                self.rest = &self.rest[name.len()..];
                let (_, field) = PATTERNS.iter().find(|(known, _)| *known == name)?;
                return Some(NumberPart::Pattern(*field));
            }
            return Some(NumberPart::Character(match self.character()? {
                '"' => {
                    self.is_quoted = !self.is_quoted;
                    continue;
                }
                // Outside of quotes it is special only before one.
                '\\' if self.is_quoted || self.rest.starts_with('"') => self.character().unwrap_or('\\'),
                found => found,
            }));
        }
    }
}

/// Where a sign that is written S stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SignPlace {
    #[default]
    None,
    Before,
    Behind,
}

/// What the patterns of a template say together.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberShape {
    /// Digits before the point and behind it.
    pub before: usize,
    pub behind: usize,
    pub sign: SignPlace,
    /// How many digits stand before the sign.
    pub digits_before_sign: usize,
    /// The first place that shows a zero, and how many digits there are at the last one.
    pub zero_start: usize,
    pub zero_end: usize,
    /// Digits behind V.
    pub shifted: usize,
    pub has_point: bool,
    pub has_zero: bool,
    pub is_blank: bool,
    pub fills: bool,
    pub has_sign: bool,
    pub has_bracket: bool,
    pub has_minus: bool,
    pub has_plus: bool,
    pub is_roman: bool,
    pub is_shifted: bool,
    pub has_exponent: bool,
}

fn syntax(message: &str) -> ValueError {
    ValueError::new(sqlstate::SYNTAX_ERROR, message)
}

impl NumberShape {
    /// Errors: 42601 for patterns that do not go together, 54000.
    pub(super) fn of(template: &str) -> Result<NumberShape, ValueError> {
        let mut shape = NumberShape::default();
        for part in NumberTemplate::new(template) {
            if let NumberPart::Pattern(field) = part {
                shape.take(field)?;
            }
        }
        match shape.before + shape.behind + shape.shifted > DIGITS_MAX {
            true => Err(ValueError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, "the template has too many digits")),
            false => Ok(shape),
        }
    }

    fn take(&mut self, field: NumberField) -> Result<(), ValueError> {
        if self.has_exponent && field != NumberField::Exponent {
            return Err(syntax("\"EEEE\" must be the last pattern used"));
        }
        match field {
            NumberField::Nine | NumberField::Zero => self.take_digit(field == NumberField::Zero)?,
            NumberField::Blank => {
                self.is_blank |= self.before == 0 && self.behind == 0 && !self.has_zero;
            }
            NumberField::Point | NumberField::LocalePoint => {
                if self.has_point {
                    return Err(syntax("multiple decimal points"));
                }
                if self.is_shifted {
                    return Err(syntax("cannot use \"V\" and decimal point together"));
                }
                self.has_point = true;
            }
            NumberField::Fill => self.fills = true,
            NumberField::Roman { .. } => self.is_roman = true,
            NumberField::Shift if self.has_point => {
                return Err(syntax("cannot use \"V\" and decimal point together"));
            }
            NumberField::Shift => self.is_shifted = true,
            NumberField::Exponent => self.take_exponent()?,
            _ => self.take_sign(field)?,
        }
        Ok(())
    }

    fn take_digit(&mut self, is_zero: bool) -> Result<(), ValueError> {
        if self.has_bracket {
            let digit = if is_zero { "0" } else { "9" };
            return Err(syntax(&format!("\"{digit}\" must be ahead of \"PR\"")));
        }
        if is_zero {
            if !self.has_zero && !self.has_point {
                self.has_zero = true;
                self.zero_start = self.before;
            }
        } else if self.is_shifted {
            self.shifted += 1;
            return Ok(());
        }
        if self.has_point {
            self.behind += 1;
        } else {
            self.before += 1;
        }
        if is_zero {
            self.zero_end = self.before + self.behind;
        }
        Ok(())
    }

    fn take_sign(&mut self, field: NumberField) -> Result<(), ValueError> {
        let with_sign = |other: &str| Err(syntax(&format!("cannot use \"S\" and \"{other}\" together")));
        match field {
            NumberField::Sign => {
                if self.has_sign {
                    return Err(syntax("cannot use \"S\" twice"));
                }
                if self.has_plus || self.has_minus || self.has_bracket {
                    return Err(syntax("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"));
                }
                self.has_sign = true;
                if self.has_point {
                    self.sign = SignPlace::Behind;
                } else {
                    self.sign = SignPlace::Before;
                    self.digits_before_sign = self.before;
                }
            }
            NumberField::Minus if self.has_sign => return with_sign("MI"),
            NumberField::Plus if self.has_sign => return with_sign("PL"),
            NumberField::AnySign if self.has_sign => return with_sign("SG"),
            NumberField::Minus => self.has_minus = true,
            NumberField::Plus => self.has_plus = true,
            NumberField::AnySign => (self.has_minus, self.has_plus) = (true, true),
            NumberField::Bracket => {
                if self.has_sign || self.has_plus || self.has_minus {
                    return Err(syntax("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"));
                }
                self.has_bracket = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn take_exponent(&mut self) -> Result<(), ValueError> {
        if self.has_exponent {
            return Err(syntax("cannot use \"EEEE\" twice"));
        }
        let has_sign = self.has_sign || self.has_bracket || self.has_minus || self.has_plus;
        if self.is_blank || self.fills || has_sign || self.is_roman || self.is_shifted {
            return Err(syntax("\"EEEE\" is incompatible with other formats"));
        }
        self.has_exponent = true;
        Ok(())
    }
}
