//! Whether a vector is what a query asks for (`@@`).
//!
//! Above phrases a query is a logical formula. Below one, each part has the places at which it ends, or all but these.

use crate::query::{QueryItem, QueryWord, SearchOperator, SearchQuery};
use crate::vector::{Lexeme, SearchVector};
use std::cmp::Ordering;

/// Whether something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Absent,
    /// It is there, but nobody knows where.
    Somewhere,
    Present,
}

/// Where words are looked for.
pub(crate) trait WordSource {
    /// Whether the word, which stands at this place of the query, is there.
    fn has(&self, place: usize, word: &QueryWord) -> bool;
    /// The places that it has, in ascending order, each once; `None` if it is there at unknown ones.
    fn places(&self, place: usize, word: &QueryWord) -> Option<Vec<u16>>;
}

/// Places at which a part of a phrase ends.
#[derive(Default)]
struct PhrasePlaces {
    places: Vec<u16>,
    /// All places but those.
    is_negated: bool,
    /// From its first word to its last one.
    width: u32,
}

/// Whether what the source has satisfies the query. An empty query is never satisfied.
pub(crate) fn is_satisfied(query: &SearchQuery, source: &dyn WordSource) -> bool {
    !query.is_empty() && holds(query, 0, source)
}

fn holds(query: &SearchQuery, place: usize, source: &dyn WordSource) -> bool {
    match &query.items()[place] {
        QueryItem::Word(word) => source.has(place, word),
        QueryItem::Operator(SearchOperator::Not) => !holds(query, place + 1, source),
        QueryItem::Operator(SearchOperator::And) => {
            holds(query, query.left(place), source) && holds(query, place + 1, source)
        }
        QueryItem::Operator(SearchOperator::Or) => {
            holds(query, query.left(place), source) || holds(query, place + 1, source)
        }
        QueryItem::Operator(SearchOperator::Phrase(_)) => phrase(query, place, source).0 == Presence::Present,
    }
}

const ABSENT: fn() -> (Presence, PhrasePlaces) = || (Presence::Absent, PhrasePlaces::default());
const SOMEWHERE: fn() -> (Presence, PhrasePlaces) = || (Presence::Somewhere, PhrasePlaces::default());

fn phrase(query: &SearchQuery, place: usize, source: &dyn WordSource) -> (Presence, PhrasePlaces) {
    let operator = match &query.items()[place] {
        QueryItem::Word(word) => {
            return match source.places(place, word) {
                None => SOMEWHERE(),
                Some(places) if places.is_empty() => ABSENT(),
                Some(places) => (Presence::Present, PhrasePlaces { places, ..PhrasePlaces::default() }),
            };
        }
        QueryItem::Operator(operator) => *operator,
    };
    if operator == SearchOperator::Not {
        let (presence, inner) = phrase(query, place + 1, source);
        return match presence {
            Presence::Somewhere => SOMEWHERE(),
            Presence::Present if inner.places.is_empty() => ABSENT(),
            Presence::Present => (presence, PhrasePlaces { is_negated: !inner.is_negated, ..inner }),
            Presence::Absent => (Presence::Present, PhrasePlaces { is_negated: true, ..inner }),
        };
    }
    let (has_left, mut left) = phrase(query, query.left(place), source);
    if operator != SearchOperator::Or && has_left == Presence::Absent {
        return ABSENT();
    }
    let (has_right, mut right) = phrase(query, place + 1, source);
    match (has_left, has_right) {
        (_, Presence::Absent) if operator != SearchOperator::Or => return ABSENT(),
        (Presence::Absent, Presence::Absent) => return ABSENT(),
        (Presence::Somewhere, _) | (_, Presence::Somewhere) => return SOMEWHERE(),
        _ => {}
    }
    if has_left == Presence::Absent {
        left.width = 0;
    }
    if has_right == Presence::Absent {
        right.width = 0;
    }
    joined(operator, &left, &right)
}

/// The places of two parts that are both known.
fn joined(operator: SearchOperator, left: &PhrasePlaces, right: &PhrasePlaces) -> (Presence, PhrasePlaces) {
    let (shift_left, shift_right, width) = match operator {
        SearchOperator::Phrase(distance) => {
            let distance = u32::from(distance);
            (distance + right.width, 0, distance + left.width + right.width)
        }
        _ => {
            let width = left.width.max(right.width);
            (width - left.width, width - right.width, width)
        }
    };
    // Which places stay: those that only one side has, or both.
    let (only_left, both, only_right, is_negated) =
        match (operator == SearchOperator::Or, left.is_negated, right.is_negated) {
            (false, true, true) => (true, true, true, true),
            (false, true, false) => (false, false, true, false),
            (false, false, true) => (true, false, false, false),
            (false, false, false) => (false, true, false, false),
            (true, true, true) => (false, true, false, true),
            (true, true, false) => (true, false, false, true),
            (true, false, true) => (false, false, true, true),
            (true, false, false) => (true, true, true, false),
        };
    let shifted = |side: &PhrasePlaces, shift: u32| -> Vec<u32> {
        side.places.iter().map(|place| u32::from(*place) + shift).collect()
    };
    let (lefts, rights) = (shifted(left, shift_left), shifted(right, shift_right));
    let (mut one, mut two) = (lefts.iter().peekable(), rights.iter().peekable());
    let mut places = Vec::new();
    loop {
        let (place, stays) = match (one.peek(), two.peek()) {
            (None, None) => break,
            (Some(left), Some(right)) => match left.cmp(right) {
                Ordering::Less => (one.next(), only_left),
                Ordering::Greater => (two.next(), only_right),
                Ordering::Equal => {
                    one.next();
                    (two.next(), both)
                }
            },
            (Some(_), None) => (one.next(), only_left),
            (None, Some(_)) => (two.next(), only_right),
        };
        places.extend(place.filter(|place| stays && **place > 0).map(|place| *place as u16));
    }
    let presence = if is_negated || !places.is_empty() { Presence::Present } else { Presence::Absent };
    (presence, PhrasePlaces { places, is_negated, width })
}

impl WordSource for SearchVector {
    fn has(&self, _place: usize, word: &QueryWord) -> bool {
        let counts = |lexeme: &Lexeme| {
            let mut weights = lexeme.positions.iter().map(|position| position.weight().bit());
            // Without places, all weights count.
            word.weights == 0 || lexeme.positions.is_empty() || weights.any(|weight| weight & word.weights != 0)
        };
        self.matching(&word.word, word.is_prefix).iter().any(counts)
    }

    fn places(&self, _place: usize, word: &QueryWord) -> Option<Vec<u16>> {
        let mut places = Vec::new();
        for lexeme in self.matching(&word.word, word.is_prefix) {
            if lexeme.positions.is_empty() {
                return None;
            }
            let counts = |weight: u8| word.weights == 0 || weight & word.weights != 0;
            let counted = lexeme.positions.iter().filter(|position| counts(position.weight().bit()));
            places.extend(counted.map(|position| position.place()));
        }
        places.sort_unstable();
        places.dedup();
        Some(places)
    }
}

impl SearchVector {
    /// Whether this is what the query asks for.
    pub fn matches(&self, query: &SearchQuery) -> bool {
        is_satisfied(query, self)
    }
}
