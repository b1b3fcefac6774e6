//! What is computed with ranges and multiranges. A range counts as a list of no span or of one, so that most is said once for both.
//! Spans of a list ascend and stand apart, so each list is walked once.
//!
//! Invariant: a result's bounds are those of its operands, so it is as canonical as they are.

use super::{MultirangeValue, RangeCut, RangePoint, RangeSpan, RangeValue};
use crate::error::{ValueError, sqlstate};

/// Whether a value is in one of the spans.
pub fn contains_point(spans: &[RangeSpan], point: &RangePoint) -> bool {
    let (before, behind) = (RangeCut::Before(point.clone()), RangeCut::Behind(point.clone()));
    let first = spans.partition_point(|span| span.upper.order(&before).is_le());
    spans.get(first).is_some_and(|span| span.lower.order(&before).is_le() && span.upper.order(&behind).is_ge())
}

/// Whether all that is in one is in the other.
pub fn contains(outer: &[RangeSpan], inner: &[RangeSpan]) -> bool {
    let mut outer = outer;
    inner.iter().all(|inner| {
        while let [first, rest @ ..] = outer
            && first.upper.order(&inner.lower).is_le()
        {
            outer = rest;
        }
        let within =
            |outer: &RangeSpan| outer.lower.order(&inner.lower).is_le() && outer.upper.order(&inner.upper).is_ge();
        outer.first().is_some_and(within)
    })
}

/// Whether both have a value in common.
pub fn overlaps(left: &[RangeSpan], right: &[RangeSpan]) -> bool {
    let (mut left, mut right) = (left, right);
    while let ([one, left_rest @ ..], [two, right_rest @ ..]) = (left, right) {
        if one.upper.order(&two.lower).is_le() {
            left = left_rest;
        } else if two.upper.order(&one.lower).is_le() {
            right = right_rest;
        } else {
            return true;
        }
    }
    false
}

/// Whether all of one is before all of the other; false if one is empty.
pub fn is_before(left: &[RangeSpan], right: &[RangeSpan]) -> bool {
    matches!((left.last(), right.first()), (Some(left), Some(right)) if left.upper.order(&right.lower).is_le())
}

/// Whether one does not extend to the right of the other; false if one is empty.
pub fn ends_by(left: &[RangeSpan], right: &[RangeSpan]) -> bool {
    matches!((left.last(), right.last()), (Some(left), Some(right)) if left.upper.order(&right.upper).is_le())
}

/// Whether one does not extend to the left of the other; false if one is empty.
pub fn begins_by(left: &[RangeSpan], right: &[RangeSpan]) -> bool {
    matches!((left.first(), right.first()), (Some(left), Some(right)) if left.lower.order(&right.lower).is_ge())
}

/// Whether one ends where the other begins; false if one is empty.
pub fn is_adjacent(left: &[RangeSpan], right: &[RangeSpan]) -> bool {
    let meets = |left: Option<&RangeSpan>, right: Option<&RangeSpan>| matches!((left, right), (Some(left), Some(right)) if left.upper.order(&right.lower).is_eq());
    meets(left.last(), right.first()) || meets(right.last(), left.first())
}

/// The part that two spans have in common. Of bounds that are equal it has those of the first.
fn common(left: &RangeSpan, right: &RangeSpan) -> Option<RangeSpan> {
    let lower = if left.lower.order(&right.lower).is_ge() { &left.lower } else { &right.lower };
    let upper = if left.upper.order(&right.upper).is_le() { &left.upper } else { &right.upper };
    RangeSpan::between(lower.clone(), upper.clone())
}

/// The span from the lesser lower bound to the greater upper one. Of bounds that are equal it has those of the second.
fn spanning(left: &RangeSpan, right: &RangeSpan) -> RangeSpan {
    let lower = if left.lower.order(&right.lower).is_lt() { &left.lower } else { &right.lower };
    let upper = if left.upper.order(&right.upper).is_gt() { &left.upper } else { &right.upper };
    RangeSpan { lower: lower.clone(), upper: upper.clone() }
}

#[cold]
fn not_contiguous(operation: &str) -> ValueError {
    let message = format!("result of range {operation} would not be contiguous");
    ValueError::new(sqlstate::DATA_EXCEPTION, message)
}

impl RangeValue {
    /// `+`: all that is in either. Errors: 22000 if there is a gap between them.
    pub fn union(&self, other: &Self) -> Result<Self, ValueError> {
        match (&self.span, &other.span) {
            (Some(left), Some(right)) => {
                let lists = [std::slice::from_ref(left), std::slice::from_ref(right)];
                if !overlaps(lists[0], lists[1]) && !is_adjacent(lists[0], lists[1]) {
                    return Err(not_contiguous("union"));
                }
                Ok(self.merge(other))
            }
            _ => Ok(self.merge(other)),
        }
    }

    /// `range_merge`: the least range that has both.
    pub fn merge(&self, other: &Self) -> Self {
        match (&self.span, &other.span) {
            (None, _) => other.clone(),
            (_, None) => self.clone(),
            (Some(left), Some(right)) => Self { kind: self.kind, span: Some(spanning(left, right)) },
        }
    }

    /// `*`: what is in both.
    pub fn intersection(&self, other: &Self) -> Self {
        let span = match (&self.span, &other.span) {
            (Some(left), Some(right)) => common(left, right),
            _ => None,
        };
        Self { kind: self.kind, span }
    }

    /// `-`: what is in the first only. Errors: 22000 if the second lies within it.
    pub fn difference(&self, other: &Self) -> Result<Self, ValueError> {
        let mut left = Vec::new();
        subtract(self.spans(), other.spans(), &mut left);
        match left.len() {
            0 | 1 => Ok(Self { kind: self.kind, span: left.pop() }),
            _ => Err(not_contiguous("difference")),
        }
    }
}

impl MultirangeValue {
    /// A multirange of what is in a range.
    pub fn of(range: &RangeValue) -> Self {
        Self { kind: range.kind, spans: range.spans().to_vec() }
    }

    /// Its ranges.
    pub fn ranges(&self) -> impl Iterator<Item = RangeValue> {
        self.spans.iter().map(|span| RangeValue { kind: self.kind, span: Some(span.clone()) })
    }

    /// `+`: all that is in either.
    pub fn union(&self, other: &Self) -> Self {
        Self::new(self.kind, [self.spans.as_slice(), &other.spans].concat())
    }

    /// `range_merge`: the least range that has all of it.
    pub fn merged(&self) -> RangeValue {
        let span = match self.spans.as_slice() {
            [] => None,
            [first, .., last] => Some(RangeSpan { lower: first.lower.clone(), upper: last.upper.clone() }),
            [only] => Some(only.clone()),
        };
        RangeValue { kind: self.kind, span }
    }

    /// `*`: what is in both.
    pub fn intersection(&self, other: &Self) -> Self {
        let mut spans = Vec::new();
        let (mut left, mut right) = (self.spans.as_slice(), other.spans.as_slice());
        while let ([one, left_rest @ ..], [two, right_rest @ ..]) = (left, right) {
            spans.extend(common(one, two));
            // What ends first meets nothing behind it.
            match one.upper.order(&two.upper).is_le() {
                true => left = left_rest,
                false => right = right_rest,
            }
        }
        Self { kind: self.kind, spans }
    }

    /// `-`: what is in the first only.
    pub fn difference(&self, other: &Self) -> Self {
        let mut spans = Vec::new();
        subtract(&self.spans, &other.spans, &mut spans);
        Self { kind: self.kind, spans }
    }
}

/// Appends what is left of spans without others, both in ascending order.
fn subtract(spans: &[RangeSpan], without: &[RangeSpan], left: &mut Vec<RangeSpan>) {
    let mut first = 0;
    for span in spans {
        let mut lower = span.lower.clone();
        first += without[first..].iter().take_while(|gone| gone.upper.order(&span.lower).is_le()).count();
        for gone in without[first..].iter().take_while(|gone| gone.lower.order(&span.upper).is_lt()) {
            left.extend(RangeSpan::between(lower, gone.lower.clone()));
            lower = gone.upper.clone();
        }
        left.extend(RangeSpan::between(lower, span.upper.clone()));
    }
}
