//! Reads a file of facts: lines of fields between tabs, as COPY writes them.
//!
//! A field is `\N` for NULL; backslashes stand before a tab, a line's end and a backslash.

use super::rows::Text;

/// The fields of a row, taken from left to right.
pub struct Fields {
    line: &'static str,
    rest: std::str::Split<'static, char>,
}

/// Reads each line that is no comment.
pub fn rows<Row>(text: &'static str, read: impl Fn(&mut Fields) -> Row) -> Vec<Row> {
    let lines = text.lines().filter(|line| !line.starts_with("# "));
    lines
        .map(|line| {
            let mut fields = Fields { line, rest: line.split('\t') };
            let row = read(&mut fields);
            assert!(fields.rest.next().is_none(), "too many fields in {line}");
            row
        })
        .collect()
}

impl Fields {
    /// The next field as it stands.
    pub fn raw(&mut self) -> &'static str {
        self.rest.next().unwrap_or_else(|| panic!("a field is missing in {}", self.line))
    }

    /// The next field as text; `None` for NULL.
    pub fn optional(&mut self) -> Option<Text> {
        let raw = self.raw();
        (raw != "\\N").then(|| unescape(raw))
    }

    /// The next field as text; NULL is empty.
    pub fn text(&mut self) -> Text {
        self.optional().unwrap_or_default()
    }

    /// The next field as a number.
    pub fn number<Number: std::str::FromStr>(&mut self) -> Number {
        let raw = self.raw();
        raw.parse().unwrap_or_else(|_| panic!("{raw} is no number in {}", self.line))
    }

    /// The next field as yes or no.
    pub fn flag(&mut self) -> bool {
        self.raw() == "t"
    }

    /// The next field as one character.
    pub fn letter(&mut self) -> char {
        self.text().chars().next().unwrap_or_else(|| panic!("a letter is missing in {}", self.line))
    }

    /// The next field as words between blanks, or between the commas of an array in braces; NULL is none.
    pub fn words(&mut self) -> Vec<&'static str> {
        match self.raw() {
            "\\N" | "" | "{}" => Vec::new(),
            raw => raw.trim_matches(['{', '}']).split([' ', ',']).map(|word| word.trim_matches('"')).collect(),
        }
    }
}

fn unescape(raw: &'static str) -> Text {
    if !raw.contains('\\') {
        return Text::Borrowed(raw);
    }
    let mut text = String::with_capacity(raw.len());
    let mut characters = raw.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    Text::Owned(text)
}
