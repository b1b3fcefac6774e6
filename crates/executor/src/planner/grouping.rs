//! GROUP BY, aggregates and HAVING.

use super::frame::{ColumnFrame, EntryPlace, GroupedFrame};
use super::json::RowForm;
use super::query::FromSource;
use super::{PlanResult, QueryPlanner, not_built};
use crate::expression::CompiledExpression;
use crate::plan::{Aggregation, PlanNode, Sorting};
use analyzer::tree::{AggregateCall, EntryKind, ExprId, Node as TreeNode, Query};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// An aggregate of a query, where it stands.
struct OwnAggregate {
    id: ExprId,
    depth: u32,
}

/// How many groups the bits of a set have room for.
const GROUPS_MAX: usize = 62;

impl<'a> QueryPlanner<'a> {
    pub fn grouping(&mut self, query: &'a Query, source: FromSource, level: usize) -> PlanResult<FromSource> {
        let before = source.frame;
        let mut groups = Vec::new();
        for group in &query.group {
            let value = query.targets[self.target_of(query, group)?].value;
            self.ordered(self.tree[value].typed.id)?;
            groups.push(self.compile(value, level, &before)?);
        }
        if groups.len() > GROUPS_MAX {
            return not_built("that many groups");
        }
        let sets = self.sets(query)?;
        let carried = self.decided(query, &groups, &before, sets.len())?;
        let own = self.own_aggregates(query);
        let mut aggregates: Vec<Aggregation> = Vec::new();
        let mut frame = ColumnFrame::empty(level);
        for aggregate in own {
            let made = self.aggregation(&aggregate, level, &before)?;
            let is_volatile = made.arguments.iter().any(CompiledExpression::is_volatile);
            let same = aggregates.iter().position(|known| *known == made).filter(|_| !is_volatile);
            let place = same.unwrap_or(aggregates.len());
            frame.computed.insert(aggregate.id, groups.len() + place);
            if same.is_none() {
                aggregates.push(made);
            }
        }
        let set_slot = groups.len() + aggregates.len();
        for (place, slot) in &before.slots {
            let group = groups.iter().position(|group| *group == CompiledExpression::Slot(*slot));
            let behind = carried.iter().position(|known| *known == CompiledExpression::Slot(*slot));
            if let Some(slot) = group.or(behind.map(|behind| set_slot + 1 + behind)) {
                frame.slots.insert(*place, slot);
            }
        }
        frame.width = set_slot + 1 + carried.len();
        let rows = if groups.is_empty() { 1.0 } else { (source.rows / 10.0).max(1.0) };
        frame.grouped = Some(Arc::new(GroupedFrame { before, groups: groups.clone(), set_slot }));
        let mut node = Arc::new(PlanNode::Aggregate { input: source.node, groups, sets, aggregates, carried });
        if let Some(having) = query.having {
            let filter = self.compile(having, level, &frame)?;
            node = Arc::new(PlanNode::Filter { input: node, filter });
        }
        Ok(FromSource { node, frame, rows })
    }

    fn sets(&self, query: &Query) -> PlanResult<Vec<Vec<usize>>> {
        let Some(sets) = &query.grouping_sets else { return Ok(vec![(0..query.group.len()).collect()]) };
        let mut found = Vec::with_capacity(sets.len());
        for set in sets {
            let mut numbers = Vec::with_capacity(set.len());
            for reference in set {
                match query.group.iter().position(|group| group.target == *reference) {
                    Some(number) => numbers.push(number),
                    None => return not_built("a grouping set of what is no group"),
                }
            }
            found.push(numbers);
        }
        Ok(found)
    }

    /// Columns that are the same throughout a group, since it has all of their relation's primary key.
    fn decided(
        &self,
        query: &Query,
        groups: &[CompiledExpression],
        before: &ColumnFrame,
        sets: usize,
    ) -> PlanResult<Vec<CompiledExpression>> {
        let mut carried = Vec::new();
        if sets != 1 || groups.is_empty() {
            return Ok(carried);
        }
        let entries: BTreeSet<u32> = before.slots.keys().map(|place| place.entry).collect();
        for entry in entries {
            let EntryKind::Relation { relation, .. } = query.range_table[entry as usize].kind else { continue };
            let Some(key) = self.catalog.relation(relation).and_then(|row| row.primary_key.as_ref()) else { continue };
            let is_group = |column: &u32| {
                let slot = before.slots.get(&EntryPlace { entry, column: *column });
                slot.is_some_and(|slot| groups.contains(&CompiledExpression::Slot(*slot)))
            };
            if key.iter().all(is_group) {
                let own = before.slots.iter().filter(|(place, _)| place.entry == entry);
                carried.extend(own.map(|(_, slot)| CompiledExpression::Slot(*slot)));
            }
        }
        carried.retain(|column| !groups.contains(column));
        Ok(carried)
    }

    /// The aggregates of a query's own rows, also those in subqueries.
    fn own_aggregates(&self, query: &Query) -> Vec<OwnAggregate> {
        let mut found: BTreeMap<ExprId, u32> = BTreeMap::new();
        let roots = query.targets.iter().map(|target| target.value).chain(query.having);
        for root in roots {
            let is_own = |node: &TreeNode, depth| matches!(node, TreeNode::Aggregate(call) if call.levels_up == depth);
            found.extend(self.places_of(root, &is_own));
        }
        found.into_iter().map(|(id, depth)| OwnAggregate { id, depth }).collect()
    }

    fn aggregation(&mut self, of: &OwnAggregate, level: usize, before: &ColumnFrame) -> PlanResult<Aggregation> {
        let expression = &self.tree[of.id];
        let TreeNode::Aggregate(call) = &expression.node else { return not_built("what is no aggregate") };
        let call: &AggregateCall = call;
        let level = level + of.depth as usize;
        let values: Vec<ExprId> = call.arguments.iter().map(|target| target.value).collect();
        let own = call.arguments.iter().take_while(|target| !target.junk).count();
        let types: Vec<_> = values[..own].iter().map(|value| self.tree[*value].typed).collect();
        let place = |reference: u32| call.arguments.iter().position(|target| target.reference == reference);
        let (mut order, mut distinct): (Vec<Sorting>, Vec<usize>) = (Vec::new(), Vec::new());
        for (group, counts) in call.order.iter().map(|g| (g, false)).chain(call.distinct.iter().map(|g| (g, true))) {
            let Some(place) = place(group.target) else { return not_built("order by what is no argument") };
            let sorting = self.sorting(group, CompiledExpression::Slot(place), values[place])?;
            if !order.iter().any(|known| known.by == sorting.by) {
                order.push(sorting);
            }
            if counts {
                distinct.push(place);
            }
        }
        let direct = self.compile_all(&call.direct, level, before)?;
        for argument in &direct {
            let mut depends = false;
            argument.visit(&mut |part| {
                depends |= matches!(part, CompiledExpression::Slot(_) | CompiledExpression::Subplan(_));
            });
            // A group begins where nothing may wait, and one of no rows has no columns to look at.
            if depends {
                return not_built("direct arguments that are no constants");
            }
        }
        let nulls = vec![values::Value::Null; direct.len()];
        if call.variadic
            || evaluation::aggregates::aggregate(call.function, &nulls, &types, expression.typed, &values::Zone::UTC)
                .is_none()
        {
            let name = self.catalog.function(call.function).map(|row| row.name.to_string()).unwrap_or_default();
            return not_built(format!("aggregate {name} ({})", call.function.0));
        }
        if let Some(row) = self.catalog.function(call.function) {
            self.check_held(row, &types)?;
        }
        Ok(Aggregation {
            function: call.function,
            direct,
            arguments: self.rows_as_json(&values, RowForm::of(expression.typed.id), level, before)?,
            types,
            result: expression.typed,
            order,
            distinct,
            filter: call.filter.map(|filter| self.compile(filter, level, before)).transpose()?,
        })
    }
}
