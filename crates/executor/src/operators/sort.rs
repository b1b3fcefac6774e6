//! ORDER BY. With a limit only the first rows are held.

use super::limit::count;
use super::{MANY, RowOperator};
use crate::error::Interruption;
use crate::expression::order;
use crate::plan::{PlanNode, Sorting};
use crate::run::{HeldBytes, RowValues, RunState, size_of_row};
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

/// A sort under way.
pub struct Sort {
    input: Box<dyn RowOperator>,
    plan: Arc<PlanNode>,
    arrived: VecDeque<RowValues>,
    /// Keys beside their rows.
    held: Vec<(RowValues, RowValues)>,
    sorted: Option<std::vec::IntoIter<(RowValues, RowValues)>>,
    most: Option<Option<u64>>,
    memory: HeldBytes,
}

/// What a row is sorted by.
pub fn sort_keys(
    sorting: &[Sorting],
    row: &[values::Value],
    run: &mut RunState<'_, '_>,
) -> Result<RowValues, Interruption> {
    sorting.iter().map(|key| key.by.evaluate(row, run)).collect()
}

/// Which row comes first, by their keys.
pub fn compare_keys(sorting: &[Sorting], left: &[values::Value], right: &[values::Value]) -> Ordering {
    for (key, (left, right)) in sorting.iter().zip(left.iter().zip(right)) {
        let found = match (left.is_null(), right.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) => {
                if key.nulls_first {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (false, true) => {
                if key.nulls_first {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (false, false) if key.descending => order(right, left),
            (false, false) => order(left, right),
        };
        if found != Ordering::Equal {
            return found;
        }
    }
    Ordering::Equal
}

impl Sort {
    pub fn new(input: Box<dyn RowOperator>, plan: Arc<PlanNode>) -> Sort {
        Sort {
            input,
            plan,
            arrived: VecDeque::new(),
            held: Vec::new(),
            sorted: None,
            most: None,
            memory: HeldBytes::default(),
        }
    }

    fn take_in(&mut self, run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Sort { order, first, skipped, .. } = &*plan else { return Ok(()) };
        let most = match self.most {
            Some(most) => most,
            None => {
                let skipped = count(skipped.as_ref(), "OFFSET", run)?.unwrap_or(0);
                let most = count(first.as_ref(), "LIMIT", run)?.map(|first| first.saturating_add(skipped));
                *self.most.insert(most)
            }
        };
        loop {
            while let Some(row) = self.arrived.front() {
                run.spend()?;
                let keys = sort_keys(order, row, run)?;
                self.memory.hold(size_of_row(row) + size_of_row(&keys), run.state)?;
                self.held.extend(self.arrived.pop_front().map(|row| (keys, row)));
            }
            if let Some(most) = most.and_then(|most| usize::try_from(most).ok())
                && self.held.len() > most.saturating_mul(2).max(MANY)
            {
                self.held.sort_by(|left, right| compare_keys(order, &left.0, &right.0));
                let dropped = self.held.drain(most..);
                let bytes: usize = dropped.map(|(keys, row)| size_of_row(&keys) + size_of_row(&row)).sum();
                self.memory.release(bytes, run.state);
            }
            match self.input.next(run, MANY)? {
                Some(rows) => self.arrived = rows.into(),
                None => break,
            }
        }
        let mut held = std::mem::take(&mut self.held);
        held.sort_by(|left, right| compare_keys(order, &left.0, &right.0));
        self.sorted = Some(held.into_iter());
        Ok(())
    }
}

impl RowOperator for Sort {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        if self.sorted.is_none() {
            self.take_in(run)?;
        }
        let Some(sorted) = &mut self.sorted else { return Ok(None) };
        let rows: Vec<RowValues> = sorted.take(want).map(|(_, row)| row).collect();
        Ok(Some(rows).filter(|rows| !rows.is_empty()))
    }

    fn memory(&mut self) -> Option<&mut HeldBytes> {
        Some(&mut self.memory)
    }

    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        vec![&mut self.input]
    }
}
