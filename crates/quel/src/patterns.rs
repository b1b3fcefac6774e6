//! Strings between double quotes. In a comparison for equality `*` stands for any characters, `?` for one, `[a-c]` for one of these; elsewhere
//! they stand for themselves, as everywhere behind `\`.

/// A string as it was written, escapes resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextLiteral {
    pieces: Vec<(char, Quoting)>,
}

/// How a character was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quoting {
    Plain,
    Escaped,
}

/// What a string is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WildcardPattern {
    /// It has no wildcard.
    Value(String),
    /// A pattern of LIKE.
    Like(String),
    /// A regular expression.
    Regular(String),
}

impl TextLiteral {
    /// Reads one from a text that begins with a double quote; how many bytes it takes. `None`: it does not end.
    pub fn read(text: &str) -> Option<(TextLiteral, usize)> {
        let mut literal = TextLiteral::default();
        let mut characters = text.char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => return Some((literal, at + 1)),
                '\\' => literal.pieces.push((characters.next()?.1, Quoting::Escaped)),
                plain => literal.pieces.push((plain, Quoting::Plain)),
            }
        }
        None
    }

    /// What it says where it is no pattern.
    pub fn value(&self) -> String {
        self.pieces.iter().map(|(character, _)| *character).collect()
    }

    /// What it means in a comparison; `None`: a `[` has no `]`, or nothing in between.
    pub fn pattern(&self) -> Option<WildcardPattern> {
        let has = |wild: char| self.pieces.contains(&(wild, Quoting::Plain));
        if has('[') {
            return self.regular().map(WildcardPattern::Regular);
        }
        if !has('*') && !has('?') {
            return Some(WildcardPattern::Value(self.value()));
        }
        let mut like = String::new();
        for piece in &self.pieces {
            match piece {
                ('*', Quoting::Plain) => like.push('%'),
                ('?', Quoting::Plain) => like.push('_'),
                (special @ ('%' | '_' | '\\'), _) => like.extend(['\\', *special]),
                (other, _) => like.push(*other),
            }
        }
        Some(WildcardPattern::Like(like))
    }

    fn regular(&self) -> Option<String> {
        let mut regular = String::from("^");
        let mut pieces = self.pieces.iter();
        while let Some(piece) = pieces.next() {
            match piece {
                ('*', Quoting::Plain) => regular.push_str(".*"),
                ('?', Quoting::Plain) => regular.push('.'),
                ('[', Quoting::Plain) => {
                    let class: Vec<_> = pieces.by_ref().take_while(|piece| **piece != (']', Quoting::Plain)).collect();
                    let ended = pieces.as_slice().len() + class.len() < self.pieces.len();
                    let closed = ended && self.closes(pieces.as_slice().len());
                    if class.is_empty() || !closed {
                        return None;
                    }
                    regular.push('[');
                    for (character, quoting) in class {
                        let is_range = *character == '-' && *quoting == Quoting::Plain;
                        if !is_range && !character.is_alphanumeric() {
                            regular.push('\\');
                        }
                        regular.push(*character);
                    }
                    regular.push(']');
                }
                (other, _) if other.is_alphanumeric() || other.is_whitespace() => regular.push(*other),
                (other, _) => regular.extend(['\\', *other]),
            }
        }
        regular.push('$');
        Some(regular)
    }

    /// Whether the piece before the last `left` ones is a `]`.
    fn closes(&self, left: usize) -> bool {
        self.pieces.len().checked_sub(left + 1).and_then(|at| self.pieces.get(at)) == Some(&(']', Quoting::Plain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Option<WildcardPattern> {
        let (literal, length) = TextLiteral::read(text).expect("it ends");
        assert_eq!(length, text.len());
        literal.pattern()
    }

    /// If this fails, a comparison finds other names than the pattern's.
    #[test]
    fn wildcards_become_those_of_sql() {
        let like = |text: &str| Some(WildcardPattern::Like(text.to_owned()));
        let regular = |text: &str| Some(WildcardPattern::Regular(text.to_owned()));
        assert_eq!(pattern("\"Jo*\""), like("Jo%"));
        assert_eq!(pattern("\"?_%\\?*\""), like("_\\_\\%?%"));
        assert_eq!(pattern("\"a\\*b\""), Some(WildcardPattern::Value("a*b".to_owned())));
        assert_eq!(pattern("\"[a-c]*.x?\""), regular("^[a-c].*\\.x.$"));
        assert_eq!(pattern("\"[\\-^]\""), regular("^[\\-\\^]$"));
        for broken in ["\"[\"", "\"[]\"", "\"[ab\"", "\"[ab\\]\""] {
            assert_eq!(pattern(broken), None, "{broken}");
        }
    }

    /// If this fails, a string's end is missed, or an escape shows.
    #[test]
    fn a_string_ends_at_its_quote() {
        let (literal, length) = TextLiteral::read("\"a\\\"b\" and").expect("it ends");
        assert_eq!((literal.value().as_str(), length), ("a\"b", 6));
        assert_eq!(TextLiteral::read("\"abc"), None);
        assert_eq!(TextLiteral::read("\"abc\\"), None);
    }
}
