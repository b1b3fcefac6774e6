//! LIMIT, OFFSET and WITH TIES.

use super::sort::sort_keys;
use crate::error::{ExecutionError, Interruption};
use crate::expression::CompiledExpression;
use crate::plan::PlanNode;
use crate::run::RowOperator;
use crate::run::{RowValues, RunState};
use std::sync::Arc;

/// A limit under way.
pub struct Limit {
    input: Box<dyn RowOperator>,
    plan: Arc<PlanNode>,
    /// What is still to be skipped, and what may still come.
    left: Option<(u64, Option<u64>)>,
    /// The last row within the limit, for its ties.
    last: Option<RowValues>,
    ended: bool,
}

impl Limit {
    pub fn new(input: Box<dyn RowOperator>, plan: Arc<PlanNode>) -> Limit {
        Limit { input, plan, left: None, last: None, ended: false }
    }
}

/// The number of a LIMIT or OFFSET; none for NULL.
pub fn count(
    of: Option<&CompiledExpression>,
    word: &str,
    run: &mut RunState<'_, '_>,
) -> Result<Option<u64>, Interruption> {
    let Some(of) = of else { return Ok(None) };
    let Some(number) = run.settled(|run| of.evaluate(&[], run))?.as_integer() else { return Ok(None) };
    match u64::try_from(number) {
        Ok(number) => Ok(Some(number)),
        Err(_) => {
            let sqlstate = if word == "LIMIT" {
                sqlstate::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE
            } else {
                sqlstate::INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE
            };
            Err(ExecutionError::new(sqlstate, format!("{word} must not be negative")).into())
        }
    }
}

impl Limit {
    fn tied(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Limit { ties, .. } = &*plan else { return Ok(None) };
        let Some(last) = self.last.clone().filter(|_| !ties.is_empty()) else { return self.end(run) };
        let Some(mut rows) = self.input.next(run, want)? else { return self.end(run) };
        let wanted = sort_keys(ties, &last, run)?;
        let mut equal = 0;
        for row in &rows {
            if super::sort::compare_keys(ties, &sort_keys(ties, row, run)?, &wanted).is_ne() {
                break;
            }
            equal += 1;
        }
        self.ended = equal < rows.len();
        rows.truncate(equal);
        if rows.is_empty() { self.end(run) } else { Ok(Some(rows)) }
    }

    fn end(&mut self, run: &mut RunState<'_, '_>) -> Result<Option<Vec<RowValues>>, Interruption> {
        self.ended = true;
        self.input.close(run.state);
        Ok(None)
    }
}

impl RowOperator for Limit {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Limit { limit, offset, ties, .. } = &*plan else { return Ok(None) };
        if self.ended {
            return Ok(None);
        }
        let (mut skip, mut most) = match self.left {
            Some(left) => left,
            None => {
                let skip = count(offset.as_ref(), "OFFSET", run)?.unwrap_or(0);
                (skip, count(limit.as_ref(), "LIMIT", run)?)
            }
        };
        self.left = Some((skip, most));
        loop {
            if most == Some(0) {
                return self.tied(run, want);
            }
            let ask = most.map_or(want as u64, |most| most.saturating_add(skip).min(crate::run::MANY as u64));
            let ask = if skip > 0 { ask } else { ask.min(want as u64) };
            let Some(mut rows) = self.input.next(run, ask.max(1) as usize)? else { return self.end(run) };
            let skipped = skip.min(rows.len() as u64);
            rows.drain(..skipped as usize);
            skip -= skipped;
            if let Some(most) = &mut most {
                rows.truncate(usize::try_from(*most).unwrap_or(usize::MAX));
                *most -= rows.len() as u64;
            }
            self.left = Some((skip, most));
            if let Some(last) = rows.last() {
                self.last = Some(last.clone());
                if most == Some(0) && ties.is_empty() {
                    // What is read below ends now, not when somebody asks for more.
                    self.end(run)?;
                }
                return Ok(Some(rows));
            }
        }
    }

    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        vec![&mut self.input]
    }
}
