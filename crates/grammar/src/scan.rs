//! Text to tokens, by the rules of PostgreSQL's manual (section 4.1) and of its scanner. A text that cannot be read ends with the token [`FAILED`], and
//! what is wrong is told when the parser arrives there: what is wrong before it is told first.
//!
//! * `strings`: quoted strings of every kind, and quoted names;
//! * `escapes`: what backslashes mean in `E'..'` and `U&'..'`;
//! * `numbers`: numbers and parameters;
//! * `filter`: tokens that depend on the next one.

mod escapes;
mod filter;
mod numbers;
mod strings;

use crate::error::{Notice, SyntaxError};
use crate::limits::NAME_BYTES_MAX;
use crate::tables::{KEYWORDS, symbols as g};

/// A token that no rule takes.
pub const UNKNOWN: u16 = u16::MAX;
/// Here the text cannot be read on.
pub const FAILED: u16 = u16::MAX - 1;

/// A word, a number, a string or a mark.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// The symbol of the grammar.
    pub kind: u16,
    /// Where it begins, in bytes.
    pub at: u32,
    /// Where it ends.
    pub end: u32,
    /// Of a name, a string or an operator, its number among the texts; of an integer or a parameter, its value.
    pub value: u32,
}

/// All tokens of a text; the last one is its end.
#[derive(Debug, Default)]
pub struct Scanned {
    /// In their order.
    pub tokens: Vec<Token>,
    /// What names, strings and operators say, without quotes and escapes.
    pub texts: Vec<String>,
    /// What [`FAILED`] stands for.
    pub failure: Option<SyntaxError>,
    /// Names that were cut.
    pub notices: Vec<Notice>,
}

/// Reads a text.
pub fn scan(text: &str) -> Scanned {
    let mut scanner = Scanner { text, bytes: text.as_bytes(), position: 0, scanned: Scanned::default() };
    // Most texts have a token for every five bytes or fewer.
    scanner.scanned.tokens.reserve(text.len() / 5 + 2);
    while scanner.scanned.failure.is_none() {
        if let Err(error) = scanner.blanks().and_then(|()| scanner.token()) {
            scanner.fail(error);
        }
        if scanner.scanned.tokens.last().is_some_and(|token| token.kind == g::END_OF_TEXT) {
            break;
        }
    }
    filter::filter(text, scanner.scanned)
}

/// The symbol of a word, if it is a keyword; letters of either case.
fn keyword(word: &str) -> Option<u16> {
    let mut buffer = [0; KEYWORD_BYTES_MAX];
    let lower = buffer.get_mut(..word.len())?;
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    let found = KEYWORDS.binary_search_by(|(keyword, ..)| keyword.as_bytes().cmp(lower)).ok()?;
    Some(KEYWORDS[found].1)
}

/// No keyword is longer.
const KEYWORD_BYTES_MAX: usize = 20;

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    position: usize,
    scanned: Scanned,
}

impl Scanner<'_> {
    fn byte(&self, offset: usize) -> u8 {
        self.bytes.get(self.position + offset).copied().unwrap_or(0)
    }

    fn is_at_end(&self) -> bool {
        self.position >= self.bytes.len()
    }

    fn push(&mut self, kind: u16, at: usize, value: u32) {
        self.scanned.tokens.push(Token { kind, at: at as u32, end: self.position as u32, value });
    }

    fn push_text(&mut self, kind: u16, at: usize, text: String) {
        let value = self.scanned.texts.len() as u32;
        self.scanned.texts.push(text);
        self.push(kind, at, value);
    }

    fn fail(&mut self, error: SyntaxError) {
        let at = self.position.min(self.bytes.len());
        self.scanned.failure = Some(error);
        self.push(FAILED, at, 0);
    }

    /// Skips blanks and comments.
    fn blanks(&mut self) -> Result<(), SyntaxError> {
        loop {
            match (self.byte(0), self.byte(1)) {
                (b' ' | b'\t' | b'\n' | b'\r' | b'\x0c', _) => self.position += 1,
                (b'-', b'-') => {
                    while !self.is_at_end() && !matches!(self.byte(0), b'\n' | b'\r') {
                        self.position += 1;
                    }
                }
                (b'/', b'*') => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    /// Comments may stand within each other.
    fn comment(&mut self) -> Result<(), SyntaxError> {
        let at = self.position;
        let mut depth = 0usize;
        loop {
            match (self.byte(0), self.byte(1)) {
                _ if self.is_at_end() => {
                    return Err(SyntaxError::near("unterminated /* comment", self.text, at, self.bytes.len()));
                }
                (b'/', b'*') => {
                    depth += 1;
                    self.position += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.position += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => self.position += 1,
            }
        }
    }

    fn token(&mut self) -> Result<(), SyntaxError> {
        let at = self.position;
        if self.is_at_end() {
            self.push(g::END_OF_TEXT, at, 0);
            return Ok(());
        }
        match (self.byte(0), self.byte(1), self.byte(2)) {
            (b'\'', ..) => self.plain_string(at),
            (b'e' | b'E', b'\'', _) => self.escaped_string(at),
            (b'b' | b'B', b'\'', _) => self.bits(at, g::BCONST, "unterminated bit string literal"),
            (b'x' | b'X', b'\'', _) => self.bits(at, g::XCONST, "unterminated hexadecimal string literal"),
            (b'u' | b'U', b'&', b'\'') => self.unicode_string(at),
            (b'u' | b'U', b'&', b'"') => self.quoted_name(at, 3, g::UIDENT),
            (b'n' | b'N', b'\'', _) => {
                self.position += 1;
                self.push(g::NCHAR, at, 0);
                Ok(())
            }
            (b'"', ..) => self.quoted_name(at, 1, g::IDENT),
            (b'0'..=b'9', ..) | (b'.', b'0'..=b'9', _) => self.number(at),
            (b'$', b'0'..=b'9', _) => self.parameter(at),
            (b'$', ..) => self.dollar(at),
            (byte, ..) if is_name_start(byte) => {
                self.word(at);
                Ok(())
            }
            (b':', b':', _) => self.mark(g::TYPECAST, at, 2),
            (b':', b'=', _) => self.mark(g::COLON_EQUALS, at, 2),
            (b'.', b'.', _) => self.mark(g::DOT_DOT, at, 2),
            (byte, ..) if is_operator(byte) => self.operator(at),
            (byte, ..) => self.mark(single(byte).unwrap_or(UNKNOWN), at, 1),
        }
    }

    fn mark(&mut self, kind: u16, at: usize, length: usize) -> Result<(), SyntaxError> {
        self.position += length;
        self.push(kind, at, 0);
        Ok(())
    }

    fn word(&mut self, at: usize) {
        while !self.is_at_end() && is_name_part(self.byte(0)) {
            self.position += 1;
        }
        let word = &self.text[at..self.position];
        match keyword(word) {
            Some(kind) => self.push(kind, at, 0),
            None => {
                let name = self.cut(word.to_ascii_lowercase());
                self.push_text(g::IDENT, at, name);
            }
        }
    }

    /// A name as long as PostgreSQL keeps names.
    fn cut(&mut self, name: String) -> String {
        cut(name, &mut self.scanned.notices)
    }

    fn operator(&mut self, at: usize) -> Result<(), SyntaxError> {
        let length = self.bytes[at..].iter().take_while(|byte| is_operator(**byte)).count();
        let mut operator = &self.text[at..at + length];
        if let Some(comment) = [operator.find("/*"), operator.find("--")].into_iter().flatten().min() {
            operator = &operator[..comment];
        }
        // So that `=-` is two operators, one of many characters ends in a sign only if it has a character that is in none of SQL's own.
        if !operator.contains(['~', '!', '@', '#', '^', '&', '|', '`', '?', '%']) {
            let kept = operator.trim_end_matches(['+', '-']).len().max(1);
            operator = &operator[..kept];
        }
        self.position += operator.len();
        let kind = match operator {
            "=>" => g::EQUALS_GREATER,
            "<=" => g::LESS_EQUALS,
            ">=" => g::GREATER_EQUALS,
            "<>" | "!=" => g::NOT_EQUALS,
            _ if operator.len() == 1 => single(operator.as_bytes()[0]).unwrap_or(g::Op),
            _ if operator.len() > NAME_BYTES_MAX => {
                return Err(SyntaxError::near("operator too long", self.text, at, self.position));
            }
            _ => g::Op,
        };
        let text = operator.to_string();
        match kind {
            g::Op => self.push_text(kind, at, text),
            _ => self.push(kind, at, 0),
        }
        Ok(())
    }
}

/// Cuts a name that is too long, at a character's end, and says so.
fn cut(mut name: String, notices: &mut Vec<Notice>) -> String {
    if name.len() > NAME_BYTES_MAX {
        let kept = name.floor_char_boundary(NAME_BYTES_MAX);
        let message = format!("identifier \"{name}\" will be truncated to \"{}\"", &name[..kept]);
        notices.push(Notice { sqlstate: sqlstate::NAME_TOO_LONG, message });
        name.truncate(kept);
    }
    name
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn is_name_part(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit() || byte == b'$'
}

fn is_operator(byte: u8) -> bool {
    b"~!@#^&|`?+-*/%<>=".contains(&byte)
}

/// The symbol of a mark of one character.
fn single(byte: u8) -> Option<u16> {
    Some(match byte {
        b',' => g::COMMA,
        b'(' => g::PAREN,
        b')' => g::PAREN_END,
        b'[' => g::BRACKET,
        b']' => g::BRACKET_END,
        b'.' => g::DOT,
        b';' => g::SEMICOLON,
        b':' => g::COLON,
        b'+' => g::PLUS,
        b'-' => g::MINUS,
        b'*' => g::STAR,
        b'/' => g::SLASH,
        b'%' => g::PERCENT,
        b'^' => g::CARET,
        b'<' => g::LESS,
        b'>' => g::GREATER,
        b'=' => g::EQUALS,
        _ => return None,
    })
}
