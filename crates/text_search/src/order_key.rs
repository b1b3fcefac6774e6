//! Bytes whose order is that of vectors, or of queries.
//!
//! Invariant: two values have the same bytes exactly if they are equal; of a query the weights and stars of words are
//! not kept.

use crate::query::{QueryItem, QueryWord, SearchOperator, SearchQuery, checksum, distance};
use crate::vector::{Lexeme, LexemePosition, LexemeWeight, SearchVector};

/// Ends a word, below any byte of one.
const END: u8 = 0;
const WITH_POSITIONS: u8 = 0;
const WITHOUT_POSITIONS: u8 = 1;
const OPERATOR: u8 = 0;
const WORD: u8 = 1;

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, behind) = rest.split_first_chunk::<N>()?;
    *rest = behind;
    Some(*first)
}

fn append_word(word: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(word.as_bytes());
    out.push(END);
}

fn take_word<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let end = rest.iter().position(|byte| *byte == END)?;
    let word = std::str::from_utf8(&rest[..end]).ok()?;
    *rest = &rest[end + 1..];
    Some(word)
}

impl SearchVector {
    /// Appends the bytes.
    pub fn append_key(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.stored_bytes() as u32).to_be_bytes());
        out.extend_from_slice(&(self.lexemes().len() as u32).to_be_bytes());
        for lexeme in self.lexemes() {
            out.push(if lexeme.positions.is_empty() { WITHOUT_POSITIONS } else { WITH_POSITIONS });
            append_word(&lexeme.word, out);
            if lexeme.positions.is_empty() {
                continue;
            }
            // More and later places come first.
            out.extend_from_slice(&(!(lexeme.positions.len() as u16)).to_be_bytes());
            for position in &lexeme.positions {
                out.extend_from_slice(&(!(position.place() << 2 | position.weight() as u16)).to_be_bytes());
            }
        }
    }

    /// Takes what was appended; `None` for damaged bytes.
    pub fn of_key(rest: &mut &[u8]) -> Option<Self> {
        let _bytes = take::<4>(rest)?;
        let count = u32::from_be_bytes(take(rest)?);
        let mut lexemes = Vec::new();
        for _ in 0..count {
            let [kind] = take(rest)?;
            let word = take_word(rest)?.into();
            let places = match kind {
                WITHOUT_POSITIONS => 0,
                WITH_POSITIONS => !u16::from_be_bytes(take(rest)?),
                _ => return None,
            };
            let mut positions = Vec::new();
            for _ in 0..places {
                let bits = !u16::from_be_bytes(take(rest)?);
                let weight =
                    [LexemeWeight::D, LexemeWeight::C, LexemeWeight::B, LexemeWeight::A][usize::from(bits & 3)];
                positions.push(LexemePosition::new(u32::from(bits >> 2)).with_weight(weight));
            }
            lexemes.push(Lexeme { word, positions });
        }
        Self::of_stored(lexemes)
    }
}

impl SearchQuery {
    /// Appends the bytes.
    pub fn append_key(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.items().len() as u32).to_be_bytes());
        out.extend_from_slice(&(self.stored_bytes() as u32).to_be_bytes());
        if !self.is_empty() {
            self.append_from(0, out);
        }
    }

    fn append_from(&self, place: usize, out: &mut Vec<u8>) {
        match &self.items()[place] {
            QueryItem::Word(word) => {
                out.push(WORD);
                // Greater checksums come first, as numbers with a sign.
                out.extend_from_slice(&(!(checksum(&word.word) as u32 ^ 1 << 31)).to_be_bytes());
                append_word(&word.word, out);
            }
            QueryItem::Operator(operator) => {
                out.extend_from_slice(&[OPERATOR, !operator.number()]);
                self.append_from(place + 1, out);
                if *operator != SearchOperator::Not {
                    self.append_from(self.left(place), out);
                }
                out.extend_from_slice(&(!distance(*operator)).to_be_bytes());
            }
        }
    }

    /// Takes what was appended; `None` for damaged bytes.
    pub fn of_key(rest: &mut &[u8]) -> Option<Self> {
        let count = u32::from_be_bytes(take(rest)?);
        let _bytes = take::<4>(rest)?;
        let mut items = Vec::new();
        // Operators whose sides are being read, each with how many it still wants.
        let mut open: Vec<(usize, u32)> = Vec::new();
        for _ in 0..count {
            let [kind] = take(rest)?;
            if kind == OPERATOR {
                let [number] = take(rest)?;
                let (operator, sides) = match !number {
                    1 => (SearchOperator::Not, 1),
                    2 => (SearchOperator::And, 2),
                    3 => (SearchOperator::Or, 2),
                    4 => (SearchOperator::Phrase(0), 2),
                    _ => return None,
                };
                open.push((items.len(), sides));
                items.push(QueryItem::Operator(operator));
                continue;
            }
            let _checksum = take::<4>(rest)?;
            items.push(QueryItem::Word(QueryWord { word: take_word(rest)?.into(), is_prefix: false, weights: 0 }));
            while let Some((operator, sides)) = open.pop() {
                if sides > 1 {
                    open.push((operator, sides - 1));
                    break;
                }
                let distance = !u16::from_be_bytes(take(rest)?);
                if let QueryItem::Operator(SearchOperator::Phrase(known)) = &mut items[operator] {
                    *known = distance;
                }
            }
        }
        if items.is_empty() { Some(Self::default()) } else { Self::of_items(items).ok() }
    }
}
