//! Regular expressions: the plain part of PostgreSQL's advanced ones, translated for the crate `regex`, and kept by an execution.
//!
//! Invariant: what is translated matches as PostgreSQL does; what cannot be is refused with 0A000. Where a match begins and ends is asked only of a pattern with at most one part
//! of varying length and without alternatives: of others PostgreSQL takes the longest match, and `regex` the first. Classes are those of the locale C.

use regex::{Regex, RegexBuilder};
use values::ValueError;
use values::error::sqlstate;

/// Most repetitions that a bound may name (PostgreSQL's `DUPMAX`).
const REPETITIONS_MAX: u32 = 255;
/// Bytes of a pattern that is translated: longer ones hardly ever fit the bounds of `regex`.
const PATTERN_BYTES_MAX: usize = 64 << 10;
/// How many translated patterns one execution keeps, and of how many bytes in all.
const KEPT_MAX: usize = 32;
const KEPT_BYTES_MAX: usize = 64 << 10;
/// Bytes of a compiled pattern, and of what is known of the texts that it has met.
const COMPILED_BYTES_MAX: usize = 1 << 20;
const STATES_BYTES_MAX: usize = 256 << 10;
/// So many bytes of a compiled pattern take as long as a row that is worked on.
const COMPILED_BYTES_OF_A_ROW: usize = 1 << 10;
/// Bytes of what one byte of a pattern becomes, roughly.
const COMPILED_BYTES_OF_ONE: usize = 32;
/// What a pattern takes at least, in such rows.
const COMPILED_ROWS_MIN: usize = 16;

/// A translated pattern.
pub(crate) struct TranslatedPattern {
    pub regex: Regex,
    /// Whether only one match can be meant at a place.
    is_determined: bool,
}

/// A pattern, and what it is translated to.
struct KeptPattern {
    text: String,
    ignore_case: bool,
    translated: TranslatedPattern,
}

/// The patterns that an execution has translated: it meets most of them again with the next row.
#[derive(Default)]
pub struct PatternCache {
    kept: Vec<KeptPattern>,
    /// Bytes of their texts.
    bytes: usize,
    /// What was done since it was asked for.
    work: usize,
}

pub(crate) fn unsupported() -> ValueError {
    ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, "this regular expression is not supported yet")
}

fn invalid(what: &str) -> ValueError {
    ValueError::new(sqlstate::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {what}"))
}

impl PatternCache {
    pub(crate) fn translated(&mut self, pattern: &str, ignore_case: bool) -> Result<&TranslatedPattern, ValueError> {
        let is_same = |kept: &KeptPattern| kept.text == pattern && kept.ignore_case == ignore_case;
        if let Some(place) = self.kept.iter().position(is_same) {
            return Ok(&self.kept[place].translated);
        }
        if pattern.len() > PATTERN_BYTES_MAX {
            return Err(unsupported());
        }
        let mut translation = Translation::new(pattern, ignore_case);
        translation.run()?;
        let is_determined = translation.varying <= 1 && !translation.has_alternatives;
        let bytes = (translation.out.len() * translation.repetitions).saturating_mul(COMPILED_BYTES_OF_ONE);
        self.work += COMPILED_ROWS_MIN + bytes.min(COMPILED_BYTES_MAX) / COMPILED_BYTES_OF_A_ROW;
        let mut builder = RegexBuilder::new(&translation.out);
        builder.size_limit(COMPILED_BYTES_MAX).dfa_size_limit(STATES_BYTES_MAX);
        let regex = builder.build().map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => invalid("regular expression is too complex"),
            _ => unsupported(),
        })?;
        while !self.kept.is_empty() && (self.kept.len() >= KEPT_MAX || self.bytes + pattern.len() > KEPT_BYTES_MAX) {
            self.bytes -= self.kept.remove(0).text.len();
        }
        let translated = TranslatedPattern { regex, is_determined };
        self.bytes += pattern.len();
        let place = self.kept.len();
        self.kept.push(KeptPattern { text: pattern.to_owned(), ignore_case, translated });
        Ok(&self.kept[place].translated)
    }

    /// Something else than a pattern has taken so long: so many rows could have been worked on instead.
    pub(crate) fn note_work(&mut self, rows: usize) {
        self.work = self.work.saturating_add(rows);
    }

    /// How many rows could have been worked on instead of translating patterns and of what else was noted, since this was asked last.
    pub fn take_work(&mut self) -> usize {
        std::mem::take(&mut self.work)
    }

    /// One whose matches have a beginning and an end that are PostgreSQL's. Errors: 0A000 for others.
    pub(crate) fn determined(&mut self, pattern: &str, ignore_case: bool) -> Result<Regex, ValueError> {
        let found = self.translated(pattern, ignore_case)?;
        if found.is_determined { Ok(found.regex.clone()) } else { Err(unsupported()) }
    }
}

/// A pattern while it is translated.
struct Translation {
    rest: std::iter::Peekable<std::vec::IntoIter<char>>,
    is_special: bool,
    ignore_case: bool,
    out: String,
    depth: u32,
    varying: u32,
    /// How often something is repeated by bounds, all of them together.
    repetitions: usize,
    has_alternatives: bool,
    /// Whether something stands before that a quantifier may follow.
    can_repeat: bool,
}

impl Translation {
    fn new(pattern: &str, ignore_case: bool) -> Translation {
        Translation {
            is_special: pattern.starts_with("***") || pattern.starts_with("(?"),
            rest: pattern.chars().collect::<Vec<_>>().into_iter().peekable(),
            ignore_case,
            out: String::new(),
            depth: 0,
            varying: 0,
            repetitions: 1,
            has_alternatives: false,
            can_repeat: false,
        }
    }

    fn run(&mut self) -> Result<(), ValueError> {
        if self.is_special {
            return Err(unsupported());
        }
        while let Some(character) = self.rest.next() {
            match character {
                '*' | '+' | '?' => self.quantifier(character.to_string(), true)?,
                '{' if self.rest.peek().is_some_and(char::is_ascii_digit) => self.bound()?,
                '(' => {
                    self.depth += 1;
                    self.out.push('(');
                    if self.rest.next_if_eq(&'?').is_some() {
                        self.rest.next_if_eq(&':').ok_or_else(unsupported)?;
                        self.out.push_str("?:");
                    }
                    self.can_repeat = false;
                }
                ')' => {
                    self.depth = self.depth.checked_sub(1).ok_or_else(|| invalid("parentheses () not balanced"))?;
                    self.atom(")");
                }
                '|' => {
                    self.has_alternatives = true;
                    self.out.push('|');
                    self.can_repeat = false;
                }
                '^' => self.assertion("\\A"),
                '$' => self.assertion("\\z"),
                '.' => self.atom("(?s:.)"),
                '[' => self.bracket()?,
                '\\' => self.escape()?,
                literal => self.literal(literal),
            }
        }
        match self.depth {
            0 => Ok(()),
            _ => Err(invalid("parentheses () not balanced")),
        }
    }

    /// Appends what a quantifier may follow.
    fn atom(&mut self, text: &str) {
        self.out.push_str(text);
        self.can_repeat = true;
    }

    /// Appends what matches a place, not characters.
    fn assertion(&mut self, text: &str) {
        self.out.push_str(text);
        self.can_repeat = false;
    }

    fn literal(&mut self, character: char) {
        let lower = character.to_ascii_lowercase();
        match self.ignore_case && character.is_ascii_alphabetic() {
            true => self.atom(&format!("[{lower}{}]", lower.to_ascii_uppercase())),
            false => self.atom(&regex::escape(character.encode_utf8(&mut [0; 4]))),
        }
    }

    /// Quantifiers that take as little as they can do not change whether there is a match, only where it ends.
    fn quantifier(&mut self, text: String, varies: bool) -> Result<(), ValueError> {
        if !self.can_repeat {
            return Err(invalid("quantifier operand invalid"));
        }
        self.out.push_str(&text);
        self.varying += u32::from(varies);
        if self.rest.next_if_eq(&'?').is_some() {
            self.out.push('?');
            self.varying += 2;
        }
        self.can_repeat = false;
        Ok(())
    }

    fn number(&mut self) -> Result<Option<u32>, ValueError> {
        let mut digits = String::new();
        while let Some(digit) = self.rest.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        if digits.is_empty() {
            return Ok(None);
        }
        let number = digits.parse().ok().filter(|number| *number <= REPETITIONS_MAX);
        number.map(Some).ok_or_else(|| invalid("invalid repetition count(s)"))
    }

    fn bound(&mut self) -> Result<(), ValueError> {
        let counts = || invalid("invalid repetition count(s)");
        let least = self.number()?.ok_or_else(counts)?;
        self.repetitions += least as usize;
        let (text, varies) = match self.rest.next_if_eq(&',') {
            None => (format!("{{{least}}}"), false),
            Some(_) => match self.number()? {
                None => (format!("{{{least},}}"), true),
                Some(most) if most < least => return Err(counts()),
                Some(most) => {
                    self.repetitions += (most - least) as usize;
                    (format!("{{{least},{most}}}"), most != least)
                }
            },
        };
        match self.rest.next() {
            Some('}') => self.quantifier(text, varies),
            _ => Err(counts()),
        }
    }

    fn escape(&mut self) -> Result<(), ValueError> {
        match self.rest.next() {
            None => return Err(invalid("invalid escape \\ sequence")),
            Some('A') => self.assertion("\\A"),
            Some('Z') => self.assertion("\\z"),
            Some('m') => self.assertion("(?-u:\\b{start})"),
            Some('M') => self.assertion("(?-u:\\b{end})"),
            Some('y') => self.assertion("(?-u:\\b)"),
            Some(letter @ ('n' | 't' | 'r' | 'f' | 'v')) => self.atom(&format!("\\{letter}")),
            Some(letter) if letter.is_ascii_alphanumeric() => {
                let negated = if letter.is_ascii_uppercase() { "^" } else { "" };
                let class = class_of_escape(letter.to_ascii_lowercase()).ok_or_else(unsupported)?;
                self.atom(&format!("[{negated}{class}]"));
            }
            Some(literal) => self.literal(literal),
        }
        Ok(())
    }

    /// `[...]` with characters, ranges and named classes.
    fn bracket(&mut self) -> Result<(), ValueError> {
        let unbalanced = || invalid("brackets [] not balanced");
        let mut class = String::from("[");
        if self.rest.next_if_eq(&'^').is_some() {
            class.push('^');
        }
        let mut is_first = true;
        loop {
            match self.rest.next().ok_or_else(unbalanced)? {
                ']' if !is_first => break,
                '[' if self.rest.peek() == Some(&':') => class.push_str(&self.named_class()?),
                '[' if matches!(self.rest.peek(), Some('.' | '=')) => return Err(unsupported()),
                start => match self.member(start)? {
                    BracketMember::Class(text) => class.push_str(text),
                    BracketMember::Character(first) => {
                        let mut last = first;
                        if self.rest.next_if_eq(&'-').is_some() {
                            match self.rest.peek() {
                                Some(']') => {
                                    class.push_str("\\-");
                                }
                                _ => {
                                    let end = self.rest.next().ok_or_else(unbalanced)?;
                                    let BracketMember::Character(end) = self.member(end)? else {
                                        return Err(unsupported());
                                    };
                                    last = end;
                                }
                            }
                        }
                        if last < first {
                            return Err(invalid("invalid character range"));
                        }
                        self.range(first, last, &mut class);
                    }
                },
            }
            is_first = false;
        }
        class.push(']');
        self.atom(&class);
        Ok(())
    }

    fn member(&mut self, start: char) -> Result<BracketMember, ValueError> {
        if start != '\\' {
            return Ok(BracketMember::Character(start));
        }
        Ok(match self.rest.next().ok_or_else(|| invalid("brackets [] not balanced"))? {
            'n' => BracketMember::Character('\n'),
            't' => BracketMember::Character('\t'),
            'r' => BracketMember::Character('\r'),
            letter if letter.is_ascii_alphanumeric() => {
                BracketMember::Class(class_of_escape(letter).ok_or_else(unsupported)?)
            }
            literal => BracketMember::Character(literal),
        })
    }

    fn range(&self, first: char, last: char, class: &mut String) {
        let mut add = |first: char, last: char| {
            if first <= last {
                class.push_str(&format!("\\x{{{:x}}}-\\x{{{:x}}}", u32::from(first), u32::from(last)));
            }
        };
        add(first, last);
        if self.ignore_case {
            add(first.max('a').to_ascii_uppercase(), last.min('z').to_ascii_uppercase());
            let (first, last) = (first.max('A'), last.min('Z'));
            if first <= last {
                add(first.to_ascii_lowercase(), last.to_ascii_lowercase());
            }
        }
    }

    fn named_class(&mut self) -> Result<String, ValueError> {
        self.rest.next();
        let mut name = String::new();
        while let Some(letter) = self.rest.next_if(char::is_ascii_alphabetic) {
            name.push(letter);
        }
        if self.rest.next() != Some(':') || self.rest.next() != Some(']') {
            return Err(unsupported());
        }
        if self.ignore_case && matches!(name.as_str(), "lower" | "upper") {
            name = "alpha".into();
        }
        match name.as_str() {
            "alnum" | "alpha" | "blank" | "cntrl" | "digit" | "graph" | "lower" | "print" | "punct" | "space"
            | "upper" | "xdigit" => Ok(format!("[:{name}:]")),
            _ => Err(invalid("invalid character class")),
        }
    }
}

/// What stands in brackets.
enum BracketMember {
    Character(char),
    Class(&'static str),
}

fn class_of_escape(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "0-9",
        'w' => "0-9A-Za-z_",
        's' => " \\t\\n\\r\\x0b\\x0c",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A statement would hold as much memory as its patterns ask for, and nobody would count it.
    #[test]
    fn what_is_too_large_is_refused_and_what_is_kept_is_bounded() {
        let mut patterns = PatternCache::default();
        let error = patterns.translated("((a{100}){100}){100}", false).err().expect("it is too large");
        assert_eq!(
            (error.sqlstate, &*error.message),
            (sqlstate::INVALID_REGULAR_EXPRESSION, "invalid regular expression: regular expression is too complex")
        );
        for number in 0..100 {
            let pattern = format!("{number}{}", "x".repeat(4_000));
            assert!(patterns.translated(&pattern, false).is_ok());
            let bytes: usize = patterns.kept.iter().map(|kept| kept.text.len()).sum();
            assert_eq!(bytes, patterns.bytes);
            assert!(bytes <= KEPT_BYTES_MAX && patterns.kept.len() <= KEPT_MAX);
        }
    }

    /// Patterns that differ from row to row would take seconds before anybody asks whether the statement is still wanted.
    #[test]
    fn translations_are_counted_once() {
        let mut patterns = PatternCache::default();
        assert!(patterns.translated("abc", false).is_ok());
        let plain = patterns.take_work();
        assert!(patterns.translated("abc", false).is_ok());
        assert_eq!((plain, patterns.take_work()), (COMPILED_ROWS_MIN, 0));
        assert!(patterns.translated("([0-9]{255}){10}", false).is_ok());
        assert!(patterns.take_work() > 4 * plain);
    }
}
