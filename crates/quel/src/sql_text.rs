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
    pub fn finish(self, quel: &str) -> (Arc<str>, QuelPlaces) {
        let mut parts = self.parts;
        parts.sort_by_key(|(_, at)| *at);
        let (mut bytes, mut characters) = (0, 1);
        for (_, at) in &mut parts {
            characters += quel.get(bytes..*at).map_or(0, |between| between.chars().count());
            (bytes, *at) = (*at, characters);
        }
        parts.sort_by_key(|(written, _)| *written);
        (Arc::from(self.text), QuelPlaces { parts })
    }
}
