//! How well a vector answers a query: `ts_rank` by how often and how near its words stand, `ts_rank_cd` by the covers
//! of the
//! query, the shortest pieces of the document that satisfy it (Clarke, Cormack and Tudhope, "Relevance Ranking for One
//! to
//! Three Term Queries", 1999). The numbers are PostgreSQL 15's to the last bit, so that widths and the order of sums
//! are too.

use crate::error::TextSearchError;
use crate::limits::{DISTANCE_MAX, POSITION_MAX};
use crate::matching::{WordSource, is_satisfied};
use crate::query::{QueryItem, QueryWord, SearchOperator, SearchQuery};
use crate::vector::{Lexeme, LexemePosition, SearchVector};
use sqlstate::{ARRAY_SUBSCRIPT_ERROR, INVALID_PARAMETER_VALUE};

/// What places of weights D, C, B and A count.
pub const USUAL_WEIGHTS: [f32; 4] = [0.1, 0.2, 0.4, 1.0];
/// The sum of 1/n² for all n: more places of a word never count more.
const SQUARES: f64 = 1.64493406685;

/// Bits of what a rank is divided by.
const BY_LOGARITHM_OF_LENGTH: i32 = 0x01;
const BY_LENGTH: i32 = 0x02;
const BY_DISTANCE: i32 = 0x04;
const BY_WORDS: i32 = 0x08;
const BY_LOGARITHM_OF_WORDS: i32 = 0x10;
const BY_ITSELF: i32 = 0x20;

/// Weights as a caller gives them; a negative one is the usual one. Errors: 2202E for fewer than four, 22023 for one
/// above 1.
pub fn weights(given: &[f32]) -> Result<[f32; 4], TextSearchError> {
    let Some(first) = given.first_chunk::<4>() else {
        return Err(TextSearchError::new(ARRAY_SUBSCRIPT_ERROR, "array of weight is too short"));
    };
    let mut weights = *first;
    for (weight, usual) in weights.iter_mut().zip(USUAL_WEIGHTS) {
        if weight.is_nan() || *weight < 0.0 {
            *weight = usual;
        }
        if *weight > 1.0 {
            return Err(TextSearchError::new(INVALID_PARAMETER_VALUE, "weight out of range"));
        }
    }
    Ok(weights)
}

fn counted(weights: &[f32; 4], position: LexemePosition) -> f32 {
    weights[position.weight() as usize]
}

/// The words of a query in order, each once. Of a word with and without a star, the one that comes first in the binary format stays; PostgreSQL
/// does the same with up to six words, and sorts more of them in an order of its own.
fn sorted_words(query: &SearchQuery) -> Vec<&QueryWord> {
    let mut words: Vec<&QueryWord> = query.words().collect();
    words.sort_by(|left, right| left.word.as_bytes().cmp(right.word.as_bytes()));
    words.dedup_by(|next, kept| next.word == kept.word);
    words
}

/// `ts_rank`.
pub fn rank(weights: &[f32; 4], vector: &SearchVector, query: &SearchQuery, method: i32) -> f32 {
    if vector.lexemes().is_empty() || query.is_empty() {
        return 0.0;
    }
    let joins_all = matches!(query.items()[0], QueryItem::Operator(SearchOperator::And | SearchOperator::Phrase(_)));
    let words = sorted_words(query);
    let mut rank = match joins_all && words.len() > 1 {
        true => rank_of_all(weights, vector, &words),
        false => rank_of_any(weights, vector, &words),
    };
    if rank < 0.0 {
        rank = 1e-20;
    }
    let (count, places) = (vector.lexemes().len(), vector.places());
    if method & BY_LOGARITHM_OF_LENGTH != 0 {
        rank = (f64::from(rank) / (((places + 1) as f64).ln() / 2.0_f64.ln())) as f32;
    }
    if method & BY_LENGTH != 0 && places > 0 {
        rank /= places as f32;
    }
    if method & BY_WORDS != 0 {
        rank /= count as f32;
    }
    if method & BY_LOGARITHM_OF_WORDS != 0 {
        rank = (f64::from(rank) / (((count + 1) as f64).ln() / 2.0_f64.ln())) as f32;
    }
    if method & BY_ITSELF != 0 {
        rank /= rank + 1.0;
    }
    rank
}

/// What two words count that stand this far apart.
fn nearness(distance: u16) -> f32 {
    if distance > 100 {
        return 1e-30;
    }
    (1.0 / (1.005 + 0.05 * (f64::from(distance) / 1.5 - 2.0).exp())) as f32
}

fn rank_of_all(weights: &[f32; 4], vector: &SearchVector, words: &[&QueryWord]) -> f32 {
    let unknown = [LexemePosition::new(u32::from(POSITION_MAX))];
    let mut rank = -1.0_f32;
    let mut known: Vec<Option<&Lexeme>> = Vec::with_capacity(words.len());
    for word in words {
        let mut last = None;
        for lexeme in vector.matching(&word.word, word.is_prefix) {
            last = Some(lexeme);
            for other in known.iter().flatten() {
                let is_unknown = lexeme.positions.is_empty() || other.positions.is_empty();
                let here = if lexeme.positions.is_empty() { &unknown[..] } else { &lexeme.positions };
                let there = if other.positions.is_empty() { &unknown[..] } else { &other.positions };
                for one in here {
                    for two in there {
                        let mut distance = one.place().abs_diff(two.place());
                        if distance == 0 && !is_unknown {
                            continue;
                        }
                        if distance == 0 {
                            distance = DISTANCE_MAX;
                        }
                        let product = counted(weights, *one) * counted(weights, *two) * nearness(distance);
                        let now = f64::from(product).sqrt() as f32;
                        rank = match rank < 0.0 {
                            true => now,
                            false => (1.0 - (1.0 - f64::from(rank)) * (1.0 - f64::from(now))) as f32,
                        };
                    }
                }
            }
        }
        known.push(last);
    }
    rank
}

fn rank_of_any(weights: &[f32; 4], vector: &SearchVector, words: &[&QueryWord]) -> f32 {
    let unknown = [LexemePosition::of_bits(0)];
    let mut rank = 0.0_f32;
    for word in words {
        for lexeme in vector.matching(&word.word, word.is_prefix) {
            let positions = if lexeme.positions.is_empty() { &unknown[..] } else { &lexeme.positions };
            let (mut sum, mut greatest, mut greatest_at) = (0.0_f32, -1.0_f32, 1);
            for (at, position) in (1_i32..).zip(positions) {
                let weight = counted(weights, *position);
                sum += weight / (at * at) as f32;
                if weight > greatest {
                    (greatest, greatest_at) = (weight, at);
                }
            }
            let all = greatest + sum - greatest / (greatest_at * greatest_at) as f32;
            rank = (f64::from(rank) + f64::from(all) / SQUARES) as f32;
        }
    }
    if words.is_empty() { rank } else { rank / words.len() as f32 }
}

/// A place of the document that has a word of the query, with the places in the query of all that it has there.
struct DocumentPlace {
    position: LexemePosition,
    words: Vec<usize>,
}

/// Words of the query that a piece of the document has, with their places; by their place in the query.
struct PieceOfDocument {
    places: Vec<Vec<u16>>,
    is_backwards: bool,
}

impl PieceOfDocument {
    fn new(query: &SearchQuery, is_backwards: bool) -> Self {
        Self { places: vec![Vec::new(); query.items().len()], is_backwards }
    }

    fn add(&mut self, place: &DocumentPlace) {
        for word in &place.words {
            let places = &mut self.places[*word];
            if places.last() != Some(&place.position.place()) {
                places.push(place.position.place());
            }
        }
    }
}

impl WordSource for PieceOfDocument {
    fn has(&self, place: usize, _word: &QueryWord) -> bool {
        !self.places[place].is_empty()
    }

    fn places(&self, place: usize, _word: &QueryWord) -> Option<Vec<u16>> {
        let mut places = self.places[place].clone();
        if self.is_backwards {
            places.reverse();
        }
        Some(places)
    }
}

/// All places of the document that have words of the query, in order.
fn places_of_document(vector: &SearchVector, query: &SearchQuery) -> Vec<DocumentPlace> {
    let mut found: Vec<(LexemePosition, &Lexeme, usize)> = Vec::new();
    for (place, item) in query.items().iter().enumerate() {
        let QueryItem::Word(word) = item else { continue };
        for lexeme in vector.matching(&word.word, word.is_prefix) {
            let counts = |position: &&LexemePosition| word.weights == 0 || word.weights & position.weight().bit() != 0;
            found.extend(lexeme.positions.iter().filter(counts).map(|position| (*position, lexeme, place)));
        }
    }
    found.sort_by(|(left, left_lexeme, _), (right, right_lexeme, _)| {
        let by_place = left.place().cmp(&right.place()).then(left.weight().cmp(&right.weight()));
        by_place.then_with(|| left_lexeme.word.as_bytes().cmp(right_lexeme.word.as_bytes()))
    });
    let mut places: Vec<DocumentPlace> = Vec::new();
    let mut last: Option<(LexemePosition, &Lexeme)> = None;
    for (position, lexeme, word) in found {
        match places.last_mut() {
            Some(place) if last == Some((position, lexeme)) => place.words.push(word),
            _ => places.push(DocumentPlace { position, words: vec![word] }),
        }
        last = Some((position, lexeme));
    }
    places
}

/// The first cover that starts at or behind a place: where it starts and ends among the places of the document.
fn cover(document: &[DocumentPlace], query: &SearchQuery, mut from: usize) -> Option<(usize, usize)> {
    loop {
        let mut piece = PieceOfDocument::new(query, false);
        let last = (from..document.len()).find(|place| {
            piece.add(&document[*place]);
            is_satisfied(query, &piece)
        })?;
        if document[last].position.place() == 0 {
            return None;
        }
        let mut piece = PieceOfDocument::new(query, true);
        let first = (from..=last).rev().find(|place| {
            piece.add(&document[*place]);
            is_satisfied(query, &piece)
        });
        if let Some(first) = first {
            return Some((first, last));
        }
        from += 1;
    }
}

/// `ts_rank_cd`.
pub fn rank_by_covers(weights: &[f32; 4], vector: &SearchVector, query: &SearchQuery, method: i32) -> f32 {
    let document = places_of_document(vector, query);
    if document.is_empty() {
        return 0.0;
    }
    let (mut rank, mut nearness, mut last_middle) = (0.0_f64, 0.0_f64, 0.0_f64);
    let (mut covers, mut from) = (0, 0);
    while let Some((first, last)) = cover(&document, query, from) {
        let inverses = document[first..=last].iter().map(|place| 1.0 / f64::from(counted(weights, place.position)));
        let sum = inverses.fold(0.0, |sum, next| sum + next);
        let (start, end) = (document[first].position.place(), document[last].position.place());
        let more = (last - first) as i32;
        let noise = match i32::from(end) - i32::from(start) - more {
            noise if noise < 0 => more / 2,
            noise => noise,
        };
        rank += (f64::from(more + 1) / sum) / f64::from(1 + noise);
        let middle = f64::from(u32::from(start) + u32::from(end)) / 2.0;
        if covers > 0 && middle > last_middle {
            nearness += 1.0 / (middle - last_middle);
        }
        last_middle = middle;
        covers += 1;
        from = first + 1;
    }
    let (count, places) = (vector.lexemes().len(), vector.places());
    if method & BY_LOGARITHM_OF_LENGTH != 0 {
        rank /= ((places + 1) as f64).ln();
    }
    if method & BY_LENGTH != 0 {
        rank /= places as f64;
    }
    if method & BY_DISTANCE != 0 && covers > 0 && nearness > 0.0 {
        rank /= f64::from(covers) / nearness;
    }
    if method & BY_WORDS != 0 {
        rank /= count as f64;
    }
    if method & BY_LOGARITHM_OF_WORDS != 0 {
        rank /= ((count + 1) as f64).ln() / 2.0_f64.ln();
    }
    if method & BY_ITSELF != 0 {
        rank /= rank + 1.0;
    }
    rank as f32
}
