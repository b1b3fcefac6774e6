//! Queries: words joined by operators (`tsquery`).
//!
//! Invariant: items stand in the order of PostgreSQL's binary format, an operator before its right side and that
//! before its
//! left one, and form one tree of bounded depth; no items are the empty query.

use crate::error::TextSearchError;
use crate::limits::QUERY_DEPTH_MAX;
use crate::vector_text::write_quoted;
use sqlstate::STATEMENT_TOO_COMPLEX;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A word that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryWord {
    /// Its characters.
    pub word: Arc<str>,
    /// Whether it stands for all words that start with it.
    pub is_prefix: bool,
    /// The weights that count; none for all.
    pub weights: u8,
}

/// What joins words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchOperator {
    /// Not its only side, which is a right one.
    Not,
    /// Both sides.
    And,
    /// One side or both.
    Or,
    /// The right side this many places behind the left one.
    Phrase(u16),
}

impl SearchOperator {
    /// PostgreSQL's number.
    pub fn number(self) -> u8 {
        match self {
            Self::Not => 1,
            Self::And => 2,
            Self::Or => 3,
            Self::Phrase(_) => 4,
        }
    }

    /// The greater, the closer it binds.
    pub(crate) fn priority(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Phrase(_) => 3,
            Self::Not => 4,
        }
    }
}

/// A word or an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryItem {
    /// A word.
    Word(QueryWord),
    /// An operator, before its sides.
    Operator(SearchOperator),
}

/// A question to a vector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    items: Vec<QueryItem>,
    /// For each operator with two sides, where its left side starts; 0 elsewhere.
    lefts: Vec<u32>,
}

/// Bytes that PostgreSQL keeps before the items, and of each.
const HEADER_BYTES: usize = 8;
const ITEM_BYTES: usize = 12;

impl SearchQuery {
    /// Of items in their order. Errors: 54001 if it is too deep, XX000 if they form no tree.
    pub fn of_items(items: Vec<QueryItem>) -> Result<Self, TextSearchError> {
        let mut lefts = vec![0; items.len()];
        // Operators whose sides are being read, each with whether its right side has begun.
        let mut open: Vec<(usize, bool)> = Vec::new();
        for (place, item) in items.iter().enumerate() {
            if place > 0 && open.is_empty() {
                return Err(malformed("extra nodes"));
            }
            if let QueryItem::Operator(_) = item {
                if open.len() >= QUERY_DEPTH_MAX {
                    return Err(TextSearchError::new(STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
                }
                open.push((place, false));
                continue;
            }
            while let Some((operator, has_right)) = open.pop() {
                if !has_right && items[operator] != QueryItem::Operator(SearchOperator::Not) {
                    lefts[operator] = place as u32 + 1;
                    open.push((operator, true));
                    break;
                }
            }
        }
        if !open.is_empty() {
            return Err(malformed("operand not found"));
        }
        Ok(Self { items, lefts })
    }

    /// The items, in the order of the binary format.
    pub fn items(&self) -> &[QueryItem] {
        &self.items
    }

    /// Asks for nothing, and finds nothing.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The words, in the order of the items.
    pub fn words(&self) -> impl Iterator<Item = &QueryWord> {
        self.items.iter().filter_map(|item| match item {
            QueryItem::Word(word) => Some(word),
            QueryItem::Operator(_) => None,
        })
    }

    /// Where the left side of the operator at this place starts; its right side starts behind it.
    pub(crate) fn left(&self, operator: usize) -> usize {
        self.lefts[operator] as usize
    }

    /// Bytes in memory, roughly.
    pub fn size_in_memory(&self) -> usize {
        let words: usize = self.words().map(|word| word.word.len()).sum();
        size_of::<Self>() + self.items.len() * (size_of::<QueryItem>() + 4) + words
    }

    /// Bytes as PostgreSQL keeps it: what its order looks at.
    pub fn stored_bytes(&self) -> usize {
        let words: usize = self.words().map(|word| word.word.len() + 1).sum();
        HEADER_BYTES + self.items.len() * ITEM_BYTES + words
    }

    /// Two queries joined; an empty one changes nothing. Errors: 54001 if it is too deep.
    pub fn joined(&self, operator: SearchOperator, right: &Self) -> Result<Self, TextSearchError> {
        if self.is_empty() {
            return Ok(right.clone());
        }
        if right.is_empty() {
            return Ok(self.clone());
        }
        let operator = [QueryItem::Operator(operator)];
        Self::of_items(
            operator.into_iter().chain(right.items.iter().cloned()).chain(self.items.iter().cloned()).collect(),
        )
    }

    /// Its opposite; of an empty one, itself. Errors: 54001 if it is too deep.
    pub fn negated(&self) -> Result<Self, TextSearchError> {
        if self.is_empty() {
            return Ok(self.clone());
        }
        let not = [QueryItem::Operator(SearchOperator::Not)];
        Self::of_items(not.into_iter().chain(self.items.iter().cloned()).collect())
    }

    /// Whether each word of the other one is among its words.
    pub fn contains(&self, other: &Self) -> bool {
        other.words().all(|wanted| self.words().any(|word| word.word == wanted.word))
    }

    /// What an index could look for: itself without what is negated (`querytree`).
    pub fn tree_for_index(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let mut items = Vec::new();
        if !self.positive_part(0, &mut items) {
            return "T".to_owned();
        }
        Self::of_items(items).map_or_else(|error| error.message, |query| query.to_string())
    }

    /// Appends what is not negated from here on; false if nothing is.
    fn positive_part(&self, place: usize, out: &mut Vec<QueryItem>) -> bool {
        let QueryItem::Operator(operator) = &self.items[place] else {
            out.push(self.items[place].clone());
            return true;
        };
        if *operator == SearchOperator::Not {
            return false;
        }
        let start = out.len();
        out.push(QueryItem::Operator(*operator));
        let right = self.positive_part(place + 1, out);
        let left = self.positive_part(self.left(place), out);
        if right && left {
            return true;
        }
        if *operator == SearchOperator::Or {
            out.truncate(start);
            return false;
        }
        out.remove(start);
        right || left
    }

    fn write(&self, place: usize, around: u8, is_right_of_phrase: bool, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = match &self.items[place] {
            QueryItem::Word(word) => return write_word(word, out),
            QueryItem::Operator(operator) => *operator,
        };
        let priority = operator.priority();
        if operator == SearchOperator::Not {
            out.write_str("!")?;
            return self.write(place + 1, priority, false, out);
        }
        let is_phrase = matches!(operator, SearchOperator::Phrase(_));
        let in_parentheses = priority < around || (is_phrase && is_right_of_phrase);
        if in_parentheses {
            out.write_str("( ")?;
        }
        self.write(self.left(place), priority, false, out)?;
        match operator {
            SearchOperator::Phrase(1) => out.write_str(" <-> ")?,
            SearchOperator::Phrase(distance) => write!(out, " <{distance}> ")?,
            SearchOperator::And => out.write_str(" & ")?,
            SearchOperator::Or | SearchOperator::Not => out.write_str(" | ")?,
        }
        self.write(place + 1, priority, is_phrase, out)?;
        if in_parentheses {
            out.write_str(" )")?;
        }
        Ok(())
    }
}

fn write_word(word: &QueryWord, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write_quoted(&word.word, out)?;
    if !word.is_prefix && word.weights == 0 {
        return Ok(());
    }
    out.write_str(if word.is_prefix { ":*" } else { ":" })?;
    for (bit, letter) in [(3, "A"), (2, "B"), (1, "C"), (0, "D")] {
        if word.weights & 1 << bit != 0 {
            out.write_str(letter)?;
        }
    }
    Ok(())
}

impl fmt::Display for SearchQuery {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() { Ok(()) } else { self.write(0, 0, false, out) }
    }
}

#[cold]
fn malformed(what: &str) -> TextSearchError {
    TextSearchError::new(sqlstate::INTERNAL_ERROR, format!("malformed tsquery: {what}"))
}

/// PostgreSQL's order. It looks neither at weights nor at what is a prefix.
pub fn compare_queries(left: &SearchQuery, right: &SearchQuery) -> Ordering {
    let by_count = left.items.len().cmp(&right.items.len());
    by_count
        .then_with(|| left.stored_bytes().cmp(&right.stored_bytes()))
        .then_with(|| if left.is_empty() { Ordering::Equal } else { compare_from(left, 0, right, 0) })
}

fn compare_from(left: &SearchQuery, place: usize, right: &SearchQuery, other: usize) -> Ordering {
    match (&left.items[place], &right.items[other]) {
        (QueryItem::Word(left), QueryItem::Word(right)) => compare_words(&left.word, &right.word),
        (QueryItem::Word(_), QueryItem::Operator(_)) => Ordering::Greater,
        (QueryItem::Operator(_), QueryItem::Word(_)) => Ordering::Less,
        (QueryItem::Operator(one), QueryItem::Operator(two)) => {
            let by_operator = two.number().cmp(&one.number());
            let by_right = || compare_from(left, place + 1, right, other + 1);
            let by_left = || match one {
                SearchOperator::Not => Ordering::Equal,
                _ => compare_from(left, left.left(place), right, right.left(other)),
            };
            by_operator.then_with(by_right).then_with(by_left).then_with(|| distance(*two).cmp(&distance(*one)))
        }
    }
}

pub(crate) fn distance(operator: SearchOperator) -> u16 {
    if let SearchOperator::Phrase(distance) = operator { distance } else { 0 }
}

/// Words are in the order of a checksum first, greater ones before.
pub(crate) fn compare_words(left: &str, right: &str) -> Ordering {
    checksum(right).cmp(&checksum(left)).then_with(|| left.as_bytes().cmp(right.as_bytes()))
}

/// The table of CRC-32, lowest bits first.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut entry = index as u32;
        let mut bit = 0;
        while bit < 8 {
            entry = if entry & 1 == 1 { entry >> 1 ^ 0xedb8_8320 } else { entry >> 1 };
            bit += 1;
        }
        table[index] = entry;
        index += 1;
    }
    table
};

/// The checksum of a word that orders queries: PostgreSQL reads the table of one bit order in the other one, and takes
/// the result for a number with a sign.
pub fn checksum(word: &str) -> i32 {
    let crc = word.bytes().fold(u32::MAX, |crc, byte| {
        let index = (crc >> 24) as u8 ^ byte;
        TABLE[usize::from(index)] ^ crc << 8
    });
    !crc as i32
}
