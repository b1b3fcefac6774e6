//! A right side that looks at the row of the left side: it runs anew for each.

use crate::error::Interruption;
use crate::plan::{JoinType, PlanNode};
use crate::run::RowOperator;
use crate::run::{ExecutionState, RowValues, RunState};
use std::collections::VecDeque;
use std::sync::Arc;
use values::Value;

/// A lateral join under way.
pub struct Lateral {
    left: Box<dyn RowOperator>,
    plan: Arc<PlanNode>,
    probes: VecDeque<RowValues>,
    right: Option<Box<dyn RowOperator>>,
    arrived: VecDeque<RowValues>,
    matched: bool,
    found: Vec<RowValues>,
}

impl Lateral {
    pub fn new(left: Box<dyn RowOperator>, plan: Arc<PlanNode>) -> Lateral {
        let (probes, arrived) = (VecDeque::new(), VecDeque::new());
        Lateral { left, plan, probes, right: None, arrived, matched: false, found: Vec::new() }
    }

    /// Goes on with the first row of the left side.
    fn advance(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<(), Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Lateral { kind, right, condition, right_width, .. } = &*plan else { return Ok(()) };
        let Some(left) = self.probes.front() else { return Ok(()) };
        loop {
            while let Some(partner) = self.arrived.front() {
                run.spend()?;
                let row = [left.as_slice(), partner.as_slice()].concat();
                let holds = match condition {
                    Some(condition) => run.settled(|run| condition.holds(&row, run))?,
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
            let operator = self.right.get_or_insert_with(|| (run.state.build)(right));
            run.state.frames.push(left.clone());
            let polled = operator.next(run, want);
            run.state.frames.pop();
            match polled? {
                Some(rows) => self.arrived = rows.into(),
                None => {
                    operator.close(run.state);
                    break;
                }
            }
        }
        if *kind == JoinType::Left && !self.matched {
            self.found.push([left.as_slice(), &vec![Value::Null; *right_width]].concat());
        }
        self.right = None;
        self.matched = false;
        self.probes.pop_front();
        Ok(())
    }
}

impl RowOperator for Lateral {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
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

    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        std::iter::once(&mut self.left).chain(&mut self.right).collect()
    }

    fn close(&mut self, state: &mut ExecutionState) {
        self.inputs().into_iter().for_each(|input| input.close(state));
    }
}
