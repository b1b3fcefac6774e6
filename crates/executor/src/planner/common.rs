//! WITH: a query that is read once stands where it is read, others are computed once.

use super::frame::ColumnFrame;
use super::{OuterPlace, PlanResult, PlannedLevel, QueryPlanner, not_built};
use crate::expression::CompiledExpression;
use crate::plan::PlanNode;
use analyzer::tree::{Command, QueryId, SetTree};
use grammar::ast::SetOperator;
use std::sync::Arc;

/// How far a query of WITH is planned.
#[derive(Clone)]
pub enum CommonState {
    Unplanned,
    /// Its own recursion is being planned, with this working table.
    Recursing(usize),
    /// What reads it, and the places outside that it depends on.
    Ready(Arc<PlanNode>, Vec<OuterPlace>),
}

impl QueryPlanner<'_> {
    /// What reads a query of the WITH of a level.
    pub fn common(&mut self, level: usize, number: usize, itself: bool) -> PlanResult<Arc<PlanNode>> {
        let table = &self.tree[self.levels[level].query].with[number];
        let Some(query) = table.query else { return not_built("a query of WITH that is not there") };
        if self.tree[query].command != Command::Select || table.search.is_some() || table.cycle.is_some() {
            return not_built("WITH that changes rows, SEARCH and CYCLE");
        }
        match self.levels[level].common[number].clone() {
            CommonState::Recursing(working) if itself => {
                self.working_reads.push(working);
                Ok(Arc::new(PlanNode::Working { number: working }))
            }
            CommonState::Recursing(_) => not_built("a recursion within itself"),
            CommonState::Ready(node, outer) => {
                self.outer_log.extend(outer);
                Ok(node)
            }
            CommonState::Unplanned => {
                let inlined = table.references <= 1 && table.materialized != Some(true) && !table.recursive;
                if inlined && !self.has_volatile(query) {
                    let deeper = self.levels.split_off(level + 1);
                    let planned = self.query(query);
                    self.levels.extend(deeper);
                    return planned;
                }
                self.shared_table(level, number, query)
            }
        }
    }

    fn has_volatile(&self, query: QueryId) -> bool {
        let volatile = |function| {
            let row = self.catalog.function(function);
            row.is_some_and(|row| row.volatility == analyzer::facts::Volatility::Volatile)
        };
        let found = self.tree.find_in_query(query, 0, &mut |expression, _| match &expression.node {
            analyzer::tree::Node::Function { function, .. } | analyzer::tree::Node::Operator { function, .. } => {
                volatile(*function)
            }
            _ => false,
        });
        found.is_some()
    }

    fn shared_table(&mut self, level: usize, number: usize, query: QueryId) -> PlanResult<Arc<PlanNode>> {
        let frames = self.levels[level].frames;
        let deeper = self.levels.split_off(level + 1);
        let inner: Vec<ColumnFrame> = self.frames.split_off(frames);
        let (logged, reads) = (self.outer_log.len(), self.working_reads.len());
        let recursive = self.tree[self.levels[level].query].with[number].recursive;
        let planned = if recursive { self.recursion(level, number, query) } else { self.query(query) };
        self.frames.extend(inner);
        self.levels.extend(deeper);
        let source = planned?;
        if self.working_reads.len() > reads {
            return not_built("WITH that reads a recursion around it");
        }
        let mut places = self.outer_log.split_off(logged);
        places.retain(|place| place.frame < frames);
        places.sort_unstable();
        places.dedup();
        self.outer_log.extend(&places);
        let as_outer = |place: &OuterPlace| CompiledExpression::Outer { frame: place.frame, slot: place.slot };
        let outer = places.iter().map(as_outer).collect();
        let node = Arc::new(PlanNode::Shared { number: self.shared as usize, source, outer, frames });
        self.shared += 1;
        self.levels[level].common[number] = CommonState::Ready(Arc::clone(&node), places);
        Ok(node)
    }

    /// `base UNION step`, of which the step reads what is being computed.
    fn recursion(&mut self, level: usize, number: usize, query: QueryId) -> PlanResult<Arc<PlanNode>> {
        let own = &self.tree[query];
        let Some(SetTree::Operation { operator: SetOperator::Union, all, left, right, columns, .. }) =
            &own.set_operation
        else {
            // It may refer to itself, and does not.
            return self.query(query);
        };
        if !own.order.is_empty() || own.limit.is_some() || own.offset.is_some() || !own.with.is_empty() {
            return not_built("ORDER BY, LIMIT or WITH of a recursion");
        }
        if !all {
            columns.iter().try_for_each(|column| self.ordered(column.id))?;
        }
        let reads = self.working_reads.len();
        let frames = self.frames.len();
        self.levels.push(PlannedLevel { query, common: Vec::new(), frames });
        let base = self.set_side(left, columns, level + 1);
        let working = self.working as usize;
        self.working += 1;
        self.levels[level].common[number] = CommonState::Recursing(working);
        let step = self.set_side(right, columns, level + 1);
        self.levels[level].common[number] = CommonState::Unplanned;
        self.levels.pop();
        let (base, step) = (base?, step?);
        if self.working_reads[reads..].iter().any(|read| *read != working) {
            return not_built("recursions within each other");
        }
        self.working_reads.truncate(reads);
        Ok(Arc::new(PlanNode::Recursive { number: working, base, step, distinct: !all }))
    }
}
