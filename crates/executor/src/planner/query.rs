//! One query: where rows come from, what is computed of them, in which order they leave.

use super::frame::ColumnFrame;
use super::orders::limited_scan;
use super::{PlanResult, PlannedLevel, QueryPlanner, not_built};
use crate::expression::CompiledExpression;
use crate::plan::{PlanNode, SetCall, Sorting};
use analyzer::tree::{Command, ExprId, Node as TreeNode, Query, QueryId, SortGroup};
use std::sync::Arc;

/// Rows with their layout.
#[derive(Clone)]
pub struct FromSource {
    pub node: Arc<PlanNode>,
    pub frame: ColumnFrame,
    /// Estimated.
    pub rows: f64,
}

impl<'a> QueryPlanner<'a> {
    /// A query within those of `levels`; its rows have the columns of its targets.
    pub fn query(&mut self, query: QueryId) -> PlanResult<Arc<PlanNode>> {
        let level = self.levels.len();
        let common = vec![super::common::CommonState::Unplanned; self.tree[query].with.len()];
        self.levels.push(PlannedLevel { query, common, frames: self.frames.len() });
        let planned = self.level(query, level);
        self.levels.truncate(level);
        planned
    }

    fn level(&mut self, id: QueryId, level: usize) -> PlanResult<Arc<PlanNode>> {
        let query: &'a Query = &self.tree[id];
        if query.command != Command::Select || !query.locks.is_empty() {
            return not_built("changes and locks");
        }
        let mut source = match &query.set_operation {
            Some(tree) => self.set_source(query, tree, level)?,
            None => self.from(query, level)?,
        };
        let groups =
            query.has_aggregates || !query.group.is_empty() || query.grouping_sets.is_some() || query.having.is_some();
        if groups {
            source = self.grouping(query, source, level)?;
        }
        if query.has_windows {
            source = self.windows(query, source, level)?;
        }
        if query.has_target_sets {
            source = self.target_sets(query, source, level)?;
        }
        source.frame.rows = source.rows;
        let values: Vec<ExprId> = query.targets.iter().map(|target| target.value).collect();
        let expressions = self.compile_all(&values, level, &source.frame)?;
        let all_slots = (0..source.frame.width).map(CompiledExpression::Slot);
        let mut node = source.node;
        if !all_slots.eq(expressions.iter().cloned()) {
            node = Arc::new(PlanNode::Project { input: node, expressions });
        }
        node = self.ordering(query, node, level)?;
        let shown = query.targets.iter().filter(|target| !target.junk).count();
        if shown < query.targets.len() {
            // Junk stands behind what is shown, but for targets that are both.
            let places = query.targets.iter().enumerate().filter(|(_, target)| !target.junk);
            let expressions = places.map(|(place, _)| CompiledExpression::Slot(place)).collect();
            node = Arc::new(PlanNode::Project { input: node, expressions });
        }
        Ok(node)
    }

    /// The place of the target that ORDER BY and its like name.
    pub fn target_of(&self, query: &Query, group: &SortGroup) -> PlanResult<usize> {
        match query.targets.iter().position(|target| target.reference == group.target) {
            Some(place) => Ok(place),
            None => not_built("order by what is no target"),
        }
    }

    /// Sorts by an expression as an element of ORDER BY says.
    pub fn sorting(&self, group: &SortGroup, by: CompiledExpression, value: ExprId) -> PlanResult<Sorting> {
        self.ordered(self.tree[value].typed.id)?;
        let descending = match self.strategy(group.sort) {
            Some(1) => false,
            Some(5) => true,
            _ => return not_built("this order"),
        };
        Ok(Sorting { by, descending, nulls_first: group.nulls_first })
    }

    fn target_order(&self, query: &Query, groups: &[SortGroup]) -> PlanResult<Vec<Sorting>> {
        let mut order = Vec::with_capacity(groups.len());
        for group in groups {
            let place = self.target_of(query, group)?;
            order.push(self.sorting(group, CompiledExpression::Slot(place), query.targets[place].value)?);
        }
        Ok(order)
    }

    fn ordering(&mut self, query: &Query, mut node: Arc<PlanNode>, level: usize) -> PlanResult<Arc<PlanNode>> {
        let nothing = ColumnFrame::empty(level);
        let limit = query.limit.map(|limit| self.compile(limit, level, &nothing)).transpose()?;
        let offset = query.offset.map(|offset| self.compile(offset, level, &nothing)).transpose()?;
        let mut by = Vec::new();
        for group in &query.distinct {
            let place = self.target_of(query, group)?;
            self.ordered(self.tree[query.targets[place].value].typed.id)?;
            by.push(place);
        }
        let mut order = self.target_order(query, &query.order)?;
        if query.distinct_on {
            // Equal rows come together only if all that is distinct is sorted by.
            for known in self.target_order(query, &query.distinct)? {
                if !order.iter().any(|sorting| sorting.by == known.by) {
                    order.push(known);
                }
            }
            node = Arc::new(PlanNode::Sort { input: node, order: order.clone(), first: None, skipped: None });
            node = Arc::new(PlanNode::Distinct { input: node, by, consecutive: true });
        } else {
            if !by.is_empty() {
                node = Arc::new(PlanNode::Distinct { input: node, by, consecutive: false });
            }
            // No operator but those that keep the order may stand above the scan.
            let few = limit.is_some() && !query.with_ties;
            let by_path = self.ordered_by_path(query, &node, &order, few, level);
            if let Some(ordered) = by_path {
                node = ordered;
            } else if !order.is_empty() {
                // What is cut off here must be what is cut off above: the numbers must not change in between.
                let is_stable = [&limit, &offset].into_iter().flatten().all(|number| !number.is_volatile());
                let first = limit.clone().filter(|_| !query.with_ties && is_stable);
                node = Arc::new(PlanNode::Sort { input: node, order: order.clone(), first, skipped: offset.clone() });
            }
        }
        if limit.is_some() || offset.is_some() {
            if let Some(limit) = limit.as_ref().filter(|_| !query.with_ties) {
                node = limited_scan(node, limit, offset.as_ref());
            }
            let ties = if query.with_ties { order } else { Vec::new() };
            node = Arc::new(PlanNode::Limit { input: node, limit, offset, ties });
        }
        Ok(node)
    }

    /// Computes the sets of targets beside each row.
    fn target_sets(&mut self, query: &Query, source: FromSource, level: usize) -> PlanResult<FromSource> {
        let mut calls = Vec::new();
        for target in &query.targets {
            let is_set =
                |node: &TreeNode| matches!(node, TreeNode::Function { function, .. } if self.yields_set(*function));
            let found = self.places_of(target.value, &|node, depth| depth == 0 && is_set(node));
            calls.extend(found.into_iter().map(|(id, _)| id));
        }
        let mut frame = source.frame.clone();
        let mut sets: Vec<SetCall> = Vec::new();
        for id in calls {
            if frame.computed.contains_key(&id) {
                continue;
            }
            let set = self.set_call(id, 1, level, &source.frame)?;
            frame.computed.insert(id, frame.width);
            frame.width += 1;
            sets.push(set);
        }
        let node = Arc::new(PlanNode::ProjectSet { input: source.node, sets });
        Ok(FromSource { node, frame, rows: source.rows * 10.0 })
    }

    /// The expressions within one, and in its subqueries, of which something holds, with their depths.
    pub fn places_of(&self, within: ExprId, holds: &dyn Fn(&TreeNode, u32) -> bool) -> Vec<(ExprId, u32)> {
        let first = self.tree.expressions.as_ptr() as usize;
        let mut found = Vec::new();
        self.tree.find(within, &mut |expression, depth| {
            if holds(&expression.node, depth) {
                let offset = std::ptr::from_ref(expression) as usize - first;
                found.push((ExprId((offset / size_of::<analyzer::tree::Expr>()) as u32), depth));
            }
            false
        });
        found
    }
}
