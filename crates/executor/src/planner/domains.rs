//! Casts to domains: the conditions of a domain are planned where it is cast to, over a frame that has nothing but the value.
//!
//! Invariant: a condition sees nothing of the statement but the value.

use super::frame::ColumnFrame;
use super::{PlanResult, QueryPlanner, not_built};
use crate::expression::{CompiledExpression, DomainCheck};
use analyzer::limits::DEPTH_MAX;
use analyzer::tree::ExprId;
use analyzer::{Analyzed, TypeId};

impl<'a> QueryPlanner<'a> {
    /// A value as one of a domain.
    pub fn in_domain(
        &mut self,
        value: ExprId,
        domain: TypeId,
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<CompiledExpression> {
        let Some(meaning) = self.relations.domain(domain) else { return not_built("a domain that is not known") };
        let value = self.compile(value, level, current)?;
        if meaning.null.is_none() && meaning.conditions.is_empty() {
            return Ok(value);
        }
        self.step()?;
        let mut conditions = Vec::with_capacity(meaning.conditions.len());
        for (condition, message) in &meaning.conditions {
            conditions.push((self.domain_condition(condition)?, message.clone()));
        }
        Ok(CompiledExpression::Domain(Box::new(DomainCheck { value, null: meaning.null.clone(), conditions })))
    }

    fn domain_condition(&mut self, condition: &'a Analyzed) -> PlanResult<CompiledExpression> {
        // What is evaluated goes as deep as both together.
        if self.depth + condition.depth > DEPTH_MAX {
            return not_built("a condition of a domain so deep within another expression");
        }
        let [target] = condition.tree[condition.query].targets.as_slice() else {
            return not_built("a condition of several columns");
        };
        // As of the query of a function: the frame of the value is found by its number, and nothing in those around is looked at.
        let nothing = ColumnFrame::empty(usize::MAX);
        let own = self.frames.len();
        let mut frames = vec![nothing.clone(); own];
        frames.push(ColumnFrame { width: 1, ..nothing });
        let around = (
            std::mem::replace(&mut self.tree, &condition.tree),
            std::mem::replace(&mut self.frames, frames),
            std::mem::take(&mut self.levels),
            std::mem::take(&mut self.wanted),
            std::mem::take(&mut self.case_constants),
            self.arguments.replace(own),
        );
        let logged = self.outer_log.len();
        let compiled = self.compile(target.value, 0, &ColumnFrame::empty(usize::MAX));
        self.outer_log.truncate(logged);
        (self.tree, self.frames, self.levels, self.wanted, self.case_constants, self.arguments) = around;
        compiled
    }
}
