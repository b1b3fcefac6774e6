//! WITH: rows that are computed once and read often, and recursion.

use crate::equality::{KEY_BYTES, key_of};
use crate::error::Interruption;
use crate::plan::PlanNode;
use crate::run::{HeldBytes, RowValues, RunState, SharedRows, size_of_row};
use crate::run::{MANY, RowOperator};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Reads a query of WITH, which runs as far as its readers have come.
pub struct SharedReader {
    plan: Arc<PlanNode>,
    place: usize,
}

impl SharedReader {
    pub fn new(plan: Arc<PlanNode>) -> SharedReader {
        SharedReader { plan, place: 0 }
    }

    fn advance(&self, shared: &mut SharedRows, run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        let PlanNode::Shared { source, frames, .. } = &*self.plan else { return Ok(()) };
        while !shared.complete && self.place >= shared.rows.len() {
            let operator = shared.source.get_or_insert_with(|| (run.state.build)(source));
            let inner = run.state.frames.split_off((*frames).min(run.state.frames.len()));
            let polled = operator.next(run, MANY);
            run.state.frames.truncate(*frames);
            run.state.frames.extend(inner);
            match polled? {
                Some(rows) => {
                    run.state.hold(rows.iter().map(|row| size_of_row(row)).sum())?;
                    shared.rows.extend(rows);
                }
                None => {
                    shared.complete = true;
                    operator.close(run.state);
                    shared.source = None;
                }
            }
        }
        Ok(())
    }
}

impl RowOperator for SharedReader {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Shared { number, outer, .. } = &*plan else { return Ok(None) };
        let outer: RowValues = outer.iter().map(|place| place.evaluate(&[], run)).collect::<Result<_, _>>()?;
        let mut shared = std::mem::take(&mut run.state.shared[*number]);
        if shared.outer.as_ref() != Some(&outer) {
            run.state.release(shared.rows.iter().map(|row| size_of_row(row)).sum());
            if let Some(mut source) = shared.source.take() {
                source.close(run.state);
            }
            shared = SharedRows { outer: Some(outer), ..SharedRows::default() };
        }
        let result = self.advance(&mut shared, run);
        let rows: Vec<RowValues> = match result {
            Ok(()) => shared.rows.iter().skip(self.place).take(want).cloned().collect(),
            Err(_) => Vec::new(),
        };
        run.state.shared[*number] = shared;
        result?;
        run.spend()?;
        self.place += rows.len();
        Ok(Some(rows).filter(|rows| !rows.is_empty()))
    }
}

/// Reads what the last round of a recursion has found.
pub struct WorkingReader {
    plan: Arc<PlanNode>,
    place: usize,
}

impl WorkingReader {
    pub fn new(plan: Arc<PlanNode>) -> WorkingReader {
        WorkingReader { plan, place: 0 }
    }
}

impl RowOperator for WorkingReader {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        let PlanNode::Working { number } = &*self.plan else { return Ok(None) };
        run.spend()?;
        let rows: Vec<RowValues> = run.state.working[*number].iter().skip(self.place).take(want).cloned().collect();
        self.place += rows.len();
        Ok(Some(rows).filter(|rows| !rows.is_empty()))
    }
}

/// A recursion: the base, then the step for what each round has found, until one finds nothing.
pub struct Recursive {
    plan: Arc<PlanNode>,
    base: Box<dyn RowOperator>,
    base_ended: bool,
    step: Option<Box<dyn RowOperator>>,
    /// What the present round has found.
    round: Vec<RowValues>,
    seen: BTreeSet<Vec<u8>>,
    memory: HeldBytes,
    /// Of what the last round has found.
    working_bytes: usize,
}

impl Recursive {
    pub fn new(base: Box<dyn RowOperator>, plan: Arc<PlanNode>) -> Recursive {
        let (round, seen, memory) = (Vec::new(), BTreeSet::new(), HeldBytes::default());
        Recursive { plan, base, base_ended: false, step: None, round, seen, memory, working_bytes: 0 }
    }

    fn new_ones(
        &mut self,
        rows: Vec<RowValues>,
        distinct: bool,
        run: &mut RunState<'_, '_>,
    ) -> Result<Vec<RowValues>, Interruption> {
        let mut found = Vec::new();
        for row in rows {
            let key = if distinct { key_of(row.iter()) } else { Vec::new() };
            if !distinct || !self.seen.contains(&key) {
                self.memory.hold(size_of_row(&row) + key.len() + KEY_BYTES, run.state)?;
                if distinct {
                    self.seen.insert(key);
                }
                found.push(row);
            }
        }
        self.round.extend(found.iter().cloned());
        Ok(found)
    }
}

impl RowOperator for Recursive {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Recursive { number, step, distinct, .. } = &*plan else { return Ok(None) };
        loop {
            if !self.base_ended {
                match self.base.next(run, want)? {
                    Some(rows) => {
                        let found = self.new_ones(rows, *distinct, run)?;
                        if !found.is_empty() {
                            return Ok(Some(found));
                        }
                    }
                    None => self.base_ended = true,
                }
                continue;
            }
            if self.step.is_none() {
                run.spend()?;
                let round = std::mem::take(&mut self.round);
                if round.is_empty() {
                    return Ok(None);
                }
                let bytes = std::mem::take(&mut self.working_bytes);
                self.memory.release(bytes, run.state);
                self.working_bytes = round.iter().map(|row| size_of_row(row)).sum();
                run.state.working[*number] = Arc::new(round);
                self.step = Some((run.state.build)(step));
            }
            let Some(operator) = &mut self.step else { return Ok(None) };
            match operator.next(run, want)? {
                Some(rows) => {
                    let found = self.new_ones(rows, *distinct, run)?;
                    if !found.is_empty() {
                        return Ok(Some(found));
                    }
                }
                None => {
                    operator.close(run.state);
                    self.step = None;
                }
            }
        }
    }

    fn memory(&mut self) -> Option<&mut HeldBytes> {
        Some(&mut self.memory)
    }

    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        std::iter::once(&mut self.base).chain(&mut self.step).collect()
    }
}
