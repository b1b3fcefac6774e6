//! Takes stop words out of a query. What stood on both sides of one in a phrase is further apart then.

use crate::error::TextSearchError;
use crate::query::{QueryItem, QueryWord, SearchOperator, SearchQuery};

/// How far the neighbours of a part move away from it, on its left and on its right, in a phrase.
#[derive(Clone, Copy, Default)]
struct Gaps {
    left: u32,
    right: u32,
}

/// A query of items in its order, where `None` is a stop word. One that has nothing else becomes empty. Errors: 54001
/// if it is too deep.
pub(crate) fn without_stops(pieces: Vec<Option<QueryItem>>) -> Result<SearchQuery, TextSearchError> {
    let stops: Vec<bool> = pieces.iter().map(Option::is_none).collect();
    let stop = || QueryItem::Word(QueryWord { word: "".into(), is_prefix: false, weights: 0 });
    let query = SearchQuery::of_items(pieces.into_iter().map(|piece| piece.unwrap_or_else(stop)).collect())?;
    if !stops.contains(&true) {
        return Ok(query);
    }
    let mut kept = Vec::new();
    clean(&query, &stops, 0, &mut kept);
    SearchQuery::of_items(kept)
}

impl SearchQuery {
    fn operator(&self, place: usize) -> Option<SearchOperator> {
        match self.items()[place] {
            QueryItem::Operator(operator) => Some(operator),
            QueryItem::Word(_) => None,
        }
    }
}

/// Appends what is left of the part from here on; the gaps that its removal leaves, and whether anything is left.
fn clean(query: &SearchQuery, stops: &[bool], place: usize, kept: &mut Vec<QueryItem>) -> (Gaps, bool) {
    let Some(operator) = query.operator(place) else {
        if !stops[place] {
            kept.push(query.items()[place].clone());
        }
        return (Gaps::default(), !stops[place]);
    };
    let start = kept.len();
    kept.push(QueryItem::Operator(operator));
    let (right, has_right) = clean(query, stops, place + 1, kept);
    if operator == SearchOperator::Not {
        if !has_right {
            kept.truncate(start);
        }
        return (right, has_right);
    }
    let (left, has_left) = clean(query, stops, query.left(place), kept);
    if has_left && has_right {
        if let SearchOperator::Phrase(distance) = operator {
            let distance = u32::from(distance) + left.right + right.left;
            kept[start] = QueryItem::Operator(SearchOperator::Phrase(distance as u16));
            return (Gaps { left: left.left, right: right.right }, true);
        }
        return (Gaps::default(), true);
    }
    kept.remove(start);
    let gaps = match (operator, has_left, has_right) {
        (SearchOperator::Phrase(distance), false, false) => {
            let sum = left.left + u32::from(distance) + right.left;
            Gaps { left: sum, right: sum }
        }
        (_, false, false) => {
            let larger = left.left.max(right.left);
            Gaps { left: larger, right: larger }
        }
        (SearchOperator::Phrase(distance), false, true) => {
            Gaps { left: left.left + u32::from(distance) + right.left, right: right.right }
        }
        (_, false, true) => right,
        (SearchOperator::Phrase(distance), true, _) => {
            Gaps { left: left.left, right: left.right + u32::from(distance) + right.right }
        }
        (_, true, _) => left,
    };
    (gaps, has_left || has_right)
}
