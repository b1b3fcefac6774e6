//! Operators that look at one row at a time.

use crate::equality::{KEY_BYTES, key_of};
use crate::error::Interruption;
use crate::plan::PlanNode;
use crate::run::RowOperator;
use crate::run::{HeldBytes, RowValues, RunState, size_of_row};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Bytes of computed rows beyond which they are handed on, however few they are.
pub const BATCH_BYTES: usize = 1 << 20;

/// Rows that stand in the plan.
pub struct GivenRows {
    plan: Arc<PlanNode>,
    done: usize,
}

impl GivenRows {
    pub fn new(plan: Arc<PlanNode>) -> GivenRows {
        GivenRows { plan, done: 0 }
    }
}

impl RowOperator for GivenRows {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        let PlanNode::Values(rows) = &*self.plan else {
            self.done += 1;
            return Ok((self.done == 1).then(|| vec![Vec::new()]));
        };
        let (mut out, mut bytes) = (Vec::new(), 0);
        while let Some(expressions) = rows.get(self.done).filter(|_| out.len() < want && bytes <= BATCH_BYTES) {
            let row = run
                .spend()
                .and_then(|()| run.settled(|run| expressions.iter().map(|value| value.evaluate(&[], run)).collect()));
            match row {
                Ok(row) => {
                    let row: RowValues = row;
                    bytes += size_of_row(&row);
                    out.push(row);
                }
                Err(Interruption::Failed(error)) => return Err(Interruption::Failed(error)),
                Err(_) if !out.is_empty() => return Ok(Some(out)),
                Err(stop) => return Err(stop),
            }
            self.done += 1;
        }
        Ok((!out.is_empty()).then_some(out))
    }
}

/// Rows that are there and not yet looked at, and those that were found.
#[derive(Default)]
pub struct ProjectedRows {
    pub waiting: VecDeque<RowValues>,
    pub found: Vec<RowValues>,
}

/// Rows for which a condition holds.
pub struct Filter {
    input: Box<dyn RowOperator>,
    plan: Arc<PlanNode>,
    progress: ProjectedRows,
}

impl Filter {
    pub fn new(input: Box<dyn RowOperator>, plan: Arc<PlanNode>) -> Filter {
        Filter { input, plan, progress: ProjectedRows::default() }
    }
}

impl RowOperator for Filter {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        let PlanNode::Filter { filter, .. } = &*self.plan else { return Ok(None) };
        loop {
            while let Some(row) = self.progress.waiting.front() {
                run.spend()?;
                let holds = run.settled(|run| filter.holds(row, run))?;
                let row = self.progress.waiting.pop_front();
                self.progress.found.extend(row.filter(|_| holds));
            }
            if !self.progress.found.is_empty() {
                return Ok(Some(std::mem::take(&mut self.progress.found)));
            }
            match self.input.next(run, want)? {
                Some(rows) => self.progress.waiting = rows.into(),
                None => return Ok(None),
            }
        }
    }

    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        vec![&mut self.input]
    }
}

/// Other columns for each row.
pub struct Project {
    input: Box<dyn RowOperator>,
    plan: Arc<PlanNode>,
    progress: ProjectedRows,
}

impl Project {
    pub fn new(input: Box<dyn RowOperator>, plan: Arc<PlanNode>) -> Project {
        Project { input, plan, progress: ProjectedRows::default() }
    }
}

impl RowOperator for Project {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        let PlanNode::Project { expressions, .. } = &*self.plan else { return Ok(None) };
        if self.progress.waiting.is_empty() {
            match self.input.next(run, want)? {
                Some(rows) => self.progress.waiting = rows.into(),
                None => return Ok(None),
            }
        }
        let mut bytes = 0;
        while let Some(row) = self.progress.waiting.front() {
            run.spend()?;
            let mut made = Vec::with_capacity(expressions.len());
            run.settled(|run| {
                for expression in expressions {
                    made.push(expression.evaluate(row, run)?);
                }
                Ok(())
            })?;
            bytes += size_of_row(&made);
            self.progress.found.push(made);
            self.progress.waiting.pop_front();
            if bytes > BATCH_BYTES {
                break;
            }
        }
        Ok(Some(std::mem::take(&mut self.progress.found)))
    }

    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        vec![&mut self.input]
    }
}

/// The first of equal rows.
pub struct DistinctOperator {
    input: Box<dyn RowOperator>,
    plan: Arc<PlanNode>,
    seen: BTreeSet<Vec<u8>>,
    last: Option<Vec<u8>>,
    memory: HeldBytes,
}

impl DistinctOperator {
    pub fn new(input: Box<dyn RowOperator>, plan: Arc<PlanNode>) -> DistinctOperator {
        DistinctOperator { input, plan, seen: BTreeSet::new(), last: None, memory: HeldBytes::default() }
    }
}

impl RowOperator for DistinctOperator {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        let PlanNode::Distinct { by, consecutive, .. } = &*self.plan else { return Ok(None) };
        while let Some(rows) = self.input.next(run, want)? {
            let mut found = Vec::new();
            for row in rows {
                let key = key_of(by.iter().map(|place| &row[*place]));
                if *consecutive {
                    if self.last.as_ref() != Some(&key) {
                        self.last = Some(key);
                        found.push(row);
                    }
                } else if !self.seen.contains(&key) {
                    self.memory.hold(key.len() + KEY_BYTES, run.state)?;
                    self.seen.insert(key);
                    found.push(row);
                }
            }
            if !found.is_empty() {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn memory(&mut self) -> Option<&mut HeldBytes> {
        Some(&mut self.memory)
    }

    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        vec![&mut self.input]
    }
}
