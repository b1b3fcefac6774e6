//! Replaces parts of a query by another one (`ts_rewrite`).
//!
//! Chains of one AND or OR are lists here whose parts are in order, so that any of them may be found beside others.

use crate::error::TextSearchError;
use crate::query::{QueryItem, SearchOperator, SearchQuery, compare_words, distance};
use std::cmp::Ordering;

/// A word without parts, or an operator: its right side first, of a list all sides.
#[derive(Clone)]
struct QueryPart {
    item: QueryItem,
    parts: Vec<QueryPart>,
    /// It was put in, and is not looked into.
    is_new: bool,
}

impl QueryPart {
    fn of(query: &SearchQuery, place: usize) -> Self {
        let item = query.items()[place].clone();
        let parts = match item {
            QueryItem::Word(_) => Vec::new(),
            QueryItem::Operator(SearchOperator::Not) => vec![Self::of(query, place + 1)],
            QueryItem::Operator(_) => vec![Self::of(query, place + 1), Self::of(query, query.left(place))],
        };
        Self { item, parts, is_new: false }
    }

    fn is_list(&self) -> bool {
        matches!(self.item, QueryItem::Operator(SearchOperator::And | SearchOperator::Or))
    }

    /// Chains become lists.
    fn flatten(&mut self) {
        self.parts.iter_mut().for_each(Self::flatten);
        if self.is_list() {
            let parts = std::mem::take(&mut self.parts);
            for part in parts {
                if part.item == self.item {
                    self.parts.extend(part.parts);
                } else {
                    self.parts.push(part);
                }
            }
        }
    }

    fn sort(&mut self) {
        self.parts.iter_mut().for_each(Self::sort);
        self.sort_parts();
    }

    fn sort_parts(&mut self) {
        if self.is_list() {
            self.parts.sort_by(compare);
        }
    }

    /// Appends the items; lists become chains, which start with their first two parts and go on with the last one.
    fn write(&self, out: &mut Vec<QueryItem>) {
        match self.parts.len() {
            0..=2 => {
                out.push(self.item.clone());
                self.parts.iter().for_each(|part| part.write(out));
            }
            count => {
                out.extend(std::iter::repeat_n(self.item.clone(), count - 1));
                self.parts[..2].iter().for_each(|part| part.write(out));
                self.parts[2..].iter().rev().for_each(|part| part.write(out));
            }
        }
    }
}

/// As queries are ordered, but that longer lists come first.
fn compare(left: &QueryPart, right: &QueryPart) -> Ordering {
    match (&left.item, &right.item) {
        (QueryItem::Word(left), QueryItem::Word(right)) => compare_words(&left.word, &right.word),
        (QueryItem::Word(_), QueryItem::Operator(_)) => Ordering::Greater,
        (QueryItem::Operator(_), QueryItem::Word(_)) => Ordering::Less,
        (QueryItem::Operator(one), QueryItem::Operator(two)) => {
            let by_operator = two.number().cmp(&one.number());
            let by_count = || right.parts.len().cmp(&left.parts.len());
            let by_parts = || {
                let mut orders = left.parts.iter().zip(&right.parts).map(|(left, right)| compare(left, right));
                orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            };
            let by_distance = || distance(*two).cmp(&distance(*one));
            by_operator.then_with(by_count).then_with(by_parts).then_with(by_distance)
        }
    }
}

/// The part with what is wanted replaced in it; `None` if nothing is left.
fn replaced(mut part: QueryPart, wanted: &QueryPart, by: Option<&QueryPart>) -> Option<QueryPart> {
    if !part.is_new && part.parts.len() == wanted.parts.len() && compare(&part, wanted).is_eq() {
        return by.map(|by| QueryPart { is_new: true, ..by.clone() });
    }
    let could_hold = part.is_list() && part.item == wanted.item && part.parts.len() > wanted.parts.len();
    if !part.is_new && could_hold {
        replace_some(&mut part, wanted, by);
    }
    if part.is_new || matches!(part.item, QueryItem::Word(_)) {
        return Some(part);
    }
    part.parts = part.parts.into_iter().filter_map(|inner| replaced(inner, wanted, by)).collect();
    match (part.parts.len(), &part.item) {
        (0, _) => None,
        (1, QueryItem::Operator(operator)) if *operator != SearchOperator::Not => part.parts.pop(),
        _ => Some(part),
    }
}

/// Replaces those parts of a list that are the parts of another one. Both are in order.
fn replace_some(part: &mut QueryPart, wanted: &QueryPart, by: Option<&QueryPart>) {
    let mut missing = wanted.parts.iter().peekable();
    let mut is_found = Vec::with_capacity(part.parts.len());
    for inner in &part.parts {
        is_found.push(missing.next_if(|wanted| compare(inner, wanted).is_eq()).is_some());
    }
    if missing.peek().is_some() {
        return;
    }
    let mut found = is_found.into_iter();
    part.parts.retain(|_| !found.next().unwrap_or(false));
    part.parts.extend(by.map(|by| QueryPart { is_new: true, ..by.clone() }));
    part.sort_parts();
}

impl SearchQuery {
    /// With all that is wanted replaced. Errors: 54001 if it becomes too deep.
    pub fn rewritten(&self, wanted: &Self, by: &Self) -> Result<Self, TextSearchError> {
        if self.is_empty() || wanted.is_empty() {
            return Ok(self.clone());
        }
        let ordered = |query: &Self| {
            let mut part = QueryPart::of(query, 0);
            part.flatten();
            part.sort();
            part
        };
        let by = (!by.is_empty()).then(|| QueryPart::of(by, 0));
        let mut items = Vec::new();
        if let Some(part) = replaced(ordered(self), &ordered(wanted), by.as_ref()) {
            part.write(&mut items);
        }
        if items.is_empty() { Ok(Self::default()) } else { Self::of_items(items) }
    }
}
