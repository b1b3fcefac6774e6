//! What `ts_headline` is told in its last argument: `StartSel = <b>, MaxWords = 20`.

use crate::error::TextSearchError;
use crate::tokens::is_space;
use sqlstate::{INVALID_PARAMETER_VALUE, INVALID_TEXT_REPRESENTATION, NUMERIC_VALUE_OUT_OF_RANGE};

/// How a headline is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadlineOptions {
    /// Words of the headline, or of a fragment.
    pub words_max: i32,
    /// Words that it has if there are as many.
    pub words_min: i32,
    /// Words of no more bytes are not at its ends.
    pub short_word: i32,
    /// Fragments; 0 for one piece that is chosen otherwise.
    pub fragments_max: i32,
    /// The whole document.
    pub shows_all: bool,
    /// Before a word that was asked for.
    pub start: String,
    /// Behind one.
    pub stop: String,
    /// Between fragments.
    pub delimiter: String,
}

impl Default for HeadlineOptions {
    fn default() -> Self {
        Self {
            words_max: 35,
            words_min: 15,
            short_word: 3,
            fragments_max: 0,
            shows_all: false,
            start: "<b>".to_owned(),
            stop: "</b>".to_owned(),
            delimiter: " ... ".to_owned(),
        }
    }
}

impl HeadlineOptions {
    /// Reads options. Errors: 42601, 22P02, 22003, 22023.
    pub fn read(text: &str) -> Result<Self, TextSearchError> {
        let mut options = Self::default();
        for (name, value) in pairs(text)? {
            match name.to_ascii_lowercase().as_str() {
                "maxwords" => options.words_max = integer(&value)?,
                "minwords" => options.words_min = integer(&value)?,
                "shortword" => options.short_word = integer(&value)?,
                "maxfragments" => options.fragments_max = integer(&value)?,
                "startsel" => options.start = value,
                "stopsel" => options.stop = value,
                "fragmentdelimiter" => options.delimiter = value,
                "highlightall" => {
                    let value = value.to_ascii_lowercase();
                    options.shows_all = matches!(value.as_str(), "1" | "on" | "true" | "t" | "y" | "yes");
                }
                _ => {
                    let message = format!("unrecognized headline parameter: \"{name}\"");
                    return Err(TextSearchError::new(INVALID_PARAMETER_VALUE, message));
                }
            }
        }
        Ok(options)
    }

    /// Errors: 22023 for numbers that contradict each other. Where all is shown they do not matter.
    pub(super) fn check(&self) -> Result<(), TextSearchError> {
        let message = match self {
            _ if self.shows_all => return Ok(()),
            _ if self.words_min >= self.words_max => "MinWords should be less than MaxWords",
            _ if self.words_min <= 0 => "MinWords should be positive",
            _ if self.short_word < 0 => "ShortWord should be >= 0",
            _ if self.fragments_max < 0 => "MaxFragments should be >= 0",
            _ => return Ok(()),
        };
        Err(TextSearchError::new(INVALID_PARAMETER_VALUE, message))
    }
}

fn integer(value: &str) -> Result<i32, TextSearchError> {
    let trimmed = value.trim_matches(|character: char| u8::try_from(character).is_ok_and(is_space));
    trimmed.parse().map_err(|_| {
        let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let message = format!("value \"{value}\" is out of range for type integer");
            return TextSearchError::new(NUMERIC_VALUE_OUT_OF_RANGE, message);
        }
        let message = format!("invalid input syntax for type integer: \"{value}\"");
        TextSearchError::new(INVALID_TEXT_REPRESENTATION, message)
    })
}

/// Names and values, with commas or blanks between the pairs. Both may be quoted, values in either kind of quotes.
fn pairs(text: &str) -> Result<Vec<(String, String)>, TextSearchError> {
    let wrong = || TextSearchError::syntax(format!("invalid parameter list format: \"{text}\""));
    let is_blank = |character: char| u8::try_from(character).is_ok_and(is_space);
    let mut pairs = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|character| character == ',' || is_blank(character));
        if rest.is_empty() {
            return Ok(pairs);
        }
        let name = match rest.strip_prefix('"') {
            Some(inner) => {
                let (name, behind) = quoted(inner, '"').ok_or_else(wrong)?;
                rest = behind;
                name
            }
            None => {
                let end = rest.find(|character| character == '=' || is_blank(character)).ok_or_else(wrong)?;
                // The first character is of the name, whatever it is.
                let end = if end == 0 {
                    rest[1..].find(|character| character == '=' || is_blank(character)).ok_or_else(wrong)? + 1
                } else {
                    end
                };
                let name = rest[..end].to_owned();
                rest = &rest[end..];
                name
            }
        };
        rest = rest.trim_start_matches(is_blank).strip_prefix('=').ok_or_else(wrong)?;
        rest = rest.trim_start_matches(is_blank);
        let unescaped = rest.strip_prefix('E').filter(|inner| inner.starts_with('\'')).unwrap_or(rest);
        let value = match unescaped.chars().next().ok_or_else(wrong)? {
            quote @ ('\'' | '"') => {
                let (value, behind) = quoted(&unescaped[1..], quote).ok_or_else(wrong)?;
                rest = behind;
                value
            }
            _ => {
                let end = rest.find(|character| character == ',' || is_blank(character)).unwrap_or(rest.len());
                // A comma may be the first character of a value.
                let first = rest.chars().next().map_or(0, char::len_utf8);
                let end = match end {
                    0 => rest[first..]
                        .find(|character| character == ',' || is_blank(character))
                        .map_or(rest.len(), |end| end + first),
                    end => end,
                };
                let value = rest[..end].to_owned();
                rest = &rest[end..];
                value
            }
        };
        pairs.push((name, value));
    }
}

/// What stands before a quote that is not doubled, and what stands behind it.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            character if character == quote && characters.next_if(|(_, next)| *next == quote).is_none() => {
                return Some((value, &text[at + 1..]));
            }
            '\\' if quote == '\'' => {
                characters.next_if(|(_, next)| *next == '\\');
            }
            _ => {}
        }
        value.push(character);
    }
    None
}
