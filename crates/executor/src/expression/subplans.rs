//! Subqueries as values. Each runs when a row asks for it; its progress and its last result lie in the state.

use super::{CompiledExpression, ErrorPlace, error_at};
use crate::equality::{KEY_BYTES, key_of};
use crate::error::Interruption;
use crate::plan::PlanNode;
use crate::run::{RowValues, RunState, size_of_row};
use analyzer::types::FunctionId;
use std::collections::BTreeSet;
use std::sync::Arc;
use values::{Type, Value};

/// How rows become a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubplanKind {
    Exists,
    Any,
    All,
    /// The only row is compared.
    Row,
    /// The only value.
    Value,
    /// All values, of this type.
    Array(Type),
    /// The value of a function: that of the first row. `outer` are its arguments, and all that the query looks at.
    Call {
        function: FunctionId,
        strict: bool,
    },
}

/// A subquery in an expression.
#[derive(Clone, Debug)]
pub struct SubplanUse {
    pub number: usize,
    pub kind: SubplanKind,
    pub plan: Arc<PlanNode>,
    /// What holds for a row, of ANY, ALL and rows.
    pub test: Option<CompiledExpression>,
    /// For ANY by equality that hashes: the left sides, each beside the column of its number.
    pub hashed: Option<Vec<CompiledExpression>>,
    /// The places outside that its rows depend on, as seen from where it stands.
    pub outer: Vec<CompiledExpression>,
    pub volatile: bool,
}

impl PartialEq for SubplanUse {
    fn eq(&self, other: &SubplanUse) -> bool {
        // Two calls of a function with the same arguments are one.
        self.number == other.number
            || (matches!(self.kind, SubplanKind::Call { .. }) && self.kind == other.kind && self.outer == other.outer)
    }
}

impl SubplanUse {
    /// The value for a row around.
    pub fn evaluate(&self, row: &[Value], run: &mut RunState<'_, '_>) -> Result<Value, Interruption> {
        let outer: RowValues = self.outer.iter().map(|place| place.evaluate(row, run)).collect::<Result<_, _>>()?;
        let is_call = match self.kind {
            SubplanKind::Call { strict: true, .. } if outer.iter().any(Value::is_null) => return Ok(Value::Null),
            SubplanKind::Call { .. } => true,
            _ => false,
        };
        let is_once = is_call && self.volatile;
        if is_once {
            if let Some(value) = run.state.made.again(self.number, &outer) {
                return Ok(value);
            }
            if !run.state.made.is_within() {
                let message = "a call of a volatile function in this place is not supported";
                return Err(error_at(sqlstate::FEATURE_NOT_SUPPORTED, message, ErrorPlace(None)));
            }
        }
        self.run_for(outer.clone(), row, run)?;
        let mut subplan = std::mem::take(&mut run.state.subplans[self.number]);
        let result = self.value(&mut subplan, row, run);
        let waits = matches!(result, Err(Interruption::Wait | Interruption::Yield));
        if waits || !self.volatile || (self.outer.is_empty() && !is_call) {
            run.state.subplans[self.number] = subplan;
        } else {
            subplan.memory.release_all(run.state);
        }
        if let Ok(value) = &result
            && is_once
        {
            run.state.made.add(self.number, outer, value.clone());
        }
        result
    }

    /// Lets it run until its rows for this row are there.
    fn run_for(&self, outer: RowValues, row: &[Value], run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        let mut subplan = std::mem::take(&mut run.state.subplans[self.number]);
        if subplan.outer.as_ref() != Some(&outer) {
            if let Some(mut operator) = subplan.operator.take() {
                operator.close(run.state);
            }
            subplan.memory.release_all(run.state);
            subplan = crate::run::Subplan { outer: Some(outer), ..Default::default() };
        }
        if !subplan.complete {
            let around = match (&self.kind, &subplan.outer) {
                (SubplanKind::Call { .. }, Some(arguments)) => arguments.clone(),
                _ => row.to_vec(),
            };
            run.state.frames.push(around);
            let result = self.advance(&mut subplan, run);
            run.state.frames.pop();
            if let Err(stop) = result {
                run.state.subplans[self.number] = subplan;
                return Err(stop);
            }
        }
        run.state.subplans[self.number] = subplan;
        Ok(())
    }

    fn advance(&self, subplan: &mut crate::run::Subplan, run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        let operator = subplan.operator.get_or_insert_with(|| (run.state.build)(&self.plan));
        let want = match self.kind {
            SubplanKind::Exists | SubplanKind::Call { .. } => 1,
            SubplanKind::Value | SubplanKind::Row => 2,
            _ => 1_024,
        };
        loop {
            let was_within = run.state.made.step_out();
            let polled = operator.next(run, want);
            run.state.made.step_in(was_within);
            let Some(rows) = polled? else { break };
            let held: usize = rows.iter().map(|row| size_of_row(row)).sum();
            subplan.memory.hold(held, run.state)?;
            subplan.rows.extend(rows);
            let enough = match self.kind {
                SubplanKind::Exists | SubplanKind::Call { .. } => !subplan.rows.is_empty(),
                SubplanKind::Value | SubplanKind::Row => subplan.rows.len() > 1,
                _ => false,
            };
            if enough {
                break;
            }
        }
        operator.close(run.state);
        subplan.operator = None;
        subplan.complete = true;
        Ok(())
    }

    fn value(
        &self,
        subplan: &mut crate::run::Subplan,
        row: &[Value],
        run: &mut RunState<'_, '_>,
    ) -> Result<Value, Interruption> {
        match self.kind {
            SubplanKind::Exists => Ok((!subplan.rows.is_empty()).into()),
            SubplanKind::Value | SubplanKind::Row if subplan.rows.len() > 1 => {
                let message = "more than one row returned by a subquery used as an expression";
                Err(error_at(sqlstate::CARDINALITY_VIOLATION, message, ErrorPlace(None)))
            }
            SubplanKind::Value | SubplanKind::Call { .. } => {
                Ok(subplan.rows.first().map_or(Value::Null, |row| row[0].clone()))
            }
            SubplanKind::Array(element) => {
                let values = subplan.rows.iter().map(|row| row[0].clone()).collect();
                Ok(Value::array(element, values))
            }
            SubplanKind::Row => match subplan.rows.first() {
                Some(found) => self.tested(found.clone(), row, run),
                None => Ok(Value::Null),
            },
            SubplanKind::Any | SubplanKind::All => {
                if let Some(sides) = &self.hashed {
                    return hashed(sides, subplan, row, run);
                }
                self.quantified(&subplan.rows, row, run)
            }
        }
    }

    fn quantified(&self, rows: &[RowValues], row: &[Value], run: &mut RunState<'_, '_>) -> Result<Value, Interruption> {
        let all = self.kind == SubplanKind::All;
        let mut unknown = false;
        for found in rows {
            match self.tested(found.clone(), row, run)?.as_boolean() {
                Some(truth) if truth != all => return Ok((!all).into()),
                Some(_) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { Value::Null } else { all.into() })
    }

    fn tested(&self, found: RowValues, row: &[Value], run: &mut RunState<'_, '_>) -> Result<Value, Interruption> {
        let Some(test) = &self.test else { return Ok(Value::Null) };
        run.state.sublinks.push(found);
        let result = test.evaluate(row, run);
        run.state.sublinks.pop();
        result
    }
}

/// ANY by equality of one column: found by its key; unknown if it, or a value of the subquery, is NULL.
fn hashed(
    sides: &[CompiledExpression],
    subplan: &mut crate::run::Subplan,
    row: &[Value],
    run: &mut RunState<'_, '_>,
) -> Result<Value, Interruption> {
    if subplan.rows.is_empty() {
        return Ok(false.into());
    }
    let left = sides[0].evaluate(row, run)?;
    if left.is_null() {
        return Ok(Value::Null);
    }
    if subplan.hashed.is_none() {
        let present = subplan.rows.iter().filter(|row| !row[0].is_null());
        let keys: BTreeSet<Vec<u8>> = present.map(|row| key_of(row[..1].iter())).collect();
        subplan.memory.hold(keys.iter().map(|key| key.len() + KEY_BYTES).sum(), run.state)?;
        run.budget = run.budget.saturating_sub(subplan.rows.len());
        subplan.hashed = Some((keys, subplan.rows.iter().any(|row| row[0].is_null())));
    }
    let Some((keys, has_null)) = &subplan.hashed else { return Ok(Value::Null) };
    if keys.contains(&key_of([&left].into_iter())) {
        return Ok(true.into());
    }
    Ok(if *has_null { Value::Null } else { false.into() })
}
