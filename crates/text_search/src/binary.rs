//! Vectors and queries as PostgreSQL's binary format has them.

use crate::error::TextSearchError;
use crate::limits::{LEXEME_BYTES_END, POSITIONS_MAX, VECTOR_BYTES_MAX};
use crate::query::{QueryItem, QueryWord, SearchOperator, SearchQuery};
use crate::vector::{Lexeme, LexemePosition, SearchVector};
use sqlstate::{INTERNAL_ERROR, PROTOCOL_VIOLATION};

const WORD: u8 = 1;
const OPERATOR: u8 = 2;
/// Bytes that a lexeme or an item has at least: what a count may promise.
const ENTRY_BYTES_MIN: usize = 3;

#[cold]
fn wrong(message: &str) -> TextSearchError {
    TextSearchError::new(INTERNAL_ERROR, message)
}

/// Bytes that are read from their start.
struct BinaryReader<'a>(&'a [u8]);

impl<'a> BinaryReader<'a> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], TextSearchError> {
        let missing = || TextSearchError::new(PROTOCOL_VIOLATION, "insufficient data left in message");
        let (first, rest) = self.0.split_first_chunk::<N>().ok_or_else(missing)?;
        self.0 = rest;
        Ok(*first)
    }

    fn string(&mut self) -> Result<&'a str, TextSearchError> {
        let invalid = || TextSearchError::new(PROTOCOL_VIOLATION, "invalid string in message");
        let end = self.0.iter().position(|byte| *byte == 0).ok_or_else(invalid)?;
        let text = std::str::from_utf8(&self.0[..end]).map_err(|_| invalid())?;
        self.0 = &self.0[end + 1..];
        Ok(text)
    }

    /// How many entries follow; bounded by the bytes that are there.
    fn count(&mut self, what: &str) -> Result<usize, TextSearchError> {
        let count = i32::from_be_bytes(self.bytes()?);
        usize::try_from(count).map_err(|_| wrong(&format!("invalid size of {what}")))
    }

    fn end(&self) -> Result<(), TextSearchError> {
        let message = "incorrect binary data format";
        let wrong = || TextSearchError::new(sqlstate::INVALID_BINARY_REPRESENTATION, message);
        self.0.is_empty().then_some(()).ok_or_else(wrong)
    }
}

impl SearchVector {
    /// Appends the bytes of the binary format.
    pub fn write_binary(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.lexemes().len() as i32).to_be_bytes());
        for lexeme in self.lexemes() {
            out.extend_from_slice(lexeme.word.as_bytes());
            out.push(0);
            out.extend_from_slice(&(lexeme.positions.len() as u16).to_be_bytes());
            lexeme.positions.iter().for_each(|position| out.extend_from_slice(&position.bits().to_be_bytes()));
        }
    }

    /// Reads these bytes. Errors: 08P01, 22P03, XX000 as PostgreSQL.
    pub fn of_binary(bytes: &[u8]) -> Result<Self, TextSearchError> {
        let mut reader = BinaryReader(bytes);
        let count = reader.count("tsvector")?;
        let mut lexemes = Vec::with_capacity(count.min(bytes.len() / ENTRY_BYTES_MIN));
        let mut length = 0;
        for _ in 0..count {
            let word = reader.string()?;
            let places = usize::from(u16::from_be_bytes(reader.bytes()?));
            if word.len() > LEXEME_BYTES_END {
                return Err(wrong("invalid tsvector: lexeme too long"));
            }
            if length > VECTOR_BYTES_MAX {
                return Err(wrong("invalid tsvector: maximum total lexeme length exceeded"));
            }
            if places > POSITIONS_MAX {
                return Err(wrong("unexpected number of tsvector positions"));
            }
            length += word.len() + places * 2;
            let mut positions: Vec<LexemePosition> = Vec::with_capacity(places);
            for _ in 0..places {
                let position = LexemePosition::of_bits(u16::from_be_bytes(reader.bytes()?));
                if positions.last().is_some_and(|last| position.place() <= last.place()) {
                    return Err(wrong("position information is misordered"));
                }
                positions.push(position);
            }
            lexemes.push(Lexeme { word: word.into(), positions });
        }
        reader.end()?;
        Self::of_lexemes(lexemes)
    }
}

impl SearchQuery {
    /// Appends the bytes of the binary format.
    pub fn write_binary(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.items().len() as i32).to_be_bytes());
        for item in self.items() {
            match item {
                QueryItem::Word(word) => {
                    out.extend_from_slice(&[WORD, word.weights, u8::from(word.is_prefix)]);
                    out.extend_from_slice(word.word.as_bytes());
                    out.push(0);
                }
                QueryItem::Operator(operator) => {
                    out.extend_from_slice(&[OPERATOR, operator.number()]);
                    if let SearchOperator::Phrase(distance) = operator {
                        out.extend_from_slice(&distance.to_be_bytes());
                    }
                }
            }
        }
    }

    /// Reads these bytes. Errors: 08P01, 22P03, 54001, XX000 as PostgreSQL.
    pub fn of_binary(bytes: &[u8]) -> Result<Self, TextSearchError> {
        let mut reader = BinaryReader(bytes);
        let count = reader.count("tsquery")?;
        let mut items = Vec::with_capacity(count.min(bytes.len() / 2));
        let mut length = 0;
        for _ in 0..count {
            match reader.bytes()? {
                [WORD] => {
                    let [weights, prefix] = reader.bytes()?;
                    let word = reader.string()?;
                    if weights > 0xf {
                        return Err(wrong("invalid tsquery: invalid weight bitmap"));
                    }
                    if word.len() > LEXEME_BYTES_END {
                        return Err(wrong("invalid tsquery: operand too long"));
                    }
                    if length > VECTOR_BYTES_MAX {
                        return Err(wrong("invalid tsquery: total operand length exceeded"));
                    }
                    length += word.len() + 1;
                    items.push(QueryItem::Word(QueryWord { word: word.into(), is_prefix: prefix != 0, weights }));
                }
                [OPERATOR] => {
                    let [number] = reader.bytes()?;
                    items.push(QueryItem::Operator(match number {
                        1 => SearchOperator::Not,
                        2 => SearchOperator::And,
                        3 => SearchOperator::Or,
                        4 => SearchOperator::Phrase(u16::from_be_bytes(reader.bytes()?)),
                        _ => return Err(wrong(&format!("invalid tsquery: unrecognized operator type {number}"))),
                    }));
                }
                [kind] => return Err(wrong(&format!("unrecognized tsquery node type: {kind}"))),
            }
        }
        reader.end()?;
        if items.is_empty() { Ok(Self::default()) } else { Self::of_items(items) }
    }
}
