//! Vectors as text: `'a':1A,2 'b'`. Words of queries are read by the same rules.

use crate::error::TextSearchError;
use crate::limits::{LEXEME_BYTES_END, VECTOR_BYTES_MAX};
use crate::tokens::is_space;
use crate::vector::{Lexeme, LexemePosition, LexemeWeight, SearchVector};
use std::fmt;

/// Whose words are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordSyntax {
    /// A vector's, with positions.
    Vector,
    /// A query's: operators end them.
    Query,
    /// Those of a query as search engines have it: quotes and backslashes are characters, double quotes end a word.
    Web,
}

/// What means something in a query; a phrase's operator starts with the last one.
pub(crate) fn is_operator(byte: u8) -> bool {
    matches!(byte, b'!' | b'&' | b'|' | b'(' | b')' | b'<')
}

/// Reads words out of a text.
pub(crate) struct WordReader<'a> {
    text: &'a str,
    pub(crate) at: usize,
    syntax: WordSyntax,
}

impl<'a> WordReader<'a> {
    pub(crate) fn new(text: &'a str, syntax: WordSyntax) -> Self {
        Self { text, at: 0, syntax }
    }

    pub(crate) fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// One more character, as it is.
    fn take(&mut self, word: &mut String) {
        if let Some(character) = self.text[self.at..].chars().next() {
            word.push(character);
            self.at += character.len_utf8();
        }
    }

    /// The character behind a backslash.
    fn take_escaped(&mut self, word: &mut String, start: usize) -> Result<(), TextSearchError> {
        self.at += 1;
        if self.byte().is_none() {
            let message = format!("there is no escaped character: \"{}\"", &self.text[start..]);
            return Err(TextSearchError::syntax(message));
        }
        self.take(word);
        Ok(())
    }

    #[cold]
    fn wrong(&self, start: usize) -> TextSearchError {
        let kind = if self.syntax == WordSyntax::Vector { "tsvector" } else { "tsquery" };
        TextSearchError::syntax(format!("syntax error in {kind}: \"{}\"", &self.text[start..]))
    }

    /// The next word with its positions; `None` at the end. `start` is where messages quote the text from.
    pub(crate) fn word(&mut self, start: usize) -> Result<Option<(String, Vec<LexemePosition>)>, TextSearchError> {
        while self.byte().is_some_and(is_space) {
            self.at += 1;
        }
        let Some(first) = self.byte() else { return Ok(None) };
        let is_query = self.syntax != WordSyntax::Vector;
        let escapes = self.syntax != WordSyntax::Web;
        if is_query && is_operator(first) {
            return Err(self.wrong(start));
        }
        let mut word = String::new();
        if first == b'\'' && escapes {
            self.quoted(&mut word, start)?;
            if word.is_empty() {
                return Err(self.wrong(start));
            }
        } else {
            // The first character is taken whatever it is.
            match first {
                b'\\' if escapes => self.take_escaped(&mut word, start)?,
                _ => self.take(&mut word),
            }
            while let Some(byte) = self.byte() {
                match byte {
                    b'\\' if escapes => self.take_escaped(&mut word, start)?,
                    b':' => break,
                    b'"' if !escapes => break,
                    byte if is_space(byte) || (is_query && is_operator(byte)) => break,
                    _ => self.take(&mut word),
                }
            }
        }
        let positions = if is_query { Vec::new() } else { self.positions(start)? };
        Ok(Some((word, positions)))
    }

    /// Up to a quote that is not doubled.
    fn quoted(&mut self, word: &mut String, start: usize) -> Result<(), TextSearchError> {
        self.at += 1;
        loop {
            match self.byte() {
                None => return Err(self.wrong(start)),
                Some(b'\\') => self.take_escaped(word, start)?,
                Some(b'\'') => {
                    self.at += 1;
                    if self.byte() != Some(b'\'') {
                        return Ok(());
                    }
                    self.take(word);
                }
                Some(_) => self.take(word),
            }
        }
    }

    /// What stands behind a colon: numbers, each with a letter or without.
    fn positions(&mut self, start: usize) -> Result<Vec<LexemePosition>, TextSearchError> {
        let mut positions: Vec<LexemePosition> = Vec::new();
        if self.byte() != Some(b':') {
            return Ok(positions);
        }
        loop {
            // At a colon or a comma.
            self.at += 1;
            let digits = self.text[self.at..].bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 {
                return Err(self.wrong(start));
            }
            let place = LexemePosition::new(wrapped(&self.text[self.at..self.at + digits]));
            if place.place() == 0 {
                let message = format!("wrong position info in tsvector: \"{}\"", &self.text[start..]);
                return Err(TextSearchError::syntax(message));
            }
            self.at += digits;
            let mut weight = LexemeWeight::D;
            loop {
                let letter = match self.byte() {
                    Some(b'*') => Some(LexemeWeight::A),
                    Some(byte) => LexemeWeight::of_letter(byte),
                    None => None,
                };
                match (letter, self.byte()) {
                    (Some(_), _) if weight != LexemeWeight::D => return Err(self.wrong(start)),
                    (Some(letter), _) => weight = letter,
                    // Digits behind a letter are passed over.
                    (None, Some(byte)) if byte.is_ascii_digit() => {}
                    (None, _) => break,
                }
                self.at += 1;
            }
            positions.push(place.with_weight(weight));
            match self.byte() {
                Some(b',') => {}
                Some(byte) if !is_space(byte) => return Err(self.wrong(start)),
                _ => return Ok(positions),
            }
        }
    }
}

/// The number that C's `atoi` reads, where it is no negative one: what does not fit into 64 bits is the greatest of
/// them, of which 32 are kept.
fn wrapped(digits: &str) -> u32 {
    let number = digits.parse::<i64>().unwrap_or(i64::MAX) as i32;
    // A negative number is no greater than the greatest position, and keeps 14 of its bits.
    if number < 0 { number as u32 & 0x3fff } else { number as u32 }
}

impl std::str::FromStr for SearchVector {
    type Err = TextSearchError;

    fn from_str(text: &str) -> Result<Self, TextSearchError> {
        let mut reader = WordReader::new(text, WordSyntax::Vector);
        let mut lexemes = Vec::new();
        let mut bytes = 0;
        while let Some((word, positions)) = reader.word(0)? {
            if word.len() >= LEXEME_BYTES_END {
                let max = LEXEME_BYTES_END - 1;
                let message = format!("word is too long ({} bytes, max {max} bytes)", word.len());
                return Err(TextSearchError::limit(message));
            }
            if bytes > VECTOR_BYTES_MAX {
                return Err(crate::vector::too_long(bytes));
            }
            bytes += word.len();
            lexemes.push(Lexeme { word: word.into(), positions });
        }
        Self::of_lexemes(lexemes)
    }
}

impl fmt::Display for SearchVector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, lexeme) in self.lexemes().iter().enumerate() {
            if place > 0 {
                out.write_str(" ")?;
            }
            write_quoted(&lexeme.word, out)?;
            for (place, position) in lexeme.positions.iter().enumerate() {
                write!(out, "{}{}", if place == 0 { ':' } else { ',' }, position.place())?;
                if position.weight() != LexemeWeight::D {
                    write!(out, "{}", position.weight().letter())?;
                }
            }
        }
        Ok(())
    }
}

/// A word in quotes, with its own quotes and backslashes doubled.
pub(crate) fn write_quoted(word: &str, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    out.write_str("'")?;
    for character in word.chars() {
        if matches!(character, '\'' | '\\') {
            write!(out, "{character}")?;
        }
        write!(out, "{character}")?;
    }
    out.write_str("'")
}
