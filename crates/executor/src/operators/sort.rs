//! ORDER BY. With a limit only the first rows are held.

use super::limit::count;
use super::sorter::{RowSorter, sort_key};
use crate::error::Interruption;
use crate::expression::order;
use crate::plan::{PlanNode, Sorting};
use crate::run::{HeldBytes, RowValues, RunState, size_of_row};
use crate::run::{MANY, RowOperator};
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

/// A sort under way.
pub struct Sort {
    input: Box<dyn RowOperator>,
    plan: Arc<PlanNode>,
    arrived: VecDeque<RowValues>,
    sorter: Option<RowSorter<RowValues>>,
    /// Whether all rows have come.
    is_full: bool,
    found: Vec<RowValues>,
    left: u64,
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
            sorter: None,
            is_full: false,
            found: Vec::new(),
            left: u64::MAX,
            memory: HeldBytes::default(),
        }
    }

    fn take_in(&mut self, run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Sort { order, first, skipped, .. } = &*plan else { return Ok(()) };
        if self.sorter.is_none() {
            let skipped = count(skipped.as_ref(), "OFFSET", run)?.unwrap_or(0);
            let most = count(first.as_ref(), "LIMIT", run)?.map(|first| first.saturating_add(skipped));
            self.left = most.unwrap_or(u64::MAX);
            self.sorter = Some(RowSorter::of_first(most.and_then(|most| usize::try_from(most).ok())));
        }
        let Some(sorter) = &mut self.sorter else { return Ok(()) };
        loop {
            sorter.settle(&mut self.memory, run)?;
            while let Some(row) = self.arrived.front() {
                run.spend()?;
                let key = run.settled(|run| sort_key(order, row, run))?;
                let bytes = size_of_row(row);
                let Some(row) = self.arrived.pop_front() else { break };
                if sorter.takes(&key) {
                    sorter.push(key, row, bytes, &mut self.memory, run)?;
                }
            }
            match self.input.next(run, MANY)? {
                Some(rows) => self.arrived = rows.into(),
                None => break,
            }
        }
        sorter.end();
        self.is_full = true;
        Ok(())
    }
}

impl RowOperator for Sort {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        if !self.is_full {
            self.take_in(run)?;
        }
        let Some(sorter) = &mut self.sorter else { return Ok(None) };
        while self.found.len() < want && self.left > 0 {
            run.spend()?;
            let Some(row) = sorter.pop() else { break };
            self.left -= 1;
            self.found.push(row);
        }
        Ok(Some(std::mem::take(&mut self.found)).filter(|rows| !rows.is_empty()))
    }

    fn memory(&mut self) -> Option<&mut HeldBytes> {
        Some(&mut self.memory)
    }

    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        vec![&mut self.input]
    }
}
