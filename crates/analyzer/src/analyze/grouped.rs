//! Columns beside aggregates: each must be grouped by, or follow from a key that is.

use super::{Analyzer, Result, error_at};
use crate::error::{GROUPING_ERROR, INVALID_RECURSION};
use crate::tree::{EntryKind, ExprId, Node, Query, QueryId};

/// What a query is grouped by.
struct Grouping<'q> {
    query: &'q Query,
    /// Expressions that every grouping set has, or that are grouped by at all.
    values: Vec<ExprId>,
    /// Of those, the ones that every set has.
    common: Vec<ExprId>,
}

impl Analyzer<'_> {
    /// Refuses columns that are not grouped by, where rows are grouped.
    pub fn check_grouped(&mut self, query: &Query, in_recursion: bool) -> Result<()> {
        if !query.has_aggregates && query.group.is_empty() && query.having.is_none() && query.grouping_sets.is_none() {
            return Ok(());
        }
        let value_of = |reference: u32| {
            let target = query.targets.iter().find(|target| target.reference == reference);
            target.map(|target| target.value)
        };
        let values: Vec<ExprId> = query.group.iter().filter_map(|group| value_of(group.target)).collect();
        let common = match &query.grouping_sets {
            None => values.clone(),
            Some(sets) => {
                let in_all = |reference: &u32| sets.iter().all(|set| set.contains(reference));
                let references = query.group.iter().map(|group| group.target).filter(in_all);
                references.filter_map(value_of).collect()
            }
        };
        let grouping = Grouping { query, values, common };
        let all = query.targets.iter().map(|target| target.value).chain(query.having);
        for value in all {
            self.check_grouping_calls(value, 0, &grouping)?;
            self.ungrouped(value, 0, &grouping)?;
        }
        if in_recursion && query.has_aggregates {
            let all = query.targets.iter().map(|target| target.value).chain(query.having);
            let found = all.filter_map(|value| self.tree.aggregate_within(value)).next();
            let at = found.and_then(|found| self.location(found));
            let message = "aggregate functions are not allowed in a recursive query's recursive term";
            return error_at(INVALID_RECURSION, message, at);
        }
        Ok(())
    }

    /// The expression that columns of joins stand for.
    fn flattened(&self, value: ExprId, grouping: &Grouping) -> ExprId {
        let mut value = value;
        while let Node::Column { levels_up: 0, entry, column } = self.tree[value].node
            && let EntryKind::Join { columns, .. } = &grouping.query.range_table[entry as usize].kind
            && matches!(self.tree[columns[column as usize]].node, Node::Column { .. })
        {
            value = columns[column as usize];
        }
        value
    }

    fn same(&self, one: ExprId, other: ExprId, grouping: &Grouping) -> bool {
        self.tree.equal(self.flattened(one, grouping), self.flattened(other, grouping))
    }

    /// Arguments of GROUPING must be grouped by.
    fn check_grouping_calls(&self, value: ExprId, depth: u32, grouping: &Grouping) -> Result<()> {
        if let Node::Grouping { levels_up, arguments } = &self.tree[value].node
            && *levels_up == depth
        {
            for argument in arguments {
                if !grouping.values.iter().any(|value| self.same(*value, *argument, grouping)) {
                    let message = "arguments to GROUPING must be grouping expressions of the associated query level";
                    return error_at(GROUPING_ERROR, message, self.location(*argument));
                }
            }
            return Ok(());
        }
        for part in self.tree[value].node.parts() {
            self.check_grouping_calls(part, depth, grouping)?;
        }
        Ok(())
    }

    /// Looks for a column of the query that is not grouped by, outside of its aggregates.
    fn ungrouped(&self, value: ExprId, depth: u32, grouping: &Grouping) -> Result<()> {
        let node = &self.tree[value].node;
        match node {
            Node::Constant(_) | Node::Parameter(_) => return Ok(()),
            Node::Aggregate(call) if call.levels_up == depth => {
                return call.direct.iter().try_for_each(|part| {
                    self.ungrouped(*part, depth, grouping).map_err(|error| match error.detail {
                        None if depth == 0 => error
                            .with_detail("Direct arguments of an ordered-set aggregate must use only grouped columns."),
                        _ => error,
                    })
                });
            }
            Node::Aggregate(call) if call.levels_up > depth => return Ok(()),
            Node::Grouping { levels_up, .. } if *levels_up >= depth => return Ok(()),
            _ => {}
        }
        if depth == 0 && grouping.values.iter().any(|grouped| self.same(*grouped, value, grouping)) {
            return Ok(());
        }
        match node {
            Node::Column { levels_up, entry, column } if *levels_up == depth => {
                return self.ungrouped_column(value, (*entry, Some(*column)), depth, grouping);
            }
            Node::WholeRow { levels_up, entry } | Node::SystemColumn { levels_up, entry, .. }
                if *levels_up == depth =>
            {
                return self.ungrouped_column(value, (*entry, None), depth, grouping);
            }
            Node::SubLink { query, .. } => self.ungrouped_in(*query, depth + 1, grouping)?,
            _ => {}
        }
        node.parts().into_iter().try_for_each(|part| self.ungrouped(part, depth, grouping))
    }

    fn ungrouped_in(&self, query: QueryId, depth: u32, grouping: &Grouping) -> Result<()> {
        let query = &self.tree[query];
        for value in query.expressions() {
            self.ungrouped(value, depth, grouping)?;
        }
        query.queries().into_iter().try_for_each(|inner| self.ungrouped_in(inner, depth + 1, grouping))
    }

    fn ungrouped_column(
        &self,
        value: ExprId,
        place: (u32, Option<u32>),
        depth: u32,
        grouping: &Grouping,
    ) -> Result<()> {
        let (mut entry, mut column) = place;
        let mut flat = value;
        if depth == 0 {
            flat = self.flattened(value, grouping);
        }
        if let Node::Column { entry: of, column: number, .. } = self.tree[flat].node {
            (entry, column) = (of, Some(number));
        }
        let row = &grouping.query.range_table[entry as usize];
        if let (EntryKind::Join { columns, .. }, Some(number)) = (&row.kind, column)
            && depth == 0
        {
            // A merged column stands for an expression over both sides.
            return self.ungrouped(columns[number as usize], depth, grouping);
        }
        let grouped = |wanted: u32| {
            grouping.values.iter().any(|value| {
                let value = self.flattened(*value, grouping);
                matches!(self.tree[value].node, Node::Column { levels_up: 0, entry: of, column: number }
                    if of == entry && number == wanted)
            })
        };
        if depth > 0 && column.is_some_and(grouped) {
            return Ok(());
        }
        if self.follows_from_key(entry, grouping) {
            return Ok(());
        }
        let name = match (&self.tree[value].node, column) {
            (Node::SystemColumn { number, .. }, _) => {
                let known = crate::relations::SYSTEM_COLUMNS.iter().find(|(_, own, _)| own == number);
                known.map_or(String::new(), |(name, ..)| (*name).to_string())
            }
            (_, Some(number)) => row.columns[number as usize].name.clone(),
            (_, None) => "*".to_string(),
        };
        let message = if depth == 0 {
            format!(
                "column \"{}.{name}\" must appear in the GROUP BY clause or be used in an aggregate function",
                row.name
            )
        } else {
            format!("subquery uses ungrouped column \"{}.{name}\" from outer query", row.name)
        };
        error_at(GROUPING_ERROR, message, self.location(value))
    }

    /// Whether all columns of a table's primary key are grouped by.
    fn follows_from_key(&self, entry: u32, grouping: &Grouping) -> bool {
        let EntryKind::Relation { relation, .. } = grouping.query.range_table[entry as usize].kind else {
            return false;
        };
        let Some(key) = self.catalog.relation(relation).and_then(|relation| relation.primary_key.as_ref()) else {
            return false;
        };
        let grouped = |wanted: &u32| {
            grouping.common.iter().any(|value| {
                let value = self.flattened(*value, grouping);
                matches!(self.tree[value].node, Node::Column { levels_up: 0, entry: of, column }
                    if of == entry && column == *wanted)
            })
        };
        !key.is_empty() && key.iter().all(grouped)
    }
}
