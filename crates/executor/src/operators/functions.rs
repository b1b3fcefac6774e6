//! Functions that yield sets: in FROM side by side, in targets beside each row.

use crate::error::Interruption;
use crate::plan::{PlanNode, SetCall, SetCallee};
use crate::run::RowOperator;
use crate::run::{RowValues, RunState};
use evaluation::CallArguments;
use evaluation::sets::SetRows;
use std::collections::VecDeque;
use std::sync::Arc;
use values::Value;

/// Sets side by side: as long as one of them has rows, those of the others are filled with NULL.
struct RunningSets {
    sets: Vec<(Option<SetRows>, usize)>,
}

impl RunningSets {
    fn begin(calls: &[SetCall], row: &[Value], run: &mut RunState<'_, '_>) -> Result<RunningSets, Interruption> {
        let mut sets = Vec::with_capacity(calls.len());
        for call in calls {
            let arguments: RowValues = call.arguments.iter().map(|v| v.evaluate(row, run)).collect::<Result<_, _>>()?;
            sets.push((begin(call, arguments, run)?, call.width));
        }
        Ok(RunningSets { sets })
    }

    fn next(&mut self) -> Result<Option<RowValues>, Interruption> {
        let (mut row, mut any) = (RowValues::new(), false);
        for (rows, width) in &mut self.sets {
            match rows.as_mut().and_then(Iterator::next) {
                Some(found) => {
                    any = true;
                    let mut found = found?;
                    found.resize(*width, Value::Null);
                    row.append(&mut found);
                }
                None => {
                    *rows = None;
                    row.extend(std::iter::repeat_n(Value::Null, *width));
                }
            }
        }
        Ok(any.then_some(row))
    }
}

fn begin(call: &SetCall, arguments: RowValues, run: &mut RunState<'_, '_>) -> Result<Option<SetRows>, Interruption> {
    match &call.callee {
        SetCallee::Value => Ok(Some(Box::new(std::iter::once(Ok(arguments))))),
        SetCallee::Set { strict: true, .. } if arguments.iter().any(Value::is_null) => Ok(None),
        SetCallee::Set { body, types, result, .. } => {
            let environment = &mut *run.environment;
            let mut call = CallArguments { arguments: &arguments, types, result: *result, environment };
            Ok(Some(body(&mut call)?))
        }
    }
}

/// FROM of functions.
pub struct FunctionScan {
    plan: Arc<PlanNode>,
    sets: Option<RunningSets>,
    count: i64,
}

impl FunctionScan {
    pub fn new(plan: Arc<PlanNode>) -> FunctionScan {
        FunctionScan { plan, sets: None, count: 0 }
    }
}

impl RowOperator for FunctionScan {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Functions { functions, ordinality } = &*plan else { return Ok(None) };
        if self.sets.is_none() {
            self.sets = Some(run.settled(|run| RunningSets::begin(functions, &[], run))?);
        }
        let Some(sets) = &mut self.sets else { return Ok(None) };
        run.spend()?;
        let mut found = Vec::new();
        while found.len() < want {
            let Some(mut row) = sets.next()? else { break };
            run.budget = run.budget.saturating_sub(1);
            self.count += 1;
            if *ordinality {
                row.push(Value::BigInt(self.count));
            }
            found.push(row);
        }
        Ok(Some(found).filter(|found| !found.is_empty()))
    }
}

/// Sets in targets.
pub struct ProjectSet {
    input: Box<dyn RowOperator>,
    plan: Arc<PlanNode>,
    arrived: VecDeque<RowValues>,
    sets: Option<RunningSets>,
    found: Vec<RowValues>,
}

impl ProjectSet {
    pub fn new(input: Box<dyn RowOperator>, plan: Arc<PlanNode>) -> ProjectSet {
        ProjectSet { input, plan, arrived: VecDeque::new(), sets: None, found: Vec::new() }
    }
}

impl RowOperator for ProjectSet {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::ProjectSet { sets, .. } = &*plan else { return Ok(None) };
        while self.found.len() < want {
            let Some(row) = self.arrived.front() else {
                match self.input.next(run, want)? {
                    Some(rows) => self.arrived = rows.into(),
                    None => break,
                }
                continue;
            };
            run.spend()?;
            if self.sets.is_none() {
                self.sets = Some(run.settled(|run| RunningSets::begin(sets, row, run))?);
            }
            let next = match &mut self.sets {
                Some(sets) => sets.next()?,
                None => None,
            };
            match next {
                Some(mut values) => {
                    let mut row = row.clone();
                    row.append(&mut values);
                    self.found.push(row);
                }
                None => {
                    self.sets = None;
                    self.arrived.pop_front();
                }
            }
        }
        Ok(Some(std::mem::take(&mut self.found)).filter(|rows| !rows.is_empty()))
    }

    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        vec![&mut self.input]
    }
}
