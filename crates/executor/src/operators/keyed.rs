//! Rows that are read once and found by their keys, each time it is asked for others.

use crate::equality::key_of;
use crate::error::Interruption;
use crate::plan::PlanNode;
use crate::run::{ExecutionState, KeyedRows, OUT_OF_MEMORY, RowValues, RunState, size_of_row};
use crate::run::{MANY, RowOperator};
use std::sync::Arc;
use values::Value;

/// Bytes that a key needs beside its own: its place in the table, and the list of its rows.
const KEYED_BYTES: usize = 150;

/// Reads those with the keys of the rows around.
pub struct KeyedReader {
    plan: Arc<PlanNode>,
    /// Places of the rows, once they are known; and how many of them were read.
    found: Option<Vec<usize>>,
    read: usize,
    /// What reads them by a path, if that is better.
    by_path: Option<Box<dyn RowOperator>>,
}

impl KeyedReader {
    pub fn new(plan: Arc<PlanNode>) -> KeyedReader {
        KeyedReader { plan, found: None, read: 0, by_path: None }
    }

    /// Sees to it that the rows are there, or that a path is read. It may stop, and is then called again.
    fn begin(&mut self, plan: &PlanNode, run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        let PlanNode::Keyed { number, each, .. } = plan else { return Ok(()) };
        if self.by_path.is_some() || run.state.keyed[*number].is_full {
            return Ok(());
        }
        let mut rows = std::mem::take(&mut run.state.keyed[*number]);
        let mut filled = Ok(());
        if each.as_ref().is_none_or(|each| !rows.is_too_large && rows.asked >= each.most) {
            filled = rows.fill(plan, run);
            let is_too_large = matches!(&filled, Err(Interruption::Failed(error)) if error.sqlstate == OUT_OF_MEMORY);
            if is_too_large && each.is_some() {
                rows.give_up(run.state);
                filled = Ok(());
            }
        }
        if let Some(each) = each.as_ref().filter(|_| filled.is_ok() && !rows.is_full) {
            rows.asked += 1;
            self.by_path = Some((run.state.build)(&each.scan));
        }
        run.state.keyed[*number] = rows;
        filled
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
                let places = self.places.get_or_insert_with(|| run.state.hashing.map());
                let of_key = if places.contains_key(&key) { 0 } else { key.len() + KEYED_BYTES };
                self.memory.hold(size_of_row(&row) + of_key + size_of::<usize>(), run.state)?;
                places.entry(key).or_default().push(self.rows.len());
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

    /// Lets go of all rows, of which there are too many.
    fn give_up(&mut self, state: &mut ExecutionState) {
        if let Some(mut source) = self.source.take() {
            source.close(state);
        }
        self.memory.release_all(state);
        *self = KeyedRows { asked: self.asked, is_too_large: true, ..KeyedRows::default() };
    }
}

impl RowOperator for KeyedReader {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Keyed { number, wanted, .. } = &*plan else { return Ok(None) };
        self.begin(&plan, run)?;
        if let Some(by_path) = &mut self.by_path {
            return by_path.next(run, want);
        }
        if self.found.is_none() {
            let key: RowValues = wanted.iter().map(|value| value.evaluate(&[], run)).collect::<Result<_, _>>()?;
            let places = match key.iter().any(Value::is_null) {
                true => None,
                false => run.state.keyed[*number].places.as_ref().and_then(|places| places.get(&key_of(key.iter()))),
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

    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        self.by_path.iter_mut().collect()
    }
}
