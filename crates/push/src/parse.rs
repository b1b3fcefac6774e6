//! From text to a program: words between blanks, `#` begins a remark that goes to the end of its line.
//!
//! Invariant: no text takes more than bounded time or stack, and what is wrong is told with its line and word.

use crate::error::{PushError, PushRule};
use crate::limits::{
    FIELDS_MAX, NAME_CHARACTERS_MAX, NESTING_MAX, PROGRAM_WORDS_MAX, TABLE_BYTES_MAX, TABLES_MAX, TEXT_BYTES_MAX,
};
use crate::program::{
    PushFieldType, PushHeader, PushHook, PushHookBody, PushOperator, PushPlace, PushPlacedWord, PushProgram, PushTable,
    PushVerdict, PushWord,
};
use std::net::Ipv4Addr;

/// A word of the text.
#[derive(Clone, Copy, Debug)]
struct PushToken<'a> {
    line: usize,
    text: &'a str,
}

/// Words that are no names.
const RESERVED: [&str; 32] = [
    "program",
    "parameter",
    "table",
    "on",
    "{",
    "}",
    "if",
    "else",
    "end",
    "times",
    "i",
    "let",
    "now",
    "discard",
    "has-bytes",
    "byte@",
    "half@",
    "word@",
    "long@",
    "count",
    "find",
    "set",
    "add",
    "bit-set",
    "clone",
    "u8",
    "u16",
    "u32",
    "u64",
    "#",
    "send",
    "receive",
];

/// Loads, by the bytes that they take.
pub(crate) const LOADS: [(&str, PushFieldType); 4] = [
    ("byte@", PushFieldType::U8),
    ("half@", PushFieldType::U16),
    ("word@", PushFieldType::U32),
    ("long@", PushFieldType::U64),
];

/// Reads a program. `values` replaces the values of parameters.
///
/// # Errors
/// The first word that breaks the language's form. It is at line 0 if a value is for a parameter that the program has not.
pub fn parse(text: &str, values: &[(&str, u64)]) -> Result<PushProgram, PushError> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the text has {} bytes, more than {TEXT_BYTES_MAX}", text.len());
        return Err(PushError::new(1, "", PushRule::Bounds, message));
    }
    let mut tokens = Vec::new();
    let mut last_line = 1;
    for (index, line) in text.lines().enumerate() {
        last_line = index + 1;
        let code = line.split('#').next().unwrap_or_default();
        tokens.extend(code.split_whitespace().map(|text| PushToken { line: last_line, text }));
    }
    let mut parser = Parser { tokens, next: 0, last_line, words: 0, names: Vec::new(), program: empty() };
    parser.program(values)?;
    Ok(parser.program)
}

fn empty() -> PushProgram {
    PushProgram { name: String::new(), parameters: Vec::new(), tables: Vec::new(), hooks: Vec::new() }
}

struct Parser<'a> {
    tokens: Vec<PushToken<'a>>,
    next: usize,
    last_line: usize,
    /// Words of hooks so far.
    words: usize,
    /// Names of values that are known here, the innermost last.
    names: Vec<String>,
    program: PushProgram,
}

fn form(token: PushToken<'_>, message: impl Into<String>) -> PushError {
    PushError::new(token.line, token.text, PushRule::Form, message)
}

fn bounds(token: PushToken<'_>, message: impl Into<String>) -> PushError {
    PushError::new(token.line, token.text, PushRule::Bounds, message)
}

/// A number: decimal, `0x` and hexadecimal, or an address with dots.
pub(crate) fn number(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x") {
        // The library would take a sign.
        return digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u64::from_str_radix(digits, 16).ok())?;
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    text.parse::<Ipv4Addr>().ok().map(|address| u64::from(u32::from(address)))
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.next).map(|token| token.text)
    }

    fn take(&mut self, what: &str) -> Result<PushToken<'a>, PushError> {
        let Some(&token) = self.tokens.get(self.next) else {
            let message = format!("the text ends where {what} should be");
            return Err(PushError::new(self.last_line, "", PushRule::Form, message));
        };
        self.next += 1;
        Ok(token)
    }

    fn takes(&mut self, text: &str) -> bool {
        let is_there = self.peek() == Some(text);
        self.next += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, text: &str) -> Result<(), PushError> {
        let token = self.take(&format!("`{text}`"))?;
        if token.text == text {
            return Ok(());
        }
        Err(form(token, format!("{} stands where `{text}` should be", token.text)))
    }

    fn number(&mut self, what: &str) -> Result<u64, PushError> {
        let token = self.take(what)?;
        number(token.text).ok_or_else(|| form(token, format!("{} is no number; {what} should be here", token.text)))
    }

    /// A name that nothing else has.
    fn name(&mut self, what: &str) -> Result<String, PushError> {
        let token = self.take(what)?;
        let text = token.text;
        let is_named = text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.chars().all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-');
        if !is_named {
            let message = format!("{text} is no name: small letters, digits and hyphens, a letter first");
            return Err(form(token, message));
        }
        if text.len() > NAME_CHARACTERS_MAX {
            return Err(bounds(token, format!("{text} has more than {NAME_CHARACTERS_MAX} characters")));
        }
        if RESERVED.contains(&text) || simple(text).is_some() {
            return Err(form(token, format!("{text} is a word of the language and cannot be {what}")));
        }
        Ok(text.to_owned())
    }

    /// A name that the program has not yet.
    fn new_name(&mut self, what: &str) -> Result<String, PushError> {
        let at = self.next;
        let name = self.name(what)?;
        let is_taken = self.program.table(&name).is_some()
            || self.names.contains(&name)
            || self.program.parameters.iter().any(|(known, _)| *known == name);
        if is_taken {
            return Err(form(self.tokens[at], format!("{name} names something already")));
        }
        Ok(name)
    }

    fn program(&mut self, values: &[(&str, u64)]) -> Result<(), PushError> {
        self.expect("program")?;
        self.program.name = self.name("the program's name")?;
        while self.peek().is_some() {
            let token = self.take("a part")?;
            match token.text {
                "parameter" => {
                    let name = self.new_name("a parameter's name")?;
                    let default = self.number("the parameter's value")?;
                    let given = values.iter().rev().find(|(known, _)| *known == name);
                    self.program.parameters.push((name, given.map_or(default, |(_, value)| *value)));
                }
                "table" => self.table(token)?,
                "on" => self.hook(token)?,
                other => {
                    let message =
                        format!("{other} stands where `parameter`, `table` or `on` should be: words belong to a hook");
                    return Err(form(token, message));
                }
            }
        }
        for (name, _) in values {
            if !self.program.parameters.iter().any(|(known, _)| known == name) {
                let message = format!("{} has no parameter {name}", self.program.name);
                return Err(PushError::new(0, name, PushRule::KnownWord, message));
            }
        }
        if self.program.hooks.is_empty() {
            let message = "the program has no hook: `on send` or `on receive`";
            return Err(PushError::new(self.last_line, "", PushRule::Form, message));
        }
        Ok(())
    }

    fn table(&mut self, token: PushToken<'_>) -> Result<(), PushError> {
        let name = self.new_name("a table's name")?;
        if self.program.tables.len() == TABLES_MAX {
            return Err(bounds(token, format!("{name} is one table too many: there are {TABLES_MAX} already")));
        }
        let rows = self.number("the table's number of rows")?;
        self.expect("{")?;
        let mut fields: Vec<(String, PushFieldType)> = Vec::new();
        while !self.takes("}") {
            let at = self.next;
            let field = self.name("a field's name")?;
            if fields.iter().any(|(known, _)| *known == field) {
                return Err(form(self.tokens[at], format!("{name} has a field {field} already")));
            }
            if fields.len() == FIELDS_MAX {
                return Err(bounds(self.tokens[at], format!("{name} has more than {FIELDS_MAX} fields")));
            }
            let shape = self.take("a field's type")?;
            let known = PushFieldType::ALL.into_iter().find(|known| known.name() == shape.text);
            let known = known.ok_or_else(|| form(shape, format!("{} is no type: u8, u16, u32 or u64", shape.text)))?;
            fields.push((field, known));
        }
        if fields.is_empty() || rows == 0 {
            return Err(bounds(token, format!("{name} has no {}", if rows == 0 { "rows" } else { "fields" })));
        }
        let table = PushTable::new(&name, rows, &fields)
            .ok_or_else(|| bounds(token, format!("{name} has more than {TABLE_BYTES_MAX} bytes")))?;
        self.program.tables.push(table);
        Ok(())
    }

    fn hook(&mut self, token: PushToken<'_>) -> Result<(), PushError> {
        let name = self.take("`send` or `receive`")?;
        let hook = PushHook::ALL.into_iter().find(|hook| hook.name() == name.text);
        let hook = hook.ok_or_else(|| form(name, format!("{} is no hook: `send` or `receive`", name.text)))?;
        if self.program.hooks.iter().any(|known| known.hook == hook) {
            return Err(form(name, format!("the program has a hook `on {}` already", hook.name())));
        }
        let words = self.block(0)?;
        let end_line = self.tokens.get(self.next).map_or(self.last_line, |token| token.line);
        if let Some(&token) = self.tokens.get(self.next).filter(|token| matches!(token.text, "else" | "end")) {
            return Err(form(token, format!("{} closes nothing", token.text)));
        }
        self.program.hooks.push(PushHookBody { hook, line: token.line, end_line, words });
        Ok(())
    }

    /// Words up to `else`, `end`, the next hook, or the text's end, which stay.
    fn block(&mut self, nesting: usize) -> Result<Vec<PushPlacedWord>, PushError> {
        let names_before = self.names.len();
        let mut words = Vec::new();
        while let Some(text) = self.peek() {
            if matches!(text, "else" | "end" | "on" | "table" | "parameter" | "program") {
                break;
            }
            let token = self.take("a word")?;
            self.words += 1;
            if self.words > PROGRAM_WORDS_MAX {
                return Err(bounds(token, format!("the program has more than {PROGRAM_WORDS_MAX} words")));
            }
            let (word, text) = self.word(token, nesting)?;
            words.push(PushPlacedWord { word, line: token.line, text });
        }
        self.names.truncate(names_before);
        Ok(words)
    }

    /// The words within a block that a word opens. `opener` is told if nothing closes it.
    fn inner(&mut self, opener: PushToken<'_>, nesting: usize) -> Result<Vec<PushPlacedWord>, PushError> {
        if nesting == NESTING_MAX {
            return Err(bounds(opener, format!("{} is within {NESTING_MAX} blocks already", opener.text)));
        }
        let words = self.block(nesting + 1)?;
        match self.peek() {
            Some("else" | "end") => Ok(words),
            _ => Err(form(opener, format!("{} has no `end`", opener.text))),
        }
    }

    fn word(&mut self, token: PushToken<'a>, nesting: usize) -> Result<(PushWord, String), PushError> {
        let mut text = token.text.to_owned();
        let word = match token.text {
            "if" => {
                let then = self.inner(token, nesting)?;
                let otherwise = if self.takes("else") { self.inner(token, nesting)? } else { Vec::new() };
                self.expect("end")?;
                PushWord::If(then, otherwise)
            }
            "times" => {
                let words = self.inner(token, nesting)?;
                self.expect("end")?;
                PushWord::Times(words)
            }
            "let" => {
                let name = self.new_name("a value's name")?;
                self.names.push(name.clone());
                text = format!("let {name}");
                PushWord::Let(name)
            }
            other => {
                if let Some(word) = simple(other) {
                    word
                } else if let Some(value) = number(other) {
                    PushWord::Number(value)
                } else if self.names.iter().any(|name| name == other) {
                    PushWord::Named(other.to_owned())
                } else if let Some((_, value)) = self.program.parameters.iter().find(|(name, _)| name == other) {
                    PushWord::Number(*value)
                } else if let Some(table) = self.program.table(other) {
                    return self.table_word(table, token);
                } else {
                    let message = match other.bytes().all(|byte| byte.is_ascii_digit()) {
                        true => format!("{other} is larger than {}", u64::MAX),
                        false => format!("{other} is no word of the language and no name of the program"),
                    };
                    return Err(PushError::new(token.line, other, PushRule::KnownWord, message));
                }
            }
        };
        Ok((word, text))
    }

    /// `TABLE count`, `TABLE find`, `TABLE FIELD`, and that with `set`, `add` or `bit-set` behind it.
    fn table_word(&mut self, table: usize, token: PushToken<'_>) -> Result<(PushWord, String), PushError> {
        let name = token.text;
        let second = self.take(&format!("a field of {name}, `count` or `find`"))?;
        let mut text = format!("{name} {}", second.text);
        let word = match second.text {
            "count" => PushWord::Count(table),
            "find" => PushWord::Find(table),
            field => {
                let Some(number) = self.program.tables[table].field(field) else {
                    let message = format!("{name} has no field {field}");
                    return Err(PushError::new(second.line, field, PushRule::KnownWord, message));
                };
                let place = PushPlace { table, field: number };
                let word = match self.peek() {
                    Some("set") => PushWord::Set(place),
                    Some("add") => PushWord::AddTo(place),
                    Some("bit-set") => PushWord::BitSet(place),
                    _ => return Ok((PushWord::Read(place), text)),
                };
                let third = self.take("a word")?;
                text = format!("{text} {}", third.text);
                word
            }
        };
        Ok((word, text))
    }
}

/// Words that stand for themselves.
fn simple(text: &str) -> Option<PushWord> {
    let loads = LOADS.into_iter().find(|(name, _)| *name == text).map(|(_, shape)| PushWord::Load(shape));
    let operator = || PushOperator::ALL.into_iter().find(|known| known.name() == text).map(PushWord::Operator);
    let header = || PushHeader::ALL.into_iter().find(|known| known.name() == text).map(PushWord::Header);
    let setter = || PushHeader::ALL.into_iter().find(|known| known.setter() == Some(text)).map(PushWord::SetHeader);
    let verdict = || PushVerdict::ALL.into_iter().find(|known| known.name() == text).map(PushWord::Verdict);
    match text {
        "discard" => Some(PushWord::Discard),
        "has-bytes" => Some(PushWord::HasBytes),
        "i" => Some(PushWord::Index),
        "now" => Some(PushWord::Now),
        "clone" => Some(PushWord::Clone),
        _ => loads.or_else(operator).or_else(header).or_else(setter).or_else(verdict),
    }
}
