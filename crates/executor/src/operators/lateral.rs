//! A right side that looks at the row of the left side: it runs anew for each.

use super::{Operator, build};
use crate::error::Stop;
use crate::plan::{Joining, Node};
use crate::run::{Row, Run, State};
use std::collections::VecDeque;
use std::sync::Arc;
use values::Value;

/// A lateral join under way.
pub struct Lateral {
    left: Box<dyn Operator>,
    plan: Arc<Node>,
    probes: VecDeque<Row>,
    right: Option<Box<dyn Operator>>,
    arrived: VecDeque<Row>,
    matched: bool,
    found: Vec<Row>,
}

impl Lateral {
    pub fn new(left: Box<dyn Operator>, plan: Arc<Node>) -> Lateral {
        let (probes, arrived) = (VecDeque::new(), VecDeque::new());
        Lateral { left, plan, probes, right: None, arrived, matched: false, found: Vec::new() }
    }

    /// Goes on with the first row of the left side.
    fn advance(&mut self, run: &mut Run<'_, '_>, want: usize) -> Result<(), Stop> {
        let plan = Arc::clone(&self.plan);
        let Node::Lateral { kind, right, condition, right_width, .. } = &*plan else { return Ok(()) };
        let Some(left) = self.probes.front() else { return Ok(()) };
        loop {
            while let Some(partner) = self.arrived.front() {
                run.spend()?;
                let row = [left.as_slice(), partner.as_slice()].concat();
                let holds = match condition {
                    Some(condition) => condition.holds(&row, run)?,
                    None => true,
                };
                self.arrived.pop_front();
                if holds {
                    self.matched = true;
                    self.found.push(row);
                    if self.found.len() >= want {
                        return Ok(());
                    }
                }
            }
            let operator = self.right.get_or_insert_with(|| build(right));
            run.state.frames.push(left.clone());
            let polled = operator.next(run, want);
            run.state.frames.pop();
            match polled? {
                Some(rows) => self.arrived = rows.into(),
                None => break,
            }
        }
        if *kind == Joining::Left && !self.matched {
            self.found.push([left.as_slice(), &vec![Value::Null; *right_width]].concat());
        }
        self.right = None;
        self.matched = false;
        self.probes.pop_front();
        Ok(())
    }
}

impl Operator for Lateral {
    fn next(&mut self, run: &mut Run<'_, '_>, want: usize) -> Result<Option<Vec<Row>>, Stop> {
        while self.found.len() < want {
            if self.probes.is_empty() {
                match self.left.next(run, want)? {
                    Some(rows) => self.probes = rows.into(),
                    None => break,
                }
            }
            self.advance(run, want)?;
        }
        Ok(Some(std::mem::take(&mut self.found)).filter(|rows| !rows.is_empty()))
    }

    fn inputs(&mut self) -> Vec<&mut Box<dyn Operator>> {
        std::iter::once(&mut self.left).chain(&mut self.right).collect()
    }

    fn close(&mut self, state: &mut State) {
        self.inputs().into_iter().for_each(|input| input.close(state));
    }
}
