//! Vectors: lexemes with the places at which a document has them (`tsvector`).
//!
//! Invariant: lexemes are in the order of their bytes, each once; the positions of a lexeme ascend, and none is 0.

use crate::error::TextSearchError;
use crate::limits::{POSITION_MAX, POSITIONS_MAX, POSITIONS_OF_DOCUMENT_MAX, VECTOR_BYTES_MAX};
use std::cmp::Ordering;
use std::sync::Arc;

/// Bits of a position below its weight.
const WEIGHT_SHIFT: u16 = 14;
/// Bytes before a vector's lexemes, and of what PostgreSQL keeps of each beside its characters.
const HEADER_BYTES: usize = 8;
const ENTRY_BYTES: usize = 4;

/// How much a place in a document counts; `D` is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "letters")]
pub enum LexemeWeight {
    D = 0,
    C = 1,
    B = 2,
    A = 3,
}

impl LexemeWeight {
    /// By its letter, small or not.
    pub fn of_letter(letter: u8) -> Option<Self> {
        match letter {
            b'A' | b'a' => Some(Self::A),
            b'B' | b'b' => Some(Self::B),
            b'C' | b'c' => Some(Self::C),
            b'D' | b'd' => Some(Self::D),
            _ => None,
        }
    }

    fn of_bits(bits: u16) -> Self {
        match bits & 3 {
            0 => Self::D,
            1 => Self::C,
            2 => Self::B,
            _ => Self::A,
        }
    }

    /// Its letter.
    pub fn letter(self) -> char {
        match self {
            Self::A => 'A',
            Self::B => 'B',
            Self::C => 'C',
            Self::D => 'D',
        }
    }

    /// Its bit in a set of weights.
    pub fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A place in a document, with its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LexemePosition(u16);

impl LexemePosition {
    /// A place with weight `D`; what is too large becomes the greatest.
    pub fn new(place: u32) -> Self {
        Self(place.min(u32::from(POSITION_MAX)) as u16)
    }

    /// As PostgreSQL's binary format has it.
    pub fn of_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// As PostgreSQL's binary format has it.
    pub fn bits(self) -> u16 {
        self.0
    }

    /// From 1; 0 in damaged vectors only.
    pub fn place(self) -> u16 {
        self.0 & POSITION_MAX
    }

    /// The weight.
    pub fn weight(self) -> LexemeWeight {
        LexemeWeight::of_bits(self.0 >> WEIGHT_SHIFT)
    }

    /// The same place with another weight.
    pub fn with_weight(self, weight: LexemeWeight) -> Self {
        Self(self.place() | (weight as u16) << WEIGHT_SHIFT)
    }
}

/// A lexeme and its places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lexeme {
    /// Its characters.
    pub word: Arc<str>,
    /// Where it stands; empty if nobody knows.
    pub positions: Vec<LexemePosition>,
}

/// A document as its lexemes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchVector {
    lexemes: Vec<Lexeme>,
}

impl SearchVector {
    /// Of lexemes in any order, with repetitions. Errors: 54000 if it is too long.
    pub fn of_lexemes(mut lexemes: Vec<Lexeme>) -> Result<Self, TextSearchError> {
        lexemes.sort_by(|left, right| left.word.as_bytes().cmp(right.word.as_bytes()));
        let mut merged: Vec<Lexeme> = Vec::with_capacity(lexemes.len());
        for lexeme in lexemes {
            match merged.last_mut() {
                Some(last) if last.word == lexeme.word => last.positions.extend(lexeme.positions),
                _ => merged.push(lexeme),
            }
        }
        merged.iter_mut().for_each(|lexeme| tidy_positions(&mut lexeme.positions));
        Self { lexemes: merged }.bounded()
    }

    /// Of the words of a document, each with its place. Errors: 54000 if it is too long.
    pub(crate) fn of_document(mut words: Vec<(String, u32)>) -> Result<Self, TextSearchError> {
        words.sort();
        let mut lexemes: Vec<Lexeme> = Vec::new();
        for (word, place) in words {
            let position = LexemePosition::new(place);
            match lexemes.last_mut() {
                Some(last) if *last.word == *word => {
                    let is_new =
                        last.positions.last().is_none_or(|known| known.place() != POSITION_MAX && *known != position);
                    if is_new && last.positions.len() < POSITIONS_OF_DOCUMENT_MAX {
                        last.positions.push(position);
                    }
                }
                _ => lexemes.push(Lexeme { word: word.into(), positions: vec![position] }),
            }
        }
        Self { lexemes }.bounded()
    }

    /// Lexemes that are in order already, as stored ones are; `None` if they are not.
    pub fn of_stored(lexemes: Vec<Lexeme>) -> Option<Self> {
        let words = lexemes.is_sorted_by(|left, right| left.word.as_bytes() < right.word.as_bytes());
        let positions = lexemes.iter().all(|lexeme| {
            lexeme.positions.len() <= POSITIONS_MAX
                && lexeme.positions.is_sorted_by(|left, right| left.place() <= right.place())
        });
        (words && positions).then_some(Self { lexemes })
    }

    fn bounded(self) -> Result<Self, TextSearchError> {
        let bytes = self.data_bytes();
        if bytes > VECTOR_BYTES_MAX {
            return Err(too_long(bytes));
        }
        Ok(self)
    }

    /// The lexemes, in order.
    pub fn lexemes(&self) -> &[Lexeme] {
        &self.lexemes
    }

    /// Bytes in memory, roughly.
    pub fn size_in_memory(&self) -> usize {
        let of_lexeme = |lexeme: &Lexeme| size_of::<Lexeme>() + lexeme.word.len() + lexeme.positions.len() * 2;
        size_of::<Self>() + self.lexemes.iter().map(of_lexeme).sum::<usize>()
    }

    /// The bytes that PostgreSQL keeps of words and positions: positions start at even places.
    fn data_bytes(&self) -> usize {
        self.lexemes.iter().fold(0, |so_far, lexeme| {
            let behind_word = so_far + lexeme.word.len();
            match lexeme.positions.len() {
                0 => behind_word,
                count => behind_word.next_multiple_of(2) + 2 + 2 * count,
            }
        })
    }

    /// The bytes of the whole as PostgreSQL keeps it: what its order looks at first.
    pub fn stored_bytes(&self) -> usize {
        HEADER_BYTES + self.lexemes.len() * ENTRY_BYTES + self.data_bytes()
    }

    /// How many places there are, where a lexeme without any counts one.
    pub(crate) fn places(&self) -> usize {
        self.lexemes.iter().map(|lexeme| lexeme.positions.len().max(1)).sum()
    }

    /// The lexemes that are this word, or that start with it.
    pub(crate) fn matching(&self, word: &str, is_prefix: bool) -> &[Lexeme] {
        let start = self.lexemes.partition_point(|lexeme| lexeme.word.as_bytes() < word.as_bytes());
        let rest = &self.lexemes[start..];
        let count = match is_prefix {
            true => rest.iter().take_while(|lexeme| lexeme.word.starts_with(word)).count(),
            false => usize::from(rest.first().is_some_and(|lexeme| *lexeme.word == *word)),
        };
        &rest[..count]
    }

    /// Without places (`strip`).
    pub fn stripped(&self) -> Self {
        let lexemes =
            self.lexemes.iter().map(|lexeme| Lexeme { word: Arc::clone(&lexeme.word), positions: Vec::new() });
        Self { lexemes: lexemes.collect() }
    }

    /// With this weight at every place of these words, or of all (`setweight`).
    pub fn with_weight(&self, weight: LexemeWeight, words: Option<&[&str]>) -> Self {
        let mut changed = self.clone();
        for lexeme in &mut changed.lexemes {
            if words.is_none_or(|words| words.contains(&&*lexeme.word)) {
                lexeme.positions.iter_mut().for_each(|position| *position = position.with_weight(weight));
            }
        }
        changed
    }

    /// Without these words (`ts_delete`).
    pub fn without(&self, words: &[&str]) -> Self {
        let kept = self.lexemes.iter().filter(|lexeme| !words.contains(&&*lexeme.word));
        Self { lexemes: kept.cloned().collect() }
    }

    /// Only places whose weight is in a set (`ts_filter`).
    pub fn filtered(&self, weights: u8) -> Self {
        let kept = self.lexemes.iter().filter_map(|lexeme| {
            let mut positions = lexeme.positions.clone();
            positions.retain(|position| position.weight().bit() & weights != 0);
            (!positions.is_empty()).then(|| Lexeme { word: Arc::clone(&lexeme.word), positions })
        });
        Self { lexemes: kept.collect() }
    }

    /// This document, and behind it another one. Errors: 54000 if it is too long.
    pub fn joined(&self, other: &Self) -> Result<Self, TextSearchError> {
        let last = self.lexemes.iter().flat_map(|lexeme| &lexeme.positions).map(|position| position.place()).max();
        let shift = u32::from(last.unwrap_or(0));
        let mut lexemes = self.lexemes.clone();
        let mut all = Vec::with_capacity(lexemes.len() + other.lexemes.len());
        let mut left = lexemes.drain(..).peekable();
        for right in &other.lexemes {
            while let Some(lexeme) = left.next_if(|lexeme| lexeme.word.as_bytes() < right.word.as_bytes()) {
                all.push(lexeme);
            }
            let same = left.next_if(|lexeme| lexeme.word == right.word);
            let mut lexeme = same.unwrap_or_else(|| Lexeme { word: Arc::clone(&right.word), positions: Vec::new() });
            for position in &right.positions {
                let is_full = lexeme.positions.len() >= POSITIONS_MAX;
                if is_full || lexeme.positions.last().is_some_and(|last| last.place() == POSITION_MAX) {
                    break;
                }
                let moved = LexemePosition::new(u32::from(position.place()) + shift);
                lexeme.positions.push(moved.with_weight(position.weight()));
            }
            all.push(lexeme);
        }
        all.extend(left);
        Self { lexemes: all }.bounded()
    }
}

#[cold]
pub(crate) fn too_long(bytes: usize) -> TextSearchError {
    let message = format!("string is too long for tsvector ({bytes} bytes, max {VECTOR_BYTES_MAX} bytes)");
    TextSearchError::limit(message)
}

/// In order, each place once with the greatest weight that it has, and no more than there may be.
fn tidy_positions(positions: &mut Vec<LexemePosition>) {
    positions.sort_by_key(|position| position.place());
    let mut kept: Vec<LexemePosition> = Vec::with_capacity(positions.len());
    for position in positions.iter() {
        match kept.last_mut() {
            Some(last) if last.place() == position.place() => {
                if position.weight() > last.weight() {
                    *last = *position;
                }
            }
            _ => {
                kept.push(*position);
                // PostgreSQL does not look at what is behind these, unless it is the first.
                if kept.len() > 1 && (kept.len() == POSITIONS_MAX || position.place() == POSITION_MAX) {
                    break;
                }
            }
        }
    }
    *positions = kept;
}

impl PartialOrd for SearchVector {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// PostgreSQL's order: shorter ones first, then fewer lexemes, then lexeme by lexeme, of which more and later places
/// come first.
impl Ord for SearchVector {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_size = self.stored_bytes().cmp(&other.stored_bytes());
        let by_count = || self.lexemes.len().cmp(&other.lexemes.len());
        by_size.then_with(by_count).then_with(|| {
            let pairs = self.lexemes.iter().zip(&other.lexemes);
            let mut orders = pairs.map(|(left, right)| compare_lexemes(left, right));
            orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        })
    }
}

fn compare_lexemes(left: &Lexeme, right: &Lexeme) -> Ordering {
    let known = |lexeme: &Lexeme| !lexeme.positions.is_empty();
    let by_known = known(right).cmp(&known(left));
    let by_word = || left.word.as_bytes().cmp(right.word.as_bytes());
    let by_count = || right.positions.len().cmp(&left.positions.len());
    by_known.then_with(by_word).then_with(by_count).then_with(|| {
        let key = |position: &LexemePosition| (position.place(), position.weight());
        right.positions.iter().map(key).cmp(left.positions.iter().map(key))
    })
}
