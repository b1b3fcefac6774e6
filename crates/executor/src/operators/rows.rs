//! Operators that look at one row at a time.

use super::Operator;
use crate::equality::key_of;
use crate::error::Stop;
use crate::plan::Node;
use crate::run::{Row, Run};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Rows that stand in the plan.
pub struct GivenRows {
    plan: Arc<Node>,
    done: usize,
}

impl GivenRows {
    pub fn new(plan: Arc<Node>) -> GivenRows {
        GivenRows { plan, done: 0 }
    }
}

impl Operator for GivenRows {
    fn next(&mut self, run: &mut Run<'_, '_>, want: usize) -> Result<Option<Vec<Row>>, Stop> {
        let Node::Values(rows) = &*self.plan else {
            self.done += 1;
            return Ok((self.done == 1).then(|| vec![Vec::new()]));
        };
        // One row at a time where evaluation may have to wait would lose nothing; all others are quick.
        let mut out = Vec::new();
        while let Some(expressions) = rows.get(self.done).filter(|_| out.len() < want) {
            let row = expressions.iter().map(|value| value.evaluate(&[], run)).collect::<Result<Row, Stop>>();
            match row {
                Ok(row) => out.push(row),
                Err(Stop::Failed(error)) => return Err(Stop::Failed(error)),
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
pub struct Progress {
    pub waiting: VecDeque<Row>,
    pub found: Vec<Row>,
}

/// Rows for which a condition holds.
pub struct Filter {
    input: Box<dyn Operator>,
    plan: Arc<Node>,
    progress: Progress,
}

impl Filter {
    pub fn new(input: Box<dyn Operator>, plan: Arc<Node>) -> Filter {
        Filter { input, plan, progress: Progress::default() }
    }
}

impl Operator for Filter {
    fn next(&mut self, run: &mut Run<'_, '_>, want: usize) -> Result<Option<Vec<Row>>, Stop> {
        let Node::Filter { filter, .. } = &*self.plan else { return Ok(None) };
        loop {
            while let Some(row) = self.progress.waiting.front() {
                run.spend()?;
                let holds = filter.holds(row, run)?;
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

    fn inputs(&mut self) -> Vec<&mut Box<dyn Operator>> {
        vec![&mut self.input]
    }
}

/// Other columns for each row.
pub struct Project {
    input: Box<dyn Operator>,
    plan: Arc<Node>,
    progress: Progress,
}

impl Project {
    pub fn new(input: Box<dyn Operator>, plan: Arc<Node>) -> Project {
        Project { input, plan, progress: Progress::default() }
    }
}

impl Operator for Project {
    fn next(&mut self, run: &mut Run<'_, '_>, want: usize) -> Result<Option<Vec<Row>>, Stop> {
        let Node::Project { expressions, .. } = &*self.plan else { return Ok(None) };
        if self.progress.waiting.is_empty() {
            match self.input.next(run, want)? {
                Some(rows) => self.progress.waiting = rows.into(),
                None => return Ok(None),
            }
        }
        while let Some(row) = self.progress.waiting.front() {
            run.spend()?;
            let mut made = Vec::with_capacity(expressions.len());
            for expression in expressions {
                made.push(expression.evaluate(row, run)?);
            }
            self.progress.found.push(made);
            self.progress.waiting.pop_front();
        }
        Ok(Some(std::mem::take(&mut self.progress.found)))
    }

    fn inputs(&mut self) -> Vec<&mut Box<dyn Operator>> {
        vec![&mut self.input]
    }
}

/// The first of equal rows.
pub struct Distinct {
    input: Box<dyn Operator>,
    plan: Arc<Node>,
    seen: BTreeSet<Vec<u8>>,
    last: Option<Vec<u8>>,
}

impl Distinct {
    pub fn new(input: Box<dyn Operator>, plan: Arc<Node>) -> Distinct {
        Distinct { input, plan, seen: BTreeSet::new(), last: None }
    }
}

impl Operator for Distinct {
    fn next(&mut self, run: &mut Run<'_, '_>, want: usize) -> Result<Option<Vec<Row>>, Stop> {
        let Node::Distinct { by, consecutive, .. } = &*self.plan else { return Ok(None) };
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
                    run.state.hold(key.len() + size_of::<Vec<u8>>())?;
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

    fn inputs(&mut self) -> Vec<&mut Box<dyn Operator>> {
        vec![&mut self.input]
    }
}
