//! Ranges and multiranges: what they are, and how they order. [`algebra`] computes with them, and `stored` has their bytes in a row and in a key. What knows values of their bounds
//! stands beside: `range_points`, `range_literal` is PostgreSQL's text format, `range_message` its binary one.
//!
//! Invariant: a span begins before it ends, and one of a discrete type includes its lower bound and excludes its upper one. The spans of a multirange ascend, and
//! between two of them there is a gap.

pub mod algebra;
pub(crate) mod stored;
#[cfg(test)]
mod tests;

pub use stored::flags;

use crate::calendar::checked_date;
use crate::error::{ValueError, sqlstate};
use bigdecimal::BigDecimal;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::sync::Arc;

/// Which of PostgreSQL's range types, or of their multirange types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RangeKind {
    /// Of `integer`.
    Integer,
    /// Of `bigint`.
    BigInt,
    /// Of `numeric`.
    Numeric,
    /// Of `timestamp`.
    Timestamp,
    /// Of `timestamptz`.
    TimestampTz,
    /// Of `date`.
    Date,
}

impl RangeKind {
    /// All of them. Stored ranges name theirs by its place: new ones come last.
    pub const ALL: [Self; 6] =
        [Self::Integer, Self::BigInt, Self::Numeric, Self::Timestamp, Self::TimestampTz, Self::Date];

    /// The value behind a bound that a discrete type excludes; `None` for a type that has none. Errors: 22003, 22008.
    fn next(self, point: &RangePoint) -> Result<Option<RangePoint>, ValueError> {
        let RangePoint::Whole(number) = point else { return Ok(None) };
        Ok(Some(RangePoint::Whole(match self {
            Self::Integer if *number >= i64::from(i32::MAX) => return Err(ValueError::out_of_range("integer")),
            Self::Integer => number + 1,
            Self::BigInt => number.checked_add(1).ok_or_else(|| ValueError::out_of_range("bigint"))?,
            Self::Date => i64::from(checked_date(number + 1)?),
            Self::Numeric | Self::Timestamp | Self::TimestampTz => return Ok(None),
        })))
    }
}

/// A value that bounds a range. `==` tells whether two are represented alike, as for [`Value`](crate::Value).
#[derive(Clone, Debug)]
pub enum RangePoint {
    /// Of any type but `numeric`: the number, the days, or the microseconds.
    Whole(i64),
    /// A `numeric`.
    Exact(Arc<BigDecimal>),
}

impl RangePoint {
    /// How two values of one type order.
    pub fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Whole(left), Self::Whole(right)) => left.cmp(right),
            (Self::Exact(left), Self::Exact(right)) => left.cmp(right),
            (Self::Whole(_), Self::Exact(_)) => Ordering::Less,
            (Self::Exact(_), Self::Whole(_)) => Ordering::Greater,
        }
    }
}

impl PartialEq for RangePoint {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Whole(left), Self::Whole(right)) => left == right,
            (Self::Exact(left), Self::Exact(right)) => left.as_bigint_and_scale() == right.as_bigint_and_scale(),
            _ => false,
        }
    }
}

impl Eq for RangePoint {}

/// Where a range begins or ends: a place between values, so that an upper bound that is excluded is the lower bound that includes the same value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeCut {
    /// Before all values.
    Least,
    /// Before this one.
    Before(RangePoint),
    /// Behind this one.
    Behind(RangePoint),
    /// Behind all values.
    Greatest,
}

impl RangeCut {
    /// How two places of one type order.
    pub fn order(&self, other: &Self) -> Ordering {
        let (Some((left, left_side)), Some((right, right_side))) = (self.sided(), other.sided()) else {
            return self.rank().cmp(&other.rank());
        };
        left.order(right).then(left_side.cmp(&right_side))
    }

    /// The value beside it; none at the infinities.
    pub fn point(&self) -> Option<&RangePoint> {
        self.sided().map(|(point, _)| point)
    }

    /// As [`point`](Self::point), and whether the place is behind it.
    fn sided(&self) -> Option<(&RangePoint, bool)> {
        match self {
            Self::Before(point) => Some((point, false)),
            Self::Behind(point) => Some((point, true)),
            Self::Least | Self::Greatest => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Least => 0,
            Self::Before(_) | Self::Behind(_) => 1,
            Self::Greatest => 2,
        }
    }
}

/// What lies between two places, the first of which is before the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeSpan {
    lower: RangeCut,
    upper: RangeCut,
}

impl RangeSpan {
    /// The span between two bounds in a type's canonical form; `None` if there is nothing between them. Errors: 22000 for bounds in the wrong order, 22003 and 22008 for one whose
    /// canonical form is out of the type's bounds.
    pub fn new(kind: RangeKind, lower: RangeCut, upper: RangeCut) -> Result<Option<Self>, ValueError> {
        if let (Some(low), Some(high)) = (lower.point(), upper.point())
            && low.order(high).is_gt()
        {
            let message = "range lower bound must be less than or equal to range upper bound";
            return Err(ValueError::new(sqlstate::DATA_EXCEPTION, message));
        }
        if lower.order(&upper).is_ge() {
            return Ok(None);
        }
        let canonical = |cut: RangeCut| match &cut {
            RangeCut::Behind(point) => Ok(kind.next(point)?.map_or(cut, RangeCut::Before)),
            _ => Ok(cut),
        };
        Ok(Self::between(canonical(lower)?, canonical(upper)?))
    }

    /// The same of bounds that are canonical already, in any order.
    fn between(lower: RangeCut, upper: RangeCut) -> Option<Self> {
        lower.order(&upper).is_lt().then_some(Self { lower, upper })
    }

    /// Where it begins.
    pub fn lower(&self) -> &RangeCut {
        &self.lower
    }

    /// Where it ends.
    pub fn upper(&self) -> &RangeCut {
        &self.upper
    }

    /// By the lower bounds, then by the upper ones.
    fn order(&self, other: &Self) -> Ordering {
        self.lower.order(&other.lower).then_with(|| self.upper.order(&other.upper))
    }

    fn size_in_memory(&self) -> usize {
        let point = |cut: &RangeCut| match cut.point() {
            Some(RangePoint::Exact(number)) => {
                size_of::<BigDecimal>() + number.as_bigint_and_scale().0.bits() as usize / 8
            }
            _ => 0,
        };
        size_of::<Self>() + point(&self.lower) + point(&self.upper)
    }
}

/// A range: empty, or a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeValue {
    kind: RangeKind,
    span: Option<RangeSpan>,
}

impl RangeValue {
    /// The range between two bounds. Errors: as [`RangeSpan::new`].
    pub fn new(kind: RangeKind, lower: RangeCut, upper: RangeCut) -> Result<Self, ValueError> {
        Ok(Self { kind, span: RangeSpan::new(kind, lower, upper)? })
    }

    /// The range that has no value.
    pub fn empty(kind: RangeKind) -> Self {
        Self { kind, span: None }
    }

    /// Its type.
    pub fn kind(&self) -> RangeKind {
        self.kind
    }

    /// What it spans; nothing if it is empty.
    pub fn span(&self) -> Option<&RangeSpan> {
        self.span.as_ref()
    }

    /// As a list of at most one.
    pub fn spans(&self) -> &[RangeSpan] {
        self.span.as_slice()
    }

    /// The empty one first, others by their spans. Those of different types order by type.
    pub fn order(&self, other: &Self) -> Ordering {
        let types = (self.kind as u8).cmp(&(other.kind as u8));
        types.then_with(|| match (&self.span, &other.span) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(left), Some(right)) => left.order(right),
        })
    }

    pub(crate) fn size_in_memory(&self) -> usize {
        size_of::<Self>() + self.span.as_ref().map_or(0, RangeSpan::size_in_memory)
    }
}

/// A multirange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MultirangeValue {
    kind: RangeKind,
    spans: Vec<RangeSpan>,
}

impl MultirangeValue {
    /// All that is in any of these spans.
    pub fn new(kind: RangeKind, mut spans: Vec<RangeSpan>) -> Self {
        spans.sort_by(RangeSpan::order);
        spans.dedup_by(|span, last| {
            let joins = last.upper.order(&span.lower).is_ge();
            // Of bounds that are equal, and may print otherwise, those of the later span stay.
            if joins && last.lower.order(&span.lower).is_eq() {
                std::mem::swap(&mut last.lower, &mut span.lower);
            }
            if joins && last.upper.order(&span.upper).is_le() {
                std::mem::swap(&mut last.upper, &mut span.upper);
            }
            joins
        });
        spans.shrink_to_fit();
        Self { kind, spans }
    }

    /// Its type.
    pub fn kind(&self) -> RangeKind {
        self.kind
    }

    /// What it has.
    pub fn spans(&self) -> &[RangeSpan] {
        &self.spans
    }

    /// By the first spans that differ, else the one with fewer first.
    pub fn order(&self, other: &Self) -> Ordering {
        let types = (self.kind as u8).cmp(&(other.kind as u8));
        let mut pairs = self.spans.iter().zip(&other.spans);
        let mut differing = || pairs.find_map(|(left, right)| Some(left.order(right)).filter(|order| order.is_ne()));
        types.then_with(|| differing().unwrap_or_else(|| self.spans.len().cmp(&other.spans.len())))
    }

    pub(crate) fn size_in_memory(&self) -> usize {
        size_of::<Self>() + self.spans.iter().map(RangeSpan::size_in_memory).sum::<usize>()
    }
}
