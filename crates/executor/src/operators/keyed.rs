//! Rows that are read once and found by their keys, each time it is asked for others.

use crate::equality::key_of;
use crate::error::Interruption;
use crate::plan::PlanNode;
use crate::run::{KeyedRows, RowValues, RunState, size_of_row};
use crate::run::{MANY, RowOperator};
use std::sync::Arc;
use values::Value;

/// Reads those with the keys of the rows around.
pub struct KeyedReader {
    plan: Arc<PlanNode>,
    /// Places of the rows, once they are known; and how many of them were read.
    found: Option<Vec<usize>>,
    read: usize,
}

impl KeyedReader {
    pub fn new(plan: Arc<PlanNode>) -> KeyedReader {
        KeyedReader { plan, found: None, read: 0 }
    }
}

impl KeyedRows {
    /// Takes in all rows. It may stop, and is then called again.
    fn fill(&mut self, plan: &PlanNode, run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        let PlanNode::Keyed { source, keys, .. } = plan else { return Ok(()) };
        loop {
            while let Some(row) = self.arrived.front() {
                run.spend()?;
                let key: RowValues = keys.iter().map(|key| key.evaluate(row, run)).collect::<Result<_, _>>()?;
                let Some(row) = self.arrived.pop_front() else { break };
                if key.iter().any(Value::is_null) {
                    continue;
                }
                let key = key_of(key.iter());
                run.state.hold(size_of_row(&row) + key.len() + size_of::<usize>())?;
                self.places.entry(key).or_default().push(self.rows.len());
                self.rows.push(row);
            }
            let operator = self.source.get_or_insert_with(|| (run.state.build)(source));
            match operator.next(run, MANY)? {
                Some(rows) => self.arrived = rows.into(),
                None => break,
            }
        }
        if let Some(mut source) = self.source.take() {
            source.close(run.state);
        }
        self.is_full = true;
        Ok(())
    }
}

impl RowOperator for KeyedReader {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Keyed { number, wanted, .. } = &*plan else { return Ok(None) };
        if !run.state.keyed[*number].is_full {
            let mut rows = std::mem::take(&mut run.state.keyed[*number]);
            let filled = rows.fill(&plan, run);
            run.state.keyed[*number] = rows;
            filled?;
        }
        if self.found.is_none() {
            let key: RowValues = wanted.iter().map(|value| value.evaluate(&[], run)).collect::<Result<_, _>>()?;
            let places = match key.iter().any(Value::is_null) {
                true => None,
                false => run.state.keyed[*number].places.get(&key_of(key.iter())),
            };
            self.found = Some(places.cloned().unwrap_or_default());
        }
        run.spend()?;
        let places = self.found.as_deref().unwrap_or_default();
        let known = &run.state.keyed[*number].rows;
        let rows: Vec<RowValues> = places[self.read..].iter().take(want).map(|place| known[*place].clone()).collect();
        run.budget = run.budget.saturating_sub(rows.len());
        self.read += rows.len();
        Ok(Some(rows).filter(|rows| !rows.is_empty()))
    }
}
