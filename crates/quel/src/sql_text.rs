//! SQL as it is written, with the places of the QUEL that its parts come from.

use std::sync::Arc;

/// Where parts of a text come from. Both in characters, the second from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuelPlaces {
    /// In order.
    parts: Vec<(usize, usize)>,
}

impl QuelPlaces {
    /// The place in QUEL of a position in SQL, both in characters from 1. `None`: nothing before it comes from QUEL.
    pub fn quel(&self, sql: usize) -> Option<usize> {
        let behind = self.parts.partition_point(|(written, _)| *written < sql);
        self.parts.get(behind.checked_sub(1)?).map(|(_, quel)| *quel)
    }
}

/// SQL under way. QuelPlaces are in characters of SQL, and in bytes of QUEL until it is finished.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SqlText {
    text: String,
    characters: usize,
    parts: Vec<(usize, usize)>,
}

impl SqlText {
    pub fn of(text: &str) -> SqlText {
        let mut made = SqlText::default();
        made.push(text);
        made
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.characters += text.chars().count();
    }

    /// What comes next stands for what begins at this byte of QUEL.
    pub fn mark(&mut self, at: usize) {
        self.parts.push((self.characters, at));
    }

    pub fn append(&mut self, other: &SqlText) {
        self.parts.extend(other.parts.iter().map(|(written, quel)| (written + self.characters, *quel)));
        self.text.push_str(&other.text);
        self.characters += other.characters;
    }

    /// A name, in quotes: no word of SQL is in its way.
    pub fn name(&mut self, name: &str) {
        self.push("\"");
        self.push(name);
        self.push("\"");
    }

    pub fn name_at(&mut self, name: &str, at: usize) {
        self.mark(at);
        self.name(name);
    }

    /// A string, in which a backslash is one.
    pub fn literal_at(&mut self, value: &str, at: usize) {
        self.mark(at);
        self.push("'");
        self.push(&value.replace('\'', "''"));
        self.push("'");
    }

    pub fn in_parentheses(&self) -> SqlText {
        let mut wrapped = SqlText::of("(");
        wrapped.append(self);
        wrapped.push(")");
        wrapped
    }

    /// All of them with this in between.
    pub fn joined<'a>(all: impl IntoIterator<Item = &'a SqlText>, between: &str) -> SqlText {
        let mut whole = SqlText::default();
        for (place, one) in all.into_iter().enumerate() {
            if place > 0 {
                whole.push(between);
            }
            whole.append(one);
        }
        whole
    }

    /// The text and its places in a QUEL text.
    pub fn finish(self, quel: &CharacterPlaces) -> (Arc<str>, QuelPlaces) {
        let mut parts = self.parts;
        parts.iter_mut().for_each(|(_, at)| *at = quel.of_byte(*at));
        parts.sort_unstable();
        (Arc::from(self.text), QuelPlaces { parts })
    }
}

/// Bytes of a text between two places whose characters are counted once.
const COUNTED_BYTES: usize = 128;

/// Which character of a text begins at which byte, without counting from its begin each time.
pub(crate) struct CharacterPlaces<'a> {
    text: &'a [u8],
    /// How many characters begin before each multiple of [`COUNTED_BYTES`].
    before: Vec<usize>,
}

impl CharacterPlaces<'_> {
    pub fn new(text: &str) -> CharacterPlaces<'_> {
        let mut counted = 0;
        let mut before = vec![0];
        for bytes in text.as_bytes().chunks(COUNTED_BYTES) {
            counted += begins(bytes);
            before.push(counted);
        }
        CharacterPlaces { text: text.as_bytes(), before }
    }

    /// The character that begins at a byte, from 1; behind the text: the one behind its last.
    pub fn of_byte(&self, at: usize) -> usize {
        let at = at.min(self.text.len());
        let part = at / COUNTED_BYTES;
        1 + self.before[part] + begins(&self.text[part * COUNTED_BYTES..at])
    }
}

/// How many characters begin in bytes of UTF-8.
fn begins(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, errors and parts of SQL are shown at other characters than theirs.
    #[test]
    fn characters_are_counted_from_wherever() {
        for text in ["", "abc", &"größe€𝄞 ".repeat(40), &"x".repeat(COUNTED_BYTES), &"ß".repeat(COUNTED_BYTES)]
        {
            let places = CharacterPlaces::new(text);
            for (number, (at, _)) in text.char_indices().enumerate() {
                assert_eq!(places.of_byte(at), number + 1, "{text}");
            }
            assert_eq!(places.of_byte(text.len()), text.chars().count() + 1, "{text}");
        }
    }
}
