//! `LIKE` and `ILIKE`.
//!
//! Invariant: matching takes time at most in proportion to the lengths of text and pattern multiplied: only the last `%`
//! is ever tried again.

use crate::error::{ValueError, sqlstate};

/// One element of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatternElement {
    /// `%`
    Any,
    /// `_`
    One,
    /// This character.
    Exactly(char),
    /// A backslash at the end, an error once matching gets there.
    Dangling,
}

/// True if the text matches the pattern, in which `%` stands for any characters, `_` for one, and a backslash takes the
/// next character literally. `ignore_case` compares lower-case letters. Errors: 22025 for a backslash at the end, if some text
/// is left to match it.
pub fn like(text: &str, pattern: &str, ignore_case: bool) -> Result<bool, ValueError> {
    let folded = |text: &str| {
        if ignore_case { text.to_lowercase() } else { text.to_string() }
    };
    let elements = elements(&folded(pattern));
    let characters: Vec<char> = folded(text).chars().collect();
    let (mut at, mut element) = (0, 0);
    // Where to go on when something does not match: behind the last `%`, one character further.
    let mut retry = None;
    while at < characters.len() {
        match elements.get(element) {
            Some(PatternElement::Any) => {
                element += 1;
                retry = Some((at, element));
                continue;
            }
            Some(PatternElement::One) => {}
            Some(PatternElement::Dangling) => return Err(dangling()),
            Some(PatternElement::Exactly(character)) if *character == characters[at] => {}
            _ => match retry {
                None => return Ok(false),
                Some((tried, behind)) => {
                    at = tried + 1;
                    element = behind;
                    retry = Some((at, behind));
                    continue;
                }
            },
        }
        at += 1;
        element += 1;
    }
    Ok(elements[element..].iter().all(|element| *element == PatternElement::Any))
}

#[cold]
fn dangling() -> ValueError {
    ValueError::new(sqlstate::INVALID_ESCAPE_SEQUENCE, "LIKE pattern must not end with escape character")
}

fn elements(pattern: &str) -> Vec<PatternElement> {
    let mut elements = Vec::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        elements.push(match character {
            '%' => PatternElement::Any,
            '_' => PatternElement::One,
            '\\' => characters.next().map_or(PatternElement::Dangling, PatternElement::Exactly),
            literal => PatternElement::Exactly(literal),
        });
    }
    elements
}

/// The text that every match of the pattern starts with, so that `LIKE 'abc%'` can use an index; the second part is true
/// if the pattern matches this text alone.
pub fn literal_prefix(pattern: &str) -> (String, bool) {
    let elements = elements(pattern);
    let prefix: String = elements
        .iter()
        .map_while(|element| match element {
            PatternElement::Exactly(character) => Some(*character),
            _ => None,
        })
        .collect();
    let is_whole = prefix.chars().count() == elements.len();
    (prefix, is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index scan with a wrong prefix would lose rows.
    #[test]
    fn prefixes_end_at_the_first_wildcard() {
        assert_eq!(literal_prefix("ab\\%c_d%"), ("ab%c".into(), false));
        assert_eq!(literal_prefix("abc"), ("abc".into(), true));
        assert_eq!(literal_prefix("abc\\"), ("abc".into(), false));
    }

    /// Patterns with many `%` must not take exponential time.
    #[test]
    fn many_wildcards_finish() {
        let text = "a".repeat(2000);
        assert_eq!(like(&text, &format!("{}b", "%a".repeat(200)), false), Ok(false));
    }
}
