//! Which rows of a partition a row sees.

use super::WindowRow;
use crate::error::Interruption;
use crate::expression::Callee;
use crate::plan::{FrameEnd, FrameSpan, Sorting};
use crate::run::RunState;
use grammar::ast::{FrameExclusion, FrameUnit};
use std::ops::Range;
use values::Value;

/// The peers of a partition: rows that the order does not tell apart.
pub struct Frames {
    /// Where each group of peers begins, and the end of the partition.
    begins: Vec<usize>,
    /// The group of each row.
    groups: Vec<usize>,
}

/// The rows that a row sees: a range, and what is excluded from it.
pub struct SeenRows {
    pub range: Range<usize>,
    pub without: Vec<Range<usize>>,
}

impl SeenRows {
    /// What is left of the range: what is excluded comes in its order, and does not overlap.
    fn parts(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let begins = std::iter::once(self.range.start).chain(self.without.iter().map(|excluded| excluded.end));
        let ends = self.without.iter().map(|excluded| excluded.start).chain(std::iter::once(self.range.end));
        let within = |place: usize| place.clamp(self.range.start, self.range.end);
        begins.zip(ends).map(move |(begin, end)| within(begin)..within(end)).filter(|part| !part.is_empty())
    }

    /// The places of the rows, in their order.
    pub fn places(&self) -> impl Iterator<Item = usize> + '_ {
        self.parts().flatten()
    }

    /// The place of a row, by how many come before it: as quickly found as any other.
    pub fn nth(&self, mut before: usize) -> Option<usize> {
        for part in self.parts() {
            if before < part.len() {
                return Some(part.start + before);
            }
            before -= part.len();
        }
        None
    }

    /// The place of the last row.
    pub fn last(&self) -> Option<usize> {
        self.parts().last().map(|part| part.end - 1)
    }
}

impl Frames {
    /// Of rows with these keys of their order.
    pub fn new(orders: &[Vec<u8>]) -> Frames {
        let (mut begins, mut groups) = (Vec::new(), Vec::with_capacity(orders.len()));
        for (place, key) in orders.iter().enumerate() {
            if place == 0 || *key != orders[place - 1] {
                begins.push(place);
            }
            groups.push(begins.len() - 1);
        }
        begins.push(orders.len());
        Frames { begins, groups }
    }

    /// The number of a row's group of peers.
    pub fn group(&self, place: usize) -> usize {
        self.groups[place]
    }

    /// A row and its peers.
    pub fn peers(&self, place: usize) -> Range<usize> {
        let group = self.groups[place];
        self.begins[group]..self.begins[group + 1]
    }

    /// What a row sees.
    pub fn seen(
        &self,
        place: usize,
        frame: &FrameSpan,
        offsets: &[Value; 2],
        rows: &[WindowRow],
        sorting: &[Sorting],
        run: &mut RunState<'_, '_>,
    ) -> Result<SeenRows, Interruption> {
        let view = View { frames: self, place, rows, sorting };
        let start = view.edge(&frame.start, frame.unit, &offsets[0], true, run)?;
        let end = view.edge(&frame.end, frame.unit, &offsets[1], false, run)?;
        let peers = self.peers(place);
        let without = match frame.exclusion {
            FrameExclusion::No => vec![],
            FrameExclusion::CurrentRow => vec![alone(place)],
            FrameExclusion::Group => vec![peers],
            FrameExclusion::Ties => vec![peers.start..place, place + 1..peers.end],
        };
        Ok(SeenRows { range: start..end.max(start), without })
    }
}

/// A partition as a row of it sees it.
struct View<'a> {
    frames: &'a Frames,
    place: usize,
    rows: &'a [WindowRow],
    sorting: &'a [Sorting],
}

impl View<'_> {
    /// Where the frame begins, or the place after its end.
    fn edge(
        &self,
        end: &FrameEnd,
        unit: FrameUnit,
        offset: &Value,
        is_start: bool,
        run: &mut RunState<'_, '_>,
    ) -> Result<usize, Interruption> {
        let count = self.rows.len();
        let (forwards, in_range) = match end {
            FrameEnd::UnboundedPreceding => return Ok(0),
            FrameEnd::UnboundedFollowing => return Ok(count),
            FrameEnd::CurrentRow => {
                let own =
                    if unit == FrameUnit::Rows { self.place..self.place + 1 } else { self.frames.peers(self.place) };
                return Ok(if is_start { own.start } else { own.end });
            }
            FrameEnd::Preceding(_, in_range) => (false, in_range),
            FrameEnd::Following(_, in_range) => (true, in_range),
        };
        if let (FrameUnit::Range, Some(in_range)) = (unit, in_range) {
            return self.range_edge(in_range, offset, forwards, is_start, run);
        }
        let by = offset.as_integer().unwrap_or(0);
        let moved = |from: usize| (from as i64).saturating_add(if forwards { by } else { -by });
        if unit == FrameUnit::Rows {
            let target = moved(self.place).saturating_add(i64::from(!is_start));
            return Ok(target.clamp(0, count as i64) as usize);
        }
        let target = moved(self.frames.group(self.place)).saturating_add(i64::from(!is_start));
        let groups = self.frames.begins.len() as i64 - 1;
        Ok(self.frames.begins[target.clamp(0, groups) as usize])
    }

    /// The edge of a range of values: the first row within it, or the place after the last.
    fn range_edge(
        &self,
        in_range: &Callee,
        offset: &Value,
        forwards: bool,
        is_start: bool,
        run: &mut RunState<'_, '_>,
    ) -> Result<usize, Interruption> {
        let base = &self.rows[self.place].order[0];
        if base.is_null() {
            let peers = self.frames.peers(self.place);
            return Ok(if is_start { peers.start } else { peers.end });
        }
        let (descending, nulls_first) =
            self.sorting.first().map_or((false, false), |by| (by.descending, by.nulls_first));
        // Downwards, what follows is less.
        let (subtract, less) = (forwards == descending, is_start == descending);
        for (place, row) in self.rows.iter().enumerate() {
            let value = &row.order[0];
            let inside = if value.is_null() {
                // Rows without a value lie outside, at one end of the partition.
                nulls_first != is_start
            } else {
                run.budget = run.budget.saturating_sub(1);
                let arguments = [value.clone(), base.clone(), offset.clone(), subtract.into(), less.into()];
                in_range.call(&arguments, run)?.as_boolean() == Some(true)
            };
            if inside == is_start {
                return Ok(place);
            }
        }
        Ok(self.rows.len())
    }
}

/// A row alone.
fn alone(place: usize) -> Range<usize> {
    place..place + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window function would take its value from a row that is excluded, or from none.
    #[test]
    fn places_are_found_as_if_they_were_counted() {
        let withouts: [&[(usize, usize)]; 7] =
            [&[], &[(3, 4)], &[(2, 5)], &[(2, 3), (4, 6)], &[(0, 1), (1, 2)], &[(0, 9)], &[(7, 9)]];
        for without in withouts {
            let without: Vec<Range<usize>> = without.iter().map(|(from, to)| *from..*to).collect();
            for range in [0..0, 0..9, 2..4, 3..8, 5..5] {
                let is_excluded =
                    |place: &usize| without.iter().any(|excluded: &Range<usize>| excluded.contains(place));
                let counted: Vec<usize> = range.clone().filter(|place| !is_excluded(place)).collect();
                let seen = SeenRows { range: range.clone(), without: without.clone() };
                assert_eq!(seen.places().collect::<Vec<_>>(), counted, "{range:?} without {without:?}");
                for before in 0..10 {
                    assert_eq!(seen.nth(before), counted.get(before).copied(), "{range:?} without {without:?}");
                }
                assert_eq!(seen.last(), counted.last().copied(), "{range:?} without {without:?}");
            }
        }
    }
}
